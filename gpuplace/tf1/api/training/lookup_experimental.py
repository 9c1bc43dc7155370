"""``tf.lookup.experimental``: experimental tables.

Source: tensorflow/_api/v1/lookup/experimental, release 1.15 (names).
"""

from gpuplace.tf1.input.tables import DenseHashTable

__all__ = ["DenseHashTable"]
