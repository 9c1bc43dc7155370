"""Contrast, hue and saturation, and conversion to HSV.

Source: tensorflow/core/kernels/adjust_*_op.cc and colorspace_op.h, release 1.15.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from gpuplace.errors import FailedPreconditionError, InvalidArgumentError
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.joining import stack
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.division import div_no_nan
from gpuplace.ops.math.unary import square
from gpuplace.ops.shape_rules import require_rank, require_rank_at_least
from gpuplace.ops.support import new
from gpuplace.release import rules
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["hsv_to_rgb", "rgb_to_hsv"]


def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert colours to hue, saturation and value.

    Args:
        images: floats from 0 to 1, ``[..., 3]``: red, green and blue.
        name: name of the op.

    Returns:
        Floats of the same shape, from 0 to 1.
    """
    return new("RGBToHSV", name, images=images)


def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Convert colours to red, green and blue.

    Args:
        images: floats from 0 to 1, ``[..., 3]``: hue, saturation and value.
        name: name of the op.

    Returns:
        Floats of the same shape, from 0 to 1.
    """
    return new("HSVToRGB", name, images=images)


def _check_colours(images: Array) -> None:
    if images.ndim < 1:
        raise InvalidArgumentError.of("input must be at least 1D")
    if images.shape[-1] != 3:
        raise FailedPreconditionError.of(
            f"input must have 3 channels but input only has {images.shape[-1]} channels."
        )


def _to_hsv(xp: ArrayModule, images: Array) -> tuple[Any, Any, Any]:
    red, green, blue = images[..., 0], images[..., 1], images[..., 2]
    value = xp.max(images, -1)
    spread = value - xp.min(images, -1)
    has_spread = spread > 0
    saturation = xp.where(value > 0, spread / xp.where(value > 0, value, 1), 0).astype(images.dtype)
    part = 1 / (6 * xp.where(has_spread, spread, 1))
    two = images.dtype.type(2) / images.dtype.type(6)
    hue = xp.where(
        red == value,
        part * (green - blue),
        xp.where(green == value, part * (blue - red) + two, part * (red - green) + 2 * two),
    )
    hue = xp.where(has_spread, hue, 0)
    return xp.where(hue < 0, hue + 1, hue).astype(images.dtype), saturation, value


def _to_rgb(xp: ArrayModule, hue: Array, saturation: Array, value: Array) -> Array:
    sixths = hue * 6
    shades = [
        xp.clip(xp.abs(sixths - 3) - 1, 0, 1),
        xp.clip(2 - xp.abs(sixths - 2), 0, 1),
        xp.clip(2 - xp.abs(sixths - 4), 0, 1),
    ]
    return xp.stack([(1 - saturation + saturation * shade) * value for shade in shades], -1)


@compute("RGBToHSV", fresh=True)
def _rgb_to_hsv(xp: ArrayModule, images: Array) -> Array:
    _check_colours(images)
    return xp.stack(_to_hsv(xp, images), -1).astype(images.dtype, copy=False)


@compute("HSVToRGB", fresh=True)
def _hsv_to_rgb(xp: ArrayModule, images: Array) -> Array:
    _check_colours(images)
    return _to_rgb(xp, images[..., 0], images[..., 1], images[..., 2]).astype(images.dtype, copy=False)


def _wide(xp: ArrayModule, images: Array) -> Array:
    return images.astype(xp.float32) if images.dtype.itemsize == 2 else images


def _check_image(images: Array, factor: Array, what: str) -> None:
    if images.ndim < 3:
        raise InvalidArgumentError.of(f"input must be at least 3-D, got shape{brackets(images.shape)}")
    if images.shape[-1] != 3 and what != "contrast_factor":
        raise InvalidArgumentError.of(
            f"input must have 3 channels but instead has {images.shape[-1]} channels."
        )
    if factor.ndim:
        raise InvalidArgumentError.of(f"{what} must be scalar: {brackets(factor.shape)}")


@compute("AdjustContrastv2", fresh=True)
def _adjust_contrast(xp: ArrayModule, images: Array, contrast_factor: Array) -> Array:
    _check_image(images, contrast_factor, "contrast_factor")
    wide = _wide(xp, images)
    mean = xp.mean(wide, axis=(-3, -2), keepdims=True)
    return ((wide - mean) * contrast_factor + mean).astype(images.dtype)


@compute("AdjustHue", fresh=True)
def _adjust_hue(xp: ArrayModule, images: Array, delta: Array) -> Array:
    _check_image(images, delta, "delta")
    wide = _wide(xp, images)
    hue, saturation, value = _to_hsv(xp, wide)
    hue = xp.mod(hue + delta, 1).astype(wide.dtype)
    return _to_rgb(xp, hue, saturation, value).astype(images.dtype)


@compute("AdjustSaturation", fresh=True)
def _adjust_saturation(xp: ArrayModule, images: Array, scale: Array) -> Array:
    _check_image(images, scale, "scale")
    wide = _wide(xp, images)
    hue, saturation, value = _to_hsv(xp, wide)
    saturation = xp.clip(saturation * scale, 0, 1).astype(wide.dtype)
    return _to_rgb(xp, hue, saturation, value).astype(images.dtype)


@shape_function("RGBToHSV", "HSVToRGB")
def _colours_shape(op: Operation) -> Sequence[Any]:
    sizes = require_rank_at_least(op.inputs[0].shape, 1).sizes
    if sizes is None:
        return [UNKNOWN_SHAPE]
    if sizes[-1] not in (None, 3):
        raise ValueError(f"Dimension must be 3 but is {sizes[-1]}")
    return [TensorShape.of((*sizes[:-1], 3))]


@shape_function("AdjustContrastv2", "AdjustHue", "AdjustSaturation")
def _adjusted_shape(op: Operation) -> Sequence[Any]:
    require_rank(op.inputs[1].shape, 0)
    return [require_rank_at_least(op.inputs[0].shape, 3)]


@gradient("RGBToHSV")
def _rgb_to_hsv_grad(op: Operation, grad: Tensor) -> Tensor:
    """Of equal colours the first counts as the largest, the last as the smallest; infinite values become zero."""
    colours = [op.inputs[0][..., channel] for channel in range(3)]
    saturation, value = op.outputs[0][..., 1], op.outputs[0][..., 2]
    dtype = op.inputs[0].dtype
    if dtype.name != "float32" and rules() == "1.15":
        raise TypeError(
            f"The gradient of rgb_to_hsv supports only float32, but the images are {dtype.name}; use"
            " tf.cast(images, tf.float32)"
        )
    red, green, blue = colours
    is_largest = [
        cast((red >= blue) & (red >= green), dtype),
        cast((green > red) & (green >= blue), dtype),
        cast((blue > red) & (blue > green), dtype),
    ]
    is_smallest = [
        cast((red < blue) & (red < green), dtype),
        cast((green <= red) & (green < blue), dtype),
        cast((blue <= red) & (blue <= green), dtype),
    ]
    of_saturation = [_saturation_slope(colours, is_largest, is_smallest, channel) for channel in range(3)]
    of_hue = [
        _hue_slope(colours, is_largest, is_smallest, channel, saturation, value) for channel in range(3)
    ]
    shares = [
        stack([grad[..., channel] * slope for slope in slopes], -1)
        for channel, slopes in ((2, is_largest), (1, of_saturation), (0, of_hue))
    ]
    return new("Add", x=new("Add", x=shares[0], y=shares[1]), y=shares[2])


def _inverse(x: Tensor) -> Tensor:
    return div_no_nan(x.dtype.as_numpy_dtype(1), x)


def _is_there(colour: Tensor) -> Tensor:
    return cast(colour > 0, colour.dtype)


def _saturation_slope(
    colours: list[Tensor], is_largest: list[Tensor], is_smallest: list[Tensor], channel: int
) -> Tensor:
    """Return the gradient of the saturation, which is the range of the three colours divided by the largest."""
    here = colours[channel]
    first, second = ((1, 2), (0, 2), (1, 0))[channel]
    is_present = _is_there(here)
    smallest = new("Add", x=is_smallest[first] * colours[first], y=is_smallest[second] * colours[second])
    as_largest = is_largest[channel] * smallest * _inverse(square(here))
    largest_before = is_smallest[channel] * -1
    largest = (is_largest[first] * colours[first]) + (is_largest[second] * colours[second])
    return is_present * new("Add", x=as_largest, y=largest_before * _inverse(largest))


def _hue_slope(
    colours: list[Tensor],
    is_largest: list[Tensor],
    is_smallest: list[Tensor],
    channel: int,
    saturation: Tensor,
    value: Tensor,
) -> Tensor:
    """Return the gradient of the hue, whose parts are in degrees.

    The hue is a sixth of the difference of the two smaller colours, divided by the range, plus a constant.
    """
    here, after, before = (colours[(channel + step) % 3] for step in range(3))
    part = _is_there(here) * is_largest[channel] * -1 * (after - before)
    parts = [60 * (part * _inverse(square(saturation)) * _inverse(square(value)))]
    for other in (number for number in range(3) if number != channel):
        top, third = colours[other], 3 - channel - other
        part = _is_there(top) * is_largest[other] * is_smallest[channel] * (before - after)
        apart = here - top if (channel, other) == (0, 1) else top - here
        parts.append(60 * (part * _inverse(square(apart))))
        part = _is_there(top) * is_largest[other] * is_smallest[third]
        part = part * -1 if (other + 1) % 3 == third else part
        parts.append(60 * (part * _inverse(top - colours[third])))
    return functools.reduce(operator.add, parts) / 360


not_differentiable("HSVToRGB")
