"""Sums and factors per channel: arrays whose last axis is short, taken as longer lines.

NumPy's loops run along the last axis, and 32 channels make a short loop. Several pixels one after another are a
line, and what belongs to a channel is repeated along it::

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
"""A line has about so many elements."""

_SHORT_LINE = 1024
"""The sums of a line are first added up to one of this length."""

_PASSES = 8
"""Pieces are smaller here, as they are gone over several times."""


def as_lines(x: Any) -> tuple[Any, int]:
    """A contiguous array as a matrix of lines, and how many pixels are in one."""
    channels = x.shape[-1]
    repeat = math.gcd(x.size // max(1, channels), max(1, LINE // max(1, channels)))
    return x.reshape(x.size // max(1, repeat * channels), repeat * channels), repeat


def write_lines(count: int, line_bytes: int, piece: Callable[[slice], Any]) -> None:
    """Calls ``piece`` with slices of the lines, on several threads."""
    parts = cuts(count, line_bytes * _PASSES)
    share(lambda index: piece(parts[index]), len(parts))


def sums_of(count: int, line_bytes: int, channels: int, piece: Callable[[slice], Any]) -> Any:
    """Per channel, the sums of the lines that ``piece`` returns, in the order of the pieces."""
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
    """Whether ``as_lines`` makes a single line of an array of that size: its sums are then one reduction."""
    return bool(pixels and channels) and max(1, LINE // (channels or 1)) % (pixels or 1) == 0


def channel_sums(xp: Any, x: Any) -> Any:
    """The sum over all axes but the last one."""
    axes = tuple(range(x.ndim - 1))
    if xp is not np or not x.size or not x.flags.c_contiguous or x.dtype.itemsize == 2:
        return x.sum(axis=axes, dtype=x.dtype)
    lines, _ = as_lines(x)
    if len(lines) == 1:
        return xp.add.reduce(lines.reshape(-1, x.shape[-1]), axis=0, dtype=x.dtype)
    return sums_of(len(lines), lines.strides[0], x.shape[-1], lambda part: lines[part])
