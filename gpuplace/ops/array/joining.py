"""Join and split tensors: concat, stack, split.

Source: tensorflow/python/ops/array_ops.py, array_grad.py and tensorflow/core/kernels/concat_op.cc, pack_op.cc,
split_op.cc, split_v_op.cc, release 1.15.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import int32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, make_constant, name_scope
from gpuplace.graph.op_sets import EXITS
from gpuplace.graph.operation import Operation, Tensor, context_of
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder, compute
from gpuplace.numerics.arguments import int_of
from gpuplace.ops.array.reshaping import rank
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.shape_rules import merge_shapes, require_axis, require_rank
from gpuplace.ops.support import new, new_list
from gpuplace.shapes import UNKNOWN_SHAPE, Dimension, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["concat", "stack", "unstack", "parallel_stack", "split"]


def _axis_in(axis: int, rank: int, sentence: str) -> int:
    """Return ``axis`` counted from the front; raise InvalidArgumentError with ``sentence`` if it is out of range."""
    if not -rank <= axis < rank:
        raise InvalidArgumentError.of(sentence)
    return axis % rank if rank else 0


def concat(values: Any, axis: TensorLike, name: str = "concat") -> Tensor:
    """Return tensors joined along an existing dimension.

    >>> import gpuplace as tf
    >>> tf.concat([tf.zeros([2, 3]), tf.zeros([2, 1])], axis=1).shape.as_list()
    [2, 4]

    Args:
        values: a list of tensors of one type and of one rank, at least 1, whose other sizes are equal.
        axis: the dimension, a scalar int32 or int64; negative values count from the end.
        name: name of the op.

    Returns:
        A tensor of that type.

    Raises:
        ValueError: static ranks or sizes do not match, or ``axis`` is out of range.
        TypeError: the types differ.
        InvalidArgumentError: at run time, ranks or sizes do not match.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        with name_scope(name, "concat", [axis, *values]):
            axis = convert_to_tensor(axis, int32, name="concat_dim")
            if axis.shape.ndims not in (0, None):
                raise ValueError(f"Shape {axis.shape} must have rank 0")
            return new("Identity", name, input=values[0])
    return new("ConcatV2", name, values=list(values), axis=axis)


def _join(xp: ArrayModule, values: Sequence[Any], axis: int) -> Array:
    try:
        return xp.concatenate(values, axis=axis)
    except ValueError:
        _check_join(values, axis)
        raise


def _check_join(values: Sequence[Any], axis: int) -> None:
    """Raise an error with TensorFlow's message if the arrays do not match."""
    first = values[0]
    at = _axis_in(
        axis,
        first.ndim,
        f"ConcatOp : Expected concatenating dimensions in the range [{-first.ndim}, {first.ndim}), but got {axis}",
    )
    for index, value in enumerate(values):
        if value.ndim != first.ndim or any(
            a != b for d, (a, b) in enumerate(zip(value.shape, first.shape, strict=True)) if d != at
        ):
            label = "Dimensions of inputs" if value.ndim == first.ndim else "Ranks of all input tensors"
            raise InvalidArgumentError.of(
                f"ConcatOp : {label} should match: shape[0] ="
                f" {brackets(TensorShape(first.shape))} vs. shape[{index}] = {brackets(TensorShape(value.shape))}"
            )


def _axis(value: object) -> int:
    return int_of(value, "axis tensor should be a scalar integer, but got shape")


