"""Sums, means and their kin, where releases differ."""

import numpy as np
import pytest

import gpuplace as tf


def value(tensor):
    with tf.Session() as session:
        return session.run(tensor)


def test_a_dimension_that_is_named_twice():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    found = [
        tf.reduce_sum(x, [0, -2]),
        tf.reduce_mean(x, [1, 1], keepdims=True),
        tf.gradients(tf.reduce_max(x, [1, 1]), x)[0],
    ]
    sums, means, slopes = value(found)
    np.testing.assert_array_equal(sums, [4, 6])
    np.testing.assert_array_equal(means, [[1.5], [3.5]])
    np.testing.assert_array_equal(slopes, [[0, 1], [0, 1]])
    tf.set_release("2.21")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Axes contains duplicate dimension: 0"):
        value(tf.reduce_sum(x, [0, -2]))
