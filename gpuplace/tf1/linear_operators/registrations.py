"""Rules for classes of operators and for pairs: adjoints, Cholesky factors, inverses, products, solutions.

Source: tensorflow/python/ops/linalg/adjoint_registrations.py, cholesky_registrations.py, inverse_registrations.py,
matmul_registrations.py, solve_registrations.py and registrations_util.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.ops.math.linalg import cholesky
from gpuplace.ops.math.unary import conj, sqrt
from gpuplace.tf1.linear_operators.algebra import (
    RegisterAdjoint,
    RegisterCholesky,
    RegisterInverse,
    RegisterMatmul,
    RegisterSolve,
)
from gpuplace.tf1.linear_operators.circulant import LinearOperatorCirculant
from gpuplace.tf1.linear_operators.identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)
from gpuplace.tf1.linear_operators.linear_operator import LinearOperator
from gpuplace.tf1.linear_operators.of_one import LinearOperatorAdjoint, LinearOperatorInversion
from gpuplace.tf1.linear_operators.of_several import (
    LinearOperatorBlockDiag,
    LinearOperatorComposition,
    LinearOperatorKronecker,
)
from gpuplace.tf1.linear_operators.structured import (
    LinearOperatorDiag,
    LinearOperatorHouseholder,
    LinearOperatorLowerTriangular,
)
from gpuplace.typing import TensorLike

_POSITIVE: dict[str, Any] = {
    "is_non_singular": True,
    "is_self_adjoint": True,
    "is_positive_definite": True,
    "is_square": True,
}
_TRIANGULAR: dict[str, Any] = {"is_non_singular": True, "is_self_adjoint": False, "is_square": True}


def _hints(one: LinearOperator, **others: Any) -> dict[str, Any]:
    """Return the properties of an operator as hints for an operator with the same properties."""
    properties = {
        "is_non_singular": one.is_non_singular,
        "is_self_adjoint": one.is_self_adjoint,
        "is_positive_definite": one.is_positive_definite,
        "is_square": True,
    }
    return {**properties, **others}


# Adjoints


@RegisterAdjoint(LinearOperator)
def _adjoint(one: LinearOperator) -> LinearOperator:
    return LinearOperatorAdjoint(one, **_hints(one, is_square=one.is_square))


@RegisterAdjoint(LinearOperatorAdjoint)
def _adjoint_of_adjoint(one: LinearOperatorAdjoint) -> LinearOperator:
    return one.operator


def _conjugate(x: Any) -> Any:
    return conj(x) if x.dtype.is_complex else x


@RegisterAdjoint(LinearOperatorScaledIdentity)
def _adjoint_of_scaled_identity(one: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorScaledIdentity(
        num_rows=one._num_rows, multiplier=_conjugate(one.multiplier), **_hints(one)
    )


@RegisterAdjoint(LinearOperatorDiag)
def _adjoint_of_diag(one: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(_conjugate(one.diag), **_hints(one))


@RegisterAdjoint(LinearOperatorBlockDiag)
def _adjoint_of_block_diag(one: LinearOperatorBlockDiag) -> LinearOperator:
    return LinearOperatorBlockDiag([part.adjoint() for part in one.operators], **_hints(one))


@RegisterAdjoint(LinearOperatorKronecker)
def _adjoint_of_kronecker(one: LinearOperatorKronecker) -> LinearOperator:
    return LinearOperatorKronecker([part.adjoint() for part in one.operators], **_hints(one))


@RegisterAdjoint(LinearOperatorCirculant)
def _adjoint_of_circulant(one: LinearOperatorCirculant) -> LinearOperator:
    return LinearOperatorCirculant(_conjugate(one.spectrum), **_hints(one))


@RegisterAdjoint(LinearOperatorIdentity)
@RegisterAdjoint(LinearOperatorHouseholder)
@RegisterInverse(LinearOperatorIdentity)
@RegisterInverse(LinearOperatorHouseholder)
def _itself(one: LinearOperator) -> LinearOperator:
    return one


# Cholesky factors


@RegisterCholesky(LinearOperator)
def _cholesky(one: LinearOperator) -> LinearOperator:
    return LinearOperatorLowerTriangular(cholesky(one.to_dense()), **_TRIANGULAR)


@RegisterCholesky(LinearOperatorDiag)
def _cholesky_of_diag(one: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(sqrt(one.diag), **_POSITIVE)


@RegisterCholesky(LinearOperatorIdentity)
def _cholesky_of_identity(one: LinearOperatorIdentity) -> LinearOperator:
    batch: Any = one.batch_shape
    return LinearOperatorIdentity(num_rows=one._num_rows, batch_shape=batch, dtype=one.dtype, **_POSITIVE)


@RegisterCholesky(LinearOperatorScaledIdentity)
def _cholesky_of_scaled_identity(one: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorScaledIdentity(num_rows=one._num_rows, multiplier=sqrt(one.multiplier), **_POSITIVE)


@RegisterCholesky(LinearOperatorBlockDiag)
def _cholesky_of_block_diag(one: LinearOperatorBlockDiag) -> LinearOperator:
    return LinearOperatorBlockDiag([part.cholesky() for part in one.operators], **_TRIANGULAR)


@RegisterCholesky(LinearOperatorKronecker)
def _cholesky_of_kronecker(one: LinearOperatorKronecker) -> LinearOperator:
    return LinearOperatorKronecker([part.cholesky() for part in one.operators], **_TRIANGULAR)


# Inverses


@RegisterInverse(LinearOperator)
def _inverse(one: LinearOperator) -> LinearOperator:
    return LinearOperatorInversion(one, **_hints(one, is_square=one.is_square))


@RegisterInverse(LinearOperatorInversion)
def _inverse_of_inversion(one: LinearOperatorInversion) -> LinearOperator:
    return one.operator


@RegisterInverse(LinearOperatorDiag)
def _inverse_of_diag(one: LinearOperatorDiag) -> LinearOperator:
    return LinearOperatorDiag(1.0 / one.diag, **_hints(one))


@RegisterInverse(LinearOperatorScaledIdentity)
def _inverse_of_scaled_identity(one: LinearOperatorScaledIdentity) -> LinearOperator:
    return LinearOperatorScaledIdentity(
        num_rows=one._num_rows, multiplier=1.0 / one.multiplier, **_hints(one, is_self_adjoint=True)
    )


@RegisterInverse(LinearOperatorBlockDiag)
def _inverse_of_block_diag(one: LinearOperatorBlockDiag) -> LinearOperator:
    return LinearOperatorBlockDiag([part.inverse() for part in one.operators], **_hints(one))


@RegisterInverse(LinearOperatorKronecker)
def _inverse_of_kronecker(one: LinearOperatorKronecker) -> LinearOperator:
    return LinearOperatorKronecker([part.inverse() for part in one.operators], **_hints(one))


@RegisterInverse(LinearOperatorCirculant)
def _inverse_of_circulant(one: LinearOperatorCirculant) -> LinearOperator:
    return LinearOperatorCirculant(1.0 / one.spectrum, **_hints(one))


# Products and solutions


def _are_square(a: LinearOperator, b: LinearOperator) -> bool | None:
    """Return whether a product is square; None if unknown."""
    if a.is_square and b.is_square:
        return True
    if a.is_square is False and b.is_square is False:
        is_square: bool | None = a.range_dimension == b.domain_dimension
        return is_square
    if a.is_square != b.is_square and a.is_square is not None:
        return False
    return None


def _non_singular(a: LinearOperator, b: LinearOperator) -> bool | None:
    if a.is_non_singular is False or b.is_non_singular is False:
        return False
    return a.is_non_singular and b.is_non_singular


def _commuting(a: LinearOperator, b: LinearOperator) -> dict[str, Any]:
    """Return the properties of the product of two operators that commute."""
    adjoint = {a.is_self_adjoint, b.is_self_adjoint}
    positive = all(one.is_positive_definite is True and one.is_self_adjoint is True for one in (a, b))
    return {
        "is_non_singular": _non_singular(a, b),
        "is_self_adjoint": True if adjoint == {True} else False if adjoint == {True, False} else None,
        "is_positive_definite": True if positive else None,
        "is_square": True,
    }


def _composed(a: LinearOperator, b: LinearOperator, first: LinearOperator) -> LinearOperator:
    square = _are_square(a, b)
    hints: dict[str, Any] = {"is_square": square}
    if square:
        hints["is_non_singular"] = _non_singular(a, b)
    elif square is False:
        hints.update(is_non_singular=False, is_self_adjoint=False, is_positive_definite=False)
    return LinearOperatorComposition([first, b], **hints)


@RegisterMatmul(LinearOperator, LinearOperator)
def _product(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    return _composed(a, b, a)


@RegisterSolve(LinearOperator, LinearOperator)
def _solution(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    return _composed(a, b, LinearOperatorInversion(a))


@RegisterSolve(LinearOperatorInversion, LinearOperator)
def _solution_of_inversion(a: LinearOperatorInversion, b: LinearOperator) -> LinearOperator:
    product: LinearOperator = a.operator.matmul(b)
    return product


@RegisterMatmul(LinearOperatorIdentity, LinearOperator)
@RegisterSolve(LinearOperatorIdentity, LinearOperator)
def _second(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    return b


@RegisterMatmul(LinearOperator, LinearOperatorIdentity)
def _first(a: LinearOperator, b: LinearOperator) -> LinearOperator:
    return a


def _refuse_unless_square(a: LinearOperator, b: LinearOperator) -> None:
    if not a.is_square or not b.is_square:
        raise ValueError(
            "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not supported at this time."
        )


@RegisterMatmul(LinearOperator, LinearOperatorZeros)
def _times_zeros(a: LinearOperator, b: LinearOperatorZeros) -> LinearOperator:
    _refuse_unless_square(a, b)
    return b


@RegisterMatmul(LinearOperatorZeros, LinearOperator)
def _zeros_times(a: LinearOperatorZeros, b: LinearOperator) -> LinearOperator:
    _refuse_unless_square(a, b)
    return a


def _factors(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the diagonal elements of two diagonal operators."""
    return tuple(one.diag if isinstance(one, LinearOperatorDiag) else one.multiplier for one in (a, b))


