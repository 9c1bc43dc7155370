"""``tensorflow.python.autograph.core.ag_ctx``: whether Python's own control flow is to be translated.

Nothing is translated here; the note is kept for those who ask.

Source: tensorflow/python/autograph/core/ag_ctx.py, release 1.15 (names).
"""

from __future__ import annotations

import enum
import threading
from typing import Any

_stacks = threading.local()


class Status(enum.Enum):
    """What is known."""

    UNSPECIFIED = 0
    ENABLED = 1
    DISABLED = 2


class ControlStatusCtx:
    """A ``with`` block in which a status holds.

    Args:
        status: the status.
        options: how to translate.
    """

    def __init__(self, status: Status, options: Any = None) -> None:
        self.status = status
        self.options = options

    def __enter__(self) -> ControlStatusCtx:
        _stack().append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _stack().pop()

    def __repr__(self) -> str:
        return f"{type(self).__name__}[status={self.status}, options={self.options}]"


def _stack() -> list[ControlStatusCtx]:
    """The blocks that this thread is in."""
    if not hasattr(_stacks, "blocks"):
        _stacks.blocks = [ControlStatusCtx(Status.UNSPECIFIED)]
    blocks: list[ControlStatusCtx] = _stacks.blocks
    return blocks


def control_status_ctx() -> ControlStatusCtx:
    """The innermost block."""
    return _stack()[-1]
