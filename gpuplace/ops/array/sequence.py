"""Order and position: reversing, rolling, running sums, greatest and least positions, distinct values, segments.

Source: tensorflow/python/ops/array_ops.py, math_ops.py, math_grad.py, array_grad.py and tensorflow/core/kernels/
reverse_op.cc, scan_ops.cc, argmax_op.cc, unique_op.cc, segment_reduction_ops.cc, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpuplace.dtypes import as_dtype, int32, int64
from gpuplace.dtypes import bool as bool_type
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, make_constant, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.arguments import int_of
from gpuplace.numerics.order import ordered_keys, positions
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.reduction import reduce_max, reduce_prod
from gpuplace.ops.shape_rules import (
    merge_shapes,
    merge_sizes,
    require_rank,
    require_rank_at_least,
    require_rank_at_most,
)
from gpuplace.ops.support import like, new, same_shape, shape_of_second
from gpuplace.ops.variants import variant_of
from gpuplace.release import rules
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "reverse", "reverse_v2", "reverse_sequence", "roll", "cumsum", "cumprod", "argmax", "argmin", "arg_max", "arg_min",
    "unique", "unique_with_counts", "setdiff1d", "invert_permutation", "sequence_mask", "searchsorted", "bincount",
]  # fmt: skip

_LONG = 256
"""From so many elements on NumPy's time is worth saving."""


