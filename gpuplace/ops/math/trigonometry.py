"""Trigonometric and hyperbolic functions, and sigmoids.

Source: tensorflow/core/kernels/cwise_ops.h and tensorflow/python/ops/math_ops.py, math_grad.py, release 1.15.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder
from gpuplace.numerics.compiled.dispatch import element_function
from gpuplace.numerics.pieces import is_whole, mapped
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.sparse.sparse_tensor import of_sparse_values
from gpuplace.ops.support import after, conjugate, like, new, same_shape, unary_ufunc
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid",
    "log_sigmoid",
]  # fmt: skip


# Trigonometry


def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the sine of angles.

    Args:
        x: angles in radians: floating or complex, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``, from -1 to 1.
    """
    return new("Sin", name, x=x)


unary_ufunc("sin", "Sin", slow=True)


@gradient("Sin")
def _sin_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        return grad * new("Cos", x=conjugate(op.inputs[0]))


def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the cosine of angles.

    Args:
        x: angles in radians: floating or complex, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``, from -1 to 1.
    """
    return new("Cos", name, x=x)


unary_ufunc("cos", "Cos", slow=True)


@gradient("Cos")
def _cos_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        return -grad * new("Sin", x=conjugate(op.inputs[0]))


def tan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the tangent of angles.

    Args:
        x: angles in radians: floating or complex, of any shape; integers have no kernel.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Tan", name, x=x)


unary_ufunc("tan", "Tan", slow=True)


@gradient("Tan")
def _tan_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        secant = new("Reciprocal", x=new("Cos", x=conjugate(op.inputs[0])))
        return new("Square", x=secant) * grad


def asin(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the arc sine; NaN outside of -1 to 1.

    Args:
        x: float32 or float64, of any shape; other number types have no kernel.
        name: name of the op.

    Returns:
        A tensor like ``x``: radians from -pi/2 to pi/2.
    """
    return new("Asin", name, x=x)


unary_ufunc("arcsin", "Asin")


@gradient("Asin")
def _asin_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        return grad * new("Reciprocal", x=new("Sqrt", x=_one_minus_square(op.inputs[0])))


def _one_minus_square(x: Tensor) -> Tensor:
    square = new("Square", x=conjugate(x))
    return new("Sub", x=like(1, x), y=square)


