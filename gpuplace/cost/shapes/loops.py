"""Frames of loops, and how often their bodies run.

A loop that counts runs as often as its condition says::

    i = Merge(Enter(0), NextIteration(Add(Switch(i):1, 1)))        LoopCond(Less(i, Enter(n)))

takes ``n`` trips if ``n`` is known. Of several conditions joined by ``LogicalAnd`` the counting ones bound the trips:
a decoder that stops early is assumed to run to its bound. Where the bound is the counter of a loop around, its mean
counts. A loop that goes back over another (its counter begins with what came out of that one's counter) runs as often
as that one. What is counted in another way than by adding is tried trip by trip, of all that
the body computes only what the condition needs; a part of a condition that is not known is taken to hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gpuplace.cost.shapes.inference import Inference
from gpuplace.cost.shapes.kinds import Array
from gpuplace.cost.shapes.values import runner
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import ALL_SWITCHES, ENTERS, EXITS, IDENTITY_OPS, MERGES, NEXT_ITERATIONS

MOST_TRIPS = 20_000
"""Trips that are tried."""
_MOST_STEPS = 400_000
"""Nodes that are worked out in all trips."""
_MOST_NODES = 200
"""Nodes of what decides about a loop."""
_FEW = 64
"""Elements of a tensor that is followed."""

Source = tuple[int, int]


class Counted(NamedTuple):
    """What came of trying."""

    trips: int
    """How often the condition held."""
    is_exact: bool
    """Whether all that decided was known."""
    is_over: bool
    """Whether it then did not hold."""


class _Step(NamedTuple):
    """A node whose value is worked out in each trip."""

    node: int
    inputs: tuple[Source, ...]
    run: Callable[[list[Any]], list[Array]]
    op_type: str


@dataclass(eq=False, repr=False)
class Counting:
    """The numbers that a loop's condition hangs on.

    Args:
        engine: the graph.
        is_inside: whether a node is in the loop, and in none within it.
        origin: where a value comes from, through what only hands it on.
        invariant: the number of what does not change in a loop; None where it is not known.
    """

    _engine: Inference
    _is_inside: Callable[[int], bool]
    _origin: Callable[[int, int], Source]
    _invariant: Callable[[int, int], float | None]

    def __post_init__(self) -> None:
        self._steps: list[_Step] = []
        self._constants: dict[Source, Any] = {}
        self._states: dict[int, Source] = {}
        """A loop's variable, by its ``Merge``, and what it is in the next trip."""

    def count(self, node: int, output: int) -> Counted | None:
        """How often a condition holds before it does not; None where it never is known not to."""
        wanted = self._origin(node, output)
        begin = self._collect(wanted)
        if begin is None or not begin:
            return None
        state: dict[int, Any] = begin
        is_exact = True
        most = min(MOST_TRIPS, max(_MOST_STEPS // max(len(self._steps), 1), 1))
        for trip in range(most):
            known = self._evaluated(state)
            holds = known.get(wanted)
            if holds is not None and not bool(np.all(holds)):
                return Counted(trip, is_exact, True)
            is_exact = is_exact and holds is not None
            following = {merge: known.get(source) for merge, source in self._states.items()}
            if all(_same(state[merge], value) for merge, value in following.items()):
                return Counted(trip, True, False) if is_exact else None  # nothing changes any more
            state = following
        return Counted(most, is_exact, False) if is_exact else None

    def _collect(self, wanted: Source) -> dict[int, Any] | None:
        """Orders what has to be worked out; the variables' first values, None for more than can be followed."""
        engine = self._engine
        begin: dict[int, Any] = {}
        seen: set[int] = set()
        pending: list[tuple[Source, bool]] = [(wanted, False)]
        while pending:
            (node, output), is_ready = pending.pop()
            kind = engine.kinds[node]
            if is_ready:
                run = runner(kind)
                if run is not None:
                    given = tuple([self._origin(*source) for source in engine.inputs[node]])
                    self._steps.append(_Step(node, given, run, kind.op_type))
                continue
            known = engine.known_value(node, output)
            if known is not None and known[1] is None:
                if known[0].size <= _FEW:
                    self._constants[node, output] = known[0]
                continue
            if node in seen:
                continue
            seen.add(node)
            if len(seen) > _MOST_NODES:
                return None
            if kind.op_type in MERGES:
                sources = engine.inputs[node]
                looped = [source for source in sources if engine.kinds[source[0]].op_type in NEXT_ITERATIONS]
                entering = [source for source in sources if source not in looped]
                if len(looped) == 1 and len(entering) == 1 and self._is_inside(node):
                    self._states[node] = following = self._origin(*engine.inputs[looped[0][0]][0])
                    begin[node] = self._first(*entering[0])
                    pending.append((following, False))
                continue
            number = self._invariant(node, output)
            if number is not None:
                self._constants[node, output] = np.asarray(number, kind.dtypes[output].as_numpy_dtype)
                continue
            pending.append(((node, output), True))
            pending += [(self._origin(*source), False) for source in engine.inputs[node]]
        return begin

    def _first(self, node: int, output: int) -> Any:
        known = self._engine.known_value(node, output)
        if known is None:
            node, output = self._origin(node, output)
            known = self._engine.known_value(node, output)
        if known is not None and known[1] is None and known[0].size <= _FEW:
            return known[0]
        number = self._invariant(node, output)
        if number is None or not math.isfinite(number):
            return None
        return np.asarray(number, self._engine.kinds[node].dtypes[output].as_numpy_dtype)

    def _evaluated(self, state: dict[int, Any]) -> dict[Source, Any]:
        """All values in one trip; None for what is not known."""
        known: dict[Source, Any] = dict(self._constants)
        for merge, value in state.items():
            known[merge, 0] = value
        for step in self._steps:
            arrays = [known.get(source) for source in step.inputs]
            if all(array is not None for array in arrays):
                for output, value in enumerate(step.run(arrays)):
                    known[step.node, output] = value if value.size <= _FEW else None
            elif step.op_type in _DECIDING:
                said = [
                    array
                    for array in arrays
                    if array is not None and bool(np.all(array)) is _DECIDING[step.op_type]
                ]
                known[step.node, 0] = said[0] if said else None
        return known


_DECIDING = {"LogicalAnd": False, "LogicalOr": True}
"""Ops of which one input may tell the result, whatever the other is."""


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one, other))


