"""Convolutions, and the ops that compute their gradients.

The arithmetic is in ``conv_arithmetic``.

Source: tensorflow/core/ops/nn_ops.cc, core/kernels/conv_ops.cc, conv_grad_*_ops.cc, depthwise_conv_op.cc and
tensorflow/python/ops/nn_ops.py, nn_impl.py, nn_grad.py, release 1.15.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value_as_shape
from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, binder
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.nn.conv_arithmetic import convolve, filter_gradient, images_gradient
from gpuplace.ops.nn.windows import (
    Window,
    format_of,
    from_nhwc,
    image_shape,
    other_axes,
    require_nhwc_on_cpu,
    to_nhwc,
    window_of,
)
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import new, shape_tensor
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule, IntsLike, TensorLike

__all__ = [
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
]

_CONV_ATTRS = ("strides", "padding", "use_cudnn_on_gpu", "explicit_paddings", "data_format", "dilations")


# Conv2D


def conv2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: IntsLike | None = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: IntsLike = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Convolve images with a filter.

    >>> import gpuplace as tf
    >>> tf.nn.conv2d(tf.zeros([8, 32, 32, 3]), tf.zeros([5, 5, 3, 16]), strides=2, padding="SAME").shape
    TensorShape([Dimension(8), Dimension(16), Dimension(16), Dimension(16)])

    Args:
        input: ``[batch, height, width, in_channels]``, or ``[batch, in_channels, height, width]`` for ``NCHW``, of
            float16, bfloat16, float32 or float64.
        filter: ``[rows, columns, in_channels, out_channels]``, of the same dtype. If its input channels divide those of
            the images, the channels are convolved in groups.
        strides: steps of the window in pixels: one number for both directions, two for height and width, or four, one
            for each axis of ``data_format``, of which only those of height and width are used. None: 1.
        padding: ``"SAME"`` (``size / stride`` output pixels, rounded up), ``"VALID"`` (no border), or four pairs
            ``[before, after]`` of pixels, one for each axis of ``data_format``. Required.
        use_cudnn_on_gpu: stored in the graph without effect.
        data_format: ``"NHWC"`` or ``"NCHW"``; None: ``"NHWC"``.
        dilations: spacing of the window's rows and columns in pixels, in the form of ``strides``.
        name: name of the operation.
        filters: newer name of ``filter``.

    Returns:
        A tensor of the dtype of ``input``: ``[batch, out_height, out_width, out_channels]``, or in the order of
            ``NCHW``.

    Raises:
        TypeError: a dtype is not supported, the dtypes differ, or the padding is missing.
        ValueError: the shapes do not match each other or the window, or a list has the wrong length.
        UnimplementedError: at run time, ``NCHW`` on a CPU.
    """
    filter = deprecated_argument_lookup("filters", filters, "filter", filter)
    padding, explicit = _convert_padding(padding)
    data_format = data_format or "NHWC"
    return new(
        "Conv2D",
        name,
        input=input,
        filter=filter,
        strides=four(strides, data_format, "strides"),
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=four(dilations, data_format, "dilations"),
    )


def four(value: Any, data_format: str, name: str) -> list[int]:
    """Return one number for each axis of the images' data format, from one, two or four."""
    return for_axes(value, 2, data_format, name)


def for_axes(value: Any, number: int, data_format: str, name: str) -> list[int]:
    """Return one number for each axis of a data format, from one, from one per spatial axis, or from one per axis."""
    items = [1] if value is None else list(value) if isinstance(value, Sequence) else [value]
    if len(items) == number + 2:
        return items
    if len(items) not in (1, number):
        raise ValueError(f"{name} should be of length 1, {number} or {number + 2} but was {len(items)}")
    inner = items * number if len(items) == 1 else items
    return [1, 1, *inner] if data_format.startswith("NC") else [1, *inner, 1]


def _convert_padding(padding: Any) -> tuple[Any, list[int]]:
    if padding == "EXPLICIT":
        raise ValueError(
            '"EXPLICIT" is not a valid value for the padding parameter. To use explicit padding, the padding parameter '
            "must be a list."
        )
    if not isinstance(padding, (list, tuple)):
        return padding, []
    for index, pair in enumerate(padding):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            size = f"has size {len(pair)}" if isinstance(pair, (list, tuple)) else "is not a list/tuple"
            raise ValueError(
                "When padding is a list, each element of padding must be a list/tuple of size 2. Element with index "
                f"{index} of padding {size}"
            )
    if len(padding) != 4:
        raise ValueError(f"When padding is a list, it must be of size 4. Got padding of size: {len(padding)}")
    return "EXPLICIT", [size for pair in padding for size in pair]


