"""What moves between two placements of one graph, grouped by the rule that put each node where it now is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gpuplace.placer.decide import NOWHERE
from gpuplace.placer.deciding import RULES, deciding_rules
from gpuplace.placer.rules import Rule

if TYPE_CHECKING:
    from gpuplace.placer.placement import Placement

_SHOWN = 6


@dataclass(frozen=True)
class Move:
    """A node that has another device in the other placement."""

    node: str
    before: str
    """Full name; "" without a device."""
    after: str
    """Full name; "" without a device."""
    cause: Rule
    """What settled its new device, or what took its old one away."""


@dataclass(frozen=True)
class PlacementDiff:
    """The nodes that moved."""

    moves: tuple[Move, ...]
    """In the order of the first placement's graph."""
    only_before: tuple[str, ...]
    """Nodes that the other graph does not have."""
    only_after: tuple[str, ...]
    """Nodes that only the other graph has."""
    before: Placement | None = field(default=None, repr=False, compare=False)
    """What was compared."""
    after: Placement | None = field(default=None, repr=False, compare=False)
    """With what it was compared."""

    def by_cause(self) -> dict[Rule, tuple[Move, ...]]:
        """The moves by rule, the rule that moved most nodes first."""
        grouped: dict[Rule, list[Move]] = {}
        for move in self.moves:
            grouped.setdefault(move.cause, []).append(move)
        ranked = sorted(grouped.items(), key=lambda item: (-len(item[1]), item[0].value))
        return {rule: tuple(moves) for rule, moves in ranked}

    def __len__(self) -> int:
        return len(self.moves)

    def __iter__(self) -> Iterator[Move]:
        return iter(self.moves)

    def __str__(self) -> str:
        if not self.moves:
            return "no node moves"
        lines = []
        for rule, moves in self.by_cause().items():
            lines.append(f"{rule.value} ({len(moves)}): {rule.meaning}")
            lines += [
                f"  {move.node}: {move.before or 'no device'} -> {move.after or 'no device'}"
                for move in moves[:_SHOWN]
            ]
            if len(moves) > _SHOWN:
                lines.append(f"  and {len(moves) - _SHOWN} more")
        return "\n".join(lines)


def diff(before: Placement, after: Placement) -> PlacementDiff:
    """Compares two placements by node name."""
    old, new = before.graph, after.graph
    old_names, new_names = (*before.device_set.names, ""), (*after.device_set.names, "")
    pairs, cause = moved_nodes(before, after)
    rows = zip(
        pairs[:, 0].tolist(),
        before.devices[pairs[:, 0]].tolist(),
        after.devices[pairs[:, 1]].tolist(),
        cause.tolist(),
        strict=True,
    )
    moves = tuple(Move(old.names[i], old_names[was], new_names[now], RULES[rule]) for i, was, now, rule in rows)
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    if old.names != new.names:
        only_before = tuple(name for name in old.names if name not in new.index)
        only_after = tuple(name for name in new.names if name not in old.index)
    return PlacementDiff(moves, only_before, only_after, before, after)


def moved_nodes(before: Placement, after: Placement) -> tuple[np.ndarray, np.ndarray]:
    """The nodes whose device differs.

    Returns:
        [moves, 2] position of each in the one and the other graph, and [moves] position in
        `gpuplace.placer.deciding.RULES` of what moved it.
    """
    old, new = before.graph, after.graph
    old_names, new_names = (*before.device_set.names, ""), (*after.device_set.names, "")
    if old.names == new.names:
        pairs = np.stack((np.arange(len(old)), np.arange(len(new))), axis=1)
    else:
        shared = [name for name in old.names if name in new.index]
        rows = [(old.index[name], new.index[name]) for name in shared]
        pairs = np.array(rows, dtype=np.int64).reshape(-1, 2)
    code = {name: i for i, name in enumerate(dict.fromkeys((*old_names, *new_names)))}
    here = np.array([code[name] for name in old_names])[before.devices[pairs[:, 0]]]
    there = np.array([code[name] for name in new_names])[after.devices[pairs[:, 1]]]
    moved = pairs[here != there]
    return moved, _causes(before, moved[:, 0], after, moved[:, 1])


def _causes(before: Placement, old: np.ndarray, after: Placement, new: np.ndarray) -> np.ndarray:
    """The rule that settled each new device, unless that is only the general preference, which the old one broke."""
    if not len(old):
        return np.zeros(0, dtype=np.int64)
    rule, earlier = deciding_rules(after)[new], deciding_rules(before)[old]
    preference = [RULES.index(Rule.TYPE_PRIORITY), RULES.index(Rule.NAME_ORDER)]
    was = before.devices[old]
    lost = np.array([name not in after.device_set for name in before.device_set.names] + [False])[was]
    lost &= was != NOWHERE
    is_general = np.isin(rule, preference)
    found = np.where(is_general & ~np.isin(earlier, preference), earlier, rule)
    lacks = np.where(is_general | (rule == RULES.index(Rule.KERNEL)), RULES.index(Rule.MISSING_DEVICE), rule)
    return np.where(lost, lacks, found)
