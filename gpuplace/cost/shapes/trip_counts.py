"""Frames of loops, and the number of iterations of each loop.

A counting loop runs as often as its condition states::

    i = Merge(Enter(0), NextIteration(Add(Switch(i):1, 1)))        LoopCond(Less(i, Enter(n)))

takes ``n`` trips if ``n`` is known. Of several conditions joined by ``LogicalAnd``, the counting ones bound the trips:
a decoder that may stop early is assumed to run to its bound. If the bound is the counter of an outer loop, its mean
is used. A loop that goes back over another (its counter starts at the other's final count) runs as often as the
other. A loop that counts differently is simulated trip by trip, computing only what the condition needs; an unknown
part of a condition is assumed to hold.
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

_MOST_STEPS = 400_000
"""Maximum number of node evaluations in all trips."""
_MOST_NODES = 200
"""Maximum number of nodes that a loop's condition depends on."""
_FEW = 64
"""Maximum number of elements of a tensor that is followed."""

Source = tuple[int, int]


class Counted(NamedTuple):
    """Result of a simulation."""

    trips: int
    """Number of trips for which the condition held."""
    is_exact: bool
    """Whether everything that the condition depends on was known."""
    is_over: bool
    """Whether the condition then failed."""


class _Step(NamedTuple):
    """A node that is evaluated in each trip."""

    node: int
    inputs: tuple[Source, ...]
    run: Callable[[list[Any]], list[Array]]
    op_type: str


