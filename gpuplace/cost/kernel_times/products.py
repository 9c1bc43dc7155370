"""Matrix product times of a mature cuBLAS, from tiles, waves and clocks, and a similarity of product shapes.

The output is cut into tiles, one per block of threads. As many blocks run at once as there are multiprocessors, wave
after wave, so one tile too many costs a whole wave. A product with few tiles and long sums is also split along the sums
(split-k), and the parts are added up afterwards::

          n
      +---+---+---+
    m | 1 | 2 | 3 |    6 tiles on 4 multiprocessors: 2 waves
      +---+---+---+
      | 4 | 5 | 6 |
      +---+---+---+

Convolutions and steps of recurrent layers are products too; their modules call ``tiled_seconds``.

Sizes are those of the column-major library: for TensorFlow's row-major ``[m, k] x [k, n]`` it computes the transposed
product, so m and n change places.
"""

from __future__ import annotations

import numpy as np

from gpuplace.cost.kernel_times.generations import Rates
from gpuplace.kernels.work.record import Product
from gpuplace.typing import Array

COLUMNS = ("m", "n", "k", "a_t", "b_t", "batch")
"""Columns of the arrays below."""

_TILES = ((128, 128, 1.0), (128, 64, 0.95), (64, 64, 0.85), (128, 32, 0.8), (64, 32, 0.7), (32, 32, 0.5))
"""Rows, columns, and fraction of its rate that a multiprocessor reaches with tiles of this size."""
_SPLITS = (1, 2, 4, 8, 16, 32, 64)
_SHORTEST_SUM = 128
_BEST = 0.95
_CALL_SECONDS = 5e-6
_ADD_UP_SECONDS = 2e-6


def columns_of(product: Product) -> tuple[int, ...]:
    """Return the table row of a product, in the library's column-major terms."""
    return (product.n, product.m, product.k, product.transpose_b, product.transpose_a, product.batch)


def swapped(rows: Array) -> Array:
    """Return the rows of the transposed products, whose times are similar."""
    return rows[:, [1, 0, 2, 4, 3, 5]]


def features(rows: Array) -> Array:
    """Return positions of products in a space where similar ones are close, ``[row, feature]``.

    A batch counts as additional columns.
    """
    m, n, k, a_t, b_t, batch = np.maximum(rows, 1e-9).T
    return (
        np.stack(
            [
                np.log2(m),
                np.log2(n * batch),
                np.log2(k),
                1.5 * (a_t >= 1),
                1.5 * (b_t >= 1),
                0.7 * (m % 128 == 0),
                0.5 * (n % 32 == 0),
                0.3 * (k % 32 == 0),
            ],
            axis=1,
        )
        / 1.5
    )


def seconds(rows: Array, rates: Rates) -> Array:
    """Return the modeled times of products, ``[row]``.

    Args:
        rows: ``[row, COLUMNS]``, without sizes of 0.
        rates: rates of the GPU for the type.
    """
    m, n, k, _, _, batch = rows.T
    nbytes = (m * n + n * k + m * k) * batch * rates.item_bytes
    return tiled_seconds(m, n, k, nbytes, rates, batch) + _CALL_SECONDS


def tiled_seconds(
    m: Array,
    n: Array,
    k: Array,
    nbytes: Array,
    rates: Rates,
    batch: Array | float = 1.0,
    best: float = _BEST,
    is_split: Array | bool = True,
) -> Array:
    """Return the times of products without call overhead, ``[row]``.

    Args:
        m: rows of the output, ``[row]``.
        n: columns of the output, ``[row]``.
        k: terms of each sum, ``[row]``.
        nbytes: bytes transferred between the GPU and its memory, ``[row]``.
        rates: rates of the GPU for the type.
        batch: number of such products in one call, ``[row]`` or for all rows.
        best: fraction of the GPU's rate that the largest tiles reach.
        is_split: whether the library may split along the sums, ``[row]`` or for all rows.
    """
    computing = np.full(len(m), np.inf)
    for high, wide, share in _TILES:
        rate = rates.flops / rates.sm_count * share * best
        for rows, columns in {(high, wide), (wide, high)}:
            tiles = np.ceil(m / rows) * np.ceil(n / columns) * batch
            for split in _SPLITS:
                loads = tiles * split / rates.sm_count
                waves = np.where(loads < 4, np.ceil(loads), loads + 0.5)
                # Power grows with the cube of the clock: idle multiprocessors leave power to the active ones.
                clock = np.minimum(rates.boost, np.cbrt(waves / loads)) if rates.boost > 1 else 1.0
                time = waves * 2.0 * rows * columns * np.ceil(k / split) / (rate * clock)
                if split > 1:
                    time += 2 * split * m * n * batch * rates.item_bytes / rates.bandwidth + _ADD_UP_SECONDS
                    time[(k / split < _SHORTEST_SUM) | np.logical_not(is_split)] = np.inf
                np.minimum(computing, time, out=computing)
    return (computing**4 + (nbytes / rates.bandwidth) ** 4) ** 0.25
