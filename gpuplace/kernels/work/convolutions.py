"""Work of convolutions in one, two and three dimensions, of depthwise convolutions, and of their gradients.

A 1x1 convolution with stride 1 over NHWC is one matrix product, and TensorFlow calls the library's product. On a GPU,
other convolutions over NHWC are computed as NCHW: images are transposed before the library call, and back afterwards.
The filter is reordered in either case.

Source: tensorflow/core/kernels/conv_ops.cc, conv_grad_input_ops.cc, conv_grad_filter_ops.cc, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

from gpuplace.kernels.work.models import Dims, Task, work_model
from gpuplace.kernels.work.record import Convolution, Direction, Kernel, Product, Work


def channels_first(task: Task) -> bool:
    """Return whether the channels come before rows and columns."""
    layout = task.attrs.get("data_format", b"NHWC")
    text = layout.decode() if isinstance(layout, bytes) else str(layout)
    return text.startswith("NC")


def _image(task: Task, shape: Dims) -> tuple[int, int, Dims]:
    """Return the numbers of images and channels, and the other sizes, of a batch of images."""
    if channels_first(task):
        return shape[0], shape[1], shape[2:]
    return shape[0], shape[-1], shape[1:-1]


def _along(task: Task, attr: str, rank: int) -> Dims:
    """Return the values for the window's dimensions of an attribute that has one for each input dimension."""
    given = task.attrs.get(attr) or ()
    if len(given) != rank + 2:
        return tuple(int(one) for one in given) if len(given) == rank else (1,) * rank
    return tuple(int(one) for one in (given[2:] if channels_first(task) else given[1:-1]))


