"""The widgets with a page of their own: the clickable picture, tables, panels of text, and the controls.

Each gets plain values as traits and sends what the user did as a message; none knows a placement. The scripts and
the style sheets lie in ``gpuplace/web/``.
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
    """A picture whose boxes can be selected, folded and searched, beside a card about the selected one.

    Messages to Python: ``select`` with ``id`` or ``name``, ``toggle`` with ``id``, ``find`` with ``text`` and ``back``,
    ``fold`` with ``how`` (``"all"`` or ``"auto"``), ``view`` with ``name``, ``backward`` with ``on``,
    ``light`` with ``what`` or ``only``, ``open`` with ``id`` of a box or ``function``, ``canvas`` with ``width`` and
    ``height``.
    """

    _esm = widget_module("gpuplace/widgets/graph_view.js")
    _css = STYLE

    svg = traitlets.Unicode("").tag(sync=True)
    scene: Any = traitlets.Dict().tag(sync=True)
    """The picture by device, which the page draws; see `gpuplace.views.picture.lanes.scene`."""
    view = traitlets.Unicode("graph").tag(sync=True)
    """``"graph"`` or ``"devices"``."""
    backward = traitlets.Unicode("").tag(sync=True)
    """``"on"`` or ``"off"``: whether lines of gradients and updates are drawn; ``""`` where nothing is trained."""
    notice = traitlets.Unicode("").tag(sync=True)
    """Shown where there is no picture."""
    summary = traitlets.Unicode("").tag(sync=True)
    """The picture in words, for screen readers."""
    selected_box = traitlets.Unicode("").tag(sync=True)
    legend: Any = traitlets.List().tag(sync=True)
    """Looks of the devices, with ``count``."""
    notes: Any = traitlets.List().tag(sync=True)
    """``[kind, text]`` after the legend; kind is ``"copy"``, ``"alarm"`` or ``"plain"``."""
    detail = traitlets.Dict().tag(sync=True)
    """The card."""
    found = traitlets.Dict().tag(sync=True)
    """What a search found, in words: ``text``, ``isNone``, and ``search``, its number."""
    stale = traitlets.Bool(False).tag(sync=True)
    """Whether the picture is of earlier settings."""
    lights: Any = traitlets.List().tag(sync=True)
    """``[value, text]`` of what can be lit."""
    lit = traitlets.Dict().tag(sync=True)
    """What is lit; see `gpuplace.views.picture.lighting.lit_boxes`."""
    lit_only = traitlets.Bool(False).tag(sync=True)
    """Whether the tables list only what is lit."""


class TableView(ModuleWidget):
    """A table of any length that holds the rows in sight.

    Messages to Python: ``select`` with ``name``; ``filter`` with ``text``; ``sort`` with ``column`` and
    ``descending``; ``rows`` with ``first``, ``count`` and ``version``, answered by a message ``rows`` with ``rows``.
    """

    _esm = widget_module("gpuplace/widgets/table_view.js")

    columns: Any = traitlets.List().tag(sync=True)
    """``[title, share of the width]``."""
    total = traitlets.Int(0).tag(sync=True)
    """How many rows there are."""
    size = traitlets.Int(0).tag(sync=True)
    """How many there would be without the filter."""
    window: Any = traitlets.Dict().tag(sync=True)
    """``version``, ``first`` and ``rows``: a new version makes all rows that the page knows void."""
    order: Any = traitlets.Dict().tag(sync=True)
    """``column`` and ``descending``; empty for the rows' own order."""
    pattern = traitlets.Unicode("").tag(sync=True)
    """The filter."""
    selected = traitlets.Unicode("").tag(sync=True)
    """Key of the selected row."""
    selected_row = traitlets.Int(-1).tag(sync=True)
    """Position of the selected row, -1 where it is not shown."""
    caption = traitlets.Unicode("").tag(sync=True)
    plain = traitlets.Bool(False).tag(sync=True)
    """Lines of text instead of a table."""
    empty = traitlets.Unicode("").tag(sync=True)
    """What to say where there are no rows."""
    note = traitlets.Unicode("").tag(sync=True)
    """What a row is, said beside how many there are."""


class PanelView(ModuleWidget):
    """Text, small tables, links to nodes and buttons.

    Messages to Python: ``select`` with ``name``, ``act`` with ``action``, ``set`` with ``name`` and ``value``.
    """

    _esm = widget_module("gpuplace/widgets/panel_view.js")

    blocks: Any = traitlets.List().tag(sync=True)
    """What to show; see `gpuplace.jupyter.explorer.panels`."""
    level = traitlets.Int(4).tag(sync=True)
    """Of its headings."""
    live = traitlets.Bool(False).tag(sync=True)
    """Whether a screen reader says what changes."""


class ControlsView(ModuleWidget):
    """The settings, the buttons for undo, redo and program text, and what there is to say about the kernel.

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
    """Whether there is nothing to set."""
