"""Special functions of several arguments: polygamma, Hurwitz zeta, incomplete gamma and beta functions.

Computed in float64 and rounded to the tensor's dtype. Sums and continued fractions run until no element changes.

>>> import numpy as np
>>> float(zeta_values(np, np.float64(2.0), np.float64(1.0)).round(12)) == round(np.pi ** 2 / 6, 12)
True

Source: NIST Digital Library of Mathematical Functions, 5.15 (polygamma), 8.11 and 8.9 (incomplete gamma), 8.17 (beta),
10.32 (Bessel), 25.11 (zeta); tensorflow/core/ops/math_ops.cc and tensorflow/python/ops/math_grad.py, release 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder
from gpuplace.ops.array.constant import zeros_like
from gpuplace.ops.array.gather import where
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.special import digamma_values, lgamma_values
from gpuplace.ops.shape_rules import merge_shapes
from gpuplace.ops.support import after, broadcast_of, broadcast_shape, new, same_shape, sum_to
from gpuplace.shapes import SCALAR_SHAPE
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["betainc", "igamma", "igammac", "polygamma", "zeta"]

_MAX_TERMS = 2000
"""The most terms of a sum."""

_TINY = 1e-300


# Zeta and polygamma

_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)


def zeta_values(xp: ArrayModule, x: Array, q: Array) -> Array:
    """Return the sum of ``(q + k) ** -x`` over ``k`` from 0, by the Euler-Maclaurin formula."""
    x, q = xp.broadcast_arrays(xp.asarray(x, xp.float64), xp.asarray(q, xp.float64))
    pole = (q <= 0) & (q == xp.floor(q))
    outside = (x < 1) | ((q <= 0) & (x != xp.floor(x)))
    at = xp.where(pole, 1.0, q)
    total = xp.zeros_like(at)
    steps = 12 + int(max(0.0, -float(at.min()))) if at.size else 0
    for _ in range(steps):
        total = total + at**-x
        at = at + 1
    total = total + at ** (1 - x) / xp.where(x == 1, 1.0, x - 1) + 0.5 * at**-x
    factor, power = x, at ** (-x - 1)
    for index, number in enumerate(_BERNOULLI, 1):
        total = total + number / math.factorial(2 * index) * factor * power
        factor = factor * (x + 2 * index - 1) * (x + 2 * index)
        power = power / (at * at)
    total = xp.where(outside, xp.nan, total)
    return xp.where(x == 1, xp.inf, xp.where(pole & ~(x < 1), xp.inf, total))


def polygamma_values(xp: ArrayModule, n: Array, x: Array) -> Array:
    """Return the ``n``-th derivative of digamma; NaN if ``n`` is not a natural number."""
    n, x = xp.broadcast_arrays(xp.asarray(n, xp.float64), xp.asarray(x, xp.float64))
    order = xp.where(n > 0, n, 1.0)
    sign = xp.where(order % 2 == 0, -1.0, 1.0)
    higher = sign * xp.exp(lgamma_values(xp, order + 1)) * zeta_values(xp, order + 1, x)
    result = xp.where(n == 0, digamma_values(xp, x), higher)
    return xp.where((n != xp.floor(n)) | (n < 0), xp.nan, result)


# Incomplete gamma functions


def _gamma_series(xp: ArrayModule, a: Array, x: Array) -> tuple[Any, Any]:
    """Return the lower function and its derivative with respect to ``a``, from its power series."""
    term, slope = 1 / a, -1 / (a * a)
    total, total_slope, divisor = term, slope, a
    for _ in range(_MAX_TERMS):
        divisor = divisor + 1
        slope = (slope - term / divisor) * x / divisor
        term = term * x / divisor
        total, total_slope = total + term, total_slope + slope
        if not ((xp.abs(term) > 1e-17 * xp.abs(total)) | (xp.abs(slope) > 1e-17 * xp.abs(total_slope))).any():
            break
    logarithm = xp.log(x)
    scale = xp.exp(a * logarithm - x - lgamma_values(xp, a))
    return scale * total, scale * (total_slope + total * (logarithm - digamma_values(xp, a)))


def _gamma_fraction(xp: ArrayModule, a: Array, x: Array) -> tuple[Any, Any]:
    """Return the upper function and its derivative with respect to ``a``, by Lentz's continued fraction method."""
    b = x + 1 - a
    c, c_slope = xp.full_like(a, 1 / _TINY), xp.zeros_like(a)
    d = 1 / b
    d_slope = d * d
    value, slope = d, d_slope
    for index in range(1, _MAX_TERMS):
        part, part_slope = -index * (index - a), float(index)
        b = b + 2
        below = part * d + b
        below_slope = part_slope * d + part * d_slope - 1
        d = 1 / below
        d_slope = -below_slope * d * d
        c_slope = -1 + (part_slope - part * c_slope / c) / c
        c = b + part / c
        change, change_slope = c * d, c_slope * d + c * d_slope
        slope = slope * change + value * change_slope
        value = value * change
        if not (xp.abs(change - 1) > 1e-16).any() and not (xp.abs(change_slope) > 1e-16).any():
            break
    scale = xp.exp(a * xp.log(x) - x - lgamma_values(xp, a))
    return scale * value, scale * (slope + value * (xp.log(x) - digamma_values(xp, a)))


