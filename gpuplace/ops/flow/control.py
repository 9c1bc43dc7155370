"""Ops that order other ops.

Source: tensorflow/python/ops/control_flow_ops.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.dtypes import leaves
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.indexed_slices import IndexedSlices, convert_to_tensor_or_indexed_slices
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import new, no_outputs
from gpuplace.typing import ArrayModule

__all__ = ["no_op", "group", "tuple", "with_dependencies"]


def no_op(name: str | None = None) -> Operation:
    """Add an operation that does nothing, as a place for control inputs.

    Args:
        name: name of the operation.

    Returns:
        The ``NoOp`` operation.
    """
    return apply_op("NoOp", name)


@compute("NoOp")
def _no_op(xp: ArrayModule) -> Any:
    return ()


shape_function("NoOp")(no_outputs)


not_differentiable("NoOp")


def group(*inputs: Any, **kwargs: Any) -> Operation:
    """Return an operation that is done when all ``inputs`` are.

    For inputs on several devices, there is one ``NoOp`` on each device, and one that waits for all of them.

    Args:
        *inputs: operations and tensors, or nested lists of them.
        **kwargs: only ``name``: name of the operation.

    Returns:
        A ``NoOp`` operation.

    Raises:
        ValueError: a keyword argument is unknown.
        TypeError: an input is neither an operation nor a tensor.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    items = list(leaves(inputs))
    with name_scope(name, "group_deps", items) as scope:
        if not items:
            return no_op(name=scope)
        by_device: dict[str, list[Operation]] = {}
        for item in items:
            if not isinstance(item, Operation) and not hasattr(item, "device"):
                raise TypeError(
                    f"'inputs' should be zero or more (nested) Tensors. Received '{item}' with type '{type(item)}'."
                )
            by_device.setdefault(item.device or "", []).append(item)
        if len(by_device) == 1:
            ((device, members),) = by_device.items()
            return _group_on(members, device, scope)
        groups = [_group_on(by_device[device], device, None) for device in sorted(by_device)]
        with get_default_graph().control_dependencies(groups):
            return no_op(name=scope)


def _group_on(members: Sequence[Any], device: str, name: str | None) -> Operation:
    graph = get_default_graph()
    with graph.control_dependencies(members):
        if device:
            with graph.device(device):
                return no_op(name=name)
        return no_op(name=name)


def with_dependencies(dependencies: Sequence[Any], output_tensor: Any, name: str | None = None) -> Tensor:
    """Return ``output_tensor`` once all ``dependencies`` are done.

    Args:
        dependencies: operations and tensors to wait for.
        output_tensor: the tensor to return, of any dtype and shape, or ``IndexedSlices``.
        name: name of the operation, an ``Identity`` that is colocated with ``output_tensor``.

    Returns:
        A tensor with the dtype and shape of ``output_tensor``; for slices, slices whose values wait.
    """
    with name_scope(name, "control_dependency", [*dependencies, output_tensor]) as scope:
        graph = get_default_graph()
        near = convert_to_tensor_or_indexed_slices(output_tensor)
        with graph.colocate_with(near), graph.control_dependencies(dependencies):
            value = convert_to_tensor_or_indexed_slices(output_tensor)
            if isinstance(value, IndexedSlices):
                rows = new("Identity", scope, input=value.values)
                slices: Any = IndexedSlices(rows, value.indices, value.dense_shape)
                return slices
            return new("Identity", scope, input=value)


def tuple(tensors: Any, name: str | None = None, control_inputs: Any = None) -> list[Any]:
    """Return tensors that become available together; None stays None.

    Args:
        tensors: a list of tensors, ``IndexedSlices``, values convertible to tensors, operations and None.
        name: name of the scope.
        control_inputs: operations and tensors to wait for as well, or None.

    Returns:
        A list as long as ``tensors``, with tensors (or slices) of the same dtypes and shapes, and ``NoOp`` operations
        for operations.

    Raises:
        ValueError: all items are None.
        TypeError: a control input is neither an operation nor a tensor.
    """
    with name_scope(name, "tuple", list(tensors)):
        tensors = [
            t if t is None or isinstance(t, (Operation, Tensor)) else convert_to_tensor_or_indexed_slices(t)
            for t in tensors
        ]
        gating = [t for t in tensors if isinstance(t, Operation)]
        gating += [t.op for t in tensors if t is not None and not isinstance(t, Operation)]
        for item in control_inputs or ():
            if not isinstance(item, (Operation, Tensor)):
                raise TypeError(f"Control input must be Operation or Tensor: {item}")
            gating.append(item.op if isinstance(item, Tensor) else item)
        gating = sorted(dict.fromkeys(gating), key=lambda op: op.index)
        if not gating:
            raise ValueError(f"Must have at least one Tensor: {tensors}")
        gate = group(*gating)
        result: list[Any] = []
        for item in tensors:
            if isinstance(item, Operation):
                with get_default_graph().control_dependencies([gate]):
                    result.append(no_op())
            elif item is None:
                result.append(None)
            else:
                result.append(with_dependencies([gate], item))
        return result
