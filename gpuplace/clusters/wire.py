"""What goes over the wire: tensors, errors and descriptions of devices as plain values and buffers.

Nothing is pickled, and nothing that arrives is believed: an array has one of TensorFlow's types of fixed size, and as
many bytes as its shape says. The memory of a large tensor is neither copied nor looked at (``frames``).

>>> packed(np.float32([1, 2]))
{'dtype': 'float32', 'shape': [2], 'data': b'\\x00\\x00\\x80?\\x00\\x00\\x00@'}
>>> unpacked(_)
array([1., 2.], dtype=float32)
>>> packed(np.array([b"a", b"bc"], object))
{'strings': b'abc', 'sizes': [1, 2], 'texts': [], 'shape': [2]}
>>> unpacked(_)
array([b'a', b'bc'], dtype=object)
>>> unpacked(packed(None)) is None
True
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from gpuplace.clusters.frames import FrameError
from gpuplace.device.device_set import DeviceAttributes, DeviceLink, DeviceLocality
from gpuplace.dtypes import ALL_DTYPES, as_dtype
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
"""Tensors of at most this size are copied; the memory of larger ones is sent as it is."""
_TYPES = {dtype.name: dtype for dtype in ALL_DTYPES}
"""Name of a declared type -> the type."""
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
        return {**_packed_strings(elements), "shape": list(array.shape)}
    found = {"dtype": as_dtype(array.dtype).name, "shape": list(array.shape)}
    if array.nbytes <= SMALL_BYTES:
        return {**found, "data": array.tobytes()}
    return {**found, "data": np.ascontiguousarray(array).reshape(-1).view(np.uint8).data}


def unpacked(sent: Any) -> Any:
    """The value of what ``packed`` gave, after the journey: an array of its own, which may be written to.

    Raises:
        FrameError: it is not what ``packed`` gives.
    """
    try:
        return _unpacked(sent)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise FrameError(f"a tensor that cannot be read ({type(error).__name__})") from None


def _unpacked(sent: Any) -> Any:
    if sent is None:
        return None
    if "handle" in sent:
        device, container, name, type_name = map(_text, sent["handle"])
        return ResourceHandle(device, container, name, type_name, None)
    shape = tuple(sent["shape"])
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(shape)
    if "lists" in sent:
        return _of_elements([_unpacked_list(one) for one in sent["lists"]], shape, is_scalar=not shape)
    if "strings" in sent:
        return _of_elements(_unpacked_strings(sent), shape)
    dtype = np.dtype(_TYPES[sent["dtype"]].as_numpy_dtype)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(sent["data"]):
        raise ValueError(dtype)
    array = np.frombuffer(sent["data"], dtype).reshape(shape)
    return array if array.flags.writeable else array.copy()


def _of_elements(elements: list[Any], shape: tuple[int, ...], is_scalar: bool = False) -> Any:
    array = np.empty(len(elements), object)
    array[:] = elements
    array = array.reshape(shape)
    return array[()] if is_scalar else array


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(type(value))
    return value


def _packed_strings(elements: list[str | bytes]) -> dict[str, Any]:
    """Strings in one buffer, their sizes in bytes, and which of them are ``str``."""
    texts = [number for number, element in enumerate(elements) if isinstance(element, str)]
    sent = [one.encode("utf-8", "surrogatepass") if isinstance(one, str) else one for one in elements]
    return {"strings": b"".join(sent), "sizes": list(map(len, sent)), "texts": texts}


def _unpacked_strings(sent: dict[str, Any]) -> list[str | bytes]:
    joined, sizes = memoryview(sent["strings"]), sent["sizes"]
    if any(type(size) is not int or size < 0 for size in sizes) or sum(sizes) != len(joined):
        raise ValueError("sizes")
    ends = itertools.accumulate(sizes)
    found: list[str | bytes] = [
        joined[end - size : end].tobytes() for size, end in zip(sizes, ends, strict=True)
    ]
    for number in sent["texts"]:
        found[number] = found[number].decode("utf-8", "surrogatepass")
    return found


def _packed_list(value: TensorList) -> dict[str, Any]:
    sizes = value.element_shape.sizes
    return {
        "type": value.element_dtype.name,
        "sizes": None if sizes is None else list(sizes),
        "most": value.max_num_elements,
        "elements": [packed(element) for element in value.elements],
    }


def _unpacked_list(sent: dict[str, Any]) -> TensorList:
    sizes, most = sent["sizes"], sent["most"]
    if type(most) is not int:
        raise TypeError(type(most))
    return TensorList(
        [_unpacked(element) for element in sent["elements"]],
        _TYPES[sent["type"]],
        TensorShape(sizes),
        most,
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
    """The error that ``packed_error`` packed.

    Raises:
        FrameError: it is something else.
    """
    try:
        cls: Any = exception_type_from_error_code(sent["code"])
        made: OpError = cls.of(_text(sent["message"]), facts=sent["facts"], hint=sent["hint"])
        return made
    except (LookupError, TypeError, ValueError) as error:
        raise FrameError(f"an error that cannot be read ({type(error).__name__})") from None


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
