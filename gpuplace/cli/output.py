"""Rows as a table, JSON or CSV, and files.

>>> print(render([{"node": "a", "device": "/device:GPU:0"}, {"node": "MatMul", "device": None}], "table"))
node    device
a       /device:GPU:0
MatMul  -
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.cli.setup import UsageError
from gpuplace.views.tables.palette import device_label
from gpuplace.views.tables.text import printable, table_text
from gpuplace.writing import write_file


def render(
    rows: Sequence[Mapping[str, Any]],
    form: str,
    columns: Sequence[str] | None = None,
    *,
    limit: int | None = None,
    more: int = 0,
    full_names: bool = False,
) -> str:
    """The rows as text, without a line break at its end.

    A table on a terminal fits it: devices have their short names, and the middle of long names is left out. Elsewhere,
    in a file or a pipe, it says all.

    Args:
        rows: Mappings with the same keys.
        form: "table", "json" or "csv".
        columns: The keys in order; those of the first row by default.
        limit: How many rows to print; a table counts the rest.
        more: Rows that are not given; a table counts them, too.
        full_names: Whether a table says all on a terminal too.
    """
    names = list(columns if columns is not None else rows[0] if rows else ())
    if form == "table":
        width = None if full_names else terminal_width()
        cells = ([row[name] for name in names] for row in rows)
        if width is not None:
            cells = ([_short(cell) for cell in row] for row in cells)
        return table_text(names, cells, limit, more, width)
    rows = rows[:limit]
    if form == "json":
        return json.dumps([{name: row[name] for name in names} for row in rows], indent=1)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([[csv_cell(row[name]) for name in names] for row in rows])
    return stream.getvalue().rstrip("\n")


def terminal_width() -> int | None:
    """Characters in a line of the terminal that standard output is; None if it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _short(cell: Any) -> Any:
    return device_label(cell) if isinstance(cell, str) and cell.startswith("/job:") else cell


def csv_cell(value: Any) -> Any:
    r"""What a cell holds: None is empty, and a text stays a text, in a terminal and where a spreadsheet opens the file.

    >>> csv_cell('=HYPERLINK("x")'), csv_cell("\tcmd"), csv_cell(-1), csv_cell("MatMul")
    ('\'=HYPERLINK("x")', "'\\tcmd", -1, 'MatMul')

    Source: OWASP, "CSV Injection" (the characters).
    """
    if not isinstance(value, str):
        return "" if value is None else value
    return ("'" if value.startswith(_FORMULA) else "") + printable(value)


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def write(text: str, path: str) -> None:
    """Writes a file and prints its path; ``-`` prints the text instead.

    Raises:
        UsageError: it cannot be written.
    """
    if path == "-":
        print(text)
        return
    save(text, path)
    print(path)


def save(content: str | bytes, path: str) -> None:
    """Writes a file that the command line names.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        write_file(path, content)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
