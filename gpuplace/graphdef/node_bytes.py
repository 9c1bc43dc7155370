"""Operations as the bytes of ``NodeDef`` messages, put together from pieces that most of them share.

A graph of thousands of operations has few different types, devices and attribute values. Each is encoded once; a
``NodeDef`` is then a few lengths and pieces in a row, and protobuf reads the whole graph in one go::

    0a <length>   0a <length> name   12 <length> op   1a <length> input ...   22 <length> device   2a <length> attr ...
    node 1 of     field 1            field 2          field 3                 field 4              field 5: key, value
    a GraphDef

The pieces are texts, a character a byte, as Python joins texts faster; only large tensors stay bytes.

>>> varint(300)
'¬\\x02'

Source: the wire format of protobuf; tensorflow/core/framework/node_def.proto, attr_value.proto and tensor.proto,
release 1.15 (numbers of the fields).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from gpuplace.graph.attr_value import TensorValue
from gpuplace.graph.operation import CLASS_ATTR, Operation, Tensor
from gpuplace.graphdef.attr_values import encode_attr
from gpuplace.graphdef.tensor_proto import AS_BYTES
from gpuplace.shapes import TensorShape

__all__ = ["CHUNK_BYTES", "node_chunks", "varint"]

_NODE, _NAME, _OP, _INPUT, _DEVICE, _ATTR = "\n", "\n", "\x12", "\x1a", '"', "*"
_KEY, _VALUE = "\n", "\x12"

_OWN = ("value", "shape")
"""Attributes whose values are objects of the operation's own."""

_LARGE_BYTES = 1 << 16
"""Tensors from this size on are not copied more often than needed."""

CHUNK_BYTES = 1 << 26
"""About so many bytes are made at a time."""


def _text(data: bytes) -> str:
    return data.decode("latin-1")


def varint(number: int) -> str:
    """A number in base 128, lowest digit first; a negative one as its 64-bit complement."""
    number &= (1 << 64) - 1
    digits = bytearray()
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    digits.append(number)
    return _text(bytes(digits))


_SIZES = [varint(size) for size in range(2048)]


def _with_length(text: str) -> str:
    size = len(text)
    return (_SIZES[size] if size < 2048 else varint(size)) + text


def _string(text: str) -> str:
    return _with_length(text if text.isascii() else _text(text.encode()))


def node_chunks(operations: Iterable[Operation], add_shapes: bool = False) -> Iterator[bytes]:
    """The operations, which stay as they are meanwhile, as elements of a ``GraphDef``, in chunks.

    Args:
        operations: of one graph.
        add_shapes: give every node with outputs an ``_output_shapes`` attribute.
    """
    pieces = _Pieces()
    types, devices, inputs, common, groups = (
        pieces.types, pieces.devices, pieces.inputs, pieces.common, pieces.groups
    )  # fmt: skip
    parts: list[bytes] = []
    nodes: list[str] = []
    total = 0
    for op in operations:
        name = op.name
        size = len(name)
        name = f"{_SIZES[size]}{name}" if size < 2048 and name.isascii() else _string(name)
        node = f"{_NAME}{name}{types.get(op.type) or pieces.type_of(op.type)}"
        outputs = op.outputs
        if outputs:
            inputs[outputs[0]] = _INPUT + name
        for tensor in op.inputs:
            node += inputs.get(tensor) or pieces.input(tensor)
        for control in op._control_inputs:
            node += pieces.control(control)
        if op._device:
            node += devices.get(op._device) or pieces.device(op._device)
        attrs = op.attrs
        large: tuple[bytes, ...] = ()
        if CLASS_ATTR in attrs:
            attrs = attrs.copy()
            group = attrs.pop(CLASS_ATTR)
            node += groups.get(group) or pieces.group(group)
        if "value" in attrs or "shape" in attrs:
            attrs = attrs.copy()
            for attr in _OWN:
                if attr in attrs:
                    piece, large = pieces.own(attr, attrs.pop(attr))
                    node += piece
        # values are known again by identity: signatures share their defaults, and types are single objects
        key = (*attrs, *map(id, attrs.values()))
        known = common.get(key)
        if known is None:
            known = common[key] = "".join([pieces.attr(attr, value) for attr, value in attrs.items()])
        node += known
        if add_shapes and outputs:
            node += pieces.output_shapes(op)
        if op.extra_fields:
            node += _text(op.extra_fields)
        size = len(node)
        if large:
            size += sum(map(len, large))
            nodes.append(f"{_NODE}{varint(size)}{node}")
            parts += "".join(nodes).encode("latin-1"), *large
            nodes = []
        else:
            nodes.append(f"{_NODE}{_SIZES[size] if size < 2048 else varint(size)}{node}")
        total += size
        if total > CHUNK_BYTES:
            yield b"".join([*parts, "".join(nodes).encode("latin-1")])
            parts, nodes, total = [], [], 0
    yield b"".join([*parts, "".join(nodes).encode("latin-1")])


