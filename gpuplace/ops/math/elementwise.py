"""Elementwise arithmetic of two tensors, with broadcasting.

Division has its own module; Python's operators are installed at the end of this one.

Source: tensorflow/core/kernels/cwise_ops.h and tensorflow/python/ops/math_ops.py, math_grad.py, release 1.15.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, string
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_n_to_tensor, convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor, override_operator
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, binder, compute
from gpuplace.ops.array.constant import ones_like, zeros_like
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.gradients.registry import gradient, skipped_inputs
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.division import (
    Gradients,
    div,
    div_no_nan,
    divide,
    floor_div,
    floordiv,
    floormod,
    mod,
    realdiv,
    truediv,
    truncatediv,
    truncatemod,
)
from gpuplace.ops.support import (
    after,
    binary_ufunc,
    broadcast_gradients,
    broadcast_of,
    broadcast_shape,
    conjugate,
    is_first_alone_needed,
    like,
    new,
    reduced_gradients,
    same_shape,
    shape_tensor,
    sum_to,
)
from gpuplace.release import rules
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, DTypeLike, ShapeLike, TensorLike, TensorsLike

__all__ = [
    "add", "add_v2", "subtract", "multiply", "multiply_no_nan", "div", "divide", "truediv", "realdiv", "floordiv",
    "floor_div", "truncatediv", "div_no_nan", "mod", "floormod", "truncatemod", "pow", "maximum", "minimum",
    "squared_difference", "atan2", "xlogy", "xdivy", "add_n", "accumulate_n", "clip_by_value", "complex", "scalar_mul",
    "polyval",
]  # fmt: skip


def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x + y``. As in 1.15, the operator ``+`` adds ``AddV2`` and this function ``Add``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.add([[1], [2]], [10, 20])).tolist()
    [[11, 21], [12, 22]]

    Args:
        x: floating, complex, int8 to int64, uint8, or strings, which are concatenated.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("Add", name, x=x, y=y)


def add_v2(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x + y`` through the op type ``AddV2``, which does not accept strings.

    Args:
        x: floating, complex, int8 to int64 or uint8.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("AddV2", name, x=x, y=y)


@binder("Add", "AddV2", elementwise=True)
def _add(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    if attrs["T"] is string:
        return lambda x, y: xp.asarray(xp.add(x, y), object)
    return xp.add


shape_function("Add", "AddV2")(broadcast_shape)


@gradient("Add", "AddV2")
def _add_grad(op: Operation, grad: Tensor) -> Gradients:
    if is_first_alone_needed(op):
        return grad, None
    if _all_shaped_alike(op, grad):
        return grad, grad
    return reduced_gradients(op, grad, lambda: grad, lambda: grad)


def _all_shaped_alike(op: Operation, grad: Tensor) -> bool:
    """Return whether both inputs and the gradient have the same static shape."""
    sizes = op.inputs[0].shape.sizes
    return sizes is not None and None not in sizes and sizes == op.inputs[1].shape.sizes == grad.shape.sizes


def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x - y``.

    Args:
        x: floating, complex, int8 to int64, uint8 or uint16.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("Sub", name, x=x, y=y)


binary_ufunc("subtract", "Sub")


@gradient("Sub")
def _sub_grad(op: Operation, grad: Tensor) -> Gradients:
    if is_first_alone_needed(op):
        return grad, None
    if _all_shaped_alike(op, grad):
        return grad, -grad
    return reduced_gradients(op, grad, lambda: grad, lambda: -grad)


def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x * y``.

    Args:
        x: floating, complex, int8 to int64, uint8 or uint16.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("Mul", name, x=x, y=y)


binary_ufunc("multiply", "Mul")


@gradient("Mul")
def _mul_grad(op: Operation, grad: Tensor) -> Gradients:
    if is_first_alone_needed(op):
        return new("Mul", x=grad, y=conjugate(op.inputs[1])), None
    if _all_shaped_alike(op, grad) and grad.dtype.name in ("float32", "int32"):
        return new("Mul", x=grad, y=op.inputs[1]), new("Mul", x=grad, y=op.inputs[0])
    conjugates = _conjugates_of(op)
    return reduced_gradients(
        op, grad, lambda: new("Mul", x=grad, y=conjugates()[1]), lambda: new("Mul", x=conjugates()[0], y=grad)
    )


def _conjugates_of(op: Operation) -> Callable[[], list[Tensor]]:
    """Return a function that adds the conjugates of an operation's inputs on its first call."""
    return functools.cache(lambda: [conjugate(item) for item in op.inputs])


