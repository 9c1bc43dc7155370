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
    """Return a table from words to their indices in a list.

    Args:
        mapping: the words, a vector.
        num_oov_buckets: the number of buckets for words that are not in the list.
        default_value: the index of words that are not in the list, if there are no buckets.
        hasher_spec: the hash function that chooses a bucket.
        dtype: dtype of the words, string or integer.
        name: name of the scope.

    Returns:
        A table with ``lookup``.

    Raises:
        ValueError: ``mapping`` is missing or has another dtype.
        TypeError: tables do not support this dtype.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return vocabularies.index_table_from_tensor(
        mapping, num_oov_buckets, default_value, hasher_spec, dtype, name
    )


def index_to_string_table_from_tensor(
    mapping: Any, default_value: str = "UNK", name: str | None = None
) -> StaticHashTable:
    """Return a table from indices to the words of a list.

    Args:
        mapping: the words, a string vector.
        default_value: the word for an index outside the list.
        name: name of the scope.

    Returns:
        A table with ``lookup``, which takes int64 keys.

    Raises:
        ValueError: ``mapping`` is missing.
    """
    if mapping is None:
        raise ValueError("mapping must be specified.")
    return vocabularies.index_to_string_table_from_tensor(mapping, default_value, name)
