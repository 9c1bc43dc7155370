"""Numbers that kernels are given as tensors: axes, sizes, counts.

>>> import numpy as np
>>> int_of(np.int32(3), "k must be scalar, got shape"), list_of(np.array([1, 2]), "dims must be a vector, got shape")
(3, [1, 2])

Sentences: what TensorFlow 1.15.5 says where the rank is known only when an op runs.
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import InvalidArgumentError


def int_of(value: Any, sentence: str) -> int:
    """The number that a tensor without dimensions holds.

    Args:
        value: an array.
        sentence: how the error begins for another; its shape follows.

    Raises:
        InvalidArgumentError: it has dimensions.
    """
    _require_rank(value, 0, sentence)
    return int(value)


def list_of(value: Any, sentence: str) -> list[Any]:
    """The numbers that a tensor of one dimension holds.

    Args:
        value: an array.
        sentence: how the error begins for another; its shape follows.

    Raises:
        InvalidArgumentError: it has none, or more.
    """
    _require_rank(value, 1, sentence)
    numbers: list[Any] = value.tolist()
    return numbers


def _require_rank(value: Any, rank: int, sentence: str) -> None:
    if value.ndim != rank:
        raise InvalidArgumentError.of(f"{sentence} [{','.join(map(str, value.shape))}]")
