"""TensorFlow's random numbers: the Philox 4x32-10 generator and distributions made from its bits.

A generator has a key of two words and a counter of four. Ten rounds of multiplication and exclusive or turn each
counter value into four 32-bit words, so that any part of the stream can be computed independently, and in whole blocks:

    counter      c      c+1     c+2    ...          a run of n outputs uses the blocks from c on and then advances the
    words       4 x 32  4 x 32  4 x 32              counter by 256 n, the most that a distribution can need

Bits become floats in [1, 2) through the mantissa, and normals by the Box-Muller transform. Logarithm, sine and cosine
are computed in float64 and rounded, which matches the C library's float32 results.

>>> import numpy as np
>>> uniform(np, Philox(1, 2).reserve(3, 256), 3, np.float32)
array([0.40639675, 0.8575996 , 0.05539584], dtype=float32)

Source: tensorflow/core/lib/random/philox_random.h, random_distributions.h and tensorflow/core/kernels/random_op.cc,
release 1.15; Salmon, Moraes, Dror and Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC11).
"""

from __future__ import annotations

import functools
import math
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpuplace.numerics.pieces import over, scratch
from gpuplace.typing import Array, ArrayModule

_MASK = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10

_BLOCK_BYTES = 512
"""Approximate memory of the work on a block, in bytes."""

RESERVED = 256
"""Counter advance, in 128-bit blocks, per output of a run."""


@dataclass(frozen=True)
class Stream:
    """Start of a part of the random bits."""

    key: tuple[int, int]
    """Two 32-bit words."""
    counter: int
    """128 bits."""

    def skip(self, blocks: int) -> Stream:
        """Return the stream ``blocks`` blocks later."""
        return Stream(self.key, (self.counter + blocks) % (1 << 128))

    def words(self, xp: ArrayModule, blocks: int, first: Array | None = None) -> Array:
        """Return random words ``[blocks, 4]``, uint32, optionally for the block numbers ``first`` (uint64)."""
        result = xp.empty((blocks, 4), xp.uint32)

        def piece(part: slice) -> None:
            self._write_words(xp, result[part], part.start if first is None else first[part])

        over(xp, blocks, _BLOCK_BYTES, piece)
        return result

    def _write_words(self, xp: ArrayModule, result: Array, first: Array) -> None:
        """Compute some blocks: those from number ``first`` on, or those whose numbers are in ``first``.

        The first and third words of a counter go through the same steps, as do the second and fourth.
        """
        count, word, half = len(result), xp.dtype(xp.uint64), xp.uint64(32)
        numbers = xp.arange(first, first + count, dtype=word) if isinstance(first, int) else first
        low = numbers + xp.uint64(self.counter & 0xFFFFFFFFFFFFFFFF)
        high = (low < numbers).astype(word) + xp.uint64(self.counter >> 64)
        even, odd, spare = (scratch(xp, f"words {i}", (2, count), word) for i in range(3))
        for row, part in enumerate((low, high)):
            xp.bitwise_and(part, xp.uint64(_MASK), out=even[row])
            xp.right_shift(part, half, out=odd[row])
        factors = xp.asarray(_MULTIPLIERS, dtype=word).reshape(2, 1)
        keys = xp.asarray(_round_keys(self.key), dtype=word)
        for number in range(_ROUNDS):
            products = xp.multiply(even, factors, out=spare)
            xp.right_shift(products, half, out=even)
            xp.bitwise_xor(even[::-1], odd, out=odd)
            xp.bitwise_xor(odd, keys[number], out=odd)
            xp.bitwise_and(products, xp.uint64(_MASK), out=products)
            even, odd, spare = odd, products[::-1], even
        result[:, 0::2], result[:, 1::2] = even.T, odd.T


@functools.lru_cache(maxsize=64)
def _round_keys(key: tuple[int, int]) -> tuple[tuple[tuple[int], tuple[int]], ...]:
    return tuple(
        (
            ((key[0] + number * _KEY_STEPS[0]) & _MASK,),
            ((key[1] + number * _KEY_STEPS[1]) & _MASK,),
        )
        for number in range(_ROUNDS)
    )


