"""Weighted moments, moments from sufficient statistics, fractions of zeros, and the Poisson loss.

Source: tensorflow/python/ops/nn_impl.py, release 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gpuplace.dtypes import float16, float32, int32, int64
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, gather, reshaping
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.math import cast, comparison, elementwise, reduction, unary
from gpuplace.ops.nn.norm import batch_normalization
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "batch_norm_with_global_normalization", "log_poisson_loss", "normalize_moments", "sufficient_statistics",
    "weighted_moments", "zero_fraction",
]  # fmt: skip


def sufficient_statistics(
    x: TensorLike,
    axes: Sequence[int],
    shift: TensorLike | None = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Return the sufficient statistics for a mean and a variance: a count and two sums.

    Args:
        x: numbers of any shape.
        axes: the axes to sum over.
        shift: a value close to the mean, which is subtracted first for precision, or None.
        keep_dims: deprecated name of ``keepdims``.
        name: name scope.
        keepdims: whether to keep the reduced axes with size 1.

    Returns:
        The number of elements in each sum, a scalar; the sum; the sum of squares; and ``shift`` as a tensor, or None.
    """
    axes = sorted(set(axes))
    keep = bool(keep_dims) if keepdims is None else keepdims
    with name_scope(name, "sufficient_statistics", [x, shift]):
        values: Any = convert_to_tensor(x, name="x")
        sizes = values.shape.sizes
        if sizes is not None and all(sizes[axis] is not None for axis in axes):
            count = constant.constant(math.prod(sizes[axis] or 0 for axis in axes), dtype=values.dtype)
        else:
            chosen = gather.gather(cast.cast(reshaping.shape(values), values.dtype), axes)
            count = reduction.reduce_prod(chosen, name="count")
        if shift is None:
            away, sums, squares = None, values, unary.square(values)
        else:
            away = convert_to_tensor(shift, name="shift")
            sums, squares = elementwise.subtract(values, away), elementwise.squared_difference(values, away)
        total = reduction.reduce_sum(sums, axes, keepdims=keep, name="mean_ss")
        return count, total, reduction.reduce_sum(squares, axes, keepdims=keep, name="var_ss"), away


def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike | None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the mean and variance from ``sufficient_statistics``.

    Args:
        counts: the number of elements in each sum.
        mean_ss: the sums.
        variance_ss: the sums of squares.
        shift: the value that was subtracted first, or None.
        name: name scope.

    Returns:
        Two tensors of the shape of the sums.
    """
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        share = unary.reciprocal(counts, name="divisor")
        if shift is None:
            mean = shifted = elementwise.multiply(mean_ss, share, name="mean")
        else:
            shifted = elementwise.multiply(mean_ss, share, name="shifted_mean")
            mean = elementwise.add(shifted, shift, name="mean")
        squares = elementwise.multiply(variance_ss, share)
        return mean, elementwise.subtract(squares, unary.square(shifted), name="variance")


def weighted_moments(
    x: TensorLike,
    axes: Sequence[int],
    frequency_weights: TensorLike,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the mean and variance of weighted values.

    Args:
        x: floating-point, of any shape.
        axes: the axes to average over.
        frequency_weights: weights, which broadcast to ``x``.
        name: name scope.
        keep_dims: deprecated name of ``keepdims``.
        keepdims: whether to keep the reduced axes with size 1.

    Returns:
        Two tensors of the dtype of ``x``; float16 is averaged as float32.
    """
    keep = bool(keep_dims) if keepdims is None else keepdims
    with name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        values: Any = convert_to_tensor(x, name="x")
        weights: Any = convert_to_tensor(frequency_weights, name="frequency_weights")
        dtype = values.dtype
        if dtype.base_dtype is float16:
            values = cast.cast(values, float32)
        if weights.dtype.base_dtype is not values.dtype.base_dtype:
            weights = cast.cast(weights, values.dtype)
        total = reduction.reduce_sum(weights * values, axes, name="weighted_input_sum", keepdims=True)
        spread = weights + constant.zeros_like(values)
        weight = reduction.reduce_sum(spread, axes, name="sum_of_weights", keepdims=True)
        share = unary.reciprocal(weight, name="inv_weight_sum")
        mean: Any = elementwise.multiply(total, share)
        squares = weights * elementwise.squared_difference(values, mean)
        distance = reduction.reduce_sum(squares, axes, name="weighted_distsq", keepdims=True)
        variance: Any = elementwise.multiply(distance, share)
        if not keep:
            mean, variance = reshaping.squeeze(mean, axes), reshaping.squeeze(variance, axes)
        if dtype.base_dtype is float16:
            mean, variance = cast.cast(mean, dtype), cast.cast(variance, dtype)
        return mean, variance


