"""One search of one problem: splits to begin with, then simulated annealing from the best of them.

Two chains go side by side, each in a thread of its own where their loops are compiled, and meet after every round: the
next begins from the best that was found, or from another of the first splits. Where HiGHS is installed it tries to
prove meanwhile that no split has a smaller largest load. With ``steps`` in place of ``seconds`` nothing depends on the
clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from gpuplace.advisor.bounds import lower_bound, step_bound
from gpuplace.advisor.chains import Chain, Ground, prepare
from gpuplace.advisor.divisions import best_division, down_sets, likeness, prefixes
from gpuplace.advisor.exact import Proof, can_prove
from gpuplace.advisor.network import orders
from gpuplace.advisor.placers import Costs, earliest_first, heft
from gpuplace.advisor.problem import Ints, Problem, group_seconds
from gpuplace.advisor.records import Lattice
from gpuplace.errors import InvalidArgumentError

OBJECTIVES = ("throughput", "latency", "step_time")
CHAINS = 2
ROUNDS = 6
SAME = 1e-6
"""Objectives that differ by less than this part count as the same."""
HOT = (0.02, 0.1)
"""Temperatures at the beginning of a round, of each chain, as parts of the best objective."""
WARM = (1e-4, 2e-3)
"""The same for the time of a step, which is slow to compute: there is no time to come down from far above."""
_SOON = 32
"""Of so few groups there is, ..."""
HOTTER = (0.02, 0.2)
"""... from these temperatures in every round; but not where each step is slow to compute."""
COLD = 2e-5
"""The temperature at the end of a round."""
_NEAR = 1.1
"""A chain begins from another of the first splits where that is no more than so many times the best."""
PLACERS: tuple[tuple[str, Callable[[Costs], list[int]]], ...] = (("HEFT", heft), ("ETF", earliest_first))
"""List schedules to begin with."""
LISTED, LISTED_SECONDS, LISTED_PART = 40_000, 1e-5, 0.05
"""Nodes times devices that they are made for where no time is given; what each of these takes, about; and the part of
the time that a schedule may take."""
_ALL = 100_000
"""Where there are no more splits than these, all are tried: the best of them is the best possible."""
_SMALL = 20_000
"""Below so many changes, times nodes where each needs them all, Python is done before numba is loaded."""
_BATCH = 200_000
"""Changes, times nodes, that are tried before the clock is looked at for the first time."""
_COOLINGS = 2000
"""So often it cools down, about, where steps are counted."""
_SWEPT = 0.4
"""The part of the time in which groups are moved one after the other, before chances are taken."""
_FEW_DEVICES = 4
"""With more devices, a group is not tried on each of them."""
_PIECES = 500
"""The most pieces that an order is cut into, for the best division of it."""
_DIVIDED = 100
"""The best of all divisions is found where that is no more work than so many differences of sets a change."""
_DIVIDED_SLOWLY, _DIVIDED_QUICKLY = 100_000, 7_000_000
"""The same a second, in Python and compiled."""


def of_groups(problem: Problem, device_of: Any) -> Ints:
    """The device of each group.

    Args:
        problem: nodes and devices.
        device_of: ``[nodes]``: index of each node's device.

    Raises:
        InvalidArgumentError: nodes that must be together are not, or there is no such device.
    """
    chosen = np.asarray(device_of, np.int64)
    if chosen.shape != (problem.node_count,) or ((chosen < 0) | (chosen >= len(problem.devices))).any():
        raise InvalidArgumentError.of(
            f"The split does not say for each of {problem.node_count} nodes one of {len(problem.devices)} devices"
        )
    device = np.zeros(problem.group_count, np.int64)
    device[problem.groups] = chosen
    if (device[problem.groups] != chosen).any():
        apart = int(np.flatnonzero(device[problem.groups] != chosen)[0])
        raise InvalidArgumentError.of(
            f"The split has node {problem.ids[apart]} apart from others of its class"
        )
    return device


def check_objective(objective: str) -> None:
    """Refuses an objective that there is not.

    Args:
        objective: as for ``solve``.

    Raises:
        InvalidArgumentError: there is no such objective.
    """
    if objective not in OBJECTIVES:
        raise InvalidArgumentError.of(
            f"There is no objective {objective!r}", hint="one of " + ", ".join(map(repr, OBJECTIVES))
        )


def check_numbers(seconds: float, steps: int | None, seed: int) -> None:
    """Raises InvalidArgumentError for a number out of its range.

    Args:
        seconds, steps, seed: as of `solve`.
    """
    if not _is_number(seconds) or not 0 < seconds < math.inf:
        raise InvalidArgumentError.of(f"seconds is {seconds!r}, not a number above 0")
    if steps is not None and (not _is_number(steps) or not steps >= 1 or steps != int(steps)):
        raise InvalidArgumentError.of(f"steps is {steps!r}, not a whole number above 0")
    if not _is_number(seed) or not seed >= 0 or seed != int(seed):
        raise InvalidArgumentError.of(f"seed is {seed!r}, not a whole number from 0 on")


def _is_number(value: Any) -> bool:
    """Whether it is a number that is neither infinite nor NaN."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def split_count(choices: Ints) -> float:
    """How many splits there are, up to e to the power of 100.

    Args:
        choices: ``[groups]``: how many devices each may be on.
    """
    return float(np.exp(np.log(choices).sum().clip(max=100)))


