"""Kernels of the ops on sparse tensors, with their shape functions and gradients.

Positions are compared by their number in row-major order: ``[row, column]`` of ``[height, width]`` is
``row * width + column``.

Source: tensorflow/core/kernels/sparse_*_op.cc, sparse_to_dense_op.cc, segment_reduction_ops.cc, core/ops/sparse_ops.cc
and tensorflow/python/ops/sparse_grad.py, math_grad.py, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value_as_shape
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import ones, zeros_like
from gpuplace.ops.array.gather import gather, gather_nd
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import expand_dims, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.array.reshaping import size as size_of
from gpuplace.ops.array.slicing import slice as slice_of
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.math.unary import square
from gpuplace.ops.shape_rules import merge_sizes, require_rank
from gpuplace.ops.sparse.positions import (
    check_positions,
    groups_of,
    joined,
    numbers_of,
    ranked,
    require_sparse,
)
from gpuplace.ops.support import new, new_list
from gpuplace.ops.variables.scatter import apply_at
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule


@compute("SparseToDense", fresh=True, grows=True)
def _sparse_to_dense(
    xp: ArrayModule,
    sparse_indices: Array,
    output_shape: Array,
    sparse_values: Array,
    default_value: Array,
    *,
    validate_indices: bool,
) -> Array:
    if sparse_indices.ndim > 2:
        raise InvalidArgumentError.of(
            f"sparse_indices should be a scalar, vector, or matrix, got shape [{joined(sparse_indices.shape)}]"
        )
    count = sparse_indices.shape[0] if sparse_indices.ndim else 1
    rank = sparse_indices.shape[1] if sparse_indices.ndim == 2 else 1
    if output_shape.ndim != 1:
        raise InvalidArgumentError.of(
            f"output_shape should be a vector, got shape [{joined(output_shape.shape)}]"
        )
    sizes = [int(size) for size in output_shape]
    if len(sizes) != rank:
        raise InvalidArgumentError.of(
            f"output_shape has incorrect number of elements: {len(sizes)} should be: {rank}"
        )
    if sparse_values.ndim and sparse_values.shape != (count,):
        raise InvalidArgumentError.of(
            f"sparse_values has incorrect shape [{joined(sparse_values.shape)}], should be [] or [{count}]"
        )
    if default_value.ndim:
        raise InvalidArgumentError.of("default_value should be a scalar.")
    indices = sparse_indices.reshape(count, rank)
    check_positions(xp, indices, sizes, bool(validate_indices))
    result = xp.full(tuple(sizes), default_value[()], sparse_values.dtype)
    if not rank:
        return xp.array(sparse_values.reshape(-1)[-1]) if sparse_values.size else result
    result[tuple(indices[:, axis] for axis in range(rank))] = sparse_values
    return result


@shape_function("SparseToDense")
def _sparse_to_dense_shape(op: Operation) -> Any:
    return (constant_value_as_shape(op.inputs[1]),)


@gradient("SparseToDense")
def _sparse_to_dense_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    indices, shape = op.inputs[0], op.inputs[1]
    values = gather_nd(grad, indices)
    default = reduce_sum(grad) - reduce_sum(values)
    return [zeros_like(indices), zeros_like(shape), values, default]


@compute("SparseTensorDenseMatMul", fresh=True)
def _sparse_matmul(
    xp: ArrayModule,
    a_indices: Array,
    a_values: Array,
    a_shape: Array,
    b: Array,
    *,
    adjoint_a: bool,
    adjoint_b: bool,
) -> Array:
    if b.ndim != 2:
        raise InvalidArgumentError.of("Tensor 'b' is not a matrix")
    if a_shape.ndim != 1:
        raise InvalidArgumentError.of("Tensor 'a_shape' is not a vector")
    if len(a_shape) != 2:
        raise InvalidArgumentError.of("Tensor 'a_shape' must have 2 elements")
    if a_values.ndim != 1:
        raise InvalidArgumentError.of("Tensor 'a_values' is not a vector")
    if a_indices.ndim != 2:
        raise InvalidArgumentError.of("Tensor 'a_indices' is not a matrix")
    if a_indices.shape[0] != a_values.shape[0]:
        raise InvalidArgumentError.of(
            "Number of rows of a_indices does not match number of entries in a_values"
        )
    if a_indices.shape[1] != 2:
        raise InvalidArgumentError.of(
            "Number of columns of a_indices does not match number of entries in a_shape"
        )
    sizes = [int(size) for size in a_shape]
    height, inner = sizes[::-1] if adjoint_a else sizes
    right = (b.conj().T if b.dtype.kind == "c" else b.T) if adjoint_b else b
    if right.shape[0] != inner:
        raise InvalidArgumentError.of(
            f"Cannot multiply A and B because inner dimension does not match: {inner} vs. {right.shape[0]}.  Did you "
            f"forget a transpose?  Dimensions of A: [{height}, {inner}).  Dimensions of B: [{joined(b.shape)}]"
        )
    rows, columns = (a_indices[:, 1], a_indices[:, 0]) if adjoint_a else (a_indices[:, 0], a_indices[:, 1])
    for positions, letter, limit in ((columns, "k", inner), (rows, "m", height)):
        outside = (positions < 0) | (positions >= limit)
        if outside.any():
            at = int(xp.argmax(outside))
            place = int(adjoint_a) if letter == "m" else 1 - int(adjoint_a)
            raise InvalidArgumentError.of(
                f"{letter} ({int(positions[at])}) from index[{at},{place}] out of bounds (>={limit})"
            )
    values = a_values.conj() if adjoint_a and a_values.dtype.kind == "c" else a_values
    parts = values[:, None] * right[columns]
    return apply_at(xp, "add", xp.zeros((height, right.shape[1]), a_values.dtype), rows, parts)


@shape_function("SparseTensorDenseMatMul")
def _sparse_matmul_shape(op: Operation) -> Any:
    require_rank(op.inputs[0].shape, 2)
    require_rank(op.inputs[1].shape, 1)
    left = require_rank(constant_value_as_shape(op.inputs[2]), 2)
    right = require_rank(op.inputs[3].shape, 2)
    rows, inner = (left[1], left[0]) if op.attrs["adjoint_a"] else (left[0], left[1])
    other, columns = (right[1], right[0]) if op.attrs["adjoint_b"] else (right[0], right[1])
    if inner.value is not None and other.value is not None and inner.value != other.value:
        raise ValueError(f"Dimensions must be equal, but are {inner.value} and {other.value}")
    return (ranked(rows.value, columns.value),)


@gradient("SparseTensorDenseMatMul")
def _sparse_matmul_grad(op: Operation, grad: Tensor) -> tuple[Any, ...]:
    indices, values, shape, b = op.inputs
    flipped, turned = op.attrs["adjoint_a"], op.attrs["adjoint_b"]
    if values.dtype.is_complex:
        raise NotImplementedError("SparseTensorDenseMatMul op does not support complex gradients.")
    of_b = new(
        "SparseTensorDenseMatMul",
        a_indices=indices,
        a_values=values,
        a_shape=shape,
        b=grad,
        adjoint_a=not flipped,
    )
    if turned:
        of_b = transpose(of_b)
    rows, columns = indices[:, 0], indices[:, 1]
    from_grad = gather(grad, columns if flipped else rows)
    from_b = gather(transpose(b) if turned else b, rows if flipped else columns)
    return None, reduce_sum(from_grad * from_b, axis=1), None, of_b


@compute("SparseDenseCwiseMul", "SparseDenseCwiseDiv", "SparseDenseCwiseAdd", fresh=True)
def _cwise(
    xp: ArrayModule, sp_indices: Array, sp_values: Array, sp_shape: Array, dense: Array, *, ctx: Any
) -> Array:
    require_sparse(sp_indices, sp_values, sp_shape)
    sizes = tuple(int(size) for size in sp_shape)
    fits = dense.ndim <= len(sizes) and all(
        mine == whole or (mine == 1 and whole > 0)
        for mine, whole in zip(dense.shape[::-1], sizes[::-1], strict=False)
    )
    if not fits:
        raise InvalidArgumentError.of(
            "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
            f"[{joined(sizes)}] vs. [{joined(dense.shape)}]"
        )
    check_positions(xp, sp_indices, list(sizes), in_order=False)
    dense_values = xp.broadcast_to(dense, sizes)[tuple(sp_indices[:, axis] for axis in range(len(sizes)))]
    how = ctx.op.type[len("SparseDenseCwise") :]
    if how == "Mul":
        return sp_values * dense_values
    if how == "Add":
        return sp_values + dense_values
    return (sp_values / dense_values).astype(sp_values.dtype, copy=False)


@shape_function("SparseSoftmax")
def _softmax_shape(op: Operation) -> Any:
    require_rank(op.inputs[0].shape, 2)
    return (require_rank(op.inputs[1].shape, 1),)


@shape_function("SparseDenseCwiseMul", "SparseDenseCwiseDiv", "SparseDenseCwiseAdd")
def _values_shape(op: Operation) -> Any:
    return (TensorShape.of((require_rank(op.inputs[0].shape, 2)[0].value,)),)


@gradient("SparseDenseCwiseMul", "SparseDenseCwiseDiv")
def _cwise_grad(op: Operation, grad: Tensor) -> tuple[Any, ...]:
    indices, values, shape, y = op.inputs
    y_shape = cast(shape_of(y), "int64")
    added = expand_dims(size_of(shape) - size_of(y_shape), 0)
    scaling = shape // concat([ones(added, "int64"), y_shape], 0)
    gathered = slice_of(indices // scaling, concat([[0], added], 0), [-1, -1])
    dense = gather_nd(y, gathered)
    if op.type.endswith("Mul"):
        of_x, of_y = grad * dense, grad * values
    else:
        of_x = grad / dense
        of_y = grad * (-values / square(dense))
    zeros = zeros_like(y)
    whole = new("SparseTensorDenseAdd", a_indices=gathered, a_values=of_y, a_shape=y_shape, b=zeros)
    return None, of_x, None, whole


@gradient("SparseDenseCwiseAdd", "SparseSparseMaximum", "SparseSparseMinimum")
def _no_gradient_yet(op: Operation, *grads: Tensor) -> Any:
    # The functions of 1.15 accept fewer arguments than there are gradients, hence the TypeError.
    kind = NotImplementedError if op.type == "SparseDenseCwiseAdd" else TypeError
    raise kind(
        f"Gradient for {op.type} is not implemented. Convert sparse tensors to dense ones first: "
        "tf.sparse.to_dense(x)"
    )


@compute("SparseSoftmax", fresh=True)
def _sparse_softmax(xp: ArrayModule, sp_indices: Array, sp_values: Array, sp_shape: Array) -> Array:
    require_sparse(sp_indices, sp_values, sp_shape)
    sizes = [int(size) for size in sp_shape]
    if len(sizes) < 2:
        raise InvalidArgumentError.of(f"Input should have rank >= 2, got {len(sizes)}")
    check_positions(xp, sp_indices, sizes, in_order=False)
    if not len(sp_values):
        return xp.zeros((0,), sp_values.dtype)
    rows = groups_of(xp, numbers_of(xp, sp_indices[:, :-1], sizes[:-1]))[1]
    count = int(rows.max()) + 1
    largest = apply_at(xp, "max", xp.full(count, -xp.inf, sp_values.dtype), rows, sp_values)
    powers = xp.exp(sp_values - largest[rows])
    return powers / apply_at(xp, "add", xp.zeros(count, sp_values.dtype), rows, powers)[rows]


@gradient("SparseSoftmax")
def _sparse_softmax_grad(op: Operation, grad: Tensor) -> list[Any]:
    indices, shape, out = op.inputs[0], op.inputs[2], op.outputs[0]
    common: dict[str, Any] = {"sp_indices": indices, "sp_shape": shape}
    total = new(
        "SparseReduceSum",
        input_indices=indices,
        input_values=out * grad,
        input_shape=shape,
        reduction_axes=[-1],
        keep_dims=True,
    )
    combined = new("SparseDenseCwiseAdd", sp_values=grad, dense=-total, **common)
    return [None, combined * out, None]


def _union_of_positions(xp: ArrayModule, a: Array, b: Array, sizes: list[int]) -> tuple[Any, Any, Any]:
    """Return the union of both tensors' positions, sorted, and where the positions of each are in it."""
    numbers = xp.concatenate([numbers_of(xp, a, sizes), numbers_of(xp, b, sizes)])
    distinct, groups = groups_of(xp, numbers)
    places = xp.zeros((len(distinct), len(sizes)), xp.int64)
    for axis, size in enumerate(sizes):
        if size:
            places[:, axis] = distinct // math.prod(sizes[axis + 1 :]) % size
    return places, groups[: len(a)], groups[len(a) :]


