"""``tf.losses``: weighted losses, reduced to one number and collected.

    values --> * weights --> Sum --> / num_present  (the number of elements whose weight is not zero)

Source: tensorflow/python/ops/losses/losses_impl.py, losses/util.py and weights_broadcast_ops.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.array.gather import where
from gpuplace.ops.array.joining import concat
from gpuplace.ops.distribute.contexts import LOSS_REDUCTION
from gpuplace.ops.flow import control
from gpuplace.ops.flow.assert_and_print import Assert
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.math import cast, comparison, elementwise, reduction, unary
from gpuplace.ops.math import reduction as sums
from gpuplace.ops.math.confusion_matrix import remove_squeezable_dimensions
from gpuplace.ops.nn.entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from gpuplace.ops.sparse.sets import set_difference
from gpuplace.ops.support import new
from gpuplace.typing import TensorLike

__all__ = [
    "Reduction",
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "cosine_distance",
    "get_losses",
    "get_regularization_loss",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "huber_loss",
    "log_loss",
    "mean_pairwise_squared_error",
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
        """Return the reduction names."""
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
        """Check a reduction name.

        Args:
            key: the name.

        Raises:
            ValueError: the name is unknown.
        """
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


# Weighting


def compute_weighted_loss(
    losses: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Weight ``losses``, reduce them and collect the result.

    Args:
        losses: numbers of any shape; computed in float32.
        weights: a number, or a tensor of the rank of ``losses`` with sizes of 1 or those of ``losses``.
        scope: name scope; None: ``weighted_loss``.
        loss_collection: name of the collection to add the result to, or None.
        reduction: one of ``Reduction``. The default divides the sum by the number of non-zero weights.

    Returns:
        A scalar of the dtype of ``losses``; for ``Reduction.NONE`` a tensor of their shape.

    Raises:
        ValueError: ``weights`` does not broadcast, or the reduction is unknown.
    """
    Reduction.validate(reduction)
    get_default_graph().attached[LOSS_REDUCTION] = reduction
    with name_scope(scope, "weighted_loss", [losses, weights]):
        check = assert_broadcastable(weights, losses)
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


def _reduced(weighted: Tensor, losses: Tensor, weights: Tensor, method: str) -> Tensor:
    if method == Reduction.NONE:
        return weighted
    loss = reduction.reduce_sum(weighted)
    if method == Reduction.MEAN:
        return _mean(loss, reduction.reduce_sum(constant.ones_like(losses) * weights))
    if method == Reduction.SUM_BY_NONZERO_WEIGHTS:
        return _mean(loss, _num_present(losses, weights))
    if method == Reduction.SUM_OVER_BATCH_SIZE:
        with name_scope(None, "num_elements") as scope:
            count = cast.cast(reshaping.size(losses, name=scope), "float32")
        return _mean(loss, count)
    return loss


def _mean(loss: Tensor, count: Tensor) -> Tensor:
    return elementwise.div_no_nan(reduction.reduce_sum(loss), count, name="value")


def _num_present(losses: Tensor, weights: Tensor, per_batch: bool = False) -> Tensor:
    """Return the number of losses with a non-zero weight, in total or per row."""
    with name_scope(None, "num_present", [losses, weights]) as scope:
        present = new(
            "Select",
            condition=comparison.equal(weights, 0.0),
            t=constant.zeros_like(weights),
            e=constant.ones_like(weights),
        )
        present = broadcast_weights(present, losses)
        if per_batch:
            return reduction.reduce_sum(present, _all_but_first(present), keepdims=True, name=scope)
        return reduction.reduce_sum(present, name=scope)


def _all_but_first(values: Tensor) -> Tensor:
    """Return the axes of ``values`` except the first, as an integer vector."""
    return constant.range(1, reshaping.rank(values))


def broadcast_weights(weights: TensorLike, values: TensorLike) -> Tensor:
    """Broadcast weights to the shape of ``values``.

    Args:
        weights: numbers.
        values: the tensor to weight.
    """
    with name_scope(None, "broadcast_weights", [weights, values]) as scope:
        values = convert_to_tensor(values, name="values")
        weights = convert_to_tensor(weights, dtype=values.dtype.base_dtype, name="weights")
        if weights.shape.is_fully_defined() and weights.shape.sizes == values.shape.sizes:
            return weights
        with get_default_graph().control_dependencies([assert_broadcastable(weights, values)]):
            ones = constant.ones_like(values)
            return elementwise.multiply(weights, ones, name=scope)


