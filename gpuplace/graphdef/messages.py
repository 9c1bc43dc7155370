"""TensorFlow's message classes, from the copy that TensorBoard ships.

They are wire-compatible with TensorFlow's own: what one writes the other reads. Importing this module loads
protobuf.

>>> config = ConfigProto(log_device_placement=True, device_count={"GPU": 1})
>>> config.gpu_options.allow_growth = True
>>> ConfigProto.FromString(config.SerializeToString()) == config
True
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from google.protobuf.message import DecodeError, EncodeError, Message
from tensorboard.compat.proto.attr_value_pb2 import AttrValue, NameAttrList
from tensorboard.compat.proto.cluster_pb2 import ClusterDef
from tensorboard.compat.proto.config_pb2 import (
    CallableOptions,
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    RunMetadata,
    RunOptions,
)
from tensorboard.compat.proto.event_pb2 import Event, SessionLog, TaggedRunMetadata
from tensorboard.compat.proto.function_pb2 import FunctionDef, FunctionDefLibrary
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.op_def_pb2 import OpDef as OpDefProto
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryDescription, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.variable_pb2 import SaveSliceInfoDef, VariableDef
from tensorboard.compat.proto.versions_pb2 import VersionDef

from gpuplace.display import notebook_view

__all__ = [
    "AttrValue",
    "CallableOptions",
    "ClusterDef",
    "ConfigProto",
    "DecodeError",
    "DeviceStepStats",
    "EncodeError",
    "Event",
    "FunctionDef",
    "FunctionDefLibrary",
    "GPUOptions",
    "GraphDef",
    "GraphOptions",
    "HistogramProto",
    "Message",
    "MetaGraphDef",
    "NameAttrList",
    "NodeDef",
    "NodeExecStats",
    "OpDefProto",
    "OptimizerOptions",
    "RewriterConfig",
    "RunMetadata",
    "RunOptions",
    "SaveSliceInfoDef",
    "SavedModel",
    "SessionLog",
    "StepStats",
    "Summary",
    "SummaryDescription",
    "SummaryMetadata",
    "TaggedRunMetadata",
    "TensorProto",
    "TensorShapeProto",
    "VariableDef",
    "VersionDef",
    "plugin_metadata",
    "summary_metadata",
    "text_format",
]


def _saved_model_class() -> type[Message]:
    """The ``SavedModel`` message, which TensorBoard's copy leaves out: a schema version and meta graphs."""
    file = descriptor_pb2.FileDescriptorProto(
        name="gpuplace/saved_model.proto",
        package="gpuplace",
        syntax="proto3",
        dependency=[MetaGraphDef.DESCRIPTOR.file.name],
    )
    message = file.message_type.add(name="SavedModel")
    field = descriptor_pb2.FieldDescriptorProto
    message.field.add(
        name="saved_model_schema_version", number=1, type=field.TYPE_INT64, label=field.LABEL_OPTIONAL
    )
    message.field.add(
        name="meta_graphs",
        number=2,
        type=field.TYPE_MESSAGE,
        label=field.LABEL_REPEATED,
        type_name=f".{MetaGraphDef.DESCRIPTOR.full_name}",
    )
    pool = descriptor_pool.Default()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("gpuplace.SavedModel"))


def summary_metadata(given: Message | None, description: str | None, display_name: str | None) -> bytes:
    """The bytes of a ``SummaryMetadata``.

    Args:
        given: what it is a copy of; None: an empty one.
        description: its ``summary_description``; None: as it is.
        display_name: its ``display_name``; None: as it is.
    """
    metadata = SummaryMetadata()
    if given is not None:
        metadata.CopyFrom(given)
    if description is not None:
        metadata.summary_description = description
    if display_name is not None:
        metadata.display_name = display_name
    written: bytes = metadata.SerializeToString()
    return written


def plugin_metadata(plugin_name: str) -> Message:
    """The ``SummaryMetadata`` of what a plugin of TensorBoard shows.

    Args:
        plugin_name: such as ``text``.
    """
    plugin = SummaryMetadata.PluginData(plugin_name=plugin_name)
    return SummaryMetadata(plugin_data=plugin)


SavedModel = _saved_model_class()
RunMetadata._repr_mimebundle_ = notebook_view  # a notebook shows a step as its timeline
