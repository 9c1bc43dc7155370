"""What moves between two placements of one graph, grouped by the difference between them that moves each node.

missing device (1): the machine no longer has the device
  tower_1/out: ...device:GPU:1 -> ...device:GPU:0  (asks for '/device:GPU:1')
generator (1): a node without data inputs goes where all its consumers are
  x: ...device:GPU:0 -> ...device:CPU:0  (follows y)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np

from gpuplace.display import notebook_view
from gpuplace.typing import DataFrame, Picture, PictureOptions
from gpuplace.why.causes_of_moves import causes_of_moves
from gpuplace.why.moved_by import Comparer
from gpuplace.why.rules import Rule

if TYPE_CHECKING:
    from gpuplace.why.placement import Placement

_SHOWN = 6


class Move(NamedTuple):
    """A node that has another device in the other placement."""

    node: str
    before: str
    """Full name; "" without a device."""
    after: str
    """Full name; "" without a device."""
    cause: Rule
    """The difference between the two placements that moves it."""
    note: str = ""
    """That difference in words: `follows m`, `asks for '/gpu:3'`; "" where the rule says it all."""


@dataclass(frozen=True)
class PlacementDiff:
    """The nodes that moved."""

    moves: tuple[Move, ...]
    """In the order of the first placement's graph."""
    only_before: tuple[str, ...]
    """Nodes that the other graph does not have."""
    only_after: tuple[str, ...]
    """Nodes that only the other graph has."""
    earlier: Placement | None = field(default=None, repr=False, compare=False)
    """What was compared."""
    later: Placement | None = field(default=None, repr=False, compare=False)
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
                + (f"  ({move.note})" if move.note else "")
                for move in moves[:_SHOWN]
            ]
            if len(moves) > _SHOWN:
                lines.append(f"  and {len(moves) - _SHOWN} more")
        return "\n".join(lines)

    def frame(self) -> DataFrame:
        """A row a node that moves as a pandas ``DataFrame``; see ``gpuplace.jupyter.frames.frames.diff_frame``."""
        from gpuplace.jupyter.frames.frames import diff_frame

        return diff_frame(self)

    def picture(self, **options: Unpack[PictureOptions]) -> Picture:
        """The later placement with what moved; see ``gpuplace.jupyter.pictures.placement_picture`` for the options.

        Raises:
            ValueError: the difference does not know its placements.
        """
        from gpuplace.jupyter.pictures import placement_picture

        if self.later is None:
            raise ValueError(
                "This difference does not say between which placements it is: take placement.diff(other)"
            )
        options.setdefault("against", self.earlier)
        return placement_picture(self.later, **options)

    _repr_mimebundle_ = notebook_view


def diff(before: Placement, after: Placement) -> PlacementDiff:
    """Compares two placements by node name."""
    old, new = before.graph, after.graph
    old_names, new_names = (*before.device_set.names, ""), (*after.device_set.names, "")
    if old.names == new.names:
        pairs = np.stack((np.arange(len(old)), np.arange(len(new))), axis=1)
    else:
        shared = [name for name in old.names if name in new.index]
        pairs = np.array([(old.index[name], new.index[name]) for name in shared], dtype=np.int64).reshape(
            -1, 2
        )
    code = {name: i for i, name in enumerate(dict.fromkeys((*old_names, *new_names)))}
    here = np.array([code[name] for name in old_names])[before.devices[pairs[:, 0]]]
    there = np.array([code[name] for name in new_names])[after.devices[pairs[:, 1]]]
    moved, there_now = pairs[here != there].T
    causes = causes_of_moves(Comparer(before, after), moved, there_now)
    rules, notes = zip(*causes, strict=True) if causes else ((), ())
    moves = tuple(
        map(
            Move,
            map(old.names.__getitem__, moved.tolist()),
            map(old_names.__getitem__, before.devices[moved].tolist()),
            map(new_names.__getitem__, after.devices[there_now].tolist()),
            rules,
            notes,
        )
    )
    if old.names == new.names:
        return PlacementDiff(moves, (), (), before, after)
    return PlacementDiff(
        moves,
        tuple(name for name in old.names if name not in new.index),
        tuple(name for name in new.names if name not in old.index),
        before,
        after,
    )
