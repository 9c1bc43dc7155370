"""Products, solutions, determinants and algebra of linear operators, against those of TensorFlow 1.15.5."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from tests.tf1.linear_operators.cases import CASES

linalg = tf.linalg


@pytest.fixture(scope="module")
def recorded() -> dict:
    path = Path(__file__).parent / "answers-1.15.json.gz"
    return json.loads(gzip.decompress(path.read_bytes()))


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_tensorflow(name, recorded):
    with tf.Session() as session:
        found = session.run(CASES[name](tf))
    assert len(found) == len(recorded[name])
    for array, (dtype, shape, elements) in zip(found, recorded[name], strict=True):
        if dtype == "text":
            assert array.decode() == elements
            continue
        assert str(array.dtype) == dtype and list(array.shape) == shape
        expected = np.array(elements)
        if dtype.startswith("complex"):
            expected = expected[0::2] + 1j * expected[1::2]
        tolerance = 1e-12 if dtype in ("float64", "complex128") else 2e-5
        np.testing.assert_allclose(array, expected.reshape(shape), rtol=tolerance, atol=tolerance)


def refused(error, words):
    return pytest.raises(error, match=words)


def test_what_is_said_of_an_operator_may_not_contradict_itself():
    full, diagonal = linalg.LinearOperatorFullMatrix, linalg.LinearOperatorDiag
    one = [[1.0, 0.0], [0.0, 1.0]]
    with refused(ValueError, "A positive definite matrix is always non-singular."):
        full(one, is_positive_definite=True, is_non_singular=False)
    with refused(ValueError, "A self-adjoint matrix is always square."):
        full(one, is_self_adjoint=True, is_square=False)
    with refused(ValueError, "A real diagonal operator is always self adjoint."):
        diagonal([1.0], is_self_adjoint=False)
    with refused(ValueError, "User set is_square hint to False, but the operator was square."):
        full(one, is_square=False).is_square  # noqa: B018 - asking is what fails
    with refused(ValueError, "The direct sum of self-adjoint operators is always self-adjoint."):
        linalg.LinearOperatorBlockDiag([diagonal([1.0])], is_self_adjoint=False)
    with refused(ValueError, "An operator is square if and only if its adjoint is square."):
        linalg.LinearOperatorAdjoint(full(one), is_square=False)
    with refused(ValueError, "must have `is_non_singular` equal to `True` or `None`.  Found False, None"):
        linalg.LinearOperatorInversion(full(one, is_non_singular=False))
    with refused(ValueError, "Arguments imply this is self-adjoint positive-definite operator."):
        linalg.LinearOperatorLowRankUpdate(
            diagonal([1.0], is_positive_definite=True), [[1.0]], is_non_singular=False
        )


def test_arguments_are_checked():
    full = linalg.LinearOperatorFullMatrix(np.eye(2, dtype=np.float32))
    with refused(TypeError, "Expected argument to have dtype <dtype: 'float32'>"):
        full.matmul(np.eye(2))
    with refused(ValueError, "Dimensions 2 and 3 are not compatible"):
        full.matvec([1.0, 2.0, 3.0])
    with refused(ValueError, "Expected `x` to have dimension 2 but got 3."):
        full.matmul(linalg.LinearOperatorIdentity(3))
    with refused(ValueError, "Argument num_rows must be non-negative.  Found: -2"):
        linalg.LinearOperatorIdentity(-2)
    with refused(TypeError, "Argument num_rows cannot be reference type."):
        linalg.LinearOperatorIdentity(tf.Variable(3))
    with refused(TypeError, "Expected all operators to have the same dtype.  Found"):
        linalg.LinearOperatorComposition([full, linalg.LinearOperatorIdentity(2, dtype=tf.float64)])
    with refused(ValueError, "Expected a non-empty list of operators. Found: "):
        linalg.LinearOperatorBlockDiag([])
    with refused(
        ValueError, "Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix."
    ):
        full.cholesky()
    wide = linalg.LinearOperatorFullMatrix(np.ones((2, 3), np.float32))
    with refused(
        NotImplementedError, "Determinant not implemented for an operator that is expected to not be square."
    ):
        wide.determinant()
    with refused(
        NotImplementedError, "Exact solve not implemented for an operator that is expected to not be square."
    ):
        wide.solve([[1.0], [2.0]])
    with refused(tf.errors.InvalidArgumentError, "Zero operators are always non-invertible."):
        linalg.LinearOperatorZeros(2).assert_non_singular()


def test_checks_run_with_the_graph():
    with tf.Session() as session:
        session.run(linalg.LinearOperatorDiag([1.0, 2.0]).assert_non_singular())
        with refused(tf.errors.InvalidArgumentError, "Diagonal contained zero values"):
            session.run(
                linalg.LinearOperatorDiag(tf.placeholder_with_default([1.0, 0.0], [2])).assert_non_singular()
            )
        singular = linalg.LinearOperatorFullMatrix(
            tf.placeholder_with_default([[1.0, 1.0], [1.0, 1.0]], [2, 2])
        )
        with refused(tf.errors.InvalidArgumentError, "Singular matrix up to precision epsilon."):
            session.run(singular.assert_non_singular())


def test_an_operator_reads_its_variables_when_it_is_asked():
    variable = tf.Variable([1.0, 2.0])
    operator = linalg.LinearOperatorBlockDiag([linalg.LinearOperatorDiag(variable)])
    assert operator.variables == (variable,) == operator.trainable_variables
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        determinant = operator.determinant()
        assert session.run(determinant) == 2
        session.run(variable.assign([3.0, 4.0]))
        assert session.run(determinant) == 12
        assert session.run(tf.gradients(determinant, variable)[0]).tolist() == [4, 3]


def test_functions_of_matrices_take_operators():
    operator = linalg.LinearOperatorDiag([1.0, 2.0], is_positive_definite=True)
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.Session() as session:
        assert session.run(tf.matmul(operator, x)).tolist() == [[1, 2], [6, 8]]
        assert session.run(tf.matmul(x, operator)).tolist() == [[1, 4], [3, 8]]
        assert session.run([linalg.det(operator), linalg.trace(operator)]) == [2, 3]
        assert session.run(linalg.solve(operator, x)).tolist() == [[1, 2], [1.5, 2]]
        assert session.run(linalg.diag_part(operator)).tolist() == [1, 2]
    assert isinstance(linalg.inv(operator), linalg.LinearOperatorDiag)
    assert linalg.adjoint(operator) is operator
    with refused(ValueError, "Transposing not supported at this time."):
        tf.matmul(operator, x, transpose_a=True)
    with refused(ValueError, "`matrix` as a Tensor and `rhs` as a LinearOperator"):
        linalg.solve(x, operator)
    with refused(TypeError, "unhashable|Unsupported|unexpected|Expected|convert"):
        tf.matmul(object(), x)


def test_a_class_of_ones_own_may_be_registered():
    class Doubling(linalg.LinearOperatorIdentity):
        def _matmul(self, x, adjoint=False, adjoint_arg=False):
            return 2.0 * x

    from gpuplace.tf1.linear_operators import algebra

    @algebra.RegisterMatmul(Doubling, Doubling)
    def _four_times(a, b):
        return linalg.LinearOperatorScaledIdentity(2, 4.0)

    twice = Doubling(2)
    assert tf.Session().run(twice.matmul(twice).to_dense()).tolist() == [[4, 0], [0, 4]]
    with refused(ValueError, r"Matmul\(Doubling, Doubling\) has already been registered."):
        algebra.RegisterMatmul(Doubling, Doubling)(lambda a, b: a)
    with refused(TypeError, "adjoint_fn must be callable, received: 3"):
        algebra.RegisterAdjoint(Doubling)(3)
    with refused(ValueError, r"No inverse registered for <class 'int'>"):
        algebra.inverse(3)
