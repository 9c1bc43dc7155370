"""Kernels of the tensor array ops.

Each run of ``TensorArrayV3`` makes an array, whose handle goes to all reads and writes. A flow, a scalar without
meaning, orders them. The gradient of an array is another array, one for each source: repeated writes to an element are
summed, and unwritten elements are zero.

Source: tensorflow/core/kernels/tensor_array.cc and tensor_array_ops.cc, release 1.15 (sentences).
"""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.kernels.resources import ResourceHandle
from gpuplace.ops.support import no_outputs, scalar_shape, unknown_shape
from gpuplace.shapes import SCALAR_SHAPE, UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, DTypeLike

_TYPE_NAME = "N10tensorflow11TensorArrayE"
_CONTAINER = "_tensor_arrays"
_numbers = itertools.count()
_lock = threading.Lock()


class _Element:
    """An element of an array."""

    __slots__ = ("is_cleared", "is_written", "shape", "value")

    def __init__(self, shape: tuple[int, ...] | None = None) -> None:
        self.value: Any = None
        self.shape = shape
        """Shape of the written value, which remains after the value is cleared."""
        self.is_written = False
        self.is_cleared = False


class ArrayOfTensors:
    """An array of tensors of one dtype.

    Args:
        name: name for messages.
        dtype: NumPy dtype.
        size: number of elements.
        is_dynamic: whether writes beyond the end grow the array.
        clears: whether a value can be read only once.
        shape: static shape of the elements.
        has_one_shape: whether all elements have the same shape.
        is_gradient: whether repeated writes are summed and unwritten elements are zero.
    """

    def __init__(
        self,
        name: str,
        dtype: DTypeLike,
        size: int,
        is_dynamic: bool,
        clears: bool,
        shape: TensorShape,
        has_one_shape: bool,
        is_gradient: bool = False,
    ) -> None:
        self.name, self.dtype, self.is_dynamic, self.clears = name, dtype, is_dynamic, clears
        self.shape, self.has_one_shape, self.is_gradient = shape, has_one_shape, is_gradient
        self.elements = [_Element() for _ in range(size)]
        self._gradients: dict[bytes, ArrayOfTensors] = {}

    def error(self, sentence: str) -> InvalidArgumentError:
        """Return an error with that message."""
        return InvalidArgumentError.of(f"TensorArray {self.name}: {sentence}")

    def write(self, xp: ArrayModule, index: int, value: Array) -> None:
        """Write an element; in a gradient, add to it."""
        if value.dtype != self.dtype:
            raise self.error(
                f"Could not write to TensorArray index {index} because the value dtype is {value.dtype} but"
                f" TensorArray dtype is {self.dtype}."
            )
        if index < 0 or (index >= len(self.elements) and not self.is_dynamic):
            raise self.error(
                f"Tried to write to index {index} but array is not resizeable and size is: {len(self.elements)}"
            )
        while index >= len(self.elements):
            self.elements.append(_Element())
        if not self.shape.is_compatible_with(TensorShape.of(value.shape)):
            raise self.error(
                f"Could not write to TensorArray index {index} because the value shape is {brackets(value.shape)}"
                f" which is incompatible with the TensorArray's inferred element shape: {self.shape} (consider"
                " setting infer_shape=False)."
            )
        element = self.elements[index]
        if element.is_cleared:
            raise self.error(
                f"Could not write to TensorArray index {index} because it has already been read."
            )
        if not element.is_written:
            element.value, element.shape, element.is_written = value, value.shape, True
        elif self.is_gradient:
            element.value = xp.add(element.value, value)
        else:
            raise self.error(
                f"Could not write to TensorArray index {index} because it has already been written to."
            )
        if self.has_one_shape:
            self.shape = self.shape.merge_with(TensorShape.of(value.shape))

    def read(self, xp: ArrayModule, index: int, clears: bool | None = None) -> Array:
        """Read an element."""
        if not 0 <= index < len(self.elements):
            raise self.error(f"Tried to read from index {index} but array size is: {len(self.elements)}")
        element = self.elements[index]
        if element.is_cleared:
            raise self.error(
                f"Could not read index {index} twice because it was cleared after a previous read (perhaps try setting"
                " clear_after_read = false?)."
            )
        if not element.is_written:
            return self._unwritten(xp, index, element)
        value = element.value
        if self.clears if clears is None else clears:
            element.value, element.is_cleared = None, True
        return value

    def _unwritten(self, xp: ArrayModule, index: int, element: _Element) -> Array:
        shape = element.shape
        if shape is None and self.shape.is_fully_defined():
            shape = self.shape.known_sizes
        if shape is None:
            raise self.error(
                f"Could not read from TensorArray index {index}.  Furthermore, the element shape is not fully defined:"
                f" {self.shape}.  It is possible you are working with a resizeable TensorArray and stop_gradients is"
                " not allowing the gradients to be written.  If you set the full element_shape property on the forward"
                " TensorArray, the proper all-zeros tensor will be returned instead of incurring this error."
            )
        return xp.zeros(shape, self.dtype)

    def gradient(self, source: bytes) -> ArrayOfTensors:
        """Return the array of gradients for a source; make it on first use."""
        with _lock:
            array = self._gradients.get(source)
            if array is None:
                array = self._gradients[source] = ArrayOfTensors(
                    f"{self.name}@{source.decode()}",
                    self.dtype,
                    len(self.elements),
                    False,
                    self.clears,
                    self.shape,
                    self.has_one_shape,
                    True,
                )
                for own, forward in zip(array.elements, self.elements, strict=True):
                    own.shape = forward.shape
        return array


