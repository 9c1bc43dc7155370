"""``DataProvider``: provide the items of examples as tensors.

Source: tensorflow/contrib/slim/python/slim/data/data_provider.py, release 1.15.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["DataProvider"]


class DataProvider(ABC):  # noqa: B024 - TensorFlow's has no abstract method either
    """Base class of providers: items by name.

    Args:
        items_to_tensors: name -> tensor.
        num_samples: number of examples.
    """

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: int) -> None:
        self._items_to_tensors = items_to_tensors
        self._num_samples = num_samples

    def get(self, items: Sequence[str]) -> list[Any]:
        """Return the tensors of some items, in their order.

        Args:
            items: names, a list or tuple.

        Raises:
            ValueError: an item does not exist.
        """
        if not isinstance(items, (list, tuple)):
            raise ValueError("items must be a list or tuple")
        for item in items:
            if item not in self._items_to_tensors:
                names = ", ".join(map(repr, self._items_to_tensors))
                raise ValueError(f"Item [{item}] is invalid. Valid entries include: {names}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> Iterable[str]:
        """Return the names of all items."""
        return self._items_to_tensors.keys()

    def num_samples(self) -> int:
        """Return the number of examples."""
        return self._num_samples
