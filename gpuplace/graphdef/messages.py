"""TensorFlow's message classes, from the copy that TensorBoard ships.

They are wire-compatible with TensorFlow's own: what one writes the other reads. Importing this module loads
protobuf.

>>> config = ConfigProto(log_device_placement=True, device_count={"GPU": 1})
>>> config.gpu_options.allow_growth = True
>>> ConfigProto.FromString(config.SerializeToString()) == config
True
"""

from typing import Any

from google.protobuf import text_format
from google.protobuf.any_pb2 import Any as AnyProto
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
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryDescription, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.trackable_object_graph_pb2 import TrackableObjectGraph
from tensorboard.compat.proto.variable_pb2 import SaveSliceInfoDef, VariableDef
from tensorboard.compat.proto.versions_pb2 import VersionDef

from gpuplace.display import notebook_view
from gpuplace.graphdef.own_messages import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    QueueRunnerDef,
    SequenceExample,
)
from gpuplace.proto import FIELD, MANY, ONE, message_classes

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
    "SignatureDef",
    "StepStats",
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


_MAP_KEY = ("key", 1, FIELD.TYPE_STRING, ONE)

SavedModel: Any = message_classes(
    "saved_model",
    {
        "SavedModel": (
            ("saved_model_schema_version", 1, FIELD.TYPE_INT64, ONE),
            ("meta_graphs", 2, MetaGraphDef.DESCRIPTOR.full_name, MANY),
        )
    },
    [MetaGraphDef],
)["SavedModel"]

CheckpointState: Any = message_classes(
    "checkpoint_state",
    {
        "CheckpointState": (
            ("model_checkpoint_path", 1, FIELD.TYPE_STRING, ONE),
            ("all_model_checkpoint_paths", 2, FIELD.TYPE_STRING, MANY),
            ("all_model_checkpoint_timestamps", 3, FIELD.TYPE_DOUBLE, MANY),
            ("last_preserved_timestamp", 4, FIELD.TYPE_DOUBLE, ONE),
        )
    },
)["CheckpointState"]

_control_flow = message_classes(
    "control_flow",
    {
        "ValuesDef": (
            ("values", 1, FIELD.TYPE_STRING, MANY),
            ("external_values", 2, "gpuplace.ValuesDef.ExternalValuesEntry", MANY),
        ),
        "ValuesDef.ExternalValuesEntry": (_MAP_KEY, ("value", 2, FIELD.TYPE_STRING, ONE)),
        "ControlFlowContextDef": (
            ("cond_ctxt", 1, "gpuplace.CondContextDef", "ctxt"),
            ("while_ctxt", 2, "gpuplace.WhileContextDef", "ctxt"),
        ),
        "CondContextDef": (
            ("context_name", 1, FIELD.TYPE_STRING, ONE),
            ("pred_name", 2, FIELD.TYPE_STRING, ONE),
            ("pivot_name", 3, FIELD.TYPE_STRING, ONE),
            ("branch", 4, FIELD.TYPE_INT32, ONE),
            ("values_def", 5, "gpuplace.ValuesDef", ONE),
            ("nested_contexts", 6, "gpuplace.ControlFlowContextDef", MANY),
        ),
        "WhileContextDef": (
            ("context_name", 1, FIELD.TYPE_STRING, ONE),
            ("parallel_iterations", 2, FIELD.TYPE_INT32, ONE),
            ("back_prop", 3, FIELD.TYPE_BOOL, ONE),
            ("swap_memory", 4, FIELD.TYPE_BOOL, ONE),
            ("pivot_name", 5, FIELD.TYPE_STRING, ONE),
            ("pivot_for_pred_name", 6, FIELD.TYPE_STRING, ONE),
            ("pivot_for_body_name", 7, FIELD.TYPE_STRING, ONE),
            ("loop_exit_names", 8, FIELD.TYPE_STRING, MANY),
            ("values_def", 9, "gpuplace.ValuesDef", ONE),
            ("loop_enter_names", 10, FIELD.TYPE_STRING, MANY),
            ("maximum_iterations_name", 11, FIELD.TYPE_STRING, ONE),
            ("nested_contexts", 12, "gpuplace.ControlFlowContextDef", MANY),
        ),
    },
)
ControlFlowContextDef: Any = _control_flow["ControlFlowContextDef"]
CondContextDef: Any = _control_flow["CondContextDef"]
WhileContextDef: Any = _control_flow["WhileContextDef"]
RunMetadata._repr_mimebundle_ = notebook_view  # a notebook shows a step as its timeline
