"""CRC-32C, the checksum of TensorFlow's files, computed in NumPy for long data.

Long data are cut into lanes that are worked on together, four bytes at a time; their remainders are then joined in
pairs, since that of ``ab`` is that of ``a``, moved by the length of ``b``, plus that of ``b``::

    lanes   aaaa bbbb cccc dddd        a' = a moved by one lane ^ b      c' = c moved by one lane ^ d
            └──┬─┘    └──┬─┘
               a'        c'            a' moved by two lanes ^ c'

>>> hex(crc32c(b"123456789"))
'0xe3069283'
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
_LANE = 1024
"""Bytes of a lane."""
_CHUNK = 4096 * _LANE
"""Bytes that are worked on together, so that they stay in a processor's cache."""
_SHORT = 16 * _LANE
"""Bytes for which a loop takes no longer than the lanes do."""


def crc32c(data: Any, before: int = 0) -> int:
    """The checksum of some bytes.

    Args:
        data: bytes, or anything that lies in memory like them, an array for example.
        before: the checksum of the data before them, to be continued.
    """
    octets = np.frombuffer(data, np.uint8)
    state = before ^ _ALL
    at = 0
    if len(octets) >= _SHORT:
        while len(octets) - at >= _LANE:
            size = min(_CHUNK, (len(octets) - at) // _LANE * _LANE)
            state = _of_lanes(octets[at : at + size], state)
            at += size
    table = _byte_tables()[0].tolist()
    for octet in octets[at:].tolist():
        state = table[(state ^ octet) & 0xFF] ^ (state >> 8)
    return int(state) ^ _ALL


def mask(checksum: int) -> int:
    """A checksum as it is stored: one over data that hold checksums would be weak.

    Args:
        checksum: what `crc32c` returns.
    """
    return ((checksum >> 15 | checksum << 17) + _MASK_DELTA) & _ALL


def unmask(stored: int) -> int:
    """The checksum that is stored as a number.

    Args:
        stored: what `mask` returned.
    """
    rotated = (stored - _MASK_DELTA) & _ALL
    return (rotated >> 17 | rotated << 15) & _ALL


def _of_lanes(octets: Any, state: int) -> int:
    """The state after whole lanes."""
    low, high = _word_tables()
    words = np.ascontiguousarray(octets.view("<u4").reshape(-1, _LANE // 4).T)
    states = np.zeros(words.shape[1], np.uint32)
    states[0] = state
    for column in words:
        states ^= column
        states = low[states & 0xFFFF] ^ high[states >> 16]
    level = 0
    while len(states) > 1:
        if len(states) % 2:  # a lane of nothing before the first changes nothing
            states = np.concatenate([np.zeros(1, np.uint32), states])
        states = _moved(states[::2], _lane_moves(level)) ^ states[1::2]
        level += 1
    return int(states[0])


@functools.cache
def _byte_tables() -> Any:
    """What a byte makes of the state, and what it makes when one, two and three more bytes follow, [4, 256]."""
    values: Any = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        values = (values >> 1) ^ np.where(values & 1, np.uint32(_POLYNOMIAL), np.uint32(0))
    tables = [values]
    for _ in range(3):
        tables.append((tables[-1] >> 8) ^ values[tables[-1] & 0xFF])
    return np.stack(tables)


@functools.cache
def _word_tables() -> tuple[Any, Any]:
    """What four bytes make of the state: by the lower and the upper half, [65536] each."""
    last, third, second, first = _byte_tables()
    values = np.arange(1 << 16)
    return first[values & 0xFF] ^ second[values >> 8], third[values & 0xFF] ^ last[values >> 8]


@functools.cache
def _lane_moves(level: int) -> Any:
    """What ``2 ** level`` lanes of zeros make of each bit of the state, [32]."""
    if level:
        half = _lane_moves(level - 1)
        return _moved(half, half)
    low, high = _word_tables()
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for _ in range(_LANE // 4):
        bits = low[bits & 0xFFFF] ^ high[bits >> 16]
    return bits


def _moved(states: Any, moves: Any) -> Any:
    """States after zeros, by what those make of each bit."""
    result = np.zeros_like(states)
    for bit in range(32):
        result ^= np.where(states >> np.uint32(bit) & 1, moves[bit], np.uint32(0))
    return result
