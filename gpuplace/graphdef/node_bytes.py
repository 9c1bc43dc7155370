"""Operations as the bytes of ``NodeDef`` messages, put together from pieces that most of them share.

A graph of thousands of operations has few different types, devices and attribute values. Each is encoded once; a
``NodeDef`` is then a few lengths and pieces in a row, and protobuf reads the whole graph in one go::

    0a <length>   0a <length> name   12 <length> op   1a <length> input ...   22 <length> device   2a <length> attr ...
    node 1 of     field 1            field 2          field 3                 field 4              field 5: key, value
    a GraphDef

>>> bytes(varint(300)).hex()
'ac02'

Source: the wire format of protobuf; tensorflow/core/framework/node_def.proto, attr_value.proto and tensor.proto,
release 1.15 (numbers of the fields).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from gpuplace.graph.attr_value import TensorValue
from gpuplace.graph.operation import CLASS_ATTR, Operation
from gpuplace.graphdef.attr_values import encode_attr
from gpuplace.graphdef.tensor_proto import AS_BYTES
from gpuplace.shapes import TensorShape

_NODE = b"\n"
_NAME, _OP, _INPUT, _DEVICE, _ATTR = b"\n", b"\x12", b"\x1a", b'"', b"*"
_KEY, _VALUE = b"\n", b"\x12"


def varint(number: int) -> bytes:
    """A number in base 128, lowest digit first; a negative one as its 64-bit complement."""
    number &= (1 << 64) - 1
    digits = bytearray()
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    digits.append(number)
    return bytes(digits)


_SIZES = [varint(size) for size in range(2048)]


def _with_length(data: bytes) -> bytes:
    return (_SIZES[len(data)] if len(data) < 2048 else varint(len(data))) + data


class NodeBytes:
    """Encodes the operations of one graph, all of which stay as they are meanwhile."""

    def __init__(self) -> None:
        self._names: dict[Operation, bytes] = {}
        self._types: dict[str, bytes] = {}
        self._devices: dict[str, bytes] = {"": b""}
        self._attrs: dict[tuple[Any, ...], bytes] = {}
        self._shapes: dict[Any, bytes] = {}
        self._groups: dict[Any, bytes] = {}

    def node(self, op: Operation, more: Mapping[str, Any] | None = None) -> bytes:
        """The operation as an element of a ``GraphDef``, with ``more`` attributes."""
        names, attrs = self._names, op.attrs
        op_type = self._types.get(op.type)
        if op_type is None:
            op_type = self._types[op.type] = _OP + _with_length(op.type.encode())
        name = names[op] = _with_length(op.name.encode())
        pieces = [_NAME, name, op_type]
        for tensor in op.inputs:
            if tensor.value_index:
                pieces += _INPUT, _with_length(f"{tensor.op.name}:{tensor.value_index}".encode())
            else:
                pieces += _INPUT, names.get(tensor.op) or _with_length(tensor.op.name.encode())
        for control in op._control_inputs:
            pieces += _INPUT, _with_length(f"^{control.name}".encode())
        device = self._devices.get(op._device)
        if device is None:
            device = self._devices[op._device] = _DEVICE + _with_length(op._device.encode())
        pieces.append(device)
        if CLASS_ATTR in attrs or "value" in attrs:
            own = (CLASS_ATTR, "value")  # which hardly two operations share
            pieces += [self._one(attr, attrs[attr]) for attr in own if attr in attrs]
            attrs = {attr: item for attr, item in attrs.items() if attr not in own}
        # values are known again by identity: signatures share their defaults, and types are single objects
        key = (*attrs, *map(id, attrs.values()))
        common = self._attrs.get(key)
        if common is None:
            common = self._attrs[key] = b"".join([self._one(name, value) for name, value in attrs.items()])
        pieces.append(common)
        if more:
            pieces += [_attr(name, encode_attr(value).SerializeToString()) for name, value in more.items()]
        pieces.append(op.extra_fields)
        return _NODE + _with_length(b"".join(pieces))

    def _one(self, name: str, value: Any) -> bytes:
        kind = type(value)
        if name == CLASS_ATTR and kind is tuple:
            known = self._groups.get(value)
            if known is None:
                known = self._groups[value] = _attr(name, _groups(value))
            return known
        if kind is TensorValue and value.encoded is None and value.dtype.name in AS_BYTES:
            return _attr(name, b"B" + _with_length(self._tensor(value)))
        if kind is TensorShape and value.sizes is not None:
            return _attr(name, b":" + self._shape(value.sizes))
        if kind is int:
            return _attr(name, b"\x18" + varint(value))
        key = (name, id(value))
        piece = self._attrs.get(key)
        if piece is None:
            piece = _attr(name, encode_attr(value).SerializeToString())
            if kind is not TensorValue:
                self._attrs[key] = piece
        return piece

    def _tensor(self, value: TensorValue) -> bytes:
        """A ``TensorProto``, of a type that ``tensor_content`` holds."""
        array, dtype = value.array, value.dtype
        start = b"\x08" + varint(dtype.as_datatype_enum) + b"\x12" + self._shape(array.shape)
        if array.size > 1:
            return start + b'"' + _with_length(np.ascontiguousarray(array).tobytes())
        if not array.size:
            return start
        number = array.item()
        if dtype.name == "float32":
            return start + b"*" + _with_length(struct.pack("<f", number))
        if dtype.name == "float64":
            return start + b"2" + _with_length(struct.pack("<d", number))
        return start + _INTEGER_FIELDS.get(dtype.name, b":") + _with_length(varint(number))

    def _shape(self, sizes: tuple[int | None, ...]) -> bytes:
        """A ``TensorShapeProto`` of known rank, behind its length."""
        piece = self._shapes.get(sizes)
        if piece is None:
            shape = encode_attr(TensorShape.of(sizes)).shape.SerializeToString()
            piece = self._shapes[sizes] = _with_length(shape)
        return piece


def _groups(value: tuple[Any, ...]) -> bytes:
    """The ``AttrValue`` of a list of strings."""
    if not value or any(type(item) is not bytes for item in value):
        return encode_attr(value).SerializeToString()
    return b"\n" + _with_length(b"".join([b"\x12" + _with_length(item) for item in value]))


_INTEGER_FIELDS = {"int64": b"R", "uint32": b"\x82\x01", "uint64": b"\x8a\x01"}
"""Fields of a ``TensorProto`` for types whose numbers are not in ``int_val``."""


def _attr(name: str, value: bytes) -> bytes:
    return _ATTR + _with_length(_key(name) + _with_length(value))


@lru_cache(maxsize=4096)
def _key(name: str) -> bytes:
    return _KEY + _with_length(name.encode()) + _VALUE
