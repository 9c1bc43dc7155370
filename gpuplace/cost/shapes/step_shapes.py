"""Shape and type of every output of a graph, and the number of executions of every node, from the graph and the feeds.

>>> from gpuplace.graph.graph import Graph
>>> from gpuplace.graph.apply_op import apply_op
>>> from gpuplace.ops.array.constant import placeholder
>>> with Graph().as_default() as graph:
...     rows = placeholder("float32", [None, 10], name="rows")
...     _ = apply_op("MatMul", "product", a=rows, b=rows, transpose_b=True)
>>> shapes = step_shapes(graph, {"rows": (64, 10)})
>>> str(shapes["product"]), shapes.nbytes(shapes.graph.index["product"])
('(64, 64)', 16384)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuplace.cost.shapes.branches import dead_nodes, known_branches
from gpuplace.cost.shapes.default_sizes import demanded_sizes, most_sizes
from gpuplace.cost.shapes.engine import sizes_of
from gpuplace.cost.shapes.feeds import resolve_feeds
from gpuplace.cost.shapes.inference import Feeds, Inference
from gpuplace.cost.shapes.kinds import Kind, Kinds, Sizes, filled_with, is_known, shape_of
from gpuplace.cost.shapes.trip_counts import frames_of
from gpuplace.cost.shapes.trip_counts import trip_counts as count_trips
from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import ENTERS, EXITS
from gpuplace.kernels.registry import Catalogue, default_catalogue
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.shapes import TensorShape

STRING_BYTES = 16
"""Bytes per element of a type without a fixed size, such as strings and handles."""

_SENTENCES = 8
"""Number of nodes whose assumptions are listed one by one."""

_SHOWN = 5
"""Number of nodes that a sentence names."""


@dataclass(frozen=True, eq=False)
class StepShapes:
    """Inferred shapes of a step, before it runs; nodes by their position in ``graph``."""

    graph: PlacementGraph
    """The lowered graph, as it is placed and run."""
    sizes: list[tuple[Sizes, ...]]
    """Shape of each output of each node, as plain tuples; None for an unknown rank, or an unknown size in a tuple."""
    kinds: list[Kind]
    """Kind of each node: types of its outputs, attributes with their defaults."""
    inputs: list[list[tuple[int, int]]]
    """(node, output) of each data input of each node."""
    frames: list[str]
    """Innermost loop of each node, by the name of its frame; ``""`` outside of loops."""
    outer_frames: Mapping[str, str]
    """The frame around each frame."""
    trips: Mapping[str, float]
    """Number of iterations of each loop, per entry of the loop, by the name of its frame."""
    settled: frozenset[str]
    """Frames whose trip counts are given or assumed, not derived from their conditions."""
    taken: Mapping[int, int]
    """Live output of each switch node whose predicate or index is known."""
    engine: Inference
    """The inference, for queries about values."""
    assumed: tuple[str, ...] = ()
    """Assumptions, one sentence each."""
    assumption_of_node: Mapping[int, str] = field(default_factory=dict)
    """Nodes whose shapes depend on assumptions, or are unknown, to the reason."""
    guesses: frozenset[int] = frozenset()
    """Nodes among them whose sizes are assumed, not derived from other nodes' sizes."""
    unknown: frozenset[int] = frozenset()
    """Nodes among them whose sizes stay unknown; unknown sizes count as 1."""

    def __getitem__(self, tensor: str) -> TensorShape:
        """Return the shape of a tensor by its name, or of a node's first output; KeyError if it does not exist."""
        name, _, output = tensor.partition(":")
        return shape_of(self.sizes[self.graph.index[name]][int(output or 0)])

    def shape(self, node: int, output: int = 0) -> TensorShape:
        """Return the shape of an output; ``assumed`` states which sizes are assumptions."""
        return shape_of(sizes_of(self.sizes[node], output))

    def dtypes(self, node: int) -> tuple[DType, ...]:
        """Return the type of each output of a node, reference types as their base."""
        return self.kinds[node].dtypes

    def runs(self, node: int) -> float:
        """Return the number of executions of a node in a step: the product of the trip counts of the loops around it.

        A loop's condition runs once more than its body; that execution is not counted.
        """
        count, frame = 1.0, self.frames[node]
        if frame and self.kinds[node].op_type in ENTERS:  # an Enter runs outside of the loop that it leads to
            frame = self.outer_frames.get(frame, "")
        elif self.kinds[node].op_type in EXITS and self.inputs[node]:
            frame = self.outer_frames.get(self.frames[self.inputs[node][0][0]], "")
        while frame:
            count *= self.trips.get(frame, 1.0)
            frame = self.outer_frames.get(frame, "")
        return count

    def nbytes(self, node: int, output: int = 0) -> int:
        """Return the bytes of an output; an unknown size counts as 1."""
        return bytes_of(sizes_of(self.sizes[node], output), self.kinds[node].dtype(output))


