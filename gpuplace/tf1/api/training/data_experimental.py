"""The names of ``tf.data.experimental``.

Source: tensorflow/_api/v1/data/experimental, release 1.15.
"""

from gpuplace.ops.sparse.sparse_spec import SparseTensorSpec
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.ops.type_spec import TypeSpec as Structure
from gpuplace.tf1.data.choosing import rejection_resample, sample_from_datasets
from gpuplace.tf1.data.csv_files import CsvDataset, make_csv_dataset
from gpuplace.tf1.data.dataset import DatasetSpec as DatasetStructure
from gpuplace.tf1.data.examples import (
    SqlDataset,
    TFRecordWriter,
    make_batched_features_dataset,
    parse_example_dataset,
)
from gpuplace.tf1.data.experimental import *
from gpuplace.tf1.data.experimental import __all__ as _all
from gpuplace.tf1.data.multi_device_iterator import MultiDeviceIterator
from gpuplace.tf1.data.optional import Optional, get_next_as_optional
from gpuplace.tf1.data.optional import OptionalSpec as OptionalStructure
from gpuplace.tf1.data.prefetching import copy_to_device, prefetch_to_device
from gpuplace.tf1.data.sparse_elements import dense_to_sparse_batch
from gpuplace.tf1.saving.iterators import make_saveable_from_iterator
from gpuplace.typing import DTypeLike, ShapeLike

__all__ = [
    *_all,
    "CsvDataset",
    "DatasetStructure",
    "MultiDeviceIterator",
    "Optional",
    "OptionalStructure",
    "SparseTensorStructure",
    "SqlDataset",
    "Structure",
    "TFRecordWriter",
    "TensorStructure",
    "copy_to_device",
    "dense_to_sparse_batch",
    "get_next_as_optional",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "make_saveable_from_iterator",
    "map_and_batch_with_legacy_function",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
]

map_and_batch_with_legacy_function = map_and_batch


def TensorStructure(dtype: DTypeLike, shape: ShapeLike) -> TensorSpec:  # noqa: N802 - TensorFlow's name
    """Return a ``tf.TensorSpec``; the older name, which takes the dtype first.

    Args:
        dtype: the type of the tensor.
        shape: the known shape.

    Returns:
        A ``TensorSpec``.
    """
    return TensorSpec(shape, dtype)


def SparseTensorStructure(dtype: DTypeLike, shape: ShapeLike) -> SparseTensorSpec:  # noqa: N802
    """Return a ``tf.SparseTensorSpec``; the older name, which takes the dtype first.

    Args:
        dtype: the type of the values.
        shape: the known dense shape.

    Returns:
        A ``SparseTensorSpec``.
    """
    return SparseTensorSpec(shape, dtype)
