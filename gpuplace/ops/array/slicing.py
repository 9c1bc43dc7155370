"""Slices of a tensor by position: slice, strided slice, and ``tensor[...]``.

A strided slice is described by three vectors and five masks, one bit per entry: entry ``i`` begins at the start
(begin_mask), ends at the end (end_mask), stands for all unnamed dimensions (ellipsis_mask), adds a dimension of
size 1 (new_axis_mask), or takes one element and drops the dimension (shrink_axis_mask).

    x[1:, ..., None, 0]    entry            0      1      2      3
                           begin, end       1,-    -      -      0,1
                           bit set in       end    ellip. new    shrink

Source: tensorflow/python/ops/array_ops.py, array_grad.py and tensorflow/core/util/strided_slice_op.cc, release 1.15.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, int32, int64
from gpuplace.dtypes import bool as bool_type
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import ShapeValueError, constant_value
from gpuplace.graph.convert import make_constant, name_scope
from gpuplace.graph.operation import Operation, Tensor, override_operator
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.kernels.resources import ResourceHandle, VariableStorage
from gpuplace.ops.array.constant import ones_like
from gpuplace.ops.array.gather import boolean_mask
from gpuplace.ops.array.joining import concat, stack
from gpuplace.ops.array.reshaping import rank
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.support import new, no_outputs, same_shape
from gpuplace.release import rules
from gpuplace.shapes import UNKNOWN_SHAPE, Dimension, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike, VariableLike

__all__ = ["slice", "strided_slice", "newaxis"]

newaxis = None
_slice = slice


def slice(input_: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None) -> Tensor:
    """Return a block of a tensor.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.slice([1, 2, 3, 4], [1], [2])).tolist()
    [2, 3]

    Args:
        input_: a tensor of any type.
        begin: the first position along each dimension, an int32 or int64 vector.
        size: the number of elements along each dimension, of the same type; -1: all that remain.
        name: name of the op.

    Returns:
        A tensor of the same type and rank.

    Raises:
        ValueError: the block is known to reach beyond the tensor.
        TypeError: ``begin`` and ``size`` differ in type.
        InvalidArgumentError: at run time, the block reaches beyond the tensor.
    """
    return new("Slice", name, input=input_, begin=begin, size=size)


@compute("Slice", views=True)
def _slice_kernel(xp: ArrayModule, input: Array, begin: Array, size: Array) -> Array:
    if begin.ndim != 1 or size.ndim != 1:
        shapes = " and ".join(f"[{','.join(map(str, item.shape))}]" for item in (begin, size))
        raise InvalidArgumentError.of(
            f"Expected begin and size arguments to be 1-D tensors of size {input.ndim}, but got shapes {shapes}"
            " instead."
        )
    return input[_parts(tuple(begin.tolist()), tuple(size.tolist()), input.shape)]


@functools.lru_cache(256)
def _parts(starts: tuple[int, ...], lengths: tuple[int, ...], shape: tuple[int, ...]) -> tuple[_slice, ...]:
    """Return the slices of an array of that shape."""
    if len(starts) != len(shape) or len(lengths) != len(shape):
        raise InvalidArgumentError.of(
            f"Expected begin and size arguments to be 1-D tensors of size {len(shape)}, but got shapes"
            f" [{len(starts)}] and [{len(lengths)}] instead."
        )
    parts = []
    for axis, (start, length, total) in enumerate(zip(starts, lengths, shape, strict=True)):
        count = total - start if length == -1 else length
        if total == 0:
            if start != 0 or count != 0:
                rule = f"begin[{axis}] == 0 (got {start})" if start else f"size[{axis}] == 0 (got {count})"
                raise InvalidArgumentError.of(f"Expected {rule} when input.dim_size({axis}) == 0")
        elif not 0 <= start <= total:
            raise InvalidArgumentError.of(f"Expected begin[{axis}] in [0, {total}], but got {start}")
        elif count < 0 or start + count > total:
            raise InvalidArgumentError.of(
                f"Expected size[{axis}] in [0, {total - start}], but got {length if length != -1 else count}"
            )
        parts.append(_slice(start, start + count))
    return tuple(parts)


@shape_function("Slice")
def _slice_shape(op: Operation) -> Any:
    sizes = op.inputs[0].shape.sizes
    starts, lengths = constant_value(op.inputs[1]), constant_value(op.inputs[2])
    if sizes is None:
        for vector in (tensor.shape for tensor in op.inputs[1:3]):
            if vector.ndims == 1 and vector[0].value is not None:
                sizes = (None,) * vector[0].value
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    result: list[int | None] = []
    for axis, total in enumerate(sizes):
        if lengths is None or axis >= lengths.size:
            result.append(None)
        elif lengths[axis] != -1:
            length = int(lengths[axis])
            if length < -1:
                raise ShapeValueError(f"Invalid value in tensor used for shape: {length}")
            result.append(length)
        elif total is None or starts is None:
            result.append(None)
        elif total < starts[axis]:
            raise ValueError(f"Negative dimension size caused by subtracting {starts[axis]} from {total}")
        else:
            result.append(total - int(starts[axis]))
    return (TensorShape.of(tuple(result)),)


def _check_part(op: Operation) -> None:
    """Raise ValueError if a slice is known to reach beyond its input, where its gradient has no place."""
    sizes, begin, part = op.inputs[0].shape, constant_value(op.inputs[1]), op.outputs[0].shape
    if begin is None or not sizes.is_fully_defined() or not part.is_fully_defined():
        return
    after = np.array(sizes.as_list()) - np.array(part.as_list()) - begin
    if (begin < 0).any() or (after < 0).any():
        raise ValueError(
            f"The gradient of '{op.name}' needs non-negative paddings, but the slice with start {begin.tolist()} and"
            f" shape {part.as_list()} extends beyond its input of shape {sizes.as_list()}"
        )


@gradient("Slice")
def _slice_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None, None]:
    """Pad the gradient with zeros to the input's shape."""
    source, begin = op.inputs[0], op.inputs[1]
    axes = rank(source)
    part_shape = shape_of(op.outputs[0], out_type=begin.dtype.base_dtype)
    column = stack([axes, 1])
    before = new("Reshape", tensor=begin, shape=column)
    input_shape = shape_of(source)
    if begin.dtype.base_dtype is int64 and rules() != "1.15":
        input_shape = new("Cast", x=input_shape, DstT=int64)
    _check_part(op)
    after = new("Reshape", tensor=input_shape - part_shape - begin, shape=column)
    paddings = concat([before, after], 1)
    return new("Pad", input=grad, paddings=paddings), None, None


