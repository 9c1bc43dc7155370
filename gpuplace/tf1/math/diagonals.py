"""Bands of diagonals: the second versions of ``MatrixDiag``, ``MatrixDiagPart`` and ``MatrixSetDiag``.

A band is the diagonals from ``lower`` to ``upper``, with 0 for the main one. Packed, each diagonal is one row, the
highest first; rows are aligned to the left and padded on the right::

    1 4 .        k = (0, 1)    4 5 _
    . 2 5                      1 2 3
    . . 3

Source: tensorflow/core/kernels/matrix_diag_op.cc, matrix_set_diag_op.cc, core/ops/array_ops.cc and
tensorflow/python/ops/array_grad.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.shape_rules import merge_shapes
from gpuplace.ops.support import new
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule


def _band(k: Array) -> tuple[int, int]:
    """Return the lowest and the highest diagonal.

    Raises:
        ValueError: ``k`` does not have one or two elements, or they are in the wrong order.
    """
    numbers = [int(number) for number in k.reshape(-1)]
    if len(numbers) not in (1, 2) or k.ndim > 1:
        raise ValueError(
            f"diag_index must be a scalar or vector with one or two elements, received {k.tolist()}"
        )
    lower, upper = numbers[0], numbers[-1]
    if lower > upper:
        raise ValueError("lower_diag_index is greater than upper_diag_index")
    return lower, upper


def _band_in(k: Array, rows: int, columns: int) -> tuple[int, int]:
    """Return the band; ValueError if a diagonal is outside a matrix of that size."""
    lower, upper = _band(k)
    for name, diagonal in (("lower", lower), ("upper", upper)):
        if diagonal and not -rows < diagonal < columns:
            raise ValueError(
                f"{name}_diag_index is out of bound. It is {diagonal}, and must be between {-rows} and {columns}"
            )
    return lower, upper


def _longest(lower: int, upper: int, rows: int, columns: int) -> int:
    """Return the length of the longest diagonal of a band."""
    return min(rows + min(upper, 0), columns - max(lower, 0))


def _packed(lower: int, upper: int, longest: int | None) -> tuple[int | None, ...]:
    """Return the last sizes of a packed band."""
    return (longest,) if lower == upper else (upper - lower + 1, longest)


def _size(lower: int, upper: int, longest: int, rows: int, columns: int) -> tuple[int, int]:
    """Return the rows and columns of a matrix with a given band; -1: the smallest possible.

    Raises:
        ValueError: a size is too small, or both are too large.
    """
    least_rows, least_columns = longest - min(upper, 0), longest + max(lower, 0)
    if rows == columns == -1:
        rows = columns = max(least_rows, least_columns)
    rows = least_rows if rows == -1 else rows
    columns = least_columns if columns == -1 else columns
    if rows < least_rows:
        raise ValueError("num_rows is too small")
    if columns < least_columns:
        raise ValueError("num_cols is too small")
    if rows != least_rows and columns != least_columns:
        raise ValueError(
            "num_rows and num_cols are not consistent with lower_diag_index, upper_diag_index, and the length of the"
            " given diagonals"
        )
    return rows, columns


def _each(xp: ArrayModule, lower: int, upper: int, rows: int, columns: int) -> Any:
    """Yield the index in the packed band and the row and column indices of each diagonal, from the highest."""
    for place, diagonal in enumerate(range(upper, lower - 1, -1)):
        at = xp.arange(max(min(rows + min(diagonal, 0), columns - max(diagonal, 0)), 0))
        yield place, at + max(-diagonal, 0), at + max(diagonal, 0)


def _checked(function: Any, *arguments: Any) -> Any:
    """Call a function above, and convert its ValueError to a run-time InvalidArgumentError."""
    try:
        return function(*arguments)
    except ValueError as error:
        raise InvalidArgumentError.of(str(error)) from None


def _set(xp: ArrayModule, matrix: Array, diagonal: Array, lower: int, upper: int) -> Array:
    """Write a packed band into matrices, and return them."""
    rows = diagonal[..., None, :] if lower == upper else diagonal
    for place, row, column in _each(xp, lower, upper, *matrix.shape[-2:]):
        matrix[..., row, column] = rows[..., place, : len(row)]
    return matrix


@compute("MatrixDiagV2")
def _matrix_diag(
    xp: ArrayModule, diagonal: Array, k: Array, num_rows: Array, num_cols: Array, padding_value: Array
) -> Array:
    lower, upper = _checked(_band, k)
    _checked(_require_rows, diagonal.shape, lower, upper)
    batch = diagonal.shape[: -1 if lower == upper else -2]
    size = _checked(_size, lower, upper, diagonal.shape[-1], int(num_rows), int(num_cols))
    matrix = xp.full((*batch, *size), padding_value, diagonal.dtype)
    return _set(xp, matrix, diagonal, lower, upper)


def _require_rows(sizes: Any, lower: int, upper: int) -> None:
    if len(sizes) < (1 if lower == upper else 2):
        raise ValueError(
            f"diagonal must be at least {1 if lower == upper else 2}-dim, received rank {len(sizes)}"
        )
    if lower != upper and sizes[-2] not in (None, upper - lower + 1):
        raise ValueError(
            "The number of rows of `diagonal` doesn't match the number of diagonals implied from `d_lower` and"
            " `d_upper`."
        )


@compute("MatrixDiagPartV2")
def _matrix_diag_part(xp: ArrayModule, input: Array, k: Array, padding_value: Array) -> Array:
    _checked(_require_matrix, input.shape)
    lower, upper = _checked(_band_in, k, *input.shape[-2:])
    longest = _longest(lower, upper, *input.shape[-2:])
    result = xp.full((*input.shape[:-2], upper - lower + 1, longest), padding_value, input.dtype)
    for place, row, column in _each(xp, lower, upper, *input.shape[-2:]):
        result[..., place, : len(row)] = input[..., row, column]
    return result[..., 0, :] if lower == upper else result


def _require_matrix(sizes: Any) -> None:
    if len(sizes) < 2:
        raise ValueError(
            f"input must be at least 2-dim, received shape: {brackets(TensorShape.of(tuple(sizes)))}"
        )


@compute("MatrixSetDiagV2")
def _matrix_set_diag(xp: ArrayModule, input: Array, diagonal: Array, k: Array) -> Array:
    _checked(_require_matrix, input.shape)
    lower, upper = _checked(_band_in, k, *input.shape[-2:])
    if diagonal.shape != (
        *input.shape[:-2],
        *_packed(lower, upper, _longest(lower, upper, *input.shape[-2:])),
    ):
        raise InvalidArgumentError.of(
            "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not equal to"
            " the longests diagonal in range [lower_diag_index:upper_diag_index].",
            facts={
                "input": brackets(TensorShape(input.shape)),
                "diagonal": brackets(TensorShape(diagonal.shape)),
                "k": f"{lower} to {upper}",
            },
        )
    return _set(xp, xp.array(input), diagonal, lower, upper)


@shape_function("MatrixDiagV2")
def _matrix_diag_shape(op: Operation) -> tuple[TensorShape, ...]:
    sizes, k = op.inputs[0].shape.sizes, constant_value(op.inputs[1])
    if sizes is None or k is None:
        return (UNKNOWN_SHAPE,)
    lower, upper = _band(k)
    _require_rows(sizes, lower, upper)
    batch = sizes[: -1 if lower == upper else -2]
    rows, columns = (constant_value(tensor) for tensor in op.inputs[2:4])
    if sizes[-1] is None or rows is None or columns is None:
        return (TensorShape.of((*batch, None, None)),)
    return (TensorShape.of((*batch, *_size(lower, upper, sizes[-1], int(rows), int(columns)))),)


def _packed_shape(op: Operation, k: Any) -> TensorShape:
    """Return the shape of the packed band of an op's first input."""
    sizes = op.inputs[0].shape.sizes
    if sizes is None:
        return UNKNOWN_SHAPE
    _require_matrix(sizes)
    if k is None:
        return UNKNOWN_SHAPE
    rows, columns = sizes[-2:]
    if rows is None or columns is None:
        return TensorShape.of((*sizes[:-2], *_packed(*_band(k), None)))
    lower, upper = _band_in(k, rows, columns)
    return TensorShape.of((*sizes[:-2], *_packed(lower, upper, _longest(lower, upper, rows, columns))))


