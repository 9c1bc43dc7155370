"""Functions of the normal and Laplace distributions that are accurate in the tails, like their gradients.

The distribution function uses ``erf`` near zero and ``erfc`` elsewhere. Its logarithm uses a series where the
function underflows. Its inverse uses three rational approximations, one for the middle and two for the tails.

Source: S. L. Moshier, Cephes Mathematical Library 2.8, ndtr.c and ndtri.c (coefficients and their ranges);
tensorflow/python/ops/distributions/special_math.py, release 1.15 (ops, names, limits of the series).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import constant, fill, zeros_like
from gpuplace.ops.array.gather import where_v2
from gpuplace.ops.array.reshaping import shape
from gpuplace.ops.math.comparison import greater, less
from gpuplace.ops.math.elementwise import maximum, minimum
from gpuplace.ops.math.special import erf, erfc
from gpuplace.ops.math.unary import exp, log, log1p, sqrt, square
from gpuplace.typing import TensorLike

LOGNDTR_FLOAT64_LOWER = np.array(-20, np.float64)
"""Below this value the logarithm uses the series, in float64."""
LOGNDTR_FLOAT32_LOWER = np.array(-10, np.float32)
LOGNDTR_FLOAT64_UPPER = np.array(8, np.float64)
"""Above this value ``log(1 - y)`` is ``-y``, in float64."""
LOGNDTR_FLOAT32_UPPER = np.array(5, np.float32)

_MIDDLE = (
    (-1.23916583867381258016e0, 1.39312609387279679503e1, -5.66762857469070293439e1, 9.80010754185999661536e1,
     -5.99633501014107895267e1),
    (-1.18331621121330003142e0, 1.59056225126211695515e1, -8.20372256168333339912e1, 2.00260212380060660359e2,
     -2.25462687854119370527e2, 8.63602421390890590575e1, 4.67627912898881538453e0, 1.95448858338141759834e0, 1.0),
)  # fmt: skip
_NEAR_TAIL = (
    (-8.57456785154685413611e-4, -3.50424626827848203418e-2, -1.40256079171354495875e-1, 2.18663306850790267539e0,
     1.46849561928858024014e1, 4.40805073893200834700e1, 5.71628192246421288162e1, 3.15251094599893866154e1,
     4.05544892305962419923e0),
    (-9.33259480895457427372e-4, -3.80806407691578277194e-2, -1.42182922854787788574e-1, 2.50464946208309415979e0,
     1.50425385692907503408e1, 4.13172038254672030440e1, 4.53907635128879210584e1, 1.57799883256466749731e1, 1.0),
)  # fmt: skip
_FAR_TAIL = (
    (6.23974539184983293730e-9, 2.65806974686737550832e-6, 3.01581553508235416007e-4, 1.23716634817820021358e-2,
     2.01485389549179081538e-1, 1.33303460815807542389e0, 3.93881025292474443415e0, 6.91522889068984211695e0,
     3.23774891776946035970e0),
    (6.79019408009981274425e-9, 2.89247864745380683936e-6, 3.28014464682127739104e-4, 1.34204006088543189037e-2,
     2.16236993594496635890e-1, 1.37702099489081330271e0, 3.67983563856160859403e0, 6.02427039364742014255e0, 1.0),
)  # fmt: skip


def ndtr(x: TensorLike, name: str = "ndtr") -> Tensor:
    """Return the probability that a standard normal number is at most ``x``.

    Args:
        x: float32 or float64.
        name: name of the scope.

    Raises:
        TypeError: ``x`` has another dtype.
    """
    with name_scope(name, values=[x]):
        return _ndtr(_of_float(x, "x"))


def _of_float(x: TensorLike, name: str) -> Tensor:
    x = convert_to_tensor(x, name=name)
    if x.dtype.as_numpy_dtype not in (np.float32, np.float64):
        raise TypeError(f"{name}.dtype={x.dtype} is not handled, see docstring for supported types.")
    return x


def _ndtr(x: Tensor) -> Tensor:
    border = constant(0.5 * np.sqrt(2.0), dtype=x.dtype, name="half_sqrt_2")
    w = x * border
    size = abs(w)
    near = less(size, border)
    at_zero = 1.0 + erf(w)
    above = greater(w, 0.0)
    away = where_v2(above, 2.0 - erfc(size), erfc(size))
    return 0.5 * where_v2(near, at_zero, away)


def ndtri(p: TensorLike, name: str = "ndtri") -> Tensor:
    """Return the inverse of ``ndtr``.

    Args:
        p: probabilities, float32 or float64.
        name: name of the scope.

    Raises:
        TypeError: ``x`` has another dtype.
    """
    with name_scope(name, values=[p]):
        return _ndtri(_of_float(p, "p"))


def _ndtri(p: Tensor) -> Tensor:
    number = p.dtype.as_numpy_dtype
    tail = where_v2(p > -np.expm1(-2.0), 1.0 - p, p)
    none = tail <= 0.0
    tail = where_v2(none, fill(shape(p), number(0.5)), tail)

    w = tail - 0.5
    ww = w**2
    middle = w + w * ww * (_polynomial(ww, _MIDDLE[0]) / _polynomial(ww, _MIDDLE[1]))
    middle = middle * -np.sqrt(2.0 * np.pi)

    z = sqrt(-2.0 * log(tail))
    first = z - log(z) / z
    far = _of_inverse(z, _FAR_TAIL)
    near = _of_inverse(z, _NEAR_TAIL)
    far, near = first - far, first - near

    in_middle = tail > np.exp(-2.0)
    x = where_v2(in_middle, middle, where_v2(z >= 8.0, far, near))
    x = where_v2(p > 1.0 - np.exp(-2.0), x, -x)
    limit = constant(np.inf, dtype=p.dtype)
    infinite = fill(shape(p), limit)
    at_least_one = p <= 0.0
    return where_v2(at_least_one, -infinite, where_v2(p >= 1.0, infinite, x))


def _of_inverse(z: Tensor, polynomials: tuple[tuple[float, ...], ...]) -> Tensor:
    above = _polynomial(1.0 / z, polynomials[0])
    return above / _polynomial(1.0 / z, polynomials[1]) / z


def _polynomial(x: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    """Return the sum of ``coefficients[k] * x ** k``, from the highest power down."""
    total: Any = zeros_like(x)
    for coefficient in reversed(coefficients):
        total = x.dtype.as_numpy_dtype(coefficient) + total * x
    return total


def log_ndtr(x: TensorLike, series_order: int = 3, name: str = "log_ndtr") -> Tensor:
    """Return the logarithm of ``ndtr``, even where that underflows.

    Args:
        x: float32 or float64.
        series_order: number of terms of the series, 0 to 30.
        name: name of the scope.

    Raises:
        TypeError: ``x`` has another dtype, or ``series_order`` is not an integer.
        ValueError: ``series_order`` is out of range.
    """
    if not isinstance(series_order, int):
        raise TypeError("series_order must be a Python integer.")
    if series_order < 0:
        raise ValueError("series_order must be non-negative.")
    if series_order > 30:
        raise ValueError("series_order must be <= 30.")
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        if x.dtype.as_numpy_dtype == np.float64:
            lower: Any = LOGNDTR_FLOAT64_LOWER
            upper: Any = LOGNDTR_FLOAT64_UPPER
        elif x.dtype.as_numpy_dtype == np.float32:
            lower, upper = LOGNDTR_FLOAT32_LOWER, LOGNDTR_FLOAT32_UPPER
        else:
            raise TypeError(f"x.dtype={x.dtype} is not supported.")
        high = greater(x, upper)
        of_high = -_ndtr(-x)
        between = greater(x, lower)
        of_between = log(_ndtr(maximum(x, lower)))
        of_low = _log_ndtr_lower(minimum(x, lower), series_order)
        return where_v2(high, of_high, where_v2(between, of_between, of_low))


def _log_ndtr_lower(x: Tensor, series_order: int) -> Tensor:
    scale = -0.5 * square(x) - log(-x)
    scale = scale - 0.5 * np.log(2.0 * np.pi)
    return scale + log(_series(x, series_order))


def _series(x: Tensor, series_order: int) -> Any:
    """Return ``1 - 1 / x^2 + 3 / x^4 - 15 / x^6 ...``; even and odd terms are summed separately."""
    number = x.dtype.as_numpy_dtype
    if series_order <= 0:
        return number(1)
    squared = square(x)
    even, odd = zeros_like(x), zeros_like(x)
    power = squared
    for n in range(1, series_order + 1):
        term = number(np.prod(np.arange(2 * n - 1, 1, -2))) / power
        if n % 2:
            odd = odd + term
        else:
            even = even + term
        power = power * squared
    return 1.0 + even - odd


def erfinv(x: TensorLike, name: str = "erfinv") -> Tensor:
    """Return the inverse of ``erf``.

    Args:
        x: float32 or float64.
        name: name of the scope.

    Raises:
        TypeError: ``x`` has another dtype.
    """
    with name_scope(name, values=[x]):
        x = _of_float(x, "x")
        return ndtri((x + 1.0) / 2.0) / np.sqrt(2)


def log_cdf_laplace(x: TensorLike, name: str = "log_cdf_laplace") -> Tensor:
    """Return the logarithm of the probability that a standard Laplace number is at most ``x``.

    Args:
        x: floating.
        name: name of the scope.
    """
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        low = -np.log(2.0) + x
        safe = exp(-abs(x))
        high = log1p(-0.5 * safe)
        return where_v2(x < 0.0, low, high)
