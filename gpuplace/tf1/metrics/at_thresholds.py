"""Metrics of ``tf.metrics`` that compare predictions with thresholds: areas under curves, precision, sensitivity.

Every metric is computed from four counts for each threshold::

    predictions > threshold, labels  -->  true_positives, false_negatives, true_negatives, false_positives

Source: tensorflow/python/ops/metrics_impl.py, release 1.15.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.dtypes import bool as bool_type
from gpuplace.dtypes import float32, int32, int64
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.array.gather import where
from gpuplace.ops.array.joining import stack
from gpuplace.ops.array.padding import tile
from gpuplace.ops.array.positions import argmax, argmin
from gpuplace.ops.array.running import cumsum
from gpuplace.ops.losses import broadcast_weights
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.check_ops import assert_greater_equal, assert_less_equal
from gpuplace.ops.math.comparison import equal, greater, logical_and, logical_not
from gpuplace.ops.math.division import div
from gpuplace.ops.math.elementwise import div_no_nan, maximum, minimum, multiply
from gpuplace.ops.math.reduction import reduce_min, reduce_sum
from gpuplace.ops.math.unary import abs as magnitude
from gpuplace.ops.math.unary import log
from gpuplace.ops.variables.state import assign_add
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.ops.variants import variant_of
from gpuplace.tf1.metrics.metrics import Keys, Metric, aligned, collected, gathered
from gpuplace.typing import TensorLike

__all__ = [
    "auc", "false_negatives_at_thresholds", "false_positives_at_thresholds", "precision_at_thresholds",
    "recall_at_thresholds", "sensitivity_at_specificity", "specificity_at_sensitivity", "true_negatives_at_thresholds",
    "true_positives_at_thresholds",
]  # fmt: skip

_BESIDE = 1e-7
"""Distance of the outermost thresholds from 0 and 1; also keeps quotients finite."""
_SMALL = 1e-6
"""Keeps the quotients of areas finite."""

_COUNTS = {
    "tp": ("true_positives", True, True),
    "fn": ("false_negatives", True, False),
    "tn": ("true_negatives", False, False),
    "fp": ("false_positives", False, True),
}
"""Short name -> name of the variable, whether the label is true, and whether the prediction is above the threshold."""

Counts = dict[str, Any]


def _counts(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any,
    selected: Sequence[str] = tuple(_COUNTS),
) -> tuple[Counts, Counts]:
    """Return the counts so far, and the operations that add a batch and return the new counts."""
    with get_default_graph().control_dependencies(
        [
            check(predictions, cast(bound, predictions.dtype), message="predictions must be in [0, 1]")
            for check, bound in ((assert_greater_equal, 0.0), (assert_less_equal, 1.0))
        ]
    ):
        predictions, labels, weights = aligned(cast(predictions, float32), cast(labels, bool_type), weights)
    column = reshaping.reshape(predictions, [-1, 1])
    row = reshaping.reshape(cast(labels, bool_type), [1, -1])
    number = len(thresholds)
    static_count = column.shape[0].value
    length = reshaping.shape(column)[0] if static_count is None else static_count
    limits = tile(reshaping.expand_dims(constant.constant(thresholds), [1]), stack([1, length]))
    times = [number, 1]
    above = greater(tile(reshaping.transpose(column), times), limits)
    predicted = {True: above}
    if any(not _COUNTS[key][2] for key in selected):
        predicted[False] = logical_not(above)
    truth = {True: tile(row, times)}
    if any(not _COUNTS[key][1] for key in selected):
        truth[False] = logical_not(truth[True])
    shares = None
    if weights is not None:
        weights = broadcast_weights(cast(weights, float32), predictions)
        shares = tile(reshaping.reshape(weights, [1, -1]), times)
    values, updates = {}, {}
    for key, (name, label, prediction) in _COUNTS.items():
        if key in selected:
            values[key] = gathered([number], float32, name)
            hits: Any = cast(logical_and(truth[label], predicted[prediction]), float32)
            if shares is not None:
                hits = hits * shares
            updates[key] = assign_add(values[key], reduce_sum(hits, 1))
    return values, updates


def _even_thresholds(number: int, last: float) -> list[float]:
    """Return thresholds: the first below 0, the last at ``last``, the others evenly spaced between 0 and 1."""
    return [-_BESIDE, *((index + 1) / (number - 1) for index in range(number - 2)), last]


def _number(counts: Counts, called: str) -> Any:
    """Return the only count."""
    [number] = counts.values()
    return reshaping.identity(number) if called == "value" else number


def _ratio(name: str) -> Callable[[Counts, str], Tensor]:
    """Return a function that computes the ratio of true positives to their sum with another count."""

    def share(counts: Counts, called: str) -> Tensor:
        right, wrong = counts.values()
        return div(right, _BESIDE + right + wrong, name=f"{name}_{called}")

    return share


def _metric(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
    *,
    scope: str = "",
    selected: Sequence[str] = tuple(_COUNTS),
    of: Callable[[Counts, str], Any] = _number,
) -> Metric:
    """Return a metric that a function computes from the counts."""
    arguments: list[Any] = [labels, predictions, weights]
    with variable_scope(name, scope, arguments):
        # A list has no dtype: TensorFlow rejects it here, with Python's AttributeError.
        scores = convert_to_tensor(arguments[1], arguments[1].dtype)
        now, added = _counts(labels, scores, thresholds, weights, selected)
        value, update = of(now, "value"), of(added, "update_op")
        return collected(value, update, metrics_collections, updates_collections)


def auc(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Metric:
    """Return the area under a curve over all thresholds.

    >>> import gpuplace as tf
    >>> value, update = tf.metrics.auc([0, 0, 1, 1], tf.constant([0.1, 0.4, 0.35, 0.8]))
    >>> session = tf.Session()
    >>> session.run(tf.local_variables_initializer())
    >>> round(float(session.run(update)), 3)
    0.75

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, between 0 and 1.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        num_thresholds: number of points on the curve.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        curve: ``"ROC"`` (true positive rate over false positive rate) or ``"PR"`` (precision over recall).
        name: name of the variable scope; None for ``auc``, made unique.
        summation_method: ``"trapezoidal"``, ``"minoring"`` or ``"majoring"`` (the lower or the higher end of
            each interval), or, for ``"PR"``, ``"careful_interpolation"``.
        thresholds: thresholds between 0 and 1, in place of evenly spaced ones.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the curve or method is unknown, or the shapes do not match.
        InvalidArgumentError: at run time, a prediction is not between 0 and 1.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    if thresholds is None:
        limits = _even_thresholds(num_thresholds, 1 + _BESIDE)
    else:
        limits = [-_BESIDE, *sorted(thresholds), 1 + _BESIDE]

    def area(counts: Counts, called: str) -> Tensor:
        return _area(counts, called, curve, summation_method)

    rest = (weights, metrics_collections, updates_collections, name)
    return _metric(labels, predictions, limits, *rest, scope="auc", of=area)


