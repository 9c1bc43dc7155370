"""Feeds: converts keys to tensors and values to arrays of the tensors' types.

>>> flat_pairs({("a", "b"): (1, 2), "c": 3}, "1.15")
[('a', 1), ('b', 2), ('c', 3)]

Source: tensorflow/python/client/session.py and python/util/nest.py, releases 1.15 and 2.21 (checks and texts).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpuplace.dtypes import as_array, resource, string
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Tensor
from gpuplace.runtime.session.fetches import composite_pairs, composite_parts
from gpuplace.runtime.session.tensor_handle import TensorHandle


class Feed:
    """Checks and converts the values fed to one tensor.

    Args:
        tensor: the fed tensor.
        release: release whose error texts are used.
    """

    __slots__ = ("_dtype", "_numpy_dtype", "_release", "_sizes", "tensor")

    def __init__(self, tensor: Tensor, release: str) -> None:
        self.tensor = tensor
        self._release = release
        self._dtype = tensor.dtype.base_dtype
        self._numpy_dtype = (
            None if self._dtype in (resource, string) else np.dtype(self._dtype.as_numpy_dtype)
        )
        self._sizes = tensor.shape.sizes

    def convert(self, value: Any, key: Any) -> Any:
        """Return the value as an array of the tensor's type; an array of that type is not copied.

        Raises:
            TypeError: the value is a tensor, or a number that the type cannot represent.
            ValueError: the value is not an array, or its shape does not fit the tensor's.
        """
        if type(value) is not np.ndarray or value.dtype != self._numpy_dtype:
            value = self._converted(value, key)
        shape = value.shape
        if shape != self._sizes and not self.tensor.shape.is_compatible_with(shape):
            tensor = self.tensor
            name, expected = tensor.name, str(tensor.shape)
            if self._release != "2.21":
                name, expected = repr(name), repr(expected)
            raise ValueError(
                f"Cannot feed value of shape {shape!r} for Tensor {name}, which has shape {expected}"
            )
        return value

    def _converted(self, value: Any, key: Any) -> Any:
        if isinstance(value, TensorHandle):
            value = value.eval()
        if isinstance(value, Tensor):
            where = "argument `feed_dict`" if self._release == "2.21" else "feed"
            raise TypeError(
                "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars,"
                f" strings, lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was {value} which"
                f" was passed to the {where} with key {key}."
            )
        if self._dtype is resource:
            return np.asarray(value, dtype=object)
        if type(value) is int and not self._can_hold(value):
            raise TypeError(
                f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type"
                f" {np.object_ if self._dtype is string else self._dtype.as_numpy_dtype}. Try explicitly setting the"
                " type of the feed tensor to a larger type (e.g. int64)."
            )
        if self._dtype is string:
            return as_array(value, string)
        return np.asarray(value, dtype=self._numpy_dtype)

    def _can_hold(self, value: int) -> bool:
        if self._dtype is string:
            return False
        try:
            return bool(np.asarray(value, dtype=self._numpy_dtype) == value)
        except OverflowError:
            return False


def feedable(graph: Graph, key: Any) -> Tensor:
    """Return the tensor for a key of a feed dict.

    Raises:
        TypeError: the key names no tensor of the graph.
        ValueError: the tensor may not be fed.
    """
    try:
        tensor: Tensor = graph.as_graph_element(key, allow_tensor=True, allow_operation=False)
    except (TypeError, ValueError, KeyError) as error:
        text = error.args[0] if error.args else error
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {text}") from None
    if not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor} may not be fed.")
    return tensor


def feedable_parts(graph: Graph, key: Any) -> list[Tensor]:
    """Return the tensors for a key of a feed dict: one, or those of an object of several tensors.

    Raises:
        TypeError: the key names no tensor of the graph.
        ValueError: a tensor may not be fed.
    """
    parts = None if isinstance(key, Tensor | str | bytes) else composite_parts(key)
    return [feedable(graph, part) for part in ([key] if parts is None else parts)]


def flat_feeds(graph: Graph, feed_dict: Any, release: str) -> dict[Tensor, tuple[Any, Any]]:
    """Return the value and the caller's key of each tensor that ``feed_dict`` feeds, by tensor."""
    feeds: dict[Tensor, tuple[Any, Any]] = {}
    for key, value in flat_pairs(feed_dict, release):
        pairs = None if isinstance(key, Tensor | str | bytes) else composite_pairs(key, value)
        for tensor, part in [(key, value)] if pairs is None else pairs:
            feeds[feedable(graph, tensor)] = part, key
    return feeds


def flat_pairs(feed_dict: Any, release: str) -> list[tuple[Any, Any]]:
    """Return pairs of keys and values; tuple keys are split together with their values.

    Raises:
        TypeError: ``feed_dict`` is not a dict.
        ValueError: a tuple key and its value have different lengths.
    """
    if not isinstance(feed_dict, Mapping):
        if release != "2.21":
            raise TypeError("input must be a dictionary")
        raise TypeError(
            "FlattenDictItems: 'dict' must be a dictionary or collection.Mapping type object, instead of"
            f" '{type(feed_dict).__name__}'."
        )
    pairs: list[tuple[Any, Any]] = []
    for key, value in feed_dict.items():
        if not isinstance(key, tuple):
            pairs.append((key, value))
            continue
        keys, values = _leaves(key), _leaves(value)
        if len(keys) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, but value had {len(values)} elements."
                f" Key: {keys}, value: {values}."
            )
        pairs.extend(zip(keys, values, strict=True))
    return pairs


def _leaves(value: Any) -> list[Any]:
    if not isinstance(value, tuple | list):
        return [value]
    return [leaf for item in value for leaf in _leaves(item)]