def reverse(tensor: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """Returns ``tensor`` with the order along some dimensions reversed.

    Args:
        tensor: numbers, bools or strings of any shape.
        axis: the dimensions, an int32 or int64 vector; negative ones count from the end.
        name: name of the op.

    Returns:
        A tensor like ``tensor``.

    Raises:
        TypeError: another type.
        InvalidArgumentError: when it runs: a dimension is out of range, or named twice.
    """
    return new("ReverseV2", name, tensor=tensor, axis=axis)


reverse_v2 = reverse


@compute("ReverseV2")
def _reverse(xp: Any, tensor: Any, axis: Any) -> Any:
    if axis.ndim != 1:
        raise InvalidArgumentError.of(f"'dims' must be 1-dimension, not {axis.ndim}")
    axes = []
    for index, at in enumerate(axis.tolist()):
        if not -tensor.ndim <= at < tensor.ndim:
            raise InvalidArgumentError.of(
                f"'axis'[{index}] = {at} is out of valid range [0, {tensor.ndim - 1}"
            )
        if at % tensor.ndim in axes:
            raise InvalidArgumentError.of(f"axis {at % tensor.ndim} specified more than once.")
        axes.append(at % tensor.ndim)
    return xp.ascontiguousarray(xp.flip(tensor, tuple(axes))) if axes else tensor


@shape_function("ReverseV2")
def _reverse_shape(op: Operation) -> Any:
    shape, axes = op.inputs[0].shape, constant_value(op.inputs[1])
    ndims = shape.ndims
    require_rank(op.inputs[1].shape, 1)
    seen = set()
    if axes is None or ndims is None:
        return (shape,)
    for index, axis in enumerate(axes.tolist()):
        if not -ndims <= axis < ndims:
            raise ValueError(f"'axis'[{index}] = {axis} is out of valid range [0, {ndims - 1}")
        if axis % ndims in seen:
            raise ValueError(f"axis {axis % ndims} specified more than once.")
        seen.add(axis % ndims)
    return (shape,)


@gradient("ReverseV2")
def _reverse_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    return reverse(grad, op.inputs[1]), None


def reverse_sequence(
    input: TensorLike, seq_lengths: TensorLike, seq_axis: int | None = None, batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None, batch_dim: int | None = None,
) -> Tensor:  # fmt: skip
    """Returns ``input`` with the beginning of each slice reversed, each as far as its length says.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1)).tolist()
    [[2, 1, 3], [6, 5, 4]]

    Args:
        input: numbers or bools (on a GPU bools or floating).
        seq_lengths: ``[input.shape[batch_axis]]``, int32 or int64: how many elements of each slice.
        seq_axis: the dimension along which is reversed. None: 0.
        batch_axis: the dimension that counts the slices. None: 0.
        name: name of the op.
        seq_dim: the old name of ``seq_axis``, deprecated.
        batch_dim: the old name of ``batch_axis``, deprecated.

    Returns:
        A tensor like ``input``.

    Raises:
        InvalidArgumentError: when it runs: a dimension is out of range, there are not as many lengths as slices, or, on
            the CPU, a length is negative or too large.
    """
    sequence = seq_axis if seq_dim is None else seq_dim
    batch = batch_axis if batch_dim is None else batch_dim
    return new(
        "ReverseSequence", name, input=input, seq_lengths=seq_lengths, seq_dim=0 if sequence is None else sequence,
        batch_dim=0 if batch is None else batch,
    )  # fmt: skip


@compute("ReverseSequence")
def _reverse_sequence(xp: Any, input: Any, seq_lengths: Any, *, seq_dim: int, batch_dim: int) -> Any:
    if seq_dim >= input.ndim or batch_dim >= input.ndim:
        raise InvalidArgumentError.of(f"seq_dim must be < input rank ( {seq_dim} vs. {input.ndim})")
    if seq_dim == batch_dim:
        raise InvalidArgumentError.of(f"batch_dim == seq_dim == {seq_dim}")
    if seq_lengths.shape != (input.shape[batch_dim],):
        raise InvalidArgumentError.of(
            f"Length of seq_lengths != input.dims({batch_dim}), ({seq_lengths.size} vs. {input.shape[batch_dim]})"
        )
    size = input.shape[seq_dim]
    lengths = seq_lengths.reshape(-1, 1)
    if xp.__name__ == "numpy":
        for length in seq_lengths.tolist():
            if length < 0:
                raise InvalidArgumentError.of("seq_lengths(0) < 0")
            if length > size:
                raise InvalidArgumentError.of(f"seq_lengths(0) > input.dims({seq_dim})")
    positions = xp.arange(size)
    source = xp.where(positions < lengths, lengths - 1 - positions, positions)
    moved = xp.moveaxis(input, (batch_dim, seq_dim), (0, 1))
    rows = xp.arange(moved.shape[0]).reshape(-1, 1)
    return xp.ascontiguousarray(xp.moveaxis(moved[rows, source], (0, 1), (batch_dim, seq_dim)))


@shape_function("ReverseSequence")
def _reverse_sequence_shape(op: Operation) -> Any:
    shape, lengths = op.inputs[0].shape, require_rank(op.inputs[1].shape, 1)
    axes = {name: op.attrs[name] for name in ("batch_dim", "seq_dim")}
    if shape.sizes is None:
        return (shape,)
    for name, axis in axes.items():
        if axis >= len(shape.sizes):
            raise ValueError(f"{name} must be < input rank: {axis} vs. {len(shape.sizes)}")
    batch = axes["batch_dim"]
    size = merge_sizes(shape.sizes[batch], lengths.sizes[0])  # type: ignore[index]
    return (TensorShape.of((*shape.sizes[:batch], size, *shape.sizes[batch + 1 :])),)


@gradient("ReverseSequence")
def _reverse_sequence_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    return (
        reverse_sequence(grad, op.inputs[1], seq_axis=op.attrs["seq_dim"], batch_axis=op.attrs["batch_dim"]),
        None,
    )


def roll(input: TensorLike, shift: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """Returns ``input`` moved along some dimensions; what leaves at the end comes in at the start.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.roll([1, 2, 3], 1, 0)).tolist()
    [3, 1, 2]

    Args:
        input: a tensor of rank 1 or more, of any type (on a GPU float16, float32, float64, complex, int32 or int64).
        shift: by how many elements, an int32 or int64 scalar or vector.
        axis: along which dimension, an integer per ``shift``.
        name: name of the op.

    Returns:
        A tensor like ``input``.

    Raises:
        InvalidArgumentError: when it runs: ``shift`` and ``axis`` differ in length, or a dimension is out of range.
    """
    return new("Roll", name, input=input, shift=shift, axis=axis)


@compute("Roll")
def _roll(xp: Any, input: Any, shift: Any, axis: Any) -> Any:
    shifts, axes = shift.reshape(-1).tolist(), axis.reshape(-1).tolist()
    if not input.ndim:
        raise InvalidArgumentError.of("input must be 1-D or higher")
    for name, value in (("shift", shift), ("axis", axis)):
        if value.ndim > 1:
            raise InvalidArgumentError.of(
                f"{name} must be a scalar or a 1-D vector. Found: {list(value.shape)}"
            )
    if len(shifts) != len(axes):
        raise InvalidArgumentError.of("shift and axis must have the same size")
    for at in axes:
        if not -input.ndim <= at < input.ndim:
            raise InvalidArgumentError.of(f"axis {at} is out of range")
    return xp.roll(input, tuple(shifts), tuple(axes))


@shape_function("Roll")
def _roll_shape(op: Operation) -> Any:
    x, shift, axis = (tensor.shape for tensor in op.inputs)
    require_rank_at_least(x, 1)
    require_rank_at_most(shift, 1)
    require_rank_at_most(axis, 1)
    merge_shapes(shift, axis)
    return (x,)


@gradient("Roll")
def _roll_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None, None]:
    return roll(grad, -op.inputs[1], op.inputs[2]), None, None


# Running sums


def _running_op(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
    *,
    op_type: str = "",
) -> Tensor:
    with name_scope(name, op_type, [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return new(op_type, scope, x=x, axis=axis, exclusive=exclusive, reverse=reverse)


@variant_of(_running_op, op_type="Cumsum")
def cumsum() -> None:
    """Returns running sums along a dimension.

    >>> import gpuplace as tf
    >>> tf.Session().run([tf.cumsum([1, 2, 3]), tf.cumsum([1, 2, 3], exclusive=True)])
    [array([1, 3, 6], dtype=int32), array([0, 1, 3], dtype=int32)]

    Args:
        x: numbers of rank 1 or more.
        axis: the dimension, a scalar int32 or int64; negative ones count from the end.
        exclusive: each sum leaves out its own element.
        reverse: run from the end.
        name: name of the op.

    Returns:
        A tensor like ``x``.

    Raises:
        TypeError: another type.
        InvalidArgumentError: when it runs: ``axis`` is out of range.
    """


@variant_of(_running_op, op_type="Cumprod")
def cumprod() -> None:
    """Returns running products along a dimension.

    Args:
        x: numbers of rank 1 or more.
        axis: the dimension, a scalar int32 or int64; negative ones count from the end.
        exclusive: each product leaves out its own element.
        reverse: run from the end.
        name: name of the op.

    Returns:
        A tensor like ``x``.

    Raises:
        TypeError: another type.
        InvalidArgumentError: when it runs: ``axis`` is out of range.
    """


def _axis(value: Any) -> int:
    return int_of(value, "ScanOp: axis must be a scalar, not")


@compute("Cumsum", fresh=True)
def _cumsum(xp: Any, x: Any, axis: Any, *, exclusive: bool, reverse: bool) -> Any:
    return _scan(xp, xp.cumsum, 0, x, _axis(axis), exclusive, reverse)


@compute("Cumprod", fresh=True)
def _cumprod(xp: Any, x: Any, axis: Any, *, exclusive: bool, reverse: bool) -> Any:
    return _scan(xp, xp.cumprod, 1, x, _axis(axis), exclusive, reverse)


def _scan(xp: Any, function: Any, neutral: float, x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    if not -x.ndim <= axis < x.ndim:
        raise InvalidArgumentError.of(
            f"ScanOp: Expected scan axis in the range [{-x.ndim}, {x.ndim}), but got {axis}"
        )
    moved = xp.moveaxis(x, axis, 0)
    moved = moved[::-1] if reverse else moved
    if exclusive and moved.shape[0]:
        first = xp.full((1, *moved.shape[1:]), neutral, x.dtype)
        moved = xp.concatenate([first, moved[:-1]], axis=0)
    result = _running(xp, function, moved)
    return xp.ascontiguousarray(xp.moveaxis(result[::-1] if reverse else result, 0, axis))


def _running(xp: Any, function: Any, x: Any) -> Any:
    """``function`` along the first axis; line by line where lines are long, as NumPy goes along the columns."""
    lines = math.prod(x.shape[1:])
    if xp is not np or lines < _LONG or len(x) < 2 or not x[0].flags.c_contiguous:
        return function(x, axis=0, dtype=x.dtype)
    step = np.add if function is np.cumsum else np.multiply
    result = np.empty(x.shape, x.dtype)
    result[0] = x[0]
    for index in range(1, len(x)):
        step(result[index - 1], x[index], out=result[index])
    return result


@variant_of(_running_op, op_type="CumulativeLogsumexp")
def cumulative_logsumexp() -> None:
    """Returns the logarithms of running sums of exponentials along a dimension.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.math.cumulative_logsumexp([0.0, 0.0, 0.0])).round(3).tolist()
    [0.0, 0.6930000185966492, 1.0989999771118164]

    Args:
        x: half, float32 or float64, of rank 1 or more.
        axis: the dimension, a scalar int32 or int64; negative ones count from the end.
        exclusive: each sum leaves out its own element; the first is the smallest number of the type.
        reverse: run from the end.
        name: name of the op.

    Returns:
        A tensor like ``x``.

    Raises:
        TypeError: another type.
        InvalidArgumentError: when it runs: ``axis`` is out of range.
    """


@compute("CumulativeLogsumexp", fresh=True)
def _cumulative_logsumexp(xp: Any, x: Any, axis: Any, *, exclusive: bool, reverse: bool) -> Any:
    lowest = as_dtype(x.dtype).min if rules() == "1.15" else -math.inf
    return _scan(
        xp, lambda x, axis, dtype: _running_logsumexp(xp, x), lowest, x, _axis(axis), exclusive, reverse
    )


def _running_logsumexp(xp: Any, x: Any) -> Any:
    """The running sums along the first axis."""
    result = xp.empty(x.shape, x.dtype)
    for index in range(len(x)):
        result[index] = xp.logaddexp(result[index - 1], x[index]) if index else x[index]
    return result


@gradient("CumulativeLogsumexp")
def _cumulative_logsumexp_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    """Sums of ``grad / exp(result)`` the other way round, by logarithms of their positive and negative parts."""
    x, axis = op.inputs
    exclusive, reverse = op.attrs["exclusive"], op.attrs["reverse"]
    result = op.outputs[0]
    lowest = like(x.dtype.min, x)

    def part(sign: Any) -> Tensor:
        here = new("Greater", x=sign, y=like(0, x))
        safe = new("SelectV2", condition=here, t=sign, e=new("OnesLike", x=sign))
        logs = new("SelectV2", condition=here, t=new("Log", x=safe), e=lowest)
        sums = cumulative_logsumexp(logs - result, axis, exclusive, not reverse)
        return new("Exp", x=sums + x)

    return part(grad) - part(-grad), None


shape_function("Cumsum", "Cumprod")(same_shape)


@gradient("Cumsum")
def _cumsum_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    return cumsum(grad, op.inputs[1], op.attrs["exclusive"], not op.attrs["reverse"]), None


@gradient("Cumprod")
def _cumprod_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    """Right where no element is 0, as TensorFlow's."""
    x, axis = op.inputs
    exclusive, back = op.attrs["exclusive"], op.attrs["reverse"]
    products = cumprod(x, axis, exclusive=exclusive, reverse=back)
    sums = cumsum(products * grad, axis, exclusive=exclusive, reverse=not back)
    return sums / x, None


# Positions


def _position(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dimension: TensorLike | None = None,
    output_type: DTypeLike = int64,
    *,
    op_type: str = "",
) -> Tensor:
    if axis is not None and dimension is not None:
        raise ValueError("Cannot specify both 'axis' and 'dimension'")
    at = dimension if axis is None else axis
    return new(op_type, name, input=input, dimension=0 if at is None else at, output_type=output_type)


@variant_of(_position, op_type="ArgMax")
def argmax() -> None:
    """Returns the positions of the greatest elements along a dimension, the first of several.

    Args:
        input: real numbers of rank 1 or more (on a GPU floating).
        axis: the dimension, a scalar int32 or int64; negative ones count from the end. None: 0.
        name: name of the op.
        dimension: the old name of ``axis``, deprecated.
        output_type: int32 or int64.

    Returns:
        Positions of type ``output_type``, in ``input``'s shape without that dimension.

    Raises:
        ValueError: both ``axis`` and ``dimension`` are given, or it is known to be out of range.
        InvalidArgumentError: when it runs: the dimension is out of range, or has no elements.
    """


@variant_of(_position, op_type="ArgMin")
def argmin() -> None:
    """Returns the positions of the least elements along a dimension, the first of several.

    Args:
        input: real numbers of rank 1 or more (on a GPU floating).
        axis: the dimension, a scalar int32 or int64; negative ones count from the end. None: 0.
        name: name of the op.
        dimension: the old name of ``axis``, deprecated.
        output_type: int32 or int64.

    Returns:
        Positions of type ``output_type``, in ``input``'s shape without that dimension.

    Raises:
        ValueError: both ``axis`` and ``dimension`` are given, or it is known to be out of range.
        InvalidArgumentError: when it runs: the dimension is out of range, or has no elements.
    """


def arg_max(
    input: TensorLike, dimension: TensorLike, output_type: DTypeLike = int64, name: str | None = None
) -> Tensor:
    """Returns the positions of the greatest elements along a dimension. Deprecated; see ``argmax``.

    Args:
        input: real numbers of rank 1 or more (on a GPU floating).
        dimension: the dimension, a scalar int32 or int64; negative ones count from the end.
        output_type: int32 or int64.
        name: name of the op.

    Returns:
        Positions of type ``output_type``, in ``input``'s shape without that dimension.

    Raises:
        ValueError: ``dimension`` is known to be out of range.
        InvalidArgumentError: when it runs: the dimension is out of range, or has no elements.
    """
    return argmax(input, dimension, name, output_type=output_type)


def arg_min(
    input: TensorLike, dimension: TensorLike, output_type: DTypeLike = int64, name: str | None = None
) -> Tensor:
    """Returns the positions of the least elements along a dimension. Deprecated; see ``argmin``.

    Args:
        input: real numbers of rank 1 or more (on a GPU floating).
        dimension: the dimension, a scalar int32 or int64; negative ones count from the end.
        output_type: int32 or int64.
        name: name of the op.

    Returns:
        Positions of type ``output_type``, in ``input``'s shape without that dimension.

    Raises:
        ValueError: ``dimension`` is known to be out of range.
        InvalidArgumentError: when it runs: the dimension is out of range, or has no elements.
    """
    return argmin(input, dimension, name, output_type=output_type)


@compute("ArgMax", "ArgMin", fresh=True)
def _arg_extreme(xp: Any, input: Any, dimension: Any, *, output_type: Any, ctx: Any) -> Any:
    axis = int_of(dimension, "dim must be a scalar, but received tensor of shape:")
    if not -input.ndim <= axis < input.ndim:
        raise InvalidArgumentError.of(
            f"Expected dimension in the range [{-input.ndim}, {input.ndim}), but got {axis}"
        )
    if not input.shape[axis]:
        shape = "[" + ",".join(map(str, input.shape)) + "]"
        raise InvalidArgumentError.of(f"Reduction axis {axis % input.ndim} is empty in shape {shape}")
    function = xp.argmax if ctx.op.type == "ArgMax" else xp.argmin
    return function(input, axis=axis).astype(output_type.as_numpy_dtype)


@shape_function("ArgMax", "ArgMin")
def _arg_extreme_shape(op: Operation) -> Any:
    sizes, axis = op.inputs[0].shape.sizes, constant_value(op.inputs[1])
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    if len(sizes) <= 1:
        return (TensorShape.of(()),)
    if axis is None:
        return (TensorShape.of((None,) * (len(sizes) - 1)),)
    if not -len(sizes) <= int(axis) < len(sizes):
        raise ValueError(f"Dimension ({int(axis)}) must be in the range [{-len(sizes)}, {len(sizes)}), where"
                         f" {len(sizes)} is the number of dimensions in the input.")  # fmt: skip
    at = int(axis) % len(sizes)
    return (TensorShape.of(sizes[:at] + sizes[at + 1 :]),)


not_differentiable("ArgMax", "ArgMin")


# Distinct values


def unique(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> Any:
    """Returns the distinct values of a vector in the order they appear, and each element's place among them.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.unique([4, 4, 2]))
    UniqueValues(y=array([4, 2], dtype=int32), idx=array([0, 0, 1], dtype=int32))

    Args:
        x: ``[n]``, numbers, bools or strings; in host memory, whatever the device.
        out_idx: type of the places, int32 or int64.
        name: name of the op.

    Returns:
        ``y``, ``[count]``, of ``x``'s type, and ``idx``, ``[n]``, of type ``out_idx``.

    Raises:
        InvalidArgumentError: when it runs: ``x`` is not a vector.
    """
    op = apply_op("Unique", name, x=x, out_idx=out_idx)
    return UniqueValues(*op.outputs)


def unique_with_counts(x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None) -> Any:
    """Returns what ``unique`` does, and how often each value appears; on the CPU only.

    Args:
        x: ``[n]``, numbers, bools or strings.
        out_idx: type of places and counts, int32 or int64.
        name: name of the op.

    Returns:
        ``y``, ``[count]``, of ``x``'s type, ``idx``, ``[n]``, and ``count``, ``[count]``, of type ``out_idx``.

    Raises:
        InvalidArgumentError: when it runs: ``x`` is not a vector.
    """
    op = apply_op("UniqueWithCounts", name, x=x, out_idx=out_idx)
    return UniqueCounts(*op.outputs)


@compute("Unique", "UniqueWithCounts", slow=True)
def _unique(xp: Any, x: Any, *, out_idx: Any, ctx: Any) -> Any:
    if x.ndim != 1:
        raise InvalidArgumentError.of("unique expects a 1D vector.")
    keys = ordered_keys(x) if x.size >= _LONG else None
    if keys is not None:
        values, index, counts = _distinct(xp, x, keys)
        found = values, index.astype(out_idx.as_numpy_dtype)
        return found if ctx.op.type == "Unique" else (*found, counts.astype(out_idx.as_numpy_dtype))
    places: dict[Any, int] = {}
    index = [places.setdefault(value, len(places)) for value in x.tolist()]
    kind = out_idx.as_numpy_dtype
    if x.dtype == object:
        values = xp.empty(len(places), object)
        values[:] = list(places)
    else:
        values = xp.array(list(places), x.dtype)
    found = values, xp.array(index, kind)
    if ctx.op.type == "Unique":
        return found
    return *found, xp.bincount(xp.array(index, xp.int64), minlength=len(places)).astype(kind)


@compute("UniqueV2", "UniqueWithCountsV2", slow=True)
def _unique_along(xp: Any, x: Any, axis: Any, *, out_idx: Any, ctx: Any) -> Any:
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
    found = xp.moveaxis(slices[xp.array(firsts, xp.int64)], 0, at), xp.array(index, kind)
    if not has_counts:
        return found
    return *found, xp.bincount(xp.array(index, xp.int64), minlength=len(places)).astype(kind)


@shape_function("UniqueV2", "UniqueWithCountsV2")
def _unique_along_shape(op: Operation) -> Any:
    x, vector = op.inputs[0].shape, TensorShape.of((None,))
    values = vector if x.ndims == 1 else UNKNOWN_SHAPE
    index = x if x.ndims == 1 else vector
    return (values, index, vector)[: len(op.op_def.outputs)]  # type: ignore[union-attr]


def _distinct(xp: Any, x: Any, keys: Any) -> tuple[Any, Any, Any]:
    """The distinct values in the order of their first appearance, each element's place among them, and counts."""
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
def _unique_shape(op: Operation) -> Any:
    vector = TensorShape.of((None,))
    return (vector, op.inputs[0].shape, vector)[: len(op.op_def.outputs)]  # type: ignore[union-attr]


def setdiff1d(x: TensorLike, y: TensorLike, index_dtype: DTypeLike = int32, name: str | None = None) -> Any:
    """Returns the values of a vector that are not in another, and their positions; on the CPU only.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.setdiff1d([1, 2, 3, 4], [2, 4])).out.tolist()
    [1, 3]

    Args:
        x: ``[n]``, numbers or strings.
        y: ``[m]``, of the same type: what is left out.
        index_dtype: type of the positions, int32 or int64.
        name: name of the op.

    Returns:
        ``out``, of ``x``'s type, and ``idx``, of type ``index_dtype``, equally long.

    Raises:
        TypeError: the types differ.
    """
    return ListDifference(*apply_op("ListDiff", name, x=x, y=y, out_idx=index_dtype).outputs)


@compute("ListDiff")
def _list_diff(xp: Any, x: Any, y: Any, *, out_idx: Any) -> Any:
    others = set(y.tolist())
    keep = [index for index, value in enumerate(x.tolist()) if value not in others]
    at = xp.array(keep, out_idx.as_numpy_dtype)
    return x[at], at


@shape_function("ListDiff")
def _list_diff_shape(op: Operation) -> Any:
    return (TensorShape.of((None,)),) * 2


class UniqueValues(NamedTuple):
    """What ``unique`` gives."""

    y: Any
    """[n]: the values, each once."""
    idx: Any
    """Position in ``y`` of every element."""


class UniqueCounts(NamedTuple):
    """What ``unique_with_counts`` gives."""

    y: Any
    """[n]: the values, each once."""
    idx: Any
    """Position in ``y`` of every element."""
    count: Any
    """[n]: how often each value occurs."""


class ListDifference(NamedTuple):
    """What ``setdiff1d`` gives."""

    out: Any
    """[n]: the values."""
    idx: Any
    """[n]: their positions."""


def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """Returns the permutation that undoes ``x``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.invert_permutation([2, 0, 1])).tolist()
    [1, 2, 0]

    Args:
        x: ``[n]``, int32 or int64: the numbers from 0 to n - 1 in some order.
        name: name of the op.

    Returns:
        A vector like ``x``.

    Raises:
        TypeError: another type.
        InvalidArgumentError: when it runs: ``x`` is no permutation.
    """
    return new("InvertPermutation", name, x=x)


@compute("InvertPermutation")
def _invert_permutation(xp: Any, x: Any) -> Any:
    if x.ndim != 1:
        raise InvalidArgumentError.of("invert_permutation expects a 1D vector.")
    count = x.shape[0]
    result = xp.full(count, -1, x.dtype)
    for index, value in enumerate(x.tolist()):
        if not 0 <= value < count:
            raise InvalidArgumentError.of(f"{value} is not between 0 and {count}")
        if result[value] != -1:
            raise InvalidArgumentError.of(f"{value} is duplicated in the input.")
        result[value] = index
    return result


@shape_function("InvertPermutation")
def _invert_permutation_shape(op: Operation) -> Any:
    return (require_rank(op.inputs[0].shape, 1),)


not_differentiable("InvertPermutation")


def sequence_mask(
    lengths: TensorLike,
    maxlen: TensorLike | None = None,
    dtype: DTypeLike = bool_type,
    name: str | None = None,
) -> Tensor:
    """Returns rows that are True as far as a length says.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.sequence_mask([1, 3], 4, tf.int32)).tolist()
    [[1, 0, 0, 0], [1, 1, 1, 0]]

    Args:
        lengths: integers of any shape.
        maxlen: length of a row, a scalar integer. None: the greatest of ``lengths``.
        dtype: type of the result; 1 and 0 for numbers.
        name: name of the scope.

    Returns:
        ``[*lengths.shape, maxlen]`` of type ``dtype``.

    Raises:
        ValueError: ``maxlen`` is not a scalar.
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            rank = lengths.shape.ndims
            axes = (
                make_constant(list(range(rank)), int32)
                if rank is not None
                else new("Range", start=0, limit=new("Rank", input=lengths), delta=1)
            )
            longest = new("Max", input=lengths, reduction_indices=axes)
            maxlen = new("Maximum", x=make_constant(0, longest.dtype.base_dtype), y=longest)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.shape.ndims not in (0, None):
            raise ValueError("maxlen must be scalar for sequence_mask")
        kind = maxlen.dtype.base_dtype
        row = new("Range", start=make_constant(0, kind), limit=maxlen, delta=make_constant(1, kind))
        column = cast(new("ExpandDims", input=lengths, dim=-1), kind)
        if column.op.type == "ExpandDims":
            column = new("Cast", x=column, DstT=kind)
        result = new("Less", x=row, y=column)
        wanted = as_dtype(dtype).base_dtype
        return result if wanted is bool_type else cast(result, wanted)


def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Returns where values would go in sorted rows.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.searchsorted([1, 3, 5], [3, 4])).tolist()
    [1, 2]

    Args:
        sorted_sequence: ``[..., n]``, real numbers, sorted along the last dimension.
        values: ``[..., m]``, of the same type, with the same leading sizes.
        side: ``"left"``: before equal elements; ``"right"``: behind them.
        out_type: int32 or int64.
        name: name of the op.

    Returns:
        Positions from 0 to ``n`` of type ``out_type``, in ``values``' shape.

    Raises:
        ValueError: ``side`` is neither ``"left"`` nor ``"right"``.
        TypeError: the types differ.
        InvalidArgumentError: when it runs: the numbers of rows differ.
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    sequence = convert_to_tensor(sorted_sequence)
    values = convert_to_tensor(values)
    last = [_shape(tensor)[-1] for tensor in (sequence, values)]
    flat = [new("Reshape", tensor=t, shape=[-1, n]) for t, n in zip((sequence, values), last, strict=True)]
    op_type = "UpperBound" if side == "right" else "LowerBound"
    found = new(op_type, name, sorted_inputs=flat[0], values=flat[1], out_type=out_type)
    return new("Reshape", tensor=found, shape=_shape(values))


def _shape(tensor: Tensor) -> Tensor:
    if tensor.shape.is_fully_defined():
        return make_constant(tensor.shape.as_list(), int32, name="Shape")
    return new("Shape", input=tensor)


@compute("LowerBound", "UpperBound")
def _bound(xp: Any, sorted_inputs: Any, values: Any, *, out_type: Any, ctx: Any) -> Any:
    if sorted_inputs.shape[0] != values.shape[0]:
        raise InvalidArgumentError.of(
            f"Leading dim_size of both tensors must match: {sorted_inputs.shape[0]}, {values.shape[0]}"
        )
    side = "right" if ctx.op.type == "UpperBound" else "left"
    rows = [xp.searchsorted(row, wanted, side) for row, wanted in zip(sorted_inputs, values, strict=True)]
    found = xp.stack(rows) if rows else xp.zeros(values.shape, xp.int64)
    return found.astype(out_type.as_numpy_dtype)


shape_function("LowerBound", "UpperBound")(shape_of_second)


not_differentiable("LowerBound", "UpperBound")


def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Returns how often (or with what total weight) each of 0, 1, ... appears.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.bincount([1, 1, 3])).tolist()
    [0, 2, 0, 1]

    Args:
        arr: int32 of any shape, none negative.
        weights: what each element counts, int32, int64, float32 or float64 in ``arr``'s shape. None: 1.
        minlength: the least length of the result, a scalar int32. None: any.
        maxlength: its greatest length; greater numbers are not counted. None: any.
        dtype: type of the counts where there are no weights, as theirs.
        name: name of the scope.

    Returns:
        ``[greatest number + 1]`` within these limits; the type of the weights, or ``dtype``.

    Raises:
        InvalidArgumentError: when it runs: a negative number or length.
    """
    with name_scope(name, "bincount"):
        arr = convert_to_tensor(arr, int32, name="arr")
        full = reduce_prod(_shape(arr)) > 0
        size: Any = cast(full, int32) * (reduce_max(arr) + 1)
        if minlength is not None:
            size = new("Maximum", x=minlength, y=size)
        if maxlength is not None:
            size = new("Minimum", x=maxlength, y=size)
        given = (
            convert_to_tensor(weights, name="weights")
            if weights is not None
            else make_constant([], as_dtype(dtype))
        )
        return new("Bincount", arr=arr, size=size, weights=given)


@compute("Bincount")
def _bincount(xp: Any, arr: Any, size: Any, weights: Any) -> Any:
    length = int(size)
    if length < 0:
        raise InvalidArgumentError.of(f"size ({length}) must be non-negative")
    flat = arr.reshape(-1)
    if (flat < 0).any():
        raise InvalidArgumentError.of("Input arr must be non-negative!")
    inside = flat < length
    result = xp.zeros(length, weights.dtype)
    added = weights.reshape(-1)[inside] if weights.size else xp.ones(int(inside.sum()), weights.dtype)
    xp.add.at(result, flat[inside], added)
    return result


@shape_function("Bincount")
def _bincount_shape(op: Operation) -> Any:
    require_rank(op.inputs[1].shape, 0)
    size = constant_value(op.inputs[1])
    if size is not None and size < 0:
        raise ValueError(f"size ({int(size)}) must be non-negative")
    return (TensorShape.of((None if size is None else int(size),)),)
