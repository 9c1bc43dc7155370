"""The lines of a picture: width, style, label and tooltip."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gpuplace.views.picture.drawing import Drawing, Link
from gpuplace.views.picture.marks import Marks
from gpuplace.views.tables.placement_view import UNKNOWN
from gpuplace.views.tables.text import OF_UNKNOWN_SIZE, counted
from gpuplace.web.rules import RULES, words

_LINE = RULES["line"]


@dataclass(frozen=True, slots=True)
class Wire:
    """The look of a link."""

    link: Link
    kind: str
    """``"copy"``, ``"control"`` or ``"tensor"``."""
    label: tuple[str, ...]
    """Lines of its label."""
    tip: str
    pen: float
    on_path: bool = False
    is_dim: bool = False
    """Whether it is outside of the shown trace."""


def wires_of(drawing: Drawing, marks: Marks) -> tuple[Wire, ...]:
    """Return the looks of a drawing's links.

    Folded boxes describe their copies; between ops, the lines do. If several lines carry the same copy, only one has a
    label.

    Args:
        drawing: boxes and lines.
        marks: marks to show.
    """
    path = _path_links(drawing, marks)
    is_op = {box.id: box.kind == "op" for box in drawing.boxes}
    labeled: set[tuple[str, frozenset[int]]] = set()
    wires = []
    for link in drawing.links:
        wire = wire_of(link, (link.src, link.dst) in path)
        key = (link.src, link.numbers)
        if key in labeled or not (is_op[link.src] and is_op[link.dst]):
            wire = replace(wire, label=())
        else:
            labeled.add(key)
        wires.append(wire)
    return tuple(wires)


def wire_of(link: Link, on_path: bool = False) -> Wire:
    """The look of a link."""
    label: tuple[str, ...] = ()
    if link.copies:
        is_known = link.tensor is not None and link.tensor != UNKNOWN and link.copies == 1
        what = str(link.tensor) if is_known else counted(link.copies, "copy", "copies")
        size = "" if link.size == OF_UNKNOWN_SIZE else link.size
        label = (what, size) if size else (what,)
        text = words("copied_tip", what=what) + (f", {size}" if size else "")
        kind, pen = "copy", _wider(_LINE["copy_pen"], link.copies)
    elif link.tensors:
        is_known = link.tensor is not None and link.tensor != UNKNOWN
        text = str(link.tensor) if is_known else counted(link.tensors, "tensor")
        kind, pen = "tensor", _wider(_LINE["tensor_pen"], link.tensors)
    else:
        text = counted(link.controls, "control edge")
        kind, pen = "control", float(_LINE["control_pen"])
    tip = f"{link.name}\n{text}" + ("\non the critical path" if on_path else "")
    return Wire(link, kind, label, tip, max(pen, 3.0) if on_path else pen, on_path)


def _wider(pen: float, number: int) -> float:
    """Return the line width for a number of tensors."""
    return pen + min(float(_LINE["most_wider"]), math.log10(number))


def _path_links(drawing: Drawing, marks: Marks) -> set[tuple[str, str]]:
    """Return the pairs of box ids along the critical path."""
    if marks.path is None:
        return set()
    boxes = drawing.box_of[np.array(marks.path.nodes, dtype=np.int64)].tolist()
    ids = [drawing.boxes[box].id for box in boxes]
    return {(source, target) for source, target in zip(ids, ids[1:], strict=False) if source != target}
