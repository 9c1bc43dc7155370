"""``tensorflow.python.framework.composite_tensor``: the class of what is made of several tensors.

>>> import gpuplace as tf
>>> isinstance(tf.SparseTensor([[0]], [1.0], [3]), CompositeTensor)
True

Source: tensorflow/python/framework/composite_tensor.py, release 1.15 (names).
"""

from __future__ import annotations

import abc
from typing import Any

from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.sparse.sparse_tensor import SparseTensor


class CompositeTensor(abc.ABC):
    """Made of several tensors, as its ``_type_spec`` says."""

    @property
    @abc.abstractmethod
    def _type_spec(self) -> Any:
        """What it is."""

    def consumers(self) -> list[Any]:
        """The operations that take one of its tensors."""
        found: dict[Any, None] = {}
        for tensor in self._type_spec._to_components(self):
            found.update(dict.fromkeys(tensor.consumers()))
        return list(found)


CompositeTensor.register(SparseTensor)
CompositeTensor.register(IndexedSlices)
