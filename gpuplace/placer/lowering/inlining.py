"""A function's body in place of a call.

    a ─> Func/f/input/_0 ─> f/add ─> Func/f/output/_2 ─> consumers
                ^             ^             :
    before ··> Func/f/input_control_node/_1 :
                                            f (IdentityN), Func/f/output_control_node/_3 ··> after

A copied node keeps the device that it asks for, completed by that of the call; without one it takes the call's.
Arguments ask for the device of the node that they come from, control nodes for the call's. In 2.21 the Identity nodes
are colocated with their sources too.
"""

from __future__ import annotations

from typing import Any

from gpuplace.device.parsed_name import parse_name
from gpuplace.errors import InvalidArgumentError
from gpuplace.placer.lowering.bodies import CALL_OPS, Bodies, BodyNode
from gpuplace.placer.lowering.flow_graph import FlowGraph, FlowNode, Output
from gpuplace.placer.placement_graph import COLOCATION_PREFIX

_PREFIX = COLOCATION_PREFIX.encode()


def inline(
    graph: FlowGraph,
    call: FlowNode,
    function: str,
    bodies: Bodies,
    *,
    written: int,
    fetchable: bool,
    colocated: bool,
) -> None:
    """Replaces a call by the function's nodes.

    Args:
        graph: the call's graph.
        call: the call.
        function: name of the function.
        bodies: the library.
        written: nodes and inputs that the graph was written with.
        fetchable: whether a node of the call's name and outputs stays.
        colocated: 2.21: the Identity nodes are colocated with what they pass on.

    Raises:
        InvalidArgumentError: the function calls itself, or does not fit its call.
    """
    if function in call.functions:
        raise InvalidArgumentError(
            None, None, f"Function {function} calls itself: {' > '.join((*call.functions, function))}"
        )
    if function not in bodies:
        raise InvalidArgumentError(None, None, f"Function {function} is not defined.")
    least = bodies.least_size(function)
    graph.allow(written + bodies.written)
    graph.expect(least, call.name)
    types = bodies.types(function, call.attrs)
    if len(types[0]) != len(call.inputs):
        raise InvalidArgumentError(
            None,
            None,
            f"Node '{call.name}' has {len(call.inputs)} inputs, function {function} {len(types[0])} arguments",
        )
    body = bodies.instance(function, call.attrs)
    prefix = f"{call.name}/"
    call.functions = (*call.functions, function)

    def control_node(name: str) -> FlowNode:
        return graph.add(graph.new_name(f"Func/{prefix}{name}"), "NoOp", None, call.device)

    def identity(kind: str, source: Output, dtype: Any, device: str) -> FlowNode:
        attrs: dict[str, Any] = {"T": dtype}
        if colocated:
            attrs["_class"] = (_PREFIX + source[0].name.encode(),)
        return graph.add(graph.new_name(f"Func/{prefix}{kind}"), "Identity", attrs, device, [source])

    entry = control_node("input_control_node") if call.controls else None
    if entry is not None:
        for control in call.controls:
            graph.add_control(control, entry)
    nodes = [
        identity("input", source, dtype, source[0].device)
        for source, dtype in zip(call.inputs, types[0], strict=True)
    ]
    arguments = dict(zip(body.args, (node.name for node in nodes), strict=True))
    own = {node.name for node in body.nodes}
    count = len(body.args)
    for node in body.nodes:
        device = body_device(node.device, call.device)
        nodes.append(
            graph.add(prefix + node.name, node.op_type, _moved(node, arguments, own, prefix), device)
        )
    for clone, node, inputs, controls in zip(
        nodes[count:], body.nodes, body.inputs, body.controls, strict=True
    ):
        for source, output in inputs:
            graph.feed(clone, (nodes[source], output))
        is_call = node.op_type in CALL_OPS or node.op_type in bodies
        if entry is not None and not controls and (is_call or not inputs):
            graph.add_control(entry, clone)
        for position in controls:
            graph.add_control(nodes[position], clone)
    if entry is not None:
        for argument in nodes[:count]:
            graph.add_control(entry, argument)
    outputs: list[Output] = []
    for (position, output), dtype in zip(body.results, types[1], strict=True):
        outputs.append((identity("output", (nodes[position], output), dtype, ""), 0))
    leave = control_node("output_control_node")
    for position in body.control_results:
        graph.add_control(nodes[position], leave)
    if not leave.controls and entry is not None:
        graph.add_control(entry, leave)
    if fetchable and outputs:
        attrs = {"T": tuple(types[1])}
        graph.add(call.name, "IdentityN", attrs, call.device, outputs, [leave])
    else:
        graph.add(call.name, "NoOp", None, call.device, controls=[leave])
    graph.replace(call, outputs, leave)
    graph.remove(call)


def body_device(device: str, call_device: str) -> str:
    """The device that a copied node asks for.

    >>> body_device("/gpu:1", "/job:a/cpu:0"), body_device("", "/cpu:0"), body_device("/job:b", "/gpu:1")
    ('/job:a/device:GPU:1', '/cpu:0', '/job:b/device:GPU:1')
    """
    if not device:
        return call_device
    own, outer = parse_name(device), parse_name(call_device)
    if own is None or outer is None:
        return device
    return own.merge_unset(outer).to_string()


def _moved(node: BodyNode, arguments: dict[str, str], own: set[str], prefix: str) -> dict[str, Any]:
    """A node's attributes with the names in its colocation as they are in the graph."""
    attrs = dict(node.attrs)
    if attrs.get("_class"):
        attrs["_class"] = tuple(_moved_group(group, arguments, own, prefix) for group in attrs["_class"])
    return attrs


def _moved_group(group: bytes, arguments: dict[str, str], own: set[str], prefix: str) -> bytes:
    if not group.startswith(_PREFIX):
        return group
    name = group[len(_PREFIX) :].decode(errors="replace")
    if name in arguments:
        return _PREFIX + arguments[name].encode()
    return _PREFIX + (prefix + name).encode() if name in own else group