def _same_shape(a_shape: Any, b_shape: Any) -> list[int]:
    sizes, others = [int(size) for size in a_shape], [int(size) for size in b_shape]
    if len(sizes) != len(others):
        raise InvalidArgumentError.of(
            f"Operands do not have the same ranks; got shapes: {sizes} and {others}"
        )
    for axis, (size, other) in enumerate(zip(sizes, others, strict=True)):
        if size != other:
            raise InvalidArgumentError.of(
                f"Operands' shapes do not match: got {size} and {other} for dimension {axis}"
            )
    return sizes


@compute("SparseAdd", fresh=True)
def _sparse_add(
    xp: ArrayModule,
    a_indices: Array,
    a_values: Array,
    a_shape: Array,
    b_indices: Array,
    b_values: Array,
    b_shape: Array,
    thresh: Array,
) -> Any:
    require_sparse(a_indices, a_values, a_shape)
    require_sparse(b_indices, b_values, b_shape)
    sizes = _same_shape(a_shape, b_shape)
    places, of_a, of_b = _union_of_positions(xp, a_indices, b_indices, sizes)
    total = apply_at(xp, "add", xp.zeros(len(places), a_values.dtype), of_a, a_values)
    total = apply_at(xp, "add", total, of_b, b_values)
    only_b = xp.ones(len(places), bool)
    only_b[of_a] = False
    only_a = xp.ones(len(places), bool)
    only_a[of_b] = False
    kept = only_a | only_b | (xp.abs(total) >= thresh)  # elements that only one of them has are not compared
    return places[kept], total[kept], xp.asarray(sizes, dtype=xp.int64)


