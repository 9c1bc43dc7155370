"""Run-length encoded lists, for lists that repeat the same items many times.

A node may declare two billion inputs in a dozen bytes (`N = 2147483647`), and the signature of a function may use one
list of types for each of a thousand arguments. A `LongList` stores each part once, with its number of repetitions.
Length, item access and membership cost no more than the parts.

>>> types = joined([("float",), repeated("int32", 3_000_000), ("bool",)])
>>> len(types), types[0], types[1], types[-1], "int32" in types, "half" in types
(3000002, 'float', 'int32', 'bool', True, False)
>>> joined([("float",), ("bool",)])
('float', 'bool')
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import accumulate, chain, islice
from typing import Any, TypeVar, overload

import numpy as np

from gpuplace.errors import InvalidArgumentError

Item = TypeVar("Item")
Other = TypeVar("Other")

SHORT = 64
"""Number of items up to which lists are plain tuples."""

MAX_LENGTH = (1 << 31) - 1
"""Maximum number of items: TensorFlow counts a node's inputs and outputs with a 32-bit number."""


class LongList(Sequence[Item]):
    """A sequence of parts, each a tuple of items with a number of consecutive repetitions.

    Raises:
        InvalidArgumentError: more than `MAX_LENGTH` items.
    """

    __slots__ = ("_ends", "_parts")

    def __init__(self, parts: Sequence[tuple[tuple[Item, ...], int]]) -> None:
        self._parts = tuple(part for part in parts if part[0] and part[1] > 0)
        self._ends = tuple(accumulate(len(items) * times for items, times in self._parts))
        if self._ends and self._ends[-1] > MAX_LENGTH:
            raise InvalidArgumentError.of(f"Number of outputs is too big: {self._ends[-1]}")

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, index: int | slice) -> Item | tuple[Item, ...]:
        if isinstance(index, slice):
            return tuple(self[at] for at in range(*index.indices(len(self))))
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError("list index out of range")
        part = bisect_right(self._ends, at)
        items, times = self._parts[part]
        return items[(at - (self._ends[part] - len(items) * times)) % len(items)]

    def __iter__(self) -> Iterator[Item]:
        return chain.from_iterable(items for items, times in self._parts for _ in range(times))

    def __contains__(self, item: object) -> bool:
        return any(item in items for items in self.different)

    @property
    def different(self) -> list[tuple[Item, ...]]:
        """The parts, with equal objects once; together they contain all items."""
        return list({id(items): items for items, _ in self._parts}.values())

    @property
    def parts(self) -> tuple[tuple[tuple[Item, ...], int], ...]:
        """`(items, repetitions)` in order."""
        return self._parts

    def map(self, function: Callable[[Item], Other]) -> LongList[Other]:
        """Return the list of `function(item)` for each item; `function` is called once for each item of a part."""
        made = {id(items): tuple(map(function, items)) for items in self.different}
        return LongList([(made[id(items)], times) for items, times in self._parts])

    def __repr__(self) -> str:
        return f"LongList({self._parts!r})"


class Positions(Set[int]):
    """Positions in a long list: the union of ranges, stored as ranges.

    >>> places = Positions([range(3), range(10, 1 << 30)])
    >>> len(places), 2 in places, 5 in places, 1_000_000 in places
    (1073741817, True, False, True)
    """

    __slots__ = ("_ranges",)

    def __init__(self, ranges: Sequence[range]) -> None:
        self._ranges = tuple(filter(len, ranges))

    def __contains__(self, position: object) -> bool:
        return any(position in part for part in self._ranges)

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(self._ranges)

    def __len__(self) -> int:
        return sum(map(len, self._ranges))


def repeated(item: Item, times: int) -> Sequence[Item]:
    """Return a list that repeats one item; a short list is a tuple.

    Raises:
        InvalidArgumentError: more than `MAX_LENGTH` times, or fewer than 0.
    """
    if times < 0:
        raise InvalidArgumentError.of(f"Value for number_attr() {times} < 0")
    return (item,) * times if times <= SHORT else LongList([((item,), times)])


def joined(lists: Sequence[Sequence[Item]]) -> Sequence[Item]:
    """Concatenate lists; the result is a tuple if it is short or no longer than one of the lists.

    Raises:
        InvalidArgumentError: more than `MAX_LENGTH` items.
    """
    if len(lists) == 1:
        return lists[0]
    if sum(map(len, lists)) <= SHORT:
        return tuple(chain.from_iterable(lists))
    parts: list[tuple[tuple[Item, ...], int]] = []
    for part in lists:
        parts.extend(part.parts if isinstance(part, LongList) else [(tuple(part), 1)])
    return LongList(parts)


def mapped(items: Sequence[Item], function: Callable[[Item], Other]) -> Sequence[Other]:
    """Return `function(item)` for each item, in a list of the same form."""
    return items.map(function) if isinstance(items, LongList) else tuple(map(function, items))


def different_items(items: Sequence[Item]) -> set[Item]:
    """Return the distinct items."""
    return set(chain.from_iterable(items.different)) if isinstance(items, LongList) else set(items)


def listed(items: Sequence[Any], text: Callable[[Any], str], limit: int = 1000) -> str:
    """Return the items as text, separated by commas; beyond `limit` items, the first ones and the total.

    >>> listed(repeated("float", 5000), str, 2)
    'float, float, ... (5000)'
    """
    shown = ", ".join(map(text, islice(items, limit)))
    return f"{shown}, ... ({len(items)})" if len(items) > limit else shown


def pick(lists: Sequence[Sequence[int]], which: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the number at position `at` of the list `which` for each pick, int64 [picks].

    >>> pick([(1, 2), repeated(7, 1 << 30)], np.array([0, 1, 0]), np.array([1, 99_999, 0])).tolist()
    [2, 7, 1]
    """
    short = [() if isinstance(items, LongList) else items for items in lists]
    ends = np.cumsum([len(items) for items in short], dtype=np.int64)
    flat = np.fromiter(chain.from_iterable(short), np.int64, int(ends[-1]) if len(ends) else 0)
    is_long = np.array([isinstance(items, LongList) for items in lists], dtype=bool)
    starts = np.concatenate((np.zeros(1, np.int64), ends))
    if not is_long.any():
        return np.asarray(flat[starts[which] + at])
    picked = np.zeros(len(which), np.int64)
    by_array = ~is_long[which]
    picked[by_array] = flat[starts[which[by_array]] + at[by_array]]
    rest = np.flatnonzero(~by_array)
    picked[rest] = [
        lists[number][position]
        for number, position in zip(which[rest].tolist(), at[rest].tolist(), strict=True)
    ]
    return picked
