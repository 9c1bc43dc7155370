"""Conversion of graphs to ``GraphDef`` messages and files.

Source: tensorflow/python/framework/ops.py and graph_io.py, release 1.15.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gpuplace.graph.attr_value import TensorValue
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import CLASS_ATTR, Operation
from gpuplace.graphdef.attr_values import encode_attr
from gpuplace.graphdef.messages import FunctionDef, GraphDef, NodeDef, VersionDef, text_format
from gpuplace.shapes import TensorShape
from gpuplace.writing import write_file


def node_def(op: Operation, proto: Any = None) -> NodeDef:
    """Convert an operation to a ``NodeDef``.

    Args:
        op: operation.
        proto: message to fill in; None: a new one.

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
    """Return the fields of a ``NodeDef`` that an ``Operation`` has no attribute for, serialized."""
    extra = NodeDef()
    for name in ("experimental_debug_info", "experimental_type"):
        if proto.HasField(name):
            getattr(extra, name).CopyFrom(getattr(proto, name))
    return extra.SerializeToString()


def version_def(graph: Graph) -> VersionDef:
    """Return the graph's versions as a ``VersionDef``."""
    versions = graph.versions
    return VersionDef(
        producer=versions.producer, min_consumer=versions.min_consumer, bad_consumers=versions.bad_consumers
    )


_OFTEN_OWN = frozenset({"value", "shape", CLASS_ATTR})
"""Attributes whose values usually differ between operations."""

_SMALL = 16
"""Maximum number of elements of constants that share a template if they are equal."""


def _add_node(
    graph_def: GraphDef, op: Operation, templates: dict[tuple[Any, ...], Any], add_shapes: bool
) -> None:
    """Add an operation's node to a ``GraphDef`` by copying a template and filling in the differences.

    Large graphs have few distinct types, devices and attribute values, and copying a message takes a quarter of the
    time of filling it in from Python.

    Args:
        graph_def: message to extend.
        op: operation.
        templates: nodes without name and inputs, by their common content.
        add_shapes: whether to add an ``_output_shapes`` attribute.
    """
    own: list[str] = []
    key: list[Any] = [op.type, op.device]
    attrs = op.attrs
    for name, value in attrs.items():
        if (
            name not in _OFTEN_OWN
        ):  # the same object in many operations: signatures share defaults, types are single
            key += (name, id(value))
        elif (content := _content(value)) is not None:
            key += (name, content)
        else:
            own.append(name)
    shapes = [tensor.shape for tensor in op.outputs] if add_shapes else []
    key += [shape.sizes for shape in shapes]
    template = templates.get(tuple(key))
    if template is None:
        template = templates[tuple(key)] = NodeDef(op=op.type, device=op.device)
        for name, value in attrs.items():
            if name not in own:
                encode_attr(value, template.attr[name])
        if shapes:
            encode_attr(tuple(shapes), template.attr["_output_shapes"])
    node = graph_def.node.add()
    node.CopyFrom(template)
    node.name = op.name
    if op.inputs or op.controls:
        inputs = [tensor.name if tensor.value_index else tensor.op.name for tensor in op.inputs]
        node.input.extend(
            inputs + [f"^{name}" for name in sorted(control_input.name for control_input in op.controls)]
        )
    for name in own:
        encode_attr(attrs[name], node.attr[name])
    if op.extra_fields:
        node.MergeFromString(op.extra_fields)


def _content(value: object) -> Any:
    """Return the key by which attribute values are compared; None for values that should not be compared."""
    if type(value) is TensorShape:
        return (value.sizes,)
    if type(value) is TensorValue and value.encoded is None:
        array = value.array
        if array.size <= _SMALL and array.dtype != object:
            return value.dtype, array.shape, array.tobytes()
    return None


def as_graph_def(graph: Graph, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
    """Return the graph as a ``GraphDef`` with control inputs sorted by name.

    Args:
        graph: graph to convert.
        from_version: only operations added after this ``graph.version``; None: all.
        add_shapes: whether to add an ``_output_shapes`` attribute to every node.

    Returns:
        The message, with the graph's functions and versions.
    """
    result = GraphDef(versions=version_def(graph))
    operations = graph.get_operations()[from_version or 0 :]
    templates: dict[tuple[Any, ...], Any] = {}
    for op in operations:
        _add_node(result, op, templates, add_shapes)
    add_library(graph, result)
    return result


def add_library(graph: Graph, graph_def: GraphDef) -> None:
    """Add a graph's functions and their gradient definitions to a ``GraphDef``.

    Args:
        graph: graph with the functions.
        graph_def: message to extend.
    """
    for serialized in graph.functions.values():
        graph_def.library.function.append(FunctionDef.FromString(serialized))
    for name, gradient in graph.gradient_functions.items():
        graph_def.library.gradient.add(function_name=name, gradient_func=gradient)


def write_graph(
    graph_or_graph_def: Any, logdir: str | os.PathLike[str], name: str, as_text: bool = True
) -> str:
    """Write a graph to the file ``logdir/name``; the folder is created if necessary.

    Args:
        graph_or_graph_def: a ``Graph`` or ``GraphDef``.
        logdir: folder.
        name: file name.
        as_text: whether to write protobuf's text format instead of binary.

    Returns:
        The path of the file, as text.

    Raises:
        OSError: the file cannot be written; an existing file is unchanged.
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
    return write_file(path, data)
