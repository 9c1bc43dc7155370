"""Tensors without inputs: constants, placeholders, zeros and ones, ranges, one-hot rows.

Source: tensorflow/python/ops/array_ops.py, constant_op.py, math_ops.py and tensorflow/core/kernels/constant_op.cc,
sequence_ops.cc, one_hot_op.cc, release 1.15.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, float32, float64, int32, int64, string
from gpuplace.dtypes import bool as bool_type
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value, constant_value_as_shape
from gpuplace.graph.convert import convert_to_tensor, make_constant, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder, compute
from gpuplace.kernels.tensor_lists import zeros_like as variant_zeros
from gpuplace.numerics.arguments import int_of, list_of
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.shape_rules import size_from
from gpuplace.ops.support import new, same_shape, shape_tensor
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, as_shape, brackets
from gpuplace.typing import Array, ArrayModule, DTypeLike, ShapeLike, SizesLike, TensorLike

__all__ = [
    "constant", "placeholder", "placeholder_with_default", "zeros", "ones", "zeros_like", "ones_like", "fill", "range",
    "linspace", "lin_space", "eye", "one_hot",
]  # fmt: skip

_SMALL = 1000
"""Zeros and ones with at least this many elements are a ``Fill`` instead of a constant."""


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike = None,
    name: str | None = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Return a constant.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.constant([1, 2], shape=[4])).tolist()
    [1, 2, 2, 2]

    Args:
        value: a scalar, nested lists or an array of numbers, bools, strings or bytes.
        dtype: the dtype. By default an array's own; otherwise int32 for ``int`` (int64 for large values), float32 for
            ``float``, bool, complex128 or string.
        shape: the shape; the value's last element fills the rest. None: the value's shape.
        name: name of the op.
        verify_shape: raise TypeError if the value has another shape.

    Returns:
        A tensor of that dtype and shape.

    Raises:
        TypeError: the value does not match the dtype or, with ``verify_shape``, the shape.
        ValueError: the value is ragged or has too many elements.
    """
    return make_constant(value, dtype, shape, name, verify_shape)


