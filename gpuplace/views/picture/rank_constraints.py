"""Vertical order of boxes that no lines connect."""

from __future__ import annotations

import math

from gpuplace.views.picture.drawing import Drawing


def row_constraints(drawing: Drawing) -> list[tuple[str, str]]:
    """Return pairs of upper and lower box, so that the unlinked boxes of a scope form several rows.

    >>> from gpuplace.views.picture.drawing import draw
    >>> from gpuplace.views.tables.placement_view import PlacementView
    >>> rows = [(name, "NoOp", "", "/device:CPU:0") for name in "abcdefg"]
    >>> row_constraints(draw(PlacementView.of_columns(rows), []))
    [('n0', 'n4'), ('n1', 'n5'), ('n2', 'n6')]
    """
    tied = {end for link in drawing.links for end in (link.src, link.dst)}
    alone: dict[int, list[str]] = {}
    for box in drawing.boxes:
        if box.id not in tied | drawing.shelved:
            alone.setdefault(box.cluster, []).append(box.id)
    pairs = []
    for boxes in alone.values():
        columns = max(4, math.isqrt(len(boxes)))
        pairs += list(zip(boxes, boxes[columns:], strict=False))
    return pairs