_FLOW = np.zeros((), np.float32)


@compute("TensorArrayV3")
def _make(
    xp: Any,
    size: Any,
    *,
    dtype: Any,
    element_shape: Any,
    dynamic_size: bool,
    clear_after_read: bool,
    identical_element_shapes: bool,
    tensor_array_name: bytes,
    ctx: KernelContext,
) -> Any:
    if size.ndim:
        raise InvalidArgumentError.of(
            f"TensorArray size must be scalar, but had shape: {brackets(size.shape)}"
        )
    name = f"{tensor_array_name.decode() or ctx.op.name}_{next(_numbers)}"
    if int(size) < 0:
        raise InvalidArgumentError.of("Size should be >= 0.")
    array = ArrayOfTensors(
        name,
        dtype.as_numpy_dtype,
        int(size),
        dynamic_size,
        clear_after_read,
        element_shape,
        identical_element_shapes,
    )
    return ResourceHandle(ctx.device, _CONTAINER, name, _TYPE_NAME, array), xp.asarray(_FLOW)


@compute("TensorArrayGradV3")
def _gradient(xp: ArrayModule, handle: Any, flow_in: Any, *, source: bytes, ctx: KernelContext) -> Any:
    array = handle.resource.gradient(source)
    return ResourceHandle(ctx.device, _CONTAINER, array.name, _TYPE_NAME, array), flow_in


@compute("TensorArrayReadV3")
def _read(xp: Any, handle: Any, index: Any, flow_in: Array) -> Any:
    return handle.resource.read(xp, int(index))


@compute("TensorArrayWriteV3")
def _write(xp: Any, handle: Any, index: Any, value: Any, flow_in: Array) -> Array:
    handle.resource.write(xp, int(index), value)
    return flow_in


@compute("TensorArrayGatherV3")
def _gather(xp: ArrayModule, handle: Any, indices: Array, flow_in: Array, *, element_shape: Any) -> Array:
    array = handle.resource
    if not len(indices):
        shape = array.shape.merge_with(element_shape)
        if not shape.is_fully_defined():
            raise array.error(
                f"TensorArray has size zero, but element shape {shape} is not fully defined. Currently only static"
                " shapes are supported when packing zero-size TensorArrays."
            )
        return xp.zeros((0, *shape.known_sizes), array.dtype)
    values = [array.read(xp, int(index)) for index in indices.tolist()]
    for index, value in enumerate(values):
        if value.shape != values[0].shape:
            raise array.error(
                f"TensorArray has inconsistent shapes.  Index 0 has shape: {brackets(values[0].shape)} but index"
                f" {index} has shape: {brackets(value.shape)}"
            )
    return xp.stack(values)


