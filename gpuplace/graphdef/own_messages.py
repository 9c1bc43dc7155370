"""TensorFlow messages that TensorBoard's copy omits.

Their classes have a separate protobuf package, so that an installed TensorFlow can be loaded too. They are
wire-compatible with TensorFlow's.

>>> feature = Feature(int64_list=Int64List(value=[1, 2]))
>>> example = Example(features=Features(feature={"label": feature}))
>>> Example.FromString(example.SerializeToString()).features.feature["label"].int64_list.value
[1, 2]

Source: tensorflow/core/example/example.proto and feature.proto, core/protobuf/queue_runner.proto, saved_model.proto,
tensorflow_server.proto, trackable_object_graph.proto and control_flow.proto, python/training/checkpoint_state.proto,
release 1.15 (names, numbers and types of the fields).
"""

from typing import Any

from tensorboard.compat.proto.cluster_pb2 import ClusterDef
from tensorboard.compat.proto.config_pb2 import ConfigProto
from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

from gpuplace.proto import FIELD, MANY, ONE, message_classes

__all__ = [
    "BytesList",
    "CheckpointState",
    "CondContextDef",
    "ControlFlowContextDef",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "QueueRunnerDef",
    "SavedModel",
    "SequenceExample",
    "ServerDef",
    "TrackableObjectGraph",
    "WhileContextDef",
    "example_of_json",
]

_KEY = ("key", 1, FIELD.TYPE_STRING, ONE)
_CONTEXT = ("context_name", 1, FIELD.TYPE_STRING, ONE)
_NESTED = "gpuplace.ControlFlowContextDef"
_OBJECT = "gpuplace.TrackableObjectGraph.TrackableObject"

