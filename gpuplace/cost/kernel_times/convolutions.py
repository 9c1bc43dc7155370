"""Convolutions: what cuDNN would take at the GPU's rates, and in which shapes they are alike.

The library has several algorithms and takes the fastest (TensorFlow tries them out): a matrix product over windows that
are never written out, for 3x3 windows of stride 1 Winograd's (a quarter to a half of the multiplications), and Fourier
transforms for large windows. The computed time knows of the first two; what they are worth by shape, pass, chip and
release is in the measured table.
"""

from __future__ import annotations

import numpy as np

from gpuplace.cost.kernel_times.rates import Rates
from gpuplace.cost.work import Convolution
from gpuplace.device.gpu_models import GPUModel
from gpuplace.typing import Array

__all__ = [
    "COLUMNS",
    "PASSES",
    "columns_of",
    "depthwise_seconds",
    "features",
    "generation_times",
    "measured_columns",
    "seconds",
]

COLUMNS = (
    "pass", "n", "c", "k", "h", "w", "filter_h", "filter_w", "out_h", "out_w", "stride_h", "stride_w", "groups",
    "depth",
)  # fmt: skip
"""What a row of the arrays below holds; channels are those of one group."""

PASSES = ("forward", "backward_input", "backward_filter")
_BEST = 0.8
_CALL_SECONDS = 8e-6
_TILES = ((128, 1.0), (64, 0.95), (32, 0.8))
"""Sizes of the tiles of a product, and the share of the rate that is reached with them; assumed."""
_NARROW = 8
"""What fewer columns than a tile has are rounded up to: the gradient of an image of 3 channels takes 1.3 to 2.1 times
as long as the convolution.

Source: layer L1 of github.com/soumith/convnet-benchmarks on a GTX TITAN X, cuDNN's second and third release."""
_WINOGRAD = 2.0
"""What Winograd's algorithm saves of the multiplications of a 3x3 window, transforms of the tiles included."""


