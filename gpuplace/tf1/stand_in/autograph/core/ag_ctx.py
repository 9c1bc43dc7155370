"""``tensorflow.python.autograph.core.ag_ctx``: whether to convert Python's control flow.

Nothing is converted here; the status is only recorded for programs that read it.

Source: tensorflow/python/autograph/core/ag_ctx.py, release 1.15 (names).
"""

from __future__ import annotations

import enum
import threading
from typing import Any

_stacks = threading.local()


class Status(enum.Enum):
    """Conversion status."""

    UNSPECIFIED = 0
    ENABLED = 1
    DISABLED = 2


class ControlStatusCtx:
    """A ``with`` block in which a status applies.

    Args:
        status: the status.
        options: conversion options.
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
    """Return the enclosing blocks of this thread."""
    if not hasattr(_stacks, "blocks"):
        _stacks.blocks = [ControlStatusCtx(Status.UNSPECIFIED)]
    blocks: list[ControlStatusCtx] = _stacks.blocks
    return blocks


def control_status_ctx() -> ControlStatusCtx:
    """Return the innermost block."""
    return _stack()[-1]
