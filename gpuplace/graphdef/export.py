"""Graphs as ``GraphDef`` messages and files.

Source: tensorflow/python/framework/ops.py and graph_io.py, release 1.15.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation
from gpuplace.graphdef.attr_values import encode_attr
from gpuplace.graphdef.messages import FunctionDef, GraphDef, NodeDef, VersionDef, text_format
from gpuplace.graphdef.node_bytes import node_chunks


def node_def(op: Operation, proto: Any = None) -> Any:
    """Writes an operation to a ``NodeDef``.

    Args:
        op: the operation.
        proto: the message to fill in; None: a new one.

    Returns:
        The message.
    """
    proto = NodeDef() if proto is None else proto
    proto.name = op.name
    proto.op = op.type
    if op.device:
        proto.device = op.device
    proto.input.extend(
        tensor.op.name if tensor.value_index == 0 else f"{tensor.op.name}:{tensor.value_index}"
        for tensor in op.inputs
    )
    proto.input.extend(f"^{control.name}" for control in op.control_inputs)
    for name, value in op.attrs.items():
        encode_attr(value, proto.attr[name])
    if op.extra_fields:
        proto.MergeFromString(op.extra_fields)
    return proto


def extra_fields(proto: Any) -> bytes:
    """What a ``NodeDef`` holds that an ``Operation`` has no attribute for, serialised."""
    extra = NodeDef()
    for name in ("experimental_debug_info", "experimental_type"):
        if proto.HasField(name):
            getattr(extra, name).CopyFrom(getattr(proto, name))
    return extra.SerializeToString()


def version_def(graph: Graph) -> Any:
    """The graph's versions as a ``VersionDef``."""
    versions = graph.versions
    return VersionDef(
        producer=versions.producer, min_consumer=versions.min_consumer, bad_consumers=versions.bad_consumers
    )


def as_graph_def(graph: Graph, from_version: int | None = None, add_shapes: bool = False) -> Any:
    """The graph as a ``GraphDef``.

    Args:
        graph: the graph.
        from_version: leave out what was there at this ``graph.version``; None: nothing is left out.
        add_shapes: give every node an ``_output_shapes`` attribute.

    Returns:
        The message, with the graph's functions and versions.
    """
    result = GraphDef(versions=version_def(graph))
    operations = graph.get_operations()[from_version or 0 :]
    for chunk in node_chunks(operations, add_shapes):
        result.MergeFromString(chunk)
    for serialised in graph.functions.values():
        result.library.function.append(FunctionDef.FromString(serialised))
    for name, gradient in graph.gradient_functions.items():
        result.library.gradient.add(function_name=name, gradient_func=gradient)
    return result


def write_graph(
    graph_or_graph_def: Any, logdir: str | os.PathLike[str], name: str, as_text: bool = True
) -> str:
    """Writes a graph to the file ``logdir/name``, whose folder is made where it is missing.

    Args:
        graph_or_graph_def: a ``Graph`` or ``GraphDef``.
        logdir: folder.
        name: file name.
        as_text: protobuf's text format, else binary.

    Returns:
        The path of the file, as text.

    Raises:
        OSError: the file cannot be written.
    """
    message = (
        as_graph_def(graph_or_graph_def) if isinstance(graph_or_graph_def, Graph) else graph_or_graph_def
    )
    path = Path(logdir) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = (
        text_format.MessageToString(message).encode()
        if as_text
        else message.SerializeToString(deterministic=True)
    )
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(data)
    os.replace(temporary, path)
    return str(path)