class Philox:
    """The generator of one random op in one session; each run uses the next part of its stream."""

    def __init__(self, seed: int, seed2: int) -> None:
        seed, seed2 = seed & 0xFFFFFFFFFFFFFFFF, seed2 & 0xFFFFFFFFFFFFFFFF
        self._next = Stream((seed & _MASK, seed >> 32), seed2 << 64)
        self._lock = threading.Lock()

    @classmethod
    def seeded(cls, seed: int, seed2: int) -> Philox:
        """Return the generator for an op's two seeds; if both are 0, with random seeds."""
        if seed == 0 and seed2 == 0:
            return cls(*(int.from_bytes(os.urandom(8), "little") for _ in range(2)))
        return cls(seed, seed2)

    def reserve(self, outputs: int, multiplier: int = RESERVED) -> Stream:
        """Return the stream for a run; the next run's starts ``outputs * multiplier`` blocks later."""
        with self._lock:
            stream = self._next
            self._next = stream.skip(outputs * multiplier)
            return stream


def uniform(xp: ArrayModule, stream: Stream, count: int, dtype: Any) -> Array:
    """Return ``count`` floating values in [0, 1)."""
    kind = xp.dtype(dtype)
    if kind.itemsize == 8:
        words = stream.words(xp, -(-count // 2)).reshape(-1, 2)
        return _unit_double(xp, words[:, 0], words[:, 1])[:count]
    words = stream.words(xp, -(-count // 4)).reshape(-1)[:count]
    if kind.itemsize == 4:
        return unit_float(xp, words)
    bits, one = (10, 15 << 10) if kind.name == "float16" else (7, 127 << 7)
    raw = (words & xp.uint32((1 << bits) - 1) | xp.uint32(one)).astype(xp.uint16).view(kind)
    return raw - kind.type(1)


def unit_float(xp: ArrayModule, words: Array) -> Array:
    """Return words as float32 numbers in [0, 1)."""
    return (words & xp.uint32(0x7FFFFF) | xp.uint32(127 << 23)).view(xp.float32) - xp.float32(1)


def _unit_double(xp: ArrayModule, first: Array, second: Array) -> Array:
    mantissa = (first & xp.uint32(0xFFFFF)).astype(xp.uint64) << xp.uint64(32) | second.astype(xp.uint64)
    return (mantissa | xp.uint64(1023 << 52)).view(xp.float64) - 1.0


def uniform_double_pairs(xp: ArrayModule, words: Array) -> Array:
    """Return two float64 numbers in [0, 1) for each four words, ``[n, 4]`` to ``[n, 2]``."""
    return xp.stack(
        [_unit_double(xp, words[:, 0], words[:, 1]), _unit_double(xp, words[:, 2], words[:, 3])], axis=1
    )


def integers(xp: ArrayModule, stream: Stream, count: int, low: int, high: int, dtype: Array) -> Array:
    """Return ``count`` integers from ``low`` to ``high``, exclusive; int32 or int64."""
    kind = xp.dtype(dtype)
    if kind.itemsize == 4:
        words = stream.words(xp, -(-count // 4)).reshape(-1)[:count]
        offsets = (words % xp.uint32(high - low)).astype(xp.int64)
        return (offsets + low).astype(kind)
    pairs = stream.words(xp, -(-count // 2)).reshape(-1, 2)[:count].astype(xp.uint64)
    values = pairs[:, 0] | pairs[:, 1] << xp.uint64(32)
    offsets = values % xp.uint64(high - low)
    return (offsets + xp.uint64(low % (1 << 64))).astype(kind)


def _normal_pairs(xp: ArrayModule, words: Array) -> Array:
    """Return two float32 normals for each pair of words, ``[n, 2]`` to ``[n, 2]``."""
    first = xp.maximum(unit_float(xp, xp.ascontiguousarray(words[:, 0])), xp.float32(1e-7))
    angle = (2.0 * math.pi * unit_float(xp, xp.ascontiguousarray(words[:, 1])).astype(xp.float64)).astype(
        xp.float32
    )
    log = xp.log(first.astype(xp.float64)).astype(xp.float32)
    radius = xp.sqrt(xp.float32(-2) * log)
    wide = angle.astype(xp.float64)
    return xp.stack(
        [xp.sin(wide).astype(xp.float32) * radius, xp.cos(wide).astype(xp.float32) * radius], axis=1
    )


def normal_double_pairs(xp: ArrayModule, words: Array) -> Array:
    """Return two float64 normals for each four words, ``[n, 4]`` to ``[n, 2]``."""
    first = xp.maximum(_unit_double(xp, words[:, 0], words[:, 1]), 1e-7)
    angle = 2.0 * math.pi * _unit_double(xp, words[:, 2], words[:, 3])
    radius = xp.sqrt(-2.0 * xp.log(first))
    return xp.stack([xp.sin(angle) * radius, xp.cos(angle) * radius], axis=1)


def normal(xp: ArrayModule, stream: Stream, count: int, dtype: Array) -> Array:
    """Return ``count`` values of the standard normal distribution."""
    kind = xp.dtype(dtype)
    size, pairs = _normals(kind)
    blocks = -(-count // size)
    result = xp.empty((blocks, size), xp.float64 if size == 2 else xp.float32)

    def piece(part: slice) -> None:
        words = stream.skip(part.start).words(xp, part.stop - part.start)
        result[part] = pairs(xp, words).reshape(-1, size)

    over(xp, blocks, _BLOCK_BYTES, piece)
    return result.reshape(-1)[:count].astype(kind, copy=False)


def _normals(kind: Any) -> tuple[int, Callable[[Any, Any], Any]]:
    """Return the number of normals per block, and the function that computes them from ``[blocks, 4]`` words."""
    if kind.itemsize == 8:
        return 2, normal_double_pairs
    return 4, lambda xp, words: _normal_pairs(xp, words.reshape(-1, 2))


_LIMIT = 2.0


def truncated_normal(xp: ArrayModule, stream: Stream, count: int, dtype: Array) -> Array:
    """Return ``count`` normals; those beyond two standard deviations are redrawn.

    Outputs come in groups (of 4, or 2 for float64). Each group has its own stretch of the stream, so redrawing in one
    group does not shift the others.
    """
    kind = xp.dtype(dtype)
    size, pairs = _normals(kind)
    groups = -(-count // size)
    result = xp.empty((groups, size), xp.float64 if size == 2 else xp.float32)

    def piece(part: slice) -> None:
        _write_truncated(xp, stream, part, result[part], pairs)

    over(xp, groups, _BLOCK_BYTES, piece)
    return result.reshape(-1)[:count].astype(kind, copy=False)


def _write_truncated(
    xp: ArrayModule, stream: Stream, part: slice, result: Array, pairs: Callable[[Any, Any], Any]
) -> None:
    """Write some groups: the first block of each if all its values are within the limit, otherwise further blocks."""
    size = result.shape[1]
    starts = xp.arange(part.start, part.stop, dtype=xp.uint64) * xp.uint64(size * RESERVED // 4)
    result[...] = pairs(xp, stream.words(xp, len(starts), starts)).reshape(-1, size)
    open_groups = xp.flatnonzero((xp.absolute(result) >= _LIMIT).any(axis=1))
    filled = xp.zeros(len(result), xp.int64)
    sets, blocks = 0, 3
    while len(open_groups):
        first = starts[open_groups][:, None] + xp.arange(sets, sets + blocks, dtype=xp.uint64)
        words = stream.words(xp, first.size, first.reshape(-1))
        values = pairs(xp, words).reshape(len(open_groups), -1)
        inside = xp.absolute(values) < _LIMIT
        places = filled[open_groups][:, None] + xp.cumsum(inside, axis=1) - 1
        rows, columns = xp.nonzero(inside & (places < size))
        result[open_groups[rows], places[rows, columns]] = values[rows, columns]
        filled[open_groups] += inside.sum(axis=1)
        open_groups = open_groups[filled[open_groups] < size]
        sets += blocks
