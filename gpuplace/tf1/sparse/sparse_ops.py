"""Functions of sparse tensors: conversions, products, reductions, parts, and segment sums.

Source: tensorflow/python/ops/sparse_ops.py, array_ops.py (sparse_placeholder) and math_ops.py (sparse_segment_*),
release 1.15.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from gpuplace.dtypes import int64
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import constant, fill, ones_like, placeholder, zeros
from gpuplace.ops.array.constant import ones as ones_of
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.gather import gather, gather_nd, where_v2
from gpuplace.ops.array.joining import concat, stack
from gpuplace.ops.array.padding import broadcast_static_shape
from gpuplace.ops.array.reshaping import expand_dims, identity, reshape
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.flow.control import with_dependencies
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.check_ops import assert_equal, assert_less_equal
from gpuplace.ops.math.comparison import not_equal
from gpuplace.ops.math.elementwise import add, maximum, minimum
from gpuplace.ops.math.reduction import reduce_max
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue, parts_of, to_sparse
from gpuplace.ops.support import new
from gpuplace.shapes import as_shape
from gpuplace.tf1.sparse.rearranging import sparse_reorder
from gpuplace.typing import DTypeLike, ShapeLike, SizesLike, TensorLike

__all__ = [
    "sparse_add", "sparse_fill_empty_rows", "sparse_maximum", "sparse_merge", "sparse_minimum", "sparse_placeholder",
    "sparse_reset_shape", "sparse_retain", "sparse_softmax", "sparse_tensor_dense_matmul", "sparse_tensor_to_dense",
    "sparse_to_dense", "sparse_to_indicator",
]  # fmt: skip


def sparse_placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> SparseTensor:
    """Return a sparse placeholder, to be fed with a ``SparseTensorValue`` or a tuple of the same three arrays.

    >>> import gpuplace as tf
    >>> x = tf.sparse_placeholder(tf.float32)
    >>> total = tf.sparse_reduce_sum(x)
    >>> float(tf.Session().run(total, {x: ([[0, 0], [1, 2]], [3.0, 4.0], [2, 3])}))
    7.0

    Args:
        dtype: dtype of the values.
        shape: dense shape; if it or one of its sizes is None, the shape is fed too.
        name: prefix of the placeholders' names.

    Returns:
        A sparse tensor of that dtype.
    """
    under = "" if name is None else f"{name}/"
    sizes: Any = None
    rank, fixed = None, isinstance(shape, Tensor)
    if isinstance(shape, Tensor):
        sizes, rank = shape, shape.shape.with_rank(1)[0].value
    elif shape is not None:
        static: Any = as_shape(shape)
        rank, fixed = static.ndims, static.is_fully_defined()
        sizes = convert_to_tensor(static.as_list(), int64, name=under and f"{under}shape") if fixed else None
    if sizes is None:
        sizes = placeholder(int64, [rank], under and f"{under}shape" or None)
    values = placeholder(dtype, [None], under and f"{under}values" or None)
    return SparseTensor(placeholder(int64, [None, rank], under and f"{under}indices" or None), values, sizes)


def sparse_to_dense(
    sparse_indices: TensorLike,
    output_shape: SizesLike,
    sparse_values: TensorLike,
    default_value: TensorLike = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return a dense tensor from positions and values.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], [5, 7], default_value=-1)).tolist()
    [[-1, 5], [7, -1]]

    Args:
        sparse_indices: int32 or int64, ``[n, rank]``; ``[n]`` or a scalar for a vector.
        output_shape: shape of the result, with the dtype of ``sparse_indices``.
        sparse_values: ``[n]``, or a scalar for all positions; of any dtype.
        default_value: the value everywhere else, a scalar.
        validate_indices: whether to check that positions are unique and in row-major order.
        name: name of the op.

    Returns:
        A tensor with the dtype of ``sparse_values`` and the shape ``output_shape``.

    Raises:
        TypeError: the dtypes do not match.
        InvalidArgumentError: at run time, a position is out of bounds or order, or shapes do not match.
    """
    return new(
        "SparseToDense",
        name,
        sparse_indices=sparse_indices,
        output_shape=output_shape,
        sparse_values=sparse_values,
        default_value=default_value,
        validate_indices=validate_indices,
    )


