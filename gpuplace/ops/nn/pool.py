"""Pooling ops and their gradients.

Source: tensorflow/core/ops/nn_ops.cc, core/kernels/maxpooling_op.cc, avgpooling_op.cc and
tensorflow/python/ops/nn_ops.py, nn_grad.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from gpuplace.errors import InvalidArgumentError, UnimplementedError
from gpuplace.graph.constant_value import constant_value, constant_value_as_shape
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, binder
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.nn.conv import channels_of, four, image_sizes
from gpuplace.ops.nn.pool_arithmetic import (
    at_largest,
    depthwise_largest,
    largest,
    largest_gradient,
    means,
    means_gradient,
)
from gpuplace.ops.nn.windows import (
    Window,
    format_of,
    from_nhwc,
    image_shape,
    other_axes,
    output_size,
    spatial,
    to_nhwc,
    window_of,
)
from gpuplace.ops.shape_rules import merge_shapes, require_rank
from gpuplace.ops.support import new, shape_tensor
from gpuplace.ops.variants import variant_of
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule, IntsLike, TensorLike

__all__ = ["avg_pool", "avg_pool2d", "max_pool", "max_pool2d"]

_ATTRS = ("ksize", "strides", "padding", "data_format")


def _pool(
    value: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    *,
    op_type: str = "",
) -> Tensor:
    data_format = data_format or "NHWC"
    value = deprecated_argument_lookup("input", input, "value", value)
    with name_scope(name, op_type, [value]) as scope:
        key = "input" if op_type == "MaxPool" else "value"
        arguments: dict[str, Any] = {key: convert_to_tensor(value, name=key)}
        for label, values in (("ksize", ksize), ("strides", strides)):
            arguments[label] = four(values, data_format, label)
        return new(op_type, scope, **arguments, padding=padding, data_format=data_format)


@variant_of(_pool, op_type="MaxPool")
def max_pool() -> None:
    """Return the largest element of each window, for each channel or over neighboring channels.

    >>> import gpuplace as tf
    >>> tf.nn.max_pool(tf.zeros([8, 32, 32, 3]), ksize=2, strides=2, padding="VALID").shape
    TensorShape([Dimension(8), Dimension(16), Dimension(16), Dimension(3)])

    Args:
        value: ``[batch, height, width, channels]``, or ``[batch, channels, height, width]`` for ``NCHW``, of float16,
            bfloat16, float32, float64, int8, int16, int32, int64, uint8, uint16 or qint8.
        ksize: size of the window in pixels: one number for both directions, two for height and width, or four, one for
            each axis of ``data_format``. A window over channels must be one pixel large, and runs on a CPU only.
        strides: steps of the window in pixels, in the form of ``ksize``. A window over channels moves by its own depth,
            and strides along height and width then have no effect.
        padding: ``"SAME"`` (the border is ignored) or ``"VALID"`` (no border).
        data_format: ``"NHWC"`` or ``"NCHW"``; None: ``"NHWC"``.
        name: name of the operation.
        input: newer name of ``value``.

    Returns:
        A tensor of the dtype of ``value``: ``[batch, out_height, out_width, channels]``, or in the order of ``NCHW``.

    Raises:
        TypeError: ``value`` has an unsupported dtype.
        ValueError: the rank is not 4, the window does not fit, or a list has the wrong length.
        UnimplementedError: at run time, the window or strides span the batch, pixels and channels at once, channels on
            a GPU, or channels in windows that overlap or do not divide them.
    """


@variant_of(_pool, op_type="AvgPool")
def avg_pool() -> None:
    """Return the mean of each window, channel by channel; pixels of the border do not count.

    Args:
        value: ``[batch, height, width, channels]``, or ``[batch, channels, height, width]`` for ``NCHW``, of float16,
            bfloat16, float32 or float64.
        ksize: size of the window in pixels: one number for both directions, two for height and width, or four, one for
            each axis of ``data_format``, with 1 for batch and channels.
        strides: steps of the window in pixels, in the form of ``ksize``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"`` or ``"NCHW"``; None: ``"NHWC"``.
        name: name of the operation.
        input: newer name of ``value``.

    Returns:
        A tensor of the dtype of ``value``: ``[batch, out_height, out_width, channels]``, or in the order of ``NCHW``.

    Raises:
        TypeError: ``value`` has an unsupported dtype.
        ValueError: the rank is not 4, the window does not fit, or a list has the wrong length.
        UnimplementedError: at run time, the window spans batch or channels, or the strides span the batch.
    """


def max_pool2d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """``max_pool`` under its TensorFlow 2 name.

    Args:
        input: ``[batch, height, width, channels]``, or in the order of ``NCHW``; dtypes as for ``max_pool``.
        ksize: size of the window in pixels: one, two or four numbers.
        strides: steps of the window in pixels, in the form of ``ksize``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        name: name of the operation.

    Returns:
        A tensor of the dtype of ``input``: ``[batch, out_height, out_width, channels]``, or in the order of ``NCHW``.

    Raises:
        TypeError: ``input`` has an unsupported dtype.
        ValueError: the rank is not 4, the window does not fit, or a list has the wrong length.
    """
    return max_pool(input, ksize, strides, padding, data_format, name)


def avg_pool2d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """``avg_pool`` under its TensorFlow 2 name.

    Args:
        input: ``[batch, height, width, channels]``, or in the order of ``NCHW``, of float16, bfloat16, float32 or
            float64.
        ksize: size of the window in pixels: one, two or four numbers.
        strides: steps of the window in pixels, in the form of ``ksize``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        name: name of the operation.

    Returns:
        A tensor of the dtype of ``input``: ``[batch, out_height, out_width, channels]``, or in the order of ``NCHW``.

    Raises:
        TypeError: ``input`` has an unsupported dtype.
        ValueError: the rank is not 4, the window does not fit, or a list has the wrong length.
    """
    return avg_pool(input, ksize, strides, padding, data_format, name)


@shape_function("AvgPool")
def _avg_pool_shape(op: Operation) -> list[TensorShape]:
    images = require_rank(op.inputs[0].shape, 4)
    data_format = format_of(op.attrs)
    rows, columns = spatial(op.attrs["ksize"], data_format)
    return [image_shape(op, images, rows, columns, channels_of(images, data_format))]


@shape_function("MaxPool")
def _max_pool_shape(op: Operation) -> list[TensorShape]:
    """Return the shape as for ``AvgPool``, but unknown where TensorFlow's kernel and shape function disagree."""
    images = require_rank(op.inputs[0].shape, 4)
    data_format = format_of(op.attrs)
    rows, columns = spatial(op.attrs["ksize"], data_format)
    _, depth = other_axes(op.attrs["ksize"], data_format)
    _, stride = other_axes(op.attrs["strides"], data_format)
    channels, _, _ = output_size(
        channels_of(images, data_format), depth, 1, stride, op.attrs["padding"].decode(), (0, 0)
    )
    inferred = image_shape(op, images, rows, columns, channels if depth > 1 or stride == 1 else None)
    if depth > 1 and (rows, columns) == (1, 1) and spatial(op.attrs["strides"], data_format) != (1, 1):
        batch, channels = other_axes(inferred.as_list(), data_format)
        sizes = (batch, channels, None, None) if data_format == "NCHW" else (batch, None, None, channels)
        return [TensorShape.of(sizes)]
    return [inferred]


