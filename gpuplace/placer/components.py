"""Connected components of many small groups, by array operations only.

Every node starts with its own number as label. In each round the larger label of each pair points to the smaller one,
then labels are followed to their end, so that a chain of n nodes takes about log n rounds::

    pairs (0,1) (1,2) (5,6)      labels 0 1 2 3 4 5 6  ──>  0 0 0 3 4 5 5

>>> components(7, np.array([0, 1, 5]), np.array([1, 2, 6])).tolist()
[0, 0, 0, 3, 4, 5, 5]
"""

from __future__ import annotations

import numpy as np


def components(count: int, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the smallest node of each node's component, [count].

    Args:
        count: the number of nodes.
        left, right: [pairs] nodes that belong together.
    """
    label = np.arange(count, dtype=np.int64)
    while len(left):
        a, b = label[left], label[right]
        differs = a != b
        if not differs.any():
            break
        left, right = left[differs], right[differs]
        low, high = np.minimum(a, b)[differs], np.maximum(a, b)[differs]
        np.minimum.at(label, high, low)
        while True:
            followed = label[label]
            if np.array_equal(followed, label):
                break
            label = followed
    return label
