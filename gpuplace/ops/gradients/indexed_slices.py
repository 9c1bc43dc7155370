"""``IndexedSlices``: some rows of a large tensor, the others being zero; the gradient of a gather.

    values   [n, ...]   the rows
    indices  [n]        where they belong; a row that occurs twice counts twice

As a tensor it is ``UnsortedSegmentSum(values, indices, dense_shape[0])``.

Source: tensorflow/python/framework/ops.py (IndexedSlices), ops/gradients_util.py and
core/kernels/segment_reduction_ops.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import DType
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value_as_shape
from gpuplace.graph.convert import convert_to_tensor, name_scope, register_tensor_conversion_function
from gpuplace.graph.graph_like import GraphLike
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape

__all__ = ["IndexedSlices", "unsorted_segment_sum", "convert_to_tensor_or_indexed_slices"]


class IndexedSlices:
    """Rows of a tensor of shape ``dense_shape``.

    Args:
        values: the rows, ``[n, ...]``.
        indices: their positions, ``[n]``.
        dense_shape: shape of the whole tensor, or None.
    """

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Tensor:
        """The rows."""
        return self._values

    @property
    def indices(self) -> Tensor:
        """The position of each row."""
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        """The shape of the whole tensor, or None."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape of the whole tensor."""
        return UNKNOWN_SHAPE if self._dense_shape is None else constant_value_as_shape(self._dense_shape)

    @property
    def name(self) -> str:
        """The name of the rows."""
        return self.values.name

    @property
    def device(self) -> str:
        """The device that the rows were requested on."""
        return self.values.device

    @property
    def op(self) -> Operation:
        """The operation that makes the rows."""
        return self.values.op

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.values.dtype

    @property
    def graph(self) -> GraphLike:
        """The graph of the rows."""
        return self.values.graph

    def consumers(self) -> list[Operation]:
        """The operations that take the rows."""
        return self.values.consumers()

    def __str__(self) -> str:
        shape = f", dense_shape={self._dense_shape}" if self._dense_shape is not None else ""
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self.values, self.indices, self.dense_shape)


def _to_tensor(
    value: IndexedSlices, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtype.name} for IndexedSlices with dtype {value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError(
            "Tensor conversion requested for IndexedSlices for which dense_shape is not known: "
            f"{value}. Give the slices a dense_shape"
        )
    with name_scope(None, "strided_slice") as scope:
        rows = apply_op(
            "StridedSlice",
            scope,
            input=value.dense_shape,
            begin=convert_to_tensor([0], name="stack"),
            end=convert_to_tensor([1], name="stack_1"),
            strides=convert_to_tensor([1], name="stack_2"),
            shrink_axis_mask=1,
        ).outputs[0]
    return unsorted_segment_sum(value.values, value.indices, rows, name=name)


register_tensor_conversion_function(IndexedSlices, _to_tensor)


def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor | IndexedSlices:
    """``value`` as a tensor, or as it is where it is ``IndexedSlices``."""
    if isinstance(value, IndexedSlices):
        if dtype is not None and not dtype.is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value.dtype.name}"
            )
        return value
    return convert_to_tensor(value, dtype, name, as_ref=as_ref)


def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """Sums the rows of ``data`` that have equal ``segment_ids``; negative ids are left out.

    Returns:
        ``[num_segments, ...]``.
    """
    arguments = {"data": data, "segment_ids": segment_ids, "num_segments": num_segments}
    return apply_op("UnsortedSegmentSum", name, **arguments).outputs[0]
