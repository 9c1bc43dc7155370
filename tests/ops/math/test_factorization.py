"""Eigenvalues and singular values: gradients, and what they put together."""

import numpy as np
import pytest

import gpuplace as tf

MATRICES = np.random.default_rng(5).normal(size=[2, 4, 4])


def slopes(matrices, loss):
    found = np.zeros_like(matrices)
    for place in np.ndindex(matrices.shape):
        step = np.zeros_like(matrices)
        step[place] = 1e-6
        found[place] = (loss(matrices + step) - loss(matrices - step)) / 2e-6
    return found


@pytest.mark.parametrize("with_vectors", [True, False])
def test_gradient_of_eigenvalues_is_the_slope(with_vectors):
    x = tf.placeholder(tf.float64, [2, 4, 4])
    if with_vectors:
        values, vectors = tf.self_adjoint_eig(x)
        total = tf.reduce_sum(values**3) + tf.reduce_sum(tf.square(vectors) * np.arange(16.0).reshape(4, 4))
    else:
        total = tf.reduce_sum(tf.self_adjoint_eigvals(x) ** 3)
    (gradient,) = tf.gradients(total, [x])
    with tf.Session() as session:
        expected = slopes(MATRICES, lambda value: session.run(total, {x: value}))
        np.testing.assert_allclose(session.run(gradient, {x: MATRICES}), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(3, 5), (2, 5, 3), (4, 4)])
@pytest.mark.parametrize("full", [True, False])
def test_factors_make_the_matrix(shape, full):
    matrices = np.random.default_rng(6).normal(size=shape) + 1j
    with tf.Session() as session:
        s, u, v = tf.svd(tf.constant(matrices), full_matrices=full)
        least = min(shape[-2:])
        made = tf.matmul(
            u[..., :least] * tf.cast(s, tf.complex128)[..., None, :], v[..., :least], adjoint_b=True
        )
        q, r = tf.qr(tf.constant(matrices), full_matrices=full)
        for found in session.run([made, tf.matmul(q, r)]):
            np.testing.assert_allclose(found, matrices, atol=1e-12)
        alone = tf.svd(tf.constant(matrices), compute_uv=False)
        assert alone.dtype == tf.float64
        np.testing.assert_allclose(*session.run([alone, s]), rtol=1e-12)


def test_matrices_without_rows():
    with tf.Session() as session:
        values, vectors = session.run(tf.self_adjoint_eig(tf.zeros([2, 0, 0])))
        assert values.shape == (2, 0) and vectors.shape == (2, 0, 0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="input might not be valid"):
            session.run(tf.self_adjoint_eigvals([[np.nan]]))
