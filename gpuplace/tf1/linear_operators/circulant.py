"""Circulant operators, which the Fourier transform makes diagonal, and Toeplitz operators, parts of circulant ones.

A product consists of a Fourier transform, a product with the spectrum, and the inverse transform. For nested
operators, vectors are first reshaped into blocks of two or three axes::

    [batch..., rows, columns]  -->  [columns, batch..., rows]  -->  [columns, batch..., block...]

Source: tensorflow/python/ops/linalg/linear_operator_circulant.py and linear_operator_toeplitz.py, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, complex64, complex128, float64
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import ones, zeros_like
from gpuplace.ops.array.constant import range as numbers
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.padding import broadcast_dynamic_shape, broadcast_static_shape
from gpuplace.ops.array.reshaping import rank, reshape
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.array.sequence import reverse
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.check_ops import assert_equal, assert_less, assert_positive
from gpuplace.ops.math.elementwise import complex as complex_of
from gpuplace.ops.math.linalg import adjoint as adjoint_of
from gpuplace.ops.math.reduction import reduce_prod, reduce_sum
from gpuplace.ops.math.unary import conj, imag, log, real
from gpuplace.shapes import TensorShape, dimension_value
from gpuplace.tf1.distributions.vectors import rotate_transpose
from gpuplace.tf1.linear_operators.broadcasting import (
    assert_no_entries_with_modulus_zero,
    assert_zero_imag_part,
    broadcast_matrix_batch_dims,
    implied,
)
from gpuplace.tf1.linear_operators.linear_operator import LinearOperator
from gpuplace.tf1.math.spectral import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from gpuplace.typing import DTypeLike, TensorLike

_TRANSFORMS = {1: (fft, ifft), 2: (fft2d, ifft2d), 3: (fft3d, ifft3d)}
"""Number of block axes -> the transform and its inverse."""


class _Circulant(LinearOperator):
    """A circulant operator, or a circulant one of circulant blocks."""

    def __init__(
        self,
        spectrum: Any,
        block_depth: int,
        input_output_dtype: DTypeLike = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        self._name = name
        if block_depth not in _TRANSFORMS:
            raise ValueError(f"Expected block_depth to be in {list(_TRANSFORMS)}.  Found: {block_depth}.")
        self._block_depth = block_depth
        with name_scope(name, values=[spectrum]):
            self._spectrum = convert_to_tensor(spectrum, name="spectrum")
            if self._spectrum.shape.ndims is not None and self._spectrum.shape.ndims < block_depth:
                raise ValueError(
                    f"Argument spectrum must have at least {block_depth} dimensions.  Found: {self._spectrum}"
                )
            is_self_adjoint = implied(
                is_self_adjoint,
                not self._spectrum.dtype.is_complex,
                "A real spectrum always corresponds to a self-adjoint operator.",
            )
            if is_square is False:
                raise ValueError("A [[nested] block] circulant operator is always square.")
            self._block_sizes = shape_of(self._spectrum)[-block_depth:]
            self._spectrum_complex = to_complex(self._spectrum)
            self._abs_spectrum = abs(self._spectrum)
            self._conj_spectrum = conj(self._spectrum_complex)
            super().__init__(
                dtype=as_dtype(input_output_dtype),
                graph_parents=[self._spectrum],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=True,
                name=name,
            )

    @property
    def block_depth(self) -> int:
        """Number of axes of a block."""
        return self._block_depth

    @property
    def block_shape(self) -> TensorShape:
        """The sizes of a block, as far as they are known."""
        return self.spectrum.shape[-self.block_depth :]

    def block_shape_tensor(self) -> Tensor:
        """Return the sizes of a block, an int32 vector."""
        return self._block_sizes

    @property
    def spectrum(self) -> Tensor:
        """The eigenvalues."""
        return self._spectrum

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """Return the convolution kernel, which is the first column.

        Args:
            name: name of the scope.
        """
        with self._name_scope(name):
            return cast(self._transformed_back(self._spectrum_complex), self.dtype)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Operation:
        """Return an operation that fails unless the convolution kernel is real.

        Args:
            name: name of the scope.
        """
        precision = np.finfo(self.dtype.real_dtype.as_numpy_dtype).eps
        with self._name_scope(name):
            most = precision * self.domain_dimension_tensor()
            imaginary = imag(self.convolution_kernel())
            return assert_less(abs(imaginary), most, message="Spectrum was not Hermitian")

    def _folded(self, matrix: Tensor) -> Tensor:
        """Reshape matrices into blocks, with the columns in front."""
        rows = rotate_transpose(matrix, shift=1)
        if rows.shape.is_fully_defined() and self.block_shape.is_fully_defined():
            return reshape(rows, rows.shape[:-1].concatenate(self.block_shape))
        return reshape(rows, concat([shape_of(rows)[:-1], self.block_shape_tensor()], 0))

    def _unfolded(self, blocks: Tensor) -> Tensor:
        depth = self.block_depth
        sizes: Any
        if blocks.shape.is_fully_defined():
            static_sizes: Any = blocks.shape.as_list()
            sizes = [*static_sizes[:-depth], math.prod(static_sizes[-depth:])]
        else:
            dynamic_sizes = shape_of(blocks)
            ahead, block = dynamic_sizes[:-depth], dynamic_sizes[-depth:]
            sizes = concat([ahead, [reduce_prod(block)]], 0)
        return rotate_transpose(reshape(blocks, sizes), shift=-1)

    def _transformed(self, x: Tensor) -> Tensor:
        return _TRANSFORMS[self.block_depth][0](to_complex(x))

    def _transformed_back(self, x: Tensor) -> Tensor:
        return _TRANSFORMS[self.block_depth][1](to_complex(x))

    def _shape(self) -> TensorShape:
        sizes = self._spectrum.shape
        count = sizes[-self.block_depth :].num_elements()
        return sizes[: -self.block_depth].concatenate([count, count])

    def _shape_tensor(self) -> Tensor:
        sizes = shape_of(self._spectrum)
        batch, block = sizes[: -self.block_depth], sizes[-self.block_depth :]
        count = reduce_prod(block)
        return concat([batch, [count, count]], 0)

    def _assert_non_singular(self) -> Operation:
        message = "Singular operator:  Spectrum contained zero values."
        return assert_no_entries_with_modulus_zero(self.spectrum, message=message)

    def _assert_positive_definite(self) -> Operation:
        message = "Not positive definite:  Real part of spectrum was not all positive."
        return assert_positive(real(self.spectrum), message=message)

    def _assert_self_adjoint(self) -> Operation:
        message = "Not self-adjoint:  The spectrum contained non-zero imaginary part."
        return assert_zero_imag_part(self.spectrum, message=message)

    def _in_one_batch(self, x: Tensor, spectrum: Tensor) -> tuple[Tensor, Tensor]:
        column = reshape(spectrum, concat([self.batch_shape_tensor(), [-1, 1]], axis=0))
        x, column = broadcast_matrix_batch_dims([x, column])
        batch = shape_of(x)[:-2]
        return x, reshape(column, concat([batch, self.block_shape_tensor()], axis=0))

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        spectrum = self._conj_spectrum if adjoint else self._spectrum_complex
        x = cast(x, spectrum.dtype)
        x, spectrum = self._in_one_batch(x, spectrum)
        frequencies = self._transformed(self._folded(x))
        result = self._unfolded(self._transformed_back(spectrum * frequencies))
        return cast(result, self.dtype)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        spectrum = self._conj_spectrum if adjoint else self._spectrum_complex
        rhs, spectrum = self._in_one_batch(rhs, spectrum)
        frequencies = self._transformed(self._folded(rhs))
        result = self._unfolded(self._transformed_back(frequencies / spectrum))
        return cast(result, self.dtype)

    def _block_axes(self) -> list[int]:
        return [-(axis + 1) for axis in range(self.block_depth)]

    def _determinant(self) -> Tensor:
        return cast(reduce_prod(self.spectrum, axis=self._block_axes()), self.dtype)

    def _log_abs_determinant(self) -> Tensor:
        return cast(reduce_sum(log(self._abs_spectrum), axis=self._block_axes()), self.dtype)

    def _diag_part(self) -> Tensor:
        sizes: Any
        count: Any
        if self.shape.is_fully_defined():
            sizes, count = self.shape[:-1], self.domain_dimension.value
        else:
            sizes, count = self.shape_tensor()[:-1], self.domain_dimension_tensor()
        repeated = ones(sizes, dtype=self.dtype)
        value = self.trace() / cast(count, self.dtype)
        return value[..., None] * repeated

    def _trace(self) -> Tensor:
        axes: Any
        if self.spectrum.shape.is_fully_defined():
            last = self.spectrum.shape.ndims or 0
            axes = np.arange(last - self.block_depth, last, dtype=np.int32)
        else:
            count = rank(self.spectrum)
            axes = numbers(count - self.block_depth, count)
        total = reduce_sum(real(self.spectrum), axis=axes)
        if not self.dtype.is_complex:
            return cast(total, self.dtype)
        if self.is_self_adjoint:
            imaginary = zeros_like(total)
        else:
            imaginary = reduce_sum(imag(self.spectrum), axis=axes)
        return cast(complex_of(total, imaginary), self.dtype)


class LinearOperatorCirculant(_Circulant):
    """Circulant matrices: each row is the previous one shifted by one.

    Args:
        spectrum: the eigenvalues along the last axis, which are the Fourier transform of the first column.
        input_output_dtype: dtype of the arguments and results.
        is_non_singular: whether it has an inverse; None if unknown, as for the other properties.
        is_self_adjoint: whether it is self-adjoint, as with a real spectrum.
        is_positive_definite: whether it is positive definite.
        is_square: must be True.
        name: name of its scopes.

    Raises:
        ValueError: there are too few axes, or a property is impossible.
    """

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(spectrum, 1, input_output_dtype, *hints, name)


class LinearOperatorCirculant2D(_Circulant):
    """Circulant matrices of circulant blocks.

    Args:
        spectrum: the eigenvalues along the last two axes.
        input_output_dtype: dtype of the arguments and results.
        is_non_singular: whether it has an inverse; None if unknown, as for the other properties.
        is_self_adjoint: whether it is self-adjoint, as with a real spectrum.
        is_positive_definite: whether it is positive definite.
        is_square: must be True.
        name: name of its scopes.

    Raises:
        ValueError: there are too few axes, or a property is impossible.
    """

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(spectrum, 2, input_output_dtype, *hints, name)


class LinearOperatorCirculant3D(_Circulant):
    """Circulant matrices of circulant blocks that consist of circulant blocks.

    Args:
        spectrum: the eigenvalues along the last three axes.
        input_output_dtype: dtype of the arguments and results.
        is_non_singular: whether it has an inverse; None if unknown, as for the other properties.
        is_self_adjoint: whether it is self-adjoint, as with a real spectrum.
        is_positive_definite: whether it is positive definite.
        is_square: must be True.
        name: name of its scopes.

    Raises:
        ValueError: there are too few axes, or a property is impossible.
    """

    def __init__(
        self,
        spectrum: TensorLike,
        input_output_dtype: DTypeLike = complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(spectrum, 3, input_output_dtype, *hints, name)


class LinearOperatorToeplitz(LinearOperator):
    """Toeplitz matrices: the elements along each diagonal are equal.

    Args:
        col: the first columns along the last axis.
        row: the first rows; their first element is ignored.
        is_non_singular: whether it has an inverse; None if unknown, as for the other properties.
        is_self_adjoint: whether it is self-adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: must be True or None.
        name: name of its scopes.

    Raises:
        ValueError: the sizes do not match, or ``is_square`` is False.
    """

    def __init__(
        self,
        col: TensorLike,
        row: TensorLike,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        with name_scope(name, values=[row, col]):
            self._row = convert_to_tensor(row, name="row")
            self._col = convert_to_tensor(col, name="col")
            for argument, tensor in (("row", self._row), ("col", self._col)):
                if tensor.shape.ndims is not None and tensor.shape.ndims < 1:
                    raise ValueError(f"Argument {argument} must have at least 1 dimension.  Found: {tensor}")
            sizes = dimension_value(self._row.shape[-1]), dimension_value(self._col.shape[-1])
            if sizes[0] is not None and sizes[1] is not None and sizes[0] != sizes[1]:
                raise ValueError("Expected square matrix, got row and col with mismatched dimensions.")
            between = zeros_like(self._col[..., 0:1])
            backwards = reverse(self._row[..., 1:], axis=[-1])
            column = concat([self._col, between, backwards], axis=-1)
            self._circulant = LinearOperatorCirculant(
                fft(to_complex(column)), input_output_dtype=self._row.dtype
            )
            super().__init__(
                dtype=self._row.dtype,
                graph_parents=[self._row, self._col],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=implied(is_square, True, "Only square Toeplitz operators currently supported."),
                name=name,
            )

    @property
    def col(self) -> Tensor:
        """The first columns."""
        return self._col

    @property
    def row(self) -> Tensor:
        """The first rows."""
        return self._row

    def _shape(self) -> TensorShape:
        sizes = broadcast_static_shape(self.row.shape, self.col.shape)
        return sizes.concatenate(sizes[-1:])

    def _shape_tensor(self) -> Tensor:
        sizes = broadcast_dynamic_shape(shape_of(self.row), shape_of(self.col))
        return concat([sizes, [sizes[-1]]], 0)

    def _assert_self_adjoint(self) -> Operation:
        message = "row and col are not the same, and so this operator is not self-adjoint."
        return assert_equal(self.row, self.col, message=message)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        wide = concat([x, zeros_like(x)], axis=-2)
        result = self._circulant.matmul(wide, adjoint=adjoint, adjoint_arg=False)
        return cast(result[..., : self.domain_dimension_tensor(), :], self.dtype)

    def _trace(self) -> Tensor:
        return cast(self.domain_dimension_tensor(), dtype=self.dtype) * self.col[..., 0]

    def _diag_part(self) -> Tensor:
        entry = self.col[..., 0:1]
        return entry * ones([self.domain_dimension_tensor()], self.dtype)


def to_complex(x: Tensor) -> Tensor:
    """Return numbers as complex ones of the same precision.

    Args:
        x: floating or complex numbers.
    """
    if x.dtype.is_complex:
        return x
    return cast(x, complex128 if x.dtype == float64 else complex64)
