"""Activations: the relu family, elu, selu, softplus, softsign, softmax.

Source: tensorflow/core/kernels/relu_op_functor.h, softplus_op.h, softsign_op.h, softmax_op_functor.h and
tensorflow/python/ops/nn_ops.py, nn_grad.py, release 1.15.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder, compute
from gpuplace.numerics.compiled.dispatch import compiled
from gpuplace.numerics.masks import FEW, chosen, kept
from gpuplace.numerics.pieces import WHOLE_BYTES, by_element, by_pieces, is_whole, mapped, over
from gpuplace.ops.array import constant, joining, reshaping
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math import comparison, reduction, trigonometry, unary
from gpuplace.ops.shape_rules import merge_shapes, require_rank_at_least, same_as_input
from gpuplace.ops.support import after, new, shape_tensor
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "crelu",
    "elu",
    "leaky_relu",
    "log_softmax",
    "relu",
    "relu6",
    "selu",
    "softmax",
    "softplus",
    "softsign",
    "swish",
]

_MANY = 1 << 14
"""From this number of elements on, a faster function with a higher call overhead pays off."""

_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_SCALE_ALPHA = 1.7580993408473768599402175208123

shape_function("Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Softplus", "Softsign")(same_as_input)


@shape_function(
    "ReluGrad", "Relu6Grad", "LeakyReluGrad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad"
)
def _gradient_shape(op: Operation) -> list[TensorShape]:
    return [merge_shapes(op.inputs[0].shape, op.inputs[1].shape)]


def _typed(value: float, like: Array) -> Any:
    """Return a number with the dtype of an array."""
    return like.dtype.type(value)


# Relu, Relu6


def relu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return ``max(features, 0)``, element by element.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.nn.relu([-1.0, 0.5]))
    array([0. , 0.5], dtype=float32)

    Args:
        features: real numbers (any integer or floating type) or qint8, of any shape.
        name: name of the operation.

    Returns:
        A tensor with the dtype and shape of ``features``.

    Raises:
        TypeError: ``features`` has an unsupported dtype.
    """
    return new("Relu", name, features=features)


def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """Return ``min(max(features, 0), 6)``, element by element.

    Args:
        features: real numbers (any integer or floating type), of any shape.
        name: name of the operation.

    Returns:
        A tensor with the dtype and shape of ``features``.

    Raises:
        TypeError: ``features`` has an unsupported dtype.
    """
    return new("Relu6", name, features=features)


@binder("Relu", elementwise=True)
def _relu(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, out: Array | None = None
) -> Callable[..., Any]:
    if xp is np and is_whole(op.outputs[0]):
        zero = np.zeros((), op.outputs[0].dtype.as_numpy_dtype)
        return lambda x, out=None: np.maximum(x, zero, out=out)
    return lambda x, out=None: by_element(xp, xp.maximum, x, _typed(0, x), out)


