"""Costs of one step on several machines and with several batch sizes, one row for each; failures get a row too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gpuplace.cost.batches import batch_of
from gpuplace.cost.estimate import estimate_batch
from gpuplace.cost.shapes.feeds import fed_sizes
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.errors import OpError


class GridRow(NamedTuple):
    """Cost of a step on one machine with one batch size."""

    machine: str
    """Text of the machine."""
    batch: int | None
    """Examples per step; None if no feed has a first dimension."""
    step_time: float = float("nan")
    """Seconds; NaN if there is an error."""
    rate: float = float("nan")
    """Examples per second; NaN without a batch."""
    peak: int | None = None
    """Peak bytes in use on the GPU that uses the largest part of its memory, or on the CPU if there is no GPU; None if
    unknown.
    """
    fits: bool | None = None
    """Whether the step fits in the memory of all devices; None if unknown."""
    busy: float = 0.0
    """Fraction of the step in which the busiest GPU computes, 0 to 1; of the busiest device if there is no GPU."""
    copied: float = 0.0
    """Bytes copied between memories."""
    guessed: float = 0.0
    """Fraction of the time that is based on guesses, 0 to 1."""
    error: str = ""
    """Why there is no result, or ``""``."""


def cost_grid(
    step: StepEstimate, machines: Sequence[Any] | Mapping[str, Any], batches: Sequence[int] = ()
) -> list[GridRow]:
    """Return the costs of a step on all machines, for one batch size after another.

    Args:
        step: the estimate.
        machines: `Machine` objects or their texts, or a mapping from labels to them.
        batches: batch sizes; if empty, the fed one.
    """
    machine_by_name = (
        machines if isinstance(machines, Mapping) else {str(machine): machine for machine in machines}
    )
    fed_batch = batch_of(fed_shapes(step.request.feeds))
    rows = []
    for batch in batches or (fed_batch,):
        batch_step, problem = step, ""
        if batch is not None and batch != fed_batch:
            try:
                batch_step = estimate_batch(step, batch)
            except OpError as error:
                problem = error.message
        for name, machine in machine_by_name.items():
            if problem:
                rows.append(GridRow(name, batch, error=problem))
                continue
            try:
                rows.append(grid_row(batch_step.what_if(machine=machine), name, batch))
            except OpError as error:
                rows.append(GridRow(name, batch, error=error.message))
    return rows


def grid_row(step: StepEstimate, machine: str, batch: int | None) -> GridRow:
    """Return the grid row of an estimate.

    Args:
        step: the estimate.
        machine: label of its machine.
        batch: its batch size; None if it has none.
    """
    memory = step.rows("memory")
    fullest = max(memory, key=lambda row: (row.limit > 0, (row.peak or 0) / (row.limit or 1)), default=None)
    is_gpu = step.machinery.is_gpu.tolist()
    gpus = [name for name, here in zip(step.device_names, is_gpu, strict=True) if here]
    busiest = max((step.busy[name] for name in gpus or step.device_names), default=0.0)
    total = step.step_time
    return GridRow(
        machine,
        batch,
        total,
        batch / total if batch and total else float("nan"),
        fullest.peak if fullest is not None else 0,
        step.memory.fits,
        busiest / total if total else 0.0,
        sum(copy.bytes for copy in step.copies),
        step.guessed,
    )


def fed_shapes(feeds: Mapping[Any, Any]) -> dict[Any, tuple[int | None, ...]]:
    """Return the feeds with every shape as a tuple.

    >>> fed_shapes({"images": "64,224,224,3", "rate": ""})
    {'images': (64, 224, 224, 3), 'rate': ()}
    """
    return {name: fed_sizes(getattr(shape, "shape", shape)) or () for name, shape in feeds.items()}
