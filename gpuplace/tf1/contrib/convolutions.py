"""Convolution and pooling layers of ``tf.contrib.layers``, with activation, normalization and regularization.

Source: tensorflow/contrib/layers/python/layers/layers.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.layers import convolutional, pooling
from gpuplace.ops.nn.activation import relu
from gpuplace.ops.variables.init_ops import Zeros
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.ops.variants import variant_of
from gpuplace.tf1.contrib.arg_scope import add_arg_scope
from gpuplace.tf1.contrib.layers import RENAMED, XAVIER, activated, collect_variable, layout_of
from gpuplace.tf1.contrib.utils import collect_named_outputs
from gpuplace.tf1.contrib.variables import renaming_getter
from gpuplace.typing import Function, InitializerLike, IntsLike, TensorLike

__all__ = [
    "avg_pool2d", "conv1d", "conv2d", "conv2d_transpose", "convolution", "convolution1d", "convolution2d",
    "convolution2d_transpose", "max_pool2d", "separable_conv2d", "separable_convolution2d",
]  # fmt: skip


@add_arg_scope
def convolution(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: IntsLike,
    stride: IntsLike = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: IntsLike = 1,
    activation_fn: Function | None = relu,
    normalizer_fn: Function | None = None,
    normalizer_params: Any = None,
    weights_initializer: InitializerLike | None = XAVIER,
    weights_regularizer: Function | None = None,
    biases_initializer: InitializerLike | None = Zeros,
    biases_regularizer: Function | None = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    conv_dims: int | None = None,
) -> Tensor:
    """Apply a convolution with ReLU to images or sequences.

    Args:
        inputs: ``[batch, height, width, channels]`` or ``[batch, length, channels]``, or with the channels first.
        num_outputs: number of output channels.
        kernel_size: size of the window.
        stride: stride of the window.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"``, ``"NCHW"``, ``"NWC"`` or ``"NCW"``; None: channels last.
        rate: dilation rate of the window.
        activation_fn: an activation function; None: linear.
        normalizer_fn: a normalization in place of biases, such as ``batch_norm``.
        normalizer_params: its arguments, a dict.
        weights_initializer: initializer of the weights.
        weights_regularizer: returns a scalar loss for the weights.
        biases_initializer: initializer of the biases; None: no biases.
        biases_regularizer: returns a scalar loss for the biases.
        reuse: whether to reuse the variables of the scope.
        variables_collections: further collections of the variables: a list, or a dict by variable name.
        outputs_collections: collections of the output.
        trainable: whether the variables are trainable.
        scope: the variable scope; None: a unique scope from ``Conv``.
        conv_dims: 1 or 2 to allow only sequences or images; None: both.

    Returns:
        The images or sequences.

    Raises:
        ValueError: ``data_format`` or the rank is not supported, or sizes are unknown.
    """
    order = layout_of(data_format)
    getter = renaming_getter(RENAMED)
    with variable_scope(scope, "Conv", [inputs], reuse=reuse, custom_getter=getter) as opened:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
        if rank not in (3, 4):
            raise ValueError("Convolution not supported for input with rank", rank)
        kind: Any = convolutional.Conv1D if rank == 3 else convolutional.Conv2D
        layer = kind(
            num_outputs,
            _several(kernel_size),
            _several(stride),
            padding,
            order,
            _several(rate),
            use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=opened.name,
            dtype=inputs.dtype.base_dtype,
            _scope=opened,
            _reuse=reuse,
        )
        outputs = layer(inputs)
        collect_variable(layer.kernel, variables_collections, "weights")
        collect_variable(layer.bias, variables_collections, "biases")
        outputs = activated(outputs, activation_fn, normalizer_fn, normalizer_params)
        result = collect_named_outputs(outputs_collections, opened.name, outputs)
        return result


def _several(sizes: Any) -> Any:
    return sizes if isinstance(sizes, int) else tuple(int(size) for size in sizes)


@add_arg_scope
def convolution1d(inputs: TensorLike, num_outputs: int, kernel_size: IntsLike, **kwargs: Any) -> Tensor:
    """``convolution`` of sequences.

    Args:
        inputs: ``[batch, length, channels]``, or with the channels first.
        num_outputs: number of output channels.
        kernel_size: length of the window.
        **kwargs: further arguments of ``convolution``.

    Returns:
        The sequences.

    Raises:
        ValueError: as for ``convolution``.
    """
    layer: Any = convolution
    result: Tensor = layer(inputs, num_outputs, kernel_size, conv_dims=1, **kwargs)
    return result


@add_arg_scope
def convolution2d(
    inputs: TensorLike, num_outputs: int, kernel_size: IntsLike, *args: Any, **kwargs: Any
) -> Tensor:
    """``convolution`` of images.

    >>> import gpuplace as tf
    >>> tf.contrib.layers.conv2d(tf.zeros([2, 8, 8, 3]), 16, [3, 3], 2).shape.as_list()
    [2, 4, 4, 16]

    Args:
        inputs: ``[batch, height, width, channels]``, or with the channels first.
        num_outputs: number of output channels.
        kernel_size: rows and columns of the window.
        *args: further arguments of ``convolution``.
        **kwargs: further keyword arguments.

    Returns:
        The images.

    Raises:
        ValueError: as for ``convolution``.
    """
    layer: Any = convolution
    result: Tensor = layer(inputs, num_outputs, kernel_size, *args, conv_dims=2, **kwargs)
    return result


@add_arg_scope
def convolution2d_transpose(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: IntsLike,
    stride: IntsLike = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    activation_fn: Function | None = relu,
    normalizer_fn: Function | None = None,
    normalizer_params: Any = None,
    weights_initializer: InitializerLike | None = XAVIER,
    weights_regularizer: Function | None = None,
    biases_initializer: InitializerLike | None = Zeros,
    biases_regularizer: Function | None = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Tensor:
    """Apply a transposed convolution with ReLU, which enlarges images.

    Args:
        inputs: ``[batch, height, width, channels]``, or with the channels first.
        num_outputs: number of output channels.
        kernel_size: rows and columns of the window.
        stride: factor of the enlargement.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        activation_fn: an activation function; None: linear.
        normalizer_fn: a normalization in place of biases, such as ``batch_norm``.
        normalizer_params: its arguments, a dict.
        weights_initializer: initializer of the weights.
        weights_regularizer: returns a scalar loss for the weights.
        biases_initializer: initializer of the biases; None: no biases.
        biases_regularizer: returns a scalar loss for the biases.
        reuse: whether to reuse the variables of the scope.
        variables_collections: further collections of the variables: a list, or a dict by variable name.
        outputs_collections: collections of the output.
        trainable: whether the variables are trainable.
        scope: the variable scope; None: a unique scope from ``Conv2d_transpose``.

    Returns:
        The images.

    Raises:
        ValueError: ``data_format`` is not supported, or sizes are unknown.
    """
    getter = renaming_getter(RENAMED)
    with variable_scope(scope, "Conv2d_transpose", [inputs], reuse=reuse, custom_getter=getter) as opened:
        inputs = convert_to_tensor(inputs)
        layer = convolutional.Conv2DTranspose(
            num_outputs,
            _several(kernel_size),
            _several(stride),
            padding,
            layout_of(data_format),
            use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=opened.name,
            dtype=inputs.dtype.base_dtype,
            _scope=opened,
            _reuse=reuse,
        )
        outputs = layer(inputs)
        collect_variable(layer.kernel, variables_collections, "weights")
        collect_variable(layer.bias, variables_collections, "biases")
        outputs = activated(outputs, activation_fn, normalizer_fn, normalizer_params)
        result = collect_named_outputs(outputs_collections, opened.name, outputs)
        return result


@add_arg_scope
def separable_convolution2d(
    inputs: TensorLike,
    num_outputs: int,
    kernel_size: IntsLike,
    depth_multiplier: int = 1,
    stride: IntsLike = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: IntsLike = 1,
    activation_fn: Function | None = relu,
    normalizer_fn: Function | None = None,
    normalizer_params: Any = None,
    weights_initializer: InitializerLike | None = XAVIER,
    pointwise_initializer: InitializerLike | None = None,
    weights_regularizer: Function | None = None,
    biases_initializer: InitializerLike | None = Zeros,
    biases_regularizer: Function | None = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Tensor:
    """Apply a depthwise convolution followed by a 1x1 convolution, with ReLU.

    Args:
        inputs: ``[batch, height, width, channels]``, or with the channels first.
        num_outputs: number of output channels, an integer.
        kernel_size: rows and columns of the window.
        depth_multiplier: number of filters for each input channel.
        stride: stride of the window.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        rate: dilation rate of the window's rows and columns.
        activation_fn: an activation function; None: linear.
        normalizer_fn: a normalization in place of biases, such as ``batch_norm``.
        normalizer_params: its arguments, a dict.
        weights_initializer: initializer of the depthwise weights.
        pointwise_initializer: initializer of the pointwise weights; None: that of the depthwise weights.
        weights_regularizer: returns a scalar loss for weights.
        biases_initializer: initializer of the biases; None: no biases.
        biases_regularizer: returns a scalar loss for the biases.
        reuse: whether to reuse the variables of the scope.
        variables_collections: further collections of the variables: a list, or a dict by variable name.
        outputs_collections: collections of the output.
        trainable: whether the variables are trainable.
        scope: the variable scope; None: a unique scope from ``SeparableConv2d``.

    Returns:
        The images.

    Raises:
        ValueError: ``data_format`` is not supported, sizes are unknown, or ``num_outputs`` is None.
    """
    if num_outputs is None:
        raise ValueError("num_outputs=None is not supported: use tf.nn.depthwise_conv2d")
    renamed = {
        "bias": "biases",
        "depthwise_kernel": "depthwise_weights",
        "pointwise_kernel": "pointwise_weights",
    }
    getter = renaming_getter(renamed)
    with variable_scope(scope, "SeparableConv2d", [inputs], reuse=reuse, custom_getter=getter) as opened:
        inputs = convert_to_tensor(inputs)
        layer = convolutional.SeparableConv2D(
            num_outputs,
            _several(kernel_size),
            _several(stride),
            padding,
            layout_of(data_format),
            _several(rate),
            depth_multiplier,
            use_bias=not normalizer_fn and biases_initializer is not None,
            depthwise_initializer=weights_initializer,
            pointwise_initializer=pointwise_initializer or weights_initializer,
            bias_initializer=biases_initializer,
            depthwise_regularizer=weights_regularizer,
            pointwise_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=opened.name,
            dtype=inputs.dtype.base_dtype,
            _scope=opened,
            _reuse=reuse,
        )
        outputs = layer(inputs)
        for kernel in (layer.depthwise_kernel, layer.pointwise_kernel):
            collect_variable(kernel, variables_collections, "weights")
        collect_variable(layer.bias, variables_collections, "biases")
        outputs = activated(outputs, activation_fn, normalizer_fn, normalizer_params)
        result = collect_named_outputs(outputs_collections, opened.name, outputs)
        return result


def _pooled(
    inputs: TensorLike,
    kernel_size: IntsLike,
    stride: IntsLike = 2,
    padding: str = "VALID",
    data_format: str = "NHWC",
    outputs_collections: Any = None,
    scope: str | None = None,
    *,
    kind: Any = None,
    default_name: str = "",
) -> Tensor:
    order = layout_of(data_format)
    with name_scope(scope, default_name, [inputs]) as opened:
        layer = kind(_several(kernel_size), _several(stride), padding, order, _scope=opened)
        result = collect_named_outputs(outputs_collections, opened, layer(convert_to_tensor(inputs)))
        return result


@add_arg_scope
@variant_of(_pooled, kind=pooling.MaxPooling2D, default_name="MaxPool2D")
def max_pool2d() -> None:
    """Return the maximum of each window.

    Args:
        inputs: ``[batch, height, width, channels]``, or with the channels first.
        kernel_size: rows and columns of the window.
        stride: stride of the window.
        padding: ``"VALID"`` or ``"SAME"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        outputs_collections: collections of the output.
        scope: the name scope; None: a unique scope from ``MaxPool2D``.

    Returns:
        The images.

    Raises:
        ValueError: ``data_format`` or the rank is not supported.
    """


@add_arg_scope
@variant_of(_pooled, kind=pooling.AveragePooling2D, default_name="AvgPool2D")
def avg_pool2d() -> None:
    """Return the mean of each window.

    Args:
        inputs: ``[batch, height, width, channels]``, or with the channels first.
        kernel_size: rows and columns of the window.
        stride: stride of the window.
        padding: ``"VALID"`` or ``"SAME"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        outputs_collections: collections of the output.
        scope: the name scope; None: a unique scope from ``AvgPool2D``.

    Returns:
        The images.

    Raises:
        ValueError: ``data_format`` or the rank is not supported.
    """


conv1d = convolution1d


conv2d = convolution2d


conv2d_transpose = convolution2d_transpose


separable_conv2d = separable_convolution2d
