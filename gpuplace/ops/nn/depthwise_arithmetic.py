"""Arithmetic of depthwise convolutions and their gradients, on NHWC images.

Each channel has its own filters, so there is no matrix product. For one tap of the window, the pixels of an image row
are contiguous in memory, and an output line is the sum of such runs over all taps, each times the tap's filter values,
repeated for all pixels::

    images  [batch, height, width * channels]  --runs of taps (row, column)-->  sum of run * numbers  = a line

NumPy's ``einsum`` does that in one call, a line at a time. For a column stride above 1, the columns are first sorted by
their remainder, so that those of one remainder are contiguous. The gradient with respect to the images is again such a
sum, for each remainder of the image's rows and columns. Half-precision numbers are multiplied and summed as float32.
"""

from __future__ import annotations

import itertools

import numpy as np

from gpuplace.numerics.pieces import over, scratch
from gpuplace.ops.nn.conv_arithmetic import wide
from gpuplace.ops.nn.window_phases import BackwardPhase, Phase, phases
from gpuplace.ops.nn.windows import Window, padded
from gpuplace.typing import Array, ArrayModule

_PASSES = 6
"""Memory traffic for an image, as a multiple of its size."""

_SUMMED_LINES = 512
"""Maximum number of lines that are summed in sequence before their sum is added to the total."""


def depthwise(xp: ArrayModule, images: Array, filter: Array, window: Window) -> Array:
    """Convolve each channel with its own filters, ``[rows, columns, channels, multiplier]``."""
    batch, height, width, channels = images.shape
    rows, columns, _, multiplier = filter.shape
    out_height, out_width, pads = window.geometry(height, width)
    result = xp.empty((batch, out_height, out_width, channels * multiplier), images.dtype)
    numbers = wide(filter).reshape(rows, columns, channels * multiplier)
    runs = phases(columns, window.strides[1], window.dilations[1])
    factors = [_along_line(xp, numbers[:, phase.taps], out_width) for phase in runs]

    def piece(part: slice) -> None:
        some = _repeated(xp, padded(xp, wide(images[part]), pads), multiplier)
        target = result[part]
        total = target if target.dtype == some.dtype else scratch(xp, "total", target.shape, some.dtype)
        for index, (phase, factor) in enumerate(zip(runs, factors, strict=True)):
            seen = _tap_view(
                xp, _sorted(xp, some, window.strides[1], phase), window, phase, out_height, out_width
            )
            sums = scratch(xp, "found", total.shape, total.dtype) if index else total
            _sums(xp, seen, factor, sums)
            if index:
                total += sums
        if total is not target:
            target[...] = total

    over(xp, batch, _PASSES * result[:1].size * 4, piece)
    return result


def depthwise_images_gradient(
    xp: ArrayModule, shape: tuple[int, ...], filter: Array, grad: Array, window: Window
) -> Array:
    """Return the gradient with respect to images of that shape."""
    batch, height, width, channels = shape
    rows, columns, _, multiplier = filter.shape
    out_height, out_width, ((top, _), (left, _)) = window.geometry(height, width)
    result = xp.empty(shape, grad.dtype)
    numbers = wide(filter).reshape(rows, columns, channels * multiplier)
    down = [
        BackwardPhase.of(phase, window.strides[0], top, height)
        for phase in phases(rows, window.strides[0], window.dilations[0])
    ]
    along = [
        BackwardPhase.of(phase, window.strides[1], left, width)
        for phase in phases(columns, window.strides[1], window.dilations[1])
    ]
    border = tuple(
        (max(0, *(-way.first for way in ways)), max(0, *(way.stop - size for way in ways)))
        for ways, size in ((down, out_height), (along, out_width))
    )
    pairs = [
        (way, other, _along_line(xp, numbers[way.taps][:, other.taps], other.count))
        for way, other in itertools.product(down, along)
        if way.count and other.count
    ]
    has_gaps = len(down) < window.strides[0] or len(along) < window.strides[1]

    def piece(part: slice) -> None:
        some = xp.ascontiguousarray(padded(xp, wide(grad[part]), (border[0], border[1])))
        target = result[part]
        if has_gaps:
            target[...] = 0
        for way, other, factor in pairs:
            seen = _lines(
                xp,
                some[:, way.first + border[0][0] :, other.first + border[1][0] :],
                (way.count, other.count),
                1,
                (way.phase.count, other.phase.count),
                (way.phase.gap, other.phase.gap),
            )
            where = target[:, way.pixels, other.pixels]
            is_direct = multiplier == 1 and where.flags.c_contiguous and where.dtype == some.dtype
            shape = (*where.shape[:3], channels * multiplier)
            sums = where if is_direct else scratch(xp, "found", shape, some.dtype)
            _sums(xp, seen, factor, sums)
            if multiplier > 1:
                sums = sums.reshape(*where.shape, multiplier).sum(axis=4)
            if not is_direct:
                where[...] = sums

    over(xp, batch, _PASSES * grad[:1].size * 4, piece)
    return result


