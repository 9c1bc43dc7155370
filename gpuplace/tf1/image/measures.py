"""Similarity and variation of images, and format detection.

Source: tensorflow/python/ops/image_ops_impl.py, release 1.15 (operations, messages).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, float32, uint8, uint16
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import zeros, zeros_like
from gpuplace.ops.array.gather import gather
from gpuplace.ops.array.joining import concat, stack, unstack
from gpuplace.ops.array.padding import pad, tile
from gpuplace.ops.array.reshaping import identity, reshape, shape, shape_n, size
from gpuplace.ops.flow.assert_and_print import Assert
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import equal, greater_equal, logical_and, not_equal
from gpuplace.ops.math.elementwise import pow as power
from gpuplace.ops.math.elementwise import squared_difference, subtract
from gpuplace.ops.math.reduction import reduce_all, reduce_mean, reduce_prod, reduce_sum
from gpuplace.ops.math.unary import abs as absolute
from gpuplace.ops.math.unary import log, square
from gpuplace.ops.nn.activation import relu
from gpuplace.ops.nn.depthwise import depthwise_conv2d
from gpuplace.ops.nn.pool import avg_pool
from gpuplace.ops.text.strings import substr
from gpuplace.shapes import TensorShape
from gpuplace.tf1.image.codecs import decode_bmp, decode_gif, decode_jpeg, decode_png
from gpuplace.tf1.image.colors import convert_image_dtype
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "decode_image",
    "image_gradients",
    "is_jpeg",
    "psnr",
    "sobel_edges",
    "ssim",
    "ssim_multiscale",
    "total_variation",
]


# Files


def is_jpeg(contents: TensorLike, name: str | None = None) -> Tensor:
    """Return whether a file starts like a JPEG.

    Args:
        contents: the bytes of the file, a string.
        name: name of the op.

    Returns:
        A bool.
    """
    with name_scope(name, "is_jpeg"):
        return equal(substr(contents, 0, 3), b"\xff\xd8\xff", name=name)


def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Return the pixels of a JPEG, PNG, GIF or BMP.

    Args:
        contents: the bytes of the file, a string scalar.
        channels: number of channels; None or 0: as in the file.
        dtype: dtype of the pixels, converted as by ``convert_image_dtype``.
        name: name of the scope.
        expand_animations: whether to return all frames of a GIF rather than the first.

    Returns:
        ``[height, width, channels]``; for a GIF ``[frames, height, width, 3]``.

    Raises:
        ValueError: the number of channels is invalid.
        InvalidArgumentError: at run time, the bytes are not such a file, or a GIF or BMP cannot have that
            number of channels.
    """
    with name_scope(name, "decode_image"):
        if channels not in (None, 0, 1, 3, 4):
            raise ValueError("channels must be in (None, 0, 1, 3, 4)")
        count, kind = channels or 0, as_dtype(dtype)
        start = substr(contents, 0, 3)

        def from_bmp() -> Tensor:
            is_bmp = equal(substr(contents, 0, 2), b"BM", name="is_bmp")
            check = Assert(is_bmp, ["Unable to decode bytes as JPEG, PNG, GIF, or BMP"])
            allowed = _with_channels(not_equal(count, 1, name="check_channels"), "0, 3", "BMP")
            with get_default_graph().control_dependencies([check, allowed]):
                return convert_image_dtype(decode_bmp(contents), kind)

        def from_gif() -> Tensor:
            first, second = (not_equal(count, number, name="check_gif_channels") for number in (1, 4))
            allowed = _with_channels(logical_and(first, second), "0, 3", "GIF")
            with get_default_graph().control_dependencies([allowed]):
                pictures = convert_image_dtype(decode_gif(contents), kind)
                return pictures if expand_animations else gather(pictures, 0)

        def from_others() -> Tensor:
            return cond(equal(start, b"GIF", name="is_gif"), from_gif, from_bmp, name="cond_gif")

        def from_png() -> Tensor:
            read = uint8 if kind is uint8 else uint16
            return convert_image_dtype(decode_png(contents, count, dtype=read), kind)

        def from_no_jpeg() -> Tensor:
            with name_scope(None, "is_png"):
                is_png = equal(substr(contents, 0, 3), b"\x89PN")
            return cond(is_png, from_png, from_others, name="cond_png")

        def from_jpeg() -> Tensor:
            allowed = _with_channels(not_equal(count, 4, name="check_jpeg_channels"), "0, 1, 3", "JPEG")
            with get_default_graph().control_dependencies([allowed]):
                return convert_image_dtype(decode_jpeg(contents, count), kind)

        return cond(is_jpeg(contents), from_jpeg, from_no_jpeg, name="cond_jpeg")


def _with_channels(fits: Tensor, allowed: str, what: str) -> Operation:
    return Assert(fits, [f"Channels must be in (None, {allowed}) when decoding {what} images"])


# Comparison of images


