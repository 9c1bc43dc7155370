"""The search of a step's units: plain choices, the search of the step in numbers, and moves of whole regions, in turns.

In numbers (`gpuplace.advisor.search`) a choice is judged in microseconds, by a clock that is nearly the estimate's:
first with whole scopes held together, then with ops, then kernel by kernel. By regions, a choice is judged in
milliseconds, by the estimate's own. Each goes on from the best of those before. A region that moves is drawn
from two wells: any region, to any device; and what the step waits for, with the scopes around it. A change that is a
little worse is sometimes taken, ever less of it; the best choices of all are kept for the last judgement, which counts
memory as the allocator does.
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
from gpuplace.advisor.search import Progress, solve
from gpuplace.advisor.searcher import is_compiled, is_countable, split_count
from gpuplace.advisor.steps.labels import MIDWAY, relabelled
from gpuplace.advisor.steps.rehearsal import Rehearsal, Score
from gpuplace.advisor.steps.starts import first_choices, homes_of_variables, literature
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
"""How much worse, in proportion, a change may be that is taken: at the beginning and at the end."""
ELITE = 8
"""How many of the best choices are kept."""
STEPS = 100
"""Changes of the step in numbers for one of regions, where steps are counted."""
BURST_SECONDS, IN_A_BURST = 0.25, 20
"""How long regions are moved by the quick clock before the estimate's is asked; how many, where steps are counted."""
_BURSTS = 4
"""So many bursts in a row without a better choice, and the search goes on from another of the best."""
_MANY = 100_000
"""Changes times nodes below which loops are not compiled."""
_PROMISING, _ALTERNATIVES = 3, 3
"""So many choices of several are judged by the estimate's clock, which is slow: to begin with, and of a search."""
_SOLVED, _QUICK = 0.85, 0.94
"""The parts of the time in which the step in numbers is searched, and then regions are moved by the quick clock."""
_WORTH_IT = 1.2
"""What is by the quick clock more than so many times the best is not judged by the estimate's."""
_LEARNING = 0.3
"""The part of the time that placers of the literature may take."""
_ALL_KNOWN = 2000
"""So many changes in a row that come to nothing new, and the search is over."""
_ENDS = 2.0
"""How much more time the coarsest and the finest search in numbers have than those between."""
_MEANWHILE = 0.2
"""Seconds for which regions are moved between two looks at the compiler."""
_RELABELLED = 0.04
"""The part of the time in which identical devices are exchanged after each search in numbers."""
_PATIENCE = 60
"""So many changes in a row without a better choice, and the search goes back to the best."""
_HEARD_EVERY, _HEARD_SHARE = 2.0, 0.05
"""After so many seconds the search in numbers says what it has come to; listening takes no more than this part."""
TELL_SECONDS = 0.1
"""How often progress is told where nothing better is found."""


@dataclass(frozen=True)
class SearchProgress:
    """How far a search is."""

    fraction: float
    """Of its time, or of its steps."""
    score: Score
    """The best so far."""


@dataclass
class Budget:
    """How long to search."""

    seconds: float
    """Until then, since the beginning."""
    steps: int | None = None
    """How many choices to try, in place of a time."""
    begin: float = field(default_factory=lambda: time.perf_counter())  # a benchmark replaces the clock
    """When it began."""
    was_stopped: bool = False
    """Whether Ctrl-C ended it."""

    @property
    def end(self) -> float:
        """When it is used up; infinite where steps are counted."""
        return math.inf if self.steps is not None else self.begin + self.seconds

    def leave(self, seconds: float) -> None:
        """Leaves time at the end for something else, at most nine tenths of it.

        Args:
            seconds: how long.
        """
        self.seconds = max(self.seconds - seconds, self.seconds / 10)

    def fraction(self, tried: int, part: float = 1.0) -> float:
        """How much of it, or of a part of it, is used up.

        Args:
            tried: choices.
            part: of the time.
        """
        if self.steps is not None:
            return tried / self.steps
        return (time.perf_counter() - self.begin) / (self.seconds * part)


