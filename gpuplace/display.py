r"""Late imports of functions in higher layers, and texts that are safe to print on a terminal.

Imports point downwards: a graph cannot import the code that writes GraphDefs, nor a placement the code that draws it.
Therefore ``placement.picture()`` names the drawing function, and `above` loads it; ``import gpuplace`` loads neither
protobuf nor a notebook library. All such imports are listed in ``tests/project/test_layers.py``.

Names and values in files may contain terminal control sequences; `safe_text` escapes them.

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
"""Control characters except line breaks and tabs, direction marks, and surrogates."""


def safe_text(text: str) -> str:
    r"""Escape the characters of a text that move the cursor, change colors or titles, or hide text.

    >>> safe_text("line 1\n\tline 2\r\x1b[2J")
    'line 1\n\tline 2\\r\\x1b[2J'
    """
    if text.isprintable():
        return text
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def with_safe_text(method: Callable[[Any], str]) -> Callable[[Any], str]:
    """Decorate ``__str__`` and similar methods so that they return `safe_text`."""

    @wraps(method)
    def shown(self: Any) -> str:
        return safe_text(method(self))

    return shown


def above(module: str, name: str) -> Callable[..., Any]:
    """Import a function of a higher layer.

    Args:
        module: full name of its module.
        name: name of the function.
    """
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def notebook_view(
    self: object, include: Collection[str] | None = None, exclude: Collection[str] | None = None
) -> dict[str, str] | None:
    """Return HTML and text of an object for IPython; a class sets ``_repr_mimebundle_ = notebook_view``."""
    bundle: dict[str, str] | None = above("gpuplace.jupyter.reprs", "mimebundle")(self, include, exclude)
    return bundle
