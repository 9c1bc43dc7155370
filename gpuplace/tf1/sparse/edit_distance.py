"""Edit distance: the number of insertions, deletions and replacements between sequences.

Source: tensorflow/core/kernels/edit_distance_op.cc, core/ops/array_ops.cc and tensorflow/python/ops/array_ops.py,
release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue, to_sparse
from gpuplace.ops.support import new
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule

__all__ = ["edit_distance"]


def edit_distance(
    hypothesis: SparseTensor | SparseTensorValue,
    truth: SparseTensor | SparseTensorValue,
    normalize: bool = True,
    name: str = "edit_distance",
) -> Tensor:
    """Return the Levenshtein distance of sequences: the insertions, deletions and replacements that lead to ``truth``.

    Args:
        hypothesis: sequences along the last axis.
        truth: the sequences to compare with, of the same dtype and rank.
        normalize: whether to divide by the length of the true sequence; infinite if only that is empty.
        name: name of the operation.

    Returns:
        float32, with the shape of the sequences without the last axis.

    Raises:
        TypeError: the arguments are not sparse, or have different dtypes.
        InvalidArgumentError: at run time, ranks differ, or indices are out of bounds.
    """
    parts: dict[str, Any] = {}
    for label, value in (("hypothesis", hypothesis), ("truth", truth)):
        if not isinstance(value, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"{label.capitalize()} must be a SparseTensor.")
        sparse = to_sparse(value)
        parts |= {
            f"{label}_indices": sparse.indices,
            f"{label}_values": sparse.values,
            f"{label}_shape": sparse.dense_shape,
        }
    return new("EditDistance", name, **parts, normalize=normalize)


def _distance(one: list[Any], other: list[Any]) -> int:
    row = list(range(len(other) + 1))
    for number, item in enumerate(one, 1):
        before, row[0] = row[0], number
        for at, target in enumerate(other, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (item != target))
    return row[-1]


def _sequences(indices: Array, values: Array) -> dict[tuple[int, ...], list[Any]]:
    sequences: dict[tuple[int, ...], list[Any]] = {}
    for index, value in zip(indices.tolist(), values.tolist(), strict=True):
        sequences.setdefault(tuple(index[:-1]), []).append(value)
    return sequences


def _check(what: str, indices: Array, values: Array, shape: Array) -> None:
    if indices.ndim != 2:
        raise InvalidArgumentError.of(
            f"{what}_indices should be a matrix, but got shape {list(indices.shape)}"
        )
    if values.ndim != 1 or len(values) != len(indices):
        raise InvalidArgumentError.of(f"{what}_values.NumElements() != # rows in {what}_indices")
    if shape.ndim != 1 or len(shape) != indices.shape[1]:
        raise InvalidArgumentError.of(f"{what}_shape.NumElements() != # columns in {what}_indices")
    # As in release 1.15, sequences may be longer than their dense shape: only the order of their elements
    # counts.
    if (indices < 0).any() or (indices[:, :-1] >= shape[:-1]).any():
        raise InvalidArgumentError.of(f"{what}_indices are out of bounds: need 0 <= index < {shape.tolist()}")


@compute("EditDistance", fresh=True)
def _edit_distance(
    xp: ArrayModule,
    hypothesis_indices: Array,
    hypothesis_values: Array,
    hypothesis_shape: Array,
    truth_indices: Array,
    truth_values: Array,
    truth_shape: Array,
    *,
    normalize: bool,
) -> Array:
    _check("hypothesis", hypothesis_indices, hypothesis_values, hypothesis_shape)
    _check("truth", truth_indices, truth_values, truth_shape)
    if len(hypothesis_shape) != len(truth_shape):
        raise InvalidArgumentError.of(
            "Expected hypothesis and truth tensors to have the same rank: "
            f"{len(hypothesis_shape)} vs. {len(truth_shape)}"
        )
    sizes = tuple(np.maximum(hypothesis_shape, truth_shape)[:-1].tolist())
    result = np.zeros(sizes, np.float32)
    ours, true = _sequences(hypothesis_indices, hypothesis_values), _sequences(truth_indices, truth_values)
    for group in {**ours, **true}:
        one, other = ours.get(group, []), true.get(group, [])
        distance: float = _distance(one, other)
        if normalize:
            distance = distance / len(other) if other else math.inf
        result[group] = distance
    return xp.asarray(result)


@shape_function("EditDistance")
def _distance_shape(op: Operation) -> list[TensorShape]:
    for at, rank in ((0, 2), (1, 1), (2, 1), (3, 2), (4, 1), (5, 1)):
        require_rank(op.inputs[at].shape, rank)
    one, other = (constant_value(op.inputs[at]) for at in (2, 5))
    if one is None or other is None:
        return [UNKNOWN_SHAPE]
    if len(one) != len(other):
        raise ValueError(
            f"Num elements of hypothesis_shape does not match truth_shape: {len(one)} vs. {len(other)}"
        )
    return [TensorShape.of(tuple(np.maximum(one, other)[:-1].tolist()))]


not_differentiable("EditDistance")
