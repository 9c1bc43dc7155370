"""Types of what compiled functions take, and the same records for functions that run as they stand.

Every array has one axis and holds doubles or whole numbers; which, the annotations say to those who read and to the
compiler. Where nothing is compiled, lists of the same numbers stand for arrays: Python walks through them faster.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import numpy as np

Reals = Annotated[Any, "float64"]
"""An array of doubles, or a list of them."""
Wholes = Annotated[Any, "int64"]
"""An array of whole numbers below 2**63, or a list of them."""


class EventHeap(NamedTuple):
    """Room for the events of a simulation, for compiled functions.

    They call ``heappush`` and ``heappop`` of ``heapq`` as Python's own do, whose heap is a list of tuples of time, turn
    and two whole numbers; a tuple of numba's in a list takes five times as long as these arrays.
    """

    times: Reals
    """When each event is."""
    turns: Wholes
    """Of two events at one time the one with the lower turn comes first; no two have the same."""
    codes: Wholes
    """A number that the event carries."""
    lines: Wholes
    """Another one."""
    size: Wholes
    """``[1]`` how many events there are."""

    @classmethod
    def for_events(cls, most: int) -> EventHeap:
        """An empty heap.

        Args:
            most: how many events there can be at a time.
        """
        turns, codes, lines = (np.zeros(most, np.int64) for _ in range(3))
        return cls(np.zeros(most), turns, codes, lines, np.zeros(1, np.int64))


Events = Annotated[Any, EventHeap]
"""An `EventHeap`, or a list."""


def as_lists(record: Any) -> Any:
    """The same record with lists in the place of arrays; a heap becomes an empty list.

    It is an object of slots: Python looks at those several times faster than at the fields of a named tuple.

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
    """The same record with arrays in the place of lists.

    Args:
        record: a named tuple whose fields are annotated as `Reals` or `Wholes` where they are lists.
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
