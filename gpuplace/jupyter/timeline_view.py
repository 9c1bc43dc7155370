"""A timeline to zoom: lanes on a canvas, with keys and search; and what a saved notebook keeps of it.

The page gets columns once, as bytes (`gpuplace.views.timelines.page`), and draws what is in sight; a click sends the
event's number back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import traitlets

from gpuplace.jupyter.explorer.views import STYLE, ModuleWidget
from gpuplace.views.tables import html
from gpuplace.views.tables.text import counted
from gpuplace.views.timelines.page import COLOURS, timeline_page
from gpuplace.views.timelines.step_timeline import StepTimeline
from gpuplace.views.timelines.svg import timeline_svg
from gpuplace.views.timelines.text import COPY_COLUMNS, USE_COLUMNS, copy_rows, timeline_text, use_rows
from gpuplace.web.modules import widget_module

_MOST_ROWS = 12


class TimelineView(ModuleWidget):
    """A `StepTimeline` as a widget.

    Messages to Python: ``select`` with ``event``, a number or -1, and its ``node``; ``colour`` with one of `COLOURS`.

    Args:
        timeline: what to show; None for nothing yet.
        on_select: called with the name of a node that the user chose.
    """

    _esm = widget_module("gpuplace/widgets/timeline_view.js")
    _css = STYLE

    step: Any = traitlets.Dict().tag(sync=True)
    """Lanes, names, copies, the path and texts."""
    columns = traitlets.Bytes().tag(sync=True)
    """Of all events, one column after the other."""
    goto: Any = traitlets.Dict().tag(sync=True)
    """``event`` to select, where Python says so, and a ``number`` that tells one time from another."""
    selected = traitlets.Int(-1)
    """Number of the selected event; what the page selects is not sent back to it."""
    colour = traitlets.Enum(COLOURS, "device", help="What boxes are coloured by.").tag(sync=True)

    def __init__(
        self, timeline: StepTimeline | None = None, on_select: Callable[[str], None] | None = None
    ) -> None:
        columns, step = timeline_page(timeline)
        super().__init__(columns=columns, step=step)  # a page that opens has the step
        self.timeline = timeline
        self._on_select = on_select
        self.on_msg(self._heard)

    def show(self, timeline: StepTimeline | None) -> None:
        """Shows another step, or none."""
        self.timeline = timeline
        with self.hold_sync():
            self.selected = -1
            self.columns, self.step = timeline_page(timeline)

    def select(self, name: str) -> None:
        """Marks the longest event of a node, if there is one."""
        found = -1
        if self.timeline is not None and name:
            names = self.timeline.names
            events = [event for event, known in enumerate(names) if known == name]
            lasted = self.timeline.end_us - self.timeline.start_us
            found = max(events, key=lambda event: float(lasted[event]), default=-1)
        if self.timeline is None or self.selected < 0 or self.timeline.names[self.selected] != name:
            self.selected = found
            self.goto = {"event": found, "number": self.goto.get("number", 0) + 1}

    def _heard(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        match content:
            case {"type": "select", "event": int(event)} if -1 <= event < len(self.timeline or ()):
                self.selected = event
                if self._on_select is not None and event >= 0 and self.timeline is not None:
                    self._on_select(self.timeline.names[event])
            case {"type": "colour", "colour": str(colour)} if colour in COLOURS:
                self.colour = colour


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
    told = f"Timeline. {timeline.text}. {timeline.path_text}"
    picture = html.image(timeline_svg(timeline), told, timeline_svg(timeline, "dark"))
    parts = [picture, html.table(USE_COLUMNS, use_rows(timeline))]
    if timeline.copies:
        copies = html.table(COPY_COLUMNS, copy_rows(timeline), limit=_MOST_ROWS)
        title = counted(len(timeline.copies), "copy", "copies")
        wrapped = f'<div style="overflow-wrap:anywhere">{copies}</div>'  # names of tensors are long
        parts.append(f"<details><summary>{title}</summary>{wrapped}</details>")
    hints = "".join(f"<li>{html.escape(hint.text)}</li>" for hint in timeline.hints)
    return "".join(parts) + (f"<p><b>What to move</b></p><ul>{hints}</ul>" if hints else "")
