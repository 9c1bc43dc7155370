"""Dense tensors as ``IndexedSlices`` of all their rows.

Source: tensorflow/python/ops/math_ops.py, release 1.15 (what is added to the graph, sentences).
"""

from __future__ import annotations

from gpuplace.dtypes import int64
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.support import new
from gpuplace.typing import TensorLike


def as_indexed_slices(x: TensorLike, optimize: bool = True) -> IndexedSlices:
    """Return a tensor as ``IndexedSlices``.

    Args:
        x: a tensor, or slices, which are returned unchanged.
        optimize: whether to make a static shape a constant.

    Raises:
        TypeError: ``x`` has another type.
    """
    if isinstance(x, IndexedSlices):
        return x
    if not isinstance(x, Tensor):
        raise TypeError(f"Not a Tensor or IndexedSlices: {type(x)}")
    shape = reshaping.shape(x) if optimize else new("Shape", input=x)
    return IndexedSlices(x, constant.range(0, shape[0]), shape)


def as_indexed_slices_list(inputs: TensorLike, optimize: bool = True) -> list[IndexedSlices]:
    """Return tensors as ``IndexedSlices`` whose positions have one type.

    Args:
        inputs: a list of tensors and slices.
        optimize: whether to make static shapes constants.

    Raises:
        TypeError: ``inputs`` is not a list or tuple, or has an item of another type.
    """
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Expected a list or tuple, not a {type(inputs)}")
    slices = [as_indexed_slices(item, optimize) for item in inputs]
    if len({item.indices.dtype for item in slices}) <= 1:
        return slices
    return [
        item
        if item.indices.dtype is int64
        else IndexedSlices(item.values, new("Cast", x=item.indices, DstT=int64), item.dense_shape)
        for item in slices
    ]
