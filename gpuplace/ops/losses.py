"""``tf.losses``: losses weighted and reduced to one number, and collected.

    values --> * weights --> Sum --> / num_present  (the number of elements whose weight is not zero)

Source: tensorflow/python/ops/losses/losses_impl.py, losses/util.py and weights_broadcast_ops.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops import array, cast, comparison, constant, control, elementwise, reduction, unary
from gpuplace.ops.nn_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from gpuplace.ops.support import new

__all__ = [
    "Reduction",
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "get_losses",
    "get_regularization_loss",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "huber_loss",
    "log_loss",
    "mean_squared_error",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]


class Reduction:
    """How a loss is reduced to one number."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """The ways."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """ValueError if ``key`` is none of the ways."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


# Weighting


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Weights ``losses``, reduces them and collects the result.

    Args:
        losses: a tensor.
        weights: a number, or a tensor that broadcasts to ``losses`` with sizes of 1.
        scope: name scope.
        loss_collection: where the result is collected, or None.
        reduction: one of ``Reduction``.

    Raises:
        ValueError: ``weights`` does not broadcast, or there is no such reduction.
    """
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", [losses, weights]):
        check = _check_broadcastable(weights, losses)
        with get_default_graph().control_dependencies([check]):
            losses = convert_to_tensor(losses)
            dtype = losses.dtype.base_dtype
            precise = cast.cast(losses, "float32")
            weights = cast.cast(weights, "float32")
            weighted = elementwise.multiply(precise, weights)
            loss = _reduced(weighted, precise, weights, reduction)
            loss = cast.cast(loss, dtype)
            add_loss(loss, loss_collection)
            return loss


def _reduced(weighted: Tensor, losses: Tensor, weights: Tensor, how: str) -> Tensor:
    if how == Reduction.NONE:
        return weighted
    loss = reduction.reduce_sum(weighted)
    if how == Reduction.MEAN:
        return _mean(loss, reduction.reduce_sum(constant.ones_like(losses) * weights))
    if how == Reduction.SUM_BY_NONZERO_WEIGHTS:
        return _mean(loss, _num_present(losses, weights))
    if how == Reduction.SUM_OVER_BATCH_SIZE:
        with name_scope(None, "num_elements") as scope:
            count = cast.cast(array.size(losses, name=scope), "float32")
        return _mean(loss, count)
    return loss


def _mean(loss: Tensor, count: Tensor) -> Tensor:
    return elementwise.div_no_nan(reduction.reduce_sum(loss), count, name="value")


def _num_present(losses: Tensor, weights: Tensor) -> Tensor:
    """How many losses have a weight that is not zero."""
    with name_scope(None, "num_present", [losses, weights]) as scope:
        present = new(
            "Select",
            condition=comparison.equal(weights, 0.0),
            t=constant.zeros_like(weights),
            e=constant.ones_like(weights),
        )
        present = _broadcast_weights(present, losses)
        return reduction.reduce_sum(present, name=scope)


def _broadcast_weights(weights: Tensor, values: Tensor) -> Tensor:
    with name_scope(None, "broadcast_weights", [weights, values]) as scope:
        if weights.shape.is_fully_defined() and weights.shape.sizes == values.shape.sizes:
            return weights
        with get_default_graph().control_dependencies([_check_broadcastable(weights, values)]):
            ones = constant.ones_like(values)
            return elementwise.multiply(weights, ones, name=scope)


def _check_broadcastable(weights: Any, values: Any) -> Operation:
    """An operation after which ``weights`` is known to broadcast to ``values``; ValueError if it does not."""
    with name_scope(None, "assert_broadcastable", [weights, values]) as scope:
        with name_scope(None, "weights", [weights]) as weights_scope:
            weights = convert_to_tensor(weights, name=weights_scope)
            array.shape(weights, name="shape")
            array.rank(weights, name="rank")
        with name_scope(None, "values", [values]) as values_scope:
            values = convert_to_tensor(values, name=values_scope)
            array.shape(values, name="shape")
            array.rank(values, name="rank")
        mine, theirs = weights.shape.sizes, values.shape.sizes
        if mine == ():
            return control.no_op(name="static_scalar_check_success")
        if mine is None or theirs is None:
            return control.no_op(name=scope)
        prefix = "weights can not be broadcast to values."
        if len(mine) != len(theirs):
            raise ValueError(
                f"{prefix} values.rank={len(theirs)}. weights.rank={len(mine)}. values.shape={values.shape}. "
                f"weights.shape={weights.shape}."
            )
        for axis, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            if a is not None and b is not None and a not in (1, b):
                raise ValueError(
                    f"{prefix} Mismatch at dim {axis}. values.shape={values.shape} weights.shape={weights.shape}."
                )
        return control.no_op(name="static_dims_check_success")


# Collections


def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Collects a loss."""
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Tensor]:
    """The losses collected, those whose names begin with a match of ``scope``."""
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Tensor]:
    """The losses that regularizers made."""
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of the losses that regularizers made."""
    losses = get_regularization_losses(scope)
    return elementwise.add_n(losses, name=name) if losses else constant.constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """The sum of all losses collected."""
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope)
    return elementwise.add_n(losses, name=name)


# Losses


def _compatible(predictions: Any, labels: Any) -> tuple[Tensor, Tensor]:
    """Both as float32; ValueError if their shapes differ."""
    predictions, labels = cast.cast(predictions, "float32"), cast.cast(labels, "float32")
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels


def _require(**values: Any) -> None:
    for name, value in values.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The mean of ``abs(predictions - labels)``."""
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "absolute_difference", [predictions, labels, weights]) as name:
        predictions, labels = _compatible(predictions, labels)
        losses = unary.abs(elementwise.subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The mean of ``(predictions - labels) ** 2``."""
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as name:
        predictions, labels = _compatible(predictions, labels)
        losses = elementwise.squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The mean of the negative log likelihood of ``labels`` between 0 and 1."""
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "log_loss", [predictions, labels, weights]) as name:
        predictions, labels = _compatible(predictions, labels)
        p: Any = predictions
        likely = unary.negative(elementwise.multiply(labels, unary.log(p + epsilon)))
        rest: Any = elementwise.multiply(1 - labels, unary.log(1 - p + epsilon))
        return compute_weighted_loss(likely - rest, weights, name, loss_collection, reduction)


