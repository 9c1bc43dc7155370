"""Fourier transforms of one, two and three dimensions.

Source: tensorflow/core/kernels/fft_ops.cc and tensorflow/python/ops/signal/fft_ops.py, release 1.15. There too, the
input of a real transform is truncated or padded with zeros to the requested length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.dtypes import complex64, float32, int32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder
from gpuplace.ops.array.constant import ones, zeros, zeros_like
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.joining import concat, stack
from gpuplace.ops.array.reshaping import rank as rank_of
from gpuplace.ops.array.reshaping import reshape, transpose
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.matrix import matmul
from gpuplace.ops.math.reduction import reduce_prod
from gpuplace.ops.shape_rules import require_rank_at_least
from gpuplace.ops.support import new, same_shape, shape_tensor
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d", "irfft", "irfft2d", "irfft3d", "rfft", "rfft2d", "rfft3d",
]  # fmt: skip

_ENDS = {1: "", 2: "2D", 3: "3D"}
"""Number of transformed dimensions -> suffix of the op type."""


def _rank(op_type: str) -> int:
    return int(op_type[-2]) if op_type.endswith("D") else 1


# Kernels


def _complex(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[[Any], Any]:
    axes = tuple(range(-_rank(op.type), 0))
    function = xp.fft.ifftn if op.type.startswith("I") else xp.fft.fftn

    def run(x: Array) -> Array:
        _check_rank(x, len(axes))
        if not x.size:
            return x.copy()
        return function(x, axes=axes).astype(x.dtype, copy=False)

    return run


def _check_rank(x: Array, rank: int) -> None:
    if x.ndim < rank:
        raise InvalidArgumentError.of(f"Input must have rank of at least {rank} but got: {list(x.shape)}")


def _lengths(x: Array, fft_length: Array, rank: int, halved: bool) -> list[int]:
    """Check and return the lengths of the transform."""
    _check_rank(x, rank)
    if fft_length.shape != (rank,):
        raise InvalidArgumentError.of(f"fft_length must have shape [{rank}]")
    lengths = [int(length) for length in fft_length]
    if min(lengths) < 0:
        raise InvalidArgumentError.of(
            f"fft_length[{lengths.index(min(lengths))}] must >= 0, but got: {min(lengths)}"
        )
    for at, length in enumerate(lengths):
        least = length // 2 + 1 if halved and at == rank - 1 else length
        size = x.shape[at - rank]
        if size and length and size < least:
            raise InvalidArgumentError.of(
                f"Input dimension {x.ndim - rank + at} must have length of at least {least} but got: {size}"
            )
    return lengths


def _real(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[[Any, Any], Any]:
    rank = _rank(op.type)
    axes = tuple(range(-rank, 0))
    dtype = op.outputs[0].dtype.as_numpy_dtype

    def run(x: Array, fft_length: Array) -> Array:
        lengths = _lengths(x, fft_length, rank, False)
        padded_shape = (*x.shape[:-rank], *lengths[:-1], lengths[-1] // 2 + 1 if lengths[-1] else 0)
        if not x.size or 0 in lengths:
            return xp.zeros(padded_shape, dtype)
        return xp.fft.rfftn(x, lengths, axes=axes).astype(dtype, copy=False)

    return run


def _back_to_real(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[[Any, Any], Any]:
    rank = _rank(op.type)
    axes = tuple(range(-rank, 0))
    dtype = op.outputs[0].dtype.as_numpy_dtype

    def run(x: Array, fft_length: Array) -> Array:
        lengths = _lengths(x, fft_length, rank, True)
        if not x.size or 0 in lengths:
            return xp.zeros((*x.shape[:-rank], *lengths), dtype)
        return xp.fft.irfftn(x, lengths, axes=axes).astype(dtype, copy=False)

    return run


def _real_shape(op: Operation) -> list[TensorShape]:
    """Return the shape of a real transform or its inverse."""
    rank, halved = _rank(op.type), op.type.startswith("R")
    shape, lengths = require_rank_at_least(op.inputs[0].shape, rank), constant_value(op.inputs[1])
    if shape.sizes is None:
        return [UNKNOWN_SHAPE]
    sizes: list[int | None] = [None] * rank if lengths is None else [int(length) for length in lengths]
    last = sizes[-1]
    if halved and last is not None:
        sizes[-1] = last // 2 + 1 if last else 0
    return [TensorShape.of((*shape.sizes[:-rank], *sizes))]


for _dimensions, _end in _ENDS.items():
    for _prefix, _make in (("", _complex), ("I", _complex), ("R", _real), ("IR", _back_to_real)):
        _op_type = f"{_prefix}FFT{_end}"
        binder(_op_type, fresh=True, slow=True)(_make)
        shape_function(_op_type)(same_shape if _make is _complex else _real_shape)


# Gradients


def _size(x: Tensor, rank: int) -> Tensor:
    """Return the number of values that are transformed together."""
    return reduce_prod(shape_tensor(x)[-rank:])


@gradient("FFT", "FFT2D", "FFT3D")
def _fft_grad(op: Operation, grad: Tensor) -> Tensor:
    size = cast(_size(grad, _rank(op.type)), grad.dtype)
    return new(f"I{op.type}", input=grad) * size


@gradient("IFFT", "IFFT2D", "IFFT3D")
def _ifft_grad(op: Operation, grad: Tensor) -> Tensor:
    share = cast(1.0 / cast(_size(grad, _rank(op.type)), grad.dtype.real_dtype), grad.dtype)
    return new(op.type[1:], input=grad) * share


@gradient("RFFT", "RFFT2D")
def _rfft_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    """Apply the inverse transform to the gradient.

    Frequencies count twice, except those without a mirror image: the first and, for even lengths, the last.
    """
    x, lengths = op.inputs
    sizes = shape_tensor(x)
    is_even = cast(1 - lengths[-1] % 2, complex64)
    first = grad[..., 0:1]
    if op.type == "RFFT":
        single = first + is_even * grad[..., -1:] * _alternating(sizes[-1])
        back = irfft
    else:
        columns = _columns(sizes[-2], first)
        single = matmul(columns, new("Conj", input=first))
        last = matmul(columns, new("Conj", input=grad[..., -1:]))
        width = sizes[-1]
        ones_before = ones([rank_of(grad) - 1], int32)
        last = new("Tile", input=last, multiples=concat([ones_before, [width]], 0)) * _alternating(width)
        single = single + is_even * last
        back = irfft2d
    size = cast(_size(x, _rank(op.type)), float32)
    twice = back(grad, lengths)
    return 0.5 * (twice * size + new("Real", input=single, Tout=float32)), None


def _alternating(length: Tensor) -> Tensor:
    """Return the vector 1, -1, 1, ..."""
    return cast(1 - 2 * (range_of(length) % 2), complex64)


def _columns(length: Tensor, like: Tensor) -> Tensor:
    """Return the Fourier matrix for columns, for every batch of ``like``."""
    rows = new("Tile", input=new("ExpandDims", input=range_of(length), dim=0), multiples=(length, 1))
    products = rows * transpose(rows, [1, 0])
    angles = -2j * math.pi * cast(products, complex64) / cast(length, complex64)
    matrix = new("Exp", x=angles)
    spread = reshape(matrix, concat([ones([rank_of(like) - 2], int32), shape_tensor(matrix)], 0))
    return new("Tile", input=spread, multiples=concat([shape_tensor(like)[:-2], [1, 1]], 0))


@gradient("IRFFT", "IRFFT2D")
def _irfft_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    """Apply the transform to the gradient; frequencies with a mirror image count twice."""
    x, lengths = op.inputs
    is_odd = new("FloorMod", x=lengths[-1], y=2)
    inner = 2.0 * ones([shape_tensor(x)[-1] - 2 + is_odd])
    counts = concat([[1.0], inner, ones([1 - is_odd])], 0)
    share = new("Reciprocal", x=cast(_size(grad, _rank(op.type)), float32))
    transformed = (rfft if op.type == "IRFFT" else rfft2d)(grad, lengths)
    return transformed * cast(share * counts, complex64), None


# Functions


def fft(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the Fourier transform over the last dimension.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.fft(tf.constant([1, 0, 0, 0], tf.complex64))).tolist()
    [(1+0j), (1+0j), (1+0j), (1+0j)]

    Args:
        input: complex64 or complex128, of rank 1 or more.
        name: name of the op.

    Returns:
        A tensor like ``input``.
    """
    return new("FFT", name, input=input)


