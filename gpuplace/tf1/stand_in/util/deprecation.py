"""``tensorflow.python.util.deprecation``: decorators that warn about deprecated functions, arguments and values.

A warning is logged through ``tf.logging.warning`` with the line of the call, and added to the docstring of
the decorated object. Programs set ``_PRINT_DEPRECATION_WARNINGS`` to False to turn the warnings off.

>>> @deprecated("2030-01-31", "Use other().")
... def old():
...     '''Does something.'''
>>> print(old.__doc__)
Does something. (deprecated)
<BLANKLINE>
Warning: THIS FUNCTION IS DEPRECATED. It will be removed after 2030-01-31.
Instructions for updating:
Use other().

Source: tensorflow/python/util/deprecation.py and decorator_utils.py, release 1.15 (names, messages).
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gpuplace import tf_logging
from gpuplace.ops.deprecation import deprecated_argument_lookup as deprecated_argument_lookup
from gpuplace.process import PROCESS
from gpuplace.tf1.stand_in.util import decorator_utils

_PRINT_DEPRECATION_WARNINGS = True
_PRINTED_WARNING: dict[Any, bool] = {}
"""Keys of warnings that were already logged."""


class DeprecatedNamesAlreadySet(Exception):
    """An object's names have been deprecated twice."""


def _removal_date(date: str | None) -> str:
    return "in a future version" if date is None else f"after {date}"


def _check(date: str | None, instructions: str | None) -> None:
    """Raise a ValueError for a date in another format, or missing instructions."""
    if date is not None and not re.match(r"20\d\d-[01]\d-[0123]\d", date):
        raise ValueError("Date must be YYYY-MM-DD.")
    if not instructions:
        raise ValueError("Don't deprecate things without conversion instructions!")


def _with_notice(doc: str | None, what: str, suffix: str, warning: str, instructions: str) -> str:
    """Return a docstring with a warning below its first line."""
    notice = [warning, "Instructions for updating:"]
    return decorator_utils.add_notice_to_docstring(doc, instructions, what, suffix, notice)