_LONGEST_WAY = 200
"""Nodes between a value and where it comes from."""

_SHOWN = 20

MOST_TRIPS = 10**15
"""The most that may be said of a loop: the sum of its times is still exact."""


@dataclass(frozen=True)
class Trips:
    """How often the body of a loop runs."""

    count: float
    """Times, each time that the loop is entered."""
    assumed: str = ""
    """What had to be assumed for that; ``""``: nothing."""
    is_given: bool = False
    """Whether the user said so."""


def frames_of(engine: Inference) -> tuple[list[str], dict[str, str]]:
    """The innermost frame of each node, and the frame around each frame; ``""`` is outside of all loops."""
    graph, kinds = engine.graph, engine.kinds
    outer: dict[str, str] = {}
    if not any(kind.op_type in ENTERS for kind in engine.all_kinds.all):
        return [""] * len(graph), outer
    depth: dict[str, int] = {"": 0}
    frames: list[str] = [""] * len(graph)
    seen = [False] * len(graph)
    src, start = graph.src.tolist(), graph.in_start.tolist()
    for node in engine.order:
        frame = ""
        for edge in range(start[node], start[node + 1]):
            source = src[edge]
            if seen[source]:
                own = frames[source]
                if kinds[source].op_type in EXITS:
                    own = outer.get(own, "")
                if depth[own] > depth[frame]:
                    frame = own
        if kinds[node].op_type in ENTERS:
            name = kinds[node].attrs.get("frame_name", b"")
            name = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
            if name not in depth:
                outer[name], depth[name] = frame, depth[frame] + 1
            frame = name
        frames[node] = frame
        seen[node] = True
    return frames, outer


