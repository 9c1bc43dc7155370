"""``tf.metrics``: metrics that accumulate over several runs.

Each function returns two tensors: the value so far, and an operation that adds a batch and returns the new
value. The counts are local variables, which ``tf.local_variables_initializer()`` resets to zero.

    value, update = tf.metrics.accuracy(labels, predictions)

for every batch ``session.run(update)``, then ``session.run(value)``.

Source: tensorflow/python/ops/metrics_impl.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.dtypes import bool as bool_type
from gpuplace.dtypes import float32, float64, int64
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.array.gather import where
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.losses import broadcast_weights
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.check_ops import assert_rank_in, assert_type
from gpuplace.ops.math.comparison import equal, greater, logical_and, not_equal
from gpuplace.ops.math.confusion_matrix import confusion_matrix, remove_squeezable_dimensions
from gpuplace.ops.math.division import div
from gpuplace.ops.math.elementwise import div_no_nan, maximum, multiply, squared_difference
from gpuplace.ops.math.matrix import diag_part
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.math.unary import abs as magnitude
from gpuplace.ops.math.unary import sqrt
from gpuplace.ops.variables.state import assign_add
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.ops.variables.variables import Variable
from gpuplace.ops.variants import variant_of
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "accuracy", "false_negatives", "false_positives", "mean", "mean_absolute_error", "mean_iou", "mean_squared_error",
    "precision", "recall", "root_mean_squared_error", "true_negatives", "true_positives",
]  # fmt: skip

Metric = tuple[Tensor, Tensor]
Keys = Sequence[str] | str | None


def gathered(shape: list[int], dtype: DTypeLike, name: str) -> Any:
    """Return a local variable of zeros."""
    keys = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    return Variable(lambda: constant.zeros(shape, dtype), trainable=False, collections=keys, name=name)


def collected(value: Tensor, update: Tensor, metrics_collections: Keys, updates_collections: Keys) -> Metric:
    """Return a metric, with its two parts added to the collections of these keys."""
    for part, keys in ((value, metrics_collections), (update, updates_collections)):
        for key in [keys] if isinstance(keys, str) else keys or ():
            get_default_graph().add_to_collection(key, part)
    return value, update


def aligned(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Return tensors of equal rank, by removing or appending axes of size 1."""
    predictions = convert_to_tensor(predictions)
    if labels is not None:
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is None:
        return predictions, labels, None
    weights = convert_to_tensor(weights)
    mine, theirs = weights.shape.ndims, predictions.shape.ndims
    if mine == 0:
        return predictions, labels, weights
    if mine is None or theirs is None:
        return predictions, labels, _aligned_when_it_runs(weights, predictions)
    if mine - theirs == 1:
        weights = reshaping.squeeze(weights, [-1])
    elif theirs - mine == 1:
        weights = reshaping.expand_dims(weights, [-1])
    return predictions, labels, weights


def as_vector(tensor: Tensor) -> Tensor:
    """Return all elements as a vector.

    Args:
        tensor: a tensor of known rank.

    Raises:
        TypeError: the rank is unknown.
    """
    rank = tensor.get_shape().ndims
    if rank is None:
        raise TypeError(
            f"The rank of {tensor.name} is unknown. Set its known sizes: tensor.set_shape([None])"
        )
    return reshaping.reshape(tensor, [-1]) if rank > 1 else tensor


def _aligned_when_it_runs(weights: Tensor, predictions: Tensor) -> Tensor:
    """Return weights with the rank of the predictions, or a scalar."""
    rank: Any = reshaping.rank(weights)
    more = rank - reshaping.rank(predictions)
    last = None if weights.shape.ndims is None else weights.shape[-1].value

    def shorter() -> Tensor:
        return weights if last not in (None, 1) else reshaping.squeeze(weights, [-1])

    def longer() -> Tensor:
        return cond(equal(more, -1), lambda: reshaping.expand_dims(weights, [-1]), lambda: weights)

    def changed() -> Tensor:
        return cond(equal(more, 1), shorter, longer)

    return cond(equal(rank, 0), lambda: weights, changed)


