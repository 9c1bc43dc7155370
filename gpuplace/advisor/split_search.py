"""Search of one problem: initial splits, then simulated annealing from the best of them.

Two chains run side by side, in two threads if their functions are compiled, and meet after every round: the next round
begins from the best split, or from another initial one. If HiGHS is installed, it tries at the same time to prove that
no split has a smaller largest load. With ``steps`` instead of ``seconds``, nothing depends on the time.
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
from gpuplace.advisor.chains import Chain, SearchContext, prepare
from gpuplace.advisor.divisions import best_division, down_sets, likeness, prefixes
from gpuplace.advisor.exact import Proof, can_prove
from gpuplace.advisor.network import orders
from gpuplace.advisor.placers import Costs, heft, m_etf
from gpuplace.advisor.problem import Ints, Problem, group_seconds
from gpuplace.advisor.records import Lattice
from gpuplace.errors import InvalidArgumentError
from gpuplace.typing import Array

OBJECTIVES = ("throughput", "latency", "step_time")
CHAINS = 2
ROUNDS = 6
SAME = 1e-6
"""Relative difference below which objectives count as equal."""
HOT = (0.02, 0.1)
"""Temperature of each chain at the start of a round, relative to the best objective."""
WARM = (1e-4, 2e-3)
"""The same for the time of a step, which is too slow to compute to cool down from a higher temperature."""
_SOON = 32
"""Number of groups up to which ``HOTTER`` is affordable."""
HOTTER = (0.02, 0.2)
"""Temperatures at the start of every round for few groups, unless the objective is the time of a step."""
COLD = 2e-5
"""Temperature at the end of a round."""
_NEAR = 1.1
"""A chain may begin from another initial split whose objective is at most this multiple of the best."""
PLACERS: tuple[tuple[str, Callable[[Costs], list[int]]], ...] = (("HEFT", heft), ("ETF", m_etf))
"""List schedules to begin with."""
LISTED, LISTED_SECONDS, LISTED_PART = 40_000, 1e-5, 0.05
"""Limits of the list schedules: nodes times devices if no time is given; seconds for each of these; and the fraction of
the time that a schedule may take."""
_ALL = 100_000
"""Number of splits up to which all are evaluated, so that the best one is optimal."""
_SMALL = 20_000
"""Number of changes (times nodes, if each change needs them all) below which Python is faster than loading numba."""
_BATCH = 200_000
"""Changes times nodes that are tried before the first look at the clock."""
_COOLINGS = 2000
"""Approximate number of temperatures if steps are counted."""
_SWEPT = 0.4
"""Fraction of the time in which groups are moved one after another, before the annealing."""
_FEW_DEVICES = 4
"""Number of devices up to which a group is tried on each of them."""
_PIECES = 500
"""Maximum number of pieces that an order is cut into, for its best division."""
_DIVIDED = 100
"""Set differences per change up to which the best of all divisions is computed."""
_DIVIDED_SLOWLY, _DIVIDED_QUICKLY = 100_000, 7_000_000
"""The same per second, for interpreted and for compiled functions."""


def of_groups(problem: Problem, device_of: Any) -> Ints:
    """Return the device of each group.

    Args:
        problem: nodes and devices.
        device_of: ``[nodes]``: device of each node.

    Raises:
        InvalidArgumentError: Nodes of one group are on different devices, or a device does not exist.
    """
    chosen = np.asarray(device_of, np.int64)
    if chosen.shape != (problem.node_count,) or ((chosen < 0) | (chosen >= len(problem.devices))).any():
        raise InvalidArgumentError.of(
            f"The split must assign each of the {problem.node_count} nodes to one of the {len(problem.devices)} devices"
        )
    device = np.zeros(problem.group_count, np.int64)
    device[problem.groups] = chosen
    if (device[problem.groups] != chosen).any():
        apart = int(np.flatnonzero(device[problem.groups] != chosen)[0])
        raise InvalidArgumentError.of(
            f"The split separates node {problem.ids[apart]} from nodes that must stay on the same device"
        )
    return device


def check_objective(objective: str) -> None:
    """Raise an error for an unknown objective.

    Args:
        objective: as for ``solve``.

    Raises:
        InvalidArgumentError: The objective is unknown.
    """
    if objective not in OBJECTIVES:
        raise InvalidArgumentError.of(
            f"Unknown objective {objective!r}", hint="choose one of " + ", ".join(map(repr, OBJECTIVES))
        )


def check_numbers(seconds: float, steps: int | None, seed: int) -> None:
    """Raise InvalidArgumentError for a number out of range.

    Args:
        seconds, steps, seed: as for `solve`.
    """
    if not _is_number(seconds) or not 0 < seconds < math.inf:
        raise InvalidArgumentError.of(f"seconds must be a positive number; got {seconds!r}")
    if steps is not None and (not _is_number(steps) or not steps >= 1 or steps != int(steps)):
        raise InvalidArgumentError.of(f"steps must be a positive integer; got {steps!r}")
    if not _is_number(seed) or not seed >= 0 or seed != int(seed):
        raise InvalidArgumentError.of(f"seed must be a non-negative integer; got {seed!r}")


def _is_number(value: object) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def split_count(choices: Ints) -> float:
    """Return the number of splits, up to e to the power of 100.

    Args:
        choices: ``[groups]``: number of possible devices.
    """
    return float(np.exp(np.log(choices).sum().clip(max=100)))


def is_countable(splits: float, steps: int | None) -> bool:
    """Whether all splits are enumerated.

    Args:
        splits: number of splits.
        steps: as for ``solve``.
    """
    return splits < (_ALL if steps is None else min(_ALL, steps)) + 0.5


def is_compiled(objective: str, splits: float, nodes: int, steps: int | None) -> bool:
    """Whether compilation pays off: Python alone is fast enough for a small search.

    Args:
        objective: as for ``solve``.
        splits: number of splits.
        nodes: number of nodes.
        steps: as for ``solve``.
    """
    changes = splits if is_countable(splits, steps) else math.inf if steps is None else steps
    return changes * (1 if objective == "throughput" else nodes) >= _SMALL


class Split(NamedTuple):
    """A split of groups; the first two fields order splits, smaller being better."""

    missing: float
    """Missing memory."""
    value: float
    """The objective."""
    device: Ints
    """``[groups]`` device of each."""


class SearchOptions(NamedTuple):
    """Options of a search, as for ``solve``."""

    objective: str
    seconds: float
    steps: int | None
    seed: int
    use_numba: bool


class Searcher:
    """A search: its budget, its chains, and the best split so far.

    Args:
        problem: problem to search.
        options: objective, limits and seed.
        report: callback with the used fraction of the budget.
        initial_splits: initial splits of groups, by name.
        has_starts: whether to use other initial splits too.
    """

    def __init__(
        self,
        problem: Problem,
        options: SearchOptions,
        report: Callable[[float], None] | None,
        initial_splits: Mapping[str, Ints],
        has_starts: bool = True,
    ) -> None:
        self.problem = problem
        self.objective, self.seconds, self.steps, seed, use_numba = options
        objective, steps = self.objective, self.steps
        self.report, self.initial_splits, self.has_starts = report, initial_splits, has_starts
        self.starts: dict[str, Split] = {}
        """Initial splits by name."""
        possible = np.isfinite(group_seconds(problem)[:, [device.kind for device in problem.devices]]).sum(
            axis=1
        )
        splits = split_count(possible)
        self.is_countable = is_countable(splits, steps)
        compiles = use_numba and is_compiled(objective, splits, problem.node_count, steps)
        self.waited = prepare(objective, self.is_countable) if compiles else 0.0
        """Seconds of compilation, which do not count against the budget."""
        self.context = SearchContext(problem, objective, compiles)
        self.arrays, self.in_lists = self.context.arrays, self.context.in_lists
        self.random = np.random.default_rng(seed)
        self.bound = self._bound()
        self.best = Split(math.inf, math.inf, np.zeros(problem.group_count, np.int64))
        self.done = 0
        self.proof: Proof | None = None
        self.proving: Future[None] | None = None

    def _bound(self) -> float:
        step = self.context.step_arrays
        if step is None:
            return lower_bound(self.problem, self.objective)
        return step_bound(self.problem, self.context.step, self.context.bounds, self.in_lists)

    def begin(self, start: float) -> None:
        """Evaluate the initial splits.

        Args:
            start: start of the search by ``time.perf_counter``.
        """
        self.start = start
        self.ranked = self._starts()

    def go(self) -> None:
        """Search until the budget is used."""
        if not self._try_all():
            if self.objective == "step_time":
                self._sweep()
            with ThreadPoolExecutor(CHAINS + 1) as pool:
                self._rounds(self.ranked, pool)

    def consider(self, start: Ints, name: str) -> Split:
        """Evaluate a split, and keep it if it is the best.

        Args:
            start: ``[groups]`` device of each.
            name: name of the split.
        """
        split = self.starts[name] = Split(*self._value(start), start)
        self._keep_if_better(*split)
        self._report()
        return split

    # ---- initial splits

    def _starts(self) -> list[Ints]:
        """Return initial splits, the best first."""
        groups, devices = self.problem.group_count, len(self.problem.devices)
        runs = self.arrays.seconds.reshape(groups, devices)
        for name, start in self.initial_splits.items():
            self.consider(start, name)
        if not self.has_starts:
            return self._ranked()
        for device in range(devices):  # all on one device, the rest on its fastest
            if device == 0 or likeness(self.problem.devices[device]) != likeness(
                self.problem.devices[device - 1]
            ):
                name = f"all on {self.problem.devices[device].name}"
                self.consider(np.where(np.isinf(runs[:, device]), runs.argmin(axis=1), device), name)
        if self.objective == "step_time" and not self.initial_splits and self._may_list():
            costs = Costs(self.problem)
            for name, placer in PLACERS:
                self.consider(of_groups(self.problem, placer(costs)), name)
        is_step = self.objective == "step_time"
        is_slow = is_step or (self.in_lists and self.steps is None)
        if not is_step:
            self._divide(down_sets(self.problem, self._divided()), "contiguous")
        most = _PIECES // 8 if is_slow else _PIECES
        for number, order in enumerate(orders(self.problem, 2 if is_step else 4)):
            if self._fraction() > 0.15 and self.best.missing == 0:
                break
            self.consider(self._filled(order), f"filled {number}")
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
        """Return the initial splits, the best first; of splits with equal objectives, only one."""
        distinct: dict[tuple[str, str], Split] = {}
        for split in self.starts.values():
            distinct.setdefault((f"{split.missing:.9g}", f"{split.value:.9g}"), split)
        return [split.device for split in sorted(distinct.values(), key=lambda split: split[:2])]

    def _divided(self) -> int:
        """Return how much work finding the best division may take."""
        if self.steps is not None:  # reproducible, so independent of compilation
            return _DIVIDED * self.steps
        return int((_DIVIDED_SLOWLY if self.in_lists else _DIVIDED_QUICKLY) * self.seconds)

    def _divide(self, lattice: Lattice | None, name: str) -> None:
        """Evaluate the best division into set differences, if there is one."""
        if lattice is not None and (start := best_division(self.context, lattice)) is not None:
            self.consider(start, name)

    def _filled(self, order: Ints) -> Ints:
        """Fill one device after another up to its memory; the rest goes to the devices with the most free memory."""
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

    # ---- one group after another

    def _sweep(self) -> None:
        """Move one group after another, those with most work first, wherever that improves the split."""
        chain = Chain(self.context)
        work, device = chain.work, chain.state.device
        arrays, step_time = self.arrays, self.context.step_time.step_time
        devices = len(self.problem.devices)
        runs = arrays.seconds.reshape(-1, devices)
        is_pool = np.array([candidate.is_pool for candidate in self.problem.devices])
        least = runs.min(axis=1)
        order = np.argsort(-least, kind="stable")[: int((least > 0).sum())].tolist()
        until = self._fraction() + (1 - self._fraction()) * _SWEPT
        was_better = True
        chain.begin(self.best.device)
        used = np.bincount(self.best.device, arrays.sizes, devices)
        while was_better and self._fraction() < until and not self.is_proved:
            was_better = False
            for group in order:
                old = int(device[group])
                for other in self._elsewhere(group, runs[group], is_pool, used):
                    if other == old:
                        continue
                    limit = self.best.value if self.best.missing == 0 else math.inf
                    device[group] = other
                    value = step_time(self.context.step, device, work, limit)
                    device[group] = old
                    self.done += 1
                    after = used.copy()
                    after[old] -= arrays.sizes[group]
                    after[other] += arrays.sizes[group]
                    missing = float(np.maximum(after - arrays.rooms, 0).sum())
                    if (missing, value) < (self.best.missing, self.best.value * (1 - SAME)):
                        was_better = True
                        device[group] = old = other
                        used = after
                        self._keep_if_better(missing, value, device)
                if self._fraction() >= until or self.is_proved:
                    break
            self._report()

    def _elsewhere(self, group: int, runs: Array, is_pool: Array, used: Array) -> list[int]:
        """Return devices to try for a group: those of its neighbors and one more; a pool only if no GPU can run it."""
        possible = np.isfinite(runs)
        if (possible & ~is_pool).any():
            possible &= ~is_pool
        devices = np.flatnonzero(possible).tolist()
        if len(devices) <= _FEW_DEVICES:
            return devices
        begin, end = self.arrays.near_start[group], self.arrays.near_start[group + 1]
        near = set(self.best.device[self.arrays.near[begin:end]].tolist())
        near.add(devices[int(self.random.integers(len(devices)))])
        return [device for device in devices if device in near]

    # ---- all splits

    def _try_all(self) -> bool:
        """Evaluate every split of a small problem; return whether that was possible."""
        if not self.is_countable:
            return False
        runs = self.arrays.seconds.reshape(self.problem.group_count, -1)
        chain = Chain(self.context)
        chain.begin(np.isfinite(runs).argmax(axis=1))
        batch = 1000 if self.in_lists else 20_000
        is_last = False
        while not is_last and (self.steps is not None or self._fraction() < 0.9):
            tried = chain.try_all(batch)
            self.done += tried
            is_last = tried < batch
            self._keep_if_better(*chain.best, chain.state.best_device)
            self._report()
        if is_last and self.best.missing == 0:
            self.bound = self.best.value
        return is_last

    # ---- rounds

    def _rounds(self, starts: list[Ints], pool: ThreadPoolExecutor) -> None:
        chains = [
            Chain(self.context, self.random.integers(1, 2_000_000_000, 2).tolist()) for _ in range(CHAINS)
        ]
        begin = self._fraction()
        try:
            for number in range(ROUNDS):
                if self.is_proved:
                    return
                if number == 1 and self._may_prove():
                    self.proof = Proof(self.arrays, self.best.value, self.bound)
                    self.proving = pool.submit(self.proof.run, (1 - self._fraction()) * self.seconds)
                first = begin + (1 - begin) * number / ROUNDS
                last = begin + (1 - begin) * (number + 1) / ROUNDS
                near = self._near(starts)
                hot = self._hot(number)
                jobs = []
                for which, chain in enumerate(chains):
                    at = number * CHAINS + which
                    is_other = at % 2 and number < ROUNDS // 2
                    start = near[at // 2 % len(near)] if is_other else self.best.device
                    jobs.append((chain, start.copy()))
                self._round(jobs, first, last, hot, pool)
        finally:
            if self.proof is not None and self.proving is not None:
                self.proof.cancel()
                self.proving.result()
                self._use_proof()

    def _hot(self, number: int) -> list[float]:
        """Return the temperature of each chain at the start of a round."""
        is_soon = self.problem.group_count <= _SOON
        if is_soon and self.objective != "step_time":
            return list(HOTTER)
        hot = HOT if is_soon or self.objective != "step_time" else WARM
        return [heat if number < ROUNDS // 2 else heat / 4 for heat in hot]

    def _near(self, starts: list[Ints]) -> list[Ints]:
        """Return the initial splits that are worth another start."""
        if self.objective != "step_time":
            return starts
        most = _NEAR * self.best.value
        ranked = sorted(self.starts.values(), key=lambda split: split[:2])
        near = [split.device for split in ranked if not split.missing and split.value <= most]
        return near or [self.best.device]

    def _may_prove(self) -> bool:
        is_useful = self.steps is None and self.objective == "throughput" and self.best.missing == 0
        return is_useful and can_prove(self.arrays)

    @property
    def is_proved(self) -> bool:
        """Whether the best split so far is proved optimal."""
        return self.best.missing == 0 and self.best.value <= self.bound * (1 + SAME)

    def _use_proof(self) -> None:
        if self.proof is not None and self.proving is not None and self.proving.done():
            self.proving.result()
            self.bound = max(self.bound, self.proof.bound)
            if self.proof.device is not None:
                self._keep_if_better(*self._value(self.proof.device), self.proof.device)
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
        if self.steps is not None:  # reproducible, so independent of compilation to when it cools down
            batch = max(40, self.steps // _COOLINGS)  # the temperatures must not depend on compilation
        if self.objective == "step_time":
            batch = max(2, min(batch, _BATCH // self.problem.node_count))
        for chain, start in jobs:
            chain.begin(start)
        scale = self.best.value if 0 < self.best.value < math.inf else 1.0
        while (now := self._fraction()) < last and not self.is_proved:
            part = (now - first) / (last - first)
            heats = [scale * heat * (COLD / heat) ** part for heat in hot]
            if self.steps is not None:
                batch = max(1, min(batch, math.ceil(last * self.steps / CHAINS - self.done / CHAINS)))
            if self.in_lists:
                for (chain, _), heat in zip(jobs, heats):
                    chain.go(heat, batch)
            else:
                for future in [pool.submit(chain.go, heat, batch) for (chain, _), heat in zip(jobs, heats)]:
                    future.result()
            self.done += batch * CHAINS
            if self.steps is None:  # check the time about 20 times per second
                took = self._fraction() - now
                batch = max(1, int(batch * min(2.0, max(0.1, 0.05 / self.seconds / max(took, 1e-9)))))
            for chain, _ in jobs:
                self._keep_if_better(*chain.best, chain.state.best_device)
            self._use_proof()
            self._report()

    def _report(self) -> None:
        if self.report is not None:
            self.report(min(1.0, self._fraction()))

    def _fraction(self) -> float:
        if self.steps is not None:
            return self.done / self.steps
        return (time.perf_counter() - self.start) / self.seconds

    def _keep_if_better(self, missing: float, value: float, device: Any) -> None:
        if (missing, value) < self.best[:2] and value < math.inf:
            self.best = Split(missing, value, np.array(device, np.int64))

    @property
    def used(self) -> float:
        """Used fraction of the budget."""
        return self._fraction()

    def value(self, device: Ints) -> float:
        """Return the objective of a split.

        Args:
            device: ``[groups]`` device of each.
        """
        return Chain(self.context).value(device)

    def _value(self, device: Ints) -> tuple[float, float]:
        """Return (missing memory, objective) of a split of groups."""
        used = np.bincount(device, self.arrays.sizes, len(self.problem.devices))
        missing = float(np.maximum(used - self.arrays.rooms, 0).sum())
        return missing, self.value(device)
