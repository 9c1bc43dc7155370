"""The order in which data flows through a graph.

>>> import numpy as np
>>> flow_order(3, np.array([2, 0]), np.array([0, 1])).tolist()
[2, 0, 1]
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from gpuplace.model.subject.bookkeeping import neighbors


def flow_order(count: int, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """Return [count] the positions in topological order; ready positions keep the graph order.

    Args:
        count: number of nodes.
        src: [edges] producing node.
        dst: [edges] consuming node; edges that close a cycle are ignored.
    """
    if (src < dst).all():
        return np.arange(count)
    consumers = neighbors(src, dst, count)
    missing = np.bincount(dst, minlength=count).tolist()
    ready = [node for node, number in enumerate(missing) if not number]
    heapify(ready)
    done = [False] * count
    order: list[int] = []
    first_left = 0
    while len(order) < count:
        if not ready:  # a cycle: start with its first node
            while done[first_left]:
                first_left += 1
            ready.append(first_left)
        node = heappop(ready)
        if done[node]:
            continue
        done[node] = True
        order.append(node)
        for after in consumers[node]:
            missing[after] -= 1
            if not missing[after] and not done[after]:
                heappush(ready, after)
    return np.array(order, dtype=np.int64)
