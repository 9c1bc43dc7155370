"""Measure text in Arial (Liberation Sans, Helvetica), so that box sizes are known before drawing.

>>> text_width("iiii", 10) < text_width("MMMM", 10)
True
>>> fitted("gradients/tower_0/MatMul", 60, 9)
'gradie…atMul'

The widths are those of the Adobe font metrics of Helvetica, in thousandths of the size. Letters outside ASCII count as
average ones, and wide ones (East Asian) as a full square.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from gpuplace.views.tables.text import shortened

_ASCII = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278"
    " 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667"
    " 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333"
    " 500 278 556 500 722 500 500 500 334 260 334 584"
)
_WIDTHS = {chr(32 + i): int(width) for i, width in enumerate(_ASCII.split())}
_OTHERS = {
    "·": 333,
    "…": 1000,
    "→": 1000,
    "×": 584,
    "≠": 549,
    "–": 556,
    "▸": 500,
    "◆": 790,
    "●": 790,
    "✖": 830,
}
_BOLD = 1.08
"""Width ratio of bold letters."""


@lru_cache(maxsize=20_000)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """Return the width of a text in points, in a font of `size` points."""
    total = 0
    for char in text:
        width = _WIDTHS.get(char) or _OTHERS.get(char)
        if width is None:
            width = (
                1000
                if unicodedata.east_asian_width(char) in "WF"
                else 0
                if unicodedata.combining(char)
                else 600
            )
        total += width
    return total * size / 1000 * (_BOLD if bold else 1.0)


def fitted(text: str, width: float, size: float) -> str:
    """Return the text, without its middle if it is wider than `width` points."""
    kept = text
    room = len(text)
    while room > 3 and text_width(kept, size) > width:
        room -= 1
        kept = shortened(text, room)
    return kept
