"""Conversion between element types.

Source: tensorflow/core/kernels/cast_op.cc, bitcast_op.cc and tensorflow/python/ops/math_ops.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.dtypes import (
    as_dtype,
    bfloat16,
    complex64,
    complex128,
    float32,
    float64,
    int32,
    int64,
)
from gpuplace.errors import InvalidArgumentError, UnimplementedError
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder, compute
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.support import new, same_shape
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, DTypeLike, TensorLike

__all__ = [
    "cast", "saturate_cast", "to_float", "to_double", "to_int32", "to_int64", "to_bfloat16", "to_complex64",
    "to_complex128", "bitcast",
]  # fmt: skip


def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Return ``x`` with another dtype, or ``x`` itself if it already has that dtype.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.cast([1.9, -1.9], tf.int32)).tolist()
    [1, -1]

    Args:
        x: numbers or bools of any shape; for a sparse tensor or ``IndexedSlices``, the values are cast.
        dtype: the new dtype. Casts to integers truncate; casts to real types keep the real part; to bool, everything
            but zero is True.
        name: name of the op.

    Returns:
        A tensor of type ``dtype``, in ``x``'s shape.

    Raises:
        TypeError: ``dtype`` is not a type, or ``x`` cannot become a tensor.
    """
    target = as_dtype(dtype).base_dtype
    if isinstance(x, Tensor) and x.dtype.base_dtype is target:
        return x
    result: Any = None
    if isinstance(x, SparseTensor):
        result = SparseTensor(x.indices, cast(x.values, target, name), x.dense_shape)
    elif isinstance(x, IndexedSlices):
        result = IndexedSlices(cast(x.values, target, name), x.indices, x.dense_shape)
    if result is not None:
        return result
    with name_scope(name, "Cast", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return x if x.dtype.base_dtype is target else new("Cast", scope, x=x, DstT=target)


@binder("Cast", elementwise=True)
def _cast(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    if (attrs["SrcT"].name == "string") != (attrs["DstT"].name == "string"):
        raise UnimplementedError.of(
            f"Cast {attrs['SrcT'].name} to {attrs['DstT'].name} is not supported",
            op=op,
            hint="convert strings with tf.string_to_number and tf.as_string",
        )
    target = attrs["DstT"].as_numpy_dtype
    if attrs["SrcT"].is_complex and not attrs["DstT"].is_complex:
        if attrs["DstT"].is_bool:
            return lambda x: xp.asarray(x != 0)
        return lambda x: x.real.astype(target)
    if attrs["SrcT"].base_dtype.size == 1 and attrs["SrcT"].is_quantized:
        return lambda x: xp.asarray(x).astype(target)
    return lambda x: x.astype(target)


shape_function("Cast")(same_shape)


@gradient("Cast")
def _cast_grad(op: Operation, grad: Tensor) -> Tensor | None:
    source, target = op.inputs[0].dtype.base_dtype, op.outputs[0].dtype.base_dtype
    smooth = all(kind.is_floating or kind.is_complex for kind in (source, target))
    return cast(grad, source) if smooth else None


def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Return ``value`` with another dtype; values out of its range become its minimum or maximum.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.saturate_cast([300.0, -5.0], tf.uint8)).tolist()
    [255, 0]

    Args:
        value: real numbers of any shape.
        dtype: the new dtype.
        name: name of the last op.

    Returns:
        A tensor of type ``dtype``, in ``value``'s shape.
    """
    target = as_dtype(dtype).base_dtype
    with name_scope(name, "saturate_cast", [value]) as scope:
        value = convert_to_tensor(value, name="value")
        source = value.dtype.base_dtype
        if source.min < target.min:
            value = new("Maximum", x=value, y=convert_to_tensor(target.min, source, name="min"))
        if source.max > target.max:
            value = new("Minimum", x=value, y=convert_to_tensor(target.max, source, name="max"))
        return cast(value, target, name=scope)


def to_float(x: TensorLike, name: str = "ToFloat") -> Tensor:
    """Cast to float32. Deprecated in 1.15; use ``cast``.

    Args:
        x: numbers or bools of any shape.
        name: name of the op.

    Returns:
        float32, in ``x``'s shape; ``x`` itself if it already has that type.
    """
    return cast(x, float32, name=name)


def to_double(x: TensorLike, name: str = "ToDouble") -> Tensor:
    """Cast to float64. Deprecated in 1.15; use ``cast``.

    Args:
        x: numbers or bools of any shape.
        name: name of the op.

    Returns:
        float64, in ``x``'s shape; ``x`` itself if it already has that type.
    """
    return cast(x, float64, name=name)


def to_int32(x: TensorLike, name: str = "ToInt32") -> Tensor:
    """Cast to int32. Deprecated in 1.15; use ``cast``.

    Args:
        x: numbers or bools of any shape.
        name: name of the op.

    Returns:
        int32, in ``x``'s shape; ``x`` itself if it already has that type.
    """
    return cast(x, int32, name=name)


def to_int64(x: TensorLike, name: str = "ToInt64") -> Tensor:
    """Cast to int64. Deprecated in 1.15; use ``cast``.

    Args:
        x: numbers or bools of any shape.
        name: name of the op.

    Returns:
        int64, in ``x``'s shape; ``x`` itself if it already has that type.
    """
    return cast(x, int64, name=name)


def to_bfloat16(x: TensorLike, name: str = "ToBFloat16") -> Tensor:
    """Cast to bfloat16. Deprecated in 1.15; use ``cast``.

    Args:
        x: numbers or bools of any shape.
        name: name of the op.

    Returns:
        bfloat16, in ``x``'s shape; ``x`` itself if it already has that type.
    """
    return cast(x, bfloat16, name=name)


def to_complex64(x: TensorLike, name: str = "ToComplex64") -> Tensor:
    """Cast to complex64. Deprecated in 1.15; use ``cast``.

    Args:
        x: numbers or bools of any shape.
        name: name of the op.

    Returns:
        complex64, in ``x``'s shape; ``x`` itself if it already has that type.
    """
    return cast(x, complex64, name=name)


def to_complex128(x: TensorLike, name: str = "ToComplex128") -> Tensor:
    """Cast to complex128. Deprecated in 1.15; use ``cast``.

    Args:
        x: numbers or bools of any shape.
        name: name of the op.

    Returns:
        complex128, in ``x``'s shape; ``x`` itself if it already has that type.
    """
    return cast(x, complex128, name=name)


def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """Reinterpret the bytes as another type.

    >>> import gpuplace as tf
    >>> tf.bitcast(tf.zeros([2, 3]), tf.uint8).shape.as_list()  # four bytes a float
    [2, 3, 4]

    Args:
        input: numbers of any shape.
        type: the new number type. A narrower type adds a last dimension; a wider one removes the last dimension, which
            must hold the parts of one element.
        name: name of the op.

    Returns:
        A tensor of that type.

    Raises:
        TypeError: one of the types is bool, string or another type without a fixed size.
        ValueError: the last dimension is known not to hold exactly one element.
        InvalidArgumentError: at run time, the last dimension does not hold exactly one element.
    """
    return new("Bitcast", name, input=input, type=type)


@compute("Bitcast", shares=True)
def _bitcast(xp: ArrayModule, input: Array, *, type: Any) -> Array:
    old, new_size = input.dtype.itemsize, type.numpy_dtype
    if old == new_size.itemsize:
        return xp.ascontiguousarray(input).view(new_size).reshape(input.shape)
    if old > new_size.itemsize:
        parts = old // new_size.itemsize
        return xp.ascontiguousarray(input).reshape(-1).view(new_size).reshape(*input.shape, parts)
    parts = new_size.itemsize // old
    if not input.ndim or input.shape[-1] != parts:
        raise InvalidArgumentError.of(
            f"Cannot bitcast from {as_dtype(input.dtype).short_name} to {type.short_name}: shape"
            f" [{','.join(map(str, input.shape))}]"
        )
    return xp.ascontiguousarray(input).reshape(-1).view(new_size).reshape(input.shape[:-1])


@shape_function("Bitcast")
def _bitcast_shape(op: Operation) -> tuple[TensorShape, ...]:
    old, new_size = op.attrs["T"].size, op.attrs["type"].size
    sizes = op.inputs[0].shape.sizes
    if sizes is None or old == new_size:
        return (op.inputs[0].shape if old == new_size else UNKNOWN_SHAPE,)
    if old > new_size:
        return (TensorShape.of((*sizes, old // new_size)),)
    if not sizes:
        raise ValueError("Cannot bitcast due to shape. 0 is not a vector")
    if sizes[-1] not in (None, new_size // old):
        raise ValueError(f"Cannot bitcast due to shape. {sizes[-1]} does not match {new_size // old}")
    return (TensorShape.of(sizes[:-1]),)
