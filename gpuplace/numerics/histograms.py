"""The histogram of a summary: buckets that widen by a tenth each, on both sides of zero.

::

    ... -1.1e-12  -1e-12   0   1e-12  1.1e-12  1.21e-12 ... 9.9e19   1.8e308
    counts of values below each limit, and at least as large as the one before

Empty buckets in a row are one.

>>> import numpy as np
>>> found = Histogram.of(np.float64([1, 1, 0]))
>>> found.counts, found.total
([0.0, 1.0, 0.0, 2.0, 0.0], 2.0)

Source: tensorflow/core/lib/histogram/histogram.cc, release 1.15.
"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

_LARGEST = sys.float_info.max


@dataclass(frozen=True)
class Histogram:
    """How values are distributed."""

    smallest: float
    """Of the values; the largest float where there are none."""
    largest: float
    """Of the values; the negative largest float where there are none."""
    count: float
    """Number of values."""
    total: float
    """Their sum, added up one after the other."""
    total_of_squares: float
    """The sum of their squares."""
    limits: list[float]
    """Upper ends of the buckets."""
    counts: list[float]
    """Values in each bucket."""

    @staticmethod
    def of(values: np.ndarray[Any, Any]) -> Histogram:
        """The histogram of finite float64 values.

        Args:
            values: a vector.
        """
        if not values.size:
            return Histogram(_LARGEST, -_LARGEST, 0.0, 0.0, 0.0, [_LARGEST], [0.0])
        limits = _bucket_limits()
        places = np.minimum(np.searchsorted(limits, values, side="right"), limits.size - 1)
        counts = np.bincount(places, minlength=limits.size)
        filled = counts > 0
        kept = filled.copy()
        kept[:-1] |= filled[1:]  # of the empty buckets in a row the last one
        kept[-1] = True
        with np.errstate(over="ignore", invalid="ignore"):
            total, squares = (float(np.add.accumulate(added)[-1]) for added in (values, values * values))
        return Histogram(
            float(values.min()),
            float(values.max()),
            float(values.size),
            total,
            squares,
            limits[kept].tolist(),
            counts[kept].astype(np.float64).tolist(),
        )


@functools.cache
def _bucket_limits() -> np.ndarray[Any, Any]:
    positive, limit = [], 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(_LARGEST)
    return np.array([*(-one for one in reversed(positive)), 0.0, *positive])
