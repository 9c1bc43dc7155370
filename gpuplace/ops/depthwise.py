"""The arithmetic of depthwise convolutions and of their gradients, on NHWC images.

Every channel has filters of its own, so there is no matrix product in it: each position of the windows is a view of
the images, taken times the filter's numbers there. Half-precision numbers are multiplied and summed as float32.
"""

from __future__ import annotations

from typing import Any

from gpuplace.kernels.pieces import over, scratch
from gpuplace.ops.convolving import wide
from gpuplace.ops.windows import Window, padded

__all__ = ["depthwise", "depthwise_filter_gradient", "depthwise_images_gradient"]

_PASSES = 6
"""How much memory the work on an image goes over, in images."""


def depthwise(xp: Any, images: Any, filter: Any, window: Window) -> Any:
    """Convolves each channel with filters of its own, ``[rows, columns, channels, multiplier]``."""
    batch, height, width, channels = images.shape
    multiplier = filter.shape[3]
    out_height, out_width, pads = window.geometry(height, width)
    result = xp.empty((batch, out_height, out_width, channels * multiplier), images.dtype)
    factors = _along_rows(xp, wide(filter), out_width)

    def piece(part: slice) -> None:
        some = padded(xp, wide(images[part]), pads)
        shape = (len(some), out_height, out_width, channels, multiplier)
        total, product = (scratch(xp, name, shape, some.dtype) for name in ("total", "product"))
        for tap, where in enumerate(window.positions(out_height, out_width)):
            seen = some[where][..., None]
            if tap == 0:
                xp.multiply(seen, factors[tap], out=total)
            else:
                total += xp.multiply(seen, factors[tap], out=product)
        result[part] = total.reshape(result[part].shape)

    over(xp, batch, _PASSES * result[:1].size * 4, piece)
    return result


def depthwise_images_gradient(xp: Any, shape: tuple[int, ...], filter: Any, grad: Any, window: Window) -> Any:
    """Gradient with respect to images of that shape."""
    batch, height, width, channels = shape
    out_height, out_width, ((top, bottom), (left, right)) = window.geometry(height, width)
    multiplier = filter.shape[3]
    result = xp.empty(shape, grad.dtype)
    factors = _along_rows(xp, wide(filter), out_width)

    def piece(part: slice) -> None:
        some = wide(grad[part]).reshape(-1, out_height, out_width, channels, multiplier)
        back = scratch(
            xp, "back", (len(some), height + top + bottom, width + left + right, channels), some.dtype
        )
        back[...] = 0
        product = scratch(xp, "product", some.shape, some.dtype)
        for tap, where in enumerate(window.positions(out_height, out_width)):
            xp.multiply(some, factors[tap], out=product)
            back[where] += product[..., 0] if multiplier == 1 else product.sum(axis=4)
        result[part] = back[:, top : top + height, left : left + width]

    over(xp, batch, _PASSES * grad[:1].size * 4, piece)
    return result


def depthwise_filter_gradient(xp: Any, images: Any, shape: tuple[int, ...], grad: Any, window: Window) -> Any:
    """Gradient with respect to a filter of that shape."""
    rows, columns, channels, multiplier = shape
    batch, height, width, _ = images.shape
    out_height, out_width, pads = window.geometry(height, width)
    sums = xp.zeros((batch, rows * columns, channels, multiplier), wide(grad[:0]).dtype)

    def piece(part: slice) -> None:
        some = padded(xp, wide(images[part]), pads)
        grads = wide(grad[part]).reshape(-1, out_height, out_width, channels, multiplier)
        product = scratch(xp, "product", grads.shape, grads.dtype)
        for tap, where in enumerate(window.positions(out_height, out_width)):
            xp.multiply(some[where][..., None], grads, out=product)
            sums[part, tap] = product.sum(axis=1).sum(axis=1)

    over(xp, batch, _PASSES * grad[:1].size * 4, piece)
    return sums.sum(axis=0).reshape(shape).astype(grad.dtype, copy=False)


def _along_rows(xp: Any, filter: Any, width: int) -> Any:
    """The filter's numbers for each position, repeated for all pixels of a row, so that NumPy's loops are long."""
    rows, columns, channels, multiplier = filter.shape
    flat = filter.reshape(rows * columns, 1, channels, multiplier)
    return xp.ascontiguousarray(xp.broadcast_to(flat, (rows * columns, width, channels, multiplier)))
