r"""Where the boxes of a picture go: Graphviz is given sizes and edges alone, and gives places and curves.

Colours, words and line styles are not part of it, so that a picture whose boxes and edges stay is not laid out
again: another colouring, a dark page, or a switch that moves ops between devices keeps every box where it is.

>>> from gpuplace.picture.drawing import draw
>>> from gpuplace.tables.placement_view import PlacementView
>>> from gpuplace.picture.sheet import sheet_of
>>> one = PlacementView.of_columns([("a", "Const", "", "/device:CPU:0")])
>>> other = PlacementView.of_columns([("a", "Const", "", "/device:GPU:0")])
>>> layout_text(sheet_of(draw(one))) == layout_text(sheet_of(draw(other)))
True
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from gpuplace.picture.dot import FONT, LIMITS, checked_direction, escape
from gpuplace.picture.drawing import Cluster
from gpuplace.picture.rank_constraints import row_constraints, scope_constraints
from gpuplace.picture.sheet import Sheet
from gpuplace.picture.strips import Strips, strips
from gpuplace.tables.scopes import ROOT
from gpuplace.tables.text import shortened
from gpuplace.web.rules import RULES

__all__ = ["CLUSTER_LABEL", "Layout", "Route", "layout_text", "read_layout"]

CLUSTER_LABEL: int = RULES["text"]["scope_letters"]
"""Characters of an open scope's name."""
_INCH = 72.0


@dataclass(frozen=True, slots=True)
class Route:
    """The curve of an edge."""

    points: tuple[tuple[float, float], ...]
    """A start, then three points for each cubic curve; in points, downwards."""
    tip: tuple[float, float]
    """Where the arrow ends."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Places in points, from the upper left corner."""

    width: float
    height: float
    boxes: dict[str, tuple[float, float]]
    """Id of a box -> the middle of it and its tabs."""
    clusters: dict[int, tuple[float, float, float, float]]
    """Scope -> left, top, right and bottom of its frame."""
    routes: dict[tuple[str, str], Route]
    """Ids of both ends -> curve."""


def layout_text(sheet: Sheet, direction: str = "TB", canvas: tuple[float, float] | None = None) -> str:
    """The question to Graphviz.

    Args:
        sheet: what to draw.
        direction: ``"TB"`` from top to bottom, ``"LR"`` from left to right.
        canvas: width and height in points of what a picture from top to bottom is wrapped for; None: it is not wrapped.

    Raises:
        ValueError: an unknown direction.
    """
    drawing = sheet.drawing
    apart = 0.5 if direction in ("TB", "BT") else 1.1  # room for labels, which are wider than high
    lines = [
        "digraph placement {",
        f"  graph [rankdir={checked_direction(direction)} nodesep=0.22 ranksep={apart} newrank=true {LIMITS}"
        f' fontname="{FONT}" fontsize=10 margin=10 labeljust=l labelloc=t]',
        '  node [shape=box fixedsize=true label=""]',
        "  edge [arrowsize=0.6]",
    ]
    sizes = {face.box.id: (face.full_width, face.full_height) for face in sheet.faces}
    wrapped = Strips({}, (), ())
    if canvas is not None and direction == "TB":
        wrapped = strips(drawing, sizes, canvas)
    strip_of = wrapped.strip_of
    for strip in range(max(len(wrapped.first), 1)):
        inside: dict[int, list[str]] = {}
        for face in sheet.faces:
            if strip_of.get(face.box.id, 0) == strip:
                width, height = sizes[face.box.id]
                size = f"width={width / _INCH:.4f} height={height / _INCH:.4f}"
                inside.setdefault(face.box.cluster, []).append(f"{face.box.id} [{size}]")
        if not strip_of:
            _scope(lines, ROOT, drawing.clusters, inside, "  ")
            continue
        shown = _around(drawing.clusters, inside)
        lines.append(f"  subgraph cluster_strip{strip} {{ graph [style=invis margin=0]")
        _scope(
            lines,
            ROOT,
            tuple(cluster for cluster in drawing.clusters if cluster.scope in shown),
            inside,
            "    ",
        )
        lines.append("  }")
    if strip_of:
        lines.append(f"  {{ rank=same; {'; '.join(wrapped.first)} }}")
        lines.append(f"  {' -> '.join(wrapped.first)} [style=invis weight=100]")
    lines += [
        f"  {link.src} -> {link.dst}"
        + ("" if strip_of.get(link.src) == strip_of.get(link.dst) else " [constraint=false]")
        for link in drawing.links
    ]
    constraints = (*scope_constraints(drawing), *row_constraints(drawing), *wrapped.rows)
    lines += [
        f"  {src} -> {dst} [style=invis weight=0]"
        for src, dst in constraints
        if strip_of.get(src) == strip_of.get(dst)
    ]
    lines.append("}")
    return "\n".join(lines) + "\n"


def _around(clusters: tuple[Cluster, ...], inside: dict[int, list[str]]) -> set[int]:
    """The scopes that hold something, and those around them."""
    parent = {cluster.scope: cluster.parent for cluster in clusters}
    found: set[int] = set()
    for scope in inside:
        while scope != ROOT and scope not in found:
            found.add(scope)
            scope = parent[scope]
    return found


def _scope(
    lines: list[str], scope: int, clusters: tuple[Cluster, ...], inside: dict[int, list[str]], indent: str
) -> None:
    lines += (indent + line for line in inside.get(scope, ()))
    for cluster in clusters:
        if cluster.parent == scope:
            lines.append(f"{indent}subgraph cluster_{cluster.scope} {{")
            lines.append(
                f"{indent}  graph [label=<<B>{escape(shortened(cluster.label, CLUSTER_LABEL))}</B>>]"
            )
            _scope(lines, cluster.scope, clusters, inside, indent + "  ")
            lines.append(f"{indent}}}")


def read_layout(text: str) -> Layout:
    """Graphviz's answer in its ``json0`` form; it counts upwards, pictures downwards."""
    answer = json.loads(text)
    _, _, width, height = map(float, answer["bb"].split(","))
    boxes: dict[str, tuple[float, float]] = {}
    clusters: dict[int, tuple[float, float, float, float]] = {}
    names: dict[int, str] = {}
    for item in answer.get("objects", ()):
        name: str = item["name"]
        if "pos" in item:
            names[item["_gvid"]] = name
            x, y = map(float, item["pos"].split(","))
            boxes[name] = (x, height - y)
        elif name.removeprefix("cluster_").isdigit() and "bb" in item:
            left, low, right, high = map(float, item["bb"].split(","))
            clusters[int(name.removeprefix("cluster_"))] = (left, height - high, right, height - low)
    routes = {}
    for edge in answer.get("edges", ()):
        points: list[tuple[float, float]] = []
        tip = None
        for part in edge["pos"].split():
            *kind, x_text, y_text = part.split(",")  # "e,x,y" is the arrow's end, "s,x,y" its start
            place = (float(x_text), height - float(y_text))
            if kind == ["e"]:
                tip = place
            elif not kind:
                points.append(place)
        if edge.get("style") == "invis":
            continue
        routes[names[edge["tail"]], names[edge["head"]]] = Route(tuple(points), tip or points[-1])
    return Layout(width, height, boxes, clusters, routes)
