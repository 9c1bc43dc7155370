"""Private names of ``tensorflow.python.framework.tensor_util``.

Source: tensorflow/python/framework/tensor_util.py, release 1.15 (names).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.dtypes import int32
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.shapes import Dimension, TensorShape

__all__ = ["ShapeEquals", "shape_tensor"]

_ENABLE_MAYBE_SET_STATIC_SHAPE = True
"""Constant values always determine the shapes of results."""


def ShapeEquals(tensor_proto: Any, shape: Any) -> bool:  # noqa: N802 - TensorFlow's name
    """Return whether the tensor in a message has a given shape.

    Args:
        tensor_proto: a ``TensorProto``.
        shape: sizes, or a ``TensorShapeProto``.

    Raises:
        TypeError: an argument has another type.
    """
    if not hasattr(tensor_proto, "tensor_shape"):
        raise TypeError("tensor_proto is not a tensor_pb2.TensorProto object")
    if hasattr(shape, "dim"):
        expected: Sequence[Any] = [dim.size for dim in shape.dim]
    elif isinstance(shape, (list, tuple)):
        expected = shape
    else:
        raise TypeError("shape is not a list or tuple")
    return [dim.size for dim in tensor_proto.tensor_shape.dim] == list(expected)


def shape_tensor(shape: Any) -> Tensor:
    """Return sizes as a tensor, int32 unless they have another type.

    Args:
        shape: sizes, some of which may be tensors, or a tensor.
    """
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    dtype = None
    if isinstance(shape, (list, tuple)):
        shape = [one.value if isinstance(one, Dimension) else one for one in shape]
        if all(isinstance(one, int) for one in shape):
            dtype = int32
    return convert_to_tensor(shape, dtype=dtype, name="shape")
