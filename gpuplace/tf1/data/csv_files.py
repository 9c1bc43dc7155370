"""``CsvDataset`` and ``make_csv_dataset``: datasets of CSV records.

Source: tensorflow/python/data/experimental/ops/readers.py, release 1.15 (operations, defaults, messages).
"""

from __future__ import annotations

import csv
import itertools
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, float32, float64, int32, int64, string
from gpuplace.files.file_system import glob
from gpuplace.files.records import LineReader
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import constant
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.tf1.data.dataset import AUTOTUNE, Dataset, build, int64_tensor, to_variant, unary
from gpuplace.tf1.data.experimental import map_serial, shuffle_and_repeat
from gpuplace.tf1.data.options import Options
from gpuplace.tf1.data.readers import parallel_interleaved
from gpuplace.typing import TensorLike

__all__ = ["CsvDataset", "make_csv_dataset"]

_TYPES = (float32, float64, int32, int64, string)
_BUFFER_BYTES = 4 * 1024 * 1024


def _defaults(values: Sequence[Any]) -> list[Tensor]:
    """Return the defaults of columns; an empty tensor for a column without one, whose values are required."""
    defaults = []
    for value in values:
        is_type = not isinstance(value, Tensor | np.ndarray | list | tuple) and value in _TYPES
        defaults.append(constant([], dtype=as_dtype(value)) if is_type else convert_to_tensor(value))
    return defaults


class CsvDataset(Dataset):
    """The records of CSV files, tuples of scalars.

    Args:
        filenames: file names, strings.
        record_defaults: for each column its default value, or its type (float32, float64, int32, int64 or string) if
            every value is required.
        compression_type: ``""``, ``"ZLIB"`` or ``"GZIP"``; None: ``""``.
        buffer_size: bytes that TensorFlow would read at a time; None: 4 MB.
        header: whether to skip the first line of each file.
        field_delim: the separator, one character.
        use_quote_delim: whether to strip quotation marks around values.
        na_value: another text for missing values.
        select_cols: indices of the columns to read, ascending; None: all.
    """

    def __init__(
        self,
        filenames: TensorLike,
        record_defaults: Sequence[Any],
        compression_type: TensorLike | None = None,
        buffer_size: TensorLike | None = None,
        header: Any = False,
        field_delim: TensorLike = ",",
        use_quote_delim: Any = True,
        na_value: TensorLike = "",
        select_cols: Sequence[int] | None = None,
    ) -> None:
        names = convert_to_tensor(filenames, string, name="filenames")
        packing = convert_to_tensor(
            "" if compression_type is None else compression_type, string, name="compression_type"
        )
        defaults = _defaults(record_defaults)
        spec = tuple(TensorSpec([], default.dtype) for default in defaults)
        dataset = build(
            "CSVDataset",
            spec,
            has_types=False,
            filenames=names,
            compression_type=packing,
            buffer_size=int64_tensor(_BUFFER_BYTES if buffer_size is None else buffer_size, "buffer_size"),
            header=convert_to_tensor(header, "bool", name="header"),
            field_delim=convert_to_tensor(field_delim, string, name="field_delim"),
            use_quote_delim=convert_to_tensor(use_quote_delim, "bool", name="use_quote_delim"),
            na_value=convert_to_tensor(na_value, string, name="na_value"),
            select_cols=convert_to_tensor(list(select_cols or ()), int64, name="select_cols"),
            record_defaults=defaults,
        )
        super().__init__(to_variant(dataset), spec)


