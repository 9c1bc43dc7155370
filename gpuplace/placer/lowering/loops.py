"""A `While` node as Enter, Merge, Switch, Exit and NextIteration nodes around calls of its two functions.

The drawing is in the package's docstring. Each loop variable's nodes have the device of the node that it comes from,
those of the loop as a whole the device of the `While`. A resource that the body returns as it got it goes round only
in name: its Enter is constant, and the functions read it. 1.15 treats resources like other variables, and gives all
nodes the device of the `While`.
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
    """Writes a `While` out.

    Args:
        graph: the node's graph.
        node: the `While`.
        types: the types of the loop variables.
        passed: for each loop variable, whether the body gives it back, be it for another one.
        fetchable: whether a node of the same name and outputs stays.
        follows_sources: 2.21: resources stay outside the loop, and a variable's nodes have its source's device.
    """
    name, device = node.name, node.device

    def new(infix: str) -> str:
        return graph.new_name(f"{name}/{infix}")

    def call_attrs(function: FunctionRef) -> Mapping[str, Any]:
        return {**function.attrs, CALL_ATTR: True}

    cond, body = node.attrs["cond"], node.attrs["body"]
    cond_name, body_name = new("cond"), new("body")
    held = [
        follows_sources and dtype.name == "resource" and as_it_is
        for dtype, as_it_is in zip(types, passed, strict=True)
    ]
    enters = [
        graph.add(
            new("enter"),
            "Enter",
            {"T": dtype, "frame_name": name.encode(), "is_constant": is_held},
            source.device if follows_sources else device,
            [(source, output)],
        )
        for (source, output), dtype, is_held in zip(node.inputs, types, held, strict=True)
    ]
    if node.controls:
        before = graph.add(new("LoopControlInputs"), "NoOp", None, device, controls=node.controls)
        for enter in enters:
            graph.add_control(before, enter)
    turning = [i for i, is_held in enumerate(held) if not is_held]
    merges: dict[int, FlowNode] = {}
    for i in turning:
        both = [(enters[i], 0), (enters[i], 0)]
        merges[i] = graph.add(new("merge"), "Merge", {"T": types[i], "N": 2}, enters[i].device, both)
    round_trip = [merges.get(i, enter) for i, enter in enumerate(enters)]
    cond_inputs: list[Output] = [(source, 0) for source in round_trip]
    cond_call = graph.add(cond_name, cond.name, call_attrs(cond), device, cond_inputs)
    first = merges[turning[0]]
    graph.add_control(first, cond_call)
    loop_cond = graph.add(new("LoopCond"), "LoopCond", None, device, [(cond_call, 0)])
    switches: dict[int, FlowNode] = {}
    for i in turning:
        switches[i] = graph.add(
            new(f"{node.inputs[i][0].name}_switch"),
            "Switch",
            {"T": types[i]},
            merges[i].device,
            [(merges[i], 0), (loop_cond, 0)],
        )
    body_inputs: list[Output] = [
        (enter, 0) if held[i] else (switches[i], 1) for i, enter in enumerate(enters)
    ]
    body_call = graph.add(body_name, body.name, call_attrs(body), device, body_inputs)
    pivot = graph.add(
        new("loop_body_control"), "Identity", {"T": types[turning[0]]}, device, [(switches[turning[0]], 1)]
    )
    graph.add_control(pivot, body_call)
    outputs: list[Output] = []
    exits = []
    for i in range(len(enters)):
        if held[i]:
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
    for i in turning:
        again = graph.add(
            new("next_iteration"),
            "NextIteration",
            {"T": types[i]},
            merges[i].device,
            [(body_call, i)],
            [body_call],
        )
        graph.set_input(merges[i], 1, (again, 0))
    graph.replace(node, outputs, executed)
    graph.remove(node)
