r"""Lay out the boxes of a picture: Graphviz gets only sizes and edges, and returns positions and curves.

Colours, texts and line styles are not part of the input, so a picture with the same boxes and edges is not laid out
again: another colouring, a dark page, or a switch that moves ops between devices leaves every box in its place.

>>> from gpuplace.views.picture.drawing import draw
>>> from gpuplace.views.tables.placement_view import PlacementView
>>> from gpuplace.views.picture.sheet import sheet_of
>>> one = PlacementView.of_columns([("a", "Const", "", "/device:CPU:0")])
>>> other = PlacementView.of_columns([("a", "Const", "", "/device:GPU:0")])
>>> layout_text(sheet_of(draw(one))) == layout_text(sheet_of(draw(other)))
True
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from gpuplace.views.picture.dot import FONT, LIMITS, SCOPE, checked_direction, edge_texts, escape
from gpuplace.views.picture.drawing import Cluster
from gpuplace.views.picture.rank_constraints import row_constraints
from gpuplace.views.picture.sheet import Sheet
from gpuplace.views.picture.strips import ONE_STRIP, Strips, gaps, strips
from gpuplace.views.tables.scopes import ROOT
from gpuplace.views.tables.text import shortened
from gpuplace.web.rules import RULES

CLUSTER_LABEL: int = RULES["text"]["scope_letters"]
"""Maximum number of characters in an open scope's name."""
_INCH = 72.0
_CLUSTER = re.compile(r"cluster_(\d+)_(\d+)")


@dataclass(frozen=True, slots=True)
class Route:
    """The curve of an edge."""

    points: tuple[tuple[float, float], ...]
    """A start, then three points for each cubic curve; in points, y downwards."""
    tip: tuple[float, float]
    """End of the arrow."""


Frame = tuple[float, float, float, float]
"""Left, top, right and bottom."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions in points from the upper left corner."""

    width: float
    height: float
    boxes: dict[str, tuple[float, float]]
    """Box id -> its center."""
    clusters: dict[int, dict[int, Frame]]
    """Scope -> strip -> frame; several strips if the picture is cut inside the scope."""
    routes: dict[tuple[str, str], Route]
    """Ids of both ends -> curve."""


def wrapping(
    sheet: Sheet, direction: str, canvas: tuple[float, float] | None, *, is_tight: bool = False
) -> Strips:
    """Return a picture's wrapping for a canvas (width and height in points); for top to bottom only."""
    if canvas is None or direction != "TB":
        return ONE_STRIP
    sizes = {face.box.id: (face.width, face.height) for face in sheet.faces}
    return strips(sheet.drawing, sizes, canvas, is_tight=is_tight)


