"""Axes, sizes and counts of a rank that is known only when an op runs; the sentences are TensorFlow 1.15.5's."""

import numpy as np
import pytest

import gpuplace as tf

CASES = [
    (tf.concat, (([2], [3]), [0]), "axis tensor should be a scalar integer, but got shape [1]"),
    (tf.fill, (2, 3), "dims must be a vector, got shape []"),
    (tf.fill, ([2], [3]), "value must be a scalar, got shape [1]"),
    (tf.random_uniform, (3,), "shape must be a vector of {int32,int64}, got shape []"),
    (tf.reshape, (7, 1), "sizes input must be 1-D, not []"),
    (tf.unsorted_segment_sum, (7, 1, [4]), "num_segments should be a scalar, not shape [1]"),
    (tf.range, ([0], 3, 2), "start must be a scalar, not shape [1]"),
    (tf.range, (0, [3], 2), "limit must be a scalar, not shape [1]"),
    (tf.range, (0, 3, [2]), "delta must be a scalar, not shape [1]"),
    (
        tf.slice,
        ([1, 2], 0, [1]),
        "Expected begin and size arguments to be 1-D tensors of size 1, but got shapes [] and [1] instead.",
    ),
    (tf.tile, ([7], 2), "Expected multiples to be 1-D, but got shape []"),
    (
        lambda axis, value: tf.split(value, 2, axis),
        ([0], [1, 2]),
        "split_dim must be a scalar but has rank 1",
    ),
    (tf.argmax, ([1, 2], [0]), "dim must be a scalar, but received tensor of shape: [1]"),
    (tf.cumsum, ([1, 2], [0, 0]), "ScanOp: axis must be a scalar, not [2]"),
    (tf.one_hot, ([1, 2], [3]), "depth must be a scalar, but got: [1]"),
    (tf.transpose, ([[1, 2]], 0), "perm must be a vector, not []"),
    (lambda x, at, axis: tf.gather(x, at, axis=axis), ([1, 2], [0], [0]), "axis must be scalar"),
    (tf.nn.top_k, ([1, 2], [1]), "k must be scalar, got shape [1]"),
    (tf.reverse, ([1, 2], 0), "'dims' must be 1-dimension, not 0"),
    (tf.broadcast_to, ([1], 3), "shape must be a vector of {int32,int64}, got shape []"),
    (lambda n: tf.linspace(0.0, 1.0, n), ([3],), "num must be a scalar, not shape [1]"),
    (lambda n: tf.multinomial([[0.0, 0.0]], n), ([3],), "num_samples should be a scalar, got shape [1]"),
    (lambda n: tf.matrix_band_part([[1.0, 2.0]], n, [0]), ([0],), "num_lower must be scalar, got shape [1]"),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_ranks_that_do_not_fit(number):
    make, arguments, text = CASES[number]
    feeds = {}

    def placeholder(value):
        if isinstance(value, tuple):
            return [placeholder(one) for one in value]
        array = np.asarray(value, np.int32)
        tensor = tf.placeholder(tf.int32)
        feeds[tensor] = array
        return tensor

    made = make(*(placeholder(one) for one in arguments))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(made, feeds)
    assert caught.value.message.startswith(text)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: tf.space_to_batch_nd(tf.zeros([1, 2, 2, 1]), [0, 1], [[0, 0]] * 2),
            "block_shape must be positive",
        ),
        (
            lambda: tf.batch_to_space_nd(tf.zeros([4, 2, 2, 1]), [0, 1], [[0, 0]] * 2),
            "block_shape must be positive",
        ),
        (
            lambda: tf.space_to_batch_nd(tf.zeros([1, 2, 2, 1]), [1, 1], [[0, -1], [0, 0]]),
            "paddings cannot be negative",
        ),
        (
            lambda: tf.batch_to_space_nd(tf.zeros([4, 2, 2, 1]), [1, 1], [[0, -1], [0, 0]]),
            "crops cannot be negative",
        ),
        (
            lambda: tf.space_to_batch_nd(tf.zeros([1, 2, 2, 1]), [1, 1], [[0, 0]]),
            r"Dimension 0 in both shapes must be equal, but are 1 and 2. Shapes are \[1,2\] and \[2,2\].",
        ),
    ],
)
def test_blocks_that_do_not_fit(make, text):
    with pytest.raises(ValueError, match=f"^{text}"):
        make()
