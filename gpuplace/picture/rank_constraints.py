"""Which scopes stand below which, where the edges between them are cut.

Without edges nothing holds the top-level scopes of a picture together, and Graphviz puts them side by side in a strip.
Invisible edges keep them in the order in which data flows::

    tower_0  tower_1                 tower_0   tower_1   gradients   train
       gradients            not
         train
"""

from __future__ import annotations

import math

from gpuplace.picture.drawing import Drawing
from gpuplace.tables.scopes import ROOT

_HELD = 4
"""Boxes of a scope that are kept above or below those of another."""


def scope_constraints(drawing: Drawing) -> list[tuple[str, str]]:
    """Pairs of boxes, one to lie above the other: top-level scopes whose edges are cut follow one another downwards.

    Without this nothing holds them together, and they stand side by side in a strip.
    """
    parent = {cluster.scope: cluster.parent for cluster in drawing.clusters}

    def top(scope: int) -> int:
        while parent.get(scope, ROOT) != ROOT:
            scope = parent[scope]
        return scope

    # A closed top-level scope stands for itself.
    top_of = {
        box.id: top(box.cluster) or (int(box.id[1:]) if box.kind == "scope" else ROOT)
        for box in drawing.boxes
    }
    between: dict[tuple[int, int], int] = {}
    for stub in drawing.stubs:
        if stub.is_outgoing:
            pair = (top_of[stub.box], stub.other)
            between[pair] = between.get(pair, 0) + stub.edges
    above: dict[int, set[int]] = {}
    for (src, dst), _ in sorted(between.items(), key=lambda item: (-item[1], item[0])):
        if not _reaches(above, src, dst):  # the weaker of two directions would close a circle
            above.setdefault(dst, set()).add(src)
    depth: dict[int, int] = {}

    def depth_of(scope: int) -> int:
        if scope not in depth:
            depth[scope] = 1 + max(map(depth_of, above.get(scope, ())), default=-1)
        return depth[scope]

    first: dict[int, list[str]] = {}
    last: dict[int, list[str]] = {}
    within = [link for link in drawing.links if top_of[link.src] == top_of[link.dst]]
    has_input, has_output = {link.dst for link in within}, {link.src for link in within}
    for box in drawing.boxes:
        scope = top_of[box.id]
        if box.id not in has_input:
            first.setdefault(scope, []).append(box.id)
        if box.id not in has_output:
            last.setdefault(scope, []).append(box.id)
    pairs = []
    for scope, before in above.items():
        lowest = max(before, key=lambda one: (depth_of(one), one))
        ends = last.get(lowest, [])[:_HELD], first.get(scope, [])[:_HELD]
        pairs += [(src, dst) for src in ends[0] for dst in ends[1]]
    return pairs


def row_constraints(drawing: Drawing) -> list[tuple[str, str]]:
    """Pairs of boxes, one to lie above the other: boxes of a scope without any lines stand in several rows, not in one.

    >>> from gpuplace.picture.drawing import draw
    >>> from gpuplace.tables.placement_view import PlacementView
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


def _reaches(above: dict[int, set[int]], scope: int, wanted: int) -> bool:
    """Whether `wanted` is `scope` or lies above it."""
    seen, todo = set(), [scope]
    while todo:
        one = todo.pop()
        if one == wanted:
            return True
        if one not in seen:
            seen.add(one)
            todo += above.get(one, ())
    return False
