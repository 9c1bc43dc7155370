"""Sliding windows over images, shared by convolution and pooling.

    image [batch, height, width, channels]  --pad-->  --view-->  [batch, out_height, out_width, rows, columns, channels]

The view uses no memory. A convolution is one matrix product over it (im2col), a pooling one reduction. The way back
adds each position of the windows to the image with one strided addition.

Everything here works on NHWC arrays; ``to_nhwc`` and ``from_nhwc`` transpose NCHW arrays.

Source: tensorflow/core/framework/common_shape_fns.cc (output sizes), release 1.15.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuplace.errors import UnimplementedError
from gpuplace.graph.operation import Operation
from gpuplace.kernels.compute import KernelContext
from gpuplace.numerics.compiled.dispatch import compiled
from gpuplace.numerics.pieces import scratch
from gpuplace.ops.shape_rules import require_rank
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule

FEW_CHANNELS = 8
"""Images with fewer channels are processed channel by channel."""


def output_size(
    size: int | None, window: int | None, dilation: int, stride: int, padding: str, explicit: tuple[int, int]
) -> tuple[int | None, int, int]:
    """Return the output size along one axis, None for an unknown window, and the padding before and after.

    Raises:
        ValueError: the window does not fit, or the stride is not positive.
    """
    if stride <= 0:
        raise ValueError(f"Stride must be > 0, but got {stride}")
    if size is None or (window is None and padding != "SAME"):
        return None, 0, 0
    if window is None:
        return -(-size // stride), 0, 0
    effective = (window - 1) * dilation + 1
    if padding == "SAME":
        out = -(-size // stride)
        total = max(0, (out - 1) * stride + effective - size)
        return out, total // 2, total - total // 2
    before, after = explicit if padding == "EXPLICIT" else (0, 0)
    padded = size + before + after
    if padded < effective:
        raise ValueError(f"Negative dimension size caused by subtracting {effective} from {padded}")
    return (padded - effective) // stride + 1, before, after


@dataclass(frozen=True)
class Window:
    """Window of a node: sizes along height and width, strides, dilations and padding."""

    rows: int
    columns: int
    strides: tuple[int, int]
    dilations: tuple[int, int] = (1, 1)
    padding: str = "VALID"
    explicit: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))

    def geometry(self, height: int, width: int) -> tuple[int, int, tuple[tuple[int, int], tuple[int, int]]]:
        """Return the height and width of the output, and the padding, for an image of that size."""
        sizes = []
        pads = []
        for axis, (size, window) in enumerate(((height, self.rows), (width, self.columns))):
            out, before, after = output_size(
                size, window, self.dilations[axis], self.strides[axis], self.padding, self.explicit[axis]
            )
            assert out is not None
            sizes.append(out)
            pads.append((before, after))
        return sizes[0], sizes[1], (pads[0], pads[1])

    def view(self, xp: ArrayModule, images: Array, fill: Any = 0, rows: slice | None = None) -> Array:
        """Return all windows of NHWC images as a read-only view ``[batch, height, width, rows, columns, channels]``.

        Args:
            xp: numpy or cupy.
            images: the images.
            fill: value of the border.
            rows: output rows to restrict the view to.
        """
        images, pads, sizes = self._input_part(images, rows)
        images = padded(xp, images, pads, fill)
        s0, s1, s2, s3 = images.strides
        (down, right), (gap_down, gap_right) = self.strides, self.dilations
        return xp.lib.stride_tricks.as_strided(
            images,
            sizes,
            (s0, s1 * down, s2 * right, s1 * gap_down, s2 * gap_right, s3),
        )

    def matrix(self, xp: Any, images: Array, rows: slice | None = None) -> Any:
        """Return ``view`` as the rows of a matrix in ``scratch``; for images with few channels, as its columns."""
        if xp is not np or images.shape[3] >= FEW_CHANNELS:
            view = self.view(xp, images, rows=rows)
            result = scratch(xp, "windows", view.shape, view.dtype)
            result[...] = view
            return result.reshape(math.prod(view.shape[:3]), math.prod(view.shape[3:]))
        images, pads, sizes = self._input_part(images, rows)
        images = padded(np, images, pads)
        planes = scratch(np, "planes", (sizes[5], *images.shape[:3]), images.dtype)
        planes[...] = images.transpose(3, 0, 1, 2)
        result = scratch(np, "windows", (*sizes[3:], *sizes[:3]), images.dtype)
        for row, column, where in self._taps(*sizes[1:3]):
            result[row, column] = planes[:, *where]
        return result.reshape(math.prod(sizes[3:]), math.prod(sizes[:3])).T

    def _input_part(
        self, images: Array, rows: slice | None
    ) -> tuple[Any, tuple[tuple[int, int], tuple[int, int]], tuple[int, ...]]:
        """Return the images' part under those output rows, its border, and the sizes of ``view``."""
        batch, height, width, channels = images.shape
        out_height, out_width, pads = self.geometry(height, width)
        if rows is not None and (rows.start, rows.stop) != (0, out_height):
            images, pads = self._strip(images, rows, pads)
            out_height = rows.stop - rows.start
        return images, pads, (batch, out_height, out_width, self.rows, self.columns, channels)

    def _strip(
        self, images: Any, rows: slice, pads: tuple[tuple[int, int], tuple[int, int]]
    ) -> tuple[Any, tuple[tuple[int, int], tuple[int, int]]]:
        """Return the images' part under some output rows, and its border."""
        height = images.shape[1]
        start = rows.start * self.strides[0] - pads[0][0]
        stop = (rows.stop - 1) * self.strides[0] - pads[0][0] + (self.rows - 1) * self.dilations[0] + 1
        first, last = min(max(0, start), height), min(max(0, stop), height)
        above = max(0, min(0, stop) - start)
        return images[:, first:last], ((above, stop - start - above - (last - first)), pads[1])

    def scatter(self, xp: ArrayModule, parts: Array, shape: Sequence[int]) -> Array:
        """Sum the contributions to each pixel: the way back from ``view``.

        Args:
            xp: numpy or cupy.
            parts: ``[batch, out_height, out_width, rows, columns, channels]``.
            shape: NHWC shape of the images.
        """
        batch, height, width, channels = shape
        out_height, out_width, ((top, bottom), (left, right)) = self.geometry(height, width)
        loop = compiled("scatter", parts) if xp is np else None
        if loop is not None:
            pixels = np.empty((batch, height, width, channels), parts.dtype)
            loop(parts, pixels, top, left, *self.strides, *self.dilations)
            return pixels
        inner = (slice(None), slice(top, top + height), slice(left, left + width))
        sizes = (batch, height + top + bottom, width + left + right)
        images = xp.zeros((*sizes, channels), parts.dtype)
        for row, column, where in self._taps(out_height, out_width):
            images[where] += parts[:, :, :, row, column]
        return xp.ascontiguousarray(images[inner])

    def scatter_planes(self, xp: ArrayModule, parts: Array, shape: Sequence[int]) -> Array:
        """``scatter`` for few channels, because NumPy's inner loops run along the last axis.

        Args:
            xp: numpy or cupy.
            parts: ``[rows, columns, channels, batch, out_height, out_width]``.
            shape: NHWC shape of the images.
        """
        batch, height, width, channels = shape
        out_height, out_width, ((top, bottom), (left, right)) = self.geometry(height, width)
        sizes = (batch, height + top + bottom, width + left + right)
        images = scratch(xp, "planes", (channels, *sizes), parts.dtype)
        images[...] = 0
        for row, column, where in self._taps(out_height, out_width):
            images[:, *where] += parts[row, column]
        return images[:, :, top : top + height, left : left + width].transpose(1, 2, 3, 0)

    def _taps(self, out_height: int, out_width: int) -> Iterator[tuple[int, int, tuple[slice, slice, slice]]]:
        taps = itertools.product(range(self.rows), range(self.columns))
        for (row, column), where in zip(taps, self.positions(out_height, out_width), strict=True):
            yield row, column, where

    def positions(self, out_height: int, out_width: int) -> list[tuple[slice, slice, slice]]:
        """Return the slices of padded NHWC images for each position in the windows, row by row."""
        return [
            (slice(None), self.along(0, row, out_height), self.along(1, column, out_width))
            for row in range(self.rows)
            for column in range(self.columns)
        ]

    def along(self, axis: int, offset: int, count: int) -> slice:
        """Return the slice of padded images at one position of all windows."""
        start, stride = offset * self.dilations[axis], self.strides[axis]
        return slice(start, start + (count - 1) * stride + 1, stride)


