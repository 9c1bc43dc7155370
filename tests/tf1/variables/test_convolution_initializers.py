"""Orthogonal kernels of convolutions."""

import numpy as np
import pytest

import gpuplace as tf


@pytest.mark.parametrize(
    ("make", "shape", "convolve"),
    [
        (tf.contrib.framework.convolutional_orthogonal_1d, [3, 2, 4], tf.nn.conv1d),
        (tf.contrib.framework.convolutional_orthogonal_2d, [3, 3, 2, 4], tf.nn.conv2d),
        (tf.contrib.framework.convolutional_delta_orthogonal, [3, 3, 2, 4], tf.nn.conv2d),
    ],
)
def test_lengths_stay_where_the_input_is_padded_in_a_circle(make, shape, convolve):
    rank = len(shape) - 2
    image = np.random.default_rng(0).normal(size=(2, *[6] * rank, 2))
    padded = np.pad(image, [(0, 0), *[(1, 1)] * rank, (0, 0)], mode="wrap")
    kernel = make(gain=2.0, seed=1, dtype=tf.float64)(shape)
    made = convolve(padded, kernel, 1 if rank == 1 else [1] * (rank + 2), "VALID")
    assert kernel.shape.as_list() == shape
    with tf.Session() as session:
        np.testing.assert_allclose(np.linalg.norm(session.run(made)), 2 * np.linalg.norm(image))


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("convolutional_orthogonal_1d", [3, 2, 3], [-0.59292, -1.21331, 1.47523, 1.77907, 0.21144, 0.88894]),
        ("convolutional_orthogonal_2d", [2, 2, 2, 2], [-1.60273, 1.19635, 1.19635, 1.60273, 0, 0]),
    ],
)
def test_what_a_seed_gives_is_tensorflows(name, shape, expected):
    tf.set_random_seed(3)
    kernel = getattr(tf.contrib.framework, name)(seed=7, gain=2.0)(shape)
    np.testing.assert_allclose(tf.Session().run(kernel).ravel()[:6], expected, atol=1e-5)


def test_three_axes_and_what_is_refused():
    kernel = tf.contrib.framework.convolutional_orthogonal_3d(seed=2)([2, 2, 2, 2, 3])
    found = tf.Session().run(kernel)
    np.testing.assert_allclose(np.einsum("xyzio,xyzjo->ij", found, found), np.eye(2), atol=1e-5)
    for make, shape, said in (
        (tf.contrib.framework.convolutional_orthogonal_2d, [3, 3, 2], "must be four-dimensional"),
        (tf.contrib.framework.convolutional_orthogonal_2d, [3, 2, 2, 2], "Kernel sizes must be equal"),
        (tf.contrib.framework.convolutional_delta_orthogonal, [3, 4, 2], "greater than out_filters"),
    ):
        with pytest.raises(ValueError, match=said):
            make()(shape)
    with pytest.raises(ValueError, match="Expected floating point type"):
        tf.contrib.framework.convolutional_orthogonal_1d(dtype=tf.int32)


@pytest.mark.parametrize("make", [tf.orthogonal_initializer, tf.initializers.identity])
def test_matrices_of_doubles_have_a_gain(make):
    matrix = tf.Session().run(make(gain=3.0, dtype=tf.float64)([4, 4]))
    assert matrix.dtype == np.float64
    np.testing.assert_allclose(matrix @ matrix.T, 9 * np.eye(4), atol=1e-9)
