"""The rows of the explorer's tables: any number, sorted and filtered here; a page requests the rows that it shows.

>>> from gpuplace.views.tables.placement_view import PlacementView
>>> view = PlacementView.of_columns([("b", "Neg", "/gpu:0", "/device:GPU:0"), ("a", "Const", "", "/device:CPU:0")])
>>> rows = NodeRows(view)
>>> [row[0] for row in rows.rows(0, 10)], rows.arrange(column=0), [row[0] for row in rows.rows(0, 10)]
(['b', 'a'], None, ['a', 'b'])
>>> rows.arrange(pattern="GPU"), rows.total, rows.position("b"), rows.position("a")
(None, 1, 0, -1)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gpuplace.views.picture.lighting import Lit
from gpuplace.views.tables.moves import Moves
from gpuplace.views.tables.natural_order import natural_ranks
from gpuplace.views.tables.palette import chip_look
from gpuplace.views.tables.placement_view import PlacementView
from gpuplace.views.tables.text import searcher
from gpuplace.web.rules import RULES, words


class Rows:
    """The rows of one table; the base class has none.

    A row is ``[key, cell, ...]``; a cell is a text or the look of a device.
    """

    columns: tuple[tuple[str, float], ...] = ()
    """``(title, share of the width)``."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._chosen: np.ndarray | None = None
        self.kept: np.ndarray | None = None
        """[size] bool: the rows to list; None for all."""

    def within(self, lit: Lit) -> np.ndarray | None:
        """Return [size] bool, the highlighted rows; None for rows that cannot be highlighted."""
        return None

    def arrange(self, pattern: str = "", column: int | None = None, descending: bool = False) -> None:
        """List the matching rows, in the order of a column, or in their own order for None."""
        chosen: np.ndarray | None = None
        if column is not None and self.size:
            keys = self.sort_keys(column)
            chosen = np.argsort(keys, kind="stable")
            if descending:  # equal rows keep their order
                chosen = (self.size - 1 - np.argsort(keys[::-1], kind="stable"))[::-1]
        if pattern and self.size:
            search = searcher(pattern)
            hits = np.fromiter((search(text) is not None for text in self.texts()), bool, self.size)
            chosen = np.flatnonzero(hits) if chosen is None else chosen[hits[chosen]]
        if self.kept is not None:
            chosen = np.flatnonzero(self.kept) if chosen is None else chosen[self.kept[chosen]]
        self._chosen = chosen

    @property
    def total(self) -> int:
        """The number of listed rows."""
        return self.size if self._chosen is None else len(self._chosen)

    def rows(self, first: int, count: int) -> list[list[Any]]:
        """Return some of the listed rows."""
        last = min(self.total, max(0, first) + max(0, count))
        span = range(max(0, first), last)
        return [self.row(i) for i in (span if self._chosen is None else self._chosen[span].tolist())]

    def position(self, key: str) -> int:
        """Return the position of the first listed row with a key; -1 if there is none."""
        row = self.find(key)
        if row < 0 or self._chosen is None:
            return row
        places = np.flatnonzero(self._chosen == row)
        return int(places[0]) if len(places) else -1

    def find(self, key: str) -> int:
        """Return the first row with a key, in their own order; -1 if there is none."""
        return -1

    def row(self, i: int) -> list[Any]:
        """Return one row."""
        raise IndexError(i)

    def texts(self) -> list[str]:
        """Return the searched text of each row."""
        return []

    def sort_keys(self, column: int) -> np.ndarray:
        """Return the sort keys of a column, [size]."""
        return np.zeros(self.size)


class NodeRows(Rows):
    """Nodes with their type, request and device."""

    columns = tuple(zip(RULES["tables"]["nodes"], (4, 2, 2, 1.2), strict=True))

    def __init__(self, view: PlacementView) -> None:
        super().__init__(len(view))
        self.view = view
        self._looks = [chip_look(device) for device in (*view.devices, "")]

    def within(self, lit: Lit) -> np.ndarray | None:
        return lit.nodes if lit.nodes is not None and len(lit.nodes) == self.size else None

    def find(self, key: str) -> int:
        return self.view.index.get(key, -1)

    def row(self, i: int) -> list[Any]:
        view = self.view
        name, request = view.names[i], view.request_of(i)
        request_text = f"≠ {request}" if view.is_unmet[i] else request
        return [name, name, view.op_type_of(i), request_text, self._looks[view.device[i]]]

    def texts(self) -> list[str]:
        view = self.view
        devices = [*view.devices, ""]
        columns = zip(
            view.names, view.op_type.tolist(), view.request.tolist(), view.device.tolist(), strict=True
        )
        return [
            f"{name} {view.op_types[op_type]} {view.requests[request]} {devices[device]}"
            for name, op_type, request, device in columns
        ]

    def sort_keys(self, column: int) -> np.ndarray:
        view = self.view
        if column == 0:
            return _name_ranks(view.names)
        if column == 1:
            return natural_ranks(view.op_types)[view.op_type]
        if column == 2:
            return natural_ranks(view.requests)[view.request]
        return np.where(view.device < 0, len(view.devices), view.device)


_RANKS: list[tuple[Any, np.ndarray]] = []


