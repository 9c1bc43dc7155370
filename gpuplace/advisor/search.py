"""The search: one of the whole problem, or, for the time of a step, of coarser problems first.

What coarser problems come to is only nearly what the whole one does; so each hands its best split on to the next finer
one. A coarser problem is made twice: once free, once so that only nodes which are together in the best split so far are
merged. Then that split is one of the coarse problem too, and whole regions of it move at a time::

    whole problem: splits to begin with ──────────────┐ best              ┌── best ──> annealing
                       coarse, free: annealing ───────┴──> coarse, alike: annealing
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuplace.advisor.chains import Chain, Ground
from gpuplace.advisor.coarsen import Coarse, coarsened
from gpuplace.advisor.problem import Ints, Problem
from gpuplace.advisor.searcher import SAME, Found, Searcher, Terms, check_numbers, check_objective, of_groups
from gpuplace.errors import ResourceExhaustedError

_FEW, _MANY = 300, 1500
"""Nodes of the coarser problems."""
_LEAST = 0.02
"""The least part of the time for a coarser problem that was made."""
_MOST_ALTERNATIVES = 16
_MET_EVERY = 2.0
"""Seconds after which what a coarser problem has come to is met, before it is done."""


@dataclass(frozen=True)
class Progress:
    """How far a search is."""

    fraction: float
    """Of its time, or of its steps."""
    objective: float
    """The best so far; infinite as long as none fits into memory."""
    bound: float
    """What no split is below."""
    device_of: Ints | None = field(default=None, repr=False)
    """``[nodes]``: index of each node's device in the best so far; None as long as none fits."""


