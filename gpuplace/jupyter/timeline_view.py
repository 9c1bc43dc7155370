"""A timeline to zoom: lanes on a canvas, with keys and search; and what a saved notebook keeps of it.

The page gets columns once, as bytes, and draws what is in sight; a click sends the event's number back, and the page is
told what that event waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anywidget
import numpy as np
import traitlets

from gpuplace.jupyter.views import STYLE, look, script
from gpuplace.report import html
from gpuplace.report.palette import INK, Look, category_look, device_label, device_style, scale_look
from gpuplace.report.scale import time_scale, time_text
from gpuplace.report.step_timeline import TRANSFERS, StepTimeline
from gpuplace.report.text import counted, shortened
from gpuplace.report.timeline_svg import timeline_svg
from gpuplace.report.timeline_text import (
    COPY_COLUMNS,
    USE_COLUMNS,
    copy_rows,
    share_text,
    timeline_text,
    use_rows,
)

__all__ = ["COLOURS", "TimelineView", "timeline_bundle"]

COLOURS = ("device", "op type", "time")
"""What boxes can be coloured by."""
_MOST_TYPES = 14
_MOST_ROWS = 12
_MOST_NOTES = 6
_ON_PATH, _TRANSFER = 1, 2


class TimelineView(anywidget.AnyWidget):
    """A `StepTimeline` as a widget.

    Messages to Python: ``select`` with ``event``, a number or -1, and ``colour`` with one of `COLOURS`.

    Args:
        timeline: what to show; None for nothing yet.
        on_select: called with the name of a node that the user chose.
    """

    _esm = script("dom.js", "timeline_view.js")
    _css = STYLE

    step: Any = traitlets.Dict().tag(sync=True)
    """Lanes, names, copies, the path and texts."""
    columns = traitlets.Bytes().tag(sync=True)
    """Of all events, one after the other: begin, end and bytes as float64; numbers of name, op type, lane and fill as
    uint32; flags as uint8."""
    detail: Any = traitlets.Dict().tag(sync=True)
    """``event`` and ``text``: what the selected event waited for."""
    goto: Any = traitlets.Dict().tag(sync=True)
    """``event`` to select, where Python says so, and a ``number`` that tells one time from another."""
    selected = traitlets.Int(-1)
    """Number of the selected event; what the page selects is not sent back to it."""
    colour = traitlets.Enum(COLOURS, "device", help="What boxes are coloured by.")

    def __init__(
        self, timeline: StepTimeline | None = None, on_select: Callable[[str], None] | None = None
    ) -> None:
        super().__init__()
        self.timeline = timeline
        self._on_select = on_select
        self.on_msg(self._heard)
        self.show(timeline)

    def show(self, timeline: StepTimeline | None) -> None:
        """Shows another step, or none."""
        self.timeline = timeline
        with self.hold_sync():
            self.selected, self.detail = -1, {}
            self.columns, self.step = _page_of(timeline, self.colour)

    def select(self, name: str) -> None:
        """Marks the longest event of a node, if there is one."""
        found = -1
        if self.timeline is not None and name:
            names = self.timeline.names
            events = [event for event, known in enumerate(names) if known == name]
            lasted = self.timeline.end_us - self.timeline.start_us
            found = max(events, key=lambda event: float(lasted[event]), default=-1)
        if self.timeline is None or self.selected < 0 or self.timeline.names[self.selected] != name:
            with self.hold_sync():
                self._mark(found)
                self.goto = {"event": found, "number": self.goto.get("number", 0) + 1}

    def _mark(self, event: int) -> None:
        self.selected = event
        waits = "" if event < 0 or self.timeline is None else self.timeline.waits_for(event)
        self.detail = {"event": event, "text": f"last to come: {waits}" if waits else ""}

    @traitlets.observe("colour")
    def _recolour(self, change: Any) -> None:
        with self.hold_sync():
            self.columns, self.step = _page_of(self.timeline, self.colour)

    def _heard(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        match content:
            case {"type": "select", "event": int(event)} if -1 <= event < len(self.timeline or ()):
                self._mark(event)
                if self._on_select is not None and event >= 0 and self.timeline is not None:
                    self._on_select(self.timeline.names[event])
            case {"type": "colour", "colour": str(colour)} if colour in COLOURS:
                self.colour = colour


def _page_of(timeline: StepTimeline | None, colour: str) -> tuple[bytes, dict[str, Any]]:
    """The columns and all the rest."""
    if timeline is None:
        nothing = "No step was measured: run one with trace_level FULL_TRACE, and set explorer.run_metadata"
        empty = {"count": 0, "total": 0, "text": nothing, "path_text": ""}
        lists = ("names", "ops", "lanes", "copies", "path", "hints", "gaps", "fills", "legend")
        return b"", {**empty, **{name: [] for name in lists}}
    names, name = _numbered(timeline.names)
    ops, op = _numbered(timeline.ops)
    fill, looks, legend = _coloured(timeline, colour, ops, op)
    flags = np.where(timeline.is_on_path, _ON_PATH, 0) | np.where(timeline.is_transfer, _TRANSFER, 0)
    columns = b"".join(
        [
            timeline.start_us.astype("<f8").tobytes(),
            timeline.end_us.astype("<f8").tobytes(),
            timeline.nbytes.astype("<f8").tobytes(),
            *(column.astype("<u4").tobytes() for column in (name, op, timeline.lane, fill)),
            flags.astype("u1").tobytes(),
        ]
    )
    shares = {use.device: use.share for use in timeline.uses}
    return columns, {
        "count": len(timeline),
        "total": timeline.total_us,
        "text": timeline.text,
        "path_text": timeline.path_text,
        "names": names,
        "ops": ops,
        "lanes": [
            {
                **look(lane.device),
                "label": lane.label,
                "device": lane.device,
                "share": f"{share_text(shares[lane.device])} busy",
            }
            for lane in timeline.lanes
        ],
        "fills": [[one.fill, one.ink] for one in looks],
        "legend": legend,
        "copies": [
            [copy.sent, copy.received, copy.start_us, copy.end_us, -1 if copy.nbytes is None else copy.nbytes]
            for copy in timeline.copies
        ],
        "path": list(timeline.path),
        "hints": [[hint.node, hint.text] for hint in timeline.hints],
        "gaps": [[gap.node, _gap_text(gap)] for gap in timeline.gaps[:_MOST_NOTES]],
        "colours": list(COLOURS),
        "coloured": colour,
    }


def _gap_text(gap: Any) -> str:
    text = f"{device_label(gap.device)} had nothing to do for {time_text(gap.end_us - gap.start_us)}"
    if not gap.node:
        return f"{text}, up to the end"
    return f"before it {text}" + (f"; last to come: {gap.waits_for}" if gap.waits_for else "")


def _numbered(values: Any) -> tuple[list[str], np.ndarray]:
    """The distinct texts, and [events] the number of each."""
    place = {text: number for number, text in enumerate(dict.fromkeys(values))}
    return list(place), np.array([place[text] for text in values], dtype=np.int64)


def _coloured(
    timeline: StepTimeline, colour: str, ops: list[str], op: np.ndarray
) -> tuple[np.ndarray, list[Look], list[dict[str, Any]]]:
    """[events] the number of a look, the looks, and chips that tell what they mean."""
    if colour == "device":
        devices = list(timeline.devices)
        place = np.array([devices.index(lane.device) for lane in timeline.lanes], dtype=np.int64)
        styles = [device_style(device) for device in devices]
        looks = [Look(style.fill, style.corners, style.outlines, "", INK) for style in styles]
        return place[timeline.lane], looks, [look(device, text=device_label(device)) for device in devices]
    if colour == "op type":
        counts = np.bincount(op, minlength=len(ops))
        shown = [number for number, name in enumerate(ops) if name not in TRANSFERS]  # those are hatched
        order = sorted(shown, key=lambda number: (-counts[number], ops[number]))
        kept = min(len(order), _MOST_TYPES)
        place = np.full(len(ops), kept, dtype=np.int64)
        place[order[:kept]] = np.arange(kept)
        looks = [category_look(number) for number in (*range(kept), 99)]
        labels = [shortened(ops[number], 24) for number in order[:kept]]
        labels += [f"other ({len(order) - kept} types)"] if len(order) > kept else []
        return place[op], looks, [_chip(one, label) for one, label in zip(looks, labels, strict=False)]
    lasted = timeline.end_us - timeline.start_us
    scale = time_scale(lasted)
    steps = max(len(scale.bounds) - 1, 1)
    number = np.clip(np.searchsorted(scale.bounds, lasted, side="right") - 1, 0, steps - 1)
    looks = [scale_look(round(step * 5 / max(1, steps - 1)) if steps > 1 else 2) for step in range(steps)]
    labels = [scale.step_text(step) for step in range(len(scale.bounds) - 1)]
    return number, looks, [_chip(one, label) for one, label in zip(looks, labels, strict=False)]


def _chip(one: Look, text: str) -> dict[str, Any]:
    return {"fill": one.fill, "corners": one.corners, "outlines": one.outlines, "text": text, "ink": one.ink}


def timeline_bundle(timeline: StepTimeline, **kwargs: Any) -> dict[str, Any]:
    """The widget, and for readers without a kernel a still picture, tables and text."""
    view = timeline.__dict__.get("_view")
    if view is None:
        view = timeline.__dict__["_view"] = TimelineView(timeline)
    plain = timeline_text(timeline)
    found = view._repr_mimebundle_(**kwargs)
    bundle: dict[str, Any] = dict(found[0] if isinstance(found, tuple) else found or {})
    return {**bundle, "text/html": timeline_html(timeline), "text/plain": plain}


def timeline_html(timeline: StepTimeline) -> str:
    """The still picture as an image, devices, copies and hints as tables: all of it survives saving."""
    picture = html.image(timeline_svg(timeline), f"Timeline. {timeline.text}. {timeline.path_text}")
    parts = [picture, html.table(USE_COLUMNS, use_rows(timeline))]
    if timeline.copies:
        copies = html.table(COPY_COLUMNS, copy_rows(timeline), limit=_MOST_ROWS)
        title = counted(len(timeline.copies), "copy", "copies")
        parts.append(f"<details><summary>{title}</summary>{copies}</details>")
    hints = "".join(f"<li>{html.escape(hint.text)}</li>" for hint in timeline.hints)
    return "".join(parts) + (f"<p><b>What to move</b></p><ul>{hints}</ul>" if hints else "")
