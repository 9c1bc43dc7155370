"""Sparse tensors with their values rearranged: reordered, reshaped, joined, split and transposed.

Source: tensorflow/python/ops/sparse_ops.py, release 1.15.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import int32, int64
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value, constant_value_as_shape
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import constant, zeros
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.gather import gather, where_v2
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import identity, rank, reshape, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.array.slicing import slice as slice_of
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.reduction import reduce_max
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue, parts_of, to_sparse
from gpuplace.typing import SizesLike, TensorLike

__all__ = [
    "sparse_concat", "sparse_reorder", "sparse_reshape", "sparse_slice", "sparse_split", "sparse_transpose",
]  # fmt: skip


def sparse_reorder(sp_input: SparseTensor | SparseTensorValue, name: str | None = None) -> SparseTensor:
    """Return the same sparse tensor with its positions in row-major order.

    Args:
        sp_input: the sparse tensor.
        name: name of the op.

    Returns:
        A sparse tensor of the same dtype and shape.

    Raises:
        TypeError: the argument is not a sparse tensor.
        InvalidArgumentError: at run time, a position is out of bounds.
    """
    sparse = to_sparse(sp_input)
    indices, values = apply_op(
        "SparseReorder",
        name,
        input_indices=sparse.indices,
        input_values=sparse.values,
        input_shape=sparse.dense_shape,
    ).outputs
    static: Any = sparse.shape
    return SparseTensor(
        indices, values, static.as_list() if static.is_fully_defined() else identity(sparse.dense_shape)
    )


def sparse_reshape(
    sp_input: SparseTensor | SparseTensorValue, shape: SizesLike, name: str | None = None
) -> SparseTensor:
    """Return a sparse tensor with another shape.

    Args:
        sp_input: the sparse tensor, its positions in any order.
        shape: the new sizes, integers; one may be -1.
        name: name of the op.

    Returns:
        A sparse tensor of the same dtype.

    Raises:
        TypeError: the argument is not a sparse tensor.
        ValueError: the sizes are known not to match, or two are -1.
        InvalidArgumentError: at run time, the sizes do not match.
    """
    sparse = to_sparse(sp_input)
    new_shape: Any = shape
    sizes = cast(new_shape, int64)
    with name_scope(name, "SparseReshape", [*parts_of(sparse)]) as scope:
        indices, shape_after = apply_op(
            "SparseReshape",
            scope,
            input_indices=sparse.indices,
            input_shape=sparse.dense_shape,
            new_shape=sizes,
        ).outputs
        static_sizes = constant_value_as_shape(sizes).sizes
        if static_sizes is not None and sparse.shape.is_fully_defined():
            final = _reshaped(static_sizes, constant_value(sizes), sparse.shape.num_elements())
            if final is not None:
                shape_after = constant(final, dtype=int64)
        return SparseTensor(indices, identity(sparse.values), shape_after)


def _reshaped(new_shape: tuple[int | None, ...], sizes_in_message: Any, total: Any) -> list[int] | None:
    """Return the sizes with -1 replaced; None if more than one is unknown."""
    if sizes_in_message is not None and sum(int(size) == -1 for size in sizes_in_message) > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {sizes_in_message}")
    static_sizes = [size for size in new_shape if size is not None]
    if len(new_shape) - len(static_sizes) > 1:
        return None
    product = math.prod(static_sizes)
    final = [total // product if size is None and product else size or 0 for size in new_shape]
    if math.prod(final) != total:
        raise ValueError(
            f"Cannot reshape a tensor with {total} elements to shape {list(new_shape)} ({math.prod(final)} elements)."
        )
    return final


def sparse_concat(
    axis: int | None = None,
    sp_inputs: Sequence[SparseTensor | SparseTensorValue] = (),
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Join sparse tensors along an axis.

    Args:
        axis: the axis, an integer.
        sp_inputs: the sparse tensors, of one dtype, a list or tuple.
        name: name of the op.
        expand_nonconcat_dim: whether the other sizes may differ; the result has the largest.
        concat_dim: deprecated name of ``axis``.
        expand_nonconcat_dims: another name of ``expand_nonconcat_dim``.

    Returns:
        A sparse tensor of the same dtype.

    Raises:
        TypeError: ``sp_inputs`` is not a list, or has elements other than sparse tensors.
        ValueError: the axis is missing, or given under both names.
        InvalidArgumentError: at run time, there is no such axis, or sizes do not match.
    """
    axis = deprecated_argument_lookup("axis", axis, "concat_dim", concat_dim)
    if axis is None:
        raise ValueError("sparse_concat needs an axis")
    if not isinstance(sp_inputs, (list, tuple)):
        raise TypeError("Inputs must be a list or tuple.")
    inputs = [to_sparse(sp_input) for sp_input in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    shapes = [one.dense_shape for one in inputs]
    if expand_nonconcat_dim or expand_nonconcat_dims:
        largest = reduce_max(concat([reshape(shape, [1, -1]) for shape in shapes], 0), 0)
        shapes = [
            concat([largest[:axis], shape[-1:], []], 0)
            if axis == -1
            else concat([largest[:axis], shape[axis : axis + 1], largest[axis + 1 :]], 0)
            for shape in shapes
        ]
    arguments: dict[str, Any] = {
        "indices": [one.indices for one in inputs],
        "values": [one.values for one in inputs],
        "shapes": shapes,
    }
    indices, values, sizes = apply_op("SparseConcat", name, **arguments, concat_dim=axis).outputs
    static_shapes = [constant_value(shape) for shape in shapes]
    if all(shape is not None for shape in static_shapes):
        final = np.array(static_shapes[0])
        final[axis] = sum(shape[axis] for shape in static_shapes if shape is not None)
        sizes = convert_to_tensor(final)
    return SparseTensor(indices, values, sizes)


def sparse_slice(
    sp_input: SparseTensor | SparseTensorValue, start: SizesLike, size: SizesLike, name: str | None = None
) -> SparseTensor:
    """Return a part of a sparse tensor.

    Args:
        sp_input: the sparse tensor.
        start: start of the part, int64, ``[rank]``.
        size: size of the part, int64, ``[rank]``; it is cut at the tensor's bounds.
        name: name of the op.

    Returns:
        A sparse tensor of the same dtype.

    Raises:
        TypeError: the argument is not a sparse tensor.
        InvalidArgumentError: at run time, ``start`` or ``size`` has another length.
    """
    sparse = to_sparse(sp_input)
    bounds: Any = (start, size)
    begin, sizes = (convert_to_tensor(one, int64) for one in bounds)
    indices, values, shape = parts_of(sparse)
    with name_scope(name, "SparseSlice", [indices, values, shape]) as scope:
        part = apply_op(
            "SparseSlice", scope, indices=indices, values=values, shape=shape, start=begin, size=sizes
        )
        return SparseTensor(*part.outputs)


def sparse_split(
    keyword_required: Any = None,
    sp_input: SparseTensor | SparseTensorValue | None = None,
    num_split: int | None = None,
    axis: TensorLike | None = None,
    name: str | None = None,
    split_dim: TensorLike | None = None,
) -> list[SparseTensor]:
    """Split a sparse tensor along an axis; if the size is not divisible, the first parts are larger by one.

    Args:
        keyword_required: unused: the other arguments are keywords.
        sp_input: the sparse tensor.
        num_split: number of parts.
        axis: the axis, an integer.
        name: name of the op.
        split_dim: deprecated name of ``axis``.

    Returns:
        Sparse tensors of the same dtype.

    Raises:
        TypeError: the argument is not a sparse tensor.
        ValueError: arguments are missing or positional.
        InvalidArgumentError: at run time, there is no such axis, or there are too many parts.
    """
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    axis = deprecated_argument_lookup("axis", axis, "split_dim", split_dim)
    for argument, value in (("sp_input", sp_input), ("num_split", num_split), ("axis", axis)):
        if value is None:
            raise ValueError(f"{argument} is required")
    indices, values, shape = parts_of(to_sparse(sp_input))
    outputs = apply_op(
        "SparseSplit",
        name,
        split_dim=axis,
        indices=indices,
        values=values,
        shape=shape,
        num_split=num_split,
    ).outputs
    count = len(outputs) // 3
    return [SparseTensor(outputs[at], outputs[count + at], outputs[2 * count + at]) for at in range(count)]


def sparse_transpose(
    sp_input: SparseTensor, perm: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """Return a sparse tensor with permuted axes.

    Args:
        sp_input: the sparse tensor.
        perm: the old axis for each axis of the result, integers; None for the reverse order.
        name: name of the scope of the ops.

    Returns:
        A sparse tensor of the same dtype.

    Raises:
        InvalidArgumentError: at run time, ``perm`` is not a permutation of the axes.
    """
    with name_scope(name, "SparseTranspose", [*parts_of(sp_input)]):
        has_perm = perm is not None
        if perm is None:
            sparse: Any = sp_input
            count = rank(sparse)
            perm = count - 1 - range_of(0, count, 1)
        indices = transpose(gather(transpose(sp_input.indices), perm))
        order = constant_value(convert_to_tensor(perm)) if has_perm else None
        static_shape = sp_input.shape
        if order is not None and static_shape.is_fully_defined():
            sizes: Any = [static_shape.as_list()[int(axis)] for axis in order]
        else:
            sizes = gather(sp_input.dense_shape, perm)
        return sparse_reorder(SparseTensor(indices, sp_input.values, sizes))


def sparse_expand_dims(
    sp_input: SparseTensor, axis: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """Return a sparse tensor with one more axis, of size 1.

    Args:
        sp_input: the sparse tensor.
        axis: position of the new axis, an integer; None for the end.
        name: name of the scope of the ops.

    Returns:
        A sparse tensor of the same dtype.

    Raises:
        TypeError: the axis is not an integer.
    """
    count = sp_input.dense_shape.shape.with_rank(1)[0].value
    axis = -1 if axis is None else axis
    with name_scope(name, "expand_dims", [*parts_of(sp_input)]):
        if isinstance(axis, numbers.Integral):
            axis = convert_to_tensor(axis, int32, name="axis")
        elif not isinstance(axis, Tensor):
            raise TypeError("axis must be an integer value in range [-rank(sp_input) - 1, rank(sp_input)]")
        axis = where_v2(axis >= 0, axis, axis + count + 1)
        sizes: Any = [shape_of(sp_input.indices)[0], 1]
        column = zeros(sizes, int64)
        before = slice_of(sp_input.indices, [0, 0], [-1, axis])
        after = slice_of(sp_input.indices, [0, axis], [-1, -1])
        indices = concat([before, column, after], axis=1)
        first = slice_of(sp_input.dense_shape, [0], [axis])
        rest = slice_of(sp_input.dense_shape, [axis], [-1])
        one = convert_to_tensor([1], int64, name="new_shape")
        return SparseTensor(indices, sp_input.values, concat([first, one, rest], axis=0))
