"""The graph that runs where TensorFlow runs another one than the program made: calls and control flow inlined.

A graph that was read from a file has no program behind it: all its operations are made from the nodes that were placed.

The placer's own lowering says which nodes there are (``gpuplace.placer.lowering``); here they become operations, so
that a session plans and runs what was placed. An operation that was there before keeps its name, type, shapes and
lines; what a step fetches of one that was inlined is given by the node that has its name now::

    program        x ──> cond (If) ──> y
    this graph     x ──> cond/x/_5 (Switch) ──> ... ──> cond/output/_6 (Merge) ─┬─> y
                                                                                └─> cond (IdentityN)   to be fetched

Source: tensorflow/core/common_runtime/graph_execution_state.cc and lower_functional_ops.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from gpuplace.errors import InvalidArgumentError, NotFoundError
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_def import OpDef
from gpuplace.graph.op_sets import MERGES, NEXT_ITERATIONS
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.ready_order import ready_order
from gpuplace.graph.shape_inference import infer_shapes
from gpuplace.graph.signature import signature_of
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph
from gpuplace.shapes import UNKNOWN_SHAPE


class LoweredGraph(Graph):
    """The operations of a lowered graph, in the order of the program: what was inlined is where it was called.

    Attributes:
        program: the graph that the program made.

    Args:
        program: the graph that the program made; one without operations, but with the functions, where there is no
            program.
        nodes: what it was lowered to.
        catalogue: the ops.
        feeds: name of a node that stands for a feed -> the tensor of the program that is fed; None: there are none.
        fetches: names of the nodes that stand for fetches. Neither are operations here.
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
        """What is fed, as tensors of this graph."""
        self._fetched: dict[str, Tensor] = {}
        """What nodes for fetches take."""
        self._add_nodes(nodes, feeds or {}, fetches)
        self.finalize()

    # What stands for what

    def origin_in_program(self, op: Operation) -> Operation | None:
        """The operation of the program that has the name of one of this graph; None for what was added.

        Args:
            op: the operation.
        """
        return self.program._by_name.get(op.name)

    def name_in_messages(self, op: Operation) -> str:
        """What errors call an operation: by its name in the function that it was copied from, as in TensorFlow.

        Args:
            op: the operation.
        """
        return self._names_in_messages.get(op.name, op.name)

    def operation(self, op: Operation) -> Operation:
        """What stands here for an operation of the program.

        Args:
            op: the operation.

        Raises:
            NotFoundError: nothing does.
        """
        found = self._by_name.get(op.name)
        if found is None:
            raise NotFoundError.of(f"TargetNodes node {op.name}: not found")
        return found

    def tensor(self, tensor: Tensor) -> Tensor:
        """What stands here for a tensor of the program.

        Args:
            tensor: the tensor.

        Raises:
            NotFoundError: nothing does.
        """
        if tensor in self._fed:
            return self._fed[tensor]
        op = self._by_name.get(tensor.op.name)
        if op is None or tensor.value_index >= len(op.outputs):
            raise NotFoundError.of(f"FetchOutputs node {tensor.name}: not found")
        return op.outputs[tensor.value_index]

    def fetched(self, name: str) -> Tensor:
        """What a node takes that stands for a fetch.

        Args:
            name: its name.
        """
        return self._fetched[name]

    # Making

    def _add_nodes(
        self, nodes: PlacementGraph, feeds: Mapping[str, Tensor], fetches: Collection[str]
    ) -> None:
        made: dict[int, Operation] = {}
        closing: list[int] = []

        def given(node: int, output: int) -> Tensor:
            fed = feeds.get(nodes.names[node])
            return made[node].outputs[output] if fed is None else self._given(fed)

        for node in self._order(nodes, feeds):
            name = nodes.names[node]
            data, controls = _sources(nodes, node)
            if name in feeds:
                continue
            if name in fetches:
                self._fetched[name] = given(*data[0])
                continue
            known = [source for source in data if source[0] in made or nodes.names[source[0]] in feeds]
            if len(known) < len(data):
                closing.append(node)
            inputs = tuple(given(*source) for source in known)
            made[node] = self._add(nodes, node, inputs, [made[control] for control in controls])
        for fed in feeds.values():  # also what nothing takes
            self._given(fed)
        for node in closing:
            made[node].inputs = tuple(given(*source) for source in _sources(nodes, node)[0])

    def _order(self, nodes: PlacementGraph, feeds: Mapping[str, Tensor]) -> list[int]:
        """The nodes, each after what it takes: in the order of the program as far as that is one.

        Raises:
            InvalidArgumentError: they form a cycle that is no loop.
        """
        count = len(nodes)
        place = [self._place(nodes, node) for node in range(count)]
        types = [nodes.op_type(node) for node in range(count)]
        fed = {nodes.index[name]: nodes.index.get(tensor.op.name, -1) for name, tensor in feeds.items()}

        def sources(node: int) -> list[int]:
            data, controls = _sources(nodes, node)
            is_merge = types[node] in MERGES
            found = [fed.get(source, source) for source, _ in data]
            found = [one for one in found if one >= 0 and not (is_merge and types[one] in NEXT_ITERATIONS)]
            return found + controls

        ranked = sorted(range(count), key=lambda node: (place[node], node))
        found = ready_order(ranked, sources)
        if len(found) < count:
            left = [nodes.names[node] for node in sorted(set(range(count)).difference(found))]
            raise InvalidArgumentError.of(
                f"Graph is invalid, contains a cycle with {len(left)} nodes, including: {', '.join(left[:10])}"
            )
        return found

    def _place(self, nodes: PlacementGraph, node: int) -> int:
        """The position in the program of a node, or of the one that it was made for; without a program in the file."""
        added = None if nodes.added is None else nodes.added(node)
        if not self.program._operations:
            return int(nodes.rank[node]) if nodes.source_rank is None else nodes.source_rank(node)
        op = self.program._by_name.get(nodes.names[node] if added is None else added.caller)
        return len(self.program._operations) if op is None else op.index

    def _add(
        self, nodes: PlacementGraph, node: int, inputs: tuple[Tensor, ...], controls: list[Operation]
    ) -> Operation:
        name, op_type = nodes.names[node], nodes.op_type(node)
        added = None if nodes.added is None else nodes.added(node)
        origin = self.program._by_name.get(name if added is None else added.caller)
        if added is None and origin is not None:
            op = self._copy(origin, inputs, controls)
            self._register(op)
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
        op.outputs = [Tensor(op, i, *one) for i, one in enumerate(zip(types, shapes, strict=True))]
        op._device = nodes.requested_device(node)
        if origin is not None:
            op._stack = origin._stack
        self._register(op)
        return op

    def _where_called(self, origin: Operation) -> list[Operation]:
        """What a node that takes nothing waits for to run in the loop or branch of what it was made for, if any."""
        if origin._get_control_flow_context() is None:
            return []
        before = [self._by_name.get(tensor.op.name) for tensor in origin.inputs[:1]]
        return [op for op in before if op is not None]

    def _copy(self, origin: Operation, inputs: tuple[Tensor, ...], controls: list[Operation]) -> Operation:
        op = Operation(self, origin.name, origin.type, origin.op_def, inputs, controls, origin.attrs)
        op.outputs = [Tensor(op, tensor.value_index, tensor.dtype, tensor.shape) for tensor in origin.outputs]
        op._device, op._stack, op.extra_fields = origin._device, origin._stack, origin.extra_fields
        return op

    def _given(self, fed: Tensor) -> Tensor:
        """A tensor that is fed; of an operation outside of the graph where none here gives it."""
        if fed not in self._fed:
            op = self._by_name.get(fed.op.name)
            if op is None or fed.value_index >= len(op.outputs):
                op = self._copy(fed.op, (), [])
            self._fed[fed] = op.outputs[fed.value_index]
        return self._fed[fed]

    def _op_def(self, op_type: str) -> OpDef:
        return self.function_op_defs.get(op_type) or self._catalogue.ops.lookup(op_type)


def _sources(nodes: PlacementGraph, node: int) -> tuple[list[tuple[int, int]], list[int]]:
    """The data inputs of a node, and what it waits for."""
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
    """Shapes of the outputs; unknown where the inputs do not fit: what is copied fails when it runs, if it does."""
    try:
        return infer_shapes(op, count)
    except ValueError:
        return [UNKNOWN_SHAPE] * count


def program_of(graph: Graph) -> Graph:
    """The graph that the program made, of the one that runs.

    Args:
        graph: a lowered one, or the program's.
    """
    return graph.program if isinstance(graph, LoweredGraph) else graph


def runs_lowered(nodes: PlacementGraph) -> bool:
    """Whether nodes were added to a graph before it was placed.

    Args:
        nodes: what was placed.
    """
    return nodes.added is not None
