"""Random numbers that are a function of a seed."""

import pytest

import gpuplace as tf


def test_numbers_without_state_are_those_of_their_seed():
    random = tf.random
    with tf.Session() as session:
        one = random.stateless_uniform([4], seed=[1, 2])
        assert session.run(one).tolist() == session.run(one).tolist()
        assert session.run(one).tolist() != session.run(random.stateless_uniform([4], seed=[2, 1])).tolist()
        normal = session.run(random.stateless_normal([4000], [3, 4], mean=5.0, stddev=2.0))
        assert abs(normal.mean() - 5) < 0.1 and abs(normal.std() - 2) < 0.1
        cut = session.run(random.stateless_truncated_normal([500], [3, 4], dtype=tf.float64))
        assert abs(cut).max() < 2
        drawn = session.run(random.stateless_categorical([[0.0, -99.0]], 5, seed=[1, 1]))
        assert drawn.tolist() == [[0] * 5]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"seed must have shape \[2\], not \[3\]"):
            seed = tf.placeholder(tf.int32)
            session.run(random.stateless_uniform([4], seed), {seed: [1, 2, 3]})
    with pytest.raises(ValueError, match="Must specify maxval for integer dtype"):
        random.stateless_uniform([4], [1, 2], dtype=tf.int32)
