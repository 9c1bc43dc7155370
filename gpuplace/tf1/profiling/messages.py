"""Messages of TensorFlow's profiler. Importing this module loads protobuf.

>>> GraphNodeProto(name="w", parameters=4).SerializeToString()
b'\\n\\x01w \\x04'

Source: tensorflow/core/profiler/tfprof_output.proto and tfprof_log.proto, release 1.15 (names, numbers and types of the
fields).
"""

from __future__ import annotations

from typing import Any

from gpuplace.graphdef.messages import AttrValue, NodeExecStats, TensorShapeProto
from gpuplace.proto import FIELD, MANY, ONE, message_classes

__all__ = [
    "AdviceProto",
    "CodeDef",
    "ExecMemory",
    "ExecProfile",
    "GraphNodeProto",
    "MultiGraphNodeProto",
    "OpLogEntry",
    "OpLogProto",
    "ProfileNode",
    "ProfileProto",
]

_INT, _TEXT = FIELD.TYPE_INT64, FIELD.TYPE_STRING
_SHAPE = TensorShapeProto.DESCRIPTOR.full_name
_RECORD = f"{NodeExecStats.DESCRIPTOR.file.package}.AllocationRecord"


def _numbers(**numbers: int) -> tuple[Any, ...]:
    return tuple((name, number, _INT, ONE) for name, number in numbers.items())


def _map(key: Any, value: Any) -> tuple[Any, ...]:
    return ("key", 1, key, ONE), ("value", 2, value, ONE)


