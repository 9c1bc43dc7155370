"""Rearranged elements: rows partitioned into tensors and stitched back, blocks of an image moved to depth and back.

Source: tensorflow/python/ops/data_flow_ops.py, data_flow_grad.py and tensorflow/core/kernels/dynamic_partition_op.cc,
dynamic_stitch_op.cc, spacetodepth_op.cc, depthtospace_op.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import int32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import make_constant
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.shape_rules import merge_prefix, merge_shapes
from gpuplace.ops.support import new, new_list, shape_tensor
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["dynamic_partition", "dynamic_stitch", "space_to_depth", "depth_to_space"]


def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """Partition the slices of a tensor: ``data[i]`` goes to output ``partitions[i]``.

    >>> import gpuplace as tf
    >>> [part.tolist() for part in tf.Session().run(tf.dynamic_partition([10, 20, 30], [0, 1, 0], 2))]
    [[10, 30], [20]]

    Args:
        data: a tensor of any type, whose shape begins with that of ``partitions``.
        partitions: int32, from 0 to ``num_partitions - 1``.
        num_partitions: number of outputs.
        name: name of the op.

    Returns:
        A list of tensors of ``data``'s type, each ``[count, *data.shape[partitions.ndim:]]``.

    Raises:
        ValueError: static shapes do not match.
        InvalidArgumentError: at run time, shapes do not match, or a partition is out of range.
    """
    return new_list("DynamicPartition", name, data=data, partitions=partitions, num_partitions=num_partitions)


@compute("DynamicPartition")
def _dynamic_partition(
    xp: ArrayModule, data: Array, partitions: Array, *, num_partitions: int
) -> tuple[Array, ...]:
    if data.shape[: partitions.ndim] != partitions.shape:
        raise InvalidArgumentError.of(
            f"data.shape must start with partitions.shape, got data.shape = {brackets(TensorShape(data.shape))},"
            f" partitions.shape = {brackets(TensorShape(partitions.shape))}"
        )
    wrong = (partitions < 0) | (partitions >= num_partitions)
    if wrong.any():
        at = int(xp.argmax(wrong.reshape(-1)))
        value = int(partitions.reshape(-1)[at])
        place = (
            ",".join(str(int(index)) for index in xp.unravel_index(at, partitions.shape))
            if partitions.ndim
            else ""
        )
        where = f"[{place}]" if place else ""
        raise InvalidArgumentError.of(f"partitions{where} = {value} is not in [0, {num_partitions})")
    rows = data.reshape(partitions.size, *data.shape[partitions.ndim :])
    return tuple(rows[partitions.reshape(-1) == index] for index in range(num_partitions))


@shape_function("DynamicPartition")
def _dynamic_partition_shape(op: Operation) -> tuple[TensorShape, ...]:
    data, partitions = merge_prefix(op.inputs[0].shape, op.inputs[1].shape)
    if data.sizes is None or partitions.sizes is None:
        return (UNKNOWN_SHAPE,) * op.attrs["num_partitions"]
    return (TensorShape.of((None, *data.sizes[len(partitions.sizes) :])),) * op.attrs["num_partitions"]


@gradient("DynamicPartition")
def _dynamic_partition_grad(op: Operation, *grads: Tensor) -> tuple[Tensor, None]:
    data, partitions = op.inputs
    prefix = shape_tensor(partitions)
    count = new("Prod", input=prefix, reduction_indices=make_constant([0], int32))
    positions = new("Reshape", tensor=range_of(count), shape=prefix)
    where = dynamic_partition(positions, partitions, op.attrs["num_partitions"])
    rows = dynamic_stitch(where, list(grads))
    return new("Reshape", tensor=rows, shape=shape_tensor(data)), None


def dynamic_stitch(indices: TensorLike, data: TensorLike, name: str | None = None) -> Tensor:
    """Return one tensor whose slice ``indices[m][i]`` is ``data[m][i]``: the inverse of ``dynamic_partition``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.dynamic_stitch([[0, 2], [1]], [[10, 30], [20]])).tolist()
    [10, 20, 30]

    Args:
        indices: a list of int32 tensors; if a position occurs twice, the last one wins.
        data: a list of tensors of one type, whose shapes begin with those of their ``indices``.
        name: name of the op.

    Returns:
        A tensor of that type, ``[largest index + 1, *data[0].shape[indices[0].ndim:]]``; missing positions are 0.

    Raises:
        TypeError: types differ, or indices are not int32.
        ValueError: the lists differ in length.
    """
    return new("DynamicStitch", name, indices=indices, data=data)


@compute("DynamicStitch", "ParallelDynamicStitch")
def _dynamic_stitch(xp: ArrayModule, indices: list[Any], data: list[Any]) -> Array:
    length = 1 + max((int(index.max()) for index in indices if index.size), default=-1)
    inner = data[0].shape[indices[0].ndim :]
    merged = xp.zeros((length, *inner), data[0].dtype)
    for index, value in zip(indices, data, strict=True):
        merged[xp.asarray(index.reshape(-1))] = value.reshape(index.size, *inner)
    return merged


@shape_function("DynamicStitch", "ParallelDynamicStitch")
def _dynamic_stitch_shape(op: Operation) -> tuple[TensorShape, ...]:
    count = len(op.inputs) // 2
    indices = [constant_value(tensor) for tensor in op.inputs[:count]]
    inner = UNKNOWN_SHAPE
    for index, value in zip(op.inputs[:count], op.inputs[count:], strict=True):
        whole, start = merge_prefix(value.shape, index.shape)
        if start.sizes is not None and whole.sizes is not None:
            inner = merge_shapes(inner, TensorShape.of(whole.sizes[len(start.sizes) :]))
    if inner.sizes is None:
        return (UNKNOWN_SHAPE,)
    length = None
    if not any(index is None for index in indices):
        length = 1 + max(
            (int(index.max()) for index in indices if index is not None and index.size), default=-1
        )
    return (TensorShape.of((length, *inner.sizes)),)


@gradient("DynamicStitch", "ParallelDynamicStitch")
def _dynamic_stitch_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    indices = op.inputs[: len(op.inputs) // 2]
    parts = [new("GatherV2", params=grad, indices=index, axis=0) for index in indices]
    return [*[None] * len(indices), *parts]


# Blocks of an image


def space_to_depth(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Move square blocks of an image into its depth: the inverse of ``depth_to_space``.

    Args:
        input: ``[batch, height, width, depth]`` of any type (on a GPU float16, float32 or uint8).
        block_size: side length of a block in pixels, at least 2.
        name: name of the op.
        data_format: ``"NHWC"``, or ``"NCHW"`` for depth in the second dimension.

    Returns:
        ``[batch, height / n, width / n, depth * n**2]`` of the same type, for block size ``n``.

    Raises:
        ValueError: the rank is not 4, a static size is not divisible, or an argument is invalid.
        InvalidArgumentError: at run time, a size is not divisible.
    """
    return new("SpaceToDepth", name, input=input, block_size=block_size, data_format=data_format)


