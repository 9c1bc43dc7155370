"""A session, an estimate and a cluster copy the same tensors to the same places, for random programs.

A session partitions operations by memory, an estimate arrays of nodes by memory, and a cluster GraphDefs by task.
"""

import random

import pytest

import gpuplace as tf
from gpuplace.clusters.partition import partition_step, task_of_device
from gpuplace.runtime.plan.schedule.partition import PartitionOptions, make_schedule

PROGRAMS = 25


class RandomProgram:
    """Operations on random devices over matrices of one shape, with shapes, variables, loops and conditionals.

    Args:
        rng: source of randomness.
        devices: devices to choose from.
    """

    def __init__(self, rng, devices):
        self.rng = rng
        self.devices = devices
        self.matrices, self.shapes, self.updates = [], [], []
        for _ in range(3):
            self.matrices.append(self.placed(lambda: tf.constant([[1.0, 2.0], [3.0, 4.0]])))
            self.shapes.append(self.placed(lambda: tf.constant([2, 2])))
        self.fed = self.placed(lambda: tf.placeholder(tf.float32, [2, 2], name="fed"))
        self.matrices.append(self.fed)
        self.variables = [
            self.placed(lambda: tf.Variable(tf.ones([2, 2]), use_resource=self.rng.random() < 0.5))
            for _ in range(2)
        ]
        self.matrices += [self.placed(variable.read_value) for variable in self.variables]
        makers = [
            lambda: tf.matmul(self.matrix, self.matrix),
            lambda: self.matrix + self.matrix,
            lambda: tf.reshape(self.matrix, self.shape),
            lambda: tf.cast(tf.reshape(self.shape, [1, 2]), tf.float32) * self.matrix,
            lambda: tf.fill(self.shape, tf.reduce_sum(self.matrix)),
            lambda: tf.tile(tf.split(self.matrix, 2)[0], [2, 1]),
            self.waiting,
            self.conditional,
            self.loop,
        ]
        for _ in range(rng.randrange(5, 25)):
            kind = rng.randrange(len(makers) + 3)
            if kind < len(makers):
                self.matrices.append(self.placed(makers[kind]))
            elif kind == len(makers):
                self.shapes.append(self.placed(lambda: tf.shape(self.matrix)))
            elif kind == len(makers) + 1:
                self.shapes.append(self.placed(lambda: tf.maximum(self.shape, self.shape)))
            else:
                self.updates.append(self.placed(lambda: rng.choice(self.variables).assign_add(self.matrix)))

    def placed(self, make):
        with tf.device(self.rng.choice(self.devices)):
            return make()

    @property
    def matrix(self):
        return self.rng.choice(self.matrices)

    @property
    def shape(self):
        return self.rng.choice(self.shapes)

    def waiting(self):
        with tf.control_dependencies([self.rng.choice(self.updates or self.matrices)]):
            return tf.identity(self.matrix)

    def conditional(self):
        first, second, third = self.matrix, self.matrix, self.matrix
        return tf.cond(
            tf.reduce_sum(self.fed) > 0,
            lambda: self.placed(lambda: tf.matmul(first, second)),
            lambda: self.placed(lambda: tf.nn.relu(third) + second),
        )

    def loop(self):
        factor = self.matrix
        shapes = [tf.TensorShape([]), tf.TensorShape([2, 2])]

        def body(i, x):
            return i + 1, self.placed(lambda: tf.matmul(x, factor))

        return tf.while_loop(lambda i, x: i < 3, body, [0, self.matrix], shape_invariants=shapes)[1]

    def fetches(self):
        """Return some of the tensors, and the operations of all updates."""
        tensors = [tensor for tensor in self.matrices + self.shapes if self.rng.random() < 0.3]
        return (*dict.fromkeys([*tensors, self.matrices[-1]]),), tuple(update.op for update in self.updates)


def placed_program(seed, machine, devices):
    """Return a program's signature, its placement, the device of each operation, and the estimated copies."""
    with tf.Graph().as_default():
        program = RandomProgram(random.Random(seed), devices)
        tensors, updates = program.fetches()
        placement = tf.place(tf.get_default_graph(), machine, soft_placement=True)
    names = placement.device_set.names
    device_of = {
        name: names[device]
        for name, device in zip(placement.graph.names, placement.devices.tolist(), strict=True)
    }
    copies = tf.estimate(placement, [*tensors, *updates], {"fed": (2, 2)}).copies
    return (tensors, updates, (program.fed,)), placement, lambda op: device_of[op.name], copies


def full_name(tensor):
    return tensor if ":" in tensor else f"{tensor}:0"


def assert_equal_copies(actual, estimated, signature):
    """The estimate leaves out copies in branches that are not taken; otherwise the copies are the same."""
    graph = signature[2][0].graph
    if any(op.type in ("Switch", "RefSwitch") for op in graph.get_operations()):
        assert estimated <= actual
    else:
        assert estimated == actual


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_a_session_copies_what_the_estimate_counts(seed):
    signature, placement, device_of, copies = placed_program(
        seed, "2x V100", ["", "/cpu:0", "/gpu:0", "/gpu:1"]
    )
    types = {device.name: device.device_type for device in placement.device_set}
    options = PartitionOptions(
        device_of, types, placement.placer.catalogue.kernels, placement.device_set.names[0]
    )
    schedule = make_schedule(*signature, options)
    session = {
        (copy.inputs[0].tensor.name, copy.inputs[0].location.device, copy.outputs[0].location.device)
        for copy in schedule.copies
        if copy.inputs[0].location.device != copy.outputs[0].location.device
    }
    estimated = {(full_name(row.tensor), row.source, row.target) for row in copies}
    assert_equal_copies(session, estimated, signature)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_tasks_send_what_the_estimate_counts(seed):
    pytest.importorskip("distributed")
    devices = [
        f"/job:worker/task:{task}/{device}" for task in range(2) for device in ("cpu:0", "gpu:0", "gpu:1")
    ]
    signature, _, device_of, copies = placed_program(seed, "worker*2: 2x V100", devices)
    names = {op.name for op in signature[2][0].graph.get_operations()}
    sent = {
        (full_name(node.input[0]), task_of_device(node.attr["recv_device"].s.decode()))
        for part in partition_step(signature, device_of).values()
        for node in part.graph_def.node
        if node.op == "_Send"
        and node.input[0].partition(":")[0] in names  # other sends are control dependencies
    }
    estimated = {
        (full_name(row.tensor), task_of_device(row.target))
        for row in copies
        if row.use == "" and task_of_device(row.source) != task_of_device(row.target)
    }
    assert_equal_copies(sent, estimated, signature)
