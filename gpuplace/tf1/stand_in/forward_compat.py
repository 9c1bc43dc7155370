"""``tensorflow.python.compat.compat``: which release a graph's readers are taken to have, as a date.

>>> forward_compatible(2019, 8, 20), forward_compatible(2019, 8, 21)
(True, False)
>>> with forward_compatibility_horizon(2019, 9, 1):
...     forward_compatible(2019, 8, 21)
True

Ops that release 1.15 adds to graphs from a later date on are not added here either way: what it adds by default is.

Source: tensorflow/python/compat/compat.py, release 1.15 (names, the date, the environment variable).
"""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Iterator

from gpuplace.process import PROCESS

__all__ = ["forward_compatibility_horizon", "forward_compatible"]

_FORWARD_COMPATIBILITY_HORIZON = datetime.date(2019, 8, 21)
_DELTA_DAYS = "TF_FORWARD_COMPATIBILITY_DELTA_DAYS"


def _update_forward_compatibility_date_number(date_to_override: datetime.date | None = None) -> None:
    """Sets the date to a given one, or to the default moved by the environment's number of days."""
    days = datetime.timedelta(days=int(os.environ.get(_DELTA_DAYS) or 0))
    PROCESS.forward_compatibility = date_to_override or _FORWARD_COMPATIBILITY_HORIZON + days


_update_forward_compatibility_date_number()


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether readers of the graph have what TensorFlow had on a day.

    Args:
        year: of the day.
        month: 1 to 12.
        day: 1 to 31.
    """
    horizon = PROCESS.forward_compatibility
    return (horizon.year, horizon.month, horizon.day) > (year, month, day)


@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """A block in which readers have what TensorFlow had before a day.

    Args:
        year: of the day.
        month: 1 to 12.
        day: 1 to 31.
    """
    _update_forward_compatibility_date_number(datetime.date(year, month, day))
    try:
        yield
    finally:
        _update_forward_compatibility_date_number()
