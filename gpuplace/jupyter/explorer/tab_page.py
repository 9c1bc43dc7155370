"""A tab of the explorer: its declaration, and the page built from it.

Tabs share the space below the picture, and a tab is filled when it comes to the front.
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
    """A description of its rows."""
    rows: Callable[[Any], Rows]
    """Returns its rows from the explorer's views; called if there is a placement, when the table is visible."""
    empty: Callable[[Any], str] = lambda views: ""
    """Returns the text to show if there are no rows."""
    plain: bool = False
    """Whether it shows lines of text instead of a table."""


@dataclass(frozen=True)
class Tab:
    """One tab: text and buttons, a table, its own widget, or several of these below each other."""

    title: str
    help: str
    """A description of its content."""
    blocks: Callable[[Any], list[Block]] | None = None
    """Returns text and buttons from the explorer's views; see `gpuplace.views.tables.blocks`."""
    table: TableOf | None = None
    widget: Callable[[Any], Any] | None = None
    """Returns the view's widget to show."""
    shown: Callable[[Any], None] = lambda views: None
    """Called when it comes to the front."""
    act: Callable[[Any, str], None] | None = None
    """Executes a button, given the explorer and the action without the tab's key and colon."""
    typed: Callable[[Any, str, str], None] | None = None
    """Sets a typed value, given the explorer, the field's name without the tab's key and colon, and the text."""

    @property
    def key(self) -> str:
        """The prefix, before a colon, of the names of its actions and fields."""
        return self.title.lower()


class TabPage:
    """A tab's widgets, created when it first comes to the front so that a notebook starts faster.

    Args:
        tab: the tab's declaration.
        views: the explorer's views, which provide its content.
        on_message: called with messages from its panel.
        on_select: called with the name of an op that the user selects in its table.
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
        """The panel with text and buttons."""
        if self.tab.blocks is None:
            return None
        panel = PanelView()
        panel.on_msg(self._on_message)
        return panel

    @cached_property
    def table(self) -> TableModel | None:
        """The table, whose rows are built when it becomes visible."""
        declaration = self.tab.table
        if declaration is None:
            return None
        table = TableModel(declaration.columns, declaration.caption, self._on_select, plain=declaration.plain)
        self._fill(table, declaration)
        table.limit(self._views.limit)
        table.select(self._views.selected)
        return table

    @property
    def existing_table(self) -> TableModel | None:
        """The table, if it was already created."""
        return self.__dict__.get("table")

    def fill(self) -> None:
        """Give the table new rows."""
        if self.existing_table is not None and self.tab.table is not None:
            self._fill(self.existing_table, self.tab.table)

    def _fill(self, table: TableModel, declaration: TableOf) -> None:
        if self._views.what_if.placement is None:
            table.fill(lambda: Rows(0), "No node can be placed.")
        else:
            table.fill(lambda: declaration.rows(self._views), declaration.empty(self._views))

    def show(self, is_front: bool) -> None:
        """Update the tab if it is selected."""
        if not is_front:
            if self.existing_table is not None:
                self.existing_table.front(False)
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
