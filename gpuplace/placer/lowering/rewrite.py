"""The lowering pass: selects the nodes to rewrite and their order, and builds the resulting graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, as_dtype
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.bulk import without_garbage_collection
from gpuplace.graph.op_sets import BRANCH_OPS, CALL_OPS, ENDS_OF_FUNCTIONS, WHILE_OPS
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.graph_builder import PlacementGraphBuilder
from gpuplace.placer.lowering.aggregates import (
    lower_accumulate,
    lower_parallel_concat,
    nodes_in_loops,
    sum_in_loop,
)
from gpuplace.placer.lowering.bodies import CALL_ATTR, Bodies, FunctionBody
from gpuplace.placer.lowering.branches import lower_branches
from gpuplace.placer.lowering.flow_graph import FlowGraph, FlowNode, guarded
from gpuplace.placer.lowering.inlining import inline
from gpuplace.placer.lowering.isolation import Inspector, edge_turn, isolate_all
from gpuplace.placer.lowering.loops import lower_while
from gpuplace.placer.node_facts import declared_types
from gpuplace.placer.placement_graph import COLOCATION_PREFIX, CONTROL, Added, PlacementGraph, TensorInfo

AGGREGATE_OPS = frozenset({"AccumulateNV2", "ParallelConcat"})
SWITCH_MERGE_ATTR = "_lower_using_switch_merge"
COMPILED_ATTRS = frozenset({"_xla_compile_id", "_tpu_replicate"})
"""Nodes with one of these attributes are compiled as a whole and not lowered."""
MUST_COMPILE_ATTR = "_XlaMustCompile"
"""The corresponding attribute in 2.21, if it is true."""


def is_affected(graph: PlacementGraph) -> bool:
    """Return whether the graph has nodes that may have to be rewritten."""
    op_types = {signature.op_type for signature in graph.signatures}
    return not op_types.isdisjoint(WHILE_OPS | BRANCH_OPS | AGGREGATE_OPS | CALL_OPS | graph.functions.keys())


def lower(
    graph: PlacementGraph,
    load: Callable[[str], FunctionBody | None],
    catalogue: Catalogue,
    rules: str,
    *,
    inline_all: bool = False,
) -> PlacementGraph:
    """Return the graph that TensorFlow's placer sees; the same object if there is nothing to rewrite.

    Args:
        graph: the user's graph.
        load: returns a function of its library by name; None if there is none.
        catalogue: the ops.
        rules: "1.15" or "2.21".
        inline_all: whether every call is inlined, not only the marked ones: `do_function_inlining` of the session's
            optimizer options.

    Raises:
        InvalidArgumentError: a node or a function is invalid, a function is missing or calls itself.
        NotFoundError: a function uses an unknown op.
        ResourceExhaustedError: functions that call each other would add too many nodes.
    """
    op_types = {signature.op_type for signature in graph.signatures}
    all_known = all(op_type in graph.functions or op_type in catalogue.ops for op_type in op_types)
    if not all_known or not is_affected(graph):
        return graph
    with without_garbage_collection():
        run = _Lowering(graph, Bodies(load, graph.functions, catalogue), catalogue, rules, inline_all)
        return run.result() if run.run() else graph


class _Lowering:
    def __init__(
        self, graph: PlacementGraph, bodies: Bodies, catalogue: Catalogue, rules: str, inline_all: bool
    ) -> None:
        self.source = graph
        self.inline_all = inline_all
        self.follows_sources = rules != "1.15"
        self.bodies = bodies
        self.catalogue = catalogue
        self.flow = _flow_graph(graph)
        self.written = len(graph) + graph.num_edges
        self.flow.allow(self.written)
        kinds = {signature.op_type for signature in graph.signatures}
        self.fetchable = kinds.isdisjoint(ENDS_OF_FUNCTIONS)
        self.isolated: list[FlowNode] = []
        self._in_loops: set[FlowNode] | None = None
        self.own = list(self.flow.nodes())
        self.unread = {node for node in self.flow.nodes() if not node.consumers}

    def run(self) -> bool:
        """Rewrite all nodes; return whether anything changed."""
        changed = self._rewrite_all("AccumulateNV2", self._lower_accumulate)
        lowered_ops = CALL_OPS | WHILE_OPS | BRANCH_OPS
        for node in self.flow.nodes_as_they_grow():
            if node.op_type not in lowered_ops and node.op_type not in self.bodies:
                continue
            if not COMPILED_ATTRS.isdisjoint(node.attrs):
                continue
            if self.follows_sources and node.attrs.get(MUST_COMPILE_ATTR):
                continue
            self.flow.made_for(node)
            changed = guarded(node, self._rewrite) or changed
        changed = self._rewrite_all("ParallelConcat", lower_parallel_concat) or changed
        self.isolated = isolate_all(self.flow, self.bodies)
        return bool(self.isolated) or changed

    def _rewrite_all(self, op_type: str, rewrite: Callable[[FlowGraph, FlowNode], None]) -> bool:
        nodes = [node for node in self.flow.nodes() if node.op_type == op_type]
        for node in nodes:
            self.flow.made_for(node)
            guarded(node, lambda node: rewrite(self.flow, node))
        return bool(nodes)

    def _lower_accumulate(self, flow: FlowGraph, node: FlowNode) -> None:
        if self._in_loops is None:
            self._in_loops = nodes_in_loops(flow)
        if node in self._in_loops:
            sum_in_loop(flow, node)
        else:
            lower_accumulate(flow, node)

    def _rewrite(self, node: FlowNode) -> bool:
        function = self._called(node)
        if function is not None:
            if not (self.inline_all or node.attrs.get(CALL_ATTR)) or self.bodies.stays_called(function):
                return False
            inline(
                self.flow,
                node,
                function,
                self.bodies,
                written=self.written,
                fetchable=self.fetchable,
                newer=self.follows_sources,
                one_device=node.op_type not in CALL_OPS and not node.attrs.get(CALL_ATTR),
            )
        elif node.op_type in WHILE_OPS and node.attrs.get(SWITCH_MERGE_ATTR):
            self._check(node, "cond", "body")
            types = tuple(node.attrs.get("T") or ())
            lower_while(
                self.flow,
                node,
                types,
                self.bodies.passed(node.attrs["body"]),
                fetchable=self.fetchable,
                follows_sources=self.follows_sources,
            )
        elif node.op_type in BRANCH_OPS and node.attrs.get(SWITCH_MERGE_ATTR):
            is_if = node.op_type.endswith("If")
            self._check(node, *(("then_branch", "else_branch") if is_if else ("branches",)))
            chosen = node.attrs["Tcond"] if is_if else as_dtype("int32")
            types = tuple(node.attrs.get("Tin") or ())
            if is_if:
                source, output = node.inputs[0]
                output_types = self._output_types(source)
                chosen = output_types[output] if output < len(output_types) else chosen
            lower_branches(
                self.flow, node, chosen, types, fetchable=self.fetchable, colocated=self.follows_sources
            )
        else:
            return False
        return True

    def _called(self, node: FlowNode) -> str | None:
        if node.op_type in CALL_OPS:
            return node.attrs["f"].name if "f" in node.attrs else None
        return node.op_type if node.op_type in self.bodies else None

    def _output_types(self, node: FlowNode) -> Sequence[DType]:
        """Return the types of a node's outputs; empty if its op is unknown."""
        op_def = self.source.functions.get(node.op_type) or self.catalogue.ops.get(node.op_type)
        return declared_types(op_def, {**op_def.defaults, **node.attrs})[1] if op_def is not None else ()

    def _check(self, node: FlowNode, *attrs: str) -> None:
        for attr in attrs:
            value = node.attrs.get(attr)
            for function in value if isinstance(value, tuple) else (value,):
                if function is None or function.name not in self.bodies:
                    name = getattr(function, "name", "")
                    raise InvalidArgumentError.of(
                        f"Op type not registered '{name}'",
                        facts={"node": node.name, "attribute": attr},
                        hint="add the function to the graph's function library",
                    )

    def result(self) -> PlacementGraph:
        """Return the rewritten graph, with its nodes in the order in which they are placed."""
        source, nodes = self.source, list(self.flow.nodes())
        position = {node: i for i, node in enumerate(nodes)}
        builder = PlacementGraphBuilder(self.catalogue)
        deciding = _deciding_attrs(source)
        for node in nodes:
            builder.add_node(
                node.name,
                node.op_type,
                node.attrs if node.position < 0 else deciding(node.position),
                [(position[producer], output) for producer, output in node.inputs],
                [position[control] for control in node.controls],
                node.device,
            )

        def tensor_info(node: int, output: int) -> TensorInfo:
            at = nodes[node].position
            if at >= 0 and source.tensor_info is not None:
                return source.tensor_info(at, output)
            types = self._output_types(nodes[node])
            return TensorInfo(types[output] if output < len(types) else None, None, None)

        def source_line(node: int) -> str | None:
            at = nodes[node].position if nodes[node].position >= 0 else nodes[node].caller
            return source.source_line(at) if source.source_line is not None else None

        def origin(node: int) -> str | None:
            if nodes[node].position >= 0:
                return None
            caller, functions = nodes[node].caller, nodes[node].functions
            inside = f", function {' > '.join(functions)}" if functions else ""
            return f"{source.op_type(caller)} '{source.names[caller]}'{inside}"

        def added(node: int) -> Added | None:
            if nodes[node].position >= 0:
                return None
            return Added(source.names[nodes[node].caller], nodes[node].inner)

        def source_rank(node: int) -> int:
            at = nodes[node].position
            return int(source.rank[at if at >= 0 else nodes[node].caller])

        def node_attrs(node: int) -> Mapping[str, Any]:
            at = nodes[node].position
            return nodes[node].attrs if at < 0 else source.attrs(at)

        lowered = builder.build(
            functions=source.functions,
            node_attrs=node_attrs,
            tensor_info=tensor_info if source.tensor_info is not None else None,
            source_line=source_line if source.source_line is not None else None,
            origin=origin,
            added=added,
            source_rank=source_rank,
            source=source.source,
            part=source.part,
        )
        vars(lowered)["order"] = np.arange(len(lowered))  # added nodes come last, even if they feed others
        inspector = Inspector(self.bodies, self.catalogue, source.functions)
        return lowered.changed(
            edge_turn=edge_turn(lowered, nodes),
            inspections=inspector.inspections(self.isolated, position),
            first_edge=_first_edges(lowered, nodes, position),
            replaced=frozenset(self.source.names[node.position] for node in self.removed()),
            leads_to_sink=np.array([node in self.unread for node in nodes], dtype=bool),
        )

    def removed(self) -> list[FlowNode]:
        """Return the user's nodes that were replaced."""
        return [node for node in self.own if node not in self.flow]


