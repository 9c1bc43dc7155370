"""Read kernel arguments: axes, sizes and counts from tensors, and arrays for plain loops.

>>> import numpy as np
>>> int_of(np.int32(3), "k must be scalar, got shape"), list_of(np.array([1, 2]), "dims must be a vector, got shape")
(3, [1, 2])

The error messages are those of TensorFlow 1.15.5 for ranks that are known only when an op runs.
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import InvalidArgumentError


def on_host(array: Any) -> Any:
    """Return an array in host memory, for plain loops.

    Args:
        array: a NumPy array, which is returned unchanged, or a CuPy array, which is copied.
    """
    return array.get() if hasattr(array, "get") else array


def int_of(value: Any, sentence: str) -> int:
    """Return the number in a scalar tensor.

    Args:
        value: array to read.
        sentence: start of the error message; the shape follows.

    Raises:
        InvalidArgumentError: the array is not a scalar.
    """
    _require_rank(value, 0, sentence)
    return int(value)


def list_of(value: Any, sentence: str) -> list[Any]:
    """Return the numbers in a vector.

    Args:
        value: array to read.
        sentence: start of the error message; the shape follows.

    Raises:
        InvalidArgumentError: the array is not a vector.
    """
    _require_rank(value, 1, sentence)
    numbers: list[Any] = value.tolist()
    return numbers


def _require_rank(value: Any, rank: int, sentence: str) -> None:
    if value.ndim != rank:
        raise InvalidArgumentError.of(f"{sentence} [{','.join(map(str, value.shape))}]")
