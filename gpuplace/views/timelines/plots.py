"""Line plots of estimates as SVG, such as memory over time or images per second over batch sizes.

Lines differ in colour and dash pattern and are labeled at their ends. Memory changes in steps; a dashed line marks a
limit.

>>> line = Line("GPU:0", "#77aadd", ((0.0, 0.0), (1.0, 2048.0), (2.0, 1024.0)))
>>> picture = plot_svg((line,), Axis("time", "{:g} s".format), Axis("bytes", "{:g} B".format), is_stepped=True)
>>> picture.count("<circle"), "GPU:0" in picture
(0, True)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gpuplace.views.tables.html import escape
from gpuplace.views.tables.palette import GPU_FILLS, Theme, theme_named
from gpuplace.views.tables.text import shortened

_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 118, 14, 36
_LETTER = 5.9
_LINE = 13
_DASHES = ("", "6 3", "2 3", "8 3 2 3")
_MAX_POINTS = 2000

PAGE = Theme(
    "page",
    background="transparent",
    ink="var(--gp-ink)",
    faint="var(--gp-faint)",
    edge="var(--gp-ink)",
    copy="var(--gp-ink)",
    frame="var(--gp-line)",
    scope="var(--gp-raised)",
    alarm="var(--gp-alarm)",
    mark="var(--gp-focus)",
    path="var(--gp-focus)",
)
"""The colours of the surrounding page, as CSS variables."""


class Axis(NamedTuple):
    """An axis of a plot."""

    label: str
    """Axis title."""
    text: Callable[[float], str]
    """Formats a value."""
    is_log: bool = False
    """Whether the scale is logarithmic."""
    base: int = 10
    """Base in which tick values are round: 2 for bytes."""


class Line(NamedTuple):
    """A line of a plot."""

    label: str
    colour: str
    """``#rrggbb``."""
    points: Sequence[tuple[float, float]]
    """Points (x, y) in increasing order of x."""
    level: float | None = None
    """Limit to draw as a dashed line; None: no limit."""


def round_ticks(most: float, base: int = 10, count: int = 6) -> list[float]:
    """Return round tick values from 0 to about `most`.

    >>> round_ticks(2400.0), round_ticks(5.0 * 2**30, base=2) == [number * 2.0**30 for number in range(6)]
    ([0.0, 500.0, 1000.0, 1500.0, 2000.0], True)
    """
    if most <= 0:
        return [0.0]
    rough = most / count
    if base == 2:
        step = 2.0 ** math.ceil(math.log2(rough))
        return [number * step for number in range(int(most / step + 1e-9) + 1)]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * digit for digit in (1, 2, 5, 10) if power * digit >= rough * (1 - 1e-9))
    return [number * step for number in range(int(most / step + 1e-9) + 1)]


def thinned(points: Sequence[tuple[float, float]], most: int = _MAX_POINTS) -> list[tuple[float, float]]:
    """Reduce a line to at most `most` points that include the highest and lowest point of each section.

    >>> thinned([(float(x), float(x % 7)) for x in range(100)], 8)
    [(0.0, 0.0), (6.0, 6.0), (27.0, 6.0), (28.0, 0.0), (55.0, 6.0), (56.0, 0.0), (76.0, 6.0), (77.0, 0.0), (99.0, 1.0)]
    """
    if len(points) <= most:
        return list(points)
    stretch = math.ceil(2 * len(points) / most)
    kept = []
    for begin in range(0, len(points), stretch):
        part = points[begin : begin + stretch]
        kept += sorted({min(part, key=lambda point: point[1]), max(part, key=lambda point: point[1])})
    return kept if kept[-1] == points[-1] else [*kept, points[-1]]


