"""Conversion of tensors, errors and descriptions of devices to plain values and buffers, and back.

Nothing is pickled, and all received data is validated: an array has one of TensorFlow's types of fixed size, and as
many bytes as its shape requires. The memory of a large tensor is neither copied nor inspected (``frames``).

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
"""Maximum size in bytes of tensors that are copied; the memory of larger ones is sent directly."""
_TYPES = {dtype.name: dtype for dtype in ALL_DTYPES}
"""Types by name."""
_ENDING = "cannot schedule new futures after"
"""Prefix of Python's thread pool errors after shutdown of the pool or the process."""


def packed(value: object) -> Any:
    """Convert a tensor's value to its wire form.

    Args:
        value: an array, a resource handle, or None for a dead tensor.

    Raises:
        UnimplementedError: the elements cannot leave their task, such as datasets.
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
                hint="create and use it on one task",
            )
        return {**_packed_strings(elements), "shape": list(array.shape)}
    fields = {"dtype": as_dtype(array.dtype).name, "shape": list(array.shape)}
    if array.nbytes <= SMALL_BYTES:
        return {**fields, "data": array.tobytes()}
    return {**fields, "data": np.ascontiguousarray(array).reshape(-1).view(np.uint8).data}


def unpacked(sent: Any) -> Any:
    """Convert a wire form to a tensor's value, a writable array.

    Raises:
        FrameError: it is not a result of ``packed``.
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
        return _of_elements([_unpacked_list(row) for row in sent["lists"]], shape, is_scalar=not shape)
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


def _text(value: object) -> str:
    if type(value) is not str:
        raise TypeError(type(value))
    return value


def _packed_strings(elements: list[str | bytes]) -> dict[str, Any]:
    """Return strings as one buffer, their sizes in bytes, and the positions of those of type ``str``."""
    texts = [number for number, element in enumerate(elements) if isinstance(element, str)]
    encoded = [
        element.encode("utf-8", "surrogatepass") if isinstance(element, str) else element
        for element in elements
    ]
    return {"strings": b"".join(encoded), "sizes": list(map(len, encoded)), "texts": texts}


def _unpacked_strings(sent: dict[str, Any]) -> list[str | bytes]:
    joined, sizes = memoryview(sent["strings"]), sent["sizes"]
    if any(type(size) is not int or size < 0 for size in sizes) or sum(sizes) != len(joined):
        raise ValueError("sizes")
    ends = itertools.accumulate(sizes)
    strings: list[str | bytes] = [
        joined[end - size : end].tobytes() for size, end in zip(sizes, ends, strict=True)
    ]
    for number in sent["texts"]:
        strings[number] = strings[number].decode("utf-8", "surrogatepass")
    return strings


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
    """Convert an error to its wire form."""
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
    """Convert a wire form to an error.

    Raises:
        FrameError: it is not a result of ``packed_error``.
    """
    try:
        cls: Any = exception_type_from_error_code(sent["code"])
        unpacked: OpError = cls.of(_text(sent["message"]), facts=sent["facts"], hint=sent["hint"])
        return unpacked
    except (LookupError, TypeError, ValueError) as error:
        raise FrameError(f"an error that cannot be read ({type(error).__name__})") from None


def packed_device(device: DeviceAttributes) -> dict[str, Any]:
    """Convert a device to its wire form."""
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
    """Convert a wire form to a device."""
    bus, node, links = sent["locality"]
    locality = DeviceLocality(bus, node, tuple(DeviceLink(*link) for link in links))
    return DeviceAttributes(**{**sent, "locality": locality})
