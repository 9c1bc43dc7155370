"""``tensorflow.python.saved_model.nested_structure_coder``: structures of Python as messages, and back.

Lists, tuples, dicts and named tuples of numbers, texts, None, shapes, types and specs of tensors:

    [1.5, {"a": None}]  <->  list_value { values { float64_value: 1.5 } values { dict_value { ... none_value {} } } }

Source: tensorflow/python/saved_model/nested_structure_coder.py and core/protobuf/struct.proto, release 1.15 (messages,
sentences).
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from gpuplace.dtypes import DType, as_dtype
from gpuplace.graphdef.messages import StructuredValue
from gpuplace.ops.flow.arrays.tensor_array_spec import TensorArraySpec
from gpuplace.ops.gradients.slices_spec import IndexedSlicesSpec
from gpuplace.ops.sparse.sparse_spec import SparseTensorSpec
from gpuplace.ops.type_spec import TensorSpec, TypeSpec
from gpuplace.shapes import TensorShape
from gpuplace.tf1.data.dataset import DatasetSpec
from gpuplace.tf1.data.optional import OptionalSpec
from gpuplace.tf1.ragged_spec import RaggedTensorSpec

_SPECS: dict[int, type[TypeSpec]] = {
    1: SparseTensorSpec,
    2: IndexedSlicesSpec,
    3: RaggedTensorSpec,
    4: TensorArraySpec,
    5: DatasetSpec,
    7: OptionalSpec,
}
"""The numbers by which messages name specs that are made of several facts."""


class NotEncodableError(Exception):
    """There is no message for a value."""


def _encode(value: Any) -> Any:
    made = StructuredValue()
    if value is None:
        made.none_value.SetInParent()
    elif isinstance(value, bool):
        made.bool_value = value
    elif isinstance(value, int):
        made.int64_value = value
    elif isinstance(value, float):
        made.float64_value = value
    elif isinstance(value, str):
        made.string_value = value
    elif isinstance(value, TensorShape):
        made.tensor_shape_value.CopyFrom(value.as_proto())
    elif isinstance(value, DType):
        made.tensor_dtype_value = value.as_datatype_enum
    elif isinstance(value, list | tuple | dict):
        _encode_nested(value, made)
    else:
        _encode_spec(value, made)
    return made


def _encode_nested(value: Any, made: Any) -> None:
    if isinstance(value, dict):
        made.dict_value.SetInParent()
        for key, inner in value.items():
            made.dict_value.fields[key].CopyFrom(_encode(inner))
    elif hasattr(value, "_fields"):
        made.named_tuple_value.name = type(value).__name__
        for key, inner in zip(value._fields, value, strict=True):
            made.named_tuple_value.values.add(key=key, value=_encode(inner))
    else:
        several = made.list_value if isinstance(value, list) else made.tuple_value
        several.SetInParent()
        several.values.extend(_encode(inner) for inner in value)


def _encode_spec(value: Any, made: Any) -> None:
    if isinstance(value, TensorSpec):
        spec = made.tensor_spec_value
        spec.shape.CopyFrom(value.shape.as_proto())
        spec.dtype, spec.name = value.dtype.as_datatype_enum, value.name or ""
        return
    for number, kind in _SPECS.items():
        if type(value) is kind:
            made.type_spec_value.type_spec_class = number
            made.type_spec_value.type_spec_class_name = kind.__name__
            made.type_spec_value.type_state.CopyFrom(_encode(value._serialize()))
            return
    raise NotEncodableError(f"No encoder for object [{value}] of type [{type(value)}].")


def _decode_named_tuple(message: Any) -> Any:
    kind = namedtuple(message.name, [pair.key for pair in message.values])  # type: ignore[misc]
    return kind(*(_decode(pair.value) for pair in message.values))


def _decode_tensor_spec(message: Any) -> TensorSpec:
    return TensorSpec(TensorShape(message.shape), as_dtype(message.dtype), message.name or None)


def _decode_type_spec(message: Any) -> TypeSpec:
    kind = _SPECS.get(message.type_spec_class)
    if kind is None:
        raise ValueError(
            f"The type '{message.type_spec_class_name}' is not supported by this version of TensorFlow. (The object "
            "you are loading must have been created with a newer version of TensorFlow.)"
        )
    return kind(*_decode(message.type_state))


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "none_value": lambda message: None,
    "tensor_shape_value": TensorShape,
    "tensor_dtype_value": as_dtype,
    "tensor_spec_value": _decode_tensor_spec,
    "type_spec_value": _decode_type_spec,
    "list_value": lambda message: [_decode(value) for value in message.values],
    "tuple_value": lambda message: tuple(_decode(value) for value in message.values),
    "dict_value": lambda message: {key: _decode(value) for key, value in message.fields.items()},
    "named_tuple_value": _decode_named_tuple,
    **dict.fromkeys(("bool_value", "int64_value", "float64_value", "string_value"), lambda value: value),
}


def _decode(message: Any) -> Any:
    kind = message.WhichOneof("kind")
    if kind not in _DECODERS:
        raise NotEncodableError(f"No encoder for object [{message}] of type [{type(message)}].")
    return _DECODERS[kind](getattr(message, kind))


class StructureCoder:
    """Makes messages of structures, and structures of messages.

    >>> coder = StructureCoder()
    >>> coder.decode_proto(coder.encode_structure([1, (2.5, None), {"a": "text"}]))
    [1, (2.5, None), {'a': 'text'}]
    """

    def encode_structure(self, nested_structure: Any) -> Any:
        """A structure as a ``StructuredValue``.

        Args:
            nested_structure: the structure.

        Raises:
            NotEncodableError: there is no message for something in it.
        """
        return _encode(nested_structure)

    def can_encode(self, nested_structure: Any) -> bool:
        """Whether there are messages for all in a structure.

        Args:
            nested_structure: the structure.
        """
        try:
            self.encode_structure(nested_structure)
        except NotEncodableError:
            return False
        return True

    def decode_proto(self, proto: Any) -> Any:
        """The structure of a message; a named tuple is one of a new type with the same names.

        Args:
            proto: a ``StructuredValue``.

        Raises:
            NotEncodableError: the message holds nothing that is known.
            ValueError: a kind of spec that is not known.
        """
        return _decode(proto)
