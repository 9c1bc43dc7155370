"""The shape and type of every output of a graph, and how often every node runs, from the graph and what is fed.

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
from gpuplace.cost.shapes.feeds import resolve_feeds
from gpuplace.cost.shapes.inference import Given, Inference
from gpuplace.cost.shapes.kinds import Kind, Kinds, Sizes, filled_with, is_known, shape_of
from gpuplace.cost.shapes.loops import frames_of
from gpuplace.cost.shapes.loops import trip_counts as found_trips
from gpuplace.cost.shapes.stand_ins import demanded_sizes, most_sizes
from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import ENTERS, EXITS
from gpuplace.kernels.registry import Catalogue, default_catalogue
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.shapes import TensorShape

STRING_BYTES = 16
"""Bytes that an element counts as whose type has no size of its own: a string, a handle."""

_SENTENCES = 8
"""Nodes of which what is assumed is said one by one."""

_SHOWN = 5
"""Nodes that a sentence names."""


@dataclass(frozen=True, eq=False)
class StepShapes:
    """What is known of every node's outputs before a step runs; nodes by their position in ``graph``."""

    graph: PlacementGraph
    """The graph, lowered, as it is placed and run."""
    sizes: list[tuple[Sizes, ...]]
    """The shape of each output of each node, as plain tuples; None for an unknown rank, and for a size in a tuple."""
    kinds: list[Kind]
    """For each node what it has in common with others: types of outputs, attributes with their defaults."""
    inputs: list[list[tuple[int, int]]]
    """(node, output) of each data input of each node."""
    frames: list[str]
    """The innermost loop that each node runs in, by the name of its frame; ``""`` outside of loops."""
    outer_frames: Mapping[str, str]
    """The frame around each frame."""
    trips: Mapping[str, float]
    """How often the body of each loop runs, each time that the loop is entered, by the name of its frame."""
    settled: frozenset[str]
    """Those of the loops whose conditions do not decide about that: it is given, or assumed."""
    taken: Mapping[int, int]
    """Switch nodes whose predicate or index is known: which output is alive."""
    engine: Inference
    """What inferred all this, for questions about values."""
    assumed: tuple[str, ...] = ()
    """What had to be assumed, a sentence each."""
    rests_on: Mapping[int, str] = field(default_factory=dict)
    """Nodes whose shapes hang on something assumed, or are not known, and what that is."""
    guesses: frozenset[int] = frozenset()
    """Those of them that this begins with: their own sizes are assumed, whatever values they come from."""
    unknown: frozenset[int] = frozenset()
    """Those of them of which nothing stands for unknown sizes; these count as 1."""

    def __getitem__(self, tensor: str) -> TensorShape:
        """The shape of a tensor by its name, or of a node's first output; KeyError for an unknown one."""
        name, _, output = tensor.partition(":")
        return shape_of(self.sizes[self.graph.index[name]][int(output or 0)])

    def shape(self, node: int, output: int = 0) -> TensorShape:
        """The shape of an output; unknown sizes are assumed as ``assumed`` says where that was possible."""
        return shape_of(self.sizes[node][output])

    def dtypes(self, node: int) -> tuple[DType, ...]:
        """The type of each output of a node, reference types as their base."""
        return self.kinds[node].dtypes

    def runs(self, node: int) -> float:
        """How often a node runs in a step: the product of the trip counts of the loops around it.

        A loop's condition runs once more than its body; that one time is not counted.
        """
        count, frame = 1.0, self.frames[node]
        if frame and self.kinds[node].op_type in ENTERS:  # it runs outside of the loop that it leads into
            frame = self.outer_frames.get(frame, "")
        elif self.kinds[node].op_type in EXITS and self.inputs[node]:
            frame = self.outer_frames.get(self.frames[self.inputs[node][0][0]], "")
        while frame:
            count *= self.trips.get(frame, 1.0)
            frame = self.outer_frames.get(frame, "")
        return count

    def nbytes(self, node: int, output: int = 0) -> int:
        """Bytes of an output; an unknown size counts as 1."""
        return bytes_of(self.sizes[node][output], self.kinds[node].dtypes[output])


