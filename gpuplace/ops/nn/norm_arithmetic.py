"""Arithmetic of batch normalization on the CPU, for channels-last images, in few passes over memory.

Source: tensorflow/core/kernels/fused_batch_norm_op.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.numerics.channels import as_lines, channel_sums, sums_of, write_lines
from gpuplace.numerics.pieces import scratch
from gpuplace.typing import Array, ArrayModule, TensorLike


def fits(xp: ArrayModule, data_format: str, *images: Any) -> bool:
    """Return whether the functions of this module support these images."""
    return xp is np and data_format == "NHWC" and all(x.size and x.flags.c_contiguous for x in images)


def moments_of(x: Array) -> tuple[Any, Any]:
    """Return the mean and variance of each channel."""
    lines, repeat = as_lines(x)
    channels = x.shape[-1]
    count = x.dtype.type(x.size // channels)
    mean = channel_sums(np, x) / count
    along = np.tile(mean, repeat)

    def piece(part: slice) -> Array:
        apart = scratch(np, "apart", lines[part].shape, x.dtype)
        np.subtract(lines[part], along, out=apart)
        return np.multiply(apart, apart, out=apart)

    return mean, sums_of(len(lines), lines.strides[0], channels, piece) / count


def normalized(x: TensorLike, mean: Any, factor: Any, offset: Any) -> Any:
    """Return ``(x - mean) * factor + offset``."""
    lines, repeat = as_lines(x)
    result = np.empty_like(x)
    results = result.reshape(lines.shape)
    mean, factor, offset = (np.tile(values, repeat) for values in (mean, factor, offset))

    def piece(part: slice) -> None:
        some = np.subtract(lines[part], mean, out=results[part])
        some *= factor
        some += offset

    write_lines(len(lines), lines.strides[0], piece)
    return result


def normalized_gradient(
    grad: Any, x: Any, scale: TensorLike, mean: Any, inverse: Any, is_training: bool
) -> tuple[Any, Any, Any]:
    """Return the gradients with respect to the images, the scale and the offset.

    Args:
        grad: gradient of the normalized images.
        x: the images.
        scale: the factor of each channel.
        mean: mean of each channel.
        inverse: inverse standard deviation of each channel.
        is_training: whether mean and deviation come from the images themselves.
    """
    lines, repeat = as_lines(x)
    grads = grad.reshape(lines.shape)
    channels = x.shape[-1]
    means = np.tile(mean, repeat)

    def products(part: slice) -> Array:
        some = scratch(np, "apart", lines[part].shape, x.dtype)
        np.subtract(lines[part], means, out=some)
        return np.multiply(some, grads[part], out=some)

    grad_offset = channel_sums(np, grad)
    grad_scale = sums_of(len(lines), lines.strides[0], channels, products) * inverse
    result = np.empty_like(x)
    results = result.reshape(lines.shape)
    factor = np.tile(scale * inverse, repeat)
    count = x.dtype.type(x.size // channels)
    slope = np.tile(grad_scale * inverse / count, repeat)
    shift = np.tile(grad_offset / count, repeat)

    def piece(part: slice) -> None:
        some = results[part]
        if is_training:
            np.subtract(lines[part], means, out=some)
            some *= slope
            np.subtract(grads[part], some, out=some)
            some -= shift
            some *= factor
        else:
            np.multiply(grads[part], factor, out=some)

    write_lines(len(lines), lines.strides[0], piece)
    return result, grad_scale, grad_offset
