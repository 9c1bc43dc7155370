"""What moves, region by region: from where to where, what each move saves, and why.

Regions of one scope that go to one device move together. So do regions of scopes that differ only by a number, if they
go to one device, or each to the device that its own tower is on::

    tower_0/weights    CPU:0 to GPU:0
    tower_1/weights    CPU:0 to GPU:1    {tower_0, tower_1}/weights from CPU:0 to GPU:0, GPU:1

Towers that take each other's place move together, too: if only one of them stayed, its device would have two, so only
the whole exchange shows what it saves.
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.rehearsal import Rehearsal, Score
from gpuplace.advisor.steps.starts import unit_weights
from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.cost.step_flow import ON_GPU
from gpuplace.placer.placement_graph import CONTROL

Ints = NDArray[np.int64]
GIVEN_UP = 0.002
"""The part of the objective that a choice with fewer moves may cost, all in all."""
_LEAST = 1e-3
"""Differences below this part are not reported."""
_NAMED = 3
"""How many names of a list are shown."""
_NUMBERED = re.compile(r"(.*?)_?\d+")
"""A name with a number at its end, as towers and layers have."""


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
    seconds = unit_weights(rehearsal)[0]
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
    moved = regions_together(rehearsal, device_of)
    seconds = unit_weights(rehearsal)[0]
    moved.sort(key=lambda one: (-float(seconds[list(one.units)].sum()), one.scopes))
    labels = rehearsal.freedom.placement.device_labels
    whole = _Facts.of(rehearsal, device_of)
    before = rehearsal.node_devices(np.full_like(device_of, -1))
    after = rehearsal.node_devices(device_of)
    names = rehearsal.step.part.graph.names
    found: list[Move] = []
    named: Counter[str] = Counter()
    for number, one in enumerate(moved):
        members = np.flatnonzero(np.isin(rehearsal.unit, one.units) & (before != after))
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


@dataclass(frozen=True)
class MovedRegions:
    """Regions that move together."""

    scopes: tuple[str, ...]
    """Their scopes; the op for a region of one op, ``""`` for all of the step."""
    units: tuple[int, ...]
    """Numbers of the units that move."""
    targets: tuple[int, ...]
    """Positions of the devices that they move to."""

    @property
    def text(self) -> str:
        """The scopes in one line, names of several in braces: ``{tower_0, tower_1}/weights``."""
        paths = [scope.split("/") for scope in self.scopes]
        if len({len(path) for path in paths}) > 1:
            return _listed(dict.fromkeys(path[0] for path in paths))
        return "/".join(_listed(dict.fromkeys(names)) for names in zip(*paths, strict=True))


def _listed(names: Iterable[str]) -> str:
    known = list(names)
    if len(known) == 1:
        return known[0]
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f"{{{', '.join(known[:_NAMED])}{more}}}"


def moved_regions(rehearsal: Rehearsal, device_of: Ints, scopes: _Scopes | None = None) -> list[MovedRegions]:
    """Return the regions that are elsewhere than in the program, the fewest; those of one scope and target together.

    Args:
        rehearsal: of the step.
        device_of: [units] devices; -1 for units that are left alone.
        scopes: of the step, where they are known.
    """
    scopes = scopes or _Scopes(rehearsal)
    units = rehearsal.units
    homes = rehearsal.wanted(device_of)
    runs = units.of_group >= 0
    has_moved = np.zeros(len(units.names), dtype=bool)
    has_moved[units.of_group[runs & (homes != rehearsal.stay)]] = True
    at = np.where(device_of < 0, scopes.home_of_unit, device_of)
    covered = np.zeros(len(units.names), dtype=bool)
    found: list[MovedRegions] = []
    for region in units.regions:
        members = np.array(region.units, dtype=np.int64)
        target = int(at[members[0]])
        if covered[members].any() or not has_moved[members].any() or (at[members] != target).any():
            continue
        covered[members] = True
        found.append(MovedRegions((region.scope,), tuple(members[has_moved[members]].tolist()), (target,)))

    def key(moved: MovedRegions) -> Hashable:
        (scope,) = moved.scopes
        return scope if scope in scopes.towers else (_around(scope), moved.targets)

    return _joined(found, key)


def _joined(regions: Iterable[MovedRegions], key: Callable[[MovedRegions], Hashable]) -> list[MovedRegions]:
    """Regions with equal keys together."""
    by: dict[Hashable, list[MovedRegions]] = defaultdict(list)
    for moved in regions:
        by[key(moved)].append(moved)
    return [
        MovedRegions(
            tuple(scope for moved in members for scope in moved.scopes),
            tuple(unit for moved in members for unit in moved.units),
            tuple(dict.fromkeys(target for moved in members for target in moved.targets)),
        )
        for members in by.values()
    ]


def regions_together(rehearsal: Rehearsal, device_of: Ints) -> list[MovedRegions]:
    """Return what moves with regions of towers that move alike, or take each other's place, together.

    Args:
        rehearsal: of the step.
        device_of: [units] devices; -1 for units that are left alone.
    """
    scopes = _Scopes(rehearsal)
    found = _joined(moved_regions(rehearsal, device_of, scopes), scopes.change)
    return _joined(found, scopes.exchanges(found))


class _Scopes:
    """The scopes of a step: which differ only by a number, and which of those are towers, on several GPUs."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self.is_gpu = rehearsal.step.machinery.is_gpu
        units = rehearsal.units
        self.home_of_unit = np.zeros(len(units.names), dtype=np.int64)
        runs = np.flatnonzero((units.of_group >= 0) & rehearsal.freedom.is_free)
        self.home_of_unit[units.of_group[runs]] = rehearsal.stay[runs]
        devices: dict[str, Counter[int]] = defaultdict(Counter)
        for op, device in zip(units.ops, self.home_of_unit.tolist(), strict=True):
            scope = op
            while scope:
                scope = scope.rpartition("/")[0]
                devices[scope][device] += 1
        self.home = {scope: found.most_common(1)[0][0] for scope, found in devices.items()}
        """Scope -> the device that the program has most of it on."""
        # TensorFlow calls the first of several equal scopes `tower`, and the next `tower_1`.
        self.numbered = {found[1] for scope in self.home if (found := _NUMBERED.fullmatch(_forward(scope)))}
        families: dict[str, set[str]] = defaultdict(set)
        for scope in self.home:
            if stem := self._stem(scope):
                families[stem].add(scope)
        self.towers = {
            scope
            for scopes in families.values()
            if len({self.home[scope] for scope in scopes if self.is_gpu[self.home[scope]]}) > 1
            for scope in scopes
        }

    def _stem(self, scope: str) -> str:
        """A scope without its number; ``""`` if it has none."""
        op = _forward(scope)
        found = _NUMBERED.fullmatch(op)
        return found[1] if found else op if op in self.numbered else ""

    def pattern(self, moved: MovedRegions) -> tuple[str, str]:
        """The path of the scope that regions are in without the outermost number, and the scope with that number.

        The latter is ``""`` if there is none. Regions that are towers are in themselves.
        """
        first = moved.scopes[0]
        path = first if first in self.towers else _around(first)
        names = path.split("/")
        for at, name in enumerate(names):
            scope = "/".join(names[: at + 1])
            if stem := self._stem(scope):
                short = stem.rpartition("/")[2]
                return "/".join(short if other == name else other for other in names), scope
        return path, ""

    def change(self, moved: MovedRegions) -> Hashable:
        """Equal for regions that move alike."""
        pattern, scope = self.pattern(moved)
        if not scope:
            return moved
        (target,) = moved.targets
        return pattern, "its own" if target == self.home.get(scope) else target

    def exchanges(self, regions: Iterable[MovedRegions]) -> Callable[[MovedRegions], Hashable]:
        """A function that is equal for regions of towers that move between GPUs in a circle."""
        ways: dict[MovedRegions, list[tuple[int, int]]] = {}
        reached = np.zeros((len(self.is_gpu), len(self.is_gpu)), dtype=bool)
        for moved in regions:
            _, scope = self.pattern(moved)
            ways[moved] = self._ways(moved) if scope in self.towers else []
            for source, target in ways[moved]:
                reached[source, target] = True
        for device in range(len(reached)):
            reached |= reached[:, device : device + 1] & reached[device]

        def key(moved: MovedRegions) -> Hashable:
            for source, target in ways[moved]:
                if reached[target, source]:
                    return tuple(np.flatnonzero(reached[source] & reached[:, source]).tolist())
            return moved

        return key

    def _ways(self, moved: MovedRegions) -> list[tuple[int, int]]:
        """From which GPU to which other one regions move, if they all go to one."""
        target = moved.targets[0]
        if len(moved.targets) > 1 or not self.is_gpu[target]:
            return []
        sources = set(self.home_of_unit[list(moved.units)].tolist())
        return [(source, target) for source in sorted(sources) if self.is_gpu[source] and source != target]


def _around(scope: str) -> str:
    """The scope around a region; of a kernel of an op's gradient, the one in which that of the op would be."""
    around = scope.rpartition("/")[0]
    return around.rpartition("/")[0] if around.endswith("_grad") else around


def _forward(scope: str) -> str:
    return scope.removesuffix("_grad")
