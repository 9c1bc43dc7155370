"""A tab of the explorer: what is declared of it, and the page that is made of that.

Tabs share a place below the picture, and a tab is filled when it comes to the front.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import ipywidgets

from gpuplace.jupyter.explorer.row_sources import Rows
from gpuplace.jupyter.explorer.table_model import TableModel
from gpuplace.jupyter.explorer.views import PanelView
from gpuplace.views.tables.blocks import Block


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
    """Text and buttons, of the explorer's views; see `gpuplace.views.tables.blocks`."""
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
    """A tab's widgets, which are made when it first comes to the front: a notebook has less to set up at once.

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
        self._on_message, self._on_select = on_message, on_select
        self.widget = ipywidgets.VBox()

    @cached_property
    def panel(self) -> PanelView | None:
        """Text and buttons."""
        if self.tab.blocks is None:
            return None
        panel = PanelView()
        panel.on_msg(self._on_message)
        return panel

    @cached_property
    def table(self) -> TableModel | None:
        """The table, with rows that are made when it is in front."""
        known = self.tab.table
        if known is None:
            return None
        table = TableModel(known.columns, known.caption, self._on_select, plain=known.plain)
        self._fill(table, known)
        table.limit(self._views.limit)
        table.select(self._views.selected)
        return table

    @property
    def made_table(self) -> TableModel | None:
        """The table, if it was made already."""
        return self.__dict__.get("table")

    def fill(self) -> None:
        """Gives the table new rows."""
        if self.made_table is not None and self.tab.table is not None:
            self._fill(self.made_table, self.tab.table)

    def _fill(self, table: TableModel, known: TableOf) -> None:
        if self._views.what_if.placement is None:
            table.fill(lambda: Rows(0), "Nothing could be placed.")
        else:
            table.fill(lambda: known.rows(self._views), known.empty(self._views))

    def show(self, is_front: bool) -> None:
        """Brings the tab up to date, if it is in front."""
        if not is_front:
            if self.made_table is not None:
                self.made_table.front(False)
            return
        panel, table = self.panel, self.table
        if not self.widget.children:
            more = [] if self.tab.widget is None else [self.tab.widget(self._views)]
            shown = [panel, None if table is None else table.view, *more]
            self.widget.children = [part for part in shown if part is not None]
        if table is not None:
            table.front(True)
        if panel is not None and self.tab.blocks is not None:
            panel.blocks = self.tab.blocks(self._views)
            if table is not None:  # below it
                table.view.layout.display = None if table.rows.size else "none"
        self.tab.shown(self._views)
