"""Platform-independent string hashes: FarmHash's Fingerprint64, TensorFlow's Hash64, and a variant of SipHash.

>>> fingerprint64(b"hello world") % 1000, hash64(b"hello world") % 1000
(11, 655)

Source: FarmHash's farmhashna (Fingerprint64), tensorflow/core/lib/hash/hash.cc (Hash64, MurmurHash 2 in 64 bits) and
HighwayHash's SipHash with 2 and 4 rounds, as of tensorflow/core/kernels/string_to_hash_bucket_op.h, release 1.15.
"""

from __future__ import annotations

__all__ = ["fingerprint64", "hash64", "sip_hash"]

_M = 0xFFFFFFFFFFFFFFFF
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _word(text: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(text[at : at + size], "little")


def _turned(value: int, bits: int) -> int:
    return (value >> bits | value << (64 - bits)) & _M if bits else value


def _mixed(value: int) -> int:
    return value ^ value >> 47


def _joined(u: int, v: int, factor: int) -> int:
    a = (u ^ v) * factor & _M
    a ^= a >> 47
    b = (v ^ a) * factor & _M
    b ^= b >> 47
    return b * factor & _M


def _weak(text: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word(text, at + 8 * number) for number in range(4))
    a = a + w & _M
    b = _turned(b + a + z & _M, 21)
    c = a
    a = a + x + y & _M
    b = b + _turned(a, 44) & _M
    return a + z & _M, b + c & _M


def _short(text: bytes) -> int:
    """Hash at most 64 bytes."""
    count = len(text)
    factor = _K2 + count * 2 & _M
    if count <= 16:
        if count >= 8:
            a, b = _word(text, 0) + _K2 & _M, _word(text, count - 8)
            c = _turned(b, 37) * factor + a & _M
            d = (_turned(a, 25) + b) * factor & _M
            return _joined(c, d, factor)
        if count >= 4:
            return _joined(count + (_word(text, 0, 4) << 3) & _M, _word(text, count - 4, 4), factor)
        if count:
            y = text[0] + (text[count >> 1] << 8)
            z = count + (text[-1] << 2)
            return _mixed(y * _K2 & _M ^ z * _K0 & _M) * _K2 & _M
        return _K2
    if count <= 32:
        a, b = _word(text, 0) * _K1 & _M, _word(text, 8)
        c, d = _word(text, count - 8) * factor & _M, _word(text, count - 16) * _K2 & _M
        first = _turned(a + b & _M, 43) + _turned(c, 30) + d & _M
        return _joined(first, a + _turned(b + _K2 & _M, 18) + c & _M, factor)
    a, b = _word(text, 0) * _K2 & _M, _word(text, 8)
    c, d = _word(text, count - 8) * factor & _M, _word(text, count - 16) * _K2 & _M
    y = _turned(a + b & _M, 43) + _turned(c, 30) + d & _M
    z = _joined(y, a + _turned(b + _K2 & _M, 18) + c & _M, factor)
    e, f = _word(text, 16) * factor & _M, _word(text, 24)
    g, h = (y + _word(text, count - 32)) * factor & _M, (z + _word(text, count - 24)) * factor & _M
    first = _turned(e + f & _M, 43) + _turned(g, 30) + h & _M
    return _joined(first, e + _turned(f + a & _M, 18) + g & _M, factor)


def fingerprint64(text: bytes) -> int:
    """Return FarmHash's Fingerprint64.

    Args:
        text: bytes to hash.

    Returns:
        64 bits.
    """
    count = len(text)
    if count <= 64:
        return _short(text)
    x = 81
    y = x * _K1 + 113 & _M
    z = _mixed(y * _K2 + 113 & _M) * _K2 & _M
    v, w = (0, 0), (0, 0)
    x = x * _K2 + _word(text, 0) & _M
    at, end = 0, (count - 1) // 64 * 64
    last = end + ((count - 1) & 63) - 63
    while True:
        x = _turned(x + y + v[0] + _word(text, at + 8) & _M, 37) * _K1 & _M
        y = _turned(y + v[1] + _word(text, at + 48) & _M, 42) * _K1 & _M
        x ^= w[1]
        y = y + v[0] + _word(text, at + 40) & _M
        z = _turned(z + w[0] & _M, 33) * _K1 & _M
        v = _weak(text, at, v[1] * _K1 & _M, x + w[0] & _M)
        w = _weak(text, at + 32, z + w[1] & _M, y + _word(text, at + 16) & _M)
        z, x = x, z
        at += 64
        if at == end:
            break
    factor = _K1 + ((z & 0xFF) << 1) & _M
    at = last
    w = w[0] + ((count - 1) & 63) & _M, w[1]
    v = v[0] + w[0] & _M, v[1]
    w = w[0] + v[0] & _M, w[1]
    x = _turned(x + y + v[0] + _word(text, at + 8) & _M, 37) * factor & _M
    y = _turned(y + v[1] + _word(text, at + 48) & _M, 42) * factor & _M
    x ^= w[1] * 9 & _M
    y = y + v[0] * 9 + _word(text, at + 40) & _M
    z = _turned(z + w[0] & _M, 33) * factor & _M
    v = _weak(text, at, v[1] * factor & _M, x + w[0] & _M)
    w = _weak(text, at + 32, z + w[1] & _M, y + _word(text, at + 16) & _M)
    z, x = x, z
    first = _joined(v[0], w[0], factor) + _mixed(y) * _K0 + z & _M
    return _joined(first, _joined(v[1], w[1], factor) + x & _M, factor)


_MURMUR = 0xC6A4A7935BD1E995


def hash64(text: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """Return TensorFlow's own hash.

    Args:
        text: bytes to hash.
        seed: 64 bits.

    Returns:
        64 bits.
    """
    count = len(text)
    found = seed ^ count * _MURMUR & _M
    whole = count // 8 * 8
    for at in range(0, whole, 8):
        word = _word(text, at) * _MURMUR & _M
        found = (found ^ (word ^ word >> 47) * _MURMUR & _M) * _MURMUR & _M
    if count > whole:
        found = (found ^ _word(text, whole)) * _MURMUR & _M
    found = (found ^ found >> 47) * _MURMUR & _M
    return found ^ found >> 47


def _round(v: list[int]) -> None:
    def left(value: int, bits: int) -> int:
        return (value << bits | value >> (64 - bits)) & _M

    v[0] = v[0] + v[1] & _M
    v[2] = v[2] + v[3] & _M
    v[1] = left(v[1], 13) ^ v[0]
    v[3] = left(v[3], 16) ^ v[2]
    v[0] = left(v[0], 32)
    v[2] = v[2] + v[1] & _M
    v[0] = v[0] + v[3] & _M
    v[1] = left(v[1], 17) ^ v[2]
    v[3] = left(v[3], 21) ^ v[0]
    v[2] = left(v[2], 32)


def sip_hash(text: bytes, key: int, other: int) -> int:
    """Return SipHash with 2 and 4 rounds, with the last block laid out as in HighwayHash.

    Args:
        text: bytes to hash.
        key: first 64 bits of the key.
        other: last 64 bits of the key.

    Returns:
        64 bits.
    """
    v = [
        0x736F6D6570736575 ^ key & _M,
        0x646F72616E646F6D ^ other & _M,
        0x6C7967656E657261 ^ key & _M,
        0x7465646279746573 ^ other & _M,
    ]
    count = len(text)
    words = [_word(text, at) for at in range(0, count // 8 * 8, 8)]
    words.append(_word(text, count // 8 * 8) | (count & 0xFF) << 56)
    for word in words:
        v[3] ^= word
        _round(v)
        _round(v)
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(4):
        _round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]
