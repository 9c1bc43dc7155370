"""Functions without a NumPy counterpart: error function, log-gamma, digamma.

They are computed in float64 from series and rational approximations and rounded to the tensor's type. The error
function of float32 is computed in float32, because its series have no cancellation.

>>> import numpy as np
>>> erf_values(np, np.array([0.0, 0.5, 3.0])).round(12)
array([0.        , 0.52049988, 0.99997791])

Source: W. J. Cody: Rational Chebyshev approximations for the error function (Math. Comp. 23, 1969); C. Lanczos: A
precision approximation of the gamma function (SIAM J. Numer. Anal. B 1, 1964), coefficients g=7, n=9;
tensorflow/core/kernels/cwise_op_erf.cc, cwise_op_lgamma.cc, release 1.15 (domains).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder, compute
from gpuplace.numerics.masks import chosen
from gpuplace.numerics.pieces import mapped
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math import reduction
from gpuplace.ops.sparse.sparse_tensor import of_sparse_values
from gpuplace.ops.support import after, like, new, same_shape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["erf", "erfc", "lbeta", "lgamma", "digamma"]

_NEAR = (
    (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2,
     3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)  # fmt: skip
_MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
     2.98635138197400131e2,
     8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
     3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3),
)  # fmt: skip
_FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
     1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
     2.33520497626869185e-3),
)  # fmt: skip


def _ratio(x: Array, polynomials: tuple[Sequence[float], Sequence[float]]) -> Array:
    values = []
    for coefficients in polynomials:
        total = x * x.dtype.type(coefficients[0])
        for coefficient in coefficients[1:-1]:
            total += x.dtype.type(coefficient)
            total *= x
        total += x.dtype.type(coefficients[-1])
        values.append(total)
    values[0] /= values[1]
    return values[0]


def _erfc_of_size(xp: ArrayModule, size: Array) -> Array:
    """Return ``erfc`` for values above 0.46875."""
    four = size.dtype.type(4)
    result = _ratio(xp.minimum(size, four), _MIDDLE)
    large = size > four
    if xp is not np or not size.ndim:  # do not synchronise the GPU to count them
        result = xp.where(large, _erfc_tail(xp, xp.maximum(size, four)), result)
    elif large.any():
        result[large] = _erfc_tail(xp, size[large])
    return xp.exp(-xp.square(size)) * result


def _erfc_tail(xp: ArrayModule, size: Array) -> Array:
    """Return ``erfc(size) * exp(size ** 2)`` for values above 4."""
    inverse = xp.reciprocal(xp.square(size))
    return (size.dtype.type(1 / math.sqrt(math.pi)) - inverse * _ratio(inverse, _FAR)) / size


def erf_values(xp: ArrayModule, x: Array) -> Array:
    """Return the error function of float32 or float64 values."""
    number = x.dtype.type
    size = xp.absolute(x)
    near = x * _ratio(xp.square(xp.minimum(size, number(0.5))), _NEAR)
    apart = number(1) - _erfc_of_size(xp, xp.maximum(size, number(0.4)))
    return chosen(xp, size <= 0.46875, near, xp.copysign(apart, x))


def erfc_values(xp: ArrayModule, x: Array) -> Array:
    """Return one minus the error function, accurate even where it is small."""
    size = xp.absolute(x)
    tail = _erfc_of_size(xp, xp.maximum(size, 0.4))
    return xp.where(size <= 0.46875, 1.0 - erf_values(xp, x), xp.where(x < 0, 2.0 - tail, tail))


_LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
)  # fmt: skip


def lgamma_values(xp: ArrayModule, x: Array) -> Array:
    """Return the logarithm of the absolute value of the gamma function; infinite at 0, -1, -2, ..."""
    reflected = x < 0.5
    z = xp.where(reflected, -x, x - 1.0)
    total = z * 0 + _LANCZOS[0]
    for index, coefficient in enumerate(_LANCZOS[1:], 1):
        total = total + coefficient / (z + index)
    base = z + 7.5
    value = 0.5 * math.log(2 * math.pi) + (z + 0.5) * xp.log(base) - base + xp.log(total)
    sine = xp.absolute(xp.sin(math.pi * (x - xp.floor(x))))
    mirrored = xp.log(math.pi / sine) - value
    result = xp.where(reflected, mirrored, value)
    result = xp.where((x <= 0) & (x == xp.floor(x)), xp.inf, result)
    exact = xp.where((x == 1) | (x == 2), 0.0, result)
    return xp.where(xp.isinf(x), xp.inf, exact)


_DIGAMMA_TERMS = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def digamma_values(xp: ArrayModule, x: Array) -> Array:
    """Return the derivative of log-gamma; NaN at 0, -1, -2, ..."""
    negative = x <= 0
    pole = negative & (x == xp.floor(x))
    z = xp.where(negative, 1.0 - x, x)
    shift = z * 0
    for _ in range(10):
        small = z < 10
        shift = xp.where(small, shift + 1.0 / z, shift)
        z = xp.where(small, z + 1.0, z)
    inverse = 1.0 / xp.square(z)
    series = z * 0
    for term in reversed(_DIGAMMA_TERMS):
        series = (series + term) * inverse
    value = xp.log(z) - 0.5 / z - series - shift
    mirrored = value - math.pi / xp.tan(math.pi * x)
    return xp.where(pole, xp.nan, xp.where(negative, mirrored, value))


def _through_double(function: Callable[[Any, Any], Any], *op_types: str, **traits: Any) -> None:
    def make(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
        return lambda x: mapped(lambda x: xp.asarray(function(xp, x.astype(xp.float64))).astype(x.dtype), x)

    make.__qualname__ = function.__qualname__
    binder(*op_types, slow=True, **traits)(make)
    shape_function(*op_types)(same_shape)


@of_sparse_values
def erf(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to ``x``.

    Args:
        x: floating-point, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``, from -1 to 1.
    """
    return new("Erf", name, x=x)


