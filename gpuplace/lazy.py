"""Lazy imports of names and of op modules, so that ``import gpuplace`` stays fast.

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
"""The TensorFlow 1 library, which the rest of the package does not need."""

_NAME = re.compile(r"(\w+)(?: as (\w+))?")


def lazy_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that imports names on first use and stores them in the module.

    Args:
        module: name of the module.
        names: source module -> names to import, as after ``from ... import``, separated by white space.

    Returns:
        A function of a name; it raises AttributeError for other names.
    """
    sources = {
        own or name: (source, name) for source, text in names.items() for name, own in _NAME.findall(text)
    }

    def get(name: str) -> Any:
        if name not in sources:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        source, attribute = sources[name]
        try:
            # not getattr: `source` may be the module itself, which would recurse
            names_there = vars(import_module(source))
        except ModuleNotFoundError as error:
            if error.name != LIBRARY:
                raise
            message = f"{module}.{name} is part of {LIBRARY}, which is not installed"
            raise ModuleNotFoundError(message, name=LIBRARY) from None
        value = names_there[attribute] if attribute in names_there else import_module(f"{source}.{attribute}")
        if module in sys.modules:
            setattr(sys.modules[module], name, value)
        return value

    return get


_waiting = ["gpuplace.ops"]
"""Modules that are imported when a registry lacks a type; initially the common ops."""
_importing = threading.RLock()


def wait_for_a_miss(*modules: str) -> None:
    """Defer the import of modules that register op types until a registry lacks a type.

    Args:
        *modules: full module names. During its import, such a module must not look up a type in a registry.
    """
    _waiting.extend(modules)


def import_next() -> bool:
    """Import the deferred modules and return whether there were any; newly deferred modules are not included."""
    with _importing:
        modules = list(_waiting)
        for name in modules:
            import_module(name)
            if name in _waiting:  # other threads see it as deferred until the import is complete
                _waiting.remove(name)
    return bool(modules)


def import_waiting() -> None:
    """Import all deferred modules."""
    while import_next():
        pass


def meet_waiting(registered: Callable[..., Any]) -> None:
    """Decorate a registration function so that it imports the deferred modules first.

    Two registrations of one type are then detected at once.

    Args:
        registered: the registration function.
    """
    if not getattr(registered, "__module__", "").startswith(("gpuplace.ops.", f"{LIBRARY}.")):
        import_waiting()