def _caller() -> str:
    """Return file and line of the nearest call from outside this module."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_on() -> bool:
    return _PRINT_DEPRECATION_WARNINGS and PROCESS.warns_of_deprecation


def _warn(key: Any, once: bool, sentence: str, *parts: Any) -> None:
    """Log a warning unless warnings are off; ``parts`` fill the sentence after the line of the call."""
    if not _is_on() or key in _PRINTED_WARNING:
        return
    if once:
        _PRINTED_WARNING[key] = True
    tf_logging.warning(f"From %s: {sentence}", _caller(), *parts)


def _wrap(function: Callable[..., Any], warn: Callable[..., None], doc: str | None) -> Callable[..., Any]:
    """Return a function that warns and then calls ``function``."""

    @functools.wraps(function)
    def warns(*args: Any, **kwargs: Any) -> Any:
        warn(args, kwargs)
        return function(*args, **kwargs)

    warns.__doc__ = doc
    return warns


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[Any], Any]:
    """Return a decorator for functions and methods that will be removed.

    Args:
        date: date of the removal, ``YYYY-MM-DD``; None: in a future version.
        instructions: what to use instead.
        warn_once: whether to warn at the first call only.

    Raises:
        ValueError: the date has another format, there are no instructions, or the decorated object is not
            callable.
    """
    _check(date, instructions)

    def decorate(function: Any) -> Any:
        decorator_utils.validate_callable(function, "deprecated")
        main = f"THIS FUNCTION IS DEPRECATED. It will be removed {_removal_date(date)}."
        doc = _with_notice(function.__doc__, "DEPRECATED FUNCTION", "(deprecated)", main, instructions)

        def warn(args: Any, kwargs: Any) -> None:
            _warn(
                function,
                warn_once,
                "%s (from %s) is deprecated and will be removed %s.\nInstructions for updating:\n%s",
                function.__qualname__,
                function.__module__,
                _removal_date(date),
                instructions,
            )

        return _wrap(function, warn, doc)

    return decorate


def deprecated_alias(
    deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True
) -> Callable[..., Any]:
    """Return a function or class that warns that it has a new name.

    Args:
        deprecated_name: the old name.
        name: the new name.
        func_or_class: the function or class.
        warn_once: whether to warn at the first call only.
    """
    sentence = "The name %s is deprecated. Please use %s instead.\n"

    def warn(args: Any, kwargs: Any) -> None:
        _warn((func_or_class, deprecated_name), warn_once, sentence, deprecated_name, name)

    main = "THIS FUNCTION IS DEPRECATED. It will be removed in a future version."
    instructions = f"Please use {name} instead."
    if not inspect.isclass(func_or_class):
        doc = _with_notice(func_or_class.__doc__, "DEPRECATED FUNCTION", "(deprecated)", main, instructions)
        return _wrap(func_or_class, warn, doc)
    doc = _with_notice(func_or_class.__doc__, "DEPRECATED CLASS", "(deprecated)", main, instructions)
    first = func_or_class.__init__
    begin = _wrap(first, warn, first.__doc__)
    begin.__signature__ = inspect.signature(first)  # type: ignore[attr-defined]
    members = {"__doc__": doc, "__module__": func_or_class.__module__, "__init__": begin}
    alias: type = type(func_or_class.__name__, (func_or_class,), members)
    return alias


def deprecated_endpoints(*args: str) -> Callable[[Any], Any]:
    """Return a decorator that records deprecated names without any warning.

    Args:
        *args: the names.

    Raises:
        DeprecatedNamesAlreadySet: the object already has deprecated names.
    """

    def decorate(function: Any) -> Any:
        if "_tf_deprecated_api_names" in vars(function):
            raise DeprecatedNamesAlreadySet(
                f"Cannot set deprecated names for {function.__name__} to {args}. Deprecated names are already set to"
                f" {function._tf_deprecated_api_names}."
            )
        function._tf_deprecated_api_names = args
        return function

    return decorate


_ALWAYS = object()
"""Stands for a deprecated argument without an allowed value."""


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    try:
        same = one == other
    except TypeError:
        return False
    return same is True


def _wrap_args(
    function: Any,
    date: str | None,
    instructions: str,
    once: bool,
    suffix: str,
    what: str,
    named: str,
    used: Any,
) -> Any:
    """Wrap a function; ``used`` returns the arguments to warn about, each with its description."""

    def warn(args: Any, kwargs: Any) -> None:
        if not _is_on():
            return
        for argument, words, parts in used(args, kwargs):
            _warn(
                (function, argument),
                once,
                f"calling %s (from %s) with {words} is deprecated and will be removed %s.\n"
                "Instructions for updating:\n%s",
                function.__qualname__,
                function.__module__,
                *parts,
                _removal_date(date),
                instructions,
            )

    main = f"SOME {what} ARE DEPRECATED: `({named})`. They will be removed {_removal_date(date)}."
    doc = _with_notice(function.__doc__, f"DEPRECATED FUNCTION {what}", suffix, main, instructions)
    return _wrap(function, warn, doc)


def deprecated_args(
    date: str | None, instructions: str, *deprecated_arg_names_or_tuples: Any, **kwargs: Any
) -> Callable[[Any], Any]:
    """Return a decorator for functions some of whose arguments will be removed.

    Args:
        date: date of the removal, ``YYYY-MM-DD``; None: in a future version.
        instructions: what to do instead.
        *deprecated_arg_names_or_tuples: names of arguments, or pairs of a name and the value that is still
            allowed.
        **kwargs: ``warn_once``: whether to warn at the first such call only; the default is True.

    Raises:
        ValueError: the date has another format, there are no instructions or arguments, the function has no
            such argument, or it is not callable.
    """
    _check(date, instructions)
    if not deprecated_arg_names_or_tuples:
        raise ValueError("Specify which argument is deprecated.")
    once = kwargs.pop("warn_once", True)
    if kwargs:
        raise ValueError(f"Illegal argument to deprecated_args: {kwargs}")
    allowed: dict[str, Any] = dict(
        entry if isinstance(entry, tuple) else (entry, _ALWAYS) for entry in deprecated_arg_names_or_tuples
    )

    def decorate(function: Any) -> Any:
        decorator_utils.validate_callable(function, "deprecated_args")
        signature = inspect.signature(function)
        missing = [name for name in allowed if name not in signature.parameters]
        if missing:
            raise ValueError(
                f"The following deprecated arguments are not present in the function signature: {missing}. Found next"
                f" arguments: {list(signature.parameters)}."
            )

        def used(args: Any, kwargs: Any) -> Iterable[tuple[str, str, tuple[Any, ...]]]:
            bound = signature.bind(*args, **kwargs).arguments
            for name, value in allowed.items():
                if name in bound and not _is_same(bound[name], value):
                    yield name, "%s", (name,)

        named = ", ".join(sorted(allowed))
        suffix = "(deprecated arguments)"
        return _wrap_args(function, date, instructions, once, suffix, "ARGUMENTS", named, used)

    return decorate


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **deprecated_kwargs: Any
) -> Callable[[Any], Any]:
    """Return a decorator for functions that will no longer accept some values of arguments.

    Args:
        date: date of the removal, ``YYYY-MM-DD``; None: in a future version.
        instructions: what to do instead.
        warn_once: whether to warn at the first such call only.
        **deprecated_kwargs: the arguments and their deprecated values.

    Raises:
        ValueError: the date has another format, there are no instructions or values, or the decorated object
            is not callable.
    """
    _check(date, instructions)
    if not deprecated_kwargs:
        raise ValueError("Specify which argument values are deprecated.")

    def decorate(function: Any) -> Any:
        decorator_utils.validate_callable(function, "deprecated_arg_values")
        signature = inspect.signature(function)

        def used(args: Any, kwargs: Any) -> Iterable[tuple[str, str, tuple[Any, ...]]]:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            for name, value in deprecated_kwargs.items():
                if name in bound.arguments and _is_same(bound.arguments[name], value):
                    yield name, "%s=%s", (name, value)

        named = ", ".join(f"{name}={value!r}" for name, value in sorted(deprecated_kwargs.items()))
        suffix = "(deprecated argument values)"
        return _wrap_args(function, date, instructions, warn_once, suffix, "ARGUMENT VALUES", named, used)

    return decorate


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Suppress warnings in the ``with`` block."""
    before, PROCESS.warns_of_deprecation = PROCESS.warns_of_deprecation, False
    try:
        yield
    finally:
        PROCESS.warns_of_deprecation = before
