"""The explorer's views below and beside its controls: picture, tables and panels, and what fills them.

A view behind another tab is filled when it comes to the front.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets

from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.errors import OpError
from gpuplace.jupyter import render
from gpuplace.jupyter.explorer import panels
from gpuplace.jupyter.explorer.advising import Advising
from gpuplace.jupyter.explorer.as_python import config_code
from gpuplace.jupyter.explorer.comparison import Comparison
from gpuplace.jupyter.explorer.cost_fields import grid_fields, step_fields
from gpuplace.jupyter.explorer.costs import Costs
from gpuplace.jupyter.explorer.details import box_of_name, detail_of
from gpuplace.jupyter.explorer.remedies import Remedy
from gpuplace.jupyter.explorer.row_sources import CopyRows, LogRows, MoveRows, NodeRows, Rows
from gpuplace.jupyter.explorer.table_model import TableModel
from gpuplace.jupyter.explorer.views import GraphView, PanelView
from gpuplace.jupyter.explorer.what_if import WhatIf
from gpuplace.jupyter.pictures import legend_chips, picture_sheet
from gpuplace.jupyter.timeline_view import TimelineView
from gpuplace.memory.process_state import session_allocators
from gpuplace.page.cost_blocks import compared_blocks, cost_blocks, cost_error_blocks, grid_blocks
from gpuplace.page.finding_blocks import HEADING, finding_blocks
from gpuplace.picture.colouring import COLOURINGS
from gpuplace.picture.drawing import Drawing
from gpuplace.picture.lanes import scene
from gpuplace.picture.lighting import Lit
from gpuplace.tables.blocks import error_card, text_block
from gpuplace.tables.memory import memory_rows
from gpuplace.tables.placement_view import view_of
from gpuplace.tables.text import summary_text
from gpuplace.timelines.beside import beside
from gpuplace.timelines.reader import step_timeline

__all__ = ["LOOKS", "TABS", "Views"]

TABS = ("Table", "Copies", "Cost", "Advice", "Memory", "Timeline", "Errors", "Compare", "Devices", "Log")
"""Views that share a place, in order."""


LOOKS = ("graph", "devices")
"""Ways to show the picture: as the graph, or a lane for each device."""
FORETOLD_TIME = "foretold time"
"""The colouring by what the estimate says."""
CANVAS = (760.0, 540.0)
"""Width and height in points of the picture, until the page says how large it is."""


class Views:
    """The widgets of the views and what they show.

    Args:
        what_if: where placements come from.
        comparison: what the current placement is compared with.
        on_message: called with what a page says.
        on_select: called with the name of an op that the user chose in a table.
    """

    def __init__(
        self,
        what_if: WhatIf,
        comparison: Comparison,
        on_message: Callable[[Any, dict[str, Any], Any], None],
        on_select: Callable[[str], None],
    ) -> None:
        self.what_if, self.comparison = what_if, comparison
        self.drawing: Drawing | None = None  # what is folded and selected in the picture
        self.drawn: Drawing | None = None  # boxes as they are seen: in the picture by device, their shares
        self.remedies: list[Remedy] = []
        self.run_metadata: Any = None
        self._selected = ""
        self.canvas = CANVAS
        self.graph = GraphView()
        self.status, self.note = PanelView(), PanelView()
        self.nodes = TableModel(NodeRows.columns, "Nodes and their devices", on_select)
        self.copies = TableModel(CopyRows.columns, "Copies between devices", on_select)
        self.moves = TableModel(MoveRows.columns, "Nodes that moved", on_select)
        self.log = TableModel(LogRows.columns, "Placement log", on_select, plain=True)
        self.cost, self.advice, self.memory = (PanelView() for _ in range(3))
        self.errors, self.compare, self.devices = (PanelView() for _ in range(3))
        self.costs = Costs(what_if)
        self.advising = Advising(what_if, self.show_advice)
        self.refused: Mapping[str, tuple[Any, BaseException]] = {}
        self.timeline = TimelineView(on_select=on_select)
        self.is_beside = False  # whether the timeline shows the foretold step beside the measured one
        self._timed: tuple[Any, ...] = ()
        self._look: tuple[Any, str, str, bool] | None = None  # of the picture
        self._predicted: StepEstimate | None = None  # whose costs the picture shows
        for view in (
            self.graph,
            self.status,
            self.note,
            self.cost,
            self.advice,
            self.memory,
            self.errors,
            self.compare,
            self.devices,
        ):
            view.on_msg(on_message)
        pages = [
            self.nodes.view,
            self.copies.view,
            self.cost,
            self.advice,
            self.memory,
            self.timeline,
            self.errors,
            ipywidgets.VBox([self.compare, self.moves.view]),
            self.devices,
            self.log.view,
        ]
        self.tabs = ipywidgets.Tab(pages, titles=TABS, selected_index=0)
        self.tabs.add_class("gp-tabs")
        self.tabs.observe(lambda change: self.show_tab(), "selected_index")

    @property
    def tables(self) -> dict[str, TableModel]:
        """Tab -> the table in it."""
        return {"Table": self.nodes, "Copies": self.copies, "Compare": self.moves, "Log": self.log}

    @property
    def front(self) -> str:
        """The tab that can be seen."""
        return TABS[self.tabs.selected_index or 0]

    # ------------------------------------------------------------------------------------------------------- picture

    def show_picture(self, opened: Any, colour: str, view: str, backward: bool) -> None:
        """Draws the placement with some scopes open and some colouring, as one of `LOOKS`.

        Args:
            opened: open name scopes; None for as many as fit.
            colour: what colours mean, one of `colours`.
            view: one of `LOOKS`.
            backward: whether lines of gradients and updates are drawn between layers too.
        """
        placement, graph = self.what_if.placement, self.graph
        self._look = (opened, colour, view, backward)
        if placement is None:
            self.drawing = self.drawn = None
            with graph.hold_sync():
                graph.notice = "Nothing could be placed with these settings; the reason is above."
                graph.svg, graph.scene, graph.legend, graph.notes = "", {}, [], []
            return
        is_by_device = view == "devices"
        colour, stats = self.colouring(colour)
        # A switch predicts the step anew only where somebody looks at what it costs.
        self._predicted = self._foretold() if self.front == "Cost" else self.costs.known
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
        )
        self.drawn = sheet.drawing
        self.drawing = sheet.drawing.whole or sheet.drawing
        with graph.hold_sync():
            graph.legend = legend_chips(sheet)
            graph.notes = [list(note) for note in sheet.notes]
            graph.summary = f"Placement graph. {summary_text(placement)}"
            graph.stale = self.what_if.is_stale
            graph.view = view
            graph.backward = sheet.backward
            graph.scene = scene(sheet, placement) if is_by_device else {}
            if is_by_device:
                graph.svg = ""
                return
            try:
                graph.svg = render.sheet_svg(
                    sheet, legend=False, transparent=True, canvas=self.canvas, time_limit_s=5.0
                )
            except render.LayoutTimeout:
                graph.notice = "This picture takes too long to lay out: fold some name scopes."
                graph.svg = ""
            except render.NoLayoutProgram as error:
                graph.notice, graph.svg = str(error), ""

    def colours(self) -> tuple[str, ...]:
        """The colourings there are something for."""
        found = [name for name in COLOURINGS if name != "time" or self.run_metadata is not None]
        if not self.what_if.is_fixed:
            found.append(FORETOLD_TIME)
        return (*found, "moved") if self.comparison.before is not None else tuple(found)

    def colouring(self, colour: str) -> tuple[str, Any]:
        """How pictures are coloured for a name of `colours`: the colouring, and the step that it is of."""
        if colour != FORETOLD_TIME:
            return colour, self.run_metadata
        step = self._foretold()
        return ("assigned", None) if step is None else ("time", step.run_metadata())

    def show_selection(self, name: str) -> str:
        """Marks an op or a scope everywhere and shows its card; returns why it is where it is."""
        placement = self.what_if.placement
        self._selected = name
        for table in self.tables.values():
            table.select(name)
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
        """Says which match of a search is shown, or that there is none."""
        number = self.graph.found.get("search", 0) + 1
        self.graph.found = {"text": text, "isNone": is_none, "search": number}

    def show_light(
        self, shown: dict[str, Any], choices: list[list[str]], only: bool, lit: Lit | None = None
    ) -> None:
        """Lights boxes and edges, and limits the tables of nodes and copies to what is lit."""
        with self.graph.hold_sync():
            self.graph.lights = choices
            self.graph.lit_only = only
            self.graph.lit = shown
        for table in (self.nodes, self.copies):
            table.limit(lit if only and lit is not None and lit.nodes is not None else None)

    # ---------------------------------------------------------------------------------------------- tables and panels

    def show_status(self, remedies: list[Remedy]) -> None:
        """Says how it stands."""
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
        """Gives all tables new rows; only the one in front makes them now."""
        placement = self.what_if.placement
        if placement is None:
            for table in self.tables.values():
                table.fill(lambda: Rows(0), "Nothing could be placed.")
            return
        view = view_of(placement)
        self.nodes.fill(lambda: NodeRows(view), "The graph is empty.")
        nothing = "Nothing is copied between devices." if view.knows_edges else "A log does not list copies."
        self.copies.fill(lambda: CopyRows(view), nothing)
        self.moves.fill(self._move_rows)
        self.log.fill(
            lambda: LogRows(self.what_if.log(), view.index), "There is no log: the placement failed."
        )

    def _move_rows(self) -> Rows:
        moves = self.comparison.moves(self.what_if.placement)
        return Rows(0) if moves is None else MoveRows(moves)

    def show_tab(self) -> None:
        """Fills the tab in front."""
        front, state = self.front, self.what_if
        for name, table in self.tables.items():
            table.front(name == front)
        if front == "Cost":
            self.show_cost()
            self._show_predicted()
        elif front == "Advice":
            self.show_advice()
        elif front == "Memory":
            self.memory.blocks = self._memory()
        elif front == "Timeline":
            self._show_timeline()
        elif front == "Errors":
            self.errors.blocks = panels.error_blocks(
                state.placement, state.error, self.remedies, state.is_stale
            )
        elif front == "Compare":
            self._show_compare()
        elif front == "Devices" and state.is_fixed:
            self.devices.blocks = panels.logged_device_blocks(state.placement)
        elif front == "Devices":
            self.devices.blocks = panels.device_blocks(
                state.mapping, state.settings.environ, f"config = {config_code(state.settings)}"
            )

    def show_cost(self, is_compared: bool = False) -> None:
        """Foretells the step; with the machines beside each other, if they are to be compared anew."""
        state, costs = self.what_if, self.costs
        if state.is_fixed:
            self.cost.blocks = [
                text_block("A log says where nodes were, not what they do: explore its graph.", "status")
            ]
            return
        blocks = [step_fields(state.settings, self.refused)]
        try:
            step = costs.estimate()
        except (OpError, ValueError, TypeError) as error:
            self.cost.blocks = [*blocks, *cost_error_blocks(error)]
            return
        if not step.findings.skipped:
            blocks += [{"kind": "heading", "text": HEADING}, *finding_blocks(step.findings)]
        blocks += cost_blocks(step, costs.before)
        if self.run_metadata is not None:
            try:
                blocks += compared_blocks(step.compare(self.run_metadata), self.is_beside)
            except ValueError as error:  # of another graph
                blocks += cost_error_blocks(error)
        machines, batches = costs.suggested()
        blocks += grid_fields(costs.machines or machines, costs.batches or batches)
        try:
            if is_compared:
                costs.compare()
            if costs.grid is not None:
                blocks += grid_blocks(costs.grid)
        except (OpError, ValueError) as error:
            blocks += cost_error_blocks(error)
        self.cost.blocks = blocks

    def _show_predicted(self) -> None:
        """Draws the picture anew with what the step costs, where it does not show that yet."""
        known = self.costs.known
        if self._look is not None and known is not None and known is not self._predicted:
            self.show_picture(*self._look)

    def show_advice(self) -> None:
        """Shows the search for a better placement, or what it found: in short, and all of it if its tab is in front."""
        with self.what_if.lock:
            self.note.blocks = self.advising.note_blocks()
            if self.front == "Advice":
                self.advice.blocks = self.advising.blocks()

    def _show_timeline(self) -> None:
        """Shows the measured step; hints are of the current placement, where the step ran so."""
        placement, measured = self.what_if.placement, self.run_metadata
        foretold = None if measured is not None and not self.is_beside else self._foretold()
        if self._timed != (measured, placement, foretold):
            self._timed = (measured, placement, foretold)
            steps = [] if foretold is None else [("foretold", foretold.timeline())]
            if measured is not None:
                steps.append(("measured", step_timeline(measured, placement)))
            if measured is not None and foretold is None:
                self.timeline.show(steps[0][1])
            else:
                self.timeline.show(beside(*steps) if steps else None)
            self.timeline.select(self._selected)

    def _foretold(self) -> StepEstimate | None:
        """The estimate; None where there is none, which the tab of the cost says."""
        try:
            return None if self.what_if.is_fixed else self.costs.estimate()
        except (OpError, ValueError, TypeError):
            return None

    def _memory(self) -> list[dict[str, Any]]:
        state = self.what_if
        if state.placement is None:
            return [text_block("Nothing could be placed.", "status")]
        stats = {
            name: allocator.stats()
            for name, allocator in session_allocators(state.settings.machine, state.session).items()
        }
        growth = None if state.is_fixed else (state.last_good or state.settings).allow_growth
        return panels.memory_blocks(memory_rows(state.placement, allow_growth=growth, stats=stats))

    def _show_compare(self) -> None:
        placement = self.what_if.placement
        moves = self.comparison.moves(placement)
        self.compare.blocks = panels.compare_blocks(
            self.comparison.label,
            "" if placement is None else summary_text(placement),
            moves,
            self.comparison.choices(),
        )
        self.moves.view.layout.display = "none" if moves is None or not len(moves) else None

    def compare_failed(self, error: BaseException) -> None:
        """Says why what was to be compared with cannot be placed."""
        self.compare.blocks = [
            {"kind": "error", **error_card(error)},
            *panels.compare_blocks("", "", None, self.comparison.choices()),
        ]