@shape_function("MaxPoolV2")
def _max_pool_v2_shape(op: Operation) -> list[TensorShape]:
    images = require_rank(op.inputs[0].shape, 4)
    settings = [constant_value(tensor) for tensor in op.inputs[1:]]
    if any(value is None for value in settings):
        return [TensorShape.of((images.as_list()[0], None, None, None))]
    with_window: Any = SimpleNamespace(attrs=_with_window(op.attrs, *settings), inputs=op.inputs)
    return list(_max_pool_shape(with_window))


@shape_function("MaxPoolGradV2", "MaxPoolGrad")
def _max_pool_grad_shape(op: Operation) -> list[TensorShape]:
    return [require_rank(op.inputs[0].shape, 4)]


@shape_function("MaxPoolGradGrad")
def _max_pool_grad_grad_shape(op: Operation) -> list[TensorShape]:
    merge_shapes(op.inputs[0].shape, op.inputs[2].shape)
    return [merge_shapes(_max_pool_shape(op)[0], op.inputs[1].shape)]


@shape_function("MaxPoolGradGradV2")
def _max_pool_grad_grad_v2_shape(op: Operation) -> list[TensorShape]:
    merge_shapes(op.inputs[0].shape, op.inputs[2].shape)
    window: Any = SimpleNamespace(attrs=op.attrs, inputs=(op.inputs[0], *op.inputs[3:]))
    return [merge_shapes(_max_pool_v2_shape(window)[0], op.inputs[1].shape)]


@shape_function("AvgPoolGrad")
def _avg_pool_grad_shape(op: Operation) -> list[TensorShape]:
    return [require_rank(constant_value_as_shape(op.inputs[0]), 4)]


def _window(attrs: Mapping[str, Any]) -> tuple[Window, str]:
    data_format = format_of(attrs)
    rows, columns = spatial(attrs["ksize"], data_format)
    return window_of(attrs, rows, columns), data_format


