"""Compare two placements: the nodes whose device differs, grouped by cause.

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
    """A node whose device differs."""

    node: str
    before: str
    """Full device name; ``""`` without one."""
    after: str
    cause: str
    """The rule that now determines its device; both devices if the rule is unknown."""
    note: str
    """Both verdicts in words."""


@dataclass(frozen=True)
class Moves:
    """The differences between two placements."""

    columns: tuple[Sequence[str], ...]
    """The fields of `MoveRow`, each [moves], in the order of the first graph."""
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    meanings: dict[str, str]
    """Cause -> meaning of the rule."""

    def __len__(self) -> int:
        return len(self.columns[0])

    @cached_property
    def rows(self) -> tuple[MoveRow, ...]:
        """The moves as rows."""
        return tuple(map(MoveRow, *self.columns))

    def by_cause(self) -> list[tuple[str, int]]:
        """Return ``(cause, number of nodes)``, the largest first."""
        return Counter(self.columns[3]).most_common()

    def by_devices(self) -> list[tuple[str, str, int]]:
        """Return ``(before, after, number of nodes)`` by full device names, the largest groups first."""
        counted = Counter(zip(self.columns[1], self.columns[2], strict=True)).most_common()
        return [(before, after, number) for (before, after), number in counted]


def moves_between(before: Any, after: Any) -> Moves:
    """Return the moves between two placements, each a `Placement` or a `PlacementView`."""
    if isinstance(before, Placement) and isinstance(after, Placement):
        difference = before.diff(after)
        rules = dict.fromkeys(move.cause for move in difference.moves)
        rule_names = {rule: rule.value for rule in rules}
        moves = difference.moves
        columns = (
            [move.node for move in moves],
            [move.before for move in moves],
            [move.after for move in moves],
            [rule_names[move.cause] for move in moves],
            [move.note for move in moves],
        )
        meanings = {rule.value: rule.meaning for rule in rules}
        return Moves(columns, difference.only_before, difference.only_after, meanings)
    old, new = view_of(before), view_of(after)
    moved_rows = []
    for position, name in enumerate(old.names):
        new_node = new.index.get(name)
        if new_node is None:
            continue
        old_device, new_device = old.device_of(position), new.device_of(new_node)
        if device_label(old_device) != device_label(new_device):  # releases write one device in several ways
            moved_rows.append(
                (
                    name,
                    old_device,
                    new_device,
                    f"{device_label(old_device)} to {device_label(new_device)}",
                    "",
                )
            )
    return Moves(
        tuple(zip(*moved_rows, strict=True)) or ((),) * 5,
        tuple(name for name in old.names if name not in new.index),
        tuple(name for name in new.names if name not in old.index),
        {},
    )