class StepSearch:
    """One search.

    Args:
        rehearsal: of the step.
        budget: how long.
        part: of the time, that is searched.
        seed: of its chances.
        progress: called from time to time; KeyboardInterrupt raised by it ends the search, as Ctrl-C does.
        given: choices to begin with, beside the plain ones.
    """

    def __init__(
        self,
        rehearsal: Rehearsal,
        budget: Budget,
        part: float = 1.0,
        seed: int = 0,
        progress: Callable[[SearchProgress], None] | None = None,
        given: Sequence[Ints] = (),
    ) -> None:
        self.rehearsal, self.budget, self.part = rehearsal, budget, part
        self.progress, self.given = progress, given
        self._told = 0.0
        self._heard: Ints | None = None
        self._heard_value, self._heard_at, self._hearing = math.inf, 0.0, 0.0
        self.bound = 0.0
        """What no choice is below, as far as the search has found out."""
        self.random = np.random.default_rng(seed)
        self.elite: list[tuple[Score, Ints]] = []
        self.of_literature: list[Ints] = []
        self.regions = rehearsal.units.regions
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
        """Searches; the best choices, the best first."""
        try:
            self._compile(is_prepared=False)
            self._begin()
            if self._is_over():
                return self.elite
            self._measure()
            if not self._is_perfect():
                self._learn()
            self._prepare()
            begun = self._fraction()
            if self._has_numbers():
                parts = _parts(len(self._levels))
                for number, problem in enumerate(self._levels):
                    self._solve(
                        problem, begun + (1 - begun) * _SOLVED * parts[number], only_given=bool(number)
                    )
                    self._relabel()
            self._improve(begun + (1 - begun) * _QUICK, in_bursts=self.rehearsal.objective == "step_time")
            self._improve(1.0, in_bursts=False)
        except KeyboardInterrupt:
            self.budget.was_stopped = True
            if not self.elite:
                raise
        return self.elite

    def _fraction(self) -> float:
        return self.budget.fraction(self.rehearsal.tried, self.part)

    def _is_over(self) -> bool:
        return self.budget.was_stopped or self._fraction() >= 1

    def _is_perfect(self) -> bool:
        return self.best[0].missing == 0 and self.best[0].value == 0

    def _take(self, device_of: Ints) -> Score:
        score = self.rehearsal.score(device_of)
        known = any(other is device_of or np.array_equal(other, device_of) for _, other in self.elite)
        if not known and (len(self.elite) < ELITE or score < self.elite[-1][0]):
            self.elite.append((score, device_of.copy()))
            self.elite.sort(key=lambda one: one[0])
            del self.elite[ELITE:]
            self._tell(is_news=True)
        return score

    def _tell(self, is_news: bool = False) -> None:
        """Says how far the search is, where something better was found or that is some time ago."""
        now = time.perf_counter()
        if self.progress is None or not (is_news or now - self._told > TELL_SECONDS):
            return
        self._told = now
        self.progress(SearchProgress(min(1.0, self._fraction()), self.best[0]))

    def _begin(self) -> None:
        starts = first_choices(self.rehearsal)
        if self._take_all((*self.given, next(starts))) and self._take_all(self._most_promising(list(starts))):
            best = [start for _, start in self.elite[:3]]
            others = [other for start in best for other in homes_of_variables(self.rehearsal, start)]
            self._take_all(self._most_promising(others))

    def _take_all(self, choices: Iterable[Ints]) -> bool:
        """Takes choices, as long as there is time; whether there still is."""
        for choice in choices:
            self._take(choice)
            if self._is_over():
                return False
        return True

    def _most_promising(self, choices: list[Ints]) -> list[Ints]:
        """Those whose memory is counted, which takes longest: the best by a rough count, or all without one."""
        if self.rehearsal.objective != "step_time":
            return choices
        scores = [self.rehearsal.rough_score(device_of) for device_of in choices]
        order = sorted(range(len(choices)), key=lambda number: (scores[number], number))
        return [choices[number] for number in order[:_PROMISING]]

    def _has_numbers(self) -> bool:
        return self.rehearsal.objective != "memory" and not self._is_perfect()

    def _measure(self) -> None:
        """Sets the count of memory right, which takes longer than a first answer may; choices are judged again."""
        begin = time.perf_counter()
        if not self.rehearsal.measure_memory():
            return
        self.budget.leave(time.perf_counter() - begin)  # as long for the last judgement
        for cached in ("_made", "_levels"):
            self.__dict__.pop(cached, None)
        known, self.elite = self.elite, []
        for _, device_of in known:
            if not self.elite or not self._is_over():
                self._take(device_of)

    def _learn(self) -> None:
        """Takes what placers of the literature come to."""
        if self._is_over():
            return
        seconds = None if self.budget.steps is not None else _LEARNING * self.budget.seconds * self.part
        for split in literature(self._levels[-2:], seconds):
            choice = self._made.units_of(self.rehearsal, split)
            if self._is_worth_it(choice):
                self.of_literature.append(choice)
                self._take(choice)
            if self._is_over():
                return

    def _is_worth_it(self, choice: Ints) -> bool:
        """Whether its memory is counted: not where the step is far longer than the best."""
        best = self.best[0]
        if best.missing > 0 or self.rehearsal.objective != "step_time":
            return True
        return self.rehearsal.rough_score(choice)[1] < _WORTH_IT * best.value

    def _compile(self, is_prepared: bool) -> None:
        """Has the clock of choices compiled where that is worth it, and soon done."""
        rehearsal, steps = self.rehearsal, self.budget.steps
        changes = math.inf if steps is None else steps * IN_A_BURST
        is_soon = is_prepared or steps is not None or rehearsal.clock.is_compiled_at_once()
        if is_soon and changes * len(rehearsal.step.part.nodes) > _MANY:
            rehearsal.clock = rehearsal.clock.compiled()

    def _prepare(self) -> None:
        """Has the loops compiled, for which other processes need some seconds, once; regions are moved meanwhile."""
        is_wanted = self.rehearsal.objective != "memory" and self.budget.steps is None
        if not is_wanted or self._is_over() or self._is_perfect():
            return
        freedom, of_group = self.rehearsal.freedom, self.rehearsal.units.of_group
        choices = np.ones(len(self.rehearsal.units.names), dtype=np.int64)
        np.maximum.at(choices, of_group[of_group >= 0], freedom.allowed[of_group >= 0].sum(axis=1))
        count = split_count(choices)
        if is_compiled("step_time", count, len(self.rehearsal.step.part.nodes), None):
            # What is found until then is extra; the budget begins when the loops are there.
            self.budget.begin += prepare(
                "step_time", is_countable(count, None), lambda: self._improve(1.0, False, _MEANWHILE)
            )
            self._compile(is_prepared=True)

    @cached_property
    def _made(self) -> StepProblem:
        return step_problem(self.rehearsal)

    @cached_property
    def _levels(self) -> list[Problem]:
        return levels_of(self.rehearsal, self._made)

    def _solve(self, problem: Problem, until: float, only_given: bool) -> None:
        """Searches the step in numbers, and judges what that finds.

        Args:
            problem: the step with what is held together.
            until: the part of the budget that is used up then.
            only_given: whether to begin with nothing but the choices so far.
        """
        left = until - self._fraction()
        if left <= 0 or self._is_over() or self._is_perfect():
            return
        given, fitting = {}, []
        for number, (score, device_of) in enumerate(self.elite):
            split = self._made.nodes_of(self.rehearsal, device_of)
            if is_split_of(problem, split):
                given[f"choice {number}"] = split.tolist()
                if not score.missing:
                    fitting.append(split)
        self._heard, self._heard_value, self._heard_at = None, math.inf, time.perf_counter()
        steps = None
        if self.budget.steps is not None:
            steps = max(1, int(_SOLVED / len(self._levels) * self.budget.steps * STEPS))
        seconds = max(0.05, left * self.budget.seconds * self.part)
        try:
            found = solve(
                checked(with_room_for(problem, fitting)),
                "step_time",
                seconds=seconds,
                steps=steps,
                seed=int(self.random.integers(1 << 30)),
                progress=self._hear,
                given=given,
                only_given=only_given,
            )
        except (InvalidArgumentError, ResourceExhaustedError):
            return  # by the rough count of memory nothing fits; regions are moved all the same
        self.budget.begin += found.waited
        self.budget.was_stopped |= found.was_stopped
        if problem is self._levels[-1] and self._bounds_hold():  # coarser levels leave out choices
            self.bound = found.bound
        splits = (found.device_of, *found.alternatives[:_ALTERNATIVES])
        self._take_all(self._made.units_of(self.rehearsal, np.array(split)) for split in splits)

    def _relabel(self) -> None:
        """Exchanges identical devices so that the best choices move few nodes; the search goes on from there."""
        now = time.perf_counter()
        until = math.inf if self.budget.steps is not None else now + _RELABELLED * self.budget.seconds
        known, self.elite = self.elite, []
        tried = self.rehearsal.tried
        for number, (_, device_of) in enumerate(known):
            is_near = number < _PROMISING
            self._take(relabelled(self.rehearsal, device_of, MIDWAY, until) if is_near else device_of)
        self.rehearsal.tried = (
            tried  # other labels are no other choices, of which `steps` may count only so many
        )

    def _bounds_hold(self) -> bool:
        """Whether no choice can be below a bound of the step in numbers.

        It does not know that iterations of a loop overlap, nor of every CPU.
        """
        rehearsal = self.rehearsal
        is_plain = bool((rehearsal.step.node_runs <= 1).all())
        knows_all = len(self._made.devices) == len(rehearsal.freedom.placement.device_set)
        return rehearsal.objective == "step_time" and is_plain and knows_all

    def _hear(self, told: Progress) -> None:
        """Takes what the search in numbers has come to, from time to time, and says how far it is."""
        now = time.perf_counter()
        wait = max(_HEARD_EVERY, self._hearing / _HEARD_SHARE)
        is_due = self.budget.steps is None and now - self._heard_at > wait
        if is_due and told.device_of is not None and told.objective < self._heard_value:
            choice = self._made.units_of(self.rehearsal, told.device_of)
            score = self._take(choice)
            before = self._heard
            if before is not None and score < self.rehearsal.score(before):
                # one of a search is enough among the best
                self.elite = [one for one in self.elite if not np.array_equal(one[1], before)]
            self._heard, self._heard_value, self._heard_at = choice, told.objective, time.perf_counter()
            self._hearing = self._heard_at - now
        self._tell()

    def _improve(self, until: float, in_bursts: bool, seconds: float = math.inf) -> None:
        """Moves regions, one at a time or in bursts, within which memory is counted roughly.

        Args:
            until: the part of the budget that is used up then.
            in_bursts: whether in bursts.
            seconds: how long it may take at most.
        """
        if not self.regions or self._is_over():
            return
        last = time.perf_counter() + seconds
        score, current = self.best
        waits, stale, known = self._waits(current), 0, 0
        while self._fraction() < until and time.perf_counter() < last and not self._is_perfect():
            known += 1
            self._tell()
            if known > _ALL_KNOWN:  # there is nothing left to try
                return
            tried = self._burst(current, waits) if in_bursts else self._changed(current, waits)
            if tried is None:
                stale += 1
            else:
                best, before = self.best[0], self.rehearsal.tried
                new = self._take(tried)
                if self.rehearsal.tried > before:
                    known = 0
                if self._is_taken(new, score):
                    if new < score or stale % 4 == 0:
                        waits = self._waits(tried)
                    current, score = tried, new
                stale = 0 if self.best[0] < best else stale + 1
            if stale and stale % (_BURSTS if in_bursts else _PATIENCE) == 0:
                place = int(self.random.integers(0, min(3, len(self.elite))))
                score, current = self.elite[place]
                waits = self._waits(current)

    def _burst(self, device_of: Ints, waits: list[tuple[int, int, float]]) -> Ints | None:
        """The best of many changes, one upon the other, by a rough count of memory; None where none is better."""
        rehearsal = self.rehearsal
        current, (missing, value) = device_of, rehearsal.rough_score(device_of)
        best, found = (missing, value), None
        heat = HOT * (COLD / HOT) ** min(1.0, self._fraction())
        over = time.perf_counter() + BURST_SECONDS
        count = 0
        while count < IN_A_BURST if self.budget.steps is not None else time.perf_counter() < over:
            count += 1
            tried = self._changed(current, waits)
            if tried is None:
                continue
            new = rehearsal.rough_score(tried)
            limit = value * (1 - heat * math.log(max(1e-12, self.random.random())))
            if new[0] < missing or (new[0] == missing and new[1] < limit):
                current, (missing, value) = tried, new
                if new < best:
                    best, found = new, tried
        return found

    def _is_taken(self, new: Score, old: Score) -> bool:
        if new.missing != old.missing:
            return new.missing < old.missing
        done = min(1.0, self._fraction())
        heat = HOT * (COLD / HOT) ** done
        return new.value < old.value * (1 - heat * math.log(max(1e-12, self.random.random())))

    # Changes

    def _waits(self, device_of: Ints) -> list[tuple[int, int, float]]:
        """What a choice waits for: unit, device it might better be on (-1: any other), and seconds.

        For memory: what is on the fullest device at its peak, the emptiest device, and bytes.
        """
        if self.rehearsal.objective == "memory":
            _, nbytes, peaks = self.rehearsal.at_the_peak(device_of)
            there = np.flatnonzero((nbytes > 0) & self.rehearsal.units.is_free)
            emptiest = int(peaks.argmin())
            return [(unit, emptiest, float(nbytes[unit])) for unit in there.tolist()]
        _, flow, times = self.rehearsal.tried_out(device_of)
        return _waits_of(self.rehearsal, flow, times)

    def _changed(self, device_of: Ints, waits: list[tuple[int, int, float]]) -> Ints | None:
        """Another choice, by chance; None where the change changes nothing."""
        random, units = self.random, self.rehearsal.units
        count = len(self.rehearsal.freedom.placement.device_set)
        found = device_of.copy()
        well = random.random()
        if well < 0.55 and waits:
            weights = np.array([seconds for *_, seconds in waits])
            unit, wanted, _ = waits[int(random.choice(len(waits), p=weights / weights.sum()))]
            around = self._of_unit.get(unit)
            if not around:
                return None
            depth = min(int(random.geometric(0.45)) - 1, len(around) - 1)
            members = around[len(around) - 1 - depth].units
            device = wanted if wanted >= 0 and random.random() < 0.8 else int(random.integers(-1, count))
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
            mine, theirs = found[chosen] == other, found[chosen] == device
            found[chosen[mine]], found[chosen[theirs]] = device, other
            return None if np.array_equal(found, device_of) else found
        found[chosen] = device
        return None if np.array_equal(found, device_of) else found