def depth_to_space(
    input: TensorLike, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Move the depth of an image into square blocks: the inverse of ``space_to_depth``.

    Args:
        input: ``[batch, height, width, depth]`` of any type (on a GPU float16 or float32).
        block_size: side length of a block in pixels, at least 2.
        name: name of the op.
        data_format: ``"NHWC"``, or ``"NCHW"`` for depth in the second dimension.

    Returns:
        ``[batch, height * n, width * n, depth / n**2]`` of the same type, for block size ``n``.

    Raises:
        ValueError: the rank is not 4, a static size is not divisible, or an argument is invalid.
        InvalidArgumentError: at run time, a size is not divisible.
    """
    return new("DepthToSpace", name, input=input, block_size=block_size, data_format=data_format)


def _nhwc(xp: ArrayModule, data_format: bytes, image: Array) -> Array:
    if data_format == b"NHWC":
        return image
    if data_format == b"NCHW":
        return xp.transpose(image, (0, 2, 3, 1))
    raise InvalidArgumentError.of(f"data_format {data_format.decode()} is not supported here")


def _from_nhwc(xp: ArrayModule, data_format: bytes, image: Array) -> Array:
    return xp.ascontiguousarray(image if data_format == b"NHWC" else xp.transpose(image, (0, 3, 1, 2)))


@compute("SpaceToDepth")
def _space_to_depth(xp: ArrayModule, input: Array, *, block_size: int, data_format: bytes) -> Array:
    n = block_size
    image = _nhwc(xp, data_format, input)
    batch, height, width, depth = image.shape
    if height % n or width % n:
        raise InvalidArgumentError.of(
            f"Image width {width} and height {height} should be divisible by block_size: {n}"
        )
    blocks = image.reshape(batch, height // n, n, width // n, n, depth)
    moved = xp.transpose(blocks, (0, 1, 3, 2, 4, 5))
    return _from_nhwc(xp, data_format, moved.reshape(batch, height // n, width // n, n * n * depth))


@compute("DepthToSpace")
def _depth_to_space(xp: ArrayModule, input: Array, *, block_size: int, data_format: bytes) -> Array:
    n = block_size
    image = _nhwc(xp, data_format, input)
    batch, height, width, depth = image.shape
    if depth % (n * n):
        raise InvalidArgumentError.of(f"Input depth dimension {depth} should be divisible by: {n * n}")
    blocks = image.reshape(batch, height, width, n, n, depth // (n * n))
    moved = xp.transpose(blocks, (0, 1, 3, 2, 4, 5))
    return _from_nhwc(xp, data_format, moved.reshape(batch, height * n, width * n, depth // (n * n)))


@shape_function("SpaceToDepth", "DepthToSpace")
def _blocks_shape(op: Operation) -> tuple[TensorShape, ...]:
    sizes, n = op.inputs[0].shape.sizes, op.attrs["block_size"]
    if op.attrs["data_format"] == b"NCHW_VECT_C":
        return (UNKNOWN_SHAPE,)
    if sizes is None:
        return (TensorShape.of((None,) * 4),)
    if len(sizes) != 4:
        raise ValueError(f"Shape must be rank 4 but is rank {len(sizes)}")
    first = op.attrs["data_format"] == b"NCHW"
    batch, height, width, depth = sizes if not first else (sizes[0], sizes[2], sizes[3], sizes[1])
    shrink = op.type == "SpaceToDepth"
    for length, divisor in ((height, n), (width, n)) if shrink else ((depth, n * n),):
        if length is not None and length % divisor:
            raise ValueError(f"Dimension size must be evenly divisible by {divisor} but is {length}")

    def scaled(length: int | None, factor: int, down: bool) -> int | None:
        return None if length is None else length // factor if down else length * factor

    result = (batch, scaled(height, n, shrink), scaled(width, n, shrink), scaled(depth, n * n, not shrink))
    return (TensorShape.of(result if not first else (result[0], result[3], result[1], result[2])),)


@gradient("SpaceToDepth")
def _space_to_depth_grad(op: Operation, grad: Tensor) -> Tensor:
    return new(
        "DepthToSpace", input=grad, block_size=op.attrs["block_size"], data_format=op.attrs["data_format"]
    )


@gradient("DepthToSpace")
def _depth_to_space_grad(op: Operation, grad: Tensor) -> Tensor:
    return new(
        "SpaceToDepth", input=grad, block_size=op.attrs["block_size"], data_format=op.attrs["data_format"]
    )
