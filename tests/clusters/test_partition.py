"""What the tasks of a step send each other is what the placement counts as copies."""

import pytest

import gpuplace as tf
from gpuplace.clusters.partition import partition_step, task_of_device

pytest.importorskip("distributed")

MACHINE = "ps: cpu; worker*2: cpu"


def training():
    """A variable, its step size and the optimizer on a parameter server; a loss on each of two workers."""
    with tf.device("/job:ps"):
        w = tf.get_variable("w", [3, 1])
        rate = tf.constant(0.1, name="rate")
    losses = []
    for task in range(2):
        with tf.device(f"/job:worker/task:{task}"):
            x = tf.placeholder(tf.float32, [4, 3], name=f"x{task}")
            losses.append(tf.reduce_sum(tf.matmul(x, w * rate)) * 2.0)
    with tf.device("/job:ps"):
        return tf.train.GradientDescentOptimizer(rate).minimize(tf.add_n(losses))


def constant_on_another_task():
    """Constants that another task takes, one of them after it waited."""
    with tf.device("/job:worker/task:0"):
        first, second = tf.constant([1.0, 2.0], name="first"), tf.constant(3, name="second")
        with tf.control_dependencies([tf.print("begin")]):
            third = tf.constant([4.0, 5.0], name="third")
    with tf.device("/job:worker/task:1"):
        return [first * 2.0, tf.range(second), first + third]


@pytest.mark.parametrize("build", [training, constant_on_another_task])
def test_tasks_send_what_the_placement_copies(build):
    with tf.Graph().as_default() as graph:
        fetches = build()
    fetches = fetches if isinstance(fetches, list) else [fetches]
    feeds = {f"x{task}": (4, 3) for task in range(2)} if build is training else {}
    tensors = tuple(graph.get_tensor_by_name(f"{name}:0") for name in feeds)
    placement = tf.place(graph, MACHINE)
    device_of = dict(zip(placement.graph.names, placement.devices.tolist(), strict=True))
    names = placement.device_set.names

    signature = (
        tuple(one for one in fetches if isinstance(one, tf.Tensor)),
        tuple(one for one in fetches if isinstance(one, tf.Operation)),
        tensors,
    )
    sent = {
        (
            node.attr["tensor_name"].s.decode().split("_", 2)[2],
            task_of_device(node.attr["recv_device"].s.decode()),
        )
        for part in partition_step(signature, lambda op: names[device_of[op.name]]).values()
        for node in part.graph_def.node
        if node.op == "_Send"
    }
    copies = {
        (row.tensor.partition(":")[0], task_of_device(row.target))
        for row in tf.estimate(placement, fetches, feeds).copies
        if row.use == "" and task_of_device(row.source) != task_of_device(row.target)
    }
    assert sent == copies
    assert len(sent) >= 3