def _check_same_shape(one: Tensor, other: Tensor) -> list[Operation]:
    """Return operations that check that two shapes are equal; raise ValueError if they are known to differ."""
    mine, theirs = one.shape.with_rank_at_least(3), other.shape.with_rank_at_least(3)
    if mine.ndims is not None and theirs.ndims is not None:
        TensorShape(mine.sizes[-3:]).assert_is_compatible_with(TensorShape(theirs.sizes[-3:]))  # type: ignore[index]
        pairs = zip((mine.sizes or ())[:-3][::-1], (theirs.sizes or ())[:-3][::-1], strict=False)
        if any(a is not None and b is not None and 1 not in (a, b) and a != b for a, b in pairs):
            raise ValueError(f"Two images are not compatible: {mine} and {theirs}")
    first, second = shape_n([one, other])
    return [
        Assert(greater_equal(size(first), 3), [first, second], summarize=10),
        Assert(reduce_all(equal(first[-3:], second[-3:])), [first, second], summarize=10),
    ]


def psnr(a: TensorLike, b: TensorLike, max_val: Any, name: str | None = None) -> Tensor:
    """Return the peak signal-to-noise ratio of two images, in decibels.

    Args:
        a: images ``[..., height, width, channels]``.
        b: images of the same shape.
        max_val: the range of the pixels: 255, or 1.
        name: name of the scope.

    Returns:
        float32 ``[...]``.

    Raises:
        ValueError: the shapes differ (InvalidArgumentError if that is known only at run time).
    """
    with name_scope(name, "PSNR", [a, b]):
        one, other = convert_to_tensor(a), convert_to_tensor(b)
        most = convert_image_dtype(cast(max_val, one.dtype), float32)
        one, other = convert_image_dtype(one, float32), convert_image_dtype(other, float32)
        error = reduce_mean(squared_difference(one, other), [-3, -2, -1])
        ratio = subtract(20 * log(most) / log(10.0), np.float32(10 / np.log(10)) * log(error), name="psnr")
        with get_default_graph().control_dependencies(_check_same_shape(one, other)):
            return identity(ratio)


def _window(count: int, deviation: float) -> Any:
    """Return a Gaussian window ``[count, count, 1, 1]`` with sum 1."""
    places = np.arange(count, dtype=np.float32) - np.float32((count - 1) / 2)
    heights = np.square(places) * np.float32(-0.5 / deviation**2)
    bell = np.exp(heights[None, :] + heights[:, None])
    return (bell / bell.sum()).astype(np.float32).reshape(count, count, 1, 1)


_POWERS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
"""Weights of the five scales.

Source: Wang, Simoncelli and Bovik, Multiscale structural similarity for image quality assessment, 2003.
"""


def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Return the structural similarity of two images.

    Args:
        img1: images ``[..., height, width, channels]``.
        img2: images of the same shape.
        max_val: the range of the pixels: 255, or 1.
        filter_size: size of the Gaussian window in pixels.
        filter_sigma: its standard deviation in pixels.
        k1: stabilizes dark regions.
        k2: stabilizes uniform regions.

    Returns:
        float32 ``[...]``, 1 for equal images.

    Raises:
        ValueError: the shapes differ (InvalidArgumentError if that is known only at run time, or the window
            is too large).
    """
    one, other = convert_to_tensor(img1), convert_to_tensor(img2)
    with get_default_graph().control_dependencies(_check_same_shape(one, other)):
        one = identity(one)
    most = convert_image_dtype(cast(max_val, one.dtype), float32)
    one, other = convert_image_dtype(one, float32), convert_image_dtype(other, float32)
    one = _check_window_fits(one, filter_size)
    return reduce_mean(_ssim_terms(one, other, most, filter_size, filter_sigma, k1, k2)[0], [-1])


def _ssim_terms(
    one: Tensor, other: Tensor, most: Tensor, filter_size: int, filter_sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """Return the similarity of each channel, and its contrast and structure part alone."""
    kernel = tile(_window(filter_size, filter_sigma), [1, 1, shape(one)[-1], 1])

    def windowed(images: Tensor) -> Tensor:
        sizes = shape(images)
        flat = reshape(images, concat([[-1], sizes[-3:]], 0))
        filtered = depthwise_conv2d(flat, kernel, strides=[1, 1, 1, 1], padding="VALID")
        return reshape(filtered, concat([sizes[:-3], shape(filtered)[1:]], 0))

    dark, even = (k1 * most) ** 2, (k2 * most) ** 2
    mean, other_mean = windowed(one), windowed(other)
    product = mean * other_mean * 2.0
    squares = square(mean) + square(other_mean)
    luminance = (product + dark) / (squares + dark)
    contrast = (windowed(one * other) * 2.0 - product + even) / (
        windowed(square(one) + square(other)) - squares + even
    )
    return reduce_mean(luminance * contrast, [-3, -2]), reduce_mean(contrast, [-3, -2])


def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: Any,
    power_factors: Sequence[float] = _POWERS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Return the structural similarity of two images at several scales.

    Args:
        img1: images ``[..., height, width, channels]``.
        img2: images of the same shape.
        max_val: the range of the pixels: 255, or 1.
        power_factors: weights of the scales, starting with the full size; each scale is half as large as the
            previous one.
        filter_size: size of the Gaussian window in pixels; it must fit into the images at every scale.
        filter_sigma: its standard deviation in pixels.
        k1: stabilizes dark regions.
        k2: stabilizes uniform regions.

    Returns:
        float32 ``[...]``, 1 for equal images.

    Raises:
        ValueError: the shapes differ (InvalidArgumentError if that is known only at run time, or the window
            is too large).
    """
    with name_scope(None, "MS-SSIM", [img1, img2]):
        one, other = convert_to_tensor(img1), convert_to_tensor(img2)
        with get_default_graph().control_dependencies(_check_same_shape(one, other)):
            one = identity(one)
        most = convert_image_dtype(cast(max_val, one.dtype), float32)
        one, other = convert_image_dtype(one, float32), convert_image_dtype(other, float32)
        terms = []
        for number in range(len(power_factors)):
            if number:
                one, other = _halve(one), _halve(other)
            one, other = _check_window_fits(one, filter_size), _check_window_fits(other, filter_size)
            whole, contrast = _ssim_terms(one, other, most, filter_size, filter_sigma, k1, k2)
            terms.append(relu(contrast if number < len(power_factors) - 1 else whole))
        factors = power(stack(terms, axis=-1), convert_to_tensor(list(power_factors), float32))
        return reduce_mean(reduce_prod(factors, [-1]), [-1])


