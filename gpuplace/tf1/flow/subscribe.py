"""Add side effects to tensors of an existing graph: every use of such a tensor triggers them.

Consumers of the tensor now take an ``Identity`` of it that waits for the side effects::

    c ──> e          c ──> c/subscription/seen ┄┄> c/subscription/Identity ──> e
                     └──────────────────────────────────^

If an operation takes the tensor twice, only its first input is changed, as in TensorFlow.

Source: tensorflow/python/framework/subscribe.py, release 1.15 (graphs, names).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Operation, Tensor, add_controls, context_of, drop_controls, update_input
from gpuplace.graph.scopes import building_context, set_building_context
from gpuplace.ops.array.reshaping import identity
from gpuplace.ops.variables.variables import Variable

__all__ = ["subscribe"]

SideEffect = Callable[[Tensor], Iterable[Any]]
"""Creates and returns operations that are to run with a tensor."""


def subscribe(tensors: Any, side_effects: SideEffect | Iterable[SideEffect]) -> Any:
    """Add side effects to tensors, after any that they have already.

    Args:
        tensors: a tensor or variable, or lists, tuples, named tuples and dicts of these.
        side_effects: functions from a tensor to a list of operations that run whenever the tensor is used.

    Returns:
        The tensors to use from now on, in the structure of ``tensors``; a tensor whose dtype NumPy does not have is
        returned unchanged.

    Raises:
        TypeError: ``tensors`` contains something else.
    """
    functions = list(side_effects) if isinstance(side_effects, Iterable) else [side_effects]
    waiting: dict[Operation, list[Operation]] = {}
    for op in get_default_graph().get_operations():
        for control in op.control_inputs:
            waiting.setdefault(control, []).append(op)
    return _of_all(tensors, lambda tensor: _subscribed(tensor, functions, waiting.get(tensor.op, [])))


def _of_all(tensors: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """Apply a function to every tensor of a structure."""
    kind = type(tensors)
    if kind is Tensor:
        return function(tensors)
    if isinstance(tensors, Variable):
        return function(tensors.value())
    if isinstance(tensors, (list, tuple)):
        items = [_of_all(tensor, function) for tensor in tensors]
        return kind(*items) if hasattr(tensors, "_fields") else kind(items)
    if kind is dict:
        return {key: _of_all(item, function) for key, item in tensors.items()}
    raise TypeError(f"_recursive_apply argument {tensors!r} has invalid type {kind!r}")


def _subscribed(tensor: Tensor, functions: list[SideEffect], waiting: list[Operation]) -> Tensor:
    """Return the substitute of a tensor; its operations are created in the tensor's context."""
    if not tensor.dtype.is_numpy_compatible:
        return tensor
    graph = get_default_graph()
    outer = building_context(graph)
    with graph.device(tensor.device):
        set_building_context(graph, context_of(tensor.op) or outer)
        try:
            if _is_subscribed_identity(tensor):
                return _extended(tensor, functions)
            copies = [
                op
                for op in tensor.consumers()
                if _is_subscribed_identity(op.outputs[0] if op.outputs else None)
            ]
            return _extended(copies[0].outputs[0], functions) if copies else _new(tensor, functions, waiting)
        finally:
            set_building_context(graph, outer)


def _is_subscribed_identity(tensor: Tensor | None) -> bool:
    """Return whether a tensor is the substitute for another tensor."""
    if tensor is None or tensor.op.type != "Identity":
        return False
    source, separator, suffix = tensor.op.name.partition("/subscription/Identity")
    return bool(separator) and "/" not in suffix and source == tensor.op.inputs[0].op.name


def _effects(tensor: Tensor, functions: list[SideEffect]) -> list[Any]:
    return [effect for function in functions for effect in function(tensor)]


def _scope(tensor: Tensor) -> Any:
    return get_default_graph().name_scope(f"{tensor.op.name}/subscription/")


def _extended(identity_of: Tensor, functions: list[SideEffect]) -> Tensor:
    """Add side effects to a tensor that is already a substitute."""
    source = identity_of.op.inputs[0]
    with _scope(source):
        effects = _effects(source, functions)
    add_controls(identity_of.op, [op.op if isinstance(op, Tensor) else op for op in effects])
    return identity_of


def _new(tensor: Tensor, functions: list[SideEffect], waiting: list[Operation]) -> Tensor:
    """Create the substitute of a tensor."""
    places = [(op, op.inputs.index(tensor)) for op in tensor.consumers()]
    with _scope(tensor), get_default_graph().control_dependencies(_effects(tensor, functions)):
        substitute = identity(tensor)
    for op, place in places:
        update_input(op, place, substitute)
    for op in waiting:
        controls = [operation for operation in op.control_inputs if operation is not tensor.op]
        drop_controls(op)
        add_controls(op, [*controls, substitute.op])
    return substitute
