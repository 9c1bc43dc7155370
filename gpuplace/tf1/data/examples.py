"""Datasets of ``Example`` messages and of rows of databases, and datasets that are written to files.

Source: tensorflow/python/data/experimental/ops/parsing_ops.py, readers.py and writers.py, release 1.15 (operations,
defaults, sentences).
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
from gpuplace.tf1.data.dataset import AUTOTUNE, Dataset, int64_tensor, made, to_variant, unary
from gpuplace.tf1.data.experimental import Transformation, in_turn
from gpuplace.tf1.data.readers import TFRecordDataset
from gpuplace.tf1.input.parsing import (
    ANY_FEATURE,
    SparseFeature,
    default_tensors,
    raw_of,
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
    """Takes the features out of vectors of ``Example`` messages, as ``tf.parse_example``.

    Args:
        features: as for ``tf.parse_example``.
        num_parallel_calls: vectors that TensorFlow would work on at a time.

    Returns:
        A function for ``Dataset.apply``; the elements are dicts from key to tensor.

    Raises:
        ValueError: the features are missing, or not complete.
        TypeError: elements are no vectors of strings.
    """
    if features is None:
        raise ValueError(f"Missing: features was {features}.")

    def apply(dataset: Dataset) -> Dataset:
        if not structure.are_compatible(dataset.element_spec, TensorSpec([None], string)):
            raise TypeError("Input dataset should be a dataset of vectors of strings")
        raw = raw_of(with_rows(features), ANY_FEATURE)
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
        if any(isinstance(one, SparseFeature) for one in features.values()):
            return parsed.map(lambda found: with_sparse_features(features, found), num_parallel_calls)
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
    """Batches of the features of ``Example`` messages in files.

    Args:
        file_pattern: a glob pattern, or several of them.
        batch_size: messages of a batch.
        features: as for ``tf.parse_example``.
        reader: makes a dataset of messages of the name of a file.
        label_key: the feature that is given out apart, as the second part of an element; None: none.
        reader_args: further arguments of ``reader``; None: none.
        num_epochs: how often the files are gone through; None: without end.
        shuffle: whether files and messages come in random order.
        shuffle_buffer_size: as for ``Dataset.shuffle``.
        shuffle_seed: the same.
        prefetch_buffer_size: batches that TensorFlow would make ahead; None: as many as seem good.
        reader_num_threads: files that are read in turn; None: 1.
        parser_num_threads: batches that TensorFlow would work on at a time; None: 2.
        sloppy_ordering: whether TensorFlow may take another order; here it is always the same.
        drop_final_batch: whether a last batch with fewer messages is left out.

    Returns:
        A dataset.

    Raises:
        TypeError: ``reader`` is one of queues.
        ValueError: ``label_key`` is no feature.
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
        dataset = in_turn(dataset, lambda _, message: message)
    dataset = shuffled_and_repeated(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    batches = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    parsed = batches.apply(parse_example_dataset(features, parser_num_threads or 2))
    if label_key:
        if label_key not in features:
            raise ValueError(f"The `label_key` provided ({label_key!r}) must be one of the `features` keys.")
        parsed = parsed.map(lambda found: (found, found.pop(label_key)))
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
    """Batches of the records of TFRecord files.

    Args:
        file_pattern: a glob pattern, or several of them.
        batch_size: records of a batch.
        parser_fn: makes of a record what is put together; None: the record as it is.
        num_epochs: how often the files are gone through; None: without end.
        shuffle: whether files and records come in random order.
        shuffle_buffer_size: as for ``Dataset.shuffle``; None: 10000.
        shuffle_seed: the same.
        prefetch_buffer_size: batches that TensorFlow would make ahead; None: as many as seem good.
        num_parallel_reads: files that are read in turn; None: 24.
        num_parallel_parser_calls: records that TensorFlow would work on at a time; None: a batch.
        drop_final_batch: whether a last batch with fewer records is left out.

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
    """The rows that a query of a database gives, tuples of scalars.

    Args:
        driver_name: ``"sqlite"``.
        data_source_name: the name of the database's file.
        query: the query.
        output_types: the types of the columns, a tuple.
    """

    def __init__(
        self,
        driver_name: TensorLike,
        data_source_name: TensorLike,
        query: TensorLike,
        output_types: Sequence[Any],
    ) -> None:
        spec = tuple(TensorSpec([], as_dtype(one)) for one in output_types)
        dataset = made(
            "SqlDataset",
            spec,
            driver_name=convert_to_tensor(driver_name, string, name="driver_name"),
            data_source_name=convert_to_tensor(data_source_name, string, name="data_source_name"),
            query=convert_to_tensor(query, string, name="query"),
        )
        super().__init__(to_variant(dataset), spec)


class TFRecordWriter:
    """Writes the elements of datasets to a TFRecord file.

    Args:
        filename: the name of the file.
        compression_type: ``""``, ``"ZLIB"`` or ``"GZIP"``; None: ``""``.
    """

    def __init__(self, filename: TensorLike, compression_type: TensorLike | None = None) -> None:
        self._filename = convert_to_tensor(filename, string, name="filename")
        self._compression_type = convert_to_tensor(
            "" if compression_type is None else compression_type, string, name="compression_type"
        )

    def write(self, dataset: Dataset) -> Operation:
        """An operation that writes all elements.

        Args:
            dataset: a dataset of string scalars.

        Returns:
            The operation.

        Raises:
            TypeError: it is no such dataset.
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
