"""Where a line of the user's program is, in words that the user knows.

A notebook's kernel compiles each cell under a made-up file name. IPython knows the cell's number, and it is asked where
it runs already; nothing is imported for it.

>>> source_text("train.py", 14)
'train.py:14'
"""

from __future__ import annotations

import sys
from typing import Any


class TraceableObject:
    """Something, and the line that it comes from.

    Args:
        obj: the thing.
        filename: the file; None: not known.
        lineno: the line in it.
    """

    SUCCESS, HEURISTIC_USED, FAILURE = range(3)

    def __init__(self, obj: Any, filename: str | None = None, lineno: int | None = None) -> None:
        self.obj = obj
        self.filename = filename
        self.lineno = lineno

    def set_filename_and_line_from_caller(self, offset: int = 0) -> int:
        """Notes the line of a call.

        Args:
            offset: how many calls above the caller of this method.

        Returns:
            ``SUCCESS``, or ``HEURISTIC_USED`` where there are not that many calls: then the outermost is noted.
        """
        frame, left = sys._getframe(1), offset
        while left and frame.f_back is not None:
            frame, left = frame.f_back, left - 1
        self.filename, self.lineno = frame.f_code.co_filename, frame.f_lineno
        return self.HEURISTIC_USED if left else self.SUCCESS

    def copy_metadata(self) -> TraceableObject:
        """The line alone."""
        return type(self)(None, self.filename, self.lineno)


def source_text(filename: str, line: int) -> str:
    """``file:line``, and ``In[3]:line`` for a line of a notebook's third cell."""
    return f"{_cell_name(filename) or filename}:{line}"


def _cell_name(filename: str) -> str | None:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    describe = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = describe(filename) if describe is not None else None
    return str(found[1]) if found else None
