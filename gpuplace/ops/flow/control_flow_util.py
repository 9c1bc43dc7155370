"""``tensorflow.python.ops.control_flow_util``: of what kind an operation of a loop or conditional is, and whether loops
and conditionals are made of such operations at all.

Source: tensorflow/python/ops/control_flow_util.py, release 1.15 (names).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gpuplace.graph.op_sets import ENTERS, MERGES, SWITCHES
from gpuplace.graph.operation import Operation
from gpuplace.lazy import LIBRARY, import_next
from gpuplace.ops.flow.context import is_exit, is_loop_switch

ENABLE_CONTROL_FLOW_V2 = False
"""Whether loops and conditionals become calls of functions (``If``, ``While``) in every graph; in functions they do."""


def EnableControlFlowV2(graph: Any) -> bool:  # noqa: N802 - TensorFlow's name, as are the following
    """Whether loops and conditionals become calls of functions in a graph.

    Args:
        graph: the graph; in those of ``tf.function`` they do in any case.
    """
    return ENABLE_CONTROL_FLOW_V2 or bool(graph.is_func_graph)


FUNCTIONAL: dict[str, tuple[str, str]] = {}
"""Control flow -> the module and the name of what builds it of functions; functions are a library of their own."""


def functional(what: str) -> Any:
    """What builds a kind of control flow of functions.

    Args:
        what: a key of ``FUNCTIONAL``.

    Raises:
        ModuleNotFoundError: the library is not there.
    """
    while what not in FUNCTIONAL and import_next():
        pass
    if what not in FUNCTIONAL:
        raise ModuleNotFoundError(f"{what} made of functions is part of {LIBRARY}, which is not installed")
    module, name = FUNCTIONAL[what]
    return getattr(import_module(module), name)


def GraphOrParentsInXlaContext(graph: Any) -> bool:  # noqa: N802
    """Whether a graph is being built for a compiler: none is here.

    Args:
        graph: the graph.
    """
    return False


def IsSwitch(op: Operation) -> bool:  # noqa: N802
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


def IsLoopSwitch(op: Operation) -> bool:  # noqa: N802
    """Whether it is the switch of a loop variable.

    Args:
        op: the operation.
    """
    return bool(is_loop_switch(op))


def IsLoopMerge(op: Operation) -> bool:  # noqa: N802
    """Whether it is where the iterations of a loop begin.

    Args:
        op: the operation.
    """
    return IsMerge(op) and any(
        tensor.op.type in ("NextIteration", "RefNextIteration") for tensor in op.inputs
    )


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


def IsCondSwitch(op: Operation) -> bool:  # noqa: N802
    """Whether it is the switch of a conditional: its values meet in merges again.

    Args:
        op: the operation.
    """
    return IsSwitch(op) and not IsLoopSwitch(op)


def IsCondMerge(op: Operation) -> bool:  # noqa: N802
    """Whether it is where the branches of a conditional meet.

    Args:
        op: the operation.
    """
    return IsMerge(op) and not IsLoopMerge(op)
