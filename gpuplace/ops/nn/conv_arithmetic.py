"""Arithmetic of convolutions and their gradients, on NHWC images.

With the windows of all images as the rows of a matrix (``windows``), a convolution is a product with the filter, and
the filter's gradient is that matrix transposed times the output's gradient. For a stride of 1, the gradient of the
images is the convolution of the output's gradient with the flipped filter. Otherwise, and for images with few channels,
it is the output's gradient times the transposed filter, added back to the pixels under each window.

The matrix of windows is many times larger than the images, so it only exists in pieces that fit in the cache::

    images --[piece of images, or of rows]--> windows as rows --@ filter--> the piece's part of the result

Compiled loops (``numerics.compiled.window_loops``), if available and suitable, do not need this matrix.

Half-precision numbers are multiplied and summed as float32.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.numerics.compiled.dispatch import compiled
from gpuplace.numerics.compiled.loops import UNIT_BYTES
from gpuplace.numerics.pieces import PIECE_BYTES, cuts, in_turn, is_small_product, product, scratch
from gpuplace.ops.nn.windows import FEW_CHANNELS, Window
from gpuplace.typing import Array, ArrayModule

_SUMMED_ROWS = 256
"""Number of windows in each partial sum of a filter's gradient, if that makes the products small."""

_SUMMED_COLUMNS = 2048
"""The same for images with few channels, whose windows are the columns of a matrix."""

PART_BYTES = 1 << 20
"""Memory, in bytes, of each part of a filter's gradient; the parts are summed in order."""

_LEAST_TERMS = 1 << 20
"""Minimum number of products for which a compiled loop pays off."""

_PIXEL_BYTES = 1 << 18
"""Bytes of weights for each pixel: a compiled loop reads all weights for each image, so images need enough pixels."""

_LEAST_PIXELS = 4
"""Minimum number of pixels in a line that the loops process at once."""

_TILE_ROWS = 4
"""The number of lines in a filter's gradient is a multiple of this."""


def wide(array: Array) -> Array:
    """Return half-precision arrays as float32, in which products are summed."""
    return array.astype("float32") if array.dtype.itemsize == 2 else array


def convolve(xp: Any, images: Array, filter: Array, window: Window) -> Array:
    """Return the convolution of images; a filter with fewer input channels makes groups."""
    rows, columns, deep, filters = filter.shape
    batch, height, width, channels = images.shape
    groups = channels // deep
    if groups > 1:
        parts = [
            convolve(xp, images[..., i * deep : (i + 1) * deep], part, window)
            for i, part in enumerate(xp.split(filter, groups, axis=3))
        ]
        return xp.concatenate(parts, axis=3)
    matrix = wide(filter).reshape(-1, filters)
    out_height, out_width, _ = window.geometry(height, width)
    result = xp.empty((batch, out_height, out_width, filters), images.dtype)
    spans = cut_output(xp, images, window)
    loop = find_loop("convolution", xp, images.shape, filter.shape, window, images)
    if loop is not None:
        matrix = interleaved(matrix)

    def piece(index: int) -> None:
        part, lines = spans[index]
        if loop is not None:
            run_loop(loop, images[part], matrix, window, result[part, lines], lines)
            return
        seen = window.matrix(xp, wide(images[part]), lines)
        target = result[part, lines]
        if target.dtype == matrix.dtype:
            product(xp, seen, matrix, target.reshape(-1, filters))
        else:
            block = scratch(xp, "products", (len(seen), filters), matrix.dtype)
            product(xp, seen, matrix, block)
            target[...] = block.reshape(target.shape)

    in_turn(xp, piece, len(spans))
    return result


Loop = Callable[..., None]


def find_loop(
    name: str, xp: ArrayModule, sizes: tuple[int, ...], shape: tuple[int, ...], window: Window, *arrays: Any
) -> Loop | None:
    """Return the compiled loop for an ungrouped convolution or its filter's gradient; None if none is suitable.

    Args:
        name: name of a function in ``window_loops``.
        xp: numpy or cupy.
        sizes: NHWC sizes of the images.
        shape: shape of the filter.
        window: the convolution's window.
        *arrays: the loop's array arguments.
    """
    rows, columns, deep, filters = shape
    itemsize = arrays[0].itemsize
    if (
        xp is not np
        or window.dilations[1] != 1
        or rows * columns == 1
        or 2 * filters < _padded_filters(filters, itemsize)
    ):
        return None
    out_height, out_width, _ = window.geometry(sizes[1], sizes[2])
    pixels, weights = out_height * out_width, rows * columns * deep * filters
    if out_width < _LEAST_PIXELS or weights * itemsize > pixels * _PIXEL_BYTES:
        return None
    return compiled(name, *arrays) if sizes[0] * pixels * weights >= _LEAST_TERMS else None


