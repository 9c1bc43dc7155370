"""Wrap long and wide pictures for a canvas: ranks in several strips, wide ranks in rows.

Graphviz draws a chain of fifty layers as a long ribbon, too small to read. Here the ranks are cut into strips side by
side, each read downwards, and a rank wider than the canvas is split into rows::

    a ─> b ─> ... ─> f          a   c   e
                          ->    │   │   │
                                b   d   f

>>> from gpuplace.views.picture.drawing import draw
>>> from gpuplace.views.tables.placement_view import PlacementView
>>> chain = [(a, 0, b, 0) for a, b in zip("abcde", "bcdef")]
>>> drawn = draw(PlacementView.of_columns([(name, "Neg", "", "") for name in "abcdef"], chain))
>>> found = strips(drawn, {box.id: (60.0, 50.0) for box in drawn.boxes}, (400.0, 220.0))
>>> found.strip_of
{'n0': 0, 'n1': 0, 'n2': 1, 'n3': 1, 'n4': 2, 'n5': 2}
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from gpuplace.views.picture.drawing import Drawing
from gpuplace.views.picture.outline import outline
from gpuplace.views.picture.rank_constraints import row_constraints
from gpuplace.views.tables.scopes import ROOT

__all__ = ["ONE_STRIP", "Strips", "gaps", "ranks", "strips"]

_GAPS = {False: (16.0, 28.8), True: (9.0, 18.0)}
"""Distances between boxes and between ranks, in points, by whether they are tight."""
_STRIP_GAP = 30.0
_MOST = 8
"""Maximum number of strips in a picture."""
_CLUSTER = 26.0
"""Height that a scope's frame adds to its first and last rank, in points."""


@dataclass(frozen=True)
class Strips:
    """The wrapping of a picture."""

    strip_of: dict[str, int]
    """Box id -> its strip from the left; empty for a single strip."""
    count: int
    """Number of strips."""
    rows: tuple[tuple[str, str], ...]
    """Pairs of upper and lower box of the same rank."""
    is_tight: bool = False
    """Whether boxes are closer than usual."""


def gaps(is_tight: bool) -> tuple[float, float]:
    """Return the distances between boxes of a rank and between ranks, in points."""
    return _GAPS[is_tight]


ONE_STRIP = Strips({}, 1, ())
"""The wrapping of a picture in a single strip."""


def strips(
    drawing: Drawing,
    sizes: Mapping[str, tuple[float, float]],
    canvas: tuple[float, float],
    *,
    is_tight: bool = False,
) -> Strips:
    """Return the wrapping with the largest scale on a canvas.

    Args:
        drawing: boxes and lines.
        sizes: box id -> width and height in points.
        canvas: width and height in points.
        is_tight: whether boxes are closer to each other.
    """
    box_gap, rank_gap = gaps(is_tight)
    if drawing.shelved:
        canvas = (canvas[0], canvas[1] - max(sizes[box][1] for box in drawing.shelved) - rank_gap)
    boxes = [box.id for box in drawing.boxes if box.id not in drawing.shelved]
    pairs = [pair for link in drawing.links for pair in link.below] + row_constraints(drawing)
    rank_of = ranks(boxes, pairs)
    levels: dict[int, list[str]] = {}
    for box, rank in rank_of.items():
        levels.setdefault(rank, []).append(box)
    towers = {f"s{scope}" for scope in outline(drawing.view).towers}
    rows, order = _rows([levels[rank] for rank in sorted(levels)], sizes, canvas[0], box_gap, towers)
    bounds = _bounds(drawing, order)
    heights = [max(sizes[box][1] for box in row) + rank_gap for row in order]
    widths = [sum(sizes[box][0] + box_gap for box in row) for row in order]
    size, cuts = _best_cuts(heights, widths, bounds, canvas)
    if size > 1.0:  # an open scope is cut only if the picture would be too small otherwise
        size, cuts = min((size, cuts), _best_cuts(heights, widths, [True] * len(order), canvas))
    if not cuts:
        return Strips({}, 1, tuple(rows), is_tight)
    strip_of: dict[str, int] = {}
    starts = [0, *cuts]
    for strip, (start, end) in enumerate(zip(starts, [*cuts, len(order)], strict=True)):
        strip_of.update((box, strip) for row in order[start:end] for box in row)
    return Strips(strip_of, len(starts), tuple(rows), is_tight)


