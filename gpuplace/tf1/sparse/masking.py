"""Slices without some of their rows.

Source: tensorflow/python/ops/array_ops.py (``sparse_mask``), release 1.15.
"""

from __future__ import annotations

from gpuplace.graph.convert import name_scope
from gpuplace.ops.array.distinct import setdiff1d
from gpuplace.ops.array.gather import gather
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.typing import TensorLike

__all__ = ["sparse_mask"]


def sparse_mask(a: IndexedSlices, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """Return slices without those of some indices.

    >>> import gpuplace as tf
    >>> slices = tf.IndexedSlices(tf.constant([[1.0], [2.0], [3.0]]), tf.constant([4, 7, 9]))
    >>> left = tf.sparse.mask(slices, [7, 10])
    >>> [part.tolist() for part in tf.Session().run([left.indices, left.values])]
    [[4, 9], [[1.0], [3.0]]]

    Args:
        a: ``IndexedSlices``.
        mask_indices: the indices to leave out, which may be missing.
        name: name of the scope.

    Returns:
        The remaining ``IndexedSlices``.
    """
    with name_scope(name, "sparse_mask", [a, mask_indices]) as scope:
        kept, places = setdiff1d(a.indices, mask_indices)
        return IndexedSlices(gather(a.values, places, name=scope), kept, a.dense_shape)