@RegisterMatmul(LinearOperatorDiag, LinearOperatorDiag)
@RegisterMatmul(LinearOperatorDiag, LinearOperatorScaledIdentity)
def _product_of_diags(a: Any, b: Any) -> LinearOperator:
    first, second = _factors(a, b)
    return LinearOperatorDiag(first * second, **_commuting(a, b))


@RegisterMatmul(LinearOperatorScaledIdentity, LinearOperatorDiag)
def _product_of_scaled_identity(a: TensorLike, b: TensorLike) -> LinearOperator:
    return _product_of_diags(b, a)


@RegisterSolve(LinearOperatorDiag, LinearOperatorDiag)
@RegisterSolve(LinearOperatorDiag, LinearOperatorScaledIdentity)
@RegisterSolve(LinearOperatorScaledIdentity, LinearOperatorDiag)
def _solution_of_diags(a: Any, b: Any) -> LinearOperator:
    first, second = _factors(a, b)
    return LinearOperatorDiag(second / first, **_commuting(a, b))


@RegisterMatmul(LinearOperatorDiag, LinearOperatorLowerTriangular)
def _diag_times_triangle(a: LinearOperatorDiag, b: LinearOperatorLowerTriangular) -> LinearOperator:
    column = a.diag[..., None]
    hints = _commuting(a, b) | {"is_positive_definite": None}
    return LinearOperatorLowerTriangular(column * b.to_dense(), **hints)