@shape_function("SparseAdd")
def _sparse_add_shape(op: Operation) -> Any:
    rank = require_rank(op.inputs[2].shape, 1)[0].value
    return ranked(None, rank), ranked(None), ranked(rank)


@gradient("SparseAdd")
def _sparse_add_gradient(op: Operation, *grads: Tensor) -> tuple[Any, ...]:
    a, b = new_list(
        "SparseAddGrad",
        backprop_val_grad=grads[1],
        a_indices=op.inputs[0],
        b_indices=op.inputs[3],
        sum_indices=op.outputs[0],
    )
    a.set_shape(op.inputs[1].shape)
    b.set_shape(op.inputs[4].shape)
    return None, a, None, None, b, None, None


@compute("SparseAddGrad", fresh=True)
def _sparse_add_grad(
    xp: ArrayModule, backprop_val_grad: Array, a_indices: Array, b_indices: Array, sum_indices: Array
) -> Any:
    rank = sum_indices.shape[1]
    corners = [places.max(axis=0) for places in (a_indices, b_indices, sum_indices) if len(places)]
    sizes = (
        [max(int(corner[axis]) for corner in corners) + 1 for axis in range(rank)] if corners else [1] * rank
    )
    kept = numbers_of(xp, sum_indices, sizes)
    gradients = []
    for places in (a_indices, b_indices):
        numbers = numbers_of(xp, places, sizes)
        result = xp.zeros(len(places), backprop_val_grad.dtype)
        if len(kept):
            at = xp.minimum(xp.searchsorted(kept, numbers), len(kept) - 1)
            result = xp.where(kept[at] == numbers, backprop_val_grad[at], result)
        gradients.append(result)
    return tuple(gradients)


