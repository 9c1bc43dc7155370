"""What the explorer sends to its page: rows of its tables and the notes of its legend, found by regular expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.jupyter.views import look
from gpuplace.report.drawing import Drawing
from gpuplace.report.placement_view import PlacementView
from gpuplace.report.tables import edge_rows, node_rows
from gpuplace.report.text import bytes_text, counted

__all__ = ["TABLE_ROWS", "copy_rows", "legend_notes", "searcher", "table_rows"]

TABLE_ROWS = 500
"""Rows that a table holds at once; the filter reaches all."""


def searcher(pattern: str) -> Callable[[str], Any]:
    """Search by regular expression; what is not one is searched for as it is.

    >>> bool(searcher("Mat.*_1")("MatMul_1")), bool(searcher("a[")("a[0]"))
    (True, True)
    """
    try:
        return re.compile(pattern).search
    except re.error:
        return re.compile(re.escape(pattern)).search


def _matching(view: PlacementView, pattern: str, nodes: Sequence[int]) -> list[int]:
    """Those of the nodes whose name, type, request or device has a match."""
    if not pattern:
        return list(nodes)
    search = searcher(pattern)
    return [
        node
        for node in nodes
        if search(
            f"{view.names[node]} {view.op_type_of(node)} {view.request_of(node)} {view.device_of(node)}"
        )
    ]


def table_rows(view: PlacementView, pattern: str, selected: str) -> tuple[list[list[Any]], int]:
    """Rows ``[key, node, type, requested, look of the device]``, and how many there would be in all.

    The selected node is among them if it matches.
    """
    chosen = _matching(view, pattern, range(len(view)))
    shown = chosen[:TABLE_ROWS]
    node = view.index.get(selected)
    if node is not None and node not in shown and _matching(view, pattern, [node]):
        shown = [node, *shown[:-1]]
    rows = [
        [
            row.node,
            row.node,
            row.type,
            ("≠ " if row.is_met is False else "") + row.requested,
            look(row.assigned),
        ]
        for row in node_rows(view, shown)
    ]
    return rows, len(chosen)


def copy_rows(view: PlacementView, pattern: str) -> tuple[list[list[Any]], int]:
    """Rows ``[key, tensor, consumer, from, to, type, size]`` of the copies, and how many there would be in all."""
    search = searcher(pattern)
    found = [row for row in edge_rows(view, copies_only=True) if search(f"{row.src} {row.dst}")]
    rows = [
        [
            row.src,
            f"{row.src}:{row.src_output}",
            row.dst,
            look(row.src_device),
            look(row.dst_device),
            f"{row.shape or 'scalar'} {row.dtype}",
            bytes_text(row.nbytes),
        ]
        for row in found[:TABLE_ROWS]
    ]
    return rows, len(found)


def legend_notes(drawing: Drawing) -> list[list[str]]:
    """``[kind, text]`` of what stands behind the devices in the legend."""
    notes = []
    if drawing.copies:
        size = f", {bytes_text(drawing.nbytes)}" if drawing.nbytes else ""
        notes.append(["copy", f"╌╌ {counted(drawing.copies, 'copy', 'copies')} between devices{size}"])
    if drawing.unmet:
        notes.append(["alarm", f"≠ {counted(drawing.unmet, 'request')} not met"])
    if drawing.guilty:
        notes.append(["alarm", f"✖ {counted(drawing.guilty, 'node')} cannot be placed"])
    if drawing.nodes > len(drawing.boxes):
        notes.append(
            ["plain", f"▸ {counted(drawing.nodes, 'node')} in {counted(len(drawing.boxes), 'box', 'boxes')}"]
        )
    return notes
