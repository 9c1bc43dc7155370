"""Variables, losses and updates of layers in a container.

Source: tensorflow/python/training/tracking/layer_utils.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = [
    "filter_empty_layer_containers",
    "gather_non_trainable_weights",
    "gather_trainable_weights",
    "has_weights",
    "is_layer",
]


def is_layer(obj: object) -> bool:
    """Return whether an object is a layer, judged by its attributes.

    Args:
        obj: any object.
    """
    return hasattr(obj, "_is_layer") and not isinstance(obj, type)


def has_weights(obj: object) -> bool:
    """Return whether an object is a layer or a container of layers.

    Args:
        obj: any object.
    """
    kind = type(obj)
    return (
        hasattr(kind, "trainable_weights")
        and hasattr(kind, "non_trainable_weights")
        and not isinstance(obj, type)
    )


def filter_empty_layer_containers(layer_list: Iterable[Any]) -> list[Any]:
    """Return the distinct layers in a list and in nested containers.

    Args:
        layer_list: layers and containers.
    """
    layers: list[Any] = []
    waiting = list(layer_list)[::-1]
    seen: set[int] = set()
    while waiting:
        obj = waiting.pop()
        if id(obj) in seen:
            continue
        seen.add(id(obj))
        if is_layer(obj):
            layers.append(obj)
        elif hasattr(obj, "layers"):
            waiting.extend(list(obj.layers)[::-1])
    return layers


def gather_trainable_weights(
    trainable: bool, sub_layers: Sequence[Any], extra_variables: Sequence[Any]
) -> list[Any]:
    """Return the trainable variables of layers, then further ones.

    Args:
        trainable: whether the container is trainable; if not, the result is empty.
        sub_layers: layers and containers of layers.
        extra_variables: further variables.
    """
    if not trainable:
        return []
    weights = [weight for layer in sub_layers for weight in layer.trainable_weights]
    return weights + [variable for variable in extra_variables if variable.trainable]


def gather_non_trainable_weights(
    trainable: bool, sub_layers: Sequence[Any], extra_variables: Sequence[Any]
) -> list[Any]:
    """Return the non-trainable variables of layers, then further ones.

    Args:
        trainable: whether the container is trainable; if not, all of its variables are returned.
        sub_layers: layers and containers of layers.
        extra_variables: further variables.

    Returns:
        The variables; for a non-trainable container, the otherwise trainable ones first.
    """
    trained = [variable for variable in extra_variables if variable.trainable]
    others = [variable for variable in extra_variables if not variable.trainable]
    weights = [weight for layer in sub_layers for weight in layer.non_trainable_weights]
    if trainable:
        return weights + others
    return [weight for layer in sub_layers for weight in layer.trainable_weights] + trained + weights + others