def bytes_of(sizes: Sizes, dtype: DType) -> int:
    """Return the bytes of a tensor; an unknown size counts as 1.

    >>> from gpuplace.dtypes import float32
    >>> bytes_of((2, None, 3), float32), bytes_of(None, float32)
    (24, 4)
    """
    return (dtype.size or STRING_BYTES) * math.prod([size for size in sizes or () if size is not None])


def step_shapes(
    graph: Any,
    feeds: Mapping[Any, Any] | None = None,
    *,
    trip_counts: Mapping[str, float] | None = None,
    assume: int | None = 1,
    catalogue: Catalogue | None = None,
    use_hints: bool = True,
) -> StepShapes:
    """Infer the shape of every output of a graph.

    Args:
        graph: a ``PlacementGraph``, possibly pruned, or what ``gpuplace.place`` accepts: a ``Graph``, GraphDef, bytes
            or a path.
        feeds: tensor, or name of a node or tensor (with or without ``:0``), to its shape: sizes, a ``TensorShape``, or
            an array that also gives the value.
        trip_counts: frame name to the number of iterations; ``"while"`` also stands for ``"while/while_context"``.
        assume: size in place of an unknown size of a placeholder, queue, dataset or file; None to keep it unknown.
        catalogue: op definitions; None for those of the process's release.
        use_hints: whether to use shapes that the graph declares (``set_shape``, ``_output_shapes``).

    Returns:
        The shapes.

    Raises:
        InvalidArgumentError: ``feeds`` names no tensor of the graph, or contradicts it (placeholders are listed with
            their shapes); shapes of the graph do not match; or it has a cycle that is not a loop.
    """
    ops = catalogue or default_catalogue()
    placed = graph if isinstance(graph, PlacementGraph) else _placement_graph(graph, ops)
    kinds = Kinds(ops)
    fed: Feeds = {}
    plain = Inference(placed, kinds, fed, None if assume is None else _demanded_for, use_hints=use_hints)
    if feeds:
        declared = _declared(plain)
        fed = resolve_feeds(placed, feeds, declared, lambda node: len(plain.kinds[node].dtypes))
        plain.feed(fed)
    plain.run()
    skipped: list[str] = []
    if plain.faults:
        idle = set(np.flatnonzero(dead_nodes(placed, known_branches(plain))[0]).tolist())
        if not idle.issuperset(plain.faults):
            raise _misfit(plain, fed, idle)
        skipped = [
            f"'{placed.names[node]}' has invalid shapes, but is in a branch that does not run: {sentence}"
            for node, sentence in sorted(plain.faults.items())
        ]
    assumed: list[str] = []
    assumption_of_node: dict[int, str] = {}
    guesses = still_unknown = frozenset[int]()
    engine = plain
    with_unknown = [
        node
        for node, outputs in enumerate(plain.shapes)
        for sizes in outputs or ()
        if sizes is None or None in sizes
    ]
    unknown = list(dict.fromkeys(with_unknown))
    if unknown and assume is not None:
        engine, assumed, assumption_of_node, guesses, still_unknown = _with_assumptions(
            plain, unknown, assume, kinds, use_hints
        )
    elif unknown:
        assumption_of_node = dict.fromkeys(unknown, "its shape is unknown")
    frames, outer = frames_of(engine)
    trips = count_trips(engine, frames, trip_counts)
    return StepShapes(
        graph=placed,
        sizes=[() if outputs is None else outputs for outputs in engine.shapes],
        kinds=engine.kinds,
        inputs=engine.inputs,
        frames=frames,
        outer_frames=outer,
        trips={frame: trip.count for frame, trip in trips.items()},
        settled=frozenset(frame for frame, trip in trips.items() if trip.assumed or trip.is_given),
        taken=known_branches(engine),
        engine=engine,
        assumed=(*skipped, *assumed, *[trip.assumed for trip in trips.values() if trip.assumed]),
        assumption_of_node=assumption_of_node,
        guesses=guesses,
        unknown=still_unknown,
    )


def _placement_graph(graph: Any, catalogue: Catalogue) -> PlacementGraph:
    from gpuplace.runtime.session.place import graph_to_place

    return graph_to_place(graph, catalogue)


