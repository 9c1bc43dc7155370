"""Sort numbers with their positions, as integers that a processor can sort with vector instructions.

A number and its position become a 64-bit integer with the same order as the pair: first the bits of the number,
transformed to compare like the number, then the position. Equal numbers are therefore ordered by position.

>>> import numpy as np
>>> keys = ordered_keys(np.array([[3.0, -0.0, 0.0, 3.0]], "float32"), descending=True)
>>> positions(np.sort(keys, axis=-1)).tolist()
[[0, 3, 1, 2]]
"""

from __future__ import annotations

from typing import Any

import numpy as np

_TYPES = (np.dtype(np.float32), np.dtype(np.int32), np.dtype(np.uint32))

_POSITION_BITS = np.uint64(32)


def ordered_keys(x: Any, descending: bool = False) -> Any:
    """Return keys that sort the last axis of ``x``, with equal elements by position; None if there are none.

    Args:
        x: NumPy array; float32 without NaN, int32 and uint32 have keys.
        descending: sort the largest elements first.
    """
    if not isinstance(x, np.ndarray) or x.dtype not in _TYPES or x.shape[-1] >= 1 << 31:
        return None
    if x.dtype == np.float32:
        if np.isnan(np.min(x, initial=np.float32(0))):
            return None
        bits = (x + np.float32(0)).view(np.int32)  # now there is only one zero
        ordered = bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))
    else:
        ordered = x.view(np.int32)
    if x.dtype != np.uint32:
        ordered = ordered ^ np.int32(-(2**31))
    if descending:
        ordered = ~ordered
    keys = ordered.view(np.uint32).astype(np.uint64)
    keys <<= _POSITION_BITS
    keys |= np.arange(x.shape[-1], dtype=np.uint64)
    return keys


def positions(keys: Any) -> Any:
    """Return the positions encoded in keys, as int32."""
    return keys.astype(np.uint32).view(np.int32)
