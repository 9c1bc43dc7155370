"""What turns the data of an example into its items.

Source: tensorflow/contrib/slim/python/slim/data/data_decoder.py, release 1.15.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from gpuplace.typing import TensorLike

__all__ = ["DataDecoder"]


class DataDecoder(ABC):
    """To be derived from: a decoder of examples."""

    @abstractmethod
    def decode(self, data: TensorLike, items: Sequence[str]) -> Sequence[Any]:
        """The tensors of some items.

        Args:
            data: an example as it is read.
            items: their names.
        """

    @abstractmethod
    def list_items(self) -> Sequence[str]:
        """The names of all items."""
