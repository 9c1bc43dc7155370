"""Number repeated values, so that columns hold numbers and each value is stored once.

>>> number = Interner()
>>> [number(device) for device in ("CPU:0", "GPU:0", "CPU:0")], number.values
([0, 1, 0], ['CPU:0', 'GPU:0'])
"""

from __future__ import annotations

from typing import Any


class Interner:
    """Assigns numbers to values; equal values have the same number."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}

    def __call__(self, value: Any) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    @property
    def values(self) -> list[Any]:
        """The distinct values, by number."""
        return list(self.numbers)
