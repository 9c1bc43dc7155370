"""The search: splits to begin with, then simulated annealing from the best of them, until the time is over.

Two chains go side by side, each in a thread of its own where their loops are compiled, and meet after every round: the
next begins from the best that was found, or from another of the first splits. Where HiGHS is installed it tries to
prove meanwhile that no split has a smaller largest load. With ``steps`` in place of ``seconds`` nothing depends on the
clock.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from gpuplace.advise import loops
from gpuplace.advise.bounds import lower_bound
from gpuplace.advise.exact import Proof, can_prove
from gpuplace.advise.network import Blocks, Network, as_lists, blocks_of, network_of, orders
from gpuplace.advise.problem import Ints, Problem
from gpuplace.errors import InvalidArgumentError, ResourceExhaustedError
from gpuplace.numerics.compiled.dispatch import compiled_module

CHAINS = 2
ROUNDS = 6
SAME = 1e-6
"""Objectives that differ by less than this part count as the same."""
HOT, COLD = (0.02, 0.1), 2e-5
"""Temperatures at the beginning of a round, of each chain, and at its end, as parts of the best objective."""
_ALL = 100_000
"""Where there are no more splits than these, all are tried: the best of them is the best possible."""
_SMALL = 20_000
"""Below so many changes, times nodes where each needs them all, Python is done before numba is loaded."""
_PIECES = 500
"""The most pieces that an order is cut into, for the best division of it."""


class LoadState(NamedTuple):
    """What a chain has in its hands; arrays, or lists of the same numbers, as ``loops`` describes them."""

    device: Any
    count: Any
    elsewhere: Any
    load: Any
    used: Any
    moved: Any
    to: Any
    back: Any
    mark: Any
    best: Any
    best_device: Any
    total: Any
    weight: float


class BlockWork(NamedTuple):
    """Room to compute a latency in."""

    turns: Any
    block: Any
    ready: Any
    busy: Any
    waits: Any
    head: Any
    following: Any
    last: Any
    table: Any
    queue: Any


@dataclass(frozen=True)
class Progress:
    """How far a search is."""

    fraction: float
    """Of its time, or of its steps."""
    objective: float
    """The best so far; infinite as long as none fits into memory."""
    bound: float
    """What no split is below."""


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
    """How long it took."""
    steps: int
    """How many changes were tried."""
    was_stopped: bool
    """Whether Ctrl-C ended it early."""

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
) -> Solution:
    """The best split that is found in a time.

    Args:
        problem: one that ``checked`` let pass.
        objective: "throughput": the largest load of a device, which is the time between two steps of a pipeline;
            "latency": the time of one step.
        seconds: how long to search, without the time that numba takes to compile its loops, once for a machine.
        steps: how many changes to try, in place of a time; the same number and seed give the same split.
        seed: of the search's chances, from 0 on.
        progress: called from time to time.
        use_numba: whether the loops may be compiled; the splits are the same, later.

    Raises:
        InvalidArgumentError: the objective is unknown, or a number is out of its range.
        ResourceExhaustedError: no split was found that fits into memory, with how much is missing.
    """
    searcher = _Searcher(problem, objective, seconds, steps, seed, progress, use_numba)
    return searcher.run()


def evaluate(problem: Problem, objective: str, device_of: Any) -> float:
    """What a split comes to.

    Args:
        problem: nodes and devices.
        objective: as for ``solve``.
        device_of: ``[nodes]``: index of each node's device.

    Raises:
        InvalidArgumentError: the objective is unknown, or nodes that must be together are not.
    """
    _check(objective)
    device = np.zeros(problem.group_count, np.int64)
    device[problem.groups] = device_of
    if (device[problem.groups] != device_of).any():
        apart = int(np.flatnonzero(device[problem.groups] != device_of)[0])
        raise InvalidArgumentError.of(
            f"The split has node {problem.ids[apart]} apart from others of its class"
        )
    net = network_of(problem)
    state = _new_state(net, 0.0)
    if objective == "latency":
        blocks = blocks_of(problem)
        return float(loops.latency(as_lists(blocks), device.tolist(), _new_work(blocks, True), [0.0]))
    loops.tally(
        as_lists(net), device.tolist(), state.count.tolist(), state.elsewhere.tolist(), state.load, state.used
    )
    return float(state.load.max())


def _check(objective: str) -> None:
    if objective not in ("throughput", "latency"):
        raise InvalidArgumentError.of(
            f"There is no objective {objective!r}", hint="'throughput' or 'latency'"
        )


class _Found(NamedTuple):
    """A split of groups; of two, the one that comes first when sorted by the first two is better."""

    missing: float
    """How much memory is too small."""
    value: float
    """The objective."""
    device: Ints
    """``[groups]``."""


class _Searcher:
    """One search: its budget, its chains, and the best split so far."""

    def __init__(
        self,
        problem: Problem,
        objective: str,
        seconds: float,
        steps: int | None,
        seed: int,
        progress: Callable[[Progress], None] | None,
        use_numba: bool,
    ) -> None:
        _check(objective)
        if not 0 < seconds < math.inf:
            raise InvalidArgumentError.of(f"seconds is {seconds}, not a number above 0")
        if steps is not None and steps < 1:
            raise InvalidArgumentError.of(f"steps is {steps}, not a whole number above 0")
        if seed < 0:
            raise InvalidArgumentError.of(f"seed is {seed}, not a whole number from 0 on")
        self.problem, self.objective, self.seconds, self.steps = problem, objective, seconds, steps
        self.progress = progress
        self.arrays = network_of(problem)
        self.block_arrays = blocks_of(problem) if objective == "latency" else None
        possible = np.isfinite(self.arrays.seconds.reshape(problem.group_count, -1)).sum(axis=1)
        splits = float(np.exp(np.log(possible).sum().clip(max=100)))
        self.is_countable = splits < (_ALL if steps is None else min(_ALL, steps)) + 0.5
        changes = splits if self.is_countable else math.inf if steps is None else steps
        is_small = changes * (problem.node_count if objective == "latency" else 1) < _SMALL
        self.loops = compiled_module(loops) if use_numba and not is_small else loops
        self.in_lists = self.loops is loops
        self.net: Any = as_lists(self.arrays) if self.in_lists else self.arrays
        self.blocks: Any = (
            as_lists(self.block_arrays) if self.in_lists and self.block_arrays else self.block_arrays
        )
        quantiles = -np.log((np.arange(4096) + 0.5) / 4096)
        self.patience: Any = quantiles.tolist() if self.in_lists else quantiles
        self.random = np.random.default_rng(seed)
        self.bound = lower_bound(problem, objective)
        self.found = _Found(math.inf, math.inf, np.zeros(problem.group_count, np.int64))
        self.done = 0
        self.proof: Proof | None = None
        self.proving: Future[None] | None = None

    def run(self) -> Solution:
        if not self.in_lists:
            self._warm_up()
        self.start = time.perf_counter()
        was_stopped = False
        try:
            starts = self._starts()
            if not self._try_all():
                with ThreadPoolExecutor(CHAINS + 1) as pool:
                    self._rounds(starts, pool)
        except KeyboardInterrupt:
            was_stopped = True
            if self.found.value == math.inf:
                raise
        if self.found.missing > 0:
            raise ResourceExhaustedError.of(
                "No split was found that fits into the devices' memory: the best of them lacks "
                f"{self.found.missing:g}",
                hint="more time, more devices, or devices with more memory",
            )
        device_of = self.found.device[self.problem.groups]
        value = evaluate(self.problem, self.objective, device_of)
        took = time.perf_counter() - self.start
        return Solution(
            self.problem,
            self.objective,
            tuple(device_of.tolist()),
            value,
            self.bound,
            took,
            self.done,
            was_stopped,
        )

    def _warm_up(self) -> None:
        """Compiles the loops, or reads them from numba's cache, before the clock runs."""
        chain = _Chain(self, [1, 1])
        chain.begin(self.found.device)
        chain.go(1.0, 0)
        chain.try_all(0)
        self._divisions(self.arrays.order, np.array([0, 1], np.int64))

    # ---- first splits

    def _starts(self) -> list[Ints]:
        """Splits to begin with, the best first."""
        groups, devices = self.problem.group_count, len(self.problem.devices)
        runs = self.arrays.seconds.reshape(groups, devices)
        found: list[tuple[float, float, int, Ints]] = []

        def meet(start: Ints) -> None:
            missing, value = self._value(start)
            self._take(missing, value, start)
            found.append((missing, value, len(found), start))
            self._report()

        for device in range(devices):  # all on one, the rest where it is quickest
            if not self._is_like_the_one_before(device):
                meet(np.where(np.isinf(runs[:, device]), runs.argmin(axis=1), device))
        most = _PIECES if self.steps is not None or not self.in_lists else _PIECES // 8
        for order in orders(self.problem):
            if self._fraction() > 0.15 and self.found.missing == 0:
                break
            meet(self._filled(order))
            cuts = np.unique(np.linspace(0, groups, min(groups, most) + 1).astype(np.int64))
            for start in self._divisions(order, cuts):
                meet(start)
        return [start for *_, start in sorted(found, key=lambda one: one[:3])]

    def _is_like_the_one_before(self, device: int) -> bool:
        if device == 0:
            return False
        one, other = self.problem.devices[device], self.problem.devices[device - 1]
        return _likeness(one) == _likeness(other)

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

    def _divisions(self, order: Ints, cuts: Ints) -> list[Ints]:
        """The best division of an order into one stretch a device."""
        kinds: dict[tuple[Any, ...], list[int]] = {}
        for at, one in enumerate(self.problem.devices):
            kinds.setdefault(_likeness(one), []).append(at)
        alike = list(kinds.values())
        pieces = len(cuts) - 1
        states = math.prod(len(members) + 1 for members in alike)
        if states * pieces * pieces > 30_000_000 or len(self.problem.devices) < 2:
            return []
        state = _new_state(self.arrays, 0.0)
        loads = []
        room = 1 if self.in_lists else 0
        for members in alike:
            load, size = np.full(pieces * pieces, math.inf), np.zeros(pieces * pieces)
            other = next(at for at in range(len(self.problem.devices)) if at != members[0])
            arguments = (order, cuts), (load, size)
            if room:
                lists = [part.tolist() for pair in arguments for part in pair]
                self.loops.spans(self.net, *lists[:2], members[0], other, _lists(state), *lists[2:])
                load = np.array(lists[2])
            else:
                self.loops.spans(self.arrays, order, cuts, members[0], other, state, load, size)
            loads.append(load)
        best = np.full(states * (pieces + 1), math.inf)
        choice = np.full(states * (pieces + 1), -1, np.int64)
        most = np.array([len(members) for members in alike], np.int64)
        is_sum = self.objective == "latency"
        if self.in_lists:
            written = best.tolist(), choice.tolist()
            self.loops.divide(
                pieces, len(alike), most.tolist(), np.concatenate(loads).tolist(), is_sum, *written
            )
            choice = np.array(written[1])
            best = np.array(written[0])
        else:
            self.loops.divide(pieces, len(alike), most, np.concatenate(loads), is_sum, best, choice)
        at, end = states - 1, pieces
        if best[at * (pieces + 1) + end] == math.inf:
            return []
        device = np.zeros(len(order), np.int64)
        left = [list(members) for members in alike]
        strides = np.cumprod([1, *(most + 1)])
        while end > 0:
            kind, begin = divmod(int(choice[at * (pieces + 1) + end]), pieces + 1)
            device[order[cuts[begin] : cuts[end]]] = left[kind].pop()
            at -= int(strides[kind])
            end = begin
        return [device]

    # ---- all splits

    def _try_all(self) -> bool:
        """Tries every split of a small problem; whether that was possible."""
        if not self.is_countable:
            return False
        runs = self.arrays.seconds.reshape(self.problem.group_count, -1)
        chain = _Chain(self, [1, 1])
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
        chains = [_Chain(self, self.random.integers(1, 2_000_000_000, 2).tolist()) for _ in range(CHAINS)]
        begin = self._fraction()
        try:
            for number in range(ROUNDS):
                if self._is_proved():
                    return
                if number == 1 and self._may_prove():
                    self.proof = Proof(self.arrays, self.found.value, self.bound)
                    self.proving = pool.submit(self.proof.run, (1 - self._fraction()) * self.seconds)
                first = begin + (1 - begin) * number / ROUNDS
                last = begin + (1 - begin) * (number + 1) / ROUNDS
                hot = [one if number < ROUNDS // 2 else one / 4 for one in HOT]
                jobs = []
                for which, chain in enumerate(chains):
                    at = number * CHAINS + which
                    is_other = at % 2 and number < ROUNDS // 2
                    start = starts[at // 2 % len(starts)] if is_other else self.found.device
                    jobs.append((chain, start.copy()))
                self._round(jobs, first, last, hot, pool)
        finally:
            if self.proof is not None and self.proving is not None:
                self.proof.cancel()
                self.proving.result()
                self._hear_of_the_proof()

    def _may_prove(self) -> bool:
        is_asked = self.steps is None and self.objective == "throughput" and self.found.missing == 0
        return is_asked and can_prove(self.arrays)

    def _is_proved(self) -> bool:
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
        jobs: list[tuple[_Chain, Ints]],
        first: float,
        last: float,
        hot: list[float],
        pool: ThreadPoolExecutor,
    ) -> None:
        batch = 40 if self.in_lists else (4000 if self.objective == "throughput" else 200)
        for chain, start in jobs:
            chain.begin(start)
        scale = self.found.value if 0 < self.found.value < math.inf else 1.0
        while (now := self._fraction()) < last and not self._is_proved():
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
        if self.progress is not None:
            value = self.found.value if self.found.missing == 0 else math.inf
            self.progress(Progress(min(1.0, self._fraction()), value, self.bound))

    def _fraction(self) -> float:
        if self.steps is not None:
            return self.done / self.steps
        return (time.perf_counter() - self.start) / self.seconds

    def _take(self, missing: float, value: float, device: Any) -> None:
        if (missing, value) < self.found[:2] and value < math.inf:
            self.found = _Found(missing, value, np.array(device, np.int64))

    def _value(self, device: Ints) -> tuple[float, float]:
        """(memory that is missing, objective) of a split of groups."""
        used = np.bincount(device, self.arrays.sizes, len(self.problem.devices))
        missing = float(np.maximum(used - self.arrays.rooms, 0).sum())
        chain = _Chain(self, [1, 1])
        return missing, chain.value(device)


class _Chain:
    """One chain of splits, each a change of the one before."""

    def __init__(self, searcher: _Searcher, chance: list[int]) -> None:
        self.searcher = searcher
        # What all blocks take one after the other counts a little, or a change away from the longest way says nothing.
        state = _new_state(searcher.arrays, 0.02)
        place = np.empty(searcher.problem.group_count, np.int64)
        place[searcher.arrays.order] = np.arange(len(place))
        self.reach = max(2, min(len(place) // 4, 256))
        self.work = _new_work(searcher.block_arrays, searcher.in_lists) if searcher.block_arrays else None
        if searcher.in_lists:
            self.state: Any = _lists(state)
            self.place: Any = place.tolist()
            self.chance: Any = list(chance)
        else:
            self.state, self.place, self.chance = state, place, np.array(chance, np.int64)

    @property
    def best(self) -> tuple[float, float]:
        """(memory that is missing, objective) of the best split of this chain since `begin`."""
        return float(self.state.best[1]), float(self.state.best[0])

    def begin(self, device: Ints) -> None:
        self.state.device[:] = device.tolist() if self.searcher.in_lists else device
        self.state.best[0] = self.state.best[1] = math.inf

    def go(self, heat: float, steps: int) -> None:
        searcher = self.searcher
        shared = self.place, self.reach, self.chance, searcher.patience, heat, steps
        if self.work is None:
            searcher.loops.anneal_loads(searcher.net, self.state, *shared)
        else:
            searcher.loops.anneal_latency(searcher.net, searcher.blocks, self.state, self.work, *shared)

    def try_all(self, count: int) -> int:
        """Tries the next splits of all; how many there still were."""
        searcher = self.searcher
        if self.work is None:
            return int(searcher.loops.try_all_loads(searcher.net, self.state, count))
        return int(
            searcher.loops.try_all_latencies(searcher.net, searcher.blocks, self.state, self.work, count)
        )

    def value(self, device: Ints) -> float:
        """The objective of a split of groups."""
        state, searcher = self.state, self.searcher
        self.begin(device)
        if self.work is not None:
            return float(searcher.loops.latency(searcher.blocks, state.device, self.work, state.total))
        searcher.loops.tally(searcher.net, state.device, state.count, state.elsewhere, state.load, state.used)
        return float(max(state.load))


def _likeness(device: Any) -> tuple[Any, ...]:
    return device.kind, device.memory, device.link, device.is_pool


def _new_state(net: Network, weight: float) -> LoadState:
    groups, devices, tensors = len(net.sizes), net.device_count, len(net.cost)

    def whole(size: int) -> Ints:
        return np.zeros(size, np.int64)

    return LoadState(
        whole(groups),
        whole(tensors * devices),
        whole(tensors),
        np.zeros(devices),
        np.zeros(devices),
        whole(groups + 2),
        whole(groups + 2),
        whole(groups + 2),
        whole(groups + 1),
        np.full(2, math.inf),
        whole(groups),
        np.zeros(1),
        weight,
    )


def _lists(state: Any) -> Any:
    return type(state)(*(value.tolist() if isinstance(value, np.ndarray) else value for value in state))


def _new_work(blocks: Blocks, in_lists: bool) -> Any:
    nodes, devices = blocks.node_count, blocks.device_count

    def whole(size: int) -> Ints:
        return np.zeros(size, np.int64)

    work = BlockWork(
        whole(nodes * devices),
        whole(nodes),
        np.zeros(nodes),
        np.zeros(nodes),
        whole(nodes),
        whole(nodes),
        whole(nodes),
        whole(nodes),
        whole(devices * (nodes + 1)) - 1,
        whole(nodes),
    )
    return _lists(work) if in_lists else work
