"""Kernels of the ops on tensor lists, and the inferred shapes of their elements.

Source: tensorflow/core/kernels/list_kernels.cc and list_kernels.h, core/ops/list_ops.cc, release 1.15 (messages).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value_as_shape
from gpuplace.graph.op_sets import CALL_OPS, LIST_MAKERS, LISTS_LIKE_THE_FIRST
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.graph.traced_graph import TracedGraph
from gpuplace.kernels.compute import compute
from gpuplace.kernels.tensor_lists import TensorList, described, list_of, merged, shape_of_sizes
from gpuplace.ops.support import scalar_shape
from gpuplace.shapes import SCALAR_SHAPE, UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule


def element_shape_of(handle: Tensor) -> TensorShape:
    """Return the element shape of a list, as far as it is known while the graph is built.

    Args:
        handle: the list's tensor.
    """
    maker = _maker_of(handle)
    if maker is None:
        return UNKNOWN_SHAPE
    return constant_value_as_shape(maker.inputs[LIST_MAKERS[maker.type]])


def _maker_of(handle: Tensor) -> Operation | None:
    """Return the operation that created the original of a list; None if unknown."""
    seen: set[Operation] = set()
    op, index = handle.op, handle.value_index
    while op not in seen:
        seen.add(op)
        if op.type in LIST_MAKERS:
            return op
        if op.type in LISTS_LIKE_THE_FIRST or (op.type == "TensorListPopBack" and index == 0):
            source = op.inputs[0]
        elif op.type in CALL_OPS and op.attrs["f"].name in op.graph.function_bodies:
            source = op.graph.function_bodies[op.attrs["f"].name].results[index]
        elif isinstance(op.graph, TracedGraph) and (outer := op.graph.origin_of(op)) is not None:
            source = outer
        else:
            return None
        op, index = source.op, source.value_index
    return None


def _element(op: Operation, index: int) -> TensorShape:
    """Return the known shape of an element that is read, from the list and from an input of the op."""
    declared = constant_value_as_shape(op.inputs[index])
    known = element_shape_of(op.inputs[0])
    if not declared.is_compatible_with(known):
        raise ValueError(f"Shapes must be compatible: element_shape {declared}, list shape {known}")
    return declared.merge_with(known)


@shape_function(
    "EmptyTensorList",
    "TensorListReserve",
    "TensorListPushBack",
    "TensorListSetItem",
    "TensorListScatter",
    "TensorListScatterV2",
    "TensorListScatterIntoExistingList",
    "TensorListResize",
)
def _handle_shape(op: Operation) -> tuple[TensorShape, ...]:
    return (SCALAR_SHAPE,)


@shape_function("TensorListFromTensor")
def _from_tensor_shape(op: Operation) -> Any:
    full = op.inputs[0].shape
    if full.sizes is not None:
        merged_shapes(TensorShape.of(full.sizes[1:]), constant_value_as_shape(op.inputs[1]))
    return (SCALAR_SHAPE,)


@shape_function("TensorListSplit")
def _split_shape(op: Operation) -> Any:
    full, declared = op.inputs[0].shape, constant_value_as_shape(op.inputs[1])
    if full.sizes is not None and not full.sizes:
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    merged_shapes(_open_first(full, full), _open_first(declared, declared, full))
    if op.inputs[2].shape.ndims not in (None, 1):
        raise ValueError(f"Shape must be rank 1 but is rank {op.inputs[2].shape.ndims}")
    return (SCALAR_SHAPE,)


def _open_first(shape: TensorShape, named: TensorShape, other: TensorShape | None = None) -> TensorShape:
    """Return a shape with its first size unknown."""
    if shape.sizes is None:
        return shape
    if not shape.sizes:
        raise ValueError(f"Shapes must be equal rank, but are {len((other or named).sizes or ())} and 0")
    return TensorShape.of((None, *shape.sizes[1:]))


def merged_shapes(one: TensorShape, other: TensorShape) -> TensorShape:
    """Return the shape that is compatible with both, as far as it is known while the graph is built.

    Args:
        one: a shape.
        other: another shape.

    Raises:
        ValueError: the shapes are incompatible.
    """
    if one.sizes is not None and other.sizes is not None and len(one.sizes) != len(other.sizes):
        raise ValueError(f"Shapes must be equal rank, but are {len(one.sizes)} and {len(other.sizes)}")
    return one.merge_with(other)


@shape_function("TensorListPopBack")
def _pop_shape(op: Operation) -> tuple[TensorShape, ...]:
    return (SCALAR_SHAPE, element_shape_of(op.inputs[0]))


@shape_function("TensorListGetItem")
def _get_shape(op: Operation) -> Any:
    return (_element(op, 2),)


@shape_function("TensorListStack")
def _stack_shape(op: Operation) -> tuple[TensorShape, ...]:
    count = op.attrs["num_elements"]
    return (TensorShape.of((None if count < 0 else count,)).concatenate(_element(op, 1)),)


@shape_function("TensorListGather")
def _gather_shape(op: Operation) -> Any:
    return (op.inputs[1].shape.concatenate(_element(op, 2)),)


@shape_function("TensorListConcat", "TensorListConcatV2")
def _concat_shape(op: Operation) -> Any:
    if op.type == "TensorListConcat":
        declared = op.attrs["element_shape"]
    else:
        full = constant_value_as_shape(op.inputs[1])
        declared = UNKNOWN_SHAPE if full.sizes is None else TensorShape.of(full.sizes[1:])
    known = element_shape_of(op.inputs[0])
    if known.sizes:
        declared = merged_shapes(declared, TensorShape.of(known.sizes[1:]))
    return (TensorShape.of((None,)).concatenate(declared), TensorShape.of((None,)))


shape_function("TensorListLength")(scalar_shape)


@shape_function("TensorListElementShape")
def _element_shape_shape(op: Operation) -> Any:
    known = element_shape_of(op.inputs[0])
    return (UNKNOWN_SHAPE if known.sizes is None else TensorShape.of((len(known.sizes),)),)


@shape_function("TensorListConcatLists")
def _concat_lists_shape(op: Operation) -> Any:
    makers = [_maker_of(handle) for handle in op.inputs]
    for name, maker in zip("ab", makers, strict=True):
        if maker is not None and maker.attrs["element_dtype"] is not op.attrs["element_dtype"]:
            raise ValueError(
                f"input_{name}.type != element_dtype: {maker.attrs['element_dtype'].short_name} vs."
                f" {op.attrs['element_dtype'].short_name}"
            )
    merged_shapes(*(element_shape_of(handle) for handle in op.inputs))
    return (op.inputs[0].shape.merge_with(op.inputs[1].shape),)


@shape_function("TensorListPushBackBatch")
def _push_batch_shape(op: Operation) -> Any:
    maker, dtype = _maker_of(op.inputs[0]), op.attrs["element_dtype"]
    if maker is not None and maker.attrs["element_dtype"] is not dtype:
        raise ValueError(
            "Trying to push to list with wrong element dtype. List has type"
            f" {maker.attrs['element_dtype'].short_name} but trying to push element with type {dtype.short_name}"
        )
    handles, tensor = op.inputs[0].shape, op.inputs[1].shape
    if handles.sizes is not None and tensor.sizes is not None:
        first = TensorShape.of(tensor.sizes[: len(handles.sizes)])
        return (merged_shapes(handles, first),)
    return (handles,)


# Ops that create a list


@compute("EmptyTensorList")
def _empty(
    xp: ArrayModule, element_shape: Array, max_num_elements: Array, *, element_dtype: DType
) -> TensorList:
    if max_num_elements.shape:
        raise InvalidArgumentError.of(
            "max_num_elements expected to be a scalar  but got shape: " + brackets(max_num_elements.shape)
        )
    return TensorList((), element_dtype, shape_of_sizes(element_shape), int(max_num_elements))


@compute("TensorListReserve")
def _reserve(
    xp: ArrayModule, element_shape: Array, num_elements: Array, *, element_dtype: DType
) -> TensorList:
    count = int(num_elements)
    if count < 0:
        raise InvalidArgumentError.of(
            f"The num_elements to reserve must be a non negative number, but got {count}"
        )
    return TensorList((None,) * count, element_dtype, shape_of_sizes(element_shape))


@compute("TensorListFromTensor")
def _from_tensor(xp: ArrayModule, tensor: Array, element_shape: Array, *, element_dtype: DType) -> Any:
    declared = shape_of_sizes(element_shape)
    if not tensor.shape:
        raise InvalidArgumentError.of(
            f"Tensor must be at least a vector, but saw shape: {brackets(tensor.shape)}"
        )
    rest = TensorShape.of(tensor.shape[1:])
    if not declared.is_compatible_with(rest):
        raise InvalidArgumentError.of(
            f"Specified a list with shape {described(declared)} from a tensor with shape {brackets(rest)}"
        )
    return TensorList(_rows(xp, tensor), element_dtype, declared)


def _rows(xp: ArrayModule, tensor: Array) -> list[Any]:
    """Return the rows of a tensor as separate arrays."""
    return [
        xp.array(tensor[i], copy=True) if hasattr(tensor[i], "dtype") else _alone(tensor[i])
        for i in range(len(tensor))
    ]


def _alone(value: Any) -> Any:
    holder = np.empty((), object)
    holder[()] = value
    return holder


@compute("TensorListSplit")
def _split(
    xp: ArrayModule, tensor: Array, element_shape: Array, lengths: Array, *, element_dtype: DType
) -> Any:
    declared = shape_of_sizes(element_shape)
    if declared.sizes == ():
        raise InvalidArgumentError.of(
            "TensorListSplit requires element_shape to be at least of rank 1, but saw: []"
        )
    if not tensor.shape:
        raise InvalidArgumentError.of(
            f"Tensor must be at least a vector, but saw shape: {brackets(tensor.shape)}"
        )
    rest = TensorShape.of(tensor.shape[1:])
    if declared.sizes is not None and not TensorShape.of(declared.sizes[1:]).is_compatible_with(rest):
        raise InvalidArgumentError.of(
            f"tensor shape {brackets(tensor.shape)} is not compatible with element_shape {described(declared)}"
        )
    if lengths.ndim != 1:
        raise InvalidArgumentError.of(
            f"Expected lengths to be a vector, received shape: {brackets(lengths.shape)}"
        )
    parts, start = [], 0
    for length in lengths.tolist():
        if length < 0:
            raise InvalidArgumentError.of(f"Invalid value in lengths: {length}")
        if start + length > len(tensor):
            raise InvalidArgumentError.of(
                f"Attempting to slice [{start}, {start + length}] from tensor with length {len(tensor)}"
            )
        parts.append(xp.array(tensor[start : start + length], copy=True))
        start += length
    if start != len(tensor):
        raise InvalidArgumentError.of(
            f"Unused values in tensor. Length of tensor: {len(tensor)} Values used: {start}"
        )
    return TensorList(parts, element_dtype, declared)


@compute("TensorListScatter", "TensorListScatterV2")
def _scatter(
    xp: ArrayModule,
    tensor: Array,
    indices: Array,
    element_shape: Array,
    num_elements: Array | None = None,
    *,
    element_dtype: DType,
) -> Any:
    count = -1 if num_elements is None else int(num_elements)
    if count < -1:
        raise InvalidArgumentError.of(f"TensorListScatter expects num_elements >= -1, found: {count}")
    declared = shape_of_sizes(element_shape)
    rest = TensorShape.of(tensor.shape[1:])
    if not declared.is_compatible_with(rest):
        raise InvalidArgumentError.of(
            f"Specified a list with shape {described(declared)} from a tensor with shape {brackets(rest)}"
        )
    places = _checked_places(tensor, indices)
    highest = max(places, default=-1)
    if count >= 0 and highest >= count:
        raise InvalidArgumentError.of(
            f"TensorListScatter: Trying to scatter at index {highest} in list with size {count}"
        )
    return TensorList(
        _scattered(xp, [None] * (highest + 1 if count < 0 else count), tensor, places),
        element_dtype,
        declared,
    )


@compute("TensorListScatterIntoExistingList")
def _scatter_into(
    xp: ArrayModule, input_handle: Array, tensor: Array, indices: Array, *, element_dtype: DType
) -> Any:
    tlist = list_of(input_handle, element_dtype)
    rest = TensorShape.of(tensor.shape[1:])
    if not tlist.element_shape.is_compatible_with(rest):
        raise InvalidArgumentError.of(
            f"Specified a list with shape {described(tlist.element_shape)} from a tensor with shape"
            f" {brackets(rest)}"
        )
    places = _checked_places(tensor, indices)
    elements = list(tlist.elements)
    elements += [None] * (max(places, default=-1) + 1 - len(elements))
    return tlist.with_elements(_scattered(xp, elements, tensor, places))


def _checked_places(tensor: Any, indices: Any) -> list[int]:
    if not tensor.shape:
        raise InvalidArgumentError.of(
            f"Tensor must be at least a vector, but saw shape: {brackets(tensor.shape)}"
        )
    places: list[int] = indices.reshape(-1).tolist()
    if len(places) != len(tensor):
        raise InvalidArgumentError.of(
            f"Invalid number of rows in input tensor. Expected: {len(places)} Actual: {len(tensor)}"
        )
    if any(place < 0 for place in places):
        raise InvalidArgumentError.of("Indices in TensorListScatter must all be non-negative.")
    return places


def _scattered(xp: ArrayModule, elements: list[Any], tensor: Array, places: Sequence[int]) -> list[Any]:
    for place, row in zip(places, _rows(xp, tensor), strict=True):
        elements[place] = row
    return elements


# Ops that return a changed list


@compute("TensorListPushBack")
def _push(xp: ArrayModule, input_handle: Array, tensor: Array, *, element_dtype: DType) -> TensorList:
    tlist = list_of(input_handle, element_dtype)
    _check_room(tlist, "")
    if not tlist.element_shape.is_compatible_with(TensorShape.of(tensor.shape)):
        raise InvalidArgumentError.of(
            "Tried to append a tensor with incompatible shape to a list. Op element shape:"
            f" {brackets(tensor.shape)} list shape: {described(tlist.element_shape)}"
        )
    return tlist.with_elements((*tlist.elements, tensor))


def _check_room(tlist: TensorList, where: str) -> None:
    if tlist.max_num_elements != -1 and len(tlist.elements) >= tlist.max_num_elements:
        raise InvalidArgumentError.of(
            f"Tried to push item into a full list{where} list size: {len(tlist.elements)} max_num_elements:"
            f" {tlist.max_num_elements}"
        )


@compute("TensorListPushBackBatch")
def _push_batch(xp: ArrayModule, input_handles: Array, tensor: Array, *, element_dtype: DType) -> Array:
    handles = input_handles if isinstance(input_handles, np.ndarray) else _alone(input_handles)
    if tensor.shape[: handles.ndim] != handles.shape:
        raise InvalidArgumentError.of(
            "PushBackBatch tensor must have the same leading dimensions as input_handles, but got"
            f" {brackets(tensor.shape)} and {brackets(handles.shape)}"
        )
    handle_array = np.empty(handles.shape, object)
    for number, place in enumerate(np.ndindex(handles.shape)):
        tlist = list_of(handles[place], element_dtype)
        _check_room(tlist, f" at index {number}")
        row = xp.array(tensor[place], copy=True)
        if not tlist.element_shape.is_compatible_with(TensorShape.of(row.shape)):
            raise InvalidArgumentError.of(
                f"Tried to append a tensor with incompatible shape to a list at index {number}. Op element shape:"
                f" {brackets(row.shape)} list shape: {described(tlist.element_shape)}"
            )
        handle_array[place] = tlist.with_elements((*tlist.elements, row))
    return handle_array


@compute("TensorListPopBack")
def _pop(xp: ArrayModule, input_handle: Array, element_shape: Array, *, element_dtype: DType) -> Any:
    tlist = list_of(input_handle, element_dtype)
    if not tlist.elements:
        raise InvalidArgumentError.of("Trying to pop from an empty list.")
    value = tlist.elements[-1]
    if value is None:
        shape = merged(shape_of_sizes(element_shape), tlist.element_shape)
        if not shape.is_fully_defined():
            raise InvalidArgumentError.of(
                f"Trying to read an uninitialized tensor but element_shape is not fully defined.{described(shape)}"
            )
        value = _zeros(xp, shape, element_dtype)
    return tlist.with_elements(tlist.elements[:-1]), value


def _zeros(xp: ArrayModule, shape: TensorShape, dtype: DType) -> Array:
    """Return zeros of a shape; empty lists where the elements are lists."""
    sizes = shape.known_sizes
    if dtype.name == "variant":
        lists = np.empty(sizes, object)
        for place in np.ndindex(*sizes):
            lists[place] = TensorList((), dtype, UNKNOWN_SHAPE)
        return lists
    if dtype.name == "string":
        return xp.full(sizes, b"", object)
    return xp.zeros(sizes, dtype.as_numpy_dtype)


@compute("TensorListSetItem")
def _set(
    xp: ArrayModule, input_handle: Array, index: Array, item: Array, *, element_dtype: DType
) -> TensorList:
    tlist, at = list_of(input_handle, element_dtype), int(index)
    if not 0 <= at < len(tlist.elements):
        raise InvalidArgumentError.of(
            f"Trying to modify element {at} in a list with {len(tlist.elements)} elements."
        )
    if not tlist.element_shape.is_compatible_with(TensorShape.of(item.shape)):
        raise InvalidArgumentError.of(
            "Tried to set a tensor with incompatible shape at a list index. Item element shape:"
            f" {brackets(item.shape)} list shape: {described(tlist.element_shape)}"
        )
    return tlist.with_elements((*tlist.elements[:at], item, *tlist.elements[at + 1 :]))


@compute("TensorListResize")
def _resize(xp: ArrayModule, input_handle: Array, size: Array) -> Any:
    tlist, count = list_of(input_handle), int(size)
    if count < 0:
        raise InvalidArgumentError.of(f"TensorListSlice expects size to be non-negative. Got: {count}")
    return tlist.with_elements((*tlist.elements[:count], *(None,) * (count - len(tlist.elements))))


@compute("TensorListConcatLists")
def _concat_lists(xp: ArrayModule, input_a: Array, input_b: Array, *, element_dtype: DType) -> Array:
    ours, theirs = (item if isinstance(item, np.ndarray) else _alone(item) for item in (input_a, input_b))
    if ours.shape != theirs.shape:
        raise InvalidArgumentError.of(
            f"Expected input_a and input_b to have the same shape, but got {brackets(ours.shape)} vs."
            f" {brackets(theirs.shape)}"
        )
    handle_array = np.empty(ours.shape, object)
    for number, place in enumerate(np.ndindex(ours.shape)):
        a, b = list_of(ours[place]), list_of(theirs[place])
        for name, operand in (("a", a), ("b", b)):
            if operand.element_dtype is not element_dtype:
                raise InvalidArgumentError.of(
                    f"input_{name}[{number}].dtype != element_dtype.  Saw: {operand.element_dtype.short_name} vs."
                    f" {element_dtype.short_name}"
                )
        if not a.element_shape.is_compatible_with(b.element_shape):
            raise InvalidArgumentError.of(
                f"input_a[{number}].element_shape != input_b[{number}].element_shape.  Saw:"
                f" {described(a.element_shape)} vs. {described(b.element_shape)}"
            )
        handle_array[place] = a.with_elements((*a.elements, *b.elements))
    return handle_array if handle_array.shape else handle_array[()]


# Ops that read a list


@compute("TensorListLength")
def _length(xp: ArrayModule, input_handle: Array) -> Array:
    return np.asarray(len(list_of(input_handle).elements), np.int32)


@compute("TensorListElementShape")
def _element_shape(xp: ArrayModule, input_handle: Array, *, shape_type: DType) -> Array:
    sizes = list_of(input_handle).element_shape.sizes
    if sizes is None:
        return np.asarray(-1, shape_type.as_numpy_dtype)
    return np.asarray([-1 if size is None else size for size in sizes], shape_type.as_numpy_dtype)


@compute("TensorListGetItem")
def _get(
    xp: ArrayModule, input_handle: Array, index: Array, element_shape: Array, *, element_dtype: DType
) -> Array:
    tlist, at = list_of(input_handle, element_dtype), int(index)
    if not 0 <= at < len(tlist.elements):
        raise InvalidArgumentError.of(
            f"Trying to access element {at} in a list with {len(tlist.elements)} elements."
        )
    value = tlist.elements[at]
    if value is not None:
        return value
    shape = tlist.known_shape(shape_of_sizes(element_shape), tlist.elements)
    if not shape.is_fully_defined():
        raise InvalidArgumentError.of(
            "Trying to read an uninitialized tensor but element_shape is not fully defined:"
            f" {described(shape)} and no list element is set."
        )
    return _zeros(xp, shape, element_dtype)


@compute("TensorListStack")
def _stack(
    xp: ArrayModule, input_handle: Array, element_shape: Array, *, element_dtype: DType, num_elements: int
) -> Array:
    tlist = list_of(input_handle, element_dtype)
    count = len(tlist.elements)
    if num_elements not in (-1, count):
        raise InvalidArgumentError.of(
            f"Operation expected a list with {num_elements} elements but got a list with {count} elements."
        )
    shape = merged(shape_of_sizes(element_shape), tlist.element_shape)
    if not count and not shape.is_fully_defined():
        raise InvalidArgumentError.of(
            f"Tried to stack elements of an empty list with non-fully-defined element_shape: {described(shape)}"
        )
    shape = tlist.known_shape(shape, tlist.elements)
    if not shape.is_fully_defined():
        raise InvalidArgumentError.of(
            "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined element_shape:"
            f" {described(shape)}"
        )
    return _stacked(xp, tlist.elements, shape, element_dtype)


def _stacked(xp: ArrayModule, elements: Sequence[Any], shape: TensorShape, dtype: DType) -> Array:
    if not elements:
        return _zeros(xp, TensorShape.of((0, *shape.known_sizes)), dtype)
    if dtype.name == "variant":
        stacked = np.empty((len(elements), *shape.known_sizes), object)
        for place, one in enumerate(elements):
            value = _zeros(xp, shape, dtype) if one is None else one
            stacked[place] = value[()] if isinstance(value, np.ndarray) and not value.shape else value
        return stacked
    return xp.stack([_zeros(xp, shape, dtype) if item is None else item for item in elements])


@compute("TensorListGather")
def _gather(
    xp: ArrayModule, input_handle: Array, indices: Array, element_shape: Array, *, element_dtype: DType
) -> Array:
    tlist, places = list_of(input_handle, element_dtype), indices.reshape(-1).tolist()
    shape = merged(shape_of_sizes(element_shape), tlist.element_shape)
    if not places and not shape.is_fully_defined():
        raise InvalidArgumentError.of(
            f"Tried to gather 0-elements from a list with non-fully-defined shape: {described(shape)}"
        )
    for place in places:
        if not 0 <= place < len(tlist.elements):
            raise InvalidArgumentError.of(
                f"Index {place} out o range; list only has {len(tlist.elements)} elements."
            )
    elements = [tlist.elements[place] for place in places]
    shape = tlist.known_shape(shape, elements)
    if not shape.is_fully_defined():
        raise InvalidArgumentError.of(
            "Tried to gather uninitialized tensors from a list with non-fully-defined element_shape:"
            f" {described(shape)}"
        )
    return _stacked(xp, elements, shape, element_dtype)


@compute("TensorListConcat")
def _concat(xp: ArrayModule, input_handle: Array, *, element_dtype: DType, element_shape: Any) -> Array:
    return _concatenated(xp, list_of(input_handle, element_dtype), None, element_shape, None)


@compute("TensorListConcatV2")
def _concat_v2(
    xp: ArrayModule,
    input_handle: Array,
    element_shape: Array,
    leading_dims: Array,
    *,
    element_dtype: DType,
    shape_type: DType,
) -> Array:
    tlist = list_of(input_handle, element_dtype)
    shape = merged(shape_of_sizes(element_shape), tlist.element_shape)
    if shape.sizes == ():
        raise InvalidArgumentError.of(
            "Concat requires elements to be at least vectors, found scalars instead."
        )
    rest = UNKNOWN_SHAPE if shape.sizes is None else TensorShape.of(shape.sizes[1:])
    return _concatenated(xp, tlist, shape.sizes[0] if shape.sizes else None, rest, leading_dims.tolist())


def _concatenated(
    xp: ArrayModule, tlist: TensorList, first: int | None, rest: TensorShape, lengths: Sequence[int] | None
) -> Any:
    """Return the concatenated elements and their lengths.

    Args:
        xp: numpy or cupy.
        tlist: the list.
        first: the required length of every element; None: any.
        rest: the known other sizes.
        lengths: lengths of unset elements; None: unset elements are an error.
    """
    if not tlist.elements and not rest.is_fully_defined():
        raise InvalidArgumentError.of(
            "All except the first dimension must be fully defined when concating an empty tensor list. element_shape:"
            f" {described(rest)}"
        )
    lengths_seen = {item.shape[0] for item in tlist.elements if item is not None and item.shape}
    for at, one in enumerate(tlist.elements):
        if one is None:
            continue
        if not one.shape:
            raise InvalidArgumentError.of(
                f"Concat saw a scalar shape at index {at} but requires at least vectors."
            )
        rest = merged(rest, TensorShape.of(one.shape[1:]))
        if first is not None and first != one.shape[0]:
            raise InvalidArgumentError.of(
                "First entry of element_shape input does not match the first dim of list element at index:"
                f" {at} Expected: {first} Actual: {one.shape[0]}"
            )
    if not rest.is_fully_defined():
        raise InvalidArgumentError.of(
            "Trying to concat list with only uninitialized tensors but element_shape_except_first_dim_ is not fully"
            f" defined: {described(rest)}"
        )
    if first is None and not lengths and len(lengths_seen) == 1:
        first = lengths_seen.pop()
    parts = []
    for at, one in enumerate(tlist.elements):
        if one is not None:
            parts.append(one)
            continue
        if lengths is None:
            raise InvalidArgumentError.of(
                "Concating lists with uninitialized tensors is not supported in this version of TensorListConcat."
                " Consider updating your GraphDef to run the newer version."
            )
        length = first if first is not None else lengths[at] if at < len(lengths) else None
        if length is None:
            raise InvalidArgumentError.of(
                f"List contains uninitialized tensor at index {at} but leading_dims has only {len(lengths)} elements."
            )
        parts.append(_zeros(xp, TensorShape.of((length, *rest.known_sizes)), tlist.element_dtype))
    sizes = np.array([len(part) for part in parts], np.int64)
    if not parts:
        return _zeros(xp, TensorShape.of((0, *rest.known_sizes)), tlist.element_dtype), sizes
    return xp.concatenate(parts), sizes
