"""Reductions over dimensions: reduce_* and functions built on them.

Without axes, all dimensions are reduced, and the op's axes are a constant of all of them.

Source: tensorflow/python/ops/math_ops.py, math_grad.py and core/kernels/reduction_ops_common.cc, release 1.15.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, int32, int64
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, graph_for, make_constant, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder, compute
from gpuplace.numerics.reductions import LARGE, reduced
from gpuplace.ops.array.constant import ones_like, zeros, zeros_like
from gpuplace.ops.array.constant import range as range_of
from gpuplace.ops.array.gather import gather, where
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import rank as rank_of
from gpuplace.ops.array.reshaping import reshape, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.math.cast import cast
from gpuplace.ops.shape_rules import require_rank_at_most
from gpuplace.ops.support import conjugate, like, new, new_list
from gpuplace.ops.variants import variant_of
from gpuplace.release import rules
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, DTypeLike, TensorLike

__all__ = [
    "reduce_sum", "reduce_mean", "reduce_prod", "reduce_max", "reduce_min", "reduce_any", "reduce_all",
    "reduce_logsumexp", "reduce_euclidean_norm", "reduce_variance", "reduce_std", "count_nonzero", "norm",
    "clip_by_norm",
]  # fmt: skip


def _reduce(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
    *,
    op_type: str = "",
) -> Tensor:
    axis = deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
    keepdims = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims) or False
    whole = axis is None
    if whole and not isinstance(input_tensor, Tensor):
        axis = range_of(0, rank_of(input_tensor))  # only for a dense tensor
    output = new(
        op_type,
        name,
        input=input_tensor,
        reduction_indices=_axes(input_tensor, axis),
        keep_dims=bool(keepdims),
    )
    if whole and not keepdims:
        output.set_shape(())
    return output


def _axes(x: TensorLike, axis: TensorLike) -> Any:
    if axis is not None:
        return axis
    if x.shape.ndims is not None:
        return make_constant(list(range(x.shape.ndims)), int32)
    return range_of(0, rank_of(x))


def _dimensions(axes: Array, rank: int) -> tuple[int, ...]:
    """Return the dimensions to reduce, counted from the front; raise InvalidArgumentError if they are invalid.

    A repeated dimension counts once in 1.15 and is an error in 2.21.
    """
    dimensions = _counted_from_front(tuple(axes.ravel().tolist()), rank)
    if len(dimensions) != axes.size and rules() == "2.21":
        twice = next(axis for axis in dimensions if (axes % rank == axis).sum() > 1)
        raise InvalidArgumentError.of(
            f"Invalid reduction arguments: Axes contains duplicate dimension: {twice}"
        )
    return dimensions


@functools.lru_cache(256)
def _counted_from_front(axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
    dimensions: dict[int, None] = {}
    for axis in axes:
        if not -rank <= axis < rank:
            raise InvalidArgumentError.of(
                f"Invalid reduction dimension ({axis} for input with {rank} dimension(s)"
            )
        dimensions[axis % rank] = None
    return tuple(dimensions)


@shape_function("Sum", "Mean", "Prod", "Max", "Min", "Any", "All", "EuclideanNorm")
def _reduction_shape(op: Operation) -> tuple[TensorShape, ...]:
    require_rank_at_most(op.inputs[1].shape, 1)
    sizes, axes, keep = op.inputs[0].shape.sizes, constant_value(op.inputs[1]), op.attrs["keep_dims"]
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    if axes is None:
        return (TensorShape.of((None,) * len(sizes)) if keep else UNKNOWN_SHAPE,)
    reduced = set()
    for axis in axes.reshape(-1).tolist():
        if not -len(sizes) <= axis < len(sizes):
            raise ValueError(f"Invalid reduction dimension {axis} for input with {len(sizes)} dimensions.")
        reduced.add(axis % len(sizes))
    if keep:
        return (TensorShape.of(tuple(1 if d in reduced else size for d, size in enumerate(sizes))),)
    return (TensorShape.of(tuple(size for d, size in enumerate(sizes) if d not in reduced)),)


@variant_of(_reduce, op_type="Sum")
def reduce_sum() -> None:
    """Return the sum over ``axis``; 0 if there are no elements.

    >>> import gpuplace as tf
    >>> x = tf.constant([[1, 2], [3, 4]])
    >>> tf.Session().run(tf.reduce_sum(x, axis=1)).tolist()
    [3, 7]
    >>> tf.reduce_sum(x, axis=1, keepdims=True).shape.as_list()
    [2, 1]

    Args:
        input_tensor: numbers of any shape.
        axis: the dimensions to reduce: an integer, a list or an int32 or int64 tensor; negative values count from
            the end. None: all.
        keepdims: whether to keep the reduced dimensions with size 1. None: False.
        name: name of the op.
        reduction_indices: deprecated name of ``axis``.
        keep_dims: deprecated name of ``keepdims``.

    Returns:
        A tensor of ``input_tensor``'s type, without the dimensions in ``axis``.

    Raises:
        TypeError: the type is not supported.
        ValueError: an argument and its deprecated name are both given, or a static axis is out of range.
        InvalidArgumentError: at run time, an axis is out of range or occurs twice.
    """


@binder("Sum", fresh=True)
def _bind_sum(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    """Use one call for few elements, over static dimensions, unless the step feeds others."""
    keep = attrs["keep_dims"]
    general = functools.partial(_sum, xp, keep_dims=keep)
    static, sizes = constant_value(op.inputs[1]), op.inputs[0].shape
    elements = sizes.num_elements()
    if xp is not np or keep or static is None or not static.size or elements is None or elements >= LARGE:
        return general
    numbers, rank, reduce = static.tolist(), sizes.ndims, np.add.reduce
    try:
        axes = _dimensions(static, rank or 0)
    except InvalidArgumentError:  # reported at run time
        return general

    def small(input: Array, reduction_indices: Array) -> Any:
        if reduction_indices is not static and reduction_indices.tolist() != numbers:
            return general(input, reduction_indices)
        return reduce(input, axes, input.dtype)

    return small


def _sum(xp: Any, input: Array, reduction_indices: Array, *, keep_dims: bool) -> Any:
    axes = _dimensions(reduction_indices, input.ndim)
    if not axes:
        return input.copy()
    return _total(xp, "sum", input, axes, keep_dims)


def _total(xp: ArrayModule, function_name: str, x: Array, axes: tuple[int, ...], keep: bool) -> Array:
    total = reduced(xp, function_name, x, axes)
    return (
        total.reshape([1 if axis in axes else size for axis, size in enumerate(x.shape)]) if keep else total
    )


@gradient("Sum")
def _sum_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    return _spread(op, grad), None


def _spread(op: Operation, grad: Tensor) -> Tensor:
    """Return the gradient repeated over the reduced dimensions."""
    x, axes = op.inputs[0], constant_value(op.inputs[1])
    sizes = x.shape.sizes
    if sizes is not None and axes is not None:
        reduced = {int(axis) % max(len(sizes), 1) for axis in axes.reshape(-1)}
        if len(reduced) == len(sizes):
            grad = reshape(grad, [1] * len(sizes))
            input_shape = make_constant(list(sizes), int32) if None not in sizes else shape_of(x)
            return new("Tile", input=grad, multiples=input_shape)
        if None not in sizes:
            _leave_shapes(op, [size or 0 for size in sizes], reduced, axes)
            grad = reshape(grad, [1 if d in reduced else size for d, size in enumerate(sizes)])
            return new(
                "Tile", input=grad, multiples=[size if d in reduced else 1 for d, size in enumerate(sizes)]
            )
    input_shape = shape_of(x)
    with graph_for(grad).colocate_with(input_shape.op):
        kept_shape = reduced_shape(input_shape, op.inputs[1])
        repeats = _divided(input_shape, kept_shape)
    return new("Tile", input=reshape(grad, kept_shape), multiples=repeats)


def _leave_shapes(op: Operation, sizes: list[int], reduced: set[int], axes: Any) -> None:
    """Add the unused ops that TensorFlow leaves in a graph when it first computes axes for a static shape."""
    key = tuple(sizes), tuple(int(axis) for axis in axes.reshape(-1))
    pairs_seen: set[tuple[Any, Any]] = graph_for(op).attached.setdefault("reductions seen", set())
    if key in pairs_seen:
        return
    pairs_seen.add(key)
    reduced_shape(list(key[0]), list(key[1]))
    _divided(sizes, [1 if d in reduced else size for d, size in enumerate(sizes)])


def reduced_shape(input_shape: TensorLike, axes: TensorLike) -> Tensor:
    """Return a shape with 1 for the reduced dimensions.

    Args:
        input_shape: sizes, a vector of integers.
        axes: the reduced dimensions; negative values count from the end.
    """
    full_shape, axes = cast(input_shape, int32), cast(axes, int32)
    count = (
        new("Size", input=full_shape)
        if full_shape.shape.num_elements() is None
        else make_constant(full_shape.shape.num_elements(), int32, name="Size")
    )
    positive = (axes + count) % count
    ones_shape, every = shape_of(positive), range_of(count)
    ones = new("Fill", dims=ones_shape, value=1)
    return new("DynamicStitch", indices=[every, positive], data=[full_shape, ones])


def _divided(x: Any, y: Any) -> Tensor:
    return x // new("Maximum", x=y, y=1)


@variant_of(_reduce, op_type="Mean")
def reduce_mean() -> None:
    """Return the mean over ``axis``: rounded towards zero for integers, NaN for no floating elements.

    Args:
        input_tensor: numbers of any shape.
        axis: the dimensions to reduce: an integer, a list or an int32 or int64 tensor; negative values count from
            the end. None: all.
        keepdims: whether to keep the reduced dimensions with size 1. None: False.
        name: name of the op.
        reduction_indices: deprecated name of ``axis``.
        keep_dims: deprecated name of ``keepdims``.

    Returns:
        A tensor of ``input_tensor``'s type, without the dimensions in ``axis``.

    Raises:
        TypeError: the type is not supported.
        ValueError: an argument and its deprecated name are both given, or a static axis is out of range.
        InvalidArgumentError: at run time, an axis is out of range or occurs twice.
    """


@compute("Mean", fresh=True)
def _mean(xp: ArrayModule, input: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    axes = _dimensions(reduction_indices, input.ndim)
    if not axes:
        return input.copy()
    count = 1
    for axis in axes:
        count *= input.shape[axis]
    if input.dtype.kind not in "iu":
        wide = xp.dtype(xp.float32) if input.dtype.itemsize == 2 else input.dtype
        total = _total(xp, "sum", input.astype(wide, copy=False), axes, keep_dims)
        return xp.true_divide(total, wide.type(count)).astype(input.dtype)
    total = xp.sum(input, axis=axes, dtype=input.dtype, keepdims=keep_dims)
    if not count:
        return xp.zeros_like(total)
    quotient = xp.absolute(total) // total.dtype.type(count)
    return xp.where(total < 0, -quotient, quotient).astype(input.dtype)


@gradient("Mean")
def _mean_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    spread = _spread(op, grad)
    inputs, outputs = op.inputs[0].shape.num_elements(), op.outputs[0].shape.num_elements()
    if inputs is not None and outputs is not None:
        factor = make_constant(inputs // max(outputs, 1), spread.dtype.base_dtype)
    else:
        shapes = shape_of(op.inputs[0]), shape_of(op.outputs[0])
        whole, part = (new("Prod", input=of, reduction_indices=make_constant([0], int32)) for of in shapes)
        factor = cast(_divided(whole, part), spread.dtype.base_dtype)
    return spread / factor, None


@variant_of(_reduce, op_type="Prod")
def reduce_prod() -> None:
    """Return the product over ``axis``; 1 if there are no elements.

    Args:
        input_tensor: numbers of any shape.
        axis: the dimensions to reduce: an integer, a list or an int32 or int64 tensor; negative values count from
            the end. None: all.
        keepdims: whether to keep the reduced dimensions with size 1. None: False.
        name: name of the op.
        reduction_indices: deprecated name of ``axis``.
        keep_dims: deprecated name of ``keepdims``.

    Returns:
        A tensor of ``input_tensor``'s type, without the dimensions in ``axis``.

    Raises:
        TypeError: the type is not supported.
        ValueError: an argument and its deprecated name are both given, or a static axis is out of range.
        InvalidArgumentError: at run time, an axis is out of range or occurs twice.
    """


@compute("Prod", fresh=True)
def _prod(xp: ArrayModule, input: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    axes = _dimensions(reduction_indices, input.ndim)
    if not axes:
        return input.copy()
    return _total(xp, "prod", input, axes, keep_dims)


@gradient("Prod")
def _prod_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    """Gradient of a product: for each element the products before and after it, which is correct even for zeros."""
    x, input_shape = op.inputs[0], shape_of(op.inputs[0])
    axes = reshape(op.inputs[1], [-1])
    kept_shape = reduced_shape(input_shape, op.inputs[1])
    repeats = _divided(input_shape, kept_shape)
    spread = new("Tile", input=reshape(grad, kept_shape), multiples=repeats)
    with x.graph.device("/cpu:0"):  # ListDiff only has a CPU kernel
        count = rank_of(x)
        reduced = cast((axes + count) % count, int32)
        rest = new("ListDiff", x=range_of(0, count), y=reduced)
        order = concat([reduced, rest], 0)
        sizes = [reduce_prod(gather(input_shape, part)) for part in (reduced, rest)]
    permuted = transpose(x, order)
    permuted.set_shape(_permuted_shape(op))
    permuted_shape = shape_of(permuted)
    rows = reshape(permuted, sizes)
    before = new("Cumprod", x=rows, axis=0, exclusive=True)
    behind = new("Cumprod", x=rows, axis=0, exclusive=True, reverse=True)
    others = reshape(conjugate(before) * conjugate(behind), permuted_shape)
    product = spread * transpose(others, new("InvertPermutation", x=order))
    return reshape(product, input_shape), None


def _permuted_shape(op: Operation) -> TensorShape:
    """Return the static shape with the reduced dimensions first."""
    sizes, axes = op.inputs[0].shape.sizes, constant_value(op.inputs[1])
    if sizes is None or axes is None:
        return UNKNOWN_SHAPE
    reduced = [int(axis) % len(sizes) for axis in axes.reshape(-1)]
    return TensorShape.of(
        tuple(sizes[d] for d in [*reduced, *(d for d in range(len(sizes)) if d not in reduced)])
    )


@variant_of(_reduce, op_type="Max")
def reduce_max() -> None:
    """Return the maximum over ``axis``; the type's minimum if there are no elements.

    Args:
        input_tensor: real numbers of any shape.
        axis: the dimensions to reduce: an integer, a list or an int32 or int64 tensor; negative values count from
            the end. None: all.
        keepdims: whether to keep the reduced dimensions with size 1. None: False.
        name: name of the op.
        reduction_indices: deprecated name of ``axis``.
        keep_dims: deprecated name of ``keepdims``.

    Returns:
        A tensor of ``input_tensor``'s type, without the dimensions in ``axis``.

    Raises:
        TypeError: the type is not supported.
        ValueError: an argument and its deprecated name are both given, or a static axis is out of range.
        InvalidArgumentError: at run time, an axis is out of range or occurs twice.
    """


@variant_of(_reduce, op_type="Min")
def reduce_min() -> None:
    """Return the minimum over ``axis``; the type's maximum if there are no elements.

    Args:
        input_tensor: real numbers of any shape.
        axis: the dimensions to reduce: an integer, a list or an int32 or int64 tensor; negative values count from
            the end. None: all.
        keepdims: whether to keep the reduced dimensions with size 1. None: False.
        name: name of the op.
        reduction_indices: deprecated name of ``axis``.
        keep_dims: deprecated name of ``keepdims``.

    Returns:
        A tensor of ``input_tensor``'s type, without the dimensions in ``axis``.

    Raises:
        TypeError: the type is not supported.
        ValueError: an argument and its deprecated name are both given, or a static axis is out of range.
        InvalidArgumentError: at run time, an axis is out of range or occurs twice.
    """


@compute("Max", fresh=True)
def _max(xp: ArrayModule, input: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    axes = _dimensions(reduction_indices, input.ndim)
    return _extreme(
        xp, xp.max, input, axes, keep_dims, lambda kind: -float("inf") if kind.is_floating else kind.min
    )


@compute("Min", fresh=True)
def _min(xp: ArrayModule, input: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    axes = _dimensions(reduction_indices, input.ndim)
    return _extreme(
        xp, xp.min, input, axes, keep_dims, lambda kind: float("inf") if kind.is_floating else kind.max
    )


def _extreme(
    xp: ArrayModule, function: Any, x: Array, axes: tuple[int, ...], keep: bool, neutral: Callable[[Any], Any]
) -> Any:
    if not axes:
        return x.copy()
    if any(x.shape[axis] == 0 for axis in axes):
        sizes = [1 if d in axes else size for d, size in enumerate(x.shape) if keep or d not in axes]
        return xp.full(sizes, neutral(as_dtype(x.dtype)), x.dtype)
    return function(x, axis=axes, keepdims=keep)


@gradient("Max", "Min")
def _extreme_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    """Gradient of a minimum or maximum, shared equally by all extreme elements."""
    x = op.inputs[0]
    kept_shape = reduced_shape(shape_of(x), op.inputs[1])
    extreme, grad = reshape(op.outputs[0], kept_shape), reshape(grad, kept_shape)
    chosen = cast(new("Equal", x=extreme, y=x), grad.dtype.base_dtype)
    count = reshape(new("Sum", input=chosen, reduction_indices=op.inputs[1]), kept_shape)
    return chosen / count * grad, None


@variant_of(_reduce, op_type="Any")
def reduce_any() -> None:
    """Return whether any element over ``axis`` is True; False if there are no elements.

    Args:
        input_tensor: bool, of any shape.
        axis: the dimensions to reduce: an integer, a list or an int32 or int64 tensor; negative values count from
            the end. None: all.
        keepdims: whether to keep the reduced dimensions with size 1. None: False.
        name: name of the op.
        reduction_indices: deprecated name of ``axis``.
        keep_dims: deprecated name of ``keepdims``.

    Returns:
        bool, without the dimensions in ``axis``.

    Raises:
        TypeError: the type is not supported.
        ValueError: an argument and its deprecated name are both given, or a static axis is out of range.
        InvalidArgumentError: at run time, an axis is out of range or occurs twice.
    """


@variant_of(_reduce, op_type="All")
def reduce_all() -> None:
    """Return whether all elements over ``axis`` are True; True if there are no elements.

    Args:
        input_tensor: bool, of any shape.
        axis: the dimensions to reduce: an integer, a list or an int32 or int64 tensor; negative values count from
            the end. None: all.
        keepdims: whether to keep the reduced dimensions with size 1. None: False.
        name: name of the op.
        reduction_indices: deprecated name of ``axis``.
        keep_dims: deprecated name of ``keepdims``.

    Returns:
        bool, without the dimensions in ``axis``.

    Raises:
        TypeError: the type is not supported.
        ValueError: an argument and its deprecated name are both given, or a static axis is out of range.
        InvalidArgumentError: at run time, an axis is out of range or occurs twice.
    """


@compute("Any", fresh=True)
def _any(xp: ArrayModule, input: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    return xp.any(input, axis=_dimensions(reduction_indices, input.ndim), keepdims=keep_dims)


@compute("All", fresh=True)
def _all(xp: ArrayModule, input: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    return xp.all(input, axis=_dimensions(reduction_indices, input.ndim), keepdims=keep_dims)


not_differentiable("Any", "All")


def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return the square root of the sum of squares over ``axis``.

    Args:
        input_tensor: numbers of any shape.
        axis: the dimensions to reduce: an integer, a list or an int32 or int64 tensor; negative values count from
            the end. None: all.
        keepdims: whether to keep the reduced dimensions with size 1. None: False.
        name: name of the op.

    Returns:
        A tensor of ``input_tensor``'s type, without the dimensions in ``axis``.

    Raises:
        TypeError: the type is not supported.
        ValueError: a static axis is out of range.
        InvalidArgumentError: at run time, an axis is out of range or occurs twice.
    """
    return _reduce(input_tensor, axis, keepdims, name, op_type="EuclideanNorm")


