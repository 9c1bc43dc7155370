"""The order in which GPUs are fed."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.plan.schedule.lanes import dependencies
from gpuplace.plan.schedule.queue_order import TURN, in_queue_order
from tests.stand_ins.gpu_programs import numbers

pytestmark = pytest.mark.usefixtures("copies_have_streams")


def plan_of(session, fetches, feeds=()):
    return session._plan((tuple(fetches), (), tuple(feeds)))


def names(schedule):
    return [f"copy of {step.name}" if step.is_copy else step.name for step in schedule.steps]


def towers(products=2):
    x = tf.placeholder(tf.float32, [8, 8], name="x")
    found = []
    for tower in range(2):
        with tf.device(f"/gpu:{tower}"):
            value = x
            for number in range(products):
                value = tf.matmul(value, x, name=f"product{tower}_{number}")
            found.append(value)
    with tf.device("/cpu:0"):
        mean = tf.add(*found, name="mean")
    with tf.device("/gpu:0"):
        return x, tf.multiply(mean, 2.0, name="applied")


def test_both_towers_are_queued_before_the_host_waits(fake):
    x, applied = towers()
    with tf.Session() as session:
        found = session.run(applied, {x: np.eye(8)})
        assert names(plan_of(session, [applied], [x]).schedule) == [
            "applied/y",
            "copy of x",
            "copy of x",
            "product0_0",
            "product0_1",
            "copy of product0_1",
            "product1_0",
            "product1_1",
            "copy of product1_1",
            "mean",
            "copy of mean",
            "applied",
            "copy of applied",
        ]
    np.testing.assert_array_equal(found, 4 * np.eye(8))
    seen = [event[0] if event[0] != "call" else event[1:] for event in fake.events if event[0] != "alloc"]
    assert seen == [
        *[("matmul", 0)] * 2,
        *[("matmul", 1)] * 2,
        *["host waits"] * 2,
        ("multiply", 0),
        "host waits",
    ]


def test_gpus_take_turns(fake):
    x, applied = towers(3 * TURN)
    with tf.Session() as session:
        session.run(applied, {x: np.eye(8)})
        steps = plan_of(session, [applied], [x]).schedule.steps
    devices = [step.device[-1] for step in steps if step.op_type == "MatMul"]
    assert devices == (["0"] * TURN + ["1"] * TURN) * 3


def test_work_of_the_host_comes_before_what_it_waits_for(fake):
    x = tf.placeholder(tf.float32, [8], name="x")
    with tf.device("/gpu:0"):
        doubled = tf.add(x, x, name="doubled")
    with tf.device("/cpu:0"):
        waits = tf.negative(doubled, name="waits")
        at_once = tf.square(x, name="at_once")
    with tf.device("/gpu:1"):
        last = tf.add(at_once, 1.0, name="last")
    with tf.Session() as session:
        session.run([waits, last], {x: numbers((8,))})
        order = names(plan_of(session, [waits, last], [x]).schedule)
    assert order[1:] == [
        "copy of x",
        "doubled",
        "copy of doubled",
        "at_once",
        "copy of at_once",
        "last",
        "copy of last",
        "waits",
    ]


def test_dependencies_are_kept_and_every_step_is_there_once(fake):
    with tf.device("/gpu:0"):
        variable = tf.Variable(numbers((8,)))
        read = variable + 0.0
    with tf.device("/cpu:0"), tf.control_dependencies([read]):
        host = tf.random_uniform([8], seed=1)
    with tf.device("/gpu:0"):
        assigned = tf.assign(variable, host)
    with tf.control_dependencies([assigned]), tf.device("/gpu:1"):
        again = variable * 2.0
    with tf.Session() as session:
        session.run(variable.initializer)
        plan = plan_of(session, [read, again])
        schedule = plan.schedule
        backends = session._maker.backends
        assert in_queue_order(schedule, backends).steps == schedule.steps
        assert len(set(map(id, schedule.steps))) == len(schedule.steps)
        for number, before in enumerate(dependencies(schedule)):
            assert all(source < number for source in before)
        position = {name: at for at, name in enumerate(names(schedule))}
        order = [read.op.name, host.op.name, assigned.op.name, again.op.name]
        assert sorted(order, key=position.__getitem__) == order
