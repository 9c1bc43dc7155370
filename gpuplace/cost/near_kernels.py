"""Correction of a line by measured kernels of one op type: a kernel's error is that of its measured neighbors.

Kernels are points, by the logarithms of their operations and bytes. Between points, the logarithm of measured over
predicted time is a mean weighted by inverse distance; beyond them, it is that of the outermost points::

    bytes
      |   x 0.6          x 1.1        a small product within the caches, a large one, one split among the cores:
      |        ?                      ? is about 0.7 of its line
      |   x 0.7
      +--------------------- operations
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import ClassVar, NamedTuple, Self

import numpy as np

from gpuplace.typing import Array

_STEP = math.log(2.0)
"""Kernels that differ by less than this in both logarithms are one point."""
_NEAR = 0.25
"""Distance below which points count alike."""
_LEAST_START = 5e-7
_LEAST_SHARE = 0.1
"""Minimum fraction of a start that remains, however much is subtracted."""


class MeasuredKernel(NamedTuple):
    """One measured kernel."""

    flops: float
    """Operations."""
    nbytes: float
    """Bytes read and written."""
    start: float
    """Start of its line, in seconds."""
    rest: float
    """Seconds of its line beyond the start."""
    taken: float
    """Measured seconds."""
    share: float | None = None
    """Fraction of the measured time in which the kernel occupied all cores; None if it was not measured."""


@dataclass(frozen=True, eq=False)
class NearKernels:
    """Measured kernels of one op type."""

    FIGURES: ClassVar[tuple[str, ...]] = ("flops", "nbytes", "starts", "rests", "taken", "shares")
    """Names of the fields that are saved."""
    flops: tuple[float, ...]
    """Operations of each kernel."""
    nbytes: tuple[float, ...]
    """Bytes that each kernel reads and writes."""
    starts: tuple[float, ...]
    """Start of each kernel's line, in seconds."""
    rests: tuple[float, ...]
    """Seconds of each kernel's line beyond the start."""
    taken: tuple[float, ...]
    """Measured seconds of each kernel."""
    shares: tuple[float, ...] = ()
    """Fraction of each measured time in which the kernel occupied all cores; empty if it was not measured."""
    _weights: dict[tuple[float, float], Array] = field(default_factory=dict)
    """Cache of the points' weights, by operations and bytes."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NearKernels) and self.figures() == other.figures()

    __hash__ = None  # type: ignore[assignment]

    def figures(self) -> dict[str, tuple[float, ...]]:
        """Return all saved fields by name."""
        return {name: getattr(self, name) for name in self.FIGURES}

    @cached_property
    def start(self) -> float:
        """Seconds of a kernel without work, estimated from the start's share of each measured kernel's line."""
        return min(
            seconds * max(start, _LEAST_START) / (max(start, _LEAST_START) + rest)
            for start, rest, seconds in zip(self.starts, self.rests, self.taken, strict=True)
        )

    @cached_property
    def _errors(self) -> Array:
        line = np.maximum(np.array(self.starts) + np.array(self.rests), _LEAST_START)
        return np.log(np.array(self.taken) / line)

    @cached_property
    def _places(self) -> Array:
        return np.array(
            [_place(flops, nbytes) for flops, nbytes in zip(self.flops, self.nbytes, strict=True)]
        )

    def seconds(self, flops: float, nbytes: float, line: float) -> float:
        """Return the corrected seconds of a kernel.

        Args:
            flops: its operations.
            nbytes: bytes that it reads and writes.
            line: its seconds by its line.
        """
        weights = self._weights_at(flops, nbytes)
        return max(max(line, _LEAST_START) * math.exp(float(weights @ self._errors)), self.start)

    def share(self, flops: float, nbytes: float) -> float | None:
        """Return the fraction of its time in which a kernel occupies all cores, or None if that was not measured.

        Args:
            flops: its operations.
            nbytes: bytes that it reads and writes.
        """
        return float(self._weights_at(flops, nbytes) @ np.array(self.shares)) if self.shares else None

    def _weights_at(self, flops: float, nbytes: float) -> Array:
        weights = self._weights.get((flops, nbytes))
        if weights is None:
            apart = ((self._places - np.array(_place(flops, nbytes))) ** 2).sum(axis=1)
            weights = 1.0 / (apart + _NEAR**2) ** 2
            weights = self._weights[flops, nbytes] = weights / weights.sum()
        return weights

    def scaled(self, starts: float, rest: float, less: float) -> Self:
        """Return the kernels for lines whose starts and prices are changed alike.

        Args:
            starts: factor for the time of a kernel without work.
            rest: factor for all time beyond that.
            less: seconds to subtract from each start; a fraction of the start always remains.
        """
        start = self.start
        shorter = shortened(starts * start, less)
        return replace(
            self,
            starts=tuple(shortened(starts * seconds, less) for seconds in self.starts),
            rests=tuple(rest * seconds for seconds in self.rests),
            taken=tuple(shorter + rest * (seconds - start) for seconds in self.taken),
        )


def shortened(start: float, less: float) -> float:
    """Subtract seconds from a start, and keep at least a fraction of it.

    Args:
        start: seconds.
        less: seconds to subtract.
    """
    return max(start - less, _LEAST_SHARE * start)


def near_kernels(measured: Iterable[MeasuredKernel], caches_were_cold: bool = False) -> NearKernels | None:
    """Merge measured kernels that are alike into one point each, their median; return None if there are none.

    Args:
        measured: the kernels.
        caches_were_cold: whether measuring evicted the kernels' data from the processor's caches. Then the fastest of
            the similar kernels is used, and no kernel takes longer than one with more work.
    """
    alike: dict[tuple[int, int], list[MeasuredKernel]] = {}
    for kernel in measured:
        first, second = _place(kernel.flops, kernel.nbytes)
        alike.setdefault((round(first / _STEP), round(second / _STEP)), []).append(kernel)
    if not alike:
        return None
    columns = [list(zip(*members, strict=True)) for _, members in sorted(alike.items())]
    flops, nbytes, starts, rests = zip(*[map(median, column[:4]) for column in columns], strict=True)
    taken = [min(column[4]) if caches_were_cold else median(column[4]) for column in columns]
    if caches_were_cold:
        taken = [
            min(
                seconds
                for seconds, more, larger in zip(taken, flops, nbytes, strict=True)
                if more >= own and larger >= size
            )
            for own, size in zip(flops, nbytes, strict=True)
        ]
    known_shares = [[share for share in column[5] if share is not None] for column in columns]
    shares = tuple(map(median, known_shares)) if all(known_shares) else ()
    return NearKernels(flops, nbytes, starts, rests, tuple(taken), shares)


def _place(flops: float, nbytes: float) -> tuple[float, float]:
    return math.log(max(flops, 1.0)), math.log(max(nbytes, 1.0))
