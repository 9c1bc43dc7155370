"""Datasets of CSV records, database rows and parsed ``Example`` messages, and the writing of datasets to files.

Source: tensorflow/core/kernels/data/experimental/csv_dataset_op.cc, sql_dataset_op.cc, parse_example_dataset_op.cc and
to_tf_record_op.cc, release 1.15 (messages).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import quote

import numpy as np

from gpuplace.dtypes import DType, string
from gpuplace.errors import UnimplementedError, UnknownError
from gpuplace.files.records import CsvReader, RecordWriter, compressor
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.shape_rules import require_rank_at_most
from gpuplace.ops.support import no_outputs
from gpuplace.shapes import SCALAR_SHAPE
from gpuplace.tf1.data.runtime.stages import END, Element, GetNext, Run, Stage, invalid
from gpuplace.tf1.input.csv import fields_of, value_of
from gpuplace.tf1.input.parsing_kernels import parsed_examples
from gpuplace.typing import Array, ArrayModule


def _scalar(value: Any, dtype: DType) -> Any:
    array = np.empty((), object if dtype is string else dtype.as_numpy_dtype)
    array[()] = value
    return array


class CsvRecords(Stage):
    """The records of CSV files.

    Args:
        names: file names.
        kind: the compression.
        header: whether to skip the first line of each file.
        delimiter: the separator.
        quotes: whether to strip quotation marks around values.
        na_value: another text for missing values.
        columns: indices of the columns to read; empty: all.
        defaults: the default value of each column; empty if every value is required.
        types: dtypes of the columns.
    """

    def __init__(
        self,
        names: Sequence[str],
        kind: str,
        header: bool,
        delimiter: bytes,
        quotes: bool,
        na_value: bytes,
        columns: Sequence[int],
        defaults: Sequence[Any],
        types: Sequence[DType],
    ) -> None:
        super().__init__()
        self.names, self.kind, self.header = names, kind, header
        self.delimiter, self.quotes, self.na_value = delimiter, quotes, na_value
        self.columns, self.defaults, self.types = columns, defaults, types

    def begin(self, run: Run) -> GetNext:
        records, check = self._records(), run.check

        def take() -> Any:
            check()
            record = next(records, None)
            return END if record is None else self._element(record)

        return take

    def _records(self) -> Iterator[bytes]:
        for name in self.names:
            with closing(CsvReader(name, self.kind, self.delimiter, self.quotes)) as reader:
                if self.header and reader.next() is None:
                    raise invalid("Can't read header of file")
                while (record := reader.next()) is not None:
                    yield record

    def _element(self, record: bytes) -> Element:
        fields = fields_of(record, self.delimiter, self.quotes, "quotes") or [b""]
        expected = len(self.types)
        if self.columns:
            fields = [fields[column] for column in self.columns if column < len(fields)]
        values = []
        columns = enumerate(zip(fields, self.types, self.defaults, strict=False))
        for number, (text, dtype, default) in columns:
            if text and text != self.na_value:
                values.append(_scalar(value_of(text, dtype, number, "record"), dtype))
            elif default.size:
                values.append(_scalar(default.reshape(-1)[0], dtype))
            else:
                raise invalid(f"Field {number} is required but missing in record!")
        if len(fields) != expected:
            count = "more" if len(fields) > expected else len(fields)
            raise invalid(f"Expect {expected} fields but have {count} in record")
        return values


@compute("CSVDataset", "ExperimentalCSVDataset")
def _csv(
    xp: ArrayModule,
    filenames: Any,
    compression_type: Any,
    buffer_size: Array,
    header: Any,
    field_delim: Any,
    use_quote_delim: Any,
    na_value: Any,
    select_cols: Array,
    record_defaults: list[Any],
    *,
    output_types: Any,
) -> Any:
    if filenames.ndim > 1:
        raise invalid("`filenames` must be a scalar or a vector.")
    if int(buffer_size) <= 0:
        raise invalid("buffer_size should be positive")
    if len(field_delim[()]) != 1:
        raise invalid("field_delim should be only 1 char")
    for number, default in enumerate(record_defaults):
        if default.ndim > 1:
            raise invalid("Each record default should be at most rank 1")
        if default.size > 1:
            raise invalid(f"There should only be 1 default per field but field {number} has {default.size}")
    columns = select_cols.tolist()
    if columns:
        if len(columns) != len(record_defaults):
            raise invalid("select_cols should match output size")
        if any(column >= other for column, other in zip(columns, columns[1:], strict=False)):
            raise invalid("select_cols should be strictly increasing indices")
        if columns[0] < 0:
            raise invalid("select_cols should be non-negative indices")
    kind = compression_type[()].decode()
    if kind not in ("", "ZLIB", "GZIP"):
        raise invalid("Unsupported compression_type: " + kind + ".")
    return CsvRecords(
        [os.fsdecode(name) for name in filenames.reshape(-1).tolist()],
        kind,
        bool(header),
        field_delim[()],
        bool(use_quote_delim),
        na_value[()],
        columns,
        record_defaults,
        output_types,
    )


class SqlRows(Stage):
    """Rows of a database query.

    Args:
        name: path of the database file.
        query: the query.
        types: dtypes of the columns.
    """

    def __init__(self, name: str, query: str, types: Sequence[DType]) -> None:
        super().__init__()
        self.name, self.query, self.types = name, query, types

    def begin(self, run: Run) -> GetNext:
        rows: Iterator[Any] | None = None

        def take() -> Any:
            nonlocal rows
            if rows is None:
                rows = iter(self._rows())
            row = next(rows, None)
            if row is None:
                return END
            return [
                _scalar(_database_value(value, dtype), dtype)
                for value, dtype in zip(row, self.types, strict=True)
            ]

        return take

    def _rows(self) -> list[Any]:
        try:
            place = f"file:{quote(self.name)}?mode=ro"
            with closing(sqlite3.connect(place, uri=True)) as connection:
                cursor = connection.execute(self.query)
                columns = len(cursor.description or ())
                if columns != len(self.types):
                    raise invalid(
                        f"The number of columns in query ({columns}) must match the number of elements in"
                        f" output_types ({len(self.types)})."
                    )
                return cursor.fetchall()
        except sqlite3.Error as error:
            raise UnknownError.of(f"{error} {self.query}") from None


def _database_value(value: Any, dtype: DType) -> Any:
    """Convert a value of a column to a dtype; missing values are 0 or empty."""
    if dtype is string:
        return value if isinstance(value, bytes) else b"" if value is None else str(value).encode()
    number = value
    if isinstance(value, (str, bytes)):
        try:
            number = float(value)
        except ValueError:
            number = 0
    number = number or 0
    if dtype.name == "bool":
        return number != 0
    return number if dtype.is_floating else int(number)


@compute("SqlDataset", "ExperimentalSqlDataset")
def _sql(xp: ArrayModule, driver_name: Any, data_source_name: Any, query: Any, *, output_types: Any) -> Any:
    if driver_name[()] != b"sqlite":
        raise invalid(
            f"The database type, {driver_name[()].decode()}, is not supported by SqlDataset. The set of supported"
            " databases is: {'sqlite'}."
        )
    return SqlRows(os.fsdecode(data_source_name[()]), query[()].decode(), output_types)


class ParsedExamples(Stage):
    """Features parsed from vectors of ``Example`` messages.

    Args:
        stage: the input stage, vectors of messages.
        settings: the arguments of ``parsed_examples`` that describe the features.
    """

    def __init__(self, stage: Stage, **settings: Any) -> None:
        super().__init__(stage)
        self.settings = settings
        keys = [*settings["dense_keys"], *settings["sparse_keys"]]
        self.order = sorted(range(len(keys)), key=keys.__getitem__)

    def begin(self, run: Run) -> GetNext:
        get_next = self.inputs[0].begin(run)

        def take() -> Any:
            element = get_next()
            if element is END:
                return END
            texts = element[0].tolist()
            sparse, dense = parsed_examples(texts, ["<unknown>"] * len(texts), **self.settings)
            values = [*dense, *map(_packed, sparse)]
            return [values[number] for number in self.order]

        return take

    def cardinality(self) -> int:
        return self.inputs[0].cardinality()


def _packed(sparse: Sequence[Any]) -> Any:
    components = np.empty(3, object)
    components[:] = sparse
    return components


@compute("ParseExampleDataset", "ExperimentalParseExampleDataset")
def _parse_examples(
    xp: ArrayModule,
    input_dataset: Stage,
    num_parallel_calls: Array,
    dense_defaults: list[Any],
    *,
    sparse_keys: Sequence[bytes],
    dense_keys: Sequence[bytes],
    sparse_types: Any,
    Tdense: Any,
    dense_shapes: Any,
) -> Any:
    return ParsedExamples(
        input_dataset,
        sparse_keys=[key.decode() for key in sparse_keys],
        sparse_types=sparse_types,
        dense_keys=[key.decode() for key in dense_keys],
        dense_types=Tdense,
        dense_shapes=dense_shapes,
        dense_defaults=dense_defaults,
    )


@compute("DatasetToTFRecord", "ExperimentalDatasetToTFRecord")
def _write(
    xp: ArrayModule, input_dataset: Stage, filename: Any, compression_type: Any, *, ctx: KernelContext
) -> tuple[()]:
    kind = compression_type[()].decode()
    if kind not in ("", "ZLIB", "GZIP"):
        raise UnimplementedError.of(f"Unsupported compression_type: {kind}.")
    get_next = input_dataset.begin(Run(ctx.session, ctx.device))
    with RecordWriter(os.fsdecode(filename[()]), compressor(kind)) as writer:
        while (element := get_next()) is not END:
            writer.write(element[0][()])
    return ()


@shape_function("CSVDataset", "ExperimentalCSVDataset")
def _csv_shape(op: Operation) -> Any:
    for default in op.inputs[8:]:
        require_rank_at_most(default.shape, 1)
    return (SCALAR_SHAPE,)


shape_function("DatasetToTFRecord", "ExperimentalDatasetToTFRecord")(no_outputs)
