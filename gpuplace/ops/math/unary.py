"""Elementwise functions of one tensor: signs, rounding, roots, exponentials, complex parts.

Source: tensorflow/core/kernels/cwise_ops.h and tensorflow/python/ops/math_ops.py, math_grad.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor, override_operator
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder, compute
from gpuplace.numerics.pieces import mapped
from gpuplace.ops.array.constant import zeros, zeros_like
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.math.division import div_no_nan
from gpuplace.ops.sparse.sparse_tensor import of_sparse_values
from gpuplace.ops.support import after, conjugate, like, new, same_shape, shape_tensor, unary_ufunc
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "abs", "negative", "sign", "reciprocal", "square", "sqrt", "rsqrt", "exp", "expm1", "log", "log1p", "floor",
    "ceil", "round", "rint", "is_nan", "is_inf", "is_finite", "real", "imag", "angle", "conj", "invert",
]  # fmt: skip


@of_sparse_values
def abs(x: TensorLike, name: str | None = None) -> Tensor:
    """Return absolute values; for complex numbers, their moduli (op ``ComplexAbs``).

    Args:
        x: floating, int8 to int64 or complex, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        ``x``'s type and shape; float32 for complex64, float64 for complex128.
    """
    with name_scope(name, "Abs", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            return new("ComplexAbs", scope, x=x, Tout=x.dtype.real_dtype)
        return new("Abs", scope, x=x)


unary_ufunc("absolute", "Abs", "ComplexAbs")


@gradient("Abs")
def _abs_grad(op: Operation, grad: Tensor) -> Tensor:
    return grad * new("Sign", x=op.inputs[0])


@gradient("ComplexAbs")
def _complex_abs_grad(op: Operation, grad: Tensor) -> Tensor:
    x, size = op.inputs[0], op.outputs[0]
    kind = x.dtype.base_dtype
    return div_no_nan(_as_complex(grad, kind) * x, _as_complex(size, kind))


def _as_complex(x: Tensor, kind: object) -> Tensor:
    return new("Complex", real=x, imag=zeros_like(x), Tout=kind)


@of_sparse_values
def negative(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``-x``.

    Args:
        x: floating, complex, int32 or int64, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Neg", name, x=x)


unary_ufunc("negative", "Neg")


@gradient("Neg")
def _neg_grad(op: Operation, grad: Tensor) -> Tensor:
    return -grad


@of_sparse_values
def sign(x: TensorLike, name: str | None = None) -> Tensor:
    """Return -1, 0 or 1; for complex numbers, ``x / |x|``, or 0 for 0.

    Args:
        x: floating, complex, int32 or int64, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Sign", name, x=x)


unary_ufunc("sign", "Sign")


@gradient("Sign")
def _sign_grad(op: Operation, grad: Tensor) -> Tensor:
    x = op.inputs[0]
    return zeros(shape_tensor(x), x.dtype)


def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``1 / x``.

    Args:
        x: floating or complex, of any shape; on a GPU floating or int64.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Reciprocal", name, x=x)


unary_ufunc("reciprocal", "Reciprocal", "Inv")


@gradient("Reciprocal", "Inv")
def _reciprocal_grad(op: Operation, grad: Tensor) -> Tensor:
    return new("ReciprocalGrad", y=op.outputs[0], dy=grad)


@compute("ReciprocalGrad", "InvGrad", elementwise=True)
def _reciprocal_grad_kernel(xp: ArrayModule, y: Array, dy: Array) -> Array:
    inverse = xp.conjugate(y)
    return -dy * inverse * inverse


