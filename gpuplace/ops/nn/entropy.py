"""Cross entropies: softmax, sparse softmax, sigmoid.

Source: tensorflow/core/kernels/xent_op.h, sparse_xent_op.h and tensorflow/python/ops/nn_ops.py, nn_impl.py, nn_grad.py,
release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array import constant, joining, reshaping
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math import cast, elementwise, unary
from gpuplace.ops.math.check_ops import assert_equal
from gpuplace.ops.math.matrix import matmul
from gpuplace.ops.nn.activation import log_softmax, softmax
from gpuplace.ops.shape_rules import merge_shapes, merge_sizes, require_rank
from gpuplace.ops.support import broadcast, new, same_shape
from gpuplace.shapes import TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "sparse_softmax_cross_entropy_with_logits",
    "weighted_cross_entropy_with_logits",
]

_HALF = ("float16", "bfloat16")


def _check_arguments(function: str, sentinel: Any, labels: Any, logits: Any) -> None:
    if sentinel is not None:
        raise ValueError(f"Only call `{function}` with named arguments (labels=..., logits=..., ...)")
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


# SoftmaxCrossEntropyWithLogits


def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """Return ``softmax_cross_entropy_with_logits_v2`` without a gradient for the labels.

    Pass all arguments by name; ``_sentinel`` catches positional ones.

    Args:
        labels: probabilities that sum to 1 along ``dim``, of the shape of ``logits``; cast to its dtype.
        logits: float16, bfloat16, float32 or float64, of at least one axis.
        dim: the axis of the classes.
        name: name scope, and name of the operation.
        axis: newer name of ``dim``, which takes precedence.

    Returns:
        A tensor of the dtype of ``logits`` and its shape without the axis of the classes.

    Raises:
        TypeError: ``logits`` has an unsupported dtype.
        ValueError: an argument is positional, labels or logits are missing, or their shapes do not match.
    """
    _check_arguments("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        labels = reshaping.stop_gradient(labels, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(
        labels=labels, logits=logits, axis=deprecated_argument_lookup("axis", axis, "dim", dim), name=scope
    )


def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike,
    logits: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Return the cross entropy of ``softmax(logits)`` and the distributions ``labels``, one number per row.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.nn.softmax_cross_entropy_with_logits_v2(labels=[[1.0, 0.0]], logits=[[0.0, 0.0]]))
    array([0.6931472], dtype=float32)

    Args:
        labels: probabilities that sum to 1 along ``axis``, of the shape of ``logits``; cast to its dtype.
        logits: float16, bfloat16, float32 or float64, of at least one axis. The first two are computed in float32.
        axis: the axis of the classes; None: the last one.
        name: name of the operation.
        dim: deprecated name of ``axis``; used if ``axis`` is None.

    Returns:
        A tensor of the dtype of ``logits`` and its shape without the axis of the classes.

    Raises:
        TypeError: ``logits`` has an unsupported dtype.
        ValueError: the shapes do not match, or ``axis`` is not -1 and the rank is unknown.
    """
    axis = next((value for value in (axis, dim) if value is not None), -1)
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        is_half = logits.dtype.base_dtype.name in _HALF
        precise = cast.cast(logits, "float32") if is_half else logits
        labels = cast.cast(labels, precise.dtype.base_dtype)
        rank = reshaping.rank(precise)
        sizes = logits.shape.sizes
        if axis != -1:
            precise = _class_axis_last(precise, axis)
            labels = _class_axis_last(labels, axis)
        shape = reshaping.shape(precise)
        precise, labels = _as_matrix(precise), _as_matrix(labels)
        cost = _first("SoftmaxCrossEntropyWithLogits", scope, features=precise, labels=labels)
        count = elementwise.subtract(rank, 1)
        outer = new("Slice", input=shape, begin=[0], size=[count])
        cost = reshaping.reshape(cost, outer)
        if sizes is not None:
            static_sizes = list(sizes)
            del static_sizes[axis]
            cost.set_shape(static_sizes)
        return cast.cast(cost, logits.dtype.base_dtype) if is_half else cost


