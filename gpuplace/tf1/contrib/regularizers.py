"""Regularizers and initializers of ``tf.contrib.layers``.

Source: tensorflow/contrib/layers/python/layers/regularizers.py and initializers.py, release 1.15.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.dtypes import as_dtype, float32
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import constant
from gpuplace.ops.math.elementwise import add_n, multiply
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.math.unary import abs as magnitude
from gpuplace.ops.nn.misc import l2_loss
from gpuplace.ops.random.random_ops import random_uniform, truncated_normal
from gpuplace.typing import DTypeLike, Function, TensorLike

__all__ = [
    "apply_regularization", "l1_l2_regularizer", "l1_regularizer", "l2_regularizer", "sum_regularizer",
    "variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d",
]  # fmt: skip

Regularizer = Callable[[Any], Tensor | None]


def _scale(scale: TensorLike) -> Any:
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real) and scale < 0.0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}")
    return scale


def _scaled(scale: Any, scope: str | None, default: str, norm: Callable[[Any], Tensor]) -> Regularizer:
    scale = _scale(scale)
    if scale == 0.0:
        return lambda weights: None

    def regularizer(weights: Any) -> Tensor:
        with name_scope(scope, default, [weights]) as name:
            factor = convert_to_tensor(scale, weights.dtype.base_dtype, name="scale")
            return multiply(factor, norm(weights), name=name)

    return regularizer


def l1_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """Return an L1 regularizer: ``scale`` times the sum of absolute values.

    Args:
        scale: the factor, a non-negative float; 0: no loss.
        scope: name of the ops' scope.

    Raises:
        ValueError: ``scale`` is an integer or negative.
    """
    return _scaled(scale, scope, "l1_regularizer", lambda weights: reduce_sum(magnitude(weights)))


def l2_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """Return an L2 regularizer: ``scale`` times half the sum of squares.

    >>> import gpuplace as tf
    >>> loss = tf.contrib.layers.l2_regularizer(0.1)(tf.constant([3.0, 4.0]))
    >>> round(float(tf.Session().run(loss)), 4)
    1.25

    Args:
        scale: the factor, a non-negative float; 0: no loss.
        scope: name of the ops' scope.

    Raises:
        ValueError: ``scale`` is an integer or negative.
    """
    return _scaled(scale, scope, "l2_regularizer", l2_loss)


def l1_l2_regularizer(
    scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None
) -> Regularizer | None:
    """Return the sum of an L1 and an L2 regularizer.

    Args:
        scale_l1: factor of the L1 regularizer.
        scale_l2: factor of the L2 regularizer.
        scope: name of the ops' scope.

    Raises:
        ValueError: a factor is an integer or negative.
    """
    scope = scope or "l1_l2_regularizer"
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


def sum_regularizer(regularizer_list: Sequence[Any], scope: str | None = None) -> Regularizer | None:
    """Return the sum of several regularizers.

    Args:
        regularizer_list: the regularizers; None entries are ignored.
        scope: name of the ops' scope.

    Returns:
        A regularizer; None if there are none.
    """
    chosen = [item for item in regularizer_list if item is not None]
    if not chosen:
        return None

    def regularizer(weights: TensorLike) -> Tensor | None:
        with name_scope(scope, "sum_regularizer", [weights]) as name:
            losses = [loss for loss in [item(weights) for item in chosen] if loss is not None]
            return add_n(losses, name=name) if losses else None

    return regularizer


def apply_regularization(regularizer: Function, weights_list: Sequence[Any] | None = None) -> Tensor:
    """Return the sum of the variables' losses, and add it to the collection of regularization losses.

    Args:
        regularizer: takes a variable, returns a scalar loss.
        weights_list: the variables; None: the collection ``tf.GraphKeys.WEIGHTS``.

    Raises:
        ValueError: there are no variables, or a loss is not a scalar.
    """
    weights = list(weights_list or get_default_graph().get_collection(GraphKeys.WEIGHTS))
    if not weights:
        raise ValueError("No weights to regularize.")
    with name_scope("get_regularization_penalty", None, weights) as scope:
        losses = [regularizer(weight) for weight in weights]
        losses = [constant(0.0) if loss is None else loss for loss in losses]
        for one in losses:
            if one.shape.ndims != 0:
                raise ValueError(
                    "regularizer must return a scalar Tensor instead of a Tensor with rank ", one.shape.ndims
                )
        total = add_n(losses, name=scope)
        get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: DTypeLike = float32,
) -> Callable[..., Tensor]:
    """Return an initializer that preserves the scale of activations across layers.

    Args:
        factor: factor of the variance.
        mode: the divisor: ``"FAN_IN"``, the number of inputs, ``"FAN_OUT"``, of outputs, or ``"FAN_AVG"``.
        uniform: whether the distribution is uniform; otherwise it is truncated normal.
        seed: seed of the random op; None: see ``set_random_seed``.
        dtype: dtype of the values, floating.

    Raises:
        TypeError: ``dtype`` or ``mode`` is not supported.
    """
    if not as_dtype(dtype).is_floating:
        raise TypeError("Cannot create initializer for non-floating point type.")
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError(f"Unknown mode {mode} [FAN_IN, FAN_OUT, FAN_AVG]")

    def initializer(shape: Any, dtype: DTypeLike = dtype, partition_info: object = None) -> Tensor:
        sizes = [int(size) for size in shape]
        receptive_field = math.prod(sizes[:-2]) if len(sizes) > 1 else 1
        fan_in = float((sizes[-2] if len(sizes) > 1 else sizes[-1]) * receptive_field) if sizes else 1.0
        fan_out = float(sizes[-1] * receptive_field) if sizes else 1.0
        count = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2.0}[mode]
        if uniform:
            limit = math.sqrt(3.0 * factor / count)
            return random_uniform(sizes, -limit, limit, dtype, seed=seed)
        return truncated_normal(sizes, 0.0, math.sqrt(1.3 * factor / count), dtype, seed=seed)

    return initializer


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: DTypeLike = float32
) -> Callable[..., Tensor]:
    """Return Glorot's initializer: the variance is 1 over the mean of the numbers of inputs and outputs.

    Args:
        uniform: whether the distribution is uniform; otherwise it is truncated normal.
        seed: seed of the random op; None: see ``set_random_seed``.
        dtype: dtype of the values, floating.

    Raises:
        TypeError: ``dtype`` is not supported.
    """
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer
