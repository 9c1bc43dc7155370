"""``tensorflow.python.compat.compat``: the release that a graph's consumers are assumed to have, as a date.

>>> forward_compatible(2019, 8, 20), forward_compatible(2019, 8, 21)
(True, False)
>>> with forward_compatibility_horizon(2019, 9, 1):
...     forward_compatible(2019, 8, 21)
True

Ops that release 1.15 adds to graphs only after a later date are never added here: graphs follow its defaults.

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
    """Set the date to a given one, or to the default plus the number of days in the environment."""
    days = datetime.timedelta(days=int(os.environ.get(_DELTA_DAYS) or 0))
    PROCESS.forward_compatibility = date_to_override or _FORWARD_COMPATIBILITY_HORIZON + days


_update_forward_compatibility_date_number()


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Return whether the graph's consumers support what TensorFlow had on a date.

    Args:
        year: the year.
        month: 1 to 12.
        day: 1 to 31.
    """
    horizon = PROCESS.forward_compatibility
    return (horizon.year, horizon.month, horizon.day) > (year, month, day)


@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """A block in which the graph's consumers support only what TensorFlow had before a date.

    Args:
        year: the year.
        month: 1 to 12.
        day: 1 to 31.
    """
    _update_forward_compatibility_date_number(datetime.date(year, month, day))
    try:
        yield
    finally:
        _update_forward_compatibility_date_number()