def padded(
    xp: ArrayModule,
    images: Array,
    pads: tuple[tuple[int, int], tuple[int, int]],
    fill: Any = 0,
    name: str = "padded",
) -> Array:
    """Return NHWC images with a border, in ``scratch`` under that name if there is one."""
    (top, bottom), (left, right) = pads
    if not (top or bottom or left or right):
        return images
    batch, height, width, channels = images.shape
    shape = (batch, height + top + bottom, width + left + right, channels)
    result = scratch(xp, name, shape, images.dtype)
    result[:, :top] = fill
    result[:, top + height :] = fill
    inner = result[:, top : top + height]
    inner[:, :, :left] = fill
    inner[:, :, left + width :] = fill
    inner[:, :, left : left + width] = images
    return result


def format_of(attrs: Mapping[str, Any]) -> str:
    """Return the node's data format, ``NHWC`` by default."""
    return attrs.get("data_format", b"NHWC").decode()


def spatial(values: Sequence[Any], data_format: str) -> tuple[Any, Any]:
    """Return a list's items for height and width, in the given data format."""
    return (values[2], values[3]) if data_format == "NCHW" else (values[1], values[2])


def other_axes(values: Sequence[Any], data_format: str) -> tuple[Any, Any]:
    """Return a list's items for batch and channels, in the given data format."""
    return values[0], values[1] if data_format == "NCHW" else values[3]


