"""Depthwise and separable convolutions: each channel has its own filters.

Source: tensorflow/core/kernels/depthwise_conv_op.cc, depthwise_conv_grad_op.cc and tensorflow/python/ops/nn_impl.py,
nn_grad.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.array import reshaping
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.nn.conv import channels_of, conv2d, image_sizes
from gpuplace.ops.nn.convolution import with_space_to_batch
from gpuplace.ops.nn.depthwise_arithmetic import (
    depthwise,
    depthwise_filter_gradient,
    depthwise_images_gradient,
)
from gpuplace.ops.nn.windows import format_of, from_nhwc, image_shape, require_nhwc_on_cpu, to_nhwc, window_of
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import new, shape_tensor
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule, IntsLike, TensorLike

__all__ = [
    "depthwise_conv2d", "depthwise_conv2d_backprop_filter", "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native", "depthwise_conv2d_native_backprop_filter", "depthwise_conv2d_native_backprop_input",
    "separable_conv2d",
]  # fmt: skip

_DEPTHWISE_ATTRS = ("strides", "padding", "data_format", "dilations")


def depthwise_conv2d_native(
    input: TensorLike,
    filter: TensorLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolve each channel with its own filters, in one op.

    Args:
        input: ``[batch, height, width, in_channels]``, or ``[batch, in_channels, height, width]`` for ``NCHW``, of
            float16, bfloat16, float32 or float64.
        filter: ``[rows, columns, in_channels, multiplier]``, of the same dtype.
        strides: steps of the window in pixels: a list of one number per axis of ``data_format``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"`` or ``"NCHW"``; None: ``"NHWC"``.
        dilations: spacing of the window's rows and columns in pixels, in the form of ``strides``; None: 1.
        name: name of the operation.

    Returns:
        A tensor of the dtype of ``input``: ``[batch, out_height, out_width, in_channels * multiplier]``, or in the
        order of ``NCHW``. Channel ``c`` of the images becomes the ``multiplier`` channels from ``c * multiplier`` on.

    Raises:
        TypeError: the dtype is not supported, or ``strides`` is not a list.
        ValueError: the shapes do not match each other or the window.
        UnimplementedError: at run time, ``NCHW`` on a CPU.
    """
    arguments = {"strides": strides, "padding": padding, "data_format": data_format, "dilations": dilations}
    return new("DepthwiseConv2dNative", name, input=input, filter=filter, **arguments)


