"""Move blocks of a tensor into a larger batch, and back: the basis of dilated convolutions.

    input [1, 4] in blocks of 2:   a b c d   -->   [2, 2]:   a c      every element of a block goes into
                                                             b d      its own batch

Source: tensorflow/core/ops/array_ops.cc, core/kernels/spacetobatch_op.cc, batchtospace_op.cc and
tensorflow/python/ops/array_ops.py, array_grad.py, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuplace.dtypes import int32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import zeros
from gpuplace.ops.array.joining import stack
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.shape_rules import merge_shapes
from gpuplace.ops.support import new
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "batch_to_space",
    "batch_to_space_nd",
    "required_space_to_batch_paddings",
    "space_to_batch",
    "space_to_batch_nd",
]


def space_to_batch_nd(
    input: TensorLike, block_shape: TensorLike, paddings: TensorLike, name: str | None = None
) -> Tensor:
    """Move blocks of the axes after the first into the batch: each position in a block becomes a separate batch.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.space_to_batch_nd([[1, 2, 3, 4]], [2], [[0, 0]])).tolist()
    [[1, 3], [2, 4]]

    Args:
        input: ``[batch, ...]``, of any type.
        block_shape: block sizes, one integer for each axis after the first to divide.
        paddings: ``[axes, 2]``, the number of zeros to pad before and after each of these axes.
        name: name of the operation.

    Returns:
        A tensor of the same type, ``[batch * prod(block_shape), ...]``, with these axes divided by the block sizes.

    Raises:
        ValueError: static shapes do not match.
        InvalidArgumentError: at run time, shapes do not match.
    """
    return new("SpaceToBatchND", name, input=input, block_shape=block_shape, paddings=paddings)


def batch_to_space_nd(
    input: TensorLike, block_shape: TensorLike, crops: TensorLike, name: str | None = None
) -> Tensor:
    """Rearrange batches into blocks: the inverse of ``space_to_batch_nd``.

    Args:
        input: ``[batch, ...]``, of any type; the batch is a multiple of the block's number of elements.
        block_shape: block sizes, one integer for each axis after the first to multiply.
        crops: ``[axes, 2]``, the number of elements to drop at the start and the end of each of these axes.
        name: name of the operation.

    Returns:
        A tensor of the same type, ``[batch / prod(block_shape), ...]``, with these axes multiplied by the block sizes.

    Raises:
        ValueError: static shapes do not match.
        InvalidArgumentError: at run time, shapes do not match.
    """
    return new("BatchToSpaceND", name, input=input, block_shape=block_shape, crops=crops)


def space_to_batch(
    input: TensorLike,
    paddings: TensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: int | None = None,
) -> Tensor:
    """``space_to_batch_nd`` for images, with square blocks.

    Args:
        input: ``[batch, height, width, depth]``, of any type.
        paddings: ``[2, 2]``, zeros to add before and after height and width.
        block_size: side length of a block.
        name: name of the operation.
        block_shape: newer name of ``block_size``.

    Returns:
        A tensor of the same type, ``[batch * block_size**2, ...]``.

    Raises:
        ValueError: static shapes do not match.
        InvalidArgumentError: at run time, shapes do not match.
    """
    batched = space_to_batch_nd(input, _square(block_size, block_shape), paddings, name)
    batched.set_shape(batched.shape.with_rank(4))
    return batched


def batch_to_space(
    input: TensorLike,
    crops: TensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: int | None = None,
) -> Tensor:
    """``batch_to_space_nd`` for images, with square blocks.

    Args:
        input: ``[batch, height, width, depth]``, of any type.
        crops: ``[2, 2]``, the number of elements to drop at the start and the end of height and width.
        block_size: side length of a block.
        name: name of the operation.
        block_shape: newer name of ``block_size``.

    Returns:
        A tensor of the same type, ``[batch / block_size**2, ...]``.

    Raises:
        ValueError: static shapes do not match.
        InvalidArgumentError: at run time, shapes do not match.
    """
    result = batch_to_space_nd(input, _square(block_size, block_shape), crops, name)
    result.set_shape(result.shape.with_rank(4))
    return result


def _square(block_size: int | None, block_shape: int | None) -> Any:
    side: Any = block_size if block_shape is None else block_shape
    if side is None:
        raise ValueError("block_size is missing: pass block_size=2, for example")
    return side if np.ndim(side) else np.array([side, side], np.int64)


def required_space_to_batch_paddings(
    input_shape: TensorLike,
    block_shape: TensorLike,
    base_paddings: TensorLike | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return paddings that make a tensor divisible into blocks, and crops that undo the padding at the end.

    Args:
        input_shape: int32, ``[n]``: sizes of the axes to divide.
        block_shape: int32, ``[n]``: block sizes.
        base_paddings: int32, ``[n, 2]``: minimum paddings; None: 0.
        name: name of the scope.

    Returns:
        (paddings, crops), int32, ``[n, 2]`` each.

    Raises:
        ValueError: shapes do not match.
    """
    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        sizes: Any = convert_to_tensor(input_shape, int32, name="input_shape")
        blocks: Any = convert_to_tensor(block_shape, int32, name="block_shape")
        if not blocks.shape.is_fully_defined() or blocks.shape.ndims != 1:
            raise ValueError(
                f"block_shape must be a vector of static length, but its shape is {blocks.shape}"
            )
        number = blocks.shape[0].value
        if number == 0:
            return zeros([0, 2], int32), zeros([0, 2], int32)
        sizes.shape.assert_is_compatible_with([number])
        base: Any
        if base_paddings is None:
            base = zeros([number, 2], int32)
        else:
            base = convert_to_tensor(base_paddings, int32, name="base_paddings")
            base.shape.assert_is_compatible_with([number, 2])
        static = [constant_value(tensor) for tensor in (sizes, blocks, base)]
        if all(value is not None for value in static):
            sizes, blocks, base = static
        before, after = base[:, 0], base[:, 1]
        more = (blocks - (sizes + before + after) % blocks) % blocks
        last = after + more
        paddings = stack([[before[axis], last[axis]] for axis in range(number)], name="paddings")
        crops = stack([[0, more[axis]] for axis in range(number)], name="crops")
        return paddings, crops


