"""Convolution and pooling over three axes, and the ops for their gradients.

Source: tensorflow/core/ops/nn_ops.cc, core/kernels/conv_ops_3d.cc, conv_grad_ops_3d.cc, pooling_ops_3d.cc and
tensorflow/python/ops/nn_ops.py, nn_grad.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import InvalidArgumentError, UnimplementedError
from gpuplace.graph.constant_value import constant_value_as_shape
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.nn.conv import for_axes
from gpuplace.ops.nn.volume_arithmetic import (
    Block,
    at_largest,
    convolve,
    filter_gradient,
    largest,
    largest_gradient,
    means,
    means_gradient,
    volumes_gradient,
)
from gpuplace.ops.nn.windows import output_size
from gpuplace.ops.shape_rules import merge_shapes, require_rank
from gpuplace.ops.support import new, shape_tensor
from gpuplace.ops.variants import variant_of
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, ArrayModule, IntsLike, TensorLike

__all__ = [
    "avg_pool3d",
    "conv3d",
    "conv3d_backprop_filter",
    "conv3d_backprop_filter_v2",
    "conv3d_transpose",
    "max_pool3d",
]

_CONV_ATTRS = ("strides", "padding", "data_format", "dilations")
_POOL_ATTRS = ("ksize", "strides", "padding", "data_format")


# Functions


def conv3d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: IntsLike | None = None,
    padding: str | None = None,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: TensorLike | None = None,
) -> Tensor:
    """Convolve volumes with a filter.

    >>> import gpuplace as tf
    >>> tf.nn.conv3d(tf.zeros([2, 8, 16, 16, 3]), tf.zeros([3, 3, 3, 3, 4]), [1, 2, 2, 2, 1], "SAME").shape
    TensorShape([Dimension(2), Dimension(4), Dimension(8), Dimension(8), Dimension(4)])

    Args:
        input: ``[batch, planes, rows, columns, in_channels]``, or the channels second for ``NCDHW``, of float16,
            bfloat16, float32 or float64.
        filter: ``[planes, rows, columns, in_channels, out_channels]``, of the same dtype.
        strides: steps of the window: five numbers, one for each axis of ``data_format``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NDHWC"`` or ``"NCDHW"``.
        dilations: spacing of the window's elements, in the form of ``strides``; only 1 on a CPU.
        name: name of the operation.
        filters: newer name of ``filter``.

    Returns:
        A tensor of the dtype of ``input``: ``[batch, out_planes, out_rows, out_columns, out_channels]``, or in the
            order of ``NCDHW``.

    Raises:
        TypeError: a dtype is not supported, the dtypes differ, or ``strides`` is not a list.
        ValueError: the shapes do not match each other or the window, or a list has the wrong length.
        InvalidArgumentError: at run time, ``NCDHW`` or dilations on a CPU.
    """
    return new(
        "Conv3D",
        name,
        input=input,
        filter=deprecated_argument_lookup("filters", filters, "filter", filter),
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=list(dilations),
    )


def conv3d_transpose(
    value: TensorLike | None = None,
    filter: TensorLike | None = None,
    output_shape: TensorLike | None = None,
    strides: IntsLike | None = None,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: TensorLike | None = None,
    filters: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Return the transpose of ``conv3d``, which upsamples volumes.

    Args:
        value: ``[batch, planes, rows, columns, in_channels]``, or the channels second for ``NCDHW``.
        filter: ``[planes, rows, columns, out_channels, in_channels]``, of the same dtype.
        output_shape: the shape of the result, five integers in the order of ``data_format``.
        strides: upsampling factors of the axes: one, three or five numbers.
        padding: ``"SAME"`` or ``"VALID"``, as in the transposed convolution.
        data_format: ``"NDHWC"`` or ``"NCDHW"``.
        name: name of the operation.
        input: newer name of ``value``.
        filters: newer name of ``filter``.
        dilations: spacing of the window's elements; None: 1.

    Returns:
        A tensor of the dtype of ``value`` and the shape ``output_shape``.

    Raises:
        TypeError: a dtype is not supported, or the dtypes differ.
        ValueError: the shapes do not match, or a list has the wrong length.
        InvalidArgumentError: at run time, a convolution of ``output_shape`` does not have the size of ``value``.
    """
    value = deprecated_argument_lookup("input", input, "value", value)
    filter = deprecated_argument_lookup("filters", filters, "filter", filter)
    with name_scope(name, "conv3d_transpose", [value, filter, output_shape]) as scope:
        return new(
            "Conv3DBackpropInputV2",
            scope,
            input_sizes=output_shape,
            filter=filter,
            out_backprop=value,
            strides=for_axes(strides, 3, data_format, "strides"),
            padding=padding,
            data_format=data_format,
            dilations=for_axes(dilations, 3, data_format, "dilations"),
        )


