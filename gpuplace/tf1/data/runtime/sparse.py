"""Stages that slice sparse tensors, or batch elements as sparse tensors.

A sparse element is three arrays, as ``gpuplace.ops.sparse.sparse_spec`` packs them.

Source: tensorflow/core/kernels/data/sparse_tensor_slice_dataset_op.cc and
experimental/dense_to_sparse_batch_dataset_op.cc, release 1.15 (messages).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.errors import DataLossError, UnimplementedError
from gpuplace.kernels.compute import compute
from gpuplace.shapes import brackets
from gpuplace.tf1.data.runtime.batching import Batch
from gpuplace.tf1.data.runtime.stages import Element, Items, Stage, invalid
from gpuplace.typing import ArrayModule


@compute("SparseTensorSliceDataset")
def _slices(xp: ArrayModule, indices: Any, values: Any, dense_shape: Any) -> Any:
    for what, array, rank in (("indices", indices, 2), ("values", values, 1), ("shape", dense_shape, 1)):
        if array.ndim != rank:
            kind = "matrix" if rank == 2 else "vector"
            raise invalid(f"Input {what} should be a {kind} but received shape {brackets(array.shape)}")
    if len(indices) != len(values):
        raise invalid(
            f"Number of values must match first dimension of indices. Got {len(values)} values, indices shape:"
            f" {brackets(indices.shape)}"
        )
    if indices.shape[1] != len(dense_shape):
        raise invalid(
            "Number of dimensions must match second dimension of indices. Got"
            f" {len(dense_shape)} dimensions, indices shape: {brackets(indices.shape)}"
        )
    rows = indices[:, 0] if len(indices) else np.empty(0, np.int64)
    if (np.diff(rows) < 0).any():
        raise UnimplementedError.of(
            "The SparseTensor must be ordered in the batch dimension; handling arbitrarily"
            " ordered input is not currently supported."
        )
    count = int(dense_shape[0]) if len(dense_shape) else 0
    bounds = np.searchsorted(rows, np.arange(count + 1))
    parts = [slice(*pair) for pair in zip(bounds[:-1], bounds[1:], strict=True)]
    return Items([(indices[part, 1:], values[part], dense_shape[1:]) for part in parts])


class SparseBatch(Batch):
    """Batches of dense elements as sparse tensors.

    Args:
        stage: the input stage, with elements of one component.
        size: number of elements in a batch.
        shape: shape of a row; -1: the size of the longest.
    """

    def __init__(self, stage: Stage, size: int, shape: Sequence[int]) -> None:
        super().__init__(stage, size, False)
        self.shape = tuple(shape)

    def rows(self) -> None:
        return None

    def together(self, elements: Sequence[Element]) -> tuple[Any, ...]:
        values = [element[0] for element in elements]
        for value in values:
            if value.ndim != len(self.shape):
                raise invalid(
                    f"Input element had shape ({brackets(value.shape)}) that is incompatible with the row"
                    f" shape ({brackets(self.shape)})."
                )
        sizes = []
        for axis, size in enumerate(self.shape):
            longest = max((value.shape for value in values), key=operator.itemgetter(axis))
            if size != -1 and longest[axis] > size:
                raise DataLossError.of(
                    f"Input element had shape ({brackets(longest)}) that is larger than the row shape"
                    f" ({brackets(self.shape)})."
                )
            sizes.append(longest[axis] if size == -1 else size)
        indices = [
            np.concatenate(
                [np.full((value.size, 1), number), np.indices(value.shape).reshape(value.ndim, -1).T], axis=1
            )
            for number, value in enumerate(values)
        ]
        packed = np.empty(3, object)
        packed[:] = (
            np.concatenate(indices).astype(np.int64),
            np.concatenate([value.reshape(-1) for value in values]),
            np.array([len(values), *sizes], np.int64),
        )
        return (packed,)


@compute("DenseToSparseBatchDataset", "ExperimentalDenseToSparseBatchDataset")
def _dense_to_sparse(xp: ArrayModule, input_dataset: Stage, batch_size: Any, row_shape: Any) -> Any:
    return SparseBatch(input_dataset, int(batch_size), row_shape.tolist())