def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x * y``, and 0 where ``y`` is 0 even if ``x`` is infinite or NaN.

    Args:
        x: floating or complex.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    with name_scope(name, "multiply_no_nan", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype, name="y")
        return new("MulNoNan", scope, x=x, y=y)


@compute("MulNoNan", elementwise=True)
def _mul_no_nan(xp: ArrayModule, x: Array, y: Array) -> Array:
    return xp.where(y == 0, xp.zeros_like(y), xp.multiply(x, y))


shape_function("MulNoNan")(broadcast_shape)


@gradient("MulNoNan")
def _mul_no_nan_grad(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs

    def of_x() -> Tensor:
        return new("MulNoNan", x=grad, y=y)

    def of_y() -> Tensor:
        return new("MulNoNan", x=x, y=grad)

    if _all_shaped_alike(op, grad):
        return of_x(), of_y()
    return broadcast_gradients(op, of_x, of_y)


# Powers, extremes, others


def pow(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x`` to the power of ``y``.

    Args:
        x: floating, complex, int32 or int64.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
        InvalidArgumentError: at run time on the CPU, an integer has a negative power.
    """
    with name_scope(name, "Pow", [x]) as scope:
        return new("Pow", scope, x=x, y=y)


@binder("Pow", elementwise=True, slow=True)
def _pow(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    if not attrs["T"].is_integer or xp.__name__ != "numpy":
        return xp.power

    def power(x: Array, y: Array) -> Array:
        if (y < 0).any():
            raise InvalidArgumentError.of("Integers to negative integer powers are not allowed")
        return xp.power(x, y)

    return power


shape_function("Pow")(broadcast_shape)


@gradient("Pow")
def _pow_grad(op: Operation, grad: Tensor) -> Gradients:
    conjugates = _conjugates_of(op)

    def of_x() -> Tensor:
        x, y = conjugates()
        return grad * y * new("Pow", x=x, y=y - 1)

    def of_y() -> Tensor:
        x, _ = conjugates()
        z = conjugate(op.outputs[0])
        compare = "NotEqual" if x.dtype.is_complex else "Greater"
        defined = new(compare, x=x, y=0)
        log_x = new("Log", x=new("Select", condition=defined, t=x, e=ones_like(x)))
        factor = new("Select", condition=defined, t=log_x, e=zeros_like(x))
        return grad * z * factor

    if is_first_alone_needed(op):
        return of_x(), None
    return reduced_gradients(op, grad, of_x, of_y)


def maximum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the elementwise maximum; NaN if either element is NaN.

    Args:
        x: floating, int32 or int64.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("Maximum", name, x=x, y=y)


def minimum(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the elementwise minimum; NaN if either element is NaN.

    Args:
        x: floating, int32 or int64.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("Minimum", name, x=x, y=y)


binary_ufunc("maximum", "Maximum")
binary_ufunc("minimum", "Minimum")


@gradient("Maximum", "Minimum")
def _extreme_grad(op: Operation, grad: Tensor) -> Gradients:
    """Gradient of a maximum or minimum: all of it goes to the chosen element, to ``x`` on a tie."""
    x, y = op.inputs
    comparison = "GreaterEqual" if op.type == "Maximum" else "LessEqual"
    if is_first_alone_needed(op):
        zeros = zeros_like(grad)
        return new("Select", condition=new(comparison, x=x, y=y), t=grad, e=zeros), None
    skipped = skipped_inputs(op)
    shape_x, shape_y, shape_grad = (shape_tensor(item) for item in (x, y, grad))
    with name_scope("zeros") as scope:
        zeros = new("Fill", scope, dims=shape_grad, value=like(0, grad))
    chosen = new(comparison, x=x, y=y)
    axes_x, axes_y = apply_op("BroadcastGradientArgs", s0=shape_x, s1=shape_y).outputs
    of_x = of_y = None
    if 0 not in skipped:
        of_x = sum_to(new("Select", condition=chosen, t=grad, e=zeros), axes_x, shape_x)
    if 1 not in skipped:
        of_y = sum_to(new("Select", condition=chosen, t=zeros, e=grad), axes_y, shape_y)
    return of_x, of_y


def squared_difference(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``(x - y)`` times its conjugate: the square for real numbers.

    Args:
        x: floating, complex, int32 or int64.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("SquaredDifference", name, x=x, y=y)


@compute("SquaredDifference", elementwise=True)
def _squared_difference(xp: ArrayModule, x: Array, y: Array) -> Array:
    difference = xp.subtract(x, y)
    return xp.multiply(xp.conjugate(difference) if difference.dtype.kind == "c" else difference, difference)


shape_function("SquaredDifference")(broadcast_shape)


@gradient("SquaredDifference")
def _squared_difference_grad(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs
    with after(grad):
        twice = new("Mul", x=like(2, grad, "scalar"), y=grad) * (x - y)
    if _all_shaped_alike(op, grad):
        return twice, -twice
    of_x, of_y = reduced_gradients(op, grad, lambda: twice, lambda: twice)
    return of_x, None if of_y is None else -of_y


def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the angle between the positive x axis and the point ``(x, y)``.

    Args:
        y: float32 or float64: the y coordinate.
        x: the x coordinate, of the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape: radians from -pi to pi.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("Atan2", name, y=y, x=x)


binary_ufunc("arctan2", "Atan2")


@gradient("Atan2")
def _atan2_grad(op: Operation, grad: Tensor) -> Gradients:
    y, x = op.inputs
    if rules() != "1.15":
        scaled = grad / (new("Square", x=x) + new("Square", x=y))
        return broadcast_gradients(op, lambda: x * scaled, lambda: -y * scaled)
    with after(grad):  # release 1.15 ignores that y and x broadcast
        scaled = grad / (new("Square", x=x) + new("Square", x=y))
        return x * scaled, -y * scaled


def xlogy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x * log(y)``, and 0 where ``x`` is 0.

    Args:
        x: floating or complex.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("Xlogy", name, x=x, y=y)


def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x / y``, and 0 where ``x`` is 0.

    Args:
        x: floating or complex.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("Xdivy", name, x=x, y=y)


@compute("Xlogy", elementwise=True)
def _xlogy(xp: ArrayModule, x: Array, y: Array) -> Array:
    return xp.where(x == 0, xp.zeros_like(x), xp.multiply(x, xp.log(y)))


@compute("Xdivy", elementwise=True)
def _xdivy(xp: ArrayModule, x: Array, y: Array) -> Array:
    return xp.where(x == 0, xp.zeros_like(x), xp.true_divide(x, y))


shape_function("Xlogy", "Xdivy")(broadcast_shape)


def _where_nonzero(x: Tensor) -> Tensor:
    zero = cast(0.0, x.dtype)
    return cast(new("NotEqual", x=x, y=zero), x.dtype)


@gradient("Xlogy")
def _xlogy_grad(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs
    back_x, back_y = broadcast_of(x, y)
    with after(grad):
        slope_x = new("Xlogy", x=_where_nonzero(x), y=y)
        slope_y = new("Xdivy", x=x, y=y)
        of_x = sum_to(slope_x * grad, *back_x)
        return of_x, sum_to(slope_y * grad, *back_y)


@gradient("Xdivy")
def _xdivy_grad(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs
    back_x, back_y = broadcast_of(x, y)
    with after(grad):
        slope_x = new("Xdivy", x=_where_nonzero(x), y=y)
        slope_y = new("Xdivy", x=-x, y=y**2)
        of_x = sum_to(slope_x * grad, *back_x)
        return of_x, sum_to(slope_y * grad, *back_y)


# Several tensors


def add_n(inputs: TensorsLike, name: str | None = None) -> Tensor:
    """Return the sum of several tensors.

    Args:
        inputs: a list of tensors of one shape and one number type.
        name: name of the op.

    Returns:
        A tensor of their type and shape; for a list of one, its tensor.

    Raises:
        ValueError: the list is empty, its elements are not tensors, or their static shapes differ.
        TypeError: the types differ or are not number types.
        InvalidArgumentError: at run time, the shapes differ.
    """
    message = "inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and shape"
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError(message)
    tensors = convert_n_to_tensor(inputs)
    if len(tensors) == 1:
        return new("Identity", name, input=tensors[0]) if name else tensors[0]
    return new("AddN", name, inputs=tensors)


@binder("AddN", elementwise=True)
def _bind_add_n(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[..., Any]:
    """Bind ``add`` directly for two tensors whose static shapes are equal."""
    shapes = [tensor.shape for tensor in op.inputs]
    dtype = op.outputs[0].dtype
    if xp is np and len(shapes) == 2 and (dtype.is_floating or dtype.is_integer):
        if shapes[0].is_fully_defined() and shapes[0].sizes == shapes[1].sizes:
            return np.add
    return lambda *inputs: _add_n(xp, list(inputs), ctx=ctx)


@compute("AccumulateNV2", fresh=True)
def _add_n(xp: ArrayModule, inputs: list[Any], *, ctx: KernelContext) -> Array:
    for position, other in enumerate(inputs):
        if other.shape != inputs[0].shape:
            shapes = [brackets(TensorShape.of(value.shape)) for value in (inputs[0], other)]
            text = (
                f"Inputs to operation {ctx.op.name} of type {ctx.op.type} must have the same size and shape."
            )
            text += f"  Input 0: {shapes[0]} != input {position}: {shapes[1]}"
            raise InvalidArgumentError.of(text)
    if len(inputs) == 1:
        return xp.positive(inputs[0])
    total = xp.add(inputs[0], inputs[1])
    for other in inputs[2:]:
        total = xp.add(total, other, out=total) if total.ndim else xp.add(total, other)
    return total


@shape_function("AddN")
def _add_n_shape(op: Operation) -> tuple[TensorShape, ...]:
    if not op.inputs:  # of a GraphDef; the placer accepts it, as TensorFlow's does
        return (UNKNOWN_SHAPE,)
    shape = op.inputs[-1].shape
    for index in reversed(range(len(op.inputs) - 1)):
        try:
            shape = shape.merge_with(op.inputs[index].shape)
        except ValueError:
            raise ValueError(
                f"Shapes must be equal: input {index} has {op.inputs[index].shape}, a later input has {shape}\n\t"
                f"From merging shape {index} with other shapes."
            ) from None
    return (shape,)


@gradient("AddN", "AccumulateNV2")
def _add_n_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    return [grad] * len(op.inputs)


def accumulate_n(
    inputs: TensorsLike,
    shape: ShapeLike = None,
    tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the sum of several tensors, accumulated as they become available.

    Args:
        inputs: a list of tensors of one shape and one number type.
        shape: their shape, if it is not static.
        tensor_dtype: their required type; None for any.
        name: name of the op.

    Returns:
        A tensor of their type and shape; for a list of one, its tensor.

    Raises:
        ValueError: the list is empty, or shapes do not match.
        TypeError: ``tensor_dtype`` is another type or not a number type.

    Source: tensorflow/core/common_runtime/accumulate_n_optimizer.cc, release 1.15 (the op is replaced, not executed).
    """
    if not inputs or not isinstance(inputs, (list, tuple)):
        raise ValueError("inputs must be a list of at least one Tensor with the same dtype and shape")
    tensors = convert_n_to_tensor(inputs)
    if tensor_dtype is not None and as_dtype(tensor_dtype) is not tensors[0].dtype.base_dtype:
        raise TypeError(f"tensor_dtype is {tensor_dtype}, but input is of type {tensors[0].dtype}")
    static_shape = tensors[0].shape if shape is None else tensors[0].shape.merge_with(shape)
    for tensor in tensors:
        static_shape = static_shape.merge_with(tensor.shape)
    if len(tensors) == 1:
        return new("Identity", name, input=tensors[0]) if name else tensors[0]
    return new("AccumulateNV2", name, inputs=tensors, shape=static_shape)


@shape_function("AccumulateNV2")
def _accumulate_n_shape(op: Operation) -> tuple[TensorShape, ...]:
    return (op.attrs["shape"],)


def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Any:
    """Return ``t`` with its elements clipped to the range from ``clip_value_min`` to ``clip_value_max``.

    Args:
        t: floating, int32 or int64; for ``IndexedSlices``, the values are clipped.
        clip_value_min: the minimum, of the same type: a scalar, or a tensor that broadcasts to ``t``'s shape.
        clip_value_max: the maximum, in the same form.
        name: name of the op.

    Returns:
        A tensor, or ``IndexedSlices``, like ``t``.

    Raises:
        ValueError: a limit does not broadcast to the shape of ``t``.
        TypeError: types differ.
    """
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        values = convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name="t")
        low = new("Minimum", x=values, y=clip_value_max)
        values.shape.merge_with(low.shape)
        result = new("Maximum", scope, x=low, y=clip_value_min)
        values.shape.merge_with(result.shape)
        return IndexedSlices(result, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else result


@compute("ClipByValue", elementwise=True)
def _clip_by_value(xp: ArrayModule, t: Array, low: Array, high: Array) -> Array:
    return xp.maximum(xp.minimum(t, high), low)


shape_function("ClipByValue")(same_shape)


def complex(real: TensorLike, imag: TensorLike, name: str | None = None) -> Tensor:
    """Return complex numbers from real and imaginary parts.

    Args:
        real: float32 or float64.
        imag: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        complex64 for float32, complex128 for float64, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: the shapes do not broadcast.
    """
    with name_scope(name, "Complex", [real, imag]) as scope:
        real = convert_to_tensor(real, name="real")
        imag = convert_to_tensor(imag, name="imag")
        kinds = {"float32": "complex64", "float64": "complex128"}
        if real.dtype.base_dtype is not imag.dtype.base_dtype or real.dtype.base_dtype.name not in kinds:
            raise TypeError(f"real and imag have incorrect types: {real.dtype.name} {imag.dtype.name}")
        return new("Complex", scope, real=real, imag=imag, Tout=kinds[real.dtype.base_dtype.name])


@compute("Complex", fresh=True)
def _complex(xp: ArrayModule, real: Array, imag: Array, *, Tout: Any) -> Array:
    result = xp.empty(xp.broadcast(real, imag).shape, Tout.as_numpy_dtype)
    result.real, result.imag = real, imag
    return result


shape_function("Complex")(broadcast_shape)


@gradient("Complex")
def _complex_grad(op: Operation, grad: Tensor) -> Gradients:
    real = op.inputs[0].dtype.base_dtype
    return broadcast_gradients(
        op, lambda: new("Real", input=grad, Tout=real), lambda: new("Imag", input=grad, Tout=real)
    )


def scalar_mul(scalar: TensorLike, x: Any, name: str | None = None) -> Any:
    """Return ``x`` times a scalar.

    Args:
        scalar: a number of ``x``'s type, shape ``[]``.
        x: numbers of any shape, or ``IndexedSlices``.
        name: name of the op.

    Returns:
        A tensor or ``IndexedSlices``, like ``x``.

    Raises:
        ValueError: ``scalar`` is known not to be a scalar.
        TypeError: the types differ.
    """
    is_sparse = isinstance(x, IndexedSlices)
    dtype = x.dtype.base_dtype if is_sparse or isinstance(x, Tensor) else None
    scalar = convert_to_tensor(scalar, dtype, "scalar")
    if scalar.shape.ndims not in (0, None):
        raise ValueError(f"Only scalar multiply works, got shape {scalar.shape}")
    if is_sparse:
        return IndexedSlices(new("Mul", name, x=scalar, y=x.values), x.indices, x.dense_shape)
    return new("Mul", name, x=scalar, y=x)


def polyval(coeffs: Any, x: TensorLike, name: str | None = None) -> Tensor:
    """Evaluate a polynomial at each element of ``x`` by Horner's scheme.

    >>> import gpuplace as tf
    >>> float(tf.Session().run(tf.math.polyval([1.0, 0.0, 2.0], 3.0)))  # x**2 + 2
    11.0

    Args:
        coeffs: a list of coefficients, highest power first, each of ``x``'s type and with a shape that broadcasts.
        x: numbers.
        name: name of the scope.

    Returns:
        ``x``'s type, in the broadcast shape; zeros without coefficients.

    Raises:
        TypeError: the types differ.
        ValueError: the shapes do not broadcast.
    """
    with name_scope(name, "polyval", [*coeffs, x]):
        x = convert_to_tensor(x, name="x")
        if len(coeffs) < 1:
            return new("ZerosLike", x=x)
        terms = [convert_to_tensor(c, name=f"{index}_coeff") for index, c in enumerate(coeffs)]
        result = terms[0]
        for term in terms[1:]:
            result = term + result * x
        return result


# Python's operators


def binary_operator(name: str, function: Callable[..., Tensor]) -> None:
    """Install ``__name__`` and ``__rname__``; other operands become constants ``<name>/y`` or ``<name>/x``."""

    def forward(x: Tensor, y: TensorLike) -> Tensor:
        with name_scope(None, name, [x, y]) as scope:
            if not isinstance(y, Tensor):
                by_right = getattr(type(y), f"_{name}_to_tensor", None)  # for sparse tensors
                if by_right is not None:
                    return by_right(y, x, scope)
                try:
                    y = convert_to_tensor(y, dtype_hint=x.dtype.base_dtype, name="y")
                except (TypeError, ValueError):
                    if hasattr(type(y), f"__r{name}__"):
                        return NotImplemented
                    raise
            return function(x, y, name=scope)

    def backward(y: Tensor, x: TensorLike) -> Tensor:
        with name_scope(None, name, [x, y]) as scope:
            x = convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x")
            return function(x, y, name=scope)

    override_operator(Tensor, f"__{name}__", forward)
    override_operator(Tensor, f"__r{name}__", backward)


def _multiply_operator(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    return new("Mul", name, x=x, y=y)


def _add_operator(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    return new("Add" if x.dtype.base_dtype is string else "AddV2", name, x=x, y=y)


binary_operator("add", _add_operator)
binary_operator("sub", subtract)
binary_operator("mul", _multiply_operator)
binary_operator("div", div)
binary_operator("truediv", truediv)
binary_operator("floordiv", floordiv)
binary_operator("mod", floormod)
binary_operator("pow", pow)
