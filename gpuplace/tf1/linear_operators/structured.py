"""Operators defined by a matrix or a part of it: dense, diagonal, triangular and Householder operators.

Source: tensorflow/python/ops/linalg/linear_operator_full_matrix.py, linear_operator_diag.py,
linear_operator_lower_triangular.py and linear_operator_householder.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import complex64, complex128, float16, float32, float64
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import ones, zeros
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import expand_dims
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.flow.control import no_op
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.check_ops import assert_positive
from gpuplace.ops.math.linalg import adjoint as adjoint_of
from gpuplace.ops.math.matrix import matmul, matrix_band_part, matrix_diag, matrix_diag_part, matrix_set_diag
from gpuplace.ops.math.reduction import norm, reduce_prod, reduce_sum
from gpuplace.ops.math.unary import abs as magnitude
from gpuplace.ops.math.unary import conj, log, real
from gpuplace.shapes import TensorShape
from gpuplace.tf1.linear_operators.broadcasting import (
    assert_no_entries_with_modulus_zero,
    assert_zero_imag_part,
    convert_nonref_to_tensor,
    implied,
    matrix_triangular_solve_with_broadcast,
)
from gpuplace.tf1.linear_operators.linear_operator import LinearOperator
from gpuplace.typing import TensorLike


class LinearOperatorFullMatrix(LinearOperator):
    """Dense matrices.

    Args:
        matrix: floating or complex matrices along the last two axes.
        is_non_singular: whether it has an inverse; None if unknown, as for the other properties.
        is_self_adjoint: whether it is self-adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: whether it is square.
        name: name of its scopes.

    Raises:
        TypeError: the dtype is wrong.
        ValueError: there are fewer than two axes.
    """

    def __init__(
        self,
        matrix: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        with name_scope(name, values=[matrix]):
            self._matrix = convert_nonref_to_tensor(matrix, name="matrix")
            allowed = [float16, float32, float64, complex64, complex128]
            tensor = convert_to_tensor(self._matrix, name="matrix")
            if tensor.dtype.base_dtype not in allowed:
                raise TypeError(f"Argument matrix must have dtype in {allowed}.  Found: {tensor.dtype}")
            if tensor.shape.ndims is not None and tensor.shape.ndims < 2:
                raise ValueError(f"Argument matrix must have at least 2 dimensions.  Found: {tensor}")
            super().__init__(
                dtype=self._matrix.dtype,
                graph_parents=[self._matrix],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )

    def _shape(self) -> TensorShape:
        shape: TensorShape = self._matrix.shape
        return shape

    def _shape_tensor(self) -> Tensor:
        return shape_of(self._matrix)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matmul(self._matrix, x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _to_dense(self) -> Any:
        return self._matrix


class LinearOperatorDiag(LinearOperator):
    """Diagonal matrices.

    Args:
        diag: the diagonals along the last axis.
        is_non_singular: whether it has an inverse; None if unknown, as for the other properties.
        is_self_adjoint: whether it is self-adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: must be True or None.
        name: name of its scopes.

    Raises:
        ValueError: there is no axis, or a property is impossible.
    """

    def __init__(
        self,
        diag: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        with name_scope(name, values=[diag]):
            self._diag = convert_nonref_to_tensor(diag, name="diag")
            if self._diag.shape.ndims is not None and self._diag.shape.ndims < 1:
                raise ValueError(f"Argument diag must have at least 1 dimension.  Found: {self._diag}")
            is_self_adjoint = implied(
                is_self_adjoint,
                not self._diag.dtype.is_complex,
                "A real diagonal operator is always self adjoint.",
            )
            super().__init__(
                dtype=self._diag.dtype,
                graph_parents=[self._diag],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=implied(is_square, True, "Only square diagonal operators currently supported."),
                name=name,
            )

    @property
    def diag(self) -> Any:
        """The diagonals."""
        return self._diag

    def _shape(self) -> TensorShape:
        sizes: TensorShape = self._diag.shape
        return sizes.concatenate(sizes[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = shape_of(self._diag)
        return concat([sizes, [sizes[-1]]], 0)

    def _assert_non_singular(self) -> Operation:
        message = "Singular operator:  Diagonal contained zero values."
        return assert_no_entries_with_modulus_zero(self._diag, message=message)

    def _assert_positive_definite(self) -> Operation:
        if self.dtype.is_complex:
            text = "Diagonal operator had diagonal entries with non-positive real part, thus was not positive definite."
        else:
            text = "Real diagonal operator had non-positive diagonal entries, thus was not positive definite."
        return assert_positive(real(self._diag), message=text)

    def _assert_self_adjoint(self) -> Operation:
        text = "This diagonal operator contained non-zero imaginary values.   Thus it was not self-adjoint."
        return assert_zero_imag_part(self._diag, message=text)

    def _term(self, adjoint: bool) -> Any:
        return conj(self._diag) if adjoint else self._diag

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        term = self._term(adjoint)
        x = adjoint_of(x) if adjoint_arg else x
        return expand_dims(term, -1) * x

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        product: Tensor = self._term(adjoint) * x
        return product

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diag, axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        determinant = reduce_sum(log(magnitude(self._diag)), axis=[-1])
        return cast(determinant, dtype=self.dtype) if self.dtype.is_complex else determinant

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        term = self._term(adjoint)
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return rhs * expand_dims(1.0 / term, -1)

    def _to_dense(self) -> Tensor:
        return matrix_diag(self._diag)

    def _diag_part(self) -> Any:
        return self.diag

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        beside = matrix_diag_part(x)
        return matrix_set_diag(x, self._diag + beside)


class LinearOperatorLowerTriangular(LinearOperator):
    """Lower triangular matrices.

    Args:
        tril: matrices along the last two axes; elements above the diagonal are ignored.
        is_non_singular: whether it has an inverse; None if unknown, as for the other properties.
        is_self_adjoint: whether it is self-adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: must be True or None.
        name: name of its scopes.

    Raises:
        ValueError: there are fewer than two axes, or ``is_square`` is False.
    """

    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        is_square = implied(is_square, True, "Only square lower triangular operators supported at this time.")
        with name_scope(name, values=[tril]):
            self._tril = convert_nonref_to_tensor(tril, name="tril")
            if self._tril.shape.ndims is not None and self._tril.shape.ndims < 2:
                raise ValueError(f"Argument tril must have at least 2 dimensions.  Found: {self._tril}")
            super().__init__(
                dtype=self._tril.dtype,
                graph_parents=[self._tril],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )

    def _triangle(self) -> Tensor:
        return matrix_band_part(self._tril, -1, 0)

    def _diagonal(self) -> Tensor:
        return matrix_diag_part(self._tril)

    def _shape(self) -> TensorShape:
        shape: TensorShape = self._tril.shape
        return shape

    def _shape_tensor(self) -> Tensor:
        return shape_of(self._tril)

    def _assert_non_singular(self) -> Operation:
        message = "Singular operator:  Diagonal contained zero values."
        return assert_no_entries_with_modulus_zero(self._diagonal(), message=message)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return matmul(self._triangle(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

    def _determinant(self) -> Tensor:
        return reduce_prod(self._diagonal(), axis=[-1])

    def _log_abs_determinant(self) -> Tensor:
        return reduce_sum(log(magnitude(self._diagonal())), axis=[-1])

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return matrix_triangular_solve_with_broadcast(self._triangle(), rhs, lower=True, adjoint=adjoint)

    def _to_dense(self) -> Tensor:
        return self._triangle()


class LinearOperatorHouseholder(LinearOperator):
    """Reflections at the planes orthogonal to vectors: ``I - 2 v v^H`` for ``v`` of length 1.

    Args:
        reflection_axis: the vectors along the last axis, of any length.
        is_non_singular: whether it has an inverse; None if unknown.
        is_self_adjoint: must be True or None.
        is_positive_definite: must be False or None.
        is_square: must be True or None.
        name: name of its scopes.

    Raises:
        ValueError: there is no axis, or a property is impossible.
    """

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        with name_scope(name, values=[reflection_axis]):
            self._reflection_axis = convert_nonref_to_tensor(reflection_axis, name="reflection_axis")
            if self._reflection_axis.shape.ndims is not None and self._reflection_axis.shape.ndims < 1:
                raise ValueError(
                    "Argument reflection_axis must have at least 1 dimension.  "
                    f"Found: {self._reflection_axis}"
                )
            if is_positive_definite is True:
                raise ValueError("A Householder operator is always non-positive definite.")
            super().__init__(
                dtype=self._reflection_axis.dtype,
                graph_parents=[self._reflection_axis],
                is_non_singular=is_non_singular,
                is_self_adjoint=implied(
                    is_self_adjoint, True, "A Householder operator is always self adjoint."
                ),
                is_positive_definite=False,
                is_square=implied(is_square, True, "A Householder operator is always square."),
                name=name,
            )

    @property
    def reflection_axis(self) -> Any:
        """The vectors."""
        return self._reflection_axis

    def _shape(self) -> TensorShape:
        sizes: TensorShape = self._reflection_axis.shape
        return sizes.concatenate(sizes[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = shape_of(self._reflection_axis)
        return concat([sizes, [sizes[-1]]], 0)

    def _assert_non_singular(self) -> Operation:
        return no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Operation:
        raise InvalidArgumentError.of("Householder operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        return no_op("assert_self_adjoint")

    def _unit(self, axis: Any) -> Tensor:
        unit: Tensor = axis / norm(axis, axis=-1, keepdims=True)
        return unit

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        axis = convert_to_tensor(self.reflection_axis)
        x = adjoint_of(x) if adjoint_arg else x
        column = self._unit(axis)[..., None]
        along = matmul(column, x, adjoint_a=True)
        return x - 2 * column * along

    def _trace(self) -> Tensor:
        each = cast(self.domain_dimension_tensor() - 2, self.dtype)
        return each * ones(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _determinant(self) -> Tensor:
        return -ones(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint, adjoint_arg)

    def _to_dense(self) -> Tensor:
        column = self._unit(self.reflection_axis)[..., None]
        matrix = -2 * matmul(column, column, adjoint_b=True)
        return matrix_set_diag(matrix, 1.0 + matrix_diag_part(matrix))

    def _diag_part(self) -> Tensor:
        unit = self._unit(self.reflection_axis)
        return 1.0 - 2 * unit * conj(unit)
