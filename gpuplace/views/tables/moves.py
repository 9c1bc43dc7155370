"""Two placements side by side: which nodes are elsewhere, grouped by cause.

>>> from gpuplace.views.tables.placement_view import PlacementView
>>> before = PlacementView.of_columns([("a", "Neg", "", "/device:CPU:0"), ("b", "Neg", "", "/device:CPU:0")])
>>> after = PlacementView.of_columns([("a", "Neg", "", "/device:GPU:0"), ("c", "Neg", "", "/device:CPU:0")])
>>> moves = moves_between(before, after)
>>> [(move.node, move.cause) for move in moves.rows], moves.only_before, moves.only_after
([('a', 'CPU:0 to GPU:0')], ('b',), ('c',))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.placement_view import view_of
from gpuplace.why.placement import Placement


class MoveRow(NamedTuple):
    """One node that is elsewhere."""

    node: str
    before: str
    """Full device name; ``""`` without one."""
    after: str
    cause: str
    """The rule that settles its device now, or from where to where it moved, if no more is known."""
    note: str
    """Both verdicts in words."""


@dataclass(frozen=True)
class Moves:
    """What differs between two placements."""

    columns: tuple[Sequence[str], ...]
    """The fields of `MoveRow`, each [moves], in the order of the first graph."""
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    meanings: dict[str, str]
    """Cause -> the rule in a few words."""

    def __len__(self) -> int:
        return len(self.columns[0])

    @cached_property
    def rows(self) -> tuple[MoveRow, ...]:
        """The moves one by one."""
        return tuple(map(MoveRow, *self.columns))

    def by_cause(self) -> list[tuple[str, int]]:
        """``(cause, nodes)``, that of most nodes first."""
        return Counter(self.columns[3]).most_common()

    def by_devices(self) -> list[tuple[str, str, int]]:
        """``(before, after, nodes)`` by full device name, most first."""
        counted = Counter(zip(self.columns[1], self.columns[2], strict=True)).most_common()
        return [(before, after, number) for (before, after), number in counted]


def moves_between(before: Any, after: Any) -> Moves:
    """The moves from one placement to another; either can be a `Placement` or a `PlacementView`."""
    if isinstance(before, Placement) and isinstance(after, Placement):
        found = before.diff(after)
        rules = dict.fromkeys(move.cause for move in found.moves)
        words = {rule: rule.value for rule in rules}
        moves = found.moves
        columns = (
            [move.node for move in moves],
            [move.before for move in moves],
            [move.after for move in moves],
            [words[move.cause] for move in moves],
            [move.note for move in moves],
        )
        meanings = {rule.value: rule.meaning for rule in rules}
        return Moves(columns, found.only_before, found.only_after, meanings)
    old, new = view_of(before), view_of(after)
    rows_found = []
    for position, name in enumerate(old.names):
        there = new.index.get(name)
        if there is None:
            continue
        here, now = old.device_of(position), new.device_of(there)
        if device_label(here) != device_label(now):  # releases write one device in several ways
            rows_found.append((name, here, now, f"{device_label(here)} to {device_label(now)}", ""))
    return Moves(
        tuple(zip(*rows_found, strict=True)) or ((),) * 5,
        tuple(name for name in old.names if name not in new.index),
        tuple(name for name in new.names if name not in old.index),
        {},
    )
