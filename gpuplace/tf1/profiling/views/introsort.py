"""Sorting that orders equal elements like C++'s ``std::sort``, as TensorFlow's lists of op types do.

>>> introsorted([(1, "b"), (0, "c"), (1, "a")], lambda one, other: one[0] < other[0])
[(0, 'c'), (1, 'b'), (1, 'a')]

Up to 16 elements, equal ones keep their order. Larger lists are first partitioned around the median of three,
which moves equal elements. The C++ standard does not define this order; it is that of GCC's library, with
which TensorFlow is built.

Source: answers of TensorFlow 1.15.5.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import TypeVar

__all__ = ["introsorted"]

_Item = TypeVar("_Item")

_FEW = 16
"""Lists of up to this length are not partitioned."""


def introsorted(items: list[_Item], less: Callable[[_Item, _Item], bool]) -> list[_Item]:
    """Sort as ``std::sort`` does.

    Args:
        items: what to sort.
        less: whether one element comes before another one.

    Returns:
        A new list.
    """
    result = list(items)
    ranges = [(0, len(result), 2 * max(0, len(result).bit_length() - 1))]
    while ranges:
        first, last, divisions = ranges.pop()
        while last - first > _FEW:
            if not divisions:  # not seen with real counts: sort the rest in another way
                result[first:last] = _sorted(result[first:last], less)
                break
            divisions -= 1
            cut = _divide(result, first, last, less)
            ranges.append((cut, last, divisions))
            last = cut
    for at in range(1, len(result)):
        item, to = result[at], at
        while to and less(item, result[to - 1]):
            result[to] = result[to - 1]
            to -= 1
        result[to] = item
    return result


def _sorted(items: list[_Item], less: Callable[[_Item, _Item], bool]) -> list[_Item]:
    def compared(one: _Item, other: _Item) -> int:
        return -1 if less(one, other) else int(less(other, one))

    return sorted(items, key=cmp_to_key(compared))


def _divide(items: list[_Item], first: int, last: int, less: Callable[[_Item, _Item], bool]) -> int:
    """Partition the list around the median of three.

    Returns:
        Start of the second part.
    """
    second, middle, end = first + 1, first + (last - first) // 2, last - 1
    low, high = (second, middle) if less(items[second], items[middle]) else (middle, second)
    if less(items[high], items[end]):
        median = high
    else:
        median = end if less(items[low], items[end]) else low
    items[first], items[median] = items[median], items[first]
    pivot, left, right = items[first], first + 1, last
    while True:
        while less(items[left], pivot):
            left += 1
        right -= 1
        while less(pivot, items[right]):
            right -= 1
        if left >= right:
            return left
        items[left], items[right] = items[right], items[left]
        left += 1
