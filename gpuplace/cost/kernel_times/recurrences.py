"""Recurrent layers of cuDNN: products of all steps' inputs at once, then one small product after another."""

from __future__ import annotations

import numpy as np

from gpuplace.cost.kernel_times.rates import Rates
from gpuplace.cost.work import Recurrence
from gpuplace.typing import Array

__all__ = ["CELLS", "COLUMNS", "columns_of", "features", "seconds"]

COLUMNS = ("cell", "backward", "hidden", "batch", "steps", "inputs", "layers")
"""What a row of the arrays below holds."""

CELLS = ("vanilla", "lstm", "gru")
_PRODUCTS = (1, 4, 3)
"""Products of a step, by cell."""
_CALL_SECONDS = 5e-6


def columns_of(work: Recurrence) -> tuple[int, ...]:
    """The row of a recurrent layer."""
    return (
        CELLS.index(work.cell), work.direction == "backward", work.hidden, work.batch, work.steps,
        work.inputs or work.hidden, max(1, work.layers),
    )  # fmt: skip


def features(rows: Array) -> Array:
    """Where recurrent layers lie among each other, ``[row, feature]``."""
    cell, backward, hidden, batch, steps, _, _ = rows.T
    kinds = [1.5 * (cell == place) for place in range(len(CELLS))]
    logs = [np.log2(hidden), np.log2(batch), 0.5 * np.log2(steps)]
    return np.stack([*logs, *kinds, 2.0 * backward], axis=1) / 1.5


def seconds(rows: Array, rates: Rates) -> Array:
    """Returns the computed times of recurrent layers, ``[row]``: weights are read again in every step.

    Args:
        rows: ``[row, COLUMNS]``, no size 0.
        rates: of the GPU, for the type.
    """
    cell, backward, hidden, batch, steps, inputs, layers = rows.T
    products = np.array(_PRODUCTS)[cell.astype(int)] * (1 + backward) * layers
    flops = 2.0 * products * hidden * (hidden + inputs) * batch * steps
    moved = products * steps * hidden * (hidden + 4 * batch) * rates.item_bytes
    return flops / rates.flops + moved / rates.bandwidth + _CALL_SECONDS * layers