@dataclass(eq=False, repr=False)
class Counting:
    """Simulation of the numbers that a loop's condition depends on.

    Args:
        engine: the graph.
        is_inside: whether a node is in the loop, and not in an inner one.
        origin: source of a value, through nodes that pass it through.
        invariant: value of a number that does not change in the loop; None if it is unknown.
    """

    _engine: Inference
    _is_inside: Callable[[int], bool]
    _origin: Callable[[int, int], Source]
    _invariant: Callable[[int, int], float | None]

    def __post_init__(self) -> None:
        self._steps: list[_Step] = []
        self._constants: dict[Source, Any] = {}
        self._states: dict[int, Source] = {}
        """``Merge`` of each loop variable to the source of its next value."""

    def count(self, node: int, output: int) -> Counted | None:
        """Return how often a condition holds until it fails; None if it is never known to fail."""
        condition = self._origin(node, output)
        begin = self._collect(condition)
        if begin is None or not begin:
            return None
        state: dict[int, Any] = begin
        is_exact = True
        most_trips = max(_MOST_STEPS // max(len(self._steps), 1), 1)
        for trip in range(most_trips):
            trip_values = self._evaluate(state)
            holds = trip_values.get(condition)
            if holds is not None and not bool(np.all(holds)):
                return Counted(trip, is_exact, True)
            is_exact = is_exact and holds is not None
            next_state = {merge: trip_values.get(source) for merge, source in self._states.items()}
            if all(_same(state[merge], value) for merge, value in next_state.items()):
                return Counted(trip, True, False) if is_exact else None  # a fixpoint
            state = next_state
        return Counted(most_trips, is_exact, False) if is_exact else None

    def _collect(self, condition: Source) -> dict[int, Any] | None:
        """Order the nodes to evaluate, and return the variables' first values; None if there are too many nodes."""
        engine = self._engine
        begin: dict[int, Any] = {}
        seen: set[int] = set()
        pending: list[tuple[Source, bool]] = [(condition, False)]
        while pending:
            (node, output), is_ready = pending.pop()
            kind = engine.kinds[node]
            if is_ready:
                run = runner(kind)
                if run is not None:
                    inputs = tuple([self._origin(*source) for source in engine.inputs[node]])
                    self._steps.append(_Step(node, inputs, run, kind.op_type))
                continue
            known_value = engine.known_value(node, output)
            if known_value is not None and known_value[1] is None:
                if known_value[0].size <= _FEW:
                    self._constants[node, output] = known_value[0]
                continue
            if node in seen:
                continue
            seen.add(node)
            if len(seen) > _MOST_NODES:
                return None
            if kind.op_type in MERGES:
                sources = engine.inputs[node]
                back_edges = [
                    source for source in sources if engine.kinds[source[0]].op_type in NEXT_ITERATIONS
                ]
                entering = [source for source in sources if source not in back_edges]
                if len(back_edges) == 1 and len(entering) == 1 and self._is_inside(node):
                    self._states[node] = next_source = self._origin(*engine.inputs[back_edges[0][0]][0])
                    begin[node] = self._first(*entering[0])
                    pending.append((next_source, False))
                continue
            number = self._invariant(node, output)
            if number is not None:
                self._constants[node, output] = np.asarray(number, kind.dtypes[output].as_numpy_dtype)
                continue
            pending.append(((node, output), True))
            pending += [(self._origin(*source), False) for source in engine.inputs[node]]
        return begin

    def _first(self, node: int, output: int) -> Any:
        known_value = self._engine.known_value(node, output)
        if known_value is None:
            node, output = self._origin(node, output)
            known_value = self._engine.known_value(node, output)
        if known_value is not None and known_value[1] is None and known_value[0].size <= _FEW:
            return known_value[0]
        number = self._invariant(node, output)
        if number is None or not math.isfinite(number):
            return None
        return np.asarray(number, self._engine.kinds[node].dtypes[output].as_numpy_dtype)

    def _evaluate(self, state: dict[int, Any]) -> dict[Source, Any]:
        """Return all values of one trip; None for unknown values."""
        value_of: dict[Source, Any] = dict(self._constants)
        for merge, value in state.items():
            value_of[merge, 0] = value
        for step in self._steps:
            arrays = [value_of.get(source) for source in step.inputs]
            if all(array is not None for array in arrays):
                for output, value in enumerate(step.run(arrays)):
                    value_of[step.node, output] = value if value.size <= _FEW else None
            elif step.op_type in _DECIDING:
                decisive = [
                    array
                    for array in arrays
                    if array is not None and bool(np.all(array)) is _DECIDING[step.op_type]
                ]
                value_of[step.node, 0] = decisive[0] if decisive else None
        return value_of


_DECIDING = {"LogicalAnd": False, "LogicalOr": True}
"""Ops that one input can decide: LogicalAnd by False, LogicalOr by True."""


def _same(first: Any, second: Any) -> bool:
    if first is None or second is None:
        return first is second
    return bool(np.array_equal(first, second))


_LONGEST_WAY = 200
"""Maximum number of nodes between a value and its origin."""

_SHOWN = 20

MOST_TRIPS = 10**15
"""Maximum number of trips; the sum of their times is still exact."""


@dataclass(frozen=True)
class Trips:
    """Number of iterations of a loop."""

    count: float
    """Iterations per entry of the loop."""
    assumed: str = ""
    """Assumption that the number is based on, or ``""``."""
    is_given: bool = False
    """Whether the user gave the number."""


def frames_of(engine: Inference) -> tuple[list[str], dict[str, str]]:
    """Return the innermost frame of each node, and the frame around each frame; ``""`` is outside of all loops."""
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
                source_frame = frames[source]
                if kinds[source].op_type in EXITS:
                    source_frame = outer.get(source_frame, "")
                if depth[source_frame] > depth[frame]:
                    frame = source_frame
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
    """Iteration counts of a graph's loops.

    Args:
        engine: the graph, with its shapes.
        frames: innermost frame of each node.
        given: frame name, or the part of it before ``/while_context``, to the number of trips.
    """

    def __init__(self, engine: Inference, frames: list[str], given: Mapping[str, float]) -> None:
        self._engine = engine
        self._frames = frames
        self._trips_of: dict[str, Trips] = {}
        self._under_way: set[str] = set()
        self._conditions = {
            frames[node]: node for node, kind in enumerate(engine.kinds) if kind.op_type == "LoopCond"
        }
        names = list(dict.fromkeys(name for name in frames if name))
        if not isinstance(given, Mapping):
            raise TypeError(f"trip_counts must map loop frame names to numbers; got {given!r}")
        for key, count in given.items():
            chosen = [name for name in names if name == key] or [
                name for name in names if name.removesuffix("/while_context") == key
            ]
            if not chosen:
                raise InvalidArgumentError.of(
                    f"trip_counts: no loop of the graph has the frame '{key}'",
                    facts={"loops": ", ".join(names[:_SHOWN]) or "none"},
                    hint="name the loop by its frame, the attribute 'frame_name' of its Enter nodes",
                )
            if not isinstance(count, (int, float, np.integer, np.floating)) or not 0 <= count <= MOST_TRIPS:
                raise InvalidArgumentError.of(
                    f"trip_counts: the number of trips must be between 0 and {MOST_TRIPS:,}; got {count!r} for '{key}'",
                    hint="give a number in this range",
                )
            self._trips_of.update(dict.fromkeys(chosen, Trips(float(count), is_given=True)))

    def of(self, frame: str) -> Trips:
        """Return the trips of one loop."""
        if frame not in self._trips_of:
            self._under_way.add(frame)
            self._trips_of[frame] = self._derive(frame)
            self._under_way.discard(frame)
        return self._trips_of[frame]

    def _derive(self, frame: str) -> Trips:
        condition = self._conditions.get(frame)
        if condition is None:
            return Trips(
                1.0, f"Loop '{frame}' has no condition in this part of the graph: one trip is assumed"
            )
        source = self._engine.inputs[condition][0]
        count, exact = self._bound(*source)
        if not exact:
            simulated = self._simulate(frame, *source)
            if simulated is not None and not simulated.is_over and count is None:
                least = max(simulated.trips, 1)
                assumption = (
                    f"Loop '{frame}' does not end within {least:g} trips, which are assumed; set trip_counts"
                )
                return Trips(float(least), assumption)
            if (
                simulated is not None
                and simulated.is_over
                and (count is None or simulated.is_exact or simulated.trips < count)
            ):
                count, exact = float(simulated.trips), simulated.is_exact
        if count is None:
            decisive = self._engine.graph.names[source[0]]
            return Trips(
                1.0,
                f"The bound of loop '{frame}' is unknown, because '{decisive}' depends on values that the loop "
                "computes: one trip is assumed; set trip_counts",
            )
        if not exact:
            return Trips(count, f"Loop '{frame}' is assumed to run to its bound of {count:g} trips")
        return Trips(count)

    def _simulate(self, frame: str, node: int, output: int) -> Counted | None:
        """Count how often a condition of a loop holds, by simulation."""

        def is_inside(candidate: int) -> bool:
            return self._frames[candidate] == frame

        return Counting(self._engine, is_inside, self._origin, self.scalar).count(node, output)

    def _bound(self, node: int, output: int) -> tuple[float | None, bool]:
        """Return an upper bound on how often a condition holds, and whether it is exact."""
        engine = self._engine
        node, output = self._origin(node, output)
        op_type = engine.kinds[node].op_type
        if op_type == "LogicalAnd":
            (left_bound, left_exact), (right_bound, right_exact) = (
                self._bound(*source) for source in engine.inputs[node]
            )
            if left_bound is None or right_bound is None:
                return right_bound if left_bound is None else left_bound, False
            return min(left_bound, right_bound), left_exact and right_exact
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
        """Return a bound of 0 for a condition that never holds; a constant True has no bound."""
        condition = self._engine.known_value(node, output)
        if (
            condition is not None
            and condition[1] is None
            and condition[0].size == 1
            and not condition[0].item()
        ):
            return 0.0, True
        return None, False

    def _origin(self, node: int, output: int) -> tuple[int, int]:
        """Return the source of a value, through nodes that pass it through."""
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
        """Return the start and increment of a value if it is a loop's counter."""
        engine = self._engine
        node, _ = self._origin(node, output)
        if engine.kinds[node].op_type not in MERGES:
            return None
        sources = engine.inputs[node]
        back_edges = [source for source in sources if engine.kinds[source[0]].op_type in NEXT_ITERATIONS]
        entering = [source for source in sources if source not in back_edges]
        if len(back_edges) != 1 or len(entering) != 1:
            return None
        begin = self.scalar(*entering[0])
        increment, increment_output = self._origin(*engine.inputs[back_edges[0][0]][0])
        kind = engine.kinds[increment]
        if begin is None or kind.op_type not in _STEPS or increment_output:
            return None
        (counter_input, step_input), sign = engine.inputs[increment], _STEPS[kind.op_type]
        if self._origin(*counter_input)[0] != node:
            if sign < 0 or self._origin(*step_input)[0] != node:
                return None
            counter_input, step_input = step_input, counter_input
        step = self.scalar(*step_input)
        return None if not step else (begin, sign * step)

    def _limit(self, node: int, output: int) -> tuple[float | None, bool]:
        """Return a number, or its upper bound, and whether it is exact."""
        value = self.scalar(node, output)
        if value is not None:
            return value, True
        engine = self._engine
        node, output = self._origin(node, output)
        if engine.kinds[node].op_type == "Minimum":
            limits = [
                limit for source in engine.inputs[node] if (limit := self._limit(*source)[0]) is not None
            ]
            return (min(limits), False) if limits else (None, False)
        return self._on_average(node, output), False

    def _on_average(self, node: int, output: int) -> float | None:
        """Return the mean of an outer loop's counter over all its trips."""
        frame = self._frames[node]
        if not frame or frame in self._under_way:
            return None
        counter = self._counter(node, output)
        if counter is None:
            return None
        begin, step = counter
        return begin + step * max(0.0, self.of(frame).count - 1) / 2

    def scalar(self, node: int, output: int) -> float | None:
        """Return a number that does not change in the loop."""
        engine = self._engine
        known_value = engine.known_value(node, output)
        if known_value is None:
            node, output = self._origin(node, output)
            known_value = engine.known_value(node, output)
        if known_value is not None:
            array, unknown = known_value
            if unknown is None and array.size == 1 and array.dtype.kind in "iufb":
                return float(array.item())
            return None
        if engine.kinds[node].op_type in EXITS:
            return self._at_the_end(node)
        return None

    def _at_the_end(self, node: int) -> float | None:
        """Return the value of a counter after its loop."""
        frame = self._frames[node]
        counter = self._counter(*self._engine.inputs[node][0])
        if counter is None or frame in self._under_way:
            return None
        begin, step = counter
        return begin + step * self.of(frame).count


_PASSING = frozenset({"Cast", "Snapshot", "StopGradient"})
"""Further ops that pass a number through."""

_COMPARISONS = {"Less": "<", "LessEqual": "<=", "Greater": ">", "GreaterEqual": ">=", "NotEqual": "!="}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "!=": "=="}
_STEPS = {"Add": 1, "AddV2": 1, "Sub": -1}


def _trips(begin: float, step: float, comparison: str, limit: float) -> float | None:
    """Return how often ``begin``, ``begin + step``, ... satisfies a comparison with ``limit`` until it fails.

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
    """Return the number of iterations of each loop, by frame."""
    counts = TripCounts(engine, frames, given or {})
    return {frame: counts.of(frame) for frame in dict.fromkeys(name for name in frames if name)}