def assert_broadcastable(weights: Any, values: Any) -> Operation:
    """Return an operation that asserts that ``weights`` broadcasts to ``values``; raise ValueError if it cannot."""
    with name_scope(None, "assert_broadcastable", [weights, values]) as scope:
        with name_scope(None, "weights", [weights]) as weights_scope:
            weights = convert_to_tensor(weights, name=weights_scope)
            weights_shape = reshaping.shape(weights, name="shape")
            weights_rank = reshaping.rank(weights, name="rank")
        with name_scope(None, "values", [values]) as values_scope:
            values = convert_to_tensor(values, name=values_scope)
            values_shape = reshaping.shape(values, name="shape")
            values_rank = reshaping.rank(values, name="rank")
        weight_sizes, value_sizes = weights.shape.sizes, values.shape.sizes
        prefix = "weights can not be broadcast to values."
        if weight_sizes is not None and value_sizes is not None:
            if not weight_sizes:
                return control.no_op(name="static_scalar_check_success")
            if len(weight_sizes) != len(value_sizes):
                raise ValueError(
                    f"{prefix} values.rank={len(value_sizes)}. weights.rank={len(weight_sizes)}. "
                    f"values.shape={values.shape}. weights.shape={weights.shape}."
                )
            if None not in weight_sizes + value_sizes:
                _check_sizes(weight_sizes, value_sizes, prefix)
                return control.no_op(name="static_dims_check_success")
        is_scalar = comparison.equal(0, weights_rank, name="is_scalar")
        is_valid = cond(
            is_scalar,
            lambda: is_scalar,
            lambda: _has_valid_shape(weights_rank, weights_shape, values_rank, values_shape),
            name="is_valid_shape",
        )
        data = [
            *(prefix, "weights.shape=", weights.name, weights_shape),
            *("values.shape=", values.name, values_shape, "is_scalar=", is_scalar),
        ]
        return Assert(is_valid, data, name=scope)


def _has_valid_shape(weights_rank: Any, weights_shape: Any, values_rank: Any, values_shape: Any) -> Tensor:
    """Return whether the ranks are equal and each size of the weights is 1 or the values' size."""
    inputs = [weights_rank, weights_shape, values_rank, values_shape]
    with name_scope(None, "has_valid_nonscalar_shape", inputs) as scope:
        is_same_rank = comparison.equal(values_rank, weights_rank, name="is_same_rank")
        return cond(
            is_same_rank,
            lambda: _has_valid_sizes(weights_shape, values_shape),
            lambda: is_same_rank,
            name=scope,
        )


def _has_valid_sizes(weights_shape: Any, values_shape: Any) -> Tensor:
    with name_scope(None, "has_invalid_dims", [weights_shape, values_shape]) as scope:
        sizes = reshaping.expand_dims(values_shape, -1)
        valid = concat([sizes, constant.ones_like(sizes)], axis=1)
        invalid = set_difference(reshaping.expand_dims(weights_shape, -1), valid)
        return comparison.equal(0, reshaping.size(invalid.values, name="num_invalid_dims"), name=scope)


def _check_sizes(weights: Any, values: Any, prefix: str) -> None:
    """Raise ValueError if static sizes of the weights do not broadcast."""
    for axis, (weight_size, value_size) in enumerate(zip(weights, values, strict=True)):
        if weight_size not in (1, value_size):
            shapes = (f"[{' '.join(map(str, sizes))}]" for sizes in (values, weights))  # NumPy's format
            raise ValueError(
                f"{prefix} Mismatch at dim {axis}. values.shape={next(shapes)} weights.shape={next(shapes)}."
            )


# Collections


def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Add a loss to a collection.

    Args:
        loss: the loss, a scalar.
        loss_collection: name of the collection; None: do nothing.
    """
    if loss_collection:
        get_default_graph().add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Tensor]:
    """Return the collected losses.

    Args:
        scope: a regular expression that matches the start of the losses' names; None: all.
        loss_collection: name of the collection.

    Returns:
        A list of tensors.
    """
    return get_default_graph().get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Tensor]:
    """Return the regularization losses.

    Args:
        scope: a regular expression that matches the start of the losses' names; None: all.

    Returns:
        A list of tensors.
    """
    return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """Return the sum of the regularization losses.

    Args:
        scope: a regular expression that matches the start of the losses' names; None: all.
        name: name of the operation that sums the losses.

    Returns:
        A scalar; a float32 zero if there are no regularization losses.

    Raises:
        TypeError: the losses differ in dtype.
        ValueError: the losses differ in shape.
    """
    losses = get_regularization_losses(scope)
    return elementwise.add_n(losses, name=name) if losses else constant.constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """Return the sum of all collected losses.

    Args:
        add_regularization_losses: whether to include regularization losses.
        name: name of the operation that sums the losses.
        scope: a regular expression that matches the start of the losses' names; None: all.

    Returns:
        A scalar.

    Raises:
        TypeError: the losses differ in dtype.
        ValueError: there is no loss, or the losses differ in shape.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope)
    return elementwise.add_n(losses, name=name)


