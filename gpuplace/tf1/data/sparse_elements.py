"""Datasets that batch dense elements as sparse tensors.

Source: tensorflow/python/data/experimental/ops/batching.py, release 1.15 (operation, messages).
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import DType
from gpuplace.ops.sparse.sparse_spec import SparseTensorSpec
from gpuplace.shapes import TensorShape
from gpuplace.tf1.data.dataset import Dataset, int64_tensor, unary
from gpuplace.tf1.data.experimental import Transformation
from gpuplace.tf1.data.padding import shape_tensor
from gpuplace.typing import TensorLike

__all__ = ["dense_to_sparse_batch"]


def dense_to_sparse_batch(batch_size: TensorLike, row_shape: Any) -> Transformation:
    """Batch dense elements of different shapes as sparse tensors.

    Args:
        batch_size: number of elements in a batch.
        row_shape: shape of a row; None or -1 for a size: that of the longest in the batch.

    Returns:
        A function for ``Dataset.apply``, for elements that are one tensor.

    Raises:
        TypeError: an element has more than one tensor.
        DataLossError: at run time, an element is larger than the shape.
    """

    def apply(dataset: Dataset) -> Dataset:
        dtype = dataset.output_types
        if not isinstance(dtype, DType):
            raise TypeError(
                "DenseToSparseDataset requires an input whose elements have a single component, whereas the input"
                f" has {dtype!r}."
            )
        size = int64_tensor(batch_size, "batch_size")
        shape, static_shape = shape_tensor(row_shape)
        spec = SparseTensorSpec(TensorShape([None]).concatenate(static_shape), dtype)
        return unary(dataset, "DenseToSparseBatchDataset", spec, batch_size=size, row_shape=shape)

    return apply