def is_only_spatial(attrs: Mapping[str, Any]) -> bool:
    """Return whether a pooling's window and strides are 1 along batch and channels."""
    data_format = format_of(attrs)
    return all(other_axes(attrs[name], data_format) == (1, 1) for name in ("ksize", "strides"))


def window_of(attrs: Mapping[str, Any], rows: int, columns: int) -> Window:
    """Return the window of a node with these attributes."""
    data_format = format_of(attrs)
    pads = attrs.get("explicit_paddings") or ()
    pairs = [(pads[i], pads[i + 1]) for i in range(0, len(pads), 2)]
    return Window(
        rows,
        columns,
        spatial(attrs["strides"], data_format),
        spatial(attrs.get("dilations", (1, 1, 1, 1)), data_format),
        attrs["padding"].decode(),
        spatial(pairs, data_format) if pairs else ((0, 0), (0, 0)),
    )


def to_nhwc(images: Array, data_format: str) -> Array:
    """Return images in NHWC order, as a view."""
    return images.transpose(0, 2, 3, 1) if data_format == "NCHW" else images


def from_nhwc(xp: ArrayModule, images: Array, data_format: str) -> Array:
    """Return NHWC images in the node's order."""
    return xp.ascontiguousarray(images.transpose(0, 3, 1, 2)) if data_format == "NCHW" else images


def require_nhwc_on_cpu(ctx: KernelContext, op_name: str) -> None:
    """Raise UnimplementedError for NCHW on a CPU, for which TensorFlow has no kernel."""
    if ctx.device_type == "CPU" and format_of(ctx.op.attrs) != "NHWC":
        raise UnimplementedError(
            ctx.op,
            ctx.op,
            f"The {op_name} op currently only supports the NHWC tensor format on the CPU. The op was given the format: "
            f"{format_of(ctx.op.attrs)}",
            hint="use data_format='NHWC', or place the node on a GPU",
        )


def image_shape(
    op: Operation, images: TensorShape, rows: int | None, columns: int | None, channels: int | None
) -> TensorShape:
    """Return the shape, in the node's data format, of the output of windows of that size."""
    data_format = format_of(op.attrs)
    sizes = require_rank(images, 4).sizes
    assert sizes is not None
    attrs = op.attrs
    pads = attrs.get("explicit_paddings") or (0,) * 8
    pairs = [(pads[i], pads[i + 1]) for i in range(0, 8, 2)]
    out = []
    for axis, window in enumerate((rows, columns)):
        size, _, _ = output_size(
            spatial(sizes, data_format)[axis],
            window,
            spatial(attrs.get("dilations", (1, 1, 1, 1)), data_format)[axis],
            spatial(attrs["strides"], data_format)[axis],
            attrs["padding"].decode(),
            spatial(pairs, data_format)[axis],
        )
        out.append(size)
    if data_format == "NCHW":
        return TensorShape.of((sizes[0], channels, out[0], out[1]))
    return TensorShape.of((sizes[0], out[0], out[1], channels))
