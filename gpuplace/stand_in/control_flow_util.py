"""``tensorflow.python.ops.control_flow_util``: of what kind an operation of a loop or conditional is.

Source: tensorflow/python/ops/control_flow_util.py, release 1.15 (names).
"""

from __future__ import annotations

from gpuplace.graph.op_sets import ENTERS, MERGES, SWITCHES
from gpuplace.graph.operation import Operation
from gpuplace.ops.flow.context import is_exit
from gpuplace.ops.flow.loop_gradients import is_loop_switch

__all__ = [
    "ENABLE_CONTROL_FLOW_V2", "IsCondMerge", "IsCondSwitch", "IsLoopConstantEnter", "IsLoopEnter", "IsLoopExit",
    "IsLoopMerge", "IsLoopSwitch", "IsMerge", "IsSwitch",
]  # fmt: skip

ENABLE_CONTROL_FLOW_V2 = False
"""Loops and conditionals are no calls of functions."""


def IsSwitch(op: Operation) -> bool:  # noqa: N802 - TensorFlow's name, as are the following
    """Whether it is a switch.

    Args:
        op: the operation.
    """
    return op.type in SWITCHES


def IsMerge(op: Operation) -> bool:  # noqa: N802
    """Whether it is a merge.

    Args:
        op: the operation.
    """
    return op.type in MERGES


def IsLoopEnter(op: Operation) -> bool:  # noqa: N802
    """Whether it leads into a loop.

    Args:
        op: the operation.
    """
    return op.type in ENTERS


def IsLoopConstantEnter(op: Operation) -> bool:  # noqa: N802
    """Whether it leads something into a loop that is the same in every iteration.

    Args:
        op: the operation.
    """
    return IsLoopEnter(op) and bool(op.get_attr("is_constant"))


def IsLoopExit(op: Operation) -> bool:  # noqa: N802
    """Whether it leads out of a loop.

    Args:
        op: the operation.
    """
    return bool(is_exit(op))


def IsLoopSwitch(op: Operation) -> bool:  # noqa: N802
    """Whether it is the switch of a loop variable.

    Args:
        op: the operation.
    """
    return bool(is_loop_switch(op))


def IsCondSwitch(op: Operation) -> bool:  # noqa: N802
    """Whether it is the switch of a conditional: its values meet in merges again.

    Args:
        op: the operation.
    """
    return IsSwitch(op) and not IsLoopSwitch(op)


def IsLoopMerge(op: Operation) -> bool:  # noqa: N802
    """Whether it is where the iterations of a loop begin.

    Args:
        op: the operation.
    """
    return IsMerge(op) and any(
        tensor.op.type in ("NextIteration", "RefNextIteration") for tensor in op.inputs
    )


def IsCondMerge(op: Operation) -> bool:  # noqa: N802
    """Whether it is where the branches of a conditional meet.

    Args:
        op: the operation.
    """
    return IsMerge(op) and not IsLoopMerge(op)