def _convolution(
    task: Task, direction: Direction, images: Dims, filter: Dims, windows: Dims, depthwise: bool
) -> Work:
    batch, channels, sizes = _image(task, images)
    _, made_channels, out = _image(task, windows)
    rank = len(sizes)
    taps = filter[:rank]
    strides, dilations = _along(task, "strides", rank), _along(task, "dilations", rank)
    filter_channels = filter[rank]
    groups = channels if depthwise else max(1, channels // max(1, filter_channels))
    flops = (
        2.0 * batch * math.prod(out) * math.prod(taps) * made_channels * (1 if depthwise else filter_channels)
    )
    first = channels_first(task)
    more: dict[str, Any] = {}
    if not first and math.prod(taps) == 1 and math.prod(strides) == 1 and groups == 1 and rank == 2:
        kernel: Kernel = _as_product(direction, batch * math.prod(out), channels, made_channels)
    else:
        kernel = _call(
            direction, batch, channels, made_channels, sizes, taps, out, strides, dilations, groups, first
        )
        if not depthwise:
            weights = 2.0 * math.prod(filter) * task.out_types[0].size
            turned = 0 if first else 2.0 * (math.prod(images) + math.prod(windows)) * task.out_types[0].size
            more = {"gpu_bytes": weights + turned, "gpu_launches": 1 if first else 3}
    return task.work("convolution", flops, kernel=kernel, **more)


def _as_product(direction: Direction, rows: int, channels: int, made: int) -> Product:
    if direction == "forward":
        return Product(rows, made, channels)
    if direction == "backward_input":
        return Product(rows, channels, made, transpose_b=True)
    return Product(channels, made, rows, transpose_a=True)


def _call(
    direction: Direction,
    batch: int,
    channels: int,
    made: int,
    sizes: Dims,
    taps: Dims,
    out: Dims,
    strides: Dims,
    dilations: Dims,
    groups: int,
    first: bool,
) -> Convolution:
    if len(sizes) == 1:
        sizes, taps, out, strides, dilations = ((1, *one) for one in (sizes, taps, out, strides, dilations))
    depth = 1
    if len(sizes) == 3:
        depth = out[0] * taps[0]
        sizes, taps, out, strides, dilations = (one[1:] for one in (sizes, taps, out, strides, dilations))
    (height, width), (filter_height, filter_width), (out_height, out_width) = sizes, taps, out
    return Convolution(
        direction,
        batch,
        channels,
        made,
        height,
        width,
        filter_height,
        filter_width,
        out_height,
        out_width,
        strides[0],
        strides[1],
        dilations[0],
        dilations[1],
        groups,
        depth,
        "NCHW" if first else "NHWC",
    )


@work_model(
    "Conv2D", "Conv3D", "Conv", "_FusedConv2D", "_FusedConv3D", "FusedPadConv2D", "FusedResizeAndPadConv2D"
)
@work_model("QuantizedConv2D", "QuantizedConv2DAndRelu", "QuantizedConv2DAndReluAndRequantize")
@work_model("QuantizedConv2DAndRequantize", "QuantizedConv2DPerChannel", "QuantizedConv2DWithBias")
@work_model("QuantizedConv2DWithBiasAndRelu", "QuantizedConv2DWithBiasAndReluAndRequantize")
@work_model("QuantizedConv2DWithBiasAndRequantize", "QuantizedConv2DWithBiasSumAndRelu")
@work_model("QuantizedConv2DWithBiasSumAndReluAndRequantize", "_FusedQuantizedConv2D")
@work_model("QuantizedConv2DWithBiasSignedSumAndReluAndRequantize", "UniformQuantizedConvolution")
@work_model("_MklConv2D", "_MklNativeConv2D", "_MklConv3D", "_MklNativeConv3D", "_MklFusedConv2D")
@work_model(
    "_MklNativeFusedConv2D", "_MklNativeFusedConv3D", "_MklConv2DWithBias", "_MklNativeConv2DWithBias"
)
def _forward(task: Task) -> Work:
    filter = task.in_sizes[1] if not task.op_type.startswith("Fused") else task.in_sizes[-1]
    return _convolution(task, "forward", task.in_sizes[0], filter, task.out_sizes[0], False)


@work_model("Conv2DBackpropInput", "Conv3DBackpropInputV2", "Conv2DBackpropInputV2", "Conv3DBackpropInput")
@work_model("_MklConv2DBackpropInput", "_MklNativeConv2DBackpropInput")
@work_model("_MklConv3DBackpropInputV2", "_MklNativeConv3DBackpropInputV2")
def _input_gradient(task: Task) -> Work:
    return _convolution(task, "backward_input", task.out_sizes[0], task.in_sizes[1], task.in_sizes[2], False)


@work_model(
    "Conv2DBackpropFilter", "Conv3DBackpropFilterV2", "Conv2DBackpropFilterV2", "Conv3DBackpropFilter"
)
@work_model("_MklConv2DBackpropFilter", "_MklNativeConv2DBackpropFilter", "_MklConv3DBackpropFilterV2")
@work_model("_MklNativeConv3DBackpropFilterV2", "_MklConv2DBackpropFilterWithBias")
@work_model("_MklNativeConv2DBackpropFilterWithBias")
def _filter_gradient(task: Task) -> Work:
    return _convolution(task, "backward_filter", task.in_sizes[0], task.out_sizes[0], task.in_sizes[2], False)


@work_model("DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative", "QuantizedDepthwiseConv2D")
@work_model("QuantizedDepthwiseConv2DWithBias", "QuantizedDepthwiseConv2DWithBiasAndRelu")
@work_model("QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", "_FusedQuantizedDepthwiseConv2D")
@work_model(
    "_MklDepthwiseConv2dNative", "_MklNativeDepthwiseConv2dNative", "_MklNativeFusedDepthwiseConv2dNative"
)
def _depthwise(task: Task) -> Work:
    return _convolution(task, "forward", task.in_sizes[0], task.in_sizes[1], task.out_sizes[0], True)


@work_model("DepthwiseConv2dNativeBackpropInput", "_MklNativeDepthwiseConv2dNativeBackpropInput")
def _depthwise_input(task: Task) -> Work:
    return _convolution(task, "backward_input", task.out_sizes[0], task.in_sizes[1], task.in_sizes[2], True)


@work_model("DepthwiseConv2dNativeBackpropFilter", "_MklNativeDepthwiseConv2dNativeBackpropFilter")
def _depthwise_filter(task: Task) -> Work:
    return _convolution(task, "backward_filter", task.in_sizes[0], task.out_sizes[0], task.in_sizes[2], True)


@work_model("Dilation2D")
def _dilation(task: Task) -> Work:
    return task.work("pooling", 2.0 * task.out_count() * math.prod(task.in_sizes[1][:2]))


@work_model("Dilation2DBackpropFilter", "Dilation2DBackpropInput")
def _dilation_gradient(task: Task) -> Work:
    return task.work("pooling", 2.0 * task.in_count(2) * math.prod(task.in_sizes[1][:2]), launches=2)
