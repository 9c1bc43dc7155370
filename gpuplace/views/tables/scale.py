"""A number in a few steps of equal ratio, with round bounds: bytes by powers of two, times by 1, 2, 5.

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
"""As many as a scale has shades."""
_UNITS: list[tuple[str, float]] = [(one["unit"], one["us"]) for one in RULES["units"]["times"]]
_BYTES = [float(2**power) for power in range(52)]
_TIMES = [digit * 10.0**power for power in range(-3, 16) for digit in (1, 2, 5)]


@dataclass(frozen=True)
class Scale:
    """Bounds of the steps."""

    unit: str
    """``"bytes"`` or ``"µs"``."""
    bounds: tuple[float, ...]
    """[steps + 1] ascending; empty where there is nothing above zero."""
    text: Callable[[float], str]
    """A value in words."""

    def step_text(self, step: int) -> str:
        """``4–16 KiB``; the unit once where both bounds have it."""
        low, high = self.text(self.bounds[step]), self.text(self.bounds[step + 1])
        number, _, unit = low.partition(" ")
        return f"{number if high.endswith(f' {unit}') else low}–{high}"


def bytes_scale(values: np.ndarray) -> Scale:
    """Steps for [n] bytes; NaN and zero are left out."""
    return Scale("bytes", _bounds(values, _BYTES), lambda value: bytes_text(round(value)).replace(".0 ", " "))


def time_scale(values: np.ndarray) -> Scale:
    """Steps for [n] microseconds; NaN and zero are left out."""
    return Scale("µs", _bounds(values, _TIMES), time_text)


def time_text(microseconds: float) -> str:
    """A time in words.

    >>> time_text(0.25), time_text(1500), time_text(2_000_000)
    ('250 ns', '1.5 ms', '2 s')
    """
    if not microseconds:
        return "0 µs"
    unit, factor = next(filter(lambda unit: microseconds >= unit[1], _UNITS), _UNITS[-1])
    return f"{microseconds / factor:.3g} {unit}"


def _bounds(values: np.ndarray, ladder: Sequence[float]) -> tuple[float, ...]:
    """Rungs at equal distance, at most `MOST_STEPS` + 1 of them, around all that is above zero."""
    known = values[np.isfinite(values) & (values > 0)]
    if not len(known):
        return ()
    low = max(0, int(np.searchsorted(ladder, known.min(), side="right")) - 1)
    high = min(len(ladder) - 1, max(low + 1, int(np.searchsorted(ladder, known.max(), side="right"))))
    apart = max(-(-(high - low) // MOST_STEPS), 1)  # all are above the ladder
    count = -(-(high - low) // apart)
    first = max(0, high - count * apart)
    return tuple(ladder[min(first + step * apart, len(ladder) - 1)] for step in range(count + 1))
