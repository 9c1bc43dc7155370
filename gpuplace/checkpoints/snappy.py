r"""Snappy's blocks, decompressed: tables of other programs may have them; ours are not compressed.

>>> decompress(b"\x05\x10hello")
b'hello'
>>> decompress(b"\x06\x04ab\x01\x02")
b'ababab'

Source: format_description.txt of snappy 1.1.
"""

from __future__ import annotations

__all__ = ["decompress"]

_LITERAL, _COPY_1, _COPY_2 = 0, 1, 2


def decompress(data: bytes) -> bytes:
    """The content of a compressed block.

    Args:
        data: the block.

    Raises:
        ValueError: it is damaged.
    """
    try:
        return _decompressed(data)
    except IndexError:
        raise ValueError("the block ends too early") from None


def _decompressed(data: bytes) -> bytes:
    size = shift = at = 0
    while True:
        octet = data[at]
        at += 1
        size |= (octet & 0x7F) << shift
        shift += 7
        if octet < 0x80:
            break
    result = bytearray()
    while at < len(data):
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
            if at + length > len(data):
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
                if at + width > len(data):
                    raise ValueError("the block ends too early")
                offset = int.from_bytes(data[at : at + width], "little")
                at += width
            if not 0 < offset <= len(result):
                raise ValueError("a copy begins before the block")
            while length:  # what is copied may reach into what the copy adds
                piece = bytes(result[len(result) - offset :][:length])
                result += piece
                length -= len(piece)
        if len(result) > size:
            raise ValueError("the block is longer than it says")
    if len(result) != size:
        raise ValueError("the block is shorter than it says")
    return bytes(result)
