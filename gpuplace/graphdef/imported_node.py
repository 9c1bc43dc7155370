"""Nodes of a ``GraphDef`` as ``import_graph_def`` checks them: attributes, inputs, versions, order of making.

The words are those of TensorFlow's import, which looks at every attribute of every node. Placing asks less, in other
words (``gpuplace.placer.validate``); what both ask, whether a value is of the declared kind, is in
``gpuplace.graph.attr_check``.

Source: tensorflow/core/graph/graph_constructor.cc and tensorflow/core/framework/node_def_util.cc, release 1.15.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.attr_check import kind_fault, type_fault
from gpuplace.graph.graph import GRAPH_DEF_VERSIONS
from gpuplace.graph.op_def import AttrDef, OpDef
from gpuplace.graph.operation import CLASS_ATTR
from gpuplace.graph.scopes import VALID_OP_NAME
from gpuplace.graphdef.attr_values import decode_attrs
from gpuplace.graphdef.export import extra_fields
from gpuplace.placer.placement_graph import split_tensor_name
from gpuplace.release import rules

_MERGE = ("Merge", "RefMerge")
_NEXT_ITERATION = ("NextIteration", "RefNextIteration")


@dataclass
class ImportedNode:
    """A node of the ``GraphDef`` with its references resolved."""

    name: str
    op_type: str
    device: str
    attrs: dict[str, Any]
    op_def: OpDef
    inputs: list[tuple[str, int]] = field(default_factory=list)
    """(node, output) of each data input, by the names of the ``GraphDef``."""
    control_inputs: list[str] = field(default_factory=list)
    extra_fields: bytes = b""


def read_node(proto: Any, op_def: OpDef, newer: OpDef | None, producer: int) -> ImportedNode:
    """Checks one node against its op's signature; InvalidArgumentError where it does not fit."""
    name = proto.name
    if not VALID_OP_NAME.fullmatch(name):
        raise InvalidArgumentError(None, None, f"Node '{name}': Node name contains invalid characters")
    if op_def.deprecation is not None and producer >= op_def.deprecation.version:
        raise InvalidArgumentError(
            None,
            None,
            f"Op {op_def.name} is not available in GraphDef version {producer}. It has been removed in version"
            f" {op_def.deprecation.version}. {op_def.deprecation.explanation}.",
            facts={"node": name},
        )
    attrs = decode_attrs(proto.attr)
    for attr_name in [key for key in attrs if not key.startswith("_") and key not in op_def.attr_defs]:
        added = newer.defaults if newer is not None else {}
        if attr_name in added and added[attr_name] == attrs[attr_name]:
            del attrs[attr_name]
            continue
        raise InvalidArgumentError(
            None,
            None,
            f"NodeDef mentions attr '{attr_name}' not in Op<{op_def}>; NodeDef: {{{{node {name}}}}}. (Check"
            f" whether your"
            " GraphDef-interpreting binary is up to date with your GraphDef-generating binary.).",
            hint='for a graph of TensorFlow 2: tf.set_release("2.21")' if rules() != "2.21" else None,
        )
    if CLASS_ATTR in attrs:
        fault = kind_fault(_CLASS, () if attrs[CLASS_ATTR] is None else attrs[CLASS_ATTR])
        if fault is not None:
            raise _attr_error(fault, _CLASS, name)
    for attr in op_def.attrs:
        if attr.name not in attrs:
            if not attr.has_default:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"NodeDef missing attr '{attr.name}' from Op<{op_def}>; NodeDef: {{{{node {name}}}}}",
                )
            attrs[attr.name] = attr.default
        else:
            attrs[attr.name] = _checked(attr, attrs[attr.name], name)
    node = ImportedNode(name, proto.op, proto.device, attrs, op_def, extra_fields=extra_fields(proto))
    for text in proto.input:
        if text.startswith("^"):
            node.control_inputs.append(text[1:])
        elif node.control_inputs:
            raise InvalidArgumentError(
                None, None, f"Node '{name}': Control dependencies must come after regular dependencies"
            )
        else:
            node.inputs.append(split_tensor_name(text))
    return node


