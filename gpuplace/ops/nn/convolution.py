"""Convolutions of signals, images and volumes, including dilated ones built as in TensorFlow 1.

A dilated convolution convolves the subsampled images that consist of every n-th pixel::

    images -> SpaceToBatchND -> Conv2D -> BatchToSpaceND -> result

Source: tensorflow/python/ops/nn_ops.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import Any

import numpy as np

from gpuplace.dtypes import int32
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.batches import (
    batch_to_space_nd,
    required_space_to_batch_paddings,
    space_to_batch_nd,
)
from gpuplace.ops.array.joining import concat, stack
from gpuplace.ops.array.reshaping import expand_dims, squeeze
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.nn.conv import conv2d_transpose, for_axes
from gpuplace.ops.nn.volumes import conv3d_transpose
from gpuplace.ops.support import new
from gpuplace.typing import IntsLike, TensorLike

__all__ = [
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "conv1d",
    "conv1d_transpose",
    "conv_transpose",
    "convolution",
    "with_space_to_batch",
]

_FORMATS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
_SIGNALS = {None: "NHWC", "NHWC": "NHWC", "NWC": "NHWC", "NCHW": "NCHW", "NCW": "NCHW"}
"""Data format of signals -> that of the images with one row that represent them."""


def _images_format(data_format: str | None) -> tuple[str, int]:
    """Return the data format of images with one row, and the axis that they have in addition to a signal's."""
    if data_format not in _SIGNALS:
        raise ValueError('data_format must be "NWC" or "NCW".')
    image_format = _SIGNALS[data_format]
    return image_format, 2 if image_format == "NCHW" else 1


