"""``tensorflow.python.data.util.convert``: arguments of datasets as tensors.

Source: tensorflow/python/data/util/convert.py, release 1.15 (names, sentences).
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.shapes import as_shape


def optional_param_to_tensor(
    argument_name: str, argument_value: Any, argument_default: Any = 0, argument_dtype: Any = "int64"
) -> Tensor:
    """An argument, or its default, as a tensor.

    Args:
        argument_name: name of the tensor's op.
        argument_value: the argument; None: not given.
        argument_default: its default.
        argument_dtype: its type.
    """
    value = argument_default if argument_value is None else argument_value
    return convert_to_tensor(value, dtype=argument_dtype, name=argument_name)


def partial_shape_to_tensor(shape_like: Any) -> Tensor:
    """A shape as a vector, of -1 where a size is not known.

    Args:
        shape_like: a shape, a list of sizes, or such a tensor.

    Raises:
        ValueError: a tensor of another rank.
        TypeError: a tensor of another type.
    """
    try:
        sizes = as_shape(shape_like).as_list()
    except (TypeError, ValueError):
        tensor = convert_to_tensor(shape_like, name="shape") if not _is_sizes(shape_like) else None
        if tensor is None:
            tensor = convert_to_tensor([-1 if one is None else one for one in shape_like], dtype="int64")
        if tensor.dtype.name != "int64":
            raise TypeError(
                f"The given shape {tensor} must be a 1-D tensor of tf.int64 values, but the element type was"
                f" {tensor.dtype.name}."
            ) from None
        if tensor.shape.ndims is not None and tensor.shape.ndims != 1:
            raise ValueError(
                f"The given shape {tensor} must be a 1-D tensor of tf.int64 values, but the shape was"
                f" {tuple(tensor.shape.as_list())}."
            ) from None
        return tensor
    return convert_to_tensor([-1 if size is None else size for size in sizes], dtype="int64")


def _is_sizes(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(one is None or isinstance(one, int) for one in value)
