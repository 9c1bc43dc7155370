r"""Decompress Snappy blocks, which tables of other programs may contain; our tables are not compressed.

>>> decompress(b"\x05\x10hello")
b'hello'
>>> decompress(b"\x06\x04ab\x01\x02")
b'ababab'

Source: format_description.txt of snappy 1.1.
"""

from __future__ import annotations

__all__ = ["decompress"]

_LITERAL, _COPY_1, _COPY_2 = 0, 1, 2
_SIZE_BYTES = 5
"""Maximum bytes of the size at the start of a block."""


def decompress(data: bytes) -> bytes:
    """Return the content of a compressed block.

    Args:
        data: compressed block.

    Raises:
        ValueError: the block is damaged.
    """
    try:
        return _decompressed(data)
    except IndexError:
        raise ValueError("the block ends too early") from None


def _decompressed(data: bytes) -> bytes:
    size, at = _size(data)
    result = bytearray()
    end = len(data)
    while at < end:
        tag = data[at]
        at += 1
        kind = tag & 3
        if kind == _LITERAL:
            length = tag >> 2
            if length >= 60:
                width = length - 59
                length = int.from_bytes(data[at : at + width], "little")
                at += width
            length += 1
            if at + length > end:
                raise ValueError("a literal is longer than the block")
            result += data[at : at + length]
            at += length
        else:
            if kind == _COPY_1:
                length = (tag >> 2 & 7) + 4
                offset = tag >> 5 << 8 | data[at]
                at += 1
            else:
                width = 2 if kind == _COPY_2 else 4
                length = (tag >> 2) + 1
                if at + width > end:
                    raise ValueError("the block ends too early")
                offset = int.from_bytes(data[at : at + width], "little")
                at += width
            start = len(result) - offset
            if offset <= 0 or start < 0:
                raise ValueError("a copy starts before the block")
            if length <= offset:
                result += result[start : start + length]
            else:  # a copy may overlap its own output
                result += (result[start:] * (length // offset + 1))[:length]
        if len(result) > size:
            raise ValueError("the block is longer than its stated size")
    if len(result) != size:
        raise ValueError("the block is shorter than its stated size")
    return bytes(result)


def _size(data: bytes) -> tuple[int, int]:
    """Return the size of the content in bytes (at most 32 bits), and the start of the elements."""
    size = 0
    for at in range(_SIZE_BYTES):
        size |= (data[at] & 0x7F) << 7 * at
        if data[at] < 0x80:
            return size, at + 1
    raise ValueError("the size has more than 32 bits")