_MESSAGES: dict[str, Any] = {
    "SavedModel": (
        ("saved_model_schema_version", 1, FIELD.TYPE_INT64, ONE),
        ("meta_graphs", 2, MetaGraphDef.DESCRIPTOR.full_name, MANY),
    ),
    "CheckpointState": (
        ("model_checkpoint_path", 1, FIELD.TYPE_STRING, ONE),
        ("all_model_checkpoint_paths", 2, FIELD.TYPE_STRING, MANY),
        ("all_model_checkpoint_timestamps", 3, FIELD.TYPE_DOUBLE, MANY),
        ("last_preserved_timestamp", 4, FIELD.TYPE_DOUBLE, ONE),
    ),
    "TrackableObjectGraph": (("nodes", 1, _OBJECT, MANY),),
    "TrackableObjectGraph.TrackableObject": (
        ("children", 1, f"{_OBJECT}.ObjectReference", MANY),
        ("attributes", 2, f"{_OBJECT}.SerializedTensor", MANY),
        ("slot_variables", 3, f"{_OBJECT}.SlotVariableReference", MANY),
    ),
    "TrackableObjectGraph.TrackableObject.ObjectReference": (
        ("node_id", 1, FIELD.TYPE_INT32, ONE),
        ("local_name", 2, FIELD.TYPE_STRING, ONE),
    ),
    "TrackableObjectGraph.TrackableObject.SerializedTensor": (
        ("name", 1, FIELD.TYPE_STRING, ONE),
        ("full_name", 2, FIELD.TYPE_STRING, ONE),
        ("checkpoint_key", 3, FIELD.TYPE_STRING, ONE),
        ("optional_restore", 4, FIELD.TYPE_BOOL, ONE),
    ),
    "TrackableObjectGraph.TrackableObject.SlotVariableReference": (
        ("original_variable_node_id", 1, FIELD.TYPE_INT32, ONE),
        ("slot_name", 2, FIELD.TYPE_STRING, ONE),
        ("slot_variable_node_id", 3, FIELD.TYPE_INT32, ONE),
    ),
    "ServerDef": (
        ("cluster", 1, ClusterDef.DESCRIPTOR.full_name, ONE),
        ("job_name", 2, FIELD.TYPE_STRING, ONE),
        ("task_index", 3, FIELD.TYPE_INT32, ONE),
        ("default_session_config", 4, ConfigProto.DESCRIPTOR.full_name, ONE),
        ("protocol", 5, FIELD.TYPE_STRING, ONE),
    ),
    "QueueRunnerDef": (
        ("queue_name", 1, FIELD.TYPE_STRING, ONE),
        ("enqueue_op_name", 2, FIELD.TYPE_STRING, MANY),
        ("close_op_name", 3, FIELD.TYPE_STRING, ONE),
        ("cancel_op_name", 4, FIELD.TYPE_STRING, ONE),
        (
            "queue_closed_exception_types",
            5,
            FIELD.TYPE_INT32,
            MANY,
        ),  # error codes have the same encoding as an int32
    ),
    "BytesList": (("value", 1, FIELD.TYPE_BYTES, MANY),),
    "FloatList": (("value", 1, FIELD.TYPE_FLOAT, MANY),),
    "Int64List": (("value", 1, FIELD.TYPE_INT64, MANY),),
    "Feature": (
        ("bytes_list", 1, "gpuplace.BytesList", "kind"),
        ("float_list", 2, "gpuplace.FloatList", "kind"),
        ("int64_list", 3, "gpuplace.Int64List", "kind"),
    ),
    "Features": (("feature", 1, "gpuplace.Features.FeatureEntry", MANY),),
    "Features.FeatureEntry": (_KEY, ("value", 2, "gpuplace.Feature", ONE)),
    "FeatureList": (("feature", 1, "gpuplace.Feature", MANY),),
    "FeatureLists": (("feature_list", 1, "gpuplace.FeatureLists.FeatureListEntry", MANY),),
    "FeatureLists.FeatureListEntry": (_KEY, ("value", 2, "gpuplace.FeatureList", ONE)),
    "Example": (("features", 1, "gpuplace.Features", ONE),),
    "SequenceExample": (
        ("context", 1, "gpuplace.Features", ONE),
        ("feature_lists", 2, "gpuplace.FeatureLists", ONE),
    ),
    "ValuesDef": (
        ("values", 1, FIELD.TYPE_STRING, MANY),
        ("external_values", 2, "gpuplace.ValuesDef.ExternalValuesEntry", MANY),
    ),
    "ValuesDef.ExternalValuesEntry": (_KEY, ("value", 2, FIELD.TYPE_STRING, ONE)),
    "ControlFlowContextDef": (
        ("cond_ctxt", 1, "gpuplace.CondContextDef", "ctxt"),
        ("while_ctxt", 2, "gpuplace.WhileContextDef", "ctxt"),
    ),
    "CondContextDef": (
        _CONTEXT,
        ("pred_name", 2, FIELD.TYPE_STRING, ONE),
        ("pivot_name", 3, FIELD.TYPE_STRING, ONE),
        ("branch", 4, FIELD.TYPE_INT32, ONE),
        ("values_def", 5, "gpuplace.ValuesDef", ONE),
        ("nested_contexts", 6, _NESTED, MANY),
    ),
    "WhileContextDef": (
        _CONTEXT,
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
        ("nested_contexts", 12, _NESTED, MANY),
    ),
}

_made = message_classes("own_messages", _MESSAGES, [MetaGraphDef, ClusterDef, ConfigProto])
BytesList: Any = _made["BytesList"]
CheckpointState: Any = _made["CheckpointState"]
CondContextDef: Any = _made["CondContextDef"]
ControlFlowContextDef: Any = _made["ControlFlowContextDef"]
Example: Any = _made["Example"]
Feature: Any = _made["Feature"]
FeatureList: Any = _made["FeatureList"]
FeatureLists: Any = _made["FeatureLists"]
Features: Any = _made["Features"]
FloatList: Any = _made["FloatList"]
Int64List: Any = _made["Int64List"]
QueueRunnerDef: Any = _made["QueueRunnerDef"]
SavedModel: Any = _made["SavedModel"]
ServerDef: Any = _made["ServerDef"]
TrackableObjectGraph: Any = _made["TrackableObjectGraph"]
SequenceExample: Any = _made["SequenceExample"]
WhileContextDef: Any = _made["WhileContextDef"]


def example_of_json(text: bytes) -> bytes:
    """Serialize an ``Example``.

    Args:
        text: the example in JSON.

    Raises:
        ValueError: the text is not an ``Example``.
    """
    from google.protobuf import json_format

    try:
        found: bytes = json_format.Parse(text, Example()).SerializeToString()
    except json_format.ParseError as error:
        raise ValueError(str(error)) from None
    return found
