"""Static picture of a timeline: lanes of boxes, copies as arrows with their sizes, the critical path outlined.

Boxes narrower than a line are merged with their neighbors, so that a step of 100,000 nodes becomes a picture of a few
thousand boxes. Nearly empty lanes of a device share a row. The interactive view, `gpuplace.jupyter.timeline_view`,
shows all boxes and lanes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gpuplace.views.tables.html import escape
from gpuplace.views.tables.palette import INK, DeviceStyle, Theme, device_label, device_style, theme_named
from gpuplace.views.tables.scale import time_text
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.views.tables.text import shortened
from gpuplace.views.timelines.lane_rows import rows_of
from gpuplace.views.timelines.step_timeline import Copy, StepTimeline
from gpuplace.views.timelines.text import share_text

_LEFT = 148
"""Minimum width of the label column."""
_MAX_LEFT = 260
_MAX_LETTERS = 24
_SHARE = 62
"""Width of the text beside the first label of a device."""
_RIGHT = 18
_TOP = 58
_LANE = 27
_BAR = 19
_BETWEEN = 9
_LETTER = 6.1
"""Average width of a letter."""
_MAX_ARROWS = 60
_MAX_SIZES = 14
"""Maximum number of copies whose size is written beside the arrow."""
_MAX_ROWS = 40


class Box(NamedTuple):
    """One event, or several merged ones."""

    lane: int
    start_us: float
    end_us: float
    events: tuple[int, ...]
    is_on_path: bool
    is_transfer: bool


def ticks(total_us: float, most: int = 8) -> list[float]:
    """Return at most `most` round times from 0 to the end of a step.

    >>> ticks(2600.0, 6)
    [0.0, 500.0, 1000.0, 1500.0, 2000.0, 2500.0]
    """
    if total_us <= 0:
        return [0.0]
    rough = total_us / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * digit for digit in (1, 2, 5, 10) if power * digit >= rough)
    return [number * step for number in range(int(total_us / step) + 1)]


def boxes_of(timeline: StepTimeline, narrowest_us: float) -> Iterator[Box]:
    """Yield boxes lane by lane; adjacent events shorter than `narrowest_us` are merged."""
    for lane in range(len(timeline.lanes)):
        held: list[int] = []
        for event in np.flatnonzero(timeline.lane == lane).tolist():
            start, end = float(timeline.start_us[event]), float(timeline.end_us[event])
            if held and not (
                end - start < narrowest_us and start - float(timeline.end_us[held[-1]]) < narrowest_us
            ):
                yield _box(timeline, lane, held)
                held = []
            held.append(event)
            if end - start >= narrowest_us:
                yield _box(timeline, lane, held)
                held = []
        if held:
            yield _box(timeline, lane, held)


def _box(timeline: StepTimeline, lane: int, events: Sequence[int]) -> Box:
    chosen = list(events)
    moving = timeline.is_transfer[chosen]
    return Box(
        lane,
        float(timeline.start_us[chosen[0]]),
        float(timeline.end_us[chosen].max()),
        tuple(chosen),
        bool((timeline.is_on_path[chosen] & ~moving).any()),
        bool(moving.all()),
    )


def timeline_svg(timeline: StepTimeline, theme: str = "light", width: int = 960) -> str:
    """Return the picture as SVG.

    Args:
        timeline: measured step.
        theme: ``"light"`` or ``"dark"``.
        width: width in pixels.

    Raises:
        ValueError: the theme is unknown.
    """
    return _Picture(timeline, theme_named(theme), width).svg()


class _Picture:
    def __init__(self, timeline: StepTimeline, look: Theme, width: int) -> None:
        self.timeline, self.look, self.width = timeline, look, width
        self.rows, self.row_of = rows_of(timeline)
        widths, previous = [], ""
        for row in self.rows:
            beside = _SHARE if row.device != previous else 4
            widths.append(26 + int(_LETTER * len(shortened(row.label, _MAX_LETTERS))) + beside)
            previous = row.device
        self.left = min(max(_LEFT, *widths, 0), _MAX_LEFT)
        self.room = width - self.left - _RIGHT
        self.total = timeline.total_us or 1.0
        self.shown = min(len(self.rows), _MAX_ROWS)
        self.tops: list[float] = []
        top = float(_TOP)
        for number, row in enumerate(self.rows[: self.shown]):
            if number:
                top += _LANE + (_BETWEEN if row.device != self.rows[number - 1].device else 0)
            self.tops.append(top)
        self.height = top + _LANE + (20 if self.shown < len(self.rows) else 6)

    def x(self, time_us: float) -> float:
        return self.left + time_us / self.total * self.room

    def svg(self) -> str:
        look = self.look
        body = [*self.axis(), *self.labels(), *self.boxes(), *self.arrows(), *self.legend()]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height:.0f}" '
            f'width="{self.width}" height="{self.height:.0f}" '
            'font-family="Helvetica,Arial,DejaVu Sans,sans-serif" font-size="11">'
            f"<style>text{{fill:{look.ink}}}.faint{{fill:{look.faint}}}.in{{fill:{INK}}}"
            f".box{{stroke:{look.frame};stroke-width:.6}}.path{{stroke:{look.path};stroke-width:2.4}}"
            f".copy{{fill:none;stroke:{look.copy};stroke-width:1.3}}.size{{fill:{look.copy};stroke:{look.background};"
            "stroke-width:3;paint-order:stroke}"
            f".lane{{fill:{look.scope}}}.tick{{stroke:{look.frame};stroke-opacity:.28}}</style>"
            f'<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" '
            f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{look.copy}"/></marker>'
            '<pattern id="moving" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
            f'<rect width="5" height="5" fill="{look.background}"/><rect width="1.6" height="5" fill="{look.copy}"/>'
            "</pattern></defs>"
            f"<title>{escape(self.timeline.text)}</title>"
            f'<rect width="{self.width}" height="{self.height:.0f}" fill="{look.background}"/>{"".join(body)}</svg>'
        )

    def axis(self) -> Iterator[str]:
        bottom = self.tops[-1] + _LANE if self.tops else _TOP
        for time in ticks(self.total):
            x = self.x(time)
            yield f'<line class="tick" x1="{x:.1f}" y1="{_TOP - 6}" x2="{x:.1f}" y2="{bottom:.0f}"/>'
            yield f'<text class="faint" x="{x:.1f}" y="{_TOP - 10}" text-anchor="middle">{time_text(time)}</text>'

    def labels(self) -> Iterator[str]:
        shares = {use.device: use.share for use in self.timeline.uses}
        labeled = set()
        task = self.rows[0].task if self.rows else ""
        for row, top in zip(self.rows, self.tops, strict=False):
            if row.task != task:
                task, y = row.task, top - (_LANE - _BAR + _BETWEEN) / 2
                yield f'<line class="tick" x1="8" y1="{y:.1f}" x2="{self.width - _RIGHT}" y2="{y:.1f}"/>'
            yield f'<rect class="lane" x="{self.left}" y="{top:.1f}" width="{self.room}" height="{_BAR}" rx="2"/>'
            label = escape(shortened(row.label, _MAX_LETTERS))
            if row.device not in labeled:
                labeled.add(row.device)
                yield _chip(8, top + 3, device_style(row.device), self.look)
                label += f'<tspan class="faint" dx="6">{escape(share_text(shares[row.device]))} busy</tspan>'
            yield f'<text x="26" y="{top + 13.5:.1f}">{label}</text>'
        if self.shown < len(self.rows):
            more = sum(len(row.lanes) for row in self.rows[self.shown :])
            yield f'<text class="faint" x="{self.left}" y="{self.height - 8:.0f}">and {more:,} more lanes</text>'

    def boxes(self) -> Iterator[str]:
        timeline = self.timeline
        lit = []
        for box in boxes_of(timeline, 1.2 * self.total / self.room):
            if self.row_of[box.lane] >= self.shown:
                continue
            drawn = self.box(box)
            if box.is_on_path:
                lit.append(drawn)  # above the others
            else:
                yield drawn
        yield from lit

    def box(self, box: Box) -> str:
        timeline, top = self.timeline, self.tops[self.row_of[box.lane]]
        x, width = self.x(box.start_us), max((box.end_us - box.start_us) / self.total * self.room, 1.0)
        style = device_style(timeline.lanes[box.lane].device)
        fill = "url(#moving)" if box.is_transfer else style.fill
        radius = 4 if style.corners == "round" and width > 6 else 1
        kind = "box path" if box.is_on_path else "box"
        title = escape(self.tooltip(box))
        drawn = (
            f'<rect class="{kind}" x="{x:.2f}" y="{top:.1f}" width="{width:.2f}" height="{_BAR}" rx="{radius}" '
            f'fill="{fill}"><title>{title}</title></rect>'
        )
        fits = int((width - 6) / _LETTER)
        name = timeline.names[box.events[0]].rpartition("/")[2]
        if len(box.events) == 1 and not box.is_transfer and fits >= min(len(name), 5):
            drawn += f'<text class="in" x="{x + 4:.2f}" y="{top + 13.5:.1f}">{escape(shortened(name, fits))}</text>'
        return drawn

    def tooltip(self, box: Box) -> str:
        timeline = self.timeline
        lasted = time_text(box.end_us - box.start_us)
        if len(box.events) > 1:
            return f"{len(box.events):,} ops within {lasted}"
        event = box.events[0]
        on_path = ", on the critical path" if timeline.is_on_path[event] else ""
        return f"{timeline.names[event]} ({timeline.ops[event]}): {lasted} from {time_text(box.start_us)} on{on_path}"

    def arrows(self) -> Iterator[str]:
        timeline = self.timeline
        chosen = sorted(timeline.copies, key=lambda copy: (-(copy.nbytes or 0), copy.start_us))[:_MAX_ARROWS]
        taken: list[tuple[float, float]] = []
        for number, copy in enumerate(chosen):
            first, last = (int(self.row_of[timeline.lane[event]]) for event in (copy.sent, copy.received))
            if max(first, last) >= self.shown:
                continue
            yield from self.arrow(copy, first, last, taken if number < _MAX_SIZES else None)

    def arrow(
        self, copy: Copy, first: int, last: int, taken: list[tuple[float, float]] | None
    ) -> Iterator[str]:
        down = last > first
        x1, x2 = self.x(copy.start_us), self.x(copy.end_us)
        y1 = self.tops[first] + (_BAR if down else 0)
        y2 = self.tops[last] + (0 if down else _BAR)
        size = "" if copy.nbytes is None else bytes_text(copy.nbytes)
        title = escape(
            f"copy of {copy.tensor} from {device_label(copy.source)} to {device_label(copy.target)}: "
            f"{bytes_text(copy.nbytes)}, {time_text(copy.end_us - copy.start_us)}"
        )
        yield (
            f'<path class="copy" marker-end="url(#head)" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}">'
            f"<title>{title}</title></path>"
        )
        x, y = (x1 + x2) / 2, (y1 + y2) / 2 + 3.5
        if taken is not None and size and all(abs(x - a) > 52 or abs(y - b) > 11 for a, b in taken):
            taken.append((x, y))
            anchor = "end" if x > self.width - 70 else "start"
            shift = -6 if anchor == "end" else 6
            yield f'<text class="size" x="{x + shift:.1f}" y="{y:.1f}" text-anchor="{anchor}">{size}</text>'

    def legend(self) -> Iterator[str]:
        look, timeline = self.look, self.timeline
        yield f'<text x="8" y="15" font-weight="bold">{escape(timeline.text)}</text>'
        x = 8.0
        entries = [
            (
                f'<rect class="box path" fill="{look.scope}" x="{{x}}" y="21" width="14" height="11"/>',
                timeline.path_text,
            )
        ]
        if timeline.copies:
            mark = '<path class="copy" marker-end="url(#head)" d="M{x} 27h15"/>'
            entries.append((mark, "copy"))
        if timeline.is_transfer.any():
            mark = '<rect class="box" fill="url(#moving)" x="{x}" y="21" width="14" height="11"/>'
            entries.append((mark, "send and receive"))
        for mark, text in entries:
            yield mark.format(x=f"{x:.0f}")
            yield f'<text class="faint" x="{x + 20:.0f}" y="31">{escape(text)}</text>'
            x += 40 + len(text) * 5.4


def _chip(x: float, y: float, style: DeviceStyle, look: Theme) -> str:
    radius = 4 if style.corners == "round" else 0
    return (
        f'<rect x="{x}" y="{y:.1f}" width="12" height="12" rx="{radius}" fill="{style.fill}" stroke="{look.frame}" '
        f'stroke-width="{0.8 * style.outlines:.1f}"/>'
    )
