"""Highlights of a picture: a trace of the selected op, the critical path, or matches. Everything else is dimmed.

::

    ""              nothing: all boxes look as usual
    inputs          all that the selected op, or the selected scope, depends on
    consumers       all that depends on it
    both            either
    path by ops     the longest chain of ops
    path by bytes   the chain with most bytes copied between devices
    path by time    the longest chain by the time that a step measured
    matches         ops whose name the search matches

>>> from gpuplace.views.tables.placement_view import PlacementView
>>> view = PlacementView.of_columns(
...     [("a", "Const", "", "/device:CPU:0"), ("b", "Neg", "", "/device:GPU:0")], [("a", 0, "b", 0)]
... )
>>> lit_by(view, "path by ops").text
'critical path: 2 ops, the longest chain'
>>> lit_by(view, "inputs").text
'Select an op to highlight all that it depends on.'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuplace.typing import RunMetadata
from gpuplace.views.picture.drawing import Drawing
from gpuplace.views.picture.marks import critical_path, find
from gpuplace.views.picture.sheet import lit_links
from gpuplace.views.tables.dependency_trace import TRACES, trace_from
from gpuplace.views.tables.placement_view import PlacementView
from gpuplace.views.tables.text import counted, shortened
from gpuplace.web.rules import RULES

_WORDS: dict[str, dict[str, str]] = RULES["lights"]
LIGHTS = _WORDS["choices"]
"""Highlight -> its label in a list."""
_FIRST, _TOLD = _WORDS["first"], _WORDS["told"]
_PATTERN_LETTERS: int = RULES["text"]["pattern_letters"]


@dataclass(frozen=True, eq=False)
class Lit:
    """Highlighted nodes and edges."""

    what: str
    """One of `LIGHTS`."""
    text: str
    """Description and count, or the next action."""
    nodes: np.ndarray | None = None
    """[nodes] bool; None without a highlight."""
    edges: np.ndarray | None = None
    """[edges] bool."""
    starts: np.ndarray | None = None
    """Positions of the start nodes of a trace."""


def lights_for(view: PlacementView, run_metadata: RunMetadata | None = None) -> tuple[str, ...]:
    """Return the available `LIGHTS`: a log has no edges, and times require a measured step."""
    if not view.knows_edges:
        return "", "matches"
    return tuple(what for what in LIGHTS if what != "path by time" or run_metadata is not None)


def lit_by(
    view: PlacementView,
    what: str,
    starts: np.ndarray | None = None,
    name: str = "",
    *,
    pattern: str = "",
    run_metadata: RunMetadata | None = None,
) -> Lit:
    """Return the highlight of one of `LIGHTS`.

    Args:
        view: view to highlight.
        what: one of `lights_for`.
        starts: positions of the selected nodes.
        name: name of the selected op or scope.
        pattern: search pattern.
        run_metadata: ``RunMetadata`` of a step.
    """
    if what in TRACES:
        if starts is None or not len(starts):
            return Lit(what, _FIRST[what])
        trace = trace_from(view, starts, what, name)
        return Lit(what, trace.text, trace.nodes, trace.edges, starts)
    if what == "matches":
        if not pattern:
            return Lit(what, _FIRST[what])
        matching = find(view, pattern)
        matches = counted(int(matching.sum()), "match", "matches")
        text = _TOLD["matches"].format(matches=matches, pattern=shortened(pattern, _PATTERN_LETTERS))
        return Lit(what, text, matching, matching[view.src] & matching[view.dst])
    if what:
        path = critical_path(view, what.removeprefix("path by "), run_metadata)
        place = np.full(len(view), -2, dtype=np.int64)
        place[list(path.nodes)] = np.arange(len(path.nodes))
        edges = (place[view.dst] == place[view.src] + 1) & (place[view.src] >= 0)
        return Lit(what, _TOLD["path"].format(path=path.text), path.is_on, edges)
    return Lit("", "")


def lit_boxes(drawing: Drawing, lit: Lit) -> dict[str, Any]:
    """Return ``boxes`` (id -> highlighted nodes, if any), ``links`` as ``n0->n1``, and ``starts`` for a page."""
    if lit.nodes is None or lit.edges is None:
        return {"what": lit.what, "text": lit.text}
    numbers = np.bincount(drawing.box_of[lit.nodes], minlength=len(drawing.boxes)).tolist()
    starts = [] if lit.starts is None else np.unique(drawing.box_of[lit.starts]).tolist()
    return {
        "what": lit.what,
        "text": lit.text,
        "boxes": {box.id: [n, box.nodes] for box, n in zip(drawing.boxes, numbers, strict=True) if n},
        "links": sorted(f"{src}->{dst}" for src, dst in lit_links(drawing, lit.edges)),
        "starts": [drawing.boxes[box].id for box in starts],
    }
