"""Eigenvalues and singular values: gradients, what they put together, and norms."""

from typing import Any

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


RANDOM = np.random.RandomState(0)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (3, 3), (2, 4, 2)])
@pytest.mark.parametrize("full_matrices", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_the_vectors_make_the_matrix(shape: Any, full_matrices: bool, dtype: str) -> None:
    a = RANDOM.standard_normal(shape).astype(dtype) + (1j if dtype == "complex128" else 0)
    s, u, v = tf.linalg.svd(tf.constant(a), full_matrices=full_matrices)
    with tf.Session() as session:
        values, left, right = session.run([s, u, v])
    assert [t.shape.as_list() for t in (s, u, v)] == [list(x.shape) for x in (values, left, right)]
    assert s.dtype == tf.float64
    inner = values.shape[-1]
    made = left[..., :inner] * values[..., None, :] @ np.conj(np.swapaxes(right[..., :inner], -1, -2))
    np.testing.assert_allclose(made, a, atol=1e-12)


@pytest.mark.parametrize("axis", [(-2, -1), (0, 1), (2, 0)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_the_norm_of_order_2_of_matrices(axis: tuple[int, int], keepdims: bool, known: bool) -> None:
    a = RANDOM.standard_normal((2, 3, 4))
    x = tf.constant(a) if known else tf.placeholder(tf.float64)
    with tf.Session() as session:
        result = session.run(tf.norm(x, 2, axis, keepdims), {} if known else {x: a})
    np.testing.assert_allclose(result, np.linalg.norm(a, 2, axis, keepdims), rtol=1e-12)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (3, 3), (2, 3, 2)])
@pytest.mark.parametrize("kind", ["values", "vectors", "full"])
def test_gradients(shape: Any, kind: str) -> None:
    a = tf.constant(RANDOM.standard_normal(shape))
    if kind == "values":
        outputs = [tf.linalg.svd(a, compute_uv=False)]
    else:  # squares, since the sign of vectors is anybody's choice
        outputs = [tf.square(one) for one in tf.linalg.svd(a, full_matrices=kind == "full")]
    with tf.Session():
        for one in outputs:
            error = tf.test.compute_gradient_error(a, shape, one, one.shape.as_list())
            assert error < 1e-4


def test_gradients_that_there_are_not():
    a = tf.placeholder(tf.float32, [4, 2])
    with pytest.raises(NotImplementedError, match="abs\\(m - n\\) > 1 when full_matrices is True"):
        tf.gradients(tf.svd(a, full_matrices=True)[1], a)
    with pytest.raises(NotImplementedError, match="unknown inner matrix shape"):
        b = tf.placeholder(tf.float32, [None, 2])
        tf.gradients(tf.svd(b)[1], b)
