"""Placement of a function's body as a call of it requires.

    h (VarHandleOp, GPU:1) ─┐              h (_Arg, pinned to GPU:1: the device of the handle's resource)
    x (GPU:0) ──────────────┴─> call       x (_Arg, pinned to GPU:0: the device of the call)
                             (GPU:0)       all other nodes prefer GPU:0 unless they request another device

TensorFlow instantiates a function that a `PartitionedCall` or `StatefulPartitionedCall` calls for the device of the
call.

The branches of an `If` or `Case` and the condition and body of a `While` that are not inlined run entirely on the
device of that node, whatever their nodes request: TensorFlow instantiates them for one device and does not place them.
(With `_lower_using_switch_merge` they are inlined and the node disappears; see `gpuplace.placer.lowering`.) Other nodes
with function attributes pin nothing here.

Source: PartitionedCallOp::Instantiate in tensorflow/core/kernels/partitioned_function_ops.cc and
ProcessFunctionLibraryRuntime::InstantiateMultiDevice, release 2.21; IfOp, CaseOp and WhileOp in
tensorflow/core/kernels/functional_ops.cc, releases 1.15 and 2.21; compared with their logs and traces.
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
    """Return the device constraints of a call, as `assigned` and `default_local_device` of `gpuplace.place`.

    Args:
        body: the function's body between `_Arg` and `_Retval` nodes.
        outer: placement of the graph with the call.
        call: name of the calling node; a node without a device, or of another op type, pins nothing.
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
    source_of_input = {
        int(graph.dst_input[edge]): names[int(graph.src[edge])] for edge in graph.in_edges(node)
    }
    assigned = {}
    for position, name in enumerate(body.names):
        if body.op_type(position) != "_Arg":
            continue
        attrs = body.attrs(position)
        resource_device = outer.get(source_of_input.get(attrs["index"], ""))
        device = resource_device if attrs["T"].name == "resource" else target
        if device:
            assigned[name] = device
    return {"assigned": assigned, "default_local_device": target}


def place_called(placer: Placer, outer: Placement, call: str) -> Placement:
    """Place a function's body as a call in another graph requires.

    Args:
        placer: placer of the body.
        outer: placement of the graph with the call.
        call: name of the calling node.

    Raises:
        InternalError: an argument cannot be on the device where the call has it.
    """
    pins = pins_of_call(placer.graph, outer, call)
    return place_again(placer, outer.device_set, soft=outer.soft, on_error="keep", **pins)


def place_function(placement: Placement, name: str, call: str = "") -> Placement:
    """Place the body of a function on the same devices and by the same rules as the graph that contains it.

    Args:
        placement: placement of a graph whose library contains the function.
        name: name of the function.
        call: name of a calling node whose device constraints apply; ``""``: none.

    Returns:
        A `Placement`, partial if some nodes cannot be placed.

    Raises:
        NotFoundError: there is no such function, or it has attributes that only a call sets.
        InvalidArgumentError: the function is invalid.
        InternalError: an argument cannot be on the device where the call has it.
        ValueError: the graph has no function library.
    """
    body = place(
        placement.graph,
        machine=placement.device_set,
        soft_placement=placement.soft,
        release=placement.release,
        on_error="keep",
        catalogue=placement.placer.catalogue,
        function=name,
    )
    return place_called(body.placer, placement, call) if call else body
