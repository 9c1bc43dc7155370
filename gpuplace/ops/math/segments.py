"""Segment reductions: sums, means, products and extremes of rows with the same id.

Ids of ``segment_*`` are sorted, and the result has a row per id up to the last. ``unsorted_segment_*`` accepts ids in
any order, ignores negative ones, and gets the number of rows as an argument.

Source: tensorflow/python/ops/math_ops.py, math_grad.py and core/kernels/segment_reduction_ops.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.dtypes import as_dtype
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.arguments import int_of
from gpuplace.ops.array.constant import ones as make_ones
from gpuplace.ops.array.constant import ones_like, zeros_like
from gpuplace.ops.array.gather import gather, where
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import rank as rank_of
from gpuplace.ops.array.reshaping import reshape
from gpuplace.ops.gradients.indexed_slices import unsorted_segment_sum
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.cast import cast
from gpuplace.ops.shape_rules import merge_prefix, require_rank, require_rank_at_least, size_from
from gpuplace.ops.support import like, new, shape_tensor
from gpuplace.ops.variables.scatter import apply_at
from gpuplace.release import rules
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "segment_sum", "segment_mean", "segment_prod", "segment_max", "segment_min", "unsorted_segment_sum",
    "unsorted_segment_prod", "unsorted_segment_max", "unsorted_segment_min", "unsorted_segment_mean",
    "unsorted_segment_sqrt_n",
]  # fmt: skip


def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the sum of the rows of each segment, 0 for ids without rows; on a GPU for floating types only.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.segment_sum([1, 2, 3], [0, 0, 2])).tolist()
    [3, 0, 3]

    Args:
        data: ``[n, ...]``, numbers.
        segment_ids: ``[n]``, int32 or int64: the segment of each row, sorted, from 0 up.
        name: name of the op.

    Returns:
        ``data``'s type, ``[last id + 1, ...]``; the number of rows is known only at run time.

    Raises:
        TypeError: the type is not supported.
        ValueError: ``segment_ids`` is known not to be a vector.
        InvalidArgumentError: at run time, ids are negative, not sorted, or not one per row.
    """
    return new("SegmentSum", name, data=data, segment_ids=segment_ids)


def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the mean of the rows of each segment, 0 for ids without rows; on the CPU only.

    Args:
        data: ``[n, ...]``, numbers.
        segment_ids: ``[n]``, int32 or int64: the segment of each row, sorted, from 0 up.
        name: name of the op.

    Returns:
        ``data``'s type, ``[last id + 1, ...]``; the number of rows is known only at run time.

    Raises:
        TypeError: the type is not supported.
        ValueError: ``segment_ids`` is known not to be a vector.
        InvalidArgumentError: at run time, ids are negative, not sorted, or not one per row.
    """
    return new("SegmentMean", name, data=data, segment_ids=segment_ids)


def segment_prod(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the product of the rows of each segment, 1 for ids without rows; on the CPU only.

    Args:
        data: ``[n, ...]``, numbers.
        segment_ids: ``[n]``, int32 or int64: the segment of each row, sorted, from 0 up.
        name: name of the op.

    Returns:
        ``data``'s type, ``[last id + 1, ...]``; the number of rows is known only at run time.

    Raises:
        TypeError: the type is not supported.
        ValueError: ``segment_ids`` is known not to be a vector.
        InvalidArgumentError: at run time, ids are negative, not sorted, or not one per row.
    """
    return new("SegmentProd", name, data=data, segment_ids=segment_ids)