def channels_of(shape: TensorShape, data_format: str) -> int | None:
    """Return the number of channels of images."""
    sizes = require_rank(shape, 4).sizes
    assert sizes is not None
    return sizes[1] if data_format == "NCHW" else sizes[3]


@shape_function("Conv2D")
def _conv_shape(op: Operation) -> list[TensorShape]:
    images = require_rank(op.inputs[0].shape, 4)
    rows, columns, deep, filters = require_rank(op.inputs[1].shape, 4).sizes or (None,) * 4
    channels = channels_of(images, format_of(op.attrs))
    if deep == 0:
        raise ValueError("Depth of filter must not be 0")
    if channels is not None and deep is not None and channels % deep:
        raise ValueError(f"Depth of input ({channels}) is not a multiple of input depth of filter ({deep})")
    _check_paddings(op.attrs)
    return [image_shape(op, images, rows, columns, filters)]


def _check_paddings(attrs: Mapping[str, Any]) -> None:
    paddings, data_format = attrs.get("explicit_paddings") or [0] * 8, format_of(attrs)
    pairs = [tuple(paddings[at : at + 2]) for at in range(0, 8, 2)]
    if min(paddings) < 0:
        raise ValueError("All elements of explicit_paddings must be nonnegative")
    if other_axes(pairs, data_format) != ((0, 0), (0, 0)):
        raise ValueError("Nonzero explicit padding in the batch or depth dimensions is not supported")


def _conv(xp: ArrayModule, images: Array, filter: Array, *, ctx: KernelContext) -> Array:
    require_nhwc_on_cpu(ctx, "Conv2D")
    data_format = format_of(ctx.op.attrs)
    images = to_nhwc(images, data_format)
    rows, columns, deep, filters = filter.shape
    if images.shape[3] % deep:
        raise InvalidArgumentError.of(
            f"input depth must be evenly divisible by filter depth: {images.shape[3]} vs {deep}", op=ctx.op
        )
    window = window_of(ctx.op.attrs, rows, columns)
    return from_nhwc(xp, convolve(xp, images, filter, window), data_format)


@gradient("Conv2D")
def _conv_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    images, filter = op.inputs
    attrs = {name: op.attrs[name] for name in _CONV_ATTRS}
    image_sizes, filter_sizes = apply_op("ShapeN", input=[images, filter]).outputs
    return [
        new("Conv2DBackpropInput", input_sizes=image_sizes, filter=filter, out_backprop=grad, **attrs),
        new("Conv2DBackpropFilter", input=images, filter_sizes=filter_sizes, out_backprop=grad, **attrs),
    ]


# Conv2DBackpropInput


