"""Seconds of ``Work`` on a CPU: lines through what was measured, one for each class of kernels.

A line is a start, a price of an operation, and two prices of a byte: of the first ones, which the caches hold, and of
those beyond. ``gpuplace calibrate`` finds them on the machine at hand; without it they are round figures of a server
with eight cores.

>>> adding = Work("float32", flops=1e6, bytes_read=8e6, bytes_written=4e6)
>>> cpu_seconds(adding, DEFAULT_LINES) < cpu_seconds(Work("float64", 1e6, 16e6, 8e6), DEFAULT_LINES)
True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from gpuplace.cost.work import Convolution, Product, Recurrence, Work
from gpuplace.typing import Array

__all__ = ["CLASSES", "DEFAULT_LINES", "Line", "class_of", "cpu_seconds", "fitted_line"]

_CACHED_BYTES = 1 << 20
_ENOUGH = 6
_ROUNDS = 6


class Line(NamedTuple):
    """What the time of a class of kernels is made of, in seconds."""

    start: float
    """Of a kernel that has nothing to do."""
    per_flop: float
    """Of an operation."""
    per_cached_byte: float
    """Of each of the first million bytes."""
    per_byte: float
    """Of each further byte."""


DEFAULT_LINES: Mapping[str, Line] = {
    "product": Line(2e-6, 1 / 250e9, 1 / 60e9, 1 / 20e9),
    "convolution": Line(1e-5, 1 / 180e9, 1 / 60e9, 1 / 20e9),
    "convolution_backward": Line(2e-5, 1 / 130e9, 1 / 60e9, 1 / 20e9),
    "bytes": Line(1e-6, 1 / 30e9, 1 / 60e9, 1 / 20e9),
}
"""Lines without calibration: assumed, of a server of 2017 with eight cores and four channels of memory."""

CLASSES = tuple(DEFAULT_LINES)


def class_of(work: Work) -> str:
    """The class of kernels that a work belongs to, one of ``CLASSES``."""
    if isinstance(work.kernel, (Product, Recurrence)):
        return "product"
    if isinstance(work.kernel, Convolution):
        return "convolution" if work.kernel.direction == "forward" else "convolution_backward"
    return "bytes"


def cpu_seconds(work: Work, lines: Mapping[str, Line]) -> float:
    """Returns the seconds that a CPU computes a work; 0 for what only hands a tensor on.

    Args:
        work: what the kernel has to do.
        lines: class -> its line.
    """
    if not work.launches:
        return 0.0
    return sum(price * amount for price, amount in zip(lines[class_of(work)], _amounts(work)))


def _amounts(work: Work) -> tuple[float, float, float, float]:
    nbytes = work.bytes_read + work.bytes_written
    flops = work.flops * (2.0 if work.dtype in ("float64", "complex128") else 1.0)
    return 1.0, flops, min(nbytes, _CACHED_BYTES), max(nbytes - _CACHED_BYTES, 0.0)


def fitted_line(works: Sequence[Work], seconds: Iterable[float], before: Line) -> Line:
    """Returns the line that foretells measured times best, in proportion; outliers count less.

    Few measured works only scale the line that was there; no measured work leaves it.

    Args:
        works: of one class.
        seconds: measured, a number a work.
        before: the line without these measurements.
    """
    amounts = np.array([_amounts(work) for work in works]).reshape(-1, len(before))
    times = np.array(list(seconds), float)
    known = times > 0
    amounts, times = amounts[known], times[known]
    if not len(times):
        return before
    ratios = np.log(times / (amounts @ np.array(before)))
    if len({row.tobytes() for row in amounts}) < _ENOUGH:
        scale = float(np.exp(np.median(ratios) * len(times) / (len(times) + 1)))
        return Line(*(scale * price for price in before))
    weights = np.ones(len(times))
    prices = np.array(before)
    for _ in range(_ROUNDS):
        prices = _nonnegative(amounts / times[:, None] * weights[:, None], weights)
        off = abs(amounts @ prices / times - 1.0)
        weights = np.sqrt(1.0 / np.maximum(1.0, off / max(1.5 * float(np.median(off)), 0.05)))
    return Line(*map(float, prices))


def _nonnegative(matrix: Array, wanted: Array) -> Array:
    """The non-negative prices for which ``matrix @ prices`` comes nearest to what is wanted; few unknowns."""
    best, found = np.inf, np.zeros(matrix.shape[1])
    scale = np.maximum(np.sqrt((matrix**2).sum(0)), 1e-300)
    for count in range(1, matrix.shape[1] + 1):
        for chosen in map(list, combinations(range(matrix.shape[1]), count)):
            prices = np.linalg.lstsq(matrix[:, chosen] / scale[chosen], wanted, rcond=None)[0] / scale[chosen]
            if (prices < 0).any():
                continue
            off = float(((matrix[:, chosen] @ prices - wanted) ** 2).sum())
            if off < best * (1 - 1e-9):
                best, found = off, np.zeros(matrix.shape[1])
                found[chosen] = prices
    return found