def _name_ranks(names: Sequence[str]) -> np.ndarray:
    """Return the ranks of node names; cached, because all placements of a graph have the same names."""
    if not _RANKS or _RANKS[0][0] is not names:
        _RANKS[:] = [(names, natural_ranks(names))]
    return _RANKS[0][1]


class CopyRows(Rows):
    """The copies of a step between devices, one row each."""

    columns = (
        ("from", 3),
        ("to", 4.5),
        ("from device", 1.2),
        ("to device", 1.2),
        ("tensor", 1.6),
        ("size", 1),
    )

    def __init__(self, view: PlacementView) -> None:
        self.view = view
        self.copies = view.copies
        super().__init__(len(self.copies))

    @cached_property
    def _consumers(self) -> list[list[int]]:
        """Nodes that read each copy, in edge order."""
        consumers: list[list[int]] = [[] for _ in self.copies]
        edges = np.flatnonzero(self.view.is_copy)
        numbers = self.view.copy_of_edge[edges].tolist()
        for number, node in zip(numbers, self.view.dst[edges].tolist(), strict=True):
            consumers[number].append(node)
        return consumers

    def within(self, lit: Lit) -> np.ndarray | None:
        if lit.edges is None or len(lit.edges) != len(self.view.src):
            return None
        flags = np.zeros(self.size, dtype=bool)
        flags[self.view.copy_of_edge[lit.edges & self.view.is_copy]] = True
        return flags

    @cached_property
    def _first(self) -> dict[int, int]:
        """Node -> first row that names it."""
        first_row: dict[int, int] = {}
        for row in reversed(range(self.size)):
            for node in self._consumers[row]:
                first_row[node] = row
        for row in reversed(range(self.size)):  # copies from a node have precedence over copies to it
            first_row[self.copies[row].node] = row
        return first_row

    def find(self, key: str) -> int:
        node = self.view.index.get(key)
        return -1 if node is None else self._first.get(node, -1)

    def _target(self, row: int) -> str:
        names = [self.view.names[node] for node in self._consumers[row]]
        if not names:
            return words("copy_fetch")
        return names[0] + (words("copy_more", number=f"{len(names) - 1:,}") if len(names) > 1 else "")

    def row(self, i: int) -> list[Any]:
        view, copy = self.view, self.copies[i]
        fact = view.tensor_of(copy.node, copy.output)
        often = words("copy_runs", number=f"{copy.runs:,}") if copy.runs != 1 else ""
        return [
            view.names[copy.node],
            f"{view.names[copy.node]}:{copy.output}",
            self._target(i),
            chip_look(view.devices[copy.source]),
            chip_look(view.devices[copy.target]),
            str(fact),
            fact.size_text + often,
        ]

    def texts(self) -> list[str]:
        names = self.view.names
        return [
            " ".join([names[copy.node], *(names[node] for node in consumers)])
            for copy, consumers in zip(self.copies, self._consumers, strict=True)
        ]

    def sort_keys(self, column: int) -> np.ndarray:
        view = self.view
        if column == 0:
            return _name_ranks(view.names)[[copy.node for copy in self.copies]]
        if column == 1:
            return natural_ranks([self._target(row) for row in range(self.size)])
        if column in (2, 3):
            return np.array([copy.source if column == 2 else copy.target for copy in self.copies])
        facts = [view.tensor_of(copy.node, copy.output) for copy in self.copies]
        if column == 4:
            return natural_ranks([str(fact) for fact in facts])
        sizes = [fact.example_bytes if fact.nbytes is None else fact.nbytes for fact in facts]
        return np.array([-1 if size is None else size for size in sizes])


class MoveRows(Rows):
    """Nodes whose device differs, grouped by cause."""

    columns = (("node", 3), ("before", 1.2), ("after", 1.2), ("cause", 1.6), ("about", 3.4))

    def __init__(self, moves: Moves) -> None:
        ranks = {cause: rank for rank, (cause, _) in enumerate(moves.by_cause())}
        self.moves = sorted(moves.rows, key=lambda row: ranks[row.cause])
        super().__init__(len(self.moves))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {move.node: i for i, move in enumerate(self.moves)}

    def find(self, key: str) -> int:
        return self._index.get(key, -1)

    def row(self, i: int) -> list[Any]:
        move = self.moves[i]
        return [move.node, move.node, chip_look(move.before), chip_look(move.after), move.cause, move.note]

    def texts(self) -> list[str]:
        return [" ".join(move) for move in self.moves]

    def sort_keys(self, column: int) -> np.ndarray:
        return natural_ranks([(m.node, m.before, m.after, m.cause, m.note)[column] for m in self.moves])


class LogRows(Rows):
    """Lines of a log."""

    columns = (("", 1),)

    def __init__(self, text: str, index: Any) -> None:
        self.lines = text.splitlines()
        super().__init__(len(self.lines))
        self.names = index

    @cached_property
    def _index(self) -> dict[str, int]:
        index: dict[str, int] = {}
        for i, line in enumerate(self.lines):
            index.setdefault(self._name(line), i)
        return index

    def _name(self, line: str) -> str:
        name = line.partition(": ")[0]
        return name if name in self.names else ""

    def find(self, key: str) -> int:
        return self._index.get(key, -1) if key else -1

    def row(self, i: int) -> list[Any]:
        return [self._name(self.lines[i]), self.lines[i]]

    def texts(self) -> list[str]:
        return self.lines
