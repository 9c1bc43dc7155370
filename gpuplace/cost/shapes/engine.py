"""State of shape inference for one graph, as the shape rules of ops see it (see ``inference``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from gpuplace.cost.shapes.handle import Handle
from gpuplace.cost.shapes.kinds import Kind, Rules, Sizes, Value, shape_of
from gpuplace.graph.constant_value import Evaluated, constant_value_as_shape
from gpuplace.graph.op_sets import ALL_SWITCHES, ENTERS, IDENTITY_OPS, NEXT_ITERATIONS
from gpuplace.graph.operation import Operation
from gpuplace.placer.placement_graph import CONTROL, PlacementGraph

NO_OP = Operation(None, "", "", None, (), (), {})  # type: ignore[arg-type]
_LONGEST_WAY = 100
"""Maximum length of a chain of nodes that pass a value through."""

RULES = Rules()
"""Op type to the rule for nodes whose shape function is not enough; a rule may return None to use that function."""


class Engine(ABC):
    """Shapes of one graph, as far as they are known; nodes by position.

    Attributes:
        inputs: (node, output) of each data input of each node.
        shapes: shape of each output of each node; None before a node is visited.

    Args:
        graph: the graph.
        kinds: kind of each node.
        library: functions that may be called.
        arguments: in a function's body, the value of each ``_Arg`` node.
    """

    def __init__(
        self, graph: PlacementGraph, kinds: list[Kind], library: Any, arguments: Sequence[Any]
    ) -> None:
        self.graph, self.kinds, self.library, self.arguments = graph, kinds, library, arguments
        self.attrs_of = graph.attrs if graph.node_attrs is None else graph.node_attrs
        self.shapes: list[tuple[Sizes, ...] | None] = [None] * len(graph)
        self.inputs: list[list[tuple[int, int]]] = [[] for _ in range(len(graph))]
        data = graph.dst_input != CONTROL
        ends = [part[data].tolist() for part in (graph.src, graph.src_output, graph.dst)]
        for source, output, node in zip(*ends, strict=True):
            self.inputs[node].append((source, output))
        self._handles: dict[tuple[int, int], Handle] = {}

    @abstractmethod
    def known_value(self, node: int, output: int) -> Value | None:
        """Return the known part of an output's value."""

    @abstractmethod
    def live_sources(self, node: int) -> list[tuple[int, int]]:
        """Return the inputs of a ``Merge`` that are not in a branch known to be dead."""

    @abstractmethod
    def body(self, graph: PlacementGraph, arguments: Sequence[Any]) -> Engine:
        """Return the inferred shapes of a function's body."""

    @cached_property
    def consumers(self) -> list[list[int]]:
        """Consumers of each node."""
        consumers: list[list[int]] = [[] for _ in self.inputs]
        for node, sources in enumerate(self.inputs):
            for source in dict.fromkeys(source for source, _ in sources):
                consumers[source].append(node)
        return consumers

    def sizes(self, node: int, output: int) -> Sizes:
        """Return the shape of an output, as far as it is known."""
        return sizes_of(self.shapes[node], output)

    def input_sizes(self, node: int, at: int) -> Sizes:
        """Return the shape of an input."""
        sources = self.inputs[node]
        return self.sizes(*sources[at]) if at < len(sources) else None

    def value_of_input(self, node: int, at: int) -> Value | None:
        """Return the known part of an input's value."""
        sources = self.inputs[node]
        return self.known_value(*sources[at]) if at < len(sources) else None

    def shape_from_input(self, node: int, at: int) -> Sizes:
        """Return the shape that an input's value describes."""
        if at >= len(self.inputs[node]):
            return None
        source, output = self.inputs[node][at]
        tensor = Evaluated(
            NO_OP, output, self.kinds[source].dtypes[output], shape_of(self.sizes(source, output))
        )
        tensor.evaluate = lambda: self.known_value(source, output)
        try:
            return constant_value_as_shape(tensor).sizes
        except ValueError:  # an unknown scalar
            return None

    def handle_at(self, node: int, at: int) -> Handle | None:
        """Return the resource that an input refers to."""
        sources = self.inputs[node]
        return self._handles.get(sources[at]) if at < len(sources) else None

    def handle_of(self, node: int, output: int) -> Handle | None:
        """Return the resource that an output refers to."""
        return self._handles.get((node, output))

    def own_handle(self, node: int, kind: Kind) -> Handle:
        """Return the resource that a node creates."""
        handle = self._handles.get((node, 0))
        if handle is None:
            in_sizes = tuple([self.sizes(source, output) for source, output in self.inputs[node]])
            handle = self._handles[node, 0] = Handle(kind, in_sizes)
        return handle

    def set_handle(self, node: int, output: int, handle: Handle) -> None:
        """Set the resource that an output refers to."""
        self._handles[node, output] = handle

    def argument(self, kind: Kind) -> Any:
        """Return the argument of an ``_Arg`` node; None if it is unknown."""
        index = kind.attrs.get("index", 0)
        return self.arguments[index] if index < len(self.arguments) else None

    def merged_sources(self, node: int) -> list[tuple[int, int]]:
        """Return the inputs whose values a ``Merge`` may have; none if it is a loop variable that the body changes."""
        sources = self.live_sources(node)
        back_edges = [source for source in sources if self.kinds[source[0]].op_type in NEXT_ITERATIONS]
        if not back_edges:
            return sources
        entering = [source for source in sources if source not in back_edges]
        return entering if all(self._comes_back(source[0], node) for source in back_edges) else []

    def _comes_back(self, node: int, merge: int) -> bool:
        """Whether a ``NextIteration`` returns the unchanged value of a merge."""
        source, output = self.inputs[node][0]
        for _ in range(_LONGEST_WAY):
            if source == merge:
                return output == 0
            op_type = self.kinds[source].op_type
            if op_type not in IDENTITY_OPS and op_type not in ALL_SWITCHES and op_type not in ENTERS:
                return False
            source, output = self.inputs[source][0]
        return False


def sizes_of(output_sizes: tuple[Sizes, ...] | None, output: int) -> Sizes:
    """Return the shape of an output of a node; None if it is unknown, or there is no such output."""
    return output_sizes[output] if output_sizes is not None and output < len(output_sizes) else None
