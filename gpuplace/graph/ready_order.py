"""An order in which everything comes behind what it waits for, and else as early as its key says.

>>> b_waits_for_a = {"b": 1, "a": 0, "c": 0}
>>> ready_order(b_waits_for_a, {"a": ["b"], "b": [], "c": []}.__getitem__)
['a', 'b', 'c']
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

__all__ = ["ready_order"]

Item = TypeVar("Item")


def ready_order(
    waiting: dict[Item, int],
    consumers: Callable[[Item], Iterable[Item]],
    key: Callable[[Item], Any] | None = None,
) -> list[Item]:
    """All items, of those that wait for nothing any more always the one with the smallest key.

    Args:
        waiting: every item with the number of those that it waits for; it is counted down.
        consumers: an item to those that wait for it, to each as often as it is counted there.
        key: what items are compared by, different for each; None: the items themselves.

    Returns:
        The items in order. Those that wait in a circle, or behind one, are left out; their counts are above zero.
    """
    ready: list[Any] = [
        item if key is None else (key(item), item) for item, count in waiting.items() if not count
    ]
    heapq.heapify(ready)
    order: list[Item] = []
    while ready:
        item = heapq.heappop(ready) if key is None else heapq.heappop(ready)[1]
        order.append(item)
        for consumer in consumers(item):
            waiting[consumer] -= 1
            if not waiting[consumer]:
                heapq.heappush(ready, consumer if key is None else (key(consumer), consumer))
    return order
