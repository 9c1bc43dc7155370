"""A tab of the explorer: what is declared of it, and the page that is made of that.

Tabs share a place below the picture, and a tab is filled when it comes to the front.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import ipywidgets

from gpuplace.jupyter.explorer.row_sources import Rows
from gpuplace.jupyter.explorer.table_model import TableModel
from gpuplace.jupyter.explorer.views import PanelView
from gpuplace.tables.blocks import Block


class TableOf(NamedTuple):
    """The table of a tab."""

    columns: tuple[tuple[str, float], ...]
    """``(title, share of the width)``."""
    caption: str
    """What it holds."""
    rows: Callable[[Any], Rows]
    """Its rows, of the explorer's views; called where something is placed, when they are looked at."""
    empty: Callable[[Any], str] = lambda views: ""
    """What to say where there are no rows."""
    plain: bool = False
    """Lines of text instead of a table."""


@dataclass(frozen=True)
class Tab:
    """One tab: text and buttons, a table, a widget of its own, or several of these below each other."""

    title: str
    help: str
    """What it shows."""
    blocks: Callable[[Any], list[Block]] | None = None
    """Text and buttons, of the explorer's views; see `gpuplace.tables.blocks`."""
    table: TableOf | None = None
    widget: Callable[[Any], Any] | None = None
    """The views' widget that is shown."""
    shown: Callable[[Any], None] = lambda views: None
    """What else is to be done when it is in front."""
    act: Callable[[Any, str], None] | None = None
    """Does what a button says, given the explorer and the action without the tab's key and a colon."""
    typed: Callable[[Any, str, str], None] | None = None
    """Sets what is typed, given the explorer, the field's name without the tab's key and a colon, and the text."""

    @property
    def key(self) -> str:
        """What the names of its actions and fields begin with, before a colon."""
        return self.title.lower()


class TabPage:
    """A tab's widgets.

    Args:
        tab: what is declared of it.
        views: the explorer's views, of which it is filled.
        on_message: called with what its panel says.
        on_select: called with the name of an op that was chosen in its table.
    """

    def __init__(
        self,
        tab: Tab,
        views: Any,
        on_message: Callable[[Any, dict[str, Any], Any], None],
        on_select: Callable[[str], None],
    ) -> None:
        self.tab, self._views = tab, views
        parts = []
        self.panel: Any = None
        self.table: Any = None
        if tab.blocks is not None:
            self.panel = PanelView()
            self.panel.on_msg(on_message)
            parts.append(self.panel)
        if tab.table is not None:
            self.table = TableModel(tab.table.columns, tab.table.caption, on_select, plain=tab.table.plain)
            parts.append(self.table.view)
        if tab.widget is not None:
            parts.append(tab.widget(views))
        self.widget = parts[0] if len(parts) == 1 else ipywidgets.VBox(parts)

    def fill(self, is_placed: bool) -> None:
        """Gives the table new rows, which are made when it is in front."""
        table = self.tab.table
        if table is not None and is_placed:
            self.table.fill(lambda: table.rows(self._views), table.empty(self._views))
        elif table is not None:
            self.table.fill(lambda: Rows(0), "Nothing could be placed.")

    def show(self, is_front: bool) -> None:
        """Brings the tab up to date, if it is in front."""
        if self.table is not None:
            self.table.front(is_front)
        if not is_front:
            return
        if self.panel is not None:
            assert self.tab.blocks is not None
            self.panel.blocks = self.tab.blocks(self._views)
            if self.table is not None:  # below it
                self.table.view.layout.display = None if self.table.rows.size else "none"
        self.tab.shown(self._views)
