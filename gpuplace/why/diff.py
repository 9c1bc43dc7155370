"""The difference of two placements of one graph: every node that moves, with the verdicts before and after.

soft placement (1): soft placement drops the type and index of a request that cannot be satisfied
  tower_1/out: ...device:GPU:1 -> ...device:GPU:0  (asks for '/gpu:1', which the machine does not have; before: asks
  for '/gpu:1')
generator (1): a node without data inputs goes where all its consumers are
  x: ...device:GPU:0 -> ...device:CPU:0  (follows y)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import repeat
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
    """A node that has another device in the second placement, with both verdicts on it."""

    node: str
    before: str
    """Full device name; "" without a device."""
    after: str
    """Full device name; "" without a device."""
    cause: Rule
    """The rule that determined its device after the move."""
    decided_by: str
    """The culprit after the move."""
    cause_before: Rule
    """The rule that determined its device before the move."""
    decided_by_before: str
    """The culprit before the move."""
    note: str = ""
    """Both verdicts in words: `follows m`, `asks for '/gpu:3'; before: GPU comes before CPU`."""

    def __str__(self) -> str:
        return f"{self.node}: {self.before or 'no device'} -> {self.after or 'no device'}  ({self.note})"


@dataclass(frozen=True)
class PlacementDiff:
    """The nodes that move between two placements."""

    moves: tuple[Move, ...]
    """The moves, in the order of the first placement's graph."""
    only_before: tuple[str, ...]
    """Nodes that only the first graph has."""
    only_after: tuple[str, ...]
    """Nodes that only the second graph has."""
    earlier: Placed | None = field(default=None, repr=False, compare=False)
    """The first placement."""
    later: Placed | None = field(default=None, repr=False, compare=False)
    """The second placement."""

    def by_cause(self) -> dict[Rule, tuple[Move, ...]]:
        """Return the moves by rule, the rule with the most moves first."""
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
    def __repr__(self) -> str:
        count = len(self.moves)
        parts = [f"{count:,} node{' moves' if count == 1 else 's move'}"]
        parts += [f"{len(moves):,} by {rule.value}" for rule, moves in self.by_cause().items()]
        for names, where in ((self.only_before, "before"), (self.only_after, "after")):
            if names:
                parts.append(f"{len(names):,} only {where}")
        return f"<PlacementDiff: {', '.join(parts)}>"

    @with_safe_text
    def __str__(self) -> str:
        if not self.moves:
            return "no node moves"
        lines = []
        for rule, moves in self.by_cause().items():
            lines.append(f"{rule.value} ({len(moves)}): {rule.meaning}")
            lines += [f"  {move}" for move in moves[:_SHOWN]]
            if len(moves) > _SHOWN:
                lines.append(f"  and {len(moves) - _SHOWN} more")
        return "\n".join(lines)

    def frame(self) -> DataFrame:
        """Return a ``DataFrame`` with one row per moved node; see ``explanation_frames.diff_frame``."""
        return above("gpuplace.jupyter.frames.explanation_frames", "diff_frame")(self)

    def picture(self, **options: Unpack[PictureOptions]) -> Picture:
        """Draw the later placement with the moves marked; see ``jupyter.pictures.placement_picture`` for the options.

        Raises:
            ValueError: the difference has no reference to its placements.
        """
        placement_picture = above("gpuplace.jupyter.pictures", "placement_picture")

        if self.later is None:
            raise ValueError(
                "This difference has no placements to draw. Use the result of placement.diff(other)."
            )
        options.setdefault("against", self.earlier)
        return placement_picture(self.later, **options)

    _repr_mimebundle_ = notebook_view


def diff(before: Placed, after: Placed) -> PlacementDiff:
    """Compare two placements by node name."""
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
    here, there = here[moved], there[moved]
    moves = _moves(before, after, here, there)
    if same:
        return PlacementDiff(moves, (), (), before, after)
    return PlacementDiff(
        moves,
        tuple(name for name in old.names if name not in new.index),
        tuple(name for name in new.names if name not in old.index),
        before,
        after,
    )


def _moves(before: Placed, after: Placed, here: np.ndarray, there: np.ndarray) -> tuple[Move, ...]:
    """Return the moves of nodes at positions `here` ([moves]) of the first graph and `there` of the second."""
    names = before.graph.names
    first, second = _verdict_columns(before, here), _verdict_columns(after, there)
    rows = zip(
        [names[node] for node in here.tolist()],
        first.devices,
        second.devices,
        second.rules,
        second.culprits,
        first.rules,
        first.culprits,
        map(_note, first.sentences, second.sentences),
        strict=True,
    )
    # A named tuple's own constructor runs in Python: too slow for a hundred thousand moves.
    return tuple(map(tuple.__new__, repeat(Move), track(rows, len(here), "comparing")))


class _VerdictColumns(NamedTuple):
    """Devices and verdicts of some nodes of a placement; every list has the shape [nodes]."""

    devices: list[str]
    rules: list[Rule]
    culprits: list[str]
    sentences: list[str]


def _verdict_columns(placed: Placed, nodes: np.ndarray) -> _VerdictColumns:
    verdicts, names = verdicts_of(placed), placed.graph.names
    device_names = (*placed.device_set.names, "")
    return _VerdictColumns(
        [device_names[device] for device in placed.devices[nodes].tolist()],
        [RULES[rule] for rule in verdicts.rule[nodes].tolist()],
        [names[node] for node in verdicts.culprit[nodes].tolist()],
        sentences_of(placed).of(nodes),
    )


def _note(before: str, after: str) -> str:
    return after if before == after else f"{after}; before: {before}"
