"""`place`: what it takes, and that it leaves the process alone."""

import types

import pytest

import gpuplace as tf
from gpuplace.why.placement import Placement

LOCAL = "/job:localhost/replica:0/task:0/device:"


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        with tf.device("/gpu:1"):
            a = tf.constant([[1.0, 2.0]], name="a")
        tf.matmul(a, a, transpose_b=True, name="m")
    return made


def devices(placement):
    return {name: device.removeprefix(LOCAL) for name, device in placement.items()}


def test_what_it_takes(graph, tmp_path):
    expected = {"a": "GPU:1", "m": "GPU:0"}
    machine = "2x Tesla K40c"
    assert devices(tf.place(graph, machine)) == expected
    definition = graph.as_graph_def()
    path = tmp_path / "graph.pb"
    path.write_bytes(definition.SerializeToString())
    sources = [
        definition,
        definition.SerializeToString(),
        path,
        str(path),
        types.SimpleNamespace(graph=graph),
        tf.place(graph, machine),
        tf.place(graph, machine).graph,
    ]
    for source in sources:
        assert devices(tf.place(source, machine)) == expected
    for other in (tf.Machine.parse(machine), tf.Machine.parse(machine).device_set(environ={})):
        assert devices(tf.place(graph, other)) == expected
    with pytest.raises(TypeError):
        tf.place(3, machine)


def test_soft_placement_is_read_from_the_config(graph):
    with pytest.raises(tf.errors.InvalidArgumentError, match="explicitly assigned to /device:GPU:1"):
        tf.place(graph, "1x Tesla K40c")
    config = tf.ConfigProto(allow_soft_placement=True)
    assert devices(tf.place(graph, "1x Tesla K40c", config)) == {"a": "GPU:0", "m": "GPU:0"}


def test_the_release_decides_rules_and_words(graph):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device to node 'a'"):
        tf.place(graph, "cpu", release="1.4")
    with pytest.raises(ValueError, match="Unknown release"):
        tf.place(graph, "cpu", release="9")


def test_edges_know_types_shapes_and_bytes(graph):
    rows = list(tf.place(graph, "2x Tesla K40c").edges())
    assert [(row.src, row.dst, row.dtype, row.shape, row.nbytes, row.is_copy) for row in rows] == [
        ("a", "m", "float32", (1, 2), 8, True),
        ("a", "m", "float32", (1, 2), 8, True),
    ]


def test_the_source_line_is_in_the_explanation_and_the_error(graph):
    assert "test_place.py:" in str(tf.place(graph, "2x Tesla K40c").explain("a"))
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.place(graph, "cpu")
    assert "test_place.py:" in caught.value.facts["requested by"]


def test_a_mapping_that_says_what_it_is(graph):
    placement = tf.place(graph, "2x Tesla K40c")
    assert isinstance(placement, Placement)
    assert repr(placement) == "<Placement of 2 nodes: 1 on GPU:0, 1 on GPU:1>"
    assert len(placement) == 2 and "a" in placement and placement.get("zz") is None
    with pytest.raises(KeyError):
        placement["zz"]
    assert placement.explain(graph.get_operation_by_name("m")).op_type == "MatMul"
