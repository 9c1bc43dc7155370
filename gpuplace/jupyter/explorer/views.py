"""The widgets with a page of their own: the clickable picture, tables, text panels, and the controls.

Each receives plain values as traits and sends the user's actions as messages; none has access to a placement. The
scripts and style sheets are in ``gpuplace/web/``.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import anywidget
import traitlets

from gpuplace.web.modules import widget_module
from gpuplace.web.sheets import EXPLORER_SHEETS, sheet

STYLE = sheet(EXPLORER_SHEETS)


class ModuleWidget(anywidget.AnyWidget):
    """A widget of one of the modules in ``gpuplace/web/widgets/``."""

    own_id = traitlets.Unicode().tag(sync=True)
    """The model's id, for its page."""

    def __init__(self, **traits: Any) -> None:
        own_id = uuid4().hex
        super().__init__(model_id=own_id, own_id=own_id, **traits)


class GraphView(ModuleWidget):
    """A picture whose boxes can be selected, folded and searched, with a card about the selected one.

    Messages to Python: ``select`` with ``id`` or ``name``, ``toggle`` with ``id``, ``find`` with ``text`` and ``back``,
    ``fold`` with ``how`` (``"all"`` or ``"auto"``), ``view`` with ``name``, ``backward`` with ``on``,
    ``light`` with ``what`` or ``only``, ``open`` with ``id`` of a box or ``function``, ``canvas`` with ``width`` and
    ``height``, ``crowded`` with these and ``boxes``, the ids of a first view whose names cannot be read.
    """

    _esm = widget_module("gpuplace/widgets/graph_view.js")
    _css = STYLE

    scene: Any = traitlets.Dict().tag(sync=True)
    """The picture, which the page lays out and draws; empty if there is none.

    By device it is a `gpuplace.views.picture.lanes.scene`, otherwise a `gpuplace.views.picture.scene.graph_scene` with
    ``graph``, a number of the graph.
    """
    view = traitlets.Unicode("graph").tag(sync=True)
    """``"graph"`` or ``"devices"``."""
    backward = traitlets.Unicode("").tag(sync=True)
    """``"on"`` or ``"off"``: whether lines of gradients and updates are drawn; ``""`` for a graph without training."""
    notice = traitlets.Unicode("").tag(sync=True)
    """A text that replaces the picture if there is none."""
    summary = traitlets.Unicode("").tag(sync=True)
    """A description of the picture for screen readers."""
    selected_box = traitlets.Unicode("").tag(sync=True)
    legend: Any = traitlets.List().tag(sync=True)
    """Looks of the devices, with ``count``."""
    notes: Any = traitlets.List().tag(sync=True)
    """``[kind, text]`` after the legend; kind is ``"copy"``, ``"alarm"`` or ``"plain"``."""
    detail = traitlets.Dict().tag(sync=True)
    """The card."""
    found = traitlets.Dict().tag(sync=True)
    """The result of a search: ``text``, ``isNone``, and ``search``, its number."""
    stale = traitlets.Bool(False).tag(sync=True)
    """Whether the picture belongs to earlier settings."""
    lights: Any = traitlets.List().tag(sync=True)
    """``[value, text]`` of the available highlightings."""
    lit = traitlets.Dict().tag(sync=True)
    """The highlighted boxes; see `gpuplace.views.picture.lighting.lit_boxes`."""
    lit_only = traitlets.Bool(False).tag(sync=True)
    """Whether the tables list only highlighted rows."""


class TableView(ModuleWidget):
    """A table of any length that holds only the visible rows.

    Messages to Python: ``select`` with ``name``; ``filter`` with ``text``; ``sort`` with ``column`` and
    ``descending``; ``rows`` with ``first``, ``count`` and ``version``, answered by a message ``rows`` with ``rows``.
    """

    _esm = widget_module("gpuplace/widgets/table_view.js")

    columns: Any = traitlets.List().tag(sync=True)
    """``[title, share of the width]``."""
    total = traitlets.Int(0).tag(sync=True)
    """Number of rows."""
    size = traitlets.Int(0).tag(sync=True)
    """Number of rows without the filter."""
    window: Any = traitlets.Dict().tag(sync=True)
    """``version``, ``first`` and ``rows``; a new version invalidates all rows that the page holds."""
    order: Any = traitlets.Dict().tag(sync=True)
    """``column`` and ``descending``; empty for the rows' own order."""
    pattern = traitlets.Unicode("").tag(sync=True)
    """The filter."""
    selected = traitlets.Unicode("").tag(sync=True)
    """Key of the selected row."""
    selected_row = traitlets.Int(-1).tag(sync=True)
    """Position of the selected row; -1 if it is not listed."""
    caption = traitlets.Unicode("").tag(sync=True)
    plain = traitlets.Bool(False).tag(sync=True)
    """Whether it shows lines of text instead of a table."""
    empty = traitlets.Unicode("").tag(sync=True)
    """The text shown if there are no rows."""
    note = traitlets.Unicode("").tag(sync=True)
    """A noun for the rows, shown next to their number."""


class PanelView(ModuleWidget):
    """Text, small tables, links to nodes and buttons.

    Messages to Python: ``select`` with ``name``, ``act`` with ``action``, ``set`` with ``name`` and ``value``.
    """

    _esm = widget_module("gpuplace/widgets/panel_view.js")

    blocks: Any = traitlets.List().tag(sync=True)
    """The blocks to show; see `gpuplace.jupyter.explorer.panels`."""
    level = traitlets.Int(4).tag(sync=True)
    """Level of its headings."""
    live = traitlets.Bool(False).tag(sync=True)
    """Whether screen readers announce changes."""


class ControlsView(ModuleWidget):
    """The settings, the buttons for undo, redo and program text, and the status of the kernel.

    Messages to Python: ``set`` with ``name`` and ``value``, ``undo``, ``redo``, ``advise``, ``code``, answered by a
    message ``code`` with ``text``, and ``ping`` with ``number``, answered by ``pong``.
    """

    _esm = widget_module("gpuplace/widgets/controls_view.js")
    _css = STYLE

    fields: Any = traitlets.List().tag(sync=True)
    """The controls; see `gpuplace.jupyter.explorer.controls`."""
    can_undo = traitlets.Bool(False).tag(sync=True)
    can_redo = traitlets.Bool(False).tag(sync=True)
    is_fixed = traitlets.Bool(False).tag(sync=True)
    """Whether there are no settings."""
