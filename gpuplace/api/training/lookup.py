"""``tf.lookup``: tables from keys to values.

Source: tensorflow/_api/v1/lookup, release 1.15 (names).
"""

from gpuplace.api.training import lookup_experimental as experimental
from gpuplace.ops.input.table_initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from gpuplace.ops.input.tables import StaticHashTable, StaticVocabularyTable

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]