def columns_of(work: Convolution) -> tuple[int, ...]:
    """The row of a convolution."""
    groups = max(1, work.groups)
    return (
        PASSES.index(work.direction), work.batch, max(1, work.in_channels // groups),
        max(1, work.out_channels // groups), work.height, work.width,
        work.filter_height, work.filter_width, work.out_height, work.out_width,
        work.stride_height, work.stride_width, groups, work.depth,
    )  # fmt: skip


def measured_columns(direction: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The row of a measured call, whose table gives the padding instead of the output's size."""
    n, c, h, w, k, filter_h, filter_w, pad_h, pad_w, stride_h, stride_w = shape
    out_h = (h + 2 * pad_h - filter_h) // stride_h + 1
    out_w = (w + 2 * pad_w - filter_w) // stride_w + 1
    return (
        PASSES.index(direction), n, c, k, h, w, filter_h, filter_w, out_h, out_w, stride_h, stride_w, 1, 1,
    )  # fmt: skip


def features(rows: Array) -> Array:
    """Where convolutions lie among each other, ``[row, feature]``."""
    column = dict(zip(COLUMNS, rows.T))
    window = column["filter_h"] * column["filter_w"]
    is_3x3 = (column["filter_h"] == 3) & (column["filter_w"] == 3)
    return (
        np.stack(
            [
                np.log2(column["n"]),
                np.log2(column["c"]),
                np.log2(column["k"]),
                0.7 * np.log2(column["out_h"] * column["out_w"]),
                *(2.5 * (column["pass"] == place) for place in range(len(PASSES))),
                0.96 * np.log2(window),
                np.log2(column["stride_h"] * column["stride_w"]),
                1.5 * is_3x3,
            ],
            axis=1,
        )
        / 2.5
    )


def seconds(rows: Array, rates: Rates) -> Array:
    """Returns the computed times of convolutions, ``[row]``.

    Args:
        rows: ``[row, COLUMNS]``, no size 0.
        rates: of the GPU, for the type.
    """
    flops, moved = _amounts(rows, rates)
    flops *= _filled_tiles(rows)
    column = dict(zip(COLUMNS, rows.T))
    is_winograd = (column["filter_h"] == 3) & (column["filter_w"] == 3)
    is_winograd &= (column["stride_h"] == 1) & (column["stride_w"] == 1)
    computing = flops / np.where(is_winograd, _WINOGRAD, 1.0) / (rates.flops * _BEST)
    return computing + moved / rates.bandwidth + _CALL_SECONDS


def _filled_tiles(rows: Array) -> Array:
    """By how much a product is longer because its columns, and the rows of a filter's gradient, come in tiles."""
    column = dict(zip(COLUMNS, rows.T))
    columns = np.where(column["pass"] == 1, column["c"], column["k"])
    window = column["filter_h"] * column["filter_w"] * column["depth"]
    filter_rows = np.where(column["pass"] == 2, column["c"] * window, _TILES[0][0])
    return _in_tiles(columns) * _in_tiles(filter_rows)


def _in_tiles(sizes: Array) -> Array:
    filled = np.minimum.reduce([np.ceil(sizes / tile) * tile / share for tile, share in _TILES])
    smallest, share = _TILES[-1]
    narrow = np.ceil(sizes / _NARROW) * _NARROW / share
    return np.where(sizes < smallest, narrow, filled) / sizes


_KEPLER_TIMES = np.array([[1.17, 1.24], [1.89, 1.38], [1.89, 1.38]])
"""What convolutions take on Kepler beside later GPUs that reach the same share of their rates: ``[pass, is wide]``, for
windows of 1 x 1 and for larger ones.

Fitted to forward and backward times of eight nets on a Tesla K80 with cuDNN 5.1, batches of 16, Torch
(github.com/dmikushin/cnn-benchmarks, README), and to those of four nets on a GTX TITAN Black beside a GTX TITAN X, both
with cuDNN's second release (github.com/soumith/convnet-benchmarks, torch7/imagenet_winners/output.log of December 2014,
January and April 2015). The TITAN Black's 15 passes of single layers in the same place say 1.27."""


def generation_times(rows: Array, gpu: GPUModel) -> Array | float:
    """What the times of convolutions are multiplied by on GPUs whose kernels are of a generation not measured.

    Args:
        rows: ``[row, COLUMNS]``.
        gpu: the GPU.
    """
    if gpu.compute_capability[0] != 3:
        return 1.0
    column = dict(zip(COLUMNS, rows.T))
    return _KEPLER_TIMES[
        column["pass"].astype(int), (column["filter_h"] * column["filter_w"] > 1).astype(int)
    ]


_DEPTHWISE_SHARE = {0: 0.5, 1: 0.4, 2: 0.12}
"""Pass -> share of the memory's bandwidth: TensorFlow's own kernels, whose gradient of the filter adds atomically."""


def depthwise_seconds(rows: Array, rates: Rates) -> Array:
    """Returns the times of convolutions in which no channel sees another, ``[row]``: bound by memory.

    Args:
        rows: ``[row, COLUMNS]``, no size 0.
        rates: of the GPU, for the type.
    """
    flops, moved = _amounts(rows, rates)
    share = np.array([_DEPTHWISE_SHARE[place] for place in range(len(PASSES))])[rows[:, 0].astype(int)]
    return np.maximum(moved / (rates.bandwidth * share), flops / (rates.flops * 0.15)) + _CALL_SECONDS


def _amounts(rows: Array, rates: Rates) -> tuple[Array, Array]:
    """Operations, and bytes of input, filter and output."""
    _, n, c, k, h, w, filter_h, filter_w, out_h, out_w, _, _, groups, depth = rows.T
    outputs = n * k * out_h * out_w * groups
    flops = 2.0 * outputs * c * filter_h * filter_w * depth
    moved = n * c * h * w * groups + outputs + k * c * filter_h * filter_w * groups
    return flops, moved * rates.item_bytes
