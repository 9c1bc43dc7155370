"""`solve`: search of the whole problem or, for the time of a step, of coarser problems first.

The objective of a coarser problem is only close to that of the whole problem, so each one passes its best split on to
the next finer one. A coarser problem is built twice: first freely, then by merging only nodes that are together in the
best split so far. That split is then one of the coarse problem too, and whole regions of it move at once::

    whole problem: initial splits ─────────────────┐ best              ┌── best ──> annealing
                       coarse, free: annealing ────┴──> coarse, alike: annealing
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuplace.advisor.chains import Chain, SearchContext
from gpuplace.advisor.coarsen import Coarse, coarsened
from gpuplace.advisor.problem import Ints, Problem
from gpuplace.advisor.split_search import (
    SAME,
    Searcher,
    SearchOptions,
    Split,
    check_numbers,
    check_objective,
    of_groups,
)
from gpuplace.errors import ResourceExhaustedError

_FEW, _MANY = 300, 1500
"""Nodes of the coarser problems."""
_LEAST = 0.02
"""Minimum fraction of the time for a coarser problem."""
_MOST_ALTERNATIVES = 16
_MET_EVERY = 2.0
"""Seconds after which the best split of a coarser problem is used before its search ends."""


@dataclass(frozen=True)
class Progress:
    """Progress of a search."""

    fraction: float
    """Fraction of its time, or of its steps."""
    objective: float
    """Best objective so far; infinite as long as no split fits in memory."""
    bound: float
    """Lower bound of all splits."""
    device_of: Ints | None = field(default=None, repr=False)
    """``[nodes]``: device of each node in the best split so far; None as long as none fits."""


@dataclass(frozen=True)
class Solution:
    """The best split of a search."""

    problem: Problem = field(repr=False)
    """The problem."""
    objective: str
    """"throughput", "latency" or "step_time"."""
    device_of: tuple[int, ...]
    """``[nodes]``: device of each node."""
    value: float
    """The objective: largest load, latency or step time, in the unit of the problem."""
    bound: float
    """Lower bound of all splits."""
    seconds: float
    """Duration of the search, without `waited`."""
    waited: float
    """Seconds of compilation before the search; 0 except for the first search on a machine."""
    steps: int
    """Number of changes tried."""
    was_stopped: bool
    """Whether Ctrl-C ended it early."""
    starts: Mapping[str, float] = field(default_factory=dict)
    """Objective of each initial split, by name; infinite if it does not fit. For the time of a step."""
    alternatives: tuple[tuple[int, ...], ...] = field(default=(), repr=False)
    """``[splits][nodes]``: the initial splits and the best of the search, those that fit, best first, for callers with
    a more
    exact objective. For the time of a step.
    """

    @property
    def gap(self) -> float:
        """Upper bound of the relative difference between `value` and the optimum; 0 if it is optimal.

        Differences below a millionth count as 0.
        """
        if self.value <= self.bound * (1 + SAME):
            return 0.0
        return (self.value - self.bound) / self.bound if self.bound > 0 else math.inf


def solve(
    problem: Problem,
    objective: str,
    *,
    seconds: float = 10.0,
    steps: int | None = None,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
    use_numba: bool = True,
    initial_splits: Mapping[str, Sequence[int]] | None = None,
    only_initial: bool = False,
) -> Solution:
    """Return the best split found in a given time.

    Args:
        problem: a problem that ``checked`` accepted.
        objective: "throughput": the largest load of a device, which is the interval between two steps of a pipeline;
            "latency": the time of one sample if devices run blocks of nodes; "step_time": the time of one step as
            TensorFlow's executor runs it, node by node.
        seconds: duration of the search, without compilation by numba, once per machine.
        steps: number of changes to try, instead of a duration; equal numbers and seeds give equal splits.
        seed: seed of the random numbers, at least 0.
        progress: receives a `Progress`.
        use_numba: whether to compile with numba; without it, the same splits take longer.
        initial_splits: splits to begin with by name, ``[nodes]`` of devices each.
        only_initial: whether to use only these initial splits, if there are any, which leaves more time for the search.

    Raises:
        InvalidArgumentError: The objective is unknown, or a number is out of range.
        ResourceExhaustedError: No split that fits in memory was found; states the missing memory.
    """
    check_objective(objective)
    check_numbers(seconds, steps, seed)
    starts = {name: of_groups(problem, device_of) for name, device_of in (initial_splits or {}).items()}
    has_starts = not (only_initial and starts)
    options = SearchOptions(objective, seconds, steps, seed, use_numba)
    return _Search(problem, options, progress, starts, has_starts).run()


def evaluate(problem: Problem, objective: str, device_of: Any) -> float:
    """Return the objective of a split.

    Args:
        problem: nodes and devices.
        objective: as for ``solve``.
        device_of: ``[nodes]``: device of each node.

    Raises:
        InvalidArgumentError: The objective is unknown, or nodes of one group are on different devices.
    """
    check_objective(objective)
    device = of_groups(problem, device_of)
    return Chain(SearchContext(problem, objective, False)).value(device)


class _Search:
    """A search of a problem and of its coarser versions; arguments as for ``solve``."""

    def __init__(
        self,
        problem: Problem,
        options: SearchOptions,
        progress: Callable[[Progress], None] | None,
        initial_splits: Mapping[str, Ints],
        has_starts: bool,
    ) -> None:
        self.problem, self.options, self.progress, self.has_starts = problem, options, progress, has_starts
        begin = time.perf_counter()
        self.fine = Searcher(problem, options, self._report_progress, initial_splits, has_starts)
        self.start = begin + self.fine.waited

    def run(self) -> Solution:
        fine = self.fine
        was_stopped = False
        try:
            fine.begin(self.start)
            if self.options.objective == "step_time" and not fine.is_countable and not fine.is_proved:
                self._coarse_first()
            fine.go()
        except KeyboardInterrupt:
            was_stopped = True
            if fine.best.value == math.inf:
                raise
        best = fine.best
        if best.missing > 0:
            raise ResourceExhaustedError.of(
                f"No split that fits in the devices' memory was found. The best one is {best.missing:g} units short.",
                hint="allow more time, add devices, or use devices with more memory",
            )
        device_of = best.device[self.problem.groups]
        return Solution(
            self.problem,
            self.options.objective,
            tuple(device_of.tolist()),
            fine.value(best.device),
            fine.bound,
            time.perf_counter() - fine.start,
            fine.waited,
            fine.done,
            was_stopped,
            {name: math.inf if split.missing else split.value for name, split in fine.starts.items()},
            self._alternatives() if self.options.objective == "step_time" else (),
        )

    def _coarse_first(self) -> None:
        """Search coarser problems, and use their best splits."""
        fine, nodes = self.fine, self.problem.node_count
        few = min(_FEW, nodes // 2)
        plan = [(few, False, 0.2), (few, True, 0.4)] if self.has_starts else []
        if nodes > 2 * _MANY:
            plan.append((_MANY, True, 0.65 if self.has_starts else 0.5))
        for number, (limit, is_alike, until) in enumerate(plan):
            if fine.used >= until:  # the initial splits took too long
                continue
            coarse = coarsened(self.problem, limit, fine.best.device if is_alike else None)
            self._search_coarse(coarse, until - fine.used, f"coarse {number}", is_alike)

    def _search_coarse(self, coarse: Coarse, share: float, name: str, is_alike: bool) -> None:
        """Search a coarser problem for a fraction of the budget, and use its best split."""
        fine, problem = self.fine, self.problem
        ranked = sorted(fine.starts.items(), key=lambda item: item[1][:2])
        initial_splits = {}
        if not is_alike:
            initial_splits = {start: coarse.coarser(split.device, problem) for start, split in ranked[:4]}
        begun = fine.used
        initial_splits["best"] = coarse.coarser(fine.best.device, problem)
        steps = None if self.options.steps is None else max(1, int(share * self.options.steps))
        seconds = self.options.seconds * max(share, _LEAST)
        last_best: Split | None = None
        last = time.perf_counter()

        def use_best() -> None:
            nonlocal last_best, last
            if searcher.best is not last_best and searcher.best.value < math.inf:
                last_best = searcher.best
                fine.consider(coarse.finer(last_best.device, problem.groups), name)
            last = time.perf_counter()

        def report(part: float) -> None:
            if steps is None and time.perf_counter() - last > _MET_EVERY:
                use_best()
            self._report_progress(begun + part * share)

        options = self.options._replace(seconds=seconds, steps=steps, seed=self.options.seed + 1)
        searcher = Searcher(coarse.problem, options, report, initial_splits, has_starts=not is_alike)
        fine.start += searcher.waited
        fine.waited += searcher.waited
        try:
            searcher.begin(time.perf_counter())
            searcher.go()
        finally:
            fine.done += searcher.done
            use_best()

    def _alternatives(self) -> tuple[tuple[int, ...], ...]:
        ranked = sorted([self.fine.best, *self.fine.starts.values()], key=lambda split: split[:2])
        distinct: dict[bytes, Split] = {}
        for split in ranked:
            if not split.missing:
                distinct.setdefault(np.asarray(split.device, np.int64).tobytes(), split)
        chosen = list(distinct.values())[:_MOST_ALTERNATIVES]
        return tuple(tuple(split.device[self.problem.groups].tolist()) for split in chosen)

    def _report_progress(self, part: float) -> None:
        if self.progress is not None:
            best, part = self.fine.best, min(1.0, part)
            if best.missing:
                self.progress(Progress(part, math.inf, self.fine.bound))
                return
            device_of = best.device[self.problem.groups]
            self.progress(Progress(part, best.value, self.fine.bound, device_of))