_CLASS = AttrDef(CLASS_ATTR, "list(string)")


def _attr_error(fault: str, attr: AttrDef, node: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        None, None, f"{fault}\n\t for attr '{attr.name}'\n\t; NodeDef: {{{{node {node}}}}}"
    )


def _checked(attr: AttrDef, value: Any, node: str) -> Any:
    """The value of an attribute if it is of the type, and among the values, that the signature allows."""
    if attr.is_list and value is None:
        value = ()
    fault = kind_fault(attr, value)
    if fault is None and attr.element_type == "type":
        fault = type_fault(value)
    if fault is not None:
        raise _attr_error(fault, attr, node)
    items = value if attr.is_list else (value,)
    if attr.allowed is not None:
        for item in items:
            if item not in attr.allowed:
                shown = item.short_name if isinstance(item, DType) else f'"{item.decode(errors="replace")}"'
                allowed = ", ".join(
                    v.short_name if isinstance(v, DType) else f'"{v.decode(errors="replace")}"'
                    for v in attr.allowed
                )
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Value for attr '{attr.name}' of {shown} is not in the list of allowed values:"
                    f" {allowed}\n\t; NodeDef:"
                    f" {{{{node {node}}}}}",
                )
    size = len(items) if attr.is_list else value
    if attr.minimum is not None and isinstance(size, int) and size < attr.minimum:
        what = "Length" if attr.is_list else "Value"
        raise InvalidArgumentError(
            None,
            None,
            f"{what} for attr '{attr.name}' of {size} must be at least minimum {attr.minimum}\n\t; NodeDef:"
            f" {{{{node {node}}}}}",
        )
    return value


def check_versions(versions: Any) -> None:
    """InvalidArgumentError where the graph says that this release cannot read it."""
    ours = GRAPH_DEF_VERSIONS[rules()]
    if versions.min_consumer > ours:
        raise InvalidArgumentError(
            None,
            None,
            f"GraphDef min consumer version {versions.min_consumer} above current version {ours} for"
            f" TensorFlow {rules()}."
            "  Please upgrade TensorFlow.",
        )
    if ours in versions.bad_consumers:
        raise InvalidArgumentError(
            None,
            None,
            f"GraphDef disallows consumer version {ours}.  Please upgrade TensorFlow: this version is likely buggy.",
        )


def topological_order(nodes: Sequence[ImportedNode], external: Iterable[tuple[str, int]] = ()) -> list[int]:
    """Positions of the nodes, each after its inputs, the smallest that is ready first.

    Args:
        nodes: all nodes; their inputs name nodes among them, or keys of ``external``.
        external: inputs that come from elsewhere.

    Raises:
        InvalidArgumentError: a node has an unknown input, or nodes wait for each other in a circle.
    """
    position = {node.name: index for index, node in enumerate(nodes)}
    outside = set(external)
    waiting = [0] * len(nodes)
    consumers: list[list[int]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        sources = [*node.inputs, *((control, -1) for control in node.control_inputs)]
        for source, output in sources:
            if (source, output) in outside:
                continue
            found = position.get(source)
            if found is None:
                text = f"^{source}" if output < 0 else source if output == 0 else f"{source}:{output}"
                raise InvalidArgumentError(None, None, f"Node '{node.name}': Unknown input node '{text}'")
            if node.op_type in _MERGE and output >= 0 and nodes[found].op_type in _NEXT_ITERATION:
                continue
            waiting[index] += 1
            consumers[found].append(index)
    ready = [index for index, count in enumerate(waiting) if count == 0]
    order = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for consumer in consumers[index]:
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                heapq.heappush(ready, consumer)
    if len(order) < len(nodes):
        stuck = [node.name for index, node in enumerate(nodes) if waiting[index] > 0]
        shown = ", ".join(stuck[:8]) + (", ..." if len(stuck) > 8 else "")
        raise InvalidArgumentError(
            None,
            None,
            f"{len(stuck)} nodes in a cycle",
            facts={"waiting": shown},
            hint="only the edge from a NextIteration into a Merge may go backwards",
        )
    return order
