"""Lower a `While` node to Enter, Merge, Switch, Exit and NextIteration nodes around calls of its two functions.

The package's docstring has a drawing. The nodes of a loop variable have the device of the variable's source; nodes of
the loop as a whole have the device of the `While`. A resource that the body returns unchanged is not carried around the
loop: its Enter is constant, and the functions read it. 1.15 treats resources like other variables, and gives all nodes
the device of the `While`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.graph.attr_value import FunctionRef
from gpuplace.placer.lowering.bodies import CALL_ATTR
from gpuplace.placer.lowering.flow_graph import FlowGraph, FlowNode, Output


def lower_while(
    graph: FlowGraph,
    node: FlowNode,
    types: tuple[Any, ...],
    passed: Sequence[bool],
    *,
    fetchable: bool,
    follows_sources: bool,
) -> None:
    """Lower a `While`.

    Args:
        graph: the node's graph.
        node: the `While`.
        types: the types of the loop variables.
        passed: for each loop variable, whether the body returns it unchanged, possibly as another variable.
        fetchable: whether to keep a node with the same name and outputs.
        follows_sources: 2.21: resources stay outside the loop, and a variable's nodes have its source's device.
    """
    name, device = node.name, node.device

    def new(infix: str) -> str:
        return graph.new_name(f"{name}/{infix}")

    def call_attrs(function: FunctionRef) -> Mapping[str, Any]:
        return {**function.attrs, CALL_ATTR: True}

    cond, body = node.attrs["cond"], node.attrs["body"]
    cond_name, body_name = new("cond"), new("body")
    is_constant = [
        follows_sources and dtype.name == "resource" and is_returned
        for dtype, is_returned in zip(types, passed, strict=True)
    ]
    enters = [
        graph.add(
            new("enter"),
            "Enter",
            {"T": dtype, "frame_name": name.encode(), "is_constant": constant},
            source.device if follows_sources else device,
            [(source, output)],
        )
        for (source, output), dtype, constant in zip(node.inputs, types, is_constant, strict=True)
    ]
    if node.controls:
        before = graph.add(new("LoopControlInputs"), "NoOp", None, device, controls=node.controls)
        for enter in enters:
            graph.add_control(before, enter)
    carried = [i for i, constant in enumerate(is_constant) if not constant]
    merges: dict[int, FlowNode] = {}
    for i in carried:
        sources = [(enters[i], 0), (enters[i], 0)]
        merges[i] = graph.add(new("merge"), "Merge", {"T": types[i], "N": 2}, enters[i].device, sources)
    round_trip = [merges.get(i, enter) for i, enter in enumerate(enters)]
    cond_inputs: list[Output] = [(source, 0) for source in round_trip]
    cond_call = graph.add(cond_name, cond.name, call_attrs(cond), device, cond_inputs)
    first = merges[carried[0]]
    graph.add_control(first, cond_call)
    loop_cond = graph.add(new("LoopCond"), "LoopCond", None, device, [(cond_call, 0)])
    switches: dict[int, FlowNode] = {}
    for i in carried:
        switches[i] = graph.add(
            new(f"{node.inputs[i][0].name}_switch"),
            "Switch",
            {"T": types[i]},
            merges[i].device,
            [(merges[i], 0), (loop_cond, 0)],
        )
    body_inputs: list[Output] = [
        (enter, 0) if is_constant[i] else (switches[i], 1) for i, enter in enumerate(enters)
    ]
    body_call = graph.add(body_name, body.name, call_attrs(body), device, body_inputs)
    pivot = graph.add(
        new("loop_body_control"), "Identity", {"T": types[carried[0]]}, device, [(switches[carried[0]], 1)]
    )
    graph.add_control(pivot, body_call)
    outputs: list[Output] = []
    exits = []
    for i in range(len(enters)):
        if is_constant[i]:
            outputs.append(node.inputs[i])
            continue
        leave = graph.add(new("exit"), "Exit", {"T": types[i]}, switches[i].device, [(switches[i], 0)])
        exits.append(leave)
        outputs.append((leave, 0))
    executed = graph.add(new("LoopExecuted"), "NoOp", None, device, controls=exits)
    if fetchable:
        graph.add(name, "IdentityN", {"T": types}, device, outputs)
    else:
        graph.add(name, "NoOp", None, device, controls=[executed])
    for i in carried:
        next_iteration = graph.add(
            new("next_iteration"),
            "NextIteration",
            {"T": types[i]},
            merges[i].device,
            [(body_call, i)],
            [body_call],
        )
        graph.set_input(merges[i], 1, (next_iteration, 0))
    graph.replace(node, outputs, executed)
    graph.remove(node)
