"""Phases of strided sliding windows: the positions in a window that see pixels of the same remainder by the stride.

In a window of five with stride 2, the positions 0, 2 and 4 see the even pixels of an axis. Neighboring windows see
neighboring even pixels, like a window with stride 1 over the even pixels alone::

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
    """The positions in a window along one axis that see pixels of the same remainder by the stride."""

    taps: slice
    """The positions in the window."""
    count: int
    """Their number."""
    remainder: int
    first: int
    """The index, among the pixels of that remainder, of the first position's pixel."""
    gap: int
    """The distance between the pixels of successive positions, among those of that remainder."""


def phases(taps: int, stride: int, dilation: int) -> list[Phase]:
    """Return the phases of a window along one axis, by remainder."""
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
class BackwardPhase:
    """A phase of the way back along one axis, from the output to the pixels of one remainder."""

    phase: Phase
    taps: slice
    """The positions in the window, the last one first."""
    pixels: slice
    """The pixels in the image."""
    count: int
    """Their number."""
    first: int
    """The output of the last position for the first pixel; the output counts as zero outside its range."""
    stop: int
    """The end of the output range of the positions."""

    @classmethod
    def of(cls, phase: Phase, stride: int, before: int, size: int) -> BackwardPhase:
        """Return the way back for an image of that size with a border before it."""
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
