"""``tf.repeat`` beside ``numpy.repeat``, and its gradient."""

import numpy as np
import pytest

import gpuplace as tf

X = np.arange(12.0).reshape(3, 4)
CASES = [(2, None), (3, 1), ([1, 2, 0], 0), ([1, 0, 2, 3], -1), ([2], 0), (0, 1), (list(range(12)), None)]


@pytest.mark.parametrize("repeats, axis", CASES)
@pytest.mark.parametrize("is_known", [True, False])
def test_repeats_as_numpy_does(repeats, axis, is_known):
    x = tf.constant(X) if is_known else tf.placeholder(tf.float64, [None, None])
    often = (
        tf.constant(repeats)
        if is_known
        else tf.placeholder_with_default(np.array(repeats), np.shape(repeats))
    )
    repeated = tf.repeat(x, often, axis)
    with tf.Session() as session:
        value = session.run(repeated, {} if is_known else {x: X})
    np.testing.assert_array_equal(value, np.repeat(X, repeats, axis))
    assert repeated.shape.is_compatible_with(value.shape)


def test_shapes_scalars_and_gradients():
    assert tf.repeat(tf.constant(X), 2, axis=1).shape.as_list() == [3, 8]
    x = tf.constant([1.0, 2.0, 3.0])
    slope = tf.gradients(tf.repeat(x, [2, 0, 1]), x)[0]
    with tf.Session() as session:
        assert session.run(tf.repeat(3, 4)).tolist() == [3, 3, 3, 3]
        assert session.run(slope).tolist() == [2, 0, 1]


def test_what_cannot_be_repeated():
    with pytest.raises(ValueError, match="rank"):
        tf.repeat(X, [[1, 2, 3]])
    with pytest.raises(ValueError, match="Dimension is 2"):
        tf.repeat(X, 2, axis=2)
