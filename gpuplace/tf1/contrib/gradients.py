"""Functions for the gradients between an optimizer's two halves, and ``create_train_op``, which runs all of them.

Source: tensorflow/contrib/training/python/training/training.py and contrib/slim/python/slim/learning.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuplace import tf_logging
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.ops import summaries
from gpuplace.ops.array.reshaping import check_numerics as checked
from gpuplace.ops.flow import control
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.math.clip_ops import global_norm
from gpuplace.ops.math.reduction import clip_by_norm
from gpuplace.ops.train.global_step import get_or_create_global_step
from gpuplace.ops.train.optimizer import Optimizer
from gpuplace.ops.variables.initialization import trainable_variables
from gpuplace.typing import Function

__all__ = [
    "add_gradients_summaries", "clip_gradient_norms", "clip_gradient_norms_fn", "create_train_op", "multiply_gradients",
]  # fmt: skip

Gradients = list[tuple[Any, Any]]
"""Pairs of a gradient, which may be None, and its variable."""

USE_GLOBAL_STEP = 0
"""Default of an argument ``global_step``: the graph's own, created if there is none."""


def map_values(function: Callable[[Any], Any], gradient: Any) -> Any:
    """Apply ``function`` to a gradient, or to the rows of ``IndexedSlices``."""
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(function(gradient.values), gradient.indices, gradient.dense_shape)
    return function(gradient)


def scaled(gradient: Any, factor: Any) -> Any:
    """Return a gradient times a scalar tensor."""
    return map_values(lambda values: values * factor, gradient)


def values_of(gradient: Any) -> Any:
    """Return the tensor of a gradient's values."""
    return gradient.values if isinstance(gradient, IndexedSlices) else gradient


def clip_gradient_norms(gradients_to_variables: Sequence[tuple[Any, Any]], max_norm: float) -> Gradients:
    """Scale each gradient down to a maximum norm.

    Args:
        gradients_to_variables: pairs of gradient and variable.
        max_norm: the largest norm of a gradient.

    Returns:
        The pairs.
    """
    return [
        (None if grad is None else map_values(lambda values: clip_by_norm(values, max_norm), grad), var)
        for grad, var in gradients_to_variables
    ]


def clip_gradient_norms_fn(max_norm: float) -> Callable[[Sequence[tuple[Any, Any]]], Gradients]:
    """Return ``clip_gradient_norms`` as a function of the pairs alone.

    Args:
        max_norm: the largest norm of a gradient.
    """
    return lambda gradients: clip_gradient_norms(gradients, max_norm)


def multiply_gradients(
    grads_and_vars: list[tuple[Any, Any]], gradient_multipliers: Mapping[Any, Any]
) -> Gradients:
    """Multiply the gradients of some variables.

    Args:
        grads_and_vars: pairs of gradient and variable.
        gradient_multipliers: variable or name of its op -> a number or scalar tensor.

    Returns:
        The pairs.

    Raises:
        ValueError: an argument has another type, there are no multipliers, or a gradient is None.
    """
    if not isinstance(grads_and_vars, list):
        raise ValueError("`grads_and_vars` must be a list.")
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    if not isinstance(gradient_multipliers, dict):
        raise ValueError("`gradient_multipliers` must be a dict.")
    multiplied = []
    for grad, var in grads_and_vars:
        key = var if var in gradient_multipliers else var.op.name
        if key in gradient_multipliers:
            if grad is None:
                raise ValueError("Requested multiple of `None` gradient.")
            factor: Any = convert_to_tensor(gradient_multipliers[key], dtype=grad.dtype)
            multiplied.append((scaled(grad, factor), var))
        else:
            multiplied.append((grad, var))
    return multiplied


def add_gradients_summaries(grads_and_vars: Sequence[tuple[Any, Any]], joint: str = "_") -> list[Tensor]:
    """Add a histogram of each gradient, and a summary of its norm.

    Args:
        grads_and_vars: pairs of gradient and variable.
        joint: separator between the variable's name and the suffix.

    Returns:
        The summaries.
    """
    added = []
    for grad, var in grads_and_vars:
        if grad is None:
            tf_logging.info("Var %s has no gradient", var.op.name)
            continue
        values = values_of(grad)
        added.append(summaries.histogram(f"{var.op.name}{joint}gradient", values))
        added.append(summaries.scalar(f"{var.op.name}{joint}gradient_norm", global_norm([values])))
    return added


def create_train_op(
    total_loss: Tensor,
    optimizer: Optimizer,
    global_step: Any = USE_GLOBAL_STEP,
    update_ops: Sequence[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    transform_grads_fn: Function | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Tensor:
    """Return the loss as a tensor whose evaluation also applies the gradients and the layers' updates.

    Args:
        total_loss: a scalar.
        optimizer: the optimizer.
        global_step: the step to increment; omitted: the graph's own; None: no step.
        update_ops: operations to run before the loss; None: the graph's ``UPDATE_OPS``.
        variables_to_train: the variables; None: all trainable ones.
        transform_grads_fn: transforms the pairs of gradient and variable.
        summarize_gradients: whether to add summaries of the gradients.
        gate_gradients: as for ``compute_gradients``.
        aggregation_method: as for ``compute_gradients``.
        colocate_gradients_with_ops: as for ``compute_gradients``.
        check_numerics: whether to raise an error if the loss is not finite.

    Returns:
        The loss, a scalar, added to the collection ``TRAIN_OP``.

    Raises:
        ValueError: there are no variables to train, or a variable is not trainable.
    """
    graph = get_default_graph()
    if global_step is USE_GLOBAL_STEP:
        global_step = get_or_create_global_step()
    graph_updates = list(dict.fromkeys(graph.get_collection(GraphKeys.UPDATE_OPS)))
    updates = graph_updates if update_ops is None else list(dict.fromkeys(update_ops))
    if not set(graph_updates) <= set(updates):
        tf_logging.warning(
            "update_ops in create_train_op does not contain all the update_ops in GraphKeys.UPDATE_OPS"
        )
    if updates:
        with graph.control_dependencies(updates):
            barrier = control.no_op(name="update_barrier")
        total_loss = control.with_dependencies([barrier], total_loss)
    trained = trainable_variables() if variables_to_train is None else list(variables_to_train)
    if not trained:
        raise ValueError("create_train_op: there are no variables to train")
    all_trainable = {id(variable) for variable in trainable_variables()}
    for one in trained:
        if not getattr(one, "trainable", False) and id(one) not in all_trainable:
            raise ValueError(f"create_train_op: variable {one.name} is not trainable")
    grads = optimizer.compute_gradients(
        total_loss,
        trained,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )
    if transform_grads_fn is not None:
        grads = transform_grads_fn(grads)
    if summarize_gradients:
        with name_scope("summarize_grads"):
            add_gradients_summaries(grads)
    applied = optimizer.apply_gradients(grads, global_step=global_step)
    with name_scope("train_op"):
        if check_numerics:
            total_loss = checked(total_loss, "LossTensor is inf or nan")
        train_op = control.with_dependencies([applied], total_loss)
    if all(train_op is not other for other in graph.get_collection(GraphKeys.TRAIN_OP)):
        graph.add_to_collection(GraphKeys.TRAIN_OP, train_op)
    return train_op
