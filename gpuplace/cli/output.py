"""Rows as a table, JSON or CSV.

>>> print(render([{"node": "a", "device": "/device:GPU:0"}, {"node": "MatMul", "device": None}], "table"))
node    device
a       /device:GPU:0
MatMul  -
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

NONE = "-"
"""What a table shows where there is nothing."""


def render(rows: Sequence[Mapping[str, Any]], form: str, columns: Sequence[str] | None = None) -> str:
    """The rows as text, without a line break at its end.

    Args:
        rows: Mappings with the same keys.
        form: "table", "json" or "csv".
        columns: The keys in order; those of the first row by default.
    """
    names = list(columns if columns is not None else rows[0] if rows else ())
    if form == "json":
        return json.dumps([{name: row[name] for name in names} for row in rows], indent=1)
    if form == "csv":
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([["" if row[name] is None else row[name] for name in names] for row in rows])
        return stream.getvalue().rstrip("\n")
    lines = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines
    )


def _cell(value: Any) -> str:
    return NONE if value in (None, "") else str(value)
