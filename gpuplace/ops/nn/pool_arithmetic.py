"""Arithmetic of pooling and its gradients, on NHWC images.

For each position in a window, the pixels of all windows form a view of the images, and the windows are reduced view by
view. Maxima are found along the rows first and then along the columns, which takes fewer views::

    images --max of `rows` views--> [batch, out_height, width, channels] --max of `columns` views--> result
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpuplace.numerics.compiled.dispatch import compiled
from gpuplace.numerics.masks import kept
from gpuplace.numerics.pieces import WHOLE_BYTES, over, scratch
from gpuplace.ops.nn.conv_arithmetic import wide
from gpuplace.ops.nn.windows import Window, padded
from gpuplace.typing import Array, ArrayModule

_BOOL = np.dtype(bool)


def largest(xp: Any, images: Array, window: Window) -> Array:
    """Return the largest element of each window."""
    batch, height, width, channels = images.shape
    out_height, out_width, _ = window.geometry(height, width)
    result = xp.empty((batch, out_height, out_width, channels), images.dtype)
    is_large = xp is np and images.nbytes > WHOLE_BYTES and window.dilations == (1, 1)
    loop = compiled("largest", images) if is_large else None

    def piece(part: slice) -> None:
        largest_of(xp, images[part], window, result[part], loop)

    over(xp, batch, 2 * _image_bytes(images), piece)
    return result


def depthwise_largest(xp: Any, images: Any, depth: int) -> Any:
    """Return the maximum of each ``depth`` neighboring channels; ``depth`` divides their number."""
    *sizes, channels = images.shape
    return images.reshape(*sizes, channels // depth, depth).max(axis=-1)


def largest_of(
    xp: ArrayModule, images: Array, window: Window, target: Array, loop: Callable[..., Any] | None = None
) -> None:
    """Write ``largest`` of a few images to ``target``, with the compiled loop if there is one."""
    if loop is not None:
        _, _, ((top, _), (left, _)) = window.geometry(images.shape[1], images.shape[2])
        lowest = images.dtype.type(_lowest(np, images.dtype))
        loop(images, target, lowest, window.rows, window.columns, top, left, *window.strides)
        return
    out_height, out_width, pads = window.geometry(images.shape[1], images.shape[2])
    images = padded(xp, images, pads, _lowest(xp, images.dtype))
    views = [images[:, window.along(0, row, out_height)] for row in range(window.rows)]
    buffer = scratch(xp, "lines", views[0].shape, images.dtype) if len(views) > 1 else None
    lines = _combined(xp.maximum, views, buffer)
    views = [lines[:, :, window.along(1, column, out_width)] for column in range(window.columns)]
    _combined(xp.maximum, views, target)


def means(xp: Any, images: Array, window: Window) -> Array:
    """Return the mean of each window, without its part outside the images."""
    batch, height, width, channels = images.shape
    out_height, out_width, pads = window.geometry(height, width)
    result = xp.empty((batch, out_height, out_width, channels), images.dtype)
    counts = _counts(xp, window, height, width, wide(images[:0]).dtype)

    def piece(part: slice) -> None:
        some, target = padded(xp, wide(images[part]), pads), result[part]
        sums = target if some.dtype == target.dtype else xp.empty(target.shape, some.dtype)
        views = [some[where] for where in window.positions(out_height, out_width)]
        _combined(xp.add, views, sums)  # in TensorFlow's order
        target[...] = xp.divide(sums, counts, out=sums)

    over(xp, batch, 2 * _image_bytes(images), piece)
    return result


def means_gradient(xp: ArrayModule, shape: tuple[int, ...], grad: Array, window: Window) -> Array:
    """Return the gradient of ``means`` with respect to images of that shape."""
    batch, height, width, channels = shape
    out_height, out_width, ((top, bottom), (left, right)) = window.geometry(height, width)
    result = xp.empty(shape, grad.dtype)
    counts = _counts(xp, window, height, width, wide(grad[:0]).dtype)

    def piece(part: slice) -> None:
        share = wide(grad[part]) / counts
        lines = xp.zeros((len(share), out_height, width + left + right, channels), share.dtype)
        for column in range(window.columns):
            lines[:, :, window.along(1, column, out_width)] += share
        images = xp.zeros((len(share), height + top + bottom, *lines.shape[2:]), share.dtype)
        for row in range(window.rows):
            images[:, window.along(0, row, out_height)] += lines
        result[part] = images[:, top : top + height, left : left + width]

    over(xp, batch, 3 * result[:1].nbytes, piece)
    return result


def largest_gradient(xp: Any, images: Array, pooled: Array, grad: Array, window: Window) -> Array:
    """Return the gradient of ``largest``: all of a window's gradient goes to the first of its largest elements."""
    batch, height, width, channels = images.shape
    out_height, out_width, pads = window.geometry(height, width)
    (top, bottom), (left, right) = pads
    inner = (slice(None), slice(top, top + height), slice(left, left + width))
    result = xp.empty(images.shape, grad.dtype)
    overlap = window.strides[0] < window.rows or window.strides[1] < window.columns
    has_border = any(pads[0] + pads[1])
    taps = (window.rows, window.columns)
    tiled = window.strides == taps and (height, width) == (out_height * taps[0], out_width * taps[1])

    loop = compiled("largest_gradient", images, pooled, grad) if xp is np else None

    def compiled_piece(part: slice) -> None:
        assert loop is not None
        lowest = images.dtype.type(_lowest(np, images.dtype))
        loop(images[part], pooled[part], grad[part], result[part], lowest, *taps, top, left, *window.strides)

    def piece(part: slice) -> None:
        some = grad[part]
        shape = (len(some), height + top + bottom, width + left + right, channels)
        back = scratch(xp, "back", shape, grad.dtype) if has_border else result[part]
        if not tiled:
            back[...] = 0
        for where, hits in _hits(xp, images[part], pooled[part], window):
            if overlap:
                back[where] += kept(xp, some, hits, scratch(xp, "some", some.shape, some.dtype))
            else:
                kept(xp, some, hits, back[where])
        if has_border:
            result[part] = back[inner]

    over(xp, batch, 3 * _image_bytes(images), piece if loop is None else compiled_piece)
    return result