def layout_text(sheet: Sheet, direction: str = "TB", wrapped: Strips = ONE_STRIP) -> str:
    """Return the input for Graphviz: boxes and lines, without shelves and lines between strips.

    Args:
        sheet: sheet to lay out.
        direction: ``"TB"`` from top to bottom, ``"LR"`` from left to right.
        wrapped: strips; Graphviz puts them side by side, in any order.

    Raises:
        ValueError: the direction is unknown.
    """
    drawing = sheet.drawing
    beside, apart = gaps(wrapped.is_tight)
    if direction not in ("TB", "BT"):
        apart = 80.0  # room for labels, which are wider than high
    lines = [
        "digraph placement {",
        f"  graph [rankdir={checked_direction(direction)} newrank=true {LIMITS}"
        f" nodesep={beside / _INCH:.3f} ranksep={apart / _INCH:.3f}"
        f' fontname="{FONT}" fontsize={SCOPE} margin=10 labeljust=l labelloc=t]',
        '  node [shape=box fixedsize=true label=""]',
        "  edge [arrowsize=0.6]",
    ]
    strip_of = wrapped.strip_of
    for strip in range(wrapped.count):
        inside: dict[int, list[str]] = {}
        for face in sheet.faces:
            if face.box.id not in drawing.shelved and strip_of.get(face.box.id, 0) == strip:
                size = f"width={face.width / _INCH:.4f} height={face.height / _INCH:.4f}"
                inside.setdefault(face.box.cluster, []).append(f"{face.box.id} [{size}]")
        shown = _around(drawing.clusters, inside)
        clusters = tuple(cluster for cluster in drawing.clusters if cluster.scope in shown)
        if wrapped.count > 1:
            lines.append(f"  subgraph cluster_strip{strip} {{ graph [margin=0]")
        _scope(lines, ROOT, clusters, inside, strip, "  ")
        if wrapped.count > 1:
            lines.append("  }")
    lines += [
        f"  {text}"
        for link, text in zip(drawing.links, edge_texts(drawing, [""] * len(drawing.links)), strict=True)
        if strip_of.get(link.src) == strip_of.get(link.dst)
    ]
    constraints = (*row_constraints(drawing), *wrapped.rows)
    lines += [
        f"  {src} -> {dst} [style=invis weight=0]"
        for src, dst in constraints
        if strip_of.get(src) == strip_of.get(dst)
    ]
    lines.append("}")
    return "\n".join(lines) + "\n"


def _around(clusters: tuple[Cluster, ...], inside: dict[int, list[str]]) -> set[int]:
    """Return the scopes that contain a box, and their parents."""
    parent = {cluster.scope: cluster.parent for cluster in clusters}
    around: set[int] = set()
    for scope in inside:
        while scope != ROOT and scope not in around:
            around.add(scope)
            scope = parent[scope]
    return around


def _scope(
    lines: list[str],
    scope: int,
    clusters: tuple[Cluster, ...],
    inside: dict[int, list[str]],
    strip: int,
    indent: str,
) -> None:
    lines += (indent + line for line in inside.get(scope, ()))
    for cluster in clusters:
        if cluster.parent == scope:
            lines.append(f"{indent}subgraph cluster_{cluster.scope}_{strip} {{")
            lines.append(
                f"{indent}  graph [margin=10 label=<<B>{escape(shortened(cluster.label, CLUSTER_LABEL))}</B>>]"
            )
            _scope(lines, cluster.scope, clusters, inside, strip, indent + "  ")
            lines.append(f"{indent}}}")


def read_layout(text: str) -> Layout:
    """Parse Graphviz's ``json0`` output, whose y axis points upwards."""
    answer = json.loads(text)
    _, _, width, height = map(float, answer["bb"].split(","))
    boxes: dict[str, tuple[float, float]] = {}
    clusters: dict[int, dict[int, Frame]] = {}
    names: dict[int, str] = {}
    for item in answer.get("objects", ()):
        name: str = item["name"]
        if "pos" in item:
            names[item["_gvid"]] = name
            x, y = map(float, item["pos"].split(","))
            boxes[name] = (x, height - y)
        elif (cluster := _CLUSTER.fullmatch(name)) and "bb" in item:
            left, low, right, high = map(float, item["bb"].split(","))
            scope, strip = map(int, cluster.groups())
            clusters.setdefault(scope, {})[strip] = (left, height - high, right, height - low)
    routes = {}
    for edge in answer.get("edges", ()):
        points: list[tuple[float, float]] = []
        tip = None
        for part in edge["pos"].split():
            *kind, x_text, y_text = part.split(",")  # "e,x,y" is the arrow's end, "s,x,y" its start
            place = (float(x_text), height - float(y_text))
            if kind:
                tip = place
            else:
                points.append(place)
        if edge.get("style") == "invis":
            continue
        ends = names[edge["tail"]], names[edge["head"]]
        if edge.get("dir") == "back":
            ends, points = ends[::-1], points[::-1]
        routes[ends] = Route(tuple(points), tip or points[-1])
    return Layout(width, height, boxes, clusters, routes)
