"""Switches between TensorFlow 1 and 2 that scripts for ``tf.compat.v1`` throw first: here graphs are all there is.

>>> disable_v2_behavior()
>>> executing_eagerly()
False

Source: tensorflow/python/compat/v2_compat.py and tensorflow/python/framework/ops.py, release 1.15.
"""

from __future__ import annotations

from gpuplace.graph.convert import get_default_graph
from gpuplace.ops.flow import control_flow_util

__all__ = [
    "control_flow_v2_enabled",
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "enable_control_flow_v2",
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


def enable_control_flow_v2() -> None:
    """Makes loops and conditionals single nodes, ``While`` and ``If``, that call functions, in every graph.

    In graphs of ``tf.function`` they are that in any case.
    """
    control_flow_util.ENABLE_CONTROL_FLOW_V2 = True


def disable_control_flow_v2() -> None:
    """Makes loops and conditionals of ``Enter``, ``Switch`` and the like, which is so at first."""
    control_flow_util.ENABLE_CONTROL_FLOW_V2 = False


def control_flow_v2_enabled() -> bool:
    """Whether loops and conditionals that are built now are calls of functions."""
    return control_flow_util.EnableControlFlowV2(get_default_graph())
