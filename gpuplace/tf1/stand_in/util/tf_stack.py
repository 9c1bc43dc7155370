"""``tensorflow.python.util.tf_stack``: a thread's call stack.

Source: tensorflow/python/util/tf_stack.py, release 1.15 (names).
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any, NamedTuple

TB_FILENAME, TB_LINENO, TB_FUNCNAME, TB_CODEDICT = range(4)
"""Positions of fields in a frame."""


class StackFrame(NamedTuple):
    """One line of a call stack."""

    filename: str
    lineno: int
    name: str
    """The function's name."""
    globals: dict[str, Any]
    """The module's variables."""
    func_start_lineno: int
    """The first line of the function."""


def extract_stack(limit: int | None = -1) -> list[StackFrame]:
    """Return the call stack of this thread, the innermost frame last.

    Args:
        limit: the maximum number of frames, counted from the innermost; -1 or None for all.
    """
    frames: list[StackFrame] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (limit is None or limit < 0 or len(frames) < limit):
        code = frame.f_code
        frames.append(
            StackFrame(code.co_filename, frame.f_lineno, code.co_name, frame.f_globals, code.co_firstlineno)
        )
        frame = frame.f_back
    return frames[::-1]


def convert_stack(
    stack: Iterable[StackFrame], include_func_start_lineno: bool = False
) -> tuple[tuple[Any, ...], ...]:
    """Return frames as ``traceback.format_list`` expects them: file, line, function, and source line or None.

    Args:
        stack: result of ``extract_stack``.
        include_func_start_lineno: whether to append the first line of the function.
    """
    converted: list[tuple[Any, ...]] = []
    for frame in stack:
        linecache.checkcache(frame.filename)
        text = linecache.getline(frame.filename, frame.lineno, frame.globals).strip() or None
        start = (frame.func_start_lineno,) if include_func_start_lineno else ()
        converted.append((frame.filename, frame.lineno, frame.name, text, *start))
    return tuple(converted)
