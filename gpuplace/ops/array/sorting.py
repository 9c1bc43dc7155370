"""Sorting, histograms, and positions as indices.

Source: tensorflow/python/ops/sort_ops.py, histogram_ops.py and core/kernels/unravel_index_op.cc, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import constant
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import rank as rank_of
from gpuplace.ops.array.reshaping import transpose
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.division import div
from gpuplace.ops.shape_rules import require_rank, require_rank_at_least
from gpuplace.ops.support import new, shape_tensor
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, DTypeLike, TensorLike

__all__ = ["argsort", "histogram_fixed_width", "histogram_fixed_width_bins", "sort", "unravel_index"]


def sort(values: TensorLike, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Tensor:
    """Sort a tensor's elements along a dimension.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.sort([3.0, 1.0, 2.0])).tolist()
    [1.0, 2.0, 3.0]

    Args:
        values: real numbers, of rank 1 or more.
        axis: the dimension.
        direction: ``"ASCENDING"`` or ``"DESCENDING"``.
        name: name of the scope.

    Returns:
        A tensor like ``values``.

    Raises:
        ValueError: the direction is invalid, or the dimension does not exist.
    """
    with name_scope(name, "sort"):
        return _sorted(values, axis, False, direction)


def argsort(
    values: TensorLike,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the positions that sort a tensor's elements along a dimension.

    Args:
        values: real numbers, of rank 1 or more.
        axis: the dimension.
        direction: ``"ASCENDING"`` or ``"DESCENDING"``.
        stable: ignored; equal elements always keep their order.
        name: name of the scope.

    Returns:
        int32, in the shape of ``values``.

    Raises:
        ValueError: as for ``sort``.
    """
    with name_scope(name, "argsort"):
        return _sorted(values, axis, True, direction)


def _sorted(values: TensorLike, axis: TensorLike, is_argsort: bool, direction: str) -> Tensor:
    """Add the nodes of a sort; ``TopKV2`` puts the largest first and works on the last dimension."""
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"{direction} should be one of ASCENDING, DESCENDING")
    known_axis = constant_value(convert_to_tensor(axis, name="axis"))
    if known_axis is None or known_axis.ndim:
        raise ValueError("axis must be a constant scalar")
    dimension = int(known_axis)
    tensor = convert_to_tensor(values, name="values")
    is_ascending = direction == "ASCENDING"
    signed = -tensor if is_ascending else tensor
    size = shape_tensor(signed)[dimension]
    rank = rank_of(signed)
    static_rank = tensor.shape.ndims
    if dimension == -1 or (static_rank is not None and dimension == static_rank - 1):
        return _largest(signed, size, is_argsort, is_ascending)
    order: Any
    if static_rank is not None:
        exchanged = list(range(static_rank))
        exchanged[dimension], exchanged[-1] = exchanged[-1], exchanged[dimension]
        order = constant(exchanged, "int64", name="transposition")
    else:
        at: Any = dimension + rank if dimension < 0 else dimension
        order = concat([range_of(at), [rank - 1], range_of(at + 1, rank - 1), [at]], 0)
    result = _largest(transpose(signed, order), size, is_argsort, False)
    back = transpose(result, order)
    return -back if is_ascending and not is_argsort else back


def _largest(values: Tensor, size: Tensor, is_argsort: bool, negates: bool) -> Tensor:
    """Return the last dimension sorted in descending order, negated if ``negates``, or the positions."""
    largest, places = apply_op("TopKV2", input=values, k=size).outputs
    if is_argsort:
        return places
    return -largest if negates else largest


