"""Brightness, contrast, hue and saturation, and conversions of dtype and colour space.

Source: tensorflow/python/ops/image_ops_impl.py, release 1.15 (operations, names, messages).
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import as_dtype, float16, float32, int32, uint8
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import ones
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.padding import tile
from gpuplace.ops.array.reshaping import expand_dims, identity, rank, shape
from gpuplace.ops.flow.control import with_dependencies
from gpuplace.ops.math.cast import cast, saturate_cast
from gpuplace.ops.math.check_ops import assert_equal, assert_greater_equal
from gpuplace.ops.math.contraction import tensordot
from gpuplace.ops.math.division import div
from gpuplace.ops.math.elementwise import add, maximum, multiply
from gpuplace.ops.math.reduction import reduce_mean, reduce_prod, reduce_std
from gpuplace.ops.math.unary import rsqrt
from gpuplace.ops.random.random_ops import random_uniform
from gpuplace.ops.support import new
from gpuplace.tf1.image.codecs import decode_jpeg
from gpuplace.tf1.image.support import checked, is_tensor, with_image_checks
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_jpeg_quality",
    "adjust_saturation",
    "convert_image_dtype",
    "grayscale_to_rgb",
    "per_image_standardization",
    "random_brightness",
    "random_contrast",
    "random_hue",
    "random_jpeg_quality",
    "random_saturation",
    "rgb_to_grayscale",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "yiq_to_rgb",
    "yuv_to_rgb",
]


def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Convert images to another dtype: floats from 0 to 1 correspond to integers from 0 to the largest one.

    Args:
        image: an image.
        dtype: an integer or floating type.
        saturate: whether values that are too large are clipped instead of overflowing.
        name: name of the op.

    Returns:
        A tensor of that dtype.

    Raises:
        AttributeError: ``dtype`` is neither.
    """
    tensor, target = convert_to_tensor(image, name="image"), as_dtype(dtype)
    if not target.is_floating and not target.is_integer:
        raise AttributeError("dtype must be either floating point or integer")
    if target is tensor.dtype:
        return identity(tensor, name=name)
    to_type = saturate_cast if saturate else cast
    with name_scope(name, "convert_image", [tensor]) as scope:
        dtype_before = tensor.dtype
        if dtype_before.is_integer and target.is_integer:
            most, new_most = int(dtype_before.max), int(target.max)
            if most > new_most:
                return to_type(div(tensor, (most + 1) // (new_most + 1)), target, name=scope)
            return multiply(to_type(tensor, target), (new_most + 1) // (most + 1), name=scope)
        if dtype_before.is_floating and target.is_floating:
            return cast(tensor, target, name=scope)
        if dtype_before.is_integer:
            return multiply(cast(tensor, target), 1.0 / int(dtype_before.max), name=scope)
        return to_type(multiply(tensor, int(target.max) + 0.5), target, name=scope)


def _as_floats(image: Tensor) -> Tensor:
    return image if image.dtype in (float16, float32) else convert_image_dtype(image, float32)


def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """Add a number to all pixels of images.

    Args:
        image: images of any dtype.
        delta: the number; 1 is the largest pixel.

    Returns:
        A tensor of the same dtype and shape.
    """
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        tensor = convert_to_tensor(image, name="image")
        floats = _as_floats(tensor)
        adjusted = add(floats, cast(delta, floats.dtype), name=scope)
        return convert_image_dtype(adjusted, tensor.dtype, saturate=True)


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Scale the distance of all pixels from their mean.

    Args:
        images: images of any dtype ``[..., height, width, channels]``.
        contrast_factor: the scale factor.

    Returns:
        A tensor of the same dtype and shape.
    """
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        tensor = convert_to_tensor(images, name="images")
        adjusted = new("AdjustContrastv2", scope, images=_as_floats(tensor), contrast_factor=contrast_factor)
        return convert_image_dtype(adjusted, tensor.dtype, saturate=True)


def adjust_gamma(image: TensorLike, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """Return ``gain * image ** gamma``.

    Args:
        image: images of any dtype.
        gamma: the exponent, at least 0.
        gain: the factor.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: the exponent is negative (InvalidArgumentError if it is known only at run time).
    """
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        tensor = convert_to_tensor(image, name="image")
        floats = _as_floats(tensor)
        checks = checked(gamma >= 0, "Gamma should be a non-negative real number.")
        if checks:
            gamma = with_dependencies(checks, gamma)
        return convert_image_dtype(gain * floats**gamma, tensor.dtype, saturate=True)


def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """Rotate the hues of images.

    Args:
        image: RGB images of any dtype.
        delta: rotation of the hue, from -1 to 1; 1 is the full circle.
        name: name of the scope.

    Returns:
        A tensor of the same dtype and shape.
    """
    with name_scope(name, "adjust_hue", [image]):
        tensor = convert_to_tensor(image, name="image")
        adjusted = new("AdjustHue", images=_as_floats(tensor), delta=delta)
        return convert_image_dtype(adjusted, tensor.dtype)


def adjust_saturation(image: TensorLike, saturation_factor: TensorLike, name: str | None = None) -> Tensor:
    """Scale the saturation of images.

    Args:
        image: RGB images of any dtype.
        saturation_factor: the factor.
        name: name of the scope.

    Returns:
        A tensor of the same dtype and shape.
    """
    with name_scope(name, "adjust_saturation", [image]):
        tensor = convert_to_tensor(image, name="image")
        adjusted = new("AdjustSaturation", images=_as_floats(tensor), scale=saturation_factor)
        return convert_image_dtype(adjusted, tensor.dtype)


def adjust_jpeg_quality(image: TensorLike, jpeg_quality: TensorLike, name: str | None = None) -> Tensor:
    """Encode an image as a JPEG of a given quality, and decode it.

    Args:
        image: an image of any dtype.
        jpeg_quality: from 0 to 100.
        name: name of the scope.

    Returns:
        A tensor of the same dtype.
    """
    with name_scope(name, "adjust_jpeg_quality", [image]):
        tensor = convert_to_tensor(image, name="image")
        pixels = convert_image_dtype(tensor, uint8)
        quality = jpeg_quality if is_tensor(jpeg_quality) else convert_to_tensor(jpeg_quality, int32)
        decoded = decode_jpeg(new("EncodeJpegVariableQuality", images=pixels, quality=quality))
        return convert_image_dtype(decoded, tensor.dtype)


# Random


def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """Apply ``adjust_brightness`` with a random number.

    Args:
        image: images of any dtype.
        max_delta: the number is between ``-max_delta`` and ``max_delta``.
        seed: the op's seed, an integer, or None; see ``set_random_seed``.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: ``max_delta`` is negative.
    """
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def _check_range(lower: float, upper: float) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def random_contrast(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Apply ``adjust_contrast`` with a random factor.

    Args:
        image: images of any dtype.
        lower: the smallest factor.
        upper: the largest factor.
        seed: the op's seed, an integer, or None; see ``set_random_seed``.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: ``upper`` is not greater than ``lower``, or ``lower`` is negative.
    """
    _check_range(lower, upper)
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def random_saturation(image: TensorLike, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Apply ``adjust_saturation`` with a random factor.

    Args:
        image: images of any dtype.
        lower: the smallest factor.
        upper: the largest factor.
        seed: the op's seed, an integer, or None; see ``set_random_seed``.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: ``upper`` is not greater than ``lower``, or ``lower`` is negative.
    """
    _check_range(lower, upper)
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))


def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """Apply ``adjust_hue`` with a random number.

    Args:
        image: images of any dtype.
        max_delta: the number is between ``-max_delta`` and ``max_delta``; at most 0.5.
        seed: the op's seed, an integer, or None; see ``set_random_seed``.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: ``max_delta`` is not within [0, 0.5].
    """
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_jpeg_quality(
    image: TensorLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """Apply ``adjust_jpeg_quality`` with a random quality.

    Args:
        image: an image of any dtype.
        min_jpeg_quality: the lowest quality.
        max_jpeg_quality: upper limit of the quality, exclusive.
        seed: the op's seed, an integer, or None; see ``set_random_seed``.

    Returns:
        A tensor of the same dtype.

    Raises:
        ValueError: the limits are out of range or in the wrong order.
    """
    if not 0 <= min_jpeg_quality <= 100 or not 0 <= max_jpeg_quality <= 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=int32)
    return adjust_jpeg_quality(image, quality)


# Colour conversions


def per_image_standardization(image: TensorLike) -> Tensor:
    """Scale images so that their pixels have mean 0 and variance 1.

    Args:
        image: images ``[..., height, width, channels]``.

    Returns:
        A tensor of the same dtype and shape.

    Raises:
        ValueError: ``image`` is not an image.
    """
    with name_scope(None, "per_image_standardization", [image]) as scope:
        tensor = with_image_checks(convert_to_tensor(image, name="image"))
        floats = _as_floats(tensor)
        pixels = reduce_prod(shape(floats)[-3:])
        mean = reduce_mean(floats, axis=[-1, -2, -3], keepdims=True)
        deviation = reduce_std(floats, axis=[-1, -2, -3], keepdims=True)
        least = rsqrt(cast(pixels, floats.dtype))
        deviation = maximum(deviation, least)
        result = div(floats - mean, deviation, name=scope)
        return convert_image_dtype(result, tensor.dtype, saturate=True)


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert images to gray.

    Args:
        images: images of any dtype ``[..., 3]``.
        name: name of the scope.

    Returns:
        A tensor of the same dtype ``[..., 1]``.
    """
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        tensor = convert_to_tensor(images, name="images")
        floats = convert_image_dtype(tensor, float32)
        gray = expand_dims(tensordot(floats, [0.2989, 0.5870, 0.1140], [-1, -1]), -1)
        return convert_image_dtype(gray, tensor.dtype, name=scope)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert gray images to three equal channels.

    Args:
        images: images of any dtype ``[..., 1]``.
        name: name of the op.

    Returns:
        A tensor of the same dtype ``[..., 3]``.

    Raises:
        ValueError: the number of channels is not 1 (InvalidArgumentError if it is known only at run time).
    """
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        tensor = _checked_gray(convert_to_tensor(images, name="images"))
        in_front = expand_dims(rank(tensor) - 1, 0)
        multiples = concat([ones(in_front, dtype=int32), expand_dims(3, 0)], 0)
        colours = tile(tensor, multiples, name=scope)
        if tensor.shape.ndims is not None:
            colours.set_shape(tensor.shape[:-1].concatenate([3]))
        return colours


def _checked_gray(images: Tensor) -> Tensor:
    static_shape = images.shape
    if static_shape.ndims is not None and static_shape.ndims < 2:
        raise ValueError("A grayscale image must be at least two-dimensional.")
    sentence = "Last dimension of a grayscale image should be size 1."
    if static_shape.is_fully_defined():
        if static_shape[-1] != 1:
            raise ValueError(sentence)
        return with_dependencies([], images)
    checks = [
        assert_equal(shape(images)[-1], 1, message=sentence),
        assert_greater_equal(rank(images), 3, message="A grayscale image must be at least two-dimensional."),
    ]
    return with_dependencies(checks, images)


_RGB_TO_YIQ = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_YIQ_TO_RGB = [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
_RGB_TO_YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_YUV_TO_RGB = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def _in_colours(images: TensorLike, matrix: Any) -> Tensor:
    tensor = convert_to_tensor(images, name="images")
    kernel = convert_to_tensor(matrix, tensor.dtype, name="kernel")
    return tensordot(tensor, kernel, axes=[[(tensor.shape.ndims or 0) - 1], [0]])


def rgb_to_yiq(images: TensorLike) -> Tensor:
    """Convert colours to luminance and two chrominances, YIQ.

    Args:
        images: floats ``[..., 3]``.

    Returns:
        Floats of the same shape.
    """
    return _in_colours(images, _RGB_TO_YIQ)


def yiq_to_rgb(images: TensorLike) -> Tensor:
    """Convert colours to red, green and blue.

    Args:
        images: floats ``[..., 3]``: luminance and two chrominances.

    Returns:
        Floats of the same shape.
    """
    return _in_colours(images, _YIQ_TO_RGB)


def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Convert colours to luminance and two colour differences, YUV.

    Args:
        images: floats ``[..., 3]``.

    Returns:
        Floats of the same shape.
    """
    return _in_colours(images, _RGB_TO_YUV)


def yuv_to_rgb(images: TensorLike) -> Tensor:
    """Convert colours to red, green and blue.

    Args:
        images: floats ``[..., 3]``: luminance and two colour differences.

    Returns:
        Floats of the same shape.
    """
    return _in_colours(images, _YUV_TO_RGB)
