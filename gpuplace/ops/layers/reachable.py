"""What can be reached from tensors along the edges of a graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpuplace.graph.operation import Operation, Tensor


def reachable_from(inputs: Iterable[Any], targets: Iterable[Any] | None = None) -> set[Any]:
    """What can be reached from tensors along the edges of the graph, control edges among them.

    Args:
        inputs: tensors, operations or variables.
        targets: where these are all found, no more is looked for; None: everything is.

    Returns:
        The inputs, and the tensors and operations behind them.

    Raises:
        TypeError: something else.
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
