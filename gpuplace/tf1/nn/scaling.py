"""Reduction of per-example losses to one number.

Source: tensorflow/python/ops/nn_impl.py and ops/losses/util.py, release 1.15.
"""

from __future__ import annotations

from gpuplace.dtypes import float32
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.reshaping import expand_dims, squeeze
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.typing import TensorLike

__all__ = ["compute_average_loss", "scale_regularization_loss"]


def compute_average_loss(
    per_example_loss: TensorLike,
    sample_weight: TensorLike | None = None,
    global_batch_size: TensorLike | None = None,
) -> Tensor:
    """Return the sum of per-example losses, divided by the number of examples.

    >>> import gpuplace as tf
    >>> float(tf.Session().run(compute_average_loss([1.0, 3.0], sample_weight=[2.0, 1.0])))
    2.5

    Args:
        per_example_loss: a loss for each example, ``[batch, ...]``, floating.
        sample_weight: a factor for each loss; None for 1.
        global_batch_size: number of examples; None for the number of losses.

    Returns:
        A scalar with the dtype of the losses.

    Raises:
        ValueError: the losses are known to be a scalar.
    """
    losses = convert_to_tensor(per_example_loss)
    if losses.shape.ndims == 0:
        raise ValueError(
            f"Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1, found: {losses}"
        )
    dtype = losses.dtype
    if sample_weight is not None:
        losses, weights = cast(losses, float32), cast(sample_weight, float32)
        ranks = losses.shape.ndims, weights.shape.ndims
        if ranks[0] is not None and ranks[1]:
            if ranks[1] == ranks[0] + 1:
                weights = squeeze(weights, [-1])
            elif ranks[1] == ranks[0] - 1:
                weights = expand_dims(weights, -1)
        losses = losses * weights
    losses = cast(losses, dtype)
    count = shape_of(losses)[0] if global_batch_size is None else global_batch_size
    return reduce_sum(losses) / cast(count, dtype)


def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """Return the sum of regularization losses, which TensorFlow divides by the number of replicas, 1 here.

    Args:
        regularization_loss: the losses, floating.

    Returns:
        A scalar.
    """
    return reduce_sum(regularization_loss)
