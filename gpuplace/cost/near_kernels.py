"""What measured kernels of one type of op say of others: a line's error at a kernel is that of its neighbours.

Kernels are points by the logarithms of their operations and bytes. Between them the logarithm of measured over
predicted time is a mean, weighted by the inverse of the distance; beyond them it is that of the outermost::

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
"""Kernels that differ by less than this, in both logarithms, are one point."""
_NEAR = 0.25
"""Within this distance a point counts as much as one at the kernel."""
_LEAST_START = 5e-7
_LEAST_SHARE = 0.1
"""Of a start that is left where more is taken off than it was."""


class MeasuredKernel(NamedTuple):
    """One kernel that ran."""

    flops: float
    """Its operations."""
    nbytes: float
    """Bytes that it reads and writes."""
    start: float
    """Seconds of its line's start."""
    rest: float
    """Seconds of its line beside that."""
    taken: float
    """Seconds that it took."""
    share: float | None = None
    """Of these: the part in which it had all cores; None: not measured."""


@dataclass(frozen=True, eq=False)
class NearKernels:
    """Measured kernels of one type of op."""

    FIGURES: ClassVar[tuple[str, ...]] = ("flops", "nbytes", "starts", "rests", "taken", "shares")
    """Names of what it is made of."""
    flops: tuple[float, ...]
    """Operations of each."""
    nbytes: tuple[float, ...]
    """Bytes read and written."""
    starts: tuple[float, ...]
    """Seconds of its line's start."""
    rests: tuple[float, ...]
    """Seconds of its line beside that."""
    taken: tuple[float, ...]
    """Seconds that it took."""
    shares: tuple[float, ...] = ()
    """Of that time: the part in which it had all cores; none: not measured."""
    _weights: dict[tuple[float, float], Array] = field(default_factory=dict)
    """What is known already: the weight of each point, by operations and bytes."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NearKernels) and self.figures() == other.figures()

    __hash__ = None  # type: ignore[assignment]

    def figures(self) -> dict[str, tuple[float, ...]]:
        """All that it is made of, by name."""
        return {name: getattr(self, name) for name in self.FIGURES}

    @cached_property
    def start(self) -> float:
        """What a kernel takes that has nothing to do; of larger ones the part that the start has of their line."""
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
        """Returns what a kernel takes.

        Args:
            flops: its operations.
            nbytes: bytes that it reads and writes.
            line: seconds by its line.
        """
        weights = self._weights_at(flops, nbytes)
        return max(max(line, _LEAST_START) * math.exp(float(weights @ self._errors)), self.start)

    def share(self, flops: float, nbytes: float) -> float | None:
        """Returns the part of its time in which a kernel has all cores; None: that was not measured.

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
        """The kernels by lines whose starts and prices are changed alike.

        Args:
            starts: what the time of a kernel that has nothing to do is multiplied by.
            rest: what all that comes on top is multiplied by.
            less: what each start is shorter then; a part of it stays in any case.
        """
        start = self.start
        shorter = shortened(starts * start, less)
        return replace(
            self,
            starts=tuple(shortened(starts * one, less) for one in self.starts),
            rests=tuple(rest * one for one in self.rests),
            taken=tuple(shorter + rest * (one - start) for one in self.taken),
        )


def shortened(start: float, less: float) -> float:
    """A start with so much taken off; a part of it stays.

    Args:
        start: seconds.
        less: seconds.
    """
    return max(start - less, _LEAST_SHARE * start)


def near_kernels(measured: Iterable[MeasuredKernel], coldly: bool = False) -> NearKernels | None:
    """Returns what measured kernels say, those that are alike as one by their median; None: there are none.

    Args:
        measured: the kernels.
        coldly: whether what was done between kernels, to measure them, left them little in the processor's caches. Then
            the quickest of those that are alike counts, and none takes longer than one that has more to do.
    """
    alike: dict[tuple[int, int], list[MeasuredKernel]] = {}
    for one in measured:
        first, second = _place(one.flops, one.nbytes)
        alike.setdefault((round(first / _STEP), round(second / _STEP)), []).append(one)
    if not alike:
        return None
    columns = [list(zip(*found, strict=True)) for _, found in sorted(alike.items())]
    flops, nbytes, starts, rests = zip(*[map(median, column[:4]) for column in columns], strict=True)
    taken = [min(column[4]) if coldly else median(column[4]) for column in columns]
    if coldly:
        taken = [
            min(
                seconds
                for seconds, more, larger in zip(taken, flops, nbytes, strict=True)
                if more >= own and larger >= size
            )
            for own, size in zip(flops, nbytes, strict=True)
        ]
    known = [[share for share in column[5] if share is not None] for column in columns]
    shares = tuple(map(median, known)) if all(known) else ()
    return NearKernels(flops, nbytes, starts, rests, tuple(taken), shares)


def _place(flops: float, nbytes: float) -> tuple[float, float]:
    return math.log(max(flops, 1.0)), math.log(max(nbytes, 1.0))