def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The mean of ``max(0, 1 - logits)`` with the sign of each label, which is 0 or 1."""
    _require(labels=labels, logits=logits)
    with name_scope(scope, "hinge_loss", [logits, labels, weights]) as name:
        logits, labels = _compatible(logits, labels)
        ones = constant.ones_like(labels)
        labels = elementwise.subtract(2 * labels, ones)
        losses = new("Relu", features=elementwise.subtract(ones, elementwise.multiply(labels, logits)))
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The mean of half the squared errors up to ``delta``, growing in proportion above it."""
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "huber_loss", [predictions, labels, weights]) as name:
        predictions, labels = _compatible(predictions, labels)
        error = unary.abs(elementwise.subtract(predictions, labels))
        square = elementwise.minimum(error, delta)
        rest = elementwise.subtract(error, square)
        half = convert_to_tensor(0.5, square.dtype)
        losses = elementwise.add(
            elementwise.multiply(half, elementwise.multiply(square, square)),
            elementwise.multiply(delta, rest),
        )
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The mean of ``tf.nn.sigmoid_cross_entropy_with_logits``, labels moved towards 1/2 by ``label_smoothing``."""
    _require(multi_class_labels=multi_class_labels, logits=logits)
    with name_scope(scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels, weights]) as name:
        logits = convert_to_tensor(logits)
        labels: Any = cast.cast(multi_class_labels, logits.dtype.base_dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The mean of ``tf.nn.softmax_cross_entropy_with_logits_v2``, labels moved towards an even distribution."""
    _require(onehot_labels=onehot_labels, logits=logits)
    with name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]) as name:
        logits = convert_to_tensor(logits)
        labels: Any = cast.cast(onehot_labels, logits.dtype.base_dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            classes: Any = cast.cast(array.shape(labels)[1], logits.dtype.base_dtype)
            smooth = label_smoothing / classes
            labels = labels * (1.0 - label_smoothing) + smooth
        labels = array.stop_gradient(labels, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """The mean of ``tf.nn.sparse_softmax_cross_entropy_with_logits``; labels may have a last axis of size 1."""
    _require(labels=labels, logits=logits)
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as name:
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        weights = convert_to_tensor(weights)
        ranks = labels.shape.ndims, logits.shape.ndims
        if None not in ranks and ranks[0] == ranks[1] and labels.shape[-1].is_compatible_with(1):
            labels = array.squeeze(labels, [-1])
        losses = sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)
