"""CRC-32C, the checksum of TensorFlow's files, and its masked form.

A register of 32 bits takes in a byte by one look into a table. That is linear, so a long text is cut into rows that are
worked on side by side, byte for byte, and joined: what a row leaves is moved on by the length of the next one::

    text      0 0 0 . . . . | . . . . . . . | . . . . . . .      zeros in front change nothing
    columns   ──> one look into the table for all rows
    joined    ((row 0 moved on) xor row 1) moved on xor row 2

>>> hex(crc32c(b"123456789"))
'0xe3069283'
>>> crc32c(b"123456789" * 1000) == crc32c(b"9" * 0 + b"123456789" * 500, crc32c(b"123456789" * 500))
True
>>> unmask(mask(7))
7

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
_SHORT = 512
"""Up to so many bytes one after the other."""


@functools.cache
def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


def _plain(data: bytes, register: int) -> int:
    table = _table()
    for byte in data:
        register = table[(register ^ byte) & 0xFF] ^ register >> 8
    return register


def crc32c(data: Any, before: int = 0) -> int:
    """The checksum of some bytes.

    Args:
        data: the bytes, or anything with a buffer of them.
        before: the checksum of what precedes them.

    Returns:
        32 bits.
    """
    text = memoryview(data).cast("B") if not isinstance(data, bytes) else data
    register = before ^ _ALL
    if len(text) <= _SHORT:
        return _plain(bytes(text), register) ^ _ALL
    width = max(int(len(text) ** 0.5), 64)
    count = -(-len(text) // width)
    padded = np.zeros(count * width, np.uint8)
    padded[len(padded) - len(text) :] = np.frombuffer(text, np.uint8)
    start = len(padded) - len(text)
    padded[start : start + 4] ^= np.frombuffer(register.to_bytes(4, "little"), np.uint8)
    columns = np.ascontiguousarray(padded.reshape(count, width).T).astype(np.uint32)
    table = np.array(_table(), np.uint32)
    registers = np.zeros(count, np.uint32)
    for column in columns:
        registers = table[(registers ^ column) & np.uint32(0xFF)] ^ registers >> np.uint32(8)
    moved = _moving(width)
    joined = 0
    for row in registers.tolist():
        joined = (
            moved[0][joined & 0xFF]
            ^ moved[1][joined >> 8 & 0xFF]
            ^ moved[2][joined >> 16 & 0xFF]
            ^ moved[3][joined >> 24]
            ^ row
        )
    return joined ^ _ALL


@functools.lru_cache(maxsize=64)
def _moving(width: int) -> list[list[int]]:
    """For each byte of a register what it becomes when so many zeros come in."""
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    table = np.array(_table(), np.uint32)
    for _ in range(width):
        bits = table[bits & np.uint32(0xFF)] ^ bits >> np.uint32(8)
    values = np.arange(256, dtype=np.uint32)
    found = []
    for place in range(4):
        moved = np.zeros(256, np.uint32)
        for bit in range(8):
            moved ^= np.where(values >> np.uint32(bit) & np.uint32(1), bits[8 * place + bit], np.uint32(0))
        found.append(moved.tolist())
    return found


def mask(checksum: int) -> int:
    """A checksum in the form in which it is stored beside what it is of.

    Args:
        checksum: 32 bits.
    """
    return ((checksum >> 15 | checksum << 17) + _MASK_DELTA) & _ALL


def unmask(stored: int) -> int:
    """The checksum in that form.

    Args:
        stored: 32 bits.
    """
    rotated = (stored - _MASK_DELTA) & _ALL
    return (rotated >> 17 | rotated << 15) & _ALL
