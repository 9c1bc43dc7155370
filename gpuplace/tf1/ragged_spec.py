"""``RaggedTensorSpec``: what is known of a tensor whose rows have lengths of their own.

There are no ragged tensors here, but models and datasets of other programs name what they take and give by such specs.

>>> spec = RaggedTensorSpec([3, None], "int32")
>>> spec.is_compatible_with(RaggedTensorSpec([None, None], "int32", 1))
True
>>> [one.shape.as_list() for one in spec._component_specs]
[[None], [4]]

Source: tensorflow/python/ops/ragged/ragged_tensor.py (RaggedTensorSpec), release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import as_dtype, float32, int64, variant
from gpuplace.graph.operation import Tensor
from gpuplace.ops.type_spec import TensorSpec, TypeSpec
from gpuplace.shapes import TensorShape, as_shape, dimension_value
from gpuplace.typing import DTypeLike, ShapeLike


class RaggedTensorSpec(TypeSpec):
    """What is known of a ragged tensor: its shape and type, and how many of its axes are ragged.

    Args:
        shape: what is known of its shape; sizes of ragged axes are None.
        dtype: type of its values.
        ragged_rank: how many axes are split into rows; None: all but the last one of ``shape``.
        row_splits_dtype: type of what says where rows end, int32 or int64.

    Raises:
        ValueError: neither ``ragged_rank`` nor the rank is known, or there are too few axes for it.
        TypeError: ``ragged_rank`` is no integer.
    """

    def __init__(
        self,
        shape: ShapeLike = None,
        dtype: DTypeLike = float32,
        ragged_rank: int | None = None,
        row_splits_dtype: DTypeLike = int64,
    ) -> None:
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._row_splits_dtype = as_dtype(row_splits_dtype)
        rank = self._shape.ndims
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        if not isinstance(ragged_rank, int):
            raise TypeError("ragged_rank must be an int")
        if rank is not None and ragged_rank >= rank:
            raise ValueError("ragged_rank must be less than rank.")
        self._ragged_rank = ragged_rank

    @property
    def value_type(self) -> type:
        """``Tensor`` where no axis is ragged; NotImplementedError for other values, which are not there."""
        return Tensor if self._ragged_rank == 0 else super().value_type

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    @property
    def _component_specs(self) -> list[TensorSpec]:
        """The values in one row, and for each ragged axis where its rows end."""
        if self._ragged_rank == 0:
            return [TensorSpec(self._shape, self._dtype)]
        flat = TensorShape([None]).concatenate(self._shape[self._ragged_rank + 1 :])
        rows = dimension_value(self._shape[0]) if self._shape.ndims else None
        ends: list[ShapeLike] = [[None if rows is None else rows + 1], *[[None]] * (self._ragged_rank - 1)]
        return [TensorSpec(flat, self._dtype), *(TensorSpec(one, self._row_splits_dtype) for one in ends)]

    @property
    def _flat_tensor_specs(self) -> list[TensorSpec]:
        """One variant, which may have axes of batches."""
        return [TensorSpec(None, variant)]

    def _batch(self, batch_size: int | None) -> RaggedTensorSpec:
        shape = TensorShape([batch_size]).concatenate(self._shape)
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank + 1)

    def _unbatch(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self._shape[1:], self._dtype, self._ragged_rank - 1)

    def _to_legacy_output_types(self) -> Any:
        return self._dtype

    def _to_legacy_output_shapes(self) -> Any:
        return self._shape
