"""Functions of tensors that also accept other objects, as ``tf.matmul`` accepts a linear operator.

A function marked by `dispatched` runs normally. If it rejects its arguments, the functions that `dispatch_for_types`
registered for their types are tried.

Source: tensorflow/python/util/dispatch.py, release 1.15.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_ATTRIBUTE = "_tf_dispatchers"
"""Attribute of a function that holds its dispatch list: pairs of types and a function."""


def dispatched(target: _Function) -> _Function:
    """Mark a function that other functions can extend to objects that are not tensors.

    Args:
        target: the function.

    Raises:
        AssertionError: the function is already marked.
    """
    if hasattr(target, _ATTRIBUTE):
        raise AssertionError(f"{target} already has a dispatch list")

    @functools.wraps(target)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return target(*args, **kwargs)
        except (TypeError, ValueError):
            for types, second in getattr(call, _ATTRIBUTE):
                if any(isinstance(first, types) for first in _flat((*args, *kwargs.values()))):
                    return second(*args, **kwargs)
            raise

    setattr(call, _ATTRIBUTE, [])
    return call  # type: ignore[return-value]


def _flat(arguments: Iterable[Any]) -> Iterable[Any]:
    for item in arguments:
        if isinstance(item, (list, tuple)):
            yield from item
        else:
            yield item


def _arguments(function: Callable[..., Any]) -> Any:
    """Return the names and defaults of a function's parameters."""
    return [(item.name, item.kind, item.default) for item in inspect.signature(function).parameters.values()]


def dispatch_for_types(op: Callable[..., Any], *types: type) -> Callable[[_Function], _Function]:
    """Return a decorator that registers a function for arguments of other types.

    Args:
        op: a function marked by `dispatched`.
        *types: the types.

    Raises:
        AssertionError: ``op`` is not marked, or the decorated function has another signature.
    """

    def register(other: _Function) -> _Function:
        if _arguments(other) != _arguments(op):
            raise AssertionError(
                "The decorated function's signature must exactly match the signature of the overridden op."
            )
        others = getattr(op, _ATTRIBUTE, None)
        if others is None:
            raise AssertionError(f"Dispatching not enabled for {op}")
        others.append((types, other))
        return other

    return register
