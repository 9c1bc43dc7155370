"""Sliding windows that move by several pixels: which of their positions see pixels of the same remainder.

Of a window of five that moves by two, the positions 0, 2 and 4 see the even pixels of an axis, and neighbouring
windows see neighbouring ones of them; so they do in a window that moves by one over the even pixels alone::

    pixels   0 1 2 3 4 5 6 7        even   0 2 4 6        odd   1 3 5 7
    windows  a b a b a                     a a a                b b
                 a b a b a                   a a a                b b

>>> [(phase.taps, phase.count, phase.remainder, phase.first, phase.gap) for phase in phases(5, 2, 1)]
[(slice(0, 5, 2), 3, 0, 0, 1), (slice(1, 5, 2), 2, 1, 0, 1)]
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Phase:
    """The positions of a window along one axis that see pixels of one remainder by the stride."""

    taps: slice
    """The positions."""
    count: int
    """How many they are."""
    remainder: int
    first: int
    """Which pixel of that remainder the first one sees."""
    gap: int
    """How many pixels of that remainder further each next one sees."""


def phases(taps: int, stride: int, dilation: int) -> list[Phase]:
    """All positions of a window along one axis, by remainder."""
    step = stride // math.gcd(stride, dilation)
    return [
        Phase(
            slice(tap, taps, step),
            -(-(taps - tap) // step),
            tap * dilation % stride,
            tap * dilation // stride,
            step * dilation // stride,
        )
        for tap in range(min(step, taps))
    ]


@dataclass(frozen=True)
class WayBack:
    """The way back along one axis, from the output to the pixels of one remainder."""

    phase: Phase
    taps: slice
    """The positions, the last one first."""
    pixels: slice
    """Where the pixels are in the image."""
    count: int
    """How many they are."""
    first: int
    """Which output the last position has for the first pixel; outside the output are zeros."""
    stop: int
    """Up to which output the positions go."""

    @classmethod
    def of(cls, phase: Phase, stride: int, before: int, size: int) -> WayBack:
        """The way for an image of that size, which has a border before it."""
        start = -((phase.remainder - before) // stride)
        stop = max(start, -((phase.remainder - before - size) // stride))
        pixel = start * stride + phase.remainder - before
        taps = list(range(phase.taps.start, phase.taps.stop, phase.taps.step))
        return cls(
            phase,
            slice(taps[-1], None if taps[0] - phase.taps.step < 0 else taps[0] - 1, -phase.taps.step),
            slice(pixel, pixel + (stop - start) * stride, stride),
            stop - start,
            start - phase.first - (phase.count - 1) * phase.gap,
            stop - phase.first,
        )
