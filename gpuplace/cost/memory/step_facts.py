"""What is known of a step whose plan is gone through without its arithmetic, by the names of its nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from gpuplace.cost.node_work import branches_that_run, longest_body
from gpuplace.cost.shapes import calls
from gpuplace.cost.shapes.branches import branches_taken
from gpuplace.cost.shapes.engine import Engine
from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_sets import KEEPING_WITHIN_A_STEP
from gpuplace.graph.operation import Operation
from gpuplace.model.subject.step_part import StepPart
from gpuplace.runtime.plan.lowered_graph import LoweredGraph, runs_lowered
from gpuplace.why.placement import Placement

MOST_IN_LOOP = 200_000
"""Nodes in trips of a loop that are gone through where all trips are alike."""
_KEEPING = (*KEEPING_WITHIN_A_STEP, "TensorList")
"""How the types of ops begin that may keep tensors from one trip of a loop to the next."""


class StepFacts:
    """What is known of the nodes of a step; of those in bodies of functions, which may have the same names, nothing is.

    Args:
        graph: the graph as a session runs it.
        part: what runs.
        shapes: of what runs.
    """

    def __init__(self, graph: Graph, part: StepPart, shapes: StepShapes) -> None:
        self.graph, self.part, self.shapes, self.index = graph, part, shapes, part.graph.index
        self.assumed: dict[str, None] = {}
        """What had to be assumed, a sentence each."""

    def sizes(self, node: str, output: int) -> tuple[int | None, ...] | None:
        """Sizes of a tensor."""
        place = self.index.get(node)
        if place is None or output >= len(self.shapes.sizes[place]):
            return None
        return self.shapes.sizes[place][output]

    def trips(self, node: str) -> int | None:
        """How often the loop that a node decides about runs, where that is settled, or more often than it has to."""
        frame = self.frame(node)
        trips, most = self.shapes.trips.get(frame, 0), max(MOST_IN_LOOP // self.trip_work(node), 1)
        if trips > most and frame in self.alike:
            said = f"Memory: {most:,} trips of loop '{frame}', all alike, stand for its {trips:,.0f}"
            self.assumed[said] = None
            return most
        return round(trips) if frame in self.shapes.settled else None

    def frame(self, node: str) -> str:
        """The loop that a node is in; "" outside of loops."""
        return self.shapes.frames[self.index[node]] if node in self.index else ""

    def trip_work(self, node: str) -> int:
        """How many nodes are in the loop that a node decides about."""
        return max(self._nodes_of_loops[self.frame(node)], 1)

    @cached_property
    def _nodes_of_loops(self) -> Counter[str]:
        return Counter(self.shapes.frames)

    @cached_property
    def alike(self) -> set[str]:
        """Loops whose trips allocate alike: all shapes are known, and nothing is kept from one to the next."""
        shapes, outer = self.shapes, self.shapes.outer_frames
        found = {frame for frame in shapes.frames if frame}
        for node, frame in enumerate(shapes.frames):
            if node in shapes.rests_on or shapes.kinds[node].op_type.startswith(_KEEPING):
                while frame in found:
                    found.discard(frame)
                    frame = outer.get(frame, "")
        return found

    def branches(self) -> dict[str, int]:
        """Node that decides about conditionals to the branch that runs, as the times of the estimate have it."""
        graph, taken = self.part.graph, branches_taken(self.part.graph, self.shapes.taken)
        return {
            graph.names[source]: branch
            for switch, branch in taken.items()
            for source, output in self.shapes.inputs[switch][1:2]
            if output == 0
        }

    def likeness(self, node: str) -> Any:
        """The kind of a node and the sizes that it gives, where all are known."""
        place = self.index.get(node)
        if place is None:
            return None
        sizes = self.shapes.sizes[place]
        for given in sizes:
            if given is None or None in given:
                return None
        return self.shapes.kinds[place].number, sizes

    def is_guess(self, node: str) -> bool:
        """Whether the sizes of a node are assumed."""
        return self.index.get(node) in self.shapes.guesses


def running_graph(placement: Placement) -> Graph:
    """Return the graph that a placement is of, as a session runs it; made once for the graph that was placed.

    Args:
        placement: the placement.

    Raises:
        InvalidArgumentError: a node is not sound, or the placement keeps no graph that could be run.
        NotFoundError: an op is not registered.
    """
    source = placement.graph.source
    if isinstance(source, Graph) and not runs_lowered(placement.graph):
        return source
    found: Graph | None = placement.graph.__dict__.get("_running_graph")
    if found is None:
        program = source if isinstance(source, Graph) else _functions(placement)
        found = LoweredGraph(program, placement.graph, placement.placer.catalogue)
        placement.graph.__dict__["_running_graph"] = found
    return found


def _functions(placement: Placement) -> Graph:
    """Return a graph without operations that has the function library of a file."""
    from gpuplace.graphdef.importer import add_library
    from gpuplace.graphdef.model import PlacedPart

    source = placement.graph.source
    if not isinstance(source, PlacedPart):
        raise InvalidArgumentError.of("the placement keeps no graph that could be run")
    graph = Graph()
    add_library(graph, source.model.library(source.part), placement.placer.catalogue.ops)
    return graph


class CallBodies:
    """The calls that are under way, the innermost last.

    Args:
        engine: the shapes of the graph that calls.
    """

    def __init__(self, engine: Engine) -> None:
        self._engines: list[Engine | None] = [engine]
        self._outermost = engine

    @contextmanager
    def inside(self, op: Operation, name: str, first: int) -> Iterator[None]:
        """Runs the body of a function that an operation calls.

        Args:
            op: what calls.
            name: the function.
            first: the position of its first argument among the inputs of the operation.
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
            values: what the function gets.
        """
        engine, node = self._node(op)
        if engine is not None and node is not None:
            names = branches_that_run(engine, node, engine.kinds[node])
            found = longest_body(engine, names, calls.arguments_of(engine, node, 1))
        else:
            names = calls.branches_of(op.attrs)
            arguments = [calls.Argument(getattr(value, "shape", None)) for value in values]
            found = longest_body(self._outermost, names, arguments)
        return names[0] if found is None else found[0]

    def _node(self, op: Operation) -> tuple[Engine | None, int | None]:
        """The position of an operation among the nodes of the graph that is being gone through."""
        engine = self._engines[-1]
        node = None if engine is None else engine.graph.index.get(op.name)
        if engine is None or node is None or engine.kinds[node].op_type != op.type:
            return engine, None
        return engine, node
