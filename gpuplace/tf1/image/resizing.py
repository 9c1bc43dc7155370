"""Resize images.

Rows and columns are independent: for each axis, a pixel of the result is mapped to a position among the
image's pixels. There are three such mappings, which differ by half a pixel and in how they treat the
corners::

    x * in / out          (x + 0.5) * in / out - 0.5          x * (in - 1) / (out - 1)
    default               half_pixel_centers                  align_corners

Source: tensorflow/core/kernels/image_resizer_state.h, resize_*_op.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import new, shape_of_second, shape_tensor
from gpuplace.ops.variants import variant_of
from gpuplace.shapes import TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["resize_area", "resize_bicubic", "resize_bilinear", "resize_nearest_neighbor"]


def _resized(
    images: TensorLike,
    size: TensorLike,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
    *,
    kind: str = "",
) -> Tensor:
    corners, centers = align_corners, half_pixel_centers
    return new(kind, name, images=images, size=size, align_corners=corners, half_pixel_centers=centers)


@variant_of(_resized, kind="ResizeBilinear")
def resize_bilinear() -> None:
    """Resize images by interpolation between four neighbors.

    Args:
        images: numbers ``[batch, height, width, channels]``.
        size: the new height and width, int32.
        align_corners: whether the corner pixels keep their values.
        name: name of the op.
        half_pixel_centers: whether a pixel's position is its center.

    Returns:
        float32 ``[batch, new height, new width, channels]``.

    Raises:
        InvalidArgumentError: at run time, a size is not positive.
    """


@variant_of(_resized, kind="ResizeNearestNeighbor")
def resize_nearest_neighbor() -> None:
    """Resize images by taking the nearest pixels.

    Args:
        images: numbers ``[batch, height, width, channels]``.
        size: the new height and width, int32.
        align_corners: whether the corner pixels keep their values.
        name: name of the op.
        half_pixel_centers: whether a pixel's position is its center.

    Returns:
        ``[batch, new height, new width, channels]``, with the images' dtype.

    Raises:
        InvalidArgumentError: at run time, a size is not positive.
    """


@variant_of(_resized, kind="ResizeBicubic")
def resize_bicubic() -> None:
    """Resize images by cubic interpolation between sixteen neighbors.

    Args:
        images: numbers ``[batch, height, width, channels]``.
        size: the new height and width, int32.
        align_corners: whether the corner pixels keep their values.
        name: name of the op.
        half_pixel_centers: whether a pixel's position is its center.

    Returns:
        float32 ``[batch, new height, new width, channels]``.

    Raises:
        InvalidArgumentError: at run time, a size is not positive.
    """


def resize_area(
    images: TensorLike, size: TensorLike, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """Resize images by averaging the area that each pixel covers.

    Args:
        images: numbers ``[batch, height, width, channels]``.
        size: the new height and width, int32.
        align_corners: whether the corner pixels keep their values.
        name: name of the op.

    Returns:
        float32 ``[batch, new height, new width, channels]``.

    Raises:
        InvalidArgumentError: at run time, a size is not positive.
    """
    return new("ResizeArea", name, images=images, size=size, align_corners=align_corners)


# Positions and weights along an axis

_Axis = Callable[[int, int, bool, bool], Any]
"""Old size, new size, align_corners, half_pixel_centers -> weights ``[new, old]``, float32."""


def _scale(before: int, after: int, align: bool) -> np.float32:
    if align and after > 1:
        return np.float32(before - 1) / np.float32(after - 1)
    return np.float32(before) / np.float32(after)


def _places(before: int, after: int, align: bool, half: bool) -> Any:
    """Return the positions of the result's pixels, float32."""
    scale, numbers = _scale(before, after, align), np.arange(after, dtype=np.float32)
    if half:
        return (numbers + np.float32(0.5)) * scale - np.float32(0.5)
    return numbers * scale


def _neighbors(before: int, after: int, align: bool, half: bool) -> tuple[Any, Any, Any]:
    """Return the pixels on both sides of each position, and the distance from the first as a fraction."""
    places = _places(before, after, align, half)
    floor = np.floor(places)
    low = np.maximum(floor, 0).astype(np.int64)
    high = np.minimum(np.ceil(places), before - 1).astype(np.int64)
    return np.minimum(low, before - 1), np.maximum(high, 0), places - floor


def _linear_weights(before: int, after: int, align: bool, half: bool) -> Any:
    low, high, part = _neighbors(before, after, align, half)
    weights = np.zeros((after, before), np.float32)
    rows = np.arange(after)
    np.add.at(weights, (rows, low), 1 - part)
    np.add.at(weights, (rows, high), part)
    return weights


