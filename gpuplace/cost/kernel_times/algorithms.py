"""What convolutions take where the library's algorithms are tried out and the fastest is kept, as TensorFlow does.

The measured tables hold what cuDNN's own guess took, which is now and then a poor one: 64 x 128 x 56 x 56 images and
256 filters of 3 x 3 took a TITAN X four times as long as its fastest algorithm. Two algorithms are computed here, from
what they multiply and move; where one of them is faster than what the tables say, it is taken.

* Winograd's F(4x4, 3x3), not fused: 36 products of matrices for tiles of 4 x 4 outputs, between two passes that
  transform tiles. cuDNN has it since 5.1, the release of TensorFlow 1.0.
* Fourier transforms of whole images, or of tiles of 32 x 32. cuDNN has them since its third release.

How far that holds: in the tables of cuDNN 6 and 7, whose guesses are good, the Winograd times here are mostly above the
measured ones of windows of 3 x 3; where they are below, by 4 to 19% at the median, a GPU and pass at a time, at most by
half. Fourier transforms come within a seventh of the six layer times that they were fitted to, one within a third.
"""

from __future__ import annotations

import numpy as np

from gpuplace.cost.kernel_times.convolutions import COLUMNS
from gpuplace.cost.kernel_times.generations import LIBRARIES, Rates
from gpuplace.typing import Array

_NOT_FUSED_SINCE = "8.0.61"
_PRODUCT_SHARE = 0.75
"""What the products of transformed tiles reach of the rate; assumed, as large products of cuBLAS do."""
_PASSES_SECONDS = 3e-5
_TILE = 4
_TRANSFORMED = (_TILE + 2) ** 2

_FOURIER_TIMES = 1.7
"""Real over computed time of Fourier transforms.

Source: forward and filter gradient of layers L2, L3 and L4 on a GTX TITAN X, cuDNN's third release with its autotuner,
github.com/soumith/convnet-benchmarks, torch7/layerwise_benchmarks/output.log of 22 August 2015."""
_FOURIER_SECONDS = 5e-5
_FOURIER_SIZES = ((16, False), (32, False), (32, True), (64, False), (128, False))
"""Rows and columns of a transform, and whether images are cut into tiles of that size."""
_FEWEST_CHANNELS = 16
"""Sums over fewer are left to other algorithms: transforms cost more than they save."""


def tried_seconds(rows: Array, rates: Rates, library: str | None = None) -> Array:
    """Returns the times of the fastest of the algorithms computed here, ``[row]``; infinite where none is fit.

    Args:
        rows: ``[row, COLUMNS of convolutions]``, no size 0; of float32 outside tensor cores.
        rates: of the GPU, for the type.
        library: release of CUDA; None: one that has them all.
    """
    column = dict(zip(COLUMNS, rows.T))
    is_fit = (column["stride_h"] == 1) & (column["stride_w"] == 1)
    is_fit &= (column["groups"] == 1) & (column["depth"] == 1)
    best = _fourier_seconds(column, is_fit, rates)
    if library is None or LIBRARIES[library] >= LIBRARIES[_NOT_FUSED_SINCE]:
        best = np.minimum(best, _winograd_seconds(column, is_fit, rates))
    return best


def _winograd_seconds(column: dict[str, Array], is_fit: Array, rates: Rates) -> Array:
    is_fit = is_fit & (column["filter_h"] == 3) & (column["filter_w"] == 3)
    tiles = column["n"] * np.ceil(column["out_h"] / _TILE) * np.ceil(column["out_w"] / _TILE)
    flops, transformed = _of_tiles(column, tiles, _TRANSFORMED)
    moved = (2 * transformed + _images(column)) * rates.item_bytes
    time = 2 * flops / (rates.flops * _PRODUCT_SHARE) + moved / rates.bandwidth + _PASSES_SECONDS
    return np.where(is_fit, time, np.inf)


def _fourier_seconds(column: dict[str, Array], is_fit: Array, rates: Rates) -> Array:
    filter_h, filter_w = column["filter_h"], column["filter_w"]
    is_fit = is_fit & (filter_h * filter_w > 1) & (np.minimum(column["c"], column["k"]) >= _FEWEST_CHANNELS)
    best = np.full(len(filter_h), np.inf)
    for size, is_tiled in _FOURIER_SIZES:
        rows, columns = size - filter_h + 1, size - filter_w + 1  # of outputs that one transform gives
        is_possible = is_fit & (rows > 0) & (columns > 0)
        tiles = column["n"]
        if is_tiled:
            tiles = tiles * np.ceil(column["out_h"] / np.maximum(rows, 1))
            tiles = tiles * np.ceil(column["out_w"] / np.maximum(columns, 1))
        else:
            is_possible &= (column["out_h"] <= rows) & (column["out_w"] <= columns)
        frequencies = size * (size // 2 + 1)
        products, transformed = _of_tiles(column, tiles, frequencies)
        moved = 2 * 2 * transformed * rates.item_bytes  # complex numbers, written and read
        time = 8 * products / (rates.flops * _PRODUCT_SHARE) + moved / rates.bandwidth
        time = _FOURIER_TIMES * time + _FOURIER_SECONDS
        best = np.where(is_possible, np.minimum(best, time), best)
    return best


def _of_tiles(column: dict[str, Array], tiles: Array, size: int) -> tuple[Array, Array]:
    """Multiplications of the tiles' products, and how many numbers the tiles of both sides and of the filter hold."""
    channels, filters = column["c"], column["k"]
    return size * tiles * channels * filters, size * (tiles * (channels + filters) + channels * filters)


def _images(column: dict[str, Array]) -> Array:
    """How many numbers both sides hold."""
    return column["n"] * (
        column["c"] * column["h"] * column["w"] + column["k"] * column["out_h"] * column["out_w"]
    )
