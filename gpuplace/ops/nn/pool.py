"""Poolings and their gradients.

Source: tensorflow/core/ops/nn_ops.cc, core/kernels/maxpooling_op.cc, avgpooling_op.cc and
tensorflow/python/ops/nn_ops.py, nn_grad.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.graph.constant_value import constant_value_as_shape
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.nn.conv import channels_of, four, image_sizes
from gpuplace.ops.nn.pool_arithmetic import at_largest, largest, largest_gradient, means, means_gradient
from gpuplace.ops.nn.windows import (
    Window,
    format_of,
    from_nhwc,
    image_shape,
    spatial,
    to_nhwc,
    window_of,
)
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import new, shape_tensor
from gpuplace.shapes import TensorShape
from gpuplace.typing import IntsLike, TensorLike

__all__ = ["avg_pool", "avg_pool2d", "max_pool", "max_pool2d"]

_ATTRS = ("ksize", "strides", "padding", "data_format")


def max_pool(
    value: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """The largest element of each window, channel by channel.

    >>> import gpuplace as tf
    >>> tf.nn.max_pool(tf.zeros([8, 32, 32, 3]), ksize=2, strides=2, padding="VALID").shape
    TensorShape([Dimension(8), Dimension(16), Dimension(16), Dimension(3)])

    Args:
        value: ``[batch, height, width, channels]``, or ``[batch, channels, height, width]`` for ``NCHW``, of float16,
            bfloat16, float32, float64, int8, int16, int32, int64, uint8, uint16 or qint8.
        ksize: size of the window in pixels: one number for both directions, two for height and width, or four, one for
            each axis of ``data_format``, of which those of height and width are used: channels are not pooled.
        strides: how far the window moves, in pixels, written as ``ksize``.
        padding: ``"SAME"`` (the border is left out of the windows) or ``"VALID"`` (no border).
        data_format: ``"NHWC"`` or ``"NCHW"``; None: ``"NHWC"``.
        name: name of the operation.
        input: the newer name of ``value``; wins where both are given.

    Returns:
        A tensor of the dtype of ``value``: ``[batch, out_height, out_width, channels]``, or in the order of ``NCHW``.

    Raises:
        TypeError: ``value`` has another dtype.
        ValueError: the rank is not 4, the window does not fit, or a list has a wrong length.
    """
    return _pool("MaxPool", value if input is None else input, ksize, strides, padding, data_format, name)


def avg_pool(
    value: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """The mean of each window, channel by channel; pixels of the border do not count.

    Args:
        value: ``[batch, height, width, channels]``, or ``[batch, channels, height, width]`` for ``NCHW``, of float16,
            bfloat16, float32 or float64.
        ksize: size of the window in pixels: one number for both directions, two for height and width, or four, one for
            each axis of ``data_format``, of which those of height and width are used: channels are not pooled.
        strides: how far the window moves, in pixels, written as ``ksize``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"`` or ``"NCHW"``; None: ``"NHWC"``.
        name: name of the operation.
        input: the newer name of ``value``; wins where both are given.

    Returns:
        A tensor of the dtype of ``value``: ``[batch, out_height, out_width, channels]``, or in the order of ``NCHW``.

    Raises:
        TypeError: ``value`` has another dtype.
        ValueError: the rank is not 4, the window does not fit, or a list has a wrong length.
    """
    return _pool("AvgPool", value if input is None else input, ksize, strides, padding, data_format, name)


def _pool(
    op_type: str,
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None,
    name: str | None,
) -> Tensor:
    data_format = data_format or "NHWC"
    with name_scope(name, op_type, [value]) as scope:
        key = "input" if op_type == "MaxPool" else "value"
        arguments: dict[str, Any] = {key: convert_to_tensor(value, name=key)}
        for label, given in (("ksize", ksize), ("strides", strides)):
            arguments[label] = four(given, data_format, label)
        return new(op_type, scope, **arguments, padding=padding, data_format=data_format)


def max_pool2d(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """``max_pool`` under the name that it has in TensorFlow 2.

    Args:
        input: ``[batch, height, width, channels]``, or in the order of ``NCHW``; dtypes as for ``max_pool``.
        ksize: size of the window in pixels: one, two or four numbers.
        strides: how far the window moves, in pixels, written as ``ksize``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        name: name of the operation.

    Returns:
        A tensor of the dtype of ``input``: ``[batch, out_height, out_width, channels]``, or in the order of ``NCHW``.

    Raises:
        TypeError: ``input`` has another dtype.
        ValueError: the rank is not 4, the window does not fit, or a list has a wrong length.
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
    """``avg_pool`` under the name that it has in TensorFlow 2.

    Args:
        input: ``[batch, height, width, channels]``, or in the order of ``NCHW``, of float16, bfloat16, float32 or
            float64.
        ksize: size of the window in pixels: one, two or four numbers.
        strides: how far the window moves, in pixels, written as ``ksize``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        name: name of the operation.

    Returns:
        A tensor of the dtype of ``input``: ``[batch, out_height, out_width, channels]``, or in the order of ``NCHW``.

    Raises:
        TypeError: ``input`` has another dtype.
        ValueError: the rank is not 4, the window does not fit, or a list has a wrong length.
    """
    return avg_pool(input, ksize, strides, padding, data_format, name)


