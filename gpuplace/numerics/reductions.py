"""Reductions over axes for which NumPy's loops would be short.

NumPy's loops run along the last axis. If that axis is kept and short, several pixels are first reduced as one line. If
it is reduced and short, its columns are processed one after the other::

    [16, 16384, 4] over axis 1   -->  [16, 64, 1024] over axis 1  -->  [16, 256, 4] over axis 1
    [131072, 8]    over axis 1   -->  column 0 + column 1 + ... + column 7

>>> import numpy as np
>>> x = np.arange(120000.0).reshape(2, 15000, 4)
>>> bool((reduced(np, "sum", x, (1,)) == x.sum(axis=1)).all())
True
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuplace.typing import Array, ArrayModule

LARGE = 1 << 14
"""Number of elements below which plain NumPy is as fast."""

_SHORT = 32
"""Length below which a loop is short."""

_LINE = 1024
"""Approximate number of elements of a line."""


def reduced(xp: ArrayModule, how: str, x: Array, axes: tuple[int, ...]) -> Array:
    """Return the sum or product over axes, in the type of ``x``.

    Args:
        xp: numpy or cupy.
        how: ``"sum"`` or ``"prod"``.
        x: numbers.
        axes: axes to reduce, not negative.
    """
    if xp is not np:
        return getattr(xp, how)(x, axis=axes, dtype=x.dtype)
    shape = _as_three(x, axes) if x.size >= LARGE and x.flags.c_contiguous else None
    if shape is None:
        return (np.add if how == "sum" else np.multiply).reduce(x, axis=axes, dtype=x.dtype)
    kept = [size for axis, size in enumerate(x.shape) if axis not in axes]
    return _middle(np.add if how == "sum" else np.multiply, x.reshape(shape)).reshape(kept)


def _as_three(x: Any, axes: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Return the sizes before, of and after the axes; None if they are not adjacent, or loops are long anyway."""
    first, last = min(axes), max(axes)
    if last - first + 1 != len(axes):
        return None
    sizes = [math.prod(part) for part in (x.shape[:first], x.shape[first : last + 1], x.shape[last + 1 :])]
    return (sizes[0], sizes[1], sizes[2]) if sizes[2] < _SHORT else None


def _middle(function: Any, x: Any) -> Any:
    """Reduce the middle one of three axes."""
    before, count, behind = x.shape
    if behind == 1 and 0 < count < _SHORT:
        result = x[:, 0].copy()
        for index in range(1, count):
            function(result, x[:, index], out=result)
        return result
    repeat = math.gcd(count, _LINE // behind)
    if repeat * behind >= _SHORT and count > repeat and (behind > 1 or function is not np.add):
        x = function.reduce(x.reshape(before, -1, repeat * behind), axis=1, dtype=x.dtype)
        x = x.reshape(before, repeat, behind)
    return function.reduce(x, axis=1, dtype=x.dtype)
