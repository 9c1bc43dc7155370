"""Table rows looked up by the ids of a sparse tensor, and combined row by row.

    sp_ids   [[3, 1], [2]]     -->     mean(table[3], table[1])
                                       table[2]

Source: tensorflow/python/ops/embedding_ops.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import bfloat16, float16, float32, int32
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import fill, ones_like, zeros_like
from gpuplace.ops.array.distinct import unique
from gpuplace.ops.array.gather import gather, where
from gpuplace.ops.array.joining import concat, stack
from gpuplace.ops.array.padding import tile
from gpuplace.ops.array.reshaping import expand_dims, rank, reshape
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.array.reshaping import size as size_of
from gpuplace.ops.array.slicing import slice as slice_of
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import greater, greater_equal, logical_and
from gpuplace.ops.math.division import div
from gpuplace.ops.math.elementwise import pow as power
from gpuplace.ops.math.reduction import reduce_prod
from gpuplace.ops.math.segments import segment_sum
from gpuplace.ops.math.unary import sqrt
from gpuplace.ops.nn.misc import embedding_lookup
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, parts_of
from gpuplace.ops.variables.partitioned import PartitionedVariable
from gpuplace.ops.variables.resource_variables import ResourceVariable
from gpuplace.shapes import TensorShape
from gpuplace.tf1.sparse.rearranging import sparse_reshape
from gpuplace.tf1.sparse.segments import sparse_segment_mean, sparse_segment_sqrt_n, sparse_segment_sum
from gpuplace.tf1.sparse.sparse_ops import sparse_fill_empty_rows, sparse_retain
from gpuplace.typing import TensorLike

__all__ = ["embedding_lookup_sparse", "safe_embedding_lookup_sparse"]

_COMBINED = {
    "mean": sparse_segment_mean,
    "sqrtn": sparse_segment_sqrt_n,
    "sum": sparse_segment_sum,
}


def embedding_lookup_sparse(
    params: TensorLike,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Tensor:
    """Return, for each row of ``sp_ids``, the combination of the table rows that it names.

    >>> import gpuplace as tf
    >>> ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [2, 0, 1], [2, 2])
    >>> table = tf.constant([[1.0], [3.0], [7.0]])
    >>> tf.Session().run(tf.nn.embedding_lookup_sparse(table, ids, None, combiner="mean")).tolist()
    [[4.0], [3.0]]

    Args:
        params: a table ``[rows, ...]``, or a list of tables over which the rows are partitioned.
        sp_ids: row numbers, int32 or int64, in row-major order; no row of it is empty.
        sp_weights: a weight for each id, with the same positions; None for equal weights.
        partition_strategy: how rows are partitioned over several tables: ``"mod"`` in turn, ``"div"`` in
            blocks.
        name: name of the scope of the ops.
        combiner: ``"sum"``; ``"mean"``, divided by the sum of the weights; or ``"sqrtn"``, divided by the
            root of the sum of their squares. None for ``"mean"``.
        max_norm: the largest Euclidean norm of a row; longer rows are scaled down. None for any.

    Returns:
        ``[batch, ...]``, with the dtype of ``params``; float32 for float16.

    Raises:
        TypeError: ``sp_ids`` or ``sp_weights`` is not sparse.
        ValueError: ``combiner`` is unknown, or ``embedding_lookup`` rejects an argument.
        InvalidArgumentError: at run time, there is no such row.
    """
    combiner = "mean" if combiner is None else combiner
    if combiner not in _COMBINED:
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    tables = list(params) if isinstance(params, (list, tuple, PartitionedVariable)) else [params]
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError("sp_ids must be SparseTensor")
    if sp_weights is not None:
        if not isinstance(sp_weights, SparseTensor):
            raise TypeError("sp_weights must be either None or SparseTensor")
        for one, other in zip(parts_of(sp_ids), parts_of(sp_weights), strict=True):
            one.shape.assert_is_compatible_with(other.shape)
    with name_scope(name, "embedding_lookup_sparse", [*tables, *parts_of(sp_ids)]) as scope:
        segments = cast(sp_ids.indices[:, 0], int32)
        ids, positions = unique(sp_ids.values)
        rows = embedding_lookup(tables, ids, partition_strategy=partition_strategy, max_norm=max_norm)
        if rows.dtype.base_dtype in (float16, bfloat16):
            rows = cast(rows, float32)
        if sp_weights is None:
            return _COMBINED[combiner](rows, positions, segments, name=scope)
        weights = cast(sp_weights.values, rows.dtype.base_dtype)
        rows = gather(rows, positions)
        ones = fill(expand_dims(rank(rows) - 1, 0), 1)
        static_shape = weights.shape
        weights = reshape(weights, concat([shape_of(weights), ones], 0))
        if rows.shape.ndims is not None:
            weights.set_shape(static_shape.concatenate([1] * (rows.shape.ndims - 1)))
        rows = rows * weights
        if combiner == "sum":
            return segment_sum(rows, segments, name=scope)
        total = segment_sum(rows, segments)
        if combiner == "mean":
            return div(total, segment_sum(weights, segments), name=scope)
        return div(total, sqrt(segment_sum(power(weights, 2), segments)), name=scope)


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: SparseTensor,
    sparse_weights: SparseTensor | None = None,
    combiner: str = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Tensor:
    """Look up embeddings as ``embedding_lookup_sparse`` does, but ignore invalid ids and weights, and allow empty rows.

    Args:
        embedding_weights: a table ``[rows, size]``, or a list of tables over which the rows are partitioned.
        sparse_ids: row numbers, int32 or int64, with two axes or more; negative ones are left out.
        sparse_weights: a weight for each id; ids whose weight is not positive are left out, except from sums.
            None for equal weights.
        combiner: ``"sum"``, ``"mean"`` or ``"sqrtn"``.
        default_id: the table row for rows without ids; None for zeros.
        name: name of the scope of the ops.
        partition_strategy: how rows are partitioned over several tables: ``"mod"`` in turn, ``"div"`` in
            blocks.
        max_norm: the largest Euclidean norm of a row; longer rows are scaled down. None for any.

    Returns:
        ``[..., size]``: the shape of ``sparse_ids`` without its last axis, then the size of a row.

    Raises:
        TypeError: ids or weights are not sparse.
        ValueError: there is no table, or ``combiner`` is unknown.
        InvalidArgumentError: at run time, there is no such row.
    """
    if embedding_weights is None or (isinstance(embedding_weights, (list, tuple)) and not embedding_weights):
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    several = isinstance(embedding_weights, (list, tuple, PartitionedVariable))
    tables = list(embedding_weights) if several else [embedding_weights]
    dtype = None if sparse_weights is None else sparse_weights.dtype
    tables = [
        table
        if isinstance(table, ResourceVariable) and dtype in (None, table.dtype)
        else convert_to_tensor(table, dtype)
        for table in tables
    ]
    weighted = [] if sparse_weights is None else parts_of(sparse_weights)
    with name_scope(name, "embedding_lookup", [*tables, *parts_of(sparse_ids), *weighted]) as scope:
        shape = sparse_ids.dense_shape
        static_rank = shape.shape.with_rank(1)[0].value
        count: Any = size_of(shape) if static_rank is None else static_rank
        rows = reduce_prod(slice_of(shape, [0], [count - 1]))
        ids = sparse_reshape(sparse_ids, [rows, gather(shape, count - 1)])
        weights = sparse_weights
        if weights is not None:
            weights = SparseTensor(ids.indices, weights.values, ids.dense_shape)
        valid = greater_equal(ids.values, 0)
        if weights is not None:
            valid = logical_and(valid, ones_like(weights.values, dtype="bool"))
        ids, weights = sparse_retain(ids, valid), weights and sparse_retain(weights, valid)
        if combiner != "sum" and weights is not None:
            positive = greater(weights.values, 0)
            ids, weights = sparse_retain(ids, positive), sparse_retain(weights, positive)
        ids, is_empty = sparse_fill_empty_rows(ids, default_id or 0)
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(weights, 1.0)
        result = embedding_lookup_sparse(
            tables,
            ids,
            weights,
            combiner=combiner,
            partition_strategy=partition_strategy,
            name=None if default_id is None else scope,
            max_norm=max_norm,
        )
        if default_id is None:
            wide = tile(reshape(is_empty, [-1, 1]), stack([1, shape_of(result)[1]]))
            result = where(wide, zeros_like(result), result, name=scope)
        outer = slice_of(cast(shape, int32), [0], [count - 1])
        final = reshape(result, concat([outer, slice_of(shape_of(result), [1], [-1])], 0))
        unknown = TensorShape(None if static_rank is None else [None] * (static_rank - 1))
        final.set_shape(unknown.concatenate(result.shape[1:]))
        return final
