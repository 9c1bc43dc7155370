"""What moves, region by region: from where to where, what each move saves, and why."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.rehearsal import Rehearsal, Score
from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.cost.step_flow import ON_GPU
from gpuplace.placer.placement_graph import CONTROL

Ints = NDArray[np.int64]
_GIVEN_UP = 0.002
"""The part of the objective that a plainer choice may cost, all in all."""
_LEAST = 1e-3
"""Parts below which nothing is said of a difference."""


class Move(NamedTuple):
    """A region that moves."""

    scope: str
    """Name scope, or the op where it is only one; ``""`` for all of the step."""
    source: str
    """Where it is: short name of the device, several with commas between them."""
    target: str
    """Where it goes."""
    nodes: tuple[str, ...]
    """The nodes of the step that move."""
    saves: float
    """By how much the objective would be worse if only this stayed: seconds, or bytes for ``"memory"``."""
    why: str
    """Why, in a sentence."""


@dataclass(frozen=True)
class Moved:
    """Units of one region that get one device."""

    scope: str
    """As of `Move`."""
    units: tuple[int, ...]
    """Their numbers."""
    target: int
    """Position of the device."""


def moved_regions(rehearsal: Rehearsal, device_of: Ints) -> list[Moved]:
    """The units that are elsewhere than they were, by region, in the fewest regions.

    Args:
        rehearsal: of the step.
        device_of: [units] devices; -1 for what is left alone.
    """
    units = rehearsal.units
    homes = rehearsal.wanted(device_of)
    runs = units.of_group >= 0
    has_moved = np.zeros(len(units.names), dtype=bool)
    has_moved[units.of_group[runs & (homes != rehearsal.stay)]] = True
    at = device_of.copy()
    at[at < 0] = _home_of_units(rehearsal)[at < 0]
    covered = np.zeros(len(units.names), dtype=bool)
    found: list[Moved] = []
    for region in units.regions:
        members = np.array(region.units, dtype=np.int64)
        target = int(at[members[0]])
        if covered[members].any() or not has_moved[members].any() or (at[members] != target).any():
            continue
        covered[members] = True
        found.append(Moved(region.scope, tuple(members[has_moved[members]].tolist()), target))
    return _joined(found)


def _home_of_units(rehearsal: Rehearsal) -> Ints:
    units = rehearsal.units
    found = np.zeros(len(units.names), dtype=np.int64)
    runs = np.flatnonzero((units.of_group >= 0) & rehearsal.freedom.is_free)
    found[units.of_group[runs]] = rehearsal.stay[runs]
    return found


def _joined(moved: list[Moved]) -> list[Moved]:
    """Regions of one scope that go to one device, as one."""
    by: dict[tuple[str, int], list[Moved]] = defaultdict(list)
    for one in moved:
        by[one.scope.rpartition("/")[0], one.target].append(one)
    found = []
    for (scope, target), members in by.items():
        if len(members) == 1:
            found.append(members[0])
            continue
        units = tuple(unit for one in members for unit in one.units)
        names = [one.scope.rpartition("/")[2] for one in members]
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        found.append(Moved(f"{scope}/{{{shown}}}" if scope else f"{{{shown}}}", units, target))
    return found


def simplified(rehearsal: Rehearsal, device_of: Ints, most: int, until: float) -> Ints:
    """The same choice without the moves that save next to nothing.

    Args:
        rehearsal: of the step.
        device_of: [units] devices.
        most: how many moves are looked at.
        until: when to stop, by ``time.perf_counter``.
    """
    score = rehearsal.score(device_of)
    enough = score.value * (1 + _GIVEN_UP)
    seconds = _unit_seconds(rehearsal)
    for _ in range(2):
        moved = moved_regions(rehearsal, device_of)
        moved.sort(key=lambda one: (float(seconds[list(one.units)].sum()), one.scope))
        changed = False
        for one in moved[:most]:
            if time.perf_counter() > until:
                return device_of
            tried = device_of.copy()
            tried[list(one.units)] = -1
            new = rehearsal.score(tried)
            if new.missing <= score.missing and new.value <= enough:
                device_of, score, changed = tried, min(new, score), True
        if not changed:
            break
    return device_of


def moves_of(rehearsal: Rehearsal, device_of: Ints, most: int) -> tuple[Move, ...]:
    """What moves, what saves most first.

    Args:
        rehearsal: of the step.
        device_of: [units] devices; -1 for what is left alone.
        most: of how many moves it is worked out what they save.
    """
    moved = moved_regions(rehearsal, device_of)
    seconds = _unit_seconds(rehearsal)
    moved.sort(key=lambda one: (-float(seconds[list(one.units)].sum()), one.scope))
    labels = rehearsal.freedom.placement.device_labels
    whole = _Facts.of(rehearsal, device_of)
    unit = rehearsal.units.of_group[rehearsal.freedom.group[rehearsal.step.part.nodes]]
    before = rehearsal.node_devices(np.full_like(device_of, -1))
    after = rehearsal.node_devices(device_of)
    names = rehearsal.step.part.graph.names
    found = []
    for number, one in enumerate(moved):
        members = np.flatnonzero(np.isin(unit, one.units) & (before != after))
        sources = Counter(before[members].tolist())
        source = ", ".join(labels[device] for device, _ in sources.most_common())
        saves, why = 0.0, "not looked at alone"
        if number < most:
            tried = device_of.copy()
            tried[list(one.units)] = -1
            without = _Facts.of(rehearsal, tried)
            saves = without.score.value - whole.score.value
            why = _reason(rehearsal, whole, without, members, after)
        found.append(
            Move(
                one.scope,
                source,
                labels[one.target],
                tuple(names[node] for node in members.tolist()),
                saves,
                why,
            )
        )
    found.sort(key=lambda move: (-move.saves, move.scope))
    return tuple(found)


def _unit_seconds(rehearsal: Rehearsal) -> NDArray[np.float64]:
    step = rehearsal.step
    unit = rehearsal.units.of_group[rehearsal.freedom.group[step.part.nodes]]
    return np.bincount(unit, step.node_seconds, len(rehearsal.units.names)).astype(np.float64)


@dataclass(frozen=True)
class _Facts:
    """What a choice comes to, with what explains it."""

    score: Score
    busy: dict[int, float]
    copied: float
    copies: int
    seconds: NDArray[np.float64]

    @classmethod
    def of(cls, rehearsal: Rehearsal, device_of: Ints) -> _Facts:
        score, flow, _ = rehearsal.tried_out(device_of)
        kernel, on_gpu = flow.kernel, flow.kind == ON_GPU
        busy = np.bincount(flow.device[on_gpu], kernel[on_gpu], len(rehearsal.freedom.placement.device_set))
        table = flow.copies
        data = [
            nbytes
            for nbytes, sender, receiver, output in zip(
                table.nbytes, table.sender, table.receiver, table.output, strict=True
            )
            if sender != receiver and output != CONTROL
        ]
        count = len(rehearsal.step.part.graph)
        nodes = flow.item_node < count
        seconds = np.bincount(flow.item_node[nodes], kernel[nodes], count).astype(np.float64)
        return cls(
            score,
            {device: float(load) for device, load in enumerate(busy.tolist()) if load},
            float(sum(data)),
            len(data),
            seconds,
        )


def _reason(rehearsal: Rehearsal, whole: _Facts, without: _Facts, members: Ints, after: Ints) -> str:
    """What would be worse if some nodes had stayed."""
    labels = rehearsal.freedom.placement.device_labels
    total = max(without.score.step_time, 1e-12)
    said = []
    missing = without.score.missing - whole.score.missing
    if missing > 0:
        said.append(f"{size_text(missing)} of memory would be missing")
    there, here = float(without.seconds[members].sum()), float(whole.seconds[members].sum())
    if there > here * (1 + 10 * _LEAST) and there - here > _LEAST * total:
        said.append(f"its kernels would take {seconds_text(there)}, not {seconds_text(here)}")
    busiest = max(without.busy.items(), key=lambda item: (item[1], -item[0]), default=None)
    if busiest is not None and busiest[1] - max(whole.busy.values(), default=0.0) > _LEAST * total:
        said.append(
            f"{labels[busiest[0]]} would compute {seconds_text(busiest[1])}, and no GPU does more than "
            f"{seconds_text(max(whole.busy.values(), default=0.0))} now"
        )
    extra = without.copied - whole.copied
    if extra > 0 and (extra > _LEAST * max(whole.copied, 1.0)):
        said.append(f"{size_text(extra)} more would be copied between devices")
    elif without.copies > whole.copies:
        count = without.copies - whole.copies
        said.append(f"{count} more {'tensor' if count == 1 else 'tensors'} would be copied between devices")
    if said:
        return "else " + ", and ".join(said)
    if without.score.value > whole.score.value * (1 + _LEAST):
        return "else nodes would wait longer for each other"
    return "it saves nothing alone, but with the others"
