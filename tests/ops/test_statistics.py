"""Means and variances of weighted values, and losses of vectors; their graphs are compared in ``test_net_graphs``."""

import math

import numpy as np
import pytest

import gpuplace as tf

X = np.array([[1.0, 2.0], [3.0, 5.0]], np.float32)
TRUTH, FOUND = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([[0.8, 0.6], [0.0, 1.0]])


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: tf.nn.sufficient_statistics(X, [0])[:3], (2, [4, 7], [10, 29])),
        (lambda: tf.nn.normalize_moments(*tf.nn.sufficient_statistics(X, [0, 1], shift=2.0)), (2.75, 2.1875)),
        (lambda: tf.nn.weighted_moments(X, [0], [[1.0], [3.0]]), ([2.5, 4.25], [0.75, 1.6875])),
        (
            lambda: tf.nn.weighted_moments(X.astype(np.float16), [1], 2.0, keepdims=True),
            ([[1.5], [4]], [[0.25], [1]]),
        ),
        (lambda: tf.math.reciprocal_no_nan([2.0, 0.0]), [0.5, 0]),
        (lambda: tf.lbeta(X), [math.log(1 / 2), math.log(1 / 105)]),
        (lambda: tf.lbeta(np.zeros([2, 0])), [-np.inf, -np.inf]),
        (lambda: tf.nn.log_poisson_loss([1.0, 2.0], [0.0, 0.5]), [1, math.exp(0.5) - 1]),
        (
            lambda: tf.nn.log_poisson_loss([1.0, 2.0], [0.0, 0.5], True),
            [1, math.exp(0.5) - 1 + 2 * math.log(2) - 2 + 0.5 * math.log(4 * math.pi)],
        ),
        (lambda: tf.losses.cosine_distance(TRUTH, FOUND, 1), 0.2),
        (lambda: tf.losses.cosine_distance(TRUTH, FOUND, 0, [[1.0, 0.0]]), 0.2),
        (lambda: tf.losses.mean_pairwise_squared_error(TRUTH, FOUND), 1.28),
        (lambda: tf.losses.mean_pairwise_squared_error(TRUTH, FOUND, [[1.0], [0.0]]), 0.64),
    ],
)
def test_values(make, expected):
    with tf.Session() as session:
        found = session.run(make())
    if not isinstance(expected, tuple):
        found, expected = [found], [expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tf.losses.cosine_distance(TRUTH, FOUND), "You must specify 'axis'"),
        (lambda: tf.losses.mean_pairwise_squared_error(None, FOUND), "labels must not be None"),
        (lambda: tf.nn.log_poisson_loss([1.0], [1.0, 2.0]), "log_input and targets must have the same shape"),
        (
            lambda: tf.nn.batch_norm_with_global_normalization(X, input=X),
            "Cannot specify both 't' and 'input'",
        ),
    ],
)
def test_what_does_not_fit(make, text):
    with pytest.raises(ValueError, match=text):
        make()
