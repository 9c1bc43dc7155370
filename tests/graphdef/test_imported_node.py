"""Nodes of a GraphDef that are alike, and those that nearly are."""

import pytest

import gpuplace as tf


def test_nodes_that_are_alike_share_no_attributes():
    with tf.Graph().as_default() as graph:
        first, second = (tf.matmul([[1.0]], [[2.0]], name=name) for name in "ab")
        message = graph.as_graph_def()
    with tf.Graph().as_default():
        first, second = tf.import_graph_def(message, return_elements=["a", "b"], name="")
        first._set_attr("transpose_a", True)
        assert second.get_attr("transpose_a") is False


def test_nodes_that_are_alike_but_for_their_group():
    with tf.Graph().as_default() as graph:
        one, two = tf.constant(1.0, name="one"), tf.constant(2.0, name="two")
        for other in (one, two, None):
            with graph.colocate_with(other, ignore_existing=True):
                tf.negative(one, name="x")
        message = graph.as_graph_def()
    with tf.Graph().as_default():
        found = tf.import_graph_def(message, return_elements=["x", "x_1", "x_2"])
        assert [op.colocation_groups() for op in found] == [
            [b"loc:@import/one"],
            [b"loc:@import/two"],
            [b"loc:@import/x_2"],
        ]
        assert "_class" not in found[2].attrs


@pytest.mark.parametrize("length", [1, 125, 126, 127, 128, 129, 20_000])
def test_names_of_any_length(length):
    message = tf.GraphDef()
    for name in ("a" * length, "b" * length):
        message.node.add(name=name, op="NoOp", device="/cpu:0")
    message.node.add(name="c", op="NoOp", input=["^" + "a" * length, "^" + "b" * length])
    with tf.Graph().as_default():
        (found,) = tf.import_graph_def(message, return_elements=["c"], name="")
        assert [len(op.name) for op in found.control_inputs] == [length, length]


def test_a_bad_node_behind_a_good_one_that_is_alike():
    message = tf.GraphDef()
    for name in ("good", "not good"):
        message.node.add(name=name, op="NoOp")
    with tf.Graph().as_default(), pytest.raises(ValueError, match="invalid characters"):
        tf.import_graph_def(message, name="")
    with tf.Graph().as_default(), pytest.raises(tf.errors.NotFoundError, match="Nonsense"):
        message.node[1].op = "Nonsense"
        tf.import_graph_def(message, name="")
