"""``tf.contrib.metrics``: ``tf.metrics`` under older names, with predictions before labels.

Source: tensorflow/contrib/metrics/python/ops/metric_ops.py and metrics/classification.py, release 1.15.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.dtypes import float32
from gpuplace.dtypes import string as string_type
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import ones_like
from gpuplace.ops.math import cast, comparison
from gpuplace.ops.math.division import div
from gpuplace.ops.math.elementwise import multiply
from gpuplace.ops.math.reduction import reduce_mean, reduce_sum
from gpuplace.tf1.metrics import at_k as metrics_at_k
from gpuplace.tf1.metrics import at_thresholds as metrics_at_thresholds
from gpuplace.tf1.metrics import metrics
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
"""The value, and the update op, which returns the new value."""


def accuracy(
    predictions: Tensor, labels: Tensor, weights: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """Return the fraction of correct predictions in this batch.

    Args:
        predictions: classes.
        labels: the true classes, of the same dtype and shape: integers, booleans or strings.
        weights: weights of the predictions; None: 1.
        name: name of the ops' scope.

    Returns:
        A float32 scalar.

    Raises:
        ValueError: a dtype is not supported, or the dtypes differ.
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
    """Return the values and the updates of several metrics.

    Args:
        *value_update_tuples: results of metrics.

    Raises:
        ValueError: there are no metrics.
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    return [value for value, _ in value_update_tuples], [update for _, update in value_update_tuples]


def aggregate_metric_map(
    names_to_tuples: Mapping[str, Metric],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return the values and the updates of several metrics by name.

    Args:
        names_to_tuples: name -> result of the metric.
    """
    values = {name: value for name, (value, _) in names_to_tuples.items()}
    return values, {name: update for name, (_, update) in names_to_tuples.items()}


def _predictions_first(metric: Callable[..., Metric], name: str = "") -> Callable[..., Metric]:
    """Return a metric of ``tf.metrics`` under its older name, with predictions before labels.

    Args:
        metric: the function, whose docstring describes the arguments.
        name: the older name; "": ``streaming_`` plus the current name.
    """
    labels, predictions, *rest = inspect.signature(metric).parameters.values()
    signature = inspect.Signature([predictions, labels, *rest])

    def function(*args: Any, **kwargs: Any) -> Metric:
        return metric(**signature.bind(*args, **kwargs).arguments)

    function.__doc__ = metric.__doc__
    function.__name__ = function.__qualname__ = name or f"streaming_{metric.__name__}"
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


streaming_mean = metrics.mean
streaming_accuracy = _predictions_first(metrics.accuracy)
streaming_precision = _predictions_first(metrics.precision)
streaming_recall = _predictions_first(metrics.recall)
streaming_true_positives = _predictions_first(metrics.true_positives)
streaming_true_negatives = _predictions_first(metrics.true_negatives)
streaming_false_positives = _predictions_first(metrics.false_positives)
streaming_false_negatives = _predictions_first(metrics.false_negatives)
streaming_mean_absolute_error = _predictions_first(metrics.mean_absolute_error)
streaming_mean_squared_error = _predictions_first(metrics.mean_squared_error)
streaming_root_mean_squared_error = _predictions_first(metrics.root_mean_squared_error)
streaming_mean_iou = _predictions_first(metrics.mean_iou)
streaming_auc = _predictions_first(metrics_at_thresholds.auc)
streaming_specificity_at_sensitivity = _predictions_first(metrics_at_thresholds.specificity_at_sensitivity)
streaming_sensitivity_at_specificity = _predictions_first(metrics_at_thresholds.sensitivity_at_specificity)
streaming_precision_at_thresholds = _predictions_first(metrics_at_thresholds.precision_at_thresholds)
streaming_recall_at_thresholds = _predictions_first(metrics_at_thresholds.recall_at_thresholds)
streaming_sparse_recall_at_k = _predictions_first(metrics_at_k.recall_at_k, "streaming_sparse_recall_at_k")
streaming_sparse_precision_at_k = _predictions_first(
    metrics_at_k.precision_at_k, "streaming_sparse_precision_at_k"
)