def _first_edges(
    graph: PlacementGraph, nodes: list[FlowNode], position: Mapping[FlowNode, int]
) -> dict[int, int]:
    """Return the first edge into each node whose first edge is not its first input, by node."""
    first_edges = {}
    for number, node in enumerate(nodes):
        if node.first == 0:
            continue
        control_source = position.get(node.first) if isinstance(node.first, FlowNode) else None
        for edge in graph.in_edges(number):
            slot = int(graph.dst_input[edge])
            if slot == node.first or (slot == CONTROL and control_source == graph.src[edge]):
                first_edges[number] = int(edge)
                break
    return first_edges


def _flow_graph(graph: PlacementGraph) -> FlowGraph:
    """Return a flow graph with the nodes in TensorFlow's order of creation."""
    flow = FlowGraph()
    order = graph.order.tolist()
    op_types = [signature.op_type for signature in graph.signatures]
    nodes: dict[int, FlowNode] = {}
    signature, device = graph.signature.tolist(), graph.device.tolist()
    for at in order:
        attrs = _SourceAttrs(graph, at)
        node = flow.add(graph.names[at], op_types[signature[at]], attrs, graph.devices[device[at]])
        node.position = at
        nodes[at] = node
    starts, src, outputs = graph.in_start.tolist(), graph.src.tolist(), graph.src_output.tolist()
    for at in order:
        node = nodes[at]
        for edge in range(starts[at], starts[at + 1]):
            producer, output = nodes[src[edge]], outputs[edge]
            if output == CONTROL:
                flow.add_control(producer, node)
            else:
                flow.feed(node, (producer, output))
    rank = graph.rank
    later = np.flatnonzero((rank[graph.src] > rank[graph.dst]) & (graph.dst_input != CONTROL))
    for edge in later[
        np.argsort(rank[graph.dst[later]], kind="stable")
    ].tolist():  # edges that close a loop come last
        node, slot = nodes[int(graph.dst[edge])], int(graph.dst_input[edge])
        flow.set_input(node, slot, node.inputs[slot])
    return flow


