"""Arguments that have both a new and a deprecated name."""

from __future__ import annotations

from typing import Any

__all__ = ["deprecated_argument_lookup"]


def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """Return the value of an argument that has a new and a deprecated name.

    >>> deprecated_argument_lookup("axis", None, "dim", 1), deprecated_argument_lookup("axis", 0, "dim", None)
    (1, 0)

    Args:
        new_name: the new name.
        new_value: the value passed under the new name, or None.
        old_name: the deprecated name.
        old_value: the value passed under the deprecated name, or None.

    Raises:
        ValueError: both values are given.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value
