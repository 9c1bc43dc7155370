"""Scales with a few steps of equal ratio and round bounds: powers of two for bytes, 1-2-5 for times.

>>> scale = bytes_scale(np.array([0.0, 16.0, 3000.0, np.nan]))
>>> [scale.step_text(step) for step in range(len(scale.bounds) - 1)]
['16–64 B', '64–256 B', '256 B–1 KiB', '1–4 KiB']
>>> time_scale(np.array([12.0, 900.0])).text(900)
'900 µs'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gpuplace.views.tables.palette import SCALE_FILLS
from gpuplace.views.tables.size_text import bytes_text
from gpuplace.web.rules import RULES

MOST_STEPS = len(SCALE_FILLS)
"""Maximum number of steps: the number of shades."""
_UNITS: list[tuple[str, float]] = [(unit["unit"], unit["us"]) for unit in RULES["units"]["times"]]
_BYTES = [float(2**power) for power in range(52)]
_TIMES = [digit * 10.0**power for power in range(-3, 16) for digit in (1, 2, 5)]


@dataclass(frozen=True)
class Scale:
    """The bounds of a scale's steps."""

    unit: str
    """``"bytes"`` or ``"µs"``."""
    bounds: tuple[float, ...]
    """[steps + 1] ascending; empty if no value is above zero."""
    text: Callable[[float], str]
    """Formats a value."""

    def step_text(self, step: int) -> str:
        """Return ``4–16 KiB``, with the unit once if both bounds share it."""
        low, high = self.text(self.bounds[step]), self.text(self.bounds[step + 1])
        number, _, unit = low.partition(" ")
        return f"{number if high.endswith(f' {unit}') else low}–{high}"


def bytes_scale(values: np.ndarray) -> Scale:
    """Return a scale for [n] bytes; NaN and zero are ignored."""
    return Scale("bytes", _bounds(values, _BYTES), lambda value: bytes_text(round(value)).replace(".0 ", " "))


def time_scale(values: np.ndarray) -> Scale:
    """Return a scale for [n] microseconds; NaN and zero are ignored."""
    return Scale("µs", _bounds(values, _TIMES), time_text)


def time_text(microseconds: float) -> str:
    """Format a time.

    >>> time_text(0.25), time_text(1500), time_text(2_000_000)
    ('250 ns', '1.5 ms', '2 s')
    """
    if not microseconds:
        return "0 µs"
    unit, factor = next(filter(lambda unit: microseconds >= unit[1], _UNITS), _UNITS[-1])
    return f"{microseconds / factor:.3g} {unit}"


def _bounds(values: np.ndarray, ladder: Sequence[float]) -> tuple[float, ...]:
    """Return at most `MOST_STEPS` + 1 equally spaced rungs of a ladder around all values above zero."""
    positive = values[np.isfinite(values) & (values > 0)]
    if not len(positive):
        return ()
    low = max(0, int(np.searchsorted(ladder, positive.min(), side="right")) - 1)
    high = min(len(ladder) - 1, max(low + 1, int(np.searchsorted(ladder, positive.max(), side="right"))))
    stride = max(
        -(-(high - low) // MOST_STEPS), 1
    )  # at least one rung, even if all values are above the ladder
    count = -(-(high - low) // stride)
    first = max(0, high - count * stride)
    return tuple(ladder[min(first + step * stride, len(ladder) - 1)] for step in range(count + 1))