@compute("EuclideanNorm", fresh=True)
def _euclidean_norm(xp: ArrayModule, input: Array, reduction_indices: Array, *, keep_dims: bool) -> Array:
    axes = _dimensions(reduction_indices, input.ndim)
    squares = input * xp.conjugate(input)
    if squares.dtype.kind == "c":  # clears rounding errors: the imaginary part is zero
        squares = squares.real
    return xp.sqrt(xp.sum(squares, axis=axes, dtype=squares.dtype, keepdims=keep_dims)).astype(input.dtype)


@gradient("EuclideanNorm", since="2.21", is_none_before=True)
def _euclidean_norm_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    x = op.inputs[0]
    kept_shape = reduced_shape(shape_of(x), op.inputs[1])
    scaled = reshape(grad, kept_shape) / reshape(op.outputs[0], kept_shape)
    return x * scaled, None


# Composite reductions


def reduce_logsumexp(
    input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: bool | None = None, name: str | None =
    None, reduction_indices: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return ``log(sum(exp(x)))`` over ``axis``, computed without overflow.

    Args:
        input_tensor: floating-point, of any shape.
        axis: the dimensions to reduce: an integer, a list or an int32 or int64 tensor; negative values count from
            the end. None: all.
        keepdims: whether to keep the reduced dimensions with size 1. None: False.
        name: name of the op.
        reduction_indices: deprecated name of ``axis``.
        keep_dims: deprecated name of ``keepdims``.

    Returns:
        A tensor of ``input_tensor``'s type, without the dimensions in ``axis``.

    Raises:
        TypeError: the type is not supported.
        ValueError: an argument and its deprecated name are both given, or a static axis is out of range.
        InvalidArgumentError: at run time, an axis is out of range or occurs twice.
    """
    axis = deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
    keepdims = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims) or False
    input_tensor = convert_to_tensor(input_tensor)
    with name_scope(name, "ReduceLogSumExp", [input_tensor]) as scope:
        top = reduce_max(input_tensor, axis=axis, keepdims=True)
        finite = where(new("IsFinite", x=top), top, zeros_like(top))
        offset = new("StopGradient", input=finite)
        total = reduce_sum(new("Exp", x=new("Sub", x=input_tensor, y=offset)), axis=axis, keepdims=keepdims)
        result = new("Log", x=total)
        if not keepdims:
            offset = reshape(offset, shape_of(result))
        return new("Add", scope if name and name.endswith("/") else None, x=result, y=offset)


def reduce_variance(
    input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return the variance over ``axis``: the mean squared distance from the mean.

    Args:
        input_tensor: floating-point, of any shape; integers use rounded means.
        axis: the dimensions to reduce: an integer, a list or an int32 or int64 tensor; negative values count from
            the end. None: all.
        keepdims: whether to keep the reduced dimensions with size 1. None: False.
        name: name of the scope.

    Returns:
        A tensor of ``input_tensor``'s type, without the dimensions in ``axis``.

    Raises:
        TypeError: the type is not supported.
        ValueError: a static axis is out of range.
        InvalidArgumentError: at run time, an axis is out of range or occurs twice.
    """
    with name_scope(name or "reduce_variance", None, [input_tensor]):
        means = reduce_mean(input_tensor, axis=axis, keepdims=True)
        return reduce_mean(new("Square", x=input_tensor - means), axis=axis, keepdims=keepdims)


def reduce_std(
    input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """Return the standard deviation over ``axis``: the square root of ``reduce_variance``.

    Args:
        input_tensor: floating-point, of any shape.
        axis: the dimensions to reduce: an integer, a list or an int32 or int64 tensor; negative values count from
            the end. None: all.
        keepdims: whether to keep the reduced dimensions with size 1. None: False.
        name: name of the scope.

    Returns:
        A tensor of ``input_tensor``'s type, without the dimensions in ``axis``.

    Raises:
        TypeError: the type is not supported.
        ValueError: a static axis is out of range.
        InvalidArgumentError: at run time, an axis is out of range or occurs twice.
    """
    with name_scope(name or "reduce_std", None, [input_tensor]):
        return new("Sqrt", x=reduce_variance(input_tensor, axis=axis, keepdims=keepdims))


def count_nonzero(
    input_tensor: TensorLike | None = None, axis: TensorLike | None = None, keepdims: bool | None = None,
    dtype: DTypeLike = int64, name: str | None = None,
    reduction_indices: TensorLike | None = None, keep_dims: bool | None = None, input: TensorLike | None =
    None,
) -> Tensor:  # fmt: skip
    """Return the number of elements over ``axis`` that are not 0, False or empty.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.count_nonzero([[0, 1], [2, 3]], axis=0)).tolist()
    [1, 2]

    Args:
        input_tensor: numbers, bools or strings, of any shape.
        axis: the dimensions to reduce: an integer, a list or an int32 or int64 tensor; negative values count from
            the end. None: all.
        keepdims: whether to keep the reduced dimensions with size 1. None: False.
        dtype: number type of the counts.
        name: name of the scope.
        reduction_indices: deprecated name of ``axis``.
        keep_dims: deprecated name of ``keepdims``.
        input: alias of ``input_tensor``.

    Returns:
        Counts of type ``dtype``, without the dimensions in ``axis``.

    Raises:
        ValueError: an argument and its alias are both given, or a static axis is out of range.
    """
    input_tensor = deprecated_argument_lookup("input_tensor", input_tensor, "input", input)
    axis = deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
    keepdims = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims) or False
    with name_scope(name, "count_nonzero", [input_tensor]):
        input_tensor = convert_to_tensor(input_tensor, name="input_tensor")
        zero = zeros([], dtype=input_tensor.dtype)
        different = cast(new("NotEqual", x=input_tensor, y=zero), int64)
        return cast(reduce_sum(different, axis=axis, keepdims=keepdims), dtype)


def norm(
    tensor: TensorLike, ord: Any = "euclidean", axis: TensorLike | None = None, keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:  # fmt: skip
    """Return the norm of vectors or matrices.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.norm([[3.0, 4.0], [0.0, 2.0]], axis=1)).tolist()
    [5.0, 2.0]

    Args:
        tensor: floating or complex, of any shape.
        ord: for vectors, ``"euclidean"``, 1, 2, ``numpy.inf`` or another positive number; for matrices, ``"euclidean"``
            or ``"fro"``, 1, 2 (the largest singular value) or ``numpy.inf``.
        axis: the dimension of vectors, a pair of dimensions for matrices, or None for all elements as one vector.
        keepdims: whether to keep the reduced dimensions with size 1. None: False.
        name: name of the scope.
        keep_dims: deprecated name of ``keepdims``.

    Returns:
        ``tensor``'s type (the real type of complex numbers for ``ord`` other than 2 and ``"euclidean"``), without the
        dimensions in ``axis``.

    Raises:
        ValueError: the order is not supported for the axes, or ``axis`` is not None, a number or a pair.
        TypeError: ``tensor`` holds integers.
    """
    keepdims = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims) or False
    is_matrix = isinstance(axis, (list, tuple)) and len(axis) == 2
    if isinstance(axis, (list, tuple)) and is_matrix:
        axis = tuple(axis)
    axes = axis if isinstance(axis, tuple) else () if axis is None else (axis,)
    integers = all(hasattr(item, "__index__") for item in axes)
    if not integers or is_matrix and axes[0] == axes[1]:
        raise ValueError("'axis' must be None, an integer, or a tuple of 2 unique integers")
    if is_matrix:
        supported = ("euclidean", "fro", 1, 2, float("inf"))
        if ord not in supported:
            raise ValueError(f"'ord' must be a supported matrix norm in {list(supported)}, got {ord}")
    else:
        if isinstance(ord, str) and ord != "euclidean" or not isinstance(ord, str) and ord <= 0:
            raise ValueError(
                f"'ord' must be a supported vector norm: 'euclidean' or a positive number, got {ord}"
            )
    with name_scope(name, "norm", [tensor]):
        tensor = convert_to_tensor(tensor)
        if ord == 2 and isinstance(axis, tuple):
            result = _greatest_singular_value(tensor, axis)
        elif ord in ("fro", "euclidean", 2, 2.0):
            total = reduce_sum(tensor * conjugate(tensor), axis, keepdims=True)
            result = new("Sqrt", x=total)
        else:
            size = (
                new("ComplexAbs", x=tensor, Tout=tensor.dtype.real_dtype)
                if tensor.dtype.is_complex
                else new("Abs", x=tensor)
            )
            if ord == 1:
                summed = None if axis is None else axis[0] if isinstance(axis, tuple) else axis
                result = reduce_sum(size, summed, keepdims=True)
                if isinstance(axis, tuple):
                    result = reduce_max(result, axis[-1], keepdims=True)
            elif ord == float("inf"):
                result = reduce_sum(size, axis[1], keepdims=True) if isinstance(axis, tuple) else size
                result = reduce_max(result, axis[0] if isinstance(axis, tuple) else axis, keepdims=True)
            else:
                powers = new("Pow", x=size, y=like(ord, size))
                result = new("Pow", x=reduce_sum(powers, axis, keepdims=True), y=like(1.0 / ord, size))
        if keepdims:
            return result
        reduced = [] if axis is None else list(axis) if isinstance(axis, tuple) else [axis]
        return new("Squeeze", input=result, squeeze_dims=reduced)


def normalize(
    tensor: TensorLike, ord: Any = "euclidean", axis: TensorLike | None = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return vectors or matrices divided by their norms, and the norms.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.linalg.normalize([3.0, 4.0]))[0].tolist()
    [0.6000000238418579, 0.800000011920929]

    Args:
        tensor: floating or complex, of any shape.
        ord: the norm, as for ``tf.norm``.
        axis: the dimension of vectors, a pair of dimensions for matrices, or None for all elements as one vector.
        name: name of the scope.

    Returns:
        A tensor like ``tensor``, and the norms, with size 1 in the dimensions of ``axis``.

    Raises:
        ValueError: as for ``tf.norm``.
    """
    with name_scope(name, "normalize", [tensor]):
        values = convert_to_tensor(tensor)
        norms = norm(values, ord, axis, keepdims=True)
        if norms.dtype != values.dtype:
            norms = new("Cast", x=norms, DstT=values.dtype)
        return new("RealDiv", x=values, y=norms), norms


def _greatest_singular_value(tensor: Tensor, axes: tuple[int, int]) -> Tensor:
    """Return the largest singular values of matrices along two axes, which stay in place with size 1."""
    rank = tensor.shape.ndims
    order: Any
    moved: Any
    if rank is not None:
        moved = [axis + rank if axis < 0 else axis for axis in axes]
        order = [axis for axis in range(rank) if axis not in moved] + moved
    else:
        count = rank_of(tensor)
        moved = new("FloorMod", x=make_constant(list(axes), "int32"), y=count)
        others = new_list("ListDiff", x=new("Range", start=0, limit=count, delta=1), y=moved)[0]
        order = new("ConcatV2", values=[others, moved], axis=0)
    permuted = new("Transpose", x=tensor, perm=order)
    values = new_list("Svd", input=permuted, compute_uv=False)[0]
    if values.dtype.is_complex:
        values = new("Real", input=values, Tout=values.dtype.real_dtype)
    greatest = reduce_max(values, axis=-1, keepdims=True)
    column = new("ExpandDims", input=greatest, dim=-1)
    return new("Transpose", x=column, perm=new("InvertPermutation", x=order))


def clip_by_norm(
    t: TensorLike, clip_norm: TensorLike, axes: TensorLike | None = None, name: str | None = None
) -> Any:
    """Return ``t`` scaled down so that its norm over ``axes`` is at most ``clip_norm``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.clip_by_norm([3.0, 4.0], 2.5)).tolist()
    [1.5, 2.0]

    Args:
        t: floating-point, of any shape; for ``IndexedSlices``, the values are scaled by their norm.
        clip_norm: the maximum norm, a positive scalar of the same type.
        axes: the dimensions of each vector with its own norm. None: all, for one norm.
        name: name of the last op.

    Returns:
        A tensor, or ``IndexedSlices``, like ``t``.

    Raises:
        TypeError: types differ.
        ValueError: ``clip_norm`` does not broadcast to ``t``'s shape, or an axis is out of range.
    """
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        values = convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name="t")
        square = reduce_sum(values * values, axes, keepdims=True)
        positive = new("Greater", x=square, y=like(0, square, "Greater/y"))
        safe = where(positive, square, ones_like(square))
        length = where(positive, new("Sqrt", x=safe), square)
        numerator = values * clip_norm
        result = numerator / new("Maximum", x=length, y=clip_norm)
        values.shape.merge_with(result.shape)
        clipped = new("Identity", scope, input=result)
        return IndexedSlices(clipped, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else clipped
