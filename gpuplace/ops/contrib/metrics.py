"""``tf.contrib.metrics``: those of ``tf.metrics`` under their older names, with predictions before labels.

Source: tensorflow/contrib/metrics/python/ops/metric_ops.py and metrics/classification.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuplace.dtypes import float32
from gpuplace.dtypes import string as string_type
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops import metrics, metrics_at_k, metrics_at_thresholds
from gpuplace.ops.array.constant import ones_like
from gpuplace.ops.math import cast, comparison
from gpuplace.ops.math.division import div
from gpuplace.ops.math.elementwise import multiply
from gpuplace.ops.math.reduction import reduce_mean, reduce_sum
from gpuplace.typing import TensorLike

__all__ = [
    "accuracy", "aggregate_metric_map", "aggregate_metrics", "streaming_accuracy", "streaming_auc",
    "streaming_false_negatives", "streaming_false_positives", "streaming_mean", "streaming_mean_absolute_error",
    "streaming_mean_iou", "streaming_mean_squared_error", "streaming_precision", "streaming_precision_at_thresholds",
    "streaming_recall", "streaming_recall_at_thresholds", "streaming_root_mean_squared_error",
    "streaming_sensitivity_at_specificity", "streaming_sparse_precision_at_k", "streaming_sparse_recall_at_k",
    "streaming_specificity_at_sensitivity", "streaming_true_negatives", "streaming_true_positives",
]  # fmt: skip

Metric = tuple[Tensor, Tensor]
"""The value, and the op that updates it, whose result is the new value."""


def accuracy(
    predictions: Tensor, labels: Tensor, weights: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """The share of predictions that are right, of this batch.

    Args:
        predictions: classes.
        labels: the true ones, of the same type and shape: integers, booleans or strings.
        weights: a weight for each; None: 1.
        name: name of the ops' scope.

    Returns:
        A float32 scalar.

    Raises:
        ValueError: a type is not supported, or the types differ.
    """
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    if not (labels.dtype.is_integer or labels.dtype.is_bool or labels.dtype == string_type):
        raise ValueError(f"Labels should have bool, integer, or string dtype, not {labels.dtype!r}")
    if not labels.dtype.is_compatible_with(predictions.dtype):
        raise ValueError(
            "Dtypes of predictions and labels should match. Given: predictions "
            f"({predictions.dtype!r}) and labels ({labels.dtype!r})"
        )
    with name_scope(name, "accuracy", [predictions, labels]):
        right = cast.cast(comparison.equal(predictions, labels), float32)
        if weights is None:
            return reduce_mean(right)
        right = multiply(right, weights)
        counted = multiply(weights, ones_like(right))
        return div(reduce_sum(right), reduce_sum(counted))


def aggregate_metrics(*value_update_tuples: Metric) -> tuple[list[Tensor], list[Tensor]]:
    """Values and updates of several metrics.

    Args:
        *value_update_tuples: what the metrics gave.

    Raises:
        ValueError: there are none.
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    return [value for value, _ in value_update_tuples], [update for _, update in value_update_tuples]


