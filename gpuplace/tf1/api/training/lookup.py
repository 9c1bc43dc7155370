"""``tf.lookup``: tables from keys to values.

Source: tensorflow/_api/v1/lookup, release 1.15 (names).
"""

from gpuplace.tf1.api.training import lookup_experimental as experimental
from gpuplace.tf1.input.table_initializers import (
    KeyValueTensorInitializer,
    TextFileIndex,
    TextFileInitializer,
)
from gpuplace.tf1.input.tables import StaticHashTable, StaticVocabularyTable

__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]