@compute("TensorArrayScatterV3")
def _scatter(xp: ArrayModule, handle: Any, indices: Array, value: Array, flow_in: Array) -> Array:
    array = handle.resource
    if not value.ndim or len(indices) != len(value):
        raise array.error(
            f"Expected len(indices) == values.shape[0], but saw: {len(indices)} vs."
            f" {len(value) if value.ndim else 'a scalar'}"
        )
    for position, index in enumerate(indices.tolist()):
        array.write(xp, index, value[position, ...])
    return flow_in


@compute("TensorArrayConcatV3")
def _concat(xp: Any, handle: Any, flow_in: Array, *, element_shape_except0: Any) -> Any:
    array = handle.resource
    values = [array.read(xp, index) for index in range(len(array.elements))]
    lengths = np.array([len(value) for value in values], np.int64)
    if not values:
        shape = element_shape_except0
        if not shape.is_fully_defined():
            raise array.error(
                "TensorArray has size zero, but element_shape_except0 is not fully defined. Currently only static"
                " shapes are supported when concatenating zero-size TensorArrays."
            )
        return xp.zeros((0, *shape.known_sizes), array.dtype), lengths
    for index, value in enumerate(values):
        if value.shape[1:] != values[0].shape[1:]:
            raise array.error(
                f"TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape:"
                f" {brackets(values[0].shape[1:])} but index {index} has (excepting dimension 0) shape:"
                f" {brackets(value.shape[1:])}"
            )
    return xp.concatenate(values), lengths


@compute("TensorArraySplitV3")
def _split(xp: ArrayModule, handle: Any, value: Array, lengths: Array, flow_in: Array) -> Array:
    array = handle.resource
    sizes = lengths.tolist()
    if sum(sizes) != len(value):
        raise array.error(
            f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {sum(sizes)} and value's"
            f" shape is: {brackets(value.shape)} "
        )
    if len(sizes) != len(array.elements) and not array.is_dynamic:
        raise array.error(
            f"TensorArray's size is not equal to the size of lengths ({len(array.elements)} vs. {len(sizes)}), and the"
            " TensorArray is not marked as dynamically resizeable"
        )
    start = 0
    for index, size in enumerate(sizes):
        array.write(xp, index, value[start : start + size])
        start += size
    return flow_in


@compute("TensorArraySizeV3")
def _size(xp: ArrayModule, handle: Any, flow_in: Array) -> Any:
    return np.asarray(len(handle.resource.elements), np.int32)


@compute("TensorArrayCloseV3")
def _close(xp: ArrayModule, handle: Any) -> Any:
    handle.resource.elements.clear()
    return ()


# Shapes

_HANDLE = TensorShape.of((2,))


@shape_function("TensorArrayV3")
def _make_shape(op: Operation) -> Any:
    return _HANDLE, SCALAR_SHAPE


@shape_function("TensorArrayGradV3")
def _gradient_shape(op: Operation) -> Any:
    return _HANDLE, SCALAR_SHAPE


shape_function("TensorArrayWriteV3", "TensorArrayScatterV3", "TensorArraySplitV3", "TensorArraySizeV3")(
    scalar_shape
)


shape_function("TensorArrayReadV3", "TensorArrayGatherV3")(unknown_shape)


@shape_function("TensorArrayConcatV3")
def _concat_shape(op: Operation) -> Any:
    return UNKNOWN_SHAPE, TensorShape.of((None,))


shape_function("TensorArrayCloseV3")(no_outputs)
