"""Sums and factors for each channel: arrays with a short last axis are processed as longer lines.

NumPy's loops run along the last axis, and 32 channels are a short loop. Several successive pixels form a line, and the
values of the channels are repeated along it::

    [batch, height, width, 32]  -->  [lines, 16384],    factors of 32 channels  -->  512 times over: 16384

>>> import numpy as np
>>> channel_sums(np, np.ones((2, 3, 4, 5), "float32")).tolist()
[24.0, 24.0, 24.0, 24.0, 24.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.numerics.pieces import cuts
from gpuplace.numerics.threads import share

LINE = 16384
"""Approximate number of elements of a line."""

_SHORT_LINE = 1024
"""Length to which the sums of a line are reduced first."""

_PASSES = 8
"""Size of a piece; smaller than elsewhere, since each piece is read several times."""


def as_lines(x: Any) -> tuple[Any, int]:
    """Return a contiguous array as a matrix of lines, and the number of pixels in a line."""
    channels = x.shape[-1]
    repeat = math.gcd(x.size // max(1, channels), max(1, LINE // max(1, channels)))
    return x.reshape(x.size // max(1, repeat * channels), repeat * channels), repeat


def write_lines(count: int, line_bytes: int, piece: Callable[[slice], Any]) -> None:
    """Call ``piece`` with slices of the lines, on several threads."""
    parts = cuts(count, line_bytes * _PASSES)
    share(lambda index: piece(parts[index]), len(parts))


def sums_of(count: int, line_bytes: int, channels: int, piece: Callable[[slice], Any]) -> Any:
    """Return the sums for each channel of the lines that ``piece`` returns, in the order of the pieces."""
    parts = cuts(count, line_bytes * _PASSES)
    found: list[Any] = [None] * len(parts)

    def add_up(index: int) -> None:
        lines = piece(parts[index])
        sums = lines.sum(axis=0, dtype=lines.dtype)
        if sums.size > _SHORT_LINE and sums.size % _SHORT_LINE == 0 and _SHORT_LINE % channels == 0:
            sums = sums.reshape(-1, _SHORT_LINE).sum(axis=0, dtype=lines.dtype)
        found[index] = sums.reshape(-1, channels).sum(axis=0, dtype=lines.dtype)

    share(add_up, len(parts))
    return sum(found[1:], found[0])


def is_one_line(pixels: int | None, channels: int | None) -> bool:
    """Return whether ``as_lines`` makes an array of that size a single line, whose sums are one reduction."""
    return bool(pixels and channels) and max(1, LINE // (channels or 1)) % (pixels or 1) == 0


def channel_sums(xp: Any, x: Any) -> Any:
    """Return the sum over all axes except the last."""
    axes = tuple(range(x.ndim - 1))
    if xp is not np or not x.size or not x.flags.c_contiguous or x.dtype.itemsize == 2:
        return x.sum(axis=axes, dtype=x.dtype)
    lines, _ = as_lines(x)
    if len(lines) == 1:
        return xp.add.reduce(lines.reshape(-1, x.shape[-1]), axis=0, dtype=x.dtype)
    return sums_of(len(lines), lines.strides[0], x.shape[-1], lambda part: lines[part])
