"""``tensorflow.python.framework.registry``: things with names, and where they were registered.

Source: tensorflow/python/framework/registry.py, release 1.15 (names, sentences).
"""

from __future__ import annotations

import traceback
from typing import Any


class Registry:
    """Things under names, each once.

    Args:
        name: what is registered, for errors.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._registry: dict[str, tuple[Any, traceback.FrameSummary]] = {}

    def register(self, candidate: Any, name: str | None = None) -> None:
        """Registers something.

        Args:
            candidate: the thing.
            name: its name; None: its ``__name__``.

        Raises:
            KeyError: the name is taken.
        """
        key = name or candidate.__name__
        if key in self._registry:
            where = self._registry[key][1]
            raise KeyError(
                f"Registering two {self._name} with name '{key}'! (Previous registration was in {where.name}"
                f" {where.filename}:{where.lineno})"
            )
        self._registry[key] = candidate, traceback.extract_stack(limit=2)[0]

    def list(self) -> list[str]:
        """The names."""
        return [*self._registry]

    def lookup(self, name: str) -> Any:
        """What is registered under a name.

        Args:
            name: the name.

        Raises:
            LookupError: nothing is.
        """
        if name not in self._registry:
            raise LookupError(f"{self._name} registry has no entry for: {name}")
        return self._registry[name][0]
