"""Datasets of ``Example`` messages and database rows, and a writer of datasets to files.

Source: tensorflow/python/data/experimental/ops/parsing_ops.py, readers.py and writers.py, release 1.15 (operations,
defaults, messages).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuplace.dtypes import as_dtype, string
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Operation
from gpuplace.ops.sparse.sparse_spec import SparseTensorSpec
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.tf1.data import structure
from gpuplace.tf1.data.csv_files import in_files, shuffled_and_repeated
from gpuplace.tf1.data.dataset import AUTOTUNE, Dataset, build, int64_tensor, to_variant, unary
from gpuplace.tf1.data.experimental import Transformation, map_serial
from gpuplace.tf1.data.readers import TFRecordDataset
from gpuplace.tf1.input.parsing import (
    ANY_FEATURE,
    SparseFeature,
    default_tensors,
    feature_arguments,
    with_rows,
    with_sparse_features,
)
from gpuplace.tf1.input.readers import ReaderBase
from gpuplace.typing import TensorLike

__all__ = [
    "SqlDataset",
    "TFRecordWriter",
    "make_batched_features_dataset",
    "make_tf_record_dataset",
    "parse_example_dataset",
]


def parse_example_dataset(features: Mapping[str, Any], num_parallel_calls: TensorLike = 1) -> Transformation:
    """Parse the features of batches of ``Example`` messages, as ``tf.parse_example`` does.

    Args:
        features: as for ``tf.parse_example``.
        num_parallel_calls: number of batches that TensorFlow would parse in parallel.

    Returns:
        A function for ``Dataset.apply``; its elements are dicts from key to tensor.

    Raises:
        ValueError: the features are missing or incomplete.
        TypeError: elements are not vectors of strings.
    """
    if features is None:
        raise ValueError(f"Missing: features was {features}.")

    def apply(dataset: Dataset) -> Dataset:
        if not structure.are_compatible(dataset.element_spec, TensorSpec([None], string)):
            raise TypeError("Input dataset should be a dataset of vectors of strings")
        raw = feature_arguments(with_rows(features), ANY_FEATURE)
        rows = dataset.output_shapes
        spec: dict[str, Any] = {
            key: TensorSpec(rows.concatenate(shape), dtype)
            for key, dtype, shape in zip(raw.dense_keys, raw.dense_types, raw.dense_shapes, strict=True)
        }
        for key, dtype in zip(raw.sparse_keys, raw.sparse_types, strict=True):
            spec[key] = SparseTensorSpec(rows.concatenate([None]), dtype)
        parsed = unary(
            dataset,
            "ParseExampleDataset",
            spec,
            num_parallel_calls=int64_tensor(num_parallel_calls, "num_parallel_calls"),
            dense_defaults=default_tensors(raw),
            sparse_keys=raw.sparse_keys,
            dense_keys=raw.dense_keys,
            sparse_types=raw.sparse_types,
            dense_shapes=raw.dense_shapes,
        )
        if any(isinstance(feature, SparseFeature) for feature in features.values()):
            return parsed.map(lambda parts: with_sparse_features(features, parts), num_parallel_calls)
        return parsed

    return apply


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: TensorLike,
    features: Mapping[str, Any],
    reader: Callable[..., Any] = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Return batches of the features of ``Example`` messages in files.

    Args:
        file_pattern: one or more glob patterns.
        batch_size: number of messages in a batch.
        features: as for ``tf.parse_example``.
        reader: creates a dataset of messages from a file name.
        label_key: the feature that becomes the second component of an element, or None.
        reader_args: further arguments of ``reader``, or None.
        num_epochs: number of passes over the files; None: unlimited.
        shuffle: whether to shuffle files and messages.
        shuffle_buffer_size: as for ``Dataset.shuffle``.
        shuffle_seed: as for ``Dataset.shuffle``.
        prefetch_buffer_size: batches that TensorFlow would prefetch; None: chosen automatically.
        reader_num_threads: number of files to interleave; None: 1.
        parser_num_threads: number of batches that TensorFlow would parse in parallel; None: 2.
        sloppy_ordering: whether TensorFlow may change the order; here it is always deterministic.
        drop_final_batch: whether to drop a last batch with fewer messages.

    Returns:
        A dataset.

    Raises:
        TypeError: ``reader`` is a reader for queues.
        ValueError: ``label_key`` is not a feature.
    """
    if isinstance(reader, type) and issubclass(reader, ReaderBase):
        raise TypeError(
            "The `reader` argument must return a `Dataset` object. `tf.ReaderBase` subclasses are not supported. For"
            " example, pass `tf.data.TFRecordDataset` instead of `tf.TFRecordReader`."
        )
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    read: Any = reader
    arguments = reader_args or ()
    dataset = in_files(files, lambda name: read(name, *arguments), reader_num_threads or 1, sloppy_ordering)
    if dataset.output_types == (string, string):  # pairs of a key and a message
        dataset = map_serial(dataset, lambda _, message: message)
    dataset = shuffled_and_repeated(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    batches = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    parsed = batches.apply(parse_example_dataset(features, parser_num_threads or 2))
    if label_key:
        if label_key not in features:
            raise ValueError(f"The `label_key` provided ({label_key!r}) must be one of the `features` keys.")
        parsed = parsed.map(lambda parts: (parts, parts.pop(label_key)))
    return parsed.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def make_tf_record_dataset(
    file_pattern: Any,
    batch_size: TensorLike,
    parser_fn: Callable[..., Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int | None = None,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    num_parallel_parser_calls: int | None = None,
    drop_final_batch: bool = False,
) -> Dataset:
    """Return batches of the records of TFRecord files.

    Args:
        file_pattern: one or more glob patterns.
        batch_size: number of records in a batch.
        parser_fn: converts a record to an element; None: the record itself.
        num_epochs: number of passes over the files; None: unlimited.
        shuffle: whether to shuffle files and records.
        shuffle_buffer_size: as for ``Dataset.shuffle``; None: 10000.
        shuffle_seed: as for ``Dataset.shuffle``.
        prefetch_buffer_size: batches that TensorFlow would prefetch; None: chosen automatically.
        num_parallel_reads: number of files to interleave; None: 24.
        num_parallel_parser_calls: number of records that TensorFlow would parse in parallel; None: a batch.
        drop_final_batch: whether to drop a last batch with fewer records.

    Returns:
        A dataset.
    """
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    dataset: Dataset = TFRecordDataset(files, num_parallel_reads=num_parallel_reads or 24)
    size = 10000 if shuffle_buffer_size is None else shuffle_buffer_size
    dataset = shuffled_and_repeated(dataset, num_epochs, shuffle, size, shuffle_seed)
    if parser_fn is not None:
        calls = batch_size if num_parallel_parser_calls is None else num_parallel_parser_calls
        dataset = dataset.map(parser_fn, num_parallel_calls=calls)
    batches = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    if prefetch_buffer_size == 0:
        return batches
    return batches.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


class SqlDataset(Dataset):
    """The rows of a database query, tuples of scalars.

    Args:
        driver_name: ``"sqlite"``.
        data_source_name: path of the database file.
        query: the query.
        output_types: dtypes of the columns, a tuple.
    """

    def __init__(
        self,
        driver_name: TensorLike,
        data_source_name: TensorLike,
        query: TensorLike,
        output_types: Sequence[Any],
    ) -> None:
        spec = tuple(TensorSpec([], as_dtype(dtype)) for dtype in output_types)
        dataset = build(
            "SqlDataset",
            spec,
            driver_name=convert_to_tensor(driver_name, string, name="driver_name"),
            data_source_name=convert_to_tensor(data_source_name, string, name="data_source_name"),
            query=convert_to_tensor(query, string, name="query"),
        )
        super().__init__(to_variant(dataset), spec)


class TFRecordWriter:
    """Writer of dataset elements to a TFRecord file.

    Args:
        filename: path of the file.
        compression_type: ``""``, ``"ZLIB"`` or ``"GZIP"``; None: ``""``.
    """

    def __init__(self, filename: TensorLike, compression_type: TensorLike | None = None) -> None:
        self._filename = convert_to_tensor(filename, string, name="filename")
        self._compression_type = convert_to_tensor(
            "" if compression_type is None else compression_type, string, name="compression_type"
        )

    def write(self, dataset: Dataset) -> Operation:
        """Return an operation that writes all elements.

        Args:
            dataset: a dataset of string scalars.

        Returns:
            The operation.

        Raises:
            TypeError: ``dataset`` is not such a dataset.
        """
        if not isinstance(dataset, Dataset):
            raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
        if not structure.are_compatible(dataset.element_spec, TensorSpec([], string)):
            raise TypeError(
                "`dataset` must produce scalar `DT_STRING` tensors whereas it produces shape"
                f" {dataset.output_shapes} and types {dataset.output_types}"
            )
        return apply_op(
            "DatasetToTFRecord",
            input_dataset=to_variant(dataset),
            filename=self._filename,
            compression_type=self._compression_type,
        )
