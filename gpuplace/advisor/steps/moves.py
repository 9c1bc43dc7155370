"""What moves, region by region: from where to where, what each move saves, and why."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.moved_regions import alike_together, moved_regions
from gpuplace.advisor.steps.rehearsal import Rehearsal, Score
from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.cost.step_flow import ON_GPU
from gpuplace.placer.placement_graph import CONTROL

Ints = NDArray[np.int64]
GIVEN_UP = 0.002
"""The part of the objective that a choice with fewer moves may cost, all in all."""
_LEAST = 1e-3
"""Differences below this part are not reported."""


class Move(NamedTuple):
    """A region that moves, or several that move together."""

    scope: str
    """Name scope, or the op if it is only one; ``""`` for all of the step. Names of several are in braces."""
    source: str
    """Where it is: short name of the device, several with commas between them."""
    target: str
    """Where it goes, written the same way."""
    nodes: tuple[str, ...]
    """The nodes of the step that move."""
    saves: float
    """By how much the objective would be worse if only this stayed: seconds, or bytes for ``"memory"``."""
    why: str
    """Why, in a sentence."""


def simplified(rehearsal: Rehearsal, device_of: Ints, enough: float, most: int, until: float) -> Ints:
    """Return the same choice without the moves that save next to nothing.

    Args:
        rehearsal: of the step.
        device_of: [units] devices.
        enough: objective that is good enough, in seconds, or bytes for ``"memory"``.
        most: how many moves are looked at.
        until: when to stop, by ``time.perf_counter``.
    """
    score = rehearsal.score(device_of)
    seconds = _unit_seconds(rehearsal)
    for _ in range(2):
        moved = moved_regions(rehearsal, device_of)
        moved.sort(key=lambda one: (float(seconds[list(one.units)].sum()), one.scopes))
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
    moved = alike_together(rehearsal, moved_regions(rehearsal, device_of))
    seconds = _unit_seconds(rehearsal)
    moved.sort(key=lambda one: (-float(seconds[list(one.units)].sum()), one.scopes))
    labels = rehearsal.freedom.placement.device_labels
    whole = _Facts.of(rehearsal, device_of)
    unit = rehearsal.units.of_group[rehearsal.freedom.group[rehearsal.step.part.nodes]]
    before = rehearsal.node_devices(np.full_like(device_of, -1))
    after = rehearsal.node_devices(device_of)
    names = rehearsal.step.part.graph.names
    found: list[Move] = []
    named: Counter[str] = Counter()
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
            why = _reason(rehearsal, whole, without, members, is_alone=len(moved) == 1)
        text = one.text
        named[text] += 1
        found.append(
            Move(
                text if named[text] == 1 else f"{text} ({named[text]})",
                source,
                ", ".join(labels[device] for device in one.targets),
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


def _reason(rehearsal: Rehearsal, whole: _Facts, without: _Facts, members: Ints, is_alone: bool) -> str:
    """What would be worse if some nodes had stayed; `is_alone`: whether no others move."""
    labels = rehearsal.freedom.placement.device_labels
    total = max(without.score.step_time, 1e-12)
    worse = []
    missing = without.score.missing - whole.score.missing
    if missing > 0:
        worse.append(f"{size_text(missing)} of memory would be missing")
    there, here = float(without.seconds[members].sum()), float(whole.seconds[members].sum())
    if there > here * (1 + 10 * _LEAST) and there - here > _LEAST * total:
        worse.append(f"its kernels would take {seconds_text(there)}, not {seconds_text(here)}")
    busiest = max(without.busy.items(), key=lambda item: (item[1], -item[0]), default=None)
    most = max(whole.busy.values(), default=0.0)
    if busiest is not None and busiest[1] - most > _LEAST * total:
        worse.append(
            f"{labels[busiest[0]]} would compute for {seconds_text(busiest[1])}, not {seconds_text(most)} at the most"
        )
    extra = without.copied - whole.copied
    if extra > 0 and (extra > _LEAST * max(whole.copied, 1.0)):
        worse.append(f"{size_text(extra)} more would be copied between devices")
    elif without.copies > whole.copies:
        count = without.copies - whole.copies
        worse.append(f"{count} more {'tensor' if count == 1 else 'tensors'} would be copied between devices")
    if worse:
        return "otherwise " + ", and ".join(worse)
    if without.score.value > whole.score.value * (1 + _LEAST):
        return "otherwise nodes would wait longer for each other"
    return "it saves nothing by itself" + ("" if is_alone else ", only together with the other moves")