def aggregate_metric_map(
    names_to_tuples: Mapping[str, Metric],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Values and updates of several metrics, by their names.

    Args:
        names_to_tuples: name to what the metric gave.
    """
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    return values, {name: update for name, (_, update) in names_to_tuples.items()}


def streaming_mean(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.mean``.

    Args:
        values: numbers.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics.mean(values, weights, metrics_collections, updates_collections, name)


def streaming_accuracy(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.accuracy``.

    Args:
        predictions: as there.
        labels: the true ones.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics.accuracy(
        labels,
        predictions,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_precision(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.precision``.

    Args:
        predictions: as there.
        labels: the true ones.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics.precision(
        labels,
        predictions,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_recall(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.recall``.

    Args:
        predictions: as there.
        labels: the true ones.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics.recall(
        labels,
        predictions,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_true_positives(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.true_positives``.

    Args:
        predictions: as there.
        labels: the true ones.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics.true_positives(
        labels,
        predictions,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_true_negatives(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.true_negatives``.

    Args:
        predictions: as there.
        labels: the true ones.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics.true_negatives(
        labels,
        predictions,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_false_positives(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.false_positives``.

    Args:
        predictions: as there.
        labels: the true ones.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics.false_positives(
        labels,
        predictions,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_false_negatives(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.false_negatives``.

    Args:
        predictions: as there.
        labels: the true ones.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics.false_negatives(
        labels,
        predictions,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_mean_absolute_error(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.mean_absolute_error``.

    Args:
        predictions: as there.
        labels: the true ones.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics.mean_absolute_error(
        labels,
        predictions,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_mean_squared_error(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.mean_squared_error``.

    Args:
        predictions: as there.
        labels: the true ones.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics.mean_squared_error(
        labels,
        predictions,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_root_mean_squared_error(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.root_mean_squared_error``.

    Args:
        predictions: as there.
        labels: the true ones.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics.root_mean_squared_error(
        labels,
        predictions,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_mean_iou(
    predictions: TensorLike,
    labels: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.mean_iou``.

    Args:
        predictions: as there.
        labels: the true ones.
        num_classes: the number of classes.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics.mean_iou(
        labels,
        predictions,
        num_classes=num_classes,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_auc(
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
) -> Metric:
    """``tf.metrics.auc``.

    Args:
        predictions: as there.
        labels: the true ones.
        weights: a weight for each; None: 1.
        num_thresholds: how many thresholds the curve has.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        curve: ``ROC`` or ``PR``.
        name: name of the scope.
    """
    return metrics_at_thresholds.auc(
        labels,
        predictions,
        weights=weights,
        num_thresholds=num_thresholds,
        curve=curve,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_specificity_at_sensitivity(
    predictions: TensorLike,
    labels: TensorLike,
    sensitivity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.specificity_at_sensitivity``.

    Args:
        predictions: as there.
        labels: the true ones.
        sensitivity: the sensitivity, from 0 to 1.
        weights: a weight for each; None: 1.
        num_thresholds: how many thresholds the curve has.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics_at_thresholds.specificity_at_sensitivity(
        labels,
        predictions,
        sensitivity=sensitivity,
        weights=weights,
        num_thresholds=num_thresholds,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_sensitivity_at_specificity(
    predictions: TensorLike,
    labels: TensorLike,
    specificity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.sensitivity_at_specificity``.

    Args:
        predictions: as there.
        labels: the true ones.
        specificity: the specificity, from 0 to 1.
        weights: a weight for each; None: 1.
        num_thresholds: how many thresholds the curve has.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics_at_thresholds.sensitivity_at_specificity(
        labels,
        predictions,
        specificity=specificity,
        weights=weights,
        num_thresholds=num_thresholds,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_precision_at_thresholds(
    predictions: TensorLike,
    labels: TensorLike,
    thresholds: Any,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.precision_at_thresholds``.

    Args:
        predictions: as there.
        labels: the true ones.
        thresholds: numbers from 0 to 1, each of which makes classes of predictions.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics_at_thresholds.precision_at_thresholds(
        labels,
        predictions,
        thresholds=thresholds,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_recall_at_thresholds(
    predictions: TensorLike,
    labels: TensorLike,
    thresholds: Any,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.recall_at_thresholds``.

    Args:
        predictions: as there.
        labels: the true ones.
        thresholds: numbers from 0 to 1, each of which makes classes of predictions.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics_at_thresholds.recall_at_thresholds(
        labels,
        predictions,
        thresholds=thresholds,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_sparse_recall_at_k(
    predictions: TensorLike,
    labels: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.recall_at_k``.

    Args:
        predictions: as there.
        labels: the true ones.
        k: how many of the best classes count.
        class_id: the one class that counts; None: all.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics_at_k.recall_at_k(
        labels,
        predictions,
        k=k,
        class_id=class_id,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )


def streaming_sparse_precision_at_k(
    predictions: TensorLike,
    labels: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Metric:
    """``tf.metrics.precision_at_k``.

    Args:
        predictions: as there.
        labels: the true ones.
        k: how many of the best classes count.
        class_id: the one class that counts; None: all.
        weights: a weight for each; None: 1.
        metrics_collections: where the value is collected.
        updates_collections: where the update is collected.
        name: name of the scope.
    """
    return metrics_at_k.precision_at_k(
        labels,
        predictions,
        k=k,
        class_id=class_id,
        weights=weights,
        metrics_collections=metrics_collections,
        updates_collections=updates_collections,
        name=name,
    )