def at_largest(xp: Any, images: Array, pooled: Array, values: Array, window: Window) -> Array:
    """Return the elements of ``values`` at the first of the largest elements in each window of ``images``.

    ``pooled`` is ``largest`` of the images.
    """
    batch, height, width, channels = images.shape
    _, _, pads = window.geometry(height, width)
    result = xp.zeros(pooled.shape, values.dtype)

    def piece(part: slice) -> None:
        some, target = padded(xp, values[part], pads, name="values"), result[part]
        for where, hits in _hits(xp, images[part], pooled[part], window):
            xp.copyto(target, some[where], where=hits)

    over(xp, batch, 3 * _image_bytes(images), piece)
    return result


def _hits(xp: ArrayModule, images: Array, pooled: Array, window: Window) -> Iterator[tuple[Any, Any]]:
    """Yield the pixels of each window position, and a mask of the windows with their first maximum there.

    The mask is valid until the next position.
    """
    _, height, width, _ = images.shape
    out_height, out_width, pads = window.geometry(height, width)
    has_nan = bool((pooled != pooled).any())
    images = padded(xp, images, pads, _lowest(xp, images.dtype))
    hits, done = (scratch(xp, name, pooled.shape, _BOOL) for name in ("hits", "found"))
    for tap, where in enumerate(window.positions(out_height, out_width)):
        seen = images[where]
        xp.equal(seen, pooled, out=hits)
        if has_nan:
            hits |= seen != seen
        if tap:
            xp.greater(hits, done, out=hits)
            done |= hits
        else:
            done[...] = hits
        yield where, hits


def _combined(function: Callable[..., Any], views: list[Any], out: Any) -> Array:
    """Combine all views with a function of two arrays, into ``out`` if given."""
    if len(views) > 1:
        out = function(views[0], views[1], out=out)
        for view in views[2:]:
            function(out, view, out=out)
        return out
    if out is None:
        return views[0]
    out[...] = views[0]
    return out


def _counts(xp: ArrayModule, window: Window, height: int, width: int, dtype: Any) -> Any:
    """Return the number of image pixels in each window: a number, or ``[out_height, out_width, 1]``."""
    out_height, out_width, pads = window.geometry(height, width)
    if not any(pads[0] + pads[1]):
        return dtype.type(window.rows * window.columns)
    covered = []
    for axis, (size, out, taps) in enumerate(
        ((height, out_height, window.rows), (width, out_width, window.columns))
    ):
        first = xp.arange(out) * window.strides[axis] - pads[axis][0]
        covered.append(xp.minimum(first + taps, size) - xp.maximum(first, 0))
    return (covered[0][:, None] * covered[1])[:, :, None].astype(dtype)


def _lowest(xp: ArrayModule, dtype: Any) -> Any:
    return -xp.inf if dtype.kind not in "iu" else xp.iinfo(dtype).min


def _image_bytes(images: Array) -> int:
    return images[:1].size * max(4, images.itemsize)