def strided_slice(
    input_: TensorLike,
    begin: TensorLike,
    end: TensorLike,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: VariableLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return a strided range of a tensor, as ``tensor[begin:end:stride, ...]`` does.

    The masks have a bit per entry of ``begin``; bit ``i`` is ``1 << i``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.strided_slice([1, 2, 3, 4], [0], [4], [2])).tolist()
    [1, 3]

    Args:
        input_: a tensor of any type.
        begin: the first position of each entry, an int32 or int64 vector; negative values count from the end.
        end: the position after the last, of the same type.
        strides: non-zero steps, of the same type. None: 1.
        begin_mask: entries that begin at the start and ignore ``begin``.
        end_mask: entries that continue to the end.
        ellipsis_mask: the entry, at most one, that stands for all unnamed dimensions.
        new_axis_mask: entries that add a dimension of size 1.
        shrink_axis_mask: entries that take one element and drop the dimension.
        var: ignored; in TensorFlow, the sliced variable.
        name: name of the op.

    Returns:
        A tensor of the same type.

    Raises:
        ValueError: a step is known to be 0, an index is out of bounds, or there are more entries than dimensions.
        TypeError: the vectors differ in type.
        InvalidArgumentError: at run time, in the same cases.
    """
    if strides is None:
        strides = ones_like(begin)
    return new(
        "StridedSlice", name, input=input_, begin=begin, end=end, strides=strides, begin_mask=begin_mask,
        end_mask=end_mask, ellipsis_mask=ellipsis_mask, new_axis_mask=new_axis_mask, shrink_axis_mask=shrink_axis_mask,
    )  # fmt: skip


def _key(
    sizes: tuple[int | None, ...], begin: Any, end: Any, strides: Any, masks: dict[str, int]
) -> list[Any]:
    """Return a NumPy index: ``None``, integers and slices; raise InvalidArgumentError if that is impossible.

    A slice over a dimension of unknown size keeps its bounds.
    """
    if len(begin) > 32:
        raise InvalidArgumentError.of("strided slices have at most 32 entries")
    ellipsis = masks["ellipsis_mask"]
    if ellipsis & (ellipsis - 1):
        raise InvalidArgumentError.of("Multiple ellipses in slice spec not allowed")
    added = sum(1 for i in range(len(begin)) if masks["new_axis_mask"] >> i & 1 and not ellipsis >> i & 1)
    named = len(begin) - added - (1 if ellipsis else 0)
    if named > len(sizes):
        raise InvalidArgumentError.of(
            f"Index out of range using input dim {len(sizes)}; input has only {len(sizes)} dims"
        )
    key: list[Any] = []
    axis = 0
    for i, (low, high, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << i
        if ellipsis & bit:
            fill = len(sizes) - named
            key += [_slice(None)] * fill
            axis += fill
        elif masks["new_axis_mask"] & bit:
            key.append(None)
        else:
            if step == 0:
                raise InvalidArgumentError.of(f"strides[{i}] must be non-zero")
            total = sizes[axis]
            if masks["shrink_axis_mask"] & bit:
                if step < 0:
                    raise InvalidArgumentError.of("only stride 1 allowed on non-range indexing.")
                if total is not None and not -total <= low < total:
                    at = low + total if low < 0 else low
                    raise InvalidArgumentError.of(f"slice index {at} of dimension {axis} out of bounds.")
                key.append(int(low))
            else:
                first = None if masks["begin_mask"] & bit else int(low)
                last = None if masks["end_mask"] & bit else int(high)
                key.append(_slice(first, last, int(step)))
            axis += 1
    return key


_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


@compute("StridedSlice", views=True)
def _strided_slice(
    xp: ArrayModule, input: Array, begin: Array, end: Array, strides: Array,
    *, begin_mask: int, end_mask: int, ellipsis_mask: int, new_axis_mask: int, shrink_axis_mask: int,
) -> Array:  # fmt: skip
    masks = dict(
        zip(_MASKS, (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask), strict=True)
    )
    key = _key(input.shape, begin.tolist(), end.tolist(), strides.tolist(), masks)
    result = input[tuple(key)]
    return result if input.dtype != object else xp.asarray(result, object)


@shape_function("StridedSlice")
def _strided_slice_shape(op: Operation) -> Any:
    sizes = op.inputs[0].shape.sizes
    strides = constant_value(op.inputs[3])
    if sizes is None or strides is None:
        return (UNKNOWN_SHAPE,)
    bounds = [*(constant_value(tensor) for tensor in op.inputs[1:3]), strides]
    masks = {name: op.attrs[name] for name in _MASKS}
    lows, highs, steps = ([0] * strides.size if bound is None else bound.tolist() for bound in bounds)
    try:
        key = _key(sizes, lows, highs, steps, masks)
    except InvalidArgumentError as error:
        if bounds[0] is None and "out of bounds" in error.message:
            return (UNKNOWN_SHAPE,)
        raise ValueError(error.message) from None
    result: list[int | None] = []
    remaining = list(sizes)
    for entry in key:
        if entry is None:
            result.append(1)
        elif isinstance(entry, int):
            remaining.pop(0)
        else:
            total = remaining.pop(0)
            free = entry == _slice(None)
            full = entry.start is None and entry.stop is None
            is_static = all(bound is not None for bound in bounds)
            if free:
                result.append(total)
            elif is_static:
                result.append(_count(entry, total))
            elif full and total is not None:
                result.append(len(range(total)[entry]))
            else:
                result.append(None)
    return (TensorShape.of((*result, *remaining)),)


def _count(entry: Any, total: int | None) -> int | None:
    """Return the length of a slice of ``total`` elements; for an unknown total, None if it depends on it."""
    if total is not None:
        return len(range(total)[entry])
    return 0 if entry.start is not None and entry.start == entry.stop else None


@gradient("StridedSlice")
def _strided_slice_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None, None, None]:
    begin, end, strides = op.inputs[1:]
    source = op.inputs[0]
    kind = begin.dtype.base_dtype
    input_shape = (
        make_constant(source.shape.as_list(), kind, name="Shape")
        if source.shape.is_fully_defined()
        else new("Shape", input=source, out_type=kind)
    )
    masks = {name: op.attrs[name] for name in _MASKS}
    return (
        new("StridedSliceGrad", shape=input_shape, begin=begin, end=end, strides=strides, dy=grad, **masks),
        None,
        None,
        None,
    )


@compute("StridedSliceGrad")
def _strided_slice_grad_kernel(
    xp: ArrayModule, shape: Array, begin: Array, end: Array, strides: Array, dy: Array,
    *, begin_mask: int, end_mask: int, ellipsis_mask: int, new_axis_mask: int, shrink_axis_mask: int,
) -> Array:  # fmt: skip
    masks = dict(
        zip(_MASKS, (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask), strict=True)
    )
    zero = b"" if dy.dtype == object else 0
    result = xp.full(tuple(shape.tolist()), zero, dy.dtype)
    key = tuple(_key(result.shape, begin.tolist(), end.tolist(), strides.tolist(), masks))
    if result[key].shape != dy.shape:
        raise InvalidArgumentError.of(
            f"shape of dy was {list(dy.shape)} instead of {list(result[key].shape)}"
        )
    result[key] = dy
    return result


@shape_function("StridedSliceGrad")
def _strided_slice_grad_shape(op: Operation) -> Any:
    sizes = constant_value(op.inputs[0])
    if sizes is None:
        rank = op.inputs[0].shape.num_elements()
        return (UNKNOWN_SHAPE if rank is None else TensorShape.of((None,) * rank),)
    return (TensorShape(sizes.tolist()),)


@gradient("StridedSliceGrad")
def _strided_slice_grad_grad(op: Operation, grad: Tensor) -> tuple[None, None, None, None, Tensor]:
    masks = {name: op.attrs[name] for name in _MASKS}
    begin, end, strides = op.inputs[1:4]
    part = new("StridedSlice", input=grad, begin=begin, end=end, strides=strides, **masks)
    return None, None, None, None, part


# tensor[...]


def slice_of(tensor: Tensor, slice_spec: Any, var: VariableLike | None = None) -> Tensor:
    """``tensor[spec]``: integers, slices, ``...``, ``tf.newaxis``, scalar tensors; or a bool mask.

    Args:
        tensor: the tensor to slice.
        slice_spec: the index in brackets.
        var: the variable that ``assign`` of the slice changes, or None.

    Raises:
        TypeError: the index has another type.
        ValueError: there is more than one ellipsis, or an index is known to be out of range.
    """
    if isinstance(slice_spec, np.ndarray) and slice_spec.dtype == np.bool_:
        return boolean_mask(tensor, slice_spec)
    if isinstance(slice_spec, Tensor) and slice_spec.dtype.base_dtype is bool_type:
        return boolean_mask(tensor, slice_spec)
    entries = slice_spec if isinstance(slice_spec, (list, tuple)) else [slice_spec]
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    masks = dict.fromkeys(_MASKS, 0)
    for position, entry in enumerate(entries):
        bit = 1 << position
        if isinstance(entry, _slice):
            start, stop, step = (_bound(part) for part in (entry.start, entry.stop, entry.step))
            begin.append(0 if start is None else start)
            masks["begin_mask"] |= bit if start is None else 0
            end.append(0 if stop is None else stop)
            masks["end_mask"] |= bit if stop is None else 0
            strides.append(1 if step is None else step)
        elif entry is Ellipsis or entry is newaxis:
            masks["ellipsis_mask" if entry is Ellipsis else "new_axis_mask"] |= bit
            begin.append(0)
            end.append(0)
            strides.append(1)
        else:
            _check_index(entry)
            begin.append(entry)
            end.append(entry + 1)
            strides.append(1)
            masks["shrink_axis_mask"] |= bit
    with name_scope(None, "strided_slice", [tensor, *begin, *end, *strides]) as scope:
        if begin:
            packed = [stack(begin), stack(end), stack(strides)]
            if any(part.dtype.base_dtype is int64 for part in packed):
                packed = [
                    part if part.dtype.base_dtype is int64 else new("Cast", x=part, DstT=int64)
                    for part in packed
                ]
        else:
            packed = [make_constant([], int32)] * 3
        begins, ends, steps = packed
        result = new("StridedSlice", scope, input=tensor, begin=begins, end=ends, strides=steps, **masks)
        bounds = {"begin": begins, "end": ends, "strides": steps, **masks}
        result.assign = functools.partial(_assign_slice, var, f"{scope}_assign", bounds)
        return result


def _assign_slice(
    variable: Any, default_name: str, bounds: dict[str, Any], val: TensorLike, name: str | None = None
) -> Any:
    """Assign a value to a slice of a variable: ``slice.assign``.

    Args:
        variable: the variable; None if the sliced object is not one.
        default_name: name of the operation if ``name`` is None.
        bounds: inputs and masks of the slice.
        val: the value, of the variable's type, in the shape of the slice.
        name: name of the operation.

    Returns:
        A reference to the updated variable; for a resource variable, a variable whose reads wait for the assignment.

    Raises:
        ValueError: the sliced object is not a variable.
        TypeError: the value has another type.
        InvalidArgumentError: at run time, the value has another shape.
    """
    if variable is None:
        raise ValueError("Sliced assignment is only supported for variables")
    return variable._assign_slice(bounds, val, name or default_name)


@compute("StridedSliceAssign")
def _strided_slice_assign(
    xp: ArrayModule, ref: VariableStorage, begin: Array, end: Array, strides: Array, value: Array,
    *, begin_mask: int, end_mask: int, ellipsis_mask: int, new_axis_mask: int, shrink_axis_mask: int,
) -> VariableStorage:  # fmt: skip
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    _replace_part(ref, (begin, end, strides), masks, value)
    return ref


@compute("ResourceStridedSliceAssign")
def _resource_strided_slice_assign(
    xp: ArrayModule, ref: ResourceHandle, begin: Array, end: Array, strides: Array, value: Array,
    *, begin_mask: int, end_mask: int, ellipsis_mask: int, new_axis_mask: int, shrink_axis_mask: int,
) -> Any:  # fmt: skip
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    _replace_part(ref.variable, (begin, end, strides), masks, value)
    return ()


def _replace_part(storage: VariableStorage, bounds: Any, masks: Sequence[int], value: Any) -> None:
    """Write a value into a slice of a variable."""

    def replaced(old: Any, is_own: bool) -> Any:
        whole = old if is_own else old.copy()
        begin, end, strides = (bound.tolist() for bound in bounds)
        key = tuple(_key(whole.shape, begin, end, strides, dict(zip(_MASKS, masks, strict=True))))
        if not whole[key].size:
            return whole
        if value.ndim and whole[key].shape != value.shape:
            shape = TensorShape.of(value.shape)
            raise InvalidArgumentError.of(
                f"Assigned value has shape {brackets(shape)}, and the slice"
                f" {brackets(TensorShape.of(whole[key].shape))}"
            )
        whole[key] = value
        return whole

    storage.update(replaced)


shape_function("StridedSliceAssign")(same_shape)


shape_function("ResourceStridedSliceAssign")(no_outputs)


_SLICE_TYPE_ERROR = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors"
    " are valid indices"
)


def _bound(part: Any) -> Any:
    """Return the start, stop or step of a slice; None if it is absent."""
    if part is None or isinstance(part, Dimension) and part.value is None:
        return None
    _check_index(part, accepted=(int, bool))
    return part


def _check_index(entry: Any, accepted: tuple[type, ...] = (int,)) -> None:
    """Raise TypeError for an index that is not an integer.

    Source: tensorflow/python/ops/array_ops.py, release 1.15.
    """
    fits = isinstance(entry, (*accepted, Dimension)) and (bool in accepted or not isinstance(entry, bool))
    if isinstance(entry, (Tensor, np.ndarray, np.generic)) or hasattr(entry, "_as_graph_element"):
        rank = entry.shape.ndims if isinstance(entry.shape, TensorShape) else len(entry.shape)
        fits = as_dtype(entry.dtype).base_dtype in (int32, int64) and not rank
    if not fits:
        raise TypeError(f"{_SLICE_TYPE_ERROR}, got {entry!r}")


override_operator(Tensor, "__getitem__", slice_of)
