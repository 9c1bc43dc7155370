"""Distinct values: the values themselves, their counts, and the values of one vector that another lacks.

Source: tensorflow/python/ops/array_ops.py and tensorflow/core/kernels/unique_op.cc, listdiff_op.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gpuplace.dtypes import int32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.order import ordered_keys, positions
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, DTypeLike, TensorLike

__all__ = [
    "unique", "unique_with_counts", "setdiff1d",
]  # fmt: skip

_MANY = 256
"""From this number of elements on, sorting by keys is faster."""


def unique(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> Any:
    """Return the distinct values of a vector in order of appearance, and each element's index among them.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.unique([4, 4, 2]))
    UniqueValues(y=array([4, 2], dtype=int32), idx=array([0, 0, 1], dtype=int32))

    Args:
        x: ``[n]``, numbers, bools or strings; in host memory, whatever the device.
        out_idx: type of the indices, int32 or int64.
        name: name of the op.

    Returns:
        ``y``, ``[count]``, of ``x``'s type, and ``idx``, ``[n]``, of type ``out_idx``.

    Raises:
        InvalidArgumentError: at run time, ``x`` is not a vector.
    """
    op = apply_op("Unique", name, x=x, out_idx=out_idx)
    return UniqueValues(*op.outputs)


def unique_with_counts(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> Any:
    """Return the distinct values and indices, as ``unique``, and the count of each value; on the CPU only.

    Args:
        x: ``[n]``, numbers, bools or strings.
        out_idx: type of the indices and counts, int32 or int64.
        name: name of the op.

    Returns:
        ``y``, ``[count]``, of ``x``'s type, ``idx``, ``[n]``, and ``count``, ``[count]``, of type ``out_idx``.

    Raises:
        InvalidArgumentError: at run time, ``x`` is not a vector.
    """
    op = apply_op("UniqueWithCounts", name, x=x, out_idx=out_idx)
    return UniqueCounts(*op.outputs)


@compute("Unique", "UniqueWithCounts", slow=True)
def _unique(xp: ArrayModule, x: Array, *, out_idx: Any, ctx: Any) -> tuple[Array, ...]:
    if x.ndim != 1:
        raise InvalidArgumentError.of("unique expects a 1D vector.")
    keys = ordered_keys(x) if x.size >= _MANY else None
    if keys is not None:
        values, index, counts = _distinct(xp, x, keys)
        results = values, index.astype(out_idx.as_numpy_dtype)
        return results if ctx.op.type == "Unique" else (*results, counts.astype(out_idx.as_numpy_dtype))
    places: dict[Any, int] = {}
    index = [places.setdefault(value, len(places)) for value in x.tolist()]
    kind = out_idx.as_numpy_dtype
    if x.dtype == object:
        values = xp.empty(len(places), object)
        values[:] = list(places)
    else:
        values = xp.array(list(places), x.dtype)
    results = values, xp.array(index, kind)
    if ctx.op.type == "Unique":
        return results
    return *results, xp.bincount(xp.array(index, xp.int64), minlength=len(places)).astype(kind)


@compute("UniqueV2", "UniqueWithCountsV2", slow=True)
def _unique_along(xp: ArrayModule, x: Array, axis: Array, *, out_idx: Any, ctx: Any) -> tuple[Array, ...]:
    has_counts = ctx.op.type == "UniqueWithCountsV2"
    if axis.ndim != 1:
        raise InvalidArgumentError.of("axis expects a 1D vector.")
    if axis.size > 1:
        raise InvalidArgumentError.of("axis does not support input tensors larger than 1 elements")
    if not axis.size and x.ndim != 1:
        raise InvalidArgumentError.of("unique expects a 1D vector.")
    at = int(axis[0]) if axis.size else 0
    if not -x.ndim <= at < x.ndim:
        raise InvalidArgumentError.of(f"axis has to be between [0, {x.ndim})")
    slices = xp.moveaxis(x, at, 0)
    places: dict[Any, int] = {}
    rows = slices.reshape(len(slices), int(np.prod(slices.shape[1:]))).tolist()
    firsts: list[int] = []
    index = []
    for number, row in enumerate(rows):
        index.append(places.setdefault(tuple(row), len(places)))
        if len(firsts) < len(places):
            firsts.append(number)
    kind = out_idx.as_numpy_dtype
    results = xp.moveaxis(slices[xp.array(firsts, xp.int64)], 0, at), xp.array(index, kind)
    if not has_counts:
        return results
    return *results, xp.bincount(xp.array(index, xp.int64), minlength=len(places)).astype(kind)


@shape_function("UniqueV2", "UniqueWithCountsV2")
def _unique_along_shape(op: Operation) -> tuple[TensorShape, ...]:
    x, vector = op.inputs[0].shape, TensorShape.of((None,))
    values = vector if x.ndims == 1 else UNKNOWN_SHAPE
    index = x if x.ndims == 1 else vector
    return (values, index, vector)[: len(op.op_def.outputs)]  # type: ignore[union-attr]


def _distinct(xp: ArrayModule, x: Array, keys: Array) -> tuple[Any, Any, Any]:
    """Return the distinct values in order of appearance, each element's index among them, and counts."""
    order = positions(xp.sort(keys))
    values = x[order]
    starts = xp.flatnonzero(xp.concatenate([xp.ones(1, bool), values[1:] != values[:-1]]))
    counts = xp.diff(xp.append(starts, x.size))
    by_appearance = xp.argsort(order[starts], kind="stable")
    rank = xp.empty_like(by_appearance)
    rank[by_appearance] = xp.arange(rank.size)
    index = xp.empty_like(order)
    index[order] = xp.repeat(rank, counts)
    return values[starts[by_appearance]], index, counts[by_appearance]


