"""``tensorflow.python.util.decorator_utils``: checks and docstrings of decorators.

Source: tensorflow/python/util/decorator_utils.py, release 1.15 (names, messages).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any


def add_notice_to_docstring(
    doc: str | None, instructions: str, no_doc_str: str, suffix_str: str, notice: Sequence[str]
) -> str:
    """Return a docstring with a warning below its first line.

    Args:
        doc: the docstring, which may be None or empty.
        instructions: what to do instead.
        no_doc_str: the first line if there is no docstring.
        suffix_str: added to the first line of a docstring.
        notice: the lines of the warning.
    """
    lines = inspect.cleandoc(doc).rstrip().splitlines() if doc else []
    first = f"{lines[0]} {suffix_str}" if lines else no_doc_str
    warning = [f"Warning: {notice[0]}", *notice[1:]]
    rest = lines[1:]
    return "\n".join([first, "", *warning, instructions, *([""] if rest and rest[0].strip() else []), *rest])


def validate_callable(func: Any, decorator_name: str) -> None:
    """Check that an object is callable.

    Args:
        func: the decorated object.
        decorator_name: name of the decorator, for the error message.

    Raises:
        ValueError: the object is not callable.
    """
    if not callable(func):
        raise ValueError(
            f"{func} is not a function. If this is a property, make sure @property appears before @{decorator_name} in"
            f" your source code:\n\n@property\n@{decorator_name}\ndef method(...)"
        )
