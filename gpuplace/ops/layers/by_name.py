"""Activations, initializers, regularizers and constraints by name or description.

Names and defaults are Keras's, as in ``tf.layers`` and the cells of TensorFlow 1.15: ``activation="relu"``,
``kernel_initializer="he_normal"``, ``kernel_regularizer="l2"``. A description is a name, or a dict with a
``class_name`` and a ``config`` from which to rebuild the object.

Source: tensorflow/python/keras/activations.py, initializers.py, regularizers.py and constraints.py, release 1.15.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.gather import where
from gpuplace.ops.math import trigonometry, unary
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import greater, greater_equal
from gpuplace.ops.math.elementwise import add, clip_by_value, multiply
from gpuplace.ops.math.reduction import reduce_max, reduce_sum
from gpuplace.ops.nn import activation as nn
from gpuplace.ops.variables import init_ops
from gpuplace.typing import TensorLike

_EPSILON = 1e-7
"""Added by constraints to a norm before dividing by it."""


def linear(x: TensorLike) -> Any:
    """Return the argument unchanged."""
    return x


def hard_sigmoid(x: TensorLike) -> Tensor:
    """Return ``0.2 * x + 0.5``, clipped to the range from 0 to 1."""
    tensor = convert_to_tensor(x)
    slope, middle = convert_to_tensor(0.2, tensor.dtype), convert_to_tensor(0.5, tensor.dtype)
    return clip_by_value(add(multiply(tensor, slope), middle), 0.0, 1.0)


def softmax(x: TensorLike, axis: int = -1) -> Tensor:
    """Return exponentials divided by their sum along an axis.

    Raises:
        ValueError: the tensor has only one axis.
    """
    tensor = convert_to_tensor(x)
    rank = tensor.shape.ndims
    if rank == 2:
        return nn.softmax(tensor)
    if rank is None or rank < 2:
        raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received input: {tensor}")
    powers = unary.exp(tensor - reduce_max(tensor, axis=axis, keepdims=True))
    return powers / reduce_sum(powers, axis=axis, keepdims=True)


def selu(x: TensorLike) -> Tensor:
    """Return the scaled exponential linear unit, built from ``elu``."""
    tensor = convert_to_tensor(x)
    below = nn.elu(tensor)
    return 1.0507009873554805 * where(greater(tensor, 0), below, 1.6732632423543772 * below)


def exponential(x: TensorLike) -> Tensor:
    """Return ``exp(x)``."""
    return unary.exp(x)


_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "elu": nn.elu,
    "exponential": exponential,
    "hard_sigmoid": hard_sigmoid,
    "linear": linear,
    "relu": nn.relu,
    "selu": selu,
    "sigmoid": trigonometry.sigmoid,
    "softmax": softmax,
    "softplus": nn.softplus,
    "softsign": nn.softsign,
    "tanh": trigonometry.tanh,
}

_INITIALIZERS: dict[str, Any] = {
    **dict.fromkeys(("Zeros", "zero", "zeros"), init_ops.Zeros),
    **dict.fromkeys(("Ones", "one", "ones"), init_ops.Ones),
    **dict.fromkeys(("Constant", "constant"), init_ops.Constant),
    **dict.fromkeys(
        ("RandomUniform", "random_uniform", "uniform"),
        functools.partial(init_ops.RandomUniform, minval=-0.05, maxval=0.05),
    ),
    **dict.fromkeys(
        ("RandomNormal", "random_normal", "normal"), functools.partial(init_ops.RandomNormal, stddev=0.05)
    ),
    **dict.fromkeys(
        ("TruncatedNormal", "truncated_normal"), functools.partial(init_ops.TruncatedNormal, stddev=0.05)
    ),
    **dict.fromkeys(("Identity", "identity"), init_ops.Identity),
    **dict.fromkeys(("Orthogonal", "orthogonal"), init_ops.Orthogonal),
    **dict.fromkeys(("GlorotNormal", "glorot_normal"), init_ops.GlorotNormal),
    **dict.fromkeys(("GlorotUniform", "glorot_uniform"), init_ops.GlorotUniform),
    "VarianceScaling": init_ops.VarianceScaling,
    "he_normal": init_ops.he_normal,
    "he_uniform": init_ops.he_uniform,
    "lecun_normal": init_ops.lecun_normal,
    "lecun_uniform": init_ops.lecun_uniform,
}


class L1L2:
    """Regularizer: ``l1 * sum(abs(x)) + l2 * sum(square(x))``.

    Args:
        l1: factor of the sum of absolute values.
        l2: factor of the sum of squares.
    """

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1, self.l2 = np.float32(l1), np.float32(l2)

    def __call__(self, x: Any) -> Tensor:
        """Return the loss of a variable."""
        if not self.l1 and not self.l2:
            return convert_to_tensor(0.0)
        loss: Any = 0.0
        if self.l1:
            loss += self.l1 * reduce_sum(unary.abs(x))
        if self.l2:
            loss += self.l2 * reduce_sum(unary.square(x))
        result: Tensor = loss
        return result

    def get_config(self) -> dict[str, float]:
        """Return the arguments by name."""
        return {"l1": float(self.l1), "l2": float(self.l2)}


_REGULARIZERS: dict[str, Any] = {
    "L1L2": L1L2,
    "l1": lambda l=0.01: L1L2(l1=l),  # noqa: E741 (TensorFlow's name)
    "l2": lambda l=0.01: L1L2(l2=l),  # noqa: E741
    "l1_l2": lambda l1=0.01, l2=0.01: L1L2(l1, l2),
}


class NonNeg:
    """Constraint: set negative weights to zero."""

    def __call__(self, w: Any) -> Tensor:
        """Return the constrained weights."""
        return w * cast(greater_equal(w, 0.0), "float32")

    def get_config(self) -> dict[str, Any]:
        """Return the arguments by name."""
        return {}


def _norms(w: Any, axis: TensorLike) -> Tensor:
    squares = reduce_sum(unary.square(w), axis=axis, keepdims=True)
    return unary.sqrt(clip_by_value(squares, 0.0, np.inf))


class MaxNorm:
    """Constraint: limit the norms of weights.

    Args:
        max_value: the maximum norm.
        axis: the axes over which to compute norms.
    """

    def __init__(self, max_value: float = 2, axis: TensorLike = 0) -> None:
        self.max_value, self.axis = max_value, axis

    def __call__(self, w: Any) -> Tensor:
        """Return the constrained weights."""
        norms = _norms(w, self.axis)
        result: Tensor = w * (clip_by_value(norms, 0.0, float(self.max_value)) / (_EPSILON + norms))
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the arguments by name."""
        return {"max_value": self.max_value, "axis": self.axis}


