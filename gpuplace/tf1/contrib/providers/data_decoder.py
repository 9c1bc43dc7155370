"""``DataDecoder``: decode the items of an example.

Source: tensorflow/contrib/slim/python/slim/data/data_decoder.py, release 1.15.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from gpuplace.typing import TensorLike

__all__ = ["DataDecoder"]


class DataDecoder(ABC):
    """Base class of decoders."""

    @abstractmethod
    def decode(self, data: TensorLike, items: Sequence[str]) -> Sequence[Any]:
        """Return the tensors of some items.

        Args:
            data: an example as read from the file.
            items: their names.
        """

    @abstractmethod
    def list_items(self) -> Sequence[str]:
        """Return the names of all items."""
