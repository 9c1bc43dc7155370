"""``tensorflow.python.util.decorator_utils``: what decorators check and say of what they decorate.

Source: tensorflow/python/util/decorator_utils.py, release 1.15 (names, sentences).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any


def add_notice_to_docstring(
    doc: str | None, instructions: str, no_doc_str: str, suffix_str: str, notice: Sequence[str]
) -> str:
    """A docstring that begins with a warning, below its first line.

    Args:
        doc: the docstring; None or "": there is none.
        instructions: what to do instead.
        no_doc_str: the first line where there is no docstring.
        suffix_str: what follows the first line of one.
        notice: the lines of the warning.
    """
    lines = inspect.cleandoc(doc).rstrip().splitlines() if doc else []
    first = f"{lines[0]} {suffix_str}" if lines else no_doc_str
    warning = [f"Warning: {notice[0]}", *notice[1:]]
    rest = lines[1:]
    return "\n".join([first, "", *warning, instructions, *([""] if rest and rest[0].strip() else []), *rest])


def validate_callable(func: Any, decorator_name: str) -> None:
    """Checks that something can be called.

    Args:
        func: what is decorated.
        decorator_name: by what, for the error.

    Raises:
        ValueError: it cannot.
    """
    if not callable(func):
        raise ValueError(
            f"{func} is not a function. If this is a property, make sure @property appears before @{decorator_name} in"
            f" your source code:\n\n@property\n@{decorator_name}\ndef method(...)"
        )
