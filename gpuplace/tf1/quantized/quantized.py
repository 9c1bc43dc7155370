"""Quantized numbers: small integers that stand for the numbers of a range, and ops that compute with them.

A quantized tensor comes with two scalars, the numbers that its smallest and its largest integer stand for::

    input, min, max  ──QuantizeV2──>  integers, min, max  ──QuantizedConv2D──>  qint32, min, max  ──Dequantize──> floats
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gpuplace.dtypes import as_dtype
from gpuplace.graph.operation import Tensor
from gpuplace.ops.support import new, new_list
from gpuplace.typing import DTypeLike, IntsLike, TensorLike

__all__ = [
    "dequantize", "quantize", "quantize_v2", "quantized_avg_pool", "quantized_concat", "quantized_conv2d",
    "quantized_max_pool", "quantized_relu_x",
]  # fmt: skip


class Quantized(NamedTuple):
    """Quantized numbers, the result of ``quantize`` and similar functions."""

    output: Tensor
    """The integers."""
    output_min: Tensor
    """The number that the smallest integer stands for, a float32 scalar."""
    output_max: Tensor
    """The number that the largest integer stands for, a float32 scalar."""


def quantize_v2(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T: DTypeLike,  # noqa: N803 - TensorFlow's name
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
) -> Quantized:
    """Quantize numbers in a range.

    >>> import gpuplace as tf
    >>> tf.Session().run(quantize_v2([0.0, 0.5, 3.0], 0.0, 1.0, tf.quint8).output).tolist()
    [0, 128, 255]

    Args:
        input: float32 of any shape.
        min_range: the smallest number, a scalar.
        max_range: the largest number, a scalar.
        T: ``qint8``, ``quint8``, ``qint16``, ``quint16`` or ``qint32``.
        mode: ``"MIN_COMBINED"``, ``"MIN_FIRST"`` or ``"SCALED"``.
        name: name of the op.
        round_mode: rounding in the mode ``"SCALED"``: ``"HALF_AWAY_FROM_ZERO"`` or ``"HALF_TO_EVEN"``.

    Returns:
        A named tuple of the integers and the range, which may be a little larger than the given one.
    """
    arguments = {"min_range": min_range, "max_range": max_range, "T": as_dtype(T), "mode": mode}
    return Quantized(*new_list("QuantizeV2", name, input=input, round_mode=round_mode, **arguments))


def quantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    T: DTypeLike,  # noqa: N803 - TensorFlow's name
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
) -> Quantized:
    """Older form of ``quantize_v2``, with its last arguments in another order.

    Args:
        input: as for ``quantize_v2``.
        min_range: as for ``quantize_v2``.
        max_range: as for ``quantize_v2``.
        T: as for ``quantize_v2``.
        mode: as for ``quantize_v2``.
        round_mode: as for ``quantize_v2``.
        name: name of the op.

    Returns:
        The result of ``quantize_v2``.
    """
    return quantize_v2(input, min_range, max_range, T, mode, name, round_mode)


def dequantize(
    input: TensorLike,
    min_range: TensorLike,
    max_range: TensorLike,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
) -> Tensor:
    """Convert quantized numbers to floats.

    Args:
        input: quantized numbers of any shape.
        min_range: the number that the smallest integer stands for, a scalar.
        max_range: the number that the largest integer stands for, a scalar.
        mode: as for ``quantize_v2``.
        name: name of the op.

    Returns:
        float32, in the shape of ``input``.
    """
    return new("Dequantize", name, input=input, min_range=min_range, max_range=max_range, mode=mode)


def quantized_concat(
    concat_dim: TensorLike,
    values: Sequence[Any],
    input_mins: Sequence[Any],
    input_maxes: Sequence[Any],
    name: str | None = None,
) -> Quantized:
    """Join tensors of quantized numbers along an axis.

    Args:
        concat_dim: the axis, an int32 scalar.
        values: the tensors.
        input_mins: for each tensor, the number that the smallest integer stands for.
        input_maxes: for each tensor, the number that the largest integer stands for.
        name: name of the op.

    Returns:
        A named tuple of the joined numbers and a range for all of them.
    """
    arguments = {"values": list(values), "input_mins": list(input_mins), "input_maxes": list(input_maxes)}
    return Quantized(*new_list("QuantizedConcat", name, concat_dim=concat_dim, **arguments))


def quantized_conv2d(
    input: TensorLike,
    filter: TensorLike,
    min_input: TensorLike,
    max_input: TensorLike,
    min_filter: TensorLike,
    max_filter: TensorLike,
    strides: IntsLike,
    padding: str,
    out_type: DTypeLike = "qint32",
    dilations: IntsLike = (1, 1, 1, 1),
    name: str | None = None,
) -> Quantized:
    """Convolve quantized images.

    Args:
        input: ``[batch, height, width, in_channels]``, quantized.
        filter: ``[rows, columns, in_channels, out_channels]``, quantized.
        min_input: the number that the smallest integer of the images stands for.
        max_input: the number that the largest integer stands for.
        min_filter: the same as ``min_input``, for the filters.
        max_filter: the same as ``max_input``, for the filters.
        strides: steps of the window, one number for each axis.
        padding: ``"SAME"`` or ``"VALID"``.
        out_type: ``qint32``.
        dilations: distances of the window's pixels; must be 1.
        name: name of the op.

    Returns:
        A named tuple of the sums, as integers, and the numbers that the smallest and the largest integer
        stand for.
    """
    ranges = {
        "min_input": min_input,
        "max_input": max_input,
        "min_filter": min_filter,
        "max_filter": max_filter,
    }
    outputs = new_list(
        "QuantizedConv2D",
        name,
        input=input,
        filter=filter,
        strides=strides,
        padding=padding,
        out_type=as_dtype(out_type),
        dilations=dilations,
        **ranges,
    )
    return Quantized(*outputs)


def quantized_relu_x(
    features: TensorLike,
    max_value: TensorLike,
    min_features: TensorLike,
    max_features: TensorLike,
    out_type: DTypeLike = "quint8",
    name: str | None = None,
) -> Quantized:
    """Clip quantized numbers to the range from 0 to a maximum.

    As in TensorFlow, no device has a kernel for it: the op can be placed in a graph, but not run.

    Args:
        features: quantized numbers of any shape.
        max_value: the largest number, a float32 scalar.
        min_features: the number that the smallest integer stands for.
        max_features: the number that the largest integer stands for.
        out_type: the dtype of the result, that of ``features``.
        name: name of the op.

    Returns:
        A named tuple of the numbers and their range.
    """
    arguments = {"min_features": min_features, "max_features": max_features, "out_type": as_dtype(out_type)}
    return Quantized(*new_list("QuantizedReluX", name, features=features, max_value=max_value, **arguments))


def quantized_avg_pool(
    input: TensorLike,
    min_input: TensorLike,
    max_input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    name: str | None = None,
) -> Quantized:
    """Return the means of windows of quantized numbers.

    Args:
        input: ``[batch, height, width, channels]``, quantized.
        min_input: the number that the smallest integer stands for.
        max_input: the number that the largest integer stands for.
        ksize: size of the window, one number for each axis.
        strides: steps of the window, one number for each axis.
        padding: ``"SAME"`` or ``"VALID"``.
        name: name of the op.

    Returns:
        A named tuple of the means and their range.
    """
    return _pooled("QuantizedAvgPool", input, min_input, max_input, ksize, strides, padding, name)


def quantized_max_pool(
    input: TensorLike,
    min_input: TensorLike,
    max_input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    name: str | None = None,
) -> Quantized:
    """Return the largest numbers in windows of quantized numbers.

    Args:
        input: ``[batch, height, width, channels]``, quantized.
        min_input: the number that the smallest integer stands for.
        max_input: the number that the largest integer stands for.
        ksize: size of the window, one number for each axis.
        strides: steps of the window, one number for each axis.
        padding: ``"SAME"`` or ``"VALID"``.
        name: name of the op.

    Returns:
        A named tuple of the largest numbers and their range.
    """
    return _pooled("QuantizedMaxPool", input, min_input, max_input, ksize, strides, padding, name)


def _pooled(
    op_type: str,
    input: TensorLike,
    min_input: TensorLike,
    max_input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    name: str | None,
) -> Quantized:
    arguments = {"ksize": ksize, "strides": strides, "padding": padding}
    return Quantized(
        *new_list(op_type, name, input=input, min_input=min_input, max_input=max_input, **arguments)
    )
