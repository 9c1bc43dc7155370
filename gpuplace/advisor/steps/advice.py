"""`Advice`: a recommended placement of a step, with its justification; the result of `gpuplace.advise`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gpuplace.advisor.problem import Problem
from gpuplace.advisor.split_search import check_numbers
from gpuplace.advisor.steps.advice_json import advice_json
from gpuplace.advisor.steps.candidates import own_nodes
from gpuplace.advisor.steps.moves import Move, moves_of
from gpuplace.advisor.steps.placed_choice import Case, PlacedChoice, graph_def_with_requests, place_choice
from gpuplace.advisor.steps.scope_rules import Rules, device_function, python_text, scope_rules
from gpuplace.advisor.steps.searched_choice import SAME, program_choice
from gpuplace.advisor.steps.step_problem import step_problem
from gpuplace.advisor.steps.tradeoff import (
    NamedChoice,
    Tradeoff,
    TradeoffPoint,
    best_of,
    peak_of,
    tradeoff_choices,
)
from gpuplace.cost.memory.step_memory import memory_limits
from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.display import above, notebook_view, with_safe_text
from gpuplace.errors import InvalidArgumentError
from gpuplace.typing import DataFrame, Findings
from gpuplace.why.placement import Placement

TABLES = ("nodes", "moves", "devices")
"""Tables of `Advice.frame` and `Advice.rows`."""
MOST_MOVES = 24
"""Number of moves for which the individual saving is computed."""
_SHOWN = 8
_WORDS = {
    "step_time": "The step takes",
    "throughput": "In a pipeline, each step occupies the busiest device for",
    "memory": "The fullest device needs",
}


class AdvisedNode(NamedTuple):
    """A node before and after."""

    node: str
    """Node name."""
    op: str
    """Op type."""
    before: str
    """Full name of its device in the program; ``""`` without one."""
    after: str
    """Full name of its recommended device."""
    moves: bool
    """Whether the two differ."""
    seconds: float
    """Seconds of its kernels in the recommended step; 0 if the step does not run it."""


class AdvisedDevice(NamedTuple):
    """A device before and after."""

    device: str
    """Full name."""
    nodes_before: int
    """Number of nodes of the whole graph in the program."""
    nodes_after: int
    """Number of nodes as recommended."""
    busy_before: float
    """Seconds per step during which it computes; NaN if the program cannot be placed."""
    busy_after: float
    """The same as recommended."""
    peak_before: float
    """Peak bytes of a step; NaN if unknown, or if the program cannot be placed."""
    peak_after: float
    """The same as recommended."""
    limit: int
    """Bytes that TensorFlow may use; 0 for host memory."""


def _or_nan(nbytes: int | None) -> float:
    return math.nan if nbytes is None else float(nbytes)


class Advice:
    """A recommended placement of a step, as `gpuplace.advise` returns it.

    Args:
        case: the step and its possible devices.
        choice: the recommended choice.
        objective: as for `gpuplace.advise`.
        bound: lower bound of the objective.
        was_stopped: whether Ctrl-C ended the search.
        notes: further notes, one sentence each.
    """

    def __init__(
        self,
        case: Case,
        choice: PlacedChoice,
        objective: str,
        bound: float,
        was_stopped: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        self._case, self._choice = case, choice
        self.objective = objective
        """``"step_time"``, ``"throughput"`` or ``"memory"``."""
        self.bound = min(bound, choice.score.value)
        """Known lower bound of the objective for every placement: seconds, or bytes for ``"memory"``."""
        self.was_stopped = was_stopped
        """Whether Ctrl-C ended the search early."""
        self.notes = tuple(notes)
        """Further notes, one sentence each."""

    @property
    def placement(self) -> Placement:
        """The graph placed with the recommended requests."""
        return self._choice.placement

    @property
    def estimate(self) -> StepEstimate:
        """Estimate of the recommended step."""
        return self._choice.estimate

    @property
    def baseline(self) -> StepEstimate | None:
        """Estimate of the unchanged program; None if TensorFlow cannot place it."""
        return self._case.baseline

    @cached_property
    def findings(self) -> Findings:
        """Findings of the unchanged program."""
        if self.baseline is not None:
            return self.baseline.findings
        no_findings = above("gpuplace.findings.finding", "no_findings")
        return no_findings("The program cannot be placed as it is.")

    @property
    def value(self) -> float:
        """The objective as recommended: seconds, or bytes for ``"memory"``."""
        return self._choice.score.value

    @cached_property
    def before(self) -> float:
        """The objective of the unchanged program; infinite if TensorFlow cannot place it, or if it does not fit."""
        if self._case.baseline is None:
            return math.inf
        current = program_choice(self._case)
        is_short = current.score.missing and current.estimate.memory.fits is False
        return math.inf if is_short else current.score.value

    @property
    def fits(self) -> bool | None:
        """Whether the step fits on all GPUs; None if unknown."""
        return self.estimate.memory.fits

    @property
    def has_gain(self) -> bool:
        """Whether any move is recommended."""
        return bool((self._choice.device_of >= 0).any())

    @property
    def gap(self) -> float:
        """Upper bound of the relative difference between `value` and the optimum; infinite if unknown."""
        if self.value <= self.bound * (1 + SAME):
            return 0.0
        return (self.value - self.bound) / self.bound if self.bound > 0 else math.inf

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """The regions that move, largest saving first."""
        if not self.has_gain:
            return ()
        before, after, graph = self._case.original.devices, self.placement.devices, self.placement.graph
        moved = {graph.names[node] for node in np.flatnonzero(before != after).tolist()}
        regions = moves_of(self._case.scorer, self._choice.device_of, MOST_MOVES)
        # A barrier can stay on its device although the nodes that it waits for move.
        moved_only = [
            move._replace(nodes=tuple(name for name in move.nodes if name in moved)) for move in regions
        ]
        return tuple(move for move in moved_only if move.nodes)

    def apply(self, moves: Iterable[Move | str]) -> Advice:
        """Return the recommendation with only some of its moves, placed and estimated.

        Args:
            moves: items of `moves`, or their scopes.

        Raises:
            InvalidArgumentError: There is no such move.
        """
        move_of_scope = {move.scope: move for move in self.moves}
        names: set[str] = set()
        for move in moves:
            scope = move if isinstance(move, str) else move.scope
            if scope not in move_of_scope:
                raise InvalidArgumentError.of(
                    f"There is no recommended move of {scope!r}",
                    facts={"moves": ", ".join(map(repr, move_of_scope)) or "none"},
                )
            names.update(move_of_scope[scope].nodes)
        step, units = self._case.scorer.step, self._case.scorer.units
        group = self._case.scorer.candidates.group[step.part.nodes]
        chosen = np.unique([units.of_group[group[step.part.graph.index[name]]] for name in names])
        device_of = np.full_like(self._choice.device_of, -1)
        if len(chosen):
            device_of[chosen] = self._choice.device_of[chosen]
        return Advice(
            self._case, place_choice(self._case, device_of), self.objective, self.bound, self.was_stopped
        )

    def tradeoff(
        self, limits: int = 5, seconds: float = 10, seed: int = 0, *, steps: int | None = None
    ) -> Tradeoff:
        """Return the trade-off of time and memory: placements of the step from the fastest to the smallest.

        The fastest and the smallest are at least as good as what `gpuplace.advise` recommends for ``"step_time"`` and
        ``"memory"`` with the same `steps` and `seed`.

        Args:
            limits: number of memory limits to search between the two.
            seconds: duration of all searches together, in equal parts.
            seed: seed of the random numbers, at least 0.
            steps: number of choices to try per search, instead of a duration; equal numbers and seeds give equal
                points.

        Raises:
            InvalidArgumentError: A number is out of range.
        """
        check_numbers(seconds, steps, seed)
        if limits < 0:
            raise InvalidArgumentError.of(f"limits must be a non-negative integer; got {limits}")
        fixed_choices = [NamedChoice("advised" if self.has_gain else "as it is", self._choice)]
        if self.has_gain and self._case.baseline is not None:
            fixed_choices.insert(0, NamedChoice("as it is", program_choice(self._case)))
        all_choices = tradeoff_choices(self._case, fixed_choices, limits, seconds, seed, steps)
        times, sizes = (
            [choice.placed.estimate.step_time for choice in all_choices],
            [peak_of(choice.placed) for choice in all_choices],
        )
        known_sizes = [math.inf if size is None else size for size in sizes]
        is_best = best_of(times, known_sizes)
        points, seen = [], set()
        for place in sorted(
            range(len(all_choices)), key=lambda place: (known_sizes[place], times[place], place)
        ):
            key = f"{times[place]:.4g} {known_sizes[place]:.4g}"
            if key in seen or (place >= len(fixed_choices) and not is_best[place]):
                continue
            seen.add(key)
            placed = all_choices[place].placed
            advice = Advice(self._case, placed, self.objective, min(self.bound, placed.score.value))
            name = all_choices[place].name
            points.append(
                TradeoffPoint(name, times[place], sizes[place], advice.fits, is_best[place], advice)
            )
        limits_known = self._case.scorer.limits.values()
        return Tradeoff(tuple(points), float(min(limits_known, default=math.inf)))

    # As a program

    @cached_property
    def requests(self) -> dict[str, str]:
        """Node of the program to the device that it must request; ``""`` for no request."""
        graph = self.placement.graph
        own = own_nodes(graph).tolist()
        return {
            name: text
            for name, text, is_own in zip(graph.names, self._choice.requests, own, strict=True)
            if is_own
        }

    def graph_def(self) -> Any:
        """Return the program as a ``GraphDef`` with the recommended requests.

        Raises:
            InvalidArgumentError: The placement contains no graph.
        """
        return graph_def_with_requests(self._case.original, self.requests)

    @cached_property
    def _rules(self) -> Rules:
        if not self.has_gain:
            return {}
        return scope_rules(self._case.original, self.placement.devices, self._case.kept)

    def device_function(self) -> Callable[[Any], str]:
        """Return a function for ``tf.device`` that, around the program's own lines, gives the recommended placement.

        Two kinds of nodes are then built differently, because TensorFlow builds them per device: gradients from several
        devices are summed on each device first, and ``tf.group`` creates a NoOp per device.
        """
        return device_function(self._rules)

    def as_python(self) -> str:
        """Return the device function as Python code by scope, to put around the lines that build the graph."""
        return python_text(self._rules)

    # Results

    def problem(self) -> Problem:
        """Return the step in numbers: the cost of each node on each device, and the tensors between them."""
        return step_problem(self._case.scorer).problem

    def to_json(self) -> str:
        """Return the step in numbers and the recommended devices as JSON.

        ``nodes``: name, op, group, seconds on each device (None where it cannot run), bytes, device; ``edges``: source,
        reader and bytes; ``devices``: name, hardware and memory; ``links``: bandwidth and latency from device to
        device; ``objective``, ``value``, ``bound``.
        """
        return advice_json(self._case.scorer, self._choice, self.objective, self.bound)

    def rows(self, table: str = "nodes") -> list[Any]:
        """Return a table as records.

        Args:
            table: ``"nodes"``, ``"moves"`` or ``"devices"``.

        Raises:
            ValueError: There is no such table.
        """
        if table not in TABLES:
            raise ValueError(f"Advice has no table {table!r}: choose one of {', '.join(TABLES)}")
        if table == "moves":
            return list(self.moves)
        if table == "devices":
            return self._device_rows()
        graph, step = self.placement.graph, self.estimate
        seconds = np.zeros(len(graph))
        seconds[step.part.nodes] = step.node_seconds
        before, rows = self._case.original, []
        for node, name in enumerate(graph.names):
            old, new = before.device_of(node), self.placement.device_of(node)
            rows.append(AdvisedNode(name, graph.op_type(node), old, new, old != new, float(seconds[node])))
        return rows

    def _device_rows(self) -> list[AdvisedDevice]:
        names = self.placement.device_set.names
        old, new = self._case.original.devices, self.placement.devices
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
        """Return a table as a pandas ``DataFrame``; see `gpuplace.jupyter.frames.advice_frames` for the columns.

        Args:
            table: ``"nodes"``, ``"moves"`` or ``"devices"``.

        Raises:
            ValueError: There is no such table.
        """
        advice_frame = above("gpuplace.jupyter.frames.advice_frames", "advice_frame")

        return advice_frame(self, table)

    def explain(self) -> str:
        """Return the findings of the unchanged program, then the recommended moves with their reasons."""
        lines = [self.text] if self.findings.skipped else [str(self.findings), self.text]
        lines += self.notes
        if self.has_gain and self.before == math.inf and self.baseline is not None:
            lines.append("The program as it is does not fit in memory.")
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
        """Format a value of the objective in its unit.

        Args:
            value: seconds, or bytes for ``"memory"``.
        """
        return size_text(value) if self.objective == "memory" else seconds_text(value)

    @property
    def text(self) -> str:
        """Summary in one line."""
        text = f"{_WORDS[self.objective]} {self.shown(self.value)}"
        if not self.has_gain:
            text += ": the search found nothing better than the program as it is"
        elif math.isfinite(self.before) and self.before > 0:
            change = 1 - self.value / self.before
            text += f" instead of {self.shown(self.before)}, {abs(change):.1%} {'less' if change >= 0 else 'more'}"
        if self.gap == 0:
            text += "; no placement can be better"
        elif math.isfinite(self.gap):
            text += f"; no placement can be below {self.shown(self.bound)}"
        if self.fits is None:
            text += f"; it is unknown whether it fits: {self.estimate.memory.unknown}"
        elif not self.fits:
            short = [use for use in self.estimate.memory.devices if use.short]
            where = ", ".join(
                f"{size_text(use.short)} on {use.device.rpartition('device:')[2]}" for use in short
            )
            missing = size_text(sum(use.short for use in short))
            text += f"; it does not fit: it is {missing} short of memory ({where})"
        return f"{text}."

    @with_safe_text
    def __repr__(self) -> str:
        return f"<Advice: {self.text}>"

    @with_safe_text
    def __str__(self) -> str:
        return self.explain()

    _repr_mimebundle_ = notebook_view
