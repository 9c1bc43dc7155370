"""Switches between TensorFlow 1 and 2 that scripts for ``tf.compat.v1`` throw first: here graphs are all there is.

>>> disable_v2_behavior()
>>> executing_eagerly()
False

Source: tensorflow/python/compat/v2_compat.py and tensorflow/python/framework/ops.py, release 1.15.
"""

from __future__ import annotations

__all__ = [
    "control_flow_v2_enabled",
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "executing_eagerly",
]


def disable_v2_behavior() -> None:
    """Does nothing: there is no behaviour of TensorFlow 2 to switch off."""


def disable_eager_execution() -> None:
    """Does nothing: ops are added to a graph and run by a session, always."""


def disable_v2_tensorshape() -> None:
    """Does nothing: the sizes of a ``TensorShape`` are ``Dimension`` objects, as in 1.15."""


def executing_eagerly() -> bool:
    """False: nothing runs as it is built."""
    return False


def disable_control_flow_v2() -> None:
    """Does nothing: loops and conditionals are made of ``Enter``, ``Switch`` and the like, always."""


def control_flow_v2_enabled() -> bool:
    """False: loops and conditionals are no calls of functions."""
    return False
