"""Switches between TensorFlow 1 and 2, for scripts that use ``tf.compat.v1``; gpuplace only runs graphs.

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
    """Do nothing: there is no TensorFlow 2 behavior to disable."""


def disable_eager_execution() -> None:
    """Do nothing: ops are always added to a graph and run by a session."""


def disable_v2_tensorshape() -> None:
    """Do nothing: the sizes of a ``TensorShape`` are ``Dimension`` objects, as in 1.15."""


def executing_eagerly() -> bool:
    """Return False: ops never run eagerly."""
    return False


def enable_control_flow_v2() -> None:
    """Build loops and conditionals as single nodes, ``While`` and ``If``, that call functions, in all graphs.

    Graphs of ``tf.function`` always contain them in this form.
    """
    control_flow_util.ENABLE_CONTROL_FLOW_V2 = True


def disable_control_flow_v2() -> None:
    """Build loops and conditionals from ``Enter``, ``Switch`` and similar ops, the default."""
    control_flow_util.ENABLE_CONTROL_FLOW_V2 = False


def control_flow_v2_enabled() -> bool:
    """Return whether new loops and conditionals are function calls."""
    return control_flow_util.EnableControlFlowV2(get_default_graph())
