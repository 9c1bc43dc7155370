"""A topological order that keeps the original order where it can.

>>> ready_order([1, 2, 3, 4], {1: [3], 2: [], 3: [2], 4: []}.__getitem__)
[2, 3, 1, 4]
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)


def ready_order(items: Sequence[Item], sources: Callable[[Item], Iterable[Item]]) -> list[Item]:
    """Return items in topological order; of the items that are ready, the first in ``items`` comes next.

    Args:
        items: the items to sort.
        sources: returns the predecessors of an item, once for each edge.

    Returns:
        The order, without items in cycles.
    """
    position = {item: number for number, item in enumerate(items)}
    consumers: list[list[int]] = [[] for _ in items]
    waiting = [0] * len(items)
    for number, item in enumerate(items):
        for source in sources(item):
            consumers[position[source]].append(number)
            waiting[number] += 1
    ready = [number for number, count in enumerate(waiting) if not count]
    order = []
    while ready:
        number = heapq.heappop(ready)
        order.append(items[number])
        for consumer in consumers[number]:
            waiting[consumer] -= 1
            if not waiting[consumer]:
                heapq.heappush(ready, consumer)
    return order
