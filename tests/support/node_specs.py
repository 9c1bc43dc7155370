"""Graphs as short Python lists, for tests and for the recording scripts.

A graph is a list of `NodeSpec`; it becomes the placer's own input without protobuf, or a GraphDef that
TensorFlow reads.

>>> graph = [node("a", "Const", dtype="float32"), node("m", "MatMul", "a", "a", device="/gpu:0", T="float32")]
>>> placement_graph(graph).names
('a', 'm')
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gpuplace.dtypes import DType, as_dtype
from gpuplace.graph.attr_value import FunctionRef
from gpuplace.graph.op_def import OpDef
from gpuplace.kernels.registry import Catalogue, default_catalogue
from gpuplace.placer.graph_builder import PlacementGraphBuilder
from gpuplace.placer.placement_graph import PlacementGraph

PRODUCER = 26
"""GraphDef version written: old enough for ops that later versions refuse."""


@dataclass(frozen=True)
class NodeSpec:
    """One node of a test graph."""

    name: str
    op: str
    inputs: tuple[str, ...] = ()
    device: str = ""
    groups: tuple[str, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict)
    """Python values: `DType`, int, float, bool, bytes, `Shape()`, `Function()`, tuples of these."""


class Shape:
    """A scalar's shape, where an attribute needs some shape."""


class Function:
    """A reference to a function, where an attribute needs one."""


def node(
    name: str, op: str, *inputs: str, device: str = "", groups: tuple[str, ...] | str = (), **attrs: Any
) -> NodeSpec:
    """A node; attribute values may be type names, which become types where the op says so."""
    op_def = default_catalogue("2.21").ops.get(op) or default_catalogue("1.15").ops.get(op)
    known = {} if op_def is None else op_def.attr_defs
    values = {}
    for key, value in attrs.items():
        if key in known and known[key].element_type == "type":
            value = tuple(map(as_dtype, value)) if isinstance(value, (tuple, list)) else as_dtype(value)
        values[key] = value.encode() if isinstance(value, str) else value
    if op_def is not None:
        values = {**required_attrs(op_def, values), **values}
    names = (groups,) if isinstance(groups, str) else tuple(groups)
    return NodeSpec(name, op, inputs, device, names, values)


def required_attrs(op_def: OpDef, given: dict[str, Any]) -> dict[str, Any]:
    """Some value for each attribute without default that is not given."""
    some: dict[str, Any] = {
        "int": 2,
        "float": 1.0,
        "bool": False,
        "string": b"x",
        "shape": Shape(),
        "func": Function(),
        "type": as_dtype("float32"),
    }
    values = {}
    for attr in op_def.attrs:
        if attr.has_default or attr.name in given:
            continue
        if attr.type == "tensor":
            values[attr.name] = given.get("dtype", as_dtype("float32"))
            continue
        value = attr.allowed[0] if attr.allowed else some[attr.element_type]
        if attr.type == "int" and attr.minimum is not None:
            value = max(attr.minimum, 1)
        values[attr.name] = (value,) * max(attr.minimum or 0, 1) if attr.is_list else value
    return values


def placement_graph(specs: list[NodeSpec], catalogue: Catalogue | None = None) -> PlacementGraph:
    """The placer's input."""
    builder = PlacementGraphBuilder(catalogue)
    all_attrs = []
    for spec in specs:
        attrs = {name: value for name, value in spec.attrs.items() if not _is_odd(value)}
        if spec.groups:
            attrs["_class"] = tuple(f"loc:@{group}".encode() for group in spec.groups)
        builder.add_node(spec.name, spec.op, attrs, spec.inputs, device=spec.device)
        all_attrs.append(attrs)
    return builder.build(node_attrs=all_attrs.__getitem__)


def _is_odd(value: Any) -> bool:
    first = value[0] if isinstance(value, tuple) and value else value
    return isinstance(first, (Shape, Function))


def graph_def(specs: list[NodeSpec]) -> bytes:
    """The same graph for TensorFlow."""
    message = graph_def_class()()
    message.versions.producer = PRODUCER
    for spec in specs:
        add_node_def(message.node, spec, spec.inputs)
    return bytes(message.SerializeToString())


def add_node_def(nodes: Any, spec: NodeSpec, inputs: Iterable[str]) -> None:
    """Adds a node to the nodes of a GraphDef or a FunctionDef."""
    made = nodes.add(name=spec.name, op=spec.op, device=spec.device)
    made.input.extend(inputs)
    op_def = default_catalogue("2.21").ops.get(spec.op) or default_catalogue("1.15").ops.get(spec.op)
    kinds = {} if op_def is None else {attr.name: attr.type for attr in op_def.attrs}
    for name, value in spec.attrs.items():
        _set_attr(made.attr[name], kinds.get(name, ""), value)
    for group in spec.groups:
        made.attr["_class"].list.s.append(f"loc:@{group}".encode())


def graph_def_class() -> Any:
    """The message class, from whichever package this environment has."""
    try:
        from tensorboard.compat.proto.graph_pb2 import GraphDef
    except ImportError:
        from tensorflow.core.framework.graph_pb2 import GraphDef
    return GraphDef


def _set_attr(attr: Any, kind: str, value: Any) -> None:
    if kind == "tensor":
        attr.tensor.dtype = value.as_datatype_enum
        attr.tensor.tensor_shape.SetInParent()
        if value.name == "string":
            attr.tensor.string_val.append(b"x")
    elif isinstance(value, tuple):
        attr.list.SetInParent()
        for item in value:
            if isinstance(item, DType):
                attr.list.type.append(item.as_datatype_enum)
            elif isinstance(item, bool):
                attr.list.b.append(item)
            elif isinstance(item, int):
                attr.list.i.append(item)
            elif isinstance(item, float):
                attr.list.f.append(item)
            elif isinstance(item, bytes):
                attr.list.s.append(item)
            elif isinstance(item, Shape):
                attr.list.shape.add()
            else:
                _set_function(attr.list.func.add(), item)
    elif isinstance(value, DType):
        attr.type = value.as_datatype_enum
    elif isinstance(value, bool):
        attr.b = value
    elif isinstance(value, int):
        attr.i = value
    elif isinstance(value, float):
        attr.f = value
    elif isinstance(value, bytes):
        attr.s = value
    elif isinstance(value, Shape):
        attr.shape.SetInParent()
    elif isinstance(value, str):
        attr.placeholder = value
    else:
        _set_function(attr.func, value)


def _set_function(reference: Any, value: Any) -> None:
    reference.name = value.name if isinstance(value, FunctionRef) else "f"
    for name, inner in getattr(value, "attrs", {}).items():
        _set_attr(reference.attr[name], "", inner)
