"""The body of a function where a node calls it: what the call pins to devices.

    h (VarHandleOp, GPU:1) ─┐              h (_Arg, pinned to GPU:1: where the handle's resource is)
    x (GPU:0) ──────────────┴─> call       x (_Arg, pinned to GPU:0: where the call is)
                             (GPU:0)       all else prefers GPU:0, where nothing says otherwise

TensorFlow makes a function that a `PartitionedCall` or `StatefulPartitionedCall` calls for the device of the call.

The branches of an `If` or `Case` and the condition and body of a `While` that are not inlined run on the device of that
node, all of their nodes and whatever these ask for: TensorFlow makes them for one device and does not place them. (With
`_lower_using_switch_merge` they are inlined, and such a node is none any more; see `gpuplace.placer.lowering`.)
Other nodes that take functions pin nothing here.

Source: PartitionedCallOp::Instantiate in tensorflow/core/kernels/partitioned_function_ops.cc and
ProcessFunctionLibraryRuntime::InstantiateMultiDevice, release 2.21; IfOp, CaseOp and WhileOp in
tensorflow/core/kernels/functional_ops.cc, releases 1.15 and 2.21; compared with what they log and trace.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.op_sets import BRANCH_OPS, CALL_OPS, WHILE_OPS
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.placer.placer import Placer
from gpuplace.runtime.session.place import place
from gpuplace.why.place import place_again
from gpuplace.why.placement import Placement


def pins_of_call(body: PlacementGraph, outer: Placement, call: str) -> dict[str, Any]:
    """What a call pins of a function's body, as `assigned` and `default_local_device` of `gpuplace.place`.

    Args:
        body: the function's body between `_Arg` and `_Retval` nodes.
        outer: the graph with the call.
        call: name of the node that calls it. One that has no device, or is another op, pins nothing.
    """
    node = outer.graph.index.get(call)
    target = outer.get(call)
    if node is None or not target:
        return {}
    if outer.graph.op_type(node) in BRANCH_OPS | WHILE_OPS:
        return {"assigned": dict.fromkeys(body.names, target), "default_local_device": target}
    if outer.graph.op_type(node) not in CALL_OPS:
        return {}
    graph, names = outer.graph, outer.graph.names
    given = {int(graph.dst_input[edge]): names[int(graph.src[edge])] for edge in graph.in_edges(node)}
    assigned = {}
    for position, name in enumerate(body.names):
        if body.op_type(position) != "_Arg":
            continue
        attrs = body.attrs(position)
        holder = outer.get(given.get(attrs["index"], ""))
        device = holder if attrs["T"].name == "resource" else target
        if device:
            assigned[name] = device
    return {"assigned": assigned, "default_local_device": target}


def place_called(placer: Placer, outer: Placement, call: str) -> Placement:
    """A function's body, whose placer is there already, placed as a call of it in another graph needs it.

    Args:
        placer: that of the body.
        outer: the graph with the call, placed.
        call: name of the call.

    Raises:
        InternalError: an argument cannot be where the call has it.
    """
    pins = pins_of_call(placer.graph, outer, call)
    return place_again(placer, outer.device_set, soft=outer.soft, on_error="keep", **pins)


def place_function(placement: Placement, name: str, call: str = "") -> Placement:
    """The body of a function of a placement's graph, placed as the graph was: on the same devices, by the same rules.

    Args:
        placement: of a graph whose library has the function.
        name: the function.
        call: name of the node of the graph that calls it, where the body is placed as that needs it.

    Returns:
        A `Placement`, partial where nodes cannot be placed.

    Raises:
        NotFoundError: no such function, or it has attributes that only a call gives it.
        InvalidArgumentError: the function is not sound.
        InternalError: an argument cannot be where the call has it.
        ValueError: the graph keeps no functions.
    """
    made = place(
        placement.graph,
        machine=placement.device_set,
        soft_placement=placement.soft,
        release=placement.release,
        on_error="keep",
        catalogue=placement.placer.catalogue,
        function=name,
    )
    return place_called(made.placer, placement, call) if call else made