def acos(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the arc cosine; NaN outside of -1 to 1.

    Args:
        x: float32 or float64, of any shape; other number types have no kernel.
        name: name of the op.

    Returns:
        A tensor like ``x``: radians from 0 to pi.
    """
    return new("Acos", name, x=x)


unary_ufunc("arccos", "Acos")


@gradient("Acos")
def _acos_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        slope = new("Reciprocal", x=new("Sqrt", x=_one_minus_square(op.inputs[0])))
        return -grad * slope


def atan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the arc tangent.

    Args:
        x: float32 or float64, of any shape; other number types have no kernel.
        name: name of the op.

    Returns:
        A tensor like ``x``: radians from -pi/2 to pi/2.
    """
    return new("Atan", name, x=x)


unary_ufunc("arctan", "Atan")


@gradient("Atan")
def _atan_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        square = new("Square", x=conjugate(op.inputs[0]))
        return grad * new("Reciprocal", x=new("Add", x=like(1, square), y=square))


# Hyperbolic functions


def sinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the hyperbolic sine.

    Args:
        x: float32, float64 or complex (on a GPU not complex), of any shape.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Sinh", name, x=x)


unary_ufunc("sinh", "Sinh")


@gradient("Sinh")
def _sinh_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        return grad * new("Cosh", x=conjugate(op.inputs[0]))


def cosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the hyperbolic cosine.

    Args:
        x: float32, float64 or complex (on a GPU not complex), of any shape.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Cosh", name, x=x)


unary_ufunc("cosh", "Cosh")


@gradient("Cosh")
def _cosh_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        return grad * new("Sinh", x=conjugate(op.inputs[0]))


@of_sparse_values
def tanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the hyperbolic tangent.

    Args:
        x: floating or complex, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``, from -1 to 1.
    """
    return new("Tanh", name, x=x)


unary_ufunc("tanh", "Tanh", slow=True)


@gradient("Tanh")
def _tanh_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        return new("TanhGrad", y=conjugate(op.outputs[0]), dy=grad)


@binder("TanhGrad", elementwise=True)
def _bind_tanh_grad(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    if not _is_small(xp, op):
        return functools.partial(_tanh_grad_kernel, xp)
    one = _one(op)
    quick = element_function("tanh_gradient", one.dtype)

    def small(y: Array, dy: Array) -> Array:
        function = quick.function or quick.get()
        if function is not None:
            return function(dy, y)
        rest = np.multiply(y, y)
        np.subtract(one, rest, out=rest)
        return np.multiply(dy, rest, out=rest)

    return small


def _is_small(xp: ArrayModule, op: Operation) -> bool:
    """Return whether call overhead dominates; never for scalars, because NumPy's scalars cannot be written to."""
    return xp is np and is_whole(op.outputs[0]) and op.outputs[0].shape.ndims != 0


def _one(op: Operation) -> Array:
    return np.ones((), op.outputs[0].dtype.as_numpy_dtype)


def _tanh_grad_kernel(xp: ArrayModule, y: Array, dy: Array) -> Array:
    return dy * (y.dtype.type(1) - y * y)


@gradient("TanhGrad")
def _tanh_grad_grad(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    with after(grad):
        y, dy = conjugate(op.inputs[0]), conjugate(op.inputs[1])
        return grad * -2.0 * dy * y, new("TanhGrad", y=y, dy=grad)


def asinh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse hyperbolic sine.

    Args:
        x: float32, float64 or complex (on a GPU not complex), of any shape.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Asinh", name, x=x)


unary_ufunc("arcsinh", "Asinh")


@gradient("Asinh")
def _asinh_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        return grad / new("Cosh", x=conjugate(op.outputs[0]))


def acosh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse hyperbolic cosine; NaN below 1.

    Args:
        x: float32, float64 or complex (on a GPU not complex), of any shape.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Acosh", name, x=x)


unary_ufunc("arccosh", "Acosh")


@gradient("Acosh")
def _acosh_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        return grad / new("Sinh", x=conjugate(op.outputs[0]))


def atanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse hyperbolic tangent; NaN outside of -1 to 1.

    Args:
        x: float32, float64 or complex (on a GPU not complex), of any shape.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Atanh", name, x=x)


unary_ufunc("arctanh", "Atanh")


@gradient("Atanh")
def _atanh_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        return grad * new("Reciprocal", x=_one_minus_square(op.inputs[0]))


def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``1 / (1 + exp(-x))``.

    Args:
        x: floating or complex, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``, from 0 to 1.
    """
    with name_scope(name, "Sigmoid", [x]) as scope:
        return new("Sigmoid", scope, x=convert_to_tensor(x, name="x"))


@binder("Sigmoid", elementwise=True, slow=True)
def _bind_sigmoid(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, out: Array | None = None
) -> Callable[..., Any]:
    if not _is_small(xp, op):
        return functools.partial(_sigmoid, xp)
    one = _one(op)

    def small(x: Array, out: Any = None) -> Array:
        y = np.negative(x, out=out)
        np.exp(y, out=y)
        np.add(y, one, out=y)
        return np.true_divide(one, y, out=y)

    return small


def _sigmoid(xp: ArrayModule, x: Array, out: Array | None = None) -> Array:
    one = x.dtype.type(1)
    result = mapped(lambda x: xp.true_divide(one, one + xp.exp(-x)), x)
    if out is None:
        return result
    out[...] = result
    return out


@gradient("Sigmoid")
def _sigmoid_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        return new("SigmoidGrad", y=conjugate(op.outputs[0]), dy=grad)


@binder("SigmoidGrad", elementwise=True)
def _bind_sigmoid_grad(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    if not _is_small(xp, op):
        return functools.partial(_sigmoid_grad_kernel, xp)
    one = _one(op)
    quick = element_function("sigmoid_gradient", one.dtype)

    def small(y: Array, dy: Array) -> Array:
        function = quick.function or quick.get()
        if function is not None:
            return function(dy, y)
        rest, scaled = np.subtract(one, y), np.multiply(dy, y)
        return np.multiply(scaled, rest, out=scaled)

    return small


def _sigmoid_grad_kernel(xp: ArrayModule, y: Array, dy: Array) -> Array:
    return mapped(lambda dy, y: dy * y * (y.dtype.type(1) - y), dy, y)


@gradient("SigmoidGrad")
def _sigmoid_grad_grad(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    with after(grad):
        y, dy = conjugate(op.inputs[0]), conjugate(op.inputs[1])
        scaled = grad * dy
        return scaled - 2.0 * scaled * y, new("SigmoidGrad", y=y, dy=grad)


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``log(sigmoid(x))`` as ``-softplus(-x)``, which does not overflow.

    Args:
        x: floating-point, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    with name_scope(name, "LogSigmoid", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return new("Neg", scope, x=new("Softplus", features=-x))


shape_function("Sigmoid", "SigmoidGrad", "TanhGrad")(same_shape)
