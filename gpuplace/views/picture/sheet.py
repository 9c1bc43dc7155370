"""A drawing with all texts and colours, ready for a renderer.

::

    Drawing (boxes, links) ──┐
    Colouring (categories) ──┼──> Sheet: faces (lines, bar, outline, size), wires, legend, notes ──> DOT text, SVG
    Marks (found, path, …) ──┘

Both renderers, Graphviz and `gpuplace.views.picture.svg`, therefore show the same texts. Boxes are measured here, so
that they mostly keep their size, and the picture its layout, in another placement of the graph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpuplace.views.picture.box_facts import BoxFacts, NodeCosts, box_facts, percent_text
from gpuplace.views.picture.colouring import Category, Colouring, colouring
from gpuplace.views.picture.differences import differences
from gpuplace.views.picture.drawing import Box, Drawing
from gpuplace.views.picture.marks import NO_MARKS, Marks
from gpuplace.views.picture.outline import STRIPS, outline
from gpuplace.views.picture.text_width import fitted, text_width
from gpuplace.views.picture.wires import Wire, wires_of
from gpuplace.views.tables.dependency_trace import Trace
from gpuplace.views.tables.palette import PAPER, Look, Theme, device_style
from gpuplace.views.tables.scale import time_text
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.views.tables.text import counted, name_lines, shortened
from gpuplace.web.rules import RULES, words

__all__ = [
    "Face",
    "Line",
    "Sheet",
    "fill_colour",
    "legend_text",
    "lit_links",
    "role_colour",
    "sheet_of",
]

_TEXT, _BOX = RULES["text"], RULES["box"]
LABEL_WIDTH: int = _TEXT["name_letters"]
"""Maximum number of characters of a name in a box."""
FOLDED_WIDTH = 128.0
"""Minimum width of a folded box in points."""
BAR_HEIGHT: float = _BOX["bar"]
_STEP = 8.0
"""Widths are multiples of this number, so that small changes of texts do not change the layout."""
_PAD_X: float = _BOX["pad_x"]
_PAD_Y: float = _BOX["pad_y"]
_LEADING: float = _TEXT["leading"]
_TITLE: float = _TEXT["title"]
_SMALL: float = _TEXT["small"]
_PEN: float = _BOX["pen"]
_UNMET_PEN: float = _BOX["unmet_pen"]
_GUILTY_PEN: float = _BOX["guilty_pen"]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a box."""

    spans: tuple[tuple[str, str], ...]
    """``(text, role)``; a role is ``"ink"``, ``"faint"``, ``"alarm"``, ``"mark"``, ``"path"``, ``"fill"`` on colour."""
    size: float = _SMALL
    is_bold: bool = False

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(text for text, _ in self.spans)

    @property
    def width(self) -> float:
        """Width in points."""
        return sum(text_width(text, self.size, self.is_bold) for text, _ in self.spans)

    @property
    def height(self) -> float:
        """Height in points."""
        return self.size + _LEADING


@dataclass(frozen=True, slots=True)
class Face:
    """The look of a box."""

    box: Box
    lines: tuple[Line, ...]
    bars: tuple[tuple[tuple[Look, int], ...], ...]
    """Bars of a folded box, below its name: one for each strip that has nodes; none for an op."""
    look: Look | None
    """Fill of an op's box; None for a folded box."""
    corners: str
    outlines: int
    stroke: str
    """Role of the outline's colour."""
    pen: float
    """Width of the outline in points."""
    is_dashed: bool
    classes: tuple[str, ...]
    tip: str
    width: float
    """Width in points."""
    height: float
    is_dim: bool = False
    """Whether it is outside of the shown trace."""

    @property
    def name_lines(self) -> int:
        """Number of lines with the box's name, which are the first."""
        return sum(line.size == _TITLE for line in self.lines)


@dataclass(frozen=True, slots=True)
class Sheet:
    """The contents of a picture."""

    drawing: Drawing
    colouring: Colouring
    faces: tuple[Face, ...]
    """[boxes]"""
    wires: tuple[Wire, ...]
    """[links]"""
    title: str
    """Title of the legend."""
    legend: tuple[Category, ...]
    notes: tuple[tuple[str, str], ...]
    """``(kind, text)`` of notes after the legend; a kind is ``"copy"``, ``"control"``, ``"alarm"``, ``"mark"``,
    ``"path"``, ``"trace"``, ``"moved"`` or ``"plain"``."""
    marks: Marks = field(default=NO_MARKS, repr=False)

    @property
    def backward(self) -> str:
        """``"on"`` or ``"off"``: whether lines of gradients and updates are drawn; ``""`` without training."""
        if not outline(self.drawing.view).strip.any():
            return ""
        return "on" if self.drawing.backward else "off"