def _first(op_type: str, name: str | None, **arguments: Any) -> Tensor:
    """Add an op and return its first output."""
    return apply_op(op_type, name, **arguments).outputs[0]


def _class_axis_last(tensor: Tensor, axis: int) -> Tensor:
    rank = tensor.shape.ndims
    if rank is None:
        raise ValueError(f"axis={axis} needs a tensor of known rank: set its shape, or use the last axis")
    order = [i for i in range(rank) if i != axis % rank]
    return reshaping.transpose(tensor, [*order, axis % rank])


def _as_matrix(tensor: Tensor) -> Tensor:
    """Return a tensor with all axes except the last flattened into one."""
    rank = reshaping.rank(tensor)
    shape = reshaping.shape(tensor)
    size = new("Slice", input=shape, begin=[elementwise.subtract(rank, 1)], size=[1])
    matrix = reshaping.reshape(tensor, joining.concat([[-1], size], 0))
    if tensor.shape.ndims and tensor.shape[:-1].is_fully_defined():
        matrix.set_shape([tensor.shape[:-1].num_elements(), tensor.shape[-1]])
    return matrix


@shape_function("SoftmaxCrossEntropyWithLogits")
def _softmax_entropy_shape(op: Operation) -> list[TensorShape]:
    logits, labels = (tensor.shape for tensor in op.inputs)
    try:
        both = merge_shapes(require_rank(logits, 2), labels)
    except ValueError:  # one of them is broadcast along an axis
        both = broadcast(logits, labels)
        if both.ndims not in (2, None):
            raise ValueError(f"Shape must be broadcasted with rank 2, but is rank {both.ndims}") from None
        both = require_rank(both, 2)
    return [both[:1], both]


@compute("SoftmaxCrossEntropyWithLogits", fresh=True)
def _softmax_entropy(xp: ArrayModule, logits: Array, labels: Array) -> tuple[Any, Any]:
    shifted = logits - logits.max(axis=1, keepdims=True)
    powers = xp.exp(shifted)
    sums = powers.sum(axis=1, keepdims=True)
    loss = (labels * (xp.log(sums) - shifted)).sum(axis=1)
    return loss, powers / sums - labels


@gradient("SoftmaxCrossEntropyWithLogits", without_zeros={1})
def _softmax_entropy_gradient(op: Operation, grad_loss: Tensor, grad_grad: Any) -> list[Any]:
    logits, backprop = op.inputs[0], op.outputs[1]
    grad: Any = _rows_times(grad_loss, backprop)
    if grad_grad is not None and not _is_zero(grad_grad):
        probabilities: Any = softmax(logits)
        product = matmul(reshaping.expand_dims(grad_grad, 1), reshaping.expand_dims(probabilities, 2))
        grad = grad + (grad_grad - reshaping.squeeze(product, axis=[1])) * probabilities
    return [grad, _rows_times(grad_loss, unary.negative(log_softmax(logits)))]


def _is_zero(tensor: Tensor) -> bool:
    if tensor.op.type in ("ZerosLike", "Zeros"):
        return True
    value = constant_value(tensor)
    return value is not None and not value.any()


def _rows_times(vector: Tensor, matrix: TensorLike) -> Tensor:
    """Return ``matrix`` with each row multiplied by its element of ``vector``."""
    return reshaping.expand_dims(vector, -1) * matrix