@shape_function("Unique", "UniqueWithCounts")
def _unique_shape(op: Operation) -> tuple[TensorShape, ...]:
    vector = TensorShape.of((None,))
    return (vector, op.inputs[0].shape, vector)[: len(op.op_def.outputs)]  # type: ignore[union-attr]


def setdiff1d(x: TensorLike, y: TensorLike, index_dtype: DTypeLike = int32, name: str | None = None) -> Any:
    """Return the values of a vector that another lacks, and their positions; on the CPU only.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.setdiff1d([1, 2, 3, 4], [2, 4])).out.tolist()
    [1, 3]

    Args:
        x: ``[n]``, numbers or strings.
        y: ``[m]``, of the same type: the values to remove.
        index_dtype: type of the positions, int32 or int64.
        name: name of the op.

    Returns:
        ``out``, of ``x``'s type, and ``idx``, of type ``index_dtype``, of equal length.

    Raises:
        TypeError: the types differ.
    """
    return ListDifference(*apply_op("ListDiff", name, x=x, y=y, out_idx=index_dtype).outputs)


@compute("ListDiff")
def _list_diff(xp: ArrayModule, x: Array, y: Array, *, out_idx: Any) -> tuple[Array, ...]:
    others = set(y.tolist())
    keep = [index for index, value in enumerate(x.tolist()) if value not in others]
    at = xp.array(keep, out_idx.as_numpy_dtype)
    return x[at], at


@shape_function("ListDiff")
def _list_diff_shape(op: Operation) -> tuple[TensorShape, ...]:
    return (TensorShape.of((None,)),) * 2


class UniqueValues(NamedTuple):
    """Result of ``unique``."""

    y: Any
    """[n]: the values, each once."""
    idx: Any
    """[n]: the index in ``y`` of each element."""


class UniqueCounts(NamedTuple):
    """Result of ``unique_with_counts``."""

    y: Any
    """[n]: the values, each once."""
    idx: Any
    """[n]: the index in ``y`` of each element."""
    count: Any
    """[n]: the count of each value."""


class ListDifference(NamedTuple):
    """Result of ``setdiff1d``."""

    out: Any
    """[n]: the values."""
    idx: Any
    """[n]: their positions."""
