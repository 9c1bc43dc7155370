"""``tensorflow.python.util.tf_stack``: where a thread is.

Source: tensorflow/python/util/tf_stack.py, release 1.15 (names).
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any, NamedTuple

TB_FILENAME, TB_LINENO, TB_FUNCNAME, TB_CODEDICT = range(4)
"""Places in a frame."""


class StackFrame(NamedTuple):
    """A line that a thread is in."""

    filename: str
    lineno: int
    name: str
    """The function's."""
    globals: dict[str, Any]
    """The module's variables."""
    func_start_lineno: int
    """The first line of the function."""


def extract_stack(limit: int | None = -1) -> list[StackFrame]:
    """The lines that the calling thread is in, the innermost last.

    Args:
        limit: the most that are given, from the innermost outwards; -1 or None: all.
    """
    found: list[StackFrame] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (limit is None or limit < 0 or len(found) < limit):
        code = frame.f_code
        found.append(
            StackFrame(code.co_filename, frame.f_lineno, code.co_name, frame.f_globals, code.co_firstlineno)
        )
        frame = frame.f_back
    return found[::-1]


def convert_stack(
    stack: Iterable[StackFrame], include_func_start_lineno: bool = False
) -> tuple[tuple[Any, ...], ...]:
    """Frames as `traceback.format_list` takes them: file, line, function, and the line's text or None.

    Args:
        stack: of `extract_stack`.
        include_func_start_lineno: whether the first line of the function comes last.
    """
    converted: list[tuple[Any, ...]] = []
    for frame in stack:
        linecache.checkcache(frame.filename)
        text = linecache.getline(frame.filename, frame.lineno, frame.globals).strip() or None
        start = (frame.func_start_lineno,) if include_func_start_lineno else ()
        converted.append((frame.filename, frame.lineno, frame.name, text, *start))
    return tuple(converted)
