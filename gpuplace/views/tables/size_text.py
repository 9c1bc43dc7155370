"""Sizes as text.

>>> bytes_text(24), bytes_text(3 << 20), bytes_text(None)
('24 B', '3.0 MiB', 'unknown size')
"""

from __future__ import annotations

from gpuplace.web.rules import RULES, words

_UNITS: tuple[str, ...] = tuple(RULES["units"]["bytes"])


def bytes_text(nbytes: int | None) -> str:
    """Format a number of bytes with a readable unit.

    Args:
        nbytes: the number of bytes; None if unknown.
    """
    if nbytes is None:
        return words("unknown_size")
    size = float(nbytes)
    for unit in _UNITS:
        if abs(size) < 1024 or unit == _UNITS[-1]:
            break
        size /= 1024
    return f"{nbytes} B" if unit == "B" else f"{size:.1f} {unit}"
