"""Shapes through calls of library functions that are not inlined: their bodies are graphs of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuplace.cost.shapes.engine import RULES, Engine
from gpuplace.cost.shapes.handle import Handle
from gpuplace.cost.shapes.kinds import Kind, Sizes, Value, joined
from gpuplace.errors import OpError
from gpuplace.graph.attr_value import FunctionRef
from gpuplace.graph.graph import Graph
from gpuplace.kernels.registry import Catalogue
from gpuplace.placer.placement_graph import PlacementGraph

_MOST_DEPTH = 16
"""Calls within calls that are followed."""

_MOST_ROUNDS = 8
"""Rounds of a loop's body; what still changes then is not known."""


@dataclass(frozen=True)
class Argument:
    """An argument, or a result, of a call."""

    sizes: Sizes
    """Its shape."""
    value: Value | None = None
    """What is known of its value."""
    handle: Handle | None = None
    """What it points at."""


class Library:
    """The functions of a graph, as graphs.

    Args:
        graph: the graph that calls them.
        catalogue: the ops.
    """

    def __init__(self, graph: PlacementGraph, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._source = graph.source
        self._names = graph.functions
        self._graphs: dict[str, PlacementGraph | None] = {}
        self.depth = 0
        self.bodies: dict[Any, Engine] = {}

    def graph(self, name: str) -> PlacementGraph | None:
        """The body of a function; None where there is none, or it is no sound graph by itself."""
        if name not in self._graphs:
            self._graphs[name] = self._made(name)
        return self._graphs[name]

    def _made(self, name: str) -> PlacementGraph | None:
        from gpuplace.graphdef.load import load_placement_graph
        from gpuplace.graphdef.model import Model, PlacedPart, library_of

        if name not in self._names:
            return None
        if isinstance(self._source, PlacedPart):
            model, tags = self._source.model, self._source.part.tags
        elif isinstance(self._source, Graph):
            model, tags = Model(library_of(self._source)), None
        else:
            return None
        try:
            return load_placement_graph(model, self._catalogue, tags=tags, function=name)
        except OpError:  # attributes that only a call gives it, or an unsound body: its results are not known
            return None


def inner(engine: Engine, name: str, arguments: Sequence[Argument]) -> Engine | None:
    """The shapes of a function's body for these arguments."""
    library: Library = engine.library
    graph = library.graph(name)
    if graph is None or library.depth >= _MOST_DEPTH:
        return None
    key = (name, *map(_key, arguments))
    made = library.bodies.get(key)
    if made is None:
        library.depth += 1
        try:
            made = library.bodies[key] = engine.body(graph, arguments)
        finally:
            library.depth -= 1
    return made


def _key(argument: Argument) -> Any:
    """What of an argument may change the shapes in a body."""
    value = None
    if argument.value is not None:
        array, unknown = argument.value
        content = array.tobytes() if array.dtype != object else tuple(array.ravel().tolist())
        value = array.dtype.char, content, None if unknown is None else unknown.tobytes()
    return argument.sizes, value, argument.handle


def called(engine: Engine, name: str, arguments: Sequence[Argument], count: int) -> list[Argument]:
    """The results of a function for these arguments; unknown ones where its body is not known."""
    made = inner(engine, name, arguments)
    found = [Argument(None)] * count
    if made is None:
        return found
    for node, kind in enumerate(made.kinds):
        if kind.op_type == "_Retval" and kind.attrs.get("index", 0) < count and made.inputs[node]:
            source, output = made.inputs[node][0]
            found[kind.attrs.get("index", 0)] = Argument(
                made.sizes(source, output), made.known_value(source, output), made.handle_of(source, output)
            )
    return found


def arguments_of(engine: Engine, node: int, first: int = 0) -> list[Argument]:
    """The inputs of a node as arguments."""
    return [
        Argument(engine.sizes(*source), engine.known_value(*source), engine.handle_of(*source))
        for source in engine.inputs[node][first:]
    ]


def _given_out(engine: Engine, node: int, results: Sequence[Argument]) -> list[Sizes]:
    for output, result in enumerate(results):
        if result.handle is not None:
            engine.hand_on(node, output, result.handle)
    return [result.sizes for result in results]


def call(engine: Engine, node: int, kind: Kind) -> list[Sizes]:
    """The shapes of a node that is a call by its op type."""
    return _given_out(
        engine, node, called(engine, kind.op_type, arguments_of(engine, node), len(kind.dtypes))
    )


@RULES("PartitionedCall", "StatefulPartitionedCall", "RemoteCall", "TPUPartitionedCall")
def _call(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    name = function_name(kind, "f")
    first = 1 if kind.op_type == "RemoteCall" else 0
    return _given_out(engine, node, called(engine, name, arguments_of(engine, node, first), len(kind.dtypes)))


def function_name(kind: Kind, attr: str) -> str:
    """The function that an attribute names; ``""`` for none."""
    function = kind.attrs.get(attr)
    return function.name if isinstance(function, FunctionRef) else ""


def branches_of(attrs: Mapping[str, Any]) -> list[str]:
    """Return the functions of which a conditional calls one, by its attributes."""
    listed = attrs.get("branches")
    if listed is None:
        listed = attrs.get("then_branch"), attrs.get("else_branch")
    return [function.name for function in listed if isinstance(function, FunctionRef)]


@RULES("If", "StatelessIf", "Case", "StatelessCase", "_If")
def _conditional(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    arguments, count = arguments_of(engine, node, 1), len(kind.dtypes)
    found: list[Sizes] | None = None
    for name in branches_of(kind.attrs):
        results = _given_out(engine, node, called(engine, name, arguments, count))
        found = results if found is None else list(map(joined, found, results))
    declared = kind.attrs.get("output_shapes") or ()
    if found is None:
        found = [None] * count
    if len(declared) == count:
        found = [
            shape.sizes if sizes is None else sizes for sizes, shape in zip(found, declared, strict=True)
        ]
    return found


@RULES("While", "StatelessWhile", "_While")
def _while(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    entering = arguments_of(engine, node)
    current = [Argument(one.sizes, None, one.handle) for one in entering]
    name = function_name(kind, "body")
    for _ in range(_MOST_ROUNDS):
        results = called(engine, name, current, len(current))
        merged = [
            Argument(joined(one.sizes, result.sizes), None, one.handle or result.handle)
            for one, result in zip(current, results, strict=True)
        ]
        if [one.sizes for one in merged] == [one.sizes for one in current]:
            return _given_out(engine, node, current)
        current = merged
    return [None] * len(kind.dtypes)