@shape_function("SparseAddGrad")
def _sparse_add_grad_shape(op: Operation) -> Any:
    return tuple(ranked(require_rank(tensor.shape, 2)[0].value) for tensor in op.inputs[1:3])


@compute("SparseSparseMaximum", "SparseSparseMinimum", fresh=True)
def _sparse_sparse(
    xp: ArrayModule,
    a_indices: Array,
    a_values: Array,
    a_shape: Array,
    b_indices: Array,
    b_values: Array,
    b_shape: Array,
    *,
    ctx: Any,
) -> Any:
    require_sparse(a_indices, a_values, a_shape)
    require_sparse(b_indices, b_values, b_shape)
    places, of_a, of_b = _union_of_positions(xp, a_indices, b_indices, _same_shape(a_shape, b_shape))
    left, right = xp.zeros(len(places), a_values.dtype), xp.zeros(len(places), a_values.dtype)
    left[of_a], right[of_b] = a_values, b_values
    return places, (xp.maximum if ctx.op.type.endswith("Maximum") else xp.minimum)(left, right)


@shape_function("SparseSparseMaximum", "SparseSparseMinimum")
def _sparse_sparse_shape(op: Operation) -> Any:
    return ranked(None, None), ranked(None)


@compute("SparseFillEmptyRows", fresh=True)
def _fill_empty_rows(
    xp: ArrayModule, indices: Array, values: Any, dense_shape: Array, default_value: Array
) -> Any:
    require_sparse(indices, values, dense_shape)
    if default_value.ndim:
        raise InvalidArgumentError.of(f"default_value must be a scalar, saw: [{joined(default_value.shape)}]")
    height = int(dense_shape[0])
    rows = indices[:, 0]
    if len(rows) and (int(rows.min()) < 0 or int(rows.max()) >= height):
        at = int(xp.argmax((rows < 0) | (rows >= height)))
        raise InvalidArgumentError.of(f"indices({at}, 0) is invalid: {int(rows[at])} >= {height}")
    is_empty = xp.bincount(rows, minlength=height)[:height] == 0 if height else xp.zeros(0, bool)
    missing = xp.nonzero(is_empty)[0]
    extra = xp.zeros((len(missing), indices.shape[1]), xp.int64)
    extra[:, 0] = missing
    places = xp.concatenate([indices, extra])
    filled = xp.concatenate([values, xp.full(len(missing), default_value[()], values.dtype)])
    order = xp.argsort(places[:, 0], kind="stable")
    back = xp.zeros(len(order), xp.int64)
    back[order] = xp.arange(len(order))
    return places[order], filled[order], is_empty, back[: len(values)]


