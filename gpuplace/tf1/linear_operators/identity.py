"""Operators defined by a size and a number: identities, scaled identities, zeros.

Source: tensorflow/python/ops/linalg/linear_operator_identity.py and linear_operator_zeros.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, float32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import static_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import ones, zeros, zeros_like
from gpuplace.ops.array.joining import concat, stack
from gpuplace.ops.array.padding import broadcast_static_shape
from gpuplace.ops.array.reshaping import expand_dims
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.flow.control import no_op, with_dependencies
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.check_ops import assert_equal, assert_non_negative, assert_positive, assert_rank
from gpuplace.ops.math.linalg import adjoint as adjoint_of
from gpuplace.ops.math.matrix import matrix_diag_part, matrix_set_diag
from gpuplace.ops.math.reduction import reduce_min
from gpuplace.ops.math.unary import abs as magnitude
from gpuplace.ops.math.unary import conj, imag, log, real
from gpuplace.shapes import TensorShape
from gpuplace.tf1.linear_operators.broadcasting import (
    assert_compatible_matrix_dimensions,
    assert_not_ref_type,
    convert_nonref_to_tensor,
    implied,
    shape_tensor,
)
from gpuplace.tf1.linear_operators.linear_operator import LinearOperator
from gpuplace.typing import DTypeLike, SizesLike, TensorLike


class _SizedOperator(LinearOperator):
    """An operator defined by its number of rows and, optionally, its batch shape."""

    _assert_proper_shapes: bool
    _num_rows: Tensor
    _num_rows_static: Any
    _batch_shape_arg: Tensor | None = None
    _batch_shape_static: Any = None

    def _count(self, argument: Any, name: str) -> tuple[Tensor, Any]:
        """Return a checked number of rows or columns as a tensor, and its value if it is known."""
        assert_not_ref_type(argument, name)
        count = shape_tensor(argument, name=name)
        static_count = static_value(count)
        if self._assert_proper_shapes:
            checks = [
                assert_rank(count, 0, message=f"Argument {name} must be a 0-D Tensor."),
                assert_non_negative(count, message=f"Argument {name} must be non-negative."),
            ]
            count = with_dependencies(checks, count)
        if not count.dtype.is_integer:
            raise TypeError(f"Argument {name} must be integer type.  Found: {count}")
        if static_count is not None:
            if static_count.ndim != 0:
                raise ValueError(f"Argument {name} must be a 0-D Tensor.  Found: {static_count}")
            if static_count < 0:
                raise ValueError(f"Argument {name} must be non-negative.  Found: {static_count}")
        return count, static_count

    def _set_batch_shape(self, argument: Any) -> None:
        if argument is None:
            return
        sizes = shape_tensor(argument, name="batch_shape_arg")
        static_sizes = self._batch_shape_static = static_value(sizes)
        if self._assert_proper_shapes:
            checks = [
                assert_rank(sizes, 1, message="Argument batch_shape must be a 1-D Tensor."),
                assert_non_negative(sizes, message="Argument batch_shape must be non-negative."),
            ]
            sizes = with_dependencies(checks, sizes)
        if not sizes.dtype.is_integer:
            raise TypeError(f"Argument batch_shape must be integer type.  Found: {sizes}")
        if static_sizes is not None:
            if static_sizes.ndim != 1:
                raise ValueError(f"Argument batch_shape must be a 1-D Tensor.  Found: {static_sizes}")
            if np.any(static_sizes < 0):
                raise ValueError(f"Argument batch_shape must be non-negative.  Found:{static_sizes}")
        self._batch_shape_arg = sizes

    def _with_batch(self, static: TensorShape) -> TensorShape:
        if self._batch_shape_arg is None:
            return static
        return TensorShape(self._batch_shape_static).concatenate(static)

    def _with_batch_tensor(self, sizes: Tensor) -> Tensor:
        return sizes if self._batch_shape_arg is None else concat([self._batch_shape_arg, sizes], 0)

    def _static_or_batch_tensor(self) -> Any:
        return self.batch_shape if self.batch_shape.is_fully_defined() else self.batch_shape_tensor()

    def _least_dimension(self) -> int | None:
        sizes = self.domain_dimension.value, self.range_dimension.value
        return None if sizes[0] is None or sizes[1] is None else min(sizes[0], sizes[1])

    def _least_dimension_tensor(self) -> Tensor:
        return reduce_min(self.shape_tensor()[-2:])

    def _diagonal_shape(self) -> Any:
        if self.shape.is_fully_defined():
            return self.batch_shape.concatenate([self._least_dimension()])
        return concat([self.batch_shape_tensor(), [self._least_dimension_tensor()]], axis=0)

    def _in_batch(self, x: Tensor) -> Tensor:
        """Broadcast ``x`` to the batch shape that it shares with this operator."""
        if self._batch_shape_arg is None:
            return x
        special: Any = self.batch_shape.concatenate([1, 1])
        both = broadcast_static_shape(x.shape, special)
        if special.is_fully_defined():
            if both == x.shape:
                return x
        else:
            special = concat([self.batch_shape_tensor(), [1, 1]], 0)
        return x + zeros(shape=special, dtype=self.dtype)

    def _checked_argument(self, x: Tensor) -> Tensor:
        if not self._assert_proper_shapes:
            return x
        return with_dependencies([assert_compatible_matrix_dimensions(self, x)], x)


class LinearOperatorIdentity(_SizedOperator):
    """Identity matrices.

    Args:
        num_rows: number of rows.
        batch_shape: sizes of the batch; None for one matrix.
        dtype: dtype of the elements; None for float32.
        is_non_singular: must be True.
        is_self_adjoint: must be True.
        is_positive_definite: must be True.
        is_square: must be True.
        assert_proper_shapes: whether to check sizes at run time.
        name: name of its scopes.

    Raises:
        ValueError: a size is known to be wrong, or a property is impossible.
        TypeError: a size is not an integer, or is a variable.
    """

    def __init__(
        self,
        num_rows: TensorLike,
        batch_shape: SizesLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool = True,
        is_self_adjoint: bool = True,
        is_positive_definite: bool = True,
        is_square: bool = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        self._assert_proper_shapes = assert_proper_shapes
        with name_scope(name):
            for holds, what in (
                (is_self_adjoint, "self adjoint"),
                (is_non_singular, "non-singular"),
                (is_positive_definite, "positive-definite"),
                (is_square, "square"),
            ):
                if not holds:
                    raise ValueError(f"An identity operator is always {what}.")
            super().__init__(
                dtype=as_dtype(dtype or float32),
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            assert_not_ref_type(batch_shape, "batch_shape")
            self._num_rows, self._num_rows_static = self._count(num_rows, "num_rows")
            self._set_batch_shape(batch_shape)

    def _shape(self) -> TensorShape:
        return self._with_batch(TensorShape([self._num_rows_static, self._num_rows_static]))

    def _shape_tensor(self) -> Tensor:
        return self._with_batch_tensor(stack([self._num_rows, self._num_rows], axis=0))

    def _assert_non_singular(self) -> Operation:
        return no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Operation:
        return no_op("assert_positive_definite")

    def _assert_self_adjoint(self) -> Operation:
        return no_op("assert_self_adjoint")

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        return self._in_batch(self._checked_argument(x))

    def _determinant(self) -> Tensor:
        return ones(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return zeros(shape=self.batch_shape_tensor(), dtype=self.dtype)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _trace(self) -> Tensor:
        batch_ones = ones(shape=self._static_or_batch_tensor(), dtype=self.dtype)
        static = self._least_dimension()
        return (cast(self._least_dimension_tensor(), self.dtype) if static is None else static) * batch_ones

    def _diag_part(self) -> Tensor:
        return ones(shape=self._diagonal_shape(), dtype=self.dtype)

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """Return matrices plus the identity.

        Args:
            mat: the matrices.
            name: name of the scope.
        """
        with self._name_scope(name):
            mat = convert_to_tensor(mat, name="mat")
            return matrix_set_diag(mat, 1 + matrix_diag_part(mat))


class LinearOperatorScaledIdentity(_SizedOperator):
    """Multiples of the identity.

    Args:
        num_rows: number of rows.
        multiplier: the factors, one for each matrix of the batch.
        is_non_singular: whether it has an inverse; None if unknown, as for the other properties.
        is_self_adjoint: whether it is self-adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: must be True.
        assert_proper_shapes: whether to check sizes at run time.
        name: name of its scopes.

    Raises:
        ValueError: a size is known to be wrong, or a property is impossible.
        TypeError: a size is not an integer, or is a variable.
    """

    def __init__(
        self,
        num_rows: TensorLike,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        self._assert_proper_shapes = assert_proper_shapes
        with name_scope(name, values=[multiplier, num_rows]):
            self._multiplier = convert_nonref_to_tensor(multiplier, name="multiplier")
            is_self_adjoint = implied(
                is_self_adjoint,
                not self._multiplier.dtype.is_complex,
                "A real diagonal operator is always self adjoint.",
            )
            if not is_square:
                raise ValueError("A ScaledIdentity operator is always square.")
            super().__init__(
                dtype=self._multiplier.dtype.base_dtype,
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            self._num_rows, self._num_rows_static = self._count(num_rows, "num_rows")
            self._rows = cast(self._num_rows, self.dtype)
            self._real_rows = cast(self._num_rows, self.dtype.real_dtype)

    @property
    def multiplier(self) -> Any:
        """The factors."""
        return self._multiplier

    def _shape(self) -> TensorShape:
        batch: TensorShape = self.multiplier.shape
        return batch.concatenate(TensorShape([self._num_rows_static, self._num_rows_static]))

    def _shape_tensor(self) -> Tensor:
        matrix = stack([self._num_rows, self._num_rows], axis=0)
        return concat([shape_of(self.multiplier), matrix], 0)

    def _assert_non_singular(self) -> Operation:
        return assert_positive(magnitude(self.multiplier), message="LinearOperator was singular")

    def _assert_positive_definite(self) -> Operation:
        return assert_positive(real(self.multiplier), message="LinearOperator was not positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        imaginary = imag(self.multiplier)
        return assert_equal(zeros_like(imaginary), imaginary, message="LinearOperator was not self-adjoint")

    def _as_matrix(self, conjugate: bool) -> Tensor:
        matrix = expand_dims(expand_dims(self.multiplier, -1), -1)
        return conj(matrix) if conjugate else matrix

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        return self._checked_argument(x) * self._as_matrix(conjugate=adjoint)

    def _determinant(self) -> Tensor:
        determinant: Tensor = self.multiplier**self._rows
        return determinant

    def _log_abs_determinant(self) -> Tensor:
        return self._real_rows * log(magnitude(self.multiplier))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return self._checked_argument(rhs) / self._as_matrix(conjugate=adjoint)

    def _trace(self) -> Tensor:
        batch_ones = ones(shape=self._static_or_batch_tensor(), dtype=self.dtype)
        static = self._least_dimension()
        count = cast(self._least_dimension_tensor(), self.dtype) if static is None else static
        trace: Tensor = self.multiplier * count * batch_ones
        return trace

    def _diag_part(self) -> Tensor:
        return ones(shape=self._diagonal_shape(), dtype=self.dtype) * self.multiplier[..., None]

    def add_to_tensor(self, mat: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """Return matrices plus the scaled identity.

        Args:
            mat: the matrices.
            name: name of the scope.
        """
        with self._name_scope(name):
            factors = expand_dims(self.multiplier, -1)
            mat = convert_to_tensor(mat, name="mat")
            return matrix_set_diag(mat, factors + matrix_diag_part(mat))


class LinearOperatorZeros(_SizedOperator):
    """Matrices of zeros.

    Args:
        num_rows: number of rows.
        num_columns: number of columns; None for ``num_rows``.
        batch_shape: sizes of the batch; None for one matrix.
        dtype: dtype of the elements; None for float32.
        is_non_singular: must be False.
        is_self_adjoint: whether it is self-adjoint; it is if it is square.
        is_positive_definite: must be False.
        is_square: whether it is square.
        assert_proper_shapes: whether to check sizes at run time.
        name: name of its scopes.

    Raises:
        ValueError: a size is known to be wrong, or a property is impossible.
        TypeError: a size is not an integer, or is a variable.
    """

    def __init__(
        self,
        num_rows: TensorLike,
        num_columns: TensorLike | None = None,
        batch_shape: SizesLike | None = None,
        dtype: DTypeLike | None = None,
        is_non_singular: bool = False,
        is_self_adjoint: bool = True,
        is_positive_definite: bool = False,
        is_square: bool = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        self._assert_proper_shapes = assert_proper_shapes
        with name_scope(name):
            if not is_self_adjoint and is_square:
                raise ValueError("A zero operator is always self adjoint.")
            if is_non_singular:
                raise ValueError("A zero operator is always singular.")
            if is_positive_definite:
                raise ValueError("A zero operator is always not positive-definite.")
            super().__init__(
                dtype=as_dtype(dtype or float32),
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            assert_not_ref_type(batch_shape, "batch_shape")
            columns: Any = num_rows if num_columns is None else num_columns
            self._num_rows, self._num_rows_static = self._count(num_rows, "num_rows")
            self._num_columns, self._num_columns_static = self._count(columns, "num_columns")
            counts = self._num_rows_static, self._num_columns_static
            if is_square and counts[0] is not None and counts[1] is not None and counts[0] != counts[1]:
                raise ValueError(
                    "LinearOperatorZeros initialized as is_square=True, but got "
                    f"num_rows({counts[0]}) != num_columns({counts[1]})"
                )
            self._set_batch_shape(batch_shape)

    def _shape(self) -> TensorShape:
        return self._with_batch(TensorShape([self._num_rows_static, self._num_columns_static]))

    def _shape_tensor(self) -> Tensor:
        return self._with_batch_tensor(stack([self._num_rows, self._num_columns], axis=0))

    def _assert_non_singular(self) -> Operation:
        raise InvalidArgumentError.of("Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Operation:
        raise InvalidArgumentError.of("Zero operators are always non-positive definite.")

    def _assert_self_adjoint(self) -> Operation:
        return no_op("assert_self_adjoint")

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if self._assert_proper_shapes:
            x = self._checked_argument(adjoint_of(x) if adjoint_arg else x)
        if self.is_square:
            if adjoint_arg:
                sizes = concat([shape_of(x)[:-2], [shape_of(x)[-1], shape_of(x)[-2]]], axis=0)
            else:
                sizes = shape_of(x)
        else:
            x_sizes = shape_of(x)
            rows = self._num_columns if adjoint else self._num_rows
            columns = x_sizes[-2] if adjoint_arg else x_sizes[-1]
            sizes = concat([x_sizes[:-2], [rows, columns]], axis=0)
        return self._in_batch(zeros(shape=sizes, dtype=x.dtype))

    def _determinant(self) -> Tensor:
        return zeros(shape=self._static_or_batch_tensor(), dtype=self.dtype)

    def _trace(self) -> Tensor:
        return zeros(shape=self._static_or_batch_tensor(), dtype=self.dtype)

    def _diag_part(self) -> Tensor:
        return zeros(shape=self._diagonal_shape(), dtype=self.dtype)

    def add_to_tensor(self, mat: Any, name: str = "add_to_tensor") -> Any:
        """Return matrices, broadcast to the batch shape that they share with this operator.

        Args:
            mat: the matrices.
            name: not used.
        """
        return self._in_batch(mat)
