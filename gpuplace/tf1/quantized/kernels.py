"""Kernels of quantized numbers: conversions from and to floats, and integer arithmetic.

Numbers that are too large for 32 bits become the largest integer; TensorFlow's CPU kernels return the
smallest one.

Source: tensorflow/core/kernels/quantize_op.cc, dequantize_op.cc, quantization_utils.h, quantized_conv_ops.cc,
quantized_matmul_op.cc, quantized_activation_ops.cc, quantized_pooling_ops.cc, quantized_concat_op.cc,
quantized_reshape_op.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import InvalidArgumentError
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.nn.conv_arithmetic import convolve
from gpuplace.ops.nn.pool_arithmetic import largest, means
from gpuplace.ops.nn.windows import Window, window_of
from gpuplace.typing import Array, ArrayModule

# Arithmetic


def _rounded(array: Any) -> Any:
    """Round halves away from zero."""
    return np.trunc(array + np.copysign(0.5, array))


def _limits(dtype: DType) -> tuple[int, int]:
    limits = np.iinfo(dtype.as_numpy_dtype)
    return int(limits.min), int(limits.max)


def _scalar(value: Any, what: str) -> Any:
    if value.size != 1:
        raise InvalidArgumentError.of(f"{what} must be a scalar, but its shape is {list(value.shape)}")
    return value.reshape(-1)[0]


def _pair(low: Any, high: Any) -> tuple[Any, Any]:
    return np.array(low, np.float32), np.array(high, np.float32)


def _steps(dtype: DType, low: float, high: float) -> tuple[float, float]:
    """Return the integers per unit, and the smallest number's integer before the shift to the dtype's range."""
    steps = 2.0 ** (8 * np.dtype(dtype.as_numpy_dtype).itemsize)
    width = (float(high) - float(low)) * (steps / (steps - 1))
    scale = steps / width if width else 0.0
    return scale, float(_rounded(np.float64(low) * scale))


def _zero_of(dtype: DType, low: float, high: float) -> int:
    """Return the integer for the number 0."""
    if low == high:
        return 0
    _, first = _steps(dtype, low, high)
    return int(-first) + _limits(dtype)[0]


def _to_quantized(array: Any, dtype: DType, low: float, high: float) -> Any:
    least, most = _limits(dtype)
    if low == high:
        return np.zeros(array.shape, dtype.as_numpy_dtype)
    scale, first = map(np.float32, _steps(dtype, low, high))
    result = _rounded(array.astype(np.float32) * scale) - (first - np.float32(least))
    top = np.nextafter(np.float32(most), np.float32(0)) if most > 2**24 else np.float32(most)
    return np.clip(result, np.float32(least), top).astype(dtype.as_numpy_dtype)


def _from_quantized(array: Any, dtype: DType, low: float, high: float) -> Any:
    if low == high:
        return np.full(array.shape, low, np.float32)
    scale, first = _steps(dtype, low, high)
    wide = array.astype(np.float64) - _limits(dtype)[0]
    return ((first + wide) / scale).astype(np.float32)


def _range_of_products(
    first: DType, of_first: tuple[float, float], second: DType, of_second: tuple[float, float]
) -> tuple[Any, Any]:
    """Return the numbers that the smallest and largest 32-bit sums of products stand for."""
    one = 1.0
    for dtype, (low, high) in ((first, of_first), (second, of_second)):
        least, most = _limits(dtype)
        one *= float((np.float32(high) - np.float32(low)) / np.float32(most - least))
    one = float(np.float32(one))
    return _pair(one * -(2.0**31), one * (2.0**31 - 1))


# Kernels


@compute("QuantizeV2")
def _quantize(
    xp: ArrayModule,
    input: Array,
    min_range: Array,
    max_range: Array,
    *,
    T: DType,
    mode: bytes,
    round_mode: bytes,
) -> Any:
    low = np.minimum(np.float32(0), np.float32(_scalar(min_range, "min_range")))
    upper = np.float32(_scalar(max_range, "max_range"))
    if upper < _scalar(min_range, "min_range"):
        raise InvalidArgumentError.of(
            f"input_max_range must be larger than input_min_range, but they are {upper} and {min_range[()]}"
        )
    epsilon = np.maximum(np.float32(1), np.maximum(abs(min_range[()]), abs(upper))) / np.float32(100)
    high = np.maximum(np.float32(0), np.maximum(upper, low + epsilon))
    least, most = _limits(T)
    kind = T.as_numpy_dtype
    if mode == b"MIN_FIRST":
        return _to_quantized(input, T, float(low), float(high)), *_pair(low, high)
    if mode == b"SCALED":
        scales = [
            side / float(bound) if side * float(bound) > 0 else float(np.finfo(np.float32).max)
            for side, bound in ((least, low), (most, high))
        ]
        scale = np.float32(min(scales))
        low, high = np.float32(least) / scale, np.float32(most) / scale
        scaled = np.clip(input, low, high) * scale
        result = np.rint(scaled) if round_mode == b"HALF_TO_EVEN" else _rounded(scaled)
        return result.astype(np.float64).clip(least, most).astype(kind), *_pair(low, high)
    scale = np.float32((float(most) - float(least)) / (float(high) - float(low)))
    moved = (np.clip(input, low, high) - low) * scale
    if least < 0:
        moved = moved - np.float32((float(most) - float(least) + 1) / 2)
        result = _rounded(moved)
    else:
        result = np.floor(moved + np.float32(0.5))
    return result.astype(np.float64).clip(least, most).astype(kind), *_pair(low, high)


@compute("Dequantize")
def _dequantize(
    xp: ArrayModule, input: Array, min_range: Array, max_range: Array, *, T: DType, mode: bytes
) -> Array:
    low, high = (
        np.float32(_scalar(one, what)) for one, what in ((min_range, "min_range"), (max_range, "max_range"))
    )
    least, most = _limits(T)
    if mode == b"MIN_FIRST":
        return _from_quantized(input, T, float(low), float(high))
    wide = input.astype(np.float32)
    if mode == b"SCALED":
        scale = high / np.float32(most)
        if least:
            scale = np.maximum(low / np.float32(least), scale)
        return wide * np.float32(scale)
    scale = np.float32((high - low) / np.float32(float(most) - float(least)))
    half = np.float32(0 if least == 0 else (float(most) - float(least) + 1) / 2)
    return (wide + half) * scale + low


@compute("QuantizedConcat")
def _concat(
    xp: ArrayModule,
    concat_dim: Any,
    values: list[Any],
    input_mins: list[Any],
    input_maxes: list[Any],
    *,
    T: DType,
) -> Any:
    lows, highs = ([float(one.reshape(-1)[0]) for one in limits] for limits in (input_mins, input_maxes))
    low, high = min(0.0, *lows), max(highs)
    parts = [
        value
        if (own_low, own_high) == (low, high)
        else _to_quantized(_from_quantized(value, T, own_low, own_high), T, low, high)
        for value, own_low, own_high in zip(values, lows, highs, strict=True)
    ]
    return np.concatenate(parts, axis=int(concat_dim)), *_pair(low, high)


@compute("QuantizedConv2D")
def _conv2d(
    xp: ArrayModule,
    input: Array,
    filter: Array,
    min_input: Array,
    max_input: Array,
    min_filter: Array,
    max_filter: Array,
    *,
    Tinput: DType,
    Tfilter: DType,
    ctx: KernelContext,
) -> Any:
    of_input = float(min_input.reshape(-1)[0]), float(max_input.reshape(-1)[0])
    of_filter = float(min_filter.reshape(-1)[0]), float(max_filter.reshape(-1)[0])
    images = input.astype(np.float64) - _zero_of(Tinput, *of_input)
    kernel = filter.astype(np.float64) - _zero_of(Tfilter, *of_filter)
    attrs = {**ctx.op.attrs, "data_format": b"NHWC"}
    sums = convolve(xp, images, kernel, window_of(attrs, *filter.shape[:2]))
    return np.rint(sums).astype(np.int32), *_range_of_products(Tinput, of_input, Tfilter, of_filter)


@compute("QuantizedMatMul")
def _matmul(
    xp: ArrayModule,
    a: Array,
    b: Array,
    min_a: Array,
    max_a: Array,
    min_b: Array,
    max_b: Array,
    *,
    T1: DType,
    T2: DType,
    transpose_a: bool,
    transpose_b: bool,
) -> Any:
    of_a = float(min_a.reshape(-1)[0]), float(max_a.reshape(-1)[0])
    of_b = float(min_b.reshape(-1)[0]), float(max_b.reshape(-1)[0])
    first = a.astype(np.int64) - _zero_of(T1, *of_a)
    second = b.astype(np.int64) - _zero_of(T2, *of_b)
    product = (first.T if transpose_a else first) @ (second.T if transpose_b else second)
    return product.astype(np.int32), *_range_of_products(T1, of_a, T2, of_b)


@compute("QuantizedRelu", "QuantizedRelu6")
def _relu(xp: ArrayModule, features: Array, *others: Any, Tinput: DType, ctx: KernelContext) -> Any:
    low, high = (float(other.reshape(-1)[0]) for other in others)
    result = np.maximum(features, _to_quantized(np.zeros(()), Tinput, low, high))
    if ctx.op.type == "QuantizedRelu6":
        result = np.minimum(result, _to_quantized(np.array(6.0), Tinput, low, high))
    return result, *_pair(low, high)


@compute("QuantizedMaxPool", "QuantizedAvgPool")
def _pool(
    xp: ArrayModule, input: Array, min_input: Any, max_input: Any, *, T: DType, ctx: KernelContext
) -> Any:
    attrs = {**ctx.op.attrs, "data_format": b"NHWC", "dilations": (1, 1, 1, 1)}
    rows, columns = attrs["ksize"][1:3]
    window: Window = window_of(attrs, rows, columns)
    images = input.astype(np.float64)
    if ctx.op.type == "QuantizedMaxPool":
        result = largest(xp, images, window)
    else:
        result = np.floor(means(xp, images, window) + 1e-9)
    return result.astype(T.as_numpy_dtype), *_pair(min_input.reshape(-1)[0], max_input.reshape(-1)[0])


@compute("QuantizedReshape")
def _reshape(xp: Any, tensor: Any, shape: Any, input_min: Any, input_max: Any) -> Any:
    return tensor.reshape([int(size) for size in shape]), input_min, input_max


not_differentiable("QuantizeV2", "Dequantize", "QuantizedConcat", "QuantizedConv2D", "QuantizedMatMul")
not_differentiable("QuantizedRelu", "QuantizedRelu6", "QuantizedMaxPool", "QuantizedAvgPool")
not_differentiable("QuantizedReshape")
