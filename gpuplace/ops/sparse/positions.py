"""Positions of sparse tensor elements: checks, and numbers for comparing and grouping.

A position is numbered in row-major order: ``[row, column]`` of ``[height, width]`` is ``row * width + column``.

Source: tensorflow/core/util/sparse/sparse_tensor.h, release 1.15 (sentences).
"""

from __future__ import annotations

import math
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule


def numbers_of(xp: ArrayModule, indices: Array, sizes: list[int]) -> Array:
    """Return the row-major number of each position.

    Args:
        xp: NumPy or CuPy.
        indices: positions, ``[count, rank]``.
        sizes: sizes of the dense shape, one per dimension.
    """
    steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    return indices @ xp.asarray(steps, dtype=xp.int64) if steps else xp.zeros(len(indices), xp.int64)


def joined(values: Any) -> str:
    """Return integers separated by commas, for errors.

    Args:
        values: the integers.
    """
    return ",".join(str(int(value)) for value in values)


def check_positions(xp: ArrayModule, indices: Array, sizes: list[int], in_order: bool = True) -> None:
    """Raise InvalidArgumentError if a position is out of bounds or, with ``in_order``, not after the previous one."""
    if not len(indices):
        return
    outside = ((indices < 0) | (indices >= xp.asarray(sizes, dtype=xp.int64))).any(axis=1)
    if outside.any():
        at = int(xp.argmax(outside))
        raise InvalidArgumentError.of(
            f"indices[{at}] = [{joined(indices[at])}] is out of bounds: need 0 <= index < [{joined(sizes)}]"
        )
    if not in_order:
        return
    numbers = numbers_of(xp, indices, sizes)
    steps = numbers[1:] - numbers[:-1]
    if (steps <= 0).any():
        at = int(xp.argmax(steps <= 0)) + 1
        problem = "repeated" if int(steps[at - 1]) == 0 else "out of order"
        raise InvalidArgumentError.of(
            f"indices[{at}] = [{joined(indices[at])}] is {problem}",
            hint="" if problem == "repeated" else "sort the positions with tf.sparse_reorder(sparse)",
        )


def require_sparse(indices: Array, values: Array, shape: Array) -> None:
    """Check the ranks of the parts of a sparse tensor.

    Args:
        indices: positions, ``[count, rank]``.
        values: ``[count]``.
        shape: ``[rank]``.

    Raises:
        InvalidArgumentError: a part has another rank, or the numbers of values and positions differ.
    """
    if indices.ndim != 2:
        raise InvalidArgumentError.of(
            f"Input indices should be a matrix but received shape [{joined(indices.shape)}]"
        )
    if values.ndim != 1:
        raise InvalidArgumentError.of(
            f"Input values should be a vector but received shape [{joined(values.shape)}]"
        )
    if shape.ndim != 1:
        raise InvalidArgumentError.of(
            f"Input shape should be a vector but received shape [{joined(shape.shape)}]"
        )
    if len(indices) != len(values):
        raise InvalidArgumentError.of(
            f"Number of elements in indices ({len(indices)}) and values ({len(values)}) do not match"
        )


def ranked(*ranks: int | None) -> TensorShape:
    """Return a shape with these sizes.

    Args:
        *ranks: the sizes; None: unknown.
    """
    return TensorShape.of(tuple(ranks))


def groups_of(xp: ArrayModule, numbers: Array) -> tuple[Any, Any]:
    """Return the distinct numbers, sorted, and the index of each number among them.

    Args:
        xp: NumPy or CuPy.
        numbers: a vector.
    """
    distinct, inverse = xp.unique(numbers, return_inverse=True)
    return distinct, inverse.reshape(-1)
