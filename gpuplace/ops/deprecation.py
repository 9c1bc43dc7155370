"""Arguments that have a newer name beside the one that they had."""

from __future__ import annotations

from typing import Any

__all__ = ["deprecated_argument_lookup"]


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value of an argument that has a new name.

    >>> deprecated_argument_lookup("axis", None, "dim", 1), deprecated_argument_lookup("axis", 0, "dim", None)
    (1, 0)

    Args:
        new_name: its name.
        new_value: what was given under it; None: nothing.
        old_name: the name that will go.
        old_value: what was given under that.

    Raises:
        ValueError: both were given.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value
