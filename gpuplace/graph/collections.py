"""Collections of a graph: named lists, such as all variables or all losses.

>>> class Lists(Collections):
...     lock = threading.RLock()
...     finalized = False
>>> lists = Lists()
>>> lists.add_to_collections(["losses", "all", "all"], 3.5)
>>> lists.get_collection("losses"), lists.get_all_collection_keys()
([3.5], ['losses', 'all'])

Source: tensorflow/python/framework/ops.py, release 1.15.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Hashable, Iterable
from typing import Any


class Collections:
    """The collections of a graph."""

    lock: threading.RLock

    def __init__(self) -> None:
        self._collections: dict[Any, list[Any]] = {}

    @property
    def finalized(self) -> bool:
        """Whether the graph can no longer be changed."""
        raise NotImplementedError

    def add_to_collection(self, name: Hashable, value: object) -> None:
        """Append ``value`` to a collection.

        Args:
            name: name of the collection, such as one of ``GraphKeys``.
            value: any object.

        Raises:
            RuntimeError: the graph is finalized.
        """
        check_not_finalized(self)
        with self.lock:
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: str | Iterable[Hashable], value: object) -> None:
        """Append ``value`` once to each of several collections.

        Args:
            names: names of the collections; a string is a single name.
            value: any object.

        Raises:
            RuntimeError: the graph is finalized.
        """
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Hashable) -> list[Any]:
        """Return a collection itself, not a copy: changes to the list change the collection.

        Args:
            name: name of the collection; a missing collection is created.
        """
        with self.lock:
            return self._collections.setdefault(name, [])

    def get_collection(self, name: Hashable, scope: str | None = None) -> list[Any]:
        """Return a copy of a collection, or an empty list if it does not exist.

        Args:
            name: name of the collection.
            scope: regular expression: only items whose ``name`` starts with a match. None: all items.
        """
        items = list(self._collections.get(name, ()))
        if scope is None:
            return items
        pattern = re.compile(scope)
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def get_all_collection_keys(self) -> list[str]:
        """Return the names of all collections whose name is a string."""
        return [name for name in self._collections if isinstance(name, str)]

    collections = property(get_all_collection_keys)

    def clear_collection(self, name: Hashable) -> None:
        """Remove a collection.

        Args:
            name: name of the collection.

        Raises:
            RuntimeError: the graph is finalized.
        """
        check_not_finalized(self)
        self._collections.pop(name, None)


def check_not_finalized(graph: Collections) -> None:
    """Raise RuntimeError if a graph can no longer be changed.

    Args:
        graph: graph to check.
    """
    if graph.finalized:
        raise RuntimeError("Graph is finalized and cannot be modified.")
