"""Calls that return resources, between Identity nodes: what they take and give is bound, they are not.

    x ─> x_f ─> f ─┬─> f_reader ─> reader           f   (StatefulPartitionedCall, stays a call)
                   └─> f_0                              an output that nobody reads

The placer looks into the function that such a node calls: an argument and a result that are one resource inside bind
their Identity nodes together, and devices that the function asks for bind them too. For that each call comes with its
function's body as a graph of its own.

Source: tensorflow/core/common_runtime/isolate_placer_inspection_required_ops_pass.cc, inspecting_placer.cc, releases
1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.attr_value import FunctionRef
from gpuplace.graph.op_sets import CALL_OPS
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.graph_builder import PlacementGraphBuilder
from gpuplace.placer.lowering.bodies import Bodies
from gpuplace.placer.lowering.flow_graph import FlowGraph, FlowNode, guarded
from gpuplace.placer.placement_graph import CONTROL, Inspection, PlacementGraph


def isolate_all(graph: FlowGraph, bodies: Bodies) -> list[FlowNode]:
    """Puts Identity nodes around all calls that return resources; gives those calls."""
    calls = [node for node in graph.nodes() if node.op_type in CALL_OPS]
    found = [node for node in calls if guarded(node, lambda node: gives_resource(node, bodies))]
    if found:
        names = {node.name for node in graph.nodes()}
        for node in found:
            graph.made_for(node)
            guarded(node, lambda node: _isolate(graph, node, bodies, names))
    return found


def gives_resource(node: FlowNode, bodies: Bodies) -> bool:
    """Whether a call is of a function with a resource among its results."""
    function = node.attrs.get("f")
    if not isinstance(function, FunctionRef) or function.name not in bodies:
        return False
    return any(dtype.name == "resource" for dtype in bodies.types(function.name, function.attrs)[1])


def _isolate(graph: FlowGraph, node: FlowNode, bodies: Bodies, names: set[str]) -> None:
    wanted, given = bodies.types(node.attrs["f"].name, node.attrs["f"].attrs)

    def unique(name: str) -> str:
        found, number = name, 0
        while found in names:
            found, number = f"{name}_{number}", number + 1
        names.add(found)
        return found

    def identity(name: str, source: FlowNode, output: int, dtype: DType) -> FlowNode:
        return graph.add(unique(name), "Identity", {"T": dtype}, "", [(source, output)])

    if len(wanted) != len(node.inputs):
        raise InvalidArgumentError.of(
            f"Node '{node.name}' has {len(node.inputs)} inputs, its function {len(wanted)} arguments"
        )
    readers = [
        (consumer.turns[slot], consumer, slot, output)
        for consumer in node.consumers
        for slot, (source, output) in enumerate(consumer.inputs)
        if source is node
    ]
    for slot, (source, output) in enumerate(list(node.inputs)):
        copy = identity(f"{source.name}_{node.name}", source, output, wanted[slot])
        graph.set_input(node, slot, (copy, 0))
    for _, consumer, slot, output in sorted(readers, key=lambda reader: reader[0]):
        copy = identity(f"{node.name}_{consumer.name}", node, output, given[output])
        graph.set_input(consumer, slot, (copy, 0))
    read = {output for _, _, _, output in readers}
    for output, dtype in enumerate(given):
        if output not in read:
            identity(node.name, node, output, dtype)


class Inspector:
    """Makes the graphs of functions that the placer looks into, once per function and only when they are asked for.

    Args:
        bodies: the library.
        catalogue: the ops.
        op_defs: the signatures of all functions.
    """

    def __init__(self, bodies: Bodies, catalogue: Catalogue, op_defs: Mapping[str, Any]) -> None:
        self._bodies = bodies
        self._catalogue = catalogue
        self._op_defs = op_defs
        self._made: dict[FunctionRef, PlacementGraph] = {}

    def inspections(
        self, calls: Iterable[FlowNode], position: Mapping[FlowNode, int]
    ) -> dict[int, Inspection]:
        """What is looked into for calls that give back resources, by the place of the call."""
        return {
            position[call]: Inspection(call.attrs["f"].name, partial(self._graph, call.attrs["f"]))
            for call in calls
        }

    def _graph(self, function: FunctionRef) -> PlacementGraph:
        known = self._made.get(function)
        if known is None:
            known = self._made[function] = self._make(function)
        return known

    def _make(self, function: FunctionRef) -> PlacementGraph:
        flow = _body_graph(function, self._bodies)
        calls = isolate_all(flow, self._bodies)
        nodes = list(flow.nodes())
        position = {node: i for i, node in enumerate(nodes)}
        builder = PlacementGraphBuilder(self._catalogue)
        for node in nodes:
            inputs = [(position[producer], output) for producer, output in node.inputs]
            controls = [position[control] for control in node.controls]
            builder.add_node(node.name, node.op_type, node.attrs, inputs, controls, node.device)
        made = builder.build(functions=self._op_defs, node_attrs=lambda node: nodes[node].attrs)
        vars(made)["order"] = np.arange(len(made))
        return made.changed(edge_turn=edge_turn(made, nodes), inspections=self.inspections(calls, position))


def edge_turn(graph: PlacementGraph, nodes: Sequence[FlowNode]) -> np.ndarray:
    """[edges] when each data edge was made."""
    turn = [
        0 if slot == CONTROL else nodes[node].turns[slot]
        for node, slot in zip(graph.dst.tolist(), graph.dst_input.tolist(), strict=True)
    ]
    return np.array(turn, dtype=np.int64)


def _body_graph(function: FunctionRef, bodies: Bodies) -> FlowGraph:
    """A function's body between `_Arg` and `_Retval` nodes, its own calls not yet isolated."""
    body = bodies.instance(function.name, function.attrs)
    wanted, given = bodies.types(function.name, function.attrs)
    graph = FlowGraph()
    graph.allow(len(body.nodes) + sum(len(node.inputs) for node in body.nodes))
    nodes = [
        graph.add(name, "_Arg", {"T": dtype, "index": i})
        for i, (name, dtype) in enumerate(zip(body.args, wanted, strict=True))
    ]
    nodes += [graph.add(node.name, node.op_type, node.attrs, node.device) for node in body.nodes]
    for node, inputs, controls in zip(nodes[len(body.args) :], body.inputs, body.controls, strict=True):
        for source, output in inputs:
            graph.feed(node, (nodes[source], output))
        for position in controls:
            graph.add_control(nodes[position], node)
    names = {node.name for node in nodes}
    for i, ((position, output), dtype) in enumerate(zip(body.results, given, strict=True)):
        name = f"{nodes[position].name}_RetVal"
        while name in names:
            name += "_"
        names.add(name)
        graph.add(name, "_Retval", {"T": dtype, "index": i}, "", [(nodes[position], output)])
    return graph
