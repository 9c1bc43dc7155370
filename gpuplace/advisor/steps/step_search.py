"""Search of a step's units: simple choices, then search of the step in numbers, then moves of whole regions.

In numbers (`gpuplace.advisor.solve`), a choice is evaluated in microseconds, by a clock close to the estimate's: first
with whole scopes as groups, then with ops, then with kernels. When regions move, a choice is evaluated in milliseconds,
by the estimate's own clock. Each stage continues from the best choices so far. A region to move is drawn in one of two
ways: any region, to any device; or a node on the critical path, with the scopes around it. A slightly worse change is
sometimes accepted, but less and less often. The best choices are kept for the final evaluation, which estimates memory
as the allocator does.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.chains import prepare
from gpuplace.advisor.problem import Problem, checked
from gpuplace.advisor.solve import Progress, solve
from gpuplace.advisor.split_search import is_compiled, is_countable, split_count
from gpuplace.advisor.steps.choice_scores import ChoiceScorer, Score
from gpuplace.advisor.steps.device_labels import MIDWAY, relabeled
from gpuplace.advisor.steps.initial_choices import first_choices, homes_of_variables, published_choices
from gpuplace.advisor.steps.step_problem import (
    StepProblem,
    is_split_of,
    levels_of,
    step_problem,
    with_room_for,
)
from gpuplace.advisor.steps.units import Region
from gpuplace.cost.step_flow import COPY, StepFlow
from gpuplace.cost.step_graph import Times
from gpuplace.errors import InvalidArgumentError, ResourceExhaustedError

Ints = NDArray[np.int64]
HOT, COLD = 0.02, 0.0005
"""Relative temperature at the beginning and at the end."""
ELITE = 8
"""Number of best choices that are kept."""
STEPS = 100
"""Changes of the step in numbers per change of regions, if steps are counted."""
BURST_SECONDS, IN_A_BURST = 0.25, 20
"""Duration of a burst of moves by the fast clock, and its number of moves if steps are counted."""
_BURSTS = 4
"""Consecutive bursts without improvement after which the search restarts from another of the best choices."""
_MANY = 100_000
"""Changes times nodes below which nothing is compiled."""
_PROMISING, _ALTERNATIVES = 3, 3
"""How many initial choices, and how many alternatives of a search, the slow clock evaluates."""
_SOLVED, _QUICK = 0.85, 0.94
"""When the search in numbers and the region moves by the fast clock end, as fractions of the time."""
_WORTH_IT = 1.2
"""The slow clock skips a choice whose time by the fast clock is more than this multiple of the best."""
_LEARNING = 0.3
"""Fraction of the time for published placers."""
_ALL_KNOWN = 2000
"""Consecutive changes without a new choice after which the search ends."""
_ENDS = 2.0
"""Relative time for the coarsest and the finest level of the search in numbers."""
_MEANWHILE = 0.2
"""Seconds for which regions are moved between two polls of the compiler."""
_RELABELED = 0.04
"""Fraction of the time for exchanging identical devices after each search in numbers."""
_PATIENCE = 60
"""Consecutive changes without improvement after which the search returns to the best choice."""
_HEARD_EVERY, _HEARD_SHARE = 2.0, 0.05
"""Seconds between two interim results of the search in numbers, and the maximum fraction of time to evaluate them."""
TELL_SECONDS = 0.1
"""Seconds between progress reports without improvement."""


@dataclass(frozen=True)
class SearchProgress:
    """Progress of a search."""

    fraction: float
    """Fraction of its time, or of its steps."""
    score: Score
    """Best score so far."""


@dataclass
class Budget:
    """Duration of a search."""

    seconds: float
    """Seconds since the beginning."""
    steps: int | None = None
    """Number of choices to try, instead of a duration."""
    begin: float = field(default_factory=lambda: time.perf_counter())  # a benchmark replaces the clock
    """Time of the beginning."""
    was_stopped: bool = False
    """Whether Ctrl-C ended the search."""

    @property
    def end(self) -> float:
        """Time at which the budget is used up; infinite if steps are counted."""
        return math.inf if self.steps is not None else self.begin + self.seconds

    def leave(self, seconds: float) -> None:
        """Reserve time at the end, at most nine tenths of it.

        Args:
            seconds: time to reserve.
        """
        self.seconds = max(self.seconds - seconds, self.seconds / 10)

    def fraction(self, tried: int, part: float = 1.0) -> float:
        """Return the used fraction of the budget, or of a part of it.

        Args:
            tried: number of choices tried.
            part: fraction of the time.
        """
        if self.steps is not None:
            return tried / self.steps
        return (time.perf_counter() - self.begin) / (self.seconds * part)


class StepSearch:
    """A search.

    Args:
        scorer: step to evaluate.
        budget: duration of the search.
        part: fraction of the time to search.
        seed: seed of the random numbers.
        progress: receives a `SearchProgress`; a KeyboardInterrupt that it raises ends the search, as Ctrl-C does.
        initial_choices: additional initial choices.
    """

    def __init__(
        self,
        scorer: ChoiceScorer,
        budget: Budget,
        part: float = 1.0,
        seed: int = 0,
        progress: Callable[[SearchProgress], None] | None = None,
        initial_choices: Sequence[Ints] = (),
    ) -> None:
        self.scorer, self.budget, self.part = scorer, budget, part
        self.progress, self.initial_choices = progress, initial_choices
        self._last_report = 0.0
        self._interim: Ints | None = None
        self._interim_value, self._interim_time, self._interim_seconds = math.inf, 0.0, 0.0
        self.bound = 0.0
        """Lower bound of all choices, as far as the search has found one."""
        self.random = np.random.default_rng(seed)
        self.elite: list[tuple[Score, Ints]] = []
        self.published_choices: list[Ints] = []
        self.regions = scorer.units.regions
        self._of_unit: dict[int, list[Region]] = {}
        for region in self.regions:
            if len(region.units) <= 2000:
                for unit in region.units:
                    self._of_unit.setdefault(unit, []).append(region)

    @property
    def best(self) -> tuple[Score, Ints]:
        """The best choice so far."""
        return self.elite[0]

    def run(self) -> list[tuple[Score, Ints]]:
        """Search, and return the best choices, the best first."""
        try:
            self._compile(is_prepared=False)
            self._begin()
            if self._is_over():
                return self.elite
            self._measure()
            if not self._is_perfect():
                self._try_published_placers()
            self._prepare()
            begun = self._fraction()
            if self._has_numbers():
                parts = _parts(len(self._levels))
                for number, problem in enumerate(self._levels):
                    self._solve(
                        problem, begun + (1 - begun) * _SOLVED * parts[number], only_initial=bool(number)
                    )
                    self._relabel()
            self._improve(begun + (1 - begun) * _QUICK, in_bursts=self.scorer.objective == "step_time")
            self._improve(1.0, in_bursts=False)
        except KeyboardInterrupt:
            self.budget.was_stopped = True
            if not self.elite:
                raise
        return self.elite

    def _fraction(self) -> float:
        return self.budget.fraction(self.scorer.tried, self.part)

    def _is_over(self) -> bool:
        return self.budget.was_stopped or self._fraction() >= 1

    def _is_perfect(self) -> bool:
        return self.best[0].missing == 0 and self.best[0].value == 0

    def _consider(self, device_of: Ints) -> Score:
        score = self.scorer.score(device_of)
        is_known = any(other is device_of or np.array_equal(other, device_of) for _, other in self.elite)
        if not is_known and (len(self.elite) < ELITE or score < self.elite[-1][0]):
            self.elite.append((score, device_of.copy()))
            self.elite.sort(key=lambda scored: scored[0])
            del self.elite[ELITE:]
            self._report(is_news=True)
        return score

    def _report(self, is_news: bool = False) -> None:
        """Report progress after an improvement, or if the last report was some time ago."""
        now = time.perf_counter()
        if self.progress is None or not (is_news or now - self._last_report > TELL_SECONDS):
            return
        self._last_report = now
        self.progress(SearchProgress(min(1.0, self._fraction()), self.best[0]))

    def _begin(self) -> None:
        starts = first_choices(self.scorer)
        if self._consider_all((*self.initial_choices, next(starts))) and self._consider_all(
            self._most_promising(list(starts))
        ):
            best = [start for _, start in self.elite[:3]]
            others = [other for start in best for other in homes_of_variables(self.scorer, start)]
            self._consider_all(self._most_promising(others))

    def _consider_all(self, choices: Iterable[Ints]) -> bool:
        """Evaluate choices while there is time; return whether there still is."""
        for choice in choices:
            self._consider(choice)
            if self._is_over():
                return False
        return True

    def _most_promising(self, choices: list[Ints]) -> list[Ints]:
        """Return the best choices by a rough score without simulated memory; for other objectives, all choices."""
        if self.scorer.objective != "step_time":
            return choices
        scores = [self.scorer.rough_score(device_of) for device_of in choices]
        order = sorted(range(len(choices)), key=lambda number: (scores[number], number))
        return [choices[number] for number in order[:_PROMISING]]

    def _has_numbers(self) -> bool:
        return self.scorer.objective != "memory" and not self._is_perfect()

    def _measure(self) -> None:
        """Calibrate the memory estimate, which takes too long for the first results, and evaluate the choices again."""
        begin = time.perf_counter()
        if not self.scorer.measure_memory():
            return
        self.budget.leave(time.perf_counter() - begin)  # the final evaluation takes as long
        for cached in ("_made", "_levels"):
            self.__dict__.pop(cached, None)
        choices, self.elite = self.elite, []
        for _, device_of in choices:
            if not self.elite or not self._is_over():
                self._consider(device_of)

    def _try_published_placers(self) -> None:
        """Evaluate the choices of published placers."""
        if self._is_over():
            return
        seconds = None if self.budget.steps is not None else _LEARNING * self.budget.seconds * self.part
        for split in published_choices(self._levels[-2:], seconds):
            choice = self._numbers.units_of(self.scorer, split)
            if self._is_worth_it(choice):
                self.published_choices.append(choice)
                self._consider(choice)
            if self._is_over():
                return

    def _is_worth_it(self, choice: Ints) -> bool:
        """Whether a choice is worth the slow evaluation: its step is not far longer than the best."""
        best = self.best[0]
        if best.missing > 0 or self.scorer.objective != "step_time":
            return True
        return self.scorer.rough_score(choice)[1] < _WORTH_IT * best.value

    def _compile(self, is_prepared: bool) -> None:
        """Compile the clock if that is worthwhile and fast."""
        scorer, steps = self.scorer, self.budget.steps
        changes = math.inf if steps is None else steps * IN_A_BURST
        is_soon = is_prepared or steps is not None or scorer.clock.is_compiled_at_once()
        if is_soon and changes * len(scorer.step.part.nodes) > _MANY:
            scorer.clock = scorer.clock.compiled()

    def _prepare(self) -> None:
        """Compile the search in other processes, which takes several seconds, once; regions are moved meanwhile."""
        is_useful = self.scorer.objective != "memory" and self.budget.steps is None
        if not is_useful or self._is_over() or self._is_perfect():
            return
        candidates, of_group = self.scorer.candidates, self.scorer.units.of_group
        choices = np.ones(len(self.scorer.units.names), dtype=np.int64)
        np.maximum.at(choices, of_group[of_group >= 0], candidates.allowed[of_group >= 0].sum(axis=1))
        count = split_count(choices)
        if is_compiled("step_time", count, len(self.scorer.step.part.nodes), None):
            # The time until then does not count against the budget.
            self.budget.begin += prepare(
                "step_time", is_countable(count, None), lambda: self._improve(1.0, False, _MEANWHILE)
            )
            self._compile(is_prepared=True)

    @cached_property
    def _numbers(self) -> StepProblem:
        return step_problem(self.scorer)

    @cached_property
    def _levels(self) -> list[Problem]:
        return levels_of(self.scorer, self._numbers)

    def _solve(self, problem: Problem, until: float, only_initial: bool) -> None:
        """Search the step in numbers, and evaluate the results.

        Args:
            problem: the step with its groups.
            until: used fraction of the budget at which to stop.
            only_initial: whether to use only the choices so far as initial splits.
        """
        left = until - self._fraction()
        if left <= 0 or self._is_over() or self._is_perfect():
            return
        initial_splits, fitting = {}, []
        for number, (score, device_of) in enumerate(self.elite):
            split = self._numbers.nodes_of(self.scorer, device_of)
            if is_split_of(problem, split):
                initial_splits[f"choice {number}"] = split.tolist()
                if not score.missing:
                    fitting.append(split)
        self._interim, self._interim_value, self._interim_time = None, math.inf, time.perf_counter()
        steps = None
        if self.budget.steps is not None:
            steps = max(1, int(_SOLVED / len(self._levels) * self.budget.steps * STEPS))
        seconds = max(0.05, left * self.budget.seconds * self.part)
        try:
            solution = solve(
                checked(with_room_for(problem, fitting)),
                "step_time",
                seconds=seconds,
                steps=steps,
                seed=int(self.random.integers(1 << 30)),
                progress=self._use_interim,
                initial_splits=initial_splits,
                only_initial=only_initial,
            )
        except (InvalidArgumentError, ResourceExhaustedError):
            return  # nothing fits by the rough memory estimate; moves of regions may still find something
        self.budget.begin += solution.waited
        self.budget.was_stopped |= solution.was_stopped
        # The bound of a coarser level does not hold for all choices.
        if problem is self._levels[-1] and self._bounds_hold():
            self.bound = solution.bound
        splits = (solution.device_of, *solution.alternatives[:_ALTERNATIVES])
        self._consider_all(self._numbers.units_of(self.scorer, np.array(split)) for split in splits)

    def _relabel(self) -> None:
        """Exchange identical devices so that the best choices move few nodes, and continue from there."""
        now = time.perf_counter()
        until = math.inf if self.budget.steps is not None else now + _RELABELED * self.budget.seconds
        choices, self.elite = self.elite, []
        tried = self.scorer.tried
        for number, (_, device_of) in enumerate(choices):
            is_near = number < _PROMISING
            self._consider(relabeled(self.scorer, device_of, MIDWAY, until) if is_near else device_of)
        self.scorer.tried = tried  # relabeling must not count against `steps`

    def _bounds_hold(self) -> bool:
        """Whether a lower bound of the step in numbers holds for the step.

        The step in numbers ignores that iterations of a loop overlap, and does not contain every CPU.
        """
        scorer = self.scorer
        is_plain = bool((scorer.step.node_runs <= 1).all())
        knows_all = len(self._numbers.devices) == len(scorer.candidates.placement.device_set)
        return scorer.objective == "step_time" and is_plain and knows_all

    def _use_interim(self, progress: Progress) -> None:
        """Evaluate interim results of the search in numbers from time to time, and report progress."""
        now = time.perf_counter()
        wait = max(_HEARD_EVERY, self._interim_seconds / _HEARD_SHARE)
        is_due = self.budget.steps is None and now - self._interim_time > wait
        if is_due and progress.device_of is not None and progress.objective < self._interim_value:
            choice = self._numbers.units_of(self.scorer, progress.device_of)
            score = self._consider(choice)
            before = self._interim
            if before is not None and score < self.scorer.score(before):
                # One result of the same search among the best is enough.
                self.elite = [scored for scored in self.elite if not np.array_equal(scored[1], before)]
            self._interim, self._interim_value, self._interim_time = (
                choice,
                progress.objective,
                time.perf_counter(),
            )
            self._interim_seconds = self._interim_time - now
        self._report()

    def _improve(self, until: float, in_bursts: bool, seconds: float = math.inf) -> None:
        """Move regions, one at a time or in bursts, within which memory is estimated roughly.

        Args:
            until: used fraction of the budget at which to stop.
            in_bursts: whether to move in bursts.
            seconds: maximum duration.
        """
        if not self.regions or self._is_over():
            return
        last = time.perf_counter() + seconds
        score, current = self.best
        waits, stale, repeated = self._waits(current), 0, 0
        while self._fraction() < until and time.perf_counter() < last and not self._is_perfect():
            repeated += 1
            self._report()
            if repeated > _ALL_KNOWN:  # all choices have been tried
                return
            tried = self._burst(current, waits) if in_bursts else self._changed(current, waits)
            if tried is None:
                stale += 1
            else:
                best, before = self.best[0], self.scorer.tried
                new = self._consider(tried)
                if self.scorer.tried > before:
                    repeated = 0
                if self._is_accepted(new, score):
                    if new < score or stale % 4 == 0:
                        waits = self._waits(tried)
                    current, score = tried, new
                stale = 0 if self.best[0] < best else stale + 1
            if stale and stale % (_BURSTS if in_bursts else _PATIENCE) == 0:
                place = int(self.random.integers(0, min(3, len(self.elite))))
                score, current = self.elite[place]
                waits = self._waits(current)

    def _burst(self, device_of: Ints, waits: list[tuple[int, int, float]]) -> Ints | None:
        """Return the best of many successive changes by the rough score; None if none is better."""
        scorer = self.scorer
        current, (missing, value) = device_of, scorer.rough_score(device_of)
        best, best_choice = (missing, value), None
        heat = HOT * (COLD / HOT) ** min(1.0, self._fraction())
        over = time.perf_counter() + BURST_SECONDS
        count = 0
        while count < IN_A_BURST if self.budget.steps is not None else time.perf_counter() < over:
            count += 1
            tried = self._changed(current, waits)
            if tried is None:
                continue
            new = scorer.rough_score(tried)
            limit = value * (1 - heat * math.log(max(1e-12, self.random.random())))
            if new[0] < missing or (new[0] == missing and new[1] < limit):
                current, (missing, value) = tried, new
                if new < best:
                    best, best_choice = new, tried
        return best_choice

    def _is_accepted(self, new: Score, old: Score) -> bool:
        if new.missing != old.missing:
            return new.missing < old.missing
        done = min(1.0, self._fraction())
        heat = HOT * (COLD / HOT) ** done
        return new.value < old.value * (1 - heat * math.log(max(1e-12, self.random.random())))

    # Changes

    def _waits(self, device_of: Ints) -> list[tuple[int, int, float]]:
        """Return a choice's waits: unit, a possibly better device (-1: any other), and seconds.

        For memory: the units on the fullest device at its peak, the emptiest device, and bytes.
        """
        if self.scorer.objective == "memory":
            _, nbytes, peaks = self.scorer.at_the_peak(device_of)
            there = np.flatnonzero((nbytes > 0) & self.scorer.units.is_free)
            emptiest = int(peaks.argmin())
            return [(unit, emptiest, float(nbytes[unit])) for unit in there.tolist()]
        _, flow, times = self.scorer.evaluate(device_of)
        return _waits_of(self.scorer, flow, times)

    def _changed(self, device_of: Ints, waits: list[tuple[int, int, float]]) -> Ints | None:
        """Return a random change of a choice; None if it changes nothing."""
        random, units = self.random, self.scorer.units
        count = len(self.scorer.candidates.placement.device_set)
        choice = device_of.copy()
        well = random.random()
        if well < 0.55 and waits:
            weights = np.array([seconds for *_, seconds in waits])
            unit, better_device, _ = waits[int(random.choice(len(waits), p=weights / weights.sum()))]
            around = self._of_unit.get(unit)
            if not around:
                return None
            # Prefer small scopes around the node; with probability 0.8 move to the device that it waits for.
            depth = min(int(random.geometric(0.45)) - 1, len(around) - 1)
            members = around[len(around) - 1 - depth].units
            device = (
                better_device
                if better_device >= 0 and random.random() < 0.8
                else int(random.integers(-1, count))
            )
        else:
            members = self.regions[int(random.integers(len(self.regions)))].units
            device = int(random.integers(-1, count))
        chosen = np.array(members, dtype=np.int64)
        kind = random.random()
        if kind < 0.2:
            chosen = chosen[units.has_variable[chosen]]
        elif kind < 0.3:
            chosen = chosen[~units.has_variable[chosen]]
        elif kind < 0.4:
            other = int(device_of[chosen[random.integers(len(chosen))]])
            mine, theirs = choice[chosen] == other, choice[chosen] == device
            choice[chosen[mine]], choice[chosen[theirs]] = device, other
            return None if np.array_equal(choice, device_of) else choice
        choice[chosen] = device
        return None if np.array_equal(choice, device_of) else choice


def _parts(levels: int) -> list[float]:
    """Return [levels] the used fraction of the search in numbers after each level; the first and last get more time."""
    weights = [_ENDS, *[1.0] * (levels - 2), _ENDS][:levels] if levels > 1 else [1.0]
    return (np.cumsum(weights) / sum(weights)).tolist()


def _waits_of(scorer: ChoiceScorer, flow: StepFlow, times: Times) -> list[tuple[int, int, float]]:
    of, units = scorer.unit, scorer.units
    waits: list[tuple[int, int, float]] = []
    for item, _, begin, end in flow.path(times):
        node = int(flow.item_node[item])
        seconds = max(end - begin, 1e-7)
        if node < len(of):
            unit = int(of[node])
            if units.is_free[unit]:
                waits.append((unit, -1, seconds))
        elif flow.kind[item] == COPY:
            copy = node - flow.first_copy
            source, receiver = flow.copies.source[copy], flow.copies.receiver[copy]
            unit = int(of[source])
            if units.is_free[unit]:
                waits.append((unit, receiver, seconds))
            reader = _first_reader(scorer, flow, copy)
            if reader >= 0 and units.is_free[reader]:
                waits.append((reader, flow.copies.sender[copy], seconds))
    return waits


def _first_reader(scorer: ChoiceScorer, flow: StepFlow, copy: int) -> int:
    """Return a unit that consumes a copy; -1 if only the client does."""
    graph = scorer.step.part.graph
    source = flow.copies.source[copy]
    edges = graph.out_order[graph.out_start[source] : graph.out_start[source + 1]]
    readers = scorer.unit[graph.dst[edges]]
    others = readers[readers != scorer.unit[source]]
    return int(others[0]) if len(others) else -1
