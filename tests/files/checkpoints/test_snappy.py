"""Snappy blocks: literals and copies of each kind, and damage."""

import pytest

from gpuplace.files.checkpoints.snappy import decompress


def block(size, *parts):
    """A block of ``size`` bytes from its elements."""
    head = bytearray()
    while size >= 0x80:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*head, size]) + b"".join(parts)


def literal(data):
    length = len(data) - 1
    if length < 60:
        return bytes([length << 2]) + data
    width = (length.bit_length() + 7) // 8
    return bytes([59 + width << 2]) + length.to_bytes(width, "little") + data


def copy_1(offset, length):
    return bytes([offset >> 8 << 5 | length - 4 << 2 | 1, offset & 0xFF])


def copy_2(offset, length):
    return bytes([length - 1 << 2 | 2]) + offset.to_bytes(2, "little")


def copy_4(offset, length):
    return bytes([length - 1 << 2 | 3]) + offset.to_bytes(4, "little")


@pytest.mark.parametrize("size", [0, 1, 59, 60, 61, 127, 128, 256, 257, 70_000])
def test_literals_of_any_length(size):
    data = bytes(number % 251 for number in range(size))
    assert decompress(block(size, literal(data) if data else b"")) == data


@pytest.mark.parametrize("copy", [copy_1, copy_2, copy_4])
@pytest.mark.parametrize(("offset", "length"), [(4, 4), (6, 5), (1, 7), (3, 11), (6, 6)])
def test_copies_may_overlap_their_own_output(copy, offset, length):
    data = bytearray(b"abcdef")
    for _ in range(length):
        data.append(data[-offset])
    assert decompress(block(len(data), literal(b"abcdef"), copy(offset, length))) == bytes(data)


def test_far_copies():
    data = bytes(number % 249 for number in range(2000))
    assert (
        decompress(block(2008, literal(data), copy_1(2000, 4), copy_2(1999, 4)))
        == data + data[:4] + data[5:9]
    )


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "too early"),
        (b"\xff" * 5, "32 bits"),
        (block(5, literal(b"hell")), "shorter"),
        (block(3, literal(b"hello")), "longer than its stated"),
        (block(5, literal(b"hello")[:-1]), "longer than the block"),
        (block(9, literal(b"hello"), copy_1(6, 4)), "before the block"),
        (block(9, literal(b"hello"), copy_2(0, 4)), "before the block"),
        (block(9, literal(b"hello"), copy_1(1, 4)[:-1]), "too early"),
        (block(9, literal(b"hello"), copy_2(1, 4)[:-1]), "too early"),
        (block(9, literal(b"hello"), copy_4(1, 4)[:-1]), "too early"),
    ],
)
def test_damage_is_named(data, text):
    with pytest.raises(ValueError, match=text):
        decompress(data)