# SparseSoftmaxCrossEntropyWithLogits


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the cross entropy of ``softmax(logits)`` and the classes ``labels``, one number per row.

    Pass all arguments by name; ``_sentinel`` catches positional ones.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[1], logits=[[0.0, 0.0]]))
    array([0.6931472], dtype=float32)

    Args:
        labels: the class index of each row, int32 or int64.
        logits: ``labels.shape + [classes]``, of float16, bfloat16, float32 or float64; float16 is computed in float32.
        name: name of the operation.

    Returns:
        A tensor of the dtype of ``logits`` and the shape of ``labels``.

    Raises:
        TypeError: ``labels`` or ``logits`` has another dtype.
        ValueError: an argument is positional, labels or logits are missing, or their shapes do not match.
        InvalidArgumentError: at run time, a class index is out of range.
    """
    _check_arguments("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels, logits = convert_to_tensor(labels), convert_to_tensor(logits)
        is_half = logits.dtype.base_dtype.name == "float16"
        precise = cast.cast(logits, "float32") if is_half else logits
        labels_shape = reshaping.shape(labels)
        _check_sparse_shapes(labels.shape, logits.shape)
        rank = logits.shape.ndims
        arguments: dict[str, Any]
        if rank == 2:
            arguments = {"features": precise, "labels": labels}
            cost = _first("SparseSoftmaxCrossEntropyWithLogits", name, **arguments)
        else:
            checks = []
            if not (labels.shape.is_fully_defined() and logits.shape[:-1].is_fully_defined()):
                checks.append(assert_equal(reshaping.shape(labels), reshaping.shape(logits)[:-1]))
            with get_default_graph().control_dependencies(checks):
                shape: Any = reshaping.shape(logits)
                classes = shape[reshaping.rank(logits) - 1]
                arguments = {
                    "features": reshaping.reshape(precise, [-1, classes]),
                    "labels": reshaping.reshape(labels, [-1]),
                }
                cost = _first("SparseSoftmaxCrossEntropyWithLogits", name, **arguments)
                cost = reshaping.reshape(cost, labels_shape)
                cost.set_shape(labels.shape)
        return cast.cast(cost, "float16") if is_half else cost


def _check_sparse_shapes(labels: TensorShape, logits: TensorShape) -> None:
    if logits.ndims == 0:
        raise ValueError(f"Logits cannot be scalars - received shape {logits}.")
    if logits.ndims is not None and labels.ndims is not None and labels.ndims != logits.ndims - 1:
        raise ValueError(
            f"Rank mismatch: Rank of labels (received {labels.ndims}) should equal rank of logits minus 1 "
            f"(received {logits.ndims})."
        )
    if labels.is_fully_defined() and logits[:-1].is_fully_defined() and labels != logits[:-1]:
        raise ValueError(
            f"Shape mismatch: The shape of labels (received {labels}) should equal the shape of logits except for the "
            f"last dimension (received {logits})."
        )


@shape_function("SparseSoftmaxCrossEntropyWithLogits")
def _sparse_entropy_shape(op: Operation) -> list[TensorShape]:
    features, labels = require_rank(op.inputs[0].shape, 2), require_rank(op.inputs[1].shape, 1)
    assert features.sizes is not None and labels.sizes is not None
    rows = merge_sizes(features.sizes[0], labels.sizes[0])
    return [TensorShape.of((rows,)), TensorShape.of((rows, features.sizes[1]))]


@compute("SparseSoftmaxCrossEntropyWithLogits", fresh=True)
def _sparse_entropy(xp: ArrayModule, logits: Array, labels: Array) -> tuple[Any, Any]:
    for name, array, rank in (("logits", logits, 2), ("labels", labels, 1)):
        if array.ndim != rank:
            raise InvalidArgumentError.of(
                f"{name} must be {rank}-D, but got shape {brackets(TensorShape(array.shape))}"
            )
    if logits.shape[0] != labels.shape[0]:
        raise InvalidArgumentError.of(
            "logits and labels must have the same first dimension, got logits shape "
            f"{brackets(TensorShape(logits.shape))} and labels shape {brackets(TensorShape(labels.shape))}"
        )
    classes = logits.shape[1]
    if labels.size and (int(labels.min()) < 0 or int(labels.max()) >= classes):
        wrong = labels[(labels < 0) | (labels >= classes)]
        raise InvalidArgumentError.of(
            f"Received a label value of {int(wrong[0])} which is outside the valid range of [0, {classes}).  Label "
            f"values: {' '.join(str(int(label)) for label in labels)}"
        )
    shifted = logits - logits.max(axis=1, keepdims=True)
    powers = xp.exp(shifted)
    sums = powers.sum(axis=1, keepdims=True)
    rows = xp.arange(logits.shape[0])
    loss = xp.log(sums[:, 0]) - shifted[rows, labels]
    backprop = powers / sums
    backprop[rows, labels] -= logits.dtype.type(1)
    return loss, backprop


@gradient("SparseSoftmaxCrossEntropyWithLogits", without_zeros={1})
def _sparse_entropy_gradient(op: Operation, grad_loss: Tensor, _: object) -> list[Any]:
    backprop = new(
        "PreventGradient",
        input=op.outputs[1],
        message="Currently there is no way to take the second derivative of sparse_softmax_cross_entropy_with_logits "
        "due to the fused implementation's interaction with tf.gradients()",
    )
    return [_rows_times(grad_loss, backprop), None]


shape_function("PreventGradient")(same_shape)


@compute("PreventGradient", shares=True)
def _prevent_gradient(xp: ArrayModule, x: Array) -> Array:
    return x


@gradient("PreventGradient")
def _prevent_gradient_gradient(op: Operation, grad: Tensor) -> Any:
    raise LookupError(f"Gradient explicitly disabled. Reason: {op.attrs['message'].decode()}")


# Composites


def _same_shaped(logits: Any, labels: Any, label: str) -> tuple[Any, Any]:
    """Return both as tensors; raise ValueError if their shapes differ."""
    x, z = convert_to_tensor(logits, name="logits"), convert_to_tensor(labels, name="labels")
    if not z.shape.is_compatible_with(x.shape):
        raise ValueError(f"logits and {label} must have the same shape ({x.shape} vs {z.shape})")
    return x, z


def sigmoid_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the cross entropy of ``sigmoid(logits)`` and the probabilities ``labels``, element by element.

    Pass all arguments by name; ``_sentinel`` catches positional ones.

    Args:
        labels: probabilities from 0 to 1, of the dtype and shape of ``logits``.
        logits: float16, bfloat16, float32 or float64, of any shape.
        name: name of the operation that adds the terms.

    Returns:
        A tensor with the dtype and shape of ``logits``.

    Raises:
        TypeError: a dtype is not supported, or the dtypes differ.
        ValueError: an argument is positional, labels or logits are missing, or their shapes differ.
    """
    _check_arguments("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        x, z = _same_shaped(logits, labels, "labels")
        zeros = constant.zeros_like(x, dtype=x.dtype.base_dtype)
        positive = x >= zeros
        upper: Any = new("Select", condition=positive, t=x, e=zeros)
        lower = new("Select", condition=positive, t=-x, e=x)
        return elementwise.add(upper - x * z, unary.log1p(unary.exp(lower)), name=scope)


def weighted_cross_entropy_with_logits(
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: TensorLike | None = None,
) -> Tensor:
    """Return ``sigmoid_cross_entropy_with_logits`` with positive labels weighted by ``pos_weight``.

    Args:
        labels: probabilities from 0 to 1, of the dtype and shape of ``logits``.
        logits: float16, bfloat16, float32 or float64, of any shape.
        pos_weight: factor of the loss for positive labels: above 1 it raises recall, below 1 precision. A number, or a
            tensor that broadcasts to ``logits``.
        name: name of the operation that adds the terms.
        targets: deprecated name of ``labels``.

    Returns:
        A tensor with the dtype and shape of ``logits``.

    Raises:
        TypeError: a dtype is not supported, or the dtypes differ.
        ValueError: the shapes differ.
    """
    labels = deprecated_argument_lookup("labels", labels, "targets", targets)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        x, z = _same_shaped(logits, labels, "targets")
        weight = 1 + (pos_weight - 1) * z
        linear = (1 - z) * x
        inner: Any = unary.log1p(unary.exp(unary.negative(unary.abs(x))))
        return elementwise.add(linear, weight * (inner + new("Relu", features=-x)), name=scope)
