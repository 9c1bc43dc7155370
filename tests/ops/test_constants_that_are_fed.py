"""Kernels that read a constant input beforehand, in runs that feed another value for it."""

import numpy as np
import pytest

import gpuplace as tf

VALUES = np.arange(12, dtype=np.float32).reshape(2, 6)


@pytest.mark.parametrize(
    ("call", "fed", "expected"),
    [
        (lambda x: tf.reshape(x, [3, 4]), [4, 3], VALUES.reshape(4, 3)),
        (lambda x: tf.reshape(x, [3, -1]), [-1, 3], VALUES.reshape(-1, 3)),
        (lambda x: tf.concat([x, x], 0), 1, np.concatenate([VALUES] * 2, 1)),
        (lambda x: tf.reduce_sum(x, [0]), [1], VALUES.sum(1)),
        (lambda x: tf.split(x, 2, 1)[0], 0, VALUES[:1]),
    ],
)
def test_the_fed_value_counts(call, fed, expected):
    x = tf.placeholder(tf.float32, [2, 6])
    y = call(x)
    (constant,) = [tensor for tensor in y.op.inputs if tensor.op.type == "Const"]
    with tf.Session() as session:
        kept = session.run(y, {x: VALUES})
        assert kept.shape == tuple(y.shape.as_list())
        np.testing.assert_array_equal(session.run(y, {x: VALUES, constant: fed}), expected)
        np.testing.assert_array_equal(session.run(y, {x: VALUES}), kept)


def test_a_shape_that_does_not_fit_is_refused():
    x = tf.placeholder(tf.float32, None)
    y = tf.reshape(x, [5, 2])
    with (
        tf.Session() as session,
        pytest.raises(
            tf.errors.InvalidArgumentError, match="tensor with 12 values, but the requested shape has 10"
        ),
    ):
        session.run(y, {x: VALUES})
