"""Convert variables, queue runners and the contexts of conditionals and loops to and from messages.

Importing this module registers the conversions for their collections.

Source: tensorflow/python/ops/variables.py, resource_variable_ops.py and control_flow_ops.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph_keys import COLLECTED, GraphKeys
from gpuplace.graph.operation import Tensor, context_of, set_attr, set_context
from gpuplace.graph.scopes import building_context
from gpuplace.graphdef.messages import (
    CondContextDef,
    ControlFlowContextDef,
    QueueRunnerDef,
    SaveSliceInfoDef,
    VariableDef,
    WhileContextDef,
)
from gpuplace.lazy import import_waiting
from gpuplace.ops.distribute.variables import DistributedVariable
from gpuplace.ops.flow.conditionals import CondContext
from gpuplace.ops.flow.context import ControlFlowContext
from gpuplace.ops.flow.while_loops import WhileContext
from gpuplace.ops.variables.resource_variables import ResourceVariable
from gpuplace.ops.variables.variables import (
    RefVariable,
    SaveSliceInfo,
    Variable,
    VariableAggregation,
    VariableSynchronization,
    slice_info_of,
)
from gpuplace.saving.meta_graph import register_proto_functions
from gpuplace.saving.names import prepend_name_scope, strip_name_scope

__all__ = [
    "branch_from_proto", "branch_to_proto", "fill_variable", "loop_from_proto", "loop_to_proto", "slice_info_to_proto",
    "variable_from_proto", "variable_to_proto",
]  # fmt: skip


# Variables


def variable_to_proto(variable: Any, export_scope: str | None = None) -> Any:
    """Return a variable as a ``VariableDef``.

    Args:
        variable: variable to convert.
        export_scope: scope to remove from names, or None.

    Returns:
        The message; None if the variable is not in the scope.
    """
    if isinstance(variable, DistributedVariable):  # the message cannot represent copies
        variable = variable.primary
    is_resource = isinstance(variable, ResourceVariable)
    tensor = variable.handle if is_resource else variable._variable
    if export_scope is not None and not tensor.name.startswith(export_scope):
        return None
    snapshot = variable._snapshot_tensor()
    message = VariableDef(
        variable_name=strip_name_scope(tensor.name, export_scope),
        initializer_name=strip_name_scope(variable.initializer.name, export_scope),
        snapshot_name=strip_name_scope(snapshot.name, export_scope),
        trainable=variable.trainable,
        synchronization=variable.synchronization.value,
        aggregation=variable.aggregation.value,
        is_resource=is_resource,
    )
    if variable.initial_value is not None:
        message.initial_value_name = strip_name_scope(variable.initial_value.name, export_scope)
    slice_info = slice_info_of(variable)
    if slice_info is not None:
        info = slice_info_to_proto(slice_info, export_scope)
        if info is not None:
            message.save_slice_info_def.CopyFrom(info)
    return message


def slice_info_to_proto(info: SaveSliceInfo, export_scope: str | None = None) -> Any:
    """Return the slice of a variable as a ``SaveSliceInfoDef``.

    Args:
        info: slice to convert.
        export_scope: scope to remove from the name, or None.

    Returns:
        The message; None if the whole tensor is not in the scope.
    """
    if export_scope is not None and not info.full_name.startswith(export_scope):
        return None
    return SaveSliceInfoDef(
        full_name=strip_name_scope(info.full_name, export_scope),
        full_shape=info.full_shape,
        var_offset=info.var_offset,
        var_shape=info.var_shape,
    )


def variable_from_proto(variable_def: Any, import_scope: str | None = None) -> Any:
    """Return a variable whose operations are in the default graph.

    Args:
        variable_def: a ``VariableDef``.
        import_scope: scope that contains them; None: the names are those in the message.

    Raises:
        KeyError: an operation does not exist.
    """
    kind = ResourceVariable if variable_def.is_resource else RefVariable
    made = kind.__new__(kind)
    fill_variable(made, variable_def, import_scope)
    return made


def fill_variable(variable: Any, variable_def: Any, import_scope: str | None = None) -> None:
    """Initialize a variable from a message.

    Args:
        variable: uninitialized object.
        variable_def: a ``VariableDef``.
        import_scope: scope that contains its operations; None: the names are those in the message.

    Raises:
        TypeError: the argument is not a ``VariableDef``.
        ValueError: the message describes a variable of the other kind.
        KeyError: an operation does not exist.
    """
    if getattr(getattr(variable_def, "DESCRIPTOR", None), "name", "") != "VariableDef":
        raise TypeError(f"variable_def must be a VariableDef, not {type(variable_def).__name__}")
    if variable_def.is_resource != isinstance(variable, ResourceVariable):
        wanted = "ResourceVariable" if isinstance(variable, ResourceVariable) else "reference variable"
        raise ValueError(f"Trying to restore Variable as {wanted}.")
    graph = get_default_graph()

    def element(name: str) -> Any:
        return graph.as_graph_element(prepend_name_scope(name, import_scope))

    info = None
    if variable_def.HasField("save_slice_info_def"):
        saved = variable_def.save_slice_info_def
        info = SaveSliceInfo(
            prepend_name_scope(saved.full_name, import_scope),
            list(saved.full_shape),
            list(saved.var_offset),
            list(saved.var_shape),
        )
    variable._take(
        element(variable_def.variable_name),
        initializer=element(variable_def.initializer_name),
        initial_value=element(variable_def.initial_value_name) if variable_def.initial_value_name else None,
        snapshot=element(variable_def.snapshot_name) if variable_def.snapshot_name else None,
        trainable=variable_def.trainable,
        synchronization=VariableSynchronization(variable_def.synchronization),
        aggregation=VariableAggregation(variable_def.aggregation),
        slice_info=info,
    )


# Contexts of conditionals and loops


def _values_to(context: ControlFlowContext, made: Any, export_scope: str | None) -> None:
    names = [tensor.name for tensor in context._values]
    made.values.extend(strip_name_scope(name, export_scope) for name in sorted(names))
    for outside, inside in context._external_values.items():
        key = strip_name_scope(outside.name, export_scope)
        made.external_values[key] = strip_name_scope(inside.name, export_scope)


def _nested_to(context: ControlFlowContext, made: Any, export_scope: str | None) -> None:
    for nested in context._nested_contexts:
        if nested.IsCondContext():
            made.nested_contexts.add().cond_ctxt.CopyFrom(branch_to_proto(nested, export_scope))
        elif nested.IsWhileContext():
            made.nested_contexts.add().while_ctxt.CopyFrom(loop_to_proto(nested, export_scope))


def branch_to_proto(context: Any, export_scope: str | None = None) -> Any:
    """Implement `CondContext.to_proto`, with its arguments and result."""
    if export_scope is not None and not context.name.startswith(export_scope):
        return None
    made = CondContextDef(
        context_name=strip_name_scope(context.name, export_scope),
        pred_name=strip_name_scope(context.pred.name, export_scope),
        pivot_name=strip_name_scope(context.pivot.name, export_scope),
        branch=context.branch,
    )
    _values_to(context, made.values_def, export_scope)
    _nested_to(context, made, export_scope)
    return made


def loop_to_proto(context: Any, export_scope: str | None = None) -> Any:
    """Implement `WhileContext.to_proto`, with its arguments and result."""
    if export_scope is not None and not context.name.startswith(export_scope):
        return None

    def name(tensor: Tensor) -> str:
        return strip_name_scope(tensor.name, export_scope)

    message = WhileContextDef(
        context_name=strip_name_scope(context.name, export_scope),
        parallel_iterations=context.parallel_iterations,
        back_prop=context.back_prop,
        swap_memory=context.swap_memory,
        pivot_name=name(context.pivot),
        pivot_for_pred_name=name(context._pivot_for_pred),
        pivot_for_body_name=name(context._pivot_for_body),
        loop_exit_names=[name(tensor) for tensor in context.loop_exits],
        loop_enter_names=[name(tensor) for tensor in context.loop_enters],
    )
    if context.maximum_iterations is not None:
        message.maximum_iterations_name = name(context.maximum_iterations)
    _values_to(context, message.values_def, export_scope)
    _nested_to(context, message, export_scope)
    return message


def _begin(context: Any, message: Any, import_scope: str | None) -> None:
    """Fill in the common fields of contexts, and add their operations to them."""
    graph = get_default_graph()
    context.name = prepend_name_scope(message.context_name, import_scope)
    context.outer_context = building_context(graph)
    context._nested_contexts = []
    if context.outer_context is not None:
        context.outer_context._nested_contexts.append(context)
    context._before = []
    context._values = set()
    for name in message.values_def.values:
        context._values.add(graph.as_graph_element(prepend_name_scope(name, import_scope)))
    context._external_values = {}
    for outside, inside in message.values_def.external_values.items():
        context._external_values[graph.as_graph_element(prepend_name_scope(outside, import_scope))] = (
            graph.as_graph_element(prepend_name_scope(inside, import_scope))
        )
    for tensor in context._values - context._external_values.keys():
        set_context(tensor.op, context)


def _nested_from(context: Any, message: Any, import_scope: str | None) -> Any:
    context.Enter()
    try:
        for nested in message.nested_contexts:
            _context_from_proto(nested, import_scope)
    finally:
        context.Exit()
    return context


def branch_from_proto(message: Any, import_scope: str | None = None) -> Any:
    """Implement `CondContext.from_proto`, with its arguments, errors and result."""
    graph = get_default_graph()
    context = CondContext.__new__(CondContext)
    context.pred = graph.as_graph_element(prepend_name_scope(message.pred_name, import_scope))
    context.pivot = graph.as_graph_element(prepend_name_scope(message.pivot_name, import_scope))
    context.branch = message.branch
    _begin(context, message, import_scope)
    return _nested_from(context, message, import_scope)


def loop_from_proto(message: Any, import_scope: str | None = None) -> Any:
    """Implement `WhileContext.from_proto`, with its arguments, errors and result."""
    graph = get_default_graph()

    def tensor(name: str) -> Any:
        return graph.as_graph_element(prepend_name_scope(name, import_scope))

    context = WhileContext.__new__(WhileContext)
    limit = message.maximum_iterations_name
    context.maximum_iterations = tensor(limit) if limit else None
    context.parallel_iterations = message.parallel_iterations
    context.back_prop = message.back_prop
    context.swap_memory = message.swap_memory
    context._grad_state = None
    context._pivot_for_pred = tensor(message.pivot_for_pred_name)
    context._pivot_for_body = tensor(message.pivot_for_body_name)
    context.pivot = tensor(message.pivot_name)
    context.loop_exits = [tensor(name) for name in message.loop_exit_names]
    context.loop_enters = [tensor(name) for name in message.loop_enter_names]
    _begin(context, message, import_scope)
    if import_scope:  # the frame has the name of the context
        for value in context._values:
            if value.op.type in ("Enter", "RefEnter") and context_of(value.op) is context:
                set_attr(value.op, "frame_name", context.name.encode())
    return _nested_from(context, message, import_scope)


def _context_from_proto(message: Any, import_scope: str | None) -> Any:
    assert isinstance(message, ControlFlowContextDef)
    if message.WhichOneof("ctxt") == "cond_ctxt":
        return branch_from_proto(message.cond_ctxt, import_scope)
    if message.WhichOneof("ctxt") == "while_ctxt":
        return loop_from_proto(message.while_ctxt, import_scope)
    raise NotImplementedError(f"Unknown ControlFlowContextDef field: {message.WhichOneof('ctxt')}")


def _queue_runner_to_proto(runner: Any, export_scope: str | None = None) -> Any:
    return runner.to_proto(export_scope)


def _queue_runner_from_proto(message: Any, import_scope: str | None = None) -> Any:
    if GraphKeys.QUEUE_RUNNERS not in COLLECTED:  # part of the queue ops
        import_waiting()
    if GraphKeys.QUEUE_RUNNERS not in COLLECTED:
        raise ValueError("queue runners are part of gpuplace.tf1, which is not installed")
    return COLLECTED[GraphKeys.QUEUE_RUNNERS].from_proto(message, import_scope)


for _collection in (
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.METRIC_VARIABLES,
):
    register_proto_functions(_collection, VariableDef, Variable.to_proto, Variable.from_proto)
register_proto_functions(
    GraphKeys.QUEUE_RUNNERS, QueueRunnerDef, _queue_runner_to_proto, _queue_runner_from_proto
)
register_proto_functions(GraphKeys.COND_CONTEXT, CondContextDef, branch_to_proto, branch_from_proto)
register_proto_functions(GraphKeys.WHILE_CONTEXT, WhileContextDef, loop_to_proto, loop_from_proto)
