"""Messages of TensorFlow that TensorBoard's copy leaves out, made from a table.

Their classes are in a package of their own, so that an installed TensorFlow can be loaded beside them; what one writes
the other reads.

>>> feature = Feature(int64_list=Int64List(value=[1, 2]))
>>> example = Example(features=Features(feature={"label": feature}))
>>> Example.FromString(example.SerializeToString()).features.feature["label"].int64_list.value
[1, 2]

Source: tensorflow/core/example/example.proto and feature.proto, core/protobuf/queue_runner.proto and saved_model.proto,
release 1.15 (names, numbers and types of the fields).
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "QueueRunnerDef",
    "SequenceExample",
]

_PACKAGE = "gpuplace"

_FIELDS = """
QueueRunnerDef        queue_name = 1 string
QueueRunnerDef        enqueue_op_name = 2 repeated string
QueueRunnerDef        close_op_name = 3 string
QueueRunnerDef        cancel_op_name = 4 string
QueueRunnerDef        queue_closed_exception_types = 5 repeated int32
BytesList             value = 1 repeated bytes
FloatList             value = 1 repeated float
Int64List             value = 1 repeated int64
Feature               bytes_list = 1 oneof BytesList
Feature               float_list = 2 oneof FloatList
Feature               int64_list = 3 oneof Int64List
Features              feature = 1 map Feature
FeatureList           feature = 1 repeated Feature
FeatureLists          feature_list = 1 map FeatureList
Example               features = 1 Features
SequenceExample       context = 1 Features
SequenceExample       feature_lists = 2 FeatureLists
"""
"""Message, field, number, what it is (one value, if nothing else is said), type.

Codes of errors are an enumeration in TensorFlow's file, which is written as an int32 is.
"""

_ONEOF = "kind"
"""The name of the one group of fields of which a message has one."""


def _classes() -> dict[str, Any]:
    field_type = descriptor_pb2.FieldDescriptorProto
    scalars = {
        name: getattr(field_type, f"TYPE_{name.upper()}")
        for name in ("int64", "int32", "string", "bytes", "float")
    }
    file = descriptor_pb2.FileDescriptorProto(
        name="gpuplace/own_messages.proto",
        package=_PACKAGE,
        syntax="proto3",
        dependency=[MetaGraphDef.DESCRIPTOR.file.name],
    )
    messages: dict[str, Any] = {}

    def fill(field: Any, type_name: str) -> None:
        if type_name in scalars:
            field.type = scalars[type_name]
            return
        field.type = field_type.TYPE_MESSAGE
        is_ours = type_name != "MetaGraphDef"
        field.type_name = f".{_PACKAGE}.{type_name}" if is_ours else f".{MetaGraphDef.DESCRIPTOR.full_name}"

    for line in _FIELDS.strip().splitlines():
        message_name, name, _, number, *how, type_name = line.split()
        if message_name not in messages:
            messages[message_name] = file.message_type.add(name=message_name)
        message = messages[message_name]
        field = message.field.add(name=name, number=int(number), label=field_type.LABEL_OPTIONAL)
        if how == ["map"]:
            entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
            entry.options.map_entry = True
            fill(entry.field.add(name="key", number=1, label=field_type.LABEL_OPTIONAL), "string")
            fill(entry.field.add(name="value", number=2, label=field_type.LABEL_OPTIONAL), type_name)
            type_name = f"{message_name}.{entry.name}"
        if how in (["map"], ["repeated"]):
            field.label = field_type.LABEL_REPEATED
        if how == ["oneof"]:
            if not message.oneof_decl:
                message.oneof_decl.add(name=_ONEOF)
            field.oneof_index = 0
        fill(field, type_name)
    pool = descriptor_pool.Default()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in messages
    }


_made = _classes()
BytesList: Any = _made["BytesList"]
Example: Any = _made["Example"]
Feature: Any = _made["Feature"]
FeatureList: Any = _made["FeatureList"]
FeatureLists: Any = _made["FeatureLists"]
Features: Any = _made["Features"]
FloatList: Any = _made["FloatList"]
Int64List: Any = _made["Int64List"]
QueueRunnerDef: Any = _made["QueueRunnerDef"]
SequenceExample: Any = _made["SequenceExample"]


def example_of_json(text: bytes) -> bytes:
    """An ``Example`` in its binary form.

    Args:
        text: the same in JSON.

    Raises:
        ValueError: it is none.
    """
    from google.protobuf import json_format

    try:
        found: bytes = json_format.Parse(text, Example()).SerializeToString()
    except json_format.ParseError as error:
        raise ValueError(str(error)) from None
    return found
