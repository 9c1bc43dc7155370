"""Checksums of short and long data, whole and in pieces, against one bit after the other."""

import os
import random

import numpy as np
import pytest

from gpuplace.files.crc32c import crc32c, mask, unmask


def by_bits(data: bytes) -> int:
    state = 0xFFFFFFFF
    for octet in data:
        state ^= octet
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    "size", [0, 1, 9, 511, 1000, 1024, 1025, 1027, 4097, 10240, 16383, 16384, 17409, 40000]
)
def test_checksum(size):
    data = random.Random(size).randbytes(size)
    assert crc32c(data) == by_bits(data)
    assert crc32c(data[size // 3 :], crc32c(data[: size // 3])) == by_bits(data)


@pytest.mark.parametrize("size", [1 << 22, (1 << 22) + 3, 5_000_003])
def test_checksum_of_more_than_a_chunk(size):
    """Continued in pieces it is what it is at once."""
    data = os.urandom(size)
    checksum = 0
    for at in range(0, len(data), 10_000):
        checksum = crc32c(data[at : at + 10_000], checksum)
    assert crc32c(data) == checksum


@pytest.mark.parametrize("count", [0, 5, 3000])
def test_checksum_of_what_lies_in_memory(count):
    array = np.arange(count, dtype=np.float32)
    assert (
        crc32c(array)
        == crc32c(memoryview(array.tobytes()))
        == crc32c(bytearray(array))
        == by_bits(array.tobytes())
    )


def test_known_checksums():
    """Source: RFC 3720, appendix B.4."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


def test_masked_checksums():
    assert mask(0xE3069283) != 0xE3069283
    assert unmask(mask(0x12345678)) == 0x12345678
