"""``tensorflow.python.util.tf_inspect``: the standard library's ``inspect`` for decorated functions.

It includes names that Python 3.11 dropped.

>>> import functools
>>> getargspec(functools.partial(lambda a, b=1, c=2: a, 5, c=3))
ArgSpec(args=['b', 'c'], varargs=None, keywords=None, defaults=(1, 3))

Source: tensorflow/python/util/tf_inspect.py, release 1.15.
"""

from __future__ import annotations

import functools
import inspect
from inspect import FullArgSpec
from typing import Any, NamedTuple

from gpuplace.tf1.stand_in.util import tf_decorator


class ArgSpec(NamedTuple):
    """The arguments of a function, as in Python 2."""

    args: list[str]
    """Names of the positional arguments."""
    varargs: str | None
    """Name of the argument for further positional arguments, or None."""
    keywords: str | None
    """Name of the argument for further keyword arguments, or None."""
    defaults: tuple[Any, ...] | None
    """Default values of the last ``args``, or None."""


def _declared_spec(obj: Any) -> Any:
    """Return the arguments that the outermost decorator with a specification declares, or None."""
    decorators, _ = tf_decorator.unwrap(obj)
    return next((one.decorator_argspec for one in decorators if one.decorator_argspec is not None), None)


def getfullargspec(obj: Any) -> FullArgSpec:
    """Return the arguments of a function; for a decorated one, those of its target.

    Args:
        obj: the function or class.
    """
    declared = _declared_spec(obj)
    if declared is not None:
        return declared
    target = tf_decorator.unwrap(obj)[1]
    if not isinstance(target, functools.partial):
        target = inspect.unwrap(target)
    return inspect.getfullargspec(target)


def getargspec(obj: Any) -> ArgSpec:
    """Return the arguments of a function, without keyword-only arguments.

    For a ``functools.partial`` these are the remaining arguments, for an object those of its ``__call__``,
    and for a class those of its ``__init__`` or ``__new__``.

    Args:
        obj: the function, class or object.

    Raises:
        ValueError: an argument without a default follows one to which a ``partial`` gave a value.
    """
    if isinstance(obj, functools.partial):
        return _partial_argspec(obj)
    target = tf_decorator.unwrap(obj)[1]
    if isinstance(target, functools.partial):
        return _partial_argspec(target)
    declared = _declared_spec(obj)
    if declared is not None:
        return declared
    if inspect.isclass(target):
        target = target.__init__ if "__init__" in vars(target) else target.__new__
    elif not (inspect.isroutine(target)):
        target = type(target).__call__
    spec = inspect.getfullargspec(inspect.unwrap(target))
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def _partial_argspec(partial: functools.partial[Any]) -> ArgSpec:
    """Return the remaining arguments of a ``partial``."""
    spec = getargspec(partial.func)
    names = spec.args[len(partial.args) :]
    defaults = dict(zip(reversed(spec.args), reversed(spec.defaults or ()), strict=False))
    defaults.update(partial.keywords or {})
    with_default = [name for name in names if name in defaults]
    if not with_default:
        return ArgSpec(names, spec.varargs, spec.keywords, None)
    rest = names[names.index(with_default[0]) :]
    without = [name for name in rest if name not in defaults]
    if without:
        raise ValueError(
            f"Some arguments {without} do not have default value, but they are positioned after those with default"
            " values. This can not be expressed with ArgSpec."
        )
    return ArgSpec(names, spec.varargs, spec.keywords, tuple(defaults[name] for name in rest))


def getcallargs(*func_and_positional: Any, **named: Any) -> dict[str, Any]:
    """Return the value of each argument in a call of a function, defaults included.

    Args:
        *func_and_positional: the function and its positional arguments.
        **named: its keyword arguments.

    Raises:
        TypeError: the arguments do not match the function.
    """
    func, *positional = func_and_positional
    spec = getfullargspec(func)
    call = dict(named)
    if inspect.ismethod(func):
        positional.insert(0, func.__self__)
    call.update(zip(spec.args, positional, strict=False))
    for name, value in zip(reversed(spec.args), reversed(spec.defaults or ()), strict=False):
        call.setdefault(name, value)
    for name, value in (getattr(spec, "kwonlydefaults", None) or {}).items():
        call.setdefault(name, value)
    return call


def _inspect_target(name: str) -> Any:
    """Return a function of ``inspect`` that inspects the target of a decorated object."""
    ask = getattr(inspect, name)

    @functools.wraps(ask)
    def asked(object: Any, *args: Any, **kwargs: Any) -> Any:
        return ask(tf_decorator.unwrap(object)[1], *args, **kwargs)

    return asked


getdoc = inspect.getdoc
getfile = _inspect_target("getfile")
getmodule = inspect.getmodule
getsource = _inspect_target("getsource")
getsourcefile = _inspect_target("getsourcefile")
getsourcelines = _inspect_target("getsourcelines")
isbuiltin = _inspect_target("isbuiltin")
isclass = _inspect_target("isclass")
ismethod = _inspect_target("ismethod")
isfunction = _inspect_target("isfunction")
isgenerator = _inspect_target("isgenerator")
isgeneratorfunction = _inspect_target("isgeneratorfunction")
ismodule = _inspect_target("ismodule")
isroutine = _inspect_target("isroutine")


def __getattr__(name: str) -> Any:
    return getattr(inspect, name)
