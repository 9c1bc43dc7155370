"""``tensorflow.python.util.function_utils``: the arguments, name and code of something that can be called.

>>> fn_args(lambda features, labels: 0)
('features', 'labels')

Source: tensorflow/python/util/function_utils.py, release 1.15 (names, sentences).
"""

from __future__ import annotations

import functools
from types import CodeType
from typing import Any

from gpuplace.tf1.stand_in.util import tf_decorator, tf_inspect


def _called(fn: Any) -> Any:
    """The function that a call of an object runs; a function, method or ``partial`` itself."""
    if isinstance(fn, functools.partial) or tf_inspect.isroutine(fn) or not callable(fn):
        return fn
    return fn.__call__


def fn_args(fn: Any) -> tuple[str, ...]:
    """The names of the arguments that a function still takes, without ``self``.

    Args:
        fn: a function, method, object that can be called, or ``functools.partial`` of one.
    """
    if isinstance(fn, functools.partial):
        left = fn_args(fn.func)[len(fn.args) :]
        return tuple(name for name in left if name not in (fn.keywords or {}))
    called = _called(fn)
    args: list[str] = list(tf_inspect.getfullargspec(called).args)
    if tf_inspect.ismethod(called) and args:
        del args[0]
    return tuple(args)


def has_kwargs(fn: Any) -> bool:
    """Whether a function takes any argument by name.

    Args:
        fn: as for `fn_args`.

    Raises:
        TypeError: it is no function.
    """
    if isinstance(fn, functools.partial):
        return has_kwargs(fn.func)
    if not callable(fn):
        raise TypeError(f"fn should be a function-like object, but is of type {type(fn)}.")
    return tf_inspect.getfullargspec(_called(fn)).varkw is not None


def _undecorated(func: Any) -> Any:
    target = tf_decorator.unwrap(func)[1]
    if not callable(target):
        raise ValueError("Argument must be callable")
    return target


def get_func_name(func: Any) -> str:
    """A function's name with that of its class; of another object that can be called, what is printed of its class.

    Args:
        func: as for `fn_args`.

    Raises:
        ValueError: it cannot be called.
    """
    target = _undecorated(func)
    name: str | None = getattr(target, "__qualname__", None)
    return str(type(target)) if name is None else name.rpartition("<locals>.")[2]


def get_func_code(func: Any) -> CodeType | None:
    """A function's code; None where there is none in Python.

    Args:
        func: as for `fn_args`.

    Raises:
        ValueError: it cannot be called.
    """
    target = _undecorated(func)
    if isinstance(target, functools.partial):
        return None
    return getattr(_called(target), "__code__", None)
