"""Replace a call with the body of its function.

    a ─> Func/f/input/_0 ─> f/add ─> Func/f/output/_2 ─> consumers
                ^             ^             :
    before ··> Func/f/input_control_node/_1 :
                                            f (IdentityN), Func/f/output_control_node/_3 ··> after

A copied node keeps its requested device, completed by the call's; without a request it takes the call's. Argument nodes
request the device of the node that feeds them, control nodes that of the call. In 2.21 the Identity nodes are also
colocated with their sources; in 1.15 no node copied from a function is colocated with another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.device.parsed_name import parse_name
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import CALL_OPS
from gpuplace.placer.lowering.bodies import Bodies, BodyNode
from gpuplace.placer.lowering.flow_graph import FlowGraph, FlowNode, Output
from gpuplace.placer.placement_graph import COLOCATION_PREFIX
from gpuplace.typing import DTypeLike

_PREFIX = COLOCATION_PREFIX.encode()


def inline(
    graph: FlowGraph,
    call: FlowNode,
    function: str,
    bodies: Bodies,
    *,
    written: int,
    fetchable: bool,
    newer: bool,
    one_device: bool = False,
) -> None:
    """Replace a call with the function's nodes.

    Args:
        graph: the call's graph.
        call: the call.
        function: the function's name.
        bodies: the function library.
        written: the number of nodes and inputs of the original graph.
        fetchable: whether to keep a node with the call's name and outputs.
        newer: 2.21: the Identity nodes are colocated with their sources, argument nodes come before the body instead of
            after it, and copied nodes stay colocated.
        one_device: all copied nodes request the call's device, whatever they request themselves, and the call ends when
            its results are ready.

    Raises:
        InvalidArgumentError: the function calls itself, or does not match its call.
    """
    types = _checked_types(graph, call, function, bodies, written)
    body = bodies.instance(function, call.attrs)
    prefix = f"{call.name}/"
    call.functions = (*call.functions, function)

    def control_node(name: str) -> FlowNode:
        return graph.add(graph.new_name(f"Func/{prefix}{name}"), "NoOp", None, call.device)

    def identity(name: str, source: Output, dtype: DTypeLike, device: str) -> FlowNode:
        attrs: dict[str, Any] = {"T": dtype}
        if newer and not one_device:
            attrs["_class"] = (_PREFIX + source[0].name.encode(),)
        return graph.add(name, "Identity", attrs, device, [source])

    # In TensorFlow, a node of the graph itself without any input has a control edge from the graph's source.
    waits = bool(call.controls) or (call.position >= 0 and not call.inputs)
    entry = control_node("input_control_node") if waits else None
    if entry is not None:
        for control in call.controls:
            graph.add_control(control, entry)
    names = [graph.new_name(f"Func/{prefix}input") for _ in call.inputs]

    def add_arguments() -> list[FlowNode]:
        return [
            identity(name, source, dtype, call.device if one_device else source[0].device)
            for name, source, dtype in zip(names, call.inputs, types[0], strict=True)
        ]

    def add_body() -> list[FlowNode]:
        arguments = dict(zip(body.args, names, strict=True))
        own = {node.name for node in body.nodes}
        return [
            graph.add(
                prefix + node.name,
                node.op_type,
                _moved(node, arguments, own, prefix) if newer else _free(node),
                call.device if one_device else body_device(node.device, call.device, newer=newer),
            )
            for node in body.nodes
        ]

    if newer:
        nodes = add_arguments()
        nodes += add_body()
    else:
        copies = add_body()
        nodes = [*add_arguments(), *copies]
    count = len(body.args)
    for clone, node, inputs, controls in zip(
        nodes[count:], body.nodes, body.inputs, body.controls, strict=True
    ):
        for source, output in inputs:
            graph.feed(clone, (nodes[source], output))
        clone.inner = node.name
        clone.first = _first_edge(nodes, count, inputs, controls)
        is_call = node.op_type in CALL_OPS or node.op_type in bodies
        if entry is not None and not controls and (is_call or not inputs):
            graph.add_control(entry, clone)
        for position in controls:
            graph.add_control(nodes[position], clone)
    for argument in nodes[:count]:
        graph.connect_again(argument)
    if entry is not None:
        for argument in nodes[:count]:
            graph.add_control(entry, argument)
    outputs: list[Output] = []
    for (position, output), dtype in zip(body.results, types[1], strict=True):
        name = graph.new_name(f"Func/{prefix}output")
        device = call.device if one_device else ""
        outputs.append((identity(name, (nodes[position], output), dtype, device), 0))
    leave = control_node("output_control_node")
    last = [node for node, _ in outputs] if one_device else [nodes[i] for i in body.control_results]
    for before in last:
        graph.add_control(before, leave)
    if not leave.controls and entry is not None:
        graph.add_control(entry, leave)
    if fetchable and outputs:
        attrs = {"T": tuple(types[1])}
        graph.add(call.name, "IdentityN", attrs, call.device, outputs, [leave])
    else:
        graph.add(call.name, "NoOp", None, call.device, controls=[leave])
    graph.replace(call, outputs, leave)
    graph.remove(call)


def _checked_types(
    graph: FlowGraph, call: FlowNode, function: str, bodies: Bodies, written: int
) -> tuple[Sequence[DTypeLike], Sequence[DTypeLike]]:
    """Return the argument and result types of a call; InvalidArgumentError if the call cannot be inlined."""
    if function in call.functions:
        raise InvalidArgumentError.of(
            f"Function {function} calls itself: {' > '.join((*call.functions, function))}"
        )
    if function not in bodies:
        raise InvalidArgumentError.of(f"Function {function} is not defined.")
    least = bodies.least_size(function)
    graph.allow(written + bodies.written)
    graph.expect(least, call.name)
    types = bodies.types(function, call.attrs)
    if len(types[0]) != len(call.inputs):
        raise InvalidArgumentError.of(
            f"Node '{call.name}' has {len(call.inputs)} inputs, but function {function} has {len(types[0])} arguments"
        )
    return types


def _first_edge(
    nodes: list[FlowNode], count: int, inputs: Sequence[tuple[int, int]], controls: Sequence[int]
) -> int | FlowNode:
    """Return the first edge into a copied node; edges from arguments are connected after all others."""
    for slot, (source, _) in enumerate(inputs):
        if source >= count:
            return slot
    return next((nodes[position] for position in controls if position >= count), 0)


def body_device(device: str, call_device: str, *, newer: bool = True) -> str:
    """Return the device that a copied node requests.

    In 2.21 missing parts are taken from the call's device. In 1.15 the node keeps its own type and index, while the
    call's job, replica and task override its own.

    >>> body_device("/gpu:1", "/job:a/cpu:0"), body_device("", "/cpu:0"), body_device("/job:b", "/gpu:1")
    ('/job:a/device:GPU:1', '/cpu:0', '/job:b/device:GPU:1')
    >>> body_device("/job:b/task:1", "/task:2/gpu:1", newer=False)
    '/job:b/task:2'
    """
    if not device:
        return call_device
    own, outer = parse_name(device), parse_name(call_device)
    if own is None or outer is None:
        return device
    if newer:
        return own.merge_unset(outer).to_string()
    return outer._replace(type=None, id=None).merge_unset(own).to_string()


def _free(node: BodyNode) -> Mapping[str, Any]:
    """Return a node's attributes without its colocation."""
    return {name: value for name, value in node.attrs.items() if name != "_class"}


def _moved(node: BodyNode, arguments: dict[str, str], own: set[str], prefix: str) -> dict[str, Any]:
    """Return a node's attributes, with the names in its colocation replaced by those in the graph."""
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
