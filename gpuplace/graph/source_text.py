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

    SUCCESS, HEURISTIC_USED, FAILURE = range(3)

    def __init__(self, obj: Any, filename: str | None = None, lineno: int | None = None) -> None:
        self.obj = obj
        self.filename = filename
        self.lineno = lineno

    def set_filename_and_line_from_caller(self, offset: int = 0) -> int:
        """Record the line of a call.

        Args:
            offset: number of frames above the caller of this method.

        Returns:
            ``SUCCESS``, or ``HEURISTIC_USED`` if the stack has fewer frames, and the outermost is used.
        """
        frame, left = sys._getframe(1), offset
        while left and frame.f_back is not None:
            frame, left = frame.f_back, left - 1
        self.filename, self.lineno = frame.f_code.co_filename, frame.f_lineno
        return self.HEURISTIC_USED if left else self.SUCCESS

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
