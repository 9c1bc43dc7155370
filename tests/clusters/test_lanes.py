"""Parts of steps whose devices work at the same time: what one task sends in time, and what ends its waiting."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.runtime.plan import compile as plan_maker
from gpuplace.runtime.plan.parallel_plan import ParallelPlan
from gpuplace.runtime.plan.schedule import lanes
from tests.clusters.running import servers

pytest.importorskip("distributed")

DEVICES = [
    f"/job:{job}/task:{task}/device:{kind}:0"
    for job, task in (("ps", 0), ("worker", 0))
    for kind in ("CPU", "GPU")
]
LIMIT = tf.ConfigProto(operation_timeout_in_ms=20_000)


@pytest.fixture(scope="module")
def tasks():
    tf.use_machine("4 CPU, 1x Tesla K40c")
    with servers(ps=1, worker=1) as started:
        yield started


@pytest.fixture(autouse=True)
def everything_gets_lanes(monkeypatch, tasks):
    tf.use_machine("4 CPU, 1x Tesla K40c")
    monkeypatch.setattr(plan_maker, "available_cores", lambda: 4)
    monkeypatch.setattr(lanes, "MIN_LANE_US", 0.0)
    monkeypatch.setattr(lanes, "MIN_GAIN", 1e9)
    with tf.Graph().as_default():
        yield
    tf.Session.reset(tasks["ps", 0].target)


def parts_of(tasks):
    """The plans of all parts that were registered on the tasks."""
    sessions = [session for server in tasks.values() for session in server._running.task._sessions.values()]
    return [part.plan for session in sessions for part in session.parts.values()]


@pytest.mark.parametrize("seed", range(12))
def test_tasks_whose_parts_have_lanes_never_wait_for_each_other(tasks, seed):
    rng = np.random.default_rng(seed)
    tensors = [tf.placeholder(tf.float32, [2, 2])]
    for _ in range(24):
        a, b = (tensors[number] for number in rng.integers(max(len(tensors) - 6, 0), len(tensors), 2))
        with tf.device(DEVICES[rng.integers(4)]):
            tensors.append(rng.choice([tf.add, tf.subtract, tf.maximum])(a, b))
    value = np.float32([[1, 2], [3, 4]])
    with tf.Session(tasks["worker", 0].target, config=LIMIT) as session:
        found = [session.run(tensors, {tensors[0]: value}) for _ in range(3)]
        assert any(isinstance(plan, ParallelPlan) for plan in parts_of(tasks))
    with tf.Graph().as_default() as alone:
        tf.import_graph_def(tensors[0].graph.as_graph_def(), name="")
        with tf.Session(graph=alone, config=tf.ConfigProto(allow_soft_placement=True)) as session:
            for op in alone.get_operations():
                op._set_device("")
            expected = session.run([tensor.name for tensor in tensors], {tensors[0].name: value})
    for values in found:
        np.testing.assert_array_equal(values, expected)


def test_a_task_whose_devices_wait_for_another_hears_that_it_failed(tasks):
    x = tf.placeholder(tf.float32, [2, 2])
    with tf.device("/job:ps/task:0"):
        checked = tf.check_numerics(x, "not a number", name="checked")
    with tf.device("/job:worker/task:0/gpu:0"):
        first = tf.matmul(x, x)
        product = tf.matmul(first, checked)
    with tf.device("/job:worker/task:0/cpu:0"):
        total = tf.reduce_sum(product + first)
    with tf.Session(tasks["worker", 0].target, config=LIMIT) as session:
        assert session.run(total, {x: np.eye(2)}) == 4
        assert any(isinstance(plan, ParallelPlan) for plan in parts_of(tasks))
        for _ in range(20):
            with pytest.raises(tf.errors.InvalidArgumentError, match="not a number"):
                session.run(total, {x: np.full([2, 2], np.nan)})
        assert session.run(total, {x: np.eye(2)}) == 4


def test_what_a_task_sends_does_not_wait_for_its_queue(tasks):
    """The element that is taken comes from another step, which waits for what this one sends."""
    with tf.device("/job:ps/task:0"):
        answers = tf.FIFOQueue(1, tf.float32, [[]], name="answers", shared_name="answers")
        answer = answers.dequeue()
        x = tf.placeholder(tf.float32, [])
        question = tf.multiply(x, 2.0)
    with tf.device("/job:worker/task:0"):
        asks = tf.FIFOQueue(1, tf.float32, [[]], name="asks", shared_name="asks")
        puts = asks.enqueue(question + 1.0)
        answering = tf.group(answers.enqueue(asks.dequeue() * 10.0))
    with tf.Session(tasks["worker", 0].target, config=LIMIT) as session:
        with ThreadPoolExecutor(1) as pool:
            answered = pool.submit(session.run, answering)
            assert session.run([answer, puts], {x: 3.0}) == [70.0, None]
            answered.result()