@binder("ConcatV2", fresh=True)
def _concat_v2(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    static = constant_value(op.inputs[-1])  # the array that a step passes, unless the step feeds an axis
    if static is None or static.ndim:
        return lambda *tensors: _join(xp, tensors[:-1], _axis(tensors[-1]))
    axis = int(static)
    return lambda *tensors: _join(xp, tensors[:-1], axis if tensors[-1] is static else _axis(tensors[-1]))


@compute("Concat", fresh=True)
def _concat(xp: ArrayModule, concat_dim: Array, values: list[Any]) -> Array:
    return _join(xp, values, _axis(concat_dim))


@shape_function("ConcatV2", "Concat")
def _concat_shape(op: Operation) -> Any:
    at = op.inputs[-1] if op.type == "ConcatV2" else op.inputs[0]
    shapes = [tensor.shape for tensor in (op.inputs[:-1] if op.type == "ConcatV2" else op.inputs[1:])]
    ranks = {shape.ndims for shape in shapes if shape.ndims is not None}
    if len(ranks) > 1:
        raise ValueError(f"Shape must be rank {min(ranks)} but is rank {max(ranks)}")
    require_rank(at.shape, 0)
    axis = constant_value(at)
    if not ranks:
        return (UNKNOWN_SHAPE,)
    rank = ranks.pop()
    if rank == 0:
        raise ValueError("Can't concatenate scalars (use tf.stack instead)")
    if axis is None:
        return (TensorShape.of((None,) * rank),)
    require_axis(TensorShape.of((None,) * rank), int(axis))
    along = int(axis) % rank
    total: int | None = 0
    before, after = TensorShape.of((None,) * along), TensorShape.of((None,) * (rank - along - 1))
    for shape in reversed(shapes):
        sizes = shape.sizes or (None,) * rank
        total = None if total is None or sizes[along] is None else total + sizes[along]  # type: ignore[operator]
        before = merge_shapes(TensorShape.of(sizes[:along]), before)
        after = merge_shapes(TensorShape.of(sizes[along + 1 :]), after)
    assert before.sizes is not None and after.sizes is not None
    return (TensorShape.of((*before.sizes, total, *after.sizes)),)


@gradient("ConcatV2", "Concat")
def _concat_grad(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """Gradient of a concat: slices at the offset of each input."""
    is_v2 = op.type == "ConcatV2"
    axis = op.inputs[-1] if is_v2 else op.inputs[0]
    values = op.inputs[:-1] if is_v2 else op.inputs[1:]
    if len(values) == 1:
        parts: list[Tensor | None] = [grad]
    else:
        if axis.op.type == "Const" and _context(axis) is not _context(grad):
            axis = make_constant(constant_value(axis), axis.dtype, name="Const")
        positive = new("FloorMod", "mod", x=axis, y=rank(values[0]))
        sizes = _known_sizes(values) or new_list("ShapeN", input=list(values))
        if len(sizes) > _SLICES_AT_MOST:
            along = new("Slice", input=stack(sizes, axis=1), begin=stack([positive, 0]), size=[1, -1])
            lengths = new("Squeeze", input=along)
            parts = list(
                new_list("SplitV", value=grad, size_splits=lengths, split_dim=positive, num_split=len(sizes))
            )
        else:
            offsets = new_list("ConcatOffset", concat_dim=positive, shape=sizes)
            parts = [
                new("Slice", input=grad, begin=begin, size=length)
                for begin, length in zip(offsets, sizes, strict=True)
            ]
    return [*parts, None] if is_v2 else [None, *parts]


_SLICES_AT_MOST = 16
"""Up to this number of inputs, gradients are cut out one by one; for more inputs, a single split cuts them all."""


def _known_sizes(values: Sequence[Tensor]) -> list[Tensor]:
    """Return the static shapes as constants; an empty list, and an unused op as in TensorFlow, if one is unknown."""
    sizes = []
    for value in values:
        sizes.append(shape_of(value))
        if not value.shape.is_fully_defined():
            return []
    return sizes


def _context(tensor: Tensor) -> Any:
    """Return the control flow context of a tensor; an exit's result is in the outer one."""
    context = context_of(tensor.op)
    return context.outer_context if context is not None and tensor.op.type in EXITS else context


@compute("ConcatOffset")
def _concat_offset(xp: ArrayModule, concat_dim: Array, shape: list[Any]) -> Any:
    axis, offset, results = int(concat_dim), 0, []
    for index, sizes in enumerate(shape):
        if sizes.ndim != 1:
            raise InvalidArgumentError.of(
                f"input {index} should be a vector, but got shape {brackets(TensorShape(sizes.shape))}"
            )
    first = shape[0].tolist()
    _axis_in(axis, len(first), f"Concat dim is out of range: {axis} vs. {len(first)}")
    axis %= len(first)
    for index, sizes in enumerate(shape):
        if len(sizes) != len(first):
            raise InvalidArgumentError.of(
                f"input {index} should contain {len(first)} elements, but got {len(sizes)}"
            )
        if any(left != right for at, (left, right) in enumerate(zip(first, sizes.tolist())) if at != axis):
            raise InvalidArgumentError.of(
                f"All dimensions except {axis} must match. Input {index} has shape"
                f" [{' '.join(map(str, sizes.tolist()))}] and doesn't match input 0 with shape"
                f" [{' '.join(map(str, first))}]."
            )
        begin = xp.zeros_like(sizes)
        begin[axis] = offset
        offset += int(sizes[axis])
        results.append(begin)
    return tuple(results)


@shape_function("ConcatOffset")
def _concat_offset_shape(op: Operation) -> Any:
    return tuple(tensor.shape for tensor in op.inputs[1:])


not_differentiable("ConcatOffset")


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Return tensors joined along a new dimension; a list of plain values becomes a constant.

    >>> import gpuplace as tf
    >>> tf.stack([tf.zeros([2, 3])] * 5, axis=1).shape.as_list()
    [2, 5, 3]

    Args:
        values: a non-empty list of tensors of one type and shape.
        axis: position of the new dimension; negative values count from the end of the result's dimensions.
        name: name of the op.

    Returns:
        A tensor of that type with one dimension more.

    Raises:
        ValueError: static shapes differ, or ``axis`` is out of range.
        TypeError: the types differ.
        InvalidArgumentError: at run time, the shapes differ.
    """
    if axis == 0:
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass  # not one constant: the op reports the error
    sizes = convert_to_tensor(values[0], name="value_shape").shape.sizes
    if sizes is not None:
        rank = len(sizes) + 1
        if not -rank <= axis < rank:
            raise ValueError(f"axis = {axis} not in [{-rank}, {rank})")
    return new("Pack", name, values=list(values), axis=axis)


@compute("Pack", fresh=True)
def _pack(xp: Any, values: list[Any], *, axis: int) -> Any:
    if not hasattr(values[0], "shape"):  # resources, and datasets and other variants
        packed = np.empty(len(values), object)
        packed[:] = values
        return packed
    for index, value in enumerate(values):
        if value.shape != values[0].shape:
            raise InvalidArgumentError.of(
                f"Shapes of all inputs must match: values[0].shape = {brackets(TensorShape(values[0].shape))} !="
                f" values[{index}].shape = {brackets(TensorShape(value.shape))}"
            )
    rank = values[0].ndim + 1
    _axis_in(axis, rank, f"axis = {axis} not in [{-rank}, {rank})")
    return xp.stack(values, axis=axis)


@shape_function("Pack")
def _pack_shape(op: Operation) -> Any:
    shape = op.inputs[-1].shape
    for index in reversed(range(len(op.inputs) - 1)):
        try:
            shape = merge_shapes(op.inputs[index].shape, shape)
        except ValueError as error:
            raise ValueError(f"{error}\n\tFrom merging shape {index} with other shapes.") from None
    if shape.sizes is None:
        return (UNKNOWN_SHAPE,)
    rank, axis = len(shape.sizes) + 1, op.attrs["axis"]
    if not -rank <= axis < rank:
        raise ValueError(f"Invalid axis: {axis}; must be in [{-rank},{rank})")
    at = axis % rank
    return (TensorShape.of((*shape.sizes[:at], len(op.inputs), *shape.sizes[at:])),)


@gradient("Pack")
def _pack_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    return new_list("Unpack", "unstack", value=grad, num=op.attrs["N"], axis=op.attrs["axis"])


def parallel_stack(values: Any, name: str = "parallel_stack") -> Tensor:
    """Return tensors joined along a new first dimension (op ``ParallelConcat``).

    Args:
        values: a list of tensors of one type and one static shape.
        name: name of the scope.

    Returns:
        ``[len(values), ...]`` of that type.
    """
    with name_scope(name, "parallel_stack", list(values)):
        first = convert_to_tensor(values[0])
        shape = TensorShape([len(values)]).concatenate(first.shape)
        return new(
            "ParallelConcat", values=[new("ExpandDims", input=value, dim=0) for value in values], shape=shape
        )


@compute("ParallelConcat")
def _parallel_concat(xp: ArrayModule, values: list[Any], *, shape: Any) -> Array:
    return _join(xp, values, 0)


@shape_function("ParallelConcat")
def _parallel_concat_shape(op: Operation) -> Any:
    if not all(tensor.shape.is_fully_defined() for tensor in op.inputs):
        raise ValueError("All input shapes must be fully defined.")
    if any(tensor.shape.ndims == 0 or tensor.shape[0].value != 1 for tensor in op.inputs):
        raise ValueError("Size of first dimension must be 1.")
    return (op.attrs["shape"],)


def unstack(value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """Return the slices of a tensor along a dimension, without that dimension.

    Args:
        value: a tensor of rank 1 or more, of any type.
        num: the size of the dimension. None: the static size.
        axis: the dimension; negative values count from the end.
        name: name of the op.

    Returns:
        A list of ``num`` tensors of that type.

    Raises:
        ValueError: the size of the dimension is unknown and ``num`` is None, the two differ, or ``axis`` is out of
            range.
    """
    if num is None:
        value = convert_to_tensor(value)
        sizes = value.shape.sizes
        if sizes is not None:
            if not -len(sizes) <= axis < len(sizes):
                raise ValueError(f"axis = {axis} not in [{-len(sizes)}, {len(sizes)})")
            num = sizes[axis]
        if num is None:
            raise ValueError(f"Cannot infer num from shape {value.shape}")
    return new_list("Unpack", name, value=value, num=num, axis=axis)


@compute("Unpack", views=True)
def _unpack(xp: ArrayModule, value: Array, *, num: int, axis: int) -> Any:
    at = _axis_in(axis, value.ndim, f"axis = {axis} not in [{-value.ndim}, {value.ndim})")
    if value.shape[at] != num:
        raise InvalidArgumentError.of(
            f"Input shape axis {axis} must equal {num}, got shape {brackets(TensorShape(value.shape))}"
        )
    moved = xp.moveaxis(value, at, 0)
    return tuple(xp.asarray(moved[index]) for index in range(num))


@shape_function("Unpack")
def _unpack_shape(op: Operation) -> Any:
    sizes, axis, num = op.inputs[0].shape.sizes, op.attrs["axis"], op.attrs["num"]
    if sizes is None:
        return (UNKNOWN_SHAPE,) * num
    if not -len(sizes) <= axis < len(sizes):
        raise ValueError(f"Invalid axis: {axis}; must be in [{-len(sizes)},{len(sizes)})")
    at = axis % len(sizes)
    if sizes[at] not in (None, num):
        raise ValueError(f"Dimension must be {num} but is {sizes[at]}")
    return (TensorShape.of(sizes[:at] + sizes[at + 1 :]),) * num


@gradient("Unpack")
def _unpack_grad(op: Operation, *grads: Tensor) -> Tensor:
    return stack(list(grads), axis=op.attrs["axis"])


def split(
    value: TensorLike,
    num_or_size_splits: TensorLike,
    axis: TensorLike = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """Split a tensor along a dimension, into a number of equal parts or into parts of given sizes.

    >>> import gpuplace as tf
    >>> [part.shape.as_list() for part in tf.split(tf.zeros([2, 6]), [1, -1], axis=1)]
    [[2, 1], [2, 5]]

    Args:
        value: a tensor of any type.
        num_or_size_splits: an integer, the number of parts; or an integer vector of sizes, where one -1 means the rest.
        axis: the dimension, a scalar int32; negative values count from the end.
        num: the number of sizes, if it is unknown from their tensor.
        name: name of the op.

    Returns:
        A list of tensors of that type.

    Raises:
        ValueError: the number of parts is unknown or does not divide the dimension, or the sizes do not match it.
        InvalidArgumentError: at run time, in the same cases.
    """
    size_splits = convert_to_tensor(num_or_size_splits)
    if isinstance(num_or_size_splits, (int, Dimension)) and not isinstance(num_or_size_splits, bool):
        return new_list("Split", name, split_dim=axis, value=value, num_split=int(num_or_size_splits))
    if size_splits.shape.ndims == 0:
        raise ValueError("Rank-0 tensors are not supported as the num_or_size_splits argument to split.")
    if num is None:
        num = size_splits.shape.sizes[0] if size_splits.shape.sizes else None
        if num is None:
            raise ValueError(f"Cannot infer num from shape {num_or_size_splits}")
    return new_list("SplitV", name, value=value, size_splits=size_splits, split_dim=axis, num_split=num)


def _cut(xp: ArrayModule, value: Array, axis: int, lengths: Sequence[int]) -> Any:
    return tuple([value[part] for part in _parts(axis, tuple(lengths))])


@functools.lru_cache(256)
def _parts(axis: int, lengths: tuple[int, ...]) -> list[tuple[slice, ...]]:
    """Return the slices of pieces of these lengths along an axis."""
    ends = itertools.accumulate(lengths)
    return [(slice(None),) * axis + (slice(end - length, end),) for length, end in zip(lengths, ends)]


@binder("Split", views=True)
def _bind_split(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    """Bind a split whose positions are static, unless the step feeds another axis."""
    count = attrs["num_split"]
    general = functools.partial(_split, xp, num_split=count)
    static_axis, sizes = constant_value(op.inputs[0]), op.inputs[1].shape.sizes
    if static_axis is None or sizes is None or not -len(sizes) <= int(static_axis) < len(sizes):
        return general
    axis = int(static_axis)
    size = sizes[axis]
    if size is None or size % count:
        return general
    parts = _parts(axis % len(sizes), (size // count,) * count)

    def cut(split_dim: Any, value: Any) -> Any:
        return (
            tuple([value[part] for part in parts])
            if split_dim is static_axis or int(split_dim) == axis
            else general(split_dim, value)
        )

    return cut


def _split(xp: ArrayModule, split_dim: Array, value: Array, *, num_split: int) -> Array:
    if split_dim.ndim:
        raise InvalidArgumentError.of(f"split_dim must be a scalar but has rank {split_dim.ndim}")
    axis = _axis_in(
        int(split_dim),
        value.ndim,
        f"-input rank(-{value.ndim}) <= split_dim < input rank ({value.ndim}), but got {int(split_dim)}",
    )
    if value.shape[axis] % num_split:
        raise InvalidArgumentError.of(
            f"Number of ways to split should evenly divide the split dimension, but got split_dim {axis} (size ="
            f" {value.shape[axis]}) and num_split {num_split}"
        )
    return _cut(xp, value, axis, [value.shape[axis] // num_split] * num_split)


@compute("SplitV", views=True)
def _split_v(xp: ArrayModule, value: Array, size_splits: Array, split_dim: Array, *, num_split: int) -> Array:
    if split_dim.size != 1:
        raise InvalidArgumentError.of("split_dim_tensor must have exactly one element.")
    axis = _axis_in(
        split_dim.item(),
        value.ndim,
        f"-input rank(-{value.ndim}) <= split_dim < input rank ({value.ndim}), but got {split_dim.item()}",
    )
    lengths, total = size_splits.tolist(), value.shape[axis]
    fixed = sum(length for length in lengths if length != -1)
    if lengths.count(-1) > 1:
        raise InvalidArgumentError.of("There can only be one -1 in the input.")
    if (-1 in lengths and fixed > total) or (-1 not in lengths and fixed != total):
        raise InvalidArgumentError.of(
            "Determined shape must either match input shape along split_dim exactly if fully specified, or be less than"
            f" the size of the input along split_dim if not fully specified.  Got: {fixed}"
        )
    for at, length in enumerate(lengths):
        if length < -1:
            raise InvalidArgumentError.of(f"Split size at index {at} must be >= 0. Got: {length}")
    return _cut(xp, value, axis, [total - fixed if length == -1 else length for length in lengths])


@shape_function("Split")
def _split_shape(op: Operation) -> Any:
    sizes, axis, count = op.inputs[1].shape.sizes, constant_value(op.inputs[0]), op.attrs["num_split"]
    if axis is not None and axis.ndim:
        raise ValueError(f"Input must be scalar but has rank {axis.ndim}")
    if sizes is None or axis is None:
        return (UNKNOWN_SHAPE if sizes is None else TensorShape.of((None,) * len(sizes)),) * count
    if not -len(sizes) <= int(axis) < len(sizes):
        raise ValueError(
            f"Dimension size must be in the range [{-len(sizes)}, {len(sizes)}), but got {int(axis)}"
        )
    at = int(axis) % len(sizes)
    length = sizes[at]
    if length is not None and length % count:
        raise ValueError(
            f"Dimension size must be evenly divisible by {count} but is {length}\n\tNumber of ways to split should"
            " evenly divide the split dimension"
        )
    part = None if length is None else length // count
    return (TensorShape.of((*sizes[:at], part, *sizes[at + 1 :])),) * count


@shape_function("SplitV")
def _split_v_shape(op: Operation) -> Any:
    sizes, count = op.inputs[0].shape.sizes, op.attrs["num_split"]
    lengths, axis = constant_value(op.inputs[1]), constant_value(op.inputs[2])
    if sizes is None:
        return (UNKNOWN_SHAPE,) * count
    if axis is None:
        return (TensorShape.of((None,) * len(sizes)),) * count
    if axis.size != 1:
        raise ValueError("split_dim_tensor must have exactly one element.")
    dimension = axis.item()
    if not -len(sizes) <= dimension < len(sizes):
        raise ValueError(
            f"Dimension size, given by scalar input {dimension} must be in range [{-len(sizes)}, {len(sizes)})"
        )
    at = dimension % len(sizes)
    if lengths is None:
        parts: list[int | None] = [None] * count
    else:
        counts, total = lengths.tolist(), sizes[at]
        if len(counts) != count:
            raise ValueError(
                f"Length of size_splits should be equal to num_outputs, got {len(counts)} and {count}"
            )
        if min(counts, default=0) < -1:
            raise ValueError(f"Dimension {min(counts)} must be >= 0")
        fixed = sum(length for length in counts if length != -1)
        if total is not None and (fixed > total or (-1 not in counts and fixed != total)):
            pieces = ",".join(map(str, counts))
            raise ValueError(f"can't split axis of size {total} into pieces of size [{pieces}]")
        parts = [(None if total is None else total - fixed) if length == -1 else length for length in counts]
    return tuple(TensorShape.of((*sizes[:at], part, *sizes[at + 1 :])) for part in parts)


@gradient("Split")
def _split_grad(op: Operation, *grads: Tensor) -> tuple[None, Tensor]:
    return None, concat(list(grads), op.inputs[0])


@gradient("SplitV")
def _split_v_grad(op: Operation, *grads: Tensor) -> list[Tensor | None]:
    return [concat(list(grads), op.inputs[2]), None, None]
