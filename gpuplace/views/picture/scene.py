"""The picture of a graph as values for the page's script, which lays it out and draws it.

::

    Drawing ──sheet_of──> Sheet ──graph_scene──> web/drawing/nested.js, which draws it

The script remembers its earlier pictures: unfolding a scope moves other boxes only to make room, and folding the scope
restores the earlier picture.

>>> from gpuplace.views.picture.drawing import draw
>>> from gpuplace.views.picture.sheet import sheet_of
>>> from gpuplace.views.tables.placement_view import PlacementView
>>> rows = [("a/x", "Const", "", "/device:CPU:0"), ("a/y", "Neg", "", "/device:GPU:0")]
>>> view = PlacementView.of_columns(rows, [("a/x", 0, "a/y", 0)])
>>> folded, opened = (draw(view, scopes) for scopes in ([], ["a"]))
>>> scene = graph_scene(sheet_of(opened), folded)
>>> [(box["face"]["id"], box["frame"]) for box in scene["boxes"]], [frame["id"] for frame in scene["frames"]]
([('n0', 'c1'), ('n1', 'c1')], ['c1'])
>>> [(link["src"], link["dst"], link["sent"]) for link in scene["links"]], scene["former"]
([('n0', 'n1', [0])], {'n0': 's1', 'n1': 's1', 'c1': 's1'})
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.views.picture.dot import cluster_tip
from gpuplace.views.picture.drawing import Drawing, Link
from gpuplace.views.picture.outline import outline
from gpuplace.views.picture.sheet import Face, Line, Sheet, fill_colour, role_colour
from gpuplace.views.tables.palette import LIGHT, Look
from gpuplace.views.tables.placement_view import UNKNOWN
from gpuplace.views.tables.text import shortened
from gpuplace.web.rules import RULES

__all__ = ["BAR", "face_values", "graph_scene"]

BAR = "bar"
"""Marks the place of a bar among the lines of a box."""
_SCOPE_LETTERS: int = RULES["text"]["scope_letters"]


def graph_scene(sheet: Sheet, before: Drawing | None = None, *, is_first: bool = False) -> dict[str, Any]:
    """Return the input of ``gpuplace/web/drawing/nested.js`` for JSON.

    Args:
        sheet: what to draw.
        before: the previous drawing of the same graph; None for the first.
        is_first: whether to lay out the picture from scratch instead of keeping boxes in place.
    """
    drawing = sheet.drawing
    tree = outline(drawing.view)
    towers = {f"s{scope}" for scope in tree.towers}
    return {
        "boxes": [
            {
                "face": {
                    **face_values(face, _lines(face)),
                    "least": face.width,
                    "isNarrow": face.box.kind != "op" and not tree.has_room,
                },
                "frame": f"c{face.box.cluster}",
                # Scopes are numbered in the order of the flow; ops follow them.
                "first": int(face.box.id[1:]) if face.box.id[0] in "sb" else None,
                "isTower": face.box.id in towers,
            }
            for face in sheet.faces
        ],
        "frames": [
            {
                "id": f"c{cluster.scope}",
                "frame": f"c{cluster.parent}",
                "first": cluster.scope,
                "label": shortened(cluster.label, _SCOPE_LETTERS),
                "tip": cluster_tip(cluster),
            }
            for cluster in drawing.clusters
        ],
        "links": [_link(link) for link in drawing.links],
        "copies": _copies(drawing),
        "former": {} if before is None else _former(drawing, before),
        "isFirst": is_first,
    }


def face_values(face: Face, lines: list[list[Any]]) -> dict[str, Any]:
    """Return a box as ``gpuplace/web/drawing/faces.js`` draws it, with some lines."""
    return {
        "id": face.box.id,
        "kind": face.box.kind,
        "classes": list(face.classes),
        "lines": lines,
        "bars": [[[fill_colour(look, LIGHT), count] for look, count in bar] for bar in face.bars],
        "fill": fill_colour(face.look, LIGHT),
        "corners": face.corners,
        "outlines": face.outlines,
        "stroke": role_colour(face.stroke, LIGHT),
        "pen": face.pen,
        "dash": face.is_dashed,
        "tip": face.tip,
    }


def _lines(face: Face) -> list[list[Any]]:
    """Return ``[text, size, colour, is bold]`` for each line, and ``["bar", number]`` for shares, after the name."""
    lines = [_line(line, face.look) for line in face.lines]
    bars = ([BAR, strip] for strip in range(len(face.bars)))
    return [*lines[: face.name_lines], *bars, *lines[face.name_lines :]]


def _line(line: Line, look: Look | None) -> list[Any]:
    parts = [[text, role_colour(role, LIGHT, look)] for text, role in line.spans]
    [(text, colour), *more] = parts
    return [parts if more else text, line.size, colour, line.is_bold]


def _link(link: Link) -> dict[str, Any]:
    is_known = link.tensor is not None and link.tensor != UNKNOWN
    return {
        "src": link.src,
        "dst": link.dst,
        "rank": link.rank,
        "tensors": link.tensors,
        "controls": link.controls,
        "sent": sorted(link.numbers),
        "name": link.name if link.tensors + link.controls == 1 else "",
        "single": str(link.tensor) if is_known else None,
    }


def _copies(drawing: Drawing) -> dict[int, list[Any]]:
    """Map each copy along a link to its number per step, its bytes, and its bytes per example."""
    view = drawing.view
    numbers = sorted({number for link in drawing.links for number in link.numbers})
    copies = [view.copies[number] for number in numbers]
    facts = view.tensors_of([(copy.node, copy.output) for copy in copies])
    return {
        number: [copy.runs, fact.nbytes, fact.example_bytes]
        for number, copy, fact in zip(numbers, copies, facts, strict=True)
    }


def _former(drawing: Drawing, before: Drawing) -> dict[str, str]:
    """Map the id of each new box and open scope to the box or scope in its place in the previous drawing."""
    known = {box.id for box in before.boxes} | {f"c{cluster.scope}" for cluster in before.clusters}
    tree = outline(drawing.view)
    first = np.unique(drawing.box_of, return_index=True)[1]
    ids = [(box.id, int(node)) for box, node in zip(drawing.boxes, first.tolist(), strict=True)]
    ids += [(f"c{cluster.scope}", -1) for cluster in drawing.clusters]
    former = {}
    for identity, node in ids:
        if identity in known:
            continue
        kind, number = identity[0], int(identity[1:])
        other = {"c": "s", "s": "c"}.get(kind, "") + str(number)
        if other not in known:
            node = int(np.argmax(tree.is_inside(number))) if node < 0 else node
            other = before.boxes[int(before.box_of[node])].id
        former[identity] = other
    return former