def ranks(boxes: Iterable[str], pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the rank of each box: the longest path to it; a box without inputs is just above its first consumer.

    Lines that close a cycle are ignored.
    """
    after: dict[str, list[str]] = {box: [] for box in boxes}
    for src, dst in pairs:
        after[src].append(dst)
    state = dict.fromkeys(after, 0)
    back: set[tuple[str, str]] = set()
    finished: list[str] = []
    for start in after:
        if state[start]:
            continue
        stack = [(start, iter(after[start]))]
        state[start] = 1
        while stack:
            box, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                state[box] = 2
                finished.append(box)
                stack.pop()
            elif state[following] == 1:
                back.add((box, following))
            elif not state[following]:
                state[following] = 1
                stack.append((following, iter(after[following])))
    rank = dict.fromkeys(after, 0)
    for box in reversed(finished):
        for following in after[box]:
            if (box, following) not in back:
                rank[following] = max(rank[following], rank[box] + 1)
    followed = {dst for box in after for dst in after[box] if (box, dst) not in back}
    for box in after:
        below = [rank[dst] for dst in after[box] if (box, dst) not in back]
        if below and box not in followed:
            rank[box] = min(below) - 1
    return rank


def _rows(
    levels: list[list[str]],
    sizes: Mapping[str, tuple[float, float]],
    width: float,
    gap: float,
    towers: AbstractSet[str],
) -> tuple[list[tuple[str, str]], list[list[str]]]:
    """Split wide ranks into rows; return pairs of upper and lower box, and the rows of the picture."""
    pairs: list[tuple[str, str]] = []
    order: list[list[str]] = []
    for level in levels:
        total = sum(sizes[box][0] + gap for box in level)
        is_wide = total > width and not towers & set(level)  # towers stay side by side
        columns = math.ceil(len(level) / math.ceil(total / width)) if is_wide else len(level)
        rows = [level[i : i + columns] for i in range(0, len(level), columns)]
        for upper, lower in zip(rows, rows[1:], strict=False):
            pairs += zip(upper, lower, strict=False)
        order += rows
    return pairs, order


def _bounds(drawing: Drawing, order: list[list[str]]) -> list[bool]:
    """Return [rows] whether a cut before the row cuts no open scope."""
    top = {ROOT: ROOT}
    for cluster in drawing.clusters:
        top[cluster.scope] = cluster.scope if cluster.parent == ROOT else top[cluster.parent]
    scope_of = {box.id: top[box.cluster] for box in drawing.boxes}
    ends: dict[int, tuple[int, int]] = {}
    for i, row in enumerate(order):
        for box in row:
            if scope_of[box]:
                low, _ = ends.get(scope_of[box], (i, i))
                ends[scope_of[box]] = (low, i)
    allowed = [True] * len(order)
    for low, high in ends.values():
        for i in range(low + 1, high + 1):
            allowed[i] = False
    return allowed


def _best_cuts(
    heights: list[float], widths: list[float], allowed: list[bool], canvas: tuple[float, float]
) -> tuple[float, list[int]]:
    """Return the scale, 1 for a filled canvas, and the rows where new strips begin."""
    best: tuple[float, list[int]] = (math.inf, [])
    for count in range(1, _MOST + 1):
        cuts = _cuts(heights, allowed, count)
        starts, ends = [0, *cuts], [*cuts, len(heights)]
        parts = [slice(start, end) for start, end in zip(starts, ends, strict=True)]
        height = max(sum(heights[part]) for part in parts)
        width = sum(max(widths[part], default=0.0) + _STRIP_GAP for part in parts)
        size = max(height / canvas[1], width / canvas[0])
        if size < best[0] * 0.97:  # more strips only if it pays off
            best = (size, cuts)
    return best


def _cuts(heights: list[float], allowed: list[bool], count: int) -> list[int]:
    """Return cuts into strips of about equal height."""
    cuts: list[int] = []
    total, filled = sum(heights), 0.0
    for i, height in enumerate(heights):
        is_full = filled + height / 2 > total * (len(cuts) + 1) / count
        if i and allowed[i] and is_full and len(cuts) < count - 1:
            cuts.append(i)
        filled += height
    return cuts