def sparse_tensor_to_dense(
    sp_input: SparseTensor | SparseTensorValue,
    default_value: TensorLike | None = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Convert a sparse tensor to a dense one.

    Args:
        sp_input: the sparse tensor.
        default_value: the value of missing elements, a scalar; None for zero, or the empty string.
        validate_indices: whether to check that positions are unique and in row-major order.
        name: name of the op.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        TypeError: the argument is not a sparse tensor.
        InvalidArgumentError: at run time, a position is out of bounds or order.
    """
    sparse = to_sparse(sp_input)
    default = zeros([], sparse.dtype) if default_value is None else default_value
    return sparse_to_dense(sparse.indices, sparse.dense_shape, sparse.values, default, validate_indices, name)


def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor of the nonzero elements.

    Args:
        tensor: numbers.
        name: name of the scope of the ops.

    Returns:
        A sparse tensor of the same dtype and shape.
    """
    with name_scope(name, "dense_to_sparse"):
        tensor = convert_to_tensor(tensor)
        indices = where_v2(not_equal(tensor, constant(0, tensor.dtype)))
        values = gather_nd(tensor, indices)
        return SparseTensor(indices, values, shape_of(tensor, out_type=int64))


def sparse_tensor_dense_matmul(
    sp_a: SparseTensor | SparseTensorValue,
    b: TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the product of a sparse and a dense matrix.

    >>> import gpuplace as tf
    >>> a = tf.SparseTensor([[0, 1]], [2.0], [2, 2])
    >>> tf.Session().run(tf.sparse_tensor_dense_matmul(a, [[1.0], [3.0]])).tolist()
    [[6.0], [0.0]]

    Args:
        sp_a: a sparse matrix; its positions may be in any order.
        b: a matrix of the same dtype.
        adjoint_a: whether to use the adjoint of ``sp_a``.
        adjoint_b: whether to use the adjoint of ``b``.
        name: name of the op.

    Returns:
        A matrix of the same dtype.

    Raises:
        TypeError: ``sp_a`` is not a sparse tensor, or the dtypes differ.
        ValueError: the sizes are known not to match.
        InvalidArgumentError: at run time, a position is out of bounds, or sizes do not match.
    """
    sparse = to_sparse(sp_a)
    indices, values, shape = parts_of(sparse)
    with name_scope(name, "SparseTensorDenseMatMul", [indices, values, b]):
        b = convert_to_tensor(b, name="b")
        common = {"a_indices": indices, "a_values": values, "a_shape": shape}
        return new("SparseTensorDenseMatMul", **common, b=b, adjoint_a=adjoint_a, adjoint_b=adjoint_b)


def sparse_retain(sp_input: SparseTensor | SparseTensorValue, to_retain: TensorLike) -> SparseTensor:
    """Return a sparse tensor with a part of the elements.

    Args:
        sp_input: the sparse tensor.
        to_retain: bool, ``[n]``: the elements to keep.

    Returns:
        A sparse tensor of the same dtype and shape.

    Raises:
        TypeError: the argument is not a sparse tensor.
        ValueError: ``to_retain`` is not a vector, or has another length.
    """
    sparse = to_sparse(sp_input)
    chosen = convert_to_tensor(to_retain)
    if sparse.values.shape.ndims is not None:
        sparse.values.shape[0].merge_with(chosen.shape.with_rank(1)[0])
    at = reshape(where_v2(chosen), [-1])
    indices, values = gather(sparse.indices, at), gather(sparse.values, at)
    return SparseTensor(indices, values, identity(sparse.dense_shape))


def sparse_reset_shape(
    sp_input: SparseTensor | SparseTensorValue, new_shape: SizesLike | None = None
) -> SparseTensor:
    """Return a sparse tensor with other dense sizes.

    Args:
        sp_input: the sparse tensor.
        new_shape: the sizes, at least as large as now; None: the smallest possible.

    Returns:
        A sparse tensor of the same dtype.

    Raises:
        TypeError: the argument is not a sparse tensor.
        ValueError: the sizes are known to be too small.
        InvalidArgumentError: at run time, the sizes are too small.
    """
    sparse = to_sparse(sp_input)
    indices, values, old = identity(sparse.indices), identity(sparse.values), identity(sparse.dense_shape)
    if new_shape is None:
        below = reduce_max(indices, axis=0)
        sizes: Any = maximum(constant(0, dtype=int64), add(below, ones_like(old)))
        return SparseTensor(indices, values, sizes)
    target: Any = new_shape
    sizes = convert_to_tensor(target)
    sizes.set_shape(sizes.shape.with_rank(1))
    sizes = cast(sizes, int64)
    if sizes.shape.ndims is not None:
        sizes.shape[0].merge_with(old.shape.with_rank(1)[0])
    static_sizes = constant_value(sizes)
    if static_sizes is not None and sparse.shape.is_fully_defined():
        before = np.array(sparse.shape.as_list())
        if not (before <= static_sizes).all():
            raise ValueError(
                "Requested new_shape should have dimension sizes >= sp_input.shape.  Found new_shape "
                f"({before}), sp_input.shape ({static_sizes})."
            )
        return SparseTensor(indices, values, static_sizes)
    sizes = with_dependencies([assert_equal(shape_of(old), shape_of(sizes))], sizes)
    sizes = with_dependencies([assert_less_equal(old, sizes)], sizes)
    return SparseTensor(indices, values, sizes)


def sparse_fill_empty_rows(
    sp_input: SparseTensor | SparseTensorValue, default_value: TensorLike, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """Return a sparse matrix with an element in the first column of each empty row.

    Args:
        sp_input: the sparse matrix.
        default_value: the element, a scalar of its dtype.
        name: name of the scope of the op.

    Returns:
        The sparse matrix, and whether each row was empty.

    Raises:
        TypeError: the argument is not a sparse tensor.
        InvalidArgumentError: at run time, a row is out of bounds.
    """
    sparse = to_sparse(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [*parts_of(sparse)]):
        default = convert_to_tensor(default_value, sparse.values.dtype.base_dtype)
        indices, values, is_empty, _ = apply_op(
            "SparseFillEmptyRows",
            indices=sparse.indices,
            values=sparse.values,
            dense_shape=sparse.dense_shape,
            default_value=default,
        ).outputs
        return SparseTensor(indices, values, sparse.dense_shape), is_empty


def sparse_add(
    a: Any, b: Any, threshold: TensorLike | None = None, thresh: TensorLike | None = None
) -> SparseTensor | Tensor:
    """Return the sum of two tensors, at least one of which is sparse.

    Args:
        a: a sparse or a dense tensor of numbers.
        b: another tensor of the same dtype.
        threshold: if both are sparse, sums of smaller magnitude at common positions are left out.
        thresh: deprecated name of ``threshold``.

    Returns:
        A sparse tensor if both are sparse, otherwise a dense one.

    Raises:
        TypeError: neither is sparse.
        ValueError: the shapes are known not to match, or ``threshold`` is given under both names.
        InvalidArgumentError: at run time, the shapes do not match.
    """
    threshold = deprecated_argument_lookup("threshold", threshold, "thresh", thresh)
    threshold = 0 if threshold is None else threshold
    kinds = (SparseTensor, SparseTensorValue)
    if not isinstance(a, kinds) and not isinstance(b, kinds):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not (isinstance(a, kinds) and isinstance(b, kinds)):
        sparse, dense = (a, b) if isinstance(a, kinds) else (b, a)
        indices, values, shape = parts_of(sparse)
        return new("SparseTensorDenseAdd", a_indices=indices, a_values=values, a_shape=shape, b=dense)
    left, right = to_sparse(a), to_sparse(b)
    least = convert_to_tensor(threshold, left.values.dtype.real_dtype.base_dtype, name="threshold")
    arguments: dict[str, Any] = {
        "a_indices": left.indices,
        "a_values": left.values,
        "a_shape": left.dense_shape,
    }
    arguments |= {"b_indices": right.indices, "b_values": right.values, "b_shape": right.dense_shape}
    indices, values, sizes = apply_op("SparseAdd", **arguments, thresh=least).outputs
    left.shape.assert_is_compatible_with(right.shape)
    static_shape: Any = broadcast_static_shape(left.shape, right.shape)
    return SparseTensor(indices, values, static_shape.as_list() if static_shape.is_fully_defined() else sizes)


def sparse_softmax(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Return the softmax of the stored elements along the last axis.

    Args:
        sp_input: a sparse tensor of rank 2 or more, float32 or float64.
        name: name of the scope of the op.

    Returns:
        A sparse tensor of the same dtype and shape.

    Raises:
        InvalidArgumentError: at run time, the rank is below 2.
    """
    with name_scope(name, "SparseSoftmax", [sp_input.indices, sp_input.values]):
        values = new(
            "SparseSoftmax",
            sp_indices=sp_input.indices,
            sp_values=sp_input.values,
            sp_shape=sp_input.dense_shape,
        )
        return SparseTensor(sp_input.indices, values, sp_input.dense_shape)


def _of_two(kind: str, sp_a: SparseTensor, sp_b: SparseTensor, name: str | None) -> SparseTensor:
    with name_scope(name, kind, [sp_a.indices, sp_a.values, sp_b.indices, sp_b.values]) as scope:
        arguments: dict[str, Any] = {"a_indices": sp_a.indices, "a_values": sp_a.values}
        arguments |= {"b_indices": sp_b.indices, "b_values": sp_b.values}
        outputs = apply_op(kind, scope, **arguments, a_shape=sp_a.dense_shape, b_shape=sp_b.dense_shape)
    return SparseTensor(outputs.outputs[0], outputs.outputs[1], sp_a.dense_shape)


def sparse_maximum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """Return the larger element of two sparse tensors at each position in either of them.

    Args:
        sp_a: a sparse tensor of real numbers.
        sp_b: another sparse tensor of the same dtype and shape.
        name: name of the op.

    Returns:
        A sparse tensor of the same dtype and shape.

    Raises:
        InvalidArgumentError: at run time, the shapes differ.
    """
    return _of_two("SparseSparseMaximum", sp_a, sp_b, name)


def sparse_minimum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """Return the smaller element of two sparse tensors at each position in either of them.

    Args:
        sp_a: a sparse tensor of real numbers.
        sp_b: another sparse tensor of the same dtype and shape.
        name: name of the op.

    Returns:
        A sparse tensor of the same dtype and shape.

    Raises:
        InvalidArgumentError: at run time, the shapes differ.
    """
    return _of_two("SparseSparseMinimum", sp_a, sp_b, name)


def sparse_eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    name: str | None = None,
) -> SparseTensor:
    """Return a sparse identity matrix.

    Args:
        num_rows: number of rows, an integer.
        num_columns: number of columns; None for ``num_rows``.
        dtype: dtype of the elements.
        name: name of the scope of the ops.

    Returns:
        A sparse matrix with ones on the diagonal.
    """
    with name_scope(name, "eye", [num_rows, num_columns]):
        rows = convert_to_tensor(num_rows, int64, name="num_rows")
        columns = rows if num_columns is None else convert_to_tensor(num_columns, int64, name="num_columns")
        size = minimum(rows, columns)
        diagonal = range_of(size, dtype=int64)
        return SparseTensor(stack([diagonal, diagonal], axis=1), ones_of(size, dtype), [rows, columns])


def sparse_merge(
    sp_ids: Any,
    sp_values: SparseTensor | SparseTensorValue,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Return a sparse tensor whose last index is the id from another sparse tensor.

    Args:
        sp_ids: a sparse tensor of ids, or a list of such tensors.
        sp_values: a sparse tensor of the values, with the same positions.
        vocab_size: number of ids, an integer, or one integer for each tensor of ids.
        name: name of the scope of the ops.
        already_sorted: whether the positions are already in row-major order.

    Returns:
        A sparse tensor with the dtype of ``sp_values``.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: the numbers of sizes and of tensors of ids differ.
    """
    if isinstance(sp_ids, (SparseTensor, SparseTensorValue)):
        sp_ids = [sp_ids]
        if not isinstance(vocab_size, (Tensor, numbers.Integral)):
            raise TypeError(f"vocab_size has to be a Tensor or Python int. Found {type(vocab_size)}")
        vocab_size = [vocab_size]
    elif not isinstance(sp_ids, (list, tuple)):
        raise TypeError(f"sp_ids has to be a SparseTensor or list thereof. Found {type(sp_ids)}")
    elif not isinstance(vocab_size, (list, tuple)):
        raise TypeError(f"vocab_size has to be a list of Tensors or Python ints. Found {type(vocab_size)}")
    if len(sp_ids) != len(vocab_size):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    with name_scope(name, "SparseMerge"):
        columns = []
        tensors = [to_sparse(sp_id) for sp_id in sp_ids]
        elements = to_sparse(sp_values)
        for one in tensors:
            ids = one.values if one.dtype.base_dtype == int64 else cast(one.values, int64)
            columns.append(expand_dims(ids, axis=1))
        sizes = [cast(size, int64) for size in vocab_size]
        indices = concat([tensors[0].indices[:, :-1], *columns], 1)
        shape = concat([tensors[0].dense_shape[:-1], sizes], 0)
        merged = SparseTensor(indices, elements.values, shape)
        if already_sorted:
            return merged
        ordered = sparse_reorder(merged)
        return SparseTensor(ordered.indices, ordered.values, shape)


def sparse_to_indicator(
    sp_input: SparseTensor | SparseTensorValue, vocab_size: TensorLike, name: str | None = None
) -> Tensor:
    """Return a dense tensor that indicates which ids are in each row of a sparse one.

    Args:
        sp_input: a sparse tensor of ids, int32 or int64.
        vocab_size: number of ids, an integer.
        name: name of the scope of the ops.

    Returns:
        A bool tensor whose last axis has ``vocab_size`` elements.

    Raises:
        TypeError: the argument is not a sparse tensor.
        InvalidArgumentError: at run time, an id is out of bounds.
    """
    sparse = to_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [*parts_of(sparse)]) as scope:
        count = shape_of(sparse.indices)[0]
        indicator = SparseTensor(sparse.indices, fill(expand_dims(count, 0), True), sparse.dense_shape)
        merged = sparse_merge(sparse, indicator, vocab_size, scope)
        return sparse_tensor_to_dense(merged, default_value=False, validate_indices=False, name=scope)
