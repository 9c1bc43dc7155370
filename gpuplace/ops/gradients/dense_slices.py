"""Dense tensors as slices, all of their rows.

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
    """A tensor as slices.

    Args:
        x: a tensor, or slices, which are given back.
        optimize: make the shape a constant where it is known.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(x, IndexedSlices):
        return x
    if not isinstance(x, Tensor):
        raise TypeError(f"Not a Tensor or IndexedSlices: {type(x)}")
    shape = reshaping.shape(x) if optimize else new("Shape", input=x)
    return IndexedSlices(x, constant.range(0, shape[0]), shape)


def as_indexed_slices_list(inputs: TensorLike, optimize: bool = True) -> list[IndexedSlices]:
    """Tensors as slices, whose positions are all of one type.

    Args:
        inputs: a list of tensors and slices.
        optimize: make shapes constants where they are known.

    Raises:
        TypeError: it is no list or tuple, or something else is in it.
    """
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"Expected a list or tuple, not a {type(inputs)}")
    found = [as_indexed_slices(one, optimize) for one in inputs]
    if len({one.indices.dtype for one in found}) <= 1:
        return found
    return [
        one
        if one.indices.dtype is int64
        else IndexedSlices(one.values, new("Cast", x=one.indices, DstT=int64), one.dense_shape)
        for one in found
    ]
