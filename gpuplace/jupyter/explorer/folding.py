"""Compute the open scopes after unfolding: more scopes are open, and no visible box disappears.

>>> from gpuplace.views.picture.drawing import draw
>>> from gpuplace.views.tables.placement_view import PlacementView
>>> view = PlacementView.of_columns([(name, "Const", "", "") for name in ("a/x", "a/y", "b/x", "b/c/y")])
>>> unfolded(draw(view, ["b"]), ["a"])
('a', 'b')
>>> unfolded(draw(view, ["b"]))
('a', 'b', 'b/c')
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from gpuplace.views.picture.drawing import BUNDLE_FROM, Box, Drawing, draw
from gpuplace.views.picture.outline import outline
from gpuplace.views.tables.scopes import ScopeTree

_GROWTH = 1.5
"""Maximum growth of a large number of boxes when the next level is unfolded."""


def unfolded(drawing: Drawing, more: Collection[str] = ()) -> tuple[str, ...]:
    """Return the open scopes after unfolding.

    Args:
        drawing: the current drawing.
        more: paths of scopes and keys of bundles to open. By default, those that open by themselves; if these are open,
            the next level as far as it fits.
    """
    opened = set(drawing.opened)
    added = set(more) or (set(draw(drawing.view).opened) - opened) or _next_level(drawing)
    opened |= added
    # With more boxes, equal boxes may be bundled; boxes that were visible alone must stay so.
    while held := _bundled(drawing, draw(drawing.view, opened)) - opened:
        opened |= held
    return tuple(sorted(opened))


def _bundled(before: Drawing, after: Drawing) -> set[str]:
    """Return the keys of bundles that contain boxes which were separate before."""
    boxes = after.boxes
    alone = np.array([box.kind in ("op", "scope") for box in before.boxes], dtype=bool)[before.box_of]
    return {
        boxes[box].name
        for box in np.unique(after.box_of[alone]).tolist()
        if boxes[box].kind == "bundle" and not boxes[box].id.startswith("r")
    }


def _next_level(drawing: Drawing) -> set[str]:
    """Return the folded boxes to unfold, smallest first, as long as the boxes fit; at least one."""
    tree = outline(drawing.view)
    folded = [box for box in drawing.boxes if box.kind != "op" and not box.id.startswith("r")]
    count = len(drawing.boxes)
    most = max(BUNDLE_FROM, _GROWTH * count)
    names: set[str] = set()
    for width, name in sorted((_width(tree, box), box.name) for box in folded):
        if names and count + width - 1 > most:
            break
        count += width - 1
        names.add(name)
    return names


def _width(tree: ScopeTree, box: Box) -> int:
    """Return the number of boxes that replace a folded one."""
    if box.kind == "scope":
        return tree.width(tree.index[box.name])
    return box.copies if box.copies > 1 else box.nodes