def role_colour(role: str, theme: Theme, look: Look | None = None) -> str:
    """Return the colour of a role; text with the role ``"fill"`` is on a category's colour."""
    if role == "fill":
        return look.ink if look is not None and look.fill != PAPER else theme.ink
    colour: str = getattr(theme, role)
    return colour


def fill_colour(look: Look | None, theme: Theme) -> str:
    """Return the fill of a box or of a part of its bar; without a category it is the background."""
    return theme.background if look is None or look.fill == PAPER else look.fill


def sheet_of(
    drawing: Drawing,
    colour: Colouring | None = None,
    marks: Marks = NO_MARKS,
    costs: NodeCosts | None = None,
) -> Sheet:
    """Return the contents of a drawing's picture.

    Args:
        drawing: drawing to show.
        colour: colouring; None: by assigned device.
        marks: marks to show.
        costs: cost of a predicted step, for folded boxes.
    """
    colour = colour or colouring(drawing.view, "assigned")
    faces = _faces(drawing, colour, marks, costs)
    wires = wires_of(drawing, marks)
    if marks.trace is not None:
        faces, wires = _traced(drawing, marks.trace, faces, wires)
    return Sheet(
        drawing,
        colour,
        tuple(faces),
        wires,
        f"{colour.title}: number of nodes",
        colour.categories,
        tuple(_notes(drawing, marks, costs)),
        marks,
    )


def legend_text(sheet: Sheet) -> str:
    """Return the legend as text.

    >>> from gpuplace.views.picture.drawing import draw
    >>> from gpuplace.views.tables.placement_view import PlacementView
    >>> print(legend_text(sheet_of(draw(PlacementView.of_columns([("a", "Const", "", "/device:CPU:0")])))))
    assigned device: number of nodes
      CPU:0  1
    """
    categories = [category for category in sheet.legend if category.count]
    width = max([len(category.label) for category in categories], default=0)
    lines = [sheet.title, *(f"  {category.label:<{width}}  {category.count:,}" for category in categories)]
    return "\n".join([*lines, *(note for _, note in sheet.notes)])


def _faces(drawing: Drawing, colour: Colouring, marks: Marks, costs: NodeCosts | None) -> list[Face]:
    count = len(drawing.boxes)
    tree = outline(drawing.view)
    share = colour.strips(drawing.box_of, count, tree.strip)
    totals = colour.totals(drawing.box_of, count)
    matches = _per_box(drawing, marks.found)
    moved = _per_box(drawing, None if marks.moves is None else marks.moves.is_moved)
    path = _per_box(drawing, None if marks.path is None else marks.path.is_on)
    facts = box_facts(drawing, costs)
    faces = []
    for i, box in enumerate(drawing.boxes):
        extra = (matches[i], moved[i], path[i])
        if box.kind == "op":
            node = int(box.id[1:])
            look = colour.categories[int(colour.category[node])].look
            faces.append(_op(drawing, colour, marks, box, node, look, extra))
        else:
            contents = (
                tree.contents.get(tree.index.get(box.name, -1), ())
                if box.kind == "scope" and box.share_of is None
                else ()
            )
            total = None if totals is None or colour.scale is None else colour.scale.text(totals[i])
            faces.append(
                _folded(
                    colour,
                    box,
                    share[i],
                    total,
                    extra,
                    facts[i],
                    contents,
                    _differs(drawing, box),
                    tree.has_room,
                )
            )
    return faces


def _differs(drawing: Drawing, box: Box) -> str:
    """Return how a box differs from equal layers or towers; ``""`` if it does not."""
    if box.kind != "scope":
        return ""
    return differences(drawing.view).get(outline(drawing.view).index.get(box.name, -1), "")


def _per_box(drawing: Drawing, nodes: np.ndarray | None) -> list[int]:
    if nodes is None:
        return [0] * len(drawing.boxes)
    return np.bincount(drawing.box_of[nodes], minlength=len(drawing.boxes)).tolist()


