"""Advice: a better placement of a step, and what shows that it is one; the answer of `gpuplace.advise`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gpuplace.advisor.problem import Problem
from gpuplace.advisor.searcher import check_numbers
from gpuplace.advisor.steps.advice_json import advice_json
from gpuplace.advisor.steps.freedom import own_nodes
from gpuplace.advisor.steps.judge import Case, Judged, graph_def_asking, judged
from gpuplace.advisor.steps.moves import Move, moves_of
from gpuplace.advisor.steps.scope_rules import Rules, device_function, python_text, scope_rules
from gpuplace.advisor.steps.step_problem import step_problem
from gpuplace.advisor.steps.tradeoff import Found, Tradeoff, TradeoffPoint, best_of, found_choices, peak_of
from gpuplace.cost.memory.step_memory import memory_limits
from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.display import above, notebook_view, with_safe_text
from gpuplace.errors import InvalidArgumentError
from gpuplace.typing import DataFrame, Findings
from gpuplace.why.placement import Placement

SAME = 1e-3
"""Objectives that differ by less than this part are the same."""
TABLES = ("nodes", "moves", "devices")
"""What `Advice.frame` and `Advice.rows` offer."""
MOST_MOVES = 24
"""Of so many moves it is worked out what each saves."""
_SHOWN = 8
_WORDS = {
    "step_time": "The step takes",
    "throughput": "In a pipeline a step takes the busiest device",
    "memory": "The fullest device needs",
}


class AdvisedNode(NamedTuple):
    """A node before and after."""

    node: str
    """Its name."""
    op: str
    """Its op type."""
    before: str
    """Full name of the device that it has now; ``""`` without one."""
    after: str
    """Full name of the device that is advised."""
    moves: bool
    """Whether the two differ."""
    seconds: float
    """Seconds of its kernels in the advised step; 0 for what it does not run."""


class AdvisedDevice(NamedTuple):
    """A device before and after."""

    device: str
    """Full name."""
    nodes_before: int
    """Nodes of the whole graph."""
    nodes_after: int
    """The same as advised."""
    busy_before: float
    """Seconds in which it computes in a step; NaN where the program cannot be placed."""
    busy_after: float
    """The same as advised."""
    peak_before: float
    """Bytes at the peak of a step; NaN where that is not known, or the program cannot be placed."""
    peak_after: float
    """The same as advised."""
    limit: int
    """Bytes that TensorFlow may take of it; 0 for host memory."""


def _or_nan(nbytes: int | None) -> float:
    return math.nan if nbytes is None else float(nbytes)


class Advice:
    """A better placement of a step; `gpuplace.advise` makes it.

    Args:
        case: what was judged.
        choice: what was chosen.
        objective: what for.
        bound: what no placement is below.
        was_stopped: whether Ctrl-C ended the search.
        said: what else there is to say, a sentence each.
    """

    def __init__(
        self,
        case: Case,
        choice: Judged,
        objective: str,
        bound: float,
        was_stopped: bool = False,
        said: Sequence[str] = (),
    ) -> None:
        self._case, self._choice = case, choice
        self.objective = objective
        """``"step_time"``, ``"throughput"`` or ``"memory"``."""
        self.bound = min(bound, choice.score.value)
        """Seconds (bytes for ``"memory"``) that no placement is below, as far as that is known."""
        self.was_stopped = was_stopped
        """Whether Ctrl-C ended the search early."""
        self.notes = tuple(said)
        """What else there is to say, a sentence each."""

    @property
    def placement(self) -> Placement:
        """The graph placed with the advised requests."""
        return self._choice.placement

    @property
    def estimate(self) -> StepEstimate:
        """The step as advised."""
        return self._choice.estimate

    @property
    def baseline(self) -> StepEstimate | None:
        """The step as the program has it; None where TensorFlow cannot place that."""
        return self._case.baseline

    @cached_property
    def findings(self) -> Findings:
        """What stands out in the step as the program has it."""
        if self.baseline is not None:
            return self.baseline.findings
        no_findings = above("gpuplace.findings.finding", "no_findings")
        return no_findings("As the program has it, it cannot be placed.")

    @property
    def value(self) -> float:
        """The objective as advised: seconds, or bytes for ``"memory"``."""
        return self._choice.score.value

    @cached_property
    def before(self) -> float:
        """The objective as the program has it; infinite where TensorFlow cannot place that, or it does not fit."""
        if self._case.baseline is None:
            return math.inf
        stays = np.full_like(self._choice.device_of, -1)
        as_it_is = judged(self._case, stays)
        is_short = as_it_is.score.missing and as_it_is.estimate.memory.fits is False
        return math.inf if is_short else as_it_is.score.value

    @property
    def fits(self) -> bool | None:
        """Whether all GPUs have room for it; None where that is not known."""
        return self.estimate.memory.fits

    @property
    def has_gain(self) -> bool:
        """Whether anything is advised."""
        return bool((self._choice.device_of >= 0).any())

    @property
    def gap(self) -> float:
        """By how much, at the most, `value` is above the best possible, as a part of that; infinite if unknown."""
        if self.value <= self.bound * (1 + SAME):
            return 0.0
        return (self.value - self.bound) / self.bound if self.bound > 0 else math.inf

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """The regions that move, what saves most first."""
        if not self.has_gain:
            return ()
        before, after, graph = self._case.asked.devices, self.placement.devices, self.placement.graph
        moved = {graph.names[node] for node in np.flatnonzero(before != after).tolist()}
        found = moves_of(self._case.rehearsal, self._choice.device_of, MOST_MOVES)
        # a gate can stay where the placer has it while what it is for moves
        truly = [move._replace(nodes=tuple(name for name in move.nodes if name in moved)) for move in found]
        return tuple(move for move in truly if move.nodes)

    def apply(self, moves: Iterable[Move | str]) -> Advice:
        """The advice with some of its moves only, placed and estimated.

        Args:
            moves: of `moves`, or their scopes.

        Raises:
            InvalidArgumentError: there is no such move.
        """
        known = {move.scope: move for move in self.moves}
        wanted: set[str] = set()
        for move in moves:
            scope = move if isinstance(move, str) else move.scope
            if scope not in known:
                raise InvalidArgumentError.of(
                    f"Nothing is advised for {scope!r}",
                    facts={"moves": ", ".join(map(repr, known)) or "none"},
                )
            wanted.update(known[scope].nodes)
        step, units = self._case.rehearsal.step, self._case.rehearsal.units
        group = self._case.rehearsal.freedom.group[step.part.nodes]
        chosen = np.unique([units.of_group[group[step.part.graph.index[name]]] for name in wanted])
        device_of = np.full_like(self._choice.device_of, -1)
        if len(chosen):
            device_of[chosen] = self._choice.device_of[chosen]
        return Advice(self._case, judged(self._case, device_of), self.objective, self.bound, self.was_stopped)

    def tradeoff(
        self, limits: int = 5, seconds: float = 10, seed: int = 0, *, steps: int | None = None
    ) -> Tradeoff:
        """Time against memory: other placements of the step, from the quickest to the smallest.

        Args:
            limits: how many limits of memory are searched between the two.
            seconds: for all searches together.
            seed: of their chances, from 0 on.
            steps: choices to try for each search, in place of a time; the same number and seed give the same points.

        Raises:
            InvalidArgumentError: a number is out of its range.
        """
        check_numbers(seconds, steps, seed)
        if limits < 0:
            raise InvalidArgumentError.of(f"limits is {limits}, not a whole number from 0 on")
        known = [Found("advised" if self.has_gain else "as it is", self._choice)]
        if self.has_gain and self._case.baseline is not None:
            known.insert(0, Found("as it is", judged(self._case, np.full_like(self._choice.device_of, -1))))
        found = found_choices(self._case, known, limits, seconds, seed, steps)
        times, sizes = (
            [one.judged.estimate.step_time for one in found],
            [peak_of(one.judged) for one in found],
        )
        known_sizes = [math.inf if size is None else size for size in sizes]
        is_best = best_of(times, known_sizes)
        points, seen = [], set()
        for place in sorted(range(len(found)), key=lambda place: (known_sizes[place], times[place], place)):
            key = f"{times[place]:.4g} {known_sizes[place]:.4g}"
            if key in seen or (place >= len(known) and not is_best[place]):
                continue
            seen.add(key)
            one = found[place].judged
            advice = Advice(self._case, one, self.objective, min(self.bound, one.score.value))
            name = found[place].name
            points.append(
                TradeoffPoint(name, times[place], sizes[place], advice.fits, is_best[place], advice)
            )
        limits_known = self._case.rehearsal.limits.values()
        return Tradeoff(tuple(points), float(min(limits_known, default=math.inf)))

    # As a program

    @cached_property
    def requests(self) -> dict[str, str]:
        """Node of the program -> what it has to ask for; ``""`` for nothing."""
        graph = self.placement.graph
        own = own_nodes(graph).tolist()
        return {
            name: text
            for name, text, is_own in zip(graph.names, self._choice.requests, own, strict=True)
            if is_own
        }

    def graph_def(self) -> Any:
        """The program as a ``GraphDef`` that asks for the advised devices.

        Raises:
            InvalidArgumentError: the placement was made of something that keeps no graph.
        """
        return graph_def_asking(self._case.asked, self.requests)

    @cached_property
    def _rules(self) -> Rules:
        if not self.has_gain:
            return {}
        return scope_rules(self._case.asked, self.placement.devices, self._case.kept)

    def device_function(self) -> Callable[[Any], str]:
        """A function for ``tf.device``: around the program's own lines it gives the advised placement.

        Two kinds of nodes are made otherwise then, as TensorFlow makes them by device: a sum of gradients from several
        devices is of sums on each of them, and ``tf.group`` has a NoOp for each.
        """
        return device_function(self._rules)

    def as_python(self) -> str:
        """The same as Python, by scope: to be put around the lines that build the graph."""
        return python_text(self._rules)

    # What it says

    def problem(self) -> Problem:
        """The step in numbers: what each node costs where, and what goes between them."""
        return step_problem(self._case.rehearsal).problem

    def to_json(self) -> str:
        """The step in numbers and the advised devices, as JSON.

        ``nodes``: name, op, group, seconds on each device (None where it cannot be), bytes kept and made, device;
        ``edges``: source, reader and bytes; ``devices``: name, hardware and memory; ``links``: bandwidth and latency
        from device to device; ``objective``, ``value``, ``bound``.
        """
        return advice_json(self._case.rehearsal, self._choice, self.objective, self.bound)

    def rows(self, table: str = "nodes") -> list[Any]:
        """A table as records.

        Args:
            table: ``"nodes"``, ``"moves"`` or ``"devices"``.

        Raises:
            ValueError: there is no such table.
        """
        if table not in TABLES:
            raise ValueError(f"No table {table!r} of an advice: choose one of {', '.join(TABLES)}")
        if table == "moves":
            return list(self.moves)
        if table == "devices":
            return self._device_rows()
        graph, step = self.placement.graph, self.estimate
        seconds = np.zeros(len(graph))
        seconds[step.part.nodes] = step.node_seconds
        before, asked = self._case.asked, []
        for node, name in enumerate(graph.names):
            old, new = before.device_of(node), self.placement.device_of(node)
            asked.append(AdvisedNode(name, graph.op_type(node), old, new, old != new, float(seconds[node])))
        return asked

    def _device_rows(self) -> list[AdvisedDevice]:
        names = self.placement.device_set.names
        old, new = self._case.asked.devices, self.placement.devices
        before = {} if self.baseline is None else self.baseline.busy
        peaks = {} if self.baseline is None else self.baseline.peak_memory
        peaks_after = self.estimate.peak_memory
        limits = {name: limit for name, (_, limit) in memory_limits(self.placement).items()}
        return [
            AdvisedDevice(
                name,
                int(np.count_nonzero(old == number)),
                int(np.count_nonzero(new == number)),
                before.get(name, math.nan),
                self.estimate.busy[name],
                _or_nan(peaks.get(name)),
                _or_nan(peaks_after.get(name)),
                limits.get(name, 0),
            )
            for number, name in enumerate(names)
        ]

    def frame(self, table: str = "nodes") -> DataFrame:
        """A table as a pandas ``DataFrame``; see `gpuplace.jupyter.frames.advice_frames` for the columns.

        Args:
            table: ``"nodes"``, ``"moves"`` or ``"devices"``.

        Raises:
            ValueError: there is no such table.
        """
        advice_frame = above("gpuplace.jupyter.frames.advice_frames", "advice_frame")

        return advice_frame(self, table)

    def explain(self) -> str:
        """What stands out in the program as it is, then what is advised and why."""
        lines = [self.text] if self.findings.skipped else [str(self.findings), self.text]
        lines += self.notes
        if self.has_gain and self.before == math.inf and self.baseline is not None:
            lines.append("As the program has it, it does not fit.")
        for move in self.moves[:_SHOWN]:
            saved = f" saves {self.shown(move.saves)}" if move.saves > 0 else ""
            count = f"{len(move.nodes):,} {'node' if len(move.nodes) == 1 else 'nodes'}"
            where = f"{move.scope or 'everything'} ({count}) from {move.source} to {move.target}"
            lines.append(f"{where}{saved}: {move.why}.")
        if len(self.moves) > _SHOWN:
            lines.append(f"{len(self.moves) - _SHOWN} more regions move.")
        if self.was_stopped:
            lines.append("The search was stopped early.")
        return "\n".join(lines)

    def shown(self, value: float) -> str:
        """A value of the objective in its unit.

        Args:
            value: seconds, or bytes for ``"memory"``.
        """
        return size_text(value) if self.objective == "memory" else seconds_text(value)

    @property
    def text(self) -> str:
        """The answer in a line."""
        what = f"{_WORDS[self.objective]} {self.shown(self.value)}"
        if not self.has_gain:
            what += ": nothing to gain was found over the program as it is"
        elif math.isfinite(self.before) and self.before > 0:
            change = 1 - self.value / self.before
            what += f" instead of {self.shown(self.before)}, {abs(change):.1%} {'less' if change >= 0 else 'more'}"
        if self.gap == 0:
            what += "; no placement can be better"
        elif math.isfinite(self.gap):
            what += f"; no placement can be below {self.shown(self.bound)}"
        if self.fits is None:
            what += f"; it is not known whether it fits: {self.estimate.memory.unknown}"
        elif not self.fits:
            short = [use for use in self.estimate.memory.devices if use.short]
            where = ", ".join(
                f"{size_text(use.short)} on {use.device.rpartition('device:')[2]}" for use in short
            )
            missing = size_text(sum(use.short for use in short))
            what += f"; it does not fit: {missing} of memory are missing ({where})"
        return f"{what}."

    @with_safe_text
    def __repr__(self) -> str:
        return f"<Advice: {self.text}>"

    @with_safe_text
    def __str__(self) -> str:
        return self.explain()

    _repr_mimebundle_ = notebook_view