def is_countable(splits: float, steps: int | None) -> bool:
    """Whether all splits are tried.

    Args:
        splits: how many there are.
        steps: as for ``solve``.
    """
    return splits < (_ALL if steps is None else min(_ALL, steps)) + 0.5


def is_compiled(objective: str, splits: float, nodes: int, steps: int | None) -> bool:
    """Whether compiled loops are worth it: Python alone is soon done with a small search.

    Args:
        objective: as for ``solve``.
        splits: how many there are.
        nodes: likewise.
        steps: as for ``solve``.
    """
    changes = splits if is_countable(splits, steps) else math.inf if steps is None else steps
    return changes * (1 if objective == "throughput" else nodes) >= _SMALL


class Found(NamedTuple):
    """A split of groups; of two, the one that comes first when sorted by the first two is better."""

    missing: float
    """How much memory is too small."""
    value: float
    """The objective."""
    device: Ints
    """``[groups]``."""


class Terms(NamedTuple):
    """What a search goes by; each as for ``solve``."""

    objective: str
    seconds: float
    steps: int | None
    seed: int
    use_numba: bool


class Searcher:
    """One search: its budget, its chains, and the best split so far.

    Args:
        problem: what is split.
        terms: of the search.
        report: called from time to time, with the part of the budget that is used.
        given: splits of groups to begin with, by what they are called.
        has_starts: whether to begin with others too.
    """

    def __init__(
        self,
        problem: Problem,
        terms: Terms,
        report: Callable[[float], None] | None,
        given: Mapping[str, Ints],
        has_starts: bool = True,
    ) -> None:
        self.problem = problem
        self.objective, self.seconds, self.steps, seed, use_numba = terms
        objective, steps = self.objective, self.steps
        self.report, self.given, self.has_starts = report, given, has_starts
        self.starts: dict[str, Found] = {}
        """The splits to begin with, by name."""
        possible = np.isfinite(group_seconds(problem)[:, [device.kind for device in problem.devices]]).sum(
            axis=1
        )
        splits = split_count(possible)
        self.is_countable = is_countable(splits, steps)
        compiles = use_numba and is_compiled(objective, splits, problem.node_count, steps)
        self.waited = prepare(objective, self.is_countable) if compiles else 0.0
        """Seconds for the compiler, which are not of the budget."""
        self.ground = Ground(problem, objective, compiles)
        self.arrays, self.in_lists = self.ground.arrays, self.ground.in_lists
        self.random = np.random.default_rng(seed)
        self.bound = self._bound()
        self.found = Found(math.inf, math.inf, np.zeros(problem.group_count, np.int64))
        self.done = 0
        self.proof: Proof | None = None
        self.proving: Future[None] | None = None

    def _bound(self) -> float:
        step = self.ground.step_arrays
        if step is None:
            return lower_bound(self.problem, self.objective)
        return step_bound(self.problem, self.ground.step, self.ground.bounds, self.in_lists)

    def begin(self, start: float) -> None:
        """Meets the splits to begin with.

        Args:
            start: when the clock, ``time.perf_counter``, began to run.
        """
        self.start = start
        self.ranked = self._starts()

    def go(self) -> None:
        """Searches until the budget is used."""
        if not self._try_all():
            if self.objective == "step_time":
                self._sweep()
            with ThreadPoolExecutor(CHAINS + 1) as pool:
                self._rounds(self.ranked, pool)

    def meet(self, start: Ints, name: str) -> Found:
        """Looks at a split.

        Args:
            start: ``[groups]``.
            name: what it is called.
        """
        found = self.starts[name] = Found(*self._value(start), start)
        self._take(*found)
        self._report()
        return found

    # ---- first splits

    def _starts(self) -> list[Ints]:
        """Splits to begin with, the best first."""
        groups, devices = self.problem.group_count, len(self.problem.devices)
        runs = self.arrays.seconds.reshape(groups, devices)
        for name, start in self.given.items():
            self.meet(start, name)
        if not self.has_starts:
            return self._ranked()
        for device in range(devices):  # all on one, the rest where it is quickest
            if device == 0 or likeness(self.problem.devices[device]) != likeness(
                self.problem.devices[device - 1]
            ):
                name = f"all on {self.problem.devices[device].name}"
                self.meet(np.where(np.isinf(runs[:, device]), runs.argmin(axis=1), device), name)
        if self.objective == "step_time" and not self.given and self._may_list():
            costs = Costs(self.problem)
            for name, placer in PLACERS:
                self.meet(of_groups(self.problem, placer(costs)), name)
        is_step = self.objective == "step_time"
        is_slow = is_step or (self.in_lists and self.steps is None)
        if not is_step:
            self._divide(down_sets(self.problem, self._divided()), "contiguous")
        most = _PIECES // 8 if is_slow else _PIECES
        for number, order in enumerate(orders(self.problem, 2 if is_step else 4)):
            if self._fraction() > 0.15 and self.found.missing == 0:
                break
            self.meet(self._filled(order), f"filled {number}")
            cuts = np.unique(np.linspace(0, groups, min(groups, most) + 1).astype(np.int64))
            self._divide(prefixes(order, cuts), f"contiguous {number}")
        return self._ranked()

    def _may_list(self) -> bool:
        """Whether there is time for list schedules."""
        size = self.problem.node_count * len(self.problem.devices)
        if self.steps is not None:
            return size <= LISTED
        return size * LISTED_SECONDS <= LISTED_PART * self.seconds

    def _ranked(self) -> list[Ints]:
        """The splits to begin with, the best first; of those that come to the same, which mostly are the same, one."""
        unlike: dict[tuple[str, str], Found] = {}
        for one in self.starts.values():
            unlike.setdefault((f"{one.missing:.9g}", f"{one.value:.9g}"), one)
        return [one.device for one in sorted(unlike.values(), key=lambda one: one[:2])]

    def _divided(self) -> int:
        """How much work it may be to find the best of all divisions."""
        if self.steps is not None:  # whether loops are compiled makes no difference
            return _DIVIDED * self.steps
        return int((_DIVIDED_SLOWLY if self.in_lists else _DIVIDED_QUICKLY) * self.seconds)

    def _divide(self, lattice: Lattice | None, name: str) -> None:
        """Meets the best division into differences of sets, if there is one."""
        if lattice is not None and (start := best_division(self.ground, lattice)) is not None:
            self.meet(start, name)

    def _filled(self, order: Ints) -> Ints:
        """One device after the other filled to its memory; what is left, where most room is."""
        room = self.arrays.rooms.copy()
        devices = len(room)
        runs = self.arrays.seconds.reshape(-1, devices)
        ranking = np.argsort(np.where(np.isinf(runs), 0, runs).sum(axis=0), kind="stable").tolist()
        device = np.zeros(len(order), np.int64)
        at = 0
        for group in order.tolist():
            size = self.arrays.sizes[group]
            here = ranking[at]
            if size > room[here] and at + 1 < devices:
                at += 1
                here = ranking[at]
            if size > room[here] or np.isinf(runs[group, here]):
                possible = np.where(np.isinf(runs[group]), -math.inf, room)
                here = int(possible.argmax())
            device[group] = here
            room[here] -= size
        return device

    # ---- one group after the other

    def _sweep(self) -> None:
        """Moves one group after the other, those of the most work first, to wherever that helps."""
        chain = Chain(self.ground)
        work, device = chain.work, chain.state.device
        arrays, step_time = self.arrays, self.ground.step_time.step_time
        devices = len(self.problem.devices)
        runs = arrays.seconds.reshape(-1, devices)
        is_pool = np.array([one.is_pool for one in self.problem.devices])
        least = runs.min(axis=1)
        order = np.argsort(-least, kind="stable")[: int((least > 0).sum())].tolist()
        until = self._fraction() + (1 - self._fraction()) * _SWEPT
        was_better = True
        chain.begin(self.found.device)
        used = np.bincount(self.found.device, arrays.sizes, devices)
        while was_better and self._fraction() < until and not self.is_proved:
            was_better = False
            for group in order:
                old = int(device[group])
                for other in self._elsewhere(group, runs[group], is_pool, used):
                    if other == old:
                        continue
                    limit = self.found.value if self.found.missing == 0 else math.inf
                    device[group] = other
                    value = step_time(self.ground.step, device, work, limit)
                    device[group] = old
                    self.done += 1
                    after = used.copy()
                    after[old] -= arrays.sizes[group]
                    after[other] += arrays.sizes[group]
                    missing = float(np.maximum(after - arrays.rooms, 0).sum())
                    if (missing, value) < (self.found.missing, self.found.value * (1 - SAME)):
                        was_better = True
                        device[group] = old = other
                        used = after
                        self._take(missing, value, device)
                if self._fraction() >= until or self.is_proved:
                    break
            self._report()

    def _elsewhere(self, group: int, runs: Any, is_pool: Any, used: Any) -> list[int]:
        """Where a group may be better: where its neighbours are, and one more; a pool only where no other runs it."""
        possible = np.isfinite(runs)
        if (possible & ~is_pool).any():
            possible &= ~is_pool
        found = np.flatnonzero(possible).tolist()
        if len(found) <= _FEW_DEVICES:
            return found
        begin, end = self.arrays.near_start[group], self.arrays.near_start[group + 1]
        near = set(self.found.device[self.arrays.near[begin:end]].tolist())
        near.add(found[int(self.random.integers(len(found)))])
        return [device for device in found if device in near]

    # ---- all splits

    def _try_all(self) -> bool:
        """Tries every split of a small problem; whether that was possible."""
        if not self.is_countable:
            return False
        runs = self.arrays.seconds.reshape(self.problem.group_count, -1)
        chain = Chain(self.ground)
        chain.begin(np.isfinite(runs).argmax(axis=1))
        batch = 1000 if self.in_lists else 20_000
        is_last = False
        while not is_last and (self.steps is not None or self._fraction() < 0.9):
            tried = chain.try_all(batch)
            self.done += tried
            is_last = tried < batch
            self._take(*chain.best, chain.state.best_device)
            self._report()
        if is_last and self.found.missing == 0:
            self.bound = self.found.value
        return is_last

    # ---- rounds

    def _rounds(self, starts: list[Ints], pool: ThreadPoolExecutor) -> None:
        chains = [
            Chain(self.ground, self.random.integers(1, 2_000_000_000, 2).tolist()) for _ in range(CHAINS)
        ]
        begin = self._fraction()
        try:
            for number in range(ROUNDS):
                if self.is_proved:
                    return
                if number == 1 and self._may_prove():
                    self.proof = Proof(self.arrays, self.found.value, self.bound)
                    self.proving = pool.submit(self.proof.run, (1 - self._fraction()) * self.seconds)
                first = begin + (1 - begin) * number / ROUNDS
                last = begin + (1 - begin) * (number + 1) / ROUNDS
                near = self._near(starts)
                hot = self._hot(number)
                jobs = []
                for which, chain in enumerate(chains):
                    at = number * CHAINS + which
                    is_other = at % 2 and number < ROUNDS // 2
                    start = near[at // 2 % len(near)] if is_other else self.found.device
                    jobs.append((chain, start.copy()))
                self._round(jobs, first, last, hot, pool)
        finally:
            if self.proof is not None and self.proving is not None:
                self.proof.cancel()
                self.proving.result()
                self._hear_of_the_proof()

    def _hot(self, number: int) -> list[float]:
        """Of each chain, the temperature at the beginning of a round."""
        is_soon = self.problem.group_count <= _SOON
        if is_soon and self.objective != "step_time":
            return list(HOTTER)
        hot = HOT if is_soon or self.objective != "step_time" else WARM
        return [one if number < ROUNDS // 2 else one / 4 for one in hot]

    def _near(self, starts: list[Ints]) -> list[Ints]:
        """Those of the first splits that are worth another look."""
        if self.objective != "step_time":
            return starts
        most = _NEAR * self.found.value
        values = sorted(self.starts.values(), key=lambda one: one[:2])
        return [one.device for one in values if not one.missing and one.value <= most] or [self.found.device]

    def _may_prove(self) -> bool:
        is_asked = self.steps is None and self.objective == "throughput" and self.found.missing == 0
        return is_asked and can_prove(self.arrays)

    @property
    def is_proved(self) -> bool:
        """Whether no split can be better than the best so far."""
        return self.found.missing == 0 and self.found.value <= self.bound * (1 + SAME)

    def _hear_of_the_proof(self) -> None:
        if self.proof is not None and self.proving is not None and self.proving.done():
            self.proving.result()
            self.bound = max(self.bound, self.proof.bound)
            if self.proof.device is not None:
                self._take(*self._value(self.proof.device), self.proof.device)
            self.proof = None

    def _round(
        self,
        jobs: list[tuple[Chain, Ints]],
        first: float,
        last: float,
        hot: list[float],
        pool: ThreadPoolExecutor,
    ) -> None:
        batch = 40 if self.in_lists else (4000 if self.objective == "throughput" else 200)
        if self.steps is not None:  # whether loops are compiled makes no difference to when it cools down
            batch = max(40, self.steps // _COOLINGS)
        if self.objective == "step_time":
            batch = max(2, min(batch, _BATCH // self.problem.node_count))
        for chain, start in jobs:
            chain.begin(start)
        scale = self.found.value if 0 < self.found.value < math.inf else 1.0
        while (now := self._fraction()) < last and not self.is_proved:
            part = (now - first) / (last - first)
            heats = [scale * one * (COLD / one) ** part for one in hot]
            if self.steps is not None:
                batch = max(1, min(batch, math.ceil(last * self.steps / CHAINS - self.done / CHAINS)))
            if self.in_lists:
                for (chain, _), heat in zip(jobs, heats):
                    chain.go(heat, batch)
            else:
                for future in [pool.submit(chain.go, heat, batch) for (chain, _), heat in zip(jobs, heats)]:
                    future.result()
            self.done += batch * CHAINS
            if self.steps is None:  # the clock is looked at some 20 times a second
                took = self._fraction() - now
                batch = max(1, int(batch * min(2.0, max(0.1, 0.05 / self.seconds / max(took, 1e-9)))))
            for chain, _ in jobs:
                self._take(*chain.best, chain.state.best_device)
            self._hear_of_the_proof()
            self._report()

    def _report(self) -> None:
        if self.report is not None:
            self.report(min(1.0, self._fraction()))

    def _fraction(self) -> float:
        if self.steps is not None:
            return self.done / self.steps
        return (time.perf_counter() - self.start) / self.seconds

    def _take(self, missing: float, value: float, device: Any) -> None:
        if (missing, value) < self.found[:2] and value < math.inf:
            self.found = Found(missing, value, np.array(device, np.int64))

    @property
    def used(self) -> float:
        """Of the budget, which part."""
        return self._fraction()

    def value(self, device: Ints) -> float:
        """The objective of a split.

        Args:
            device: ``[groups]``.
        """
        return Chain(self.ground).value(device)

    def _value(self, device: Ints) -> tuple[float, float]:
        """(memory that is missing, objective) of a split of groups."""
        used = np.bincount(device, self.arrays.sizes, len(self.problem.devices))
        missing = float(np.maximum(used - self.arrays.rooms, 0).sum())
        return missing, self.value(device)
