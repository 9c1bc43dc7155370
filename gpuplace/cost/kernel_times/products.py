"""Matrix products: what cuBLAS would take if its tiles filled the GPU, and in which shapes they are alike.

The product is cut into tiles of the output, one to a block of threads; as many blocks run at once as there are
multiprocessors, wave after wave, so that one tile too many costs a whole wave. A product with few tiles and long sums
is also cut along the sums (split-k), whose parts are added up afterwards::

          n
      +---+---+---+
    m | 1 | 2 | 3 |    6 tiles on 4 multiprocessors: 2 waves
      +---+---+---+
      | 4 | 5 | 6 |
      +---+---+---+

Sizes are those of the column-major library: for TensorFlow's row-major ``[m, k] x [k, n]`` it computes the transposed
product, so m and n change places.
"""

from __future__ import annotations

import numpy as np

from gpuplace.cost.kernel_times.rates import Rates
from gpuplace.cost.work import Product
from gpuplace.typing import Array

__all__ = ["COLUMNS", "columns_of", "features", "seconds", "swapped"]

COLUMNS = ("m", "n", "k", "a_t", "b_t", "batch")
"""What a row of the arrays below holds."""

_TILES = ((128, 128, 1.0), (128, 64, 0.95), (64, 64, 0.85), (128, 32, 0.8), (64, 32, 0.7), (32, 32, 0.5))
"""Rows, columns, and share of the rate that a multiprocessor reaches with tiles of these sizes."""
_SPLITS = (1, 2, 4, 8, 16, 32, 64)
_SHORTEST_SUM = 128
_BEST = 0.95
_CALL_SECONDS = 5e-6
_ADD_UP_SECONDS = 2e-6


def columns_of(product: Product) -> tuple[int, ...]:
    """The row of a product in a library's column-major terms."""
    return (product.n, product.m, product.k, product.transpose_b, product.transpose_a, product.batch)


def swapped(rows: Array) -> Array:
    """The rows of the transposed products, whose times are much alike."""
    return rows[:, [1, 0, 2, 4, 3, 5]]


def features(rows: Array) -> Array:
    """Where products lie among each other, ``[row, feature]``; a batch counts as that many columns more."""
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
    """Returns the computed times of products, ``[row]``.

    Args:
        rows: ``[row, COLUMNS]``, no size 0.
        rates: of the GPU, for the type.
    """
    m, n, k, _, _, batch = rows.T
    per_sm = rates.flops / rates.sm_count
    outputs = m * n * batch * rates.item_bytes
    best = np.full(len(rows), np.inf)
    for high, wide, share in _TILES:
        for rows_of_tile, columns_of_tile in {(high, wide), (wide, high)}:
            tiles = np.ceil(m / rows_of_tile) * np.ceil(n / columns_of_tile) * batch
            tile_seconds = 2.0 * rows_of_tile * columns_of_tile / (per_sm * share * _BEST)
            for split in _SPLITS:
                blocks = tiles * split
                waves = np.where(
                    blocks < 4 * rates.sm_count,
                    np.ceil(blocks / rates.sm_count),
                    blocks / rates.sm_count + 0.5,
                )
                time = waves * tile_seconds * np.ceil(k / split)
                if split > 1:
                    time = time + 2 * split * outputs / rates.bandwidth + _ADD_UP_SECONDS
                    time[k / split < _SHORTEST_SUM] = np.inf
                np.minimum(best, time, out=best)
    moved = (m * n + n * k + m * k) * batch * rates.item_bytes / rates.bandwidth
    return (best**4 + moved**4) ** 0.25 + _CALL_SECONDS
