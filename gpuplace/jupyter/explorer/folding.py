"""What is open after something is unfolded: more than before, and nothing that was on the screen goes.

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
"""How many times as many boxes there may be after the next level is unfolded, where there are many."""


def unfolded(drawing: Drawing, more: Collection[str] = ()) -> tuple[str, ...]:
    """What is open once more of a drawing is.

    Args:
        drawing: what is shown now.
        more: paths of scopes and keys of bundles to open; by default what opens by itself, and where that is open the
            next level, as far as it fits.
    """
    opened = set(drawing.opened)
    wanted = set(more) or (set(draw(drawing.view).opened) - opened) or _next_level(drawing)
    opened |= wanted
    # More boxes make bundles of what is alike: what was shown alone is to stay so.
    while held := _bundled(drawing, draw(drawing.view, opened)) - opened:
        opened |= held
    return tuple(sorted(opened))


def _bundled(before: Drawing, after: Drawing) -> set[str]:
    """Keys of bundles that hold what was a box of its own."""
    boxes = after.boxes
    alone = np.array([box.kind in ("op", "scope") for box in before.boxes], dtype=bool)[before.box_of]
    return {
        boxes[box].name
        for box in np.unique(after.box_of[alone]).tolist()
        if boxes[box].kind == "bundle" and not boxes[box].id.startswith("r")
    }


def _next_level(drawing: Drawing) -> set[str]:
    """The folded boxes, smallest first, that may be unfolded until there are too many boxes; one at least."""
    tree = outline(drawing.view)
    folded = [box for box in drawing.boxes if box.kind != "op" and not box.id.startswith("r")]
    count = len(drawing.boxes)
    most = max(BUNDLE_FROM, _GROWTH * count)
    found: set[str] = set()
    for width, name in sorted((_width(tree, box), box.name) for box in folded):
        if found and count + width - 1 > most:
            break
        count += width - 1
        found.add(name)
    return found


def _width(tree: ScopeTree, box: Box) -> int:
    """How many boxes there are in the place of a folded one."""
    if box.kind == "scope":
        return tree.width(tree.index[box.name])
    return box.copies if box.copies > 1 else box.nodes
