"""Check that a graph is valid, as TensorFlow does when it builds a graph, before any node is placed.

In order: every op is known and its attributes are complete; there is no cycle; every node has the inputs that its op
declares, each from an existing output of the declared type.

Source: tensorflow/core/common_runtime/graph_constructor.cc, tensorflow/core/framework/node_def_util.cc,
releases 1.15 and 2.21.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError, NotFoundError, OpError
from gpuplace.graph.attr_check import kind_fault
from gpuplace.graph.long_list import listed, mapped, pick
from gpuplace.graph.op_def import OpDef, signature_fault
from gpuplace.graph.op_notation import value_text
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.node_facts import declared_types
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph, Signature

_REF_ENUM = 100

_Types = tuple[Sequence[DType], Sequence[DType]]


def check_graph(graph: PlacementGraph, catalogue: Catalogue) -> None:
    """Check ops, attributes, order and types.

    Raises:
        NotFoundError: an op is not registered, or an attribute without a default is missing.
        InvalidArgumentError: an attribute has a value that the op does not allow, the graph has a cycle, or inputs do
            not match.
    """
    op_defs: list[OpDef | None] = []
    for signature in graph.signatures:
        op_def = catalogue.ops.get(signature.op_type) or graph.functions.get(signature.op_type)
        op_defs.append(op_def)
    first = _first_nodes(graph)
    problems: dict[int, OpError] = {}
    types: list[_Types] = []
    for number, (signature, op_def) in enumerate(zip(graph.signatures, op_defs, strict=True)):
        node = int(first[number])
        if node == len(graph):  # the signature of nodes that inlining removed
            types.append(((), ()))
            continue
        error = _signature_error(graph, node, signature, op_def, catalogue)
        if error is None:
            assert op_def is not None
            try:
                types.append(declared_types(op_def, {**op_def.defaults, **dict(signature.attrs)}))
            except InvalidArgumentError as type_error:
                error = _at_node(InvalidArgumentError, type_error.message, graph.names[node], op_def)
        if error is not None:
            problems[number] = error
    if problems:
        raise problems[min(problems, key=lambda number: first[number])]
    _ = graph.order
    _check_edges(graph, types)


def _first_nodes(graph: PlacementGraph) -> np.ndarray:
    """Return the first node of each signature, [signatures]."""
    first = np.full(len(graph.signatures), len(graph), dtype=np.int64)
    np.minimum.at(first, graph.signature, np.arange(len(graph)))
    return first


def _signature_error(
    graph: PlacementGraph, node: int, signature: Signature, op_def: OpDef | None, catalogue: Catalogue
) -> OpError | None:
    if op_def is None:
        return _unknown_op(graph, node, signature.op_type, catalogue)
    if signature.op_type in graph.functions and catalogue.ops.get(signature.op_type) is None:
        fault = signature_fault(op_def)
        if fault is not None:
            facts = {"node": graph.names[node]}
            return InvalidArgumentError.of(f"{fault}; in OpDef of '{op_def.name}'", facts=facts)
    attrs: Mapping[str, Any] = {**op_def.defaults, **dict(signature.attrs)}
    lengths = {arg.number_attr for arg in (*op_def.inputs, *op_def.outputs)}
    all_attrs: Mapping[str, Any] | None = None
    name = graph.names[node]
    for attr in op_def.attrs:
        is_length = attr.type == "int" and attr.name in lengths
        if attr.element_type != "type" and not is_length:
            continue
        value, is_given = attrs.get(attr.name), attr.name in attrs
        if value is None:
            all_attrs = graph.attrs(node) if all_attrs is None else all_attrs
            value, is_given = all_attrs.get(attr.name), is_given or attr.name in all_attrs
        if not is_given:
            return _at_node(
                NotFoundError, f"No attr named '{attr.name}' in NodeDef:", name, op_def, attr.name
            )
        message = kind_fault(attr, value) if is_length else None
        if message is None and isinstance(value, int) and is_length and value < 0:
            message = f"Value for number_attr() {value} < 0"
        if message is not None:
            return _at_node(InvalidArgumentError, message, name, op_def, attr.name)
    return None


def _at_node(
    error_type: type[InvalidArgumentError | NotFoundError],
    message: str,
    node: str,
    op_def: OpDef,
    attr: str = "",
) -> OpError:
    return error_type.of(
        f"{message}\n\t [[{{{{node {node}}}}}]]",
        facts={"op": str(op_def)},
        hint=f"set attribute {attr} of node {node} to a valid value" if attr else None,
    )


def attr_error(op_def: OpDef, attrs: Mapping[str, Any], name: str) -> OpError | None:
    """Return the error for an attribute value that an op does not allow, if any.

    2.x checks this only for nodes without a kernel, 1.15 not at all.

    Args:
        op_def: the node's op.
        attrs: the node's attributes with defaults.
        name: the node's name.
    """
    for attr in op_def.attrs:
        value = attrs.get(attr.name)
        if attr.allowed is None or value is None:
            continue
        for item in value if isinstance(value, tuple) else (value,):
            if item not in attr.allowed:
                listed = ", ".join(
                    getattr(value_allowed, "short_name", value_text(value_allowed))
                    for value_allowed in attr.allowed
                )
                return InvalidArgumentError.of(
                    f"Value for attr '{attr.name}' of {getattr(item, 'short_name', value_text(item))} is not in the "
                    f"list of allowed values: {listed}\n\t; NodeDef: {{{{node {name}}}}}; Op<name={op_def.name}>",
                    facts={"op": str(op_def)},
                    hint=f"set {attr.name} to one of the allowed values",
                )
    return None


def _unknown_op(graph: PlacementGraph, node: int, op_type: str, catalogue: Catalogue) -> OpError:
    try:
        catalogue.ops.lookup(op_type)
    except OpError as error:
        facts = {"node": graph.names[node], **error.facts}
        return type(error)(None, None, error.message, facts=facts, hint=error.hint)  # type: ignore[call-arg]
    return NotFoundError.of(f"Op type not registered '{op_type}' in binary running on {platform.node()}.")


def _check_edges(graph: PlacementGraph, types: list[_Types]) -> None:
    data = graph.dst_input != CONTROL
    num_inputs = np.array([len(inputs) for inputs, _ in types], dtype=np.int64)
    num_outputs = np.array([len(outputs) for _, outputs in types], dtype=np.int64)
    # As in TensorFlow, a missing input is an error only when the kernel is created.
    num_given = (
        np.bincount(graph.dst[data], minlength=len(graph)) if len(graph) else np.zeros(0, dtype=np.int64)
    )
    wrong_count = num_given > num_inputs[graph.signature]
    edges = np.flatnonzero(data)
    src_signature, dst_signature = graph.signature[graph.src[edges]], graph.signature[graph.dst[edges]]
    wrong_output = graph.src_output[edges] >= num_outputs[src_signature]
    valid = ~wrong_output & ~wrong_count[graph.dst[edges]]
    expected_types = np.zeros(len(edges), dtype=np.int64)
    passed_types = np.zeros(len(edges), dtype=np.int64)
    expected_types[valid] = pick(
        [_enums(inputs) for inputs, _ in types], dst_signature[valid], graph.dst_input[edges[valid]]
    )
    passed_types[valid] = pick(
        [_enums(outputs) for _, outputs in types], src_signature[valid], graph.src_output[edges[valid]]
    )
    # A reference can be passed for a value, but not a value for a reference.
    wrong_type = (expected_types != passed_types) & (expected_types != passed_types - _REF_ENUM)
    suspects = np.concatenate((np.flatnonzero(wrong_count), graph.dst[edges[wrong_output | wrong_type]]))
    if len(suspects):
        node = int(suspects[np.argmin(graph.rank[suspects])])
        raise _input_error(graph, node, types)


def _enums(types: Sequence[DType]) -> Sequence[int]:
    return mapped(types, lambda dtype: dtype.as_datatype_enum)


def _input_error(graph: PlacementGraph, node: int, types: list[_Types]) -> InvalidArgumentError:
    name = graph.names[node]
    declared = types[graph.signature[node]][0]
    edges = [edge for edge in graph.in_edges(node) if graph.dst_input[edge] != CONTROL]
    facts = {
        "op": graph.op_type(node),
        "declared inputs": listed(declared, lambda dtype: str(dtype.short_name)) or "none",
    }
    for edge in edges:
        source, output = int(graph.src[edge]), int(graph.src_output[edge])
        outputs = types[graph.signature[source]][1]
        if output >= len(outputs):
            return InvalidArgumentError.of(
                f"Node '{name}': Connecting to invalid output {output} of source node {graph.names[source]} which has "
                f"{len(outputs)} outputs.",
                facts=facts,
            )
    if len(edges) > len(declared):
        return InvalidArgumentError.of(
            f"Input {len(declared)} of node {name} does not exist. Node only has {len(declared)} inputs.",
            facts=facts,
        )
    for position, edge in enumerate(edges):
        source, output = int(graph.src[edge]), int(graph.src_output[edge])
        passed, expected = types[graph.signature[source]][1][output], declared[position]
        if passed.as_datatype_enum not in (expected.as_datatype_enum, expected.as_datatype_enum + _REF_ENUM):
            return InvalidArgumentError.of(
                f"Input {position} of node {name} was passed {passed.short_name} from {graph.names[source]}:{output} "
                f"incompatible with expected {expected.short_name}.",
                facts=facts,
            )
    raise AssertionError(f"node {name} has no fault: {value_text(tuple(declared))}")
