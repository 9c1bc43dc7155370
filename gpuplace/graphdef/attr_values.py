"""Convert attribute values and signatures between protobuf and Python (see ``gpuplace.graph.attr_value``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuplace.dtypes import DType, as_dtype, dtype_of_number
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.attr_value import FunctionRef, TensorValue
from gpuplace.graph.op_def import OpDef
from gpuplace.graph.op_notation import NO_DEFAULT, ArgDef, AttrDef
from gpuplace.graphdef.messages import AttrValue, OpDefProto, TensorShapeProto
from gpuplace.graphdef.tensor_proto import encode_tensor, tensor_value
from gpuplace.shapes import TensorShape


def dtype_of(number: int) -> DType:
    """Return the type with a number; InvalidArgumentError if there is none."""
    try:
        return as_dtype(number)
    except TypeError:
        raise InvalidArgumentError.of(f"Invalid data type number {number} in an attribute") from None


_MAX_DEPTH = 33
"""Maximum nesting of functions in attributes of functions; protobuf parses no deeper messages."""


def decode_attr(proto: Any, depth: int = 0) -> Any:
    """Return the Python form of an ``AttrValue``.

    An unknown type number becomes an `UnknownDType`.

    Args:
        proto: message to decode.
        depth: nesting depth of functions so far.

    Returns:
        The value; None for an empty message.

    Raises:
        InvalidArgumentError: functions are nested too deeply, or a tensor has an unknown type.
    """
    kind = proto.WhichOneof("value")
    if kind == "type":
        return dtype_of_number(proto.type)
    if kind == "list":
        return _decode_list(proto.list, depth)
    if kind == "shape":
        return TensorShape(proto.shape)
    if kind == "tensor":
        return tensor_value(proto.tensor)
    if kind == "func":
        return _decode_function(proto.func, depth)
    if kind == "placeholder":
        return proto.placeholder
    return None if kind is None else getattr(proto, kind)


def _decode_list(proto: Any, depth: int = 0) -> tuple[Any, ...]:
    if proto.type:
        return tuple(map(dtype_of_number, proto.type))
    if proto.shape:
        return tuple(map(TensorShape, proto.shape))
    if proto.tensor:
        return tuple(map(tensor_value, proto.tensor))
    if proto.func:
        return tuple(_decode_function(function, depth) for function in proto.func)
    return tuple(proto.s) or tuple(proto.i) or tuple(proto.f) or tuple(proto.b)


def _decode_function(proto: Any, depth: int) -> FunctionRef:
    if depth >= _MAX_DEPTH:
        raise InvalidArgumentError.of(
            f"Function '{proto.name}' is nested more than {_MAX_DEPTH} levels deep in attributes of functions"
        )
    return FunctionRef(
        proto.name, {name: decode_attr(value, depth + 1) for name, value in proto.attr.items()}
    )


def encode_attr(value: Any, proto: Any = None) -> Any:
    """Write an attribute's Python value to an ``AttrValue``.

    Args:
        value: Python value.
        proto: message to fill in; None: a new one.

    Returns:
        The message.

    Raises:
        TypeError: no attribute can contain such a value.
    """
    proto = AttrValue() if proto is None else proto
    field = _PLAIN_FIELDS.get(type(value))
    if field is not None:
        setattr(proto, field, value)
    elif isinstance(value, DType):
        proto.type = value.as_datatype_enum
    elif isinstance(value, int):
        proto.i = value
    elif isinstance(value, float):
        proto.f = value
    elif isinstance(value, bytes):
        proto.s = value
    elif isinstance(value, str):
        proto.placeholder = value
    elif isinstance(value, TensorShape):
        _encode_shape(value, proto.shape)
    elif isinstance(value, TensorValue):
        encode_tensor(value, proto.tensor)
    elif isinstance(value, FunctionRef):
        _encode_function(value, proto.func)
    elif isinstance(value, tuple):
        proto.list.SetInParent()
        if value and all(type(item) is bytes for item in value):
            proto.list.s.extend(value)
            return proto
        for item in value:
            _append(proto.list, item)
    elif value is not None:
        raise TypeError(f"An attribute cannot contain {value!r}")
    return proto


_PLAIN_FIELDS = {bool: "b", int: "i", float: "f", bytes: "s", str: "placeholder"}
"""Python type -> field of an ``AttrValue``."""


def attr_messages(value: object) -> Any:
    """Return tensors, shapes or functions as messages.

    Args:
        value: an attribute's Python value: one of these, or a tuple of them.
    """
    proto = encode_attr(value)
    kind = proto.WhichOneof("value")
    if kind != "list":
        return getattr(proto, kind)
    fields = [list(getattr(proto.list, field)) for field in ("shape", "tensor", "func")]
    return next(found for found in fields if found)


def _append(proto: Any, item: Any) -> None:
    if isinstance(item, DType):
        proto.type.append(item.as_datatype_enum)
    elif isinstance(item, bool):
        proto.b.append(item)
    elif isinstance(item, int):
        proto.i.append(item)
    elif isinstance(item, float):
        proto.f.append(item)
    elif isinstance(item, bytes):
        proto.s.append(item)
    elif isinstance(item, TensorShape):
        _encode_shape(item, proto.shape.add())
    elif isinstance(item, TensorValue):
        encode_tensor(item, proto.tensor.add())
    elif isinstance(item, FunctionRef):
        _encode_function(item, proto.func.add())
    else:
        raise TypeError(f"A list attribute cannot contain {item!r}")


def shape_to_proto(shape: TensorShape) -> Any:
    """Return a shape as a ``TensorShapeProto``, in which an unknown size is -1.

    Args:
        shape: shape to convert.
    """
    proto = TensorShapeProto()
    _encode_shape(shape, proto)
    return proto


def _encode_shape(shape: TensorShape, proto: Any) -> None:
    if shape.sizes is None:
        proto.unknown_rank = True
        return
    proto.SetInParent()
    for size in shape.sizes:
        proto.dim.add(size=-1 if size is None else size)


def _encode_function(function: FunctionRef, proto: Any) -> None:
    proto.name = function.name
    for name, value in function.attrs.items():
        encode_attr(value, proto.attr[name])


def decode_op_def(proto: Any) -> OpDef:
    """Return a signature, such as that of a library function, from its ``OpDef`` message."""
    return OpDef(
        proto.name,
        tuple(map(_decode_arg, proto.input_arg)),
        tuple(map(_decode_arg, proto.output_arg)),
        tuple(map(_decode_attr_def, proto.attr)),
        is_stateful=proto.is_stateful,
        control_outputs=tuple(proto.control_output),
    )


def _decode_arg(proto: Any) -> ArgDef:
    return ArgDef(
        proto.name,
        dtype_of(proto.type) if proto.type else None,
        proto.type_attr or None,
        proto.number_attr or None,
        proto.type_list_attr or None,
        proto.is_ref,
    )


def _decode_attr_def(proto: Any) -> AttrDef:
    allowed = _decode_list(proto.allowed_values.list) if proto.HasField("allowed_values") else None
    default = decode_attr(proto.default_value) if proto.HasField("default_value") else NO_DEFAULT
    return AttrDef(proto.name, proto.type, default, allowed, proto.minimum if proto.has_minimum else None)


def encode_op_def(op_def: OpDef) -> Any:
    """Return a signature as an ``OpDef`` message without descriptions.

    Args:
        op_def: signature to convert.
    """
    message = OpDefProto(
        name=op_def.name,
        is_stateful=op_def.is_stateful,
        is_commutative=op_def.is_commutative,
        is_aggregate=op_def.is_aggregate,
        allows_uninitialized_input=op_def.allows_uninitialized_input,
        control_output=op_def.control_outputs,
    )
    for arg, added in [
        *((arg, message.input_arg.add()) for arg in op_def.inputs),
        *((arg, message.output_arg.add()) for arg in op_def.outputs),
    ]:
        added.name = arg.name
        if arg.type is not None:
            added.type = arg.type.as_datatype_enum
        added.type_attr = arg.type_attr or ""
        added.number_attr = arg.number_attr or ""
        added.type_list_attr = arg.type_list_attr or ""
        added.is_ref = arg.is_ref
    for attr in op_def.attrs:
        described = message.attr.add(name=attr.name, type=attr.type)
        if attr.has_default:
            encode_attr(attr.default, described.default_value)
        if attr.minimum is not None:
            described.has_minimum, described.minimum = True, attr.minimum
        if attr.allowed is not None:
            encode_attr(tuple(attr.allowed), described.allowed_values)
    if op_def.deprecation is not None:
        message.deprecation.version = op_def.deprecation.version
        message.deprecation.explanation = op_def.deprecation.explanation
    return message


def readable_attrs(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return all attributes of a node for display; undecodable ones are replaced by a description."""
    values: dict[str, Any] = {}
    for name, value in attrs.items():
        try:
            values[name] = decode_attr(value)
        except InvalidArgumentError as error:
            values[name] = f"<Invalid AttrValue: {error.facts.get('because', error.message)}>"
    return values


def decode_attrs(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return all attributes of a node in their Python form."""
    return {name: decode_attr(value) for name, value in attrs.items()}