@shape_function("MaxPool", "AvgPool")
def _pool_shape(op: Operation) -> list[TensorShape]:
    images = require_rank(op.inputs[0].shape, 4)
    data_format = format_of(op.attrs)
    rows, columns = spatial(op.attrs["ksize"], data_format)
    return [image_shape(op, images, rows, columns, channels_of(images, data_format))]


@shape_function("MaxPoolGrad")
def _max_pool_grad_shape(op: Operation) -> list[TensorShape]:
    return [op.inputs[0].shape]


@shape_function("MaxPoolGradGrad")
def _max_pool_grad_grad_shape(op: Operation) -> list[TensorShape]:
    return [op.inputs[1].shape]


@shape_function("AvgPoolGrad")
def _avg_pool_grad_shape(op: Operation) -> list[TensorShape]:
    return [require_rank(constant_value_as_shape(op.inputs[0]), 4)]


def _window(attrs: Mapping[str, Any]) -> tuple[Window, str]:
    data_format = format_of(attrs)
    rows, columns = spatial(attrs["ksize"], data_format)
    return window_of(attrs, rows, columns), data_format


@binder("MaxPool", fresh=True)
def _max_pool(xp: Any, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    window, data_format = _window(attrs)

    def run(images: Any) -> Any:
        return from_nhwc(xp, largest(xp, to_nhwc(images, data_format), window), data_format)

    return run


@binder("MaxPoolGrad", fresh=True)
def _max_pool_grad(xp: Any, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    window, data_format = _window(attrs)

    def run(images: Any, pooled: Any, grad: Any) -> Any:
        images, pooled, grad = (to_nhwc(array, data_format) for array in (images, pooled, grad))
        found = largest_gradient(xp, images, pooled, grad, window)
        return from_nhwc(xp, found, data_format)

    return run


@binder("MaxPoolGradGrad", fresh=True)
def _max_pool_grad_grad(xp: Any, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    window, data_format = _window(attrs)

    def run(images: Any, pooled: Any, grad: Any) -> Any:
        images, pooled, grad = (to_nhwc(array, data_format) for array in (images, pooled, grad))
        found = at_largest(xp, images, pooled, grad, window)
        return from_nhwc(xp, found, data_format)

    return run


@binder("AvgPool", fresh=True)
def _avg_pool(xp: Any, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    window, data_format = _window(attrs)

    def run(images: Any) -> Any:
        return from_nhwc(xp, means(xp, to_nhwc(images, data_format), window), data_format)

    return run


@binder("AvgPoolGrad", fresh=True)
def _avg_pool_grad(xp: Any, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    window, data_format = _window(attrs)

    def run(sizes: Any, grad: Any) -> Any:
        shape = image_sizes(sizes, data_format)
        return from_nhwc(xp, means_gradient(xp, shape, to_nhwc(grad, data_format), window), data_format)

    return run


@gradient("MaxPool")
def _max_pool_gradient(op: Operation, grad: Tensor) -> Tensor:
    attrs = {name: op.attrs[name] for name in _ATTRS}
    return new("MaxPoolGrad", orig_input=op.inputs[0], orig_output=op.outputs[0], grad=grad, **attrs)


@gradient("MaxPoolGrad")
def _max_pool_grad_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    images, pooled, _ = op.inputs
    attrs = {name: op.attrs[name] for name in _ATTRS}
    return [
        constant.zeros(reshaping.shape(images), images.dtype),
        constant.zeros(reshaping.shape(pooled), pooled.dtype),
        new("MaxPoolGradGrad", orig_input=images, orig_output=pooled, grad=grad, **attrs),
    ]


@gradient("AvgPool")
def _avg_pool_gradient(op: Operation, grad: Tensor) -> Tensor:
    attrs = {name: op.attrs[name] for name in _ATTRS}
    return new("AvgPoolGrad", orig_input_shape=shape_tensor(op.inputs[0]), grad=grad, **attrs)


@gradient("AvgPoolGrad")
def _avg_pool_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    attrs = {name: op.attrs[name] for name in _ATTRS}
    return [None, new("AvgPool", value=grad, **attrs)]
