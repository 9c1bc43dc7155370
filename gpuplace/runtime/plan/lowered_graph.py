"""The graph that runs instead of the program's graph, with calls and control flow inlined, as in TensorFlow.

For a graph from a file there is no program: all its operations are created from the placed nodes.

The placer's lowering determines the nodes (``gpuplace.placer.lowering``); here they become operations, so that a
session plans and runs what was placed. Existing operations keep their name, type, shapes and source lines. A fetch of
an inlined operation is served by the node that has its name now::

    program        x ──> cond (If) ──> y
    this graph     x ──> cond/x/_5 (Switch) ──> ... ──> cond/output/_6 (Merge) ─┬─> y
                                                                                └─> cond (IdentityN)   for fetches

Source: tensorflow/core/common_runtime/graph_execution_state.cc and lower_functional_ops.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from gpuplace.errors import InvalidArgumentError, NotFoundError
from gpuplace.graph.graph import Graph, register
from gpuplace.graph.op_def import OpDef
from gpuplace.graph.op_sets import MERGES, NEXT_ITERATIONS
from gpuplace.graph.operation import Operation, Tensor, context_of
from gpuplace.graph.ready_order import ready_order
from gpuplace.graph.shape_inference import infer_shapes
from gpuplace.graph.signature import signature_of
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph
from gpuplace.shapes import UNKNOWN_SHAPE


class LoweredGraph(Graph):
    """The operations of a lowered graph, in program order: inlined operations are at the position of their call.

    Attributes:
        program: the program's graph.

    Args:
        program: the program's graph; for a file, a graph with only the functions.
        nodes: the lowered nodes.
        catalogue: op definitions.
        feeds: name of a feed node to the program's fed tensor, or None. Feed nodes are not operations here.
        fetches: names of fetch nodes, which are not operations here.
    """

    def __init__(
        self,
        program: Graph,
        nodes: PlacementGraph,
        catalogue: Catalogue,
        feeds: Mapping[str, Tensor] | None = None,
        fetches: Collection[str] = (),
    ) -> None:
        super().__init__()
        self.program: Graph = program
        self.versions = program.versions
        self.functions = program.functions
        self.function_bodies = program.function_bodies
        self.gradient_functions = program.gradient_functions
        self.function_op_defs = program.function_op_defs
        self._catalogue = catalogue
        self._names_in_messages: dict[str, str] = {}
        self._fed: dict[Tensor, Tensor] = {}
        """Fed tensors of the program to those of this graph."""
        self._fetched: dict[str, Tensor] = {}
        """Names of fetch nodes to their inputs."""
        self._add_nodes(nodes, feeds or {}, fetches)
        self.finalize()

    # Correspondence with the program

    def origin_in_program(self, op: Operation) -> Operation | None:
        """Return the program's operation of the same name; None for an added operation.

        Args:
            op: this graph's operation.
        """
        return self.program.by_name.get(op.name)

    def name_in_messages(self, op: Operation) -> str:
        """Return an operation's name for errors: its name in the function it was copied from, as in TensorFlow.

        Args:
            op: this graph's operation.
        """
        return self._names_in_messages.get(op.name, op.name)

    def operation(self, op: Operation) -> Operation:
        """Return the lowered operation for an operation of the program.

        Args:
            op: the program's operation.

        Raises:
            NotFoundError: there is no such operation.
        """
        counterpart = self.by_name.get(op.name)
        if counterpart is None:
            raise NotFoundError.of(f"TargetNodes node {op.name}: not found")
        return counterpart

    def tensor(self, tensor: Tensor) -> Tensor:
        """Return the tensor for a tensor of the program.

        Args:
            tensor: the program's tensor.

        Raises:
            NotFoundError: there is no such operation.
        """
        if tensor in self._fed:
            return self._fed[tensor]
        op = self.by_name.get(tensor.op.name)
        if op is None or tensor.value_index >= len(op.outputs):
            raise NotFoundError.of(f"FetchOutputs node {tensor.name}: not found")
        return op.outputs[tensor.value_index]

    def fetched(self, name: str) -> Tensor:
        """Return the input of a fetch node.

        Args:
            name: name of the node.
        """
        return self._fetched[name]

    # Construction

    def _add_nodes(
        self, nodes: PlacementGraph, feeds: Mapping[str, Tensor], fetches: Collection[str]
    ) -> None:
        operations: dict[int, Operation] = {}
        back_edge_targets: list[int] = []

        def tensor_of(node: int, output: int) -> Tensor:
            fed = feeds.get(nodes.names[node])
            return operations[node].outputs[output] if fed is None else self._fed_tensor(fed)

        for node in self._order(nodes, feeds):
            name = nodes.names[node]
            data, controls = _sources(nodes, node)
            if name in feeds:
                continue
            if name in fetches:
                self._fetched[name] = tensor_of(*data[0])
                continue
            available = [
                source for source in data if source[0] in operations or nodes.names[source[0]] in feeds
            ]
            if len(available) < len(data):
                back_edge_targets.append(node)
            inputs = tuple(tensor_of(*source) for source in available)
            operations[node] = self._add(nodes, node, inputs, [operations[control] for control in controls])
        for fed in feeds.values():  # also feeds without consumers
            self._fed_tensor(fed)
        for node in back_edge_targets:
            operations[node].inputs = tuple(tensor_of(*source) for source in _sources(nodes, node)[0])

    def _order(self, nodes: PlacementGraph, feeds: Mapping[str, Tensor]) -> list[int]:
        """Return the nodes in topological order, and in program order as far as possible.

        Raises:
            InvalidArgumentError: The nodes form a cycle that is not a loop.
        """
        count = len(nodes)
        place = [self._place(nodes, node) for node in range(count)]
        types = [nodes.op_type(node) for node in range(count)]
        fed = {nodes.index[name]: nodes.index.get(tensor.op.name, -1) for name, tensor in feeds.items()}

        def sources(node: int) -> list[int]:
            data, controls = _sources(nodes, node)
            is_merge = types[node] in MERGES
            inputs = [fed.get(source, source) for source, _ in data]
            forward = [at for at in inputs if at >= 0 and not (is_merge and types[at] in NEXT_ITERATIONS)]
            return forward + controls

        ranked = sorted(range(count), key=lambda node: (place[node], node))
        order = ready_order(ranked, sources)
        if len(order) < count:
            left = [nodes.names[node] for node in sorted(set(range(count)).difference(order))]
            raise InvalidArgumentError.of(
                f"Graph is invalid, contains a cycle with {len(left)} nodes, including: {', '.join(left[:10])}"
            )
        return order

    def _place(self, nodes: PlacementGraph, node: int) -> int:
        """Return the program position of a node or its call; without a program, its position in the file."""
        added = None if nodes.added is None else nodes.added(node)
        if not len(self.program):
            return int(nodes.rank[node]) if nodes.source_rank is None else nodes.source_rank(node)
        op = self.program.by_name.get(nodes.names[node] if added is None else added.caller)
        return len(self.program) if op is None else op.index

    def _add(
        self, nodes: PlacementGraph, node: int, inputs: tuple[Tensor, ...], controls: list[Operation]
    ) -> Operation:
        name, op_type = nodes.names[node], nodes.op_type(node)
        added = None if nodes.added is None else nodes.added(node)
        origin = self.program.by_name.get(name if added is None else added.caller)
        if added is None and origin is not None:
            op = self._copy(origin, inputs, controls)
            register(self, op)
            return op
        if added is not None:
            self._names_in_messages[name] = added.inner or name
        if origin is not None and not inputs and not controls:
            controls = self._where_called(origin)
        op_def = self._op_def(op_type)
        attrs = {**op_def.defaults, **nodes.attrs(node)}
        op = Operation(self, name, op_type, op_def, inputs, controls, attrs)
        try:
            types = signature_of(op_def).output_types(attrs)
        except KeyError as error:
            raise InvalidArgumentError.of(
                f"NodeDef missing attr {error} from Op<{op_def}>; NodeDef: {{{{node {name}}}}}"
            ) from None
        shapes = _shapes(op, len(types))
        if origin is not None and name == origin.name and len(origin.outputs) == len(types):
            shapes = [tensor.shape for tensor in origin.outputs]
        op.outputs = [
            Tensor(op, i, *signature) for i, signature in enumerate(zip(types, shapes, strict=True))
        ]
        op._device = nodes.requested_device(node)
        if origin is not None:
            op._stack = origin._stack
        register(self, op)
        return op

    def _where_called(self, origin: Operation) -> list[Operation]:
        """Return control inputs for a node without inputs, so that it runs in the loop or branch of its call."""
        if context_of(origin) is None:
            return []
        before = [self.by_name.get(tensor.op.name) for tensor in origin.inputs[:1]]
        return [op for op in before if op is not None]

    def _copy(self, origin: Operation, inputs: tuple[Tensor, ...], controls: list[Operation]) -> Operation:
        op = Operation(self, origin.name, origin.type, origin.op_def, inputs, controls, origin.attrs)
        op.outputs = [Tensor(op, tensor.value_index, tensor.dtype, tensor.shape) for tensor in origin.outputs]
        op._device, op._stack, op.extra_fields = origin._device, origin._stack, origin.extra_fields
        return op

    def _fed_tensor(self, fed: Tensor) -> Tensor:
        """Return a fed tensor, from an operation outside of the graph if none here has it."""
        if fed not in self._fed:
            op = self.by_name.get(fed.op.name)
            if op is None or fed.value_index >= len(op.outputs):
                op = self._copy(fed.op, (), [])
            self._fed[fed] = op.outputs[fed.value_index]
        return self._fed[fed]

    def _op_def(self, op_type: str) -> OpDef:
        return self.function_op_defs.get(op_type) or self._catalogue.ops.lookup(op_type)


def _sources(nodes: PlacementGraph, node: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the data inputs and control inputs of a node."""
    data: list[tuple[int, int]] = []
    controls: list[int] = []
    for edge in nodes.in_edges(node):
        source, output = int(nodes.src[edge]), int(nodes.src_output[edge])
        if output == CONTROL:
            controls.append(source)
        else:
            data.append((source, output))
    return data, controls


def _shapes(op: Operation, count: int) -> Any:
    """Return the shapes of the outputs; unknown if the inputs are invalid, which fails only when the operation runs."""
    try:
        return infer_shapes(op, count)
    except ValueError:
        return [UNKNOWN_SHAPE] * count


def program_of(graph: Graph) -> Graph:
    """Return the program's graph for a running graph.

    Args:
        graph: a lowered graph, or the program's.
    """
    return graph.program if isinstance(graph, LoweredGraph) else graph


def runs_lowered(nodes: PlacementGraph) -> bool:
    """Whether nodes were added to a graph before it was placed.

    Args:
        nodes: the placed nodes.
    """
    return nodes.added is not None
