"""Conversion between arrays and ``TensorProto`` messages.

>>> proto = make_tensor_proto([[1.0, 2.0]])
>>> make_ndarray(proto)
array([[1., 2.]], dtype=float32)

Source: tensorflow/core/framework/tensor.proto and tensorflow/python/framework/tensor_util.py, release 1.15
(which field contains which type; the last value of a short list is repeated).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.dtypes import DType, as_array, as_dtype, count_of, string, variant
from gpuplace.errors import InvalidArgumentError, ResourceExhaustedError, UnimplementedError
from gpuplace.files.checkpoints.variants import EncodedVariant
from gpuplace.graph.attr_value import TensorValue
from gpuplace.graphdef.messages import DecodeError, TensorProto
from gpuplace.shapes import TensorShape
from gpuplace.typing import DTypeLike, ShapeLike

_FIELDS: dict[str, str] = {
    "float32": "float_val",
    "float64": "double_val",
    "int64": "int64_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "bool": "bool_val",
    "string": "string_val",
    "complex64": "scomplex_val",
    "complex128": "dcomplex_val",
    "float16": "half_val",
    "bfloat16": "half_val",
}
_INT_VAL = ("int32 uint8 int16 int8 uint16 qint8 quint8 qint32 qint16 quint16 int4 uint4 int2 uint2").split()
_FIELDS.update(dict.fromkeys(_INT_VAL, "int_val"))
_AS_BYTES = frozenset(
    "float32 float64 int32 uint8 int16 int8 int64 qint8 quint8 qint16 quint16 qint32 uint32 uint64".split()
)
"""Types whose values are stored as raw memory if there are two or more."""


def encode_tensor(value: TensorValue, proto: Any = None) -> TensorProto:
    """Write a tensor to a ``TensorProto``.

    Args:
        value: tensor value.
        proto: message to fill in; None: a new one.

    Returns:
        The message.
    """
    proto = TensorProto() if proto is None else proto
    if value.encoded is not None:
        proto.CopyFrom(value.encoded)
        return proto
    array, dtype = value.array, value.dtype.base_dtype
    proto.dtype = dtype.as_datatype_enum
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    proto.tensor_shape.SetInParent()
    if value.given is not None and value.given < array.size and dtype.name in _FIELDS:
        add_values(proto, array.reshape(-1)[: value.given], dtype)
        return proto
    if (array.size > 1 and dtype.name in _AS_BYTES) or dtype.name.startswith(("float8", "float4")):
        proto.tensor_content = np.ascontiguousarray(array).tobytes()
        return proto
    add_values(proto, array, dtype)
    return proto


def add_values(proto: TensorProto, array: np.ndarray[Any, Any], dtype: DType) -> None:
    """Write elements to the field of a ``TensorProto`` for their type.

    Args:
        proto: message to extend.
        array: elements.
        dtype: type of the elements.

    Raises:
        InvalidArgumentError: no field can contain elements of this type.
    """
    if dtype.name not in _FIELDS:
        raise InvalidArgumentError.of(f"Elements of type {dtype.name} have no field in a TensorProto")
    flat = np.ascontiguousarray(array).ravel()
    field = getattr(proto, _FIELDS[dtype.name])
    if dtype.name in ("float16", "bfloat16"):
        field.extend(flat.view(np.uint16).tolist())
    elif dtype.is_complex:
        field.extend(flat.view(dtype.real_dtype.as_numpy_dtype).tolist())
    elif dtype.name.endswith("int4") or dtype.name.endswith("int2"):
        field.extend(flat.astype(np.int32).tolist())
    else:
        field.extend(flat.tolist())


def decode_tensor(proto: TensorProto, first: int | None = None) -> np.ndarray[Any, Any]:
    """Return the elements of a ``TensorProto`` in its shape; read-only if one value fills the tensor.

    Args:
        proto: message to read.
        first: length of a vector to return instead, without filling in the other elements.

    Raises:
        InvalidArgumentError: type, shape and values are inconsistent.
        ResourceExhaustedError: repeating the last value would exceed the memory.
    """
    dtype, shape = tensor_type(proto)
    count = shape.num_elements()
    if count is None:
        raise _corrupt(f"its shape {shape} is not fully defined")
    sizes = shape.known_sizes
    if not dtype.is_numpy_compatible:
        raise _corrupt(f"values of type {dtype.name} cannot be stored in an array")
    if count * dtype.numpy_dtype.itemsize > _MAX_BYTES:
        raise _corrupt(f"its shape {shape} is larger than any memory")
    if proto.tensor_content:
        itemsize = dtype.numpy_dtype.itemsize
        if dtype.name == "string" or len(proto.tensor_content) != count * itemsize:
            raise _corrupt(f"{len(proto.tensor_content)} bytes for {count} elements of {dtype.name}")
        whole = np.frombuffer(proto.tensor_content, dtype.numpy_dtype)
        return whole.reshape(sizes) if first is None else whole[:first]
    if dtype.name not in _FIELDS:
        if count:
            raise _corrupt(f"no values for {count} elements of {dtype.name}")
        return np.empty(sizes, dtype.numpy_dtype)
    values = getattr(proto, _FIELDS[dtype.name])
    if dtype.name == "string":
        flat = np.empty(len(values), object)
        flat[:] = list(values)
    elif dtype.name in ("float16", "bfloat16"):
        flat = np.array(values, np.uint16).view(dtype.numpy_dtype)
    elif dtype.is_complex:
        if len(values) % 2:
            raise _corrupt(f"{len(values)} numbers, which cannot be pairs of real and imaginary parts")
        flat = np.array(values, dtype.real_dtype.as_numpy_dtype).view(dtype.numpy_dtype)
    else:
        flat = np.array(values).astype(dtype.numpy_dtype) if len(values) else np.empty(0, dtype.numpy_dtype)
    if first is not None and flat.size <= count:
        size = min(first, count)
        return _spread(flat[:size], (size,), size, dtype)
    return _spread(flat, sizes, count, dtype)


def _spread(
    flat: np.ndarray[Any, Any], sizes: tuple[int, ...], count: int, dtype: DType
) -> np.ndarray[Any, Any]:
    if flat.size == count:
        return flat.reshape(sizes)
    if flat.size > count:
        raise _corrupt(f"{flat.size} values for {count} elements")
    if flat.size == 0:
        zero = np.array(b"" if dtype.name == "string" else 0, dtype.numpy_dtype)
        return np.broadcast_to(zero, sizes)
    if flat.size == 1:
        return np.broadcast_to(flat[0], sizes)
    if count * flat.itemsize > _MAX_CONTINUED_BYTES:
        raise _too_large(flat.size, sizes, dtype)
    try:
        filled = np.empty(count, flat.dtype)
        filled[: flat.size] = flat
        filled[flat.size :] = flat[-1]
    except MemoryError:
        raise _too_large(flat.size, sizes, dtype) from None
    return filled.reshape(sizes)


_MAX_BYTES = 1 << 62
"""Maximum size of an array in bytes, even of one that repeats a single value."""

_MAX_CONTINUED_BYTES = 1 << 31
"""Maximum size in bytes of a tensor whose missing values are filled in; a larger one cannot be serialized."""


def _too_large(stored: int | str, sizes: tuple[int, ...], dtype: DType) -> ResourceExhaustedError:
    shape = ",".join(map(str, sizes))
    return ResourceExhaustedError.of(
        f"OOM when allocating tensor with shape[{shape}] and type {dtype.short_name}",
        facts={"because": f"{stored} values are stored, and the last one represents all others"},
        hint="store a single value, which needs no memory for repetition, or use tf.fill",
    )


def _corrupt(detail: str) -> InvalidArgumentError:
    return InvalidArgumentError.of(
        "Cannot parse tensor from proto", facts={"because": detail}, hint="write the file again"
    )


def tensor_type(proto: TensorProto) -> tuple[DType, TensorShape]:
    """Return element type and shape of a ``TensorProto``; InvalidArgumentError for an unknown type."""
    try:
        dtype = as_dtype(proto.dtype)
    except TypeError:
        raise _corrupt(f"type number {proto.dtype} does not exist") from None
    return dtype.base_dtype, TensorShape(proto.tensor_shape)


def tensor_value(proto: TensorProto) -> TensorValue:
    """Return a copy of a ``TensorProto`` as an attribute value, which is decoded on access."""
    dtype, shape = tensor_type(proto)
    copy = TensorProto()
    copy.CopyFrom(proto)
    return TensorValue(dtype, shape, encoded=copy, decode=decode_tensor)


def make_tensor_proto(
    values: Any, dtype: DTypeLike | None = None, shape: ShapeLike = None, verify_shape: bool = False
) -> TensorProto:
    """Return a Python value or array as a ``TensorProto``.

    Args:
        values: a number, string, bool, array, or nested lists of them.
        dtype: element type; None: as for ``tf.constant`` (float32 for Python floats, int32 for integers).
        shape: shape of the tensor; None: that of ``values``. The last element fills a larger shape.
        verify_shape: whether ``values`` must already have this shape.

    Returns:
        The message.

    Raises:
        TypeError: the values have another or no dtype, or another shape with ``verify_shape``.
        ValueError: the value is None, has more elements than the shape, or rows of different lengths.
    """
    base_dtype = None if dtype is None else as_dtype(dtype).base_dtype
    array = as_array(values, base_dtype, shape, verify_shape)
    count = None if shape is None else count_of(values)
    return encode_tensor(TensorValue.of_array(array.view(), base_dtype, count))


def make_ndarray(tensor: TensorProto) -> np.ndarray[Any, Any]:
    """Return the array of a ``TensorProto``.

    Args:
        tensor: message to read.

    Returns:
        A writable array of its elements; for strings, an object array of bytes.

    Raises:
        InvalidArgumentError: type, shape and values are inconsistent.
        ResourceExhaustedError: repeating the last value would exceed the memory.
    """
    array = decode_tensor(tensor)
    if array.nbytes > _MAX_CONTINUED_BYTES:
        raise _too_large("few", array.shape, tensor_type(tensor)[0])
    return np.array(array)


def array_of_bytes(text: bytes) -> tuple[np.ndarray[Any, Any], DType]:
    """Return elements and type of a serialized ``TensorProto``.

    Args:
        text: serialized message.

    Raises:
        ValueError: the message is invalid.
    """
    try:
        message = TensorProto.FromString(text)
        dtype = as_dtype(message.dtype)
        return _variants_of(message) if dtype is variant else decode_tensor(message), dtype
    except (DecodeError, TypeError) as error:
        raise ValueError(str(error)) from None


def _variants_of(message: Any) -> np.ndarray[Any, Any]:
    """Return the elements of a ``TensorProto`` of type ``variant``; ValueError for a wrong number of elements."""
    sizes = [dim.size for dim in message.tensor_shape.dim]
    flat = np.empty(len(message.variant_val), object)
    for number, element in enumerate(message.variant_val):
        flat[number] = EncodedVariant(element.type_name, element.metadata)
    return flat.reshape(sizes)


def bytes_of_array(value: np.ndarray[Any, Any], dtype: DType) -> bytes:
    """Serialize a tensor as a ``TensorProto`` with its elements as raw memory.

    Args:
        value: elements.
        dtype: element type.

    Raises:
        UnimplementedError: an element of type ``variant`` cannot be serialized.
    """
    message = TensorProto(dtype=dtype.as_datatype_enum)
    message.tensor_shape.SetInParent()
    value = np.asarray(value)
    for size in value.shape:
        message.tensor_shape.dim.add(size=size)
    if dtype is variant:
        for element in value.reshape(-1).tolist():
            if not isinstance(element, EncodedVariant):
                raise UnimplementedError.of(
                    f"A variant value of this class cannot be stored in a TensorProto: {type(element).__name__}"
                )
            message.variant_val.add(type_name=element.type_name, metadata=element.metadata)
    elif dtype is string:
        message.string_val.extend(value.reshape(-1).tolist())
    else:
        message.tensor_content = np.ascontiguousarray(value).tobytes()
    data: bytes = message.SerializeToString()
    return data
