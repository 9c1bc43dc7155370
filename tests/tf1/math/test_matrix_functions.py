"""Functions of matrices in Python, and where release 1.15 answers otherwise than 2.21; the answers are TensorFlow's."""

import numpy as np
import pytest

import gpuplace as tf

REGULAR = np.array([[4, 1, 0.5], [1, 3, -1], [0.25, -1, 5]])


def value(tensor):
    with tf.Session() as session:
        return session.run(tensor)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_exponentials_and_logarithms(dtype):
    matrices = np.stack([REGULAR, REGULAR / 100, REGULAR.T * 3, np.zeros([3, 3])]).astype(dtype)
    found = value(tf.linalg.expm(matrices))
    values, vectors = np.linalg.eig(matrices.astype("complex128"))
    wanted = vectors * np.exp(values)[:, None] @ np.linalg.inv(vectors)
    np.testing.assert_allclose(found, wanted, rtol=1e-8 if dtype == "float64" else 2e-3, atol=1e-5)
    if dtype == "complex64":
        again = value(tf.linalg.logm(found[:1]))
        np.testing.assert_allclose(again, matrices[:1], atol=1e-3)


def test_exponentials_of_unknown_shape():
    given = tf.placeholder(tf.float64)
    with tf.Session() as session:
        found = session.run(tf.linalg.expm(given), {given: np.diag([0.0, 1.0])})
    np.testing.assert_allclose(found, np.diag([1.0, np.e]))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_least_squares_by_small_ops(dtype):
    matrix, right = REGULAR[:, :2].astype(dtype), REGULAR[:, 2:].astype(dtype)
    wanted = np.linalg.lstsq(matrix, right, rcond=None)[0]
    solution = tf.matrix_solve_ls(matrix, right)
    assert {"Cholesky", "MatMul"} <= {op.type for op in tf.get_default_graph().get_operations()}
    np.testing.assert_allclose(value(solution), wanted, rtol=1e-4)
    wide = tf.placeholder_with_default(matrix.T, [None, None])
    found = tf.matrix_solve_ls(wide, right[:2], fast=True)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(found), np.linalg.pinv(matrix.T) @ right[:2], rtol=1e-4)
    exact = tf.matrix_solve_ls(matrix, right, fast=False)
    assert exact.op.type == "MatrixSolveLs"
    np.testing.assert_allclose(value(exact), wanted, rtol=1e-4)
    with pytest.raises(NotImplementedError, match="currently disabled for complex128"):
        tf.matrix_solve_ls(matrix.astype("complex128"), right, 0.5)


def test_pseudo_inverses_and_ranks():
    matrices = np.stack([np.ones([3, 2]), REGULAR[:, :2]])
    np.testing.assert_allclose(value(tf.linalg.pinv(matrices)), np.linalg.pinv(matrices), atol=1e-12)
    assert value(tf.linalg.matrix_rank(matrices)).tolist() == [1, 2]
    assert value(tf.linalg.matrix_rank(matrices, tol=100.0)).tolist() == [0, 0]
    with pytest.raises(TypeError, match="must have `float`-like `dtype` \\(saw int32\\)"):
        tf.linalg.pinv([[1]])
    with pytest.raises(ValueError, match="at least 2 dimensions \\(saw: 1\\)"):
        tf.linalg.matrix_rank([1.0])


DIAGONALS = ([1.0, 2.0, 0.0], [4.0, 5.0, 6.0], [0.0, 1.0, 2.0])
MATRIX = np.diag(DIAGONALS[1]) + np.diag(DIAGONALS[0][:2], 1) + np.diag(DIAGONALS[2][1:], -1)


@pytest.mark.parametrize(
    ("diagonals", "form"),
    [
        (DIAGONALS, "compact"),
        (DIAGONALS, "sequence"),
        ((DIAGONALS[0][:2], DIAGONALS[1], DIAGONALS[2][1:]), "sequence"),
        (MATRIX, "matrix"),
    ],
)
def test_three_diagonals(diagonals, form):
    right = np.arange(6.0).reshape(3, 2)
    diagonals = (
        tf.constant(diagonals, tf.float64)
        if form != "sequence"
        else [tf.constant(one, tf.float64) for one in diagonals]
    )
    solved = tf.linalg.tridiagonal_solve(diagonals, tf.constant(right), form)
    np.testing.assert_allclose(value(solved), np.linalg.solve(MATRIX, right), rtol=1e-5)
    turned = tf.linalg.tridiagonal_solve(diagonals, tf.constant(right.T), form, transpose_rhs=True)
    np.testing.assert_allclose(value(turned), np.linalg.solve(MATRIX, right).T, rtol=1e-5)
    vector = tf.linalg.tridiagonal_solve(diagonals, tf.constant(right[:, 0]), form)
    np.testing.assert_allclose(value(vector), np.linalg.solve(MATRIX, right[:, 0]), rtol=1e-5)
    if form != "sequence" or diagonals[0].shape.as_list() == [3]:
        np.testing.assert_allclose(
            value(tf.linalg.tridiagonal_matmul(diagonals, right, form)), MATRIX @ right
        )


def test_three_diagonals_that_do_not_fit():
    ones = np.ones([3, 3])
    for call, text in (
        (lambda: tf.linalg.tridiagonal_solve(ones, ones[0], "other"), "Unrecognized diagonals_format: other"),
        (lambda: tf.linalg.tridiagonal_solve([ones[0]] * 2, ones[0], "sequence"), "sequence of length 3"),
        (lambda: tf.linalg.tridiagonal_solve(ones[:2], ones[0]), "Expected 3 diagonals got 2"),
        (lambda: tf.linalg.tridiagonal_solve(ones, ones[0, :2]), "sides to be equal, got 3 and 2"),
        (lambda: tf.linalg.tridiagonal_solve(ones[:2], ones[0], "matrix"), "to be same, got 2 and 3"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


@pytest.mark.parametrize(
    ("pivoting", "text"),
    [
        (True, "^The matrix is not invertible"),
        (False, "requires pivoting. Try setting partial_pivoting = True"),
    ],
)
def test_three_diagonals_without_a_solution(pivoting, text):
    solved = tf.linalg.tridiagonal_solve(np.zeros([3, 2]), np.ones([2, 1]), partial_pivoting=pivoting)
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        value(solved)
    tf.set_release("2.21")
    assert np.isnan(value(solved)).all()


def test_running_sums_of_exponentials_that_leave_themselves_out():
    found = tf.math.cumulative_logsumexp(tf.constant([[1.0], [3.0]]), exclusive=True)
    assert value(found).tolist() == [[np.finfo(np.float32).min], [1.0]]
    tf.set_release("2.21")
    assert value(found).tolist() == [[-np.inf], [1.0]]
