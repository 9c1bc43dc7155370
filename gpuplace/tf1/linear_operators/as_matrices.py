"""Operators in place of matrices: ``tf.matmul``, ``tf.linalg.adjoint`` and similar functions.

Source: tensorflow/python/ops/linalg/linear_operator.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.ops.dispatch import dispatch_for_types
from gpuplace.ops.math import linalg, matrix
from gpuplace.tf1.linear_operators.linear_operator import LinearOperator
from gpuplace.typing import TensorLike


@dispatch_for_types(linalg.adjoint, LinearOperator)
def _adjoint(matrix: LinearOperator, name: Any = None) -> Any:
    return matrix.adjoint(name)


@dispatch_for_types(linalg.cholesky, LinearOperator)
def _cholesky(input: LinearOperator, name: Any = None) -> Any:
    return input.cholesky(name)


@dispatch_for_types(matrix.matrix_diag_part, LinearOperator)
def _diag_part(input: LinearOperator, name: Any = "diag_part", k: Any = 0, padding_value: Any = 0) -> Any:
    return input.diag_part(name)


@dispatch_for_types(linalg.matrix_determinant, LinearOperator)
def _determinant(input: LinearOperator, name: Any = None) -> Any:
    return input.determinant(name)


@dispatch_for_types(linalg.matrix_inverse, LinearOperator)
def _inverse(input: LinearOperator, adjoint: bool = False, name: Any = None) -> Any:
    inverse = input.inverse(name)
    return inverse.adjoint() if adjoint else inverse


@dispatch_for_types(linalg.logdet, LinearOperator)
def _logdet(matrix: LinearOperator, name: Any = None) -> Any:
    if matrix.is_positive_definite and matrix.is_self_adjoint:
        return matrix.log_abs_determinant(name)
    raise ValueError("Expected matrix to be self-adjoint positive definite.")


@dispatch_for_types(matrix.matmul, LinearOperator)
def _matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: Any = None,
) -> Any:
    if transpose_a or transpose_b:
        raise ValueError("Transposing not supported at this time.")
    if a_is_sparse or b_is_sparse:
        raise ValueError("Sparse methods not supported at this time.")
    if isinstance(a, LinearOperator):
        return a.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b, name=name)
    turned = b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a, name=name)
    return linalg.adjoint(turned)


@dispatch_for_types(linalg.matrix_solve, LinearOperator)
def _solve(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: Any = None) -> Any:
    if not isinstance(matrix, LinearOperator):
        raise ValueError("Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported.")
    return matrix.solve(rhs, adjoint=adjoint, name=name)


@dispatch_for_types(matrix.trace, LinearOperator)
def _trace(x: LinearOperator, name: Any = None) -> Any:
    return x.trace(name)
