"""Locations in the user's program, in terms that the user knows.

A notebook kernel compiles each cell under a made-up file name. IPython knows the number of the cell. It is never
imported, and queried only if it is already running.

>>> source_text("train.py", 14)
'train.py:14'
"""

from __future__ import annotations

import sys
from typing import Any


class TraceableObject:
    """An object and the line that created it.

    Args:
        obj: the object.
        filename: file; None: unknown.
        lineno: line in the file.
    """

    def __init__(self, obj: Any, filename: str | None = None, lineno: int | None = None) -> None:
        self.obj = obj
        self.filename = filename
        self.lineno = lineno

    def copy_metadata(self) -> TraceableObject:
        """Return the line without its object."""
        return type(self)(None, self.filename, self.lineno)


def source_text(filename: str, line: int) -> str:
    """Return ``file:line``, or ``In[3]:line`` for a line of a notebook's third cell."""
    return f"{_cell_name(filename) or filename}:{line}"


def _cell_name(filename: str) -> str | None:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    describe = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = describe(filename) if describe is not None else None
    return str(found[1]) if found else None
