"""Multiplications of well-known nets at 224x224, as their papers have them."""

import pytest

import gpuplace as tf
from gpuplace.cost.node_work import step_work
from gpuplace.cost.shapes.step_shapes import step_shapes
from gpuplace.kernels.work.record import Convolution, Product


def vgg16(x):
    for count, channels in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
        for _ in range(count):
            x = tf.layers.conv2d(x, channels, 3, padding="same", activation=tf.nn.relu)
        x = tf.layers.max_pooling2d(x, 2, 2)
    x = tf.layers.flatten(x)
    for units in (4096, 4096, 1000):
        x = tf.layers.dense(x, units)
    return x


def resnet50(x):
    def block(x, channels, size, stride=1):
        x = tf.layers.conv2d(x, channels, size, stride, padding="same", use_bias=False)
        return tf.layers.batch_normalization(x, training=True)

    x = tf.layers.max_pooling2d(tf.nn.relu(block(x, 64, 7, 2)), 3, 2, padding="same")
    for count, channels, first in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for number in range(count):
            stride = first if number == 0 else 1
            y = tf.nn.relu(block(x, channels, 1, stride))
            y = block(tf.nn.relu(block(y, channels, 3)), 4 * channels, 1)
            x = tf.nn.relu(y + (block(x, 4 * channels, 1, stride) if number == 0 else x))
    return tf.layers.dense(tf.reduce_mean(x, [1, 2]), 1000)


@pytest.mark.parametrize(("net", "giga"), [(vgg16, 15.47), (resnet50, 3.86)])
def test_multiplications(net, giga):
    with tf.Graph().as_default() as graph:
        net(tf.placeholder(tf.float32, [None, 224, 224, 3], name="images"))
    for batch in (1, 32):
        shapes = step_shapes(graph, {"images": (batch, 224, 224, 3)})
        calls = [work for work in step_work(shapes) if isinstance(work.kernel, (Product, Convolution))]
        assert sum(work.flops for work in calls) == pytest.approx(batch * giga * 2e9, rel=0.005)
    assert shapes.assumed == () and not any(work.assumed or work.is_guess for work in step_work(shapes))
    (unfed,) = step_shapes(graph).assumed
    assert "'images' (Placeholder) are assumed to be 1" in unfed
