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
    step_time: float
    """Seconds; NaN where there is an error."""
    rate: float
    """Examples a second; NaN without a batch."""
    peak: int
    """Most bytes in use on the GPU that uses the largest part of its memory; on the CPU where there is no GPU."""
    fits: bool
    """Whether the step fits into all devices' memory."""
    guessed: float
    """The part of the time that rests on guesses, 0 to 1."""
    error: str
    """Why there is no answer, or ``""``."""


def cost_grid(step: StepEstimate, machines: Sequence[Any], batches: Sequence[int] = ()) -> list[GridRow]:
    """What the step of an estimate costs on machines and with batch sizes.

    Args:
        step: the estimate.
        machines: `Machine` objects or their texts.
        batches: batch sizes; none: the one that is fed.
    """
    now = batch_of(fed_shapes(step.question["feeds"]))
    found = []
    for batch in batches or (now,):
        there, problem = step, ""
        if batch is not None and batch != now:
            try:
                there = estimate_batch(step, batch)
            except OpError as error:
                problem = error.message
        found += [_row(None if problem else there, machine, batch, problem) for machine in machines]
    return found


def fed_shapes(feeds: Mapping[Any, Any]) -> dict[Any, tuple[int | None, ...]]:
    """What is fed, with every shape as a tuple.

    >>> fed_shapes({"images": "64,224,224,3", "rate": ""})
    {'images': (64, 224, 224, 3), 'rate': ()}
    """
    return {name: fed_sizes(getattr(shape, "shape", shape)) or () for name, shape in feeds.items()}


def _row(step: StepEstimate | None, machine: Any, batch: int | None, problem: str) -> GridRow:
    if step is not None:
        try:
            found = step.what_if(machine=machine)
        except OpError as error:
            problem = error.message
        else:
            rows = found.memory_rows()
            fullest = max(rows, key=lambda row: (row.limit > 0, row.peak / (row.limit or 1)), default=None)
            return GridRow(
                str(machine),
                batch,
                found.step_time,
                batch / found.step_time if batch and found.step_time else float("nan"),
                fullest.peak if fullest is not None else 0,
                all(row.fits for row in rows),
                found.guessed,
                "",
            )
    return GridRow(str(machine), batch, float("nan"), float("nan"), 0, False, 0.0, problem)