def _lists(block_shape: Any, pairs: Any, rank: int) -> tuple[list[int], list[tuple[int, int]]]:
    """Return block sizes and pairs of paddings or crops, checked against each other."""
    blocks = [int(size) for size in np.asarray(block_shape).reshape(-1)]
    if len(blocks) + 1 > rank:
        raise InvalidArgumentError.of(f"input rank should be >= {len(blocks) + 1} instead of {rank}")
    if pairs.shape != (len(blocks), 2):
        raise InvalidArgumentError.of(
            f"paddings or crops should have shape [{len(blocks)}, 2] instead of {list(pairs.shape)}"
        )
    both = [(int(first), int(second)) for first, second in pairs]
    if any(number < 0 for pair in both for number in pair):
        raise InvalidArgumentError.of("Paddings and crops must be non-negative")
    if any(size < 1 for size in blocks):
        raise InvalidArgumentError.of("block_shape must be positive")
    return blocks, both


def _to_batch(xp: ArrayModule, input: Array, block_shape: Any, paddings: Any) -> Any:
    blocks, pads = _lists(block_shape, paddings, input.ndim)
    rest = input.shape[1 + len(blocks) :]
    if any(pair != (0, 0) for pair in pads):
        input = xp.pad(input, [(0, 0), *pads, *((0, 0) for _ in rest)])
    sizes = []
    for axis, size in enumerate(blocks, 1):
        if input.shape[axis] % size:
            raise InvalidArgumentError.of(
                f"padded_shape[{axis - 1}]={input.shape[axis]} is not divisible by block_shape[{axis - 1}]={size}"
            )
        sizes += [input.shape[axis] // size, size]
    count = len(blocks)
    cut = input.reshape(input.shape[0], *sizes, *rest)
    order = [2 * axis + 2 for axis in range(count)] + [0] + [2 * axis + 1 for axis in range(count)]
    moved = cut.transpose(*order, *range(2 * count + 1, cut.ndim))
    return xp.ascontiguousarray(moved).reshape(input.shape[0] * math.prod(blocks), *sizes[::2], *rest)


def _to_space(xp: ArrayModule, input: Array, block_shape: Any, crops: Any) -> Any:
    blocks, pairs = _lists(block_shape, crops, input.ndim)
    count, area = len(blocks), math.prod(blocks)
    if input.shape[0] % area:
        raise InvalidArgumentError.of(
            f"Input batch dimension ({input.shape[0]}) is not divisible by product of block sizes ({area})"
        )
    batch, inner, rest = input.shape[0] // area, input.shape[1 : 1 + count], input.shape[1 + count :]
    cut = input.reshape(*blocks, batch, *inner, *rest)
    order = [count] + [axis for i in range(count) for axis in (count + 1 + i, i)]
    moved = cut.transpose(*order, *range(2 * count + 1, cut.ndim))
    whole = moved.reshape(batch, *(size * block for size, block in zip(inner, blocks, strict=True)), *rest)
    where = [slice(None)]
    for axis, (start, end) in enumerate(pairs, 1):
        if start + end > whole.shape[axis]:
            raise InvalidArgumentError.of(
                f"cropped_shape[{axis - 1}]={whole.shape[axis] - start - end} must be non-negative"
            )
        where.append(slice(start, whole.shape[axis] - end))
    return xp.ascontiguousarray(whole[tuple(where)])


@compute("SpaceToBatchND")
def _space_to_batch_nd(xp: ArrayModule, input: Array, block_shape: Array, paddings: Array) -> Array:
    return _to_batch(xp, input, block_shape, paddings)


@compute("BatchToSpaceND")
def _batch_to_space_nd(xp: ArrayModule, input: Array, block_shape: Array, crops: Array) -> Array:
    return _to_space(xp, input, block_shape, crops)


@compute("SpaceToBatch")
def _space_to_batch(xp: ArrayModule, input: Array, paddings: Any, *, block_size: int) -> Any:
    return _to_batch(xp, input, [block_size, block_size], paddings)


@compute("BatchToSpace")
def _batch_to_space(xp: ArrayModule, input: Array, crops: Any, *, block_size: int) -> Any:
    return _to_space(xp, input, [block_size, block_size], crops)


@shape_function("SpaceToBatchND", "BatchToSpaceND", "SpaceToBatch", "BatchToSpace")
def _batches_shape(op: Operation) -> Any:
    sizes, side = op.inputs[0].shape.sizes, op.attrs.get("block_size")
    shrinks = op.type.startswith("SpaceToBatch")
    blocks: Any = constant_value(op.inputs[1]) if side is None else [side, side]
    if side is None and op.inputs[1].shape.ndims != 1:
        raise ValueError("block_shape must have rank 1.")
    number = len(blocks) if blocks is not None else op.inputs[1].shape[0].value
    if sizes is not None and number is not None and len(sizes) < number + 1:
        raise ValueError(f"Shape must be at least rank {number + 1} but is rank {len(sizes)}")
    if sizes is None and side is not None:
        sizes = (None,) * 4
    if sizes is None or number is None:
        return [UNKNOWN_SHAPE]
    rest = sizes[1 + number :]
    pairs = constant_value(op.inputs[-1])
    if blocks is None:
        return [TensorShape.of((None,) * (1 + number) + rest)]
    if any(int(size) < 1 for size in blocks):
        raise ValueError("block_shape must be positive")
    if pairs is not None:
        _check_pairs(pairs, number, "paddings" if shrinks else "crops")
    area = math.prod(int(size) for size in blocks)
    batch = sizes[0]
    if not shrinks and batch is not None and batch % area:
        left = batch
        for block in (int(size) for size in blocks):
            if left % block:
                raise ValueError(f"Dimension size must be evenly divisible by {block} but is {left}")
            left //= block
    result = [None if batch is None else batch * area if shrinks else batch // area]
    for axis, block in enumerate(int(size) for size in blocks):
        length = sizes[1 + axis]
        if length is None or pairs is None:
            result.append(None)
            continue
        around = int(pairs[axis].sum())
        if shrinks and (length + around) % block:
            raise ValueError(f"Dimension size must be evenly divisible by {block} but is {length + around}")
        new_size = (length + around) // block if shrinks else length * block - around
        if new_size < 0:
            raise ValueError(f"Negative dimension size caused by subtracting {around} from {length * block}")
        result.append(new_size)
    return [TensorShape.of((*result, *rest))]


def _check_pairs(pairs: Any, number: int, label: str) -> None:
    """Raise ValueError unless there is one pair per block and no pair is negative."""
    merge_shapes(TensorShape(pairs.shape), TensorShape((number, 2)))
    if (pairs < 0).any():
        raise ValueError(f"{label} cannot be negative")


@gradient("SpaceToBatchND")
def _space_to_batch_nd_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [new("BatchToSpaceND", input=grad, block_shape=op.inputs[1], crops=op.inputs[2]), None, None]


@gradient("BatchToSpaceND")
def _batch_to_space_nd_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [new("SpaceToBatchND", input=grad, block_shape=op.inputs[1], paddings=op.inputs[2]), None, None]


@gradient("SpaceToBatch")
def _space_to_batch_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [new("BatchToSpaceND", input=grad, block_shape=_block_shape(op), crops=op.inputs[1]), None]


@gradient("BatchToSpace")
def _batch_to_space_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [new("SpaceToBatchND", input=grad, block_shape=_block_shape(op), paddings=op.inputs[1]), None]


def _block_shape(op: Operation) -> list[int]:
    return [op.attrs["block_size"]] * 2
