"""Lower `If` and `Case` nodes to switches, calls of the branch functions, and merges.

    pred ─> c/switch_pred/_2 ─┬─> c/pivot_f/_3 ··> c/else/_1 ─┐
      │                       └─> c/pivot_t/_4 ··> c/then/_0 ─┴─> c/output/_6 ─> c (IdentityN) and consumers
      └─> c/x/_5 (Switch, beside x) ─> inputs of both calls

`Case` is the same with `_SwitchN`, and its nodes are named branch_index, pivot_N, branchN and merge. A pivot delays its
call (dotted edge) until the branch is chosen; nodes that waited for the original node wait for c/branch_executed/_7.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuplace.errors import InvalidArgumentError
from gpuplace.placer.lowering.bodies import CALL_ATTR
from gpuplace.placer.lowering.flow_graph import FlowGraph, FlowNode, Output
from gpuplace.placer.placement_graph import COLOCATION_PREFIX


class _Names(NamedTuple):
    calls: tuple[str, ...]
    """Names of the calls, in numbering order."""
    chooser: str
    pivots: tuple[str, ...]
    """Names of the pivots, by output of the chooser."""
    merge: str
    switch: str
    """Op type of the nodes that route an input to one of the branches."""


def lower_branches(
    graph: FlowGraph,
    node: FlowNode,
    chosen_type: Any,
    types: tuple[Any, ...],
    *,
    fetchable: bool,
    colocated: bool,
) -> None:
    """Lower an `If` or `Case`.

    Args:
        graph: the node's graph.
        node: the `If` or `Case`.
        chosen_type: the type of the first input, the predicate or branch index.
        types: the types of the other inputs.
        fetchable: whether to keep a node with the same name and outputs.
        colocated: 2.21: the switches of an `If` are colocated with their inputs, its other nodes with the nodes that
            the `If` is colocated with.

    Raises:
        InvalidArgumentError: the predicate of an `If` is not a bool.
    """
    name, device = node.name, node.device
    is_if = "then_branch" in node.attrs
    if is_if:
        # "then" has the first number, although it is fed by the second output of a Switch.
        functions = (node.attrs["then_branch"], node.attrs["else_branch"])
        names = _Names(("then", "else"), "switch_pred", ("pivot_f", "pivot_t"), "output", "Switch")
        outputs_of: tuple[int, ...] = (1, 0)
    else:
        functions = node.attrs["branches"]
        count = range(len(functions))
        names = _Names(
            tuple(f"branch{i}" for i in count),
            "branch_index",
            tuple(f"pivot_{i}" for i in count),
            "merge",
            "_SwitchN",
        )
        outputs_of = tuple(count)
    extra = {} if is_if else {"num_outs": len(functions)}
    group = {"_class": node.attrs["_class"]} if colocated and is_if and node.attrs.get("_class") else {}

    def new(infix: str) -> str:
        return graph.new_name(f"{name}/{infix}")

    call_names = [new(call) for call in names.calls]
    choice = node.inputs[0]
    chooser_name = new(names.chooser)
    if is_if and chosen_type.base_dtype.name != "bool":
        raise InvalidArgumentError.of(
            f"Input 'pred' passed {chosen_type.short_name} expected bool while building NodeDef '{chooser_name}' using "
            "Op<name=Switch; signature=data:T, pred:bool -> output_false:T, output_true:T; attr=T:type>",
            facts={"node": name},
            hint="use a bool predicate, or remove the attribute _lower_using_switch_merge",
        )
    chosen_type = chosen_type.base_dtype
    chooser = graph.add(
        chooser_name, names.switch, {"T": chosen_type, **extra, **group}, device, [choice, choice]
    )
    pivots = [
        graph.add(new(pivot), "Identity", {"T": chosen_type, **group}, device, [(chooser, i)])
        for i, pivot in enumerate(names.pivots)
    ]
    inputs = []
    for (source, output), dtype in zip(node.inputs[1:], types, strict=True):
        beside = {"_class": (f"{COLOCATION_PREFIX}{source.name}".encode(),)} if colocated and is_if else {}
        inputs.append(
            graph.add(
                new(source.name),
                names.switch,
                {"T": dtype, **extra, **beside},
                source.device,
                [(source, output), choice],
            )
        )
    for control in node.controls:
        graph.add_control(control, chooser)
    calls = []
    for call_name, function, output in zip(call_names, functions, outputs_of, strict=True):
        attrs = {**function.attrs, CALL_ATTR: True}
        call = graph.add(call_name, function.name, attrs, device, [(switch, output) for switch in inputs])
        graph.add_control(pivots[output], call)
        calls.append(call)
    out_types = node.attrs.get("Tout") or ()
    outputs: list[Output] = []
    for i, dtype in enumerate(out_types):
        merged: list[Output] = [(call, i) for call in calls]
        attrs = {"T": dtype, "N": len(calls), **group}
        outputs.append((graph.add(new(names.merge), "Merge", attrs, device, merged), 0))
    order = reversed(pivots) if is_if else pivots
    executed = graph.add(
        new("branch_executed"),
        "Merge",
        {"T": chosen_type, "N": len(calls), **group},
        device,
        [(pivot, 0) for pivot in order],
        calls,
    )
    if fetchable and outputs:
        graph.add(name, "IdentityN", {"T": out_types}, device, outputs, [executed])
    else:
        graph.add(name, "NoOp", None, device, controls=[executed])
    graph.replace(node, outputs, executed)
    graph.remove(node)
