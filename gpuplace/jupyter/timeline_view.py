"""A zoomable timeline, with lanes on a canvas, keys and search, and its static form for saved notebooks.

The page receives the columns once, as bytes (`gpuplace.views.timelines.page`), and draws the visible part; a click
sends the event's number back.
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
        timeline: the timeline; None if there is none yet.
        on_select: called with the name of a node that the user selects.
    """

    _esm = widget_module("gpuplace/widgets/timeline_view.js")
    _css = STYLE

    step: Any = traitlets.Dict().tag(sync=True)
    """Lanes, names, copies, the path and texts."""
    columns = traitlets.Bytes().tag(sync=True)
    """The columns of all events, one after the other."""
    goto: Any = traitlets.Dict().tag(sync=True)
    """``event`` to select, if set by Python, and a ``number`` that distinguishes repetitions."""
    selected = traitlets.Int(-1)
    """Number of the selected event; a selection by the page is not sent back to it."""
    colour = traitlets.Enum(COLOURS, "device", help="The colouring of boxes.").tag(sync=True)

    def __init__(
        self, timeline: StepTimeline | None = None, on_select: Callable[[str], None] | None = None
    ) -> None:
        columns, step = timeline_page(timeline)
        super().__init__(columns=columns, step=step)  # a page that opens later needs the step
        self.timeline = timeline
        self._on_select = on_select
        self.on_msg(self._heard)

    def show(self, timeline: StepTimeline | None) -> None:
        """Show another step, or an empty page for None."""
        self.timeline = timeline
        with self.hold_sync():
            self.selected = -1
            self.columns, self.step = timeline_page(timeline)

    def select(self, name: str) -> None:
        """Mark the longest event of a node, if there is one."""
        longest = -1
        if self.timeline is not None and name:
            events = [event for event, node in enumerate(self.timeline.names) if node == name]
            lasted = self.timeline.end_us - self.timeline.start_us
            longest = max(events, key=lambda event: float(lasted[event]), default=-1)
        if self.timeline is None or self.selected < 0 or self.timeline.names[self.selected] != name:
            self.selected = longest
            self.goto = {"event": longest, "number": self.goto.get("number", 0) + 1}

    def _heard(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        match content:
            case {"type": "select", "event": int(event)} if -1 <= event < len(self.timeline or ()):
                self.selected = event
                if self._on_select is not None and event >= 0 and self.timeline is not None:
                    self._on_select(self.timeline.names[event])
            case {"type": "colour", "colour": str(colour)} if colour in COLOURS:
                self.colour = colour


def timeline_bundle(timeline: StepTimeline, **kwargs: Any) -> dict[str, Any]:
    """Return the widget and, for readers without a kernel, a static picture, tables and text."""
    view = timeline.__dict__.get("_view")
    if view is None:
        view = timeline.__dict__["_view"] = TimelineView(timeline)
    plain = timeline_text(timeline)
    widget_bundle = view._repr_mimebundle_(**kwargs)
    bundle: dict[str, Any] = dict(
        widget_bundle[0] if isinstance(widget_bundle, tuple) else widget_bundle or {}
    )
    return {**bundle, "text/html": timeline_html(timeline), "text/plain": plain}


def timeline_html(timeline: StepTimeline) -> str:
    """Return the static picture as an image, and devices, copies and hints as tables, all of which can be saved."""
    description = f"Timeline. {timeline.text}. {timeline.path_text}"
    picture = html.image(timeline_svg(timeline), description, timeline_svg(timeline, "dark"))
    parts = [picture, html.table(USE_COLUMNS, use_rows(timeline))]
    if timeline.copies:
        copies = html.table(COPY_COLUMNS, copy_rows(timeline), limit=_MOST_ROWS)
        title = counted(len(timeline.copies), "copy", "copies")
        wrapped = f'<div style="overflow-wrap:anywhere">{copies}</div>'  # names of tensors are long
        parts.append(f"<details><summary>{title}</summary>{wrapped}</details>")
    hints = "".join(f"<li>{html.escape(hint.text)}</li>" for hint in timeline.hints)
    return "".join(parts) + (f"<p><b>Suggested moves</b></p><ul>{hints}</ul>" if hints else "")
