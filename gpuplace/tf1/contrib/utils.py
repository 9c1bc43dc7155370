"""``tf.contrib.layers.utils``: collections of outputs with aliases, and sizes in several forms.

A tensor that a layer adds to a collection has the layer's name as its alias, so that the collection can be converted to
a dict of end points.

Source: tensorflow/contrib/layers/python/layers/utils.py, release 1.15.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from gpuplace.graph.constant_value import constant_value as value_of
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Tensor
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.variables.variables import Variable
from gpuplace.shapes import TensorShape

__all__ = [
    "NamedOutputs", "append_tensor_alias", "channel_dimension", "collect_named_outputs", "constant_value",
    "convert_collection_to_dict", "gather_tensors_aliases", "get_tensor_aliases", "get_variable_collections",
    "last_dimension", "n_positive_integers", "smart_cond", "static_cond", "two_element_tuple",
]  # fmt: skip


class NamedOutputs(NamedTuple):
    """Outputs with a name."""

    name: str
    """The name."""
    outputs: Any
    """The tensors."""


def append_tensor_alias(tensor: Tensor, alias: str) -> Tensor:
    """Add an alias to a tensor.

    Args:
        tensor: the tensor.
        alias: the alias, without a ``/`` at its end.

    Returns:
        The tensor.
    """
    tensor.aliases = [*getattr(tensor, "aliases", ()), alias.removesuffix("/")]
    return tensor


def collect_named_outputs(collections: Any, alias: str, outputs: Tensor) -> Tensor:
    """Add a tensor to collections under an alias.

    Args:
        collections: one or a list; None: do nothing.
        alias: the alias.
        outputs: the tensor.

    Returns:
        The tensor.
    """
    if collections:
        append_tensor_alias(outputs, alias)
        get_default_graph().add_to_collections(collections, outputs)
    return outputs


def get_tensor_aliases(tensor: Tensor) -> list[str]:
    """Return a tensor's aliases or, if it has none, its name.

    Args:
        tensor: the tensor.
    """
    return list(getattr(tensor, "aliases", ())) or [tensor.name.removesuffix(":0")]


def gather_tensors_aliases(tensors: Iterable[Tensor]) -> list[str]:
    """Return the aliases of several tensors in one list.

    Args:
        tensors: the tensors.
    """
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> OrderedDict[str, Tensor]:
    """Return a dict from alias to tensor of a collection.

    Args:
        collection: name of the collection.
        clear_collection: whether to empty it.
    """
    graph = get_default_graph()
    tensors = OrderedDict(
        (alias, tensor) for tensor in graph.get_collection(collection) for alias in get_tensor_aliases(tensor)
    )
    if clear_collection:
        graph.clear_collection(collection)
    return tensors


def constant_value(value_or_tensor_or_var: Any, dtype: Any = None) -> Any:
    """Return a value, or the static value of a tensor; otherwise None.

    Args:
        value_or_tensor_or_var: the value, tensor, or variable.
        dtype: the required dtype of a tensor; None: any.

    Raises:
        ValueError: the value is None, or a tensor has another dtype.
    """
    if value_or_tensor_or_var is None:
        raise ValueError("value_or_tensor_or_var cannot be None")
    if not isinstance(value_or_tensor_or_var, (Tensor, Variable)):
        return value_or_tensor_or_var
    if dtype and value_or_tensor_or_var.dtype != dtype:
        raise ValueError(f"It has the wrong type {value_or_tensor_or_var.dtype} instead of {dtype}")
    return None if isinstance(value_or_tensor_or_var, Variable) else value_of(value_or_tensor_or_var)


def static_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any]) -> Any:
    """Return the result of one of two functions.

    Args:
        pred: whether to call the first function.
        fn1: the first function.
        fn2: the second function.

    Raises:
        TypeError: a function is not callable.
    """
    for name, function in (("fn1", fn1), ("fn2", fn2)):
        if not callable(function):
            raise TypeError(f"{name} must be callable.")
    return fn1() if pred else fn2()


def smart_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any], name: str | None = None) -> Any:
    """Return the result of one of two functions, selected now if the predicate is static, otherwise at run time.

    Args:
        pred: a bool, or a scalar bool tensor.
        fn1: the function for True.
        fn2: the function for False.
        name: name scope of the conditional.
    """
    static_pred = constant_value(pred)
    return cond(pred, fn1, fn2, name=name) if static_pred is None else static_cond(static_pred, fn1, fn2)


def get_variable_collections(variables_collections: Any, name: str) -> Any:
    """Return the collections for variables with a name.

    Args:
        variables_collections: a list for all variables, or a dict by name.
        name: name of the variables.
    """
    return (
        variables_collections.get(name) if isinstance(variables_collections, dict) else variables_collections
    )


def _size(shape: TensorShape, axis: int, min_rank: int) -> int:
    if shape.ndims is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.ndims < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.ndims}")
    size = shape[axis].value
    if size is None:
        raise ValueError(f"dimension {axis} of shape must be known but is None: {shape}")
    return int(size)


def channel_dimension(shape: TensorShape, data_format: str, min_rank: int = 1) -> int:
    """Return the number of channels.

    Args:
        shape: shape of the images.
        data_format: ``"channels_first"`` or ``"channels_last"``.
        min_rank: minimum number of axes.

    Raises:
        ValueError: there are fewer axes, or the number is unknown.
    """
    return _size(shape, 1 if data_format == "channels_first" else -1, min_rank)


def last_dimension(shape: TensorShape, min_rank: int = 1) -> int:
    """Return the size of the last axis.

    Args:
        shape: the shape.
        min_rank: minimum number of axes.

    Raises:
        ValueError: there are fewer axes, or the size is unknown.
    """
    return _size(shape, -1, min_rank)


def two_element_tuple(int_or_tuple: Any) -> tuple[Any, Any]:
    """Return height and width.

    Args:
        int_or_tuple: both, or one number for both.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(int_or_tuple, (list, tuple)):
        if len(int_or_tuple) != 2:
            raise ValueError(f"Must be a list with 2 elements: {int_or_tuple}")
        return int(int_or_tuple[0]), int(int_or_tuple[1])
    if isinstance(int_or_tuple, int):
        return int_or_tuple, int_or_tuple
    if isinstance(int_or_tuple, TensorShape) and int_or_tuple.ndims == 2:
        return int_or_tuple[0], int_or_tuple[1]
    raise ValueError("Must be an int, a list with 2 elements or a TensorShape of length 2")


def n_positive_integers(n: Any, value: Any) -> tuple[int, ...]:
    """Return a tuple of positive integers.

    >>> n_positive_integers(2, 3), n_positive_integers(3, [1, 2, 3])
    ((3, 3), (1, 2, 3))

    Args:
        n: length of the tuple.
        value: a sequence of integers, or one for all.

    Raises:
        ValueError: the length is wrong, or a number is not positive.
    """
    if int(n) != n or n < 1:
        raise ValueError("n must be a positive integer")
    values = list(value) if isinstance(value, (list, tuple, TensorShape)) else [value] * int(n)
    if len(values) != n:
        raise ValueError(f"Expected sequence of {n} positive integers, but received {value!r}")
    numbers = tuple(int(value) for value in values)
    for number in numbers:
        if number < 1:
            raise ValueError(f"expected positive integer, but received {number}")
    return numbers
