"""Predicted shapes beside those of tensors that a step makes."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.cost.shapes.step_shapes import step_shapes
from gpuplace.graph.op_sets import PLACEHOLDERS


def convolutional():
    images = tf.placeholder(tf.float32, [None, 17, 16, 3], name="images")
    labels = tf.placeholder(tf.int32, [None], name="labels")
    x = tf.layers.conv2d(images, 8, 3, 2, padding="same", activation=tf.nn.relu)
    x = tf.layers.batch_normalization(x, training=True)
    x = tf.nn.lrn(tf.layers.separable_conv2d(x, 6, 3, dilation_rate=2, padding="same"))
    x = tf.layers.conv2d_transpose(tf.nn.max_pool(x, 3, 2, "VALID"), 5, 2, 2)
    x = tf.image.resize_bilinear(tf.pad(x, [[0, 0], [1, 2], [0, 1], [0, 0]]), [5, 7])
    logits = tf.layers.dense(tf.reshape(x, [tf.shape(x)[0], 5 * 7 * 5]), 4)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    tf.train.AdamOptimizer().minimize(loss)
    return {"images": np.ones([6, 17, 16, 3], np.float32), "labels": np.zeros([6], np.int32)}


def recurrent():
    words = tf.placeholder(tf.int32, [None, None], name="words")
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    table = tf.get_variable("table", [50, 8])
    x = tf.nn.embedding_lookup(table, words)
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(6), x, lengths, dtype=tf.float32)
    scores = tf.matmul(tf.reshape(outputs, [-1, 6]), tf.get_variable("out", [6, 50]))
    loss = tf.reduce_sum(tf.reduce_logsumexp(scores, 1)) + tf.reduce_mean(state.h)
    tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return {"words": np.ones([4, 9], np.int32), "lengths": np.array([9, 3, 5, 1], np.int32)}


def arrays():
    x = tf.placeholder(tf.float32, [None, 6], name="x")
    rows = tf.shape(x)[0]
    pairs = tf.concat([tf.tile(x, [1, 2]), tf.cast(tf.one_hot(tf.range(rows), 12), tf.float32)], 0)
    mapped = tf.map_fn(lambda row: tf.reshape(row, [3, 2]), x)
    total = tf.foldl(lambda a, row: a + row, x)
    halves = tf.split(x, [tf.constant(2), 4], 1)
    best, places = tf.nn.top_k(x, 3)
    picked = tf.gather(tf.transpose(x), tf.argmax(x, 1))
    blocks = tf.einsum("ij,kj->ik", x, pairs[:, ::2])
    tf.gradients([mapped, total, best, picked, blocks, *halves], x)
    tf.strided_slice(x, [0, -1], [rows // 2, 0], [1, -2])
    tf.segment_sum(x, tf.range(rows) // 2), tf.unsorted_segment_max(x, tf.zeros([rows], tf.int32), 3)
    tf.qr(x), tf.svd(x), tf.cholesky(tf.eye(4)), tf.fft(tf.cast(x, tf.complex64)), tf.cumsum(x, 1), places
    return {"x": np.arange(30, dtype=np.float32).reshape(5, 6)}


@pytest.mark.parametrize("build", [convolutional, recurrent, arrays])
def test_shapes_are_those_of_the_step(build):
    with tf.Graph().as_default() as graph:
        feeds = build()
        found = step_shapes(graph, {name: value.shape for name, value in feeds.items()})
        with_values = step_shapes(graph, feeds)
        wanted = [
            (node, tensor)
            for node, op in enumerate(graph.get_operations())
            for tensor in op.outputs
            if not found.frames[node]
            and op.type not in PLACEHOLDERS
            and tensor.dtype.base_dtype.name not in ("resource", "variant", "string")
            and graph.is_fetchable(op)
            and not op.type.startswith(("TensorArray", "Stack"))
        ]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            made = session.run(
                [tensor for _, tensor in wanted], {f"{name}:0": value for name, value in feeds.items()}
            )
    assert len(made) > 60
    for (node, tensor), value in zip(wanted, made):
        for shapes in (found, with_values):
            if node not in shapes.assumption_of_node:
                assert shapes.shape(node, tensor.value_index).as_list() == list(np.shape(value)), tensor.name
    assert sum(node in with_values.assumption_of_node for node, _ in wanted) <= 0.03 * len(wanted)
