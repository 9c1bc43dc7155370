"""Choices to begin a search with: what is there, one device for all, stretches of the step, homes of variables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.exact import has_solver
from gpuplace.advisor.placers import Costs, earliest_first, favourite_children, heft, in_stretches
from gpuplace.advisor.problem import Problem
from gpuplace.advisor.steps.rehearsal import Rehearsal

Ints = NDArray[np.int64]


def first_choices(rehearsal: Rehearsal) -> Iterator[Ints]:
    """[units] devices, -1 for what is left alone; the plainest choices first.

    Args:
        rehearsal: of the step.
    """
    units = len(rehearsal.units.names)
    machinery, placement = rehearsal.step.machinery, rehearsal.freedom.placement
    gpus = np.flatnonzero(machinery.is_gpu).tolist()
    cpus = [number for number, device in enumerate(placement.device_set) if device.device_type == "CPU"]
    yield np.full(units, -1, dtype=np.int64)
    yield units_at(rehearsal, rehearsal.freedom.default)
    kinds: dict[str, int] = {}
    for gpu in gpus:
        kinds.setdefault(machinery.models[gpu].name, gpu)
    for gpu in kinds.values():
        yield np.full(units, gpu, dtype=np.int64)
    for cpu in cpus[:1]:
        yield np.full(units, cpu, dtype=np.int64)
    order = unit_order(rehearsal)
    seconds, nbytes = unit_weights(rehearsal)
    for count in range(2, len(gpus) + 1):
        for weight in (seconds, nbytes):
            if weight.sum() > 0:
                yield stretches(order, weight, gpus[:count])


def homes_of_variables(rehearsal: Rehearsal, device_of: Ints) -> Iterator[Ints]:
    """A choice with its variables elsewhere: on the CPU, on one GPU, spread by their size.

    Args:
        rehearsal: of the step.
        device_of: [units] devices.
    """
    units = rehearsal.units
    variables = np.flatnonzero(units.has_variable & units.is_free)
    gpus = np.flatnonzero(rehearsal.step.machinery.is_gpu)
    if not len(variables) or not len(gpus):
        return
    for device in (*gpus.tolist(), *np.flatnonzero(~rehearsal.step.machinery.is_gpu).tolist()[:1]):
        found = device_of.copy()
        found[variables] = device
        yield found
    _, nbytes = unit_weights(rehearsal)
    found = device_of.copy()
    load = np.zeros(len(gpus))
    for unit in sorted(variables.tolist(), key=lambda unit: (-nbytes[unit], unit)):
        least = int(load.argmin())
        found[unit] = gpus[least]
        load[least] += nbytes[unit]
    yield found


def units_at(rehearsal: Rehearsal, homes: Ints) -> Ints:
    """[units] the device that most of a unit's work is on.

    Args:
        rehearsal: of the step.
        homes: [groups] devices.
    """
    step, units = rehearsal.step, rehearsal.units
    group = rehearsal.freedom.group[step.part.nodes]
    weight = (step.node_seconds + 1e-9) * np.where(rehearsal.freedom.is_free[group], 1.0, 1e-6)
    count = len(rehearsal.freedom.placement.device_set)
    pairs = units.of_group[group] * count + homes[group]
    table = np.bincount(pairs, weight, len(units.names) * count).reshape(-1, count)
    return table.argmax(axis=1).astype(np.int64)


def unit_order(rehearsal: Rehearsal) -> Ints:
    """Units in the order in which the step comes to them."""
    part = rehearsal.step.part
    unit = rehearsal.unit
    rank = np.full(len(rehearsal.units.names), len(unit), dtype=np.int64)
    heavy = rehearsal.step.node_seconds > 0
    ordered = part.graph.rank
    np.minimum.at(rank, unit[heavy], ordered[heavy])
    light = rank == len(unit)
    late = np.full(len(rank), -1, dtype=np.int64)
    np.maximum.at(late, unit, ordered)
    rank[light] = late[light]
    return np.argsort(rank, kind="stable").astype(np.int64)


def unit_weights(rehearsal: Rehearsal) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """[units] seconds where they are now, and bytes that they keep and make."""
    count = len(rehearsal.units.names)
    seconds = np.bincount(rehearsal.unit, rehearsal.step.node_seconds, count).astype(np.float64)
    return seconds, rehearsal.unit_bytes()


def stretches(order: Ints, weight: NDArray[np.float64], devices: list[int]) -> Ints:
    """[units] the order cut into stretches of equal weight, one a device.

    Args:
        order: units.
        weight: [units].
        devices: what to put the stretches on.
    """
    reached = np.cumsum(weight[order])
    part = np.minimum((reached - weight[order] / 2) * len(devices) / reached[-1], len(devices) - 1)
    found = np.zeros(len(order), dtype=np.int64)
    found[order] = np.array(devices, dtype=np.int64)[part.astype(np.int64)]
    return found


_SCHEDULED = 40_000
"""Nodes times devices that may be placed where no time is given."""
_CHOICE_SECONDS = 1e-5
"""What a placer takes for one node and device, about, before any has been seen."""


def literature(problems: Sequence[Problem], seconds: float | None) -> Iterator[Ints]:
    """[nodes] devices, by one placer after the other.

    Args:
        problems: the step in numbers, with more and with less held together.
        seconds: how long all may take; None: as long as it takes, where the step is small.
    """
    begin = time.perf_counter()
    size = problems[0].node_count * len(problems[0].devices)
    if size > _SCHEDULED if seconds is None else size * _CHOICE_SECONDS > seconds:
        return
    costs = [Costs(problem) for problem in problems]
    placers: list[Callable[[Costs], list[int]]] = [in_stretches, heft, earliest_first]
    if seconds is not None and has_solver():
        placers.append(partial(_with_favourites, seconds / 2))
    slowest = 0.0
    for placer in placers:
        for cost in costs:
            now = time.perf_counter()
            if seconds is not None and now - begin + slowest > seconds:
                return
            yield np.array(placer(cost), dtype=np.int64)
            slowest = max(slowest, time.perf_counter() - now)


def _with_favourites(seconds: float, costs: Costs) -> list[int]:
    """m-SCT, whose linear program has so many seconds."""
    return earliest_first(costs, favourite_children(costs, seconds))
