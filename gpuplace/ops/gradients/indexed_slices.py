"""``IndexedSlices``: some rows of a large tensor whose other rows are zero; the gradient of a gather.

    values   [n, ...]   the rows
    indices  [n]        their positions; repeated positions accumulate

Its conversion to a tensor is ``UnsortedSegmentSum(values, indices, dense_shape[0])``.

Source: tensorflow/python/framework/ops.py (IndexedSlices), ops/gradients_util.py and
core/kernels/segment_reduction_ops.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuplace.display import above
from gpuplace.dtypes import DType
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value_as_shape
from gpuplace.graph.convert import convert_to_tensor, name_scope, register_tensor_conversion_function
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.composite import CompositeTensor
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import TensorLike

__all__ = [
    "IndexedSlices",
    "IndexedSlicesValue",
    "convert_to_tensor_or_indexed_slices",
    "unsorted_segment_sum",
]


class IndexedSlices(CompositeTensor):
    """Rows of a tensor of shape ``dense_shape``, converted to a dense tensor on demand.

    Args:
        values: the rows, ``[n, ...]``, of any type.
        indices: their positions, ``[n]``, int32 or int64.
        dense_shape: shape of the dense tensor, an integer vector; None: unknown, which prevents conversion.
    """

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def _type_spec(self) -> Any:
        return above("gpuplace.ops.gradients.slices_spec", "spec_of")(self)

    def _to_components(self) -> tuple[Any, ...]:
        parts = (self._values, self._indices)
        return parts if self._dense_shape is None else (*parts, self._dense_shape)

    def _with_components(self, components: Any) -> IndexedSlices:
        return IndexedSlices(*components)

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
        """The shape of the dense tensor, or None."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the dense tensor, possibly partial."""
        return UNKNOWN_SHAPE if self._dense_shape is None else constant_value_as_shape(self._dense_shape)

    @property
    def name(self) -> str:
        """The name of the rows."""
        return self.values.name

    @property
    def device(self) -> str:
        """The requested device of the rows."""
        return self.values.device

    @property
    def op(self) -> Operation:
        """The operation that computes the rows."""
        return self.values.op

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return self.values.dtype

    @property
    def graph(self) -> Graph:
        """The graph of the rows."""
        return self.values.graph

    def consumers(self) -> list[Operation]:
        """Return the operations that consume the rows."""
        return self.values.consumers()

    def __str__(self) -> str:
        shape = f", dense_shape={self._dense_shape}" if self._dense_shape is not None else ""
        return f"IndexedSlices(indices={self._indices}, values={self._values}{shape})"

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self.values, self.indices, self.dense_shape)


class IndexedSlicesValue(NamedTuple):
    """The value of ``IndexedSlices`` in fetches and feeds."""

    values: Any
    """[rows, ...]"""
    indices: Any
    """[rows]: their positions."""
    dense_shape: Any = None
    """Shape of the dense tensor, or None."""


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
            f"{value}. Create the slices with a dense_shape"
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
    value: TensorLike, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor | IndexedSlices:
    """Return ``value`` as a tensor; ``IndexedSlices`` are returned unchanged.

    Args:
        value: ``IndexedSlices``, or anything that ``convert_to_tensor`` accepts.
        dtype: required dtype; None: any.
        name: name of a new constant.
        as_ref: whether to keep a reference to a variable.

    Raises:
        ValueError: slices or a tensor have another dtype.
        TypeError: the value cannot be converted to ``dtype``.
    """
    if isinstance(value, IndexedSlices):
        if dtype is not None and not dtype.is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value.dtype.name}"
            )
        return value
    return convert_to_tensor(value, dtype, name, as_ref=as_ref)


def unsorted_segment_sum(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Return the sum of the rows with equal ids, 0 for ids without rows.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.unsorted_segment_sum([1, 2, 3], [1, -1, 1], 2)).tolist()
    [0, 4]

    Args:
        data: numbers, with a shape that begins with that of ``segment_ids``.
        segment_ids: int32 or int64: the segment of each row, in any order; rows with negative ids are ignored.
        num_segments: the number of segments, a scalar int32 or int64.
        name: name of the op.

    Returns:
        ``data``'s type, ``[num_segments, ...]``.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, the shape of ``data`` does not begin with that of ``segment_ids``,
            ``num_segments`` is negative, or, on the CPU, an id is not below it; a GPU ignores such rows.
    """
    arguments = {"data": data, "segment_ids": segment_ids, "num_segments": num_segments}
    return apply_op("UnsortedSegmentSum", name, **arguments).outputs[0]
