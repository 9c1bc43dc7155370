"""Histogram of a summary: the bucket widths grow by 10 %, on both sides of zero.

::

    ... -1.1e-12  -1e-12   0   1e-12  1.1e-12  1.21e-12 ... 9.9e19   1.8e308
    counts of values below each limit, and at least as large as the one before

Successive empty buckets are merged.

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
    """Distribution of values."""

    smallest: float
    """Smallest value; the largest float without values."""
    largest: float
    """Largest value; the lowest float without values."""
    count: float
    """Number of values."""
    total: float
    """Sum of the values, added one after the other."""
    total_of_squares: float
    """Sum of the squares."""
    limits: list[float]
    """Upper bounds of the buckets."""
    counts: list[float]
    """Number of values in each bucket."""

    @staticmethod
    def of(values: np.ndarray[Any, Any]) -> Histogram:
        """Return the histogram of finite float64 values.

        Args:
            values: vector of values.
        """
        if not values.size:
            return Histogram(_LARGEST, -_LARGEST, 0.0, 0.0, 0.0, [_LARGEST], [0.0])
        limits = _bucket_limits()
        places = np.minimum(np.searchsorted(limits, values, side="right"), limits.size - 1)
        counts = np.bincount(places, minlength=limits.size)
        filled = counts > 0
        kept = filled.copy()
        kept[:-1] |= filled[1:]  # the last of successive empty buckets
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
