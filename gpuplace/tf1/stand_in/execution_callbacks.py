"""``tensorflow.python.eager.execution_callbacks``: what is done about values of ops that run as they are built.

Here no op does, so that there are the names of what could be done, and no way to ask for it.

Source: tensorflow/python/eager/execution_callbacks.py, release 1.15 (names).
"""

from __future__ import annotations

import enum
from typing import Any, NoReturn

from gpuplace.errors import UnimplementedError

__all__ = ["ExecutionCallback", "errstate"]


class ExecutionCallback(enum.Enum):
    """What is done about a value that is infinite or no number."""

    IGNORE = "ignore"
    PRINT = "print"
    RAISE = "raise"
    WARN = "warn"


def errstate(inf_or_nan: Any = None) -> NoReturn:
    """Says that there is no eager execution.

    Args:
        inf_or_nan: what would be done.

    Raises:
        UnimplementedError: always.
    """
    raise UnimplementedError.of(
        "Eager execution is not available, so there is nothing to call back: tf.add_check_numerics_ops() finds "
        "infinities in graphs"
    )
