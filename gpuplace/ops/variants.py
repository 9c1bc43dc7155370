"""Functions that are another function with other defaults or a fixed argument: one signature and body for a family.

>>> def power(x: float, *, exponent: int = 1) -> float:
...     return x**exponent
>>> @variant_of(power, exponent=2)
... def square() -> None:
...     '''The second power.'''
>>> square(3.0), square.__name__, square.__doc__
(9.0, 'square', 'The second power.')
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, update_wrapper
from types import FunctionType
from typing import Any, TypeVar, cast

__all__ = ["init_defaults", "variant_of"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type[Any])


def _copied(function: Callable[..., Any], **defaults: Any) -> FunctionType:
    """Return a copy of a function with other defaults."""
    assert isinstance(function, FunctionType)
    code = function.__code__
    copy = FunctionType(code, function.__globals__, function.__name__, None, function.__closure__)
    update_wrapper(copy, function)
    del copy.__wrapped__  # type: ignore[attr-defined]
    before = function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(before) : code.co_argcount]
    copy.__defaults__ = tuple(defaults.pop(name, value) for name, value in zip(names, before, strict=True))
    by_name = function.__kwdefaults__ or {}
    copy.__kwdefaults__ = {name: defaults.pop(name, value) for name, value in by_name.items()}
    assert not defaults, f"{function.__qualname__} has no defaults for {', '.join(defaults)}"
    return copy


_signature = cache(inspect.signature)
"""``inspect.signature``, cached: a family's shared signature is read once for all members."""


def init_defaults(**defaults: Any) -> Callable[[_Class], _Class]:
    """Decorate a class so that its inherited ``__init__`` has the class's own name and other defaults.

    Args:
        **defaults: new defaults by parameter name.
    """

    def with_own_init(cls: _Class) -> _Class:
        cls.__init__ = _copied(cls.__init__, **defaults)
        cls.__init__.__qualname__, cls.__init__.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
        return cls

    return with_own_init


def variant_of(function: _Function, **fixed: Any) -> Callable[[Callable[[], None]], _Function]:
    """Turn a stub with a name and a docstring into ``function`` with some arguments fixed.

    Args:
        function: the shared function; its keyword-only parameters distinguish the members.
        **fixed: this member's keyword-only arguments, which its signature leaves out, and new defaults of other
            parameters.
    """

    def named(described: Callable[[], None]) -> _Function:
        member = _copied(function, **fixed)
        update_wrapper(member, described, ("__module__", "__name__", "__qualname__", "__doc__"))
        del member.__wrapped__  # type: ignore[attr-defined]
        member.__code__ = member.__code__.replace(co_name=member.__name__, co_qualname=member.__qualname__)
        shared = _signature(function)
        kept = [
            item.replace(default=fixed[name]) if name in fixed else item
            for name, item in shared.parameters.items()
            if item.kind is not item.KEYWORD_ONLY
        ]
        member.__signature__ = shared.replace(parameters=kept)  # type: ignore[attr-defined]
        return cast(_Function, member)

    return named
