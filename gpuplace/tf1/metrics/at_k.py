"""Metrics of ``tf.metrics`` about the ``k`` classes with the highest scores.

    scores --top_k--> classes, labels --sets--> true_positive, false_positive, false_negative --> precision, recall

Source: tensorflow/python/ops/metrics_impl.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import float64, int64
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import reshaping
from gpuplace.ops.array.constant import fill, ones_like, zeros_like
from gpuplace.ops.array.gather import where_v2
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.padding import tile
from gpuplace.ops.array.running import cumsum
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.losses import assert_broadcastable, broadcast_weights
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import equal, greater_equal
from gpuplace.ops.math.division import div
from gpuplace.ops.math.elementwise import add, div_no_nan, minimum, multiply
from gpuplace.ops.math.reduction import reduce_max, reduce_sum, reduced_shape
from gpuplace.ops.nn.misc import top_k
from gpuplace.ops.sparse.sets import set_difference, set_intersection, set_size
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue, to_sparse
from gpuplace.ops.variables.state import assign_add
from gpuplace.ops.variants import variant_of
from gpuplace.tf1.metrics.metrics import Keys, Metric, collected, gathered
from gpuplace.tf1.sparse.rearranging import sparse_concat, sparse_reshape
from gpuplace.tf1.sparse.sparse_ops import sparse_retain
from gpuplace.typing import TensorLike

__all__ = [
    "average_precision_at_k",
    "precision_at_k",
    "precision_at_top_k",
    "recall_at_k",
    "recall_at_top_k",
    "sparse_average_precision_at_k",
    "sparse_precision_at_k",
]


def _named(name: str, k: int | None, class_id: int | None) -> str:
    full_name = f"{name}_at_k" if k is None else "%s_at_%d" % (name, k)  # noqa: UP031 - refuses what is no number
    return full_name if class_id is None else "%s_class%d" % (full_name, class_id)  # noqa: UP031


def _converted(ids: Any) -> Any:
    return to_sparse(ids) if isinstance(ids, (SparseTensor, SparseTensorValue)) else convert_to_tensor(ids)


def _expanded(labels: Any, predictions: Any) -> Any:
    """Return labels whose last axis holds the labels of one example; add this axis if it is missing."""
    with name_scope(None, "expand_labels", [labels, predictions]) as scope:
        labels = _converted(labels)
        if isinstance(labels, SparseTensor):
            is_lower = equal(reshaping.rank(predictions), reshaping.size(labels.dense_shape) + 1)
            return _sparse_expanded(labels, is_lower, scope)
        mine, theirs = labels.get_shape().ndims, predictions.get_shape().ndims
        if mine is not None and theirs is not None:
            if mine == theirs:
                return labels
            if theirs == mine + 1:
                return reshaping.expand_dims(labels, -1, name=scope)
            raise ValueError(
                f"Unexpected labels shape {labels.shape} for predictions shape {predictions.shape}."
            )
        return cond(
            equal(reshaping.rank(predictions), reshaping.rank(labels) + 1),
            lambda: reshaping.expand_dims(labels, -1, name=scope),
            lambda: labels,
        )


def _sparse_expanded(labels: SparseTensor, is_lower: Any, scope: str) -> Any:
    def parts(sparse: SparseTensor) -> list[Any]:
        return [sparse.indices, sparse.values, sparse.dense_shape]

    shape: Any = labels.dense_shape
    expanded = cond(
        is_lower,
        lambda: parts(sparse_reshape(labels, concat([shape, [1]], 0), name=scope)),
        lambda: parts(labels),
    )
    return SparseTensor(*expanded)


def _of_class(ids: TensorLike, class_id: int) -> SparseTensor:
    """Return the ids that are this class."""
    ids = _converted(ids)
    if isinstance(ids, SparseTensor):
        return sparse_retain(ids, equal(ids.values, class_id))
    sizes = reshaping.shape(ids, out_type=int64)
    last: Any = reshaping.size(sizes) - 1
    class_ids = fill(reduced_shape(sizes, reshaping.reshape(last, [1])), cast(class_id, int64))
    matches = set_intersection(class_ids, ids)
    return SparseTensor(matches.indices, matches.values, sizes)


def _count(
    kind: str, labels: Any, predictions: Any, k: int | None, class_id: int | None, weights: Any
) -> tuple[Any, Any]:
    """Return the number of true positives, false positives or false negatives: so far, and with this batch."""
    with name_scope(None, _named(kind, k, class_id), [predictions, labels, weights]) as scope:
        with name_scope(None, f"{kind}s", [predictions, labels, weights]):
            if class_id is not None:
                labels, predictions = _of_class(labels, class_id), _of_class(predictions, class_id)
            if kind == "true_positive":
                sets = set_intersection(predictions, labels)
            else:
                sets = set_difference(predictions, labels, aminusb=kind == "false_positive")
            number: Any = cast(set_size(sets), float64)
            if weights is not None:
                with get_default_graph().control_dependencies([assert_broadcastable(weights, number)]):
                    number = multiply(number, cast(weights, float64))
        total = cast(reduce_sum(number), float64)
        count = gathered([], float64, scope)
        return count, assign_add(count, total, name="update")


def _ratio(
    labels: TensorLike | SparseTensor | SparseTensorValue,
    predictions_idx: TensorLike,
    k: int | None = None,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
    *,
    kind: str = "",
    other: str = "",
) -> Metric:
    """Return the ratio of true positives to their sum with another count."""
    with name_scope(name, _named(kind, k, class_id), [predictions_idx, labels, weights]) as scope:
        labels = _expanded(labels, predictions_idx)
        class_ids = cast(predictions_idx, int64)
        right, right_update = _count("true_positive", labels, class_ids, k, class_id, weights)
        wrong, wrong_update = _count(other, labels, class_ids, k, class_id, weights)
        value = div(right, add(right, wrong), name=scope)
        update = div(right_update, add(right_update, wrong_update), name="update")
        return collected(value, update, metrics_collections, updates_collections)


def _ratio_of_scores(
    labels: TensorLike | SparseTensor | SparseTensorValue,
    predictions: TensorLike,
    k: int,
    class_id: int | None = None,
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
    *,
    kind: str = "",
    other: str = "",
) -> Metric:
    with name_scope(name, _named(kind, k, class_id), [predictions, labels, weights]) as scope:
        rest = (k, class_id, weights, metrics_collections, updates_collections, scope)
        return _ratio(labels, top_k(predictions, k)[1], *rest, kind=kind, other=other)


@variant_of(_ratio_of_scores, kind="precision", other="false_positive")
def precision_at_k() -> None:
    """Return the fraction of the best classes that are among the labels.

    Args:
        labels: the true classes, int64: one or several for each example, or a sparse tensor of them.
        predictions: scores, ``[..., classes]``.
        k: number of classes with the highest scores to consider.
        class_id: the only class to consider; None for all.
        weights: a weight for each example, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the scope; None for ``precision_at_`` and ``k``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float64 scalars.

    Raises:
        ValueError: the shapes do not match.
    """


@variant_of(_ratio, kind="precision", other="false_positive")
def precision_at_top_k() -> None:
    """Return the fraction of given classes that are among the labels.

    Args:
        labels: the true classes, int64: one or several for each example, or a sparse tensor of them.
        predictions_idx: ``[..., k]``, the classes.
        k: number of these classes, used only for names.
        class_id: the only class to consider; None for all.
        weights: a weight for each example, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the scope; None for ``precision_at_`` and ``k``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float64 scalars.

    Raises:
        ValueError: the shapes do not match.
    """


@variant_of(_ratio_of_scores, kind="recall", other="false_negative")
def recall_at_k() -> None:
    """Return the fraction of labels that are among the best classes.

    Args:
        labels: the true classes, int64: one or several for each example, or a sparse tensor of them.
        predictions: scores, ``[..., classes]``.
        k: number of classes with the highest scores to consider.
        class_id: the only class to consider; None for all.
        weights: a weight for each example, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the scope; None for ``recall_at_`` and ``k``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float64 scalars.

    Raises:
        ValueError: the shapes do not match.
    """


@variant_of(_ratio, kind="recall", other="false_negative")
def recall_at_top_k() -> None:
    """Return the fraction of labels that are among given classes.

    Args:
        labels: the true classes, int64: one or several for each example, or a sparse tensor of them.
        predictions_idx: ``[..., k]``, the classes.
        k: number of these classes, used only for names.
        class_id: the only class to consider; None for all.
        weights: a weight for each example, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the scope; None for ``recall_at_`` and ``k``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float64 scalars.

    Raises:
        ValueError: the shapes do not match.
    """


def _without_unknown(labels: Any, predictions: TensorLike) -> Any:
    """Replace labels beyond the number of classes with -1, which is not a class."""
    classes = cast(reshaping.shape(predictions)[-1], int64)

    def known(values: Tensor) -> Tensor:
        return where_v2(greater_equal(values, classes), -1 * ones_like(values), values)

    def cleaned() -> Any:
        if not isinstance(labels, SparseTensor):
            return known(labels)
        return SparseTensor(labels.indices, known(labels.values), labels.dense_shape)

    values = labels.values if isinstance(labels, SparseTensor) else labels
    return cond(reduce_max(values) >= classes, cleaned, lambda: labels)


def _for_each_rank(labels: TensorLike, k: int) -> Any:
    """Repeat labels ``[..., labels]`` for each rank: ``[..., k, labels]``."""
    with name_scope(None, "labels_per_k", [labels]) as scope:
        if not isinstance(labels, SparseTensor):
            with_axis = reshaping.expand_dims(labels, -2, name="expand")
            ones = ones_like(reshaping.shape(labels))
            return tile(with_axis, concat([ones[:-1], [k], ones[-1:]], 0, name="multiples"), name=scope)
        shape: Any = labels.dense_shape
        sparse = sparse_reshape(labels, concat([shape[:-1], [1], shape[-1:]], 0))
        return sparse_concat(-2, [sparse] * k) if k > 1 else sparse


def _number_of_labels(labels: TensorLike, k: int) -> Tensor:
    """Return how many labels of each example can be found: those that are valid classes, at most ``k``."""
    with name_scope(None, "num_relevant", [labels]) as scope:
        if isinstance(labels, SparseTensor):
            return minimum(set_size(labels), k, name=scope)
        is_class = where_v2(greater_equal(labels, 0), ones_like(labels), zeros_like(labels))
        return minimum(reduce_sum(is_class, -1), k, name=scope)


def _average_precision(labels: TensorLike, classes: Tensor) -> Tensor:
    """Return for each example the mean of the precisions down to the ranks of the correct classes."""
    with name_scope(None, "average_precision", [classes, labels]) as scope:
        classes = cast(classes, int64, name="predictions_idx")
        sizes = classes.shape.sizes
        if sizes == ():
            raise ValueError("The rank of predictions_idx must be at least 1.")
        k = None if sizes is None else sizes[-1]
        if k is None:
            raise ValueError("The last dimension of predictions_idx must be set.")
        labels = _expanded(labels, classes)
        predicted = reshaping.expand_dims(classes, -1, name="predictions_idx_per_k")
        repeated = _for_each_rank(labels, k)
        with name_scope("relevant_per_k"):
            right = cast(set_size(set_intersection(predicted, repeated)), float64)
        right_so_far = cumsum(right, -1, name="tp_per_k")
        so_far = cumsum(ones_like(right), -1, name="retrieved_per_k")
        precision = div(right_so_far, so_far, name="precision_per_k")
        relevant = multiply(precision, right, name="relevant_precision_per_k")
        total = reduce_sum(relevant, [-1], name="precision_sum")
        return div(total, cast(_number_of_labels(labels, k), float64), name=scope)


def average_precision_at_k(
    labels: TensorLike | SparseTensor | SparseTensorValue,
    predictions: TensorLike,
    k: int,
    weights: TensorLike | None = None,
    metrics_collections: Keys = None,
    updates_collections: Keys = None,
    name: str | None = None,
) -> Metric:
    """Return the mean over the examples of the average precision of their best classes.

    For one example it is the sum of the precisions down to each rank up to ``k`` whose class is among the
    labels, divided by ``k`` or, if that is smaller, by the number of labels that are not negative.

    Args:
        labels: the true classes, int64: one or several for each example, or a sparse tensor of them.
        predictions: scores, ``[..., classes]``.
        k: number of classes with the highest scores to consider.
        weights: a weight for each example, or fewer that broadcast; None for 1.
        metrics_collections: collections for the value.
        updates_collections: collections for the update.
        name: name of the scope; None for ``average_precision_at_`` and ``k``, made unique.

    Returns:
        The value so far, and the update, which returns it including this batch; float64 scalars.

    Raises:
        ValueError: ``k`` is below 1, or the shapes do not match.
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}.")
    with name_scope(name, _named("average_precision", k, None), [predictions, labels, weights]) as scope:
        highest = top_k(predictions, k)[1]
        precisions: Any = _average_precision(_without_unknown(_converted(labels), predictions), highest)
        example_weights = None
        if weights is not None:
            example_weights = broadcast_weights(cast(weights, float64), precisions)
            precisions = multiply(precisions, example_weights)
        with name_scope(None, "max", [precisions]) as part:
            greatest = gathered([], float64, part)
            number: Any = (
                cast(reshaping.size(precisions, name="batch_max"), float64)
                if example_weights is None
                else reduce_sum(example_weights, name="batch_max")
            )
            greatest_update = assign_add(greatest, number, name="update")
        with name_scope(None, "total", [precisions]) as part:
            total = gathered([], float64, part)
            total_update = assign_add(total, reduce_sum(precisions, name="batch_total"), name="update")
        value = div_no_nan(total, greatest, name="mean")
        return collected(
            value,
            div_no_nan(total_update, greatest_update, name=scope),
            metrics_collections,
            updates_collections,
        )


def sparse_average_precision_at_k(*args: Any, **kwargs: Any) -> Metric:
    """Call ``average_precision_at_k``, under its former name.

    Args:
        *args: its arguments.
        **kwargs: its keyword arguments.
    """
    return average_precision_at_k(*args, **kwargs)


def sparse_precision_at_k(*args: Any, **kwargs: Any) -> Metric:
    """Call ``precision_at_k``, under its former name.

    Args:
        *args: its arguments.
        **kwargs: its keyword arguments.
    """
    at_k: Any = precision_at_k
    metric: Metric = at_k(*args, **kwargs)
    return metric