def plot_svg(
    lines: Sequence[Line],
    x_axis: Axis,
    y_axis: Axis,
    *,
    is_stepped: bool = False,
    theme: str = "light",
    width: int = 720,
    height: int = 260,
    title: str = "",
) -> str:
    """Return the plot as SVG.

    Args:
        lines: lines to draw; lines without points appear only as labels.
        x_axis, y_axis: axes; the vertical one starts at 0.
        is_stepped: whether a value holds until the next point.
        theme: ``"light"``, ``"dark"``, or ``"page"`` for the colours of the surrounding page.
        width, height: size in pixels.
        title: text alternative of the plot.

    Raises:
        ValueError: the theme is unknown.
    """
    look = PAGE if theme == "page" else theme_named(theme)
    return _Plot(lines, x_axis, y_axis, is_stepped, look, width, height).svg(title)


class _Plot:
    def __init__(
        self,
        lines: Sequence[Line],
        x_axis: Axis,
        y_axis: Axis,
        is_stepped: bool,
        look: Theme,
        width: int,
        height: int,
    ) -> None:
        self.lines, self.x_axis, self.y_axis, self.is_stepped, self.look = (
            lines,
            x_axis,
            y_axis,
            is_stepped,
            look,
        )
        self.width, self.height = width, height
        xs = [x for line in lines for x, _ in line.points]
        ys = [y for line in lines for _, y in line.points]
        self.x_low = min(xs, default=0.0) if x_axis.is_log else min([0.0, *xs])
        self.x_high = max(xs, default=1.0)
        levels = [line.level for line in lines if line.level is not None]
        top = max(ys, default=0.0)
        # A limit far above all values would flatten the lines, so it does not extend the axis.
        self.y_high = max([top, *(level for level in levels if level <= 4 * top)], default=1.0) * 1.08 or 1.0

    def x(self, value: float) -> float:
        low, high = self._scaled(self.x_low), self._scaled(self.x_high)
        share = (self._scaled(value) - low) / (high - low) if high > low else 0.5
        return _LEFT + share * (self.width - _LEFT - _RIGHT)

    def _scaled(self, value: float) -> float:
        return math.log2(max(value, 1e-12)) if self.x_axis.is_log else value

    def y(self, value: float) -> float:
        return self.height - _BOTTOM - value / self.y_high * (self.height - _TOP - _BOTTOM)

    def svg(self, title: str) -> str:
        look = self.look
        body = [*self.grid(), *self.drawn_levels(), *self.drawn_lines(), *self.names()]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" font-family="Helvetica,Arial,DejaVu Sans,sans-serif" font-size="11">'
            f"<title>{escape(title)}</title>"
            f'<rect width="{self.width}" height="{self.height}" fill="{look.background}"/>{"".join(body)}</svg>'
        )

    def grid(self) -> list[str]:
        look, right, bottom = self.look, self.width - _RIGHT, self.height - _BOTTOM
        parts = []
        for value in round_ticks(self.y_high, self.y_axis.base):
            y = self.y(value)
            parts.append(self._rule(_LEFT, y, right, y))
            parts.append(
                self._text(_LEFT - 6, y + 4, self.y_axis.text(value), anchor="end", colour=look.faint)
            )
        if self.x_axis.is_log:
            values = sorted({x for line in self.lines for x, _ in line.points})
        else:
            values = [value for value in round_ticks(self.x_high, count=6) if value >= self.x_low]
        labeled = self._with_room(values)
        for value in values:
            x = self.x(value)
            parts.append(self._rule(x, bottom, x, bottom + 4))
            if value in labeled:
                parts.append(
                    self._text(x, bottom + 16, self.x_axis.text(value), anchor="middle", colour=look.faint)
                )
        parts.append(
            self._text(
                (_LEFT + right) / 2, self.height - 5, self.x_axis.label, anchor="middle", colour=look.ink
            )
        )
        middle = (_TOP + bottom) / 2
        parts.append(
            f'<text x="12" y="{middle:.1f}" text-anchor="middle" fill="{look.ink}" '
            f'transform="rotate(-90 12 {middle:.1f})">{escape(self.y_axis.label)}</text>'
        )
        return parts

    def _with_room(self, values: Sequence[float]) -> set[float]:
        """Return the values whose labels do not overlap: the last one, and from the first one on what fits."""
        half = [len(self.x_axis.text(value)) * _LETTER / 2 for value in values]
        chosen = set(values[-1:])
        end, last = -math.inf, self.x(values[-1]) - half[-1] if values else 0.0
        for value, extent in zip(values[:-1], half, strict=False):
            x = self.x(value)
            if x - extent > end and x + extent + _LETTER < last:
                chosen.add(value)
                end = x + extent + _LETTER
        return chosen

    def drawn_levels(self) -> list[str]:
        parts = []
        for level in sorted({line.level for line in self.lines if line.level is not None}):
            if level <= self.y_high:
                y = self.y(level)
                parts.append(
                    f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{self.width - _RIGHT}" y2="{y:.1f}" '
                    f'stroke="{self.look.alarm}" stroke-dasharray="2 4"/>'
                )
                parts.append(
                    self._text(_LEFT + 4, y - 4, f"limit: {self.y_axis.text(level)}", colour=self.look.ink)
                )
        return parts

    def drawn_lines(self) -> list[str]:
        parts = []
        for number, line in enumerate(self.lines):
            if not line.points:
                continue
            points = thinned(line.points)
            path = f"M{self.x(points[0][0]):.1f} {self.y(points[0][1]):.1f}"
            for x, y in points[1:]:
                path += (
                    f"H{self.x(x):.1f}V{self.y(y):.1f}"
                    if self.is_stepped
                    else f"L{self.x(x):.1f} {self.y(y):.1f}"
                )
            dash = _DASHES[number // len(GPU_FILLS) % len(_DASHES)]
            dashed = f' stroke-dasharray="{dash}"' if dash else ""
            # A darker line below keeps pale colours visible on white.
            parts.append(
                f'<g fill="none" stroke-linejoin="round"><title>{escape(line.label)}</title>'
                f'<path d="{path}" stroke="{self.look.ink}" stroke-width="3.2" stroke-opacity=".55"/>'
                f'<path d="{path}" stroke="{line.colour}" stroke-width="2"{dashed}/></g>'
            )
            if not self.is_stepped:
                parts += [self._dot(line, x, y) for x, y in points]
        return parts

    def _dot(self, line: Line, x: float, y: float) -> str:
        title = escape(f"{line.label}: {self.y_axis.text(y)} at {self.x_axis.text(x)}")
        return (
            f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="3" fill="{line.colour}" stroke="{self.look.ink}" '
            f'stroke-width=".8"><title>{title}</title></circle>'
        )

    def names(self) -> list[str]:
        """Return the labels at the line ends, moved apart where they would overlap."""
        ends = sorted(
            (self.y(line.points[-1][1]), number) for number, line in enumerate(self.lines) if line.points
        )
        heights: list[float] = []
        for y, _ in ends:
            heights.append(max(y, heights[-1] + _LINE) if heights else max(y, _TOP))
        over = (heights[-1] if heights else 0.0) - (self.height - _BOTTOM)
        if over > 0:
            floor = float(self.height - _BOTTOM)
            for place in range(len(heights) - 1, -1, -1):
                heights[place] = min(heights[place], floor)
                floor = heights[place] - _LINE
        x = self.width - _RIGHT + 8
        room = int((_RIGHT - 26) / _LETTER)
        parts = []
        for height, (_, number) in zip(heights, ends, strict=True):
            line = self.lines[number]
            parts.append(
                f'<rect x="{x}" y="{height - 5:.1f}" width="10" height="10" rx="2" fill="{line.colour}" '
                f'stroke="{self.look.frame}" stroke-width=".8"/>'
            )
            parts.append(
                self._text(
                    x + 15, height + 4, shortened(line.label, room), colour=self.look.ink, title=line.label
                )
            )
        return parts

    def _rule(self, x1: float, y1: float, x2: float, y2: float) -> str:
        return (
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{self.look.frame}" '
            'stroke-opacity=".28"/>'
        )

    def _text(
        self, x: float, y: float, text: str, *, colour: str, anchor: str = "start", title: str = ""
    ) -> str:
        tooltip = f"<title>{escape(title)}</title>" if title and title != text else ""
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{tooltip}{escape(text)}</text>'
