"""Layers of volumes, and gradients of convolutions and dilations, against slopes."""

import numpy as np
import pytest

import gpuplace as tf


def check_slopes(build, arrays, rtol=1e-6):
    inputs = [tf.placeholder(tf.float64, array.shape) for array in arrays]
    made = build(*inputs)
    weights = np.random.default_rng(2).normal(size=made.shape.as_list())
    total = tf.reduce_sum(made * weights)
    with tf.Session() as session:
        feeds = dict(zip(inputs, arrays, strict=True))
        for x, found in zip(inputs, session.run(tf.gradients(total, inputs), feeds), strict=True):
            for place in list(np.ndindex(found.shape))[:: max(1, found.size // 12)]:
                step = np.zeros_like(feeds[x])
                step[place] = 1e-5
                high, low = (session.run(total, {**feeds, x: feeds[x] + sign * step}) for sign in (1, -1))
                assert found[place] == pytest.approx((high - low) / 2e-5, rel=rtol, abs=1e-6)


def test_gradients_are_slopes():
    rng = np.random.default_rng(1)
    volumes, filters = rng.normal(size=[1, 3, 4, 4, 2]), rng.normal(size=[2, 2, 3, 2, 2])
    check_slopes(lambda x, w: tf.nn.conv3d(x, w, [1, 1, 2, 1, 1], "SAME"), [volumes, filters])
    check_slopes(lambda x, w: tf.nn.convolution(x, w, "VALID", dilation_rate=[1, 2, 1]), [volumes, filters])
    images, stamp = rng.normal(size=[1, 5, 4, 2]), rng.normal(size=[2, 2, 2])
    check_slopes(lambda x, w: tf.nn.dilation2d(x, w, [1, 1, 2, 1], [1, 2, 1, 1], "SAME"), [images, stamp])
    check_slopes(lambda x, w: tf.nn.erosion2d(x, w, [1, 1, 1, 1], [1, 1, 1, 1], "VALID"), [images, stamp])
    labels = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 1, 0], [2, 2])
    check_slopes(lambda x: tf.nn.ctc_loss(labels, x, [4, 3]), [rng.normal(size=[4, 2, 3])])


def test_layers_grow_and_shrink_volumes():
    volumes = tf.random_normal([2, 6, 6, 6, 3], seed=1)
    small = tf.layers.max_pooling3d(tf.layers.conv3d(volumes, 4, 3, padding="same"), 2, 2)
    large = tf.layers.conv3d_transpose(small, 3, 2, strides=2)
    mean = tf.layers.average_pooling3d(large, 3, 3)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [value.shape for value in session.run([small, large, mean])] == [
            (2, 3, 3, 3, 4),
            (2, 6, 6, 6, 3),
            (2, 2, 2, 2, 3),
        ]


def test_what_a_cpu_does_not_convolve():
    volumes, filters = tf.ones([1, 3, 3, 3, 3]), tf.ones([1, 1, 1, 3, 3])
    for arguments, text in (
        ({"data_format": "NCDHW"}, "only supports the NHWC tensor format"),
        ({"dilations": [1, 1, 2, 1, 1]}, "only supports dilated rates of 1"),
    ):
        with tf.device("/cpu:0"):
            made = tf.nn.conv3d(volumes, filters, [1] * 5, "VALID", **arguments)
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(made)