@RegisterMatmul(LinearOperatorLowerTriangular, LinearOperatorDiag)
def _triangle_times_diag(a: LinearOperatorLowerTriangular, b: LinearOperatorDiag) -> LinearOperator:
    hints = _commuting(a, b) | {"is_positive_definite": None}
    return LinearOperatorLowerTriangular(a.to_dense() * b.diag, **hints)


@RegisterSolve(LinearOperatorDiag, LinearOperatorLowerTriangular)
def _solution_of_triangle(a: LinearOperatorDiag, b: LinearOperatorLowerTriangular) -> LinearOperator:
    hints = _commuting(a, b) | {"is_positive_definite": None}
    return LinearOperatorLowerTriangular(b.to_dense() / a.diag[..., None], **hints)


@RegisterMatmul(LinearOperatorCirculant, LinearOperatorCirculant)
def _product_of_circulants(a: LinearOperatorCirculant, b: LinearOperatorCirculant) -> LinearOperator:
    return LinearOperatorCirculant(a.spectrum * b.spectrum, **_commuting(a, b))


@RegisterSolve(LinearOperatorCirculant, LinearOperatorCirculant)
def _solution_of_circulants(a: LinearOperatorCirculant, b: LinearOperatorCirculant) -> LinearOperator:
    return LinearOperatorCirculant(b.spectrum / a.spectrum, **_commuting(a, b))
