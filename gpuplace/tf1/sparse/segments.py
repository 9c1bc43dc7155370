"""Segment sums and means of gathered rows: ops, kernels, shape functions and gradients.

Source: tensorflow/python/ops/math_ops.py, math_grad.py and tensorflow/core/kernels/segment_reduction_ops.cc,
release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.gather import gather
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.gradients.indexed_slices import unsorted_segment_sum
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.segments import check_sorted_ids
from gpuplace.ops.shape_rules import merge_shapes, require_rank, require_rank_at_least
from gpuplace.ops.support import new
from gpuplace.ops.variables.scatter import apply_at
from gpuplace.ops.variants import variant_of
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "sparse_segment_mean", "sparse_segment_sqrt_n", "sparse_segment_sum",
]  # fmt: skip


def _segment(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    name: str | None = None,
    num_segments: TensorLike | None = None,
    *,
    kind: str = "",
) -> Tensor:
    arguments: dict[str, Any] = {"data": data, "indices": indices, "segment_ids": segment_ids}
    if num_segments is None:
        return new(kind, name, **arguments)
    return new(f"{kind}WithNumSegments", name, **arguments, num_segments=num_segments)


@variant_of(_segment, kind="SparseSegmentSum")
def sparse_segment_sum() -> None:
    """Return ``segment_sum`` of the rows ``indices`` of ``data``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.sparse_segment_sum([[1.0], [2.0], [4.0]], [0, 2, 1], [0, 0, 1])).tolist()
    [[5.0], [2.0]]

    Args:
        data: numbers, ``[rows, ...]``.
        indices: the row numbers, int32 or int64, ``[n]``.
        segment_ids: the segment of each row, int32, ``[n]``, sorted.
        name: name of the op.
        num_segments: number of segments; None: one more than the last id.

    Returns:
        A tensor with the dtype of ``data``, ``[segments, ...]``.

    Raises:
        TypeError: the dtype is wrong.
        InvalidArgumentError: at run time, ids are not sorted, or there is no such row.
    """


@variant_of(_segment, kind="SparseSegmentMean")
def sparse_segment_mean() -> None:
    """Return ``segment_mean`` of the rows ``indices`` of ``data``.

    Args:
        data: float32 or float64, ``[rows, ...]``.
        indices: the row numbers, int32 or int64, ``[n]``.
        segment_ids: the segment of each row, int32, ``[n]``, sorted.
        name: name of the op.
        num_segments: number of segments; None: one more than the last id.

    Returns:
        A tensor with the dtype of ``data``, ``[segments, ...]``.

    Raises:
        TypeError: the dtype is wrong.
        InvalidArgumentError: at run time, ids are not sorted, or there is no such row.
    """


@variant_of(_segment, kind="SparseSegmentSqrtN")
def sparse_segment_sqrt_n() -> None:
    """Return each segment's sum of the rows ``indices`` of ``data``, divided by the square root of their number.

    Args:
        data: float32 or float64, ``[rows, ...]``.
        indices: the row numbers, int32 or int64, ``[n]``.
        segment_ids: the segment of each row, int32, ``[n]``, sorted.
        name: name of the op.
        num_segments: number of segments; None: one more than the last id.

    Returns:
        A tensor with the dtype of ``data``, ``[segments, ...]``.

    Raises:
        TypeError: the dtype is wrong.
        InvalidArgumentError: at run time, ids are not sorted, or there is no such row.
    """


# Kernels, shapes and gradients


_SEGMENTS = [f"SparseSegment{how}" for how in ("Sum", "Mean", "SqrtN")]


def _weights(xp: ArrayModule, how: str, ids: Array, count: int, dtype: Array) -> Array:
    """Return the divisors of the segment sums."""
    sizes = xp.maximum(xp.bincount(ids, minlength=count), 1).astype(dtype)
    return xp.sqrt(sizes) if "SqrtN" in how else sizes


@compute(*_SEGMENTS, *(f"{op}WithNumSegments" for op in _SEGMENTS), fresh=True)
def _sparse_segment(
    xp: ArrayModule,
    data: Array,
    indices: Array,
    segment_ids: Array,
    num_segments: Array | None = None,
    *,
    ctx: Any,
) -> Array:
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
def _sparse_segment_shape(op: Operation) -> tuple[TensorShape, ...]:
    return _segments_shape(op, "num_segments")


def _segments_shape(op: Operation, name: str) -> tuple[TensorShape, ...]:
    """Return rows like those of the first input, with their number from the last input if that is called ``name``."""
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
    xp: ArrayModule, grad: Array, indices: Array, segment_ids: Array, output_dim0: Array, *, ctx: Any
) -> Array:
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
def _sparse_segment_grad_shape(op: Operation) -> tuple[TensorShape, ...]:
    return _segments_shape(op, "output_dim0")
