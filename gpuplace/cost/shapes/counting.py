"""How often a loop's condition holds, by trying: the numbers that decide are worked out trip by trip.

What a condition needs of a loop is mostly little, however much its body computes::

    i = Merge(Enter(1), NextIteration(Mul(Switch(i):1, 2)))       LoopCond(LogicalAnd(Less(i, 1000), Greater(loss, 0)))

Only ``i`` is followed: 1, 2, 4, ... . What hangs on the loop's results is not known, and nothing is said of it: a part
of a condition that is not known is taken to hold, so that the other parts bound the trips.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpuplace.cost.shapes.inference import Inference
from gpuplace.cost.shapes.kinds import Array
from gpuplace.cost.shapes.values import runner
from gpuplace.graph.op_sets import MERGES, NEXT_ITERATIONS

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


class Counting:
    """The numbers that a loop's condition hangs on.

    Args:
        engine: the graph.
        is_inside: whether a node is in the loop, and in none within it.
        origin: where a value comes from, through what only hands it on.
        invariant: the number of what does not change in a loop; None where it is not known.
    """

    def __init__(
        self,
        engine: Inference,
        is_inside: Callable[[int], bool],
        origin: Callable[[int, int], Source],
        invariant: Callable[[int, int], float | None],
    ) -> None:
        self._engine = engine
        self._is_inside = is_inside
        self._origin = origin
        self._invariant = invariant
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
