"""One of the explorer's tables: its rows, their order, and the page that shows some of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.jupyter.explorer.row_sources import Rows
from gpuplace.jupyter.explorer.views import TableView
from gpuplace.views.picture.lighting import Lit

_WINDOW = 200
"""Number of rows that are sent at first, and that the page requests at a time."""
_MOST = 1000
"""Maximum number of rows per request."""


class TableModel:
    """Rows and the page that shows them; rows are built when the table becomes visible.

    Args:
        columns: ``(title, share of the width)``.
        caption: a description of the rows.
        on_select: called with the key of a row that the user selects.
        plain: whether to show lines of text instead of a table.
    """

    def __init__(
        self, columns: Any, caption: str, on_select: Callable[[str], None], *, plain: bool = False
    ) -> None:
        self.view = TableView(columns=[list(column) for column in columns], caption=caption, plain=plain)
        self.rows = Rows(0)
        self._make: Callable[[], Rows] | None = None
        self._lit: Lit | None = None
        self._is_old = False
        self._is_front = False
        self._version = 0
        self._seen = (0, _WINDOW)
        self._select = on_select
        self._selected = ""
        self.view.on_msg(self._heard)

    def fill(self, make: Callable[[], Rows], empty: str = "", note: str = "") -> None:
        """Set the function that builds the rows; it is called when the table becomes visible."""
        self._make = make
        self.view.empty, self.view.note = empty, note
        if self._is_front:
            self._refill()

    def front(self, is_front: bool) -> None:
        """Record whether the table is visible."""
        self._is_front = is_front
        if is_front and self._make is not None:
            self._refill()
        elif is_front and self._is_old:
            self._show()
        elif is_front:
            self._mark()

    def select(self, key: str) -> None:
        """Mark the row with a key."""
        self._selected = key
        if self._is_front:
            with self.view.hold_sync():
                self._mark()

    def _mark(self) -> None:
        self.view.selected = self._selected
        self.view.selected_row = self.rows.position(self._selected) if self._selected else -1

    def arrange(self, pattern: str | None = None, **order: Any) -> None:
        """Filter and sort by ``pattern``, ``column`` and ``descending``; missing values stay as they are."""
        if pattern is not None:
            self.view.pattern = pattern
        if order:
            self.view.order = order if order.get("column") is not None else {}
        self._seen = (0, _WINDOW)
        self._show()

    def limit(self, lit: Lit | None) -> None:
        """List only highlighted rows; all rows for None."""
        if lit is self._lit:
            return
        self._lit = lit
        if self._is_front and self._make is None:
            self._show()
        else:
            self._is_old = True

    def _refill(self) -> None:
        assert self._make is not None
        self.rows, self._make = self._make(), None
        self._show()

    def _show(self) -> None:
        order = self.view.order
        self.rows.kept = None if self._lit is None else self.rows.within(self._lit)
        self.rows.arrange(self.view.pattern, order.get("column"), bool(order.get("descending")))
        self._version += 1
        self._is_old = False
        first, count = self._seen
        if first >= self.rows.total:
            first = 0
        with self.view.hold_sync():
            self.view.total = self.rows.total
            self.view.size = self.rows.size
            self.view.window = {
                "version": self._version,
                "first": first,
                "rows": self.rows.rows(first, count),
            }
            self._mark()

    def _heard(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        match content:
            case {"type": "select", "name": str(name)}:
                self._select(name)
            case {"type": "filter", "text": str(text)}:
                self.arrange(text)
            case {"type": "sort", "column": None}:
                self.arrange(column=None)
            case {"type": "sort", "column": int(column)} if 0 <= column < len(self.view.columns):
                self.arrange(column=column, descending=bool(content.get("descending")))
            case {"type": "rows", "first": int(first), "count": int(count), "version": version}:
                count = min(count, _MOST)
                if version == self._version:
                    self._seen = (max(0, first), count)
                    rows = self.rows.rows(first, count)
                    self.view.send({"type": "rows", "version": version, "first": first, "rows": rows})