class UnitNorm:
    """Constraint: normalize weights to a norm of one.

    Args:
        axis: the axes over which to compute norms.
    """

    def __init__(self, axis: TensorLike = 0) -> None:
        self.axis = axis

    def __call__(self, w: Any) -> Tensor:
        """Return the constrained weights."""
        result: Tensor = w / (_EPSILON + _norms(w, self.axis))
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the arguments by name."""
        return {"axis": self.axis}


class MinMaxNorm:
    """Constraint: keep the norms of weights between two bounds, or move them there gradually.

    Args:
        min_value: the minimum norm.
        max_value: the maximum norm.
        rate: the fraction of the correction to apply at once, from 0 to 1.
        axis: the axes over which to compute norms.
    """

    def __init__(
        self, min_value: float = 0.0, max_value: float = 1.0, rate: float = 1.0, axis: TensorLike = 0
    ) -> None:
        self.min_value, self.max_value, self.rate, self.axis = min_value, max_value, rate, axis

    def __call__(self, w: Any) -> Tensor:
        """Return the constrained weights."""
        norms = _norms(w, self.axis)
        bounded = clip_by_value(norms, float(self.min_value), float(self.max_value))
        target = self.rate * bounded + (1 - self.rate) * norms
        result: Tensor = w * (target / (_EPSILON + norms))
        return result

    def get_config(self) -> dict[str, Any]:
        """Return the arguments by name."""
        return {
            "min_value": self.min_value,
            "max_value": self.max_value,
            "rate": self.rate,
            "axis": self.axis,
        }


_CONSTRAINTS: dict[str, Any] = {
    **dict.fromkeys(("NonNeg", "non_neg", "nonneg"), NonNeg),
    **dict.fromkeys(("MaxNorm", "max_norm", "maxnorm"), MaxNorm),
    **dict.fromkeys(("UnitNorm", "unit_norm", "unitnorm"), UnitNorm),
    **dict.fromkeys(("MinMaxNorm", "min_max_norm"), MinMaxNorm),
}


def _resolve(identifier: object, registry: Mapping[str, Any], label: str, unknown: str) -> Any:
    """Return the object for a name or a description; functions and None are returned unchanged."""
    if identifier is None or (callable(identifier) and not isinstance(identifier, str)):
        return identifier
    config: dict[str, Any] = {}
    name = identifier
    if isinstance(identifier, Mapping):
        if "class_name" not in identifier or "config" not in identifier:
            raise ValueError(f"Improper config format: {identifier}")
        name, config = identifier["class_name"], dict(identifier["config"])
    if not isinstance(name, str):
        raise ValueError(f"Could not interpret {label} identifier: {identifier}")
    if name not in registry:
        raise ValueError(f"{unknown}{name}")
    return registry[name](**config)


def activation_of(identifier: object) -> Callable[..., Any]:
    """Return the activation for a name; functions are returned unchanged, None gives the identity.

    >>> activation_of("tanh").__name__, activation_of(None)(3)
    ('tanh', 3)

    Args:
        identifier: a function, a name, or None.

    Raises:
        ValueError: the name is unknown.
        TypeError: the identifier has another type.
    """
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        if identifier not in _ACTIVATIONS:
            raise ValueError(f"Unknown activation function:{identifier}")
        return _ACTIVATIONS[identifier]
    if callable(identifier):
        function: Callable[..., Any] = identifier
        return function
    raise TypeError(f"Could not interpret activation function identifier: {identifier!r}")


def initializer_of(identifier: object) -> Any:
    """Return the initializer for a name or a description; functions, tensors, arrays and None are returned unchanged.

    Args:
        identifier: a name, a description or an object.

    Raises:
        ValueError: the identifier is unknown or invalid.
    """
    if isinstance(identifier, Tensor | np.ndarray):
        return identifier
    unknown = "Unknown initializer:" if isinstance(identifier, str) else "Unknown initializer: "
    return _resolve(identifier, _INITIALIZERS, "initializer", unknown)


def regularizer_of(identifier: object) -> Any:
    """Return the regularizer for a name or a description; functions and None are returned unchanged.

    Args:
        identifier: a name, a description or an object.

    Raises:
        ValueError: the identifier is unknown or invalid.
    """
    return _resolve(identifier, _REGULARIZERS, "regularizer", "Unknown regularizer:")


def constraint_of(identifier: object) -> Any:
    """Return the constraint for a name or a description; functions and None are returned unchanged.

    Args:
        identifier: a name, a description or an object.

    Raises:
        ValueError: the identifier is unknown or invalid.
    """
    return _resolve(identifier, _CONSTRAINTS, "constraint", "Unknown constraint: ")


def settings_of(settings: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Return the initializer, regularizer and constraint of a variable, resolved by name.

    Args:
        settings: the three identifiers.

    Raises:
        ValueError: an identifier is unknown.
    """
    initializer, regularizer, constraint = settings
    return initializer_of(initializer), regularizer_of(regularizer), constraint_of(constraint)


def description(value: object) -> Any:
    """Return a description to rebuild an object from: a function's name, or class name and ``get_config``.

    >>> description(linear), description(L1L2(l2=0.5))
    ('linear', {'class_name': 'L1L2', 'config': {'l1': 0.0, 'l2': 0.5}})

    Args:
        value: a function, an object with ``get_config``, a number, a string, or a list of these.
    """
    value = value() if inspect.isclass(value) else value
    if hasattr(value, "get_config"):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    return value.__name__ if callable(value) and hasattr(value, "__name__") else value