def depthwise_filter_gradient(
    xp: ArrayModule, images: Array, shape: tuple[int, ...], grad: Array, window: Window
) -> Array:
    """Return the gradient with respect to a filter of that shape."""
    rows, columns, channels, multiplier = shape
    batch, height, width, _ = images.shape
    out_height, out_width, pads = window.geometry(height, width)
    runs = phases(columns, window.strides[1], window.dilations[1])
    line = out_width * channels * multiplier
    step = max(1, _SUMMED_LINES // max(1, out_height))
    blocks = -(-batch // step)
    sums = xp.zeros((blocks, rows, columns, line), wide(grad[:0]).dtype)

    def piece(part: slice) -> None:
        for block in range(part.start, part.stop):
            images_of = slice(block * step, min(batch, (block + 1) * step))
            some = _repeated(xp, padded(xp, wide(images[images_of]), pads), multiplier)
            grads = xp.ascontiguousarray(wide(grad[images_of])).reshape(-1, out_height, line)
            for phase in runs:
                seen = _tap_view(
                    xp, _sorted(xp, some, window.strides[1], phase), window, phase, out_height, out_width
                )
                for row, column in itertools.product(range(rows), range(phase.count)):
                    target = sums[block, row, phase.taps][column]
                    if xp is np:
                        np.einsum("nhx,nhx->x", seen[:, :, row, column], grads, out=target)
                    else:
                        target[...] = (seen[:, :, row, column] * grads).sum(axis=(0, 1))

    over(xp, blocks, _PASSES * step * grad[:1].size * 4, piece)
    total = sums.sum(axis=0).reshape(rows, columns, out_width, channels, multiplier).sum(axis=2)
    return total.astype(grad.dtype, copy=False)


def _repeated(xp: ArrayModule, images: Array, multiplier: int) -> Array:
    """Return contiguous images with each channel repeated once for each of its filters."""
    return xp.ascontiguousarray(images) if multiplier == 1 else xp.repeat(images, multiplier, axis=3)


def _sorted(xp: ArrayModule, images: Array, stride: int, phase: Phase) -> Array:
    """Return the columns of one remainder, contiguous in memory."""
    if stride == 1:
        return images
    chosen = images[:, :, phase.remainder :: stride]
    result = scratch(xp, "sorted", chosen.shape, chosen.dtype)
    result[...] = chosen
    return result


def _tap_view(
    xp: ArrayModule, images: Array, window: Window, phase: Phase, out_height: int, out_width: int
) -> Array:
    """Return the pixels of ``_sorted`` images under the window's rows and one phase of its columns, as ``_lines``."""
    return _lines(
        xp,
        images[:, :, phase.first :],
        (out_height, out_width),
        window.strides[0],
        (window.rows, phase.count),
        (window.dilations[0], phase.gap),
    )


def _lines(
    xp: ArrayModule,
    images: Array,
    sizes: tuple[int, int],
    down: int,
    taps: tuple[int, int],
    gaps: tuple[int, int],
) -> Array:
    """Return runs of images as a read-only view ``[batch, height, rows, columns, width * channels]``.

    Args:
        xp: numpy or cupy.
        images: images with contiguous columns.
        sizes: height and width of the result.
        down: number of rows between lines.
        taps: rows and columns of the window.
        gaps: number of rows and columns between taps.
    """
    s0, s1, s2, s3 = images.strides
    channels = images.shape[3]
    return xp.lib.stride_tricks.as_strided(
        images,
        (len(images), sizes[0], *taps, sizes[1] * channels),
        (s0, s1 * down, s1 * gaps[0], s2 * gaps[1], s3),
    )


def _sums(xp: ArrayModule, seen: Array, factor: Array, target: Array) -> None:
    """Write the sums of ``seen * factor`` over the window to images."""
    total = target.reshape(len(seen), seen.shape[1], seen.shape[4])
    if xp is np:
        np.einsum("nhijx,ijx->nhx", seen, factor, out=total)
        return
    total[...] = 0
    for row, column in itertools.product(range(seen.shape[2]), range(seen.shape[3])):
        total += seen[:, :, row, column] * factor[row, column]


def _along_line(xp: ArrayModule, numbers: Array, width: int) -> Array:
    """Return the filter's values for each tap, repeated for all pixels of a line."""
    rows, columns, channels = numbers.shape
    repeated = xp.broadcast_to(numbers[:, :, None], (rows, columns, width, channels))
    return xp.ascontiguousarray(repeated).reshape(rows, columns, width * channels)
