"""``tensorflow.python.util.function_utils``: the arguments, name and code of a callable.

>>> fn_args(lambda features, labels: 0)
('features', 'labels')

Source: tensorflow/python/util/function_utils.py, release 1.15 (names, messages).
"""

from __future__ import annotations

import functools
from types import CodeType
from typing import Any

from gpuplace.tf1.stand_in.util import tf_decorator, tf_inspect


def _called_function(fn: Any) -> Any:
    """Return the function that runs when an object is called; functions and ``partial`` objects stay as they are."""
    if isinstance(fn, functools.partial) or tf_inspect.isroutine(fn) or not callable(fn):
        return fn
    return fn.__call__


def fn_args(fn: Any) -> tuple[str, ...]:
    """Return the names of the arguments that a function still takes, without ``self``.

    Args:
        fn: a function, a method, a callable object, or a ``functools.partial`` of one.
    """
    if isinstance(fn, functools.partial):
        left = fn_args(fn.func)[len(fn.args) :]
        return tuple(name for name in left if name not in (fn.keywords or {}))
    called = _called_function(fn)
    args: list[str] = list(tf_inspect.getfullargspec(called).args)
    if tf_inspect.ismethod(called) and args:
        del args[0]
    return tuple(args)


def has_kwargs(fn: Any) -> bool:
    """Return whether a function accepts arbitrary keyword arguments.

    Args:
        fn: as for ``fn_args``.

    Raises:
        TypeError: ``fn`` is not a function.
    """
    if isinstance(fn, functools.partial):
        return has_kwargs(fn.func)
    if not callable(fn):
        raise TypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
    return tf_inspect.getfullargspec(_called_function(fn)).varkw is not None


def _undecorated(func: Any) -> Any:
    target = tf_decorator.unwrap(func)[1]
    if not callable(target):
        raise ValueError("Argument must be callable")
    return target


def get_func_name(func: Any) -> str:
    """Return a function's name with its class, or the string form of another callable's class.

    Args:
        func: as for ``fn_args``.

    Raises:
        ValueError: ``func`` is not callable.
    """
    target = _undecorated(func)
    name: str | None = getattr(target, "__qualname__", None)
    return str(type(target)) if name is None else name.rpartition("<locals>.")[2]


def get_func_code(func: Any) -> CodeType | None:
    """Return a function's code object; None if it is not written in Python.

    Args:
        func: as for ``fn_args``.

    Raises:
        ValueError: ``func`` is not callable.
    """
    target = _undecorated(func)
    if isinstance(target, functools.partial):
        return None
    return getattr(_called_function(target), "__code__", None)