def _op(
    drawing: Drawing,
    colour: Colouring,
    marks: Marks,
    box: Box,
    node: int,
    look: Look,
    extra: tuple[int, int, int],
) -> Face:
    style = device_style(box.device)
    request = box.requests[0] if box.requests else ""
    is_found, is_moved, is_on_path = (bool(number) for number in extra)
    where = style.label
    if is_moved and marks.moves is not None:
        where = f"{marks.moves.was(node)} → {style.label}"
    lines = [
        Line(((shortened(box.label, LABEL_WIDTH), "fill"),), _TITLE, True),
        Line(((" · ".join(filter(None, (shortened(box.op_type, LABEL_WIDTH), where))), "fill"),)),
    ]
    said = colour.texts(node)
    if said:
        lines.append(Line(((said, "fill"),)))
    # As wide for a GPU as for the CPU, so that a switch that moves it keeps the layout.
    width = text_width(" · ".join(filter(None, (shortened(box.op_type, LABEL_WIDTH), "GPU:0"))), _SMALL)
    if request:
        shown_request = shortened(request, LABEL_WIDTH)
        text = words("asked_unmet" if box.unmet else "asked", request=shown_request)
        width = max(
            width, text_width(words("asked_unmet", request=shown_request), _SMALL)
        )  # as wide with either text
        lines.append(Line(((text, "fill"),)))
    stroke, pen = "frame", _PEN
    classes = ["op", "blank"] if look.fill == PAPER else ["op"]
    if is_on_path:
        stroke, pen = "path", 3.0
        classes.append("path")
        lines.append(Line((("◆ critical path", "fill"),)))
    if is_found:
        stroke, pen = "mark", 3.0
        classes.append("found")
        lines.append(Line((("● match", "fill"),), is_bold=True))
    if is_moved:
        classes.append("moved")
        stroke, pen = "ink", 2.2
    if box.unmet:
        classes.append("unmet")
        stroke, pen = "alarm", _UNMET_PEN
    if box.guilty:
        classes.append("guilty")
        stroke, pen = "alarm", _GUILTY_PEN
        lines.append(Line(((words("guilty"), "fill"),), is_bold=True))
    tip = [box.name, f"{box.op_type} on {box.device or 'no device'}"]
    if is_moved and marks.moves is not None:
        note = marks.moves.notes.get(node)
        tip.append(f"moved: {where}" + (f", {said}" if said else "") + (f" ({note})" if note else ""))
    if request:
        tip.append(words("asked_tip", request=request) + (words("unmet_tip") if box.unmet else ""))
    if colour.name not in ("assigned", "requested", "moved"):
        category = colour.categories[int(colour.category[node])]
        tip.append(words("coloured_by", title=colour.title, value=said or category.label))
    line_width = max(width, *(line.width for line in lines))
    return Face(
        box,
        tuple(lines),
        (),
        look,
        style.corners,
        look.outlines,
        stroke,
        pen,
        bool(box.unmet),
        tuple(classes),
        "\n".join(tip),
        _rounded(line_width + 2 * _PAD_X),
        sum(line.height for line in lines) + 2 * _PAD_Y,
    )


