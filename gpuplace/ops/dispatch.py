"""Functions of tensors that other objects can be given too, as ``tf.matmul`` a linear operator.

A function marked by `dispatched` is called as it is. Only where it refuses its arguments are the functions looked for
that `dispatch_for_types` registered for it, by the types of what it was given.

Source: tensorflow/python/util/dispatch.py, release 1.15.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_ATTRIBUTE = "_tf_dispatchers"
"""Where a function has what is registered for it: pairs of types and a function."""


def dispatched(target: _Function) -> _Function:
    """Marks a function that may be given other objects than tensors.

    Args:
        target: the function.

    Raises:
        AssertionError: it is marked already.
    """
    if hasattr(target, _ATTRIBUTE):
        raise AssertionError(f"{target} already has a dispatch list")

    @functools.wraps(target)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return target(*args, **kwargs)
        except (TypeError, ValueError):
            for types, other in getattr(call, _ATTRIBUTE):
                if any(isinstance(one, types) for one in _flat((*args, *kwargs.values()))):
                    return other(*args, **kwargs)
            raise

    setattr(call, _ATTRIBUTE, [])
    return call  # type: ignore[return-value]


def _flat(arguments: Iterable[Any]) -> Iterable[Any]:
    for one in arguments:
        if isinstance(one, (list, tuple)):
            yield from one
        else:
            yield one


def _arguments(function: Callable[..., Any]) -> Any:
    """The names and defaults of what a function takes."""
    return [(one.name, one.kind, one.default) for one in inspect.signature(function).parameters.values()]


def dispatch_for_types(op: Callable[..., Any], *types: type) -> Callable[[_Function], _Function]:
    """A decorator of what a function does when it is given objects of other types.

    Args:
        op: one that is marked by `dispatched`.
        *types: the types.

    Raises:
        AssertionError: ``op`` is not marked, or the decorated function takes other arguments.
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