def histogram_fixed_width_bins(
    values: TensorLike, value_range: TensorLike, nbins: TensorLike = 100, dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the index of each value's bucket of equal width; the outer buckets include values outside the range.

    Args:
        values: numbers of any shape.
        value_range: minimum and maximum, ``[2]``, of the same type.
        nbins: number of buckets.
        dtype: ignored, as in release 1.15.
        name: name of the scope.

    Returns:
        int32, in the shape of ``values``.
    """
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        tensor = convert_to_tensor(values, name="values")
        flat = new("Reshape", tensor=tensor, shape=[-1])
        ends = convert_to_tensor(value_range, tensor.dtype.base_dtype, name="value_range")
        count = convert_to_tensor(nbins, "int32", name="nbins")
        wide = new("Cast", x=count, DstT=tensor.dtype.base_dtype)
        low, high = ends[0], ends[1]
        share = new("RealDiv", x=flat - low, y=high - low)
        bins = new("Cast", x=new("Floor", x=wide * share), DstT="int32")
        clipped = new("Minimum", x=new("Maximum", x=bins, y=0), y=count - 1)
        return new("Reshape", tensor=clipped, shape=shape_tensor(tensor))


def histogram_fixed_width(
    values: TensorLike, value_range: TensorLike, nbins: TensorLike = 100, dtype: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the number of values in each bucket of equal width; the outer buckets include values outside the range.

    Args:
        values: numbers of any shape.
        value_range: minimum and maximum, ``[2]``, of the same type.
        nbins: number of buckets.
        dtype: int32 or int64.
        name: name of the scope.

    Returns:
        ``[nbins]`` of that type.

    Raises:
        ValueError: a static shape does not match, or ``nbins`` is known not to be positive.
        InvalidArgumentError: at run time, in the same cases, or ``value_range`` does not increase.
    """
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as scope:
        return new(
            "HistogramFixedWidth", scope, values=values, value_range=value_range, nbins=nbins, dtype=dtype
        )


@compute("HistogramFixedWidth", fresh=True, slow=True)
def _histogram(xp: ArrayModule, values: Array, value_range: Array, nbins: Array, *, dtype: Any) -> Array:
    if value_range.shape != (2,):
        raise InvalidArgumentError.of("value_range should be a vector of 2 elements.")
    if nbins.ndim:
        raise InvalidArgumentError.of("nbins should be a scalar.")
    low, high = value_range.tolist()
    if not low < high:
        raise InvalidArgumentError.of(
            f"value_range should satisfy value_range[0] < value_range[1], but got '[{low:g}, {high:g}]'"
        )
    count = int(nbins)
    if count <= 0:
        raise InvalidArgumentError.of(f"nbins should be a positive number, but got '{count}'")
    above = (xp.fmax(values, value_range[0]) - value_range[0]).astype(xp.float64).reshape(-1)
    places = xp.minimum(above / ((high - low) / count), count - 1).astype(xp.int32)
    return xp.bincount(places, minlength=count).astype(dtype.as_numpy_dtype)


@shape_function("HistogramFixedWidth")
def _histogram_shape(op: Operation) -> Any:
    ends = require_rank(op.inputs[1].shape, 1)[0].value
    if ends not in (2, None):
        raise ValueError(f"Dimension must be 2 but is {ends}")
    require_rank(op.inputs[2].shape, 0)
    count = constant_value(op.inputs[2])
    if count is not None and count <= 0:
        raise ValueError(f"Requires nbins > 0: {count}")
    return (TensorShape.of((None if count is None else int(count),)),)


not_differentiable("HistogramFixedWidth")


def unravel_index(indices: TensorLike, dims: TensorLike, name: str | None = None) -> Tensor:
    """Convert positions in the flattened tensor to indices in a shape.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.unravel_index([2, 5], [3, 3])).tolist()
    [[0, 1], [2, 2]]

    Args:
        indices: positions, a scalar or vector, int32 or int64.
        dims: the shape, a vector of the same type.
        name: name of the op.

    Returns:
        ``[rank]`` for a scalar, ``[rank, positions]`` for a vector, of that type.

    Raises:
        InvalidArgumentError: at run time, a position is out of range, or a size is 0.
    """
    return new("UnravelIndex", name, indices=indices, dims=dims)


@compute("UnravelIndex", fresh=True)
def _unravel_index(xp: ArrayModule, indices: Array, dims: Array) -> Array:
    if indices.ndim > 1:
        raise InvalidArgumentError.of("The indices can only be scalar or vector.")
    if dims.ndim != 1:
        raise InvalidArgumentError.of("The indices can only be 1-D")
    if (dims == 0).any():
        raise InvalidArgumentError.of("Input dims cannot contain a dim of zero")
    if math.prod(dims.tolist()) > xp.iinfo(dims.dtype).max:
        raise InvalidArgumentError.of("Input dims product is causing integer overflow")
    if indices.size and not 0 <= int(indices.min()) <= int(indices.max()) < int(dims.prod()):
        raise InvalidArgumentError.of("index is out of bound as with dims")
    result = xp.unravel_index(indices, tuple(int(size) for size in dims))
    return xp.stack([xp.asarray(part) for part in result]).astype(indices.dtype)


@shape_function("UnravelIndex")
def _unravel_index_shape(op: Operation) -> list[TensorShape]:
    indices, dims = op.inputs[0].shape.sizes, op.inputs[1].shape
    if indices is None:
        return [UNKNOWN_SHAPE]
    rank = dims.sizes[0] if dims.sizes is not None and len(dims.sizes) == 1 else None
    return [TensorShape.of((rank, *indices[:1]))]


not_differentiable("UnravelIndex")


def nth_element(input: TensorLike, n: TensorLike, reverse: bool = False, name: str | None = None) -> Tensor:
    """Return the n-th element of each row in sorted order.

    Args:
        input: real numbers, ``[..., k]``.
        n: the position in sorted order, from 0, a scalar int32.
        reverse: whether to count from the largest.
        name: name of the op.

    Returns:
        ``[...]`` of the input's type.

    Raises:
        ValueError: ``input`` is known to be a scalar, or to have too few columns.
        InvalidArgumentError: at run time, ``n`` is negative, or there are too few columns.
    """
    return new("NthElement", name, input=input, n=n, reverse=reverse)


@compute("NthElement", fresh=True)
def _nth_element(xp: ArrayModule, input: Array, n: Array, *, reverse: bool) -> Array:
    if n.ndim:
        raise InvalidArgumentError.of(f"N must be scalar but has rank {n.ndim}")
    place = int(n)
    if place < 0:
        raise InvalidArgumentError.of(f"Need n >= 0, got {place}")
    if not input.ndim:
        raise InvalidArgumentError.of("Input must be >= 1-D, got shape []")
    if input.shape[-1] <= place:
        raise InvalidArgumentError.of("Input must have at least n+1 columns")
    at = input.shape[-1] - 1 - place if reverse else place
    return xp.array(xp.partition(input, at, axis=-1)[..., at])


@shape_function("NthElement")
def _nth_element_shape(op: Operation) -> Any:
    shape = require_rank_at_least(op.inputs[0].shape, 1).sizes
    if op.inputs[1].shape.ndims not in (None, 0):
        raise ValueError(f"Dimension must be scalar but has rank {op.inputs[1].shape.ndims}")
    n = constant_value(op.inputs[1])
    if n is not None and int(n) < 0:
        raise ValueError(f"Dimension size, given by scalar input 1 must be non-negative but is {int(n)}")
    if shape is None:
        return (UNKNOWN_SHAPE,)
    if n is not None and shape[-1] is not None and shape[-1] <= int(n):
        raise ValueError(f"Input must have last dimension > n = {int(n)} but is {shape[-1]}")
    return (TensorShape.of(shape[:-1]),)


@gradient("NthElement")
def _nth_element_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    """Distribute the gradient equally over all elements that equal the result."""
    input, selected = op.inputs[0], new("ExpandDims", input=op.outputs[0], dim=-1)
    equal = cast(new("Equal", x=selected, y=input), grad.dtype)
    grad = new("ExpandDims", input=grad, dim=-1)
    number = new("ExpandDims", input=new("Sum", input=equal, reduction_indices=-1), dim=-1)
    return div(equal, number) * grad, None