def bytes_of(sizes: Sizes, dtype: DType) -> int:
    """Bytes of a tensor; an unknown size counts as 1.

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
    """Infers the shape of every output of a graph.

    Args:
        graph: a ``PlacementGraph``, which may be a pruned one; or what ``gpuplace.place`` takes: a ``Graph``, GraphDef,
            bytes or path.
        feeds: name of a node or tensor (with or without ``:0``), or the tensor, to the shape that is fed for it: sizes,
            a ``TensorShape``, or an array that stands for itself.
        trip_counts: frame name to how often its body runs; ``"while"`` also stands for ``"while/while_context"``.
        assume: what stands for an unknown size of a placeholder, a queue, a dataset or a file; None: it stays unknown.
        catalogue: the ops; the process's release's if None.
        use_hints: whether shapes that the graph says it has (``set_shape``, ``_output_shapes``) count.

    Returns:
        The shapes.

    Raises:
        InvalidArgumentError: ``feeds`` names no tensor of the graph, or contradicts it (the placeholders are listed
            with their shapes); the graph's shapes do not fit each other; or it has a cycle that is no loop.
    """
    known = catalogue or default_catalogue()
    placed = graph if isinstance(graph, PlacementGraph) else _placement_graph(graph, known)
    kinds = Kinds(known)
    given: Given = {}
    plain = Inference(placed, kinds, given, None if assume is None else _demanded_for, use_hints=use_hints)
    if feeds:
        declared = _declared(plain)
        given = resolve_feeds(placed, feeds, declared, lambda node: len(plain.kinds[node].dtypes))
        plain.feed(given)
    plain.run()
    perhaps: list[str] = []
    if plain.faults:
        idle = set(np.flatnonzero(dead_nodes(placed, known_branches(plain))[0]).tolist())
        if not idle.issuperset(plain.faults):
            raise _misfit(plain, given, idle)
        perhaps = [
            f"'{placed.names[node]}', whose shapes do not fit, is in a branch that does not run: {sentence}"
            for node, sentence in sorted(plain.faults.items())
        ]
    assumed: list[str] = []
    rests_on: dict[int, str] = {}
    guesses = nowhere = frozenset[int]()
    engine = plain
    with_unknown = [
        node
        for node, found in enumerate(plain.shapes)
        for sizes in found or ()
        if sizes is None or None in sizes
    ]
    unknown = list(dict.fromkeys(with_unknown))
    if unknown and assume is not None:
        engine, assumed, rests_on, guesses, nowhere = _with_assumptions(
            plain, unknown, assume, kinds, use_hints
        )
    elif unknown:
        rests_on = dict.fromkeys(unknown, "its shape is not known")
    frames, outer = frames_of(engine)
    trips = found_trips(engine, frames, trip_counts)
    return StepShapes(
        graph=placed,
        sizes=[() if found is None else found for found in engine.shapes],
        kinds=engine.kinds,
        inputs=engine.inputs,
        frames=frames,
        outer_frames=outer,
        trips={frame: found.count for frame, found in trips.items()},
        settled=frozenset(frame for frame, found in trips.items() if found.assumed or found.is_given),
        taken=known_branches(engine),
        engine=engine,
        assumed=(*perhaps, *assumed, *[found.assumed for found in trips.values() if found.assumed]),
        rests_on=rests_on,
        guesses=guesses,
        unknown=nowhere,
    )


def _placement_graph(graph: Any, catalogue: Catalogue) -> PlacementGraph:
    from gpuplace.runtime.session.place import graph_to_place

    return graph_to_place(graph, catalogue)


def _declared(engine: Inference) -> Callable[[int, int], Sizes]:
    """The shape that an output has before anything is fed: what the graph says of it."""

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
            found: Sizes = hint(node, output).shape
        except IndexError:
            return None
        return found

    return declared


def _with_assumptions(
    plain: Inference, unknown: list[int], assume: int, kinds: Kinds, use_hints: bool
) -> tuple[Inference, list[str], dict[int, str], frozenset[int], frozenset[int]]:
    """The shapes where unknown sizes of what comes from outside are assumed."""
    sources: dict[int, str] = {}

    def assumed_for(engine: Inference, node: int, found: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
        if engine.graph is not plain.graph:
            return found
        found = _demanded_for(engine, node, found)
        if all(map(is_known, found)) or all(map(is_known, plain.shapes[node] or ())):
            return found  # not known yet, and about to be
        most = most_sizes(engine, node)
        if most is not None:
            sources[node] = "as many as there can be"
            return tuple(sizes and filled_with(sizes, size) for sizes, size in zip(found, most, strict=False))
        if not _is_source(engine, node):
            return found
        sources[node] = str(assume)
        return tuple(sizes and filled_with(sizes, assume) for sizes in found)

    engine = Inference(
        plain.graph, kinds, plain.given, assume=assumed_for, library=plain.library, use_hints=use_hints
    )
    engine.run()
    for node in engine.faults:  # what is assumed cannot be: the node keeps what is known without it
        engine.shapes[node] = plain.shapes[node]
    names = plain.graph.names
    assumed = [
        f"Unknown sizes of '{names[node]}' ({plain.kinds[node].op_type}) are taken as {size}: its shape is"
        f" {_text(plain.shapes[node])}"
        for node, size in list(sources.items())[:_SENTENCES]
    ]
    if len(sources) > _SENTENCES:
        assumed.append(
            f"Unknown sizes of {len(sources) - _SENTENCES} more nodes are taken as 1, or as the most"
        )
    because = (
        f"unknown sizes of {_listed([names[node] for node in sources])} are assumed"
        if sources
        else "a shape is not known"
    )
    rests_on = {}
    nowhere = []
    for node in unknown:
        found = engine.shapes[node] or ()
        if all(map(is_known, found)):
            rests_on[node] = f"Its shape rests on this: {because}"
        else:
            rests_on[node] = f"Its shape is not known: unknown sizes count as 1 ({_text(found)})"
            if found:
                nowhere.append(node)
    if nowhere:
        assumed.append(
            f"The shapes of {len(nowhere)} node{'' if len(nowhere) == 1 else 's'} are not known, and unknown sizes"
            f" count as 1: {_listed([names[node] for node in nowhere])}"
        )
    return engine, assumed, rests_on, frozenset(sources), frozenset(nowhere)


def _demanded_for(engine: Inference, node: int, found: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
    """The shapes of what comes from outside, where a variable that takes them says what they are."""
    return demanded_sizes(engine, node, found) if engine.kinds[node].is_stateful else found


def _is_source(engine: Inference, node: int) -> bool:
    """Whether what a node gives comes from outside of the graph, or hangs on values: all its inputs are known."""
    kind = engine.kinds[node]
    if any(dtype.is_handle for dtype in kind.dtypes):
        return False
    known_inputs = all(
        is_known(engine.sizes(source, output)) or engine.kinds[source].makes_handle
        for source, output in engine.inputs[node]
    )
    return known_inputs and not kind.op_type.startswith(("TensorArray", "TensorList", "Stack"))


def _text(found: tuple[Sizes, ...] | None) -> str:
    return ", ".join(str(shape_of(sizes)) for sizes in found or ()) or "<unknown>"


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def _misfit(engine: Inference, given: Given, idle: set[int]) -> InvalidArgumentError:
    node, sentence = min(item for item in engine.faults.items() if item[0] not in idle)
    facts = {"node": engine.graph.names[node]}
    if given:
        facts["fed"] = ", ".join(
            f"{engine.graph.names[at]}:{output} {shape_of(sizes)}"
            for (at, output), (sizes, _) in given.items()
        )
    return InvalidArgumentError.of(
        sentence, facts=facts, hint="feed shapes that fit the graph" if given else "is the graph sound?"
    )
