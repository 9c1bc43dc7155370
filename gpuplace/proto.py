r"""Classes of TensorFlow messages that TensorBoard does not include. Importing this module loads protobuf.

>>> fields = (("key", 1, FIELD.TYPE_STRING, ONE), ("sizes", 2, FIELD.TYPE_INT64, MANY))
>>> classes = message_classes("example", {"Pair": fields})
>>> classes["Pair"](key="a", sizes=[1, 2]).SerializeToString()
b'\n\x01a\x12\x02\x01\x02'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

__all__ = ["FIELD", "MANY", "ONE", "message_classes"]

FIELD = descriptor_pb2.FieldDescriptorProto
"""Provides the names of the scalar types, such as ``FIELD.TYPE_STRING``."""
ONE, MANY = "", "repeated"
"""Label of a field."""

Fields: TypeAlias = Sequence[tuple[str, int, Any, str]]


def message_classes(
    name: str, messages: Mapping[str, Fields], dependencies: Sequence[Any] = (), syntax: str = "proto3"
) -> dict[str, Any]:
    """Create classes of messages that TensorBoard does not include.

    Args:
        name: name of the file that would define them.
        messages: message name -> fields: name, number, a scalar type or message name, and ``"repeated"``, ``""`` or the
            name of the field's oneof. ``Outer.NameEntry`` is the entry of a map.
        dependencies: message classes of other files that are used as field types.
        syntax: syntax of the file.

    Returns:
        Message name -> class.
    """
    file = descriptor_pb2.FileDescriptorProto(
        name=f"gpuplace/{name}.proto",
        package="gpuplace",
        syntax=syntax,
        dependency=[kind.DESCRIPTOR.file.name for kind in dependencies],
    )
    descriptors: dict[str, Any] = {}
    for full_name, fields in messages.items():
        outer, _, own = full_name.rpartition(".")
        message = descriptors[full_name] = (
            descriptors[outer].nested_type.add(name=own) if outer else file.message_type.add(name=own)
        )
        if outer and own.endswith("Entry"):
            message.options.map_entry = True
        for label, number, kind, how in fields:
            field = message.field.add(name=label, number=number)
            field.label = FIELD.LABEL_REPEATED if how == MANY else FIELD.LABEL_OPTIONAL
            field.type = FIELD.TYPE_MESSAGE if isinstance(kind, str) else kind
            if isinstance(kind, str):
                field.type_name = f".{kind}"
            if how not in (ONE, MANY):
                if how not in [group.name for group in message.oneof_decl]:
                    message.oneof_decl.add(name=how)
                field.oneof_index = [group.name for group in message.oneof_decl].index(how)
    pool = descriptor_pool.Default()
    pool.Add(file)
    return {
        full_name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"gpuplace.{full_name}"))
        for full_name in messages
        if "." not in full_name
    }