def gamma_functions(xp: ArrayModule, a: Array, x: Array) -> tuple[Any, Any, Any]:
    """Return the lower and the upper function, and the derivative of the lower one with respect to ``a``."""
    a, x = xp.broadcast_arrays(xp.asarray(a, xp.float64), xp.asarray(x, xp.float64))
    wrong = ~((a > 0) & (x >= 0))
    start, end = x == 0, xp.isinf(x)
    safe_a, safe_x = xp.where(wrong, 1.0, a), xp.where(wrong | start | end, 1.0, x)
    by_series = (safe_x <= 1) | (safe_x <= safe_a)
    ones = xp.ones_like(safe_x)
    low, low_slope = _gamma_series(xp, safe_a, xp.where(by_series, safe_x, ones))
    with np.errstate(all="ignore"):
        high, high_slope = _gamma_fraction(
            xp, xp.where(by_series, ones, safe_a), xp.where(by_series, 3 * ones, safe_x)
        )
    lower, upper = xp.where(by_series, low, 1 - high), xp.where(by_series, 1 - low, high)
    slope = xp.where(by_series, low_slope, -high_slope)
    lower, upper = (
        xp.where(start, 0.0, xp.where(end, 1.0, lower)),
        xp.where(start, 1.0, xp.where(end, 0.0, upper)),
    )
    slope = xp.where(start | end, 0.0, slope)
    return tuple(xp.where(wrong, xp.nan, function) for function in (lower, upper, slope))


# Incomplete beta function


def _beta_fraction(xp: ArrayModule, a: Array, b: Array, x: Array) -> Array:
    """Return the continued fraction of the incomplete beta function (Lentz's method)."""

    def away(value: Array) -> Array:
        return xp.where(xp.abs(value) < _TINY, _TINY, value)

    c = xp.ones_like(x)
    d = 1 / away(1 - (a + b) * x / (a + 1))
    value = d
    for index in range(1, _MAX_TERMS):
        even = index * (b - index) * x / ((a + 2 * index - 1) * (a + 2 * index))
        odd = -(a + index) * (a + b + index) * x / ((a + 2 * index) * (a + 2 * index + 1))
        before = value
        for part in (even, odd):
            d = 1 / away(1 + part * d)
            c = away(1 + part / c)
            value = value * c * d
        if not (xp.abs(value - before) > 1e-16 * xp.abs(value)).any():
            break
    return value


def betainc_values(xp: ArrayModule, a: Array, b: Array, x: Array) -> Array:
    """Return the regularized incomplete beta function; NaN outside of its domain."""
    a, b, x = xp.broadcast_arrays(*[xp.asarray(array, xp.float64) for array in (a, b, x)])
    wrong = ~((a > 0) & (b > 0) & (x >= 0) & (x <= 1))
    at_bounds = (x <= 0) | (x >= 1)
    a, b, inner = (xp.where(wrong | at_bounds, fill, one) for one, fill in ((a, 1.0), (b, 1.0), (x, 0.5)))
    swapped = inner > (a + 1) / (a + b + 2)
    first, second = xp.where(swapped, b, a), xp.where(swapped, a, b)
    at = xp.where(swapped, 1 - inner, inner)
    scale = xp.exp(
        first * xp.log(at) + second * xp.log1p(-at)
        + lgamma_values(xp, a + b) - lgamma_values(xp, a) - lgamma_values(xp, b)
    )  # fmt: skip
    part = scale * _beta_fraction(xp, first, second, at) / first
    result = xp.where(swapped, 1 - part, part)
    return xp.where(wrong, xp.nan, xp.where(at_bounds, x, result))