def _area(counts: Counts, called: str, curve: str, method: str) -> Tensor:
    tp, fn, tn, fp = (counts[key] for key in ("tp", "fn", "tn", "fp"))
    last = tp.shape[0].value - 1
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated(tp, fp, fn, last)
    if curve == "PR" and method == "trapezoidal":
        warnings.warn(
            "the trapezoidal rule gives wrong areas under precision-recall curves: use "
            "summation_method='careful_interpolation'",
            stacklevel=5,
        )
    recall = div(tp + _SMALL, tp + fn + _SMALL)
    if curve == "ROC":
        x, y = div(fp, fp + tn + _SMALL), recall
    else:
        x, y = recall, div(tp + _SMALL, tp + fp + _SMALL)
    heights: dict[str, Callable[[], Any]] = {
        "trapezoidal": lambda: (y[:last] + y[1:]) / 2.0,
        "minoring": lambda: minimum(y[:last], y[1:]),
        "majoring": lambda: maximum(y[:last], y[1:]),
    }
    heights["careful_interpolation"] = heights["trapezoidal"]
    if method not in heights:
        raise ValueError(f"Invalid summation_method: {method}")
    return reduce_sum(multiply(x[:last] - x[1:], heights[method]()), name=called)


def _interpolated(tp: Any, fp: Any, fn: Any, last: int) -> Tensor:
    """Return the integral of Davis and Goadrich, The relationship between precision-recall and ROC curves, section 4.

    Within an interval the true positives grow linearly with all positives, so the integral of precision over
    recall is ``slope * (growth + intercept * log(positives_a / positives_b)) / all labels``.
    """
    growth = tp[:last] - tp[1:]
    positives = tp + fp
    slope: Any = div_no_nan(growth, maximum(positives[:last] - positives[1:], 0), name="prec_slope")
    intercept = tp[1:] - multiply(slope, positives[1:])
    both = logical_and(positives[:last] > 0, positives[1:] > 0)
    ratio = div_no_nan(positives[:last], maximum(positives[1:], 0), name="recall_relative_ratio")
    ratio = where(both, ratio, constant.ones_like(positives[1:]))
    area = slope * (growth + intercept * log(ratio))
    pieces = div_no_nan(area, maximum(tp[1:] + fn[1:], 0), name="pr_auc_increment")
    return reduce_sum(pieces, name="interpolate_pr_auc")


