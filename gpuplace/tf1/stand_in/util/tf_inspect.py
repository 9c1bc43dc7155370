"""``tensorflow.python.util.tf_inspect``: the standard library's ``inspect``, which sees through decorators.

Names that Python 3.11 dropped are here too.

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
    """The arguments of a function, as Python 2 counted them."""

    args: list[str]
    """The names of those that can be given by position."""
    varargs: str | None
    """The name of what takes further ones."""
    keywords: str | None
    """The name of what takes further ones given by name."""
    defaults: tuple[Any, ...] | None
    """The values of the last of ``args`` where they are not given."""


def _given_spec(obj: Any) -> Any:
    """The arguments that the outermost decorator with some says it takes; None where none does."""
    decorators, _ = tf_decorator.unwrap(obj)
    return next((one.decorator_argspec for one in decorators if one.decorator_argspec is not None), None)


def getfullargspec(obj: Any) -> FullArgSpec:
    """The arguments of a function, of one that is decorated those of the function within.

    Args:
        obj: the function or class.
    """
    given = _given_spec(obj)
    if given is not None:
        return given
    target = tf_decorator.unwrap(obj)[1]
    if not isinstance(target, functools.partial):
        target = inspect.unwrap(target)
    return inspect.getfullargspec(target)


def getargspec(obj: Any) -> ArgSpec:
    """The arguments of a function, without those that can be given by name only.

    Of a ``functools.partial`` they are those that are left, of an object those of its ``__call__``, and of a class
    those of its ``__init__`` or ``__new__``.

    Args:
        obj: the function, class or object.

    Raises:
        ValueError: an argument without a default follows one that a ``partial`` gave one.
    """
    if isinstance(obj, functools.partial):
        return _partial_argspec(obj)
    target = tf_decorator.unwrap(obj)[1]
    if isinstance(target, functools.partial):
        return _partial_argspec(target)
    given = _given_spec(obj)
    if given is not None:
        return given
    if inspect.isclass(target):
        target = target.__init__ if "__init__" in vars(target) else target.__new__
    elif not (inspect.isroutine(target)):
        target = type(target).__call__
    found = inspect.getfullargspec(inspect.unwrap(target))
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)


def _partial_argspec(partial: functools.partial[Any]) -> ArgSpec:
    """The arguments that a ``partial`` leaves."""
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
    """What each argument of a function is for a call, defaults included.

    Args:
        *func_and_positional: the function, and the arguments given by position.
        **named: those given by name.

    Raises:
        TypeError: the function cannot be called so.
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


def _of_target(name: str) -> Any:
    """A function of ``inspect`` that is asked about what is decorated."""
    ask = getattr(inspect, name)

    @functools.wraps(ask)
    def asked(object: Any, *args: Any, **kwargs: Any) -> Any:
        return ask(tf_decorator.unwrap(object)[1], *args, **kwargs)

    return asked


getdoc = inspect.getdoc
getfile = _of_target("getfile")
getmodule = inspect.getmodule
getsource = _of_target("getsource")
getsourcefile = _of_target("getsourcefile")
getsourcelines = _of_target("getsourcelines")
isbuiltin = _of_target("isbuiltin")
isclass = _of_target("isclass")
ismethod = _of_target("ismethod")
isfunction = _of_target("isfunction")
isgenerator = _of_target("isgenerator")
isgeneratorfunction = _of_target("isgeneratorfunction")
ismodule = _of_target("ismodule")
isroutine = _of_target("isroutine")


def __getattr__(name: str) -> Any:
    return getattr(inspect, name)