@gradient("ReciprocalGrad", "InvGrad")
def _reciprocal_grad_grad(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    y, dy = op.inputs
    with after(grad):
        y, back = conjugate(y), conjugate(grad)
        return back * -2.0 * dy * y, new("ReciprocalGrad", y=y, dy=grad)


@of_sparse_values
def square(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x * x``.

    Args:
        x: floating, complex, int32 or int64, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    with name_scope(name, "Square", [x]) as scope:
        return new("Square", scope, x=x)


unary_ufunc("square", "Square")


@gradient("Square")
def _square_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        x = conjugate(op.inputs[0])
        return new("Mul", x=grad, y=new("Mul", x=x, y=like(2, x)))


@of_sparse_values
def sqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Return square roots; NaN for negative numbers.

    Args:
        x: floating or complex, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Sqrt", name, x=x)


unary_ufunc("sqrt", "Sqrt", slow=True)


@gradient("Sqrt")
def _sqrt_grad(op: Operation, grad: Tensor) -> Tensor:
    return new("SqrtGrad", y=op.outputs[0], dy=grad)


@compute("SqrtGrad", elementwise=True)
def _sqrt_grad_kernel(xp: ArrayModule, y: Array, dy: Array) -> Array:
    return xp.true_divide(dy * y.dtype.type(0.5), xp.conjugate(y))


@gradient("SqrtGrad")
def _sqrt_grad_grad(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    with after(grad):
        quotient = grad / op.inputs[0]
        return -conjugate(quotient) * op.outputs[0], 0.5 * quotient


def rsqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``1 / sqrt(x)``; infinite for 0.

    Args:
        x: floating or complex, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Rsqrt", name, x=x)


@compute("Rsqrt", elementwise=True, slow=True)
def _rsqrt(xp: ArrayModule, x: Array) -> Array:
    return mapped(lambda x: xp.reciprocal(xp.sqrt(x)), x)


@gradient("Rsqrt")
def _rsqrt_grad(op: Operation, grad: Tensor) -> Tensor:
    return new("RsqrtGrad", y=op.outputs[0], dy=grad)


@compute("RsqrtGrad", elementwise=True)
def _rsqrt_grad_kernel(xp: ArrayModule, y: Array, dy: Array) -> Array:
    inverse = xp.conjugate(y)
    return y.dtype.type(-0.5) * (dy * inverse) * (inverse * inverse)


@gradient("RsqrtGrad")
def _rsqrt_grad_grad(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    y, dy = op.inputs
    with after(grad):
        y, back = conjugate(y), conjugate(grad)
        return -1.5 * back * dy * square(y), new("RsqrtGrad", y=y, dy=grad)


shape_function("Rsqrt", "RsqrtGrad", "SqrtGrad", "ReciprocalGrad", "InvGrad")(same_shape)


# Exponentials and logarithms


def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """Return e to the power of ``x``.

    Args:
        x: floating or complex, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Exp", name, x=x)


unary_ufunc("exp", "Exp", slow=True)


@gradient("Exp")
def _exp_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        return grad * conjugate(op.outputs[0])


def expm1(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``exp(x) - 1``, accurate for small ``x``.

    Args:
        x: floating or complex, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Expm1", name, x=x)


unary_ufunc("expm1", "Expm1", slow=True)


@gradient("Expm1")
def _expm1_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        return grad * new("Exp", x=conjugate(op.inputs[0]))


def log(x: TensorLike, name: str | None = None) -> Tensor:
    """Return natural logarithms; NaN for negative numbers, minus infinity for 0.

    Args:
        x: floating or complex, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Log", name, x=x)


unary_ufunc("log", "Log", slow=True)


@gradient("Log")
def _log_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        return grad * new("Reciprocal", x=conjugate(op.inputs[0]))


def log1p(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``log(1 + x)``, accurate for small ``x``.

    Args:
        x: floating or complex, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Log1p", name, x=x)


unary_ufunc("log1p", "Log1p", slow=True)


@gradient("Log1p")
def _log1p_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        x = conjugate(op.inputs[0])
        return grad * new("Reciprocal", x=1 + x)


# Rounding


def floor(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the largest whole number not above each element.

    Args:
        x: floating-point, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Floor", name, x=x)


def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the smallest whole number not below each element.

    Args:
        x: floating-point, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Ceil", name, x=x)


def rint(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the nearest whole number, ties to even.

    Args:
        x: float32 or float64, of any shape; other number types have no kernel.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Rint", name, x=x)


def round(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the nearest whole number, ties to even; integers are returned unchanged.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.round([0.5, 1.5, 2.5])).tolist()
    [0.0, 2.0, 2.0]

    Args:
        x: floating or an integer type, of any shape.
        name: name of the op.

    Returns:
        A tensor like ``x``; ``x`` itself for integers.
    """
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else new("Round", name, x=x)


unary_ufunc("floor", "Floor")


unary_ufunc("ceil", "Ceil")


unary_ufunc("rint", "Rint")


shape_function("Round")(same_shape)


@binder("Round", elementwise=True)
def _round(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    return xp.positive if attrs["T"].is_integer else xp.rint


@gradient("Floor", "Ceil", "Round", "Rint")
def _no_slope(op: Operation, grad: Tensor) -> None:
    """Gradient of step functions: none."""
    return None


# Predicates and bits


def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether elements are NaN.

    Args:
        x: floating-point, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A bool tensor, in ``x``'s shape.
    """
    return new("IsNan", name, x=x)


def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether elements are infinite.

    Args:
        x: floating-point, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A bool tensor, in ``x``'s shape.
    """
    return new("IsInf", name, x=x)


def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether elements are finite.

    Args:
        x: floating-point, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A bool tensor, in ``x``'s shape.
    """
    return new("IsFinite", name, x=x)


unary_ufunc("isnan", "IsNan")


unary_ufunc("isinf", "IsInf")


unary_ufunc("isfinite", "IsFinite")


def invert(x: TensorLike, name: str | None = None) -> Tensor:
    """Flip every bit.

    Args:
        x: integers, signed or not, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Invert", name, x=x)


unary_ufunc("invert", "Invert")


not_differentiable("IsNan", "IsInf", "IsFinite", "Invert")


# Complex numbers


def real(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the real parts; real tensors are returned unchanged.

    Args:
        input: numbers of any shape.
        name: name of the op.

    Returns:
        ``input``'s shape; float32 for complex64, float64 for complex128, otherwise ``input``'s type.
    """
    with name_scope(name, "Real", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        if not input.dtype.is_complex:
            return input
        return new("Real", scope, input=input, Tout=input.dtype.real_dtype)


def _imaginary(op_type: str, input: TensorLike, name: str | None) -> Tensor:
    with name_scope(name, op_type, [input]) as scope:
        input = convert_to_tensor(input, name="input")
        if not input.dtype.is_complex:
            return zeros_like(input)
        return new(op_type, scope, input=input, Tout=input.dtype.real_dtype)


def imag(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the imaginary parts; zeros for a real tensor.

    Args:
        input: numbers of any shape.
        name: name of the op.

    Returns:
        ``input``'s shape; float32 for complex64, float64 for complex128, otherwise ``input``'s type.
    """
    return _imaginary("Imag", input, name)


def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the angles of complex numbers; zeros for a real tensor.

    Args:
        input: numbers of any shape.
        name: name of the op.

    Returns:
        ``input``'s shape, in radians from -pi to pi; float32 for complex64, float64 for complex128, otherwise
        ``input``'s type.
    """
    return _imaginary("Angle", input, name)


def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """Return complex conjugates; real tensors are returned unchanged.

    Args:
        x: numbers of any shape.
        name: name of the op.

    Returns:
        A tensor like ``x``.

    Raises:
        TypeError: ``x`` is not numeric.
    """
    x = convert_to_tensor(x, name="x")
    if not (x.dtype.is_floating or x.dtype.is_integer or x.dtype.is_complex or x.dtype.name == "variant"):
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}")
    return new("Conj", name, input=x) if x.dtype.is_complex else x


@compute("Real")
def _real(xp: ArrayModule, input: Array) -> Array:
    return xp.array(input.real)


@compute("Imag")
def _imag(xp: ArrayModule, input: Array) -> Array:
    return xp.array(input.imag)


unary_ufunc("angle", "Angle")


unary_ufunc("conjugate", "Conj")


shape_function("Real", "Imag")(same_shape)


@gradient("Real")
def _real_grad(op: Operation, grad: Tensor) -> Tensor:
    zero = like(0, grad)
    return new("Complex", real=grad, imag=zero, Tout=op.inputs[0].dtype.base_dtype)


@gradient("Angle")
def _angle_grad(op: Operation, grad: Tensor) -> Tensor:
    x, whole = op.inputs[0], op.inputs[0].dtype.base_dtype
    with after(grad):
        parts = real(x), imag(x)
        turned = new("Complex", real=parts[1], imag=parts[0], Tout=whole)
        share = new("Reciprocal", x=turned)
        return -new("Complex", real=grad, imag=like(0, grad), Tout=whole) * share


@gradient("Imag")
def _imag_grad(op: Operation, grad: Tensor) -> Tensor:
    return new("Complex", real=like(0, grad), imag=grad, Tout=op.inputs[0].dtype.base_dtype)


@gradient("Conj")
def _conj_grad(op: Operation, grad: Tensor) -> Tensor:
    return new("Conj", input=grad)


override_operator(Tensor, "__abs__", abs)


override_operator(Tensor, "__neg__", negative)