def _declared(engine: Inference) -> Callable[[int, int], Sizes]:
    """Return a function that returns an output's declared shape, before anything is fed."""

    def declared(node: int, output: int) -> Sizes:
        hint = engine.graph.tensor_info
        kind = engine.kinds[node]
        shape = kind.attrs.get("shape")
        own = shape.sizes if isinstance(shape, TensorShape) and not engine.inputs[node] else None
        if own is not None and (own or kind.op_type != "Placeholder" or hint is None):
            return own
        if hint is None:
            return None
        try:
            hinted: Sizes = hint(node, output).shape
        except IndexError:
            return None
        return hinted

    return declared


def _with_assumptions(
    plain: Inference, unknown: list[int], assume: int, kinds: Kinds, use_hints: bool
) -> tuple[Inference, list[str], dict[int, str], frozenset[int], frozenset[int]]:
    """Infer the shapes with assumptions for unknown sizes of data from outside."""
    sources: dict[int, str] = {}

    def assumed_for(engine: Inference, node: int, inferred: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
        if engine.graph is not plain.graph:
            return inferred
        inferred = _demanded_for(engine, node, inferred)
        if all(map(is_known, inferred)) or all(map(is_known, plain.shapes[node] or ())):
            return inferred  # known after a later visit
        most = most_sizes(engine, node)
        if most is not None:
            sources[node] = "the largest possible number"
            return tuple(
                sizes and filled_with(sizes, size) for sizes, size in zip(inferred, most, strict=False)
            )
        if not _is_source(engine, node):
            return inferred
        sources[node] = str(assume)
        return tuple(sizes and filled_with(sizes, assume) for sizes in inferred)

    engine = Inference(
        plain.graph, kinds, plain.feeds, assume=assumed_for, library=plain.library, use_hints=use_hints
    )
    engine.run()
    for node in engine.faults:  # the assumption is impossible: keep the shapes without it
        engine.shapes[node] = plain.shapes[node]
    names = plain.graph.names
    assumed = [
        f"Unknown sizes of '{names[node]}' ({plain.kinds[node].op_type}) are assumed to be {size}: its shape is"
        f" {_text(plain.shapes[node])}"
        for node, size in list(sources.items())[:_SENTENCES]
    ]
    if len(sources) > _SENTENCES:
        assumed.append(
            f"Unknown sizes of {len(sources) - _SENTENCES} more nodes are assumed to be 1, or the largest possible"
        )
    reason = (
        f"unknown sizes of {_listed([names[node] for node in sources])} are assumed"
        if sources
        else "a shape is unknown"
    )
    assumption_of_node = {}
    still_unknown = []
    for node in unknown:
        inferred = engine.shapes[node] or ()
        if all(map(is_known, inferred)):
            assumption_of_node[node] = f"Its shape depends on an assumption: {reason}"
        else:
            assumption_of_node[node] = (
                f"Its shape is unknown, and unknown sizes count as 1: {_text(inferred)}"
            )
            if inferred:
                still_unknown.append(node)
    if still_unknown:
        assumed.append(
            f"The shapes of {len(still_unknown)} node{'' if len(still_unknown) == 1 else 's'} are unknown, and unknown"
            f" sizes count as 1: {_listed([names[node] for node in still_unknown])}"
        )
    return engine, assumed, assumption_of_node, frozenset(sources), frozenset(still_unknown)


def _demanded_for(engine: Inference, node: int, inferred: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
    """Return the shapes of data from outside, where a variable that consumes them determines them."""
    return demanded_sizes(engine, node, inferred) if engine.kinds[node].is_stateful else inferred


def _is_source(engine: Inference, node: int) -> bool:
    """Return whether only a node's own output shape is unknown: its data is external, or its values determine it."""
    kind = engine.kinds[node]
    if any(dtype.is_handle for dtype in kind.dtypes):
        return False
    known_inputs = all(
        is_known(engine.sizes(source, output)) or engine.kinds[source].makes_handle
        for source, output in engine.inputs[node]
    )
    return known_inputs and not kind.op_type.startswith(("TensorArray", "TensorList", "Stack"))


def _text(inferred: tuple[Sizes, ...] | None) -> str:
    return ", ".join(str(shape_of(sizes)) for sizes in inferred or ()) or "<unknown>"


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def _misfit(engine: Inference, feeds: Feeds, idle: set[int]) -> InvalidArgumentError:
    node, sentence = min(item for item in engine.faults.items() if item[0] not in idle)
    facts = {"node": engine.graph.names[node]}
    if feeds:
        facts["fed"] = ", ".join(
            f"{engine.graph.names[at]}:{output} {shape_of(sizes)}"
            for (at, output), (sizes, _) in feeds.items()
        )
    return InvalidArgumentError.of(
        sentence,
        facts=facts,
        hint="feed shapes that the graph accepts" if feeds else "check the graph: it is invalid",
    )