@shape_function("SparseFillEmptyRows")
def _fill_empty_rows_shape(op: Operation) -> Any:
    indices = require_rank(op.inputs[0].shape, 2)
    shape = constant_value_as_shape(op.inputs[2])
    rows = shape[0].value if shape.ndims else None
    rank = indices[1].value if indices[1].value is not None else shape.ndims
    count = merge_sizes(indices[0].value, require_rank(op.inputs[1].shape, 1)[0].value)
    return ranked(None, rank), ranked(None), ranked(rows), ranked(count)


@gradient("SparseFillEmptyRows")
def _fill_empty_rows_gradient(op: Operation, *grads: Tensor) -> list[Any]:
    values, default = new_list(
        "SparseFillEmptyRowsGrad", reverse_index_map=op.outputs[3], grad_values=grads[1]
    )
    return [None, values, None, default]


@compute("SparseFillEmptyRowsGrad", fresh=True)
def _fill_empty_rows_grad(xp: ArrayModule, reverse_index_map: Any, grad_values: Any) -> Any:
    count = len(grad_values)
    wrong = (reverse_index_map < 0) | (reverse_index_map >= count)
    if wrong.any():
        raise InvalidArgumentError.of(
            f"Elements in reverse index must be in [0, {count}) but got {int(reverse_index_map[wrong][0])}"
        )
    rest = xp.ones(count, bool)
    rest[reverse_index_map] = False
    return grad_values[reverse_index_map], xp.sum(grad_values[rest], dtype=grad_values.dtype)


@shape_function("SparseFillEmptyRowsGrad")
def _fill_empty_rows_grad_shape(op: Operation) -> Any:
    require_rank(op.inputs[1].shape, 1)
    return require_rank(op.inputs[0].shape, 1), ranked()
