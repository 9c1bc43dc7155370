"""``tensorflow.python.util.tf_decorator``: decorated functions that know their targets.

    function  <──  _tf_decorator of the inner wrapper  <──  _tf_decorator of the outer wrapper

``unwrap`` follows that chain to the function, ``rewrap`` replaces the function at its end.

>>> def double(x):
...     return 2 * x
>>> def plus_one(x):
...     return plus_one.__wrapped__(x) + 1
>>> plus_one = make_decorator(double, plus_one, "plus_one")
>>> decorators, target = unwrap(plus_one)
>>> [one.decorator_name for one in decorators], target is double, plus_one(3)
(['plus_one'], True, 7)

Source: tensorflow/python/util/tf_decorator.py, release 1.15 (names, attributes).
"""

from __future__ import annotations

import sys
from typing import Any


class TFDecorator:
    """One decorator of one function; it can be called in place of the function.

    Args:
        decorator_name: the decorator's name.
        target: the decorated function.
        decorator_doc: the decorator's description.
        decorator_argspec: its arguments instead of the target's; None for the target's.
    """

    def __init__(
        self, decorator_name: str, target: Any, decorator_doc: str = "", decorator_argspec: Any = None
    ) -> None:
        self._decorated_target = target
        self._decorator_name = decorator_name
        self._decorator_doc = decorator_doc
        self._decorator_argspec = decorator_argspec
        for name in ("__name__", "__qualname__"):
            if hasattr(target, name):
                setattr(self, name, getattr(target, name))
        self.__doc__ = getattr(target, "__doc__", None) or decorator_doc or None
        self.__wrapped__ = target

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self._decorated_target.__get__(instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._decorated_target(*args, **kwargs)

    @property
    def decorated_target(self) -> Any:
        """The decorated function."""
        return self._decorated_target

    @decorated_target.setter
    def decorated_target(self, target: Any) -> None:
        self._decorated_target = target

    @property
    def decorator_name(self) -> str:
        """The decorator's name."""
        return self._decorator_name

    @property
    def decorator_doc(self) -> str:
        """The decorator's description."""
        return self._decorator_doc

    @property
    def decorator_argspec(self) -> Any:
        """The decorator's arguments; None for the target's."""
        return self._decorator_argspec


def _callers_name() -> str:
    """Return the name of the function that called the public function of this module."""
    return sys._getframe(2).f_code.co_name


def make_decorator(
    target: Any,
    decorator_func: Any,
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Any:
    """Record in a wrapper which function it wraps.

    Args:
        target: the function.
        decorator_func: the wrapper, which is returned.
        decorator_name: the decorator's name; None for that of the calling function.
        decorator_doc: the decorator's description.
        decorator_argspec: the arguments that the wrapper takes; None for the target's.

    Returns:
        The wrapper, with ``_tf_decorator``, ``__wrapped__`` and further attributes of the target.
    """
    decorator = TFDecorator(decorator_name or _callers_name(), target, decorator_doc, decorator_argspec)
    decorator_func._tf_decorator = decorator
    for name in ("__name__", "__qualname__", "__module__"):
        if hasattr(target, name):
            setattr(decorator_func, name, getattr(target, name))
    for name, value in getattr(target, "__dict__", {}).items():
        if name not in decorator_func.__dict__:
            setattr(decorator_func, name, value)
    if decorator.__doc__:
        decorator_func.__doc__ = decorator.__doc__
    decorator_func.__wrapped__ = target
    return decorator_func


def _decorator_of(function: Any) -> TFDecorator | None:
    """Return the outermost ``TFDecorator``; None for a function without one."""
    if isinstance(function, TFDecorator):
        return function
    decorator = getattr(function, "_tf_decorator", None)
    return decorator if isinstance(decorator, TFDecorator) else None


def unwrap(maybe_tf_decorator: Any) -> tuple[list[TFDecorator], Any]:
    """Return the decorators of a function from the outermost to the innermost, and the function itself.

    Args:
        maybe_tf_decorator: a function, decorated or not.
    """
    decorators: list[TFDecorator] = []
    current = maybe_tf_decorator
    while (decorator := _decorator_of(current)) is not None:
        decorators.append(decorator)
        current = decorator.decorated_target
    return decorators, current


def rewrap(decorator_func: Any, previous_target: Any, new_target: Any) -> None:
    """Replace a decorated function with another function.

    Args:
        decorator_func: the decorated function.
        previous_target: the function to replace, at the end of the chain or in it; inner decorators are
            dropped. A function that is not in the chain stands for its end.
        new_target: its replacement.
    """
    holder = decorator_func
    decorator = _decorator_of(holder)
    while decorator is not None:
        inner = _decorator_of(decorator.decorated_target)
        if decorator.decorated_target is previous_target or inner is None:
            decorator.decorated_target = new_target
            if holder is not decorator:
                holder.__wrapped__ = new_target
            return
        holder, decorator = decorator.decorated_target, inner
