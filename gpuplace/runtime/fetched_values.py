"""Values of objects that stand for several tensors, as a fetch returns them.

Source: tensorflow/python/framework/indexed_slices.py and sparse_tensor.py, release 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["IndexedSlicesValue", "SparseTensorValue"]


class IndexedSlicesValue(NamedTuple):
    """Some rows of a tensor."""

    values: Any
    """[rows, ...]"""
    indices: Any
    """[rows]: which rows they are."""
    dense_shape: Any
    """Shape of the whole tensor, or None."""


class SparseTensorValue(NamedTuple):
    """The elements of a tensor that are not zero."""

    indices: Any
    """[elements, rank]"""
    values: Any
    """[elements]"""
    dense_shape: Any
    """[rank]"""
