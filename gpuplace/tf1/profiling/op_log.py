"""The log of a graph's operations: their counts, their types, and the Python lines that created them.

Source: tensorflow/python/profiler/tfprof_logger.py, release 1.15 (contents of the log, messages, the file's
name).
"""

from __future__ import annotations

import os
import sys
from typing import Any

from gpuplace.files.gfile import GFile
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.kernels.flop_statistics import get_stats_for_node_def
from gpuplace.tf1.profiling.messages import OpLogEntry, OpLogProto
from gpuplace.tf1.profiling.option_builder import TRAINABLE_VARIABLES

__all__ = [
    "REGISTERED_FLOP_STATS",
    "TRAINABLE_VARIABLES",
    "merge_default_with_oplog",
    "write_op_log",
]

REGISTERED_FLOP_STATS = "flops"
"""The logged statistic."""


def _merge_shapes(graph: Graph, run_meta: Any) -> None:
    """Give tensors of unknown sizes the shapes that a step recorded."""
    operations = {operation.name: operation for operation in graph.get_operations()}
    for stats in (node_stat for device in run_meta.step_stats.dev_stats for node_stat in device.node_stats):
        if not stats.output or stats.node_name not in operations:
            continue  # a receive, for example
        outputs = operations[stats.node_name].outputs
        if len(outputs) != len(stats.output):
            continue  # a branch that was not taken has no output
        for tensor, seen in zip(outputs, stats.output, strict=True):
            if tensor.shape.is_fully_defined():
                continue
            try:
                tensor.set_shape(
                    tensor.shape.merge_with([size.size for size in seen.tensor_description.shape.dim])
                )
            except ValueError as error:
                print(f"Node {stats.node_name} incompatible shapes: {error}.", file=sys.stderr)


def _trace(entry: Any, operation: Any, ids: dict[str, int]) -> None:
    """Write the lines that created an operation into its entry, with strings as numbers."""
    for file, line, function, text, start in operation.traceback_with_start_lines:
        entry.code_def.traces.add(
            file_id=ids.setdefault(file, len(ids)) if file else 0,
            lineno=line or -1,
            function_id=ids.setdefault(function, len(ids)) if function else 0,
            line_id=ids.setdefault(text, len(ids)) if text else 0,
            func_start_line=start or -1,
        )


def _log_entries(
    graph: Graph, run_meta: Any, add_trace: bool, add_trainable_var: bool
) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the entries of all operations with data, by name, and the numbers of strings."""
    if run_meta is not None:
        _merge_shapes(graph, run_meta)
    entries: dict[str, Any] = {}
    ids = {"none": 0}
    unknown = 0
    for operation in graph.get_operations():
        try:
            count = get_stats_for_node_def(graph, operation.node_def, REGISTERED_FLOP_STATS).value
        except ValueError:  # a shape is unknown: reported once below
            unknown += 1
            count = None
        if count or add_trace:
            entry = entries[operation.name] = OpLogEntry(name=operation.name, float_ops=int(count or 0))
            if add_trace:
                _trace(entry, operation, ids)
    if add_trainable_var:
        for variable in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES):
            name = variable.op.name
            entries.setdefault(name, OpLogEntry(name=name)).types.append(TRAINABLE_VARIABLES)
    if unknown and run_meta is None:
        print(f"{unknown} ops no flops stats due to incomplete shapes.", file=sys.stderr)
    return entries, ids


def merge_default_with_oplog(
    graph: Graph | None,
    op_log: Any = None,
    run_meta: Any = None,
    add_trace: bool = True,
    add_trainable_var: bool = True,
) -> Any:
    """Return the known data of a graph's operations, merged with a log.

    Args:
        graph: the graph; None for the default one.
        op_log: an ``OpLogProto``, whose entries take precedence; it is not changed.
        run_meta: a ``RunMetadata`` whose shapes replace unknown ones in the graph.
        add_trace: whether to add the Python lines that created the operations.
        add_trainable_var: whether to add the type ``_trainable_variables`` to the ops of trainable variables.

    Returns:
        An ``OpLogProto``.
    """
    entries, ids = _log_entries(graph or get_default_graph(), run_meta, add_trace, add_trainable_var)
    merged = OpLogProto(id_to_string={number: text for text, number in ids.items()})
    for logged in () if op_log is None else op_log.log_entries:
        entry = merged.log_entries.add()
        entry.MergeFromString(logged.SerializeToString())
        own = entries.pop(entry.name, None)
        if own is not None:
            entry.types.extend(own.types)
            entry.float_ops = entry.float_ops or own.float_ops
            if not entry.code_def.traces:
                entry.code_def.CopyFrom(own.code_def)
    merged.log_entries.extend(entries.values())
    return merged


def write_op_log(
    graph: Graph | None, log_dir: str, op_log: Any = None, run_meta: Any = None, add_trace: bool = True
) -> None:
    """Write the data of a graph's operations into a folder, as ``tfprof_log``.

    Args:
        graph: the graph; None for the default one.
        log_dir: the folder.
        op_log: an ``OpLogProto`` with additional data, or None.
        run_meta: a ``RunMetadata`` whose shapes replace unknown ones in the graph.
        add_trace: whether to add the Python lines that created the operations.

    Raises:
        OpError: the file cannot be written.
    """
    merged = merge_default_with_oplog(graph, op_log, run_meta, add_trace)
    with GFile(os.path.join(log_dir, "tfprof_log"), "wb") as file:
        file.write(merged.SerializeToString())
