"""Encoded nodes are what protobuf makes of the same operations, field by field."""

import math

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graphdef.export import as_graph_def, node_def
from gpuplace.graphdef.messages import GraphDef

ARRAYS = [
    np.float32(-0.0),
    np.float32(np.inf),
    np.float64(math.pi),
    np.int32(-1),
    np.int64(-(2**63)),
    np.uint64(2**64 - 1),
    np.uint32(2**32 - 1),
    np.int8(-128),
    np.uint16(65535),
    np.bool_(True),
    np.complex64(1 - 2j),
    np.float16(1.5),
    np.zeros([0, 3], np.float32),
    np.zeros([1, 0], np.int64),
    np.arange(6, dtype=np.int16).reshape(2, 3),
    np.ones([300], np.float64),
    np.array([["a", "long " * 60]]),
]


def one_by_one(graph, add_shapes=False):
    """The nodes, each written by protobuf."""
    message = GraphDef()
    for op in graph.get_operations():
        node = node_def(op, message.node.add())
        controls = [name for name in node.input if name[0] == "^"]
        node.input[len(node.input) - len(controls) :] = sorted(controls)
    return message.node


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{list(array.shape)}")
def test_constants(array):
    with tf.Graph().as_default() as graph:
        tf.constant(array)
        tf.constant([array.tolist()] if array.dtype.kind in "fU" else array, name="again")
    assert as_graph_def(graph).node == one_by_one(graph)


def test_a_training_graph():
    with tf.Graph().as_default() as graph, tf.device("/gpu:1"):
        x = tf.placeholder(tf.float32, [None, 4], name="x" * 200)
        with tf.variable_scope("layer"):
            weights = tf.get_variable("weights", [4, 300])
        y = tf.nn.relu(tf.matmul(x, weights))
        parts = tf.split(y, 3, axis=1)
        with tf.control_dependencies([parts[1]]):
            loss = tf.reduce_mean(tf.add_n([parts[0], parts[2]]))
        tf.train.AdamOptimizer().minimize(loss)
        tf.strided_slice(y, [0, 0], [1, -1], [1, 1])
    assert as_graph_def(graph).node == one_by_one(graph)


def test_output_shapes_are_those_of_their_node():
    with tf.Graph().as_default() as graph:
        tf.placeholder(tf.float32, [2, 3])
        tf.placeholder(tf.float32, [4])
        tf.no_op()
    nodes = as_graph_def(graph, add_shapes=True).node
    sizes = [[d.size for d in s.dim] for node in nodes for s in node.attr["_output_shapes"].list.shape]
    assert sizes == [[2, 3], [4]]
    assert "_output_shapes" not in as_graph_def(graph).node[0].attr


def test_attributes_changed_meanwhile_are_written():
    with tf.Graph().as_default() as graph:
        op = tf.matmul([[1.0]], [[1.0]]).op
        as_graph_def(graph)
        op._set_attr("transpose_a", True)
        op._set_attr("_mark", b"m")
    node = as_graph_def(graph).node[-1]
    assert node.attr["transpose_a"].b and node.attr["_mark"].s == b"m"
