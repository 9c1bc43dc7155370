"""``tensorflow.python.framework.traceable_stack``: a stack that knows which line put what onto it.

Source: tensorflow/python/framework/traceable_stack.py, release 1.15 (names).
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.source_text import TraceableObject

__all__ = ["TraceableObject", "TraceableStack"]


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
