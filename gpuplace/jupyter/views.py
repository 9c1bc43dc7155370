"""The two widgets with a page of their own: the clickable picture and the table of rows.

Each gets plain values as traits and sends what the user did as a message; neither knows a placement. The scripts and
the style sheet lie beside this file in ``static/`` and load nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from gpuplace.report.palette import device_style

__all__ = ["GraphView", "TableView", "look"]

STATIC = Path(__file__).parent / "static"
STYLE = (STATIC / "explorer.css").read_text(encoding="utf-8")


def look(device: str, **more: Any) -> dict[str, Any]:
    """How a device's chip looks, for the scripts."""
    style = device_style(device)
    return {
        "label": style.label,
        "fill": style.fill,
        "corners": style.corners,
        "outlines": style.outlines,
        **more,
    }


class GraphView(anywidget.AnyWidget):
    """A picture whose boxes can be selected, folded and searched, beside a card about the selected one.

    Messages to Python: ``select`` with ``id`` or ``name``, ``toggle`` with ``id``, ``find`` with ``text``, ``fold``
    with ``how`` (``"all"`` or ``"auto"``).
    """

    _esm = (STATIC / "graph_view.js").read_text(encoding="utf-8")
    _css = STYLE

    svg = traitlets.Unicode("").tag(sync=True)
    notice = traitlets.Unicode("").tag(sync=True)
    """Shown where there is no picture."""
    summary = traitlets.Unicode("").tag(sync=True)
    """The picture in words, for screen readers."""
    selected_box = traitlets.Unicode("").tag(sync=True)
    legend: Any = traitlets.List().tag(sync=True)
    """Looks of the devices, with ``count``."""
    notes: Any = traitlets.List().tag(sync=True)
    """``[kind, text]`` behind the legend; kind is ``"copy"``, ``"alarm"`` or ``"plain"``."""
    detail = traitlets.Dict().tag(sync=True)
    """The card."""


class TableView(anywidget.AnyWidget):
    """Rows that can be selected and filtered.

    Messages to Python: ``select`` with ``name``, ``filter`` with ``text``.
    """

    _esm = (STATIC / "table_view.js").read_text(encoding="utf-8")
    _css = STYLE

    columns = traitlets.List(traitlets.Unicode()).tag(sync=True)
    rows: Any = traitlets.List().tag(sync=True)
    """``[key, cell, ...]``; a cell is a text or a chip's look."""
    total = traitlets.Int(0).tag(sync=True)
    """How many rows there are in all."""
    selected = traitlets.Unicode("").tag(sync=True)
    """Key of the selected row."""
    caption = traitlets.Unicode("").tag(sync=True)
