"""``tf.contrib.layers.optimize_loss``: an optimizer with its learning rate, clipping and summaries in one call.

Source: tensorflow/contrib/layers/python/layers/optimizers.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuplace.dtypes import float32
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.ops import summaries as summary
from gpuplace.ops.array.constant import ones_like
from gpuplace.ops.array.gather import where
from gpuplace.ops.flow.control import with_dependencies
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.math import cast, elementwise, unary
from gpuplace.ops.math.check_ops import assert_scalar
from gpuplace.ops.math.clip_ops import clip_by_global_norm, global_norm
from gpuplace.ops.random.random_ops import truncated_normal
from gpuplace.ops.train.adagrad import AdagradOptimizer
from gpuplace.ops.train.adam import AdamOptimizer
from gpuplace.ops.train.global_step import assert_global_step, get_global_step
from gpuplace.ops.train.gradient_descent import GradientDescentOptimizer
from gpuplace.ops.train.momentum import MomentumOptimizer
from gpuplace.ops.train.moving_averages import assign_moving_average
from gpuplace.ops.train.optimizer import Optimizer
from gpuplace.ops.train.rmsprop import RMSPropOptimizer
from gpuplace.ops.variables.init_ops import Constant, Zeros
from gpuplace.ops.variables.initialization import trainable_variables
from gpuplace.ops.variables.variable_scope import get_variable, variable_scope
from gpuplace.tf1.contrib.gradients import Gradients, scaled, values_of
from gpuplace.tf1.train.ftrl import FtrlOptimizer
from gpuplace.typing import Function, TensorLike, VariableLike

__all__ = ["OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "adaptive_clipping_fn", "optimize_loss"]


def _momentum(learning_rate: TensorLike) -> MomentumOptimizer:
    return MomentumOptimizer(learning_rate, momentum=0.9)


OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Optimizer]] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "Momentum": _momentum,
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
"""Optimizer name in ``optimize_loss`` -> function that creates it from a learning rate."""

OPTIMIZER_SUMMARIES = ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]
"""Summaries that ``optimize_loss`` can add."""


def _rate(learning_rate: TensorLike) -> Any:
    """Return the learning rate as a tensor or variable; None if there is none."""
    if learning_rate is None or (isinstance(learning_rate, Tensor) and learning_rate.get_shape().ndims == 0):
        return learning_rate
    if not isinstance(learning_rate, float):
        raise ValueError(
            f"Learning rate should be 0d Tensor or float. Got {learning_rate} of type {type(learning_rate)}"
        )
    if learning_rate < 0.0:
        raise ValueError(f"Invalid learning_rate {learning_rate}.")
    return get_variable("learning_rate", [], trainable=False, initializer=Constant(learning_rate))


def _optimizer(optimizer: Any, rate: TensorLike) -> Optimizer:
    if isinstance(optimizer, str):
        if rate is None:
            raise ValueError(
                f"Learning rate is None, but should be specified if optimizer is string ({optimizer})."
            )
        if optimizer not in OPTIMIZER_CLS_NAMES:
            names = ", ".join(OPTIMIZER_CLS_NAMES)
            raise ValueError(f"Optimizer name should be one of [{names}], you provided {optimizer}.")
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if isinstance(optimizer, type) and issubclass(optimizer, Optimizer):
        if rate is None:
            raise ValueError(
                f"Learning rate is None, but should be specified if optimizer is class ({optimizer})."
            )
        created: Optimizer = optimizer(learning_rate=rate)  # type: ignore[call-arg]
        return created
    if isinstance(optimizer, Optimizer):
        return optimizer
    if not callable(optimizer):
        raise ValueError(
            "Unrecognized optimizer: should be string, subclass of Optimizer, instance of subclass of Optimizer or "
            f"function with one argument. Got {optimizer}."
        )
    returned = optimizer() if rate is None else optimizer(rate)
    if not isinstance(returned, Optimizer):
        raise ValueError(
            f"Unrecognized optimizer: function should return subclass of Optimizer. Got {returned}."
        )
    return returned


def _with_noise(gradients: Gradients, scale: TensorLike) -> Gradients:
    noisy: Gradients = []
    for gradient, variable in gradients:
        if gradient is not None:
            shape: Any = gradient.dense_shape if isinstance(gradient, IndexedSlices) else gradient.get_shape()
            noise: Any = truncated_normal(shape)
            gradient = convert_to_tensor(gradient) + noise * scale
        noisy.append((gradient, variable))
    return noisy


def _multiplied(gradients: Gradients, multipliers: Mapping[Any, Any]) -> Gradients:
    scaled_gradients: Gradients = []
    for gradient, variable in gradients:
        key = variable if variable in multipliers else variable.name
        if gradient is not None and key in multipliers:
            factor: Any = cast.cast(multipliers[key], gradient.dtype)
            gradient = scaled(gradient, factor)
        scaled_gradients.append((gradient, variable))
    return scaled_gradients


def _clipped(gradients: Gradients, clip: Any) -> Gradients:
    if clip is None:
        return gradients
    if isinstance(clip, float):
        values, variables = zip(*gradients, strict=True)
        shorter, _ = clip_by_global_norm(list(values), clip)
        return list(zip(shorter, variables, strict=True))
    if callable(clip):
        pairs: Gradients = clip(gradients)
        return pairs
    raise ValueError(f"Unknown type {type(clip)} for clip_gradients")


def _norm(gradients: Gradients) -> Tensor:
    return global_norm([gradient for gradient, _ in gradients])


def optimize_loss(
    loss: Tensor,
    global_step: VariableLike | None,
    learning_rate: TensorLike,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Function | None = None,
    update_ops: Sequence[Any] | None = None,
    variables: Sequence[Any] | None = None,
    name: str | None = None,
    summaries: Sequence[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Tensor:
    """Return the loss as a tensor whose evaluation also trains.

    >>> import gpuplace as tf
    >>> width = tf.get_variable("width", [], initializer=tf.constant_initializer(3.0))
    >>> step = tf.train.get_or_create_global_step()
    >>> train = tf.contrib.layers.optimize_loss(width * width, step, 0.25, "SGD", summaries=[])
    >>> with tf.Session() as session:
    ...     session.run(tf.global_variables_initializer())
    ...     float(session.run(train)), float(session.run(width))
    (9.0, 1.5)

    Args:
        loss: a scalar.
        global_step: the variable to increment; None: the graph's own, if there is one.
        learning_rate: a float, a scalar tensor, or None.
        optimizer: a name in ``OPTIMIZER_CLS_NAMES``, an optimizer, an optimizer class, or a function that creates one
            from the rate, or without arguments if the rate is None.
        gradient_noise_scale: factor of normal noise added to the gradients; None: no noise.
        gradient_multipliers: variable or its name -> factor of its gradient.
        clip_gradients: maximum global norm of the gradients, or a function that transforms pairs of gradient and
            variable; None: no clipping.
        learning_rate_decay_fn: takes the rate and the step; returns the decayed rate.
        update_ops: operations to run before the loss; None: the graph's ``UPDATE_OPS``.
        variables: the variables to train; None: all trainable ones.
        name: name of the scope.
        summaries: some of ``OPTIMIZER_SUMMARIES``; None: the loss, the rate and the norm.
        colocate_gradients_with_ops: as for ``compute_gradients``.
        increment_global_step: whether to increment the step.

    Returns:
        The loss, a scalar.

    Raises:
        ValueError: an argument has the wrong type, or the optimizer has no rate, or the decay has no step.
    """
    loss = convert_to_tensor(loss)
    assert_scalar(loss)
    if global_step is None:
        global_step = get_global_step()
    else:
        assert_global_step(global_step)
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        graph = get_default_graph()
        updates = graph.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops
        if updates:
            loss = with_dependencies(list(dict.fromkeys(updates)), loss)
        rate = _rate(learning_rate)
        shown = ["loss", "learning_rate", "global_gradient_norm"] if summaries is None else summaries
        for one in shown:
            if one not in OPTIMIZER_SUMMARIES:
                names = ", ".join(OPTIMIZER_SUMMARIES)
                raise ValueError(f"Summaries should be one of [{names}], you provided {one}.")
        if rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, global_step)
            if "learning_rate" in shown:
                summary.scalar("learning_rate", rate)
        chosen = _optimizer(optimizer, rate)
        gradients = chosen.compute_gradients(
            loss,
            trainable_variables() if variables is None else list(variables),
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gradient_noise_scale is not None:
            gradients = _with_noise(gradients, gradient_noise_scale)
        if gradient_multipliers is not None:
            gradients = _multiplied(gradients, gradient_multipliers)
        of_all = "global_gradient_norm" in shown or "gradient_norm" in shown
        if of_all:
            summary.scalar("global_norm/gradient_norm", _norm(gradients))
        gradients = _clipped(gradients, clip_gradients)
        if "loss" in shown:
            summary.scalar("loss", loss)
        for gradient, variable in gradients:
            if gradient is None:
                continue
            tag = variable.name.replace(":", "_")
            if "gradients" in shown:
                summary.histogram(f"gradients/{tag}", values_of(gradient))
            if "gradient_norm" in shown:
                summary.scalar(f"gradient_norm/{tag}", global_norm([values_of(gradient)]))
        if clip_gradients is not None and of_all:
            summary.scalar("global_norm/clipped_gradient_norm", _norm(gradients))
        step = global_step if increment_global_step else None
        applied = chosen.apply_gradients(gradients, global_step=step, name="train")
        return with_dependencies([applied], loss)


def adaptive_clipping_fn(
    std_factor: float = 2.0,
    decay: float = 0.95,
    static_max_norm: float | None = None,
    global_step: VariableLike | None = None,
    report_summary: bool = False,
    epsilon: float = 1e-8,
    name: str | None = None,
) -> Callable[[Gradients], Gradients]:
    """Return a function for ``clip_gradients`` that adapts to the usual gradient norm.

    Args:
        std_factor: number of standard deviations above the mean, both of the log norm, beyond which gradients are
            scaled to the mean.
        decay: decay of the running mean.
        static_max_norm: absolute maximum norm; None: no maximum.
        global_step: the step, for a faster initial mean; None: constant decay.
        report_summary: whether to add a summary of the maximum norm.
        epsilon: a small number added to norms and variances.
        name: name of the scope.

    Returns:
        A function from pairs of gradient and variable to such pairs.
    """

    def averaged(slot: str, value: Tensor, share: Any) -> Any:
        variable = get_variable(
            slot, shape=value.get_shape(), dtype=value.dtype, initializer=Zeros(), trainable=False
        )
        return assign_moving_average(variable, value, share, zero_debias=False)

    def clip(gradients: Gradients) -> Gradients:
        norm: Any = _norm(gradients)
        with variable_scope(name, "AdaptiveMaxNorm", [norm]):
            log_norm = unary.log(norm + epsilon)
            share: Any = decay
            if global_step is not None:
                steps: Any = cast.cast(global_step, float32)
                share = elementwise.minimum(decay, steps / (steps + 1.0))
            mean = averaged("mean", log_norm, share)
            squares = averaged("sq_mean", unary.square(log_norm), share)
            variance = squares - unary.square(mean)
            deviation: Any = unary.sqrt(elementwise.maximum(epsilon, variance))
            longest = unary.exp(mean + std_factor * deviation)
        if report_summary:
            summary.scalar("global_norm/adaptive_max_gradient_norm", longest)
        usual: Any = unary.exp(mean)
        factor = where(norm < longest, ones_like(norm), usual / norm)
        if static_max_norm is not None:
            factor = elementwise.minimum(static_max_norm / norm, factor)
        return [(None if grad is None else scaled(grad, factor), variable) for grad, variable in gradients]

    return clip
