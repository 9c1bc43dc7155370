"""``tensorflow.python.framework.traceable_stack``: a stack that knows which line put what onto it.

Source: tensorflow/python/framework/traceable_stack.py, release 1.15 (names).
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


class TraceableStack:
    """A stack of such things.

    Args:
        existing_stack: what is on it already; None: nothing.
    """

    def __init__(self, existing_stack: list[TraceableObject] | None = None) -> None:
        self._stack = existing_stack[:] if existing_stack else []

    def push_obj(self, obj: Any, offset: int = 0) -> int:
        """Puts something on top.

        Args:
            obj: the thing.
            offset: how many calls above the caller of this method the line is.

        Returns:
            As `TraceableObject.set_filename_and_line_from_caller`.
        """
        traceable = TraceableObject(obj)
        self._stack.append(traceable)
        return traceable.set_filename_and_line_from_caller(offset + 1)

    def pop_obj(self) -> Any:
        """Takes what is on top off."""
        return self._stack.pop().obj

    def peek_top_obj(self) -> Any:
        """What is on top."""
        return self._stack[-1].obj

    def peek_objs(self) -> list[Any]:
        """All that is there, the top first."""
        return [traceable.obj for traceable in reversed(self._stack)]

    def peek_traceable_objs(self) -> list[TraceableObject]:
        """The same with its lines."""
        return list(reversed(self._stack))

    def copy(self) -> TraceableStack:
        """Another stack of the same things."""
        return TraceableStack(self._stack)

    def __len__(self) -> int:
        return len(self._stack)
