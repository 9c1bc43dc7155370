"""Chains of splits, each a change of the one before, and what they stand on: a problem as arrays, and its loops."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.advisor import bounds, latency_loops, load_loops, step_time
from gpuplace.advisor.network import blocks_of, network_of
from gpuplace.advisor.problem import Ints, Problem
from gpuplace.advisor.records import Blocks, BlockWork, LoadState, Network
from gpuplace.advisor.step_arrays import new_step_work, step_of
from gpuplace.numerics.compiled.arrays import as_lists
from gpuplace.numerics.compiled.functions import Compilation, can_compile, compiled_functions
from gpuplace.progress import waiting

_QUANTILES = -np.log((np.arange(4096) + 0.5) / 4096)
"""Of exponential numbers."""
_POLL = 0.05
"""Seconds between two looks at those that compile."""


def loops_of(objective: str, is_countable: bool) -> list[list[Any]]:
    """The loops that a search calls, those that are compiled from the same together.

    Args:
        objective: of ``solve``.
        is_countable: whether all splits are tried.
    """
    search: Any
    first: list[Any] = [load_loops.spans, load_loops.divide]
    if objective == "throughput":
        return [[*first, load_loops.try_all_loads if is_countable else load_loops.anneal_loads]]
    if objective == "latency":
        search = latency_loops.try_all_latencies if is_countable else latency_loops.anneal_latency
        return [[search, latency_loops.latency, *first]]
    search = step_time.try_all_steps if is_countable else step_time.anneal_steps
    return [[search, step_time.step_time], [bounds.earliest_ends, bounds.shortest_rests, *first]]


def prepare(objective: str, is_countable: bool, meanwhile: Callable[[], None] | None = None) -> float:
    """Has the loops of a search compiled, which takes some seconds, once for a machine.

    Args:
        objective: of ``solve``.
        is_countable: whether all splits are tried.
        meanwhile: called again and again until that is done.

    Returns:
        How many seconds it took; 0 where they had been compiled before, or numba is not there.
    """
    if not can_compile():
        return 0.0
    begin = time.perf_counter()
    compilation = Compilation(loops_of(objective, is_countable))
    if not compilation.is_needed:
        return 0.0
    with waiting("compiling the search, once for this machine") as tell:
        while not compilation.is_over():
            tell()
            if meanwhile is not None:
                meanwhile()
            time.sleep(_POLL)
        compilation.finish()
    return time.perf_counter() - begin


class Ground:
    """A problem as its loops walk over it.

    Args:
        problem: nodes, edges and devices.
        objective: of ``solve``.
        is_compiled: whether the loops are to be compiled, where numba is there.
    """

    def __init__(self, problem: Problem, objective: str, is_compiled: bool) -> None:
        self.problem, self.objective = problem, objective
        self.arrays = network_of(problem)
        self.block_arrays = blocks_of(problem) if objective == "latency" else None
        self.step_arrays = step_of(problem) if objective == "step_time" else None
        modules: Any = load_loops, latency_loops, step_time, bounds
        chosen = [compiled_functions(module) for module in modules] if is_compiled else modules
        self.in_lists = chosen[0] is load_loops
        self.load_loops, self.latency_loops, self.step_time, self.bounds = chosen
        self.net: Any = self.walked(self.arrays)
        self.blocks: Any = self.walked(self.block_arrays)
        self.step: Any = self.walked(self.step_arrays)

    def walked(self, record: Any) -> Any:
        """A record in the form that the loops take.

        Args:
            record: of arrays, or of lists where the loops run as they stand; None stays None.
        """
        if record is None:
            return None
        if self.in_lists:
            return as_lists(record)
        from gpuplace.numerics.compiled.record_types import Packed

        return Packed(record)


class Chain:
    """One chain of splits, each a change of the one before.

    Args:
        ground: what it goes over.
        chance: two whole numbers from 1 to 2,000,000,000, from which its chances follow.
    """

    def __init__(self, ground: Ground, chance: Sequence[int] = (1, 1)) -> None:
        self.ground = ground
        # What all blocks take one after the other counts a little, or a change away from the longest way says nothing.
        state = new_state(ground.arrays, 0.02 if ground.objective == "latency" else 0.005, chance)
        work: Any = None
        if ground.block_arrays is not None:
            work = new_work(ground.block_arrays)
        if ground.step_arrays is not None:
            work = new_step_work(ground.step_arrays)
        self.state: Any = as_lists(state) if ground.in_lists else state
        self.walked: Any = self.state if ground.in_lists else ground.walked(state)
        """The state, as the loops take it."""
        self.work: Any = ground.walked(work)

    @property
    def best(self) -> tuple[float, float]:
        """(memory that is missing, objective) of the best split of this chain since `begin`."""
        return float(self.state.best[1]), float(self.state.best[0])

    def begin(self, device: Ints) -> None:
        """Starts again from a split.

        Args:
            device: ``[groups]``.
        """
        self.state.device[:] = device.tolist() if self.ground.in_lists else device
        self.state.best[0] = self.state.best[1] = math.inf

    def go(self, heat: float, steps: int) -> None:
        """Goes on.

        Args:
            heat: the temperature, in the unit of the objective.
            steps: how many changes to try.
        """
        ground, state, work = self.ground, self.walked, self.work
        if ground.objective == "throughput":
            ground.load_loops.anneal_loads(ground.net, state, heat, steps)
        elif ground.objective == "latency":
            ground.latency_loops.anneal_latency(ground.net, ground.blocks, state, work, heat, steps)
        else:
            ground.step_time.anneal_steps(ground.net, ground.step, state, work, heat, steps)

    def try_all(self, count: int) -> int:
        """Tries the next splits of all.

        Args:
            count: how many.

        Returns:
            How many there still were.
        """
        ground, state = self.ground, self.walked
        if ground.objective == "throughput":
            return int(ground.load_loops.try_all_loads(ground.net, state, count))
        if ground.objective == "latency":
            tried = ground.latency_loops.try_all_latencies(ground.net, ground.blocks, state, self.work, count)
        else:
            tried = ground.step_time.try_all_steps(ground.net, ground.step, state, self.work, count)
        return int(tried)

    def value(self, device: Ints) -> float:
        """The objective of a split.

        Args:
            device: ``[groups]``.
        """
        state, ground = self.state, self.ground
        self.begin(device)
        if ground.objective == "latency":
            return float(ground.latency_loops.latency(ground.blocks, state.device, self.work, state.total))
        if ground.objective == "step_time":
            return float(ground.step_time.step_time(ground.step, state.device, self.work, math.inf))
        ground.load_loops.tally(ground.net, self.walked)
        return float(max(state.load))


def new_state(net: Network, weight: float, chance: Sequence[int] = (1, 1)) -> LoadState:
    """What a chain has in its hands, not yet filled.

    Args:
        net: of the problem.
        weight: how much all that is done counts beside the objective.
        chance: two whole numbers from 1 to 2,000,000,000, from which its chances follow.
    """
    groups, devices, tensors = len(net.sizes), net.device_count, len(net.cost)
    place = _whole(groups)
    place[net.order] = np.arange(groups)
    return LoadState(
        _whole(groups),
        _whole(tensors * devices),
        _whole(tensors),
        np.zeros(devices),
        np.zeros(devices),
        _whole(groups + 2),
        _whole(groups + 2),
        _whole(groups + 2),
        _whole(groups + 1),
        np.full(2, math.inf),
        _whole(groups),
        np.zeros(1),
        weight,
        place,
        max(2, min(groups // 4, 256)),
        np.array(chance, np.int64),
        _QUANTILES,
    )


def new_work(blocks: Blocks) -> BlockWork:
    """Room to compute a latency in.

    Args:
        blocks: of the problem.
    """
    nodes, devices = blocks.node_count, blocks.device_count
    return BlockWork(
        _whole(nodes * devices),
        _whole(nodes),
        np.zeros(nodes),
        np.zeros(nodes),
        _whole(nodes),
        _whole(nodes),
        _whole(nodes),
        _whole(nodes),
        _whole(devices * (nodes + 1)) - 1,
        _whole(nodes),
    )


def _whole(size: int) -> Ints:
    return np.zeros(size, np.int64)
