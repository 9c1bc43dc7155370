"""Put Identity nodes around calls that return resources, so that the Identity nodes are bound instead of the call.

    x ─> x_f ─> f ─┬─> f_reader ─> reader           f   (StatefulPartitionedCall, stays a call)
                   └─> f_0                              an output without readers

The placer inspects the function of such a node: if an argument and a result are the same resource inside, their
Identity nodes are bound together, and devices requested inside the function bind them too. Each call therefore comes
with its function's body as a graph.

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
    """Put Identity nodes around all calls that return resources, and return those calls."""
    calls = [node for node in graph.nodes() if node.op_type in CALL_OPS]
    resource_calls = [node for node in calls if guarded(node, lambda node: gives_resource(node, bodies))]
    if resource_calls:
        names = {node.name for node in graph.nodes()}
        for node in resource_calls:
            graph.made_for(node)
            guarded(node, lambda node: _isolate(graph, node, bodies, names))
    return resource_calls


def gives_resource(node: FlowNode, bodies: Bodies) -> bool:
    """Return whether a call's function has a resource among its results."""
    function = node.attrs.get("f")
    if not isinstance(function, FunctionRef) or function.name not in bodies:
        return False
    return any(dtype.name == "resource" for dtype in bodies.types(function.name, function.attrs)[1])


def _isolate(graph: FlowGraph, node: FlowNode, bodies: Bodies, names: set[str]) -> None:
    argument_types, result_types = bodies.types(node.attrs["f"].name, node.attrs["f"].attrs)

    def unique(name: str) -> str:
        candidate, number = name, 0
        while candidate in names:
            candidate, number = f"{name}_{number}", number + 1
        names.add(candidate)
        return candidate

    def identity(name: str, source: FlowNode, output: int, dtype: DType) -> FlowNode:
        return graph.add(unique(name), "Identity", {"T": dtype}, "", [(source, output)])

    if len(argument_types) != len(node.inputs):
        raise InvalidArgumentError.of(
            f"Node '{node.name}' has {len(node.inputs)} inputs, but its function has {len(argument_types)} arguments"
        )
    readers = [
        (consumer.turns[slot], consumer, slot, output)
        for consumer in node.consumers
        for slot, (source, output) in enumerate(consumer.inputs)
        if source is node
    ]
    for slot, (source, output) in enumerate(list(node.inputs)):
        copy = identity(f"{source.name}_{node.name}", source, output, argument_types[slot])
        graph.set_input(node, slot, (copy, 0))
    for _, consumer, slot, output in sorted(readers, key=lambda reader: reader[0]):
        copy = identity(f"{node.name}_{consumer.name}", node, output, result_types[output])
        graph.set_input(consumer, slot, (copy, 0))
    read = {output for _, _, _, output in readers}
    for output, dtype in enumerate(result_types):
        if output not in read:
            identity(node.name, node, output, dtype)


class Inspector:
    """Builds the graphs of functions that the placer inspects, once per function and on demand.

    Args:
        bodies: the function library.
        catalogue: the ops.
        op_defs: the signatures of all functions.
    """

    def __init__(self, bodies: Bodies, catalogue: Catalogue, op_defs: Mapping[str, Any]) -> None:
        self._bodies = bodies
        self._catalogue = catalogue
        self._op_defs = op_defs
        self._graphs: dict[FunctionRef, PlacementGraph] = {}

    def inspections(
        self, calls: Iterable[FlowNode], position: Mapping[FlowNode, int]
    ) -> dict[int, Inspection]:
        """Return the inspections of calls that return resources, by position of the call."""
        return {
            position[call]: Inspection(call.attrs["f"].name, partial(self._graph, call.attrs["f"]))
            for call in calls
        }

    def _graph(self, function: FunctionRef) -> PlacementGraph:
        graph = self._graphs.get(function)
        if graph is None:
            graph = self._graphs[function] = self._make(function)
        return graph

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
        graph = builder.build(functions=self._op_defs, node_attrs=lambda node: nodes[node].attrs)
        vars(graph)["order"] = np.arange(len(graph))
        return graph.changed(edge_turn=edge_turn(graph, nodes), inspections=self.inspections(calls, position))


def edge_turn(graph: PlacementGraph, nodes: Sequence[FlowNode]) -> np.ndarray:
    """Return when each data edge was connected, [edges]."""
    turn = [
        0 if slot == CONTROL else nodes[node].turns[slot]
        for node, slot in zip(graph.dst.tolist(), graph.dst_input.tolist(), strict=True)
    ]
    return np.array(turn, dtype=np.int64)


def _body_graph(function: FunctionRef, bodies: Bodies) -> FlowGraph:
    """Return a function's body between `_Arg` and `_Retval` nodes; its own calls are not isolated yet."""
    body = bodies.instance(function.name, function.attrs)
    argument_types, result_types = bodies.types(function.name, function.attrs)
    graph = FlowGraph()
    graph.allow(len(body.nodes) + sum(len(node.inputs) for node in body.nodes))
    nodes = [
        graph.add(name, "_Arg", {"T": dtype, "index": i})
        for i, (name, dtype) in enumerate(zip(body.args, argument_types, strict=True))
    ]
    nodes += [graph.add(node.name, node.op_type, node.attrs, node.device) for node in body.nodes]
    for node, inputs, controls in zip(nodes[len(body.args) :], body.inputs, body.controls, strict=True):
        for source, output in inputs:
            graph.feed(node, (nodes[source], output))
        for position in controls:
            graph.add_control(nodes[position], node)
    names = {node.name for node in nodes}
    for i, ((position, output), dtype) in enumerate(zip(body.results, result_types, strict=True)):
        name = f"{nodes[position].name}_RetVal"
        while name in names:
            name += "_"
        names.add(name)
        graph.add(name, "_Retval", {"T": dtype, "index": i}, "", [(nodes[position], output)])
    return graph