class _Axes:
    """A pooling window along the axes that are not spatial; rejects windows that TensorFlow's kernels do not support.

    Args:
        attrs: attributes of the node.

    Raises:
        UnimplementedError: the window or its stride spans the batch.
    """

    def __init__(self, attrs: Mapping[str, Any]) -> None:
        data_format = format_of(attrs)
        batch, self.depth = other_axes(attrs["ksize"], data_format)
        batch_stride, self.stride = other_axes(attrs["strides"], data_format)
        if (batch, batch_stride) != (1, 1):
            raise _unimplemented("Pooling is not yet supported on the batch dimension.", _ONE_ALONG + "batch")
        self._is_deep = (self.depth, self.stride) != (1, 1)
        self._is_wide = self.depth > 1 and spatial(attrs["ksize"], data_format) != (1, 1)

    def check_gradient(self, name: str, channels: int, device_type: str) -> None:
        """Raise UnimplementedError if a device type's gradient kernels do not support these channels and window."""
        if device_type != "CPU":
            self.check(channels, device_type)
        elif self._is_deep:
            raise _unimplemented(
                f"{name} is not yet supported on the depth dimension.", _ONE_ALONG + "channels"
            )

    def check(self, channels: int, device_type: str) -> None:
        """Raise UnimplementedError if a device type's pooling kernels do not support these channels and window."""
        if self._is_wide:
            raise _unimplemented(
                "MaxPooling supports exactly one of pooling across depth or pooling across width/height.",
                "use two pooling ops, one after the other",
            )
        if self.depth == 1:
            return
        if channels % self.depth:
            raise _unimplemented(
                "Depthwise max pooling requires the depth window to evenly divide the input depth",
                f"use a window that divides the {channels} channels evenly",
            )
        if self.depth != self.stride:
            raise _unimplemented(
                "Depthwise max pooling requires the depth window to equal the depth stride",
                f"use a stride of {self.depth} along the channels",
            )
        if device_type != "CPU":
            raise _unimplemented(
                "Depthwise max pooling is currently only implemented for CPU devices.",
                "use tf.device('/cpu:0'), or tf.reduce_max on a reshaped tensor",
            )


_ONE_ALONG = "use a window and stride of 1 along the "


def _unimplemented(sentence: str, hint: str) -> UnimplementedError:
    return UnimplementedError.of(sentence, hint=hint)