def mean(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """Return the weighted mean of all values.

    >>> import gpuplace as tf
    >>> x = tf.placeholder(tf.float32, [None])
    >>> value, update = tf.metrics.mean(x)
    >>> session = tf.Session()
    >>> session.run(tf.local_variables_initializer())
    >>> [float(session.run(update, {x: batch})) for batch in ([1.0, 3.0], [8.0])]
    [2.0, 4.0]

    Args:
        values: numbers.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``mean``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the shape of the weights does not match.
    """
    scope_weights: Any = weights
    with variable_scope(name, "mean", [values, scope_weights]):
        numbers: Any = cast(values, float32)
        total, count = gathered([], float32, "total"), gathered([], float32, "count")
        if scope_weights is None:
            number = cast(reshaping.size(numbers), float32)
        else:
            numbers, _, scope_weights = aligned(numbers, None, scope_weights)
            share = broadcast_weights(cast(scope_weights, float32), numbers)
            numbers = multiply(numbers, share)
            number = reduce_sum(share)
        update_total = assign_add(total, reduce_sum(numbers))
        with get_default_graph().control_dependencies([numbers]):
            update_count = assign_add(count, number)
        value = div_no_nan(total, maximum(count, 0), name="value")
        update = div_no_nan(update_total, maximum(update_count, 0), name="update_op")
        return collected(value, update, metrics_collections, updates_collections)


def _average_of(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
    *,
    default_name: str = "",
    compare: Callable[[Any, Any], Tensor] = squared_difference,
) -> Metric:
    """Return the mean of a function of labels and predictions."""
    output, truth, share = aligned(predictions, labels, weights)
    return mean(compare(truth, output), share, metrics_collections, updates_collections, name or default_name)


def _is_right(truth: Tensor, output: Tensor) -> Tensor:
    if truth.dtype != output.dtype:
        output = cast(output, truth.dtype)
    return cast(equal(output, truth), float32)


def _error(truth: TensorLike, output: Any) -> Tensor:
    return magnitude(output - truth)


@variant_of(_average_of, default_name="accuracy", compare=_is_right)
def accuracy() -> None:
    """Return the fraction of predictions that equal the labels.

    Args:
        labels: the true values.
        predictions: of the same shape.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``accuracy``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the shapes do not match.
    """


@variant_of(_average_of, default_name="mean_absolute_error", compare=_error)
def mean_absolute_error() -> None:
    """Return the mean absolute difference.

    Args:
        labels: the true values, numbers.
        predictions: of the same dtype and shape.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``mean_absolute_error``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the shapes do not match.
    """


@variant_of(_average_of, default_name="mean_squared_error", compare=squared_difference)
def mean_squared_error() -> None:
    """Return the mean squared difference.

    Args:
        labels: the true values, numbers.
        predictions: of the same dtype and shape.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``mean_squared_error``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the shapes do not match.
    """


def root_mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """Return the root of ``mean_squared_error``.

    Args:
        labels: the true values, numbers.
        predictions: of the same dtype and shape.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``root_mean_squared_error``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the shapes do not match.
    """
    output, truth, share = aligned(predictions, labels, weights)
    value, update = mean_squared_error(truth, output, share, None, None, name or "root_mean_squared_error")
    return collected(sqrt(value), sqrt(update), metrics_collections, updates_collections)


def _count_pairs(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
    *,
    scope: str = "",
    label: bool = True,
    prediction: bool = True,
) -> Metric:
    """Return the number of elements with this label and this prediction."""
    arguments: list[Any] = [predictions, labels, weights]
    with variable_scope(name, scope, arguments):
        predictions, labels, weights = aligned(cast(predictions, bool_type), cast(labels, bool_type), weights)
        matches = logical_and(equal(labels, label), equal(predictions, prediction))
        assert_type(matches, bool_type)
        count = gathered([], float32, "count")
        values = cast(matches, float32)
        if weights is not None:
            fits = assert_rank_in(weights, (0, reshaping.rank(values)))
            with get_default_graph().control_dependencies([fits]):
                values = multiply(values, cast(weights, float32))
        value = reshaping.identity(count)
        update = assign_add(count, reduce_sum(values))
        return collected(value, update, metrics_collections, updates_collections)


@variant_of(_count_pairs, scope="true_positives")
def true_positives() -> None:
    """Return the number of true predictions whose label is true.

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, cast to bool.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``true_positives``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the shapes do not match.
    """


@variant_of(_count_pairs, scope="false_positives", label=False)
def false_positives() -> None:
    """Return the number of true predictions whose label is false.

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, cast to bool.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``false_positives``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the shapes do not match.
    """


@variant_of(_count_pairs, scope="true_negatives", label=False, prediction=False)
def true_negatives() -> None:
    """Return the number of false predictions whose label is false.

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, cast to bool.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``true_negatives``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the shapes do not match.
    """


@variant_of(_count_pairs, scope="false_negatives", prediction=False)
def false_negatives() -> None:
    """Return the number of false predictions whose label is true.

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, cast to bool.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``false_negatives``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the shapes do not match.
    """


def _ratio_of_counts(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
    *,
    scope: str = "",
    other: Callable[..., Metric] = mean,
) -> Metric:
    """Return the ratio of true positives to their sum with another count."""
    arguments: list[Any] = [predictions, labels, weights]
    with variable_scope(name, scope, arguments):
        predictions, labels, weights = aligned(cast(predictions, bool_type), cast(labels, bool_type), weights)
        right, update_right = true_positives(labels, predictions, weights)
        wrong, update_wrong = other(labels, predictions, weights)

        def share(one: Any, two: Any, called: str) -> Tensor:
            return where(greater(one + two, 0), div(one, one + two), 0, called)

        value = share(right, wrong, "value")
        update = share(update_right, update_wrong, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


@variant_of(_ratio_of_counts, scope="precision", other=false_positives)
def precision() -> None:
    """Return the fraction of true predictions whose label is true.

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, cast to bool.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``precision``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the shapes do not match.
    """


@variant_of(_ratio_of_counts, scope="recall", other=false_negatives)
def recall() -> None:
    """Return the fraction of true labels that are predicted.

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, cast to bool.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``recall``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the shapes do not match.
    """


def mean_iou(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """Return the mean over classes of intersection over union.

    Args:
        labels: the true classes, integers.
        predictions: of the same shape.
        num_classes: number of classes.
        weights: a weight for each element; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``mean_iou``, made unique.

    Returns:
        The value so far, and an operation that adds this batch to the confusion matrix and returns that.

    Raises:
        ValueError: the shapes do not match.
    """
    values: Any = [predictions, labels, weights]
    with variable_scope(name, "mean_iou", values):
        output, truth = values[:2]
        output.get_shape().assert_is_compatible_with(truth.get_shape())
        matrix = gathered([num_classes, num_classes], float64, "total_confusion_matrix")
        output, truth = cast(output, int64), cast(truth, int64)
        count = cast(num_classes, int64)

        output, truth = as_vector(output), as_vector(truth)
        share = None if weights is None else as_vector(values[2])
        batch = confusion_matrix(truth, output, count, dtype=float64, weights=share)
        update = assign_add(matrix, batch)
        rows = cast(reduce_sum(matrix, 0), float32)
        columns = cast(reduce_sum(matrix, 1), float32)
        both = cast(diag_part(matrix), float32)
        union: Any = rows + columns - both
        valid = reduce_sum(cast(not_equal(union, 0), float32))
        union = where(greater(union, 0), union, constant.ones_like(union))
        shares = div(both, union)
        value = where(greater(valid, 0), reduce_sum(shares, name="mean_iou") / valid, 0)
        return collected(value, update, metrics_collections, updates_collections)