def _deciding_attrs(graph: PlacementGraph) -> Callable[[int], Mapping[str, Any]]:
    """Return a function that gives the attributes of a node that a `PlacementGraphBuilder` reads, without decoding."""
    signature = graph.signature.tolist()
    of_signature = [dict(signature.attrs) for signature in graph.signatures]
    prefixed = [f"{COLOCATION_PREFIX}{group}".encode() for group in graph.groups]
    groups: dict[int, list[bytes]] = {}
    for node, group in zip(graph.class_node.tolist(), graph.class_group.tolist(), strict=True):
        groups.setdefault(node, []).append(prefixed[group])

    def attrs(node: int) -> Mapping[str, Any]:
        own = of_signature[signature[node]]
        return {**own, "_class": tuple(groups[node])} if node in groups else own

    return attrs


class _SourceAttrs(Mapping[str, Any]):
    """The attributes of a node of the source graph, decoded on first access."""

    __slots__ = ("_graph", "_node", "_attrs")

    def __init__(self, graph: PlacementGraph, node: int) -> None:
        self._graph = graph
        self._node = node
        self._attrs: Mapping[str, Any] | None = None

    def _decoded(self) -> Mapping[str, Any]:
        if self._attrs is None:
            self._attrs = self._graph.attrs(self._node)
        return self._attrs

    def __getitem__(self, name: str) -> Any:
        return self._decoded()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decoded())

    def __len__(self) -> int:
        return len(self._decoded())
