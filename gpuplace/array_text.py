"""Formatting of arrays in TensorFlow's messages.

>>> import numpy as np
>>> summary(np.array([[1, 2], [3, 4]]), 3)
'[1 2][3...]...'

Source: tensorflow/core/framework/tensor.cc (``SummarizeValue``), release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def summary(array: Any, entries: int) -> str:
    """Return the first elements of an array, with rows in brackets.

    Args:
        array: array of any dtype and shape.
        entries: number of elements; negative: all.
    """
    flat = array.reshape(-1).tolist()
    shown = flat if entries < 0 else flat[:entries]
    if array.dtype == object:
        parts = [
            value.decode(errors="replace") if isinstance(value, bytes) else str(value) for value in shown
        ]
    elif array.dtype.kind == "b":
        parts = [str(int(value)) for value in shown]
    elif array.dtype.kind == "f":
        parts = [_shortest(value, array.dtype) for value in shown]
    else:
        parts = [str(value) for value in shown]
    more = "..." if len(shown) < len(flat) else ""
    if array.ndim <= 1:
        return " ".join(parts) + more
    pieces: list[str] = []
    _rows(parts, array.shape, 0, 0, pieces)
    return "".join(pieces) + more


def _shortest(value: float, dtype: Any) -> str:
    """Format a value with the fewer digits that identify it, of the two precisions that TensorFlow tries."""
    short, long = ("%.15g", "%.17g") if dtype.itemsize == 8 else ("%.6g", "%.8g")
    text = short % value
    return text if dtype.type(float(text)) == dtype.type(value) or value != value else long % value


def _rows(parts: list[str], shape: Sequence[int], axis: int, taken: int, pieces: list[str]) -> int:
    """Append rows in brackets, ``[1 2][3...]``, until ``parts`` are used up; return the number of used parts."""
    for index in range(shape[axis]):
        if axis == len(shape) - 1:
            if taken == len(parts):
                pieces.append("..." if index else "")
                return taken
            pieces.append((" " if index else "") + parts[taken])
            taken += 1
        elif taken < len(parts):
            pieces.append("[")
            taken = _rows(parts, shape, axis + 1, taken, pieces)
            pieces.append("]")
    return taken
