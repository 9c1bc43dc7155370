"""The way up from a class to a layer above it that shows or writes it, taken when a method is called.

Imports point downwards, and a graph cannot import what writes GraphDefs, nor a placement what draws it. So
``placement.picture()`` names the function that draws, and `above` loads it; ``import gpuplace`` loads neither protobuf
nor a notebook library. All these ways are listed in ``tests/project/test_layers.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any


def above(module: str, name: str) -> Callable[..., Any]:
    """A function of a layer above, loaded now.

    Args:
        module: its module, in full.
        name: its name there.
    """
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def notebook_view(
    self: object, include: Collection[str] | None = None, exclude: Collection[str] | None = None
) -> dict[str, str] | None:
    """HTML and text of an object, as IPython asks for them: a class says ``_repr_mimebundle_ = notebook_view``."""
    bundle: dict[str, str] | None = above("gpuplace.jupyter.reprs", "mimebundle")(self, include, exclude)
    return bundle
