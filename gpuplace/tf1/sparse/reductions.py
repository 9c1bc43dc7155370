"""Sums and maxima of sparse tensors along axes: ops, kernels, shape functions and gradients.

Source: tensorflow/python/ops/sparse_ops.py, sparse_grad.py and tensorflow/core/kernels/sparse_reduce_op.cc,
release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuplace.dtypes import int32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value, constant_value_as_shape
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import constant
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.gather import gather_nd
from gpuplace.ops.array.reshaping import rank, reshape
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.array.reshaping import size as size_of
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.cast import cast
from gpuplace.ops.sparse.positions import check_positions, groups_of, numbers_of, ranked, require_sparse
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.support import new
from gpuplace.ops.variables.scatter import apply_at
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, IntsLike, TensorLike

__all__ = [
    "sparse_reduce_max", "sparse_reduce_max_sparse", "sparse_reduce_sum", "sparse_reduce_sum_sparse",
]  # fmt: skip


def _reduction_axes(sparse: Any, axis: TensorLike) -> Any:
    if axis is not None:
        return axis
    static_rank = sparse.shape.ndims
    if static_rank is None:
        static_rank = sparse.dense_shape.shape[0].value if sparse.dense_shape.shape.ndims else None
    if static_rank is not None:
        return constant(np.arange(static_rank), dtype=int32)
    return range_of(0, rank(sparse))


def _reduce(
    kind: str, sp_input: SparseTensor, axis: Any, keepdims: Any, reduction_axes: Any, keep_dims: Any
) -> list[Any]:
    keepdims = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    axis = deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_axes)
    if not isinstance(sp_input, SparseTensor):
        raise TypeError(
            "Input must be a SparseTensor; create one with tf.SparseTensor(indices, values, dense_shape)"
        )
    return apply_op(
        kind,
        input_indices=sp_input.indices,
        input_values=sp_input.values,
        input_shape=sp_input.dense_shape,
        reduction_axes=_reduction_axes(sp_input, axis),
        keep_dims=bool(keepdims),
    ).outputs


def sparse_reduce_sum(
    sp_input: SparseTensor,
    axis: IntsLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: IntsLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return the sums of elements along axes, as a dense tensor.

    Args:
        sp_input: a sparse tensor of numbers.
        axis: the axes, integers; None for all.
        keepdims: whether to keep the axes, with size 1.
        reduction_axes: deprecated name of ``axis``.
        keep_dims: deprecated name of ``keepdims``.

    Returns:
        A dense tensor of the same dtype.

    Raises:
        TypeError: the argument is not a sparse tensor.
        ValueError: an argument is given under both names.
        InvalidArgumentError: at run time, there is no such axis.
    """
    total: Tensor = _reduce("SparseReduceSum", sp_input, axis, keepdims, reduction_axes, keep_dims)[0]
    return total


