"""Write a laid-out sheet as SVG that the explorer can restyle and click.

The elements are the same as in Graphviz's output: ``g.node``, ``g.edge`` and ``g.cluster`` with a title, a link with
the tooltip, and the ids and classes of `gpuplace.views.picture.dot`. It adds two things that Graphviz cannot
draw: hatches, and labels placed after the layout where they cover least.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TypedDict, Unpack

import numpy as np

from gpuplace.views.picture.dot import NOTE_ROLES, SCOPE, cluster_tip
from gpuplace.views.picture.drawing import Cluster
from gpuplace.views.picture.label_placement import Rectangle, place_labels, sampled
from gpuplace.views.picture.layout import CLUSTER_LABEL, Layout, Route
from gpuplace.views.picture.sheet import (
    BAR_HEIGHT,
    Face,
    Line,
    Sheet,
    fill_colour,
    role_colour,
)
from gpuplace.views.picture.text_width import text_width
from gpuplace.views.picture.wires import Wire
from gpuplace.views.tables.palette import INK, LIGHT, PATTERNS, Look, Theme
from gpuplace.views.tables.text import printable, shortened
from gpuplace.web.rules import RULES

FAMILIES: str = RULES["text"]["font"]
"""Font families of a page in order."""
DIM = 0.28
"""Opacity of dimmed parts."""
MARGIN = 8.0
_LEGEND_WIDTH = 480.0
"""Minimum width of a legend."""
_ROW = 21.0
_ARROW = 6.0
_LINE = RULES["line"]
_RADIUS: float = RULES["box"]["radius"]
_INSET: float = RULES["box"]["inset"]
_UNMET_DASH: str = RULES["box"]["unmet_dash"]
_LABEL: float = _LINE["label"]
_LABEL_LEADING: float = _LINE["label_leading"]
_DASHES = {
    kind: f' stroke-dasharray="{dash}"'
    for kind, dash in (("copy", _LINE["copy_dash"]), ("control", _LINE["control_dash"]))
}
_HATCHES = {
    "rising": '<path d="M-1,7 L7,-1 M-1,1 L1,-1 M5,7 L7,5"/>',
    "falling": '<path d="M-1,-1 L7,7 M5,-1 L7,1 M-1,5 L1,7"/>',
    "crossed": '<path d="M-1,7 L7,-1 M-1,-1 L7,7"/>',
    "level": '<path d="M0,1.5 H6 M0,4.5 H6"/>',
    "upright": '<path d="M1.5,0 V6 M4.5,0 V6"/>',
    "grid": '<path d="M0,3 H6 M3,0 V6"/>',
    "dots": '<circle cx="1.5" cy="1.5" r="0.9" fill="#1b1f24"/><circle cx="4.5" cy="4.5" r="0.9" fill="#1b1f24"/>',
    "rings": '<circle cx="3" cy="3" r="1.9" fill="none"/>',
}


class SvgOptions(TypedDict, total=False):
    """Options of a picture."""

    theme: Theme
    """Colours around the boxes; light by default."""
    legend: bool
    """Whether to draw the legend; True by default."""
    transparent: bool
    """Whether the background is transparent, for pages with their own."""
    patterns: bool
    """Whether fills are hatched, so that print without colour tells them apart."""


def svg_text(
    sheet: Sheet,
    layout: Layout,
    **options: Unpack[SvgOptions],
) -> str:
    """Return the picture as an ``<svg>`` element.

    Args:
        sheet: sheet to draw.
        layout: positions of its boxes.
        options: options of the picture.
    """
    writer = _Writer(
        sheet,
        layout,
        options.get("theme", LIGHT),
        options.get("transparent", False),
        options.get("patterns", False),
    )
    return writer.svg(options.get("legend", True))


class _Writer:
    """Writer of the parts, from back to front."""

    def __init__(self, sheet: Sheet, layout: Layout, theme: Theme, transparent: bool, patterns: bool) -> None:
        self.sheet, self.layout, self.theme = sheet, layout, theme
        self.transparent, self.patterns = transparent, patterns
        self.parts: list[str] = []

    def svg(self, legend: bool) -> str:
        sheet, layout = self.sheet, self.layout
        for cluster in sheet.drawing.clusters:
            self._cluster(cluster)
        self._wires()
        for cluster in sheet.drawing.clusters:
            self._cluster_label(cluster)
        for face in sheet.faces:
            self._face(face)
        width, height = layout.width, layout.height
        if legend and sheet.legend:
            width, height = self._legend(width, height)
        left, top = -MARGIN, -MARGIN
        width, height = width + 2 * MARGIN, height + 2 * MARGIN
        ground = ""
        if not self.transparent:
            right, bottom = left + width, top + height
            corners = f"{left},{top} {left},{bottom:.2f} {right:.2f},{bottom:.2f} {right:.2f},{top}"
            ground = f'<polygon fill="{self.theme.background}" stroke="none" points="{corners}"/>\n'
        return (
            f'<svg width="{width:.0f}pt" height="{height:.0f}pt" viewBox="{left:g} {top:g} {width:.2f} {height:.2f}"'
            ' xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">\n'
            f'{self._defs()}<g id="graph0" class="graph" font-family="{FAMILIES}">\n<title>placement</title>\n'
            f"{ground}{''.join(self.parts)}</g>\n</svg>"
        )

    def _defs(self) -> str:
        if not self.patterns:
            return ""
        looks = {category.look.pattern for category in self.sheet.legend}
        patterns = "".join(
            f'<pattern id="gp-{name}" width="6" height="6" patternUnits="userSpaceOnUse">'
            f'<g stroke="{INK}" stroke-width="0.9" stroke-opacity="0.45" fill-opacity="0.45">{_HATCHES[name]}</g>'
            "</pattern>"
            for name in PATTERNS
            if name in looks
        )
        return f"<defs>{patterns}</defs>\n"

    def _group(
        self, identity: str, classes: str, title: str, tip: str, inside: Iterable[str], is_dim: bool = False
    ) -> None:
        dim = f' opacity="{DIM}"' if is_dim else ""
        self.parts.append(
            f'<g id="{identity}" class="{classes}"{dim}>\n<title>{_xml(title)}</title>\n<g id="a_{identity}">'
            f'<a xlink:title="{_xml(tip)}">\n{"".join(inside)}</a>\n</g>\n</g>\n'
        )

    # ---------------------------------------------------------------------------------------------------- scopes, boxes

    def _cluster(self, cluster: Cluster) -> None:
        theme = self.theme
        frames = " ".join(
            _outline((left + right) / 2, (top + bottom) / 2, right - left, bottom - top, "round", 9)
            for left, top, right, bottom in self.layout.clusters[cluster.scope].values()
        )
        self._group(
            f"c{cluster.scope}",
            "cluster open",
            f"cluster_{cluster.scope}",
            cluster_tip(cluster),
            [f'<path fill="{theme.scope}" stroke="{theme.frame}" stroke-width="0.8" d="{frames}"/>\n'],
        )

    def _cluster_label(self, cluster: Cluster) -> None:
        """Write an open scope's name above the lines into the scope."""
        name, theme = shortened(cluster.label, CLUSTER_LABEL), self.theme
        for left, top, _, _ in self.layout.clusters[cluster.scope].values():
            label = _words(left + 9, top + 16, name, SCOPE, theme.faint, bold=True, halo=theme.scope)
            self.parts.append(f'<g class="cluster-label" pointer-events="none">{label}</g>\n')

    def _face(self, face: Face) -> None:
        theme, box = self.theme, face.box
        x, y = self.layout.boxes[box.id]
        fill = fill_colour(face.look, theme)
        dash = f' stroke-dasharray="{_UNMET_DASH}"' if face.is_dashed else ""
        stroke = role_colour(face.stroke, theme)
        inside = [
            f'<path fill="{fill}" stroke="{stroke}" stroke-width="{face.pen:g}"{dash}'
            f' d="{_outline(x, y, face.width, face.height, face.corners)}"/>\n'
        ]
        hatch = self._hatch(face.look)
        if hatch:
            inner = _outline(x, y, face.width - 1, face.height - 1, face.corners)
            inside.append(f'<path fill="url(#gp-{hatch})" stroke="none" d="{inner}"/>\n')
            inside.append(self._panel(face, x, y, fill))
        for number in range(1, face.outlines):
            inner = _outline(x, y, face.width - _INSET * number, face.height - _INSET * number, face.corners)
            inside.append(f'<path fill="none" stroke="{stroke}" stroke-width="1" d="{inner}"/>\n')
        inside += self._lines(face, x, y - face.height / 2)
        self._group(box.id, " ".join(("node", *face.classes)), box.id, face.tip, inside, face.is_dim)

    def _hatch(self, look: Look | None) -> str:
        return look.pattern if self.patterns and look is not None else ""

    @staticmethod
    def _panel(face: Face, x: float, y: float, fill: str) -> str:
        """Return a plain background for the text of a hatched box."""
        width = max(line.width for line in face.lines) + 6
        height = sum(line.height for line in face.lines)
        return (
            f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3"'
            f' fill="{fill}" fill-opacity="0.85"/>\n'
        )

    def _lines(self, face: Face, x: float, top: float) -> list[str]:
        parts = []
        y = top + (face.height - self._content(face)) / 2
        for number, line in enumerate(face.lines):
            for bar in face.bars if number == face.name_lines else ():
                parts.append(self._bar(face, bar, x, y + 1))
                y += BAR_HEIGHT + 1
            parts.append(self._line(line, x, y + line.size, face.look))
            y += line.height
        return parts

    @staticmethod
    def _content(face: Face) -> float:
        return sum(line.height for line in face.lines) + (BAR_HEIGHT + 1) * len(face.bars)

    def _line(self, line: Line, x: float, y: float, look: Look | None) -> str:
        (text, role), *more = line.spans
        colour = role_colour(role, self.theme, look)
        if not more:
            return _words(x, y, text, line.size, colour, bold=line.is_bold, anchor="middle")
        spans = "".join(
            f'<tspan fill="{role_colour(role, self.theme, look)}">{_xml(text)}</tspan>'
            for text, role in line.spans
        )
        place = f'text-anchor="middle" x="{x:.1f}" y="{y:.1f}" font-size="{line.size:g}"'
        return f'<text xml:space="preserve" {place}>{spans}</text>\n'

    def _bar(self, face: Face, bar: tuple[tuple[Look, int], ...], x: float, y: float) -> str:
        """Return bar segments with widths proportional to shares; small ones stay visible."""
        width = face.width - 24
        left = x - width / 2
        counts = np.array([count for _, count in bar], dtype=float)
        shares = np.maximum(counts / counts.sum() * width, min(4.0, width / len(counts)))
        shares *= width / shares.sum()
        parts = []
        at = left
        for (look, _), share in zip(bar, shares.tolist(), strict=True):
            place = f'x="{at:.1f}" y="{y:.1f}" width="{share:.1f}" height="{BAR_HEIGHT:g}"'
            parts.append(f'<rect {place} fill="{fill_colour(look, self.theme)}"/>')
            hatch = self._hatch(look)
            if hatch:
                parts.append(f'<rect {place} fill="url(#gp-{hatch})"/>')
            at += share
        if any(fill_colour(look, self.theme) == self.theme.background for look, _ in bar):
            parts.append(
                f'<rect x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR_HEIGHT:g}" fill="none"'
                f' stroke="{self.theme.frame}" stroke-width="0.6"/>\n'
            )
        return "".join(parts)

    # ------------------------------------------------------------------------------------------------------------ lines

    def _wires(self) -> None:
        """Write the lines, then their labels."""
        routes = [self.layout.routes[wire.link.src, wire.link.dst] for wire in self.sheet.wires]
        places = self._label_places(routes)
        for number, (wire, route) in enumerate(zip(self.sheet.wires, routes, strict=True)):
            theme = self.theme
            colour = theme.copy if wire.kind == "copy" else theme.edge
            dash = _DASHES.get(wire.kind, "")
            inside = _curve(
                route, theme.path if wire.on_path else colour, wire.pen, dash, wire.kind != "control"
            )
            if number in places:
                x, y, _, _ = places[number]
                inside += [
                    _words(
                        x, y + _LABEL + row * _LABEL_LEADING, text, _LABEL, theme.copy, halo=theme.background
                    )
                    for row, text in enumerate(wire.label)
                ]
            classes = [
                "edge",
                *([wire.kind] if wire.kind != "tensor" else []),
                *(["path"] if wire.on_path else []),
            ]
            title = f"{wire.link.src}->{wire.link.dst}"
            self._group(f"edge{number}", " ".join(classes), title, wire.tip, inside, wire.is_dim)

    def _label_places(self, routes: list[Route]) -> dict[int, Rectangle]:
        labeled = [number for number, wire in enumerate(self.sheet.wires) if wire.label]
        if not labeled:
            return {}
        boxes = []
        for face in self.sheet.faces:
            x, y = self.layout.boxes[face.box.id]
            wide, high = face.width / 2, face.height / 2
            boxes.append((x - wide, y - high, x + wide, y + high))
        for cluster in self.sheet.drawing.clusters:
            for left, top, _, _ in self.layout.clusters[cluster.scope].values():
                boxes.append((left, top, left + 12 + text_width(cluster.label, SCOPE, True), top + 21))
        sizes = [_label_size(self.sheet.wires[number]) for number in labeled]
        curves = [sampled(route.points) for route in routes]
        places = place_labels(labeled, sizes, curves, boxes, (self.layout.width, self.layout.height))
        return dict(zip(labeled, places, strict=True))

    # ----------------------------------------------------------------------------------------------------------- legend

    def _legend(self, width: float, height: float) -> tuple[float, float]:
        """Write the legend below the picture and return the new width and height."""
        theme = self.theme
        room = max(width, _LEGEND_WIDTH)
        y = height + 20
        parts = [_words(0, y, self.sheet.title, 10, theme.ink, bold=True)]
        y += 8
        x, widest = 0.0, text_width(self.sheet.title, 10, True)
        for category in self.sheet.legend:
            text = f"{category.label}: {category.count:,}"
            wide = (
                text_width(text, 10)
                + (30 if self._hatch(category.look) else 16)
                + 3 * (category.look.outlines - 1)
            )
            if x and x + wide > room:
                x, y = 0.0, y + _ROW
            parts += self._swatch(x, y, wide, category.look, text, category.note)
            x += wide + 5
            widest = max(widest, x)
        y += _ROW
        x = 0.0
        for kind, note in self.sheet.notes:
            wide = text_width(note, 10) + 14
            if x and x + wide > room:
                x, y = 0.0, y + 15
            parts.append(_words(x, y + 12, note, 10, role_colour(NOTE_ROLES[kind], theme)))
            x += wide
            widest = max(widest, x)
        bottom = y + 16 if self.sheet.notes else y
        self.parts.append(f'<g class="legend">\n{"".join(parts)}</g>\n')
        return max(width, widest), bottom

    def _swatch(self, x: float, y: float, width: float, look: Look, text: str, note: str) -> list[str]:
        theme = self.theme
        middle, height = x + width / 2, _ROW - 4
        stroke = theme.alarm if text.startswith("no device") else theme.frame
        parts = [
            f'<path fill="{fill_colour(look, theme)}" stroke="{stroke}" stroke-width="1"'
            f' d="{_outline(middle, y + height / 2, width, height, look.corners, 6)}">'
            f"<title>{_xml(note)}</title></path>\n"
        ]
        hatch = self._hatch(look)
        if hatch:
            inner = _outline(middle, y + height / 2, width - 1, height - 1, look.corners, 6)
            parts.append(f'<path fill="url(#gp-{hatch})" stroke="none" d="{inner}"/>\n')
            wide = text_width(text, 10) + 4
            parts.append(
                f'<rect x="{middle - wide / 2:.1f}" y="{y + 2:.1f}" width="{wide:.1f}" height="{height - 4:.1f}" rx="3"'
                f' fill="{look.fill}" fill-opacity="0.85"/>\n'
            )
        for number in range(1, look.outlines):
            inner = _outline(middle, y + height / 2, width - 4 * number, height - 4 * number, look.corners, 5)
            parts.append(f'<path fill="none" stroke="{stroke}" stroke-width="0.8" d="{inner}"/>\n')
        parts.append(
            _words(middle, y + height / 2 + 3.6, text, 10, role_colour("fill", theme, look), anchor="middle")
        )
        return parts


