"""Shapes through calls of library functions that are not inlined: their bodies are separate graphs."""

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
"""Maximum nesting of calls."""

_MOST_ROUNDS = 8
"""Maximum passes over a loop's body; shapes that still change are unknown."""


@dataclass(frozen=True)
class Argument:
    """An argument or result of a call."""

    sizes: Sizes
    """Its shape."""
    value: Value | None = None
    """Known part of its value."""
    handle: Handle | None = None
    """The resource that it refers to."""


class Library:
    """The functions of a graph, as graphs.

    Args:
        graph: the calling graph.
        catalogue: op definitions.
    """

    def __init__(self, graph: PlacementGraph, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._source = graph.source
        self._names = graph.functions
        self._graphs: dict[str, PlacementGraph | None] = {}
        self.depth = 0
        self.bodies: dict[Any, Engine] = {}

    def graph(self, name: str) -> PlacementGraph | None:
        """Return the body of a function; None if it is missing, or not a valid graph by itself."""
        if name not in self._graphs:
            self._graphs[name] = self._load_body(name)
        return self._graphs[name]

    def _load_body(self, name: str) -> PlacementGraph | None:
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
        except OpError:  # attributes that only a call supplies, or an invalid body: its results are unknown
            return None


def inner(engine: Engine, name: str, arguments: Sequence[Argument]) -> Engine | None:
    """Infer the shapes of a function's body for given arguments; None if the body is unknown."""
    library: Library = engine.library
    graph = library.graph(name)
    if graph is None or library.depth >= _MOST_DEPTH:
        return None
    key = (name, *map(_key, arguments))
    body = library.bodies.get(key)
    if body is None:
        library.depth += 1
        try:
            body = library.bodies[key] = engine.body(graph, arguments)
        finally:
            library.depth -= 1
    return body


def _key(argument: Argument) -> Any:
    """Return the parts of an argument that may change the shapes in a body."""
    value = None
    if argument.value is not None:
        array, unknown = argument.value
        content = array.tobytes() if array.dtype != object else tuple(array.ravel().tolist())
        value = array.dtype.char, content, None if unknown is None else unknown.tobytes()
    return argument.sizes, value, argument.handle


def called(engine: Engine, name: str, arguments: Sequence[Argument], count: int) -> list[Argument]:
    """Return the results of a function for given arguments; unknown ones if its body is unknown."""
    body = inner(engine, name, arguments)
    results = [Argument(None)] * count
    if body is None:
        return results
    for node, kind in enumerate(body.kinds):
        if kind.op_type == "_Retval" and kind.attrs.get("index", 0) < count and body.inputs[node]:
            source, output = body.inputs[node][0]
            results[kind.attrs.get("index", 0)] = Argument(
                body.sizes(source, output), body.known_value(source, output), body.handle_of(source, output)
            )
    return results


def arguments_of(engine: Engine, node: int, first: int = 0) -> list[Argument]:
    """Return the inputs of a node as arguments."""
    return [
        Argument(engine.sizes(*source), engine.known_value(*source), engine.handle_of(*source))
        for source in engine.inputs[node][first:]
    ]


def _output_sizes(engine: Engine, node: int, results: Sequence[Argument]) -> list[Sizes]:
    for output, result in enumerate(results):
        if result.handle is not None:
            engine.set_handle(node, output, result.handle)
    return [result.sizes for result in results]


def call(engine: Engine, node: int, kind: Kind) -> list[Sizes]:
    """Return the output shapes of a node whose op type is a function name."""
    return _output_sizes(
        engine, node, called(engine, kind.op_type, arguments_of(engine, node), len(kind.dtypes))
    )


@RULES("PartitionedCall", "StatefulPartitionedCall", "RemoteCall", "TPUPartitionedCall")
def _call(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    name = function_name(kind, "f")
    first = 1 if kind.op_type == "RemoteCall" else 0
    return _output_sizes(
        engine, node, called(engine, name, arguments_of(engine, node, first), len(kind.dtypes))
    )


def function_name(kind: Kind, attr: str) -> str:
    """Return the name of the function in an attribute; ``""`` if there is none."""
    function = kind.attrs.get(attr)
    return function.name if isinstance(function, FunctionRef) else ""


def branches_of(attrs: Mapping[str, Any]) -> list[str]:
    """Return the functions that a conditional may call, from its attributes."""
    listed = attrs.get("branches")
    if listed is None:
        listed = attrs.get("then_branch"), attrs.get("else_branch")
    return [function.name for function in listed if isinstance(function, FunctionRef)]


@RULES("If", "StatelessIf", "Case", "StatelessCase", "_If")
def _conditional(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    arguments, count = arguments_of(engine, node, 1), len(kind.dtypes)
    merged: list[Sizes] | None = None
    for name in branches_of(kind.attrs):
        results = _output_sizes(engine, node, called(engine, name, arguments, count))
        merged = results if merged is None else list(map(joined, merged, results))
    declared = kind.attrs.get("output_shapes") or ()
    if merged is None:
        merged = [None] * count
    if len(declared) == count:
        merged = [
            shape.sizes if sizes is None else sizes for sizes, shape in zip(merged, declared, strict=True)
        ]
    return merged


@RULES("While", "StatelessWhile", "_While")
def _while(engine: Engine, node: int, kind: Kind) -> Sequence[Sizes]:
    entering = arguments_of(engine, node)
    current = [Argument(argument.sizes, None, argument.handle) for argument in entering]
    name = function_name(kind, "body")
    for _ in range(_MOST_ROUNDS):
        results = called(engine, name, current, len(current))
        merged = [
            Argument(joined(argument.sizes, result.sizes), None, argument.handle or result.handle)
            for argument, result in zip(current, results, strict=True)
        ]
        if [argument.sizes for argument in merged] == [argument.sizes for argument in current]:
            return _output_sizes(engine, node, current)
        current = merged
    return [None] * len(kind.dtypes)
