"""Kernels of ops that rearrange sparse tensors, with their shape functions and gradients.

Source: tensorflow/core/kernels/sparse_reorder_op.cc, sparse_reshape_op.cc, sparse_concat_op.cc, sparse_slice_op.cc,
sparse_split_op.cc and tensorflow/python/ops/sparse_grad.py, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.gather import gather
from gpuplace.ops.array.positions import invert_permutation
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.shape_rules import merge_sizes, require_rank
from gpuplace.ops.sparse.positions import check_positions, joined, numbers_of, ranked, require_sparse
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.support import new
from gpuplace.tf1.sparse.rearranging import sparse_reorder
from gpuplace.typing import Array, ArrayModule


@compute("SparseReorder", fresh=True)
def _sparse_reorder(xp: ArrayModule, input_indices: Any, input_values: Any, input_shape: Array) -> Any:
    require_sparse(input_indices, input_values, input_shape)
    sizes = [int(size) for size in input_shape]
    check_positions(xp, input_indices, sizes, in_order=False)
    order = xp.argsort(numbers_of(xp, input_indices, sizes), kind="stable")
    return input_indices[order], input_values[order]


@shape_function("SparseReorder")
def _sparse_reorder_shape(op: Operation) -> Any:
    return require_rank(op.inputs[0].shape, 2), require_rank(op.inputs[1].shape, 1)


@gradient("SparseReorder")
def _sparse_reorder_grad(op: Operation, _: object, grad: Tensor) -> tuple[Any, ...]:
    indices, shape = op.inputs[0], op.inputs[2]
    entries = range_of(shape_of(indices)[0])
    ordered = sparse_reorder(SparseTensor(indices, entries, shape))
    return None, gather(grad, invert_permutation(ordered.values)), None


@compute("SparseReshape", fresh=True)
def _sparse_reshape(xp: ArrayModule, input_indices: Array, input_shape: Array, new_shape: Array) -> Any:
    if input_indices.ndim != 2:
        raise InvalidArgumentError.of(
            f"Input indices should be a matrix but received shape [{joined(input_indices.shape)}]"
        )
    sizes, new_sizes = [int(size) for size in input_shape], [int(size) for size in new_shape]
    open_at = [axis for axis, size in enumerate(new_sizes) if size == -1]
    if len(open_at) > 1:
        raise InvalidArgumentError.of(
            f"only one output dimension may be -1, not both {open_at[0]} and {open_at[1]}"
        )
    total, product = math.prod(sizes), math.prod(size for size in new_sizes if size != -1)
    if any(size < -1 for size in new_sizes):
        at = next(axis for axis, size in enumerate(new_sizes) if size < -1)
        raise InvalidArgumentError.of(f"size {at} must be non-negative, not {new_sizes[at]}")
    if open_at:
        if not product:
            raise InvalidArgumentError.of(
                "reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are "
                "non-zero"
            )
        if total % product:
            raise InvalidArgumentError.of(
                f"Input to reshape is a SparseTensor with {total} dense values, but the requested shape requires a "
                f"multiple of {product}. input_shape={joined(sizes)} output_shape={joined(new_sizes)}"
            )
        new_sizes[open_at[0]] = total // product
    elif product != total:
        raise InvalidArgumentError.of(
            f"Input to reshape is a tensor with {total} dense values, but the requested shape has {product}. "
            f"input_shape={joined(sizes)} output_shape={joined(new_sizes)}"
        )
    numbers = numbers_of(xp, input_indices, sizes)
    result = xp.zeros((len(input_indices), len(new_sizes)), xp.int64)
    for axis, size in enumerate(new_sizes):
        if size:
            result[:, axis] = numbers // math.prod(new_sizes[axis + 1 :]) % size
    return result, xp.asarray(new_sizes, dtype=xp.int64)


@shape_function("SparseReshape")
def _sparse_reshape_shape(op: Operation) -> Any:
    indices = require_rank(op.inputs[0].shape, 2)
    shape = require_rank(op.inputs[2].shape, 1)
    return ranked(indices[0].value, shape[0].value), shape


not_differentiable("SparseReshape")


@compute("SparseConcat", fresh=True)
def _sparse_concat(
    xp: ArrayModule, indices: list[Any], values: list[Any], shapes: list[Any], *, concat_dim: int
) -> Any:
    for parts in zip(indices, values, shapes, strict=True):
        require_sparse(*parts)
    sizes = [[int(size) for size in shape] for shape in shapes]
    rank = len(sizes[0])
    if not -rank <= concat_dim < rank:
        raise InvalidArgumentError.of(
            f"Concat dimension must be in range [{-rank}, {rank}), got {concat_dim}"
        )
    axis = concat_dim % rank
    for number, one in enumerate(sizes):
        if len(one) != rank:
            raise InvalidArgumentError.of(
                f"Ranks of all input tensors must match: expected {rank} but got {len(one)} at position {number}"
            )
        for other, (size, first) in enumerate(zip(one, sizes[0], strict=True)):
            if other != axis and size != first:
                raise InvalidArgumentError.of(
                    f"Input shapes must match: expected {first} for dimension {other} but got {size} at position "
                    f"{number}"
                )
    total, moved = 0, []
    for places, one in zip(indices, sizes, strict=True):
        shifted = places.copy()
        shifted[:, axis] += total
        moved.append(shifted)
        total += one[axis]
    whole = [total if other == axis else size for other, size in enumerate(sizes[0])]
    places, joined = xp.concatenate(moved), xp.concatenate(values)
    order = xp.argsort(numbers_of(xp, places, whole), kind="stable")
    return places[order], joined[order], xp.asarray(whole, dtype=xp.int64)


@shape_function("SparseConcat")
def _sparse_concat_shape(op: Operation) -> Any:
    count = len(op.inputs) // 3
    rows, rank = [tensor.shape for tensor in op.inputs[:count]], None
    for shape in (*rows, *[tensor.shape for tensor in op.inputs[2 * count :]]):
        static_rank = shape[-1].value if shape.ndims else None
        rank = merge_sizes(rank, static_rank)
    row_counts = [
        merge_sizes(
            shape[0].value if shape.ndims else None, values.shape[0].value if values.shape.ndims else None
        )
        for shape, values in zip(rows, op.inputs[count : 2 * count], strict=True)
    ]
    total = None if None in row_counts else sum(size or 0 for size in row_counts)
    return ranked(total, rank), ranked(total), ranked(rank)


not_differentiable("SparseConcat", "SparseAddGrad")


@compute("SparseSlice", fresh=True)
def _sparse_slice(
    xp: ArrayModule, indices: Array, values: Any, shape: Array, start: Array, size: Array
) -> Any:
    require_sparse(indices, values, shape)
    rank = len(shape)
    for name, vector in (("start", start), ("size", size)):
        if vector.ndim != 1:
            raise InvalidArgumentError.of(
                f"Input {name} should be a vector but received shape [{joined(vector.shape)}]"
            )
        if len(vector) != rank:
            raise InvalidArgumentError.of(
                f"Expected {name} to be a vector of length {rank} but got length {len(vector)}"
            )
    begin, extent = xp.asarray(start), xp.asarray(size)
    inside = ((indices >= begin) & (indices < begin + extent)).all(axis=1)
    left = xp.maximum(xp.minimum(extent, xp.asarray(shape) - begin), 0)
    return indices[inside] - begin, values[inside], left


@shape_function("SparseSlice")
def _sparse_slice_shape(op: Operation) -> Any:
    rank = require_rank(op.inputs[2].shape, 1)[0].value
    return ranked(None, rank), ranked(None), ranked(rank)


@gradient("SparseSlice")
def _sparse_slice_gradient(op: Operation, *grads: Tensor) -> tuple[Any, ...]:
    back = new(
        "SparseSliceGrad",
        backprop_val_grad=grads[1],
        input_indices=op.inputs[0],
        input_start=op.inputs[3],
        output_indices=op.outputs[0],
    )
    back.set_shape(op.inputs[1].shape)
    return None, back, None, None, None


@compute("SparseSliceGrad", fresh=True)
def _sparse_slice_grad(
    xp: ArrayModule, backprop_val_grad: Array, input_indices: Array, input_start: Array, output_indices: Array
) -> Array:
    result = xp.zeros(len(input_indices), backprop_val_grad.dtype)
    if len(output_indices):
        positions = output_indices + xp.asarray(input_start)
        sizes = [int(n) + 1 for n in xp.maximum(input_indices.max(axis=0), positions.max(axis=0))]
        order = xp.argsort(numbers_of(xp, input_indices, sizes), kind="stable")
        at = xp.searchsorted(numbers_of(xp, input_indices, sizes)[order], numbers_of(xp, positions, sizes))
        result[order[at]] = backprop_val_grad
    return result


@shape_function("SparseSliceGrad")
def _sparse_slice_grad_shape(op: Operation) -> Any:
    return (ranked(require_rank(op.inputs[1].shape, 2)[0].value),)


@compute("SparseSplit", fresh=True)
def _sparse_split(
    xp: ArrayModule, split_dim: Array, indices: Array, values: Array, shape: Array, *, num_split: int
) -> Any:
    require_sparse(indices, values, shape)
    sizes = [int(size) for size in shape]
    axis, rank = int(split_dim), len(sizes)
    if not -rank <= axis < rank:
        raise InvalidArgumentError.of(f"Input split_dim should be in range [{-rank}, {rank}), got {axis}")
    axis %= rank
    if not 1 <= num_split <= sizes[axis]:
        raise InvalidArgumentError.of(
            f"Input num_split should be between 1 and the splitting dimension size ({sizes[axis]}), got {num_split}"
        )
    part_size, more = divmod(sizes[axis], num_split)
    begin, parts = 0, []
    for number in range(num_split):
        length = part_size + (number < more)
        inside = (indices[:, axis] >= begin) & (indices[:, axis] < begin + length)
        places = indices[inside]
        places[:, axis] -= begin
        part = [length if other == axis else size for other, size in enumerate(sizes)]
        parts.append((places, values[inside], xp.asarray(part, dtype=xp.int64)))
        begin += length
    return tuple(one[part] for part in range(3) for one in parts)


@shape_function("SparseSplit")
def _sparse_split_shape(op: Operation) -> Any:
    count, shape = op.attrs["num_split"], op.inputs[3].shape
    rank = shape[0].value if shape.ndims else None
    return (ranked(None, rank),) * count + (ranked(None),) * count + (ranked(rank),) * count
