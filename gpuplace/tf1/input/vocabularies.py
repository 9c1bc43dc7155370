"""Tables of the words of a vocabulary, from words to numbers and back.

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
    """Returns a table from words to their numbers in a list.

    Args:
        vocabulary_list: the words, a vector.
        num_oov_buckets: how many buckets there are for other words.
        default_value: the number of other words, without buckets.
        hasher_spec: how words become numbers of buckets.
        dtype: the type of words, string or integer.
        name: name of the scope.

    Returns:
        A table with ``lookup``.

    Raises:
        ValueError: there are no words, or they are of another type.
        TypeError: there are no tables with that type of words.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    _checked_buckets(num_oov_buckets)
    wanted = as_dtype(dtype)
    if not wanted.is_integer and wanted.base_dtype is not string:
        raise TypeError("Only integer and string keys are supported.")
    with name_scope(name, "string_to_index"):
        keys = convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != wanted.is_integer:
            kind = "integer" if wanted.is_integer else "non-integer"
            raise ValueError(f"Expected {kind}, got {keys.dtype}.")
        if not wanted.is_integer and keys.dtype.base_dtype is not wanted:
            raise ValueError(f"Expected {wanted}, got {keys.dtype}.")
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
        return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=wanted)


def index_table_from_file(
    vocabulary_file: Any = None, num_oov_buckets: int = 0, vocab_size: int | None = None, default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec, key_dtype: DTypeLike = string, name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE, value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> Any:  # fmt: skip
    """Returns a table from the words in a file, one in a line, to the numbers of their lines.

    Args:
        vocabulary_file: the file's path.
        num_oov_buckets: how many buckets there are for other words.
        vocab_size: how many lines are read; None: all.
        default_value: the number of other words, without buckets.
        hasher_spec: how words become numbers of buckets.
        key_dtype: the type of words, string or integer.
        name: name of the scope.
        key_column_index: the column of the words.
        value_column_index: the column of the numbers.
        delimiter: stands between columns.

    Returns:
        A table with ``lookup``.

    Raises:
        ValueError: there is no file, or no line is to be read.
        TypeError: there are no tables with that type of words.
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
        known = constant_value(vocabulary_file) if isinstance(vocabulary_file, Tensor) else vocabulary_file
        raise ValueError(
            f"vocab_size must be greater than 0, got {vocab_size}. vocabulary_file:"
            f" {vocabulary_file if known is None else known}"
        )


def index_to_string_table_from_tensor(
    vocabulary_list: Any, default_value: str = "UNK", name: str | None = None
) -> StaticHashTable:
    """Returns a table from numbers to the words of a list.

    Args:
        vocabulary_list: the words, a string vector.
        default_value: the word of other numbers.
        name: name of the scope.

    Returns:
        A table with ``lookup``, of int64.

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
    """Returns a table from numbers to the words in a file, one in a line.

    Args:
        vocabulary_file: the file's path.
        vocab_size: how many lines are read; None: all.
        default_value: the word of other numbers.
        name: name of the scope.
        key_column_index: the column of the numbers.
        value_column_index: the column of the words.
        delimiter: stands between columns.

    Returns:
        A table with ``lookup``, of int64.

    Raises:
        ValueError: there is no file, or no line is to be read.
    """
    _check_file(vocabulary_file, vocab_size)
    with name_scope(name, "index_to_string"):
        fill = TextFileStringTableInitializer(
            vocabulary_file, key_column_index, value_column_index, vocab_size, delimiter, "table_init"
        )
        return StaticHashTable(fill, default_value)
