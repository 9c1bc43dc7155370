"""Bytes by device: variables, constants and outputs, of placements and of mere views."""

import gpuplace as tf
from gpuplace.views.tables.memory import memory_rows, tensor_bytes
from gpuplace.views.tables.placement_view import PlacementView, TensorFact

LOCAL = "/job:localhost/replica:0/task:0/device:"


def by_device(placement, **options):
    return {row.device.removeprefix(LOCAL): row for row in memory_rows(placement, **options)}


def test_resource_variables_count_by_their_shape():
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        tf.get_variable("v", [10, 10], use_resource=True, initializer=tf.zeros_initializer())
    rows = by_device(tf.place(graph, machine="1x Tesla K40c"))
    assert rows["GPU:0"].variables == 400


def test_what_hands_on_a_reference_adds_nothing():
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        v = tf.Variable(tf.zeros([256]), name="v")
        tf.assign(v, tf.ones([256]))
    placement = tf.place(graph, machine="1x Tesla K40c")
    kind, nbytes, unknown = tensor_bytes(placement)
    index = placement.graph.index
    assert (kind[index["v"]], nbytes[index["v"]]) == (0, 1024)
    assert nbytes[index["v/Assign"]] == nbytes[index["Assign"]] == 0
    assert not unknown.any()


def test_limits_and_growth():
    with tf.Graph().as_default() as graph:
        tf.constant(1.0)
    placement = tf.place(graph, machine="1x Tesla K40c")
    rows = by_device(placement, allow_growth=True, stats={f"{LOCAL}GPU:0": "counters"})
    assert (rows["CPU:0"].limit, rows["CPU:0"].grows, rows["CPU:0"].stats) == (None, None, None)
    assert rows["GPU:0"].limit == placement.device_set.by_name[f"{LOCAL}GPU:0"].memory_limit
    assert (rows["GPU:0"].grows, rows["GPU:0"].stats) == (True, "counters")


def test_a_view_knows_what_is_read():
    view = PlacementView.of_columns(
        [("a", "Split", "", "/device:CPU:0"), ("b", "Neg", "", ""), ("c", "Neg", "", "/device:CPU:0")],
        [("a", 0, "b", 0), ("a", 1, "c", 0), ("a", 1, "b", -1)],
        {("a", 0): TensorFact("float32", (2,), 8)},
    )
    (row,) = memory_rows(view)
    assert (row.outputs, row.unknown, row.known) == (8, 1, 8)
