"""``tf.contrib.lookup``: tables from keys to values.

Source: tensorflow/contrib/lookup/__init__.py, release 1.15 (names).
"""

from typing import Any

from gpuplace.dtypes import string
from gpuplace.tf1.input import vocabularies
from gpuplace.tf1.input.table_initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileInitializer,
    TextFileStringTableInitializer,
)
from gpuplace.tf1.input.tables import (
    FastHashSpec,
    HasherSpec,
    HashTable,
    IdTableWithHashBuckets,
    LookupInterface,
    MutableHashTable,
    StaticHashTable,
    StrongHashSpec,
)
from gpuplace.tf1.input.vocabularies import index_table_from_file, index_to_string_table_from_file
from gpuplace.typing import DTypeLike

__all__ = [
    "FastHashSpec",
    "HashTable",
    "HasherSpec",
    "IdTableWithHashBuckets",
    "KeyValueTensorInitializer",
    "LookupInterface",
    "MutableHashTable",
    "StrongHashSpec",
    "TextFileIdTableInitializer",
    "TextFileIndex",
    "TextFileInitializer",
    "TextFileStringTableInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
]


def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: DTypeLike = string,
    name: str | None = None,
) -> Any:
    """Returns a table from words to their numbers in a list.

    Args:
        mapping: the words, a vector.
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
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return vocabularies.index_table_from_tensor(
        mapping, num_oov_buckets, default_value, hasher_spec, dtype, name
    )


def index_to_string_table_from_tensor(
    mapping: Any, default_value: str = "UNK", name: str | None = None
) -> StaticHashTable:
    """Returns a table from numbers to the words of a list.

    Args:
        mapping: the words, a string vector.
        default_value: the word of other numbers.
        name: name of the scope.

    Returns:
        A table with ``lookup``, of int64.

    Raises:
        ValueError: there are no words.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return vocabularies.index_to_string_table_from_tensor(mapping, default_value, name)
