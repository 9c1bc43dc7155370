"""Batch normalisation over several axes, by parts, renormalised; the answers are those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import gpuplace as tf

IMAGES = np.sin(np.arange(24, dtype=np.float32)).reshape([4, 2, 3]) * 3
MEANS = [0.15527, 0.15452, 0.01171]


def adjusted(shape):
    return tf.fill(shape, 2.0), tf.fill(shape, -1.0)


@pytest.mark.parametrize(
    "settings, training, serving, averages",
    [
        (
            {
                "renorm": True,
                "renorm_clipping": {"rmax": 1.5, "rmin": 0.5, "dmax": 0.3},
                "renorm_momentum": 0.5,
            },
            [0.03114, -0.67733, -1.0701],
            [-0.02725, -0.65953, -0.9764],
            [MEANS, [2.26824, 2.31336, 6.82161], [1.5064, 1.5213, 2.61201], MEANS, [1.5064, 1.5213, 2.61201]],
        ),
        (
            {"axis": [1, 2]},
            [-1.35316, 0.3993, 1.63372],
            [-0.32596, 0.21973, -0.17154],
            [
                [-1.02833, 1.35745, 2.4952, 1.33887, -1.04841, -2.47179],
                [0.74735, 0.65466, 0.13726, 0.66057, 0.74242, 0.15099],
            ],
        ),
        (
            {"virtual_batch_size": 2},
            [-0.04733, -0.54536, -0.91598],
            [-0.02582, -0.65428, -0.95091],
            [MEANS, [2.30483, 2.35214, 7.19224]],
        ),
        (
            {"renorm": True, "adjustment": adjusted},
            [-4.97698, -2.66439, -5.89828],
            [-0.02725, -0.65953, -0.9764],
            [MEANS, [2.26824, 2.31336, 6.82161], [1.5064, 1.5213, 2.61201], [0.00527, 0.00525, 0.0004]]
            + [[1.01719, 1.0177, 1.05472]],
        ),
    ],
)
def test_values(settings, training, serving, averages):
    given, flag = tf.placeholder(tf.float32, [4, 2, 3]), tf.placeholder(tf.bool, [])
    layer = tf.layers.BatchNormalization(momentum=0.5, **settings)
    outputs = layer(given, training=flag)

    def some(values):
        return [values[0].sum(), values[1, 0, 0], values[3, 1, 2]]

    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            found, _ = session.run([outputs, layer.updates], {given: IMAGES, flag: True})
        np.testing.assert_allclose(some(found), training, atol=2e-5)
        found = session.run(outputs, {given: IMAGES, flag: False})
        np.testing.assert_allclose(some(found), serving, atol=2e-5)
        for value, expected in zip(session.run(layer.non_trainable_variables), averages, strict=True):
            np.testing.assert_allclose(value.ravel(), expected, atol=2e-5)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"axis": [5]}, "Invalid axis: 5"),
        ({"axis": [1, -2]}, r"Duplicate axis: \[1, 1\]"),
        ({"virtual_batch_size": -1}, "virtual_batch_size must be a positive integer"),
        ({"virtual_batch_size": 2, "axis": 0}, "axis cannot include 0"),
        ({"virtual_batch_size": 2, "adjustment": adjusted}, "adjustment cannot be specified"),
        ({"renorm": True, "renorm_clipping": {"rmin": 1, "max": 2}}, "contains keys not in"),
    ],
)
def test_arguments_that_do_not_fit(settings, message):
    with pytest.raises(ValueError, match=message):
        tf.layers.batch_normalization(tf.ones([4, 2, 3]), **settings)


def test_axes_are_a_list():
    with pytest.raises(TypeError, match="axis must be int or list, type given"):
        tf.layers.BatchNormalization(axis=(1,))
    layer = tf.layers.BatchNormalization(axis=-1)
    layer(tf.ones([2, 3]))
    assert layer.axis == [1]
    with pytest.raises(ValueError, match="expected axis 1 of input shape to have value 3"):
        layer(tf.ones([2, 4]))
