"""The names of ``tf.data``.

Source: tensorflow/_api/v1/data, release 1.15.
"""

from typing import Any

from gpuplace.tf1.api.training import data_experimental as experimental
from gpuplace.tf1.data.dataset import Dataset, DatasetSpec
from gpuplace.tf1.data.iterators import Iterator
from gpuplace.tf1.data.options import Options
from gpuplace.tf1.data.readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset

__all__ = [
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "experimental",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """Return an iterator over the elements, as ``dataset.make_one_shot_iterator()`` does.

    Args:
        dataset: the dataset.

    Returns:
        An ``Iterator``.

    Raises:
        ValueError: the dataset uses a placeholder, a variable or other state of the graph.
    """
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """Return an iterator that has to be initialized, as ``dataset.make_initializable_iterator()`` does.

    Args:
        dataset: the dataset.
        shared_name: a name under which sessions share it; None: unshared.

    Returns:
        An ``Iterator``.
    """
    return dataset.make_initializable_iterator(shared_name)


def get_output_types(dataset_or_iterator: Any) -> Any:
    """Return the types of the elements, in their structure.

    Args:
        dataset_or_iterator: a dataset or an iterator.

    Returns:
        Types, in the structure of the elements.

    Raises:
        TypeError: the argument is something else.
    """
    experimental.get_structure(dataset_or_iterator)
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Return the known shapes of the elements, in their structure.

    Args:
        dataset_or_iterator: a dataset or an iterator.

    Returns:
        Shapes, in the structure of the elements.

    Raises:
        TypeError: the argument is something else.
    """
    experimental.get_structure(dataset_or_iterator)
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """Return the classes of the elements' components, in their structure.

    Args:
        dataset_or_iterator: a dataset or an iterator.

    Returns:
        Classes, in the structure of the elements.

    Raises:
        TypeError: the argument is something else.
    """
    experimental.get_structure(dataset_or_iterator)
    return dataset_or_iterator.output_classes