def _nearest(before: int, after: int, align: bool, half: bool) -> Any:
    scale, numbers = _scale(before, after, align), np.arange(after, dtype=np.float32)
    places = (numbers + np.float32(0.5 if half else 0)) * scale
    nearest = np.floor(places + np.float32(0.5)) if align else np.floor(places)
    return np.clip(nearest, 0, before - 1).astype(np.int64)


_TABLE_SIZE = 1 << 10


def _cubic_table(slope: float) -> Any:
    """Return the weights of the two pixels on one side, for distances from 0 to 1 in steps."""
    a, x = np.float32(slope), np.arange(_TABLE_SIZE + 1, dtype=np.float32) / np.float32(_TABLE_SIZE)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    x = x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return near.astype(np.float32), far.astype(np.float32)


def _cubic_weights(before: int, after: int, align: bool, half: bool) -> Any:
    near, far = _cubic_table(-0.5 if half else -0.75)
    places = _places(before, after, align, half)
    floor = np.floor(places)
    step = np.rint((places - floor) * _TABLE_SIZE).astype(np.int64)
    back = _TABLE_SIZE - step
    taps = np.stack([far[step], near[step], near[back], far[back]], 1)
    indices = floor.astype(np.int64)[:, None] + np.arange(-1, 3)
    clipped = np.clip(indices, 0, before - 1)
    if half:
        taps = np.where(indices == clipped, taps, np.float32(0))
        total = taps.sum(1, keepdims=True)
        is_some = np.abs(total) >= 1000 * np.finfo(np.float32).tiny
        taps = np.where(is_some, taps / np.where(is_some, total, 1), taps)
    weights = np.zeros((after, before), np.float32)
    np.add.at(weights, (np.arange(after)[:, None], clipped), taps)
    return weights


def _area_weights(before: int, after: int, align: bool, half: bool) -> Any:
    scale = _scale(before, after, align)
    numbers = np.arange(after, dtype=np.float32)
    begin, end = numbers * scale, (numbers + 1) * scale
    weights = np.zeros((after, before), np.float32)
    for row, (first, last) in enumerate(zip(begin, end, strict=True)):
        for pixel in range(int(np.floor(first)), int(np.ceil(last))):
            covered = min(np.float32(pixel + 1), last) - max(np.float32(pixel), first)
            weights[row, min(max(pixel, 0), before - 1)] += covered
    return weights / scale


def _sizes(images: Any, size: Any) -> tuple[int, int]:
    if images.ndim != 4:
        raise InvalidArgumentError.of(f"input must be 4-dimensional{brackets(images.shape)}")
    if size.shape != (2,):
        raise InvalidArgumentError.of(
            f"shape_t must be 1-dimensional with two elements{brackets(size.shape)}"
        )
    height, width = size.tolist()
    if height < 1 or width < 1:
        raise InvalidArgumentError.of("output dimensions must be positive")
    if images.shape[1] < 1 or images.shape[2] < 1:
        raise InvalidArgumentError.of("input image must be of non-zero size")
    return height, width


def _weighted(xp: ArrayModule, images: Array, rows: Array, columns: Array) -> Array:
    """Return images whose rows and columns are weighted sums of the original ones."""
    batch, height, width, channels = images.shape
    tall = xp.matmul(xp.asarray(rows), images.reshape(batch, height, width * channels))
    tall = tall.reshape(batch * len(rows), width, channels)
    return xp.matmul(xp.asarray(columns), tall).reshape(batch, len(rows), len(columns), channels)


def _by_weights(weights: _Axis) -> Callable[..., Any]:
    def resize(xp: ArrayModule, images: Array, size: Array, align: bool, half: bool) -> Array:
        height, width = _sizes(images, size)
        rows = weights(images.shape[1], height, align, half)
        columns = weights(images.shape[2], width, align, half)
        return _weighted(xp, images.astype(xp.float32), rows, columns)

    return resize


_bicubic, _area = _by_weights(_cubic_weights), _by_weights(_area_weights)


