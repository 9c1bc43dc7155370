r"""The way up from a class to a layer above it that shows or writes it, and texts as a terminal may have them.

Imports point downwards, and a graph cannot import what writes GraphDefs, nor a placement what draws it. So
``placement.picture()`` names the function that draws, and `above` loads it; ``import gpuplace`` loads neither protobuf
nor a notebook library. All these ways are listed in ``tests/project/test_layers.py``.

Names and values in files may be anything, also what a terminal would obey; `safe_text` writes that out.

>>> print(safe_text("a\x1b]0;title\x07"))
a\x1b]0;title\x07
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import wraps
from importlib import import_module
from typing import Any

_OBEYED = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ud800-\\udfff]"
)
"""Control characters but line breaks and tabs, marks of direction, and halves of characters."""


def safe_text(text: str) -> str:
    r"""A text of lines in which nothing moves the cursor, colours, renames, or hides what stands there.

    >>> safe_text("line 1\n\tline 2\r\x1b[2J")
    'line 1\n\tline 2\\r\\x1b[2J'
    """
    if text.isprintable():
        return text
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def with_safe_text(method: Callable[[Any], str]) -> Callable[[Any], str]:
    """A decorator for ``__str__`` and the like: what it returns is `safe_text`."""

    @wraps(method)
    def shown(self: Any) -> str:
        return safe_text(method(self))

    return shown


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
