"""Confusion matrices: how often each class was predicted for each label.

Source: tensorflow/python/ops/confusion_matrix.py and core/kernels/sparse_tensor_dense_add_op.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import as_dtype, int32, int64
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import ones_like, zeros
from gpuplace.ops.array.gather import gather_nd
from gpuplace.ops.array.joining import stack
from gpuplace.ops.array.reshaping import rank, squeeze
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.flow.control import with_dependencies
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.check_ops import assert_less, assert_non_negative
from gpuplace.ops.math.comparison import equal
from gpuplace.ops.math.reduction import reduce_max
from gpuplace.ops.support import new
from gpuplace.typing import Array, ArrayModule, DTypeLike, TensorLike

__all__ = ["confusion_matrix"]


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
    weights: TensorLike | None = None,
) -> Tensor:
    """Return a matrix with a row per label and a column per prediction, which counts pairs or sums their weights.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.confusion_matrix([0, 1, 1], [0, 0, 1])).tolist()
    [[1, 0], [1, 1]]

    Args:
        labels: ``[n]``, non-negative class indices.
        predictions: ``[n]``, non-negative class indices.
        num_classes: number of rows and columns, an integer scalar. None: the largest index plus one.
        dtype: number type of the result.
        name: name of the scope.
        weights: ``[n]``, a weight per pair. None: 1 each.

    Returns:
        ``[num_classes, num_classes]`` of type ``dtype``.

    Raises:
        ValueError: the vectors' static shapes differ.
        InvalidArgumentError: at run time, an index is negative or not below ``num_classes``.
    """
    with name_scope(name, "confusion_matrix", [predictions, labels, num_classes, weights]):
        labels, predictions = remove_squeezable_dimensions(
            convert_to_tensor(labels, name="labels"), convert_to_tensor(predictions, name="predictions")
        )
        predictions, labels = cast(predictions, int64), cast(labels, int64)
        sign = assert_non_negative(labels, message="`labels` contains negative values")
        labels = with_dependencies([sign], labels)
        sign = assert_non_negative(predictions, message="`predictions` contains negative values")
        predictions = with_dependencies([sign], predictions)
        if num_classes is None:
            count: Any = new("Maximum", x=reduce_max(predictions), y=reduce_max(labels)) + 1
        else:
            count = num_classes
            limit = cast(num_classes, int64)
            labels = with_dependencies([assert_less(labels, limit, message="`labels` out of bound")], labels)
            bound = assert_less(predictions, limit, message="`predictions` out of bound")
            predictions = with_dependencies([bound], predictions)
        kind = as_dtype(dtype)
        if weights is not None:
            weights = cast(convert_to_tensor(weights, name="weights"), kind)
            predictions.shape.assert_is_compatible_with(weights.shape)
        shape = stack([count, count])
        indices = stack([labels, predictions], axis=1)
        values = ones_like(predictions, kind) if weights is None else weights
        sizes = cast(shape, int64)
        start = zeros(cast(shape, int32), kind)
        return new("SparseTensorDenseAdd", a_indices=indices, a_values=values, a_shape=sizes, b=start)


def remove_squeezable_dimensions(
    labels: TensorLike, predictions: TensorLike, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Any, Any]:
    """Remove an extra last axis of size 1 from labels or predictions.

    Args:
        labels: a tensor.
        predictions: another tensor.
        expected_rank_diff: expected number of axes of predictions minus that of labels.
        name: name of the scope.
    """
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        prediction_rank, label_rank = predictions.shape.ndims, labels.shape.ndims
        more, fewer = expected_rank_diff + 1, expected_rank_diff - 1
        if prediction_rank is not None and label_rank is not None:
            if prediction_rank - label_rank == more:
                predictions = squeeze(predictions, [-1])
            elif prediction_rank - label_rank == fewer:
                labels = squeeze(labels, [-1])
            return labels, predictions
        extra = rank(predictions) - rank(labels)
        if prediction_rank is None or predictions.shape[-1].is_compatible_with(1):
            original = predictions
            predictions = cond(equal(more, extra), lambda: squeeze(original, [-1]), lambda: original)
        if label_rank is None or labels.shape[-1].is_compatible_with(1):
            truth = labels
            labels = cond(equal(fewer, extra), lambda: squeeze(truth, [-1]), lambda: truth)
        return labels, predictions


@compute("SparseTensorDenseAdd")
def _sparse_tensor_dense_add(
    xp: ArrayModule, a_indices: Array, a_values: Array, a_shape: Array, b: Array
) -> Array:
    if tuple(a_shape.tolist()) != b.shape:
        raise InvalidArgumentError.of(
            f"Dimension 0 does not equal (no broadcasting is supported): sparse side {a_shape.tolist()} vs dense side"
            f" {list(b.shape)}"
        )
    wrong = ((a_indices < 0) | (a_indices >= xp.asarray(b.shape, a_indices.dtype))).any(axis=1)
    if wrong.any():
        row = int(xp.argmax(wrong))
        raise InvalidArgumentError.of(f"Sparse tensor has an invalid index on dimension {row}")
    result = xp.array(b)
    xp.add.at(result, tuple(a_indices[:, axis] for axis in range(b.ndim)), a_values)
    return result


@shape_function("SparseTensorDenseAdd")
def _sparse_tensor_dense_add_shape(op: Operation) -> Any:
    return (op.inputs[3].shape,)


@gradient("SparseTensorDenseAdd")
def _sparse_tensor_dense_add_grad(op: Operation, grad: Tensor) -> tuple[None, Tensor, None, Tensor]:
    return None, gather_nd(grad, op.inputs[0]), None, grad
