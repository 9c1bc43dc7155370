"""Tables from the words of a vocabulary to their indices and back.

Source: tensorflow/python/ops/lookup_ops.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import as_dtype, int64, string
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import range as range_op
from gpuplace.ops.array.reshaping import size
from gpuplace.ops.math.cast import cast
from gpuplace.tf1.input.table_initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from gpuplace.tf1.input.tables import FastHashSpec, HasherSpec, IdTableWithHashBuckets, StaticHashTable
from gpuplace.typing import DTypeLike

__all__ = [
    "index_table_from_file", "index_table_from_tensor", "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
]  # fmt: skip


def _checked_buckets(num_oov_buckets: int) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")


def index_table_from_tensor(
    vocabulary_list: Any, num_oov_buckets: int = 0, default_value: int = -1, hasher_spec: HasherSpec = FastHashSpec,
    dtype: DTypeLike = string, name: str | None = None,
) -> Any:  # fmt: skip
    """Return a table from words to their indices in a list.

    Args:
        vocabulary_list: the words, a vector.
        num_oov_buckets: number of buckets for words that are not in the list.
        default_value: the index of words that are not in the list, if there are no buckets.
        hasher_spec: the hash function that chooses a bucket.
        dtype: dtype of the words, string or integer.
        name: name of the scope.

    Returns:
        A table with ``lookup``.

    Raises:
        ValueError: there are no words, or they have another dtype.
        TypeError: tables do not support this dtype.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    _checked_buckets(num_oov_buckets)
    key_dtype = as_dtype(dtype)
    if not key_dtype.is_integer and key_dtype.base_dtype is not string:
        raise TypeError("Only integer and string keys are supported.")
    with name_scope(name, "string_to_index"):
        keys = convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != key_dtype.is_integer:
            kind = "integer" if key_dtype.is_integer else "non-integer"
            raise ValueError(f"Expected {kind}, got {keys.dtype}.")
        if not key_dtype.is_integer and keys.dtype.base_dtype is not key_dtype:
            raise ValueError(f"Expected {key_dtype}, got {keys.dtype}.")
        count = size(keys)
        values = cast(range_op(count), int64)
        with name_scope(None, "hash_table"):
            table_keys = cast(keys, int64) if keys.dtype.is_integer else keys
            fill = KeyValueTensorInitializer(
                table_keys, values, table_keys.dtype.base_dtype, int64, name="table_init"
            )
            table = StaticHashTable(fill, default_value)
        if not num_oov_buckets:
            return table
        return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=key_dtype)


def index_table_from_file(
    vocabulary_file: Any = None, num_oov_buckets: int = 0, vocab_size: int | None = None, default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec, key_dtype: DTypeLike = string, name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE, value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:  # fmt: skip
    """Return a table from the words in a file, one per line, to their line numbers.

    Args:
        vocabulary_file: the file's path.
        num_oov_buckets: number of buckets for words that are not in the file.
        vocab_size: number of lines to read; None: all.
        default_value: the index of words that are not in the file, if there are no buckets.
        hasher_spec: the hash function that chooses a bucket.
        key_dtype: dtype of the words, string or integer.
        name: name of the scope.
        key_column_index: the column of the words.
        value_column_index: the column of the indices.
        delimiter: the separator of columns.

    Returns:
        A table with ``lookup``.

    Raises:
        ValueError: there is no file, or no line to read.
        TypeError: tables do not support this dtype.
    """
    _check_file(vocabulary_file, vocab_size)
    _checked_buckets(num_oov_buckets)
    wanted = as_dtype(key_dtype)
    if not wanted.is_integer and wanted.base_dtype is not string:
        raise TypeError("Only integer and string keys are supported.")
    with name_scope(name, "string_to_index"):
        with name_scope(None, "hash_table"):
            fill = TextFileIdTableInitializer(
                vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init",
                int64 if wanted.is_integer else wanted,
            )  # fmt: skip
            table = StaticHashTable(fill, default_value)
        if not num_oov_buckets:
            return table
        return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=wanted)


def _check_file(vocabulary_file: Any, vocab_size: int | None) -> None:
    if vocabulary_file is None or (isinstance(vocabulary_file, str | bytes) and not vocabulary_file):
        raise ValueError("vocabulary_file must be specified and must not be empty.")
    if vocab_size is not None and vocab_size < 1:
        path = constant_value(vocabulary_file) if isinstance(vocabulary_file, Tensor) else vocabulary_file
        raise ValueError(
            f"vocab_size must be greater than 0, got {vocab_size}. vocabulary_file:"
            f" {vocabulary_file if path is None else path}"
        )


def index_to_string_table_from_tensor(
    vocabulary_list: Any, default_value: str = "UNK", name: str | None = None
) -> StaticHashTable:
    """Return a table from indices to the words of a list.

    Args:
        vocabulary_list: the words, a string vector.
        default_value: the word for an index outside the list.
        name: name of the scope.

    Returns:
        A table with ``lookup``, which takes int64 keys.

    Raises:
        ValueError: there are no words.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    with name_scope(name, "index_to_string"):
        values = convert_to_tensor(vocabulary_list, string)
        count = size(values)
        keys = cast(range_op(count), int64)
        fill = KeyValueTensorInitializer(keys, values, int64, string, name="table_init")
        return StaticHashTable(fill, default_value)


def index_to_string_table_from_file(
    vocabulary_file: Any, vocab_size: int | None = None, default_value: str = "UNK", name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER, value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> StaticHashTable:  # fmt: skip
    """Return a table from line numbers to the words in a file, one per line.

    Args:
        vocabulary_file: the file's path.
        vocab_size: number of lines to read; None: all.
        default_value: the word for an index outside the file.
        name: name of the scope.
        key_column_index: the column of the indices.
        value_column_index: the column of the words.
        delimiter: the separator of columns.

    Returns:
        A table with ``lookup``, which takes int64 keys.

    Raises:
        ValueError: there is no file, or no line to read.
    """
    _check_file(vocabulary_file, vocab_size)
    with name_scope(name, "index_to_string"):
        fill = TextFileStringTableInitializer(
            vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init"
        )
        return StaticHashTable(fill, default_value)
