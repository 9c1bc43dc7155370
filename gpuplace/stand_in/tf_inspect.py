"""``tensorflow.python.util.tf_inspect``: the standard library's ``inspect``, with the names that Python 3.11 dropped.

Source: tensorflow/python/util/tf_inspect.py, release 1.15.
"""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple


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


def getfullargspec(obj: Any) -> inspect.FullArgSpec:
    """The arguments of a function, of one that is decorated those of the function within.

    Args:
        obj: the function or class.
    """
    return inspect.getfullargspec(inspect.unwrap(obj))


def getargspec(obj: Any) -> ArgSpec:
    """The arguments of a function, without those that can be given by name only.

    Args:
        obj: the function or class.
    """
    found = getfullargspec(obj)
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)


def __getattr__(name: str) -> Any:
    return getattr(inspect, name)
