"""What elements are filled up to, and what with, where they are put together.

Source: PaddedBatchDataset in tensorflow/python/data/ops/dataset_ops.py, release 1.15 (sentences).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, string, variant
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.tf1.data import structure
from gpuplace.typing import DTypeLike, ShapeLike


def default_padding(spec: Any) -> Any:
    """What elements are filled up with where nothing is said, in their form; TypeError where there is no such value."""

    def zero(one: Any) -> Any:
        if not isinstance(one, TensorSpec) or one.dtype is variant:
            raise TypeError("Unable to create padding for field of type 'variant'")
        return "" if one.dtype is string else np.zeros((), one.dtype.as_numpy_dtype)

    return structure.map_form(zero, spec)


def shape_tensor(shape: Any) -> tuple[Tensor, TensorShape]:
    """A shape as a vector, of -1 where a size is not known, and what is known of it.

    Args:
        shape: a shape, a list of sizes, or such a vector.

    Raises:
        ValueError: a tensor of another rank.
        TypeError: a tensor of another type.
    """
    try:
        known = as_shape(shape)
        if known.sizes is None:
            raise ValueError("of unknown rank")
        sizes = [-1 if size is None else size for size in known.sizes]
        return convert_to_tensor(np.array(sizes, np.int64), "int64"), known
    except (TypeError, ValueError):
        tensor = convert_to_tensor(shape, preferred_dtype="int64")
    if tensor.shape.ndims not in (None, 1):
        raise ValueError(
            f"Padded shape {shape} must be a 1-D tensor of tf.int64 values, but its shape was {tensor.shape}."
        )
    if tensor.dtype is not as_dtype("int64"):
        raise TypeError(
            f"Padded shape {shape} must be a 1-D tensor of tf.int64 values, but its element type was"
            f" {tensor.dtype.name}."
        )
    return tensor, shape_in(tensor)


def padded_shape(shape: ShapeLike, of_input: TensorShape) -> Tensor:
    """A shape to fill up to, as a vector; ValueError if that of the elements does not fit in."""
    tensor, known = shape_tensor(shape)
    mine, theirs = known.sizes, of_input.sizes
    if mine is not None and theirs is not None:
        fits = len(mine) == len(theirs) and all(
            one is None or other is None or one >= other for one, other in zip(mine, theirs, strict=True)
        )
        if not fits:
            raise ValueError(
                f"The padded shape {known} is not compatible with the corresponding input component shape {of_input}."
            )
    return tensor


def shape_in(tensor: Tensor) -> TensorShape:
    """What is known of the shape in a vector, of -1 where a size is not known."""
    value = constant_value(tensor)
    if value is None:
        return (
            TensorShape([None] * tensor.shape[0].value)
            if tensor.shape.is_fully_defined()
            else TensorShape(None)
        )
    return TensorShape([None if size < 0 else size for size in value.tolist()])


def padding_value(value: Any, dtype: DTypeLike) -> Tensor:
    """A value to fill up with; ValueError if it is no scalar, TypeError if it is of another type."""
    tensor = convert_to_tensor(value, name="padding_value")
    if not tensor.shape.is_compatible_with(TensorShape([])):
        raise ValueError(f"Padding value should be a scalar, but is not: {tensor}")
    if tensor.dtype is not dtype:
        raise TypeError(f"Padding value tensor ({tensor}) does not match output type: {dtype}")
    return tensor