def run_loop(
    loop: Loop,
    images: Any,
    matrix: Any,
    window: Window,
    target: Any,
    lines: slice,
    bias: Any = None,
    relu: bool = False,
) -> None:
    """Write some lines of a convolution's output.

    Args:
        loop: a compiled ``convolution``.
        images: ``[batch, height, width, channels]``.
        matrix: ``interleaved`` of the filter, as a matrix with one line for each element of the window.
        window: the convolution's window.
        target: ``[batch, lines, out_width, filters]``.
        lines: the lines to write.
        bias: an optional bias to add.
        relu: whether to apply a relu.
    """
    has_bias = bias is not None
    bias = matrix[0] if bias is None else np.require(bias, None, ("C", "A"))
    out_width = target.shape[2]
    padded = scratch(np, "padded", (_padded_size(images, window, lines, out_width),), images.dtype)
    size = (lines.stop - lines.start) * out_width * matrix.shape[1]
    products = scratch(np, "products", (size,), images.dtype)
    loop(
        images, matrix, bias, target, padded, products, window.rows, window.columns,
        *_layout(images, window), lines.start, has_bias, relu,
    )  # fmt: skip


def interleaved(matrix: Any) -> Any:
    """Return a matrix in the layout of the compiled loops, which read two units of columns from contiguous memory.

    Otherwise successive lines would be far apart, often on different pages, and the time of a convolution would vary by
    a factor of three with the filter's address.

    Args:
        matrix: ``[lines, filters]``.

    Returns:
        ``[lines, whole]``, aligned and contiguous, with columns padded to whole units. The first ``lines * two``
        elements are those of the first ``two`` columns (two units), line by line, and so on.
    """
    deep, filters = matrix.shape
    whole, two = _padded_filters(filters, matrix.itemsize), 2 * UNIT_BYTES // matrix.itemsize
    if whole != filters:
        matrix = np.pad(matrix, ((0, 0), (0, whole - filters)))
    if whole <= two:
        return np.require(matrix, None, ("C", "A"))
    pairs = whole // two * two
    flat = np.empty(deep * whole, matrix.dtype)
    flat[: deep * pairs].reshape(-1, deep, two)[...] = matrix[:, :pairs].reshape(deep, -1, two).swapaxes(0, 1)
    flat[deep * pairs :].reshape(deep, -1)[...] = matrix[:, pairs:]
    return flat.reshape(deep, whole)


