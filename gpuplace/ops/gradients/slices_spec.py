"""``IndexedSlicesSpec``: the static description of ``IndexedSlices``.

>>> IndexedSlicesSpec([5, 3], dense_shape_dtype="int64").value_type.__name__
'IndexedSlices'

Source: tensorflow/python/framework/indexed_slices.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, float32, int64
from gpuplace.graph.operation import Tensor
from gpuplace.ops.gradients.indexed_slices import IndexedSlices, IndexedSlicesValue
from gpuplace.ops.type_spec import TensorSpec, TypeSpec
from gpuplace.shapes import UNKNOWN_SHAPE, as_shape
from gpuplace.typing import DTypeLike, ShapeLike

__all__ = ["IndexedSlicesSpec"]


class IndexedSlicesSpec(TypeSpec):
    """Static description of ``IndexedSlices``.

    Args:
        shape: static shape of the dense tensor, possibly partial; None: unknown.
        dtype: dtype of the rows.
        indices_dtype: dtype of their positions.
        dense_shape_dtype: dtype of the dense shape; None: no dense shape.
        indices_shape: static shape of the positions; None: a vector.
    """

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: DTypeLike = float32,
        indices_dtype: DTypeLike = int64,
        dense_shape_dtype: DTypeLike | None = None,
        indices_shape: ShapeLike = None,
    ) -> None:
        self._shape = as_shape(shape)
        self._values_dtype = as_dtype(dtype)
        self._indices_dtype = as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        self._indices_shape = as_shape(indices_shape).with_rank(1)

    @property
    def value_type(self) -> type:
        """``IndexedSlices``."""
        return IndexedSlices

    def _serialize(self) -> tuple[Any, ...]:
        return (
            *(self._shape, self._values_dtype, self._indices_dtype),
            *(self._dense_shape_dtype, self._indices_shape),
        )

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        rows = (
            UNKNOWN_SHAPE if self._shape.ndims is None else self._indices_shape.concatenate(self._shape[1:])
        )
        parts = (TensorSpec(rows, self._values_dtype), TensorSpec(self._indices_shape, self._indices_dtype))
        if self._dense_shape_dtype is None:
            return parts
        return (*parts, TensorSpec([self._shape.ndims], self._dense_shape_dtype))

    def _to_components(self, value: IndexedSlices) -> tuple[Tensor, ...]:
        return value._to_components()

    def _from_components(self, components: Any) -> IndexedSlices | IndexedSlicesValue:
        if all(isinstance(item, np.ndarray) for item in components):
            return IndexedSlicesValue(*components)
        return IndexedSlices(*components)


def spec_of(value: IndexedSlices) -> IndexedSlicesSpec:
    """Return the spec of slices.

    Args:
        value: the slices.
    """
    whole = value.dense_shape
    kind = None if whole is None else whole.dtype
    return IndexedSlicesSpec(value.shape, value.dtype, value.indices.dtype, kind, value.indices.shape)
