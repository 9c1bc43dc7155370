"""``tensorflow.python.ops.control_flow_util``: predicates of loop and conditional ops, and functional control flow.

Source: tensorflow/python/ops/control_flow_util.py, release 1.15 (names).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gpuplace.graph.op_sets import ENTERS, MERGES, SWITCHES
from gpuplace.graph.operation import Operation
from gpuplace.lazy import LIBRARY, import_next
from gpuplace.ops.flow.context import is_exit, is_loop_switch
from gpuplace.typing import Graph

ENABLE_CONTROL_FLOW_V2 = False
"""Whether loops and conditionals become function calls (``If``, ``While``) in every graph; in functions they always
do."""


def EnableControlFlowV2(graph: Graph) -> bool:  # noqa: N802 - TensorFlow's name, as are the following
    """Return whether loops and conditionals become function calls in a graph.

    Args:
        graph: the graph; always True for those of ``tf.function``.
    """
    return ENABLE_CONTROL_FLOW_V2 or bool(graph.is_func_graph)


FUNCTIONAL: dict[str, tuple[str, str]] = {}
"""Control flow -> the module and name of its functional form, which is in a separate library."""


def functional(construct: str) -> Any:
    """Return the function that builds the functional form of a control flow construct.

    Args:
        construct: a key of ``FUNCTIONAL``.

    Raises:
        ModuleNotFoundError: the library is not installed.
    """
    while construct not in FUNCTIONAL and import_next():
        pass
    if construct not in FUNCTIONAL:
        raise ModuleNotFoundError(f"functional {construct} needs {LIBRARY}, which is not installed")
    module, name = FUNCTIONAL[construct]
    return getattr(import_module(module), name)


def GraphOrParentsInXlaContext(graph: Graph) -> bool:  # noqa: N802
    """Return whether a graph is being built for XLA; always False here.

    Args:
        graph: the graph.
    """
    return False


def IsSwitch(op: Operation) -> bool:  # noqa: N802
    """Return whether an operation is a switch.

    Args:
        op: the operation.
    """
    return op.type in SWITCHES


def IsMerge(op: Operation) -> bool:  # noqa: N802
    """Return whether an operation is a merge.

    Args:
        op: the operation.
    """
    return op.type in MERGES


def IsLoopEnter(op: Operation) -> bool:  # noqa: N802
    """Return whether an operation leads into a loop.

    Args:
        op: the operation.
    """
    return op.type in ENTERS


def IsLoopSwitch(op: Operation) -> bool:  # noqa: N802
    """Return whether an operation is the switch of a loop variable.

    Args:
        op: the operation.
    """
    return bool(is_loop_switch(op))


def IsLoopMerge(op: Operation) -> bool:  # noqa: N802
    """Return whether an operation is the merge at the start of a loop's iterations.

    Args:
        op: the operation.
    """
    return IsMerge(op) and any(
        tensor.op.type in ("NextIteration", "RefNextIteration") for tensor in op.inputs
    )


def IsLoopConstantEnter(op: Operation) -> bool:  # noqa: N802
    """Return whether an operation brings a constant into a loop, the same in every iteration.

    Args:
        op: the operation.
    """
    return IsLoopEnter(op) and bool(op.get_attr("is_constant"))


def IsLoopExit(op: Operation) -> bool:  # noqa: N802
    """Return whether an operation leads out of a loop.

    Args:
        op: the operation.
    """
    return bool(is_exit(op))


def IsCondSwitch(op: Operation) -> bool:  # noqa: N802
    """Return whether an operation is the switch of a conditional.

    Args:
        op: the operation.
    """
    return IsSwitch(op) and not IsLoopSwitch(op)


def IsCondMerge(op: Operation) -> bool:  # noqa: N802
    """Return whether an operation is the merge of a conditional's branches.

    Args:
        op: the operation.
    """
    return IsMerge(op) and not IsLoopMerge(op)
