"""Names of ``tensorflow.python.framework.tensor_util`` that are not public.

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
"""Shapes of results are told by the values of constants, always."""


def ShapeEquals(tensor_proto: Any, shape: Any) -> bool:  # noqa: N802 - TensorFlow's name
    """Whether a message's tensor has a shape.

    Args:
        tensor_proto: a ``TensorProto``.
        shape: sizes, or a ``TensorShapeProto``.

    Raises:
        TypeError: one of the two is something else.
    """
    if not hasattr(tensor_proto, "tensor_shape"):
        raise TypeError("tensor_proto is not a tensor_pb2.TensorProto object")
    if hasattr(shape, "dim"):
        wanted: Sequence[Any] = [dim.size for dim in shape.dim]
    elif isinstance(shape, (list, tuple)):
        wanted = shape
    else:
        raise TypeError("shape is not a list or tuple")
    return [dim.size for dim in tensor_proto.tensor_shape.dim] == list(wanted)


def shape_tensor(shape: Any) -> Tensor:
    """Sizes as a tensor, of 32 bits where nothing else is given.

    Args:
        shape: sizes, of which some may be tensors, or a tensor.
    """
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    dtype = None
    if isinstance(shape, (list, tuple)):
        shape = [one.value if isinstance(one, Dimension) else one for one in shape]
        if all(isinstance(one, int) for one in shape):
            dtype = int32
    return convert_to_tensor(shape, dtype=dtype, name="shape")
