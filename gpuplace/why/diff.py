"""What moves between two placements of one graph: the verdicts on every node that moves, before and after.

soft placement (1): soft placement drops the type and index of a request that cannot be met
  tower_1/out: ...device:GPU:1 -> ...device:GPU:0  (asks for '/gpu:1', which the machine does not have; before: asks
  for '/gpu:1')
generator (1): a node without data inputs goes where all its consumers are
  x: ...device:GPU:0 -> ...device:CPU:0  (follows y)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Unpack

import numpy as np

from gpuplace.display import above, notebook_view, with_safe_text
from gpuplace.placer.placed import Placed
from gpuplace.progress import track
from gpuplace.typing import DataFrame, Picture, PictureOptions
from gpuplace.why.rules import RULES, Rule
from gpuplace.why.sentences import sentences_of
from gpuplace.why.verdict import verdicts_of

_SHOWN = 6


class Move(NamedTuple):
    """A node that has another device in the other placement, with the verdict on it there and here."""

    node: str
    before: str
    """Full name; "" without a device."""
    after: str
    """Full name; "" without a device."""
    cause: Rule
    """The rule that settled its device after the move."""
    decided_by: str
    """The culprit after the move."""
    cause_before: Rule
    """The rule that settled its device before."""
    decided_by_before: str
    """The culprit before."""
    note: str = ""
    """Both verdicts in words: `follows m`, `asks for '/gpu:3'; before: GPU comes before CPU`."""


@dataclass(frozen=True)
class PlacementDiff:
    """The nodes that moved."""

    moves: tuple[Move, ...]
    """In the order of the first placement's graph."""
    only_before: tuple[str, ...]
    """Nodes that the other graph does not have."""
    only_after: tuple[str, ...]
    """Nodes that only the other graph has."""
    earlier: Placed | None = field(default=None, repr=False, compare=False)
    """What was compared."""
    later: Placed | None = field(default=None, repr=False, compare=False)
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

    @with_safe_text
    def __str__(self) -> str:
        if not self.moves:
            return "no node moves"
        lines = []
        for rule, moves in self.by_cause().items():
            lines.append(f"{rule.value} ({len(moves)}): {rule.meaning}")
            lines += [
                f"  {move.node}: {move.before or 'no device'} -> {move.after or 'no device'}  ({move.note})"
                for move in moves[:_SHOWN]
            ]
            if len(moves) > _SHOWN:
                lines.append(f"  and {len(moves) - _SHOWN} more")
        return "\n".join(lines)

    def frame(self) -> DataFrame:
        """A row a node that moves as a pandas ``DataFrame``; see ``explanation_frames.diff_frame``."""
        diff_frame = above("gpuplace.jupyter.frames.explanation_frames", "diff_frame")

        return diff_frame(self)

    def picture(self, **options: Unpack[PictureOptions]) -> Picture:
        """The later placement with what moved; see ``gpuplace.jupyter.pictures.placement_picture`` for the options.

        Raises:
            ValueError: the difference does not know its placements.
        """
        placement_picture = above("gpuplace.jupyter.pictures", "placement_picture")

        if self.later is None:
            raise ValueError(
                "This difference does not say between which placements it is: take placement.diff(other)"
            )
        options.setdefault("against", self.earlier)
        return placement_picture(self.later, **options)

    _repr_mimebundle_ = notebook_view


def diff(before: Placed, after: Placed) -> PlacementDiff:
    """Compares two placements by node name."""
    old, new = before.graph, after.graph
    old_names, new_names = (*before.device_set.names, ""), (*after.device_set.names, "")
    same = old.names == new.names
    if same:
        here = there = np.arange(len(old))
    else:
        shared = [name for name in old.names if name in new.index]
        here, there = (
            np.array([index[name] for name in shared], dtype=np.int64) for index in (old.index, new.index)
        )
    code = {name: i for i, name in enumerate(dict.fromkeys((*old_names, *new_names)))}
    devices = np.array([code[name] for name in old_names])[before.devices[here]]
    moved = devices != np.array([code[name] for name in new_names])[after.devices[there]]
    first, second = _Side(before), _Side(after)
    pairs = list(zip(here[moved].tolist(), there[moved].tolist(), strict=True))
    moves = tuple(
        Move(
            old.names[i],
            old_names[before.devices[i]],
            new_names[after.devices[k]],
            second.rule(k),
            second.culprit(k),
            first.rule(i),
            first.culprit(i),
            _note(first.sentences(i), second.sentences(k)),
        )
        for i, k in track(pairs, len(pairs), "comparing")
    )
    if same:
        return PlacementDiff(moves, (), (), before, after)
    return PlacementDiff(
        moves,
        tuple(name for name in old.names if name not in new.index),
        tuple(name for name in new.names if name not in old.index),
        before,
        after,
    )


class _Side:
    """One of the two placements with its verdicts."""

    def __init__(self, placed: Placed) -> None:
        verdicts = verdicts_of(placed)
        self.sentences = sentences_of(placed)
        self._names = placed.graph.names
        self._rules, self._culprits = verdicts.rule.tolist(), verdicts.culprit.tolist()

    def rule(self, node: int) -> Rule:
        return RULES[self._rules[node]]

    def culprit(self, node: int) -> str:
        return self._names[self._culprits[node]]


def _note(before: str, after: str) -> str:
    return after if before == after else f"{after}; before: {before}"
