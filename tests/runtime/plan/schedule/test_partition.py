"""Schedules: pruning, order, copies and where arguments lie."""

import pytest

import gpuplace as tf
from gpuplace.kernels.registry import default_catalogue
from gpuplace.runtime.plan.schedule.partition import Location, PartitionOptions, make_schedule
from gpuplace.runtime.plan.schedule.pruning import pruned_operations

CPU, GPU, GPU1 = (f"/job:localhost/replica:0/task:0/device:{name}" for name in ("CPU:0", "GPU:0", "GPU:1"))


@pytest.fixture
def graph():
    tf.set_release("1.15")
    with tf.Graph().as_default() as graph:
        yield graph


def schedule(fetches, feeds=(), targets=(), default=CPU, **devices):
    """The schedule with operations on `default`, or on the device given by name."""
    options = PartitionOptions(
        lambda op: devices.get(op.name, default),
        {CPU: "CPU", GPU: "GPU", GPU1: "GPU"},
        default_catalogue().kernels,
        CPU,
    )
    return make_schedule(tuple(fetches), tuple(targets), tuple(feeds), options)


def copies(made):
    return [
        (
            step.inputs[0].tensor.name,
            *(part for slot in (step.inputs[0], step.outputs[0]) for part in slot.location),
        )
        for step in made.copies
    ]


def test_only_what_is_needed_runs(graph):
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    tf.add(a, b, name="unused")
    with tf.control_dependencies([b]):
        c = tf.identity(a, name="c")
    assert [op.name for op in schedule([c]).operations] == ["a", "b", "c"]
    assert [op.name for op in schedule([], targets=[a.op]).operations] == ["a"]


def test_feeds_cut_what_is_above_them(graph):
    a = tf.constant(1.0, name="a")
    b = tf.identity(a, name="b")
    c = tf.identity(b, name="c")
    made = schedule([c, b], feeds=[b])
    assert [op.name for op in made.operations] == ["c"]
    assert made.fetches[1] is made.feeds[0]


def test_one_copy_serves_all_consumers_on_a_device(graph):
    a = tf.constant([[1.0]], name="a")
    b = tf.matmul(a, a, name="b")
    c = tf.add(a, b, name="c")
    made = schedule([c], b=GPU, c=GPU)
    assert copies(made) == [("a:0", CPU, True, GPU, False), ("c:0", GPU, False, CPU, True)]


def test_copies_between_gpus(graph):
    a = tf.constant([[1.0]], name="a")
    b = tf.matmul(a, a, name="b")
    assert copies(schedule([b], a=GPU, b=GPU1)) == [
        ("a:0", GPU, False, GPU1, False),
        ("b:0", GPU1, False, CPU, True),
    ]


def test_a_shape_stays_in_host_memory(graph):
    x = tf.placeholder(tf.float32, [4], name="x")
    shape = tf.constant([2, 2], name="shape")
    y = tf.reshape(x, shape, name="y")
    made = schedule([y], feeds=[x], y=GPU)
    assert copies(made) == [
        ("x:0", CPU, True, GPU, False),
        ("shape:0", CPU, True, GPU, True),
        ("y:0", GPU, False, CPU, True),
    ]
    assert made.steps[-2].inputs[1].location == Location(GPU, True)


def test_an_integer_constant_on_a_gpu_is_in_host_memory(graph):
    x = tf.placeholder(tf.float32, [4], name="x")
    y = tf.reshape(x, tf.constant([2, 2], name="shape"), name="y")
    made = schedule([y], feeds=[x], y=GPU, shape=GPU)
    assert [copy[0] for copy in copies(made)] == ["x:0", "y:0"]


def test_a_reference_goes_to_those_who_ask_for_one(graph):
    variable = tf.Variable(1.0, name="v")
    update = tf.assign_add(variable, 2.0, name="update")
    made = schedule(
        [variable._variable if hasattr(variable, "_variable") else variable.op.outputs[0]],
        targets=[update.op],
    )
    steps = {step.name: step for step in made.steps}
    assert steps["update"].inputs[0].is_ref and steps["update"].reads == (False, False)
    assert made.fetches[0].is_ref
    read = schedule([variable.value()])
    assert [step.reads for step in read.steps if step.name.startswith("v/read")] == [(True,)]


def test_an_imported_order_is_put_right(graph):
    a = tf.constant(1.0, name="a")
    b = tf.identity(a, name="b")
    c = tf.constant(2.0, name="c")
    b.op._update_input(0, c)
    assert [op.name for op in pruned_operations([b], [], ())] == ["c", "b"]


def test_a_cycle(graph):
    a = tf.constant(1.0, name="a")
    b = tf.identity(a, name="b")
    c = tf.identity(b, name="c")
    b.op._update_input(0, c)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="contains a cycle with 2 nodes, including: b, c"
    ):
        pruned_operations([c], [], ())
    assert [op.name for op in pruned_operations([c], [], (b,))] == ["c"]
