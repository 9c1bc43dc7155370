"""``tensorflow.python.kernel_tests.random.util``: whether values look as if they were drawn from a distribution.

Source: tensorflow/python/kernel_tests/random/util.py, release 1.15 (names, arguments).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

__all__ = ["anderson_darling", "chi_squared", "normal_cdf", "test_moment_matching", "test_truncated_normal"]

_STANDARD = NormalDist()


def test_moment_matching(samples: Any, number_moments: int, dist: Any, stride: int = 0) -> list[Any]:
    """Returns how many standard deviations the moments of values are away from those of a distribution.

    Args:
        samples: the values, an array.
        number_moments: how many moments are looked at.
        dist: the distribution: ``dist.moment(i)`` is its ``i``-th moment.
        stride: 0: all values are looked at; else for the ``i``-th moment one in ``1 + (i - 1) * stride``.
    """
    limits = np.finfo(samples.dtype)
    scores = []
    for order in range(1, number_moments + 1):
        looked_at = samples.flat[:: 1 + (order - 1) * stride]
        expected = dist.moment(order)
        variance = (dist.moment(2 * order) - expected**2) / len(looked_at)
        variance = max(variance + order * limits.eps, limits.tiny)  # a power rounds as often as it multiplies
        scores.append(abs((np.mean(looked_at**order) - expected) / np.sqrt(variance)))
    return scores


def chi_squared(x: Any, bins: int) -> Any:
    """Returns Pearson's statistic of values against equal shares in equal parts of [0, 1].

    Args:
        x: the values.
        bins: how many parts there are.
    """
    counts, _ = np.histogram(np.ravel(x), bins=bins, range=(0, 1))
    expected = np.size(x) / bins
    return np.sum((counts - expected) ** 2 / expected)


def normal_cdf(x: Any) -> Any:
    """Returns how likely a value of the standard normal distribution is to be below each of some numbers.

    Args:
        x: the numbers.
    """
    return np.vectorize(_STANDARD.cdf, otypes=[np.float64])(x)


def anderson_darling(x: Any) -> Any:
    """Returns Anderson and Darling's statistic of values against the standard normal distribution.

    Args:
        x: the values.
    """
    below = normal_cdf(np.sort(np.ravel(x)))
    count = below.size
    weights = 2 * np.arange(1, count + 1) - 1
    return -count - np.sum(weights * (np.log(below) + np.log(1 - below[::-1]))) / count


def test_truncated_normal(
    assert_equal: Callable[..., Any],
    assert_all_close: Callable[..., Any],
    n: int,
    y: Any,
    mean_atol: float = 5e-4,
    median_atol: float = 8e-4,
    variance_rtol: float = 1e-3,
) -> None:
    """Checks that values are those of the standard normal distribution between -2 and 2.

    Args:
        assert_equal: fails where its two arguments differ.
        assert_all_close: fails where they differ by more than ``atol`` and ``rtol`` say.
        n: how many values there are.
        y: the values, an array.
        mean_atol: how far their mean may be away.
        median_atol: how far their median may be away.
        variance_rtol: how far their variance may be away, as a share of it.
    """
    edge = 2.0
    assert_equal(int(np.sum(y >= -edge)), n)
    assert_equal(int(np.sum(y <= edge)), n)
    values = y.astype(float)
    assert_all_close(np.mean(values), 0.0, atol=mean_atol)
    assert_all_close(np.median(values), 0.0, atol=median_atol)
    density = math.exp(-(edge**2) / 2) / math.sqrt(2 * math.pi)
    within = _STANDARD.cdf(edge) - _STANDARD.cdf(-edge)
    assert_all_close(np.var(values), 1 - 2 * edge * density / within, rtol=variance_rtol)


test_moment_matching.__test__ = False  # type: ignore[attr-defined] # names that pytest would collect
test_truncated_normal.__test__ = False  # type: ignore[attr-defined]
