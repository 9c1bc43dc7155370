"""Batch sizes: the feeds of a step for another batch, and a bisection for the largest batch that fits."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.cost.shapes.feeds import checked_sizes
from gpuplace.cost.shapes.kinds import Sizes, shape_of
from gpuplace.errors import InvalidArgumentError
from gpuplace.model.subject.step_part import StepPart
from gpuplace.model.subject.subject import feed_name

MOST = 1 << 20
"""Largest batch that a search tries."""
LARGEST = (1 << 31) - 1
"""Largest batch that can exist, because ``tf.shape`` returns 32-bit integers."""
_SHOWN = 6
"""Number of feeds that an error lists."""


def check_batch(batch: int) -> None:
    """Raise an error for an impossible batch size.

    Args:
        batch: examples per step.

    Raises:
        InvalidArgumentError: The batch is not between 1 and `LARGEST`.
        TypeError: The batch is not an integer.
    """
    if operator.index(batch) < 1:
        raise InvalidArgumentError.of(f"A batch must have at least 1 example; got {batch}", hint="--batch 32")
    if batch > LARGEST:
        raise InvalidArgumentError.of(
            f"A batch must have at most {LARGEST:,} examples, because sizes are 32-bit integers; got {batch:,}",
            hint="--batch 32",
        )


def batch_feeds(
    feeds: Mapping[Any, Any], batch: int, placeholders: Mapping[str, Sizes] | None = None
) -> dict[Any, Any]:
    """Return the feeds of a step for another batch size.

    The batch is the first dimension of each feed, and of each placeholder that is not fed, where that dimension is
    unknown. If no feed has an unknown first dimension, the batch is the first dimension that all feeds share.

    >>> batch_feeds({"images": (None, 224, 224, 3), "rate": ()}, 32)
    {'images': (32, 224, 224, 3), 'rate': ()}
    >>> batch_feeds({"images": (8, 10), "labels": (8,)}, 32)
    {'images': (32, 10), 'labels': (32,)}
    >>> batch_feeds({}, 32, {"images": (None, 10), "rate": ()})
    {'images': (32, 10)}

    Args:
        feeds: tensor, or its name, to a shape or an array.
        batch: examples per step, at least 1.
        placeholders: name to shape of the placeholders that are not fed.

    Raises:
        InvalidArgumentError: No dimension can be identified as the batch, a feed is not a shape, or the batch is
            impossible (see `check_batch`).
        TypeError: The batch is not an integer.
    """
    check_batch(batch)
    shapes = {key: checked_sizes(feed_name(key), value) for key, value in feeds.items()}
    unknown = [key for key, sizes in shapes.items() if sizes and sizes[0] in (None, -1)]
    open_shapes = {
        name: sizes for name, sizes in (placeholders or {}).items() if sizes and sizes[0] in (None, -1)
    }
    firsts = {sizes[0] for sizes in shapes.values() if sizes}
    if unknown:
        # Keys are compared by identity: a key may be a tensor, for which == builds an op.
        changed = set(map(id, unknown))
    elif len(firsts) == 1:
        changed = {id(key) for key, sizes in shapes.items() if sizes}
    elif open_shapes:
        changed = set()
    else:
        raise _no_batch(shapes, placeholders or {})
    resized: dict[Any, Any] = {
        key: (batch, *(shapes[key] or ())[1:]) if id(key) in changed else value
        for key, value in feeds.items()
    }
    return {**resized, **{name: (batch, *sizes[1:]) for name, sizes in open_shapes.items() if sizes}}


def _no_batch(feeds: Mapping[Any, Sizes], placeholders: Mapping[str, Sizes]) -> InvalidArgumentError:
    """Return the error for a step whose batch dimension is unknown."""
    listed = {feed_name(key): sizes for key, sizes in feeds.items()} or placeholders
    facts = {"feeds": ", ".join(f"{name} {shape_of(sizes)}" for name, sizes in [*listed.items()][:_SHOWN])}
    example = next(iter(placeholders), None) or next(iter(map(feed_name, feeds)), "images")
    if not listed:
        return InvalidArgumentError.of(
            "The step has no batch dimension: nothing is fed to it.",
            hint="omit the batch size: a graph that reads its own input sets it itself",
        )
    return InvalidArgumentError.of(
        "Cannot tell which dimension is the batch: no feed has an unknown first dimension, and the first dimensions of"
        " the feeds differ.",
        facts=facts,
        hint=f"give a shape with ? as the batch dimension: --feed {example}=?,224,224,3",
    )


def open_placeholders(part: StepPart) -> dict[str, Sizes]:
    """Return the name and declared shape of each placeholder of a step that is not fed explicitly.

    Args:
        part: the step.
    """
    graph = part.graph
    fed = {part.subject.graph.names[node] for node, _ in part.subject.fed}
    shapes: dict[str, Sizes] = {}
    for node in np.flatnonzero(part.is_fed).tolist():
        if graph.names[node] in fed:
            continue
        sizes = getattr(graph.attrs(node).get("shape"), "sizes", None)
        if not sizes and graph.tensor_info is not None:
            sizes = graph.tensor_info(node, 0).shape
        shapes[graph.names[node]] = sizes
    return shapes


def batch_of(feeds: Mapping[Any, tuple[int | None, ...]]) -> int | None:
    """Return the batch size: the first dimension that all fed shapes share, or None if they differ or have none.

    >>> batch_of({"images": (64, 224, 224, 3), "labels": (64,), "rate": ()})
    64
    """
    firsts = {sizes[0] for sizes in feeds.values() if sizes}
    return firsts.pop() if len(firsts) == 1 else None


def largest(fits: Callable[[int], bool | None], start: int = 1, most: int = MOST) -> tuple[int, int | None]:
    """Return the largest number that passes a monotonic test, by doubling and then bisection.

    >>> largest(lambda batch: batch <= 77)
    (77, None)
    >>> largest(lambda batch: True if batch <= 77 else None)
    (77, 78)

    Args:
        fits: test that holds up to some number and fails beyond it; returns None where the answer is unknown.
        start: number to test first.
        most: largest number to test.

    Returns:
        The largest number known to pass (0 if none is), and the next number if its answer is unknown, otherwise None.
    """
    low, high = 0, max(min(start, most), 1)
    while holds := fits(high):
        if high == most:
            return most, None
        low, high = high, min(2 * high, most)
    is_known = holds is not None
    while high - low > 1:
        middle = (low + high) // 2
        holds = fits(middle)
        if holds:
            low = middle
        else:
            high, is_known = middle, holds is not None
    return low, None if is_known else high
