"""The explorer: a placement with switches. Flip one and see what moves; click an op and read why it is there.

`Explorer` is an ordinary widget whose state can be read and set from Python::

    explorer = gpuplace.explore(graph, machine="4x Tesla K20m")
    explorer.soft_placement = True
    explorer.visible_devices = (0, 1)
    explorer.selected = "MatMul"
    print(explorer.reason)
    explorer.frame

A placement that fails shows TensorFlow's error with its facts, marks the node in the picture, and leaves every switch
usable. In a saved notebook the explorer is a still picture and a table.
"""

from __future__ import annotations

from typing import Any

import ipywidgets
import traitlets

from gpuplace import release as releases
from gpuplace.device.machine import Machine
from gpuplace.errors import OpError
from gpuplace.jupyter import render
from gpuplace.jupyter.details import box_of_name, detail_of
from gpuplace.jupyter.frames import placement_frame
from gpuplace.jupyter.logged import LoggedState
from gpuplace.jupyter.pictures import placement_picture
from gpuplace.jupyter.views import STYLE, GraphView, TableView, look
from gpuplace.jupyter.what_if import WhatIf
from gpuplace.jupyter.widget_rows import copy_rows, legend_notes, searcher, table_rows
from gpuplace.report import html
from gpuplace.report.dot import dot_text
from gpuplace.report.drawing import Drawing, draw, scope_tree
from gpuplace.report.logged_placement import LoggedPlacement
from gpuplace.report.placement_view import view_of
from gpuplace.report.text import counted, placement_text, summary_text

__all__ = ["PRESETS", "Explorer", "explore"]

PRESETS = (
    "cpu",
    "1x Tesla K40c",
    "2x Tesla K40c",
    "4x Tesla K20m",
    "8x Tesla K80",
    "1x Tesla T4",
    "2 CPU, 1x V100 + 2x K40c",
    "8x A100-80",
    "8x H100",
)
"""Machines that the explorer offers; any other text of a machine can be typed."""

_TABS = ("Table", "Copies", "Devices", "Log")