def _folded(
    colour: Colouring,
    box: Box,
    share: np.ndarray,
    total: str | None,
    extra: tuple[int, int, int],
    facts: BoxFacts,
    contents: Sequence[str],
    differs: str,
    has_room: bool,
) -> Face:
    matches, moved, path = extra
    is_plain = box.share_of is not None and colour.name == "assigned"  # its lane shows the device
    shares = _ordered(colour, share.sum(axis=0))
    strips = [
        tuple((category.look, number) for category, number in _ordered(colour, strip)) for strip in share
    ]
    bars = () if is_plain else tuple(filter(None, strips))
    name = f"▸ {box.label}" + (f" × {box.copies}" if box.copies > 1 else "")
    titles = [Line(((text, "ink"),), _TITLE, True) for text in name_lines(name)]
    first = _shares_text(shares[:1], math.inf) if shares else ""
    if len(shares) > 1 and has_room:
        first += " · +9"
    least = FOLDED_WIDTH if has_room else FOLDED_WIDTH / 2
    pad, step = (2 * _PAD_X, _STEP) if has_room else (_PAD_X, _STEP / 2)
    listed = min(FOLDED_WIDTH, text_width(first, _SMALL) + pad)
    width = _rounded(max(least, listed, *(title.width + pad for title in titles)), step)
    if total is not None:
        text = words("in_all", total=total)
    else:
        text = _share_text(box) if is_plain else _shares_text(shares if has_room else shares[:1], width - pad)
    unmet = ((words("unmet_inside", number=f"{box.unmet:,}"), "alarm"),) if box.unmet else ()
    # On one line with the devices, so that a switch that moves nodes keeps the layout.
    beside = (("  ", "ink"), *unmet) if unmet and has_room else ()
    lines = [*titles, Line(((text, "ink"), *beside))]
    if len(shares) > 1 and total is None and not is_plain and not has_room:
        lines.append(Line(((_shares_text(shares[1:], width - pad), "faint"),)))
    lines += (Line(((text, "faint"),)) for text in contents)
    if facts.cost_text:
        lines.append(Line(((facts.cost_text, "ink"),)))
    if box.share_of is None:  # lanes have labels at their lines
        lines += (Line(((text, "copy"),)) for text in facts.copies_texts(has_room))
    if unmet and not has_room:
        lines.append(Line(unmet))
    if differs:
        text = words("differs_text", text=differs) if has_room else words("differs")
        lines.append(Line(((text, "alarm"),)))
    classes = [box.kind]
    stroke, pen = "frame", float(_BOX["folded_pen"])
    if moved:
        classes.append("moved")
        stroke, pen = "ink", 2.2
    if path:
        classes.append("path")
        stroke, pen = "path", 3.0
        lines.append(Line(((f"◆ {counted(path, 'node')} of the critical path", "path"),)))
    if matches:
        classes.append("found")
        stroke, pen = "mark", 3.0
        lines.append(Line(((f"● {counted(matches, 'match', 'matches')} inside", "mark"),), is_bold=True))
    if box.unmet:
        classes.append("unmet")
    if box.guilty:
        classes.append("guilty")
        stroke, pen = "alarm", _GUILTY_PEN
        lines.append(Line(((words("guilty_inside", number=f"{box.guilty:,}"), "alarm"),)))
    tip = [box.name.rstrip("*"), f"{counted(box.nodes, 'node')}: {_shares_text(shares, math.inf)}"]
    if total is not None:
        tip.append(words("coloured_by", title=colour.title, value=total))
    if box.unmet:
        tip.append(f"{counted(box.unmet, 'device request')} overridden")
    if differs:
        tip.append(words("differs_tip", text=differs))
    tip += _facts_tip(facts)
    tip.append(words("unfold_tip"))
    width = max(width, _rounded(max(line.width for line in lines) + pad, step))
    return Face(
        box,
        tuple(lines),
        bars,
        None,
        "round",
        2 if box.kind == "bundle" else 1,
        stroke,
        pen,
        False,
        tuple(classes),
        "\n".join(tip),
        width,
        sum(line.height for line in lines) + (BAR_HEIGHT + 1) * len(bars) + 2 * _PAD_Y,
    )


def _facts_tip(facts: BoxFacts) -> list[str]:
    """Return the tooltip lines of a box about copies and the predicted step."""
    lines = []
    if facts.cost_text:
        lines.append(
            words(
                "cost_tip",
                share=percent_text(facts.share or 0.0),
                time=time_text(1e6 * facts.seconds),
                variables=bytes_text(facts.variables),
            )
        )
    received, sent = (counted(number, "copy", "copies") for number, _ in (facts.received, facts.sent))
    if facts.received[0]:
        lines.append(words("copies_in_tip", copies=received, size=facts.received[1]))
    if facts.sent[0]:
        lines.append(words("copies_out_tip", copies=sent, size=facts.sent[1]))
    return lines


def _ordered(colour: Colouring, share: np.ndarray) -> list[tuple[Category, int]]:
    """Return categories with numbers of nodes, most frequent first."""
    order = np.argsort(-share, kind="stable")
    return [(colour.categories[k], int(share[k])) for k in order.tolist() if share[k]]


def _share_text(box: Box) -> str:
    if box.share_of is None or box.share_of == box.nodes:
        return counted(box.nodes, "node")
    return words("share_of", number=f"{box.nodes:,}", nodes=counted(box.share_of, "node"))


