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
    wanted = None if targets is None else set(targets) - reached
    while waiting and wanted != set():
        for other in _following(waiting.pop(0)):
            if other not in reached:
                reached.add(other)
                waiting.append(other)
                if wanted is not None:
                    wanted.discard(other)
    return reached


def _following(one: Any) -> list[Any]:
    if isinstance(one, Operation):
        return [*one.outputs, *one.control_outputs]
    if isinstance(one, Tensor):
        return list(one.consumers())
    if hasattr(one, "op") and hasattr(one, "initializer"):
        return [one.op]
    raise TypeError(f"Expected Operation, Variable, or Tensor, got {one}")