class _Pieces:
    """What is encoded already of the operations of one graph."""

    def __init__(self) -> None:
        self.types: dict[str, str] = {}
        self.devices: dict[str, str] = {}
        self.inputs: dict[Tensor, str] = {}
        self.common: dict[tuple[Any, ...], str] = {}
        self.groups: dict[Any, str] = {}
        self._controls: dict[Operation, str] = {}
        self._shapes: dict[tuple[int, ...], str] = {}
        self._attrs: dict[tuple[str, Any], str] = {}

    def type_of(self, op_type: str) -> str:
        """The type."""
        piece = self.types[op_type] = _OP + _string(op_type)
        return piece

    def device(self, device: str) -> str:
        """The requested device."""
        piece = self.devices[device] = _DEVICE + _string(device)
        return piece

    def input(self, tensor: Tensor) -> str:
        """An input."""
        name, output = tensor.op.name, tensor.value_index
        piece = self.inputs[tensor] = _INPUT + _string(f"{name}:{output}" if output else name)
        return piece

    def control(self, op: Operation) -> str:
        """A control input."""
        piece = self._controls.get(op)
        if piece is None:
            piece = self._controls[op] = _INPUT + _string(f"^{op.name}")
        return piece

    def output_shapes(self, op: Operation) -> str:
        """The attribute ``_output_shapes``."""
        shapes = tuple([tensor.shape for tensor in op.outputs])
        return self._cached("_output_shapes", tuple([shape.sizes for shape in shapes]), shapes)

    def group(self, value: Any) -> str:
        """The groups that the operation is in."""
        piece = self.groups[value] = _attr(CLASS_ATTR, _list(value))
        return piece

    def own(self, name: str, value: Any) -> tuple[str, tuple[bytes, ...]]:
        """An attribute whose value is an object of the operation's own; or the bytes of one with a large tensor."""
        kind = type(value)
        if kind is TensorShape:
            return self._cached(name, value.sizes, value), ()
        if kind is not TensorValue:
            return self.attr(name, value), ()
        if value.encoded is not None or value.dtype.name not in AS_BYTES:
            return _attr(name, _encoded(value)), ()
        array = value.array
        shape = self._shapes.get(array.shape)
        if shape is None:
            shape = self._shapes[array.shape] = _shape(array.shape)
        start = f"\x08{varint(value.dtype.as_datatype_enum)}\x12{shape}"
        if array.nbytes >= _LARGE_BYTES:
            return "", _large_tensor(name, start, array)
        return _attr(name, "B" + _with_length(_small_tensor(start, array, value.dtype.name))), ()

    def attr(self, name: str, value: Any) -> str:
        """An attribute whose value is the same object in many operations."""
        return self._cached(name, id(value), value)

    def _cached(self, name: str, key: Any, value: Any) -> str:
        piece = self._attrs.get((name, key))
        if piece is None:
            piece = self._attrs[name, key] = _attr(name, _encoded(value))
        return piece


def _encoded(value: Any) -> str:
    """The ``AttrValue``."""
    return _text(encode_attr(value).SerializeToString())


def _attr(name: str, value: str) -> str:
    return _ATTR + _with_length(_KEY + _string(name) + _VALUE + _with_length(value))


def _shape(sizes: tuple[int, ...]) -> str:
    """A ``TensorShapeProto``, behind its length."""
    return _with_length(_text(encode_attr(TensorShape.of(sizes)).shape.SerializeToString()))


def _small_tensor(start: str, array: Any, dtype: str) -> str:
    """A ``TensorProto``, of a type that ``tensor_content`` holds; it begins with type and shape."""
    if array.size > 1:
        return f'{start}"{_with_length(_text(np.ascontiguousarray(array).tobytes()))}'
    if not array.size:
        return start
    number = array.item()
    if dtype == "float32":
        return f"{start}*{_with_length(_text(struct.pack('<f', number)))}"
    if dtype == "float64":
        return f"{start}2{_with_length(_text(struct.pack('<d', number)))}"
    return f"{start}{_INTEGER_FIELDS.get(dtype, ':')}{_with_length(varint(number))}"


def _large_tensor(name: str, start: str, array: Any) -> tuple[bytes, bytes]:
    """An attribute with a large tensor: what stands before its elements, and those."""
    data = np.ascontiguousarray(array).tobytes()
    start += '"' + varint(len(data))
    for head in ("B", _KEY + _string(name) + _VALUE, _ATTR):
        start = head + varint(len(start) + len(data)) + start
    return start.encode("latin-1"), data


def _list(value: Any) -> str:
    """The ``AttrValue`` of groups."""
    if not value or any(type(item) is not bytes for item in value):
        return _encoded(value)
    return "\n" + _with_length("".join(["\x12" + _with_length(_text(item)) for item in value]))


_INTEGER_FIELDS = {"int64": "R", "uint32": "\x82\x01", "uint64": "\x8a\x01"}
"""Fields of a ``TensorProto`` for types whose numbers are not in ``int_val``."""