@shape_function("MatrixDiagPartV2")
def _matrix_diag_part_shape(op: Operation) -> tuple[TensorShape, ...]:
    return (_packed_shape(op, constant_value(op.inputs[1])),)


@shape_function("MatrixSetDiagV2")
def _matrix_set_diag_shape(op: Operation) -> tuple[TensorShape, ...]:
    packed, diagonal = _packed_shape(op, constant_value(op.inputs[2])), op.inputs[1].shape
    if packed.sizes is not None and diagonal.sizes is not None and len(packed.sizes) != len(diagonal.sizes):
        raise ValueError(f"Shape must be rank {len(packed.sizes)} but is rank {len(diagonal.sizes)}")
    if packed.sizes and diagonal.sizes:  # the kernel checks the last sizes
        merge_shapes(TensorShape.of(packed.sizes[:-1]), TensorShape.of(diagonal.sizes[:-1]))
    return (op.inputs[0].shape,)


@gradient("MatrixDiagV2")
def _matrix_diag_grad(op: Operation, grad: Tensor) -> list[Any]:
    zero = new("ZerosLike", x=op.inputs[4])
    return [new("MatrixDiagPartV2", input=grad, k=op.inputs[1], padding_value=zero), None, None, None, None]


@gradient("MatrixDiagPartV2")
def _matrix_diag_part_grad(op: Operation, grad: Tensor) -> list[Any]:
    matrix, k, padding = op.inputs
    zero = new("ZerosLike", x=padding)
    sizes = matrix.shape.sizes
    if sizes is not None and None not in sizes[-2:]:
        rows, columns = sizes[-2:]
        result = new("MatrixDiagV2", diagonal=grad, k=k, num_rows=rows, num_cols=columns, padding_value=zero)
    else:
        result = new("MatrixSetDiagV2", input=new("ZerosLike", x=matrix), diagonal=grad, k=k)
    return [result, None, None]


@gradient("MatrixSetDiagV2")
def _matrix_set_diag_grad(op: Operation, grad: Tensor) -> list[Any]:
    _, diagonal, k = op.inputs
    zeros = new("ZerosLike", x=diagonal)
    matrix_gradient = new("MatrixSetDiagV2", input=grad, diagonal=zeros, k=k)
    padding = convert_to_tensor(0, dtype=grad.dtype)
    return [matrix_gradient, new("MatrixDiagPartV2", input=grad, k=k, padding_value=padding), None]