# Losses


def _compatible(predictions: TensorLike, labels: TensorLike) -> tuple[Tensor, Tensor]:
    """Return both tensors as float32; raise ValueError if their shapes differ."""
    predictions, labels = cast.cast(predictions, "float32"), cast.cast(labels, "float32")
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels


def _require(**values: Any) -> None:
    for name, value in values.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


def _without_last_axis(weights: Tensor, labels: Tensor) -> Tensor:
    """Drop the last axis of ``weights``, of size 1, if ``weights`` has one axis more than ``labels``."""
    rank, label_rank = weights.shape.ndims, labels.shape.ndims
    if rank is not None and label_rank is not None:
        return reshaping.squeeze(weights, [-1]) if rank - label_rank == 1 else weights
    more = reshaping.rank(weights) - reshaping.rank(labels)
    if rank == 0 or rank is not None and not weights.shape[-1].is_compatible_with(1):
        return weights
    return cond(comparison.equal(1, more), lambda: reshaping.squeeze(weights, [-1]), lambda: weights)


def absolute_difference(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the mean of ``abs(predictions - labels)``.

    Args:
        labels: numbers of any shape, cast to float32.
        predictions: numbers of the same shape, cast to float32.
        weights: a number, or a tensor of the rank of ``labels`` with sizes of 1 or those of ``labels``.
        scope: name scope; None: ``absolute_difference``.
        loss_collection: name of the collection to add the loss to, or None.
        reduction: one of ``Reduction``. The default divides the sum by the number of non-zero weights.

    Returns:
        A float32 scalar; for ``Reduction.NONE`` a tensor of the shape of ``labels``.

    Raises:
        ValueError: ``labels`` or ``predictions`` is None, the shapes do not match, ``weights`` does not broadcast, or
            the reduction is unknown.
    """
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "absolute_difference", [predictions, labels, weights]) as name:
        predictions, labels = _compatible(predictions, labels)
        losses = unary.abs(elementwise.subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the mean of ``(predictions - labels) ** 2``.

    >>> import gpuplace as tf
    >>> float(tf.Session().run(tf.losses.mean_squared_error([1.0, 2.0], [1.0, 4.0])))
    2.0

    Args:
        labels: numbers of any shape, cast to float32.
        predictions: numbers of the same shape, cast to float32.
        weights: a number, or a tensor of the rank of ``labels`` with sizes of 1 or those of ``labels``.
        scope: name scope; None: ``mean_squared_error``.
        loss_collection: name of the collection to add the loss to, or None.
        reduction: one of ``Reduction``. The default divides the sum by the number of non-zero weights.

    Returns:
        A float32 scalar; for ``Reduction.NONE`` a tensor of the shape of ``labels``.

    Raises:
        ValueError: ``labels`` or ``predictions`` is None, the shapes do not match, ``weights`` does not broadcast, or
            the reduction is unknown.
    """
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as name:
        predictions, labels = _compatible(predictions, labels)
        losses = elementwise.squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def log_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the mean negative log likelihood of ``labels`` between 0 and 1.

    Args:
        labels: probabilities of any shape, cast to float32.
        predictions: probabilities of the same shape, cast to float32.
        weights: a number, or a tensor of the rank of ``labels`` with sizes of 1 or those of ``labels``.
        epsilon: a number added to each probability before its logarithm.
        scope: name scope; None: ``log_loss``.
        loss_collection: name of the collection to add the loss to, or None.
        reduction: one of ``Reduction``. The default divides the sum by the number of non-zero weights.

    Returns:
        A float32 scalar; for ``Reduction.NONE`` a tensor of the shape of ``labels``.

    Raises:
        ValueError: ``labels`` or ``predictions`` is None, the shapes do not match, ``weights`` does not broadcast, or
            the reduction is unknown.
    """
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "log_loss", [predictions, labels, weights]) as name:
        predictions, labels = _compatible(predictions, labels)
        p: Any = predictions
        likely = unary.negative(elementwise.multiply(labels, unary.log(p + epsilon)))
        rest: Any = elementwise.multiply(1 - labels, unary.log(1 - p + epsilon))
        return compute_weighted_loss(likely - rest, weights, name, loss_collection, reduction)


def hinge_loss(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the mean of ``max(0, 1 - sign * logits)``, where the sign is 1 for label 1 and -1 for label 0.

    Args:
        labels: zeros and ones of any shape, cast to float32.
        logits: numbers of the same shape, cast to float32.
        weights: a number, or a tensor of the rank of ``labels`` with sizes of 1 or those of ``labels``.
        scope: name scope; None: ``hinge_loss``.
        loss_collection: name of the collection to add the loss to, or None.
        reduction: one of ``Reduction``. The default divides the sum by the number of non-zero weights.

    Returns:
        A float32 scalar; for ``Reduction.NONE`` a tensor of the shape of ``labels``.

    Raises:
        ValueError: ``labels`` or ``logits`` is None, the shapes do not match, ``weights`` does not broadcast, or the
            reduction is unknown.
    """
    _require(labels=labels, logits=logits)
    with name_scope(scope, "hinge_loss", [logits, labels, weights]) as name:
        logits, labels = _compatible(logits, labels)
        ones = constant.ones_like(labels)
        labels = elementwise.subtract(2 * labels, ones)
        losses = new("Relu", features=elementwise.subtract(ones, elementwise.multiply(labels, logits)))
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def huber_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the mean Huber loss: half the squared error up to ``delta``, linear above.

    Args:
        labels: numbers of any shape, cast to float32.
        predictions: numbers of the same shape, cast to float32.
        weights: a number, or a tensor of the rank of ``labels`` with sizes of 1 or those of ``labels``.
        delta: the error above which the loss is linear, a Python float.
        scope: name scope; None: ``huber_loss``.
        loss_collection: name of the collection to add the loss to, or None.
        reduction: one of ``Reduction``. The default divides the sum by the number of non-zero weights.

    Returns:
        A float32 scalar; for ``Reduction.NONE`` a tensor of the shape of ``labels``.

    Raises:
        ValueError: ``labels`` or ``predictions`` is None, the shapes do not match, ``weights`` does not broadcast, or
            the reduction is unknown.
    """
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
    multi_class_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the mean of ``tf.nn.sigmoid_cross_entropy_with_logits``.

    Args:
        multi_class_labels: probabilities from 0 to 1, of the shape of ``logits``; cast to its dtype.
        logits: float16, bfloat16, float32 or float64, of any shape.
        weights: a number, or a tensor of the rank of ``logits`` with sizes of 1 or those of ``logits``.
        label_smoothing: how far to move labels towards 1/2, from 0 to 1.
        scope: name scope; None: ``sigmoid_cross_entropy_loss``.
        loss_collection: name of the collection to add the loss to, or None.
        reduction: one of ``Reduction``. The default divides the sum by the number of non-zero weights.

    Returns:
        A scalar of the dtype of ``logits``; for ``Reduction.NONE`` a tensor of the shape of ``logits``.

    Raises:
        TypeError: ``logits`` does not have a floating-point type.
        ValueError: ``multi_class_labels`` or ``logits`` is None, the shapes do not match, ``weights`` does not
            broadcast, or the reduction is unknown.
    """
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
    onehot_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the mean of ``tf.nn.softmax_cross_entropy_with_logits_v2``, without a gradient for the labels.

    Args:
        onehot_labels: probabilities that sum to 1 along the last axis, ``[batch, classes]``; cast to the dtype of
            ``logits``.
        logits: float16, bfloat16, float32 or float64, ``[batch, classes]``.
        weights: a number, or a tensor of the rank of the losses with sizes of 1 or those of the losses.
        label_smoothing: how far to move labels towards a uniform distribution, from 0 to 1.
        scope: name scope; None: ``softmax_cross_entropy_loss``.
        loss_collection: name of the collection to add the loss to, or None.
        reduction: one of ``Reduction``. The default divides the sum by the number of non-zero weights.

    Returns:
        A scalar of the dtype of ``logits``; for ``Reduction.NONE`` a tensor of the shape of the losses, ``[batch]``.

    Raises:
        TypeError: ``logits`` does not have a floating-point type.
        ValueError: ``onehot_labels`` or ``logits`` is None, the shapes do not match, ``weights`` does not broadcast,
            or the reduction is unknown.
    """
    _require(onehot_labels=onehot_labels, logits=logits)
    with name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]) as name:
        logits = convert_to_tensor(logits)
        labels: Any = cast.cast(onehot_labels, logits.dtype.base_dtype)
        logits.shape.assert_is_compatible_with(labels.shape)
        if label_smoothing > 0:
            classes: Any = cast.cast(reshaping.shape(labels)[1], logits.dtype.base_dtype)
            smooth = label_smoothing / classes
            labels = labels * (1.0 - label_smoothing) + smooth
        labels = reshaping.stop_gradient(labels, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the mean of ``tf.nn.sparse_softmax_cross_entropy_with_logits``.

    Args:
        labels: class indices, int32 or int64, ``[batch, ...]``; a last axis of size 1 is dropped.
        logits: float16, bfloat16, float32 or float64, ``[batch, ..., classes]``.
        weights: a number, or a tensor of the rank of the losses with sizes of 1 or those of the losses.
        scope: name scope; None: ``sparse_softmax_cross_entropy_loss``.
        loss_collection: name of the collection to add the loss to, or None.
        reduction: one of ``Reduction``. The default divides the sum by the number of non-zero weights.

    Returns:
        A scalar of the dtype of ``logits``; for ``Reduction.NONE`` a tensor of the shape of the losses, ``[batch,
        ...]``.

    Raises:
        TypeError: ``labels`` is not int32 or int64, or ``logits`` does not have a floating-point type.
        ValueError: ``labels`` or ``logits`` is None, the shapes do not match, ``weights`` does not broadcast, or the
            reduction is unknown.
        InvalidArgumentError: at run time, a class index is out of range.
    """
    _require(labels=labels, logits=logits)
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as name:
        truth, scores = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
        weights = _without_last_axis(convert_to_tensor(weights), truth)
        losses = sparse_softmax_cross_entropy_with_logits(labels=truth, logits=scores, name="xentropy")
        return compute_weighted_loss(losses, weights, name, loss_collection, reduction)


def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim: int | None = None,
) -> Tensor:
    """Return the mean of one minus the cosine similarity of unit vectors.

    Args:
        labels: unit vectors along ``axis``, cast to float32.
        predictions: unit vectors of the same shape, cast to float32.
        axis: the axis of the vectors.
        weights: a number, or a tensor of the rank of ``labels`` with sizes of 1 or those of ``labels``, and of 1
            along ``axis``.
        scope: name scope; None: ``cosine_distance_loss``.
        loss_collection: name of the collection to add the loss to, or None.
        reduction: one of ``Reduction``. The default divides the sum by the number of non-zero weights.
        dim: deprecated name of ``axis``.

    Returns:
        A float32 scalar; for ``Reduction.NONE`` a tensor of the shape of ``labels``, of size 1 along the axis.

    Raises:
        ValueError: ``axis``, ``labels`` or ``predictions`` is None, the shapes do not match, ``weights`` does not
            broadcast, or the reduction is unknown.
    """
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'dim' and 'axis'")
    along = dim if axis is None else axis
    if along is None:
        raise ValueError("You must specify 'axis'.")
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as name:
        predictions, labels = _compatible(predictions, labels)
        cosines: Any = sums.reduce_sum(
            elementwise.multiply(predictions, labels), axis=(along,), keepdims=True
        )
        return compute_weighted_loss(1 - cosines, weights, name, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """Return the sum over rows of the mean squared difference between the errors of any two elements of a row.

    Args:
        labels: numbers, ``[batch, ...]``, cast to float32.
        predictions: numbers of the same shape, cast to float32.
        weights: a number, or a tensor that broadcasts to one number per row.
        scope: name scope; None: ``mean_pairwise_squared_error``.
        loss_collection: name of the collection to add the loss to, or None.

    Returns:
        A float32 scalar.

    Raises:
        ValueError: ``labels`` or ``predictions`` is None, the shapes do not match, or ``weights`` does not broadcast.
    """
    _require(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        share: Any = cast.cast(weights, "float32")
        predictions, labels = cast.cast(predictions, "float32"), cast.cast(labels, "float32")
        with get_default_graph().control_dependencies([assert_broadcastable(share, labels)]):
            predictions.shape.assert_is_compatible_with(labels.shape)
            errors = elementwise.subtract(predictions, labels)
            axes = _all_but_first(errors)
            squares = sums.reduce_sum(unary.square(errors), axes, keepdims=True)
            count: Any = _num_present(errors, share, per_batch=True)

            def mean(total: Tensor, pairs: Any) -> Any:
                return 2.0 * elementwise.div_no_nan(total, elementwise.maximum(pairs, 0), name="value")

            of_squares = mean(squares, count - 1)
            total = sums.reduce_sum(errors, axes, keepdims=True)
            of_sums = mean(unary.square(total), elementwise.multiply(count, count - 1))
            loss = sums.reduce_sum(elementwise.multiply(of_squares - of_sums, share))
            is_weighted = comparison.greater(sums.reduce_sum(count), 0)
            result = where(is_weighted, loss, constant.zeros_like(loss), name="value")
            add_loss(result, loss_collection)
            return result