def conv2d_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike | None = None,
    out_backprop: TensorLike | None = None,
    strides: IntsLike | None = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Return the gradient of a convolution with respect to its images.

    Args:
        input_sizes: the shape of the images, four integers in the order of ``data_format``; int32.
        filter: ``[rows, columns, in_channels, out_channels]``, of float16, bfloat16, float32 or float64.
        out_backprop: gradient of the convolution's output, in its shape and the dtype of ``filter``.
        strides: steps of the window in pixels: a list of one number per axis of ``data_format``.
        padding: as for ``conv2d``.
        use_cudnn_on_gpu: stored in the graph without effect.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: spacing of the window's rows and columns in pixels, in the form of ``strides``.
        name: name of the operation.
        filters: newer name of ``filter``.

    Returns:
        A tensor of the dtype of ``out_backprop`` and the shape ``input_sizes``.

    Raises:
        TypeError: the dtype is not supported, ``strides`` is not a list, or an argument is missing.
        ValueError: ``input_sizes`` does not have four numbers.
        InvalidArgumentError: at run time, ``out_backprop`` does not have the size of the convolution's output.
        UnimplementedError: at run time, ``NCHW`` on a CPU.
    """
    padding, explicit = _convert_padding(padding)
    return new(
        "Conv2DBackpropInput",
        name,
        input_sizes=input_sizes,
        filter=deprecated_argument_lookup("filters", filters, "filter", filter),
        out_backprop=out_backprop,
        strides=strides,
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=list(dilations),
    )


def conv2d_transpose(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    output_shape: TensorLike | None = None,
    strides: IntsLike | None = None,
    padding: str = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Return the transpose of ``conv2d``, which upsamples images as the gradient of a convolution does.

    >>> import gpuplace as tf
    >>> tf.nn.conv2d_transpose(tf.zeros([8, 16, 16, 64]), tf.zeros([4, 4, 3, 64]), [8, 32, 32, 3], strides=2).shape
    TensorShape([Dimension(8), Dimension(32), Dimension(32), Dimension(3)])

    Args:
        value: ``[batch, height, width, in_channels]``, or ``[batch, in_channels, height, width]`` for ``NCHW``, of
            float16, bfloat16, float32 or float64.
        filter: ``[rows, columns, out_channels, in_channels]``, of the same dtype.
        output_shape: the shape of the result, four integers in the order of ``data_format``; int32.
        strides: upsampling factors of height and width: one, two or four numbers, as for ``conv2d``.
        padding: ``"SAME"`` or ``"VALID"``, as in the transposed convolution.
        data_format: ``"NHWC"`` or ``"NCHW"``; None: ``"NHWC"``.
        name: name of the operation.
        input: newer name of ``value``.
        filters: newer name of ``filter``.
        dilations: spacing of the window's rows and columns in pixels, in the form of ``strides``; None: 1.

    Returns:
        A tensor of the dtype of ``value`` and the shape ``output_shape``.

    Raises:
        TypeError: the dtype is not supported, or ``padding`` is a list.
        ValueError: ``output_shape`` does not have four numbers, or a list has the wrong length.
        InvalidArgumentError: at run time, a convolution of ``output_shape`` does not have the size of ``value``.
        UnimplementedError: at run time, ``NCHW`` on a CPU.
    """
    value = deprecated_argument_lookup("input", input, "value", value)
    filter = deprecated_argument_lookup("filters", filters, "filter", filter)
    data_format = data_format or "NHWC"
    with name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as scope:
        return new(
            "Conv2DBackpropInput",
            scope,
            input_sizes=output_shape,
            filter=filter,
            out_backprop=value,
            strides=four(strides, data_format, "strides"),
            padding=padding,
            data_format=data_format,
            dilations=four(dilations, data_format, "dilations"),
        )


@shape_function("Conv2DBackpropInput", "DepthwiseConv2dNativeBackpropInput")
def _backprop_input_shape(op: Operation) -> list[TensorShape]:
    return [require_rank(constant_value_as_shape(op.inputs[0]), 4)]


def _backprop_input(
    xp: ArrayModule, input_sizes: Array, filter: Array, grad: Array, *, ctx: KernelContext
) -> Array:
    require_nhwc_on_cpu(ctx, "Conv2DBackpropInput")
    data_format = format_of(ctx.op.attrs)
    shape, grad = image_sizes(input_sizes, data_format), to_nhwc(grad, data_format)
    window = window_of(ctx.op.attrs, filter.shape[0], filter.shape[1])
    _check_gradient(ctx, window, shape, grad)
    return from_nhwc(xp, images_gradient(xp, shape, filter, grad, window), data_format)


def image_sizes(sizes: Array, data_format: str) -> tuple[int, ...]:
    """Return the images' shape, given as a tensor, in NHWC order."""
    n, *rest = (int(size) for size in sizes)
    return (n, rest[1], rest[2], rest[0]) if data_format == "NCHW" else (n, *rest)


def _check_gradient(ctx: KernelContext, window: Window, shape: tuple[int, ...], grad: Array) -> None:
    """Raise InvalidArgumentError if the gradient does not have the shape of the convolution's output."""
    height, width, _ = window.geometry(shape[1], shape[2])
    if grad.shape[1:3] != (height, width):
        raise InvalidArgumentError.of(
            f"{ctx.op.type}: Size of out_backprop doesn't match computed: actual = {grad.shape[1:3]}, computed = "
            f"{(height, width)}, input = {shape[1:3]}, filter = {(window.rows, window.columns)}, strides = "
            f"{window.strides}",
            op=ctx.op,
        )