# Bessel functions

_KNOTS = 128


def _bessel_values(xp: ArrayModule, x: Array, order: int) -> Array:
    """``exp(-abs(x))`` times the modified Bessel function of the first kind, of order 0 or 1.

    The integral is evaluated by the trapezoidal rule, for large arguments by the asymptotic series.
    """
    size = xp.abs(xp.asarray(x, xp.float64))
    near = xp.minimum(size, 40.0)
    total = xp.zeros_like(near)
    for knot in range(_KNOTS):
        angle = math.pi * (knot + 0.5) / _KNOTS
        total = total + math.cos(order * angle) * xp.exp(near * (math.cos(angle) - 1))
    far = xp.maximum(size, 40.0)
    term, series = xp.ones_like(far), xp.ones_like(far)
    for index in range(1, 20):
        term = -term * (4 * order * order - (2 * index - 1) ** 2) / (index * 8 * far)
        series = series + term
    result = xp.where(size <= 40, total / _KNOTS, series / xp.sqrt(2 * math.pi * far))
    return result if order == 0 else xp.sign(x) * result


# Ops


def _register(op_type: str, function: Callable[..., Any], shape: Any = broadcast_shape) -> None:
    def make(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
        def run(*arguments: Any) -> Array:
            with np.errstate(all="ignore"):
                return xp.asarray(function(xp, *arguments)).astype(arguments[0].dtype)

        return run

    make.__qualname__ = f"{function.__qualname__}_{op_type}"
    binder(op_type, fresh=True, slow=True)(make)
    shape_function(op_type)(shape)


_register("Zeta", zeta_values)
_register("Polygamma", polygamma_values)
_register("Igamma", lambda xp, a, x: gamma_functions(xp, a, x)[0])
_register("Igammac", lambda xp, a, x: gamma_functions(xp, a, x)[1])
_register("IgammaGradA", lambda xp, a, x: gamma_functions(xp, a, x)[2])
_register("BesselI0e", lambda xp, x: _bessel_values(xp, x, 0), same_shape)
_register("BesselI1e", lambda xp, x: _bessel_values(xp, x, 1), same_shape)


def _betainc_shape(op: Operation) -> Any:
    shape = SCALAR_SHAPE
    for tensor in op.inputs:
        if tensor.shape.sizes != ():
            shape = merge_shapes(shape, tensor.shape) if shape.sizes != () else tensor.shape
    return (shape,)


_register("Betainc", betainc_values, _betainc_shape)


@gradient("Zeta")
def _zeta_grad(op: Operation, grad: Tensor) -> tuple[None, Tensor]:
    x, q = op.inputs
    _, back = broadcast_of(x, q)
    with after(grad):
        return None, sum_to(-x * zeta(x + 1, q) * grad, *back)


@gradient("Polygamma")
def _polygamma_grad(op: Operation, grad: Tensor) -> tuple[None, Tensor]:
    n, x = op.inputs
    _, back = broadcast_of(n, x)
    with after(grad):
        return None, sum_to(polygamma(n + 1, x) * grad, *back)


@gradient("Igamma")
def _igamma_grad(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    a, x = op.inputs
    back_a, back_x = broadcast_of(a, x)
    with after(grad):
        of_a = new("IgammaGradA", a=a, x=x)
        of_x = new("Exp", x=-x + (a - 1) * new("Log", x=x) - new("Lgamma", x=a))
        return sum_to(of_a * grad, *back_a), sum_to(of_x * grad, *back_x)


@gradient("Igammac")
def _igammac_grad(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    of_a, of_x = _igamma_grad(op, grad)
    return -of_a, -of_x


@gradient("Betainc")
def _betainc_grad(op: Operation, grad: Tensor) -> tuple[None, None, Tensor]:
    a, b, x = op.inputs
    _, back = broadcast_of(a, x)
    log_beta = new("Lgamma", x=a) + new("Lgamma", x=b) - new("Lgamma", x=a + b)
    of_x = new("Exp", x=(b - 1) * new("Log", x=1 - x) + (a - 1) * new("Log", x=x) - log_beta)
    return None, None, sum_to(of_x * grad, *back)


@gradient("BesselI0e")
def _bessel_i0e_grad(op: Operation, grad: Tensor) -> Tensor:
    x, y = op.inputs[0], op.outputs[0]
    with after(grad):
        return grad * (new("BesselI1e", x=x) - new("Sign", x=x) * y)


@gradient("BesselI1e")
def _bessel_i1e_grad(op: Operation, grad: Tensor) -> Tensor:
    x, y = op.inputs[0], op.outputs[0]
    with after(grad):
        # At 0 the formula divides by 0; the slope there is 1/2.
        tiny = np.finfo(x.dtype.as_numpy_dtype).eps
        zeros = zeros_like(x)
        is_safe = new("Abs", x=x) > tiny
        safe = where(is_safe, x, tiny + zeros)
        slope = new("BesselI0e", x=safe) - y * (new("Sign", x=safe) + new("Reciprocal", x=safe))
        return grad * where(is_safe, slope, 0.5 + zeros)


def zeta(x: TensorLike, q: TensorLike, name: str | None = None) -> Tensor:
    """Return the Hurwitz zeta function: the sum of ``(q + k) ** -x`` over all ``k`` from 0.

    Args:
        x: float32 or float64; the result is infinite at 1 and NaN below.
        q: of the same dtype; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that dtype.
    """
    return new("Zeta", name, x=x, q=q)


def polygamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the derivative of order ``a`` of ``digamma``.

    Args:
        a: float32 or float64, natural numbers; otherwise the result is NaN.
        x: of the same dtype; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that dtype.
    """
    return new("Polygamma", name, a=a, x=x)


def igamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the lower regularized incomplete gamma function, from 0 to 1.

    Args:
        a: float32 or float64, positive; otherwise the result is NaN.
        x: of the same dtype, not negative; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that dtype.
    """
    return new("Igamma", name, a=a, x=x)


def igammac(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the upper regularized incomplete gamma function, one minus ``igamma``.

    Args:
        a: float32 or float64, positive; otherwise the result is NaN.
        x: of the same dtype, not negative; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that dtype.
    """
    return new("Igammac", name, a=a, x=x)


def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the regularized incomplete beta function, from 0 to 1.

    Args:
        a: float32 or float64, positive; otherwise the result is NaN.
        b: of the same dtype and shape, or a scalar; positive.
        x: of the same dtype and shape, or a scalar; from 0 to 1.
        name: name of the op.

    Returns:
        A tensor of that dtype.
    """
    return new("Betainc", name, a=a, b=b, x=x)


def _bessel(order: int, x: TensorLike, name: str | None) -> Tensor:
    with name_scope(name, f"bessel_i{order}", [x]):
        growth = new("Exp", x=new("Abs", x=x))
        return growth * new(f"BesselI{order}e", x=x)


def bessel_i0(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the modified Bessel function of order 0.

    >>> import gpuplace as tf
    >>> float(tf.Session().run(tf.math.bessel_i0(0.0)))
    1.0

    Args:
        x: floating, of any shape; other dtypes raise TypeError.
        name: name of the scope.

    Returns:
        A tensor like ``x``; infinite for large ``x``, unlike ``bessel_i0e``.
    """
    return _bessel(0, x, name)


def bessel_i1(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the modified Bessel function of order 1.

    Args:
        x: floating, of any shape; other dtypes raise TypeError.
        name: name of the scope.

    Returns:
        A tensor like ``x``; infinite for large ``x``, unlike ``bessel_i1e``.
    """
    return _bessel(1, x, name)


def bessel_i0e(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``exp(-abs(x))`` times the modified Bessel function of order 0.

    Args:
        x: floating, of any shape; other dtypes raise TypeError.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("BesselI0e", name, x=x)


def bessel_i1e(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``exp(-abs(x))`` times the modified Bessel function of order 1.

    Args:
        x: floating, of any shape; other dtypes raise TypeError.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("BesselI1e", name, x=x)
