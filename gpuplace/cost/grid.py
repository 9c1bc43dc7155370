"""One step on several machines and with several batch sizes: a row for each, failed ones too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gpuplace.cost.batches import batch_of
from gpuplace.cost.estimate import estimate_batch
from gpuplace.cost.shapes.feeds import fed_sizes
from gpuplace.cost.step_estimate import StepEstimate
from gpuplace.errors import OpError


class GridRow(NamedTuple):
    """What a step costs on one machine with one batch size."""

    machine: str
    """The machine's text."""
    batch: int | None
    """Examples of a step; None where nothing is fed that has a first dimension."""
    step_time: float = float("nan")
    """Seconds; NaN where there is an error."""
    rate: float = float("nan")
    """Examples a second; NaN without a batch."""
    peak: int | None = None
    """Most bytes in use on the GPU that uses the largest part of its memory; on the CPU where there is no GPU; None
    where that is not known."""
    fits: bool | None = None
    """Whether the step fits into all devices' memory; None where that is not known."""
    busy: float = 0.0
    """The part of the step in which its busiest GPU computes, 0 to 1; the busiest device where there is no GPU."""
    copied: float = 0.0
    """Bytes that are copied between memories."""
    guessed: float = 0.0
    """The part of the time that rests on guesses, 0 to 1."""
    error: str = ""
    """Why there is no answer, or ``""``."""


def cost_grid(
    step: StepEstimate, machines: Sequence[Any] | Mapping[str, Any], batches: Sequence[int] = ()
) -> list[GridRow]:
    """What the step of an estimate costs on machines and with batch sizes: all machines with one batch after another.

    Args:
        step: the estimate.
        machines: `Machine` objects or their texts; or how each is called, to it.
        batches: batch sizes; none: the one that is fed.
    """
    called = machines if isinstance(machines, Mapping) else {str(machine): machine for machine in machines}
    now = batch_of(fed_shapes(step.request.feeds))
    found = []
    for batch in batches or (now,):
        there, problem = step, ""
        if batch is not None and batch != now:
            try:
                there = estimate_batch(step, batch)
            except OpError as error:
                problem = error.message
        for name, machine in called.items():
            if problem:
                found.append(GridRow(name, batch, error=problem))
                continue
            try:
                found.append(grid_row(there.what_if(machine=machine), name, batch))
            except OpError as error:
                found.append(GridRow(name, batch, error=error.message))
    return found


def grid_row(step: StepEstimate, machine: str, batch: int | None) -> GridRow:
    """What an estimate says, in a row.

    Args:
        step: the estimate.
        machine: what its machine is called.
        batch: its batch size; None where it has none.
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
    """What is fed, with every shape as a tuple.

    >>> fed_shapes({"images": "64,224,224,3", "rate": ""})
    {'images': (64, 224, 224, 3), 'rate': ()}
    """
    return {name: fed_sizes(getattr(shape, "shape", shape)) or () for name, shape in feeds.items()}