def log_poisson_loss(
    targets: TensorLike, log_input: TensorLike, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """Return the negative log likelihood of a Poisson distribution.

    Args:
        targets: observed counts.
        log_input: logarithms of the distributions' means, with the type and shape of ``targets``.
        compute_full_loss: whether to add the terms that depend on ``targets`` alone, by Stirling's formula.
        name: name scope.

    Returns:
        A tensor of that type and shape.

    Raises:
        ValueError: the shapes differ.
    """
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        means: Any = convert_to_tensor(log_input, name="log_input")
        counts: Any = convert_to_tensor(targets, name="targets")
        if not means.shape.is_compatible_with(counts.shape):
            raise ValueError(
                f"log_input and targets must have the same shape ({means.shape} vs {counts.shape})"
            )
        loss: Any = unary.exp(means) - means * counts
        if compute_full_loss:
            half: Any = constant.constant(0.5, dtype=loss.dtype)
            circle: Any = constant.constant(2 * math.pi, dtype=loss.dtype)
            formula = counts * unary.log(counts) - counts + half * unary.log(circle * counts)
            zeros, ones = constant.zeros_like(counts), constant.ones_like(counts)
            few = comparison.logical_and(counts >= zeros, counts <= ones)
            loss = loss + gather.where(few, zeros, formula)
        result: Tensor = loss
        return result


def batch_norm_with_global_normalization(
    t: TensorLike | None = None,
    m: TensorLike | None = None,
    v: TensorLike | None = None,
    beta: TensorLike | None = None,
    gamma: TensorLike | None = None,
    variance_epsilon: float | None = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
) -> Tensor:
    """An older form of ``batch_normalization``.

    Args:
        t: the values, ``[batch, height, width, channels]``.
        m: mean of each channel.
        v: variance of each channel.
        beta: offset of each channel.
        gamma: factor of each channel.
        variance_epsilon: a small number added to the variance.
        scale_after_normalization: whether to apply ``gamma``.
        name: name scope.
        input: alias of ``t``.
        mean: alias of ``m``.
        variance: alias of ``v``.

    Returns:
        A tensor of the type and shape of ``t``.

    Raises:
        ValueError: an argument and its alias are both given.
    """
    values = deprecated_argument_lookup("input", input, "t", t)
    means = deprecated_argument_lookup("mean", mean, "m", m)
    variances = deprecated_argument_lookup("variance", variance, "v", v)
    factor = gamma if scale_after_normalization else None
    return batch_normalization(values, means, variances, beta, factor, variance_epsilon, name)


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """Return the fraction of zeros.

    >>> import gpuplace as tf
    >>> float(tf.Session().run(tf.nn.zero_fraction([0.0, 1.0, 2.0, 0.0])))
    0.5

    Args:
        value: numbers of any type and shape.
        name: name of the scope.

    Returns:
        A float32 scalar from 0 to 1; NaN if there are no values.
    """
    with name_scope(name, "zero_fraction", [value]):
        tensor = convert_to_tensor(value, name="value")
        count = reshaping.size(tensor, out_type=int64)

        def non_zero(dtype: DTypeLike) -> Tensor:
            with name_scope("count_nonzero", values=[tensor]):
                zero = constant.zeros([], dtype=tensor.dtype)
                return reduction.reduce_sum(
                    cast.cast(comparison.not_equal(tensor, zero), dtype), name="nonzero_count"
                )

        nonzero = cond(count <= int32.max, lambda: cast.cast(non_zero(int32), int64), lambda: non_zero(int64))
        with name_scope("counts_to_fraction"):
            part = cast.cast(count - nonzero, float32) / cast.cast(count, float32)
        return reshaping.identity(part, "fraction")
