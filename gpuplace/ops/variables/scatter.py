"""Array updates for the scatter ops of reference and resource variables.

>>> import numpy as np
>>> scattered(np, "add", np.zeros(3), np.array([2, 0, 2]), np.array([1.0, 2.0, 3.0]))
array([2., 0., 4.])
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.shapes import brackets
from gpuplace.typing import Array, ArrayModule

METHODS = ("update", "add", "sub", "mul", "div", "min", "max")
"""Update methods; each has an op of that name."""

UFUNCS = {"add": "add", "sub": "subtract", "min": "minimum", "max": "maximum"}
"""Reductions for which both NumPy and CuPy have an unbuffered ``ufunc.at``."""

_LONG_ROW = 256
"""From this row length on, a function call per row is faster than work within rows."""

_POSITIONS = 1 << 18
"""Maximum number of elements to process at once."""


def scattered(
    xp: Any, method: str, array: Array, indices: Array, updates: Array, *, in_place: bool = False
) -> Array:
    """Return ``array`` with ``updates`` applied to its rows ``indices``; updates of equal indices are all applied.

    Args:
        xp: numpy or cupy.
        method: ``update``, ``add``, ``sub``, ``mul``, ``div``, ``min`` or ``max``.
        array: ``[rows, ...]``.
        indices: integers of any shape.
        updates: ``indices.shape + array.shape[1:]``, or a scalar.
        in_place: whether to change ``array`` itself.

    Raises:
        InvalidArgumentError: shapes do not match, or an index is out of range.
    """
    check_indices(xp, indices, array.shape[0])
    if updates.ndim and updates.shape != indices.shape + array.shape[1:]:
        raise InvalidArgumentError.of(
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
            f"updates.shape {brackets(updates.shape)}, indices.shape {brackets(indices.shape)}, "
            f"params.shape {brackets(array.shape)}"
        )
    return apply_at(xp, method, array if in_place else array.copy(), indices, updates)


def apply_at(xp: ArrayModule, method: str, array: Array, index: Any, updates: Array) -> Array:
    """Apply ``updates`` to ``array[index]`` in place, in sequence for repeated positions; return the array."""
    if method == "update":
        array[index] = updates
    elif method in UFUNCS:
        _at(xp, getattr(xp, UFUNCS[method]), array, index, updates)
    elif method == "mul" and xp is np:
        _at(xp, np.multiply, array, index, updates)
    else:
        _one_by_one(xp, method, array, index, updates)
    return array


def _at(xp: ArrayModule, ufunc: Any, array: Array, index: Any, updates: Array) -> None:
    """Apply ``ufunc.at`` row by row for long rows, otherwise by elements, which is several times faster."""
    parts = index if isinstance(index, tuple) else (index,)
    inner = array.shape[len(parts) :]
    width = math.prod(inner)
    if xp is not np or not array.flags.c_contiguous or not width or not array.ndim:
        ufunc.at(array, index, updates)
        return
    rows = np.ravel_multi_index(parts, array.shape[: len(parts)]).reshape(-1)
    values = np.broadcast_to(updates, parts[0].shape + inner).reshape(rows.size, width)
    if width >= _LONG_ROW:
        matrix = array.reshape(-1, width)
        for row, value in zip(rows.tolist(), values, strict=True):
            target = matrix[row]
            ufunc(target, value, out=target)
        return
    flat = array.reshape(-1)
    columns = np.arange(width)
    for start in range(0, rows.size, step := max(1, _POSITIONS // width)):
        some = slice(start, start + step)
        ufunc.at(flat, (rows[some, None] * width + columns).reshape(-1), values[some].reshape(-1))


def _one_by_one(xp: ArrayModule, method: str, array: Array, index: Array, updates: Array) -> None:
    """Apply updates in sequence: for quotients, and for products in CuPy, which has no unbuffered ufunc for them."""
    parts = index if isinstance(index, tuple) else (index,)
    count = parts[0].size
    flat = [part.reshape(-1) for part in parts]
    inner = array.shape[len(parts) :]
    rows = xp.broadcast_to(updates, parts[0].shape + inner).reshape((count, *inner))
    for i in range(count):
        at = tuple(int(part[i]) for part in flat)
        array[at] = array[at] * rows[i] if method == "mul" else array[at] / rows[i]


def check_indices(xp: ArrayModule, indices: Array, limit: int) -> None:
    """Raise InvalidArgumentError if an index is negative or not below ``limit``."""
    if not indices.size or (int(indices.min()) >= 0 and int(indices.max()) < limit):
        return
    position = int(xp.argmax((indices < 0) | (indices >= limit)))
    value = int(indices.reshape(-1)[position])
    where: list[int] = []
    for size in reversed(indices.shape):
        position, at = divmod(position, size)
        where.insert(0, at)
    raise InvalidArgumentError.of(f"indices[{','.join(map(str, where))}] = {value} is not in [0, {limit})")
