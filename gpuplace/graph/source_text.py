"""Where a line of the user's program is, in words that the user knows.

A notebook's kernel compiles each cell under a made-up file name. IPython knows the cell's number, and it is asked where
it runs already; nothing is imported for it.

>>> source_text("train.py", 14)
'train.py:14'
"""

from __future__ import annotations

import sys


def source_text(filename: str, line: int) -> str:
    """``file:line``, and ``In[3]:line`` for a line of a notebook's third cell."""
    return f"{_cell_name(filename) or filename}:{line}"


def _cell_name(filename: str) -> str | None:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    describe = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = describe(filename) if describe is not None else None
    return str(found[1]) if found else None