class Explorer(ipywidgets.VBox):  # type: ignore[misc]
    """A graph on a machine, with everything that can be changed about it.

    Args:
        what_if: the graph and its settings.
    """

    soft_placement = traitlets.Bool(False, help="allow_soft_placement")
    visible_devices = traitlets.Tuple(help="Numbers of the machine's GPUs that the process may see.")
    machine = traitlets.Unicode(help="The machine's text, for example '4x Tesla K20m'.")
    release = traitlets.Unicode(help="Which TensorFlow decides and speaks.")
    selected = traitlets.Unicode("", help="Name of an op or a name scope; empty for none.")
    opened: Any = traitlets.Tuple(None, allow_none=True, help="Open name scopes; None for as many as fit.")
    reason = traitlets.Unicode("", read_only=True, help="Why the selected op is where it is.")
    error = traitlets.Unicode(
        "", read_only=True, help="What is wrong with these settings; empty if nothing is."
    )

    def __init__(self, what_if: WhatIf | LoggedState, **options: Any) -> None:
        self._what_if = what_if
        self._settling = True
        self._drawing: Drawing | None = None
        self._filter = ""
        self._make_controls()
        self._make_views()
        super().__init__(
            children=[
                self._style,
                self._controls,
                self._gpus,
                self._status,
                self._graph,
                self._tabs,
            ],
            **options,
        )
        self.add_class("gp")
        self.add_class("gp-explorer")
        self._show_settings()
        self._settling = False
        self._show_placement()

    # ------------------------------------------------------------------------------------------------ what Python reads

    @property
    def placement(self) -> Any:
        """The present `Placement`: partial where there is an `error`, None where nothing could be placed."""
        return self._what_if.placement

    @property
    def frame(self) -> Any:
        """The present placement as a DataFrame.

        Raises:
            OpError: nothing could be placed.
        """
        if self.placement is None:
            assert self._what_if.error is not None
            raise self._what_if.error
        return placement_frame(self.placement)

    @property
    def log(self) -> str:
        """What ``log_device_placement`` prints; empty where there is an `error`."""
        return self._what_if.log()

    @property
    def svg(self) -> str:
        """The picture as it is shown."""
        return self._graph.svg

    def __repr__(self) -> str:
        told = self.error.splitlines()[0] if self.error else summary_text(self.placement)
        return f"<Explorer of {told} on {self.machine!r}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """The live widget, and for readers without a kernel a still picture, a table and text."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        error = "" if self._what_if.error is None else html.error_html(self._what_if.error)
        if self.placement is None:
            return {**bundle, "text/html": error, "text/plain": repr(self)}
        picture = placement_picture(self.placement, open=self.opened)._repr_mimebundle_()
        return {
            **bundle,
            "text/html": f"<p>{html.escape(repr(self))}</p>{error}{picture['text/html']}",
            "text/plain": f"{self!r}\n{placement_text(self.placement)}",
        }

    # ------------------------------------------------------------------------------------------------ the widgets

    def _make_controls(self) -> None:
        label = {"description_width": "initial"}
        self._style = ipywidgets.HTML(f"<style>{STYLE}</style>", layout={"display": "none"})
        self._soft = ipywidgets.Checkbox(
            description="Soft placement",
            indent=False,
            layout={"width": "auto"},
            tooltip="allow_soft_placement",
        )
        self._machine = ipywidgets.Combobox(
            description="Machine",
            options=PRESETS,
            continuous_update=False,
            style=label,
            layout={"width": "300px"},
            tooltip="A machine, for example 4x Tesla K20m",
        )
        self._release = ipywidgets.Dropdown(
            description="Release", options=releases.RELEASES, style=label, layout={"width": "150px"}
        )
        self._controls = ipywidgets.HBox([self._soft, self._machine, self._release])
        self._controls.add_class("gp-controls")
        self._gpus = ipywidgets.HBox()
        self._gpus.add_class("gp-gpus")
        self._status = ipywidgets.HTML()
        self._status.add_class("gp-status")
        self._soft.observe(lambda change: setattr(self, "soft_placement", change.new), "value")
        self._release.observe(lambda change: setattr(self, "release", change.new), "value")
        self._machine.observe(self._machine_typed, "value")

    def _make_views(self) -> None:
        self._graph = GraphView()
        self._table = TableView(
            columns=["node", "type", "requested", "assigned"], caption="Nodes and their devices"
        )
        self._copies = TableView(
            columns=["from", "to", "from device", "to device", "tensor", "size"],
            caption="Copies between devices",
        )
        self._mapping = ipywidgets.HTML()
        self._mapping.add_class("gp-panel")
        self._log = ipywidgets.HTML()
        self._log.add_class("gp-log")
        self._tabs = ipywidgets.Tab(
            [self._table, self._copies, self._mapping, self._log], titles=_TABS, selected_index=0
        )
        self._tabs.observe(lambda change: self._show_tab(), "selected_index")
        self._graph.on_msg(self._heard)
        self._table.on_msg(self._heard)
        self._copies.on_msg(self._heard)

    def _show_settings(self) -> None:
        """Sets traits and controls to what the state is."""
        state = self._what_if
        machine = str(state.machine)
        rebuilt = machine != self.machine or len(self._gpus.children) != len(state.machine.gpus)
        self.soft_placement = self._soft.value = state.soft
        self.machine = self._machine.value = machine
        self.release = self._release.value = state.release
        self.visible_devices = state.visible
        if rebuilt:
            boxes = []
            for gpu in state.machine.gpus:
                box = ipywidgets.Checkbox(
                    value=gpu.index in state.visible,
                    description=f"GPU {gpu.index} · {gpu.name}",
                    indent=False,
                    layout={"width": "auto"},
                    tooltip=f"{gpu.name} at {gpu.pci_bus_id}: whether CUDA_VISIBLE_DEVICES shows it",
                )
                box.observe(self._gpu_ticked, "value")
                boxes.append(box)
            self._gpus.children = tuple(boxes)
        for gpu, box in zip(state.machine.gpus, self._gpus.children, strict=True):
            box.value = gpu.index in state.visible

    # ------------------------------------------------------------------------------------------- what was changed

    @traitlets.validate("machine")
    def _check_machine(self, proposal: Any) -> str:
        if self._settling and proposal.value == str(self._what_if.machine):
            return proposal.value
        return str(Machine.parse(proposal.value))

    @traitlets.validate("release")
    def _check_release(self, proposal: Any) -> str:
        return releases.resolve(proposal.value)

    @traitlets.validate("visible_devices")
    def _check_visible(self, proposal: Any) -> tuple[int, ...]:
        wanted = tuple(sorted({int(gpu) for gpu in proposal.value}))
        count = len(self._what_if.machine.gpus)
        if any(not 0 <= gpu < count for gpu in wanted):
            raise ValueError(f"The machine has {counted(count, 'GPU')}, counted from 0; got {list(wanted)}")
        return wanted

    @traitlets.observe("soft_placement", "machine", "release", "visible_devices")
    def _setting_changed(self, change: Any) -> None:
        if self._settling:
            return
        names = {"soft_placement": "soft", "visible_devices": "visible"}
        self._settle(**{names.get(change.name, change.name): change.new})

    def _settle(self, **settings: Any) -> None:
        """Hands settings to the state and shows what came of it."""
        self._settling = True
        try:
            self._what_if.change(**settings)
            self._show_settings()
        finally:
            self._settling = False
        self._show_placement()

    def _machine_typed(self, change: Any) -> None:
        if self._settling or change.new == self.machine:
            return
        try:
            self.machine = change.new
        except OpError as error:
            self._status.value = html.error_html(error)

    def _gpu_ticked(self, change: Any) -> None:
        if not self._settling:
            self.visible_devices = tuple(i for i, box in enumerate(self._gpus.children) if box.value)

    @traitlets.observe("opened")
    def _opened_changed(self, change: Any) -> None:
        if not self._settling:
            self._show_picture()

    @traitlets.observe("selected")
    def _selected_changed(self, change: Any) -> None:
        self._show_selection()

    @traitlets.validate("selected")
    def _check_selected(self, proposal: Any) -> str:
        name = proposal.value
        if not name or self.placement is None:
            return name
        view = view_of(self.placement)
        if name in view.index or name in scope_tree(view).index or "*" in name or "/:" in name:
            return name
        raise ValueError(f"There is no op and no name scope {name!r}")

    def _heard(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        """What the page says."""
        match content:
            case {"type": "select", "id": str(box)}:
                self.selected = self._name_of_box(box)
            case {"type": "select", "name": str(name)}:
                self._reveal(name)
            case {"type": "toggle", "id": str(box)}:
                self.toggle(box)
            case {"type": "fold", "how": "all"}:
                self.opened = ()
            case {"type": "fold"}:
                self.opened = None
            case {"type": "find", "text": str(text)}:
                self.find(text)
            case {"type": "filter", "text": str(text)} if _widget is self._table:
                self._filter = text
                self._show_table()
            case {"type": "filter", "text": str(text)}:
                self._show_copies(text)

    def _name_of_box(self, box_id: str) -> str:
        boxes = () if self._drawing is None else self._drawing.boxes
        return next((box.name for box in boxes if box.id == box_id), "")

    def toggle(self, box_id: str) -> None:
        """Unfolds a box (``s3``: scope 3) or folds an open scope (``c3``)."""
        if self._drawing is None:
            return
        now = self._drawing.opened
        if box_id.startswith("c"):
            path = scope_tree(view_of(self.placement)).paths[int(box_id[1:])]
            self.opened = tuple(key for key in now if key != path and not key.startswith(f"{path}/"))
            return
        name = self._name_of_box(box_id)
        if name and name not in view_of(self.placement).index:
            self.opened = (*now, name)
        elif name in scope_tree(view_of(self.placement)).index and box_id.startswith("s"):
            self.opened = (*now, name)

    def find(self, pattern: str) -> bool:
        """Selects the next op whose name has a match for a regular expression; says whether there is one.

        Raises:
            re.error: the expression is malformed.
        """
        if self.placement is None or not pattern:
            return False
        names = view_of(self.placement).names
        search = searcher(pattern)
        start = view_of(self.placement).index.get(self.selected, -1) + 1
        for offset in range(len(names)):
            name = names[(start + offset) % len(names)]
            if search(name):
                self._reveal(name)
                return True
        return False

    def _reveal(self, name: str) -> None:
        """Selects an op and opens the scopes around it."""
        if self.placement is None or self._drawing is None:
            return
        view = view_of(self.placement)
        node = view.index.get(name)
        if node is not None and self._drawing.boxes[int(self._drawing.box_of[node])].kind != "op":
            tree = scope_tree(view)
            path = tree.paths[tree.scope_of[node]]
            if path and path not in self._drawing.opened:
                self.opened = (*self._drawing.opened, path)
        self.selected = name

    # --------------------------------------------------------------------------------------------------- what is shown

    def _show_placement(self) -> None:
        error = self._what_if.error
        self.set_trait("error", "" if error is None else str(error))
        placement = self.placement
        if error is not None:
            self._status.value = html.error_html(error)
        else:
            self._status.value = f"<p role='status'>{html.escape(summary_text(placement))}</p>"
        if placement is not None and self.selected:
            view = view_of(placement)
            if self.selected not in view.index and self.selected not in scope_tree(view).index:
                self.selected = ""
        self._show_picture()
        self._show_table()
        self._show_tab()

    def _show_picture(self) -> None:
        if self.placement is None:
            self._drawing = None
            self._graph.notice = "Nothing could be placed with these settings; the reason is above."
            self._graph.svg = ""
            self._graph.set_trait("legend", [])
            self._graph.set_trait("notes", [])
            self._show_selection()
            return
        drawing = self._drawing = draw(self.placement, self.opened)
        with self._graph.hold_sync():
            self._graph.legend = [look(device, count=count) for device, count in drawing.legend]
            self._graph.notes = legend_notes(drawing)
            self._graph.summary = f"Placement graph. {summary_text(self.placement)}"
            try:
                self._graph.svg = render.render_svg(dot_text(drawing, legend=False, transparent=True), 5.0)
            except render.LayoutTimeout:
                self._graph.notice = "This picture takes too long to lay out: fold some name scopes."
                self._graph.svg = ""
            self._show_selection()

    def _show_selection(self) -> None:
        if self.placement is None or self._drawing is None:
            self.set_trait("reason", "")
            self._graph.detail = {}
            self._graph.selected_box = ""
            return
        box = box_of_name(self._drawing, view_of(self.placement), self.selected)
        detail = detail_of(self.placement, self._drawing, self.selected) if self.selected else {}
        self.set_trait("reason", detail.get("reason", ""))
        self._graph.detail = detail
        self._graph.selected_box = box.id if box is not None else ""
        if self.selected in view_of(self.placement).index and not any(
            row[0] == self.selected for row in self._table.rows
        ):
            self._show_table()
        self._table.selected = self.selected

    def _show_table(self) -> None:
        if self.placement is None:
            self._table.rows, self._table.total = [], 0
            return
        rows, total = table_rows(view_of(self.placement), self._filter, self.selected)
        with self._table.hold_sync():
            self._table.rows, self._table.total = rows, total
            self._table.selected = self.selected

    def _show_copies(self, pattern: str = "") -> None:
        rows, total = ([], 0) if self.placement is None else copy_rows(view_of(self.placement), pattern)
        with self._copies.hold_sync():
            self._copies.rows, self._copies.total = rows, total

    def _show_tab(self) -> None:
        """Fills the tab in front; the others are filled when they come to the front."""
        tab = _TABS[self._tabs.selected_index or 0]
        if tab == "Copies":
            self._show_copies()
        elif tab == "Devices":
            mapping = self._what_if.mapping
            self._mapping.value = (
                html.mapping_table(mapping) if mapping else "<p>This machine has no GPU.</p>"
            )
        elif tab == "Log":
            self._log.value = f"<pre>{html.escape_lines(self.log) or 'No log: the placement failed.'}</pre>"


def explore(x: Any, machine: Any = None, config: Any = None, release: str | None = None) -> Explorer:
    """The explorer of a graph, session, placement, GraphDef, file or parsed log.

    Args:
        x: what to explore.
        machine: a `Machine` or its text; the session's, or the current one, where None.
        config: ``ConfigProto`` with the settings to begin with.
        release: which TensorFlow; the process's where None.
    """
    if isinstance(x, LoggedPlacement):
        return Explorer(LoggedState(x))
    return Explorer(WhatIf(x, machine=machine, config=config, release=release))
