"""``tf.contrib.losses``, also ``tf.contrib.slim.losses``: predictions come before labels.

A loss is the weighted mean over the examples with a non-zero weight.

Source: tensorflow/contrib/losses/python/losses/loss_ops.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.dtypes import float32
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import ones, ones_like, zeros_like
from gpuplace.ops.array.gather import where
from gpuplace.ops.array.reshaping import reshape, size, squeeze
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.array.slicing import slice as slice_of
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import equal, not_equal
from gpuplace.ops.math.division import div
from gpuplace.ops.math.elementwise import add_n, div_no_nan, multiply, squared_difference, subtract
from gpuplace.ops.math.reduction import reduce_prod, reduce_sum
from gpuplace.ops.math.unary import abs as absolute
from gpuplace.ops.math.unary import log, square
from gpuplace.ops.nn.activation import relu
from gpuplace.ops.nn.entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from gpuplace.tf1.contrib.arg_scope import add_arg_scope
from gpuplace.typing import TensorLike

__all__ = [
    "absolute_difference", "add_loss", "compute_weighted_loss", "cosine_distance", "get_losses",
    "get_regularization_losses", "get_total_loss", "hinge_loss", "log_loss", "mean_pairwise_squared_error",
    "mean_squared_error", "sigmoid_cross_entropy", "softmax_cross_entropy", "sparse_softmax_cross_entropy",
]  # fmt: skip


def _rank(tensor: Tensor, what: str) -> int:
    if tensor.shape.ndims is None:
        raise ValueError(f"{what}.get_shape().ndims cannot be None")
    return tensor.shape.ndims


def _weighted_sum(losses: Tensor, weights: Tensor) -> Tensor:
    inner = list(range(_rank(weights, "weights"), _rank(losses, "losses")))
    return reduce_sum(multiply(reduce_sum(losses, axis=inner), weights))


def _num_present(losses: Tensor, weights: Tensor, per_batch: bool = False) -> Tensor:
    """Return the number of elements with a non-zero weight."""
    counts: Any
    if weights.shape.ndims == 0:
        batch = reshape(slice_of(shape_of(losses), [0], [1]), [])
        counts = div(cast(size(losses), float32), cast(batch, float32))
        counts = where(equal(weights, 0), 0.0, counts)
        counts = multiply(ones(reshape(batch, [1])), counts)
    else:
        rank = _rank(weights, "weights")
        with_weight = reduce_sum(cast(not_equal(weights, 0), float32), axis=list(range(1, rank)))
        inner = slice_of(shape_of(losses), [rank], [-1])
        counts = multiply(with_weight, cast(reduce_prod(inner), float32))
    result: Tensor = counts if per_batch else reduce_sum(counts)
    return result


def compute_weighted_loss(losses: TensorLike, weights: TensorLike = 1.0, scope: str | None = None) -> Tensor:
    """Return the weighted mean of losses, and add it to the collection of losses.

    Args:
        losses: ``[batch, ...]``.
        weights: a scalar, or of the same first axes.
        scope: name scope of the ops; None: ``weighted_loss``.

    Raises:
        ValueError: a rank is unknown.
    """
    with name_scope(scope, "weighted_loss", [losses, weights]):
        losses = convert_to_tensor(losses)
        dtype = losses.dtype
        losses = cast(losses, float32)
        weights = cast(convert_to_tensor(weights), float32)
        _rank(losses, "losses")
        if _rank(weights, "weights") > 1 and weights.shape[-1].is_compatible_with(1):
            weights = squeeze(weights, [-1])
        total = _weighted_sum(losses, weights)
        count = _num_present(losses, weights)
        mean = cast(div_no_nan(reduce_sum(total), count, name="value"), dtype)
        add_loss(mean)
        return mean


@add_arg_scope
def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Add a loss to a collection.

    Args:
        loss: the loss.
        loss_collection: the collection; None: no collection.
    """
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """Return the losses collected so far.

    Args:
        scope: prefix of the losses' names; None: all.
        loss_collection: the collection.
    """
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Return the losses of regularizers.

    Args:
        scope: prefix of the losses' names; None: all.
    """
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss") -> Tensor:
    """Return the sum of all losses.

    Args:
        add_regularization_losses: whether to include those of regularizers.
        name: name of the sum.
    """
    return add_n(get_losses() + (get_regularization_losses() if add_regularization_losses else []), name=name)


def _to_same_dtype(predictions: Any, labels: Any, types: Any = float32) -> tuple[Any, Any]:
    """Return both as tensors of the same dtype."""
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    return cast(predictions, types), cast(labels, types)


def absolute_difference(
    predictions: Tensor, labels: Tensor, weights: TensorLike = 1.0, scope: str | None = None
) -> Tensor:
    """Return the mean of the absolute differences.

    Args:
        predictions: the predictions.
        labels: the true values, of the same shape.
        weights: a scalar, or of the same first axes.
        scope: name scope of the ops; None: ``absolute_difference``.
    """
    with name_scope(scope, "absolute_difference", [predictions, labels, weights]) as scope:
        predictions, labels = _to_same_dtype(predictions, labels)
        return compute_weighted_loss(absolute(subtract(predictions, labels)), weights, scope=scope)


def sigmoid_cross_entropy(
    logits: Tensor,
    multi_class_labels: Tensor,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:
    """Return the mean cross entropy of independent classes.

    Args:
        logits: ``[batch, classes]``.
        multi_class_labels: of the same shape, 0 or 1.
        weights: a scalar, or of the same first axes.
        label_smoothing: how far labels are moved towards 0.5, from 0 to 1.
        scope: name scope of the ops; None: ``sigmoid_cross_entropy_loss``.
    """
    with name_scope(scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels, weights]) as scope:
        logits.get_shape().assert_is_compatible_with(multi_class_labels.get_shape())
        labels: Any = cast(multi_class_labels, logits.dtype)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope=scope)


def softmax_cross_entropy(
    logits: Tensor,
    onehot_labels: Tensor,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
) -> Tensor:
    """Return the mean cross entropy of exclusive classes.

    Args:
        logits: ``[batch, classes]``.
        onehot_labels: the probability of each class, of the same shape.
        weights: a scalar, or ``[batch]``.
        label_smoothing: how far labels are moved towards equal probabilities, from 0 to 1.
        scope: name scope of the ops; None: ``softmax_cross_entropy_loss``.
    """
    with name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]) as scope:
        logits.get_shape().assert_is_compatible_with(onehot_labels.get_shape())
        labels: Any = cast(onehot_labels, logits.dtype)
        if label_smoothing > 0:
            classes: Any = cast(shape_of(labels)[1], logits.dtype)
            of_others = label_smoothing / classes
            labels = labels * (1.0 - label_smoothing) + of_others
        losses = softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope=scope)


def sparse_softmax_cross_entropy(
    logits: Tensor, labels: Tensor, weights: TensorLike = 1.0, scope: str | None = None
) -> Tensor:
    """Return the mean cross entropy of exclusive classes, with the true class given by its index.

    Args:
        logits: ``[batch, classes]``.
        labels: ``[batch]`` or ``[batch, 1]``, integers.
        weights: a scalar, or ``[batch]``.
        scope: name scope of the ops; None: ``sparse_softmax_cross_entropy_loss``.
    """
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as scope:
        numbers = reshape(labels, shape=[shape_of(labels)[0]])
        losses = sparse_softmax_cross_entropy_with_logits(labels=numbers, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope=scope)


def log_loss(
    predictions: Tensor,
    labels: Tensor,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
) -> Tensor:
    """Return the mean negative log probability of the true labels.

    Args:
        predictions: probabilities.
        labels: 0 or 1, of the same shape.
        weights: a scalar, or of the same first axes.
        epsilon: a small number that keeps logarithms finite.
        scope: name scope of the ops; None: ``log_loss``.
    """
    with name_scope(scope, "log_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _to_same_dtype(predictions, labels)
        of_true: Any = multiply(labels, log(predictions + epsilon))
        losses = -of_true - multiply(1 - labels, log(1 - predictions + epsilon))
        return compute_weighted_loss(losses, weights, scope=scope)


def hinge_loss(logits: Tensor, labels: Tensor, scope: str | None = None) -> Tensor:
    """Return the hinge loss of each element; it is not added to the collection of losses.

    Args:
        logits: the scores.
        labels: 0 or 1, of the same shape.
        scope: name scope of the ops; None: ``hinge_loss``.
    """
    with name_scope(scope, "hinge_loss", [logits, labels]):
        logits.get_shape().assert_is_compatible_with(labels.get_shape())
        truth: Any = cast(labels, float32)
        one = ones_like(truth)
        return relu(subtract(one, multiply(subtract(2 * truth, one), logits)))


def mean_squared_error(
    predictions: Tensor, labels: Tensor, weights: TensorLike = 1.0, scope: str | None = None
) -> Tensor:
    """Return the mean of the squared differences.

    Args:
        predictions: the predictions.
        labels: the true values, of the same shape.
        weights: a scalar, or of the same first axes.
        scope: name scope of the ops; None: ``mean_squared_error``.
    """
    with name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as scope:
        predictions, labels = _to_same_dtype(predictions, labels)
        return compute_weighted_loss(squared_difference(predictions, labels), weights, scope=scope)


def mean_pairwise_squared_error(
    predictions: Tensor, labels: Tensor, weights: TensorLike = 1.0, scope: str | None = None
) -> Tensor:
    """Return the mean squared error of the differences between pairs of predictions.

    Args:
        predictions: ``[batch, ...]``.
        labels: the true values, of the same shape.
        weights: a scalar, or ``[batch]``.
        scope: name scope of the ops; None: ``mean_pairwise_squared_error``.
    """
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        predictions, labels = _to_same_dtype(predictions, labels)
        weights = cast(convert_to_tensor(weights), float32)
        differences = subtract(predictions, labels)
        inner: Sequence[int] = list(range(1, _rank(differences, "diffs")))
        _rank(weights, "weights")
        squares = reduce_sum(square(differences), axis=inner)
        count = _num_present(differences, weights, per_batch=True)
        first: Any = 2.0 * div_no_nan(squares, count, name="value")
        sums = reduce_sum(differences, axis=inner)
        second: Any = 2.0 * div_no_nan(square(sums), square(count), name="value")
        loss = _weighted_sum(first - second, weights)
        mean = where(reduce_sum(count) > 0, loss, zeros_like(loss), name="value")
        add_loss(mean)
        return mean


def cosine_distance(
    predictions: Tensor,
    labels: Tensor,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Return the mean cosine distance between unit vectors.

    Args:
        predictions: the vectors.
        labels: the true vectors, of the same shape.
        axis: the axis of the vectors.
        weights: a scalar, or of the same first axes.
        scope: name scope of the ops; None: ``cosine_distance_loss``.
        dim: older name of ``axis``.

    Raises:
        ValueError: neither or both of ``axis`` and ``dim`` are given.
    """
    if dim is not None:
        if axis is not None:
            raise ValueError("Cannot specify both 'axis' and 'dim'")
        axis = dim
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    with name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _to_same_dtype(predictions, labels)
        losses: Any = 1 - reduce_sum(multiply(predictions, labels), axis=[axis])
        return compute_weighted_loss(losses, weights, scope=scope)