class TripCounts:
    """How often the bodies of a graph's loops run.

    Args:
        engine: the graph, with its shapes.
        frames: the innermost frame of each node.
        given: frame name, or its beginning up to a slash, to trips.
    """

    def __init__(self, engine: Inference, frames: list[str], given: Mapping[str, float]) -> None:
        self._engine = engine
        self._frames = frames
        self._found: dict[str, Trips] = {}
        self._under_way: set[str] = set()
        self._conditions = {
            frames[node]: node for node, kind in enumerate(engine.kinds) if kind.op_type == "LoopCond"
        }
        names = list(dict.fromkeys(name for name in frames if name))
        if not isinstance(given, Mapping):
            raise TypeError(f"trip_counts: names of loops' frames with numbers; got {given!r}")
        for key, count in given.items():
            chosen = [name for name in names if name == key] or [
                name for name in names if name.removesuffix("/while_context") == key
            ]
            if not chosen:
                raise InvalidArgumentError.of(
                    f"trip_counts: no loop of the graph has the frame '{key}'",
                    facts={"loops": ", ".join(names[:_SHOWN]) or "none"},
                    hint="name the loop by its frame, as Enter nodes have it in 'frame_name'",
                )
            if not isinstance(count, (int, float, np.integer, np.floating)) or not 0 <= count <= MOST_TRIPS:
                raise InvalidArgumentError.of(
                    f"trip_counts: a loop runs 0 times or more, {MOST_TRIPS:,} at most; got {count!r} for '{key}'",
                    hint="give a number",
                )
            self._found.update(dict.fromkeys(chosen, Trips(float(count), is_given=True)))

    def of(self, frame: str) -> Trips:
        """The trips of one loop."""
        if frame not in self._found:
            self._under_way.add(frame)
            self._found[frame] = self._worked_out(frame)
            self._under_way.discard(frame)
        return self._found[frame]

    def _worked_out(self, frame: str) -> Trips:
        condition = self._conditions.get(frame)
        if condition is None:
            return Trips(1.0, f"Loop '{frame}' has no condition here: one trip is assumed")
        source = self._engine.inputs[condition][0]
        count, exact = self._bound(*source)
        if not exact:
            tried = self._tried(frame, *source)
            if tried is not None and not tried.is_over and count is None:
                least = max(tried.trips, 1)
                said = f"Loop '{frame}' does not end in {least} trips, which are assumed; give trip_counts"
                return Trips(float(least), said)
            if (
                tried is not None
                and tried.is_over
                and (count is None or tried.is_exact or tried.trips < count)
            ):
                count, exact = float(tried.trips), tried.is_exact
        if count is None:
            decides = self._engine.graph.names[source[0]]
            return Trips(
                1.0,
                f"No bound of loop '{frame}' is known, since '{decides}' hangs on what the loop computes: one trip is "
                "assumed; give trip_counts",
            )
        if not exact:
            return Trips(count, f"Loop '{frame}' is assumed to run to its bound of {count:g} trips")
        return Trips(count)

    def _tried(self, frame: str, node: int, output: int) -> Counted | None:
        """How often a condition of a loop holds, by trying."""

        def is_inside(other: int) -> bool:
            return self._frames[other] == frame

        return Counting(self._engine, is_inside, self._origin, self.scalar).count(node, output)

    def _bound(self, node: int, output: int) -> tuple[float | None, bool]:
        """How often a condition holds, at most, and whether it is just as often."""
        engine = self._engine
        node, output = self._origin(node, output)
        op_type = engine.kinds[node].op_type
        if op_type == "LogicalAnd":
            (one, first), (other, second) = (self._bound(*source) for source in engine.inputs[node])
            if one is None or other is None:
                known = other if one is None else one
                return known, False
            return min(one, other), first and second
        negated = op_type == "LogicalNot"
        if negated:
            node, output = self._origin(*engine.inputs[node][0])
            op_type = engine.kinds[node].op_type
        comparison = _COMPARISONS.get(op_type)
        if comparison is None or len(engine.inputs[node]) != 2:
            return self._constant(node, output)
        if negated:
            comparison = _NEGATED[comparison]
        left, right = engine.inputs[node]
        counter = self._counter(*left)
        if counter is None:
            counter, right, comparison = self._counter(*right), left, _MIRRORED[comparison]
        if counter is None:
            return None, False
        begin, step = counter
        limit, exact = self._limit(*right)
        if limit is None:
            return None, False
        return _trips(begin, step, comparison, limit), exact

    def _constant(self, node: int, output: int) -> tuple[float | None, bool]:
        """A condition that never holds; of one that always does no bound is known."""
        known = self._engine.known_value(node, output)
        if known is not None and known[1] is None and known[0].size == 1 and not known[0].item():
            return 0.0, True
        return None, False

    def _origin(self, node: int, output: int) -> tuple[int, int]:
        """Where a value comes from, through what only hands it on."""
        engine = self._engine
        for _ in range(_LONGEST_WAY):
            op_type = engine.kinds[node].op_type
            if op_type in IDENTITY_OPS or op_type in ALL_SWITCHES or op_type in ENTERS or op_type in _PASSING:
                node, output = engine.inputs[node][0]
            elif op_type in MERGES and len(engine.merged_sources(node)) == 1:
                node, output = engine.merged_sources(node)[0]
            else:
                break
        return node, output

    def _counter(self, node: int, output: int) -> tuple[float, float] | None:
        """Where a value begins and by how much it grows, if it is a loop's counter."""
        engine = self._engine
        node, _ = self._origin(node, output)
        if engine.kinds[node].op_type not in MERGES:
            return None
        sources = engine.inputs[node]
        looped = [source for source in sources if engine.kinds[source[0]].op_type in NEXT_ITERATIONS]
        entering = [source for source in sources if source not in looped]
        if len(looped) != 1 or len(entering) != 1:
            return None
        begin = self.scalar(*entering[0])
        added, where = self._origin(*engine.inputs[looped[0][0]][0])
        kind = engine.kinds[added]
        if begin is None or kind.op_type not in _STEPS or where:
            return None
        (one, other), sign = engine.inputs[added], _STEPS[kind.op_type]
        if self._origin(*one)[0] != node:
            if sign < 0 or self._origin(*other)[0] != node:
                return None
            one, other = other, one
        step = self.scalar(*other)
        return None if not step else (begin, sign * step)

    def _limit(self, node: int, output: int) -> tuple[float | None, bool]:
        """A number, or the most that it can be."""
        value = self.scalar(node, output)
        if value is not None:
            return value, True
        engine = self._engine
        node, output = self._origin(node, output)
        if engine.kinds[node].op_type == "Minimum":
            known = [
                limit for source in engine.inputs[node] if (limit := self._limit(*source)[0]) is not None
            ]
            return (min(known), False) if known else (None, False)
        return self._on_average(node, output), False

    def _on_average(self, node: int, output: int) -> float | None:
        """What the counter of a loop around is, over all of its trips."""
        frame = self._frames[node]
        if not frame or frame in self._under_way:
            return None
        counter = self._counter(node, output)
        if counter is None:
            return None
        begin, step = counter
        return begin + step * max(0.0, self.of(frame).count - 1) / 2

    def scalar(self, node: int, output: int) -> float | None:
        """A number that does not change in the loop."""
        engine = self._engine
        known = engine.known_value(node, output)
        if known is None:
            node, output = self._origin(node, output)
            known = engine.known_value(node, output)
        if known is not None:
            array, unknown = known
            if unknown is None and array.size == 1 and array.dtype.kind in "iufb":
                return float(array.item())
            return None
        if engine.kinds[node].op_type in EXITS:
            return self._at_the_end(node)
        return None

    def _at_the_end(self, node: int) -> float | None:
        """What a counter is when its loop is over."""
        frame = self._frames[node]
        counter = self._counter(*self._engine.inputs[node][0])
        if counter is None or frame in self._under_way:
            return None
        begin, step = counter
        return begin + step * self.of(frame).count


