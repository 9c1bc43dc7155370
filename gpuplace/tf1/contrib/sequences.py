"""Sequence losses.

Source: tensorflow/contrib/seq2seq/python/ops/loss.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.reshaping import reshape
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.elementwise import div_no_nan
from gpuplace.ops.math.reduction import count_nonzero, reduce_sum
from gpuplace.ops.nn.entropy import sparse_softmax_cross_entropy_with_logits
from gpuplace.typing import Function

__all__ = ["sequence_loss"]


def sequence_loss(
    logits: Tensor,
    targets: Tensor,
    weights: Tensor,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Function | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the weighted cross entropy of sequences.

    Args:
        logits: ``[batch, time, classes]``.
        targets: the true classes, integers, ``[batch, time]``.
        weights: a weight for each step, ``[batch, time]``.
        average_across_timesteps: whether to divide by the weights of the steps.
        average_across_batch: whether to divide by the weights of the batch.
        sum_over_timesteps: whether to divide by the number of steps with a weight.
        sum_over_batch: whether to divide by the number of sequences with a weight.
        softmax_loss_function: takes ``labels`` and ``logits`` and returns losses; None: cross entropy.
        name: name of the ops' scope.

    Returns:
        A scalar, or a tensor with the axes that are neither averaged nor summed.

    Raises:
        ValueError: a rank is wrong, or an axis is both averaged and summed.
    """
    for what, tensor, rank, described in (
        ("Logits", logits, 3, "[batch_size x sequence_length x logits]"),
        ("Targets", targets, 2, "[batch_size x sequence_length]"),
        ("Weights", weights, 2, "[batch_size x sequence_length]"),
    ):
        if tensor.shape.ndims != rank:
            raise ValueError(f"{what} must be a {described} tensor")
    for axis, averaged, summed in (
        ("timesteps", average_across_timesteps, sum_over_timesteps),
        ("batch", average_across_batch, sum_over_batch),
    ):
        if averaged and summed:
            raise ValueError(f"average_across_{axis} and sum_over_{axis} cannot be set to True at same time.")
    with name_scope(name, "sequence_loss", [logits, targets, weights]):
        sizes: Any = [-1, shape_of(logits)[2]]
        flat = reshape(logits, sizes)
        truth = reshape(targets, [-1])
        loss: Any = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
        losses = loss(labels=truth, logits=flat) * reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return div_no_nan(reduce_sum(losses), reduce_sum(weights))
        if sum_over_timesteps and sum_over_batch:
            total = reduce_sum(losses)
            return div_no_nan(total, cast(count_nonzero(weights), total.dtype))
        losses = reshape(losses, shape_of(logits)[0:2])
        if average_across_timesteps or average_across_batch:
            along = [0] if average_across_batch else [1]
            total = reduce_sum(losses, axis=along)
            return div_no_nan(total, reduce_sum(weights, axis=along))
        if sum_over_timesteps or sum_over_batch:
            along = [0] if sum_over_batch else [1]
            total = reduce_sum(losses, axis=along)
            return div_no_nan(total, cast(count_nonzero(weights, axis=along), total.dtype))
        return losses
