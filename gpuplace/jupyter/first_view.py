"""What a picture shows first: as many scopes open as its canvas has room for, with names that can be read.

How much that is, only the layout tells: the longest part of `Outline.steps` is taken whose picture is no larger than the
canvas. It is the same for all placements of a graph, so that a switch folds and unfolds nothing.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from gpuplace.jupyter import render
from gpuplace.picture.drawing import HARD_CAP, draw
from gpuplace.picture.layout import layout_text
from gpuplace.picture.outline import Outline, outline
from gpuplace.picture.sheet import sheet_of
from gpuplace.tables.placement_view import PlacementView

__all__ = ["STILL_CANVAS", "first_view"]

STILL_CANVAS = (900.0, 640.0)
"""Width and height in points of a picture that is no widget's."""
_TIME_LIMIT_S = 2.0
_KNOWN: WeakKeyDictionary[Outline, dict[tuple[float, float, int], tuple[str, ...]]] = WeakKeyDictionary()


def first_view(view: PlacementView, canvas: tuple[float, float], most: int) -> tuple[str, ...]:
    """Paths of the scopes that are open.

    Args:
        view: what is drawn.
        canvas: width and height in points.
        most: boxes at the most.
    """
    tree = outline(view)
    known = _KNOWN.setdefault(tree, {})
    key = (*canvas, most)
    if key not in known:
        known[key] = _chosen(view, tree, canvas, most)
    return known[key]


def _chosen(view: PlacementView, tree: Outline, canvas: tuple[float, float], most: int) -> tuple[str, ...]:
    steps = tree.steps(min(most, HARD_CAP))
    paths = [
        tuple(tree.paths[scope] for step in steps[:count] for scope in step)
        for count in range(len(steps) + 1)
    ]

    def fits(count: int) -> bool:
        try:
            text = layout_text(sheet_of(draw(view, paths[count])), canvas=canvas)
            found = render.layout(text, _TIME_LIMIT_S)
        except render.LayoutTimeout:
            return False
        return found.width <= canvas[0] and found.height <= canvas[1]

    low, high = 0, len(steps)
    try:
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(middle) else (low, middle - 1)
    except render.NoLayoutProgram:
        low = len(steps)  # pictures say so themselves; their text is still there
    return paths[low]