def _label_size(wire: Wire) -> tuple[float, float]:
    width = max(text_width(text, _LABEL) for text in wire.label)
    return width, _LABEL_LEADING * len(wire.label) + 1.5


def _xml(text: str) -> str:
    """Escape text for an element or an attribute; line breaks stay."""
    return "&#10;".join(html.escape(printable(line), quote=True) for line in text.split("\n"))


def _words(
    x: float,
    y: float,
    text: str,
    size: float,
    colour: str,
    *,
    bold: bool = False,
    anchor: str = "",
    halo: str = "",
) -> str:
    """Return a line of text with a halo, which stays readable on lines and hatches."""
    more = ' font-weight="bold"' if bold else ""
    more += f' text-anchor="{anchor}"' if anchor else ""
    if halo:
        more += f' class="halo" paint-order="stroke" stroke="{halo}" stroke-width="3" stroke-linejoin="round"'
    # Repeated blanks and blanks at the ends are kept: names may contain them.
    return (
        f'<text xml:space="preserve" x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}"{more}>'
        f"{_xml(text)}</text>\n"
    )


def _outline(x: float, y: float, width: float, height: float, corners: str, radius: float = _RADIUS) -> str:
    """Return the outline of a box around its middle."""
    left, top, right, bottom = x - width / 2, y - height / 2, x + width / 2, y + height / 2
    if corners == "square":
        return f"M{left:.1f},{top:.1f} H{right:.1f} V{bottom:.1f} H{left:.1f} Z"
    r = min(radius, width / 2, height / 2)
    points = (
        (left + r, top),
        (right - r, top),
        (right, top + r),
        (right, bottom - r),
        (right - r, bottom),
        (left + r, bottom),
        (left, bottom - r),
        (left, top + r),
    )
    join = "L" if corners == "cut" else f"A{r:.1f},{r:.1f} 0 0 1 "
    text = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for number, (px, py) in enumerate((*points[1:], points[0]), 1):
        text += f" {'L' if number % 2 else join}{px:.1f},{py:.1f}"
    return f"{text} Z"


def _curve(route: Route, colour: str, pen: float, dash: str, is_filled: bool = True) -> list[str]:
    """Return a line and its arrowhead."""
    first, *rest = route.points
    line = f"M{first[0]:.1f},{first[1]:.1f} C" + " ".join(f"{x:.1f},{y:.1f}" for x, y in rest)
    (x, y), (tip_x, tip_y) = route.points[-1], route.tip
    length = float(np.hypot(tip_x - x, tip_y - y)) or 1.0
    along_x, along_y = (tip_x - x) / length, (tip_y - y) / length
    arrow = max(_ARROW, 2.2 * pen)
    x, y = tip_x - along_x * arrow, tip_y - along_y * arrow
    wide = arrow * 0.38
    head = (
        f"{tip_x:.1f},{tip_y:.1f} {x - along_y * wide:.1f},{y + along_x * wide:.1f}"
        f" {x + along_y * wide:.1f},{y - along_x * wide:.1f}"
    )
    fill = colour if is_filled else "none"
    return [
        f'<path fill="none" stroke="{colour}" stroke-width="{pen:.1f}"{dash} d="{line}"/>\n',
        f'<polygon fill="{fill}" stroke="{colour}" stroke-width="0.8" points="{head}"/>\n',
    ]