def sparse_reduce_max(
    sp_input: SparseTensor,
    axis: IntsLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: IntsLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return the largest stored elements along axes, as a dense tensor; 0 if there are none.

    Args:
        sp_input: a sparse tensor of real numbers.
        axis: the axes, integers; None for all.
        keepdims: whether to keep the axes, with size 1.
        reduction_axes: deprecated name of ``axis``.
        keep_dims: deprecated name of ``keepdims``.

    Returns:
        A dense tensor of the same dtype.

    Raises:
        TypeError: the argument is not a sparse tensor.
        ValueError: an argument is given under both names.
        InvalidArgumentError: at run time, there is no such axis.
    """
    largest: Tensor = _reduce("SparseReduceMax", sp_input, axis, keepdims, reduction_axes, keep_dims)[0]
    return largest


def sparse_reduce_sum_sparse(
    sp_input: SparseTensor,
    axis: IntsLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: IntsLike | None = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """Return the result of ``sparse_reduce_sum`` as a sparse tensor.

    Args:
        sp_input: a sparse tensor of numbers.
        axis: the axes, integers; None for all.
        keepdims: whether to keep the axes, with size 1.
        reduction_axes: deprecated name of ``axis``.
        keep_dims: deprecated name of ``keepdims``.

    Returns:
        A sparse tensor of the same dtype.

    Raises:
        TypeError: the argument is not a sparse tensor.
        ValueError: an argument is given under both names.
        InvalidArgumentError: at run time, there is no such axis.
    """
    outputs = _reduce("SparseReduceSumSparse", sp_input, axis, keepdims, reduction_axes, keep_dims)
    return SparseTensor(*outputs)


def sparse_reduce_max_sparse(
    sp_input: SparseTensor,
    axis: IntsLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: IntsLike | None = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """Return the result of ``sparse_reduce_max`` as a sparse tensor.

    Args:
        sp_input: a sparse tensor of real numbers.
        axis: the axes, integers; None for all.
        keepdims: whether to keep the axes, with size 1.
        reduction_axes: deprecated name of ``axis``.
        keep_dims: deprecated name of ``keepdims``.

    Returns:
        A sparse tensor of the same dtype.

    Raises:
        TypeError: the argument is not a sparse tensor.
        ValueError: an argument is given under both names.
        InvalidArgumentError: at run time, there is no such axis.
    """
    outputs = _reduce("SparseReduceMaxSparse", sp_input, axis, keepdims, reduction_axes, keep_dims)
    return SparseTensor(*outputs)


# Kernels, shapes and gradients


def _axes(reduction_axes: Array, rank: int) -> list[int]:
    axes = [int(axis) for axis in reduction_axes.reshape(-1)]
    for axis in axes:
        if not -rank <= axis < rank:
            raise InvalidArgumentError.of(
                f"Invalid reduction dimension {axis}, for input with {rank} dimensions."
            )
    return sorted({axis % rank for axis in axes})


@compute("SparseReduceSum", "SparseReduceMax", "SparseReduceSumSparse", "SparseReduceMaxSparse", fresh=True)
def _sparse_reduce(
    xp: ArrayModule,
    input_indices: Array,
    input_values: Array,
    input_shape: Array,
    reduction_axes: Array,
    *,
    keep_dims: bool,
    ctx: Any,
) -> Array | tuple[Array, ...]:
    require_sparse(input_indices, input_values, input_shape)
    sizes = [int(size) for size in input_shape]
    check_positions(xp, input_indices, sizes, in_order=False)
    axes = _axes(reduction_axes, len(sizes))
    kept = [axis for axis in range(len(sizes)) if axis not in axes]
    inner = [sizes[axis] for axis in kept]
    shape = [1 if axis in axes else size for axis, size in enumerate(sizes)] if keep_dims else inner
    numbers = numbers_of(xp, input_indices[:, kept], inner)
    distinct, groups = groups_of(xp, numbers)
    if "Max" in ctx.op.type:
        reduced = xp.zeros(len(distinct), input_values.dtype)
        reduced[groups] = input_values
        reduced = apply_at(xp, "max", reduced, groups, input_values)
    else:
        reduced = apply_at(xp, "add", xp.zeros(len(distinct), input_values.dtype), groups, input_values)
    if ctx.op.type.endswith("Sparse"):
        places = xp.zeros((len(distinct), len(shape)), xp.int64)
        for column, axis in enumerate(kept):
            step = math.prod(inner[column + 1 :])
            places[:, axis if keep_dims else column] = distinct // step % inner[column]
        return places, reduced, xp.asarray(shape, dtype=xp.int64)
    result = xp.zeros(math.prod(inner), input_values.dtype)
    result[distinct] = reduced
    return result.reshape(tuple(shape))


@shape_function("SparseReduceSum", "SparseReduceMax")
def _sparse_reduce_shape(op: Operation) -> tuple[TensorShape, ...]:
    whole = constant_value_as_shape(op.inputs[2]).sizes
    axes = constant_value(op.inputs[3])
    if whole is None or axes is None:
        return (UNKNOWN_SHAPE,)
    gone = {int(axis) % len(whole) for axis in axes.reshape(-1)}
    if op.attrs["keep_dims"]:
        return (TensorShape.of(tuple(1 if axis in gone else size for axis, size in enumerate(whole))),)
    return (TensorShape.of(tuple(size for axis, size in enumerate(whole) if axis not in gone)),)


@shape_function("SparseReduceSumSparse", "SparseReduceMaxSparse")
def _sparse_reduce_sparse_shape(op: Operation) -> tuple[TensorShape, ...]:
    return ranked(None, None), ranked(None), ranked(None)


@gradient("SparseReduceSum")
def _sparse_reduce_sum_grad(op: Operation, grad: Tensor) -> tuple[Any, ...]:
    indices, shape = op.inputs[0], op.inputs[2]
    sizes, axes = cast(shape, "int32"), cast(op.inputs[3], "int32")
    rank = size_of(sizes)
    axes = (axes + rank) % rank
    how_many = shape_of(axes)
    ranks = range_of(rank)
    kept = new("DynamicStitch", indices=[ranks, axes], data=[sizes, new("Fill", dims=how_many, value=1)])
    spread = reshape(grad, kept)
    scale = shape // cast(kept, "int64")
    return None, gather_nd(spread, indices // scale), None, None
