"""Convolution times of a mature cuDNN, and a similarity of convolution shapes.

The library has several algorithms and uses the fastest (TensorFlow tries them out). Two are modeled here: an implicit
matrix product over windows that are never materialized and, for windows of 3 x 3 with stride 1, fused Winograd. Both
cut their products into tiles and waves (``products``), so a few small images leave most of a large GPU idle. The
measured tables correct both. The tables contain the times of cuDNN's own guess of an algorithm, which is sometimes
poor: 64 x 128 x 56 x 56 images with 256 filters of 3 x 3 took a TITAN X four times as long as its fastest algorithm.
Two more algorithms are therefore modeled from their operations and transfers, and used where they are faster than the
tables:

* Winograd's F(4x4, 3x3), not fused: 36 matrix products for tiles of 4 x 4 outputs, between two passes that
  transform tiles. New in cuDNN 5.1, the release of TensorFlow 1.0.
* Fourier transforms of whole images, or of tiles of 32 x 32. New in cuDNN's third release.

Accuracy: in the tables of cuDNN 6 and 7, whose guesses are good, the modeled Winograd times for windows of 3 x 3 are
mostly above the measured ones. Where they are below, the median difference by GPU and pass is 4 to 19%, the maximum a
half. Fourier transforms are within a seventh of the six layer times that they were fitted to, and one within a third.
"""

from __future__ import annotations

import numpy as np

from gpuplace.cost.kernel_times.generations import LIBRARIES, Rates
from gpuplace.cost.kernel_times.products import tiled_seconds
from gpuplace.device.gpu_models import GPUModel
from gpuplace.kernels.work.record import Convolution
from gpuplace.typing import Array

COLUMNS = (
    "pass", "n", "c", "k", "h", "w", "filter_h", "filter_w", "out_h", "out_w", "stride_h", "stride_w", "groups",
    "depth",
)  # fmt: skip
"""Columns of the arrays below; channels are those of one group."""

PASSES = ("forward", "backward_input", "backward_filter")
_BEST = 0.85
"""Fraction of the GPU's rate that the largest tiles reach: windows are gathered from the images during the product."""
_BEST_WINOGRAD = 0.75
"""The same for Winograd kernels, including their tile transforms."""
_UNTILED = 0.3
"""Fraction of the rate that kernels without tiles reach; images with few channels would leave most of a tile empty.

Source: gradients of images of 1 and 3 channels in the measured tables, rounded.
"""
_CALL_SECONDS = 8e-6