@binder("ReluGrad", elementwise=True)
def _bind_relu_grad(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    elements = op.outputs[0].shape.num_elements()
    if xp is np and elements is not None and elements <= FEW:
        zero = np.zeros((), op.outputs[0].dtype.as_numpy_dtype)
        return lambda grad, x: np.where(np.greater(x, zero), grad, zero)
    return functools.partial(_relu_grad, xp)


def _relu_grad(xp: ArrayModule, grad: Array, x: Array) -> Array:
    if xp is np and x.nbytes > WHOLE_BYTES and grad.shape == x.shape:
        loop = compiled("relu_gradient", grad, x)
        if loop is not None:
            result = np.empty_like(x)
            by_pieces(loop, grad, x, result)
            return result
    return kept(xp, grad, x > 0)


@compute("Relu6", elementwise=True)
def _relu6(xp: ArrayModule, x: Array) -> Array:
    positive = by_element(xp, xp.maximum, x, _typed(0, x), None)
    return by_element(xp, xp.minimum, positive, _typed(6, x), positive if positive.ndim else None)


@compute("Relu6Grad", elementwise=True)
def _relu6_grad(xp: ArrayModule, grad: Array, x: Array) -> Array:
    return kept(xp, grad, (x > 0) & (x < 6))


@gradient("Relu")
def _relu_gradient(op: Operation, grad: Tensor) -> Tensor:
    return new("ReluGrad", gradients=grad, features=op.outputs[0])


@gradient("ReluGrad")
def _relu_grad_gradient(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    x = op.inputs[1]
    return new("ReluGrad", gradients=grad, features=x), _filled_zeros(x)


def _filled_zeros(x: Tensor) -> Tensor:
    return constant.zeros(shape_tensor(x), x.dtype)


@gradient("Relu6")
def _relu6_gradient(op: Operation, grad: Tensor) -> Tensor:
    return new("Relu6Grad", gradients=grad, features=op.outputs[0])


@gradient("Relu6Grad")
def _relu6_grad_gradient(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    x = op.inputs[1]
    return new("Relu6Grad", gradients=grad, features=x), _filled_zeros(x)


# LeakyRelu


def leaky_relu(features: TensorLike, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """Return ``features`` where positive, otherwise ``alpha * features``.

    Args:
        features: float16, bfloat16, float32 or float64, of any shape; integers are cast to float32.
        alpha: slope for negative elements, a Python number.
        name: name of the operation.

    Returns:
        A tensor with the shape of ``features`` and its dtype, or float32 for integers.

    Raises:
        TypeError: ``features`` has an unsupported dtype.
    """
    with name_scope(name, "LeakyRelu", [features, alpha]) as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = new("Cast", "ToFloat", x=features, DstT="float32")
        return new("LeakyRelu", scope, features=features, alpha=float(alpha))


def _slope(alpha: float, like: Array) -> Any:
    """Return the slope, a single-precision attribute, with the dtype of an array."""
    return like.dtype.type(np.float32(alpha))


@compute("LeakyRelu", elementwise=True)
def _leaky_relu(xp: ArrayModule, x: Array, *, alpha: float) -> Array:
    if 0 < alpha <= 1:
        return mapped(lambda x: xp.maximum(x, x * _slope(alpha, x)), x)
    return mapped(lambda x: chosen(xp, x > 0, x, x * _slope(alpha, x)), x)


@compute("LeakyReluGrad", elementwise=True)
def _leaky_relu_grad(xp: ArrayModule, grad: Array, x: Array, *, alpha: float) -> Array:
    return mapped(lambda grad, x: chosen(xp, x > 0, grad, grad * _slope(alpha, grad)), grad, x)


@gradient("LeakyRelu")
def _leaky_relu_gradient(op: Operation, grad: Tensor) -> Tensor:
    return new("LeakyReluGrad", gradients=grad, features=op.inputs[0], alpha=op.attrs["alpha"])


@gradient("LeakyReluGrad")
def _leaky_relu_grad_gradient(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    x = op.inputs[1]
    again = new("LeakyReluGrad", gradients=grad, features=x, alpha=op.attrs["alpha"])
    return again, _filled_zeros(x)


# Elu, Selu


def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return ``features`` where positive, otherwise ``exp(features) - 1``.

    Args:
        features: float16, bfloat16, float32 or float64, of any shape.
        name: name of the operation.

    Returns:
        A tensor with the dtype and shape of ``features``.

    Raises:
        TypeError: ``features`` has an unsupported dtype, such as an integer one.
    """
    return new("Elu", name, features=features)


def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """Return ``elu`` with a scale that makes activations self-normalizing.

    The result is ``scale * features`` where positive, otherwise ``scale * alpha * (exp(features) - 1)``, with ``scale``
    about 1.0507 and ``alpha`` about 1.6733.

    Args:
        features: float16, bfloat16, float32 or float64, of any shape.
        name: name of the operation.

    Returns:
        A tensor with the dtype and shape of ``features``.

    Raises:
        TypeError: ``features`` has an unsupported dtype.
    """
    return new("Selu", name, features=features)


def _maximum(xp: ArrayModule, x: Array, least: Array) -> Array:
    """Return ``maximum`` of an array and a number; large arrays use ``clip``, which is three times as fast in NumPy."""
    if xp.__name__ != "numpy" or x.size < _MANY:
        return xp.maximum(x, least)
    return xp.clip(x, least, x.dtype.type(xp.inf))


def _minimum(xp: ArrayModule, x: Array, most: Array) -> Array:
    """Return ``minimum`` of an array and a number."""
    if xp.__name__ != "numpy" or x.size < _MANY:
        return xp.minimum(x, most)
    return xp.clip(x, x.dtype.type(-xp.inf), most)


@compute("Elu", elementwise=True, slow=True)
def _elu(xp: ArrayModule, x: Array) -> Array:
    zero = _typed(0, x)
    return mapped(lambda x: xp.expm1(_minimum(xp, x, zero)) + _maximum(xp, x, zero), x)


@compute("EluGrad", elementwise=True)
def _elu_grad(xp: ArrayModule, grad: Array, out: Array) -> Array:
    zero, one = _typed(0, out), _typed(1, out)
    return mapped(lambda grad, out: (xp.fmin(out, zero) + one) * grad, grad, out)


@compute("Selu", elementwise=True, slow=True)
def _selu(xp: ArrayModule, x: Array) -> Array:
    zero, scale, below = _typed(0, x), _typed(_SELU_SCALE, x), _typed(_SELU_SCALE_ALPHA, x)
    return mapped(lambda x: below * xp.expm1(_minimum(xp, x, zero)) + scale * _maximum(xp, x, zero), x)


@compute("SeluGrad", elementwise=True)
def _selu_grad(xp: ArrayModule, grad: Array, out: Array) -> Array:
    scale, below = _typed(_SELU_SCALE, out), _typed(_SELU_SCALE_ALPHA, out)

    def gradient_of(grad: Array, out: Array) -> Array:
        return chosen(xp, out < 0, grad * (out + below), grad * scale)

    return mapped(gradient_of, grad, out)


@gradient("Elu")
def _elu_gradient(op: Operation, grad: Tensor) -> Tensor:
    return new("EluGrad", gradients=grad, outputs=op.outputs[0])


@gradient("Selu")
def _selu_gradient(op: Operation, grad: Tensor) -> Tensor:
    return new("SeluGrad", gradients=grad, outputs=op.outputs[0])


@gradient("EluGrad", "SeluGrad")
def _elu_grad_gradient(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    before, out = op.inputs
    again = new(op.type, gradients=grad, outputs=out)
    below = comparison.less(out, 0.0)
    product = grad * before
    return again, new("Select", condition=below, t=product, e=constant.zeros_like(out))


# Softplus, Softsign


def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """Return ``log(exp(features) + 1)``, element by element.

    Args:
        features: float16, bfloat16, float32 or float64, of any shape.
        name: name of the operation.

    Returns:
        A tensor with the dtype and shape of ``features``.

    Raises:
        TypeError: ``features`` has an unsupported dtype.
    """
    return new("Softplus", name, features=features)


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """Return ``features / (abs(features) + 1)``, element by element.

    Args:
        features: float16, bfloat16, float32 or float64, of any shape.
        name: name of the operation.

    Returns:
        A tensor with the dtype and shape of ``features``.

    Raises:
        TypeError: ``features`` has an unsupported dtype.
    """
    return new("Softsign", name, features=features)


@compute("Softplus", elementwise=True, slow=True)
def _softplus(xp: ArrayModule, x: Array) -> Array:
    return mapped(lambda x: _maximum(xp, x, _typed(0, x)) + xp.log1p(xp.exp(-xp.abs(x))), x)


@compute("SoftplusGrad", elementwise=True)
def _softplus_grad(xp: ArrayModule, grad: Array, x: Array) -> Array:
    return mapped(lambda grad, x: grad / (xp.exp(-x) + _typed(1, x)), grad, x)


@gradient("SoftplusGrad")
def _softplus_grad_gradient(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    before, x = op.inputs
    with after(grad):
        again = new("SoftplusGrad", gradients=grad, features=x)
        product = grad * before
        return again, product / (new("Exp", x=-x) + 2.0 + new("Exp", x=x))


@compute("Softsign", elementwise=True)
def _softsign(xp: ArrayModule, x: Array) -> Array:
    return mapped(lambda x: x / (xp.abs(x) + _typed(1, x)), x)


@compute("SoftsignGrad", fresh=True)
def _softsign_grad(xp: ArrayModule, grad: Array, x: Array) -> Array:
    return mapped(lambda grad, x: grad / xp.square(xp.abs(x) + _typed(1, x)), grad, x)


@gradient("Softplus")
def _softplus_gradient(op: Operation, grad: Tensor) -> Tensor:
    return grad * trigonometry.sigmoid(op.inputs[0])


@gradient("Softsign")
def _softsign_gradient(op: Operation, grad: Tensor) -> Tensor:
    return new("SoftsignGrad", gradients=grad, features=op.inputs[0])


# Softmax, LogSoftmax


def softmax(
    logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """Return ``exp(logits)`` divided by its sum along ``axis``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.nn.softmax([[0.0, 0.0], [1.0, 1.0]]))
    array([[0.5, 0.5],
           [0.5, 0.5]], dtype=float32)

    Args:
        logits: float16, bfloat16, float32 or float64, of at least one axis.
        axis: the axis of the classes; None: the last. Any other axis adds two transpositions.
        name: name of the operation.
        dim: deprecated name of ``axis``.

    Returns:
        A tensor with the dtype and shape of ``logits``, which sums to 1 along ``axis``.

    Raises:
        TypeError: ``logits`` has an unsupported dtype.
        ValueError: ``logits`` is a scalar, or ``axis`` is not -1 and the rank is unknown.
        InvalidArgumentError: the axis is out of range.
    """
    return _along("Softmax", logits, deprecated_argument_lookup("axis", axis, "dim", dim), name)


def log_softmax(
    logits: TensorLike, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """Return the logarithm of ``softmax``, computed without division.

    Args:
        logits: float16, bfloat16, float32 or float64, of at least one axis.
        axis: the axis of the classes; None: the last. Any other axis adds two transpositions.
        name: name of the operation.
        dim: deprecated name of ``axis``.

    Returns:
        A tensor with the dtype and shape of ``logits``.

    Raises:
        TypeError: ``logits`` has an unsupported dtype.
        ValueError: ``logits`` is a scalar, or ``axis`` is not -1 and the rank is unknown.
        InvalidArgumentError: the axis is out of range.
    """
    return _along("LogSoftmax", logits, deprecated_argument_lookup("axis", axis, "dim", dim), name)


def _along(op_type: str, logits: TensorLike, axis: int | None, name: str | None) -> Tensor:
    if isinstance(axis, Tensor) and (static_axis := constant_value(axis)) is not None:
        axis = int(static_axis)
    axis = -1 if axis is None else axis
    logits = convert_to_tensor(logits)
    rank = logits.shape.ndims
    if axis == -1 or (rank is not None and axis == rank - 1):
        return new(op_type, name, logits=logits)
    if rank is None:
        raise ValueError(f"axis={axis} needs logits of known rank: set their shape, or use the last axis")
    if not -rank <= axis < rank:
        raise InvalidArgumentError.of(
            f"Dimension ({axis}) must be in the range [{-rank}, {rank}) where {rank} is the number of dimensions in "
            "the input."
        )
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    swapped = new(op_type, logits=reshaping.transpose(logits, order))
    return reshaping.transpose(swapped, order, name=name or "transpose")


@shape_function("Softmax", "LogSoftmax")
def _softmax_shape(op: Operation) -> list[TensorShape]:
    return [require_rank_at_least(op.inputs[0].shape, 1)]


@compute("Softmax", fresh=True, slow=True)
def _softmax(xp: ArrayModule, logits: Array) -> Array:
    def rows(some: Array, result: Array) -> None:
        xp.subtract(some, some.max(axis=-1, keepdims=True), out=result)
        xp.exp(result, out=result)
        result /= result.sum(axis=-1, keepdims=True)

    return _by_rows(xp, rows, logits)


@compute("LogSoftmax", fresh=True, slow=True)
def _log_softmax(xp: ArrayModule, logits: Array) -> Array:
    def rows(some: Array, result: Array) -> None:
        xp.subtract(some, some.max(axis=-1, keepdims=True), out=result)
        result -= xp.log(xp.exp(result).sum(axis=-1, keepdims=True))

    return _by_rows(xp, rows, logits)


def _by_rows(xp: ArrayModule, function: Callable[[Any, Any], None], x: Array) -> Array:
    """Apply ``function``, which writes to its second argument, to blocks of rows along the last axis."""
    result = xp.empty(x.shape, x.dtype)
    if x.size:
        rows, results = x.reshape(-1, x.shape[-1]), result.reshape(-1, x.shape[-1])
        over(xp, len(rows), 4 * rows[0].nbytes, lambda part: function(rows[part], results[part]))
    return result


@gradient("Softmax")
def _softmax_gradient(op: Operation, grad: TensorLike) -> Tensor:
    out: Any = op.outputs[0]
    sums = reduction.reduce_sum(grad * out, -1, keepdims=True)
    return (grad - sums) * out


@gradient("LogSoftmax")
def _log_softmax_gradient(op: Operation, grad: Any) -> Tensor:
    powers = unary.exp(op.outputs[0])
    return grad - reduction.reduce_sum(grad, -1, keepdims=True) * powers


# Composites


def crelu(features: TensorLike, name: str | None = None, axis: int = -1) -> Tensor:
    """Return the relu of ``features`` and of ``-features``, concatenated along ``axis``.

    Args:
        features: float16, bfloat16, float32, float64, int32 or int64, of at least one axis.
        name: name of the operation that concatenates.
        axis: the axis along which to concatenate.

    Returns:
        A tensor of the dtype of ``features``, with twice the size along ``axis``.

    Raises:
        TypeError: ``features`` has an unsupported dtype.
        ValueError: the axis is out of range.
    """
    with name_scope(name, "CRelu", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        both = joining.concat([features, unary.negative(features)], axis, name=scope)
        return relu(both)


def swish(features: TensorLike) -> Tensor:
    """Return ``features * sigmoid(features)``, element by element.

    Args:
        features: float16, bfloat16, float32, float64 or complex, of any shape.

    Returns:
        A tensor with the dtype and shape of ``features``.

    Raises:
        TypeError: ``features`` has an unsupported dtype.
    """
    features = convert_to_tensor(features, name="features")
    return features * trigonometry.sigmoid(features)