def _padded_filters(filters: int, itemsize: int) -> int:
    """Return the number of filters, rounded up to whole units of the compiled loops."""
    unit = UNIT_BYTES // itemsize
    return -(-filters // unit) * unit


def _padded_size(images: Any, window: Window, lines: slice, out_width: int) -> int:
    """Return the number of padded image elements under the windows of some output lines, with some slack."""
    height = (lines.stop - lines.start - 1) * window.strides[0] + (window.rows - 1) * window.dilations[0] + 1
    across = (out_width - 1) * window.strides[1] + window.columns
    return height * across * images.shape[3] + _TILE_ROWS


def _layout(images: Any, window: Window) -> tuple[int, int, int, int, int]:
    """Return the border above and on the left, the strides, and the spacing of the window's lines."""
    _, _, ((top, _), (left, _)) = window.geometry(images.shape[1], images.shape[2])
    return (top, left, *window.strides, window.dilations[0])


def images_gradient(
    xp: ArrayModule, shape: tuple[int, ...], filter: Array, grad: Array, window: Window
) -> Array:
    """Return the gradient with respect to images of that shape."""
    rows, columns, deep, filters = filter.shape
    groups = shape[3] // deep
    if groups > 1:
        inner = (*shape[:3], deep)
        each = filters // groups
        parts = [
            images_gradient(xp, inner, part, grad[..., i * each : (i + 1) * each], window)
            for i, part in enumerate(xp.split(filter, groups, axis=3))
        ]
        return xp.concatenate(parts, axis=3)
    scatters = deep < FEW_CHANNELS and 4 * deep <= filters  # the smaller matrix by far
    back = None if scatters else _transposed_window(window, shape)
    if back is not None:
        return convolve(xp, grad, filter[::-1, ::-1].transpose(0, 1, 3, 2), back)
    matrix = xp.ascontiguousarray(wide(filter).reshape(-1, filters).T)
    result = xp.empty(shape, grad.dtype)
    each_bytes = grad.shape[1] * grad.shape[2] * matrix.shape[1] * matrix.itemsize
    spans = cuts(shape[0], each_bytes) if xp is np else [slice(0, shape[0])]

    def piece(index: int) -> None:
        part = spans[index]
        some = wide(grad[part])
        if deep < FEW_CHANNELS:
            products = scratch(xp, "products", (matrix.shape[1], some.size // filters), matrix.dtype)
            xp.matmul(matrix.T, some.reshape(-1, filters).T, out=products)
            planes = products.reshape(rows, columns, deep, *some.shape[:3])
            result[part] = window.scatter_planes(xp, planes, (len(some), *shape[1:]))
            return
        products = scratch(xp, "products", (some.size // filters, matrix.shape[1]), matrix.dtype)
        product(xp, some.reshape(-1, filters), matrix, products)
        parts = products.reshape(*some.shape[:3], rows, columns, deep)
        result[part] = window.scatter(xp, parts, (len(some), *shape[1:]))

    in_turn(xp, piece, len(spans))
    return result


def _transposed_window(window: Window, shape: tuple[int, ...]) -> Window | None:
    """Return the window of the convolution from the output back to images of that shape; None if there is none."""
    if window.strides != (1, 1):
        return None
    out_height, out_width, pads = window.geometry(shape[1], shape[2])
    pairs = []
    for axis, (size, out, taps) in enumerate(
        ((shape[1], out_height, window.rows), (shape[2], out_width, window.columns))
    ):
        effective = (taps - 1) * window.dilations[axis] + 1
        before = effective - 1 - pads[axis][0]
        after = size - out + effective - 1 - before
        if before < 0 or after < 0:
            return None
        pairs.append((before, after))
    return dataclasses.replace(window, padding="EXPLICIT", explicit=(pairs[0], pairs[1]))


def filter_gradient(
    xp: ArrayModule, images: Array, shape: tuple[int, ...], grad: Array, window: Window
) -> Any:
    """Return the gradient with respect to a filter of that shape."""
    rows, columns, deep, filters = shape
    groups = images.shape[3] // deep
    if groups > 1:
        each = filters // groups
        parts = [
            filter_gradient(
                xp,
                images[..., i * deep : (i + 1) * deep],
                (rows, columns, deep, each),
                grad[..., i * each : (i + 1) * each],
                window,
            )
            for i in range(groups)
        ]
        return xp.concatenate(parts, axis=3)
    spans = cut_output(xp, images, window)
    parts = cuts(len(spans), PART_BYTES) if xp is np else [slice(0, len(spans))]
    sums: list[Any] = [None] * len(parts)
    depth = rows * columns * deep
    loop = find_loop("filter_gradient", xp, images.shape, shape, window, images, grad)
    small = is_small_product(xp, _SUMMED_ROWS, filters)

    def piece(index: int) -> None:
        if loop is not None:
            sums[index] = _filter_part(loop, images, shape, grad, window, spans[parts[index]])
            return
        total = xp.zeros((depth, filters), wide(grad[:0]).dtype)
        result = xp.empty_like(total)
        for part, lines in spans[parts[index]]:
            seen = window.matrix(xp, wide(images[part]), lines)
            some = wide(grad[part, lines]).reshape(-1, filters)
            step = max(1, len(seen))
            if small:
                step = _SUMMED_ROWS if deep >= FEW_CHANNELS else _SUMMED_COLUMNS
            for start in range(0, len(seen), step):
                product(xp, seen[start : start + step].T, some[start : start + step], result)
                total += result
        sums[index] = total

    in_turn(xp, piece, len(parts))
    if not sums:
        return xp.zeros(shape, grad.dtype)
    return sum(sums[1:], sums[0]).reshape(shape).astype(grad.dtype, copy=False)


def _filter_part(
    loop: Loop,
    images: Any,
    shape: tuple[int, ...],
    grad: Any,
    window: Window,
    spans: list[tuple[slice, slice]],
) -> Any:
    """Return the contribution of some pieces of the output to a filter's gradient, as a matrix."""
    rows, columns, deep, filters = shape
    across = columns * deep
    whole = _padded_filters(filters, images.itemsize)
    total = np.zeros((rows, -(-across // _TILE_ROWS) * _TILE_ROWS, whole), images.dtype)
    for part, lines in spans:
        some, slope = images[part], grad[part, lines]
        out_width = grad.shape[2]
        padded = scratch(np, "padded", (_padded_size(some, window, lines, out_width),), images.dtype)
        packed = scratch(np, "packed", ((lines.stop - lines.start) * out_width * whole,), images.dtype)
        loop(some, slope, total, padded, packed, rows, columns, *_layout(some, window), lines.start)
    return np.ascontiguousarray(total[:, :across, :filters]).reshape(rows * across, filters)


def cut_output(xp: ArrayModule, images: Array, window: Window) -> list[tuple[slice, slice]]:
    """Cut the output into pieces: ranges of images and, for large images, of rows."""
    batch, height, width, channels = images.shape
    out_height, out_width, _ = window.geometry(height, width)
    if xp is not np:
        return [(slice(0, batch), slice(0, out_height))]
    row_bytes = out_width * window.rows * window.columns * channels * max(4, images.dtype.itemsize)
    lines = cuts(out_height, row_bytes)
    if len(lines) == 1 or (batch > 1 and out_height * row_bytes <= PIECE_BYTES):
        return [(part, slice(0, out_height)) for part in cuts(batch, out_height * row_bytes)]
    return [(slice(image, image + 1), some) for image in range(batch) for some in lines]