def columns_of(work: Convolution) -> tuple[int, ...]:
    """Return a convolution as a row of the table of measurements."""
    groups = max(1, work.groups)
    return (
        PASSES.index(work.direction), work.batch, max(1, work.in_channels // groups),
        max(1, work.out_channels // groups), work.height, work.width,
        work.filter_height, work.filter_width, work.out_height, work.out_width,
        work.stride_height, work.stride_width, groups, work.depth,
    )  # fmt: skip


def measured_columns(direction: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the table row of a measured call, whose shape states the padding instead of the output size."""
    n, c, h, w, k, filter_h, filter_w, pad_h, pad_w, stride_h, stride_w = shape
    out_h = (h + 2 * pad_h - filter_h) // stride_h + 1
    out_w = (w + 2 * pad_w - filter_w) // stride_w + 1
    return (
        PASSES.index(direction), n, c, k, h, w, filter_h, filter_w, out_h, out_w, stride_h, stride_w, 1, 1,
    )  # fmt: skip


def features(rows: Array) -> Array:
    """Return positions of convolutions in a space where similar ones are close, ``[row, feature]``."""
    column = dict(zip(COLUMNS, rows.T))
    window = column["filter_h"] * column["filter_w"]
    strides = np.log2(column["stride_h"] * column["stride_w"])
    is_3x3 = (column["filter_h"] == 3) & (column["filter_w"] == 3)
    is_by_phase = column["pass"] == PASSES.index("backward_input")
    return (
        np.stack(
            [
                np.log2(column["n"]),
                np.log2(column["c"]),
                np.log2(column["k"]),
                0.7 * np.log2(column["out_h"] * column["out_w"]),
                *(2.5 * (column["pass"] == place) for place in range(len(PASSES))),
                0.96 * np.log2(window),
                strides,
                2.5 * strides * is_by_phase,
                1.5 * is_3x3,
            ],
            axis=1,
        )
        / 3.0
    )


def seconds(rows: Array, rates: Rates) -> Array:
    """Return the modeled times of convolutions, ``[row]``.

    Args:
        rows: ``[row, COLUMNS]``, without sizes of 0.
        rates: rates of the GPU for the type.
    """
    column = dict(zip(COLUMNS, rows.T))
    flops, moved = _amounts(rows, rates)
    untiled = np.maximum(flops / (rates.flops * _UNTILED), moved / rates.bandwidth)
    times = np.minimum(_implicit_product_seconds(rows, rates), untiled)
    is_winograd = (column["filter_h"] == 3) & (column["filter_w"] == 3) & (column["depth"] == 1)
    is_winograd &= (column["stride_h"] == 1) & (column["stride_w"] == 1)
    times[is_winograd] = np.minimum(times[is_winograd], _fused_winograd_seconds(rows[is_winograd], rates))
    return times + _CALL_SECONDS


def _implicit_product_seconds(rows: Array, rates: Rates) -> Array:
    """Return the times of products over windows that are never materialized, ``[row]``."""
    direction, n, c, k, h, w, filter_h, filter_w, out_h, out_w, stride_h, stride_w, groups, depth = rows.T
    outputs, window = n * out_h * out_w, filter_h * filter_w
    # With strides, the phase of an input pixel determines which weights of the window reach it: one product for each
    # phase that any weight reaches.
    phases = np.minimum(filter_h, stride_h) * np.minimum(filter_w, stride_w)
    inputs = n * h * w * phases / (stride_h * stride_w)
    weights = np.ceil(filter_h / stride_h) * np.ceil(filter_w / stride_w)
    sizes = _sizes_of_pass(
        direction,
        (k, outputs, c * window * depth),
        (c, inputs, k * weights * depth),
        (k, c * window, outputs * depth),
    )
    _, nbytes = _amounts(rows, rates)
    # The filter gradient sums over all pixels of all images, so it is split; the sums of the other passes are short.
    is_split = direction == PASSES.index("backward_filter")
    return tiled_seconds(*sizes, nbytes, rates, groups, _BEST, is_split)


def _fused_winograd_seconds(rows: Array, rates: Rates) -> Array:
    """Return the times of Winograd's F(2x2, 3x3): 16 products per tile of 4 outputs instead of 36, ``[row]``."""
    direction, n, c, k, _, _, _, _, out_h, out_w, _, _, groups, _ = rows.T
    tiles = n * np.ceil(out_h / 2) * np.ceil(out_w / 2)
    sizes = _sizes_of_pass(direction, (k, tiles, c), (c, tiles, k), (k, c, tiles))
    _, nbytes = _amounts(rows, rates)
    return tiled_seconds(*sizes, nbytes, rates, 16 * groups, _BEST_WINOGRAD)


def _sizes_of_pass(direction: Array, *sizes: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """Return rows, columns and sum lengths of the products, chosen from those of each of ``PASSES``."""
    m, n, k = (np.choose(direction.astype(int), of_passes) for of_passes in zip(*sizes))
    return m, n, k


_KEPLER_TIMES = np.array([[1.25, 1.29], [1.97, 1.44], [1.97, 1.44]])
"""Time of convolutions on Kepler over that of later GPUs that reach the same share of their rates: ``[pass, is wide]``,
for windows of 1 x 1 and for larger windows.

Fitted to forward and backward times of eight networks on a Tesla K80 with cuDNN 5.1, batches of 16, Torch
(github.com/dmikushin/cnn-benchmarks, README), and to those of four networks on a GTX TITAN Black beside a GTX TITAN X,
both with cuDNN's second release (github.com/soumith/convnet-benchmarks, torch7/imagenet_winners/output.log of December
2014, January and April 2015). The TITAN Black's 15 single-layer passes in the same place give 1.27."""


def generation_times(rows: Array, gpu: GPUModel) -> Array | float:
    """Return the time factor of convolutions on GPU generations without a measured table, ``[row]`` or 1.

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
"""Pass to fraction of the memory bandwidth: TensorFlow's own kernels, whose filter gradient adds atomically."""


def depthwise_seconds(rows: Array, rates: Rates) -> Array:
    """Return the times of depthwise convolutions, which are memory-bound, ``[row]``.

    Args:
        rows: ``[row, COLUMNS]``, without sizes of 0.
        rates: rates of the GPU for the type.
    """
    flops, moved = _amounts(rows, rates)
    share = np.array([_DEPTHWISE_SHARE[place] for place in range(len(PASSES))])[rows[:, 0].astype(int)]
    return np.maximum(moved / (rates.bandwidth * share), flops / (rates.flops * 0.15)) + _CALL_SECONDS


def _amounts(rows: Array, rates: Rates) -> tuple[Array, Array]:
    """Return operations, and bytes of input, filter and output, each ``[row]``."""
    _, n, c, k, h, w, filter_h, filter_w, out_h, out_w, _, _, groups, depth = rows.T
    outputs = n * k * out_h * out_w * groups
    flops = 2.0 * outputs * c * filter_h * filter_w * depth
    moved = n * c * h * w * groups + outputs + k * c * filter_h * filter_w * groups
    return flops, moved * rates.item_bytes


_NOT_FUSED_SINCE = "8.0.61"
_PRODUCT_SHARE = 0.75
"""Fraction of the rate that products of transformed tiles reach; assumed, as for large cuBLAS products."""
_PASSES_SECONDS = 3e-5
_TILE = 4
_TRANSFORMED = (_TILE + 2) ** 2

_FOURIER_TIMES = 1.7
"""Measured over modeled time of Fourier transforms.

Source: forward and filter gradient of layers L2, L3 and L4 on a GTX TITAN X, cuDNN's third release with its autotuner,
github.com/soumith/convnet-benchmarks, torch7/layerwise_benchmarks/output.log of 22 August 2015.
"""
_FOURIER_SECONDS = 5e-5
_FOURIER_SIZES = ((16, False), (32, False), (32, True), (64, False), (128, False))
"""Size of a transform, and whether images are cut into tiles of that size."""
_FEWEST_CHANNELS = 16
"""Number of channels below which transforms cost more than they save."""


def autotuned_seconds(rows: Array, rates: Rates, library: str | None = None) -> Array:
    """Return the times of the faster of the two additional algorithms, ``[row]``; infinite where neither applies.

    Args:
        rows: ``[row, COLUMNS]``, without sizes of 0; float32 outside of tensor cores.
        rates: rates of the GPU for the type.
        library: CUDA release; None for one that has both algorithms.
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
        rows, columns = size - filter_h + 1, size - filter_w + 1  # outputs of one transform
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
    """Return the multiplications of the tile products, and the number of elements in all tiles."""
    channels, filters = column["c"], column["k"]
    return size * tiles * channels * filters, size * (tiles * (channels + filters) + channels * filters)


def _images(column: dict[str, Array]) -> Array:
    """Return the number of elements of both sides."""
    return column["n"] * (
        column["c"] * column["h"] * column["w"] + column["k"] * column["out_h"] * column["out_w"]
    )
