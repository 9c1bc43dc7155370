"""``tf.extract_volume_patches``: sums of its results and gradients are what TensorFlow 1.15.5 gave."""

import numpy as np
import pytest

import gpuplace as tf

ANSWERS = [
    ((2, 4, 5, 3, 2), (2, 3, 1), (1, 2, 1), "VALID", (2, 3, 2, 3, 12), -311.23234824836254, 0.05929624),
    ((1, 5, 4, 4, 3), (3, 2, 2), (2, 2, 3), "SAME", (1, 3, 2, 2, 36), 829.55991050601, 1.74046014),
    ((1, 2, 2, 2, 1), (3, 3, 3), (1, 1, 1), "SAME", (1, 2, 2, 2, 27), 6.274917781352997, 2.72304589),
    ((2, 3, 3, 3, 1), (1, 1, 1), (2, 2, 2), "VALID", (2, 2, 2, 2, 1), 16.664818361401558, 0.3289989968),
]


@pytest.mark.parametrize("shape, window, strides, padding, out_shape, total, slope", ANSWERS)
def test_windows_and_gradients_are_tensorflows(shape, window, strides, padding, out_shape, total, slope):
    x = np.arange(np.prod(shape)).reshape(shape).astype(np.float32)
    given = tf.constant(x)
    patches = tf.extract_volume_patches(given, [1, *window, 1], [1, *strides, 1], padding)
    assert tuple(patches.shape.as_list()) == out_shape
    weights = np.cos(np.arange(np.prod(out_shape))).reshape(out_shape).astype(np.float32)
    with tf.Session() as session:
        value, gradient = session.run([patches, tf.gradients(patches, given, weights)[0]])
    assert value.shape == out_shape
    assert (value * weights).sum(dtype=np.float64) == pytest.approx(total, rel=1e-6)
    assert (gradient * np.sin(x)).sum(dtype=np.float64) == pytest.approx(slope, abs=1e-6)


def test_a_window_that_does_not_fit():
    with pytest.raises(ValueError, match="Negative dimension size"):
        tf.extract_volume_patches(tf.ones([1, 2, 2, 2, 1]), [1, 3, 1, 1, 1], [1, 1, 1, 1, 1], "VALID")
