"""Known facts about the nodes of a step in a dry run, by node name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from gpuplace.cost.node_work import branches_that_run, longest_body
from gpuplace.cost.shapes import calls
from gpuplace.cost.shapes.branches import branches_taken
from gpuplace.cost.shapes.engine import Engine, sizes_of
from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_sets import KEEPING_WITHIN_A_STEP
from gpuplace.graph.operation import Operation
from gpuplace.model.subject.step_part import StepPart
from gpuplace.runtime.plan.lowered_graph import LoweredGraph, runs_lowered
from gpuplace.why.placement import Placement

MOST_IN_LOOP = 200_000
"""Maximum nodes to run in the iterations of one loop, if all iterations are alike."""
_KEEPING = (*KEEPING_WITHIN_A_STEP, "TensorList")
"""Prefixes of the types of ops that may keep tensors from one iteration to the next."""


class StepFacts:
    """Known facts about the nodes of a step, not about nodes in function bodies, which may have the same names.

    Args:
        graph: the graph as a session runs it.
        part: the nodes that run.
        shapes: their shapes.
    """

    def __init__(self, graph: Graph, part: StepPart, shapes: StepShapes) -> None:
        self.graph, self.part, self.shapes, self.index = graph, part, shapes, part.graph.index
        self.assumed: dict[str, None] = {}
        """Assumptions, one sentence each."""

    def sizes(self, node: str, output: int) -> tuple[int | None, ...] | None:
        """Return the sizes of a tensor."""
        place = self.index.get(node)
        if place is None or output >= len(self.shapes.sizes[place]):
            return None
        return sizes_of(self.shapes.sizes[place], output)

    def trips(self, node: str) -> int | None:
        """Return the number of iterations of the loop with a given condition; None to evaluate the condition."""
        frame = self.frame(node)
        trips, most = self.shapes.trips.get(frame, 0), max(MOST_IN_LOOP // self.trip_work(node), 1)
        if trips > most and frame in self.alike:
            assumption = (
                f"Memory: {most:,} iterations of loop '{frame}' represent all {trips:,.0f}, which are alike"
            )
            self.assumed[assumption] = None
            return most
        return round(trips) if frame in self.shapes.settled else None

    def frame(self, node: str) -> str:
        """Return the innermost loop of a node; "" outside of loops."""
        return self.shapes.frames[self.index[node]] if node in self.index else ""

    def trip_work(self, node: str) -> int:
        """Return the number of nodes in the loop with a given condition."""
        return max(self._nodes_of_loops[self.frame(node)], 1)

    @cached_property
    def _nodes_of_loops(self) -> Counter[str]:
        return Counter(self.shapes.frames)

    @cached_property
    def alike(self) -> set[str]:
        """Loops whose iterations allocate alike: all shapes are known, and nothing is kept from one to the next."""
        shapes, outer = self.shapes, self.shapes.outer_frames
        loops = {frame for frame in shapes.frames if frame}
        for node, frame in enumerate(shapes.frames):
            if node in shapes.assumption_of_node or shapes.kinds[node].op_type.startswith(_KEEPING):
                while frame in loops:
                    loops.discard(frame)
                    frame = outer.get(frame, "")
        return loops

    def branches(self) -> dict[str, int]:
        """Return each predicate or index node of conditionals with the branch that the estimate assumes to run."""
        graph, taken = self.part.graph, branches_taken(self.part.graph, self.shapes.taken)
        return {
            graph.names[source]: branch
            for switch, branch in taken.items()
            for source, output in self.shapes.inputs[switch][1:2]
            if output == 0
        }

    def likeness(self, node: str) -> Any:
        """Return the kind of a node and its output sizes; None unless all sizes are known."""
        place = self.index.get(node)
        if place is None:
            return None
        sizes = self.shapes.sizes[place]
        if any(shape is None or None in shape for shape in sizes):
            return None
        return self.shapes.kinds[place].number, sizes

    def is_guess(self, node: str) -> bool:
        """Whether the sizes of a node are assumed."""
        return self.index.get(node) in self.shapes.guesses


def running_graph(placement: Placement) -> Graph:
    """Return the graph of a placement as a session runs it, cached in the placed graph.

    Args:
        placement: the placement.

    Raises:
        InvalidArgumentError: A node is invalid, or the placement contains no graph that can be run.
        NotFoundError: An op is not registered.
    """
    source = placement.graph.source
    if isinstance(source, Graph) and not runs_lowered(placement.graph):
        return source
    graph: Graph | None = placement.graph.__dict__.get("_running_graph")
    if graph is None:
        program = source if isinstance(source, Graph) else _functions(placement)
        graph = LoweredGraph(program, placement.graph, placement.placer.catalogue)
        placement.graph.__dict__["_running_graph"] = graph
    return graph


def _functions(placement: Placement) -> Graph:
    """Return a graph without operations that has the function library of a file."""
    from gpuplace.graphdef.importer import add_library
    from gpuplace.graphdef.model import PlacedPart

    source = placement.graph.source
    if not isinstance(source, PlacedPart):
        raise InvalidArgumentError.of("The placement contains no graph that can be run.")
    graph = Graph()
    add_library(graph, source.model.library(source.part), placement.placer.catalogue.ops)
    return graph


class CallBodies:
    """Active calls, the innermost last.

    Args:
        engine: shapes of the calling graph.
    """

    def __init__(self, engine: Engine) -> None:
        self._engines: list[Engine | None] = [engine]
        self._outermost = engine

    @contextmanager
    def inside(self, op: Operation, name: str, first: int) -> Iterator[None]:
        """Enter the body of a function that an operation calls.

        Args:
            op: the calling operation.
            name: name of the function.
            first: position of its first argument among the inputs of the operation.
        """
        engine, node = self._node(op)
        body = None
        if engine is not None and node is not None:
            body = calls.inner(engine, name, calls.arguments_of(engine, node, first))
        self._engines.append(body)
        try:
            yield
        finally:
            self._engines.pop()

    def branch(self, op: Operation, values: Sequence[Any]) -> str:
        """Return the function that a conditional calls.

        Args:
            op: the conditional.
            values: arguments of the function.
        """
        engine, node = self._node(op)
        if engine is not None and node is not None:
            names = branches_that_run(engine, node, engine.kinds[node])
            longest = longest_body(engine, names, calls.arguments_of(engine, node, 1))
        else:
            names = calls.branches_of(op.attrs)
            arguments = [calls.Argument(getattr(value, "shape", None)) for value in values]
            longest = longest_body(self._outermost, names, arguments)
        return names[0] if longest is None else longest[0]

    def _node(self, op: Operation) -> tuple[Engine | None, int | None]:
        """Return the position of an operation in the innermost active graph."""
        engine = self._engines[-1]
        node = None if engine is None else engine.graph.index.get(op.name)
        if engine is None or node is None or engine.kinds[node].op_type != op.type:
            return engine, None
        return engine, node
