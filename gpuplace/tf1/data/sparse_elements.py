"""Datasets whose dense elements are put together as sparse tensors.

Source: tensorflow/python/data/experimental/ops/batching.py, release 1.15 (operation, sentences).
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
    """Dense elements of different shapes, put together as sparse tensors.

    Args:
        batch_size: elements of a batch.
        row_shape: the shape of a row; None or -1 in it: as long as the longest of the batch.

    Returns:
        A function for ``Dataset.apply``, for elements that are one tensor.

    Raises:
        TypeError: an element is more than that.
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
        shape, known = shape_tensor(row_shape)
        spec = SparseTensorSpec(TensorShape([None]).concatenate(known), dtype)
        return unary(dataset, "DenseToSparseBatchDataset", spec, batch_size=size, row_shape=shape)

    return apply
