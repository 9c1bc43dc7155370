"""The regions that a choice moves, as few as describe it: regions of one scope together, and those of towers.

Regions of one scope that go to one device move together. So do regions of scopes that differ only by a number, if they
go to one device, or each to the device that its own tower is on::

    tower_0/weights    CPU:0 to GPU:0
    tower_1/weights    CPU:0 to GPU:1    {tower_0, tower_1}/weights from CPU:0 to GPU:0, GPU:1

Towers that take each other's place move together, too: if only one of them stayed, its device would have two, so only
the whole exchange shows what it saves.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuplace.advisor.steps.rehearsal import Rehearsal

Ints = NDArray[np.int64]
_NAMED = 3
"""How many names of a list are shown."""
_NUMBERED = re.compile(r"(.*?)_?\d+")
"""A name with a number at its end, as towers and layers have."""


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


def moved_regions(rehearsal: Rehearsal, device_of: Ints) -> list[MovedRegions]:
    """Return the regions that are elsewhere than in the program, the fewest; those of one scope and target together.

    Args:
        rehearsal: of the step.
        device_of: [units] devices; -1 for units that are left alone.
    """
    units = rehearsal.units
    homes = rehearsal.wanted(device_of)
    runs = units.of_group >= 0
    has_moved = np.zeros(len(units.names), dtype=bool)
    has_moved[units.of_group[runs & (homes != rehearsal.stay)]] = True
    at = np.where(device_of < 0, _home_of_units(rehearsal), device_of)
    covered = np.zeros(len(units.names), dtype=bool)
    found: list[MovedRegions] = []
    for region in units.regions:
        members = np.array(region.units, dtype=np.int64)
        target = int(at[members[0]])
        if covered[members].any() or not has_moved[members].any() or (at[members] != target).any():
            continue
        covered[members] = True
        found.append(MovedRegions((region.scope,), tuple(members[has_moved[members]].tolist()), (target,)))
    towers = _Scopes(rehearsal).towers

    def key(moved: MovedRegions) -> Hashable:
        (scope,) = moved.scopes
        return scope if scope in towers else (scope.rpartition("/")[0], moved.targets)

    return _joined(found, key)


def _home_of_units(rehearsal: Rehearsal) -> Ints:
    units = rehearsal.units
    found = np.zeros(len(units.names), dtype=np.int64)
    runs = np.flatnonzero((units.of_group >= 0) & rehearsal.freedom.is_free)
    found[units.of_group[runs]] = rehearsal.stay[runs]
    return found


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


def alike_together(rehearsal: Rehearsal, regions: Iterable[MovedRegions]) -> list[MovedRegions]:
    """Return the same moves with those of towers that move alike, or take each other's place, together.

    Args:
        rehearsal: of the step.
        regions: of `moved_regions`.
    """
    scopes = _Scopes(rehearsal)
    found = _joined(regions, scopes.change)
    return _joined(found, scopes.exchanges(found))


class _Scopes:
    """The scopes of a step: which differ only by a number, and which of those are towers, on several GPUs."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self.is_gpu = rehearsal.step.machinery.is_gpu
        self.home_of_unit = _home_of_units(rehearsal)
        devices: dict[str, Counter[int]] = defaultdict(Counter)
        for op, device in zip(rehearsal.units.ops, self.home_of_unit.tolist(), strict=True):
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
        path = first if first in self.towers else first.rpartition("/")[0]
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


def _forward(scope: str) -> str:
    return scope.removesuffix("_grad")
