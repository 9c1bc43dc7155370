"""Rows as a table, JSON or CSV, and output files.

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
    """Return the rows as text, without a trailing newline.

    On a terminal, a table fits the width: devices have short names, and long names are shortened in the middle. In a
    file or a pipe, all names are complete.

    Args:
        rows: mappings with the same keys.
        form: "table", "json" or "csv".
        columns: the keys in order; those of the first row by default.
        limit: the maximum number of rows to print; a table counts the rest.
        more: the number of rows that were not passed; a table counts them too.
        full_names: whether a table on a terminal shows complete names.
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
    """Return the terminal's width in characters; None if standard output is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _short(cell: Any) -> Any:
    return device_label(cell) if isinstance(cell, str) and cell.startswith("/job:") else cell


def csv_cell(value: object) -> Any:
    r"""Return the value of a CSV cell: None is empty, and text cannot act as a formula or a terminal escape.

    >>> csv_cell('=HYPERLINK("x")'), csv_cell("\tcmd"), csv_cell(-1), csv_cell("MatMul")
    ('\'=HYPERLINK("x")', "'\\tcmd", -1, 'MatMul')

    Source: OWASP, "CSV Injection" (the characters).
    """
    if not isinstance(value, str):
        return "" if value is None else value
    return ("'" if value.startswith(_FORMULA) else "") + printable(value)


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def write(text: str, path: str) -> None:
    """Write a file and print its path; ``-`` prints the text instead.

    Raises:
        UsageError: the file cannot be written.
    """
    if path == "-":
        print(text)
        return
    save(text, path)
    print(path)


def save(content: str | bytes, path: str) -> None:
    """Write an output file named on the command line.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        write_file(path, content)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
