"""``tensorflow.python.tf2``: whether a program runs with TensorFlow 2's behaviour, which here none does.

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
    """Says that there is no behaviour of TensorFlow 2.

    Raises:
        UnimplementedError: always.
    """
    raise UnimplementedError.of("TensorFlow 2's behaviour is not available: gpuplace has TensorFlow 1's")


def disable() -> None:
    """Does nothing: it is off."""


def enabled() -> bool:
    """False: it is off."""
    return False
