"""Attributes in words, from graphs made here and from files."""

import gpuplace as tf
from gpuplace.views.tables.attr_text import attr_columns, attr_rows
from tests.jupyter.programs import towers


def rows_of(placement, name):
    return dict(attr_rows(placement, placement.graph.index[name]))


def test_values_of_constants_and_attributes():
    with tf.Graph().as_default() as graph:
        tf.constant([[1.5, 2.0]], name="small")
        tf.constant(list(range(1000)), name="large")
        tf.constant(["a", "é"], name="words")
        tf.constant([], name="none")
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        tf.nn.conv2d(tf.zeros([1, 4, 4, 1]), tf.zeros([2, 2, 1, 1]), [1, 2, 2, 1], "SAME", name="conv")
        tf.Variable(tf.zeros([2]), name="v")
    for source in (graph, graph.as_graph_def()):
        placement = tf.place(source, "cpu")
        assert rows_of(placement, "small") == {"value": "float32 1×2: [[1.5, 2]]", "dtype": "float32"}
        assert rows_of(placement, "large")["value"] == "int32 1000: 0 1 2 3 4 5 6 7 …"
        assert rows_of(placement, "words")["value"] == "string 2: ['a', 'é']"
        assert rows_of(placement, "none")["value"] == "float32 0: no elements"
        conv = rows_of(placement, "conv")
        assert conv["strides"] == "1, 2, 2, 1" and conv["padding"] == "SAME" and conv["T"] == "float32"
        assert rows_of(placement, "x")["shape"] == "(?, 3)" and x is not None
        assert next(iter(rows_of(placement, "small"))) == "value"
        assert rows_of(placement, "v/read")["_class"] == "loc:@v"


def test_what_cannot_be_decoded_says_so():
    graph_def = towers().as_graph_def()
    value = graph_def.node[0].attr["value"].tensor
    value.tensor_content = b"odd"
    placement = tf.place(graph_def, "4x Tesla K20m")
    assert rows_of(placement, graph_def.node[0].name)["value"].startswith("cannot be decoded")


def test_columns_share_equal_rows():
    placement = tf.place(towers(), "4x Tesla K20m")
    columns = attr_columns(placement)
    assert len(columns["of"]) == 7 and len(columns["rows"]) < 7
    assert ["T", "float32"] in columns["rows"][columns["of"][placement.graph.index["MatMul"]]]
    assert attr_columns(tf.parse_log("a: (NoOp): /device:CPU:0\n"))["of"] == []
