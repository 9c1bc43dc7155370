"""Numbers of gamma and of Poisson distributions."""

import numpy as np
import pytest

import gpuplace as tf


@pytest.mark.parametrize("alpha", [0.4, 1.0, 7.0])
def test_gamma_numbers_have_their_mean_and_variance(alpha):
    drawn = tf.Session().run(tf.random_gamma([20000], alpha, beta=2.0, seed=1))
    assert drawn.dtype == np.float32 and drawn.min() > 0
    assert abs(drawn.mean() - alpha / 2) < 0.05
    assert abs(drawn.var() - alpha / 4) < 0.1


@pytest.mark.parametrize("mean", [0.0, 0.7, 9.5, 60.0])
def test_poisson_numbers_have_their_mean_and_variance(mean):
    drawn = tf.Session().run(tf.random_poisson(mean, [20000], seed=1))
    assert (drawn == np.floor(drawn)).all()
    assert abs(drawn.mean() - mean) < 0.03 * max(mean, 1)
    assert abs(drawn.var() - mean) < 0.05 * max(mean, 1)


def test_shapes_are_those_of_both_parameters():
    assert tf.random_gamma([5], [0.5, 1.5], [[1.0], [2.0]]).shape.as_list() == [5, 2, 2]
    assert tf.Session().run(tf.random_gamma([5], [0.5, 1.5], [[1.0], [2.0]])).shape == (5, 2, 2)
    assert tf.Session().run(tf.random.poisson(3.0, [], tf.int32)).shape == ()
    sizes = tf.broadcast_dynamic_shape(tf.constant([2, 1]), tf.constant([3]))
    assert tf.random_uniform(sizes).shape.as_list() == [2, 3]


def test_gamma_numbers_follow_their_parameters():
    """The slope of a number's mean is that of the mean: 1 / beta and -alpha / beta ** 2."""
    alpha, beta = tf.constant([0.8, 3.0]), tf.constant([1.0, 2.0])
    drawn = tf.random_gamma([4000], alpha, beta, seed=5)
    assert drawn.shape.as_list() == [4000, 2]
    of_alpha, of_beta = tf.Session().run(tf.gradients(tf.reduce_mean(drawn, 0), [alpha, beta]))
    assert np.allclose(of_alpha, [1, 0.5], rtol=0.1)
    assert np.allclose(of_beta, [-0.8, -0.75], rtol=0.1)
