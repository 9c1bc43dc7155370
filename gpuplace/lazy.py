"""What is imported when it is first asked for, so that ``import gpuplace`` stays quick: names, and modules of ops.

>>> get = lazy_names("some", {"fractions": "Fraction as Ratio", "xml": "dom"})
>>> get("Ratio").__name__, get("dom").__name__
('Fraction', 'xml.dom')
>>> get("other")
Traceback (most recent call last):
    ...
AttributeError: module 'some' has no attribute 'other'

Source: PEP 562, "Module __getattr__ and __dir__".
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["import_waiting", "lazy_names", "meet_waiting", "wait_for_a_miss"]

LIBRARY = "gpuplace.tf1"
"""The TensorFlow 1 library, without which all else works."""

_NAME = re.compile(r"(\w+)(?: as (\w+))?")


def lazy_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__``, which imports a name and keeps it in the module.

    Args:
        module: the module's own name.
        names: module to what is imported from it, as after ``from ... import``, separated by white space.

    Returns:
        A function of a name; it raises AttributeError for those that are not among them.
    """
    sources = {
        own or name: (source, name) for source, text in names.items() for name, own in _NAME.findall(text)
    }

    def get(name: str) -> Any:
        if name not in sources:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        source, attribute = sources[name]
        try:
            # Not getattr: it may be the module itself, which would ask here.
            names_there = vars(import_module(source))
        except ModuleNotFoundError as error:
            if error.name != LIBRARY:
                raise
            told = f"{module}.{name} is part of {LIBRARY}, which is not installed"
            raise ModuleNotFoundError(told, name=LIBRARY) from None
        found = names_there[attribute] if attribute in names_there else import_module(f"{source}.{attribute}")
        if module in sys.modules:
            setattr(sys.modules[module], name, found)
        return found

    return get


_waiting = ["gpuplace.ops"]
"""The common ops wait as well, where nothing of them is used; others wait behind them."""
_importing = threading.RLock()


def wait_for_a_miss(*modules: str) -> None:
    """Names modules that register by op type and are imported when some registry is asked for a type it lacks.

    Args:
        *modules: full names. While such a module is imported, it must ask no registry for a type.
    """
    _waiting.extend(modules)


def import_next() -> bool:
    """Imports the modules that wait; whether there were any. What comes to wait meanwhile waits for the next time."""
    with _importing:
        modules = list(_waiting)
        for name in modules:
            import_module(name)
            if name in _waiting:  # for other threads it waits until it is there
                _waiting.remove(name)
    return bool(modules)


def import_waiting() -> None:
    """Imports all modules that wait for a miss."""
    while import_next():
        pass


def meet_waiting(registered: Callable[..., Any]) -> None:
    """Imports the modules that wait where something from outside is registered: two for a type are found out at once.

    Args:
        registered: the function.
    """
    if not getattr(registered, "__module__", "").startswith(("gpuplace.ops.", f"{LIBRARY}.")):
        import_waiting()