_PASSING = frozenset({"Cast", "Snapshot", "StopGradient"})
"""More ops that leave a number as it is."""

_COMPARISONS = {"Less": "<", "LessEqual": "<=", "Greater": ">", "GreaterEqual": ">=", "NotEqual": "!="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "!=": "=="}
_STEPS = {"Add": 1, "AddV2": 1, "Sub": -1}


def _trips(begin: float, step: float, comparison: str, limit: float) -> float | None:
    """How often ``begin``, ``begin + step``, ... satisfies a comparison with ``limit`` before it does not.

    >>> _trips(0, 1, "<", 10), _trips(10, -1, ">=", 1), _trips(0, 3, "<", 10), _trips(5, 1, "<", 3)
    (10, 10, 4, 0)
    """
    distance = (limit - begin) / step
    if comparison == "!=":
        return distance if distance >= 0 and distance == math.floor(distance) else None
    upwards = comparison in ("<", "<=")
    if comparison not in ("<", "<=", ">", ">="):
        return None
    if upwards != (step > 0):
        holds = {"<": begin < limit, "<=": begin <= limit, ">": begin > limit, ">=": begin >= limit}[
            comparison
        ]
        return None if holds else 0
    if comparison in ("<", ">"):
        return max(0, math.ceil(distance))
    return max(0, math.floor(distance) + 1)


def trip_counts(engine: Inference, frames: list[str], given: Mapping[str, float] | None) -> dict[str, Trips]:
    """How often each loop's body runs, by frame."""
    counts = TripCounts(engine, frames, given or {})
    return {frame: counts.of(frame) for frame in dict.fromkeys(name for name in frames if name)}