def _shares_text(shares: Sequence[tuple[Category, int]], width: float) -> str:
    """Return ``GPU:0 (120) · CPU:0 (3)``; categories that do not fit are counted."""
    texts = [f"{category.label} ({number:,})" for category, number in shares]
    if math.isinf(width):
        return " · ".join(texts[:99])
    for kept in range(len(texts), 0, -1):
        rest = len(texts) - kept
        text = " · ".join(texts[:kept]) + (f" · +{rest}" if rest else "")
        if text_width(text, _SMALL) <= width:
            return text
    return (
        fitted(texts[0], width - 20, _SMALL) + (f" · +{len(texts) - 1}" if len(texts) > 1 else "")
        if texts
        else "-"
    )


def _rounded(width: float, step: float = _STEP) -> float:
    return math.ceil(width / step) * step


def _traced(
    drawing: Drawing, trace: Trace, faces: Sequence[Face], wires: Sequence[Wire]
) -> tuple[list[Face], tuple[Wire, ...]]:
    """Add the number of traced nodes to boxes, and dim the boxes outside of the trace."""
    inside = _per_box(drawing, trace.nodes)
    starts = set(drawing.box_of[trace.starts].tolist())
    lit = []
    for i, (face, number) in enumerate(zip(faces, inside, strict=True)):
        if not number:
            lit.append(replace(face, is_dim=True, classes=(*face.classes, "dim")))
            continue
        changes: dict[str, Any] = {"classes": (*face.classes, "traced")}
        if i in starts and face.stroke in ("frame", "ink"):
            changes |= {"stroke": "mark", "pen": 3.0}
        if face.box.kind != "op":
            line = Line(((f"◉ {number:,} of {face.box.nodes:,}", "mark"),), is_bold=True)
            width = max(face.width, _rounded(line.width + 2 * _PAD_X))
            changes |= {"lines": (*face.lines, line), "width": width, "height": face.height + line.height}
        lit.append(replace(face, **changes))
    ends = lit_links(drawing, trace.edges)
    return lit, tuple(
        replace(wire, pen=max(wire.pen, 2.4))
        if (wire.link.src, wire.link.dst) in ends
        else replace(wire, is_dim=True)
        for wire in wires
    )


def lit_links(drawing: Drawing, edges: np.ndarray) -> set[tuple[str, str]]:
    """Return the pairs of box ids that any of some edges ([edges] bool) connects."""
    chosen = np.flatnonzero(edges)
    src, dst = (drawing.box_of[ends[chosen]] for ends in (drawing.view.src, drawing.view.dst))
    count = len(drawing.boxes)
    codes = np.unique(src[src != dst] * count + dst[src != dst]).tolist()
    return {(drawing.boxes[code // count].id, drawing.boxes[code % count].id) for code in codes}


def _notes(drawing: Drawing, marks: Marks, costs: NodeCosts | None) -> list[tuple[str, str]]:
    notes = []
    texts: dict[str, str] = RULES["lights"]["told"]
    if drawing.copies:
        copies = counted(drawing.copies, "copy", "copies")
        notes.append(("copy", f"{words('note_copies', copies=copies)}, {drawing.size}"))
    if any(not link.tensors and link.controls for link in drawing.links):
        notes.append(("control", words("note_controls")))
    if marks.path is not None:
        notes.append(("path", f"◆ {texts['path'].format(path=marks.path.text)}"))
    if marks.trace is not None:
        notes.append(("trace", f"◉ {marks.trace.text}"))
    if marks.found is not None:
        matches = counted(int(marks.found.sum()), "match", "matches")
        pattern = shortened(marks.pattern, _TEXT["pattern_letters"])
        notes.append(("mark", f"● {texts['matches'].format(matches=matches, pattern=pattern)}"))
    if marks.moves is not None:
        notes.append(("moved", f"{marks.moves.text}"))
    if drawing.unmet:
        notes.append(("alarm", words("note_unmet", requests=counted(drawing.unmet, "request"))))
    if drawing.guilty:
        notes.append(("alarm", words("note_guilty", nodes=counted(drawing.guilty, "node"))))
    if any(_differs(drawing, box) for box in drawing.boxes):
        notes.append(("alarm", words("note_differs")))
    if costs is not None:
        notes.append(("plain", words("note_costs")))
    if drawing.backward:
        notes.append(("plain", words("note_backward")))
    if outline(drawing.view).strip.any():
        notes.append(("plain", words("note_strips", strips=", ".join(STRIPS))))
    if drawing.nodes > len(drawing.boxes):
        boxes = counted(len(drawing.boxes), "box", "boxes")
        notes.append(("plain", words("note_folded", nodes=counted(drawing.nodes, "node"), boxes=boxes)))
    return notes
