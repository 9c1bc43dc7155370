"""Learning rates that decay with the global step.

Source: tensorflow/python/training/learning_rate_decay.py and keras/optimizer_v2/learning_rate_schedule.py,
release 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant
from gpuplace.ops.flow.case import case
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.math import cast, comparison, elementwise, trigonometry, unary
from gpuplace.ops.random import random_ops
from gpuplace.typing import TensorLike, VariableLike


def _check_step(global_step: TensorLike, function: str) -> None:
    if global_step is None:
        raise ValueError(f"global_step is required for {function}.")


def _decay_arguments(
    learning_rate: TensorLike, global_step: TensorLike, decay_steps: Any, decay_rate: Any, staircase: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the initial rate, the decay rate, and the number of decay periods so far, all in the rate's dtype."""
    rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
    steps: Any = cast.cast(decay_steps, rate.dtype)
    decay = cast.cast(decay_rate, rate.dtype)
    passed = cast.cast(global_step, rate.dtype) / steps
    return rate, decay, unary.floor(passed) if staircase else passed


def exponential_decay(
    learning_rate: TensorLike,
    global_step: VariableLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return ``learning_rate * decay_rate ** (global_step / decay_steps)``; ``staircase`` rounds the exponent down.

    >>> import gpuplace as tf
    >>> rate = tf.train.exponential_decay(0.5, global_step=25, decay_steps=10, decay_rate=0.5, staircase=True)
    >>> float(tf.Session().run(rate))
    0.125

    Args:
        learning_rate: the initial rate, a floating scalar.
        global_step: the number of completed steps, an integer scalar or variable.
        decay_steps: number of steps after which ``decay_rate`` has applied once.
        decay_rate: the factor, a scalar.
        staircase: whether the rate changes only every ``decay_steps`` steps.
        name: name of the operation that multiplies.

    Returns:
        A scalar of the dtype of ``learning_rate``.

    Raises:
        ValueError: ``global_step`` is None.
    """
    _check_step(global_step, "exponential_decay")
    with name_scope(name, "ExponentialDecay") as scope:
        rate, decay, passed = _decay_arguments(learning_rate, global_step, decay_steps, decay_rate, staircase)
        return elementwise.multiply(rate, elementwise.pow(decay, passed), name=scope)


def natural_exp_decay(
    learning_rate: TensorLike,
    global_step: VariableLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return ``learning_rate * exp(-decay_rate * global_step / decay_steps)``.

    Args:
        learning_rate: the initial rate, a floating scalar.
        global_step: the number of completed steps, an integer scalar or variable.
        decay_steps: the unit of the exponent, in steps.
        decay_rate: the decay in that period, a floating scalar.
        staircase: whether the rate changes only every ``decay_steps`` steps.
        name: name of the operation that multiplies.

    Returns:
        A scalar of the dtype of ``learning_rate``.

    Raises:
        ValueError: ``global_step`` is None.
    """
    _check_step(global_step, "natural_exp_decay")
    factor = unary.exp(unary.negative(decay_rate))
    return exponential_decay(learning_rate, global_step, decay_steps, factor, staircase, name)


def inverse_time_decay(
    learning_rate: TensorLike,
    global_step: VariableLike,
    decay_steps: TensorLike,
    decay_rate: TensorLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return ``learning_rate / (1 + decay_rate * global_step / decay_steps)``.

    Args:
        learning_rate: the initial rate, a floating scalar.
        global_step: the number of completed steps, an integer scalar or variable.
        decay_steps: the unit of time, in steps.
        decay_rate: the decay in that period, a scalar.
        staircase: whether the rate changes only every ``decay_steps`` steps.
        name: name of the operation that divides.

    Returns:
        A scalar of the dtype of ``learning_rate``.

    Raises:
        ValueError: ``global_step`` is None.
    """
    _check_step(global_step, "inverse_time_decay")
    with name_scope(name, "InverseTimeDecay") as scope:
        rate, decay, passed = _decay_arguments(learning_rate, global_step, decay_steps, decay_rate, staircase)
        one = cast.cast(constant.constant(1), rate.dtype)
        return elementwise.divide(rate, elementwise.add(one, elementwise.multiply(decay, passed)), name=scope)


def polynomial_decay(
    learning_rate: TensorLike,
    global_step: VariableLike,
    decay_steps: TensorLike,
    end_learning_rate: TensorLike = 0.0001,
    power: TensorLike = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """Decay polynomially from ``learning_rate`` to ``end_learning_rate`` in ``decay_steps``.

    Args:
        learning_rate: the initial rate, a floating scalar.
        global_step: the number of completed steps, an integer scalar or variable.
        decay_steps: number of steps until the final rate.
        end_learning_rate: the final rate, a scalar.
        power: the exponent, a scalar; 1: linear.
        cycle: whether to restart, with ``decay_steps`` extended to its next multiple above ``global_step``.
        name: name of the operation that adds.

    Returns:
        A scalar of the dtype of ``learning_rate``.

    Raises:
        ValueError: ``global_step`` is None.
    """
    _check_step(global_step, "polynomial_decay")
    with name_scope(name, "PolynomialDecay") as scope:
        rate: Any = convert_to_tensor(learning_rate, name="initial_learning_rate")
        end = cast.cast(end_learning_rate, rate.dtype)
        exponent = cast.cast(power, rate.dtype)
        step: Any = cast.cast(global_step, rate.dtype)
        steps = cast.cast(decay_steps, rate.dtype)
        if cycle:
            times = cond(comparison.equal(step, 0), lambda: 1.0, lambda: unary.ceil(step / decay_steps))
            steps = elementwise.multiply(steps, times)
        else:
            step = elementwise.minimum(step, decay_steps)
        way = elementwise.divide(step, steps)
        left = elementwise.multiply(rate - end, elementwise.pow(1 - way, exponent))
        return elementwise.add(left, end, name=scope)


def cosine_decay(
    learning_rate: TensorLike,
    global_step: VariableLike,
    decay_steps: TensorLike,
    alpha: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Decay from ``learning_rate`` to ``alpha`` times that in ``decay_steps``, along half a cosine wave.

    Args:
        learning_rate: the initial rate, a float32 scalar.
        global_step: the number of completed steps, an integer scalar or variable.
        decay_steps: number of steps until the final rate.
        alpha: the final rate as a fraction of the initial one, a number.
        name: name scope.

    Returns:
        A scalar of the dtype of ``learning_rate``.

    Raises:
        ValueError: ``global_step`` is None.
    """
    _check_step(global_step, "cosine decay")
    with name_scope(name, "CosineDecay"):
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        steps: Any = cast.cast(decay_steps, rate.dtype)
        step: Any = elementwise.minimum(cast.cast(global_step, rate.dtype), steps)
        way = step / steps
        wave: Any = trigonometry.cos(constant.constant(math.pi) * way)
        decayed = (1 - alpha) * (0.5 * (1.0 + wave)) + alpha
        return elementwise.multiply(rate, decayed)


def cosine_decay_restarts(
    learning_rate: TensorLike,
    global_step: VariableLike,
    first_decay_steps: TensorLike,
    t_mul: TensorLike = 2.0,
    m_mul: TensorLike = 1.0,
    alpha: TensorLike = 0.0,
    name: str | None = None,
) -> Tensor:
    """Decay along repeated half cosine waves from ``learning_rate`` to ``alpha`` times that, each longer and lower.

    Args:
        learning_rate: the initial rate, a floating scalar.
        global_step: the number of completed steps, an integer scalar or variable.
        first_decay_steps: length of the first wave, in steps.
        t_mul: length of a wave relative to the previous one, a scalar.
        m_mul: height of a wave relative to the previous one, a scalar.
        alpha: the final rate of a wave as a fraction of its initial one, a scalar.
        name: name of the operation that multiplies.

    Returns:
        A scalar of the dtype of ``learning_rate``.

    Raises:
        ValueError: ``global_step`` is None.
    """
    _check_step(global_step, "cosine decay restarts")
    with name_scope(name, "SGDRDecay") as scope:
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        first_steps: Any = cast.cast(first_decay_steps, rate.dtype)
        lowest: Any = cast.cast(alpha, rate.dtype)
        longer: Any = cast.cast(t_mul, rate.dtype)
        lower: Any = cast.cast(m_mul, rate.dtype)
        passed: Any = cast.cast(global_step, rate.dtype) / first_steps

        def of_equal_length() -> tuple[Any, Any]:
            number = unary.floor(passed)
            return number, passed - number

        def of_growing_length() -> tuple[Any, Any]:
            base = 1.0 - longer
            number: Any = unary.floor(unary.log(1.0 - passed * base) / unary.log(longer))
            before = (1.0 - longer**number) / (1.0 - longer)
            return number, (passed - before) / longer**number

        number, way = cond(comparison.equal(longer, 1.0), of_equal_length, of_growing_length)
        height = lower**number
        wave: Any = 0.5 * height * (1.0 + trigonometry.cos(constant.constant(math.pi) * way))
        return elementwise.multiply(rate, (1 - lowest) * wave + lowest, name=scope)


def linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: VariableLike,
    decay_steps: TensorLike,
    num_periods: TensorLike = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Tensor:
    """Return ``learning_rate * ((alpha + left) * wave + beta)``: ``left`` falls from 1 to 0, ``wave`` is a cosine.

    Args:
        learning_rate: the initial rate, a floating scalar.
        global_step: the number of completed steps, an integer scalar or variable.
        decay_steps: number of steps until the final rate.
        num_periods: number of cosine periods, from 1 down to 0 and back, a scalar.
        alpha: added to the remaining fraction of the steps, a scalar.
        beta: added to the product, a scalar.
        name: name of the operation that multiplies.

    Returns:
        A scalar of the dtype of ``learning_rate``.

    Raises:
        ValueError: ``global_step`` is None.
    """
    _check_step(global_step, "linear cosine decay")
    with name_scope(name, "LinearCosineDecay") as scope:
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        steps: Any = cast.cast(decay_steps, rate.dtype)
        periods, more, offset = (cast.cast(value, rate.dtype) for value in (num_periods, alpha, beta))
        step: Any = elementwise.minimum(cast.cast(global_step, rate.dtype), steps)
        left = (steps - step) / steps
        return _cosine_rate(rate, left, step / steps, periods, more, offset, scope)


def noisy_linear_cosine_decay(
    learning_rate: TensorLike,
    global_step: VariableLike,
    decay_steps: TensorLike,
    initial_variance: TensorLike = 1.0,
    variance_decay: TensorLike = 0.55,
    num_periods: TensorLike = 0.5,
    alpha: TensorLike = 0.0,
    beta: TensorLike = 0.001,
    name: str | None = None,
) -> Tensor:
    """``linear_cosine_decay`` with normal noise of decreasing variance added to the remaining fraction.

    Args:
        learning_rate: the initial rate, a floating scalar.
        global_step: the number of completed steps, an integer scalar or variable.
        decay_steps: number of steps until the final rate.
        initial_variance: variance of the noise at the first step, a scalar.
        variance_decay: exponent of ``global_step + 1``, by which the variance is divided, a scalar.
        num_periods: as for ``linear_cosine_decay``.
        alpha: as for ``linear_cosine_decay``.
        beta: as for ``linear_cosine_decay``.
        name: name of the operation that multiplies.

    Returns:
        A scalar of the dtype of ``learning_rate``.

    Raises:
        ValueError: ``global_step`` is None.
    """
    _check_step(global_step, "noisy linear cosine decay")
    with name_scope(name, "NoisyLinearCosineDecay") as scope:
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        steps: Any = cast.cast(decay_steps, rate.dtype)
        numbers = (initial_variance, variance_decay, num_periods, alpha, beta)
        first_variance, power, periods, more, offset = (cast.cast(item, rate.dtype) for item in numbers)
        step: Any = elementwise.minimum(cast.cast(global_step, rate.dtype), steps)
        left: Any = (steps - step) / steps
        spread = unary.sqrt(first_variance / elementwise.pow(1.0 + step, power))
        left = left + random_ops.random_normal(left.shape, stddev=spread)
        return _cosine_rate(rate, left, step / steps, periods, more, offset, scope)


def _cosine_rate(
    rate: TensorLike, left: TensorLike, way: Any, periods: Any, more: Any, offset: TensorLike, name: str
) -> Tensor:
    """Return the rate times the remaining fraction, along a cosine wave."""
    turns = 2.0 * periods * way
    wave: Any = 0.5 * (1.0 + trigonometry.cos(constant.constant(math.pi) * turns))
    return elementwise.multiply(rate, (more + left) * wave + offset, name=name)


def piecewise_constant(
    x: TensorLike, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Tensor:
    """Return a rate that changes at given steps.

    >>> import gpuplace as tf
    >>> rate = tf.train.piecewise_constant(tf.constant(150), boundaries=[100, 200], values=[1.0, 0.5, 0.1])
    >>> float(tf.Session().run(rate))
    0.5

    Args:
        x: the number of completed steps, a scalar or variable.
        boundaries: the last step with each rate except the final one, ascending, of the type of ``x``.
        values: the rates, one more than boundaries.
        name: name of the scope of the ops.

    Returns:
        A scalar of the type of ``values``.

    Raises:
        ValueError: types or lengths do not match.
    """
    limits = [convert_to_tensor(item) for item in boundaries]
    rates = [convert_to_tensor(item) for item in values]
    step: Any = convert_to_tensor(x)
    kind = step.dtype.base_dtype
    for at, limit in enumerate(limits):
        if limit.dtype.base_dtype != kind:
            if (limit.dtype.base_dtype.name, kind.name) != ("int32", "int64"):
                raise ValueError(
                    f"Boundaries ({limit.dtype.base_dtype}) must have the same dtype as x ({kind})."
                )
            limits[at] = cast.cast(limit, kind)
    for rate in rates[1:]:
        if rate.dtype.base_dtype != rates[0].dtype.base_dtype:
            raise ValueError(
                "Values must have elements all with the same dtype "
                f"({rates[0].dtype.base_dtype} vs {rate.dtype.base_dtype})."
            )
    if len(limits) != len(rates) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with name_scope(name, "PiecewiseConstant"):
        pairs: list[Any] = [(step <= limits[0], lambda: rates[0]), (step > limits[-1], lambda: rates[-1])]
        for low, high, rate in zip(limits[:-1], limits[1:], rates[1:-1], strict=True):
            pairs.append(((step > low) & (step <= high), lambda rate=rate: rate))
        result: Tensor = case(pairs, lambda: rates[0], exclusive=True)
        return result


piecewise_constant_decay = piecewise_constant
