"""Initial choices of a search: current devices, a single device, intervals of the step, other devices for variables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.exact import has_solver
from gpuplace.advisor.placers import Costs, favorite_children, heft, m_etf, m_topo
from gpuplace.advisor.problem import Problem
from gpuplace.advisor.steps.choice_scores import ChoiceScorer

Ints = NDArray[np.int64]


def first_choices(scorer: ChoiceScorer) -> Iterator[Ints]:
    """Yield [units] devices, -1 for units that stay; the simplest choices first.

    Args:
        scorer: step to evaluate.
    """
    units = len(scorer.units.names)
    machinery, placement = scorer.step.machinery, scorer.candidates.placement
    gpus = np.flatnonzero(machinery.is_gpu).tolist()
    cpus = [number for number, device in enumerate(placement.device_set) if device.device_type == "CPU"]
    yield np.full(units, -1, dtype=np.int64)
    yield units_at(scorer, scorer.candidates.default)
    kinds: dict[str, int] = {}
    for gpu in gpus:
        kinds.setdefault(machinery.models[gpu].name, gpu)
    for gpu in kinds.values():
        yield np.full(units, gpu, dtype=np.int64)
    for cpu in cpus[:1]:
        yield np.full(units, cpu, dtype=np.int64)
    order = unit_order(scorer)
    seconds, nbytes = unit_weights(scorer)
    for count in range(2, len(gpus) + 1):
        for weight in (seconds, nbytes):
            if weight.sum() > 0:
                yield intervals(order, weight, gpus[:count])


def homes_of_variables(scorer: ChoiceScorer, device_of: Ints) -> Iterator[Ints]:
    """Yield a choice with its variables on the CPU, on one GPU, or spread over GPUs by size.

    Args:
        scorer: step to evaluate.
        device_of: [units] devices.
    """
    units = scorer.units
    variables = np.flatnonzero(units.has_variable & units.is_free)
    gpus = np.flatnonzero(scorer.step.machinery.is_gpu)
    if not len(variables) or not len(gpus):
        return
    for device in (*gpus.tolist(), *np.flatnonzero(~scorer.step.machinery.is_gpu).tolist()[:1]):
        choice = device_of.copy()
        choice[variables] = device
        yield choice
    _, nbytes = unit_weights(scorer)
    choice = device_of.copy()
    load = np.zeros(len(gpus))
    for unit in sorted(variables.tolist(), key=lambda unit: (-nbytes[unit], unit)):
        least = int(load.argmin())
        choice[unit] = gpus[least]
        load[least] += nbytes[unit]
    yield choice


def units_at(scorer: ChoiceScorer, homes: Ints) -> Ints:
    """Return [units] the device with most of a unit's work.

    Args:
        scorer: step to evaluate.
        homes: [groups] devices.
    """
    step, units = scorer.step, scorer.units
    group = scorer.candidates.group[step.part.nodes]
    weight = (step.node_seconds + 1e-9) * np.where(scorer.candidates.is_free[group], 1.0, 1e-6)
    count = len(scorer.candidates.placement.device_set)
    pairs = units.of_group[group] * count + homes[group]
    table = np.bincount(pairs, weight, len(units.names) * count).reshape(-1, count)
    return table.argmax(axis=1).astype(np.int64)


def unit_order(scorer: ChoiceScorer) -> Ints:
    """Return the units in the order in which the step reaches them."""
    part = scorer.step.part
    unit = scorer.unit
    rank = np.full(len(scorer.units.names), len(unit), dtype=np.int64)
    heavy = scorer.step.node_seconds > 0
    ordered = part.graph.rank
    np.minimum.at(rank, unit[heavy], ordered[heavy])
    light = rank == len(unit)
    late = np.full(len(rank), -1, dtype=np.int64)
    np.maximum.at(late, unit, ordered)
    rank[light] = late[light]
    return np.argsort(rank, kind="stable").astype(np.int64)


def unit_weights(scorer: ChoiceScorer) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return [units] seconds on the current devices, and bytes of variables and outputs."""
    count = len(scorer.units.names)
    seconds = np.bincount(scorer.unit, scorer.step.node_seconds, count).astype(np.float64)
    return seconds, scorer.unit_bytes()


def intervals(order: Ints, weight: NDArray[np.float64], devices: list[int]) -> Ints:
    """Return [units] devices for an order that is cut into intervals of equal weight, one per device.

    Args:
        order: units.
        weight: [units].
        devices: devices of the intervals.
    """
    reached = np.cumsum(weight[order])
    part = np.minimum((reached - weight[order] / 2) * len(devices) / reached[-1], len(devices) - 1)
    result = np.zeros(len(order), dtype=np.int64)
    result[order] = np.array(devices, dtype=np.int64)[part.astype(np.int64)]
    return result


_SCHEDULED = 40_000
"""Nodes times devices up to which placers run if no time is given."""
_CHOICE_SECONDS = 1e-5
"""Approximate seconds of a placer for one node and device, before any has run."""


def published_choices(problems: Sequence[Problem], seconds: float | None) -> Iterator[Ints]:
    """Yield [nodes] devices by one published placer after another.

    Args:
        problems: the step in numbers, with coarser and finer groups.
        seconds: time limit for all placers; None for no limit if the step is small.
    """
    begin = time.perf_counter()
    size = problems[0].node_count * len(problems[0].devices)
    if size > _SCHEDULED if seconds is None else size * _CHOICE_SECONDS > seconds:
        return
    costs = [Costs(problem) for problem in problems]
    placers: list[Callable[[Costs], list[int]]] = [m_topo, heft, m_etf]
    if seconds is not None and has_solver():
        placers.append(partial(_m_sct, seconds / 2))
    slowest = 0.0
    for placer in placers:
        for cost in costs:
            now = time.perf_counter()
            if seconds is not None and now - begin + slowest > seconds:
                return
            yield np.array(placer(cost), dtype=np.int64)
            slowest = max(slowest, time.perf_counter() - now)


def _m_sct(seconds: float, costs: Costs) -> list[int]:
    """Run m-SCT with a time limit for its linear program."""
    return m_etf(costs, favorite_children(costs, seconds))