def depthwise_conv2d_native_backprop_input(
    input_sizes: TensorLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NHWC",
    dilations: IntsLike | None = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the gradient of ``depthwise_conv2d_native`` with respect to its images.

    Args:
        input_sizes: the shape of the images, four integers; int32.
        filter: as for ``depthwise_conv2d_native``.
        out_backprop: gradient of the convolution's output, in its shape.
        strides: as for ``depthwise_conv2d_native``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: as for ``depthwise_conv2d_native``.
        name: name of the operation.

    Returns:
        A tensor of the shape ``input_sizes``.

    Raises:
        TypeError: the dtype is not supported, or ``strides`` is not a list.
    """
    arguments = {"strides": strides, "padding": padding, "data_format": data_format, "dilations": dilations}
    return new(
        "DepthwiseConv2dNativeBackpropInput",
        name,
        input_sizes=input_sizes,
        filter=filter,
        out_backprop=out_backprop,
        **arguments,
    )


def depthwise_conv2d_native_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NHWC",
    dilations: IntsLike | None = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the gradient of ``depthwise_conv2d_native`` with respect to its filters.

    Args:
        input: as for ``depthwise_conv2d_native``.
        filter_sizes: the shape of the filters, four integers; int32.
        out_backprop: gradient of the convolution's output, in its shape.
        strides: as for ``depthwise_conv2d_native``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        dilations: as for ``depthwise_conv2d_native``.
        name: name of the operation.

    Returns:
        A tensor of the shape ``filter_sizes``.

    Raises:
        TypeError: the dtype is not supported, or ``strides`` is not a list.
    """
    arguments = {"strides": strides, "padding": padding, "data_format": data_format, "dilations": dilations}
    return new(
        "DepthwiseConv2dNativeBackpropFilter",
        name,
        input=input,
        filter_sizes=filter_sizes,
        out_backprop=out_backprop,
        **arguments,
    )


depthwise_conv2d_backprop_input = depthwise_conv2d_native_backprop_input
depthwise_conv2d_backprop_filter = depthwise_conv2d_native_backprop_filter


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: IntsLike,
    padding: str,
    rate: TensorLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Convolve each channel with its own filters: ``depthwise_conv2d_native`` in a name scope.

    >>> import gpuplace as tf
    >>> tf.nn.depthwise_conv2d(tf.zeros([8, 32, 32, 3]), tf.zeros([5, 5, 3, 2]), [1, 1, 1, 1], "SAME").shape
    TensorShape([Dimension(8), Dimension(32), Dimension(32), Dimension(6)])

    Args:
        input: ``[batch, height, width, in_channels]``, or in the order of ``NCHW``, of float16, bfloat16, float32 or
            float64.
        filter: ``[rows, columns, in_channels, multiplier]``, of the same dtype.
        strides: steps of the window in pixels: a list of one number per axis of ``data_format``.
        padding: ``"SAME"`` or ``"VALID"``.
        rate: dilations of height and width, two integers; None: 1.
        name: name scope, and name of the operation.
        data_format: ``"NHWC"`` or ``"NCHW"``; None: ``"NHWC"``.
        dilations: newer name of ``rate``.

    Returns:
        A tensor of the dtype of ``input``: ``[batch, out_height, out_width, in_channels * multiplier]``, or in the
        order of ``NCHW``.

    Raises:
        TypeError: the dtype is not supported, or ``strides`` is not a list.
        ValueError: the shapes do not match, or a rate is not positive.
        UnimplementedError: at run time, ``NCHW`` on a CPU.
    """
    with name_scope(name, "depthwise", [input, filter]) as scope:
        input = convert_to_tensor(input, name="tensor_in")
        filter = convert_to_tensor(filter, name="filter_in")
        rates = deprecated_argument_lookup("dilations", dilations, "rate", rate)
        return _dilated(input, filter, strides, padding, data_format, rates, scope)


def _dilated(
    images: TensorLike,
    filter: TensorLike,
    strides: Any,
    padding: Any,
    data_format: str | None,
    rates: Any,
    name: str,
) -> Tensor:
    """Return a depthwise convolution with dilations."""
    return with_space_to_batch(
        images,
        filter_shape=reshaping.shape(filter),
        dilation_rate=[1, 1] if rates is None else rates,
        padding=padding,
        data_format=data_format,
        op=lambda some, _, inner: depthwise_conv2d_native(
            some, filter, strides, inner, data_format, name=name
        ),
    )


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: IntsLike,
    padding: str,
    rate: TensorLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Return a depthwise convolution followed by a 1x1 convolution that mixes the channels.

    Args:
        input: ``[batch, height, width, in_channels]``, or in the order of ``NCHW``, of float16, bfloat16, float32 or
            float64.
        depthwise_filter: ``[rows, columns, in_channels, multiplier]``, of the same dtype.
        pointwise_filter: ``[1, 1, in_channels * multiplier, out_channels]``, of the same dtype.
        strides: steps of the depthwise window in pixels: a list of one number per axis of ``data_format``.
        padding: ``"SAME"`` or ``"VALID"``, for the depthwise convolution.
        rate: dilations of height and width, two integers; None: 1.
        name: name of the operation.
        data_format: ``"NHWC"`` or ``"NCHW"``; None: ``"NHWC"``.
        dilations: newer name of ``rate``.

    Returns:
        A tensor of the dtype of ``input``: ``[batch, out_height, out_width, out_channels]``, or in the order of
            ``NCHW``.

    Raises:
        TypeError: the dtype is not supported, or ``strides`` is not a list.
        ValueError: the shapes do not match, or a rate is not positive.
        UnimplementedError: at run time, ``NCHW`` on a CPU.
    """
    values = [input, depthwise_filter, pointwise_filter]
    with name_scope(name, "separable_conv2d", values) as scope:
        input = convert_to_tensor(input, name="tensor_in")
        depthwise_filter = convert_to_tensor(depthwise_filter, name="depthwise_filter")
        pointwise_filter = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        rates = deprecated_argument_lookup("dilations", dilations, "rate", rate)
        deep = _dilated(input, depthwise_filter, strides, padding, data_format, rates, "depthwise")
        return conv2d(deep, pointwise_filter, [1, 1, 1, 1], "VALID", data_format=data_format, name=scope)


@shape_function("DepthwiseConv2dNative")
def _depthwise_shape(op: Operation) -> list[TensorShape]:
    images = require_rank(op.inputs[0].shape, 4)
    rows, columns, deep, multiplier = require_rank(op.inputs[1].shape, 4).sizes or (None,) * 4
    channels = channels_of(images, format_of(op.attrs))
    if channels is not None and deep is not None and channels != deep:
        raise ValueError(f"Dimensions must be equal, but are {channels} and {deep}")
    depth = deep if channels is None else channels
    filters = None if depth is None or multiplier is None else depth * multiplier
    return [image_shape(op, images, rows, columns, filters)]


@compute("DepthwiseConv2dNative", fresh=True)
def _depthwise(xp: ArrayModule, images: Array, filter: Array, *, ctx: KernelContext) -> Array:
    require_nhwc_on_cpu(ctx, "DepthwiseConv2dNative")
    data_format = format_of(ctx.op.attrs)
    window = window_of(ctx.op.attrs, filter.shape[0], filter.shape[1])
    return from_nhwc(xp, depthwise(xp, to_nhwc(images, data_format), filter, window), data_format)


@compute("DepthwiseConv2dNativeBackpropInput", fresh=True)
def _depthwise_input(
    xp: ArrayModule, input_sizes: Array, filter: Array, grad: Array, *, ctx: KernelContext
) -> Array:
    data_format = format_of(ctx.op.attrs)
    shape, grad = image_sizes(input_sizes, data_format), to_nhwc(grad, data_format)
    window = window_of(ctx.op.attrs, filter.shape[0], filter.shape[1])
    return from_nhwc(xp, depthwise_images_gradient(xp, shape, filter, grad, window), data_format)


@compute("DepthwiseConv2dNativeBackpropFilter", fresh=True)
def _depthwise_filter(
    xp: ArrayModule, images: Array, filter_sizes: Array, grad: Array, *, ctx: KernelContext
) -> Array:
    data_format = format_of(ctx.op.attrs)
    shape = tuple(int(size) for size in filter_sizes)
    grad = to_nhwc(grad, data_format)
    window = window_of(ctx.op.attrs, shape[0], shape[1])
    return depthwise_filter_gradient(xp, to_nhwc(images, data_format), shape, grad, window)


@gradient("DepthwiseConv2dNative")
def _depthwise_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    images, filter = op.inputs
    attrs = {name: op.attrs[name] for name in _DEPTHWISE_ATTRS}
    sizes = shape_tensor(images)
    first = new(
        "DepthwiseConv2dNativeBackpropInput", input_sizes=sizes, filter=filter, out_backprop=grad, **attrs
    )
    sizes = shape_tensor(filter)
    return [
        first,
        new(
            "DepthwiseConv2dNativeBackpropFilter",
            input=images,
            filter_sizes=sizes,
            out_backprop=grad,
            **attrs,
        ),
    ]


@gradient("DepthwiseConv2dNativeBackpropInput")
def _depthwise_images_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    _, filter, out = op.inputs
    attrs = {name: op.attrs[name] for name in _DEPTHWISE_ATTRS}
    sizes = shape_tensor(filter)
    back = new(
        "DepthwiseConv2dNativeBackpropFilter", input=grad, filter_sizes=sizes, out_backprop=out, **attrs
    )
    return [None, back, new("DepthwiseConv2dNative", input=grad, filter=filter, **attrs)]


@gradient("DepthwiseConv2dNativeBackpropFilter")
def _depthwise_filter_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    images, _, out = op.inputs
    attrs = {name: op.attrs[name] for name in _DEPTHWISE_ATTRS}
    sizes = shape_tensor(images)
    back = new(
        "DepthwiseConv2dNativeBackpropInput", input_sizes=sizes, filter=grad, out_backprop=out, **attrs
    )
    return [back, None, new("DepthwiseConv2dNative", input=images, filter=grad, **attrs)]
