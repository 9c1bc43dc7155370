"""Shapes and values for the padding of batches.

Source: PaddedBatchDataset in tensorflow/python/data/ops/dataset_ops.py, release 1.15 (messages).
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
    """Return the default padding values in the elements' structure; TypeError for types that have none."""

    def zero(leaf: Any) -> Any:
        if not isinstance(leaf, TensorSpec) or leaf.dtype is variant:
            raise TypeError("Unable to create padding for field of type 'variant'")
        return "" if leaf.dtype is string else np.zeros((), leaf.dtype.as_numpy_dtype)

    return structure.map_structure(zero, spec)


def shape_tensor(shape: Any) -> tuple[Tensor, TensorShape]:
    """Return a shape as a vector with -1 for unknown sizes, and its static value.

    Args:
        shape: a shape, a list of sizes, or such a vector.

    Raises:
        ValueError: a tensor has another rank.
        TypeError: a tensor has another dtype.
    """
    try:
        static_shape = as_shape(shape)
        if static_shape.sizes is None:
            raise ValueError("of unknown rank")
        sizes = [-1 if size is None else size for size in static_shape.sizes]
        return convert_to_tensor(np.array(sizes, np.int64), "int64"), static_shape
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
    """Return a shape to pad to, as a vector; ValueError if the elements' shape does not fit."""
    tensor, static = shape_tensor(shape)
    padded, actual = static.sizes, of_input.sizes
    if padded is not None and actual is not None:
        fits = len(padded) == len(actual) and all(
            own is None or other is None or own >= other for own, other in zip(padded, actual, strict=True)
        )
        if not fits:
            raise ValueError(
                f"The padded shape {static} is not compatible with the corresponding input component shape {of_input}."
            )
    return tensor


def shape_in(tensor: Tensor) -> TensorShape:
    """Return the static shape in a vector with -1 for unknown sizes."""
    value = constant_value(tensor)
    if value is None:
        return (
            TensorShape([None] * tensor.shape[0].value)
            if tensor.shape.is_fully_defined()
            else TensorShape(None)
        )
    return TensorShape([None if size < 0 else size for size in value.tolist()])


def padding_value(value: Any, dtype: DTypeLike) -> Tensor:
    """Return a padding value as a tensor; ValueError if it is not a scalar, TypeError if it has another dtype."""
    tensor = convert_to_tensor(value, name="padding_value")
    if not tensor.shape.is_compatible_with(TensorShape([])):
        raise ValueError(f"Padding value should be a scalar, but is not: {tensor}")
    if tensor.dtype is not dtype:
        raise TypeError(f"Padding value tensor ({tensor}) does not match output type: {dtype}")
    return tensor