def _parts(levels: int) -> list[float]:
    """[levels] the parts of the search in numbers that are over after each: most is for the first and the last."""
    weights = [_ENDS, *[1.0] * (levels - 2), _ENDS][:levels] if levels > 1 else [1.0]
    return (np.cumsum(weights) / sum(weights)).tolist()


def _waits_of(rehearsal: Rehearsal, flow: StepFlow, times: Times) -> list[tuple[int, int, float]]:
    of, units = rehearsal.unit, rehearsal.units
    found: list[tuple[int, int, float]] = []
    for item, _, begin, end in flow.path(times):
        node = int(flow.item_node[item])
        seconds = max(end - begin, 1e-7)
        if node < len(of):
            unit = int(of[node])
            if units.is_free[unit]:
                found.append((unit, -1, seconds))
        elif flow.kind[item] == COPY:
            copy = node - flow.first_copy
            source, receiver = flow.copies.source[copy], flow.copies.receiver[copy]
            unit = int(of[source])
            if units.is_free[unit]:
                found.append((unit, receiver, seconds))
            reader = _first_reader(rehearsal, flow, copy)
            if reader >= 0 and units.is_free[reader]:
                found.append((reader, flow.copies.sender[copy], seconds))
    return found


def _first_reader(rehearsal: Rehearsal, flow: StepFlow, copy: int) -> int:
    """A unit that takes what is copied; -1 where only the client does."""
    graph = rehearsal.step.part.graph
    source = flow.copies.source[copy]
    edges = graph.out_order[graph.out_start[source] : graph.out_start[source + 1]]
    readers = rehearsal.unit[graph.dst[edges]]
    others = readers[readers != rehearsal.unit[source]]
    return int(others[0]) if len(others) else -1