@compute("ResizeBilinear", fresh=True)
def _resize_bilinear(
    xp: ArrayModule, images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    height, width = _sizes(images, size)
    top, bottom, down = _neighbors(images.shape[1], height, align_corners, half_pixel_centers)
    left, right, across = _neighbors(images.shape[2], width, align_corners, half_pixel_centers)
    images = images.astype(xp.float32)
    across = xp.asarray(across)[:, None]
    down = xp.asarray(down)[:, None, None]
    columns, others = images[:, :, xp.asarray(left)], images[:, :, xp.asarray(right)]
    columns = columns + (others - columns) * across
    upper, lower = columns[:, xp.asarray(top)], columns[:, xp.asarray(bottom)]
    return upper + (lower - upper) * down


@compute("ResizeBicubic", fresh=True)
def _resize_bicubic(
    xp: ArrayModule, images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    return _bicubic(xp, images, size, align_corners, half_pixel_centers)


@compute("ResizeArea", fresh=True)
def _resize_area(xp: ArrayModule, images: Array, size: Array, *, align_corners: bool) -> Array:
    return _area(xp, images, size, align_corners, False)


@compute("ResizeNearestNeighbor", fresh=True)
def _resize_nearest(
    xp: ArrayModule, images: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    height, width = _sizes(images, size)
    rows = _nearest(images.shape[1], height, align_corners, half_pixel_centers)
    columns = _nearest(images.shape[2], width, align_corners, half_pixel_centers)
    return images[:, xp.asarray(rows)][:, :, xp.asarray(columns)]


# Gradients


def _back(
    xp: ArrayModule,
    grads: Array,
    height: int,
    width: int,
    weights: _Axis,
    align: bool,
    half: bool,
    dtype: Array,
) -> Array:
    rows = weights(height, grads.shape[1], align, half)
    columns = weights(width, grads.shape[2], align, half)
    wide = np.float64 if dtype == np.float64 else np.float32
    return _weighted(xp, grads.astype(wide), rows.T.astype(wide), columns.T.astype(wide)).astype(dtype)


@compute("ResizeBilinearGrad", fresh=True)
def _bilinear_grad(
    xp: ArrayModule, grads: Array, original_image: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    _, height, width, _ = original_image.shape
    settings = align_corners, half_pixel_centers, original_image.dtype
    return _back(xp, grads, height, width, _linear_weights, *settings)


@compute("ResizeBicubicGrad", fresh=True)
def _bicubic_grad(
    xp: ArrayModule, grads: Array, original_image: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    _, height, width, _ = original_image.shape
    settings = align_corners, half_pixel_centers, original_image.dtype
    return _back(xp, grads, height, width, _cubic_weights, *settings)


@compute("ResizeNearestNeighborGrad", fresh=True)
def _nearest_grad(
    xp: ArrayModule, grads: Array, size: Array, *, align_corners: bool, half_pixel_centers: bool
) -> Array:
    def weights(before: int, after: int, align: bool, half: bool) -> Any:
        result = np.zeros((after, before), np.float32)
        result[np.arange(after), _nearest(before, after, align, half)] = 1
        return result

    height, width = _sizes(grads, size)
    return _back(xp, grads, height, width, weights, align_corners, half_pixel_centers, grads.dtype)


@gradient("ResizeBilinear")
def _gradient_of_bilinear(op: Operation, grad: Tensor) -> Sequence[Any]:
    return [_gradient_by("ResizeBilinearGrad", op, grad), None]


@gradient("ResizeBicubic")
def _gradient_of_bicubic(op: Operation, grad: Tensor) -> Sequence[Any]:
    if op.inputs[0].dtype.name not in ("float32", "float64"):
        return [None, None]
    return [_gradient_by("ResizeBicubicGrad", op, grad), None]


def _gradient_by(op_type: str, op: Operation, grad: Tensor) -> Tensor:
    settings = {name: op.attrs[name] for name in ("align_corners", "half_pixel_centers")}
    return new(op_type, grads=grad, original_image=op.inputs[0], **settings)


@gradient("ResizeNearestNeighbor")
def _gradient_of_nearest(op: Operation, grad: Tensor) -> Sequence[Any]:
    image = op.inputs[0]
    static = image.shape[1:3]
    size: Any = list(static.known_sizes) if static.is_fully_defined() else shape_tensor(image)[1:3]
    settings = {name: op.attrs[name] for name in ("align_corners", "half_pixel_centers")}
    return [new("ResizeNearestNeighborGrad", grads=grad, size=size, **settings), None]


@gradient("ResizeBilinearGrad", since="2.21")
def _gradient_of_bilinear_grad(op: Operation, grad: Tensor) -> Sequence[Any]:
    size = shape_tensor(op.inputs[0])[1:3]
    settings = {name: op.attrs[name] for name in ("align_corners", "half_pixel_centers")}
    return [new("ResizeBilinear", images=grad, size=size, **settings), None]


@shape_function("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea")
def _resized_shape(op: Operation) -> Sequence[TensorShape]:
    images = op.inputs[0].shape.with_rank(4)
    length = require_rank(op.inputs[1].shape, 1)[0].value
    if length not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {length}")
    size = constant_value(op.inputs[1])
    height, width = (None, None) if size is None else size.tolist()
    return (TensorShape([images[0], height, width, images[3]]),)


shape_function("ResizeBilinearGrad", "ResizeBicubicGrad")(shape_of_second)


@shape_function("ResizeNearestNeighborGrad")
def _nearest_grad_shape(op: Operation) -> Sequence[TensorShape]:
    return _resized_shape(op)
