"""The tensors and operations reachable from tensors along the edges of a graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpuplace.graph.operation import Operation, Tensor


def reachable_from(inputs: Iterable[Any], targets: Iterable[Any] | None = None) -> set[Any]:
    """Return everything reachable from tensors along the edges of a graph, including control edges.

    Args:
        inputs: tensors, operations or variables.
        targets: stop once all of these are reached; None: search everything.

    Returns:
        The inputs, and the tensors and operations reachable from them.

    Raises:
        TypeError: an item is not an operation, variable or tensor.
    """
    reached = set(inputs)
    waiting = list(reached)
    remaining = None if targets is None else set(targets) - reached
    while waiting and remaining != set():
        for other in _following(waiting.pop(0)):
            if other not in reached:
                reached.add(other)
                waiting.append(other)
                if remaining is not None:
                    remaining.discard(other)
    return reached


def _following(item: object) -> list[Any]:
    if isinstance(item, Operation):
        return [*item.outputs, *item.control_outputs]
    if isinstance(item, Tensor):
        return list(item.consumers())
    if hasattr(item, "op") and hasattr(item, "initializer"):
        return [item.op]
    raise TypeError(f"Expected Operation, Variable, or Tensor, got {item}")
