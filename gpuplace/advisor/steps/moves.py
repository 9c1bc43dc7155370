"""The moves of a choice by region: source and target, saving, and reason.

Regions of one scope that go to one device move together. So do regions of scopes that differ only by a number, if they
go to one device, or each to the device of its own tower::

    tower_0/weights    CPU:0 to GPU:0
    tower_1/weights    CPU:0 to GPU:1    {tower_0, tower_1}/weights from CPU:0 to GPU:0, GPU:1

Towers that exchange devices move together, too: if only one of them stayed, its device would have two towers, so only
the whole exchange shows the saving.
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

from gpuplace.advisor.steps.choice_scores import ChoiceScorer, Score
from gpuplace.advisor.steps.initial_choices import unit_weights
from gpuplace.cost.sentences import seconds_text, size_text
from gpuplace.cost.step_flow import ON_GPU
from gpuplace.placer.placement_graph import CONTROL

Ints = NDArray[np.int64]
GIVEN_UP = 0.002
"""Fraction of the objective that fewer moves may cost in total."""
_LEAST = 1e-3
"""Relative difference below which nothing is reported."""
_NAMED = 3
"""Number of names shown from a list."""
_NUMBERED = re.compile(r"(.*?)_?\d+")
"""A name that ends with a number, like those of towers and layers."""


class Move(NamedTuple):
    """A region that moves, or several that move together."""

    scope: str
    """Name scope, or op name for a single op; ``""`` for the whole step. Several names are in braces."""
    source: str
    """Short name of the current device; several are separated by commas."""
    target: str
    """The same for the new device."""
    nodes: tuple[str, ...]
    """Nodes of the step that move."""
    saves: float
    """How much worse the objective would be if only this region stayed: seconds, or bytes for ``"memory"``."""
    why: str
    """Reason, as a sentence."""


def simplified(scorer: ChoiceScorer, device_of: Ints, enough: float, most: int, until: float) -> Ints:
    """Return a choice without the moves that save next to nothing.

    Args:
        scorer: step to evaluate.
        device_of: [units] devices.
        enough: objective that is good enough, in seconds, or bytes for ``"memory"``.
        most: maximum number of moves to test.
        until: time limit, by ``time.perf_counter``.
    """
    score = scorer.score(device_of)
    seconds = unit_weights(scorer)[0]
    for _ in range(2):
        moved = moved_regions(scorer, device_of)
        moved.sort(key=lambda regions: (float(seconds[list(regions.units)].sum()), regions.scopes))
        changed = False
        for regions in moved[:most]:
            if time.perf_counter() > until:
                return device_of
            tried = device_of.copy()
            tried[list(regions.units)] = -1
            new = scorer.score(tried)
            if new.missing <= score.missing and new.value <= enough:
                device_of, score, changed = tried, min(new, score), True
        if not changed:
            break
    return device_of


def moves_of(scorer: ChoiceScorer, device_of: Ints, most: int) -> tuple[Move, ...]:
    """Return the moves of a choice, largest saving first.

    Args:
        scorer: step to evaluate.
        device_of: [units] devices; -1 for units that stay.
        most: number of moves for which the saving is computed.
    """
    moved = regions_together(scorer, device_of)
    seconds = unit_weights(scorer)[0]
    moved.sort(key=lambda regions: (-float(seconds[list(regions.units)].sum()), regions.scopes))
    labels = scorer.candidates.placement.device_labels
    whole = _Facts.of(scorer, device_of)
    before = scorer.node_devices(np.full_like(device_of, -1))
    after = scorer.node_devices(device_of)
    names = scorer.step.part.graph.names
    moves: list[Move] = []
    named: Counter[str] = Counter()
    for number, region in enumerate(moved):
        members = np.flatnonzero(np.isin(scorer.unit, region.units) & (before != after))
        sources = Counter(before[members].tolist())
        source = ", ".join(labels[device] for device, _ in sources.most_common())
        saves, why = 0.0, "its own saving was not computed"
        if number < most:
            tried = device_of.copy()
            tried[list(region.units)] = -1
            without = _Facts.of(scorer, tried)
            saves = without.score.value - whole.score.value
            why = _reason(scorer, whole, without, members, is_alone=len(moved) == 1)
        text = region.text
        named[text] += 1
        moves.append(
            Move(
                text if named[text] == 1 else f"{text} ({named[text]})",
                source,
                ", ".join(labels[device] for device in region.targets),
                tuple(names[node] for node in members.tolist()),
                saves,
                why,
            )
        )
    moves.sort(key=lambda move: (-move.saves, move.scope))
    return tuple(moves)


@dataclass(frozen=True)
class _Facts:
    """Objective of a choice, and the figures that explain it."""

    score: Score
    busy: dict[int, float]
    copied: float
    copies: int
    seconds: NDArray[np.float64]

    @classmethod
    def of(cls, scorer: ChoiceScorer, device_of: Ints) -> _Facts:
        score, flow, _ = scorer.evaluate(device_of)
        kernel, on_gpu = flow.kernel, flow.kind == ON_GPU
        busy = np.bincount(flow.device[on_gpu], kernel[on_gpu], len(scorer.candidates.placement.device_set))
        table = flow.copies
        data = [
            nbytes
            for nbytes, sender, receiver, output in zip(
                table.nbytes, table.sender, table.receiver, table.output, strict=True
            )
            if sender != receiver and output != CONTROL
        ]
        count = len(scorer.step.part.graph)
        nodes = flow.item_node < count
        seconds = np.bincount(flow.item_node[nodes], kernel[nodes], count).astype(np.float64)
        return cls(
            score,
            {device: float(load) for device, load in enumerate(busy.tolist()) if load},
            float(sum(data)),
            len(data),
            seconds,
        )


def _reason(scorer: ChoiceScorer, whole: _Facts, without: _Facts, members: Ints, is_alone: bool) -> str:
    """Return the loss if some nodes had stayed; `is_alone` states that no other region moves."""
    labels = scorer.candidates.placement.device_labels
    total = max(without.score.step_time, 1e-12)
    worse = []
    missing = without.score.missing - whole.score.missing
    if missing > 0:
        worse.append(f"the step would be {size_text(missing)} short of memory")
    staying_seconds, moving_seconds = (
        float(without.seconds[members].sum()),
        float(whole.seconds[members].sum()),
    )
    if (
        staying_seconds > moving_seconds * (1 + 10 * _LEAST)
        and staying_seconds - moving_seconds > _LEAST * total
    ):
        worse.append(
            f"its kernels would take {seconds_text(staying_seconds)} instead of {seconds_text(moving_seconds)}"
        )
    busiest = max(without.busy.items(), key=lambda item: (item[1], -item[0]), default=None)
    most = max(whole.busy.values(), default=0.0)
    if busiest is not None and busiest[1] - most > _LEAST * total:
        worse.append(
            f"{labels[busiest[0]]} would compute for {seconds_text(busiest[1])} instead of at most {seconds_text(most)}"
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
    """Their scopes; the op for a region of one op, ``""`` for the whole step."""
    units: tuple[int, ...]
    """Units that move."""
    targets: tuple[int, ...]
    """Positions of their new devices."""

    @property
    def text(self) -> str:
        """The scopes in one line, with several names in braces: ``{tower_0, tower_1}/weights``."""
        paths = [scope.split("/") for scope in self.scopes]
        if len({len(path) for path in paths}) > 1:
            return _listed(dict.fromkeys(path[0] for path in paths))
        return "/".join(_listed(dict.fromkeys(names)) for names in zip(*paths, strict=True))


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    if len(shown) == 1:
        return shown[0]
    more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
    return f"{{{', '.join(shown[:_NAMED])}{more}}}"


def moved_regions(scorer: ChoiceScorer, device_of: Ints, scopes: _Scopes | None = None) -> list[MovedRegions]:
    """Return the fewest regions that cover all moves; regions of one scope and target are merged.

    Args:
        scorer: step to evaluate.
        device_of: [units] devices; -1 for units that stay.
        scopes: scopes of the step, if known.
    """
    scopes = scopes or _Scopes(scorer)
    units = scorer.units
    homes = scorer.requested_homes(device_of)
    runs = units.of_group >= 0
    has_moved = np.zeros(len(units.names), dtype=bool)
    has_moved[units.of_group[runs & (homes != scorer.stay)]] = True
    at = np.where(device_of < 0, scopes.home_of_unit, device_of)
    covered = np.zeros(len(units.names), dtype=bool)
    regions: list[MovedRegions] = []
    for region in units.regions:
        members = np.array(region.units, dtype=np.int64)
        target = int(at[members[0]])
        if covered[members].any() or not has_moved[members].any() or (at[members] != target).any():
            continue
        covered[members] = True
        regions.append(MovedRegions((region.scope,), tuple(members[has_moved[members]].tolist()), (target,)))

    def key(moved: MovedRegions) -> Hashable:
        (scope,) = moved.scopes
        return scope if scope in scopes.towers else (_around(scope), moved.targets)

    return _joined(regions, key)


def _joined(regions: Iterable[MovedRegions], key: Callable[[MovedRegions], Hashable]) -> list[MovedRegions]:
    """Merge regions with equal keys."""
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


def regions_together(scorer: ChoiceScorer, device_of: Ints) -> list[MovedRegions]:
    """Return the moves, with regions of towers that move alike, or exchange devices, merged.

    Args:
        scorer: step to evaluate.
        device_of: [units] devices; -1 for units that stay.
    """
    scopes = _Scopes(scorer)
    alike = _joined(moved_regions(scorer, device_of, scopes), scopes.change)
    return _joined(alike, scopes.exchanges(alike))


class _Scopes:
    """Scopes of a step: those that differ only by a number, and those among them that are towers, on several GPUs."""

    def __init__(self, scorer: ChoiceScorer) -> None:
        self.is_gpu = scorer.step.machinery.is_gpu
        units = scorer.units
        self.home_of_unit = np.zeros(len(units.names), dtype=np.int64)
        runs = np.flatnonzero((units.of_group >= 0) & scorer.candidates.is_free)
        self.home_of_unit[units.of_group[runs]] = scorer.stay[runs]
        devices: dict[str, Counter[int]] = defaultdict(Counter)
        for op, device in zip(units.ops, self.home_of_unit.tolist(), strict=True):
            scope = op
            while scope:
                scope = scope.rpartition("/")[0]
                devices[scope][device] += 1
        self.home = {scope: counts.most_common(1)[0][0] for scope, counts in devices.items()}
        """Scope to the device of most of its ops in the program."""
        # TensorFlow names the first of several equal scopes `tower`, and the next `tower_1`.
        self.numbered = {match[1] for scope in self.home if (match := _NUMBERED.fullmatch(_forward(scope)))}
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
        """Return a scope without its number; ``""`` if it has none."""
        op = _forward(scope)
        match = _NUMBERED.fullmatch(op)
        return match[1] if match else op if op in self.numbered else ""

    def pattern(self, moved: MovedRegions) -> tuple[str, str]:
        """Return the path of the regions' scope without the outermost number, and the scope with that number.

        The latter is ``""`` if there is none. Regions that are towers are in their own scope.
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
        """Return a key that is equal for regions that move alike."""
        pattern, scope = self.pattern(moved)
        if not scope:
            return moved
        (target,) = moved.targets
        return pattern, "its own" if target == self.home.get(scope) else target

    def exchanges(self, regions: Iterable[MovedRegions]) -> Callable[[MovedRegions], Hashable]:
        """Return a key function that is equal for regions of towers that move between GPUs in a cycle."""
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
        """Return (source, target) of the moves between different GPUs, if all regions go to one GPU."""
        target = moved.targets[0]
        if len(moved.targets) > 1 or not self.is_gpu[target]:
            return []
        sources = set(self.home_of_unit[list(moved.units)].tolist())
        return [(source, target) for source in sorted(sources) if self.is_gpu[source] and source != target]


def _around(scope: str) -> str:
    """Return the scope around a region; for a kernel of an op's gradient, the scope around the gradient of the op."""
    around = scope.rpartition("/")[0]
    return around.rpartition("/")[0] if around.endswith("_grad") else around


def _forward(scope: str) -> str:
    return scope.removesuffix("_grad")