def conv3d_backprop_filter(
    input: TensorLike,
    filter_sizes: TensorLike,
    out_backprop: TensorLike,
    strides: IntsLike,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the gradient of a convolution of volumes with respect to its filter.

    Args:
        input: the convolution's input volumes.
        filter_sizes: the shape of the filter, five integers; int32.
        out_backprop: gradient of the convolution's output, in its shape and the dtype of ``input``.
        strides: steps of the window: five numbers, one for each axis of ``data_format``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NDHWC"`` or ``"NCDHW"``.
        dilations: spacing of the window's elements, in the form of ``strides``.
        name: name of the operation.

    Returns:
        A tensor of the dtype of ``input`` and the shape ``filter_sizes``.

    Raises:
        TypeError: a dtype is not supported, or the dtypes differ.
        ValueError: the shapes do not match, or a list has the wrong length.
    """
    return new(
        "Conv3DBackpropFilterV2",
        name,
        input=input,
        filter_sizes=filter_sizes,
        out_backprop=out_backprop,
        strides=strides,
        padding=padding,
        data_format=data_format,
        dilations=list(dilations),
    )


conv3d_backprop_filter_v2 = conv3d_backprop_filter


def _pool(
    input: TensorLike,
    ksize: IntsLike,
    strides: IntsLike,
    padding: str,
    data_format: str | None = "NDHWC",
    name: str | None = None,
    *,
    op_type: str = "",
) -> Tensor:
    layout = data_format or "NDHWC"
    with name_scope(name, op_type, [input]) as scope:
        return new(
            op_type,
            scope,
            input=convert_to_tensor(input, name="input"),
            ksize=for_axes(ksize, 3, layout, "ksize"),
            strides=for_axes(strides, 3, layout, "strides"),
            padding=padding,
            data_format=layout,
        )


@variant_of(_pool, op_type="MaxPool3D")
def max_pool3d() -> None:
    """Return the largest element of each window of volumes, channel by channel.

    Args:
        input: ``[batch, planes, rows, columns, channels]``, or the channels second for ``NCDHW``.
        ksize: size of the window: one, three or five numbers.
        strides: steps of the window, in the form of ``ksize``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NDHWC"`` or ``"NCDHW"``; None: ``"NDHWC"``.
        name: name of the operation.

    Returns:
        A tensor of the dtype of ``input``.

    Raises:
        TypeError: ``input`` has an unsupported dtype.
        ValueError: the rank is not 5, the window does not fit, or a list has the wrong length.
    """


@variant_of(_pool, op_type="AvgPool3D")
def avg_pool3d() -> None:
    """Return the mean of each window of volumes, channel by channel; elements beyond the border do not count.

    Args:
        input: ``[batch, planes, rows, columns, channels]``, or the channels second for ``NCDHW``.
        ksize: size of the window: one, three or five numbers.
        strides: steps of the window, in the form of ``ksize``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NDHWC"`` or ``"NCDHW"``; None: ``"NDHWC"``.
        name: name of the operation.

    Returns:
        A tensor of the dtype of ``input``.

    Raises:
        TypeError: ``input`` has an unsupported dtype.
        ValueError: the rank is not 5, the window does not fit, or a list has the wrong length.
    """


# Layouts and windows


def _format(op: Operation) -> str:
    data_format: str = op.attrs["data_format"].decode()
    return data_format


def _ndhwc(values: Any, layout: str) -> Any:
    """Return the items of a list in the order batch, three sizes, channels."""
    return (values[0], *values[2:], values[1]) if layout == "NCDHW" else tuple(values)


def _to_ndhwc(volumes: Array, layout: str) -> Array:
    return volumes.transpose(0, 2, 3, 4, 1) if layout == "NCDHW" else volumes


def _from_ndhwc(xp: ArrayModule, volumes: Array, layout: str) -> Array:
    return xp.ascontiguousarray(volumes.transpose(0, 4, 1, 2, 3)) if layout == "NCDHW" else volumes


def _block(op: Operation, taps: Any) -> Block:
    layout = _format(op)
    strides = _ndhwc(op.attrs["strides"], layout)[1:4]
    dilations = _ndhwc(op.attrs.get("dilations", (1,) * 5), layout)[1:4]
    return Block(tuple(taps), strides, dilations, op.attrs["padding"].decode())


def _pool_block(op: Operation) -> Block:
    return _block(op, _ndhwc(op.attrs["ksize"], _format(op))[1:4])


def _inferred(op: Operation, volumes: TensorShape, taps: Any, channels: int | None) -> TensorShape:
    layout = _format(op)
    sizes = _ndhwc(require_rank(volumes, 5).sizes, layout)
    strides = _ndhwc(op.attrs["strides"], layout)
    dilations = _ndhwc(op.attrs.get("dilations", (1,) * 5), layout)
    padding = op.attrs["padding"].decode()
    spatial = [
        output_size(sizes[axis], taps[axis - 1], dilations[axis], strides[axis], padding, (0, 0))[0]
        for axis in (1, 2, 3)
    ]
    shape = (sizes[0], channels, *spatial) if layout == "NCDHW" else (sizes[0], *spatial, channels)
    return TensorShape.of(shape)


def _check_lists(op: Operation, *names: str) -> None:
    for name in names:
        if len(op.attrs.get(name, (1,) * 5)) != 5:
            raise ValueError(f"{op.type} requires the {name} attribute to contain 5 values, but got: "
                             f"{len(op.attrs[name])}")  # fmt: skip


def _check_convolution(ctx: KernelContext) -> None:
    layout = _format(ctx.op)
    strides = _ndhwc(ctx.op.attrs["strides"], layout)
    dilations = _ndhwc(ctx.op.attrs["dilations"], layout)
    if (strides[0], strides[4]) != (1, 1):
        raise InvalidArgumentError.of(
            "Current implementation does not yet support strides in the batch and depth dimensions.",
            op=ctx.op,
        )
    if (dilations[0], dilations[4]) != (1, 1):
        raise InvalidArgumentError.of(
            "Current implementation does not yet support dilation rates in the batch and depth dimensions.",
            op=ctx.op,
        )
    if ctx.device_type != "CPU":
        return
    if layout != "NDHWC":
        raise InvalidArgumentError.of(
            "CPU implementation of Conv3D currently only supports the NHWC tensor format.",
            op=ctx.op,
            hint="use data_format='NDHWC', or place the node on a GPU",
        )
    if dilations != (1,) * 5:
        raise InvalidArgumentError.of(
            "CPU implementation of Conv3D currently only supports dilated rates of 1.",
            op=ctx.op,
            hint="place the node on a GPU, or use tf.nn.convolution(..., dilation_rate=...)",
        )


# Conv3D


@shape_function("Conv3D")
def _conv_shape(op: Operation) -> list[TensorShape]:
    _check_lists(op, "strides", "dilations")
    volumes, filter = (require_rank(tensor.shape, 5) for tensor in op.inputs)
    sizes: Any = filter.sizes
    channels = _ndhwc(volumes.sizes, _format(op))[4]
    if channels is not None and sizes[3] is not None and (sizes[3] == 0 or channels % sizes[3]):
        raise ValueError(f"Dimensions must be equal, but are {channels} and {sizes[3]}")
    groups = channels // sizes[3] if channels is not None and sizes[3] is not None else 1
    if sizes[4] is not None and groups and sizes[4] % groups:
        raise ValueError(f"Depth of output ({sizes[4]}) is not a multiple of the number of groups ({groups})")
    return [_inferred(op, volumes, sizes[:3], sizes[4])]


@compute("Conv3D", fresh=True)
def _conv(xp: ArrayModule, volumes: Array, filter: Array, *, ctx: KernelContext) -> Array:
    _check_convolution(ctx)
    layout = _format(ctx.op)
    volumes = _to_ndhwc(volumes, layout)
    channels, deep = volumes.shape[4], filter.shape[3]
    if channels % deep or (channels != deep and ctx.device_type == "CPU"):
        raise InvalidArgumentError.of(
            f"Number of channels in filter ({deep}) must match last dimension of input ({channels})",
            op=ctx.op,
        )
    return _from_ndhwc(xp, convolve(xp, volumes, filter, _block(ctx.op, filter.shape[:3])), layout)


@gradient("Conv3D")
def _conv_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    volumes, filter = op.inputs
    attrs = {name: op.attrs[name] for name in _CONV_ATTRS}
    sizes = shape_tensor(volumes)
    of_volumes = new("Conv3DBackpropInputV2", input_sizes=sizes, filter=filter, out_backprop=grad, **attrs)
    sizes = shape_tensor(filter)
    of_filter = new("Conv3DBackpropFilterV2", input=volumes, filter_sizes=sizes, out_backprop=grad, **attrs)
    return [of_volumes, of_filter]


@shape_function("Conv3DBackpropInputV2")
def _backprop_input_shape(op: Operation) -> list[TensorShape]:
    _check_lists(op, "strides", "dilations")
    return [require_rank(constant_value_as_shape(op.inputs[0]), 5)]


@shape_function("Conv3DBackpropFilterV2")
def _backprop_filter_shape(op: Operation) -> list[TensorShape]:
    _check_lists(op, "strides", "dilations")
    return [require_rank(constant_value_as_shape(op.inputs[1]), 5)]


def _check_gradient(ctx: KernelContext, block: Block, sizes: Any, grad: Array) -> None:
    out, _ = block.geometry(tuple(sizes))
    if tuple(grad.shape[1:4]) != out:
        raise InvalidArgumentError.of(
            f"{ctx.op.type}: Size of out_backprop doesn't match computed: actual = {tuple(grad.shape[1:4])}, "
            f"computed = {out}, input = {tuple(sizes)}, filter = {block.taps}, strides = {block.strides}",
            op=ctx.op,
        )


@compute("Conv3DBackpropInputV2", fresh=True)
def _backprop_input(
    xp: ArrayModule, input_sizes: Array, filter: Array, grad: Array, *, ctx: KernelContext
) -> Array:
    _check_convolution(ctx)
    layout = _format(ctx.op)
    shape = _ndhwc([int(size) for size in input_sizes], layout)
    grad = _to_ndhwc(grad, layout)
    block = _block(ctx.op, filter.shape[:3])
    if not filter.shape[3] or shape[4] % filter.shape[3]:
        raise InvalidArgumentError.of(
            "input and filter_sizes must have the same number of channels. Got "
            f"{shape[4]} for input and {filter.shape[3]} for filter_sizes",
            op=ctx.op,
        )
    _check_gradient(ctx, block, shape[1:4], grad)
    return _from_ndhwc(xp, volumes_gradient(xp, shape, filter, grad, block), layout)


@gradient("Conv3DBackpropInputV2")
def _backprop_input_gradient(op: Operation, grad: Tensor) -> list[Any]:
    _, filter, out = op.inputs
    attrs = {name: op.attrs[name] for name in _CONV_ATTRS}
    sizes = shape_tensor(filter)
    return [
        None,
        new("Conv3DBackpropFilterV2", input=grad, filter_sizes=sizes, out_backprop=out, **attrs),
        new("Conv3D", input=grad, filter=filter, **attrs),
    ]


@compute("Conv3DBackpropFilterV2", fresh=True)
def _backprop_filter(
    xp: ArrayModule, volumes: Array, filter_sizes: Array, grad: Array, *, ctx: KernelContext
) -> Array:
    _check_convolution(ctx)
    layout = _format(ctx.op)
    volumes, grad = _to_ndhwc(volumes, layout), _to_ndhwc(grad, layout)
    shape = tuple(int(size) for size in filter_sizes)
    block = _block(ctx.op, shape[:3])
    _check_gradient(ctx, block, volumes.shape[1:4], grad)
    return filter_gradient(xp, volumes, shape, grad, block)


@gradient("Conv3DBackpropFilterV2")
def _backprop_filter_gradient(op: Operation, grad: Tensor) -> list[Any]:
    volumes, _, out = op.inputs
    attrs = {name: op.attrs[name] for name in _CONV_ATTRS}
    sizes = shape_tensor(volumes)
    return [
        new("Conv3DBackpropInputV2", input_sizes=sizes, filter=grad, out_backprop=out, **attrs),
        None,
        new("Conv3D", input=volumes, filter=grad, **attrs),
    ]


# Pooling


def _check_pooling(ctx: KernelContext) -> None:
    layout = _format(ctx.op)
    if ctx.device_type == "CPU" and layout != "NDHWC":
        raise InvalidArgumentError.of(
            "Default Pooling3DOp only supports NDHWC on device type CPU",
            op=ctx.op,
            hint="use data_format='NDHWC', or place the node on a GPU",
        )
    sizes, strides = (_ndhwc(ctx.op.attrs[name], layout) for name in ("ksize", "strides"))
    if (sizes[0], strides[0]) != (1, 1):
        raise UnimplementedError.of("Pooling is not yet supported on the batch dimension.", op=ctx.op)
    if (sizes[4], strides[4]) != (1, 1):
        raise UnimplementedError.of("Pooling is not yet supported on the depth dimension.", op=ctx.op)


@shape_function("MaxPool3D", "AvgPool3D")
def _pool_shape(op: Operation) -> list[TensorShape]:
    _check_lists(op, "ksize", "strides")
    volumes = require_rank(op.inputs[0].shape, 5)
    layout = _format(op)
    channels = _ndhwc(volumes.sizes, layout)[4]
    return [_inferred(op, volumes, _ndhwc(op.attrs["ksize"], layout)[1:4], channels)]


@compute("MaxPool3D", fresh=True)
def _max_pool(xp: ArrayModule, volumes: Array, *, ctx: KernelContext) -> Array:
    _check_pooling(ctx)
    layout = _format(ctx.op)
    return _from_ndhwc(xp, largest(xp, _to_ndhwc(volumes, layout), _pool_block(ctx.op)), layout)


@compute("AvgPool3D", fresh=True)
def _avg_pool(xp: ArrayModule, volumes: Array, *, ctx: KernelContext) -> Array:
    _check_pooling(ctx)
    layout = _format(ctx.op)
    return _from_ndhwc(xp, means(xp, _to_ndhwc(volumes, layout), _pool_block(ctx.op)), layout)


def _require_like(ctx: KernelContext, pooled: Array, volumes: Array) -> None:
    """Raise InvalidArgumentError unless ``pooled`` has the shape of the pooling's output."""
    out, _ = _pool_block(ctx.op).geometry(volumes.shape[1:4])
    expected = (len(volumes), *out, volumes.shape[4])
    if tuple(pooled.shape) != expected:
        raise InvalidArgumentError.of(
            f"Expected orig_output shape to be {expected}, but got {tuple(pooled.shape)}", op=ctx.op
        )


@compute("MaxPool3DGrad", fresh=True)
def _max_pool_grad(
    xp: ArrayModule, volumes: Array, pooled: Array, grad: Array, *, ctx: KernelContext
) -> Array:
    _check_pooling(ctx)
    layout = _format(ctx.op)
    volumes, pooled, grad = (_to_ndhwc(array, layout) for array in (volumes, pooled, grad))
    for array in (pooled, grad):
        _require_like(ctx, array, volumes)
    return _from_ndhwc(xp, largest_gradient(xp, volumes, pooled, grad, _pool_block(ctx.op)), layout)


@compute("MaxPool3DGradGrad", fresh=True)
def _max_pool_grad_grad(
    xp: ArrayModule, volumes: Array, pooled: Array, grad: Array, *, ctx: KernelContext
) -> Array:
    _check_pooling(ctx)
    layout = _format(ctx.op)
    volumes, pooled, grad = (_to_ndhwc(array, layout) for array in (volumes, pooled, grad))
    _require_like(ctx, pooled, volumes)
    return _from_ndhwc(xp, at_largest(xp, volumes, pooled, grad, _pool_block(ctx.op)), layout)


@compute("AvgPool3DGrad", fresh=True)
def _avg_pool_grad(xp: ArrayModule, sizes: Array, grad: Array, *, ctx: KernelContext) -> Array:
    _check_pooling(ctx)
    layout = _format(ctx.op)
    shape = _ndhwc([int(size) for size in sizes], layout)
    grad = _to_ndhwc(grad, layout)
    block = _pool_block(ctx.op)
    expected = (shape[0], *block.geometry(shape[1:4])[0], shape[4])
    if tuple(grad.shape) != expected:
        raise InvalidArgumentError.of(
            f"Expected grad shape to be {expected}, but got {tuple(grad.shape)}", op=ctx.op
        )
    return _from_ndhwc(xp, means_gradient(xp, shape, grad, block), layout)


@shape_function("MaxPool3DGrad")
def _like_volumes(op: Operation) -> list[TensorShape]:
    return [require_rank(op.inputs[0].shape, 5)]


@shape_function("MaxPool3DGradGrad")
def _like_pooled(op: Operation) -> list[TensorShape]:
    volumes, pooled, grad = (require_rank(tensor.shape, 5) for tensor in op.inputs)
    merge_shapes(volumes, grad)
    windows = _ndhwc(op.attrs["ksize"], _format(op))[1:4]
    channels = _ndhwc(volumes.sizes, _format(op))[4]
    return [merge_shapes(_inferred(op, volumes, windows, channels), pooled)]


@shape_function("AvgPool3DGrad")
def _of_sizes(op: Operation) -> list[TensorShape]:
    return [require_rank(constant_value_as_shape(op.inputs[0]), 5)]


@gradient("MaxPool3D")
def _max_pool_gradient(op: Operation, grad: Tensor) -> Tensor:
    attrs = {name: op.attrs[name] for name in _POOL_ATTRS}
    return new("MaxPool3DGrad", orig_input=op.inputs[0], orig_output=op.outputs[0], grad=grad, **attrs)


@gradient("MaxPool3DGrad")
def _max_pool_grad_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    volumes, pooled, _ = op.inputs
    attrs = {name: op.attrs[name] for name in _POOL_ATTRS}
    return [
        constant.zeros(reshaping.shape(volumes), volumes.dtype),
        constant.zeros(reshaping.shape(pooled), pooled.dtype),
        new("MaxPool3DGradGrad", orig_input=volumes, orig_output=pooled, grad=grad, **attrs),
    ]


@gradient("MaxPool3DGradGrad")
def _max_pool_grad_grad_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    volumes, pooled, _ = op.inputs
    attrs = {name: op.attrs[name] for name in _POOL_ATTRS}
    return [
        constant.zeros(reshaping.shape(volumes), volumes.dtype),
        constant.zeros(reshaping.shape(pooled), pooled.dtype),
        new("MaxPool3DGrad", orig_input=volumes, orig_output=pooled, grad=grad, **attrs),
    ]


@gradient("AvgPool3D")
def _avg_pool_gradient(op: Operation, grad: Tensor) -> Tensor:
    attrs = {name: op.attrs[name] for name in _POOL_ATTRS}
    return new("AvgPool3DGrad", orig_input_shape=shape_tensor(op.inputs[0]), grad=grad, **attrs)


@gradient("AvgPool3DGrad")
def _avg_pool_grad_gradient(op: Operation, grad: Tensor) -> list[Any]:
    stopped = new("StopGradient", input=op.inputs[0])
    attrs = {name: op.attrs[name] for name in _POOL_ATTRS}
    return [stopped, new("AvgPool3D", input=grad, **attrs)]