def ifft(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse of ``fft``.

    Args:
        input: complex64 or complex128, of rank 1 or more.
        name: name of the op.

    Returns:
        A tensor like ``input``.
    """
    return new("IFFT", name, input=input)


def fft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the Fourier transform over the last two dimensions.

    Args:
        input: complex64 or complex128, of rank 2 or more.
        name: name of the op.

    Returns:
        A tensor like ``input``.
    """
    return new("FFT2D", name, input=input)


def ifft2d(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse of ``fft2d``.

    Args:
        input: complex64 or complex128, of rank 2 or more.
        name: name of the op.

    Returns:
        A tensor like ``input``.
    """
    return new("IFFT2D", name, input=input)


def fft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the Fourier transform over the last three dimensions.

    Args:
        input: complex64 or complex128, of rank 3 or more.
        name: name of the op.

    Returns:
        A tensor like ``input``.
    """
    return new("FFT3D", name, input=input)


def ifft3d(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse of ``fft3d``.

    Args:
        input: complex64 or complex128, of rank 3 or more.
        name: name of the op.

    Returns:
        A tensor like ``input``.
    """
    return new("IFFT3D", name, input=input)


def _known_lengths(x: Tensor, rank: int) -> list[int] | None:
    sizes = x.shape.sizes
    if sizes is None or None in sizes[-rank:]:
        return None
    return [size for size in sizes[-rank:] if size is not None]


def _padded(x: Tensor, lengths: Any, rank: int, halved: bool) -> Tensor:
    """Pad ``x`` with zeros where it is too short for the lengths."""
    static_lengths, sizes = constant_value(lengths), _known_lengths(x, rank)
    if static_lengths is not None and sizes is not None:
        required = [int(length) for length in static_lengths]
        if halved:
            required[-1] = required[-1] // 2 + 1
        missing = [max(0, most - size) for most, size in zip(required, sizes, strict=True)]
        if not any(missing) or 0 in sizes:
            return x
        assert x.shape.ndims is not None
        return new(
            "Pad", input=x, paddings=[[0, 0]] * (x.shape.ndims - rank) + [[0, count] for count in missing]
        )
    dimensions = rank_of(x)
    inner = shape_tensor(x)[-rank:]
    outer = zeros([new("Maximum", x=0, y=dimensions - rank)], int32)
    if halved:
        lengths = concat([lengths[:-1], lengths[-1:] // 2 + 1], 0)
    after = concat([outer, new("Maximum", x=0, y=lengths - inner)], 0)
    return new("Pad", input=x, paddings=stack([zeros_like(after), after], axis=1))


def _real_transform(x: TensorLike, fft_length: Any, name: str | None, rank: int) -> Tensor:
    with name_scope(name, f"rfft{_ENDS[rank].lower()}", [x, fft_length]) as scope:
        x = convert_to_tensor(x, "float32")
        require_rank_at_least(x.shape, rank)
        if fft_length is None:
            fft_length = _known_lengths(x, rank)
        if fft_length is None:
            fft_length = new(
                "StridedSlice", input=shape_tensor(x), begin=[-rank], end=[0], strides=[1], end_mask=1
            )
        lengths = convert_to_tensor(fft_length, "int32")
        padded = _padded(x, lengths, rank, False)
        return new(f"RFFT{_ENDS[rank]}", scope, input=padded, fft_length=lengths)


def _transform_to_real(x: TensorLike, fft_length: Any, name: str | None, rank: int) -> Tensor:
    with name_scope(name, f"irfft{_ENDS[rank].lower()}", [x, fft_length]) as scope:
        x = convert_to_tensor(x, "complex64")
        require_rank_at_least(x.shape, rank)
        if fft_length is None:
            known = _known_lengths(x, rank)
            if known is not None:
                fft_length = [*known[:-1], max(0, 2 * (known[-1] - 1))]
        if fft_length is None:
            inner = new(
                "StridedSlice", input=shape_tensor(x), begin=[-rank], end=[0], strides=[1], end_mask=1
            )
            first = new("StridedSlice", input=inner, begin=[0], end=[-1], strides=[1], begin_mask=1)
            last = new("StridedSlice", input=inner, begin=[-1], end=[0], strides=[1], end_mask=1)
            fft_length = new("ConcatV2", values=[first, new("Maximum", x=2 * (last - 1), y=0)], axis=0)
        lengths = convert_to_tensor(fft_length, "int32")
        padded = _padded(x, lengths, rank, True)
        return new(f"IRFFT{_ENDS[rank]}", scope, input=padded, fft_length=lengths)


def rfft(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Return the non-redundant half of the Fourier transform of real numbers over the last dimension.

    Args:
        input_tensor: float32, of rank 1 or more.
        fft_length: length of the transform, ``[1]``: the input is truncated or padded with zeros. None: all values.
        name: name of the op.

    Returns:
        complex64, whose last dimension is ``fft_length // 2 + 1``.
    """
    return _real_transform(input_tensor, fft_length, name, 1)


def rfft2d(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Return the Fourier transform of real numbers over the last two dimensions, half of the last one.

    Args:
        input_tensor: float32, of rank 2 or more.
        fft_length: lengths of the transform, ``[2]``, as for ``rfft``.
        name: name of the op.

    Returns:
        complex64, whose last dimension is ``fft_length[-1] // 2 + 1``.
    """
    return _real_transform(input_tensor, fft_length, name, 2)


def rfft3d(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Return the Fourier transform of real numbers over the last three dimensions, half of the last one.

    Args:
        input_tensor: float32, of rank 3 or more.
        fft_length: lengths of the transform, ``[3]``, as for ``rfft``.
        name: name of the op.

    Returns:
        complex64, whose last dimension is ``fft_length[-1] // 2 + 1``.
    """
    return _real_transform(input_tensor, fft_length, name, 3)


def irfft(input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Return the inverse of ``rfft``.

    Args:
        input_tensor: complex64, of rank 1 or more.
        fft_length: the last dimension of the result, ``[1]``. None: the even one of the two possible lengths.
        name: name of the op.

    Returns:
        float32.
    """
    return _transform_to_real(input_tensor, fft_length, name, 1)


def irfft2d(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Return the inverse of ``rfft2d``.

    Args:
        input_tensor: complex64, of rank 2 or more.
        fft_length: the last two dimensions of the result, ``[2]``, as for ``irfft``.
        name: name of the op.

    Returns:
        float32.
    """
    return _transform_to_real(input_tensor, fft_length, name, 2)


def irfft3d(
    input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Return the inverse of ``rfft3d``.

    Args:
        input_tensor: complex64, of rank 3 or more.
        fft_length: the last three dimensions of the result, ``[3]``, as for ``irfft``.
        name: name of the op.

    Returns:
        float32.
    """
    return _transform_to_real(input_tensor, fft_length, name, 3)
