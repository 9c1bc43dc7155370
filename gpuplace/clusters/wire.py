"""What goes over the wire: tensors, errors and descriptions of devices as plain values and frames.

Nothing is pickled. A small tensor travels inside its message, a large one as a frame of its own that is neither copied
nor looked at: dask sends the array's memory as it is.

>>> packed(np.float32([1, 2]))
{'dtype': 'float32', 'shape': [2], 'data': b'\\x00\\x00\\x80?\\x00\\x00\\x00@'}
>>> unpacked(_)
array([1., 2.], dtype=float32)
>>> unpacked(packed(np.array([b"a", b"bc"], object)))
array([b'a', b'bc'], dtype=object)
>>> unpacked(packed(None)) is None
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.device.device_set import DeviceAttributes, DeviceLink, DeviceLocality
from gpuplace.dtypes import as_dtype
from gpuplace.errors import (
    InternalError,
    OpError,
    UnavailableError,
    UnimplementedError,
    exception_type_from_error_code,
)
from gpuplace.kernels.resources import ResourceHandle
from gpuplace.kernels.tensor_lists import TensorList
from gpuplace.shapes import TensorShape

SMALL_BYTES = 1 << 17
"""Tensors of at most so many bytes are copied into their message: quicker than a frame more to write and read."""
_ENDING = "cannot schedule new futures after"
"""How Python's thread pools begin to say that they, or the process, are shut down."""


def packed(value: Any) -> Any:
    """A tensor's value as it is sent.

    Args:
        value: an array, a resource handle, or None for a tensor of a branch that was not taken.

    Raises:
        UnimplementedError: elements that cannot leave their task, such as datasets.
    """
    if value is None:
        return None
    if isinstance(value, ResourceHandle):
        return {"handle": [value.device, value.container, value.name, value.type_name]}
    array = np.array(value, object) if isinstance(value, str | bytes) else np.asarray(value)
    if array.dtype.kind in "OSU":
        elements = array.ravel().tolist()
        if elements and all(isinstance(element, TensorList) for element in elements):
            return {"lists": [_packed_list(element) for element in elements], "shape": list(array.shape)}
        if not all(isinstance(element, str | bytes) for element in elements):
            raise UnimplementedError.of(
                f"A tensor of {type(elements[0]).__name__} elements cannot be sent to another task.",
                hint="make and use it on one task",
            )
        return {"strings": elements, "shape": list(array.shape)}
    found = {"dtype": as_dtype(array.dtype).name, "shape": list(array.shape)}
    if array.nbytes <= SMALL_BYTES:
        return {**found, "data": array.tobytes()}
    from distributed.protocol import to_serialize

    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return {
        **found,
        "data": to_serialize(flat.data),
    }  # as an array it would arrive read-only where it is that here


def unpacked(sent: Any) -> Any:
    """The value of what ``packed`` gave, after the journey: an array of its own, which may be written to."""
    if sent is None:
        return None
    if "handle" in sent:
        device, container, name, type_name = sent["handle"]
        return ResourceHandle(device, container, name, type_name, None)
    shape = tuple(sent["shape"])
    if "lists" in sent:
        lists = np.empty(len(sent["lists"]), object)
        lists[:] = [_unpacked_list(one) for one in sent["lists"]]
        return lists.reshape(shape) if shape else lists[0]
    if "strings" in sent:
        array = np.empty(len(sent["strings"]), object)
        array[:] = sent["strings"]
        return array.reshape(shape)
    dtype = as_dtype(sent["dtype"]).as_numpy_dtype
    array = np.frombuffer(sent["data"], dtype).reshape(shape)
    return array if array.flags.writeable else array.copy()


def _packed_list(value: TensorList) -> dict[str, Any]:
    sizes = value.element_shape.sizes
    return {
        "type": value.element_dtype.name,
        "sizes": None if sizes is None else list(sizes),
        "most": value.max_num_elements,
        "elements": [packed(element) for element in value.elements],
    }


def _unpacked_list(sent: dict[str, Any]) -> TensorList:
    sizes = sent["sizes"]
    return TensorList(
        [unpacked(element) for element in sent["elements"]],
        as_dtype(sent["type"]),
        TensorShape(sizes),
        sent["most"],
    )


def packed_error(error: BaseException) -> dict[str, Any]:
    """An error as it is sent."""
    if isinstance(error, RuntimeError) and str(error).startswith(_ENDING):
        error = UnavailableError.of("The task is ending.")
    if not isinstance(error, OpError):
        error = InternalError.of(f"{type(error).__name__}: {error}")
    return {
        "code": error.error_code,
        "message": error.message,
        "facts": dict(error.facts),
        "hint": error.hint,
    }


def unpacked_error(sent: dict[str, Any]) -> OpError:
    """The error that ``packed_error`` packed."""
    cls: Any = exception_type_from_error_code(sent["code"])
    made: OpError = cls.of(sent["message"], facts=sent["facts"], hint=sent["hint"])
    return made


def packed_device(device: DeviceAttributes) -> dict[str, Any]:
    """A device as it is sent."""
    place = device.locality
    return {
        "name": device.name,
        "device_type": device.device_type,
        "memory_limit": device.memory_limit,
        "physical_device_desc": device.physical_device_desc,
        "incarnation": device.incarnation,
        "physical_id": device.physical_id,
        "locality": [
            place.bus_id,
            place.numa_node,
            [[link.device_id, link.type, link.strength] for link in place.links],
        ],
    }


def unpacked_device(sent: dict[str, Any]) -> DeviceAttributes:
    """The device that ``packed_device`` packed."""
    bus, node, links = sent["locality"]
    locality = DeviceLocality(bus, node, tuple(DeviceLink(*link) for link in links))
    return DeviceAttributes(**{**sent, "locality": locality})