@binder("MaxPool", fresh=True)
def _max_pool(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[..., Any]:
    window, data_format = _window(attrs)
    axes = _Axes(attrs)

    def run(images: Array) -> Array:
        images = to_nhwc(images, data_format)
        axes.check(images.shape[3], ctx.device_type)
        if axes.depth > 1:
            return from_nhwc(xp, depthwise_largest(xp, images, axes.depth), data_format)
        return from_nhwc(xp, largest(xp, images, window), data_format)

    return run


@binder("MaxPoolGrad", fresh=True)
def _max_pool_grad(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[..., Any]:
    window, data_format = _window(attrs)
    axes = _Axes(attrs)

    def run(images: Array, pooled: Array, grad: Array) -> Array:
        images, pooled, grad = (to_nhwc(array, data_format) for array in (images, pooled, grad))
        axes.check_gradient("MaxPoolingGrad", images.shape[3], ctx.device_type)
        result = largest_gradient(xp, images, pooled, grad, window)
        return from_nhwc(xp, result, data_format)

    return run


@binder("MaxPoolGradGrad", fresh=True)
def _max_pool_grad_grad(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[..., Any]:
    window, data_format = _window(attrs)
    axes = _Axes(attrs)

    def run(images: Array, pooled: Array, grad: Array) -> Array:
        images, pooled, grad = (to_nhwc(array, data_format) for array in (images, pooled, grad))
        axes.check_gradient("MaxPoolingGradGrad", images.shape[3], ctx.device_type)
        result = at_largest(xp, images, pooled, grad, window)
        return from_nhwc(xp, result, data_format)

    return run


# The V2 ops, whose window and strides are tensors


def _with_window(attrs: Mapping[str, Any], ksize: Any, strides: Any) -> dict[str, Any]:
    """Return the attributes of the corresponding op whose window and strides are attributes.

    Raises:
        InvalidArgumentError: the window or strides do not have four numbers.
    """
    for label, values in (("window ksize", ksize), ("window stride", strides)):
        if values.shape != (4,):
            raise InvalidArgumentError.of(f"Sliding {label} field must specify 4 dimensions")
    return {**attrs, "ksize": [int(size) for size in ksize], "strides": [int(size) for size in strides]}


def _with_tensors(
    bind: Any, xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, ctx: KernelContext
) -> Any:
    """Return a kernel whose last two inputs are window and strides, which the first version has as attributes."""

    def run(*arguments: Any) -> Array:
        *arrays, ksize, strides = arguments
        return bind(xp, _with_window(attrs, ksize, strides), op, ctx=ctx)(*arrays)

    return run


@binder("MaxPoolV2", fresh=True)
def _max_pool_v2(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext) -> Any:
    return _with_tensors(_max_pool, xp, attrs, op, ctx)


@binder("MaxPoolGradV2", fresh=True)
def _max_pool_grad_v2(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext) -> Any:
    return _with_tensors(_max_pool_grad, xp, attrs, op, ctx)


@binder("MaxPoolGradGradV2", fresh=True)
def _max_pool_grad_grad_v2(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Any:
    return _with_tensors(_max_pool_grad_grad, xp, attrs, op, ctx)


@binder("AvgPool", fresh=True)
def _avg_pool(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[..., Any]:
    window, data_format = _window(attrs)
    axes = _Axes(attrs)

    def run(images: Any) -> Array:
        images = to_nhwc(images, data_format)
        _check_mean(axes, images.shape[3], ctx.device_type)
        return from_nhwc(xp, means(xp, images, window), data_format)

    return run


@binder("AvgPoolGrad", fresh=True)
def _avg_pool_grad(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[..., Any]:
    window, data_format = _window(attrs)
    axes = _Axes(attrs)

    def run(sizes: Array, grad: Array) -> Array:
        shape = image_sizes(sizes, data_format)
        _check_mean(axes, shape[3], ctx.device_type)
        return from_nhwc(xp, means_gradient(xp, shape, to_nhwc(grad, data_format), window), data_format)

    return run


def _check_mean(axes: _Axes, channels: int, device_type: str) -> None:
    """Raise UnimplementedError for windows over which a mean is not supported."""
    axes.check(channels, device_type)
    if axes.depth > 1:
        raise _unimplemented(
            "Non-spatial pooling is not yet supported. Volunteers? :)", _ONE_ALONG + "channels"
        )


@gradient("MaxPool")
def _max_pool_gradient(op: Operation, grad: Tensor) -> Tensor:
    attrs = {name: op.attrs[name] for name in _ATTRS}
    return new("MaxPoolGrad", orig_input=op.inputs[0], orig_output=op.outputs[0], grad=grad, **attrs)


@gradient("MaxPoolV2")
def _max_pool_v2_gradient(op: Operation, grad: Tensor) -> list[Any]:
    images, ksize, strides = op.inputs
    attrs = {name: op.attrs[name] for name in ("padding", "data_format")}
    gradients = new(
        "MaxPoolGradV2",
        orig_input=images,
        orig_output=op.outputs[0],
        grad=grad,
        ksize=ksize,
        strides=strides,
        **attrs,
    )
    return [gradients, None, None]


@gradient("MaxPoolGradV2")
def _max_pool_grad_v2_gradient(op: Operation, grad: Tensor) -> list[Any]:
    images, pooled, _, ksize, strides = op.inputs
    attrs = {name: op.attrs[name] for name in ("padding", "data_format")}
    return [
        constant.zeros(reshaping.shape(images), images.dtype),
        constant.zeros(reshaping.shape(pooled), pooled.dtype),
        new(
            "MaxPoolGradGradV2",
            orig_input=images,
            orig_output=pooled,
            grad=grad,
            ksize=ksize,
            strides=strides,
            **attrs,
        ),
        None,
        None,
    ]


@gradient("MaxPoolGrad")
def _max_pool_grad_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    images, pooled, _ = op.inputs
    attrs = {name: op.attrs[name] for name in _ATTRS}
    return [
        constant.zeros(reshaping.shape(images), images.dtype),
        constant.zeros(reshaping.shape(pooled), pooled.dtype),
        new("MaxPoolGradGrad", orig_input=images, orig_output=pooled, grad=grad, **attrs),
    ]


@gradient("MaxPoolGradGrad")
def _max_pool_grad_grad_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    images, pooled, _ = op.inputs
    attrs = {name: op.attrs[name] for name in _ATTRS}
    return [
        constant.zeros(reshaping.shape(images), images.dtype),
        constant.zeros(reshaping.shape(pooled), pooled.dtype),
        new("MaxPoolGrad", orig_input=images, orig_output=pooled, grad=grad, **attrs),
    ]


@gradient("AvgPool")
def _avg_pool_gradient(op: Operation, grad: Tensor) -> Tensor:
    attrs = {name: op.attrs[name] for name in _ATTRS}
    return new("AvgPoolGrad", orig_input_shape=shape_tensor(op.inputs[0]), grad=grad, **attrs)


@gradient("AvgPoolGrad")
def _avg_pool_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    stopped = new("StopGradient", input=op.inputs[0])
    attrs = {name: op.attrs[name] for name in _ATTRS}
    return [stopped, new("AvgPool", value=grad, **attrs)]