_MESSAGES: dict[str, Any] = {
    "TFProfTensorProto": (
        ("dtype", 1, FIELD.TYPE_INT32, ONE),  # an enumeration has the same encoding as an int32
        ("value_double", 2, FIELD.TYPE_DOUBLE, MANY),
        ("value_int64", 3, _INT, MANY),
        ("value_str", 4, _TEXT, MANY),
    ),
    "GraphNodeProto": (
        ("name", 1, _TEXT, ONE),
        ("tensor_value", 15, "gpuplace.TFProfTensorProto", ONE),
        *_numbers(run_count=21, exec_micros=2, accelerator_exec_micros=17, cpu_exec_micros=18),
        *_numbers(requested_bytes=3, peak_bytes=24, residual_bytes=25, output_bytes=26),
        *_numbers(parameters=4, float_ops=13),
        ("devices", 10, _TEXT, MANY),
        *_numbers(total_definition_count=23, total_run_count=22),
        *_numbers(total_exec_micros=6, total_accelerator_exec_micros=19, total_cpu_exec_micros=20),
        *_numbers(total_requested_bytes=7, total_peak_bytes=27, total_residual_bytes=28),
        *_numbers(total_output_bytes=29, total_parameters=8, total_float_ops=14),
        ("shapes", 11, _SHAPE, MANY),
        ("input_shapes", 16, "gpuplace.GraphNodeProto.InputShapesEntry", MANY),
        ("children", 12, "gpuplace.GraphNodeProto", MANY),
    ),
    "GraphNodeProto.InputShapesEntry": _map(FIELD.TYPE_INT32, _SHAPE),
    "MultiGraphNodeProto": (
        ("name", 1, _TEXT, ONE),
        *_numbers(exec_micros=2, accelerator_exec_micros=12, cpu_exec_micros=13),
        *_numbers(requested_bytes=3, peak_bytes=16, residual_bytes=17, output_bytes=18),
        *_numbers(parameters=4, float_ops=5),
        *_numbers(total_exec_micros=6, total_accelerator_exec_micros=14, total_cpu_exec_micros=15),
        *_numbers(total_requested_bytes=7, total_peak_bytes=19, total_residual_bytes=20),
        *_numbers(total_output_bytes=21, total_parameters=8, total_float_ops=9),
        ("graph_nodes", 10, "gpuplace.GraphNodeProto", MANY),
        ("children", 11, "gpuplace.MultiGraphNodeProto", MANY),
    ),
    "AdviceProto": (("checkers", 1, "gpuplace.AdviceProto.CheckersEntry", MANY),),
    "AdviceProto.Checker": (("reports", 2, _TEXT, MANY),),
    "AdviceProto.CheckersEntry": _map(_TEXT, "gpuplace.AdviceProto.Checker"),
    "CodeDef": (("traces", 1, "gpuplace.CodeDef.Trace", MANY),),
    "CodeDef.Trace": (
        ("file", 1, _TEXT, ONE),
        ("lineno", 2, FIELD.TYPE_INT32, ONE),
        ("function", 3, _TEXT, ONE),
        ("line", 4, _TEXT, ONE),
        ("func_start_line", 5, FIELD.TYPE_INT32, ONE),
        *_numbers(file_id=6, function_id=7, line_id=8),
    ),
    "OpLogEntry": (
        ("name", 1, _TEXT, ONE),
        ("float_ops", 2, _INT, ONE),
        ("types", 3, _TEXT, MANY),
        ("code_def", 4, "gpuplace.CodeDef", ONE),
    ),
    "OpLogProto": (
        ("log_entries", 1, "gpuplace.OpLogEntry", MANY),
        ("id_to_string", 2, "gpuplace.OpLogProto.IdToStringEntry", MANY),
    ),
    "OpLogProto.IdToStringEntry": _map(_INT, _TEXT),
    "Tuple": (("int64_values", 1, _INT, MANY),),
    "Memory": (("bytes", 1, _INT, ONE), ("ptr", 2, FIELD.TYPE_UINT64, ONE)),
    "ExecTime": (("times", 1, "gpuplace.Tuple", MANY),),
    "ExecMemory": (
        *_numbers(memory_micros=1, host_temp_bytes=2, host_persistent_bytes=3, accelerator_temp_bytes=4),
        *_numbers(accelerator_persistent_bytes=5, requested_bytes=6, peak_bytes=7, residual_bytes=8),
        *_numbers(output_bytes=9, allocator_bytes_in_use=10),
        ("output_memory", 11, "gpuplace.ExecMemory.OutputMemoryEntry", MANY),
    ),
    "ExecMemory.OutputMemoryEntry": _map(FIELD.TYPE_INT32, "gpuplace.Memory"),
    "ExecProfile": (
        *_numbers(run_count=1, all_start_micros=2, latest_end_micros=3),
        ("accelerator_execs", 4, "gpuplace.ExecProfile.AcceleratorExecsEntry", MANY),
        ("cpu_execs", 5, "gpuplace.ExecProfile.CpuExecsEntry", MANY),
        ("devices", 6, _TEXT, MANY),
        ("memory_execs", 7, "gpuplace.ExecMemory", MANY),
        ("allocations", 11, _RECORD, MANY),
    ),
    "ExecProfile.AcceleratorExecsEntry": _map(_TEXT, "gpuplace.ExecTime"),
    "ExecProfile.CpuExecsEntry": _map(_TEXT, "gpuplace.ExecTime"),
    "ProfileNode": (
        ("name", 1, _TEXT, ONE),
        ("inputs", 2, "gpuplace.ProfileNode.InputsEntry", MANY),
        ("outputs", 3, "gpuplace.ProfileNode.OutputsEntry", MANY),
        ("shape", 4, _INT, MANY),
        ("op_types", 5, _TEXT, MANY),
        ("canonical_device", 6, _TEXT, ONE),
        ("host_device", 7, _TEXT, ONE),
        ("float_ops", 8, _INT, ONE),
        ("op", 9, _TEXT, ONE),
        ("trace", 10, "gpuplace.CodeDef", ONE),
        ("attrs", 11, "gpuplace.ProfileNode.AttrsEntry", MANY),
        ("execs", 12, "gpuplace.ProfileNode.ExecsEntry", MANY),
        ("id", 13, _INT, ONE),
        ("src_output_index", 14, "gpuplace.ProfileNode.SrcOutputIndexEntry", MANY),
        ("output_shapes", 15, "gpuplace.ProfileNode.OutputShapesEntry", MANY),
        ("input_shapes", 16, "gpuplace.ProfileNode.InputShapesEntry", MANY),
    ),
    "ProfileNode.InputsEntry": _map(FIELD.TYPE_INT32, _INT),
    "ProfileNode.OutputsEntry": _map(FIELD.TYPE_INT32, _INT),
    "ProfileNode.AttrsEntry": _map(_TEXT, AttrValue.DESCRIPTOR.full_name),
    "ProfileNode.ExecsEntry": _map(_INT, "gpuplace.ExecProfile"),
    "ProfileNode.SrcOutputIndexEntry": _map(_INT, FIELD.TYPE_INT32),
    "ProfileNode.OutputShapesEntry": _map(FIELD.TYPE_INT32, "gpuplace.Tuple"),
    "ProfileNode.InputShapesEntry": _map(FIELD.TYPE_INT32, "gpuplace.Tuple"),
    "ProfileProto": (
        ("nodes", 1, "gpuplace.ProfileProto.NodesEntry", MANY),
        ("has_trace", 2, FIELD.TYPE_BOOL, ONE),
        ("steps", 3, _INT, MANY),
        ("id_to_string", 4, "gpuplace.ProfileProto.IdToStringEntry", MANY),
        ("miss_accelerator_stream", 5, FIELD.TYPE_BOOL, ONE),
    ),
    "ProfileProto.NodesEntry": _map(_INT, "gpuplace.ProfileNode"),
    "ProfileProto.IdToStringEntry": _map(_INT, _TEXT),
}

_MADE = message_classes("profiler", _MESSAGES, [AttrValue, NodeExecStats, TensorShapeProto])

AdviceProto: Any = _MADE["AdviceProto"]
CodeDef: Any = _MADE["CodeDef"]
ExecMemory: Any = _MADE["ExecMemory"]
ExecProfile: Any = _MADE["ExecProfile"]
GraphNodeProto: Any = _MADE["GraphNodeProto"]
MultiGraphNodeProto: Any = _MADE["MultiGraphNodeProto"]
OpLogEntry: Any = _MADE["OpLogEntry"]
OpLogProto: Any = _MADE["OpLogProto"]
ProfileNode: Any = _MADE["ProfileNode"]
ProfileProto: Any = _MADE["ProfileProto"]
