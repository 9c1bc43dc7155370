"""TensorFlow's message classes: TensorBoard's copies, and our own copies of those that it omits.

They are wire-compatible with TensorFlow's. Importing this module loads protobuf.

>>> config = ConfigProto(log_device_placement=True, device_count={"GPU": 1})
>>> config.gpu_options.allow_growth = True
>>> ConfigProto.FromString(config.SerializeToString()) == config
True
"""

from google.protobuf import text_format
from google.protobuf.any_pb2 import Any as AnyProto
from google.protobuf.message import DecodeError, EncodeError, Message
from tensorboard.compat.proto.attr_value_pb2 import AttrValue, NameAttrList
from tensorboard.compat.proto.cluster_pb2 import ClusterDef, JobDef
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
from tensorboard.compat.proto.meta_graph_pb2 import (
    AssetFileDef,
    CollectionDef,
    MetaGraphDef,
    SignatureDef,
    TensorInfo,
)
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.op_def_pb2 import OpDef as OpDefProto
from tensorboard.compat.proto.op_def_pb2 import OpList
from tensorboard.compat.proto.rewriter_config_pb2 import RewriterConfig
from tensorboard.compat.proto.saver_pb2 import SaverDef
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, NodeExecStats, StepStats
from tensorboard.compat.proto.struct_pb2 import StructuredValue
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryDescription, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.variable_pb2 import SaveSliceInfoDef, VariableDef
from tensorboard.compat.proto.versions_pb2 import VersionDef

from gpuplace.display import notebook_view
from gpuplace.graphdef.own_messages import (
    BytesList,
    CheckpointState,
    CondContextDef,
    ControlFlowContextDef,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    QueueRunnerDef,
    SavedModel,
    SequenceExample,
    ServerDef,
    TrackableObjectGraph,
    WhileContextDef,
)

__all__ = [
    "AnyProto",
    "AssetFileDef",
    "AttrValue",
    "BytesList",
    "CallableOptions",
    "CheckpointState",
    "ClusterDef",
    "CollectionDef",
    "CondContextDef",
    "ConfigProto",
    "ControlFlowContextDef",
    "DecodeError",
    "DeviceStepStats",
    "EncodeError",
    "Event",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "FunctionDef",
    "FunctionDefLibrary",
    "GPUOptions",
    "GraphDef",
    "GraphOptions",
    "HistogramProto",
    "Int64List",
    "JobDef",
    "Message",
    "MetaGraphDef",
    "NameAttrList",
    "NodeDef",
    "NodeExecStats",
    "OpDefProto",
    "OpList",
    "OptimizerOptions",
    "QueueRunnerDef",
    "RewriterConfig",
    "RunMetadata",
    "RunOptions",
    "SaveSliceInfoDef",
    "SavedModel",
    "SessionLog",
    "SequenceExample",
    "SaverDef",
    "ServerDef",
    "SignatureDef",
    "StepStats",
    "StructuredValue",
    "Summary",
    "SummaryDescription",
    "SummaryMetadata",
    "TaggedRunMetadata",
    "TensorInfo",
    "TensorProto",
    "TensorShapeProto",
    "TrackableObjectGraph",
    "VariableDef",
    "VersionDef",
    "WhileContextDef",
    "text_format",
]

RunMetadata._repr_mimebundle_ = notebook_view  # a notebook displays a step as its timeline


def cluster_def(jobs: dict[str, dict[int, str]]) -> ClusterDef:
    """Return a cluster as a ``ClusterDef``.

    Args:
        jobs: job name -> task number -> address.
    """
    message = ClusterDef()
    for name, tasks in sorted(jobs.items()):
        message.job.add(name=name).tasks.update(tasks)
    return message
