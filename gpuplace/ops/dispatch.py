"""Functions of tensors that other objects can be given too, as ``tf.matmul`` a linear operator.

A function marked by `dispatched` is called as it is. Only where it refuses its arguments are the functions looked for
that `dispatch_for_types` registered for it, by the types of what it was given.

Source: tensorflow/python/util/dispatch.py, release 1.15.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_others: dict[str, list[tuple[tuple[type, ...], Callable[..., Any]]]] = {}
"""What is registered, by module and name of the function."""


def _key(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def dispatched(function: _Function) -> _Function:
    """Marks a function that may be given other objects than tensors.

    Args:
        function: the function.
    """
    others = _others.setdefault(_key(function), [])

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError):
            for types, other in others:
                if any(isinstance(one, types) for one in _flat((*args, *kwargs.values()))):
                    return other(*args, **kwargs)
            raise

    return call  # type: ignore[return-value]


def _flat(arguments: Iterable[Any]) -> Iterable[Any]:
    for one in arguments:
        if isinstance(one, (list, tuple)):
            yield from one
        else:
            yield one


def dispatch_for_types(function: Callable[..., Any], *types: type) -> Callable[[_Function], _Function]:
    """A decorator of what a function does when it is given objects of other types.

    Args:
        function: one that is marked by `dispatched`.
        *types: the types.

    Raises:
        KeyError: ``function`` is not marked.
    """
    others = _others[_key(function)]

    def register(other: _Function) -> _Function:
        others.append((types, other))
        return other

    return register
