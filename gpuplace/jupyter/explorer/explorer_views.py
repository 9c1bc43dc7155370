"""The explorer's views next to its controls: the picture, and the tabs below it.

A change repaints only the parts that depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import ipywidgets

from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.errors import OpError
from gpuplace.jupyter import render
from gpuplace.jupyter.explorer import panels
from gpuplace.jupyter.explorer.advising import Advising
from gpuplace.jupyter.explorer.comparison import Comparison
from gpuplace.jupyter.explorer.costs import Costs
from gpuplace.jupyter.explorer.details import box_of_name, detail_of
from gpuplace.jupyter.explorer.remedies import Remedy
from gpuplace.jupyter.explorer.tab_page import Tab, TabPage
from gpuplace.jupyter.explorer.table_model import TableModel
from gpuplace.jupyter.explorer.views import GraphView, PanelView
from gpuplace.jupyter.explorer.what_if import WhatIf
from gpuplace.jupyter.pictures import legend_chips, picture_sheet
from gpuplace.jupyter.timeline_view import TimelineView
from gpuplace.views.picture.colouring import COLOURINGS
from gpuplace.views.picture.drawing import Drawing
from gpuplace.views.picture.lanes import scene
from gpuplace.views.picture.lighting import Lit
from gpuplace.views.picture.outline import outline
from gpuplace.views.picture.scene import graph_scene
from gpuplace.views.picture.sheet import Sheet
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.text import summary_text

LOOKS = ("graph", "devices")
"""Modes of the picture: the graph, or one lane per device."""
PREDICTED_TIME = "predicted time"
"""The colouring by predicted time."""
CANVAS = (760.0, 540.0)
"""Initial width and height of the picture in points, until the page reports its size."""
_TIME_LIMIT_S = 5.0
"""Time limit of a layout by Graphviz, in seconds."""


class Views:
    """The widgets of the views and their content.

    Args:
        what_if: the source of placements.
        comparison: the placement to compare with.
        tabs: the tabs below the picture.
        on_message: called with messages from a page.
        on_select: called with the name of an op that the user selects in a table.
    """

    def __init__(
        self,
        what_if: WhatIf,
        comparison: Comparison,
        tabs: Sequence[Tab],
        on_message: Callable[[Any, dict[str, Any], Any], None],
        on_select: Callable[[str], None],
    ) -> None:
        self.what_if, self.comparison = what_if, comparison
        self.drawing: Drawing | None = None  # folded scopes and the selection of the picture
        self.drawn: Drawing | None = None  # the boxes as displayed: in the picture by device, their shares
        self.sheet: Sheet | None = None  # the picture's content
        self.remedies: list[Remedy] = []
        self.run_metadata: Any = None
        self.selected = ""
        self.limit: Lit | None = None  # the highlighted rows, if the tables list only these
        self.canvas = CANVAS
        self.costs = Costs(what_if)
        self.advising = Advising(what_if, self.show_advice)
        self.refused: Mapping[str, tuple[Any, BaseException]] = {}
        self.is_beside = False  # whether the timeline shows the predicted step next to the measured one
        self.timed: tuple[Any, ...] = ()  # the content of the timeline: see the tab
        self._look: tuple[Any, str, str, bool] | None = None  # the look of the picture
        self._pictured: tuple[Any, ...] = ()  # all inputs of the current picture
        self._before: Drawing | None = None  # the last picture of the graph that the page laid out
        self._graph = 0  # a number for the graph of that picture
        self._left_out: dict[tuple[Any, ...], int] = {}  # steps of first views for which a page had no room
        self._filled: tuple[Any, ...] = ()  # all inputs of the current tables
        self._predicted: StepEstimate | None = None  # the estimate that the picture shows
        self.graph = GraphView()
        self.status, self.note = PanelView(), PanelView()
        self._on_select = on_select
        for view in (self.graph, self.status, self.note):
            view.on_msg(on_message)
        self.pages = {tab.title: TabPage(tab, self, on_message, on_select) for tab in tabs}
        self.tabs = ipywidgets.Tab(
            [page.widget for page in self.pages.values()], titles=tuple(self.pages), selected_index=0
        )
        self.tabs.add_class("gp-tabs")
        self.tabs.observe(lambda change: self.show_tab(), "selected_index")

    @cached_property
    def timeline(self) -> TimelineView:
        """The view of a measured or predicted step."""
        return TimelineView(on_select=self._on_select)

    def _tables(self) -> list[TableModel]:
        return [page.existing_table for page in self.pages.values() if page.existing_table is not None]

    @property
    def front(self) -> str:
        """The selected tab."""
        return list(self.pages)[self.tabs.selected_index or 0]

    # ------------------------------------------------------------------------------------------------------- picture

    def show_picture(self, opened: Any, colour: str, view: str, backward: bool) -> None:
        """Draw the placement.

        Args:
            opened: open name scopes; None for as many as fit.
            colour: one of `colours`.
            view: one of `LOOKS`.
            backward: whether to draw lines of gradients and updates between layers too.
        """
        placement, graph = self.what_if.placement, self.graph
        self._look = (opened, colour, view, backward)
        colour, stats = self.colouring(colour)
        # The step is predicted again only if the page currently shows its cost.
        self._predicted = self.predicted() if self.front == "Cost" else self.costs.known
        made_of = (placement, self.comparison.before, stats, self._predicted)
        arranged = (self._look, colour, self.canvas, self.what_if.is_stale)
        if _is_same(made_of, self._pictured[:4]) and arranged == self._pictured[4:]:
            return
        self._pictured = (*made_of, *arranged)
        if placement is None:
            self.drawing = self.drawn = self.sheet = None
            with graph.hold_sync():
                graph.notice = "No node can be placed with these settings; see the error above."
                graph.scene, graph.legend, graph.notes = {}, [], []
            return
        is_by_device = view == "devices"
        sheet = picture_sheet(
            placement,
            opened,
            colour=colour,
            against=self.comparison.before,
            run_metadata=stats,
            estimate=self._predicted,
            canvas=self.canvas,
            lanes=is_by_device,
            backward=backward,
            left_out=self._left_out.get(self._first_view, 0),
        )
        self.sheet, self.drawn = sheet, sheet.drawing
        self.drawing = sheet.drawing.whole or sheet.drawing
        with graph.hold_sync():
            graph.legend = legend_chips(sheet)
            graph.notes = [list(note) for note in sheet.notes]
            graph.summary = f"Placement graph. {summary_text(placement)}"
            graph.stale = self.what_if.is_stale
            graph.view = view
            graph.backward = sheet.backward
            graph.scene = scene(sheet, placement) if is_by_device else self._graph_scene(sheet, not opened)

    @property
    def _first_view(self) -> tuple[Any, ...]:
        """The inputs that determine which scopes open by themselves."""
        return outline(view_of(self.what_if.placement)), self.canvas, self._predicted is not None

    def show_less(self, boxes: list[str], canvas: tuple[float, float]) -> None:
        """Draw the first view with fewer open scopes, because its names cannot be read on the page.

        Args:
            boxes: ids of the boxes that the page shows; out of date if they belong to another picture.
            canvas: the size of the page's canvas.
        """
        if self._look is None or self._look[0] is not None or self.drawing is None or canvas != self.canvas:
            return
        if boxes == [box.id for box in self.drawing.boxes]:
            self._left_out[self._first_view] = self._left_out.get(self._first_view, 0) + 1
            self._pictured = ()
            self.show_picture(*self._look)

    def _graph_scene(self, sheet: Sheet, is_first: bool) -> dict[str, Any]:
        """Return the scene that the page lays out, with a number that identifies the graph and its boxes."""
        before, self._before = self._before, sheet.drawing
        if before is None or outline(before.view) is not outline(sheet.drawing.view):
            before = None
            self._graph += 1
        return {**graph_scene(sheet, before, is_first=is_first), "graph": self._graph}

    def svg(self) -> str:
        """Return the picture of the graph as Graphviz lays it out; ``""`` for the picture by device.

        Raises:
            LayoutTimeout: the layout took too long.
            NoLayoutProgram: no layout program is installed.
        """
        if self.sheet is None or self.sheet.drawing.whole is not None:
            return ""
        return render.sheet_svg(
            self.sheet, legend=False, transparent=True, canvas=self.canvas, time_limit_s=_TIME_LIMIT_S
        )

    def colours(self) -> tuple[str, ...]:
        """The available colourings."""
        names = [name for name in COLOURINGS if name != "time" or self.run_metadata is not None]
        if not self.what_if.is_fixed:
            names.append(PREDICTED_TIME)
        return (*names, "moved") if self.comparison.before is not None else tuple(names)

    def colouring(self, colour: str) -> tuple[str, Any]:
        """Return the colouring of a name in `colours`, and the step that it depends on."""
        if colour != PREDICTED_TIME:
            return colour, self.run_metadata
        step = self.predicted()
        return ("assigned", None) if step is None else ("time", step.run_metadata())

    def show_selection(self, name: str) -> str:
        """Mark an op or a scope in all views and show its card; return the explanation."""
        placement = self.what_if.placement
        self.selected = name
        for table in self._tables():
            table.select(name)
        if "timeline" in self.__dict__:
            self.timeline.select(name)
        if placement is None or self.drawing is None or not name:
            self.graph.detail, self.graph.selected_box = {}, ""
            return ""
        box = box_of_name(self.drawing, view_of(placement), name)
        detail = detail_of(placement, self.drawing, name)
        with self.graph.hold_sync():
            self.graph.detail = detail
            self.graph.selected_box = box.id if box is not None else ""
        return detail.get("reason", "")

    def show_found(self, text: str, is_none: bool = False) -> None:
        """Show which match of a search is selected, or that there is none."""
        number = self.graph.found.get("search", 0) + 1
        self.graph.found = {"text": text, "isNone": is_none, "search": number}

    def show_light(
        self, shown: dict[str, Any], choices: list[list[str]], only: bool, lit: Lit | None = None
    ) -> None:
        """Highlight boxes and edges, and limit the tables to the highlighted rows."""
        with self.graph.hold_sync():
            self.graph.lights = choices
            self.graph.lit_only = only
            self.graph.lit = shown
        self.limit = lit if only and lit is not None and lit.nodes is not None else None
        for table in self._tables():
            table.limit(self.limit)

    # ---------------------------------------------------------------------------------------------- tables and panels

    def show_status(self, remedies: list[Remedy]) -> None:
        """Update the status line."""
        state = self.what_if
        self.remedies = remedies
        self.status.blocks = panels.status_blocks(
            state.placement,
            state.error,
            state.blamed,
            remedies,
            state.is_stale,
            part=state.parts.text(state.settings),
            trail=state.parts.trail(state.settings),
        )

    def fill(self) -> None:
        """Give all tables new rows; only the visible table builds them now."""
        state = self.what_if
        made_of = (state.placement, self.comparison.before, state.error)
        if _is_same(made_of, self._filled):
            return
        self._filled = made_of
        for page in self.pages.values():
            page.fill()

    def show_tab(self) -> None:
        """Fill the selected tab."""
        for title, page in self.pages.items():
            page.show(title == self.front)

    def show_predicted(self) -> None:
        """Draw the picture again with the predicted costs, if it does not show them yet."""
        step = self.costs.known
        if self._look is not None and step is not None and step is not self._predicted:
            self.show_picture(*self._look)

    def show_note(self) -> None:
        """Show the search for a better placement, or a summary of its result."""
        self.note.blocks = self.advising.note_blocks()

    def show_advice(self) -> None:
        """Show the search or its result: a summary, and the details if its tab is selected."""
        with self.what_if.lock:
            self.show_note()
            if self.front == "Advice":
                self.pages["Advice"].show(True)

    def predicted(self) -> StepEstimate | None:
        """The estimate; None if there is none, which the Cost tab explains."""
        try:
            return None if self.what_if.is_fixed else self.costs.estimate()
        except (OpError, ValueError, TypeError):
            return None


def _is_same(current: tuple[Any, ...], before: tuple[Any, ...]) -> bool:
    """Return whether both tuples hold the same objects; placements are too large to compare by value."""
    return len(current) == len(before) and all(a is b for a, b in zip(current, before, strict=True))
