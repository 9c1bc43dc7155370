"""``arg_scope``: default arguments of functions for a block.

    with arg_scope([conv2d], padding="VALID"):
        conv2d(x, 16, 5)                        same as conv2d(x, 16, 5, padding="VALID")

Source: tensorflow/contrib/framework/python/ops/arg_scope.py, release 1.15.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = ["add_arg_scope", "arg_scope", "arg_scope_func_key", "arg_scoped_arguments", "current_arg_scope"]
__all__ += ["has_arg_scope"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Scopes(threading.local):
    def __init__(self) -> None:
        self.stack: list[dict[Any, dict[str, Any]]] = [{}]


_scopes = _Scopes()


def arg_scope_func_key(op: Any) -> Any:
    """Return the key of a function in arg scopes.

    Args:
        op: the function.
    """
    return getattr(op, "_key_op", op)


def add_arg_scope(func: _Function) -> _Function:
    """Decorate a function so that ``arg_scope`` can set its defaults.

    Args:
        func: the function.

    Returns:
        The decorated function.
    """
    key = f"{func.__module__}.{func.__qualname__}"

    @functools.wraps(func)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        defaults = _scopes.stack[-1].get(key)
        return func(*args, **{**defaults, **kwargs}) if defaults else func(*args, **kwargs)

    names = [
        name
        for name, parameter in inspect.signature(func).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    ]
    scoped._key_op = key  # type: ignore[attr-defined]
    scoped._defaults = tuple(names)  # type: ignore[attr-defined]
    return scoped  # type: ignore[return-value]


@contextlib.contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[dict[Any, dict[str, Any]]]:
    """Set default arguments of functions for a block.

    >>> import gpuplace as tf
    >>> slim = tf.contrib.slim
    >>> with slim.arg_scope([slim.conv2d], padding="VALID"):
    ...     slim.conv2d(tf.zeros([1, 8, 8, 3]), 4, 3).shape.as_list()
    [1, 6, 6, 4]

    Args:
        list_ops_or_scope: functions decorated with ``add_arg_scope``; or a scope from an earlier block, to enter again.
        **kwargs: the default arguments; none for a scope.

    Returns:
        A context manager; its value is the scope.

    Raises:
        TypeError: ``list_ops_or_scope`` is neither a list of functions nor a scope.
        ValueError: a function is not decorated, or a scope is combined with arguments.
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError(
                "When attempting to re-use a scope by suppling a dictionary, kwargs must be empty."
            )
        scope = {key: dict(values) for key, values in list_ops_or_scope.items()}
    else:
        if not isinstance(list_ops_or_scope, list | tuple):
            raise TypeError("list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict)")
        scope = {key: dict(values) for key, values in _scopes.stack[-1].items()}
        for function in list_ops_or_scope:
            if not has_arg_scope(function):
                name = getattr(function, "__name__", function)
                raise ValueError(f"{name} is not decorated with @add_arg_scope")
            scope[arg_scope_func_key(function)] = {**scope.get(arg_scope_func_key(function), {}), **kwargs}
    _scopes.stack.append(scope)
    try:
        yield scope
    finally:
        _scopes.stack.pop()


def current_arg_scope() -> dict[Any, dict[str, Any]]:
    """Return the current defaults, by function."""
    return _scopes.stack[-1]


def has_arg_scope(func: Any) -> bool:
    """Return whether a function is decorated with ``add_arg_scope``.

    Args:
        func: the function.
    """
    return hasattr(func, "_key_op")


def arg_scoped_arguments(func: Any) -> tuple[str, ...]:
    """Return the names of the arguments that ``arg_scope`` may set.

    Args:
        func: a function decorated with ``add_arg_scope``.

    Raises:
        ValueError: it is not decorated.
    """
    if not has_arg_scope(func):
        raise ValueError(f"{func} is not decorated with @add_arg_scope")
    names: tuple[str, ...] = func._defaults
    return names
