"""Order and length: reverse, roll, sequence masks, counts of numbers.

Source: tensorflow/python/ops/array_ops.py, math_ops.py, array_grad.py and tensorflow/core/kernels/reverse_op.cc,
reverse_sequence_op.cc, roll_op.cc, bincount_op.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import as_dtype, int32
from gpuplace.dtypes import bool as bool_type
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, make_constant, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.reduction import reduce_max, reduce_prod
from gpuplace.ops.shape_rules import (
    merge_shapes,
    merge_sizes,
    require_rank,
    require_rank_at_least,
    require_rank_at_most,
)
from gpuplace.ops.support import new, shape_tensor
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule, DTypeLike, TensorLike

__all__ = [
    "reverse", "reverse_v2", "reverse_sequence", "roll", "sequence_mask", "bincount",
]  # fmt: skip


def reverse(tensor: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """Reverse ``tensor`` along some dimensions.

    Args:
        tensor: numbers, bools or strings of any shape.
        axis: the dimensions, an int32 or int64 vector; negative values count from the end.
        name: name of the op.

    Returns:
        A tensor like ``tensor``.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, a dimension is out of range or occurs twice.
    """
    return new("ReverseV2", name, tensor=tensor, axis=axis)


reverse_v2 = reverse


@compute("ReverseV2")
def _reverse(xp: ArrayModule, tensor: Array, axis: Array) -> Array:
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
def _reverse_shape(op: Operation) -> tuple[TensorShape, ...]:
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
    """Reverse the start of each slice of ``input``, up to the slice's length.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.reverse_sequence([[1, 2, 3], [4, 5, 6]], [2, 3], seq_axis=1)).tolist()
    [[2, 1, 3], [6, 5, 4]]

    Args:
        input: numbers or bools (on a GPU bools or floating).
        seq_lengths: ``[input.shape[batch_axis]]``, int32 or int64: the number of elements to reverse in each slice.
        seq_axis: the dimension to reverse along. None: 0.
        batch_axis: the dimension of the slices. None: 0.
        name: name of the op.
        seq_dim: deprecated name of ``seq_axis``.
        batch_dim: deprecated name of ``batch_axis``.

    Returns:
        A tensor like ``input``.

    Raises:
        InvalidArgumentError: at run time, a dimension is out of range, the number of lengths differs from that of the
            slices or, on the CPU, a length is negative or too large.
    """
    sequence = seq_axis if seq_dim is None else seq_dim
    batch = batch_axis if batch_dim is None else batch_dim
    return new(
        "ReverseSequence", name, input=input, seq_lengths=seq_lengths, seq_dim=0 if sequence is None else sequence,
        batch_dim=0 if batch is None else batch,
    )  # fmt: skip


@compute("ReverseSequence")
def _reverse_sequence(
    xp: ArrayModule, input: Array, seq_lengths: Array, *, seq_dim: int, batch_dim: int
) -> Array:
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
def _reverse_sequence_shape(op: Operation) -> tuple[TensorShape, ...]:
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
    """Shift ``input`` along some dimensions; elements shifted out at the end reappear at the start.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.roll([1, 2, 3], 1, 0)).tolist()
    [3, 1, 2]

    Args:
        input: a tensor of rank 1 or more, of any type (on a GPU float16, float32, float64, complex, int32 or int64).
        shift: number of positions, an int32 or int64 scalar or vector.
        axis: the dimension of each shift, int32 or int64.
        name: name of the op.

    Returns:
        A tensor like ``input``.

    Raises:
        InvalidArgumentError: at run time, ``shift`` and ``axis`` differ in length, or a dimension is out of range.
    """
    return new("Roll", name, input=input, shift=shift, axis=axis)


@compute("Roll")
def _roll(xp: ArrayModule, input: Array, shift: Array, axis: Array) -> Array:
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
def _roll_shape(op: Operation) -> tuple[TensorShape, ...]:
    x, shift, axis = (tensor.shape for tensor in op.inputs)
    require_rank_at_least(x, 1)
    require_rank_at_most(shift, 1)
    require_rank_at_most(axis, 1)
    merge_shapes(shift, axis)
    return (x,)


@gradient("Roll")
def _roll_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None, None]:
    return roll(grad, -op.inputs[1], op.inputs[2]), None, None


def sequence_mask(
    lengths: TensorLike,
    maxlen: TensorLike | None = None,
    dtype: DTypeLike = bool_type,
    name: str | None = None,
) -> Tensor:
    """Return rows that are True up to a length.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.sequence_mask([1, 3], 4, tf.int32)).tolist()
    [[1, 0, 0, 0], [1, 1, 1, 0]]

    Args:
        lengths: integers of any shape.
        maxlen: length of a row, a scalar integer. None: the maximum of ``lengths``.
        dtype: dtype of the result; number types use 1 and 0.
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
        result_type = as_dtype(dtype).base_dtype
        return result if result_type is bool_type else cast(result, result_type)


def bincount(
    arr: TensorLike,
    weights: TensorLike | None = None,
    minlength: TensorLike | None = None,
    maxlength: TensorLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Return the count, or the total weight, of each of 0, 1, ...

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.bincount([1, 1, 3])).tolist()
    [0, 2, 0, 1]

    Args:
        arr: non-negative int32 numbers of any shape.
        weights: the weight of each element, int32, int64, float32 or float64 in ``arr``'s shape. None: 1.
        minlength: minimum length of the result, a scalar int32. None: no minimum.
        maxlength: maximum length of the result; larger numbers are not counted. None: no maximum.
        dtype: dtype of the counts without weights.
        name: name of the scope.

    Returns:
        ``[largest number + 1]`` within these limits; of the weights' type, or ``dtype``.

    Raises:
        InvalidArgumentError: at run time, a number or length is negative.
    """
    with name_scope(name, "bincount"):
        arr = convert_to_tensor(arr, int32, name="arr")
        full = reduce_prod(shape_tensor(arr)) > 0
        size: Any = cast(full, int32) * (reduce_max(arr) + 1)
        if minlength is not None:
            size = new("Maximum", x=minlength, y=size)
        if maxlength is not None:
            size = new("Minimum", x=maxlength, y=size)
        element_weights = (
            convert_to_tensor(weights, name="weights")
            if weights is not None
            else make_constant([], as_dtype(dtype))
        )
        return new("Bincount", arr=arr, size=size, weights=element_weights)


@compute("Bincount")
def _bincount(xp: ArrayModule, arr: Array, size: Array, weights: Array) -> Array:
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
def _bincount_shape(op: Operation) -> tuple[TensorShape, ...]:
    require_rank(op.inputs[1].shape, 0)
    size = constant_value(op.inputs[1])
    if size is not None and size < 0:
        raise ValueError(f"size ({int(size)}) must be non-negative")
    return (TensorShape.of((None if size is None else int(size),)),)
