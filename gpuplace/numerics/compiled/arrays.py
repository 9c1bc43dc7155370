"""Argument types of compiled functions, and the same records for functions that are not compiled.

Every array has one axis and contains doubles or integers; the annotations tell readers and the compiler which.
Functions that are not compiled take lists of the same numbers instead, which Python iterates over faster.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import numpy as np

Reals = Annotated[Any, "float64"]
"""An array of doubles, or a list of them."""
Wholes = Annotated[Any, "int64"]
"""An array of integers below 2**63, or a list of them."""


class EventHeap(NamedTuple):
    """Memory for the events of a simulation in compiled functions.

    Compiled functions call ``heappush`` and ``heappop`` of ``heapq``, like Python's own, whose heap is a list of tuples
    of time, turn and two integers. A list of numba tuples would be five times as slow as these arrays.
    """

    times: Reals
    """Time of each event."""
    turns: Wholes
    """Order of events with the same time: the lower turn comes first; turns are unique."""
    codes: Wholes
    """A number of the event."""
    lines: Wholes
    """A second number of the event."""
    size: Wholes
    """``[1]`` number of events."""

    @classmethod
    def for_events(cls, most: int) -> EventHeap:
        """Return an empty heap.

        Args:
            most: maximum number of events.
        """
        turns, codes, lines = (np.zeros(most, np.int64) for _ in range(3))
        return cls(np.zeros(most), turns, codes, lines, np.zeros(1, np.int64))


Events = Annotated[Any, EventHeap]
"""An `EventHeap`, or a list."""


def as_lists(record: Any) -> Any:
    """Return the same record with lists instead of arrays; a heap becomes an empty list.

    The result is an object with slots, which Python reads several times faster than named tuples.

    Args:
        record: a named tuple of arrays or lists, numbers, and such records.
    """
    if isinstance(record, EventHeap):
        return []
    kind: Any = type(record)
    found = _with_slots(kind)()
    for name, value in zip(record._fields, record):
        if isinstance(value, np.ndarray):
            value = value.tolist()
        elif isinstance(value, tuple):
            value = as_lists(value)
        setattr(found, name, value)
    return found


def as_arrays(record: Any) -> Any:
    """Return the same record with arrays instead of lists.

    Args:
        record: a named tuple whose list fields are annotated as `Reals` or `Wholes`.
    """
    hints = get_type_hints(type(record), include_extras=True)
    return record._replace(
        **{
            name: np.array(value, dtype=get_args(hints[name])[1])
            for name, value in zip(record._fields, record)
            if isinstance(value, list)
        }
    )


@cache
def _with_slots(record: Hashable) -> Any:
    kind: Any = record
    return type(kind.__name__, (), {"__slots__": kind._fields})
