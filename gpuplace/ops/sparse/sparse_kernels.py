"""What computes the ops on sparse tensors, their shapes and gradients.

Positions are compared by their number in row-major order: ``[row, column]`` of ``[height, width]`` is
``row * width + column``.

Source: tensorflow/core/kernels/sparse_*_op.cc, sparse_to_dense_op.cc, segment_reduction_ops.cc, core/ops/sparse_ops.cc
and tensorflow/python/ops/sparse_grad.py, math_grad.py, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value, constant_value_as_shape
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import ones, zeros_like
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.gather import gather, gather_nd
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.positions import invert_permutation
from gpuplace.ops.array.reshaping import expand_dims, reshape, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.array.reshaping import size as size_of
from gpuplace.ops.array.slicing import slice as slice_of
from gpuplace.ops.gradients.indexed_slices import unsorted_segment_sum
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.math.segments import check_sorted_ids
from gpuplace.ops.math.unary import square
from gpuplace.ops.shape_rules import merge_shapes, merge_sizes, require_rank, require_rank_at_least
from gpuplace.ops.support import new, new_list
from gpuplace.ops.variables.scatter import apply_at
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape


def _numbers(xp: Any, indices: Any, sizes: list[int]) -> Any:
    """The number of each position in row-major order."""
    steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    return indices @ xp.asarray(steps, dtype=xp.int64) if steps else xp.zeros(len(indices), xp.int64)


def _text(values: Any) -> str:
    return ",".join(str(int(value)) for value in values)


def check_positions(xp: Any, indices: Any, sizes: list[int], in_order: bool = True) -> None:
    """InvalidArgumentError where a position is out of bounds, or, with ``in_order``, not behind the one before it."""
    if not len(indices):
        return
    outside = ((indices < 0) | (indices >= xp.asarray(sizes, dtype=xp.int64))).any(axis=1)
    if outside.any():
        at = int(xp.argmax(outside))
        raise InvalidArgumentError.of(
            f"indices[{at}] = [{_text(indices[at])}] is out of bounds: need 0 <= index < [{_text(sizes)}]"
        )
    if not in_order:
        return
    numbers = _numbers(xp, indices, sizes)
    steps = numbers[1:] - numbers[:-1]
    if (steps <= 0).any():
        at = int(xp.argmax(steps <= 0)) + 1
        what = "repeated" if int(steps[at - 1]) == 0 else "out of order"
        raise InvalidArgumentError.of(
            f"indices[{at}] = [{_text(indices[at])}] is {what}",
            hint="" if what == "repeated" else "tf.sparse_reorder(sparse) sorts the positions",
        )


def _require_sparse(indices: Any, values: Any, shape: Any) -> None:
    if indices.ndim != 2:
        raise InvalidArgumentError.of(
            f"Input indices should be a matrix but received shape [{_text(indices.shape)}]"
        )
    if values.ndim != 1:
        raise InvalidArgumentError.of(
            f"Input values should be a vector but received shape [{_text(values.shape)}]"
        )
    if shape.ndim != 1:
        raise InvalidArgumentError.of(
            f"Input shape should be a vector but received shape [{_text(shape.shape)}]"
        )
    if len(indices) != len(values):
        raise InvalidArgumentError.of(
            f"Number of elements in indices ({len(indices)}) and values ({len(values)}) do not match"
        )


def _ranked(*ranks: int | None) -> TensorShape:
    return TensorShape.of(tuple(ranks))


# To dense tensors


@compute("SparseToDense", fresh=True, grows=True)
def _sparse_to_dense(
    xp: Any,
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any,
    *,
    validate_indices: bool,
) -> Any:
    if sparse_indices.ndim > 2:
        raise InvalidArgumentError.of(
            f"sparse_indices should be a scalar, vector, or matrix, got shape [{_text(sparse_indices.shape)}]"
        )
    count = sparse_indices.shape[0] if sparse_indices.ndim else 1
    rank = sparse_indices.shape[1] if sparse_indices.ndim == 2 else 1
    if output_shape.ndim != 1:
        raise InvalidArgumentError.of(
            f"output_shape should be a vector, got shape [{_text(output_shape.shape)}]"
        )
    sizes = [int(size) for size in output_shape]
    if len(sizes) != rank:
        raise InvalidArgumentError.of(
            f"output_shape has incorrect number of elements: {len(sizes)} should be: {rank}"
        )
    if sparse_values.ndim and sparse_values.shape != (count,):
        raise InvalidArgumentError.of(
            f"sparse_values has incorrect shape [{_text(sparse_values.shape)}], should be [] or [{count}]"
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


# Products


@compute("SparseTensorDenseMatMul", fresh=True)
def _sparse_matmul(
    xp: Any, a_indices: Any, a_values: Any, a_shape: Any, b: Any, *, adjoint_a: bool, adjoint_b: bool
) -> Any:
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
            f"forget a transpose?  Dimensions of A: [{height}, {inner}).  Dimensions of B: [{_text(b.shape)}]"
        )
    rows, columns = (a_indices[:, 1], a_indices[:, 0]) if adjoint_a else (a_indices[:, 0], a_indices[:, 1])
    for which, letter, limit in ((columns, "k", inner), (rows, "m", height)):
        outside = (which < 0) | (which >= limit)
        if outside.any():
            at = int(xp.argmax(outside))
            place = int(adjoint_a) if letter == "m" else 1 - int(adjoint_a)
            raise InvalidArgumentError.of(
                f"{letter} ({int(which[at])}) from index[{at},{place}] out of bounds (>={limit})"
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
    return (_ranked(rows.value, columns.value),)


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
def _cwise(xp: Any, sp_indices: Any, sp_values: Any, sp_shape: Any, dense: Any, *, ctx: Any) -> Any:
    _require_sparse(sp_indices, sp_values, sp_shape)
    sizes = tuple(int(size) for size in sp_shape)
    fits = dense.ndim <= len(sizes) and all(
        mine == whole or (mine == 1 and whole > 0)
        for mine, whole in zip(dense.shape[::-1], sizes[::-1], strict=False)
    )
    if not fits:
        raise InvalidArgumentError.of(
            "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
            f"[{_text(sizes)}] vs. [{_text(dense.shape)}]"
        )
    check_positions(xp, sp_indices, list(sizes), in_order=False)
    there = xp.broadcast_to(dense, sizes)[tuple(sp_indices[:, axis] for axis in range(len(sizes)))]
    how = ctx.op.type[len("SparseDenseCwise") :]
    if how == "Mul":
        return sp_values * there
    if how == "Add":
        return sp_values + there
    return (sp_values / there).astype(sp_values.dtype, copy=False)


@shape_function("SparseDenseCwiseMul", "SparseDenseCwiseDiv", "SparseDenseCwiseAdd", "SparseSoftmax")
def _values_shape(op: Operation) -> Any:
    return (TensorShape.of((require_rank(op.inputs[0].shape, 2)[0].value,)),)


@gradient("SparseDenseCwiseMul", "SparseDenseCwiseDiv")
def _cwise_grad(op: Operation, grad: Tensor) -> tuple[Any, ...]:
    indices, values, shape, y = op.inputs
    y_shape = cast(shape_of(y), "int64")
    added = expand_dims(size_of(shape) - size_of(y_shape), 0)
    scaling = shape // concat([ones(added, "int64"), y_shape], 0)
    there = slice_of(indices // scaling, concat([[0], added], 0), [-1, -1])
    dense = gather_nd(y, there)
    if op.type.endswith("Mul"):
        of_x, of_y = grad * dense, grad * values
    else:
        of_x = grad / dense
        of_y = grad * (-values / square(dense))
    zeros = zeros_like(y)
    whole = new("SparseTensorDenseAdd", a_indices=there, a_values=of_y, a_shape=y_shape, b=zeros)
    return None, of_x, None, whole


@gradient("SparseDenseCwiseAdd", "SparseSparseMaximum", "SparseSparseMinimum")
def _no_gradient_yet(op: Operation, *grads: Tensor) -> Any:
    raise NotImplementedError(
        f"Gradient for {op.type} is not implemented. For gradients, add, or compare, dense tensors: "
        "tf.sparse.to_dense(x)"
    )


@compute("SparseSoftmax", fresh=True)
def _sparse_softmax(xp: Any, sp_indices: Any, sp_values: Any, sp_shape: Any) -> Any:
    _require_sparse(sp_indices, sp_values, sp_shape)
    sizes = [int(size) for size in sp_shape]
    if len(sizes) < 2:
        raise InvalidArgumentError.of(f"Input should have rank >= 2, got {len(sizes)}")
    check_positions(xp, sp_indices, sizes, in_order=False)
    if not len(sp_values):
        return xp.zeros((0,), sp_values.dtype)
    rows = _groups(xp, _numbers(xp, sp_indices[:, :-1], sizes[:-1]))[1]
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
    there = new("SparseDenseCwiseAdd", sp_values=grad, dense=-total, **common)
    return [None, there * out, None]


# Reductions


def _groups(xp: Any, numbers: Any) -> tuple[Any, Any]:
    """The distinct numbers, sorted, and for each number which one it is."""
    distinct, inverse = xp.unique(numbers, return_inverse=True)
    return distinct, inverse.reshape(-1)


def _axes(reduction_axes: Any, rank: int) -> list[int]:
    given = [int(axis) for axis in reduction_axes.reshape(-1)]
    for axis in given:
        if not -rank <= axis < rank:
            raise InvalidArgumentError.of(
                f"Invalid reduction dimension {axis}, for input with {rank} dimensions."
            )
    return sorted({axis % rank for axis in given})


@compute("SparseReduceSum", "SparseReduceMax", "SparseReduceSumSparse", "SparseReduceMaxSparse", fresh=True)
def _sparse_reduce(
    xp: Any,
    input_indices: Any,
    input_values: Any,
    input_shape: Any,
    reduction_axes: Any,
    *,
    keep_dims: bool,
    ctx: Any,
) -> Any:
    _require_sparse(input_indices, input_values, input_shape)
    sizes = [int(size) for size in input_shape]
    check_positions(xp, input_indices, sizes, in_order=False)
    axes = _axes(reduction_axes, len(sizes))
    kept = [axis for axis in range(len(sizes)) if axis not in axes]
    inner = [sizes[axis] for axis in kept]
    shape = [1 if axis in axes else size for axis, size in enumerate(sizes)] if keep_dims else inner
    numbers = _numbers(xp, input_indices[:, kept], inner)
    distinct, which = _groups(xp, numbers)
    if "Max" in ctx.op.type:
        found = xp.zeros(len(distinct), input_values.dtype)
        found[which] = input_values
        found = apply_at(xp, "max", found, which, input_values)
    else:
        found = apply_at(xp, "add", xp.zeros(len(distinct), input_values.dtype), which, input_values)
    if ctx.op.type.endswith("Sparse"):
        places = xp.zeros((len(distinct), len(shape)), xp.int64)
        for column, axis in enumerate(kept):
            step = math.prod(inner[column + 1 :])
            places[:, axis if keep_dims else column] = distinct // step % inner[column]
        return places, found, xp.asarray(shape, dtype=xp.int64)
    result = xp.zeros(math.prod(inner), input_values.dtype)
    result[distinct] = found
    return result.reshape(tuple(shape))


@shape_function("SparseReduceSum", "SparseReduceMax")
def _sparse_reduce_shape(op: Operation) -> Any:
    whole = constant_value_as_shape(op.inputs[2]).sizes
    axes = constant_value(op.inputs[3])
    if whole is None or axes is None:
        return (UNKNOWN_SHAPE,)
    gone = {int(axis) % len(whole) for axis in axes.reshape(-1)}
    if op.attrs["keep_dims"]:
        return (TensorShape.of(tuple(1 if axis in gone else size for axis, size in enumerate(whole))),)
    return (TensorShape.of(tuple(size for axis, size in enumerate(whole) if axis not in gone)),)


@shape_function("SparseReduceSumSparse", "SparseReduceMaxSparse")
def _sparse_reduce_sparse_shape(op: Operation) -> Any:
    return _ranked(None, None), _ranked(None), _ranked(None)


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


# The same values in other places


@compute("SparseReorder", fresh=True)
def _sparse_reorder(xp: Any, input_indices: Any, input_values: Any, input_shape: Any) -> Any:
    _require_sparse(input_indices, input_values, input_shape)
    sizes = [int(size) for size in input_shape]
    check_positions(xp, input_indices, sizes, in_order=False)
    order = xp.argsort(_numbers(xp, input_indices, sizes), kind="stable")
    return input_indices[order], input_values[order]


@shape_function("SparseReorder")
def _sparse_reorder_shape(op: Operation) -> Any:
    return require_rank(op.inputs[0].shape, 2), require_rank(op.inputs[1].shape, 1)


@gradient("SparseReorder")
def _sparse_reorder_grad(op: Operation, _: Any, grad: Tensor) -> tuple[Any, ...]:
    indices, shape = op.inputs[0], op.inputs[2]
    entries = range_of(shape_of(indices)[0])
    ordered = new_list("SparseReorder", input_indices=indices, input_values=entries, input_shape=shape)
    new("Identity", input=shape)
    return None, gather(grad, invert_permutation(ordered[1])), None


@compute("SparseReshape", fresh=True)
def _sparse_reshape(xp: Any, input_indices: Any, input_shape: Any, new_shape: Any) -> Any:
    if input_indices.ndim != 2:
        raise InvalidArgumentError.of(
            f"Input indices should be a matrix but received shape [{_text(input_indices.shape)}]"
        )
    sizes, wanted = [int(size) for size in input_shape], [int(size) for size in new_shape]
    open_at = [axis for axis, size in enumerate(wanted) if size == -1]
    if len(open_at) > 1:
        raise InvalidArgumentError.of(
            f"only one output dimension may be -1, not both {open_at[0]} and {open_at[1]}"
        )
    total, product = math.prod(sizes), math.prod(size for size in wanted if size != -1)
    if any(size < -1 for size in wanted):
        at = next(axis for axis, size in enumerate(wanted) if size < -1)
        raise InvalidArgumentError.of(f"size {at} must be non-negative, not {wanted[at]}")
    if open_at:
        if not product:
            raise InvalidArgumentError.of(
                "reshape cannot infer the missing input size for an empty tensor unless all specified input sizes are "
                "non-zero"
            )
        if total % product:
            raise InvalidArgumentError.of(
                f"Input to reshape is a SparseTensor with {total} dense values, but the requested shape requires a "
                f"multiple of {product}. input_shape={_text(sizes)} output_shape={_text(wanted)}"
            )
        wanted[open_at[0]] = total // product
    elif product != total:
        raise InvalidArgumentError.of(
            f"Input to reshape is a tensor with {total} dense values, but the requested shape has {product}. "
            f"input_shape={_text(sizes)} output_shape={_text(wanted)}"
        )
    numbers = _numbers(xp, input_indices, sizes)
    result = xp.zeros((len(input_indices), len(wanted)), xp.int64)
    for axis, size in enumerate(wanted):
        if size:
            result[:, axis] = numbers // math.prod(wanted[axis + 1 :]) % size
    return result, xp.asarray(wanted, dtype=xp.int64)


@shape_function("SparseReshape")
def _sparse_reshape_shape(op: Operation) -> Any:
    indices = require_rank(op.inputs[0].shape, 2)
    shape = require_rank(op.inputs[2].shape, 1)
    return _ranked(indices[0].value, shape[0].value), shape


not_differentiable("SparseReshape")


@compute("SparseConcat", fresh=True)
def _sparse_concat(
    xp: Any, indices: list[Any], values: list[Any], shapes: list[Any], *, concat_dim: int
) -> Any:
    for parts in zip(indices, values, shapes, strict=True):
        _require_sparse(*parts)
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
    order = xp.argsort(_numbers(xp, places, whole), kind="stable")
    return places[order], joined[order], xp.asarray(whole, dtype=xp.int64)


@shape_function("SparseConcat")
def _sparse_concat_shape(op: Operation) -> Any:
    count = len(op.inputs) // 3
    rows, rank = [tensor.shape for tensor in op.inputs[:count]], None
    for shape in (*rows, *[tensor.shape for tensor in op.inputs[2 * count :]]):
        found = shape[-1].value if shape.ndims else None
        rank = merge_sizes(rank, found)
    known = [
        merge_sizes(
            shape[0].value if shape.ndims else None, values.shape[0].value if values.shape.ndims else None
        )
        for shape, values in zip(rows, op.inputs[count : 2 * count], strict=True)
    ]
    total = None if None in known else sum(size or 0 for size in known)
    return _ranked(total, rank), _ranked(total), _ranked(rank)


not_differentiable("SparseConcat", "SparseAddGrad")


@compute("SparseSlice", fresh=True)
def _sparse_slice(xp: Any, indices: Any, values: Any, shape: Any, start: Any, size: Any) -> Any:
    _require_sparse(indices, values, shape)
    rank = len(shape)
    for name, given in (("start", start), ("size", size)):
        if given.ndim != 1:
            raise InvalidArgumentError.of(
                f"Input {name} should be a vector but received shape [{_text(given.shape)}]"
            )
        if len(given) != rank:
            raise InvalidArgumentError.of(
                f"Expected {name} to be a vector of length {rank} but got length {len(given)}"
            )
    begin, wanted = xp.asarray(start), xp.asarray(size)
    inside = ((indices >= begin) & (indices < begin + wanted)).all(axis=1)
    left = xp.maximum(xp.minimum(wanted, xp.asarray(shape) - begin), 0)
    return indices[inside] - begin, values[inside], left


@shape_function("SparseSlice")
def _sparse_slice_shape(op: Operation) -> Any:
    rank = require_rank(op.inputs[2].shape, 1)[0].value
    return _ranked(None, rank), _ranked(None), _ranked(rank)


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
    xp: Any, backprop_val_grad: Any, input_indices: Any, input_start: Any, output_indices: Any
) -> Any:
    result = xp.zeros(len(input_indices), backprop_val_grad.dtype)
    if len(output_indices):
        there = output_indices + xp.asarray(input_start)
        sizes = [int(n) + 1 for n in xp.maximum(input_indices.max(axis=0), there.max(axis=0))]
        order = xp.argsort(_numbers(xp, input_indices, sizes), kind="stable")
        at = xp.searchsorted(_numbers(xp, input_indices, sizes)[order], _numbers(xp, there, sizes))
        result[order[at]] = backprop_val_grad
    return result


@shape_function("SparseSliceGrad")
def _sparse_slice_grad_shape(op: Operation) -> Any:
    return (_ranked(require_rank(op.inputs[1].shape, 2)[0].value),)


@compute("SparseSplit", fresh=True)
def _sparse_split(xp: Any, split_dim: Any, indices: Any, values: Any, shape: Any, *, num_split: int) -> Any:
    _require_sparse(indices, values, shape)
    sizes = [int(size) for size in shape]
    axis, rank = int(split_dim), len(sizes)
    if not -rank <= axis < rank:
        raise InvalidArgumentError.of(f"Input split_dim should be in range [{-rank}, {rank}), got {axis}")
    axis %= rank
    if not 1 <= num_split <= sizes[axis]:
        raise InvalidArgumentError.of(
            f"Input num_split should be between 1 and the splitting dimension size ({sizes[axis]}), got {num_split}"
        )
    each, more = divmod(sizes[axis], num_split)
    begin, found = 0, []
    for number in range(num_split):
        length = each + (number < more)
        inside = (indices[:, axis] >= begin) & (indices[:, axis] < begin + length)
        places = indices[inside]
        places[:, axis] -= begin
        part = [length if other == axis else size for other, size in enumerate(sizes)]
        found.append((places, values[inside], xp.asarray(part, dtype=xp.int64)))
        begin += length
    return tuple(one[part] for part in range(3) for one in found)


@shape_function("SparseSplit")
def _sparse_split_shape(op: Operation) -> Any:
    count, shape = op.attrs["num_split"], op.inputs[3].shape
    rank = shape[0].value if shape.ndims else None
    return (_ranked(None, rank),) * count + (_ranked(None),) * count + (_ranked(rank),) * count


# Two sparse tensors


def _united(xp: Any, a: Any, b: Any, sizes: list[int]) -> tuple[Any, Any, Any]:
    """The positions of both, sorted and each once, and where those of one and the other are among them."""
    numbers = xp.concatenate([_numbers(xp, a, sizes), _numbers(xp, b, sizes)])
    distinct, which = _groups(xp, numbers)
    places = xp.zeros((len(distinct), len(sizes)), xp.int64)
    for axis, size in enumerate(sizes):
        if size:
            places[:, axis] = distinct // math.prod(sizes[axis + 1 :]) % size
    return places, which[: len(a)], which[len(a) :]


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
    xp: Any,
    a_indices: Any,
    a_values: Any,
    a_shape: Any,
    b_indices: Any,
    b_values: Any,
    b_shape: Any,
    thresh: Any,
) -> Any:
    _require_sparse(a_indices, a_values, a_shape)
    _require_sparse(b_indices, b_values, b_shape)
    sizes = _same_shape(a_shape, b_shape)
    places, of_a, of_b = _united(xp, a_indices, b_indices, sizes)
    total = apply_at(xp, "add", xp.zeros(len(places), a_values.dtype), of_a, a_values)
    total = apply_at(xp, "add", total, of_b, b_values)
    only_b = xp.ones(len(places), bool)
    only_b[of_a] = False
    only_a = xp.ones(len(places), bool)
    only_a[of_b] = False
    kept = only_a | only_b | (xp.abs(total) >= thresh)  # what stands in one alone is not compared
    return places[kept], total[kept], xp.asarray(sizes, dtype=xp.int64)


@shape_function("SparseAdd")
def _sparse_add_shape(op: Operation) -> Any:
    rank = require_rank(op.inputs[2].shape, 1)[0].value
    return _ranked(None, rank), _ranked(None), _ranked(rank)


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
    xp: Any, backprop_val_grad: Any, a_indices: Any, b_indices: Any, sum_indices: Any
) -> Any:
    rank = sum_indices.shape[1]
    corners = [places.max(axis=0) for places in (a_indices, b_indices, sum_indices) if len(places)]
    sizes = (
        [max(int(corner[axis]) for corner in corners) + 1 for axis in range(rank)] if corners else [1] * rank
    )
    kept = _numbers(xp, sum_indices, sizes)
    found = []
    for places in (a_indices, b_indices):
        numbers = _numbers(xp, places, sizes)
        result = xp.zeros(len(places), backprop_val_grad.dtype)
        if len(kept):
            at = xp.minimum(xp.searchsorted(kept, numbers), len(kept) - 1)
            result = xp.where(kept[at] == numbers, backprop_val_grad[at], result)
        found.append(result)
    return tuple(found)


@shape_function("SparseAddGrad")
def _sparse_add_grad_shape(op: Operation) -> Any:
    return tuple(_ranked(require_rank(tensor.shape, 2)[0].value) for tensor in op.inputs[1:3])


@compute("SparseSparseMaximum", "SparseSparseMinimum", fresh=True)
def _sparse_sparse(
    xp: Any,
    a_indices: Any,
    a_values: Any,
    a_shape: Any,
    b_indices: Any,
    b_values: Any,
    b_shape: Any,
    *,
    ctx: Any,
) -> Any:
    _require_sparse(a_indices, a_values, a_shape)
    _require_sparse(b_indices, b_values, b_shape)
    places, of_a, of_b = _united(xp, a_indices, b_indices, _same_shape(a_shape, b_shape))
    left, right = xp.zeros(len(places), a_values.dtype), xp.zeros(len(places), a_values.dtype)
    left[of_a], right[of_b] = a_values, b_values
    return places, (xp.maximum if ctx.op.type.endswith("Maximum") else xp.minimum)(left, right)


@shape_function("SparseSparseMaximum", "SparseSparseMinimum")
def _sparse_sparse_shape(op: Operation) -> Any:
    return _ranked(None, None), _ranked(None)


# Rows without elements


@compute("SparseFillEmptyRows", fresh=True)
def _fill_empty_rows(xp: Any, indices: Any, values: Any, dense_shape: Any, default_value: Any) -> Any:
    _require_sparse(indices, values, dense_shape)
    if default_value.ndim:
        raise InvalidArgumentError.of(f"default_value must be a scalar, saw: [{_text(default_value.shape)}]")
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
    return _ranked(None, rank), _ranked(None), _ranked(rows), _ranked(count)


@gradient("SparseFillEmptyRows")
def _fill_empty_rows_gradient(op: Operation, *grads: Tensor) -> list[Any]:
    values, default = new_list(
        "SparseFillEmptyRowsGrad", reverse_index_map=op.outputs[3], grad_values=grads[1]
    )
    return [None, values, None, default]


@compute("SparseFillEmptyRowsGrad", fresh=True)
def _fill_empty_rows_grad(xp: Any, reverse_index_map: Any, grad_values: Any) -> Any:
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
    return require_rank(op.inputs[0].shape, 1), _ranked()


# Segments of rows that are gathered first

_SEGMENTS = [f"SparseSegment{how}" for how in ("Sum", "Mean", "SqrtN")]


def _weights(xp: Any, how: str, ids: Any, count: int, dtype: Any) -> Any:
    """What the sum of each segment is divided by."""
    sizes = xp.maximum(xp.bincount(ids, minlength=count), 1).astype(dtype)
    return xp.sqrt(sizes) if "SqrtN" in how else sizes


@compute(*_SEGMENTS, *(f"{op}WithNumSegments" for op in _SEGMENTS), fresh=True)
def _sparse_segment(
    xp: Any, data: Any, indices: Any, segment_ids: Any, num_segments: Any = None, *, ctx: Any
) -> Any:
    if indices.ndim != 1:
        raise InvalidArgumentError.of("indices should be a vector.")
    if segment_ids.ndim != 1:
        raise InvalidArgumentError.of("segment_ids should be a vector.")
    if len(indices) != len(segment_ids):
        raise InvalidArgumentError.of("segment_ids and indices should have same size.")
    last = int(segment_ids[-1]) + 1 if len(segment_ids) else 0
    count = last if num_segments is None else int(num_segments)
    if count < 0:
        raise InvalidArgumentError.of("segment ids must be >= 0")
    if num_segments is not None and last > count:
        raise InvalidArgumentError.of("segment ids must be < num_segments")
    check_sorted_ids(xp, segment_ids, count)
    outside = (indices < 0) | (indices >= data.shape[0])
    if outside.any():
        at = int(xp.argmax(outside))
        raise InvalidArgumentError.of(
            f"Bad: indices[{at}] == {int(indices[at])} out of range [0, {data.shape[0]})"
        )
    total = apply_at(xp, "add", xp.zeros((count, *data.shape[1:]), data.dtype), segment_ids, data[indices])
    if "Sum" in ctx.op.type:
        return total
    weights = _weights(xp, ctx.op.type, segment_ids, count, data.dtype)
    return total / weights.reshape(-1, *(1,) * (data.ndim - 1))


@shape_function(*_SEGMENTS, *(f"{op}WithNumSegments" for op in _SEGMENTS))
def _sparse_segment_shape(op: Operation) -> Any:
    return _segments_shape(op, "num_segments")


def _segments_shape(op: Operation, name: str) -> Any:
    """Rows like those of the first input, as many as the last input, called ``name``, says where there is one."""
    sizes = require_rank_at_least(op.inputs[0].shape, 1).sizes
    merge_shapes(require_rank(op.inputs[1].shape, 1), require_rank(op.inputs[2].shape, 1))
    count = None
    if len(op.inputs) > 3:
        require_rank(op.inputs[3].shape, 0)
        count = constant_value(op.inputs[3])
    if count is not None and int(count) < 0:
        raise ValueError(f"Cannot specify a negative value for {name}")
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    return (TensorShape.of((None if count is None else int(count), *sizes[1:])),)


@gradient("SparseSegmentSum", "SparseSegmentSumWithNumSegments")
def _sparse_segment_sum_grad(op: Operation, grad: Tensor) -> list[Any]:
    rows = shape_of(op.inputs[0])[0]
    total = unsorted_segment_sum(gather(grad, op.inputs[2]), op.inputs[1], rows)
    return [total, *[None] * (len(op.inputs) - 1)]


@gradient(*_SEGMENTS[1:], *(f"{op}WithNumSegments" for op in _SEGMENTS[1:]))
def _sparse_segment_mean_grad(op: Operation, grad: Tensor) -> list[Any]:
    rows = shape_of(op.inputs[0])[0]
    kind = f"{op.type.removesuffix('WithNumSegments')}Grad"
    back = new(kind, grad=grad, indices=op.inputs[1], segment_ids=op.inputs[2], output_dim0=rows)
    return [back, *[None] * (len(op.inputs) - 1)]


@compute("SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad", fresh=True)
def _sparse_segment_grad(
    xp: Any, grad: Any, indices: Any, segment_ids: Any, output_dim0: Any, *, ctx: Any
) -> Any:
    segments, rows = grad.shape[0], int(output_dim0)
    if len(indices) != len(segment_ids):
        raise InvalidArgumentError.of("segment_ids and indices should have same size.")
    if len(segment_ids) and int(segment_ids[-1]) >= segments:
        raise InvalidArgumentError.of("Invalid number of segments")
    for name, values, limit in (("Segment id", segment_ids, segments), ("Index", indices, rows)):
        outside = (values < 0) | (values >= limit)
        if outside.any():
            wrong = int(values[int(xp.argmax(outside))])
            raise InvalidArgumentError.of(f"{name} {wrong} out of range [0, {limit}).")
    weights = _weights(xp, ctx.op.type, segment_ids, segments, grad.dtype)
    scaled = grad / weights.reshape(-1, *(1,) * (grad.ndim - 1))
    shape = (rows, *grad.shape[1:])
    return apply_at(xp, "add", xp.zeros(shape, grad.dtype), indices, scaled[segment_ids])


@shape_function("SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad")
def _sparse_segment_grad_shape(op: Operation) -> Any:
    return _segments_shape(op, "output_dim0")