@compute("Erf", elementwise=True, slow=True)
def _erf(xp: ArrayModule, x: Array) -> Array:
    if x.dtype.name in ("float32", "float64"):
        return mapped(lambda x: erf_values(xp, x), x)
    return erf_values(xp, x.astype("float32")).astype(x.dtype)


shape_function("Erf")(same_shape)


@gradient("Erf")
def _erf_grad(op: Operation, grad: Tensor) -> Tensor:
    x = op.inputs[0]
    scale = like(2 / math.sqrt(math.pi), grad)
    with after(grad):
        return grad * scale * new("Exp", x=-new("Square", x=x))


def erfc(x: TensorLike, name: str | None = None) -> Tensor:
    """Return one minus the error function, accurate even where it is small.

    Args:
        x: floating-point, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``, from 0 to 2.
    """
    return new("Erfc", name, x=x)


_through_double(erfc_values, "Erfc", elementwise=True)


@gradient("Erfc")
def _erfc_grad(op: Operation, grad: Tensor) -> Tensor:
    x = op.inputs[0]
    scale = like(-2 / math.sqrt(math.pi), grad)
    with after(grad):
        return grad * scale * new("Exp", x=-new("Square", x=x))


def lgamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of the absolute value of the gamma function; infinite at 0, -1, -2, ...

    Args:
        x: floating-point, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Lgamma", name, x=x)


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of the absolute value of the beta function of vectors along the last axis.

    >>> import gpuplace as tf
    >>> float(tf.Session().run(tf.exp(tf.lbeta([1.0, 2.0]))))
    0.5

    Args:
        x: floating, ``[..., n]``; the result for ``n = 0`` is minus infinity.
        name: name scope.

    Returns:
        A tensor of that type, ``[...]``.
    """
    with name_scope(name, "lbeta", [x]):
        values: Any = convert_to_tensor(x, name="x")
        product: Any = reduction.reduce_sum(lgamma(values), axis=[-1])
        return product - lgamma(reduction.reduce_sum(values, axis=[-1]))


_through_double(lgamma_values, "Lgamma", fresh=True)


@gradient("Lgamma")
def _lgamma_grad(op: Operation, grad: Tensor) -> Tensor:
    with after(grad):
        return grad * new("Digamma", x=op.inputs[0])


def digamma(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the derivative of ``lgamma``; NaN at 0, -1, -2, ...

    Args:
        x: floating-point, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("Digamma", name, x=x)


_through_double(digamma_values, "Digamma", fresh=True)


@gradient("Digamma")
def _digamma_grad(op: Operation, grad: Tensor) -> Tensor:
    x = op.inputs[0]
    with after(grad):
        return grad * new("Polygamma", a=like(1, x), x=x)
