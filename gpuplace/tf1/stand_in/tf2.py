"""``tensorflow.python.tf2``: whether TensorFlow 2's behavior is enabled, which is never the case here.

>>> disable()
>>> enabled()
False

Source: tensorflow/python/tf2.py, release 1.15 (names).
"""

from __future__ import annotations

from typing import NoReturn

from gpuplace.errors import UnimplementedError

__all__ = ["disable", "enable", "enabled"]


def enable() -> NoReturn:
    """Raise an error, because TensorFlow 2's behavior is not available.

    Raises:
        UnimplementedError: always.
    """
    raise UnimplementedError.of("TensorFlow 2's behavior is not available: gpuplace reproduces TensorFlow 1")


def disable() -> None:
    """Do nothing, because it is disabled already."""


def enabled() -> bool:
    """Return False."""
    return False
