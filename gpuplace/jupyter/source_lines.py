"""Lines of notebook cells, told as a reader of the notebook knows them.

A kernel compiles each cell under a made-up file name; ``In[3], line 2`` says more than that.
"""

from __future__ import annotations

import re

from IPython.core.getipython import get_ipython

__all__ = ["readable"]

_CELL_FILE = re.compile(r"(?P<file>\S*[/\\]ipykernel_\d+[/\\]\d+\.py|<ipython-input-[^>]*>):(?P<line>\d+)")


def readable(text: str) -> str:
    """The text with cells in place of the kernel's file names; unchanged outside a notebook.

    >>> readable("'/gpu:0', train.py:14")
    "'/gpu:0', train.py:14"
    """
    shell = get_ipython()
    describe = getattr(getattr(shell, "compile", None), "format_code_name", None)
    if describe is None:
        return text

    def cell(match: re.Match[str]) -> str:
        found = describe(match["file"])
        return match[0] if found is None else f"{found[1]}, line {match['line']}"

    return _CELL_FILE.sub(cell, text)
