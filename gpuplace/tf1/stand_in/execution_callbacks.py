"""``tensorflow.python.eager.execution_callbacks``: callbacks for values in eager execution.

There is no eager execution here, so the names exist but the callbacks cannot be requested.

Source: tensorflow/python/eager/execution_callbacks.py, release 1.15 (names).
"""

from __future__ import annotations

import enum
from typing import Any, NoReturn

from gpuplace.errors import UnimplementedError

__all__ = ["ExecutionCallback", "errstate"]


class ExecutionCallback(enum.Enum):
    """Actions for a value that is infinite or not a number."""

    IGNORE = "ignore"
    PRINT = "print"
    RAISE = "raise"
    WARN = "warn"


def errstate(inf_or_nan: Any = None) -> NoReturn:
    """Raise an error, because there is no eager execution.

    Args:
        inf_or_nan: the action.

    Raises:
        UnimplementedError: always.
    """
    raise UnimplementedError.of(
        "Eager execution is not available, so callbacks would never run; tf.add_check_numerics_ops() finds "
        "infinities and NaNs in graphs"
    )
