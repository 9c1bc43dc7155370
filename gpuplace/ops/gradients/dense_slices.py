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


def _as_indexed_slices(x: TensorLike, optimize: bool = True) -> IndexedSlices:
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


def _as_indexed_slices_list(inputs: TensorLike, optimize: bool = True) -> list[IndexedSlices]:
    """Return tensors as ``IndexedSlices`` whose positions have one type.

    Args:
        inputs: a list of tensors and slices.
        optimize: whether to make static shapes constants.

    Raises:
        TypeError: ``inputs`` is not a list or tuple, or has an item of another type.
    """
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Expected a list or tuple, not a {type(inputs)}")
    found = [_as_indexed_slices(one, optimize) for one in inputs]
    if len({one.indices.dtype for one in found}) <= 1:
        return found
    return [
        one
        if one.indices.dtype is int64
        else IndexedSlices(one.values, new("Cast", x=one.indices, DstT=int64), one.dense_shape)
        for one in found
    ]