def sensitivity_at_specificity(
    labels: TensorLike,
    predictions: TensorLike,
    specificity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """Return the sensitivity at the threshold that gives a specificity.

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, between 0 and 1.
        specificity: the fraction of false labels to be rejected, between 0 and 1.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        num_thresholds: number of thresholds to try.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``sensitivity_at_specificity``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the fraction is not between 0 and 1, or the shapes do not match.
        InvalidArgumentError: at run time, a prediction is not between 0 and 1.
    """
    if specificity < 0 or specificity > 1:
        raise ValueError("`specificity` must be in the range [0, 1].")

    def sensitivity(counts: Counts, called: str) -> Tensor:
        tp, fn, tn, fp = (counts[key] for key in ("tp", "fn", "tn", "fp"))
        shares: Any = div(tn, tn + fp + _BESIDE)
        nearest = cast(argmin(magnitude(shares - specificity), 0), int32)
        return div(tp[nearest], tp[nearest] + fn[nearest] + _BESIDE, called)

    limits = _even_thresholds(num_thresholds, 1 + _BESIDE)
    rest = (weights, metrics_collections, updates_collections, name)
    return _metric(labels, predictions, limits, *rest, scope="sensitivity_at_specificity", of=sensitivity)


def specificity_at_sensitivity(
    labels: TensorLike,
    predictions: TensorLike,
    sensitivity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """Return the specificity at the highest threshold that gives a sensitivity.

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, between 0 and 1.
        sensitivity: the fraction of true labels to be found, between 0 and 1.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        num_thresholds: number of thresholds to try.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``specificity_at_sensitivity``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the fraction is not between 0 and 1, or the shapes do not match.
        InvalidArgumentError: at run time, a prediction is not between 0 and 1.
    """
    if sensitivity < 0 or sensitivity > 1:
        raise ValueError("`sensitivity` must be in the range [0, 1].")

    def specificity(counts: Counts, called: str) -> Tensor:
        tp, fn, tn, fp = (counts[key] for key in ("tp", "fn", "tn", "fp"))
        shares: Any = div(tp, tp + fn + _BESIDE)
        least = reduce_min(magnitude(shares - sensitivity))
        nearest = cast(equal(magnitude(shares - sensitivity), least), int64)
        last = cast(argmax(cumsum(nearest), 0), int32)  # among thresholds that are equally near
        return div(tn[last], tn[last] + fp[last] + _BESIDE, called)

    limits = _even_thresholds(num_thresholds, 1 - _BESIDE)
    rest = (weights, metrics_collections, updates_collections, name)
    return _metric(labels, predictions, limits, *rest, scope="specificity_at_sensitivity", of=specificity)


@variant_of(_metric, scope="precision_at_thresholds", selected=("tp", "fp"), of=_ratio("precision"))
def precision_at_thresholds() -> None:
    """Return, for each threshold, the fraction of predictions above it that are correct.

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, between 0 and 1.
        thresholds: numbers between 0 and 1; predictions above them count as true.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``precision_at_thresholds``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32, one for each
        threshold.

    Raises:
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, a prediction is not between 0 and 1.
    """


@variant_of(_metric, scope="recall_at_thresholds", selected=("tp", "fn"), of=_ratio("recall"))
def recall_at_thresholds() -> None:
    """Return, for each threshold, the fraction of true labels whose prediction is above it.

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, between 0 and 1.
        thresholds: numbers between 0 and 1; predictions above them count as true.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``recall_at_thresholds``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32, one for each
        threshold.

    Raises:
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, a prediction is not between 0 and 1.
    """


@variant_of(_metric, scope="true_positives", selected=("tp",), of=_number)
def true_positives_at_thresholds() -> None:
    """Return, for each threshold, the number of predictions above it whose label is true.

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, between 0 and 1.
        thresholds: numbers between 0 and 1; predictions above them count as true.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``true_positives``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32, one for each
        threshold.

    Raises:
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, a prediction is not between 0 and 1.
    """


@variant_of(_metric, scope="false_positives", selected=("fp",), of=_number)
def false_positives_at_thresholds() -> None:
    """Return, for each threshold, the number of predictions above it whose label is false.

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, between 0 and 1.
        thresholds: numbers between 0 and 1; predictions above them count as true.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``false_positives``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32, one for each
        threshold.

    Raises:
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, a prediction is not between 0 and 1.
    """


@variant_of(_metric, scope="true_negatives", selected=("tn",), of=_number)
def true_negatives_at_thresholds() -> None:
    """Return, for each threshold, the number of predictions not above it whose label is false.

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, between 0 and 1.
        thresholds: numbers between 0 and 1; predictions above them count as true.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``true_negatives``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32, one for each
        threshold.

    Raises:
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, a prediction is not between 0 and 1.
    """


@variant_of(_metric, scope="false_negatives", selected=("fn",), of=_number)
def false_negatives_at_thresholds() -> None:
    """Return, for each threshold, the number of predictions not above it whose label is true.

    Args:
        labels: the true values, cast to bool.
        predictions: of the same shape, between 0 and 1.
        thresholds: numbers between 0 and 1; predictions above them count as true.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``false_negatives``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32, one for each
        threshold.

    Raises:
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, a prediction is not between 0 and 1.
    """
