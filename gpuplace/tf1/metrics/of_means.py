"""Metrics of ``tf.metrics`` based on means: cosine distance, relative error, percentages, per-element means, accuracy.

Source: tensorflow/python/ops/metrics_impl.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import float32, int64
from gpuplace.graph.convert import get_default_graph
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.array.gather import where
from gpuplace.ops.losses import broadcast_weights
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import equal, less
from gpuplace.ops.math.confusion_matrix import remove_squeezable_dimensions
from gpuplace.ops.math.division import div
from gpuplace.ops.math.elementwise import div_no_nan, maximum, multiply, subtract
from gpuplace.ops.math.reduction import reduce_mean, reduce_sum
from gpuplace.ops.math.unary import abs as magnitude
from gpuplace.ops.variables.state import assign_add, scatter_add
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.tf1.metrics.metrics import (
    Keys,
    Metric,
    aligned,
    as_vector,
    collected,
    gathered,
    mean,
)
from gpuplace.typing import TensorLike

__all__ = [
    "mean_cosine_distance", "mean_per_class_accuracy", "mean_relative_error", "mean_tensor", "percentage_below",
]  # fmt: skip


def mean_cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    dim: int,
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """Return one minus the mean cosine between vectors of length 1.

    Args:
        labels: the true values, vectors along one axis.
        predictions: of the same dtype and shape.
        dim: the axis.
        weights: a weight for each vector, of size 1 along that axis, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``mean_cosine_distance``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the shapes do not match.
    """
    output, truth, share = aligned(predictions, labels, weights)
    cosines = reduce_sum(multiply(output, truth), axis=[dim], keepdims=True)
    similar, update_similar = mean(cosines, share, None, None, name or "mean_cosine_distance")
    value, update = subtract(1.0, similar), subtract(1.0, update_similar)
    return collected(value, update, metrics_collections, updates_collections)


def mean_relative_error(
    labels: TensorLike,
    predictions: TensorLike,
    normalizer: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """Return the mean absolute difference relative to a normalizer; zero where that is zero.

    Args:
        labels: the true values, numbers.
        predictions: of the same dtype and shape.
        normalizer: the divisors of the differences, of the same dtype and shape.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``mean_relative_error``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the shapes do not match.
    """
    output, truth, share = aligned(predictions, labels, weights)
    output, divisor = remove_squeezable_dimensions(output, normalizer)
    output.shape.assert_is_compatible_with(divisor.shape)
    errors = where(equal(divisor, 0.0), constant.zeros_like(truth), div(magnitude(truth - output), divisor))
    return mean(errors, share, metrics_collections, updates_collections, name or "mean_relative_error")


def percentage_below(
    values: TensorLike,
    threshold: float,
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """Return the weighted fraction, from 0 to 1, of values below a threshold.

    Args:
        values: numbers.
        threshold: the threshold.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``percentage_below_threshold``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float32 scalars.

    Raises:
        ValueError: the shape of the weights does not match.
    """
    below = cast(less(values, threshold), float32)
    return mean(
        below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold"
    )


def mean_tensor(
    values: TensorLike,
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """Return the weighted mean of each element over all batches.

    Args:
        values: numbers, of one known shape in all batches.
        weights: a weight for each prediction, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``mean``, made unique.

    Returns:
        The values so far, and the update, which returns them including this batch; float32, of the shape of
        ``values``.

    Raises:
        ValueError: the shape of the weights does not match.
    """
    scoped: list[Any] = [values, weights]
    with variable_scope(name, "mean", scoped):
        numbers: Any = cast(values, float32)
        if not numbers.shape.is_fully_defined():
            raise ValueError(
                f"mean_tensor keeps a mean for each element and needs the full shape, not {numbers.shape}."
                " Set it: values.set_shape([4, 3])"
            )
        sizes = numbers.shape.as_list()
        total, count = gathered(sizes, float32, "total_tensor"), gathered(sizes, float32, "count_tensor")
        number: Any = constant.ones_like(numbers)
        if weights is not None:
            numbers, _, element_weights = aligned(numbers, None, weights)
            share = broadcast_weights(cast(element_weights, float32), numbers)
            numbers, number = multiply(numbers, share), multiply(number, share)
        update_total = assign_add(total, numbers)
        with get_default_graph().control_dependencies([numbers]):
            update_count = assign_add(count, number)
        value = div_no_nan(total, maximum(count, 0), name="value")
        update = div_no_nan(update_total, maximum(update_count, 0), name="update_op")
        return collected(value, update, metrics_collections, updates_collections)


def mean_per_class_accuracy(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: int,
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """Return the mean over classes of the fraction of a class's labels that are predicted.

    Args:
        labels: the true classes, integers from 0 to ``num_classes - 1``.
        predictions: of the same shape.
        num_classes: number of classes.
        weights: a weight for each element; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the variable scope; None for ``mean_accuracy``, made unique.

    Returns:
        The mean so far, a float32 scalar, and an operation that adds this batch and returns the fraction for
        each class.

    Raises:
        ValueError: the shapes do not match.
    """
    values: list[Any] = [predictions, labels, weights]
    with variable_scope(name, "mean_accuracy", values):
        truth: Any = cast(labels, int64)
        output: Any = predictions
        truth, output = as_vector(truth), as_vector(output)
        output.get_shape().assert_is_compatible_with(truth.get_shape())
        total, count = gathered([num_classes], float32, "total"), gathered([num_classes], float32, "count")
        labeled: Any = constant.ones([reshaping.size(truth)], float32)
        if truth.dtype != output.dtype:
            output = cast(output, truth.dtype)
        right: Any = cast(equal(output, truth), float32)
        if weights is not None:
            share = cast(as_vector(values[2]), float32)
            right, labeled = right * share, labeled * share
        update_total = scatter_add(total, truth, labeled)
        update_count = scatter_add(count, truth, right)
        shares = div_no_nan(count, maximum(total, 0))
        value = reduce_mean(shares, name="mean_accuracy")
        update = div_no_nan(update_count, maximum(update_total, 0), name="update_op")
        return collected(value, update, metrics_collections, updates_collections)