@gradient("Conv2DBackpropInput")
def _backprop_input_gradient(op: Operation, grad: Tensor) -> list[Any]:
    _, filter, out = op.inputs
    attrs = {name: op.attrs[name] for name in _CONV_ATTRS}
    sizes = shape_tensor(filter)
    return [
        None,
        new("Conv2DBackpropFilter", input=grad, filter_sizes=sizes, out_backprop=out, **attrs),
        new("Conv2D", input=grad, filter=filter, **attrs),
    ]


# Conv2DBackpropFilter


def conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: IntsLike | None = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the gradient of a convolution with respect to its filter.

    Args:
        input: the images that were convolved, ``[batch, height, width, in_channels]`` or in the order of ``NCHW``, of
            float16, bfloat16, float32 or float64.
        filter_sizes: the shape of the filter, ``[rows, columns, in_channels, out_channels]``; int32.
        out_backprop: gradient of the convolution's output, in its shape and the dtype of ``input``.
        strides: steps of the window in pixels: a list of one number per axis of ``data_format``.
        padding: as for ``conv2d``.
        use_cudnn_on_gpu: stored in the graph without effect.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: spacing of the window's rows and columns in pixels, in the form of ``strides``.
        name: name of the operation.

    Returns:
        A tensor of the dtype of ``input`` and the shape ``filter_sizes``.

    Raises:
        TypeError: the dtype is not supported, ``strides`` is not a list, or an argument is missing.
        ValueError: ``filter_sizes`` does not have four numbers.
        InvalidArgumentError: at run time, ``out_backprop`` does not have the size of the convolution's output.
        UnimplementedError: at run time, ``NCHW`` on a CPU.
    """
    padding, explicit = _convert_padding(padding)
    return new(
        "Conv2DBackpropFilter",
        name,
        input=input,
        filter_sizes=filter_sizes,
        out_backprop=out_backprop,
        strides=strides,
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=list(dilations),
    )


@shape_function("Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropFilter")
def _backprop_filter_shape(op: Operation) -> list[TensorShape]:
    return [require_rank(constant_value_as_shape(op.inputs[1]), 4)]


def _backprop_filter(
    xp: ArrayModule, images: Array, filter_sizes: Array, grad: Array, *, ctx: KernelContext
) -> Array:
    require_nhwc_on_cpu(ctx, "Conv2DBackpropFilter")
    data_format = format_of(ctx.op.attrs)
    images, grad = to_nhwc(images, data_format), to_nhwc(grad, data_format)
    shape = tuple(int(size) for size in filter_sizes)
    window = window_of(ctx.op.attrs, shape[0], shape[1])
    _check_gradient(ctx, window, images.shape, grad)
    if not math.prod(shape):
        return xp.empty(shape, grad.dtype)
    return filter_gradient(xp, images, shape, grad, window)


@gradient("Conv2DBackpropFilter")
def _backprop_filter_gradient(op: Operation, grad: Tensor) -> list[Any]:
    images, _, out = op.inputs
    attrs = {name: op.attrs[name] for name in _CONV_ATTRS}
    sizes = shape_tensor(images)
    return [
        new("Conv2DBackpropInput", input_sizes=sizes, filter=grad, out_backprop=out, **attrs),
        None,
        new("Conv2D", input=images, filter=grad, **attrs),
    ]


def _refuse_others(op: Operation) -> None:
    """Raise InvalidArgumentError for attributes that no kernel supports."""
    if other_axes(op.attrs["strides"], format_of(op.attrs)) != (1, 1):
        raise InvalidArgumentError.of(
            "Current implementation does not yet support strides in the batch and depth dimensions.", op=op
        )
    try:
        _check_paddings(op.attrs)
    except ValueError as error:
        raise InvalidArgumentError.of(str(error), op=op) from None


@binder("Conv2D", fresh=True)
def _bind_conv(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[..., Any]:
    _refuse_others(op)
    return functools.partial(_conv, xp, ctx=ctx)


@binder("Conv2DBackpropInput", fresh=True)
def _bind_backprop_input(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[..., Any]:
    _refuse_others(op)
    return functools.partial(_backprop_input, xp, ctx=ctx)


@binder("Conv2DBackpropFilter", fresh=True)
def _bind_backprop_filter(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[..., Any]:
    _refuse_others(op)
    return functools.partial(_backprop_filter, xp, ctx=ctx)
