"""cuDNN's recurrent layers: one product for the inputs of all steps, then a small product for each step."""

from __future__ import annotations

import numpy as np

from gpuplace.cost.kernel_times.generations import Rates
from gpuplace.cost.kernel_times.products import tiled_seconds
from gpuplace.kernels.work.record import Recurrence
from gpuplace.typing import Array

COLUMNS = ("cell", "backward", "hidden", "batch", "steps", "inputs", "layers")
"""Columns of the arrays below."""

CELLS = ("vanilla", "lstm", "gru")
_PRODUCTS = (1, 4, 3)
"""Products per step, by cell."""
_STEP_SECONDS = 2e-5
"""Launch overhead of a step's kernels: a product, and the arithmetic of the cell."""


def columns_of(work: Recurrence) -> tuple[int, ...]:
    """Return the table row of a recurrent layer."""
    return (
        CELLS.index(work.cell), work.direction == "backward", work.hidden, work.batch, work.steps,
        work.inputs or work.hidden, max(1, work.layers),
    )  # fmt: skip


def features(rows: Array) -> Array:
    """Return positions of recurrent layers in a space where similar ones are close, ``[row, feature]``."""
    cell, backward, hidden, batch, steps, _, _ = rows.T
    kinds = [1.5 * (cell == place) for place in range(len(CELLS))]
    logs = [np.log2(hidden), np.log2(batch), 0.5 * np.log2(steps)]
    return np.stack([*logs, *kinds, 2.0 * backward], axis=1) / 1.5


def seconds(rows: Array, rates: Rates) -> Array:
    """Return the modeled times of recurrent layers, ``[row]``: each step reads the weights again.

    Args:
        rows: ``[row, COLUMNS]``, without sizes of 0, except inputs if the layer adds them without a product.
        rates: rates of the GPU for the type.
    """
    cell, backward, hidden, batch, steps, inputs, layers = rows.T
    gates = np.array(_PRODUCTS)[cell.astype(int)] * hidden
    columns = batch * steps

    def product(m: Array, n: Array, k: Array) -> Array:
        return tiled_seconds(m, n, k, (m * n + n * k + m * k) * rates.item_bytes, rates)

    forward = steps * (product(gates, batch, hidden) + _STEP_SECONDS)
    gradient = steps * (product(hidden, batch, gates) + _STEP_SECONDS) + product(gates, hidden, columns)
    time = layers * np.where(backward, gradient, forward)
    for width, count in ((inputs, np.sign(inputs)), (hidden, layers - 1)):
        wide = np.maximum(width, 1.0)
        gradients = product(wide, columns, gates) + product(gates, wide, columns)
        time += count * np.where(backward, gradients, product(gates, columns, wide))
    return time