@binder("Const", shares=True)
def _const(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    value = xp.asarray(attrs["value"].array)
    return lambda: value


@shape_function("Const")
def _const_shape(op: Operation) -> tuple[TensorShape, ...]:
    return (op.attrs["value"].shape,)


def placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """Return a tensor that every run must feed.

    Args:
        dtype: the dtype.
        shape: the shape, possibly partial, such as ``[None, 10]``. None: unknown.
        name: name of the op.

    Returns:
        A tensor of that dtype and static shape.

    Raises:
        InvalidArgumentError: at run time, the step needs the placeholder and does not feed it.
    """
    return new("Placeholder", name, dtype=dtype, shape=as_shape(shape))


@compute("Placeholder", "PlaceholderV2", shares=True)
def _placeholder(xp: ArrayModule, *, dtype: Any, shape: Any, ctx: Any) -> Array:
    shape_text = "" if shape.sizes is None else f" and shape {brackets(shape)}"
    raise InvalidArgumentError.of(
        f"You must feed a value for placeholder tensor '{ctx.op.name}' with dtype {dtype.short_name}{shape_text}",
        op=ctx.op,
        hint=f"session.run(..., feed_dict={{{ctx.op.name!r} + ':0': value}})",
    )


@shape_function("Placeholder", "PlaceholderV2")
def _placeholder_shape(op: Operation) -> tuple[TensorShape, ...]:
    return (op.attrs["shape"],)


def placeholder_with_default(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Return ``input``, unless the step feeds another value.

    Args:
        input: the default value, of any type.
        shape: the shape of values to feed, possibly partial; compatible with that of ``input``.
        name: name of the op.

    Returns:
        A tensor of ``input``'s type and of that shape.

    Raises:
        ValueError: the shape of ``input`` is incompatible.
    """
    return new("PlaceholderWithDefault", name, input=input, shape=as_shape(shape))


@compute("PlaceholderWithDefault", shares=True)
def _placeholder_with_default(xp: ArrayModule, input: Array) -> Array:
    return input


@shape_function("PlaceholderWithDefault")
def _placeholder_with_default_shape(op: Operation) -> tuple[TensorShape, ...]:
    op.inputs[0].shape.merge_with(op.attrs["shape"])
    return (op.attrs["shape"],)


@gradient("PlaceholderWithDefault")
def _placeholder_with_default_grad(op: Operation, grad: Tensor) -> Tensor:
    return grad


# Filled tensors


def _filled(value: TensorLike, shape: Any, dtype: DTypeLike, name: str | None, default_name: str) -> Tensor:
    with name_scope(name, default_name, [shape]) as scope:
        if not isinstance(shape, Tensor):
            if isinstance(shape, list | tuple) and any(isinstance(size, Tensor) for size in shape):
                # Release 1.15 compares the number of elements with the limit in ops whose result is unused.
                functools.reduce(operator.mul, shape) < _SMALL  # noqa: B015
            try:
                sizes = as_shape(shape).as_list()
                if None in sizes:
                    raise ValueError("partially known")
            except (TypeError, ValueError):
                shape = convert_to_tensor(shape, dtype=int32)
            else:
                # Release 1.15 fills a shape given as a bare integer however small it is.
                if math.prod(sizes) < _SMALL and not isinstance(shape, (int, np.integer)):  # type: ignore[arg-type]
                    return make_constant(value, dtype, sizes, scope)
                shape = convert_to_tensor(as_shape(shape))
        if not shape.shape.sizes:  # a scalar or an unknown shape
            shape = new("Reshape", tensor=shape, shape=[-1])
        return new("Fill", scope, dims=shape, value=make_constant(value, dtype))


def _zero(dtype: DTypeLike) -> Any:
    return False if dtype is bool_type else "" if dtype is string else 0


def zeros(shape: SizesLike, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """Return zeros: a constant for fewer than 1000 elements, otherwise a ``Fill``.

    Args:
        shape: sizes as a list, a ``TensorShape`` or an integer tensor.
        dtype: number type, bool (False) or string (empty).
        name: name of the op.

    Returns:
        A tensor of that type and shape.
    """
    dtype = as_dtype(dtype).base_dtype
    return _filled(_zero(dtype), shape, dtype, name, "zeros")


def ones(shape: SizesLike, dtype: DTypeLike = float32, name: str | None = None) -> Tensor:
    """Return ones: a constant for fewer than 1000 elements, otherwise a ``Fill``.

    Args:
        shape: sizes as a list, a ``TensorShape`` or an integer tensor.
        dtype: number type or bool (True).
        name: name of the op.

    Returns:
        A tensor of that type and shape.

    Raises:
        TypeError: the type is string.
    """
    dtype = as_dtype(dtype).base_dtype
    return _filled(True if dtype is bool_type else 1, shape, dtype, name, "ones")


def zeros_like(
    tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Return zeros with the shape of ``tensor``.

    Args:
        tensor: a tensor of any shape.
        dtype: number type, bool or string; None: same as ``tensor``.
        name: name of the op.
        optimize: use the static shape, as a constant if it is complete, so that the result depends less on ``tensor``.

    Returns:
        A tensor of that dtype with the shape of ``tensor``.
    """
    with name_scope(name, "zeros_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        result_type = tensor.dtype.base_dtype if dtype is None else as_dtype(dtype).base_dtype
        if optimize and tensor.shape.is_fully_defined() and result_type.name != "variant":
            return zeros(tensor.shape, result_type, name=scope)
        if result_type is not tensor.dtype.base_dtype:
            return zeros(shape_tensor(tensor) if optimize else new("Shape", input=tensor), result_type, scope)
        return new("ZerosLike", scope, x=tensor)


def ones_like(
    tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Return ones with the shape of ``tensor``.

    Args:
        tensor: a tensor of any shape.
        dtype: number type or bool; None: same as ``tensor``.
        name: name of the op.
        optimize: use the static shape, as a constant if it is complete, so that the result depends less on ``tensor``.

    Returns:
        A tensor of that dtype with the shape of ``tensor``.
    """
    with name_scope(name, "ones_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        result_type = tensor.dtype.base_dtype if dtype is None else as_dtype(dtype).base_dtype
        result = ones(shape_tensor(tensor) if optimize else new("Shape", input=tensor), result_type, scope)
        if optimize:
            result.set_shape(tensor.shape)
        return result


@compute("ZerosLike", fresh=True)
def _zeros_like(xp: ArrayModule, x: Array) -> Array:
    return variant_zeros(xp, x) if x.dtype == object else xp.zeros(x.shape, x.dtype)


@compute("OnesLike", fresh=True)
def _ones_like(xp: ArrayModule, x: Array) -> Array:
    return xp.ones(x.shape, x.dtype)


shape_function("ZerosLike", "OnesLike")(same_shape)
not_differentiable("ZerosLike", "OnesLike")


def fill(dims: TensorLike, value: TensorLike, name: str | None = None) -> Tensor:
    """Return a tensor filled with one value.

    Args:
        dims: the sizes, an int32 or int64 vector.
        value: a scalar of any type.
        name: name of the op.

    Returns:
        A tensor of ``value``'s type, of shape ``dims``.

    Raises:
        InvalidArgumentError: at run time, a size is negative, or ``value`` is not a scalar.
    """
    return new("Fill", name, dims=dims, value=value)


@compute("Fill", fresh=True, grows=True)
def _fill(xp: ArrayModule, dims: Array, value: Array) -> Array:
    sizes = tuple(list_of(dims, "dims must be a vector, got shape"))
    if value.ndim:
        raise InvalidArgumentError.of(
            f"value must be a scalar, got shape [{','.join(map(str, value.shape))}]"
        )
    if any(size < 0 for size in sizes):
        raise InvalidArgumentError.of(f"Dimension {min(sizes)} must be >= 0")
    return xp.full(sizes, value[()], value.dtype)


@shape_function("Fill")
def _fill_shape(op: Operation) -> tuple[TensorShape, ...]:
    dims, value = op.inputs
    if dims.shape.ndims not in (None, 1):
        raise ValueError(f"Shape must be rank 1 but is rank {dims.shape.ndims}")
    if value.shape.ndims not in (None, 0):
        raise ValueError(f"Shape must be rank 0 but is rank {value.shape.ndims}")
    shape, static = constant_value_as_shape(dims), constant_value(dims)
    if static is not None and (static < 0).any():
        raise ValueError("Fill dimensions must be >= 0")
    return (shape,)


@gradient("Fill")
def _fill_grad(op: Operation, grad: Tensor) -> tuple[None, Tensor]:
    rank = grad.shape.ndims
    axes = range(0, new("Rank", input=grad)) if rank is None else make_constant(np.arange(rank), int32)
    return None, new("Sum", input=grad, reduction_indices=axes)


# Sequences


def range(
    start: TensorLike,
    limit: TensorLike | None = None,
    delta: TensorLike = 1,
    dtype: DTypeLike | None = None,
    name: str | None = "range",
) -> Tensor:
    """Return ``start``, ``start + delta``, ... below ``limit``, or above it for a negative ``delta``.

    >>> import gpuplace as tf
    >>> tf.Session().run([tf.range(3), tf.range(3, 9, 2)])
    [array([0, 1, 2], dtype=int32), array([3, 5, 7], dtype=int32)]

    Args:
        start: the first number, a scalar int32, int64, float32 or float64. A single argument is the limit, and the
            range starts at 0.
        limit: the end, excluded, a scalar.
        delta: the step, a scalar other than 0.
        dtype: the dtype. None: the widest of the arguments', in the order int32, int64, float32, float64.
        name: name of the op.

    Returns:
        A vector of that type.

    Raises:
        TypeError: an argument has another type.
        ValueError: static arguments include a ``delta`` of 0 or one away from ``limit``, or an argument is not a
            scalar.
        InvalidArgumentError: at run time, as for ValueError.
    """
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        parts = [
            convert_to_tensor(value, dtype, name=part)
            for part, value in (("start", start), ("limit", limit), ("delta", delta))
        ]
        if dtype is None:
            order = [int32, int64, float32, float64]
            for part in parts:
                if part.dtype.base_dtype not in order:
                    raise TypeError(f"range takes int32, int64, float32 or float64, got {part.dtype.name}")
            result_type = max((part.dtype.base_dtype for part in parts), key=order.index)
            parts = [
                part if part.dtype.base_dtype is result_type else new("Cast", x=part, DstT=result_type)
                for part in parts
            ]
        return new("Range", scope, start=parts[0], limit=parts[1], delta=parts[2])


@compute("Range", fresh=True, grows=True)
def _range(xp: ArrayModule, start: Array, limit: Array, delta: Array) -> Array:
    for value, label in ((start, "start"), (limit, "limit"), (delta, "delta")):
        if value.ndim:
            raise InvalidArgumentError.of(
                f"{label} must be a scalar, not shape [{','.join(map(str, value.shape))}]"
            )
    first, last, step = start.item(), limit.item(), delta.item()
    count = _range_length(first, last, step)
    if start.dtype.kind in "iu":
        return xp.arange(count, dtype=start.dtype) * start.dtype.type(step) + start.dtype.type(first)
    return (first + xp.arange(count) * step).astype(start.dtype)


def _range_length(first: Any, last: Any, step: Any) -> int:
    if step == 0:
        raise InvalidArgumentError.of("Requires delta != 0: 0")
    if step > 0 and first > last:
        raise InvalidArgumentError.of(
            f"Requires start <= limit when delta > 0: {_number(first)}/{_number(last)}"
        )
    if step < 0 and first < last:
        raise InvalidArgumentError.of(
            f"Requires start >= limit when delta < 0: {_number(first)}/{_number(last)}"
        )
    if isinstance(first, int):
        return -((first - last) // step) if step > 0 else -((last - first) // -step)
    return math.ceil(abs((last - first) / step))


def _number(value: object) -> str:
    return f"{value:g}"


@shape_function("Range")
def _range_shape(op: Operation) -> tuple[TensorShape, ...]:
    for name, tensor in zip(("start", "limit", "delta"), op.inputs, strict=True):
        if tensor.shape.ndims not in (0, None):
            raise ValueError(f"Shape must be rank 0 but is rank {tensor.shape.ndims}: {name}")
    values = [constant_value(tensor) for tensor in op.inputs]
    if any(value is None for value in values):
        return (TensorShape.of((None,)),)
    try:
        return (TensorShape.of((_range_length(*(value.item() for value in values)),)),)  # type: ignore[union-attr]
    except InvalidArgumentError as error:
        raise ValueError(error.message) from None


def linspace(start: TensorLike, stop: TensorLike, num: TensorLike, name: str | None = None) -> Tensor:
    """Return evenly spaced values from ``start`` to ``stop``, both included.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.linspace(0.0, 1.0, 5)).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]

    Args:
        start: the first value, a scalar float32 or float64.
        stop: the last value, of the same type.
        num: the number of values, a positive scalar int32 or int64.
        name: name of the op.

    Returns:
        ``[num]`` of that type.

    Raises:
        TypeError: the types differ or are integers.
        ValueError: ``num`` is known not to be positive, or an argument is not a scalar.
        InvalidArgumentError: at run time, ``num`` is not positive.
    """
    return new("LinSpace", name, start=start, stop=stop, num=num)


lin_space = linspace


@compute("LinSpace", fresh=True, grows=True)
def _linspace(xp: ArrayModule, start: Array, stop: Array, num: Array) -> Array:
    count = int_of(num, "num must be a scalar, not shape")
    if count <= 0:
        raise InvalidArgumentError.of(f"Requires num > 0: {count}")
    if count == 1:
        return xp.full((1,), start[()], start.dtype)
    step = (stop - start) / start.dtype.type(count - 1)
    values = start + step * xp.arange(count).astype(start.dtype)
    values[-1] = stop
    return values


@shape_function("LinSpace")
def _linspace_shape(op: Operation) -> tuple[TensorShape, ...]:
    for tensor in op.inputs:
        if tensor.shape.ndims not in (0, None):
            raise ValueError(f"Shape must be rank 0 but is rank {tensor.shape.ndims}")
    count = constant_value(op.inputs[2])
    if count is None:
        return (TensorShape.of((None,)),)
    if int(count) <= 0:
        raise ValueError(f"Requires num > 0: {int(count)}")
    return (TensorShape.of((int(count),)),)


not_differentiable("Const", "Placeholder", "Range", "LinSpace", "OneHot")


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return an identity matrix, or a batch of them.

    Args:
        num_rows: a scalar integer.
        num_columns: a scalar integer. None: ``num_rows``.
        batch_shape: sizes of leading dimensions, a list or an integer vector, or None.
        dtype: number type.
        name: name of the scope.

    Returns:
        ``[*batch_shape, num_rows, num_columns]`` of that type.
    """
    with name_scope(name, "eye", [num_rows, num_columns, batch_shape]):
        batch: Any = [] if batch_shape is None else batch_shape
        columns = num_rows if num_columns is None else num_columns
        square = num_columns is None
        count: Any
        if isinstance(num_rows, Tensor) or isinstance(columns, Tensor):
            count = new("Minimum", x=num_rows, y=columns)
        else:
            square = int(num_rows) == int(columns)
            count = min(int(num_rows), int(columns))
        shape: Any = None
        if isinstance(batch, Tensor) or isinstance(count, Tensor):
            batch = convert_to_tensor(batch, int32, name="shape")
            diagonal_shape: Any = new("ConcatV2", "concat", values=[batch, [count]], axis=0)
            if not square:
                shape = new("ConcatV2", "concat", values=[batch, [num_rows, columns]], axis=0)
        else:
            diagonal_shape, shape = [*batch, count], [*batch, num_rows, columns]
        diagonal = ones(diagonal_shape, dtype)
        if square:
            return new("MatrixDiag", "diag", diagonal=diagonal)
        return new("MatrixSetDiag", "set_diag", input=zeros(shape, dtype), diagonal=diagonal)


def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return rows with ``on_value`` at each index and ``off_value`` elsewhere.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.one_hot([0, 2, -1], 3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]

    Args:
        indices: uint8, int32 or int64 of any shape; an index out of range gives a row of ``off_value``.
        depth: length of a row, a scalar int32.
        on_value: a scalar. None: 1.
        off_value: a scalar of the same type. None: 0.
        axis: position of the new dimension, from 0. None or -1: last.
        dtype: dtype of the result. None: that of the values, float32 by default.
        name: name of the op.

    Returns:
        A tensor of that dtype, with the dimensions of ``indices`` and a new one of size ``depth``.

    Raises:
        TypeError: the values do not have the dtype ``dtype``, or indices are not integers.
        ValueError: ``axis`` is out of range.
        InvalidArgumentError: at run time, ``depth`` is negative.
    """
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value, axis, dtype]) as scope:
        result_type = None if dtype is None else as_dtype(dtype).base_dtype
        types = [
            None if value is None else convert_to_tensor(value).dtype.base_dtype
            for value in (on_value, off_value)
        ]
        if result_type is None:
            result_type = next((item for item in types if item is not None), float32)
        if dtype is None and None not in types and types[0] is not types[1]:
            raise TypeError(f"dtype {types[0]} of on_value does not match dtype {types[1]} of off_value")
        for label, kind in zip(("on_value", "off_value"), types, strict=True):
            if kind is not None and kind is not result_type:
                raise TypeError(f"dtype {kind} of {label} does not match dtype parameter {dtype}")
        if on_value is None:
            on_value = convert_to_tensor(1, result_type, name="on_value")
        if off_value is None:
            off_value = convert_to_tensor(0, result_type, name="off_value")
        return new(
            "OneHot", scope, indices=indices, depth=depth, on_value=on_value, off_value=off_value, T=result_type,
            axis=-1 if axis is None else axis,
        )  # fmt: skip


@compute("OneHot", fresh=True, grows=True)
def _one_hot(
    xp: ArrayModule, indices: Array, depth: Array, on_value: Array, off_value: Array, *, axis: int
) -> Array:
    count = int_of(depth, "depth must be a scalar, but got:")
    if count < 0:
        raise InvalidArgumentError.of(f"depth must be non-negative, got: {count}")
    if xp is np:
        rows = np.full((indices.size, count), off_value)
        places = indices.reshape(-1)
        hot = np.flatnonzero((places >= 0) & (places < count))
        rows[hot, places[hot]] = on_value
        rows = rows.reshape(*indices.shape, count)
    else:  # do not synchronise the GPU to count the indices
        rows = xp.where(indices[..., None] == xp.arange(count), on_value, off_value)
    return rows if axis == -1 else xp.ascontiguousarray(xp.moveaxis(rows, -1, axis))


@shape_function("OneHot")
def _one_hot_shape(op: Operation) -> tuple[TensorShape, ...]:
    sizes, axis = op.inputs[0].shape.sizes, op.attrs["axis"]
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    if axis < -1 or axis > len(sizes):
        raise ValueError(f"axis must be >= -1 and <= {len(sizes)}, got {axis}")
    at = len(sizes) if axis == -1 else axis
    return (TensorShape.of((*sizes[:at], size_from(op, 1), *sizes[at:])),)
