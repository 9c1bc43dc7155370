"""Collections of variables, and the operations that initialize them or report uninitialized ones.

Source: tensorflow/python/ops/variables.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.op_sets import REFERENCE_VARIABLES
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array import constant, gather, joining
from gpuplace.ops.flow import control
from gpuplace.ops.math import comparison
from gpuplace.ops.variables import state

__all__ = [
    "all_variables",
    "assert_variables_initialized",
    "global_variables",
    "global_variables_initializer",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "is_variable_initialized",
    "local_variables",
    "local_variables_initializer",
    "model_variables",
    "moving_average_variables",
    "report_uninitialized_variables",
    "trainable_variables",
    "variables_initializer",
]


def global_variables(scope: str | None = None) -> list[Any]:
    """Return the global variables, which live as long as the session.

    Args:
        scope: a regular expression that matches the start of the variables' names; None: all.

    Returns:
        A list of variables.
    """
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Any]:
    """Deprecated name of ``global_variables``."""
    return global_variables()


def local_variables(scope: str | None = None) -> list[Any]:
    """Return the local variables of a process, such as the counters of metrics.

    Args:
        scope: a regular expression that matches the start of the variables' names; None: all.

    Returns:
        A list of variables.
    """
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """Return the variables of the model itself.

    Args:
        scope: a regular expression that matches the start of the variables' names; None: all.

    Returns:
        A list of variables.
    """
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Return the variables that optimizers update by default.

    Args:
        scope: a regular expression that matches the start of the variables' names; None: all.

    Returns:
        A list of variables.
    """
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Return the variables that have moving averages.

    Args:
        scope: a regular expression that matches the start of the variables' names; None: all.

    Returns:
        A list of variables.
    """
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def saveable_objects(scope: str | None = None) -> list[Any]:
    """Return the objects that a saver saves by default: the global variables and the collected saveable objects.

    Args:
        scope: a regular expression that matches the start of the objects' names; None: all.

    Returns:
        A list of variables and ``SaveableObject``.
    """
    collected = get_default_graph().get_collection(GraphKeys.SAVEABLE_OBJECTS, scope)
    return global_variables(scope) + collected


def variables_initializer(var_list: Sequence[Any], name: str = "init") -> Operation:
    """Return an operation that runs the initializers of some variables.

    Args:
        var_list: the variables; an empty list makes a ``NoOp``.
        name: name of the operation.

    Returns:
        An operation without outputs.
    """
    if var_list:
        return control.group(*[variable.initializer for variable in var_list], name=name)
    return control.no_op(name=name)


def global_variables_initializer() -> Operation:
    """Return an operation that initializes all current global variables."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """Return an operation that initializes all current local variables."""
    return variables_initializer(local_variables())


def initialize_variables(var_list: Sequence[Any], name: str = "init") -> Operation:
    """Deprecated name of ``variables_initializer``.

    Args:
        var_list: the variables.
        name: name of the operation.

    Returns:
        An operation without outputs.
    """
    return variables_initializer(var_list, name)


def initialize_all_variables() -> Operation:
    """Deprecated name of ``global_variables_initializer``."""
    return global_variables_initializer()


def initialize_local_variables() -> Operation:
    """Deprecated name of ``local_variables_initializer``."""
    return local_variables_initializer()


def is_variable_initialized(variable: Any) -> Tensor:
    """Return whether a variable has a value.

    Args:
        variable: a variable or its reference tensor.

    Returns:
        A bool scalar.
    """
    return state.is_variable_initialized(variable)


def _all_variables_or_ops() -> list[Any]:
    variables = global_variables() + local_variables()
    if variables:
        return variables
    operations = get_default_graph().get_operations()
    return [
        op.outputs[0]
        for op in operations
        if op.type in REFERENCE_VARIABLES or op.type == "AutoReloadVariable"
    ]


def assert_variables_initialized(var_list: Sequence[Any] | None = None) -> Tensor | None:
    """Return a tensor whose evaluation fails if one of the variables has no value; deprecated.

    Args:
        var_list: the variables; None: all global and local ones or, if there are none, all variable operations.

    Returns:
        An int32 tensor, only to be evaluated, or None without variables.

    Raises:
        FailedPreconditionError: at run time, a variable has no value.
    """
    variables = _all_variables_or_ops() if var_list is None else list(var_list)
    if not variables:
        return None
    ranks = []
    for variable in variables:
        with get_default_graph().colocate_with(variable.op):
            ranks.append(apply_op("Rank", input=variable).outputs[0])
    return ranks[0] if len(ranks) == 1 else joining.stack(ranks)


def report_uninitialized_variables(
    var_list: Sequence[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """Return the names, at run time, of the variables that have no value.

    Args:
        var_list: the variables; None: all global and local ones or, if there are none, all variable operations.
        name: name of the scope.

    Returns:
        A string vector, computed on the CPU.
    """
    variables = _all_variables_or_ops() if var_list is None else list(var_list)
    with name_scope(name):
        flags = [state.is_variable_initialized(variable) for variable in variables]
        with get_default_graph().device("/cpu:0"):
            if not variables:
                return constant.constant([], dtype="string")
            missing = comparison.logical_not(joining.stack(flags))
            names = constant.constant([variable.op.name for variable in variables])
            return gather.boolean_mask(names, missing)
