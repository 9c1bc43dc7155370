"""Random numbers from gamma and Poisson distributions, by rejection: ``tf.random_gamma`` and ``tf.random_poisson``.

Each output has its own section of the random bit stream, from which it draws pairs of uniform (or normal)
numbers until one is accepted. All outputs still waiting draw at the same time. The second number of a pair
comes first, as in TensorFlow, so that equal seeds give equal numbers.

Source: tensorflow/core/kernels/random_op.cc, random_poisson_op.cc and tensorflow/python/ops/random_ops.py,
random_grad.py, release 1.15; Marsaglia and Tsang: A simple method for generating gamma variables (TOMS 26, 2000);
Hoermann: The transformed rejection method for generating Poisson random variables (1993).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, float32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value_as_shape
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder, compute
from gpuplace.ops.array.constant import ones, zeros_like
from gpuplace.ops.array.constant import range as numbers
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import reshape
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.elementwise import maximum
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.math.special import lgamma_values
from gpuplace.ops.random import philox
from gpuplace.ops.random.random_ops import generator_of, get_seed, shape_argument, sizes_of
from gpuplace.ops.support import after, broadcast_shape, new
from gpuplace.tf1.math.incomplete import gamma_functions
from gpuplace.typing import Array, ArrayModule, DTypeLike, SizesLike, TensorLike

__all__ = ["random_gamma", "random_poisson"]


class _Pairs:
    """Pairs of float64 numbers for each of many outputs, returned one by one, the second of a pair first.

    Args:
        xp: numpy or cupy.
        count: number of outputs.
        make: converts words, ``[n, 4]``, to pairs, ``[n, 2]``.
    """

    def __init__(self, xp: Any, count: int, make: Any) -> None:
        self._xp, self._make = xp, make
        self._left = xp.zeros(count, xp.int64)
        self._kept = xp.empty((count, 2), xp.float64)

    def next(self, which: Any, draws: _Draws) -> Array:
        """Return the next random number for each output in ``which``, an array of output indices."""
        empty = which[self._left[which] == 0]
        if len(empty):
            self._kept[empty] = self._make(self._xp, draws.words(empty))
            self._left[empty] = 2
        self._left[which] -= 1
        return self._kept[which, self._left[which]]


class _Draws:
    """The blocks of random words of many outputs, each from its own section of the stream.

    Args:
        xp: numpy or cupy.
        stream: start of the first section.
        count: number of outputs.
    """

    def __init__(self, xp: Any, stream: philox.Stream, count: int) -> None:
        self._xp, self._stream = xp, stream
        self._next = xp.arange(count, dtype=xp.uint64) * xp.uint64(philox.RESERVED)

    def words(self, which: Array) -> Array:
        """Return the next block for each of the outputs ``which``: ``[n, 4]``."""
        words = self._stream.words(self._xp, len(which), self._next[which])
        self._next[which] += self._xp.uint64(1)
        return words


def gammas(xp: ArrayModule, stream: philox.Stream, alpha: Array) -> Array:
    """Return random numbers from the gamma distribution with scale 1, float64.

    Args:
        xp: numpy or cupy.
        stream: the random bit stream.
        alpha: the shape parameter of each number, a float64 vector.
    """
    result = xp.empty(len(alpha), xp.float64)
    draws = _Draws(xp, stream, len(alpha))
    uniforms = _Pairs(xp, len(alpha), philox.uniform_double_pairs)
    normals = _Pairs(xp, len(alpha), philox.normal_double_pairs)
    exponential = xp.flatnonzero(alpha == 1)
    if len(exponential):
        result[exponential] = -xp.log1p(-uniforms.next(exponential, draws))
    left = xp.flatnonzero(alpha != 1)
    d = alpha + xp.where(alpha < 1, 2.0 / 3, -1.0 / 3)
    c = 1.0 / 3 / xp.sqrt(d)
    while len(left):
        x = normals.next(left, draws)
        root = 1 + c[left] * x
        inside = root > 0
        tried, x, root = left[inside], x[inside], root[inside]
        v = root * root * root
        u = uniforms.next(tried, draws)
        with np.errstate(divide="ignore"):
            accepted = (u < 1 - 0.0331 * (x * x) * (x * x)) | (
                xp.log(u) < 0.5 * x * x + d[tried] * (1 - v + xp.log(v))
            )
        done = tried[accepted]
        result[done] = d[done] * v[accepted]
        small = done[alpha[done] < 1]
        if len(small):
            result[small] *= uniforms.next(small, draws) ** (1 / alpha[small])
        is_left = xp.ones(len(alpha), bool)
        is_left[done] = False
        left = left[is_left[left]]
    return result


def poissons(xp: ArrayModule, stream: philox.Stream, rate: Array, largest: float) -> Array:
    """Return random numbers from the Poisson distribution, float64.

    Args:
        xp: numpy or cupy.
        stream: the random bit stream.
        rate: the mean of each number, a float64 vector.
        largest: upper limit of the numbers, exclusive.
    """
    result = xp.empty(len(rate), xp.float64)
    draws = _Draws(xp, stream, len(rate))
    uniforms = _Pairs(xp, len(rate), philox.uniform_double_pairs)
    _small_rates(xp, result, rate, largest, uniforms, draws)
    _large_rates(xp, result, rate, largest, uniforms, draws)
    return result


def _small_rates(
    xp: ArrayModule, result: Array, rate: Array, largest: float, uniforms: _Pairs, draws: _Draws
) -> None:
    """Sample rates below 10: count the uniform factors whose product stays above exp(-rate)."""
    left = xp.flatnonzero(rate < 10)
    least = xp.exp(-rate)
    product, count = xp.ones(len(rate), xp.float64), 0
    while len(left):
        product[left] *= uniforms.next(left, draws)
        over = (product[left] <= least[left]) & (count <= largest)
        result[left[over]] = count
        left = left[~over]
        count += 1


def _large_rates(
    xp: ArrayModule, result: Array, rate: Array, largest: float, uniforms: _Pairs, draws: _Draws
) -> None:
    """Sample other rates by rejection: a function of a uniform number approximates the inverse distribution."""
    left = xp.flatnonzero(~(rate < 10))
    while len(left):
        mean = rate[left]
        b = 0.931 + 2.53 * xp.sqrt(mean)
        a = -0.059 + 0.02483 * b
        u = uniforms.next(left, draws) - 0.5
        v = uniforms.next(left, draws)
        edge = 0.5 - xp.abs(u)
        with np.errstate(all="ignore"):
            k = xp.floor((2 * a / edge + b) * u + mean + 0.43)
            s = xp.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (edge * edge) + b))
            t = -mean + k * xp.log(mean) - lgamma_values(xp, k + 1)
        sure = (edge >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        refused = (k < 0) | ((edge < 0.013) & (v > edge))
        accepted = (k <= largest) & (sure | (~refused & (s <= t)))
        result[left[accepted]] = k[accepted]
        left = left[~accepted]


def _outputs(xp: Any, shape: Array, parameters: Array, seeds: tuple[int, int], ctx: Any) -> Any:
    """Return the sizes of the result, the parameter of each number, grouped by parameter, and the stream."""
    if shape.ndim > 1:
        raise InvalidArgumentError.of(f"shape must be a vector, got shape {list(shape.shape)}")
    sizes = sizes_of(shape.reshape(-1))
    count = math.prod(sizes)
    stream = generator_of(ctx, *seeds).reserve(count * parameters.size)
    return sizes, xp.repeat(parameters.astype(xp.float64).reshape(-1), count), stream


@compute("RandomGamma", fresh=True, slow=True, own_state=True)
def _gamma(xp: ArrayModule, shape: Array, alpha: Array, *, seed: int, seed2: int, ctx: Any) -> Array:
    sizes, parameters, stream = _outputs(xp, shape, alpha, (seed, seed2), ctx)
    samples = gammas(xp, stream, parameters).reshape(alpha.size, math.prod(sizes)).T
    return xp.ascontiguousarray(samples).reshape((*sizes, *alpha.shape)).astype(alpha.dtype)


@compute("RandomPoissonV2", fresh=True, slow=True, own_state=True)
def _poisson(
    xp: ArrayModule, shape: Array, rate: Array, *, dtype: Any, seed: int, seed2: int, ctx: Any
) -> Array:
    sizes, parameters, stream = _outputs(xp, shape, rate, (seed, seed2), ctx)
    kind = dtype.as_numpy_dtype
    samples = poissons(xp, stream, parameters, float(dtype.max)).reshape(rate.size, math.prod(sizes)).T
    return xp.ascontiguousarray(samples).reshape((*sizes, *rate.shape)).astype(kind)


@binder("RandomGammaGrad", fresh=True, slow=True)
def _gamma_slope(xp: ArrayModule, attrs: Any, op: Operation) -> Any:
    """Return the derivative of a number by its parameter, at a fixed quantile."""

    def run(alpha: Array, sample: Array) -> Array:
        a, x = (one.astype(xp.float64) for one in (alpha, sample))
        with np.errstate(all="ignore"):
            slope = gamma_functions(xp, a, x)[2]
            density = xp.exp((a - 1) * xp.log(x) - x - lgamma_values(xp, a))
            return xp.where(x == 0, 0.0, -slope / density).astype(alpha.dtype)

    return run


@shape_function("RandomGamma", "RandomPoissonV2")
def _shaped(op: Operation) -> Any:
    return (constant_value_as_shape(op.inputs[0]).concatenate(op.inputs[1].shape),)


shape_function("RandomGammaGrad")(broadcast_shape)


@gradient("RandomGamma")
def _gamma_gradient(op: Operation, grad: Tensor) -> tuple[None, Tensor]:
    sizes, alpha = op.inputs
    with after(grad):
        number = shape_of(sizes)[0]
        ones_first = concat([ones([number], "int32"), shape_of(alpha)], 0)
        slope = new("RandomGammaGrad", alpha=reshape(alpha, ones_first), sample=op.outputs[0])
        return None, reduce_sum(grad * slope, numbers(number))


def random_gamma(
    shape: SizesLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return random numbers from gamma distributions, ``shape`` of each; on the CPU only.

    >>> import gpuplace as tf
    >>> tf.random_gamma([10], [0.5, 1.5]).shape
    TensorShape([Dimension(10), Dimension(2)])

    Args:
        shape: sizes of the samples of each distribution.
        alpha: shape parameters, of dtype ``dtype``.
        beta: inverse scales, whose shape broadcasts with that of ``alpha``. None for 1.
        dtype: float16, float32 or float64.
        seed: the op's seed, an integer, or None; see ``set_random_seed``.
        name: name of the scope.

    Returns:
        Positive numbers, of shape ``shape`` followed by that of ``alpha + beta``; differentiable in both.

    Raises:
        TypeError: the dtype is unsupported.
        InvalidArgumentError: at run time, a size is negative.
    """
    kind = as_dtype(dtype)
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        sizes = shape_argument(shape)
        alpha = convert_to_tensor(alpha, kind, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, kind, name="beta")
        wide = alpha + zeros_like(beta)
        seed1, seed2 = get_seed(seed)
        drawn = new("RandomGamma", shape=sizes, alpha=wide, seed=seed1, seed2=seed2)
        return maximum(np.finfo(kind.as_numpy_dtype).tiny, drawn / beta)


def random_poisson(
    lam: TensorLike,
    shape: SizesLike,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return random numbers from Poisson distributions, ``shape`` of each; on the CPU only.

    Args:
        lam: the means, floating or integers of any shape.
        shape: sizes of the samples of each distribution.
        dtype: float16, float32, float64, int32 or int64.
        seed: the op's seed, an integer, or None; see ``set_random_seed``.
        name: name of the scope.

    Returns:
        Whole numbers of dtype ``dtype``, of shape ``shape`` followed by that of ``lam``.

    Raises:
        TypeError: the dtype is unsupported.
        InvalidArgumentError: at run time, a size is negative.
    """
    with name_scope(name, "random_poisson", [lam, shape]):
        sizes = shape_argument(shape)
        seed1, seed2 = get_seed(seed)
        return new("RandomPoissonV2", shape=sizes, rate=lam, dtype=as_dtype(dtype), seed=seed1, seed2=seed2)