def segment_max(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the maximum of the rows of each segment, 0 for ids without rows; on the CPU only.

    Args:
        data: ``[n, ...]``, real numbers.
        segment_ids: ``[n]``, int32 or int64: the segment of each row, sorted, from 0 up.
        name: name of the op.

    Returns:
        ``data``'s type, ``[last id + 1, ...]``; the number of rows is known only at run time.

    Raises:
        TypeError: the type is not supported.
        ValueError: ``segment_ids`` is known not to be a vector.
        InvalidArgumentError: at run time, ids are negative, not sorted, or not one per row.
    """
    return new("SegmentMax", name, data=data, segment_ids=segment_ids)


def segment_min(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Return the minimum of the rows of each segment, 0 for ids without rows; on the CPU only.

    Args:
        data: ``[n, ...]``, real numbers.
        segment_ids: ``[n]``, int32 or int64: the segment of each row, sorted, from 0 up.
        name: name of the op.

    Returns:
        ``data``'s type, ``[last id + 1, ...]``; the number of rows is known only at run time.

    Raises:
        TypeError: the type is not supported.
        ValueError: ``segment_ids`` is known not to be a vector.
        InvalidArgumentError: at run time, ids are negative, not sorted, or not one per row.
    """
    return new("SegmentMin", name, data=data, segment_ids=segment_ids)


def _combined(xp: ArrayModule, method: str, rows: Any, ids: Any, count: int, empty: Any) -> Array:
    """Return one row per id in ``range(count)``, and ``empty`` for ids without rows."""
    result = xp.full((count, *rows.shape[1:]), empty, rows.dtype)
    if method in ("Max", "Min"):
        result[ids] = rows  # any row of the segment
        return apply_at(xp, method.lower(), result, ids, rows)
    if method == "Prod":
        result[ids] = rows.dtype.type(1)
        return apply_at(xp, "mul", result, ids, rows)
    total = apply_at(xp, "add", xp.zeros(result.shape, rows.dtype), ids, rows)
    if method == "Sum":
        return total
    sizes = xp.maximum(xp.bincount(ids, minlength=count), 1).astype(rows.dtype)
    return (total / sizes.reshape(-1, *(1,) * (rows.ndim - 1))).astype(rows.dtype)


def check_sorted_ids(xp: ArrayModule, ids: Array, count: int) -> None:
    """Raise InvalidArgumentError, in TensorFlow's order, unless ids are sorted and in range.

    Args:
        xp: the array library.
        ids: a vector.
        count: number of rows of the result.
    """
    if count < 0 or ids.size and int(ids[-1]) < 0:
        raise InvalidArgumentError.of("segment ids must be >= 0")
    if not ids.size or int(ids[0]) >= 0 and int(ids[-1]) < count and not (ids[1:] < ids[:-1]).any():
        return
    changes = xp.flatnonzero(ids[1:] != ids[:-1]).tolist()
    for end in [*changes, ids.shape[0] - 1]:
        this = int(ids[end])
        if end + 1 < ids.shape[0] and this > int(ids[end + 1]):
            raise InvalidArgumentError.of("segment ids are not increasing")
        if not 0 <= this < count:
            raise InvalidArgumentError.of(
                f"Segment id {this} out of range [0, {count}), possibly because 'segment_ids' input is not sorted."
            )


@compute("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin", fresh=True)
def _segment(xp: ArrayModule, data: Array, segment_ids: Array, *, ctx: Any) -> Array:
    if segment_ids.ndim != 1:
        raise InvalidArgumentError.of("segment_ids should be a vector.")
    if segment_ids.shape[0] != (data.shape[0] if data.ndim else None):
        raise InvalidArgumentError.of("segment_ids should be the same size as dimension 0 of input.")
    if not segment_ids.size:
        return xp.zeros((0, *data.shape[1:]), data.dtype)
    check_sorted_ids(xp, segment_ids, int(segment_ids[-1]) + 1)
    method = ctx.op.type[len("Segment") :]
    return _combined(xp, method, data, segment_ids, int(segment_ids[-1]) + 1, 1 if method == "Prod" else 0)


@shape_function("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin")
def _segment_shape(op: Operation) -> tuple[TensorShape, ...]:
    sizes = require_rank_at_least(op.inputs[0].shape, 1).sizes
    require_rank(op.inputs[1].shape, 1)
    return (UNKNOWN_SHAPE if sizes is None else TensorShape.of((None, *sizes[1:])),)


@gradient("SegmentSum")
def _segment_sum_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    return gather(grad, op.inputs[1]), None


@gradient("SegmentMean")
def _segment_mean_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    data, ids = op.inputs
    rank, places = rank_of(data), shape_tensor(ids)
    inner = new("Fill", dims=new("ExpandDims", input=rank - 1, dim=0), value=1)
    ones = new("Fill", dims=concat([places, inner], 0), value=like(1, grad))
    scaled = grad / segment_sum(ones, ids)
    return gather(scaled, ids), None


@gradient("SegmentMax", "SegmentMin")
def _segment_extreme_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    """Gradient of a segment minimum or maximum, shared equally by the segment's extreme elements."""
    data, ids = op.inputs
    zeros = zeros_like(data)
    chosen = new("Equal", x=data, y=gather(op.outputs[0], ids))
    count = segment_sum(cast(chosen, grad.dtype), ids)
    return where(chosen, gather(grad / count, ids), zeros), None


# Unsorted segments


def unsorted_segment_prod(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Return the product of the rows of each segment, 1 for ids without rows.

    Args:
        data: numbers, with a shape that begins with that of ``segment_ids``.
        segment_ids: int32 or int64: the segment of each row, in any order; rows with negative ids are ignored.
        num_segments: the number of segments, a scalar int32 or int64.
        name: name of the op.

    Returns:
        ``data``'s type, ``[num_segments, ...]``.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, the shape of ``data`` does not begin with that of ``segment_ids``,
            ``num_segments`` is negative, or, on the CPU, an id is not below it; a GPU ignores such rows.
    """
    return new("UnsortedSegmentProd", name, data=data, segment_ids=segment_ids, num_segments=num_segments)


def unsorted_segment_max(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Return the maximum of the rows of each segment, the type's minimum for ids without rows.

    Args:
        data: real numbers, with a shape that begins with that of ``segment_ids``.
        segment_ids: int32 or int64: the segment of each row, in any order; rows with negative ids are ignored.
        num_segments: the number of segments, a scalar int32 or int64.
        name: name of the op.

    Returns:
        ``data``'s type, ``[num_segments, ...]``.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, the shape of ``data`` does not begin with that of ``segment_ids``,
            ``num_segments`` is negative, or, on the CPU, an id is not below it; a GPU ignores such rows.
    """
    return new("UnsortedSegmentMax", name, data=data, segment_ids=segment_ids, num_segments=num_segments)


def unsorted_segment_min(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Return the minimum of the rows of each segment, the type's maximum for ids without rows.

    Args:
        data: real numbers, with a shape that begins with that of ``segment_ids``.
        segment_ids: int32 or int64: the segment of each row, in any order; rows with negative ids are ignored.
        num_segments: the number of segments, a scalar int32 or int64.
        name: name of the op.

    Returns:
        ``data``'s type, ``[num_segments, ...]``.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, the shape of ``data`` does not begin with that of ``segment_ids``,
            ``num_segments`` is negative, or, on the CPU, an id is not below it; a GPU ignores such rows.
    """
    return new("UnsortedSegmentMin", name, data=data, segment_ids=segment_ids, num_segments=num_segments)


@compute("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin", fresh=True)
def _unsorted_segment(
    xp: ArrayModule, data: Array, segment_ids: Array, num_segments: Array, *, ctx: Any
) -> Array:
    count = int_of(num_segments, "num_segments should be a scalar, not shape")
    if count < 0:
        raise InvalidArgumentError.of(f"Input num_segments == {count} must not be negative.")
    if data.shape[: segment_ids.ndim] != segment_ids.shape:
        raise InvalidArgumentError.of(
            f"data.shape = [{','.join(map(str, data.shape))}] does not start with segment_ids.shape ="
            f" [{','.join(map(str, segment_ids.shape))}]"
        )
    method = ctx.op.type[len("UnsortedSegment") :]
    kind = as_dtype(data.dtype)
    empty = 0 if method == "Sum" else 1 if method == "Prod" else kind.min if method == "Max" else kind.max
    ids = segment_ids.reshape(-1)
    rows = data.reshape(ids.shape[0], *data.shape[segment_ids.ndim :])
    wrong = ids >= count
    if wrong.any() and ctx.device_type != "GPU":
        where_wrong = int(xp.argmax(wrong))
        at = ",".join(str(int(i)) for i in xp.unravel_index(where_wrong, segment_ids.shape))
        raise InvalidArgumentError.of(
            f"segment_ids[{at}] = {int(ids[where_wrong])} is out of range [0, {count})"
        )
    in_range = (ids >= 0) & ~wrong
    return _combined(xp, method, rows[in_range], ids[in_range], count, empty)


@shape_function("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin")
def _unsorted_segment_shape(op: Operation) -> tuple[TensorShape, ...]:
    data, ids, count = op.inputs[0].shape, op.inputs[1].shape, size_from(op, 2)
    if data.sizes is None or ids.ndims is None:
        return (UNKNOWN_SHAPE,)
    merge_prefix(data, ids)
    return (TensorShape.of((count, *data.sizes[ids.ndims :])),)


def _not_negative(ids: Tensor) -> Tensor:
    return new("Maximum", x=ids, y=zeros_like(ids))


def _in_range_mask(ids: Tensor, rows: Tensor) -> Tensor:
    """Return whether ids are non-negative, in the shape of the rows that they gathered."""
    mask = ids >= 0
    if rows.shape.ndims is None or ids.shape.ndims is None:
        if rules() == "1.15":
            raise TypeError(
                f"The gradient of an unsorted segment op needs the ranks of its data and of segment_ids, but they are"
                f" {rows.shape} and {ids.shape}. Set them: segment_ids.set_shape([None])"
            )
        missing = new("ExpandDims", input=rank_of(rows) - rank_of(mask), dim=0)
        places = concat([shape_tensor(mask), new("Fill", dims=missing, value=1)], 0)
        return reshape(mask, places) & ones_like(rows, dtype="bool")
    for _ in range(rows.shape.ndims - ids.shape.ndims):
        mask = new("ExpandDims", input=mask, dim=-1)
    return mask & ones_like(rows, dtype="bool")


def _or_zero(mask: Tensor, rows: Tensor) -> Tensor:
    return where(mask, rows, zeros_like(rows))


@gradient("UnsortedSegmentSum")
def _unsorted_sum_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None, None]:
    ids = op.inputs[1]
    rows = gather(grad, _not_negative(ids))
    return _or_zero(_in_range_mask(ids, rows), rows), None, None


@gradient("UnsortedSegmentMax", "UnsortedSegmentMin")
def _unsorted_extreme_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None, None]:
    data, ids, count = op.inputs
    safe = _not_negative(ids)
    rows = gather(op.outputs[0], safe)
    mask = _in_range_mask(ids, rows)
    chosen = new("LogicalAnd", x=new("Equal", x=data, y=_or_zero(mask, rows)), y=mask)
    ties = unsorted_segment_sum(cast(chosen, grad.dtype), ids, count)
    shares = _or_zero(mask, gather(grad / ties, safe))
    return where(chosen, shares, zeros_like(shares)), None, None


@gradient("SegmentProd", since="2.21")
def _prod_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    """Gradient as for ``UnsortedSegmentProd``, with rows for every segment."""
    data, ids = op.inputs
    is_zero, flows, filled = _without_zeros(
        data, grad, lambda zeros: new("SegmentSum", data=zeros, segment_ids=ids)
    )
    rest = gather(new("SegmentProd", data=filled, segment_ids=ids), ids)
    partial = where(is_zero, rest, gather(op.outputs[0], ids) / filled)
    return gather(flows, ids) * partial, None


def _without_zeros(
    data: Tensor, grad: Tensor, total: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Return where elements are 0; the gradient, 0 for segments with several zeros; and the elements with 1 for 0."""
    is_zero = new("Equal", x=data, y=like(0, data, "Equal/y"))
    zeros = total(cast(is_zero, "int32"))
    flows = where(new("Greater", x=zeros, y=like(1, zeros, "Greater/y")), zeros_like(grad), grad)
    return is_zero, flows, where(is_zero, ones_like(data), data)


@gradient("UnsortedSegmentProd")
def _unsorted_prod_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None, None]:
    """Gradient of a product: divide by each element; for a single zero, the product of the others."""
    data, ids, count = op.inputs
    is_zero, flows, filled = _without_zeros(data, grad, lambda zeros: unsorted_segment_sum(zeros, ids, count))
    rest = unsorted_segment_prod(filled, ids, count)
    safe = _not_negative(ids)
    product, rest = gather(op.outputs[0], safe), gather(rest, safe)
    partial = where(is_zero, rest, product / data)
    rows = gather(flows, safe)
    return _or_zero(_in_range_mask(ids, rows), rows) * partial, None, None


def _counts(data: Tensor, ids: Tensor, count: Any) -> Tensor:
    """Return the number of rows in each segment, at least 1, shaped to divide the sums."""
    ones = make_ones(shape_tensor(ids), data.dtype.base_dtype)
    sizes = unsorted_segment_sum(ones, ids, count)
    inner = (data.shape.ndims or 0) - (ids.shape.ndims or 0)
    column = new("Reshape", tensor=sizes, shape=[-1] + [1] * inner)
    return new("Maximum", x=column, y=like(1, data, "Maximum/y"))


def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Return the mean of the rows of each segment, 0 for ids without rows.

    Args:
        data: floating, int32 or int64, with a shape that begins with that of ``segment_ids``.
        segment_ids: int32 or int64: the segment of each row, in any order; rows with negative ids are ignored.
        num_segments: the number of segments, a scalar int32 or int64.
        name: name of the scope.

    Returns:
        ``data``'s type (float64 for int32 and int64), ``[num_segments, ...]``.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, the shape of ``data`` does not begin with that of ``segment_ids``,
            ``num_segments`` is negative, or, on the CPU, an id is not below it; a GPU ignores such rows.
    """
    with name_scope(name, "UnsortedSegmentMean"):
        data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        sizes = _counts(data, ids, num_segments)
        return unsorted_segment_sum(data, ids, num_segments) / sizes


def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Return the sum of each segment's rows divided by the square root of their number, 0 for ids without rows.

    Args:
        data: floating, with a shape that begins with that of ``segment_ids``.
        segment_ids: int32 or int64: the segment of each row, in any order; rows with negative ids are ignored.
        num_segments: the number of segments, a scalar int32 or int64.
        name: name of the scope.

    Returns:
        ``data``'s type, ``[num_segments, ...]``.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, the shape of ``data`` does not begin with that of ``segment_ids``,
            ``num_segments`` is negative, or, on the CPU, an id is not below it; a GPU ignores such rows.
    """
    with name_scope(name, "UnsortedSegmentSqrtN"):
        data, ids = convert_to_tensor(data), convert_to_tensor(segment_ids)
        sizes = _counts(data, ids, num_segments)
        return unsorted_segment_sum(data, ids, num_segments) / new("Sqrt", x=sizes)
