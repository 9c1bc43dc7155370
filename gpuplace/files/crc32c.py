"""CRC-32C, the checksum of TensorFlow's files, and its masked form.

Long data are split into lanes, which NumPy processes together, four bytes at a time. The remainders are then merged in
pairs: the remainder of ``ab`` is that of ``a``, shifted by the length of ``b``, plus that of ``b``::

    lanes   0aaa bbbb cccc dddd        a' = a moved by one lane ^ b      c' = c moved by one lane ^ d
            └──┬─┘    └──┬─┘
               a'        c'            a' moved by two lanes ^ c'

Leading zeros have no effect, so the first lane, and the first of an odd number of lanes, may be padded with zeros.

>>> hex(crc32c(b"123456789"))
'0xe3069283'
>>> crc32c(b"123456789" * 1000) == crc32c(b"123456789" * 500, crc32c(b"123456789" * 500))
True
>>> unmask(mask(0xE3069283)) == 0xE3069283
True

Source: RFC 3720, appendix B.4 (the polynomial); tensorflow/core/lib/hash/crc32c.h, release 1.15 (the mask).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

__all__ = ["crc32c", "mask", "unmask"]

_POLYNOMIAL = 0x82F63B78
_ALL = 0xFFFFFFFF
_MASK_DELTA = 0xA282EAD8
_CHUNK = 1 << 22
"""Number of bytes processed together, so that they stay in the processor's cache."""
_MAX_LANE = 10
"""Base-2 logarithm of the maximum lane length in bytes."""
_SHORT = 1024
"""Number of bytes for which a loop is as fast as lanes."""


def crc32c(data: Any, before: int = 0) -> int:
    """Return the CRC-32C checksum of some bytes.

    Args:
        data: bytes or any buffer, such as an array.
        before: checksum of the preceding data, to continue it.

    Returns:
        32 bits.
    """
    octets = data if isinstance(data, bytes) and len(data) <= _SHORT else np.frombuffer(data, np.uint8)
    state = before ^ _ALL
    start, end = 0, len(octets) % _CHUNK or _CHUNK
    while start < len(octets):
        piece = octets[start:end]
        state = _of_lanes(piece, state) if len(piece) > _SHORT else _of_bytes(piece, state)
        start, end = end, end + _CHUNK
    return state ^ _ALL


def mask(checksum: int) -> int:
    """Return a checksum in its stored form: a checksum over data that contain plain checksums would be weak.

    Args:
        checksum: result of `crc32c`.
    """
    return ((checksum >> 15 | checksum << 17) + _MASK_DELTA) & _ALL


def unmask(stored: int) -> int:
    """Return the checksum of a stored number.

    Args:
        stored: result of `mask`.
    """
    rotated = (stored - _MASK_DELTA) & _ALL
    return (rotated >> 17 | rotated << 15) & _ALL


def _of_bytes(octets: Any, state: int) -> int:
    """Return the state after some bytes, processed one by one."""
    table = _byte_list()
    for octet in octets if isinstance(octets, bytes) else octets.tolist():
        state = table[(state ^ octet) & 0xFF] ^ (state >> 8)
    return state


def _of_lanes(octets: Any, state: int) -> int:
    """Return the state after some bytes, at least four, processed in lanes."""
    level = min(max(len(octets).bit_length() // 2, 5), _MAX_LANE)
    lane = 1 << level
    count = -(-len(octets) // lane)
    start = count * lane - len(octets)
    padded = np.zeros(count * lane, np.uint8)
    padded[start:] = octets
    padded[start : start + 4] ^= np.frombuffer(state.to_bytes(4, "little"), np.uint8)
    low, high = _word_tables()
    states = np.zeros(count, np.uint32)
    for column in np.ascontiguousarray(padded.view("<u4").reshape(count, -1).T):
        states ^= column
        states = low[states & 0xFFFF] ^ high[states >> 16]
    while len(states) > 1:
        if len(states) % 2:
            states = np.concatenate([np.zeros(1, np.uint32), states])
        states = _moved(states[::2], level) ^ states[1::2]
        level += 1
    return int(states[0])


@functools.cache
def _byte_tables() -> Any:
    """Return the effect of a byte on the state, followed by 0 to 3 more bytes, [4, 256]."""
    values: Any = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = (values >> 1) ^ np.where(values & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
    tables = [values]
    for _ in range(3):
        tables.append((tables[-1] >> 8) ^ values[tables[-1] & 0xFF])
    return np.stack(tables)


@functools.cache
def _byte_list() -> list[int]:
    """Return the effect of a byte on the state as a list, to process bytes one by one."""
    return _byte_tables()[0].tolist()


@functools.cache
def _word_tables() -> tuple[Any, Any]:
    """Return the effect of four bytes on the state, by lower and upper half, [65536] each."""
    last, third, second, first = _byte_tables()
    values = np.arange(1 << 16)
    return first[values & 0xFF] ^ second[values >> 8], third[values & 0xFF] ^ last[values >> 8]


def _moved(states: Any, level: int) -> Any:
    """Return the states after ``2 ** level`` zeros."""
    first, second, third, last = _moves(level)
    return first[states & 0xFF] ^ second[states >> 8 & 0xFF] ^ third[states >> 16 & 0xFF] ^ last[states >> 24]


@functools.cache
def _moves(level: int) -> Any:
    """Return the effect of ``2 ** level`` zeros, at least four, on each byte of the state, [4, 256]."""
    values = np.arange(256, dtype=np.uint32)
    states = np.stack([values << np.uint32(8 * place) for place in range(4)])
    if level > 2:
        return _moved(_moved(states, level - 1), level - 1)
    low, high = _word_tables()
    return low[states & 0xFFFF] ^ high[states >> 16]
