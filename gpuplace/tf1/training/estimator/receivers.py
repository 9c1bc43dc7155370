"""Inputs of a served model: ``tf.estimator.export.*Receiver`` and functions that create them.

Source: tensorflow_estimator/python/estimator/export/export.py, release 1.15.1 (names of placeholders,
messages).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gpuplace.dtypes import string
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import placeholder
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.shapes import TensorShape
from gpuplace.tf1.input.parsing import parse_example
from gpuplace.typing import TensorLike

__all__ = [
    "ServingInputReceiver", "TensorServingInputReceiver", "build_parsing_serving_input_receiver_fn",
    "build_raw_serving_input_receiver_fn",
]  # fmt: skip

_FEATURE = "feature"
_RECEIVER = "input"


def _named(tensors: Any, what: str, single: str, numbers: bool = False) -> dict[Any, Any]:
    if tensors is None:
        raise ValueError(f"{what}s must be defined.")
    named = tensors if isinstance(tensors, dict) else {single: tensors}
    for name, tensor in named.items():
        if not isinstance(name, str) and not (numbers and isinstance(name, int)):
            raise ValueError(f"{what} keys must be strings{' or ints' if numbers else ''}: {name}.")
        if not isinstance(tensor, (Tensor, SparseTensor)):
            raise ValueError(f"{what} {name} must be a Tensor or SparseTensor.")
    return named


class _Receiver(NamedTuple):
    features: Any
    receiver_tensors: Any
    receiver_tensors_alternatives: Any


class ServingInputReceiver(_Receiver):
    """The features of a served model, and the tensors that are fed to compute them.

    Args:
        features: a tensor, or a dict from name to tensor; the model gets a dict.
        receiver_tensors: a tensor, or a dict from name to tensor.
        receiver_tensors_alternatives: dict from name to other tensors that can be fed, or None.

    Raises:
        ValueError: an argument is missing, a value is not a tensor, or a key is not a string.
    """

    __slots__ = ()

    def __new__(
        cls,
        features: Any,
        receiver_tensors: Any,
        receiver_tensors_alternatives: Mapping[str, Any] | None = None,
    ) -> ServingInputReceiver:
        features = _named(features, "feature", _FEATURE, numbers=True)
        receivers = _named(receiver_tensors, "receiver_tensor", _RECEIVER)
        others = receiver_tensors_alternatives
        if others is not None:
            if not isinstance(others, dict):
                raise ValueError(f"receiver_tensors_alternatives must be a dict: {others}.")
            others = {
                name: _named(one, "receiver_tensors_alternative", _RECEIVER) for name, one in others.items()
            }
        return super().__new__(cls, features, receivers, others)


class TensorServingInputReceiver(_Receiver):
    """A ``ServingInputReceiver`` for a model whose features are one tensor.

    Args:
        features: the tensor.
        receiver_tensors: a tensor, or a dict from name to tensor.
        receiver_tensors_alternatives: dict from name to other tensors that can be fed, or None.

    Raises:
        ValueError: an argument is missing, or a value is not a tensor.
    """

    __slots__ = ()

    def __new__(
        cls,
        features: TensorLike,
        receiver_tensors: Any,
        receiver_tensors_alternatives: Mapping[str, Any] | None = None,
    ) -> TensorServingInputReceiver:
        if features is None:
            raise ValueError("features must be defined.")
        if not isinstance(features, (Tensor, SparseTensor)):
            raise ValueError("feature must be a Tensor or SparseTensor.")
        named = ServingInputReceiver(features, receiver_tensors, receiver_tensors_alternatives)
        return super().__new__(cls, features, named.receiver_tensors, named.receiver_tensors_alternatives)


def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Return a function that parses serialized examples.

    Args:
        feature_spec: dict from name to ``tf.FixedLenFeature`` or similar.
        default_batch_size: number of examples; None for any.

    Returns:
        A function that returns a ``ServingInputReceiver``.
    """

    def receiver_fn() -> ServingInputReceiver:
        examples = placeholder(string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(examples, feature_spec), {"examples": examples})

    return receiver_fn


def build_raw_serving_input_receiver_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """Return a function that takes the features unchanged.

    Args:
        features: dict from name to a tensor of the same type and, except for the first dimension, the same
            shape.
        default_batch_size: the first dimension; None for any.

    Returns:
        A function that returns a ``ServingInputReceiver``.
    """

    def receiver_fn() -> ServingInputReceiver:
        receivers = {
            name: placeholder(
                tensor.dtype,
                TensorShape([default_batch_size]).concatenate(tensor.get_shape()[1:]),
                name=tensor.op.name,
            )
            for name, tensor in features.items()
        }
        return ServingInputReceiver(receivers, receivers)

    return receiver_fn
