"""The largest batch that fits, found by halving: a step foretold for one batch after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.shapes import TensorShape

MOST = 1 << 20
"""The largest batch that is tried."""


def batch_feeds(feeds: Mapping[Any, Any], batch: int) -> dict[Any, tuple[int | None, ...]]:
    """What is fed, for another batch: the first sizes change that are unknown, or else that all share.

    >>> batch_feeds({"images": (None, 224, 224, 3), "rate": ()}, 32)
    {'images': (32, 224, 224, 3), 'rate': ()}
    >>> batch_feeds({"images": (8, 10), "labels": (8,)}, 32)
    {'images': (32, 10), 'labels': (32,)}

    Args:
        feeds: name or tensor to a shape, or an array.
        batch: the batch.

    Raises:
        InvalidArgumentError: nothing fed has a first size that could be the batch.
    """
    shapes = {key: _sizes(value) for key, value in feeds.items()}
    unknown = [key for key, sizes in shapes.items() if sizes and sizes[0] in (None, -1)]
    firsts = {sizes[0] for sizes in shapes.values() if sizes}
    if unknown:
        changed = set(map(id, unknown))
    elif len(firsts) == 1:
        changed = {id(key) for key, sizes in shapes.items() if sizes}
    else:
        raise InvalidArgumentError.of(
            f"Which size is the batch? What is fed begins with {sorted(firsts, key=str) or 'no size'}.",
            hint="feeds={'images': (None, 224, 224, 3)}: None stands for the batch",
        )
    return {key: (batch, *sizes[1:]) if id(key) in changed else sizes for key, sizes in shapes.items()}


def batch_of(feeds: Mapping[Any, tuple[int | None, ...]]) -> int | None:
    """The batch size: the first size of all that is fed with a shape; None where they differ or nothing has one.

    >>> batch_of({"images": (64, 224, 224, 3), "labels": (64,), "rate": ()})
    64
    """
    firsts = {sizes[0] for sizes in feeds.values() if sizes}
    return firsts.pop() if len(firsts) == 1 else None


def largest(fits: Callable[[int], bool], start: int = 1, most: int = MOST) -> int:
    """The largest number for which something holds that holds for all smaller ones; 0 if it does for none.

    >>> largest(lambda batch: batch <= 77)
    77

    Args:
        fits: what holds.
        start: where to begin.
        most: the largest that is tried.
    """
    low, high = 0, max(min(start, most), 1)
    while high <= most and fits(high):
        low, high = high, 2 * high
    if high > most:
        if low == most or fits(most):
            return most
        high = most
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def _sizes(value: Any) -> tuple[int | None, ...]:
    shape = getattr(value, "shape", value)
    found = TensorShape(shape).sizes if not isinstance(shape, tuple | list) else tuple(shape)
    return tuple(found or ())