def _halve(images: Tensor) -> Tensor:
    """Return images of half the height and width; an odd last row or column is duplicated."""
    sizes = shape(images)
    flat = reshape(images, concat([[-1], sizes[-3:]], 0))
    odd = concat([[0], sizes[-3:-1] % 2, [0]], 0)
    even = pad(flat, stack([zeros_like(odd), odd], axis=1), mode="SYMMETRIC")
    halved = avg_pool(even, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    return reshape(halved, concat([sizes[:-3], shape(halved)[1:]], 0))


def _check_window_fits(images: Tensor, window: int) -> Tensor:
    """Return the images after a check that a window fits into them."""
    sizes = shape(images)
    check = Assert(reduce_all(greater_equal(sizes[-3:-1], window)), [sizes, window], summarize=8)
    with get_default_graph().control_dependencies([check]):
        return identity(images)


# Measures of one image


def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """Return the sum of the differences between neighboring pixels.

    Args:
        images: ``[height, width, channels]``, or a batch of them.
        name: name of the scope.

    Returns:
        A number, or one for each image.

    Raises:
        ValueError: ``images`` has neither three nor four dimensions.
    """
    with name_scope(name, "total_variation"):
        tensor = convert_to_tensor(images)
        if tensor.shape.ndims == 3:
            down, across = tensor[1:, :, :] - tensor[:-1, :, :], tensor[:, 1:, :] - tensor[:, :-1, :]
            axes = None
        elif tensor.shape.ndims == 4:
            down, across = tensor[:, 1:] - tensor[:, :-1], tensor[:, :, 1:] - tensor[:, :, :-1]
            axes = [1, 2, 3]
        else:
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        return reduce_sum(absolute(down), axis=axes) + reduce_sum(absolute(across), axis=axes)


def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """Return the vertical and horizontal differences between neighboring pixels; zero in the last row and column.

    Args:
        image: ``[batch, height, width, channels]``.

    Returns:
        Vertical and horizontal differences, each with the images' dtype and shape.

    Raises:
        ValueError: the rank is not 4.
    """
    tensor = convert_to_tensor(image)
    if tensor.shape.ndims != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {tensor.shape}.")
    sizes = shape(tensor)
    batch, height, width, depth = unstack(sizes)
    down = tensor[:, 1:, :, :] - tensor[:, :-1, :, :]
    across = tensor[:, :, 1:, :] - tensor[:, :, :-1, :]
    down = concat([down, zeros(stack([batch, 1, width, depth]), tensor.dtype)], 1)
    across = concat([across, zeros(stack([batch, height, 1, depth]), tensor.dtype)], 2)
    return reshape(down, sizes), reshape(across, sizes)


def sobel_edges(image: TensorLike) -> Tensor:
    """Return edges, computed by Sobel filters.

    Args:
        image: floats ``[batch, height, width, channels]``.

    Returns:
        ``[batch, height, width, channels, 2]``: vertical and horizontal.
    """
    tensor = convert_to_tensor(image)
    sizes = shape(tensor)
    filters = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]])
    kernels = convert_to_tensor(np.transpose(filters, (1, 2, 0))[:, :, None], tensor.dtype)
    kernels = tile(kernels, [1, 1, sizes[-1], 1], name="sobel_filters")
    padded = pad(tensor, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    edges = depthwise_conv2d(padded, kernels, [1, 1, 1, 1], "VALID")
    result = reshape(edges, concat([sizes, [2]], 0))
    result.set_shape(tensor.shape.concatenate([2]))
    return result
