"""Repeat or add elements: broadcasting, tiling, padding, grids.

Source: tensorflow/python/ops/array_ops.py, array_grad.py and tensorflow/core/kernels/broadcast_to_op.cc, tile_ops.cc,
pad_op.cc, mirror_pad_op.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import int32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value, constant_value_as_shape
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.arguments import list_of
from gpuplace.ops.array.constant import ones
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.joining import stack
from gpuplace.ops.array.reshaping import rank, reshape, size, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import new, new_list, shape_tensor
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, as_shape, brackets, broadcast_shapes
from gpuplace.typing import Array, ArrayModule, ShapeLike, SizesLike, TensorLike

__all__ = [
    "broadcast_to", "broadcast_static_shape", "broadcast_dynamic_shape", "tile", "pad", "meshgrid",
]  # fmt: skip


def broadcast_to(input: TensorLike, shape: SizesLike, name: str | None = None) -> Tensor:
    """Repeat ``input`` along its dimensions of size 1 and along new leading ones until it has shape ``shape``.

    Args:
        input: a tensor of any type.
        shape: the sizes of the result, an int32 or int64 vector.
        name: name of the op.

    Returns:
        A tensor of ``input``'s type, of shape ``shape``.

    Raises:
        ValueError: ``input`` is known not to broadcast to ``shape``.
        InvalidArgumentError: at run time, in the same cases.
    """
    return new("BroadcastTo", name, input=input, shape=shape)


@compute("BroadcastTo", grows=True)
def _broadcast_to(xp: ArrayModule, input: Array, shape: Array) -> Array:
    sizes = tuple(list_of(shape, "shape must be a vector of {int32,int64}, got shape"))
    text = brackets(TensorShape(sizes))
    if len(sizes) < input.ndim:
        raise InvalidArgumentError.of(
            f"Rank of input ({input.ndim}) must be no greater than rank of output shape ({len(sizes)})."
        )
    for have, want in zip(reversed(input.shape), reversed(sizes), strict=False):
        if have not in (want, 1):
            raise InvalidArgumentError.of(
                f"Incompatible shapes: {brackets(TensorShape(input.shape))} vs. {text}"
            )
    return xp.array(xp.broadcast_to(input, sizes))


@shape_function("BroadcastTo")
def _broadcast_to_shape(op: Operation) -> Any:
    target = constant_value_as_shape(op.inputs[1])
    source = op.inputs[0].shape
    if target.sizes is not None and source.sizes is not None:
        if len(source.sizes) > len(target.sizes):
            raise ValueError(
                f"Shape must be at most rank {len(target.sizes)} but is rank {len(source.sizes)}"
            )
        sizes = list(target.sizes)
        for place, have in enumerate(reversed(source.sizes), 1):
            want = sizes[-place]
            if have not in (want, 1, None) and want is not None:
                raise ValueError(f"Dimensions must be equal, but are {have} and {want}")
            if have is not None and have > 1:
                sizes[-place] = have
        return (TensorShape.of(tuple(sizes)),)
    return (target,)


@gradient("BroadcastTo")
def _broadcast_to_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    x, target = op.inputs
    x_shape = _sizes_like(x, target)
    axes = new_list("BroadcastGradientArgs", s0=target, s1=x_shape)[1]
    return reshape(new("Sum", input=grad, reduction_indices=axes, keep_dims=True), x_shape), None


def _sizes_like(x: Tensor, sizes: Tensor) -> Tensor:
    """Return the shape of ``x`` with the dtype of ``sizes``."""
    return (
        shape_tensor(x) if sizes.dtype.base_dtype == int32 else shape_of(x, out_type=sizes.dtype.base_dtype)
    )


def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """Return the shape that two shapes broadcast to.

    >>> import gpuplace as tf
    >>> tf.broadcast_static_shape([2, 1], [3]).as_list()
    [2, 3]

    Args:
        shape_x: a ``TensorShape``, possibly partial, or a list of sizes.
        shape_y: likewise.

    Returns:
        A ``TensorShape``.

    Raises:
        ValueError: the shapes do not broadcast.
    """
    return broadcast_shapes(as_shape(shape_x), as_shape(shape_y))


def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike) -> Tensor:
    """Return the shape that two shapes broadcast to, computed at run time.

    Args:
        shape_x: sizes, an int32 or int64 vector.
        shape_y: sizes, of the same type.

    Returns:
        A vector of that type.

    Raises:
        InvalidArgumentError: at run time, the shapes do not broadcast.
    """
    return new("BroadcastArgs", s0=shape_x, s1=shape_y)


def _result_sizes(first: list[int], second: list[int]) -> tuple[list[int], list[int], list[int]]:
    rank = max(len(first), len(second))
    first, second = [1] * (rank - len(first)) + first, [1] * (rank - len(second)) + second
    result = []
    for a, b in zip(first, second, strict=True):
        if a != b and 1 not in (a, b):
            return first, second, []
        result.append(b if a == 1 else a)
    return first, second, result


@compute("BroadcastArgs")
def _broadcast_args(xp: ArrayModule, s0: Array, s1: Array) -> Array:
    first, second, result = _result_sizes(s0.tolist(), s1.tolist())
    if len(result) != len(first):
        raise InvalidArgumentError.of(f"Incompatible shapes: {_list(s0)} vs. {_list(s1)}")
    return xp.array(result, s0.dtype)


def _list(sizes: Any) -> str:
    return "[" + ",".join(map(str, sizes.tolist())) + "]"


@shape_function("BroadcastArgs")
def _broadcast_args_shape(op: Operation) -> Any:
    ranks = [tensor.shape.sizes[0] if tensor.shape.sizes else None for tensor in op.inputs]
    return (TensorShape.of((None if None in ranks else max(ranks),)),)  # type: ignore[type-var]


@compute("BroadcastGradientArgs")
def _broadcast_gradient_args(xp: ArrayModule, s0: Any, s1: Array) -> Any:
    """Return the axes along which each of two tensors was broadcast, and those where both have size 1."""
    first, second, result = _result_sizes(s0.tolist(), s1.tolist())
    if len(result) != len(first):
        raise InvalidArgumentError.of(f"Incompatible shapes: {_list(s0)} vs. {_list(s1)}")
    if s0.tolist() == s1.tolist():
        return xp.empty(0, s0.dtype), xp.empty(0, s0.dtype)
    axes = [
        [axis for axis, (length, total) in enumerate(zip(side, result, strict=True)) if length == 1]
        for side in (first, second)
    ]
    return xp.array(axes[0], s0.dtype), xp.array(axes[1], s0.dtype)


@shape_function("BroadcastGradientArgs")
def _broadcast_gradient_args_shape(op: Operation) -> Any:
    return (TensorShape.of((None,)),) * 2


not_differentiable("BroadcastArgs", "BroadcastGradientArgs")


def tile(input: TensorLike, multiples: TensorLike, name: str | None = None) -> Tensor:
    """Return ``input`` repeated along each dimension.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.tile([[1, 2]], [2, 2])).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]

    Args:
        input: a tensor of any type.
        multiples: repetitions along each dimension, an int32 or int64 vector of length ``rank``.
        name: name of the op.

    Returns:
        ``input``'s type, ``[input.shape[0] * multiples[0], ...]``.

    Raises:
        ValueError: ``multiples`` is known to have another length.
        InvalidArgumentError: at run time, ``multiples`` has another length or a negative number.
    """
    return new("Tile", name, input=input, multiples=multiples)


@compute("Tile", grows=True)
def _tile(xp: ArrayModule, input: Array, multiples: Array) -> Array:
    counts = list_of(multiples, "Expected multiples to be 1-D, but got shape")
    if len(counts) != input.ndim:
        raise InvalidArgumentError.of(
            f"Expected multiples argument to be a vector of length {input.ndim} but got length {len(counts)}"
        )
    for axis, count in enumerate(counts):
        if count < 0:
            raise InvalidArgumentError.of(f"Expected multiples[{axis}] >= 0, but got {count}")
    if not counts:
        return input
    result = xp.empty([size for pair in zip(counts, input.shape, strict=True) for size in pair], input.dtype)
    result[...] = input.reshape([size for length in input.shape for size in (1, length)])
    return result.reshape([count * size for count, size in zip(counts, input.shape, strict=True)])


@shape_function("Tile")
def _tile_shape(op: Operation) -> Any:
    require_rank(op.inputs[1].shape, 1)
    counts = constant_value_as_shape(op.inputs[1]).sizes
    sizes = op.inputs[0].shape.sizes
    if sizes is None and counts is None:
        return (UNKNOWN_SHAPE,)
    if sizes is None:
        sizes = (None,) * len(counts or ())
    if counts is None:
        counts = (None,) * len(sizes)
    require_rank(TensorShape.of(counts), len(sizes))
    return (
        TensorShape.of(
            tuple(
                0 if 0 in (length, n) else None if length is None or n is None else length * n
                for length, n in zip(sizes, counts, strict=True)
            )
        ),
    )


@gradient("Tile")
def _tile_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    """Split each dimension into copies and elements, and sum over the copies."""
    input_shape = _sizes_like(op.inputs[0], op.inputs[1])
    interleaved = reshape(transpose(stack([op.inputs[1], input_shape])), [-1])
    axes = range_of(0, size(interleaved), 2)
    split = reshape(grad, interleaved)
    return new("Sum", input=split, reduction_indices=axes), None


def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: TensorLike = 0,
) -> Tensor:
    """Return ``tensor`` with elements added before and after it along each dimension.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.pad([1, 2, 3], [[2, 1]], "REFLECT")).tolist()
    [3, 2, 1, 2, 3, 2]

    Args:
        tensor: a tensor of any type.
        paddings: ``[rank, 2]``, int32 or int64: the number of elements before and after, for each dimension.
        mode: ``"CONSTANT"``, ``"REFLECT"`` (mirrored without the border element) or ``"SYMMETRIC"`` (with it), in upper
            or lower case.
        name: name of the op.
        constant_values: the value for ``"CONSTANT"``, a scalar of ``tensor``'s type.

    Returns:
        A tensor of that type.

    Raises:
        ValueError: the mode is unknown, or ``paddings`` is known not to match.
        InvalidArgumentError: at run time, ``paddings`` does not match, or mirrors more elements than there are.
    """
    mode = mode.upper()
    if mode == "CONSTANT":
        if not isinstance(constant_values, Tensor) and constant_values == 0:
            result = new("Pad", name, input=tensor, paddings=paddings)
        else:
            result = new("PadV2", name, input=tensor, paddings=paddings, constant_values=constant_values)
    elif mode in ("REFLECT", "SYMMETRIC"):
        result = new("MirrorPad", name, input=tensor, paddings=paddings, mode=mode)
    else:
        raise ValueError(f"Unknown padding mode: {mode}")
    return result


def _pairs(paddings: Any, rank: int) -> list[list[int]]:
    if paddings.ndim != 2 or paddings.shape[1] != 2:
        raise InvalidArgumentError.of(
            f"paddings must be a matrix with 2 columns: {brackets(TensorShape(paddings.shape))}"
        )
    if paddings.shape[0] != rank:
        raise InvalidArgumentError.of(
            "The first dimension of paddings must be the rank of inputs"
            f"{brackets(TensorShape(paddings.shape))} {rank}"
        )
    pairs: list[list[int]] = paddings.tolist()
    for before, after in pairs:
        if before < 0 or after < 0:
            raise InvalidArgumentError.of(f"Paddings must be non-negative: {before} {after}")
    return pairs


@compute("Pad", "PadV2", grows=True)
def _pad(xp: ArrayModule, input: Array, paddings: Array, constant_values: Array | None = None) -> Array:
    pairs = _pairs(paddings, input.ndim)
    sizes = [before + length + after for length, (before, after) in zip(input.shape, pairs, strict=True)]
    fill = (b"" if input.dtype == object else 0) if constant_values is None else constant_values[()]
    result = xp.full(sizes, fill, input.dtype)
    middle = tuple(slice(before, before + n) for n, (before, _) in zip(input.shape, pairs, strict=True))
    result[middle] = input
    return result


@compute("MirrorPad", grows=True)
def _mirror_pad(xp: ArrayModule, input: Array, paddings: Array, *, mode: bytes) -> Array:
    pairs = _pairs(paddings, input.ndim)
    shorter = 1 if mode == b"REFLECT" else 0
    for axis, (length, pair) in enumerate(zip(input.shape, pairs, strict=True)):
        if max(pair) > length - shorter:
            than = "less" if shorter else "no greater"
            raise InvalidArgumentError.of(
                f"paddings must be {than} than the dimension size: {pair[0]}, {pair[1]}"
                f" {'not less' if shorter else 'greater'} than {length}",
                facts={"dimension": str(axis)},
            )
    for axis, (before, after) in enumerate(pairs):
        length = input.shape[axis]
        at = [*range(before - 1 + shorter, shorter - 1, -1), *range(length)]
        at += range(length - 1 - shorter, length - 1 - shorter - after, -1)
        input = xp.take(input, xp.asarray(at, xp.int64), axis=axis)
    return input


@shape_function("Pad", "PadV2", "MirrorPad")
def _pad_shape(op: Operation) -> Any:
    rows, columns = require_rank(op.inputs[1].shape, 2).sizes or (None, None)
    if columns not in (2, None):
        raise ValueError(f"Dimension must be 2 but is {columns}")
    input_shape = op.inputs[0].shape
    sizes = input_shape.sizes if rows is None else require_rank(input_shape, rows).sizes
    pairs = constant_value(op.inputs[1])
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    if pairs is None:
        return (TensorShape.of(_padded_sizes(sizes, op.inputs[1])),)
    if (pairs < 0).any():
        raise ValueError("Paddings must be non-negative")
    return (
        TensorShape.of(
            tuple(None if n is None else n + int(sum(pair)) for n, pair in zip(sizes, pairs, strict=True))
        ),
    )


def _padded_sizes(sizes: tuple[int | None, ...], paddings: Tensor) -> tuple[int | None, ...]:
    """Return the static sizes after padding, for paddings stacked from rows some of which are known."""
    rows: list[Any] = [None] * len(sizes)
    if paddings.op.type == "Pack" and not paddings.op.attrs["axis"]:
        rows = [constant_value(row) for row in paddings.op.inputs]
    return tuple(
        None if size is None or row is None else size + int(row.sum())
        for size, row in zip(sizes, rows, strict=True)
    )


@gradient("Pad", "PadV2")
def _pad_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    x, paddings = op.inputs[0], op.inputs[1]
    before = new("Slice", input=paddings, begin=[0, 0], size=stack([rank(x), 1]))
    begin = reshape(before, [-1])
    sizes = shape_of(x)
    if before.dtype != int32:
        begin = new("Cast", x=begin, DstT=sizes.dtype)
    none: list[Tensor | None] = [None] * (len(op.inputs) - 1)
    return [new("Slice", input=grad, begin=begin, size=sizes), *none]


@gradient("MirrorPad")
def _mirror_pad_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    return new("MirrorPadGrad", input=grad, paddings=op.inputs[1], mode=op.attrs["mode"]), None


@compute("MirrorPadGrad")
def _mirror_pad_grad_kernel(xp: ArrayModule, input: Array, paddings: Array, *, mode: bytes) -> Array:
    pairs = paddings.tolist()
    shorter = 1 if mode == b"REFLECT" else 0
    for axis, (before, after) in enumerate(pairs):
        moved = xp.moveaxis(input, axis, 0)
        length = moved.shape[0] - before - after
        inner = xp.array(moved[before : before + length])
        if before:
            inner[shorter : shorter + before] += moved[:before][::-1]
        if after:
            stop = length - shorter
            inner[stop - after : stop] += moved[before + length :][::-1]
        input = xp.moveaxis(inner, 0, axis)
    return xp.ascontiguousarray(input).reshape(input.shape)  # NumPy turns a scalar into a vector


@shape_function("MirrorPadGrad")
def _mirror_pad_grad_shape(op: Operation) -> Any:
    sizes, pairs = op.inputs[0].shape.sizes, constant_value(op.inputs[1])
    if sizes is None:
        axes = require_rank(op.inputs[1].shape, 2)[0].value
        return (UNKNOWN_SHAPE if axes is None else TensorShape.of((None,) * axes),)
    if pairs is None:
        return (TensorShape.of((None,) * len(sizes)),)
    return (
        TensorShape.of(
            tuple(None if n is None else n - int(sum(pair)) for n, pair in zip(sizes, pairs, strict=True))
        ),
    )


@gradient("MirrorPadGrad")
def _mirror_pad_grad_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    return new("MirrorPad", input=grad, paddings=op.inputs[1], mode=op.attrs["mode"]), None


def meshgrid(*args: Any, indexing: str = "xy", name: str = "meshgrid") -> list[Tensor]:
    """Return the coordinates of a grid: for vectors ``x`` and ``y``, two matrices of shape ``[len(y), len(x)]``.

    >>> import gpuplace as tf
    >>> [part.tolist() for part in tf.Session().run(tf.meshgrid([1, 2, 3], [4, 5]))]
    [[[1, 2, 3], [1, 2, 3]], [[4, 4, 4], [5, 5, 5]]]

    Args:
        *args: vectors of one number type.
        indexing: ``"xy"``: the first vector runs along the second dimension; ``"ij"``: along the first.
        name: name of the scope.

    Returns:
        A list with a tensor per vector, of that type and with one dimension per vector.

    Raises:
        ValueError: ``indexing`` is neither ``"xy"`` nor ``"ij"``.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with name_scope(name, "meshgrid", list(args)):
        count = len(args)
        vectors = [
            reshape(stack(value), [1] * axis + [-1] + [1] * (count - axis - 1))
            for axis, value in enumerate(args)
        ]
        lengths = [size(value) for value in args]
        if not vectors:
            return []
        dtype = convert_to_tensor(args[0]).dtype
        if indexing == "xy" and count > 1:
            vectors[0] = reshape(vectors[0], [1, -1] + [1] * (count - 2))
            vectors[1] = reshape(vectors[1], [-1, 1] + [1] * (count - 2))
            lengths[0], lengths[1] = lengths[1], lengths[0]
        all_ones = ones(lengths, dtype)
        return [vector * all_ones for vector in vectors]