def conv1d(
    value: TensorLike | None = None,
    filters: TensorLike | None = None,
    stride: IntsLike | None = None,
    padding: str | None = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Convolve signals with a filter.

    >>> import gpuplace as tf
    >>> tf.nn.conv1d(tf.zeros([8, 100, 3]), tf.zeros([5, 3, 16]), stride=2, padding="SAME").shape
    TensorShape([Dimension(8), Dimension(50), Dimension(16)])

    Args:
        value: ``[batch, width, in_channels]``, or ``[batch, in_channels, width]`` for ``NCW``; dtypes
            as for ``conv2d``.
        filters: ``[width, in_channels, out_channels]``, of the same dtype.
        stride: step of the window.
        padding: ``"SAME"`` or ``"VALID"``.
        use_cudnn_on_gpu: stored in the graph without effect.
        data_format: ``"NWC"`` or ``"NCW"``; None: ``"NWC"``.
        name: name of the operation.
        input: newer name of ``value``.
        dilations: spacing of the window's elements; None: 1.

    Returns:
        A tensor of the dtype of ``value``: ``[batch, out_width, out_channels]``, or in the order of ``NCW``.

    Raises:
        TypeError: a dtype is not supported, or the dtypes differ.
        ValueError: the shapes do not match, or the data format is unknown.
    """
    signals = deprecated_argument_lookup("input", input, "value", value)
    window: Any = filters
    with name_scope(name, "conv1d", [signals, filters]) as scope:
        images, axis = _images_format(data_format)
        options: dict[str, Any] = {} if use_cudnn_on_gpu is None else {"use_cudnn_on_gpu": use_cudnn_on_gpu}
        result = new(
            "Conv2D",
            scope,
            input=expand_dims(signals, axis),
            filter=expand_dims(window, 0),
            strides=[1, *for_axes(stride, 1, images, "stride")],
            padding=padding,
            data_format=images,
            dilations=[1, *for_axes(dilations, 1, images, "dilations")],
            **options,
        )
        return squeeze(result, [axis])


def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    strides: IntsLike,
    padding: str = "SAME",
    data_format: str | None = "NWC",
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the transpose of ``conv1d``, which upsamples signals.

    Args:
        input: ``[batch, width, in_channels]``, or ``[batch, in_channels, width]`` for ``NCW``.
        filters: ``[width, out_channels, in_channels]``, of the same dtype.
        output_shape: the shape of the result, three integers in the order of ``data_format``.
        strides: upsampling factor of the width.
        padding: ``"SAME"`` or ``"VALID"``, as in the transposed convolution.
        data_format: ``"NWC"`` or ``"NCW"``; None: ``"NWC"``.
        dilations: spacing of the window's elements; None: 1.
        name: name of the operation.

    Returns:
        A tensor of the dtype of ``input`` and the shape ``output_shape``.

    Raises:
        TypeError: a dtype is not supported, or the dtypes differ.
        ValueError: the shapes do not match, or the data format is unknown.
    """
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as scope:
        images, axis = _images_format(data_format)
        signals, window = expand_dims(input, axis), expand_dims(filters, 0)
        sizes: Any = output_shape if isinstance(output_shape, Tensor) else list(output_shape)  # type: ignore[arg-type]
        result = new(
            "Conv2DBackpropInput",
            scope,
            input_sizes=concat([sizes[:axis], [1], sizes[axis:]], 0),
            filter=window,
            out_backprop=signals,
            strides=[1, *for_axes(strides, 1, images, "stride")],
            padding=padding,
            data_format=images,
            dilations=[1, *for_axes(dilations, 1, images, "dilations")],
        )
        return squeeze(result, axis)


def convolution(
    input: TensorLike,
    filter: TensorLike | None = None,
    padding: str | None = None,
    strides: IntsLike | None = None,
    dilation_rate: IntsLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> Tensor:
    """Convolve signals, images or volumes with a filter.

    >>> import gpuplace as tf
    >>> tf.nn.convolution(tf.zeros([8, 32, 32, 3]), tf.zeros([3, 3, 3, 16]), "SAME", dilation_rate=[2, 2]).shape
    TensorShape([Dimension(8), Dimension(32), Dimension(32), Dimension(16)])

    Args:
        input: ``[batch, one to three sizes, in_channels]``; formats that begin with ``NC`` have the channels second.
        filter: ``[the same number of sizes, in_channels, out_channels]``, of the same dtype.
        padding: ``"SAME"`` or ``"VALID"``.
        strides: steps of the window along each axis, or one number for all; None: 1.
        dilation_rate: spacing of the window's elements along each axis, or one number for all; None: 1.
        name: name of the scope.
        data_format: ``"NWC"``, ``"NHWC"``, ``"NDHWC"``, or a format with the channels second.
        filters: newer name of ``filter``.
        dilations: newer name of ``dilation_rate``.

    Returns:
        A tensor of the dtype of ``input``.

    Raises:
        TypeError: a dtype is not supported, or the dtypes differ.
        ValueError: the shapes do not match, or both strides and dilations are greater than 1.
    """
    filter = deprecated_argument_lookup("filters", filters, "filter", filter)
    dilations = deprecated_argument_lookup("dilations", dilations, "dilation_rate", dilation_rate)
    if not isinstance(input, Tensor):
        input = convert_to_tensor(input)
    window: Any = filter if isinstance(filter, Tensor) else convert_to_tensor(filter, dtype_hint=input.dtype)
    rank = window.shape.ndims if input.shape.ndims is None else input.shape.ndims
    if rank is None:
        raise ValueError("rank of input or filter must be known")
    if not 3 <= rank <= 5:
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {rank}.")
    number = rank - 2
    layout = data_format or _FORMATS[number]
    steps, apart = (
        for_axes(strides, number, layout, "strides"),
        for_axes(dilations, number, layout, "dilations"),
    )
    with name_scope(name, "convolution", [input, window]) as scope:
        if all(rate == 1 for rate in apart):
            return _plain(input, window, steps, padding, data_format, scope)
        inner = slice(2, None) if layout.startswith("NC") else slice(1, -1)
        return dilated(input, window, steps[inner], apart[inner], padding, data_format, scope)


def atrous_conv2d(
    value: TensorLike, filters: TensorLike, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """Convolve images with a filter whose rows and columns are ``rate`` pixels apart.

    Args:
        value: ``[batch, height, width, in_channels]``; dtypes as for ``conv2d``.
        filters: ``[rows, columns, in_channels, out_channels]``, of the same dtype.
        rate: the spacing in pixels.
        padding: ``"SAME"`` or ``"VALID"``.
        name: name of the scope; None: ``convolution``.

    Returns:
        ``[batch, out_height, out_width, out_channels]``, of the dtype of ``value``.

    Raises:
        TypeError: a dtype is not supported, or the dtypes differ.
        ValueError: the shapes do not match, or the rate is not positive.
    """
    return convolution(value, filters, padding, dilation_rate=[rate, rate], name=name)


def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    rate: int,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Return the transpose of ``atrous_conv2d``: its gradient with respect to the images.

    Args:
        value: ``[batch, height, width, in_channels]``, float32, float16, bfloat16 or float64.
        filters: ``[rows, columns, out_channels, in_channels]``, of the same dtype.
        output_shape: the shape of the result, four integers.
        rate: the spacing of the filter's rows and columns in pixels.
        padding: ``"SAME"`` or ``"VALID"``.
        name: name of the scope; None: ``atrous_conv2d_transpose``.

    Returns:
        A tensor of the dtype of ``value`` and the shape ``output_shape``.

    Raises:
        ValueError: the shapes do not match, the rate is not positive, or the padding is unknown.
    """
    with name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]) as scope:
        images = convert_to_tensor(value, name="value")
        kernel = convert_to_tensor(filters, name="filters")
        depths = images.shape.with_rank(4)[3], kernel.shape.with_rank(4)[3]
        if not depths[0].is_compatible_with(depths[1]):
            raise ValueError(
                f"value's input channels does not match filters' input channels, {depths[0]} != {depths[1]}"
            )
        if rate < 1:
            raise ValueError(f"rate {rate} cannot be less than one")
        if rate == 1:
            return conv2d_transpose(images, kernel, output_shape, strides=[1, 1, 1, 1], padding=padding)
        shape = convert_to_tensor(output_shape, name="output_shape")
        if not shape.shape.is_compatible_with([4]):
            raise ValueError(f"output_shape must have shape (4,), got {shape.shape}")
        if padding not in ("SAME", "VALID"):
            raise ValueError(f"padding must be either VALID or SAME: {padding}")
        static_shape = constant_value(shape)
        sizes = shape if static_shape is None else static_shape.tolist()
        if static_shape is not None and not kernel.shape[2].is_compatible_with(sizes[3]):
            raise ValueError(
                f"output_shape does not match filter's output channels, {sizes[3]} != {kernel.shape[2]}"
            )
        window: Any = kernel.shape.as_list() if kernel.shape.is_fully_defined() else shape_of(kernel)
        before, after, further = [], [], []
        for axis in (0, 1):
            around = (window[axis] - 1) * rate if padding == "SAME" else 0
            before.append(around // 2)
            after.append(around - around // 2)
            further.append((rate - (sizes[axis + 1] + around) % rate) % rate)
        inner = [(sizes[at + 1] + before[at] + after[at] + further[at]) // rate for at in (0, 1)]
        apart = space_to_batch_nd(images, [rate, rate], [[0, further[0]], [0, further[1]]])
        transposed = conv2d_transpose(
            apart,
            kernel,
            [rate * rate * sizes[0], inner[0], inner[1], sizes[3]],
            strides=[1, 1, 1, 1],
            padding="VALID",
        )
        crops = [[before[at], after[at] + further[at]] for at in (0, 1)]
        return batch_to_space_nd(transposed, [rate, rate], crops, name=scope)


def _plain(
    input: TensorLike,
    filter: TensorLike,
    strides: list[int],
    padding: Any,
    data_format: str | None,
    name: str | None,
) -> Tensor:
    """Return a convolution without dilation; ``strides`` has one number per axis."""
    number = len(strides) - 2
    if number == 1:
        return conv1d(input, filter, strides, padding, None, data_format, name)
    layout = data_format or _FORMATS[number]
    op_type = "Conv2D" if number == 2 else "Conv3D"
    return new(
        op_type, name, input=input, filter=filter, strides=strides, padding=padding, data_format=layout
    )


def dilated(
    input: Tensor,
    filter: Tensor,
    strides: Sequence[int],
    rates: Tensor | Sequence[int],
    padding: str | None,
    data_format: str | None,
    name: str | None,
) -> Tensor:
    """Return a convolution with dilations, through ``SpaceToBatchND`` if they are greater than 1.

    Args:
        input: ``[batch, sizes, in_channels]``, or with the channels second.
        filter: ``[sizes, in_channels, out_channels]``.
        strides: steps of the window, one for each size.
        rates: spacing of the window's elements, one number for each size, or a constant of them.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: format of ``input``; None: channels last.
        name: name of the convolution.

    Raises:
        ValueError: a rate is not positive, both strides and rates are greater than 1, or channels do not match.
    """
    apart: Any = constant_value(rates) if isinstance(rates, Tensor) else list(rates)
    number = len(apart)
    if any(rate < 1 for rate in apart):
        raise ValueError("all values of dilation_rate must be positive")
    if any(step < 1 for step in strides):
        raise ValueError("all values of strides must be positive")
    if any(step > 1 for step in strides) and any(rate > 1 for rate in apart):
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
    layout = data_format or _FORMATS[number]
    is_first = layout.startswith("NC")
    channels = input.shape[1 if is_first else number + 1]
    if not channels.is_compatible_with(filter.shape[number]):
        raise ValueError(
            "number of input channels does not match corresponding dimension of filter, "
            f"{channels} != {filter.shape[number]}"
        )
    axes = range(2, number + 2) if is_first else range(1, number + 1)
    steps = [1, 1, *strides] if is_first else [1, *strides, 1]

    def run(images: TensorLike, _: int, inner_padding: str) -> Tensor:
        return _plain(images, filter, steps, inner_padding, data_format, name)

    sizes: Any = filter.shape.as_list() if filter.shape.is_fully_defined() else shape_of(filter)
    return with_space_to_batch(
        input, rates if isinstance(rates, Tensor) else apart, padding or "VALID", run, sizes, axes, layout
    )


def with_space_to_batch(
    input: TensorLike,
    dilation_rate: TensorLike,
    padding: str,
    op: Callable[[Tensor, int, str], Tensor],
    filter_shape: TensorLike | None = None,
    spatial_dims: Sequence[int] | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Apply ``op`` to subsampled images that consist of every n-th element, and reassemble the results.

    Args:
        input: ``[batch, ...]``.
        dilation_rate: the subsampling step of each of ``spatial_dims``; int32.
        padding: ``"SAME"`` or ``"VALID"``.
        op: called with the images, the number of rates and a padding.
        filter_shape: sizes of the window, required for ``"SAME"``.
        spatial_dims: the axes, in ascending order; None: those after the batch, or after the channels.
        data_format: a format that begins with ``NC`` has the channels second.

    Returns:
        The result of ``op`` if all rates are 1, otherwise its reassembled results.

    Raises:
        ValueError: rates are not positive, their number is unknown, axes are not in order, or the rank is too low.
    """
    images: Any = convert_to_tensor(input, name="input")
    rates: Any = convert_to_tensor(dilation_rate, int32, name="dilation_rate")
    if rates.shape.ndims not in (1, None):
        raise ValueError("rate must be rank 1")
    if not rates.shape.is_fully_defined():
        raise ValueError("rate must have known shape")
    number = rates.shape[0].value
    first = 2 if data_format is not None and data_format.startswith("NC") else 1
    axes = [int(axis) for axis in (range(first, first + number) if spatial_dims is None else spatial_dims)]
    if axes != sorted(set(axes)) or any(axis < 1 for axis in axes):
        raise ValueError("spatial_dims must be a montonically increasing sequence of positive integers")
    least = axes[-1] + (0 if first == 2 else 1)
    if images.shape.ndims is not None and images.shape.ndims < least:
        raise ValueError(f"input tensor must have rank {least} at least")
    static_rates = constant_value(rates)
    if static_rates is not None and (static_rates < 1).any():
        raise ValueError("dilation_rate must be positive")
    if static_rates is not None and (static_rates == 1).all():
        return op(images, number, padding)
    base: Any = np.zeros([number, 2], np.int32)
    if padding == "SAME":
        if filter_shape is None:
            raise ValueError("filter_shape must be specified for SAME padding")
        window: Any = convert_to_tensor(filter_shape, name="filter_shape")
        base = _borders(window, number, rates if static_rates is None else static_rates)
    elif padding != "VALID":
        raise ValueError(f"Invalid padding method {padding!r}")
    sizes: Any = None if images.shape.ndims is None else [images.shape[axis].value for axis in axes]
    if sizes is None or None in sizes:
        shape: Any = shape_of(images)
        sizes = stack([shape[axis] for axis in axes])
    paddings, crops = required_space_to_batch_paddings(sizes, rates, base)
    blocks = _for_all_axes(rates, 1, axes)
    paddings, crops = _for_all_axes(paddings, 0, axes), _for_all_axes(crops, 0, axes)
    result = op(space_to_batch_nd(images, blocks, paddings), number, "VALID")
    return batch_to_space_nd(result, blocks, crops)


def _borders(window: Any, number: int, rates: Any) -> Any:
    """Return the border of ``"SAME"`` before and after each axis."""
    static_window = constant_value(window)
    sizes = (window if static_window is None else static_window)[:number]
    more = sizes + (sizes - 1) * (rates - 1) - 1
    before = more // 2
    after = more - before
    return stack([[before[axis], after[axis]] for axis in range(number)])


def _for_all_axes(values: Tensor, fill: int, axes: Sequence[int]) -> Any:
    """Return one row per axis, from the first to the last of ``axes``; ``given`` has those of ``axes``."""
    static_values = constant_value(values)
    rows: Any = values if static_values is None else static_values
    parts, done, number = [], 0, 0
    while number < len(axes):
        start, gap = number, axes[number] - 1 - done
        if axes[number] > 1:
            shape: list[Any] = [gap, *values.shape.as_list()[1:]]
            parts.append(np.full(shape, fill, np.int32))
        while number + 1 < len(axes) and axes[number + 1] == axes[number] + 1:
            number += 1
        parts.append(rows[start : number + 1])
        done = axes[number]
        number += 1
    return np.concatenate(parts) if static_values is not None else concat(parts, 0)


def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    strides: IntsLike,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: IntsLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the gradient of a convolution of signals, images or volumes with respect to its input.

    Args:
        input: ``[batch, one to three sizes, channels]``; formats that begin with ``NC`` have the channels second.
        filters: ``[sizes..., output channels, channels]``.
        output_shape: shape of the result, a list or a vector of static length.
        strides: one number or one for each size.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NWC"``, ``"NHWC"``, ``"NDHWC"`` or a format with channels second; None: channels last.
        dilations: one number or one for each size; None: 1.
        name: name of the operation.

    Returns:
        A tensor with the shape ``output_shape``.

    Raises:
        ValueError: ``output_shape`` has another length, or is neither a list nor a tensor.
    """
    with name_scope(name, "conv_transpose", [input, output_shape]) as scope:
        if isinstance(output_shape, Tensor):
            length = int(output_shape.shape[0])
        elif isinstance(output_shape, Sized):
            length = len(output_shape)
        else:
            raise ValueError("output_shape must be a tensor or sized collection.")
        if not 3 <= length <= 5:
            raise ValueError(f"output_shape must be of length 3, 4 or 5 but was {length}.")
        convolve = (conv1d_transpose, conv2d_transpose, conv3d_transpose)[length - 3]
        order = data_format or _FORMATS[length - 2]
        return convolve(
            input, filters, output_shape, strides, padding, data_format=order, dilations=dilations, name=scope
        )