@dataclass(frozen=True)
class Solution:
    """The best split that was found."""

    problem: Problem = field(repr=False)
    """What was split."""
    objective: str
    """"throughput" or "latency"."""
    device_of: tuple[int, ...]
    """``[nodes]``: index of each node's device."""
    value: float
    """The largest load, or the time of one sample, in the unit of the problem."""
    bound: float
    """What no split is below."""
    seconds: float
    """How long it took, without `waited`."""
    waited: float
    """Seconds for the compiler before that; 0 but for the first search on a machine."""
    steps: int
    """How many changes were tried."""
    was_stopped: bool
    """Whether Ctrl-C ended it early."""
    starts: Mapping[str, float] = field(default_factory=dict)
    """What the splits to begin with came to, by name; infinite where one does not fit. For the time of a step."""
    alternatives: tuple[tuple[int, ...], ...] = field(default=(), repr=False)
    """``[splits][nodes]``: the splits to begin with and the best of the search, all that fit, the best first: for who
    has a finer measure. For the time of a step.
    """

    @property
    def gap(self) -> float:
        """By how much, at the most, `value` is above the best possible, as a part of that; 0: it is the best.

        A millionth is nothing.
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
    given: Mapping[str, Sequence[int]] | None = None,
    only_given: bool = False,
) -> Solution:
    """The best split that is found in a time.

    Args:
        problem: one that ``checked`` let pass.
        objective: "throughput": the largest load of a device, which is the time between two steps of a pipeline;
            "latency": the time of one sample, where devices run blocks of nodes; "step_time": the time of one step as
            TensorFlow's executor runs it, one node after the other.
        seconds: how long to search, without the time that numba takes to compile its loops, once for a machine.
        steps: how many changes to try, in place of a time; the same number and seed give the same split.
        seed: of the search's chances, from 0 on.
        progress: called from time to time.
        use_numba: whether the loops may be compiled; the splits are the same, later.
        given: splits to begin with, ``[nodes]`` of devices each, by what they are called.
        only_given: whether to begin with no others, where there are any: who knows good ones has more time to search.

    Raises:
        InvalidArgumentError: the objective is unknown, or a number is out of its range.
        ResourceExhaustedError: no split was found that fits into memory, with how much is missing.
    """
    check_objective(objective)
    check_numbers(seconds, steps, seed)
    starts = {name: of_groups(problem, device_of) for name, device_of in (given or {}).items()}
    has_starts = not (only_given and starts)
    terms = Terms(objective, seconds, steps, seed, use_numba)
    return _Search(problem, terms, progress, starts, has_starts).run()


def evaluate(problem: Problem, objective: str, device_of: Any) -> float:
    """What a split comes to.

    Args:
        problem: nodes and devices.
        objective: as for ``solve``.
        device_of: ``[nodes]``: index of each node's device.

    Raises:
        InvalidArgumentError: the objective is unknown, or nodes that must be together are not.
    """
    check_objective(objective)
    device = of_groups(problem, device_of)
    return Chain(Ground(problem, objective, False)).value(device)


class _Search:
    """A search of a problem and of what it is coarsened to; arguments as of ``solve``."""

    def __init__(
        self,
        problem: Problem,
        terms: Terms,
        progress: Callable[[Progress], None] | None,
        given: Mapping[str, Ints],
        has_starts: bool,
    ) -> None:
        self.problem, self.terms, self.progress, self.has_starts = problem, terms, progress, has_starts
        begin = time.perf_counter()
        self.fine = Searcher(problem, terms, self._tell, given, has_starts)
        self.start = begin + self.fine.waited

    def run(self) -> Solution:
        fine = self.fine
        was_stopped = False
        try:
            fine.begin(self.start)
            if self.terms.objective == "step_time" and not fine.is_countable and not fine.is_proved:
                self._coarse_first()
            fine.go()
        except KeyboardInterrupt:
            was_stopped = True
            if fine.found.value == math.inf:
                raise
        found = fine.found
        if found.missing > 0:
            raise ResourceExhaustedError.of(
                "No split was found that fits into the devices' memory: the best of them lacks "
                f"{found.missing:g}",
                hint="more time, more devices, or devices with more memory",
            )
        device_of = found.device[self.problem.groups]
        return Solution(
            self.problem,
            self.terms.objective,
            tuple(device_of.tolist()),
            fine.value(found.device),
            fine.bound,
            time.perf_counter() - fine.start,
            fine.waited,
            fine.done,
            was_stopped,
            {name: math.inf if one.missing else one.value for name, one in fine.starts.items()},
            self._alternatives() if self.terms.objective == "step_time" else (),
        )

    def _coarse_first(self) -> None:
        """Searches coarser problems, and meets what that came to."""
        fine, nodes = self.fine, self.problem.node_count
        few = min(_FEW, nodes // 2)
        plan = [(few, False, 0.2), (few, True, 0.4)] if self.has_starts else []
        if nodes > 2 * _MANY:
            plan.append((_MANY, True, 0.65 if self.has_starts else 0.5))
        for number, (limit, is_alike, until) in enumerate(plan):
            if fine.used >= until:  # what made the first splits took so long
                continue
            coarse = coarsened(self.problem, limit, fine.found.device if is_alike else None)
            self._go_over(coarse, until - fine.used, f"coarse {number}", is_alike)

    def _go_over(self, coarse: Coarse, share: float, name: str, is_alike: bool) -> None:
        """Searches a coarser problem for a part of the budget, and meets the best split of it."""
        fine, problem = self.fine, self.problem
        ranked = sorted(fine.starts.items(), key=lambda one: one[1][:2])
        given = {} if is_alike else {start: coarse.coarser(one.device, problem) for start, one in ranked[:4]}
        begun = fine.used
        given["best"] = coarse.coarser(fine.found.device, problem)
        steps = None if self.terms.steps is None else max(1, int(share * self.terms.steps))
        seconds = self.terms.seconds * max(share, _LEAST)
        met: Found | None = None
        last = time.perf_counter()

        def meet() -> None:
            nonlocal met, last
            if searcher.found is not met and searcher.found.value < math.inf:
                met = searcher.found
                fine.meet(coarse.finer(met.device, problem.groups), name)
            last = time.perf_counter()

        def report(part: float) -> None:
            if steps is None and time.perf_counter() - last > _MET_EVERY:
                meet()
            self._tell(begun + part * share)

        terms = self.terms._replace(seconds=seconds, steps=steps, seed=self.terms.seed + 1)
        searcher = Searcher(coarse.problem, terms, report, given, has_starts=not is_alike)
        fine.start += searcher.waited
        fine.waited += searcher.waited
        try:
            searcher.begin(time.perf_counter())
            searcher.go()
        finally:
            fine.done += searcher.done
            meet()

    def _alternatives(self) -> tuple[tuple[int, ...], ...]:
        ranked = sorted([self.fine.found, *self.fine.starts.values()], key=lambda one: one[:2])
        seen: dict[bytes, Found] = {}
        for one in ranked:
            if not one.missing:
                seen.setdefault(np.asarray(one.device, np.int64).tobytes(), one)
        chosen = list(seen.values())[:_MOST_ALTERNATIVES]
        return tuple(tuple(one.device[self.problem.groups].tolist()) for one in chosen)

    def _tell(self, part: float) -> None:
        if self.progress is not None:
            found, part = self.fine.found, min(1.0, part)
            if found.missing:
                self.progress(Progress(part, math.inf, self.fine.bound))
                return
            device_of = found.device[self.problem.groups]
            self.progress(Progress(part, found.value, self.fine.bound, device_of))
