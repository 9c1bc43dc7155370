"""What kernels are given: axes, sizes and counts as tensors, and arrays that plain loops read.

>>> import numpy as np
>>> int_of(np.int32(3), "k must be scalar, got shape"), list_of(np.array([1, 2]), "dims must be a vector, got shape")
(3, [1, 2])

Sentences: what TensorFlow 1.15.5 says where the rank is known only when an op runs.
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import InvalidArgumentError


def on_host(array: Any) -> Any:
    """An array in the memory of the host, where plain loops read it.

    Args:
        array: an array of NumPy, which is given back, or of CuPy, which is copied.
    """
    return array.get() if hasattr(array, "get") else array


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
