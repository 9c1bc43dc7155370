"""Annealing chains, in which each split changes the previous one, and the arrays and functions they work on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.advisor import block_latency, bounds, pipeline_load, step_time
from gpuplace.advisor.network import blocks_of, network_of
from gpuplace.advisor.problem import Ints, Problem
from gpuplace.advisor.records import Blocks, BlockWork, LoadState, Network
from gpuplace.advisor.step_arrays import new_step_work, step_of
from gpuplace.numerics.compiled.arrays import as_lists
from gpuplace.numerics.compiled.functions import Compilation, can_compile, compiled_functions
from gpuplace.progress import waiting

_QUANTILES = -np.log((np.arange(4096) + 0.5) / 4096)
"""Quantiles of the exponential distribution."""
_POLL = 0.05
"""Seconds between two polls of the compiling processes."""


def functions_to_compile(objective: str, is_countable: bool) -> list[list[Any]]:
    """Return the functions that a search calls; those in one list are compiled from the same sources, in one process.

    Args:
        objective: as for ``solve``.
        is_countable: whether all splits are enumerated.
    """
    search: Any
    first: list[Any] = [pipeline_load.spans, pipeline_load.divide]
    if objective == "throughput":
        return [[*first, pipeline_load.try_all_loads if is_countable else pipeline_load.anneal_loads]]
    if objective == "latency":
        search = block_latency.try_all_latencies if is_countable else block_latency.anneal_latency
        return [[search, block_latency.latency, *first]]
    search = step_time.try_all_steps if is_countable else step_time.anneal_steps
    return [[search, step_time.step_time], [bounds.earliest_ends, bounds.shortest_rests, *first]]


def prepare(objective: str, is_countable: bool, meanwhile: Callable[[], None] | None = None) -> float:
    """Compile the functions of a search, which takes several seconds, once per machine.

    Args:
        objective: as for ``solve``.
        is_countable: whether all splits are enumerated.
        meanwhile: function that is called repeatedly until the compilation is done.

    Returns:
        Seconds that it took; 0 if they were compiled already, or numba is not installed.
    """
    if not can_compile():
        return 0.0
    begin = time.perf_counter()
    compilation = Compilation(functions_to_compile(objective, is_countable))
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


class SearchContext:
    """A problem as arrays, with the functions that evaluate and change its splits.

    Args:
        problem: nodes, edges and devices.
        objective: as for ``solve``.
        is_compiled: whether to compile the functions, if numba is installed.
    """

    def __init__(self, problem: Problem, objective: str, is_compiled: bool) -> None:
        self.problem, self.objective = problem, objective
        self.arrays = network_of(problem)
        self.block_arrays = blocks_of(problem) if objective == "latency" else None
        self.step_arrays = step_of(problem) if objective == "step_time" else None
        modules: Any = pipeline_load, block_latency, step_time, bounds
        chosen = [compiled_functions(module) for module in modules] if is_compiled else modules
        self.in_lists = chosen[0] is pipeline_load
        self.pipeline_load, self.block_latency, self.step_time, self.bounds = chosen
        self.net: Any = self.packed(self.arrays)
        self.blocks: Any = self.packed(self.block_arrays)
        self.step: Any = self.packed(self.step_arrays)

    def packed(self, record: Any) -> Any:
        """Return a record in the form that the functions take.

        Args:
            record: record of arrays, or None.
        """
        if record is None:
            return None
        if self.in_lists:
            return as_lists(record)
        from gpuplace.numerics.compiled.record_types import Packed

        return Packed(record)


class Chain:
    """A chain of splits, each a change of the previous one.

    Args:
        context: the problem and its functions.
        random_state: seed: two integers from 1 to 2,000,000,000.
    """

    def __init__(self, context: SearchContext, random_state: Sequence[int] = (1, 1)) -> None:
        self.context = context
        # The total work counts a little; otherwise changes away from the critical path would not matter.
        state = new_state(context.arrays, 0.02 if context.objective == "latency" else 0.005, random_state)
        work: Any = None
        if context.block_arrays is not None:
            work = new_work(context.block_arrays)
        if context.step_arrays is not None:
            work = new_step_work(context.step_arrays)
        self.state: Any = as_lists(state) if context.in_lists else state
        self.packed: Any = self.state if context.in_lists else context.packed(state)
        """The state in the form that the functions take."""
        self.work: Any = context.packed(work)

    @property
    def best(self) -> tuple[float, float]:
        """(missing memory, objective) of the best split of this chain since `begin`."""
        return float(self.state.best[1]), float(self.state.best[0])

    def begin(self, device: Ints) -> None:
        """Restart from a split.

        Args:
            device: ``[groups]`` device of each.
        """
        self.state.device[:] = device.tolist() if self.context.in_lists else device
        self.state.best[0] = self.state.best[1] = math.inf

    def go(self, heat: float, steps: int) -> None:
        """Try changes at a temperature.

        Args:
            heat: temperature, in the unit of the objective.
            steps: number of changes to try.
        """
        context, state, work = self.context, self.packed, self.work
        if context.objective == "throughput":
            context.pipeline_load.anneal_loads(context.net, state, heat, steps)
        elif context.objective == "latency":
            context.block_latency.anneal_latency(context.net, context.blocks, state, work, heat, steps)
        else:
            context.step_time.anneal_steps(context.net, context.step, state, work, heat, steps)

    def try_all(self, count: int) -> int:
        """Evaluate the next splits in the enumeration of all splits.

        Args:
            count: number of splits.

        Returns:
            The number of splits evaluated; less than ``count`` at the end.
        """
        context, state = self.context, self.packed
        if context.objective == "throughput":
            return int(context.pipeline_load.try_all_loads(context.net, state, count))
        if context.objective == "latency":
            tried = context.block_latency.try_all_latencies(
                context.net, context.blocks, state, self.work, count
            )
        else:
            tried = context.step_time.try_all_steps(context.net, context.step, state, self.work, count)
        return int(tried)

    def value(self, device: Ints) -> float:
        """Return the objective of a split.

        Args:
            device: ``[groups]`` device of each.
        """
        state, context = self.state, self.context
        self.begin(device)
        if context.objective == "latency":
            return float(context.block_latency.latency(context.blocks, state.device, self.work, state.total))
        if context.objective == "step_time":
            return float(context.step_time.step_time(context.step, state.device, self.work, math.inf))
        context.pipeline_load.recompute_loads(context.net, self.packed)
        return float(max(state.load))


def new_state(net: Network, weight: float, random_state: Sequence[int] = (1, 1)) -> LoadState:
    """Return an empty chain state.

    Args:
        net: network of the problem.
        weight: weight of the total work relative to the objective.
        random_state: seed: two integers from 1 to 2,000,000,000.
    """
    groups, devices, tensors = len(net.sizes), net.device_count, len(net.cost)
    place = _zeros(groups)
    place[net.order] = np.arange(groups)
    return LoadState(
        _zeros(groups),
        _zeros(tensors * devices),
        _zeros(tensors),
        np.zeros(devices),
        np.zeros(devices),
        _zeros(groups + 2),
        _zeros(groups + 2),
        _zeros(groups + 2),
        _zeros(groups + 1),
        np.full(2, math.inf),
        _zeros(groups),
        np.zeros(1),
        weight,
        place,
        max(2, min(groups // 4, 256)),
        np.array(random_state, np.int64),
        _QUANTILES,
    )


def new_work(blocks: Blocks) -> BlockWork:
    """Return scratch space to compute a latency.

    Args:
        blocks: blocks of the problem.
    """
    nodes, devices = blocks.node_count, blocks.device_count
    return BlockWork(
        _zeros(nodes * devices),
        _zeros(nodes),
        np.zeros(nodes),
        np.zeros(nodes),
        _zeros(nodes),
        _zeros(nodes),
        _zeros(nodes),
        _zeros(nodes),
        _zeros(devices * (nodes + 1)) - 1,
        _zeros(nodes),
    )


def _zeros(size: int) -> Ints:
    return np.zeros(size, np.int64)