def make_csv_dataset(
    file_pattern: Any,
    batch_size: TensorLike,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
) -> Dataset:
    """Return batches of CSV records, as dicts from column name to tensor.

    Args:
        file_pattern: one or more glob patterns or file names.
        batch_size: number of records in a batch.
        column_names: the names of all columns; None: read from the first line of each file.
        column_defaults: as ``record_defaults`` of ``CsvDataset``; None: dtypes are inferred from the first records.
        label_name: the column that becomes the second component of an element, or None.
        select_columns: names or indices of the columns to read; None: all.
        field_delim: the separator, one character.
        use_quote_delim: whether to strip quotation marks around values.
        na_value: another text for missing values.
        header: whether the first line of each file contains names.
        num_epochs: number of passes over the files; None: unlimited.
        shuffle: whether to shuffle files and records.
        shuffle_buffer_size: as for ``Dataset.shuffle``.
        shuffle_seed: as for ``Dataset.shuffle``.
        prefetch_buffer_size: batches that TensorFlow would prefetch; None: chosen automatically.
        num_parallel_reads: number of files to interleave; None: 1.
        sloppy: whether TensorFlow may change the order; here it is always deterministic.
        num_rows_for_inference: number of records from which dtypes are inferred; None: all.
        compression_type: ``""``, ``"ZLIB"`` or ``"GZIP"``; None: ``""``.
        ignore_errors: whether to skip unreadable records.

    Returns:
        A dataset.

    Raises:
        ValueError: a file or column does not exist, names are duplicated, or records have different lengths.
    """
    names = _files_of(file_pattern)
    if column_names is None and not header:
        raise ValueError("Cannot infer column names without a header line.")
    reading = {"delimiter": field_delim, "quoting": csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE}
    packing = compression_type or ""
    if (column_names is None or column_defaults is None) and packing not in ("", "GZIP"):
        raise ValueError(
            f"compression_type ({packing}) is not supported"
            + (" for probing columns" if packing == "ZLIB" else "")
        )
    columns = list(_column_names(names, packing, reading) if column_names is None else column_names)
    if len(columns) != len(set(columns)):
        raise ValueError("Cannot have duplicate column names.")
    chosen = None if select_columns is None else _numbers_of(select_columns, columns)
    if column_defaults is None:
        rows = _rows(names, packing, reading, len(columns), header)
        first = itertools.islice(rows, num_rows_for_inference)
        defaults = _guessed(list(first), range(len(columns)) if chosen is None else chosen, na_value)
    else:
        defaults = _defaults(column_defaults)
    if chosen is not None and len(defaults) != len(chosen):
        raise ValueError("If specified, column_defaults and select_columns must have same length.")
    if chosen is not None and len(columns) > len(chosen):
        columns = [columns[number] for number in chosen]
    if label_name is not None and label_name not in columns:
        raise ValueError("`label_name` provided must be one of the columns.")

    def one_file(name: Tensor) -> Dataset:
        dataset = CsvDataset(
            name, defaults, compression_type, None, header, field_delim, use_quote_delim, na_value, chosen
        )
        return unary(dataset, "IgnoreErrorsDataset") if ignore_errors else dataset

    def by_name(*values: Tensor) -> Any:
        columns_by_name = OrderedDict(
            zip(columns, values, strict=False)
        )  # a record with too many columns raises an error when it is read
        if label_name is None:
            return columns_by_name
        label = columns_by_name.pop(label_name)
        return columns_by_name, label

    files = Dataset.from_tensor_slices(names)
    if shuffle:
        files = files.shuffle(len(names), shuffle_seed)
    dataset = in_files(files, one_file, num_parallel_reads or 1, sloppy)
    dataset = shuffled_and_repeated(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    batches = dataset.batch(batch_size, drop_remainder=num_epochs is None)
    return map_serial(batches, by_name).prefetch(
        AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size
    )


def in_files(files: Dataset, one_file: Any, readers: int, sloppy: bool) -> Dataset:
    """Return the contents of files, several of them interleaved.

    Args:
        files: their names.
        one_file: creates a dataset from a file name.
        readers: number of interleaved files; -1: chosen automatically.
        sloppy: whether TensorFlow may change the order.
    """
    if readers != AUTOTUNE:
        return parallel_interleaved(files, one_file, readers, sloppy=sloppy)
    options = Options()
    options.experimental_deterministic = not sloppy
    return files.interleave(one_file, num_parallel_calls=readers).with_options(options)


def shuffled_and_repeated(
    dataset: Dataset, epochs: int | None, shuffles: bool, size: int, seed: int | None
) -> Dataset:
    """Return a dataset, optionally shuffled, repeated for a number of epochs.

    Args:
        dataset: the dataset.
        epochs: number of epochs; None: unlimited.
        shuffles: whether to shuffle.
        size: as ``buffer_size`` of ``Dataset.shuffle``.
        seed: as for ``Dataset.shuffle``.
    """
    if shuffles and epochs != 1:
        return dataset.apply(shuffle_and_repeat(size, epochs, seed))
    if shuffles:
        return dataset.shuffle(size, seed)
    return dataset if epochs == 1 else dataset.repeat(epochs)


# Properties of the files, read while the graph is built


def _files_of(patterns: Any) -> list[str]:
    pattern_list = list(patterns) if isinstance(patterns, (list, tuple)) else [patterns]
    if not pattern_list:
        raise ValueError("File pattern is empty.")
    paths: list[str] = []
    for pattern in pattern_list:
        paths += glob(pattern)
    if not paths:
        raise ValueError(f"No files match {patterns}.")
    return sorted(paths)


def _lines(name: str, packing: str) -> Iterator[str]:
    reader = LineReader(name, packing)
    try:
        while (line := reader.next()) is not None:
            yield line.decode() + "\n"
    finally:
        reader.close()


def _column_names(names: Sequence[str], packing: str, reading: dict[str, Any]) -> list[str]:
    header: list[str] | None = None
    for name in names:
        row = next(csv.reader(_lines(name, packing), **reading), None)
        if row is None:
            raise ValueError(f"Received StopIteration when reading the header line of {name}.  Empty file?")
        if header is not None and row != header:
            raise ValueError("Files have different column names in the header row.")
        header = row
    return header or []


def _rows(
    names: Sequence[str], packing: str, reading: dict[str, Any], count: int, header: bool
) -> Iterator[list[str]]:
    for name in names:
        rows = csv.reader(_lines(name, packing), **reading)
        for row in itertools.islice(rows, 1 if header else 0, None):
            if len(row) != count:
                raise ValueError(
                    "Problem inferring types: CSV row has different number of fields than expected."
                )
            yield row


def _numbers_of(chosen: Sequence[Any], columns: Sequence[str]) -> list[int]:
    """Return the indices, ascending, of columns given by name or index."""
    numbers = []
    for column in chosen:
        if isinstance(column, int):
            if not 0 <= column < len(columns):
                raise ValueError(f"Column index {column} specified in select_columns out of valid range.")
            numbers.append(column)
        elif column in columns:
            numbers.append(list(columns).index(column))
        else:
            raise ValueError(
                f"Value '{column}' specified in select_columns not a valid column index or name."
            )
    if len(set(numbers)) != len(numbers):
        raise ValueError("select_columns contains duplicate columns")
    return sorted(numbers)


_GUESSES = (int32, int64, float32, float64, string)
"""Candidate dtypes, from the most to the least specific."""


def _guessed(rows: Sequence[Sequence[str]], columns: Sequence[int], na_value: str) -> list[Tensor]:
    """Return zeros or empty strings of the most specific dtypes that fit all values of the columns."""
    defaults = []
    for column in columns:
        kinds = [_kind(row[column]) for row in rows if row[column] not in ("", na_value)]
        kind = _GUESSES[max(kinds)] if kinds else string
        defaults.append(constant(["" if kind is string else 0], dtype=kind))
    return defaults


def _kind(text: str) -> int:
    """Return the position of the first dtype in ``_GUESSES`` that a text fits."""
    try:
        number = int(text)
    except ValueError:
        pass
    else:
        for at, dtype in enumerate((int32, int64)):
            if dtype.min <= number <= dtype.max:
                return at
    try:
        value = float(text)
    except ValueError:
        return len(_GUESSES) - 1
    with np.errstate(over="ignore"):
        return next((at for at in (2, 3) if _GUESSES[at].as_numpy_dtype(value) < np.inf), len(_GUESSES) - 1)
