"""Synthetic images of digits for when MNIST is missing: drawn from a bitmap font, shifted, shaded and blurred.

They have MNIST's format and are easy to tell apart; a model's accuracy on them says nothing about MNIST.

>>> images, labels = digits(20, seed=1)
>>> images.shape, images.dtype, labels.shape
((20, 28, 28, 1), dtype('uint8'), (20,))
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

__all__ = ["digits"]

SIDE = 28
"""Image height and width in pixels."""

_ROWS = """
01110 00100 01110 11111 00010 11111 00110 11111 01110 01110
10001 01100 10001 00010 00110 10000 01000 00001 10001 10001
10011 00100 00001 00100 01010 11110 10000 00010 10001 10001
10101 00100 00010 00010 10010 00001 11110 00100 01110 01111
11001 00100 00100 00001 11111 00001 10001 01000 10001 00001
10001 00100 01000 10001 00010 10001 10001 01000 10001 00010
01110 01110 11111 01110 00010 01110 01110 01000 01110 01100
"""
"""The digits 0 to 9 side by side, in 7 rows of 5 dots."""

_DOT = 3
"""Height and width of a dot in pixels."""
_FARTHEST = 3
"""The farthest that a digit is shifted from the center, in pixels."""


@functools.cache
def _moved() -> Any:
    """Return every digit at every position, ``[digit, position, SIDE, SIDE]``, from 0 to 1."""
    dots = np.array([[list(digit) for digit in row.split()] for row in _ROWS.split("\n") if row], float)
    drawn = np.kron(dots.transpose(1, 0, 2), np.ones((1, _DOT, _DOT)))
    height, width = drawn.shape[1:]
    top, left = (SIDE - height) // 2, (SIDE - width) // 2
    steps = range(-_FARTHEST, _FARTHEST + 1)
    places = [(down, right) for down in steps for right in steps]
    result = np.zeros((10, len(places), SIDE, SIDE))
    for number, (down, right) in enumerate(places):
        result[:, number, top + down : top + down + height, left + right : left + right + width] = drawn
    neighbors = [np.roll(result, (down, right), (2, 3)) for down in (-1, 0, 1) for right in (-1, 0, 1)]
    return sum(neighbors) / len(neighbors)


def digits(count: int, seed: int) -> tuple[Any, Any]:
    """Return random images of digits and their labels.

    Args:
        count: number of images.
        seed: the random seed.

    Returns:
        uint8 ``[count, 28, 28, 1]``, 0 for the background, and uint8 ``[count]``.
    """
    random = np.random.RandomState(seed)
    labels = random.randint(0, 10, count)
    drawn = _moved()
    images = drawn[labels, random.randint(0, drawn.shape[1], count)]
    images *= random.uniform(0.6, 1.0, (count, 1, 1))
    images += (images > 0) * random.uniform(-0.15, 0.15, images.shape)
    return (np.clip(images, 0, 1) * 255).astype(np.uint8)[..., None], labels.astype(np.uint8)
