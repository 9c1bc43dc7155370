"""``tf.contrib.layers``, which is also ``tf.contrib.slim``: layers as functions with activation, normalisation, and
regularization in one call.

Variables are called ``weights`` and ``biases`` and are collected among the model's.

Source: tensorflow/contrib/layers/python/layers/layers.py and utils.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.contrib.arg_scope import add_arg_scope
from gpuplace.ops.contrib.regularizers import xavier_initializer
from gpuplace.ops.contrib.utils import collect_named_outputs
from gpuplace.ops.contrib.variables import model_variable, renaming_getter
from gpuplace.ops.flow.conditionals import smart_cond
from gpuplace.ops.layers import convolutional, core, normalization, pooling
from gpuplace.ops.math.cast import to_int64
from gpuplace.ops.nn.activation import relu
from gpuplace.ops.nn.activation import softmax as nn_softmax
from gpuplace.ops.nn.misc import embedding_lookup
from gpuplace.ops.nn.norm import batch_normalization, fused_batch_norm, moments
from gpuplace.ops.train.moving_averages import assign_moving_average
from gpuplace.ops.variables.init_ops import Ones, Zeros
from gpuplace.ops.variables.variable_scope import variable_scope
from gpuplace.ops.variants import variant_of
from gpuplace.typing import Function, InitializerLike, IntsLike, TensorLike

__all__ = [
    "avg_pool2d", "batch_norm", "conv1d", "conv2d", "conv2d_transpose", "convolution", "convolution1d", "convolution2d",
    "convolution2d_transpose", "dropout", "embed_sequence", "flatten", "fully_connected", "layer_norm", "linear",
    "max_pool2d", "one_hot_encoding", "relu_layer", "repeat", "separable_conv2d", "separable_convolution2d", "softmax",
    "stack",
]  # fmt: skip

_RENAMED = {"bias": "biases", "kernel": "weights"}

XAVIER = xavier_initializer()
"""What weights begin with where nothing else is said."""


def _collect(variable: Any, collections: Any, name: str) -> None:
    """Adds a variable to the collections for it: a list, or a dict by its name."""
    if variable is None or not collections:
        return
    graph = get_default_graph()
    keys = collections.get(name) if isinstance(collections, dict) else collections
    for key in keys or ():
        if all(variable is not one for one in graph.get_collection(key)):
            graph.add_to_collection(key, variable)


def _order(data_format: str | None) -> str:
    if data_format not in (None, "NWC", "NCW", "NHWC", "NCHW"):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    return "channels_first" if data_format and data_format.startswith("NC") else "channels_last"


def _finished(outputs: Any, activation_fn: Any, normalizer_fn: Any, normalizer_params: Any) -> Any:
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    return outputs if activation_fn is None else activation_fn(outputs)


@add_arg_scope
def fully_connected(
    inputs: TensorLike,
    num_outputs: int,
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
    """A dense layer with ReLU.

    >>> import gpuplace as tf
    >>> hidden = tf.contrib.layers.fully_connected(tf.zeros([8, 3]), 4, scope="hidden")
    >>> [variable.name for variable in tf.model_variables()], hidden.name
    (['hidden/weights:0', 'hidden/biases:0'], 'hidden/Relu:0')

    Args:
        inputs: ``[..., size]``.
        num_outputs: size of the output's last axis.
        activation_fn: a function from tensor to tensor; None: nothing more is done.
        normalizer_fn: a function instead of biases, such as ``batch_norm``.
        normalizer_params: its arguments, a dict.
        weights_initializer: of the weights.
        weights_regularizer: from the weights to a scalar loss.
        biases_initializer: of the biases; None: there are none.
        biases_regularizer: from the biases to a scalar loss.
        reuse: share the variables of the scope.
        variables_collections: where else variables are collected: a list, or a dict by their names.
        outputs_collections: where the output is collected.
        trainable: collect the variables among the trainable ones.
        scope: the variable scope; None: ``fully_connected``, made unique.

    Returns:
        ``[..., num_outputs]``.

    Raises:
        ValueError: ``num_outputs`` is no integer, or sizes are not known.
    """
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs type should be one of [int], got {type(num_outputs)}.")
    getter = renaming_getter(_RENAMED)
    with variable_scope(scope, "fully_connected", [inputs], reuse=reuse, custom_getter=getter) as opened:
        inputs = convert_to_tensor(inputs)
        layer = core.Dense(
            num_outputs,
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
        _collect(layer.kernel, variables_collections, "weights")
        _collect(layer.bias, variables_collections, "biases")
        outputs = _finished(outputs, activation_fn, normalizer_fn, normalizer_params)
        result = collect_named_outputs(outputs_collections, opened.name, outputs)
        return result


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
    """A convolution of images or sequences with ReLU.

    Args:
        inputs: ``[batch, height, width, channels]`` or ``[batch, length, channels]``, or with the channels first.
        num_outputs: number of output channels.
        kernel_size: size of the window.
        stride: how far the window moves.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"``, ``"NCHW"``, ``"NWC"`` or ``"NCW"``; None: channels last.
        rate: distance of the window's elements.
        activation_fn: a function from tensor to tensor; None: nothing more is done.
        normalizer_fn: a function instead of biases, such as ``batch_norm``.
        normalizer_params: its arguments, a dict.
        weights_initializer: of the weights.
        weights_regularizer: from the weights to a scalar loss.
        biases_initializer: of the biases; None: there are none.
        biases_regularizer: from the biases to a scalar loss.
        reuse: share the variables of the scope.
        variables_collections: where else variables are collected: a list, or a dict by their names.
        outputs_collections: where the output is collected.
        trainable: collect the variables among the trainable ones.
        scope: the variable scope; None: ``Conv``, made unique.
        conv_dims: 1 or 2 where only sequences or images are taken; None: both.

    Returns:
        The images or sequences.

    Raises:
        ValueError: another ``data_format`` or rank, or sizes that are not known.
    """
    order = _order(data_format)
    getter = renaming_getter(_RENAMED)
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
        _collect(layer.kernel, variables_collections, "weights")
        _collect(layer.bias, variables_collections, "biases")
        outputs = _finished(outputs, activation_fn, normalizer_fn, normalizer_params)
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
        **kwargs: the other arguments of ``convolution``.

    Returns:
        The sequences.

    Raises:
        ValueError: as ``convolution``.
    """
    made: Any = convolution
    result: Tensor = made(inputs, num_outputs, kernel_size, conv_dims=1, **kwargs)
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
        *args: the other arguments of ``convolution``.
        **kwargs: the same, by name.

    Returns:
        The images.

    Raises:
        ValueError: as ``convolution``.
    """
    made: Any = convolution
    result: Tensor = made(inputs, num_outputs, kernel_size, *args, conv_dims=2, **kwargs)
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
    """A transposed convolution with ReLU: makes larger images of small ones.

    Args:
        inputs: ``[batch, height, width, channels]``, or with the channels first.
        num_outputs: number of output channels.
        kernel_size: rows and columns of the window.
        stride: by how much larger the images become.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        activation_fn: a function from tensor to tensor; None: nothing more is done.
        normalizer_fn: a function instead of biases, such as ``batch_norm``.
        normalizer_params: its arguments, a dict.
        weights_initializer: of the weights.
        weights_regularizer: from the weights to a scalar loss.
        biases_initializer: of the biases; None: there are none.
        biases_regularizer: from the biases to a scalar loss.
        reuse: share the variables of the scope.
        variables_collections: where else variables are collected: a list, or a dict by their names.
        outputs_collections: where the output is collected.
        trainable: collect the variables among the trainable ones.
        scope: the variable scope; None: ``Conv2d_transpose``, made unique.

    Returns:
        The images.

    Raises:
        ValueError: another ``data_format``, or sizes that are not known.
    """
    getter = renaming_getter(_RENAMED)
    with variable_scope(scope, "Conv2d_transpose", [inputs], reuse=reuse, custom_getter=getter) as opened:
        inputs = convert_to_tensor(inputs)
        layer = convolutional.Conv2DTranspose(
            num_outputs,
            _several(kernel_size),
            _several(stride),
            padding,
            _order(data_format),
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
        _collect(layer.kernel, variables_collections, "weights")
        _collect(layer.bias, variables_collections, "biases")
        outputs = _finished(outputs, activation_fn, normalizer_fn, normalizer_params)
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
    """A depthwise convolution followed by a 1x1 one, with ReLU.

    Args:
        inputs: ``[batch, height, width, channels]``, or with the channels first.
        num_outputs: number of output channels, an integer.
        kernel_size: rows and columns of the window.
        depth_multiplier: filters of each input channel.
        stride: how far the window moves.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        rate: distance of the window's rows and columns.
        activation_fn: a function from tensor to tensor; None: nothing more is done.
        normalizer_fn: a function instead of biases, such as ``batch_norm``.
        normalizer_params: its arguments, a dict.
        weights_initializer: of the depthwise weights.
        pointwise_initializer: of the pointwise weights; None: as the others.
        weights_regularizer: from weights to a scalar loss.
        biases_initializer: of the biases; None: there are none.
        biases_regularizer: from the biases to a scalar loss.
        reuse: share the variables of the scope.
        variables_collections: where else variables are collected: a list, or a dict by their names.
        outputs_collections: where the output is collected.
        trainable: collect the variables among the trainable ones.
        scope: the variable scope; None: ``SeparableConv2d``, made unique.

    Returns:
        The images.

    Raises:
        ValueError: another ``data_format``, sizes that are not known, or ``num_outputs`` is None.
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
            _order(data_format),
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
            _collect(kernel, variables_collections, "weights")
        _collect(layer.bias, variables_collections, "biases")
        outputs = _finished(outputs, activation_fn, normalizer_fn, normalizer_params)
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
    order = _order(data_format)
    with name_scope(scope, default_name, [inputs]) as opened:
        layer = kind(_several(kernel_size), _several(stride), padding, order, _scope=opened)
        result = collect_named_outputs(outputs_collections, opened, layer(convert_to_tensor(inputs)))
        return result


@add_arg_scope
@variant_of(_pooled, kind=pooling.MaxPooling2D, default_name="MaxPool2D")
def max_pool2d() -> None:
    """The largest element of each window.

    Args:
        inputs: ``[batch, height, width, channels]``, or with the channels first.
        kernel_size: rows and columns of the window.
        stride: how far the window moves.
        padding: ``"VALID"`` or ``"SAME"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        outputs_collections: where the output is collected.
        scope: the name scope; None: ``MaxPool2D``, made unique.

    Returns:
        The images.

    Raises:
        ValueError: another ``data_format`` or rank.
    """


@add_arg_scope
@variant_of(_pooled, kind=pooling.AveragePooling2D, default_name="AvgPool2D")
def avg_pool2d() -> None:
    """The mean of each window.

    Args:
        inputs: ``[batch, height, width, channels]``, or with the channels first.
        kernel_size: rows and columns of the window.
        stride: how far the window moves.
        padding: ``"VALID"`` or ``"SAME"``.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        outputs_collections: where the output is collected.
        scope: the name scope; None: ``AvgPool2D``, made unique.

    Returns:
        The images.

    Raises:
        ValueError: another ``data_format`` or rank.
    """


@add_arg_scope
def dropout(
    inputs: TensorLike,
    keep_prob: TensorLike = 0.5,
    noise_shape: Any = None,
    is_training: TensorLike = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Tensor:
    """Dropout while training, else the identity.

    Args:
        inputs: a tensor of floating type.
        keep_prob: the share of elements that is kept.
        noise_shape: shape of the random decisions; None: that of ``inputs``.
        is_training: whether this is training: a bool, or a scalar bool tensor.
        outputs_collections: where the output is collected.
        scope: the variable scope; None: ``Dropout``, made unique.
        seed: seed of the random op; None: see ``set_random_seed``.

    Returns:
        A tensor of the same type and shape.

    Raises:
        ValueError: ``keep_prob`` is out of range.
    """
    with variable_scope(scope, "Dropout", [inputs], custom_getter=renaming_getter()) as opened:
        layer = core.Dropout(1 - keep_prob, noise_shape, seed, opened.name, _scope=opened)  # type: ignore[operator]
        outputs = layer(convert_to_tensor(inputs), training=is_training)
        result = collect_named_outputs(outputs_collections, opened.name, outputs)
        return result


@add_arg_scope
def flatten(inputs: TensorLike, outputs_collections: Any = None, scope: str | None = None) -> Tensor:
    """All axes but the first one in one.

    Args:
        inputs: ``[batch, ...]``.
        outputs_collections: where the output is collected.
        scope: the name scope; None: ``Flatten``, made unique.

    Returns:
        ``[batch, size]``.

    Raises:
        ValueError: the size is not known.
    """
    with name_scope(scope, "Flatten", [inputs]) as opened:
        result = collect_named_outputs(outputs_collections, opened, core.flatten(convert_to_tensor(inputs)))
        return result


@add_arg_scope
def batch_norm(
    inputs: TensorLike,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Function | None = None,
    param_initializers: Any = None,
    param_regularizers: Any = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: TensorLike = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Function | None = None,
) -> Tensor:
    """Batch normalisation, with a learnt offset, and with a learnt factor where ``scale``.

    Args:
        inputs: of a known rank.
        decay: how much of the moving averages is kept.
        center: add a learnt offset ``beta``.
        scale: multiply by a learnt factor ``gamma``.
        epsilon: added to the variance.
        activation_fn: a function from tensor to tensor; None: nothing more is done.
        param_initializers: initializers by the names of variables, a dict.
        param_regularizers: regularizers of ``beta`` and ``gamma``, a dict.
        updates_collections: where the updates of moving averages are collected; None: the output waits for them.
        is_training: whether to normalise by the batch: a bool, or a scalar bool tensor.
        reuse: share the variables of the scope.
        variables_collections: where else variables are collected: a list, or a dict by their names.
        outputs_collections: where the output is collected.
        trainable: collect ``beta`` and ``gamma`` among the trainable variables.
        batch_weights: not supported; None.
        fused: use one op where possible; None: yes.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        zero_debias_moving_mean: not supported; False.
        scope: the variable scope; None: ``BatchNorm``, made unique.
        renorm: batch renormalisation, see ``tf.layers.BatchNormalization``.
        renorm_clipping: bounds of its corrections, ``rmax``, ``rmin`` and ``dmax``; None: there are none.
        renorm_decay: how much of its averages is kept.
        adjustment: while training, from the shape of the inputs to a scale and an offset of the normalised values.

    Returns:
        A tensor of the same type and shape.

    Raises:
        ValueError: an argument is not supported, or sizes are not known.
    """
    for argument, given in (
        ("batch_weights", batch_weights is not None),
        ("zero_debias_moving_mean", zero_debias_moving_mean),
    ):
        if given:
            raise ValueError(f"{argument} is not supported: leave it out, or build it with tf.nn.moments")
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    inputs = convert_to_tensor(inputs)
    rank = inputs.shape.ndims
    wanted = {"beta": Zeros(), "gamma": Ones(), "moving_mean": Zeros(), "moving_variance": Ones()}
    wanted |= param_initializers or {}
    penalties = param_regularizers or {}
    delayed = updates_collections is GraphKeys.UPDATE_OPS or updates_collections == GraphKeys.UPDATE_OPS
    in_one_op = fused is not False and rank in (2, 4) and not renorm and adjustment is None
    by_hand = (rank == 2 or not delayed) if in_one_op else not delayed
    if by_hand and not in_one_op:
        raise ValueError(
            f"updates_collections={updates_collections!r} is supported for inputs with 2 or 4 axes in one op: leave it "
            "out and run the operations of tf.GraphKeys.UPDATE_OPS"
        )
    getter = None if by_hand else renaming_getter()
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse, custom_getter=getter) as opened:
        if by_hand:
            made = _Norm(
                inputs, data_format, center, scale, wanted, penalties, trainable, variables_collections
            )
            outputs = made.outputs(is_training, epsilon, decay, updates_collections)
        else:
            layer = normalization.BatchNormalization(
                axis=1 if data_format == "NCHW" else -1,
                momentum=decay,
                epsilon=epsilon,
                center=center,
                scale=scale,
                beta_initializer=wanted["beta"],
                gamma_initializer=wanted["gamma"],
                moving_mean_initializer=wanted["moving_mean"],
                moving_variance_initializer=wanted["moving_variance"],
                beta_regularizer=penalties.get("beta"),
                gamma_regularizer=penalties.get("gamma"),
                renorm=renorm,
                renorm_clipping=renorm_clipping,
                renorm_momentum=renorm_decay,
                adjustment=adjustment,
                trainable=trainable,
                fused=fused,
                name=opened.name,
                _scope=opened,
                _reuse=reuse,
            )
            outputs = layer(inputs, training=is_training)
            for name in ("moving_mean", "moving_variance", "beta", "gamma"):
                _collect(getattr(layer, name), variables_collections, name)
        outputs = outputs if activation_fn is None else activation_fn(outputs)
        result = collect_named_outputs(outputs_collections, opened.name, outputs)
        return result


class _Norm:
    """Batch normalisation in one op, for matrices as images of one pixel."""

    def __init__(
        self,
        inputs: Tensor,
        data_format: str,
        center: bool,
        scale: bool,
        initializers: Any,
        regularizers: Any,
        trainable: bool,
        collections: Any,
    ) -> None:
        self.given, self.data_format = inputs, data_format
        self.images = inputs
        if inputs.shape.ndims == 2:
            channels = inputs.shape[-1].value
            if channels is None:
                raise ValueError("`C` dimension must be known but is None")
            shape = [-1, channels, 1, 1] if data_format == "NCHW" else [-1, 1, 1, channels]
            self.images = reshaping.reshape(inputs, shape)
        size = self.images.shape[1 if data_format == "NCHW" else -1].value
        if size is None:
            raise ValueError(f"Inputs {inputs.name} has undefined `C` dimension {inputs.shape}.")

        def variable(name: str, trained: bool) -> Any:
            keys = collections.get(name) if isinstance(collections, dict) else collections
            make: Any = model_variable
            return make(
                name,
                shape=[size],
                dtype="float32",
                initializer=initializers[name],
                regularizer=regularizers.get(name) if trained else None,
                collections=keys,
                trainable=trained and trainable,
            )

        self.beta = variable("beta", True) if center else constant.constant(0.0, "float32", [size])
        self.gamma = variable("gamma", True) if scale else constant.constant(1.0, "float32", [size])
        self.mean, self.variance = variable("moving_mean", False), variable("moving_variance", False)

    def outputs(self, training: Any, epsilon: float, decay: float, collections: Any) -> Any:
        common: dict[str, Any] = {"epsilon": epsilon, "data_format": self.data_format}
        averages: dict[str, Any] = {"mean": self.mean, "variance": self.variance, "is_training": False}

        def by_batch() -> Any:
            return fused_batch_norm(self.images, self.gamma, self.beta, **common)

        def by_averages() -> Any:
            return fused_batch_norm(self.images, self.gamma, self.beta, **averages, **common)

        outputs, mean, variance = smart_cond(training, by_batch, by_averages)

        def updates() -> tuple[Any, Any]:
            one = assign_moving_average(self.mean, mean, decay, zero_debias=False)
            return one, assign_moving_average(self.variance, variance, decay, zero_debias=False)

        def forced() -> Tensor:
            with get_default_graph().control_dependencies([getattr(one, "op", one) for one in updates()]):
                return reshaping.identity(outputs)

        always = constant_value(training) if isinstance(training, Tensor) else training
        if always is None or always:
            if collections is None:
                outputs = smart_cond(training, forced, lambda: outputs)
            else:
                moved = smart_cond(training, updates, lambda: (self.mean, self.variance))
                for update in moved:
                    for key in [collections] if isinstance(collections, str) else collections:
                        get_default_graph().add_to_collection(key, update)
        outputs.set_shape(self.images.shape)
        if self.given.shape.ndims == 2:
            outputs = reshaping.reshape(outputs, reshaping.shape(self.given))
        return outputs


@add_arg_scope
def layer_norm(
    inputs: TensorLike,
    center: bool = True,
    scale: bool = True,
    activation_fn: Function | None = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Tensor:
    """Normalises each example by its own mean and variance.

    Args:
        inputs: of a known rank.
        center: add a learnt offset ``beta``.
        scale: multiply by a learnt factor ``gamma``.
        activation_fn: a function from tensor to tensor; None: nothing more is done.
        reuse: share the variables of the scope.
        variables_collections: where else variables are collected: a list, or a dict by their names.
        outputs_collections: where the output is collected.
        trainable: collect the variables among the trainable ones.
        begin_norm_axis: the first axis that mean and variance are of.
        begin_params_axis: the first axis that ``beta`` and ``gamma`` have.
        scope: the variable scope; None: ``LayerNorm``, made unique.

    Returns:
        A tensor of the same type and shape.

    Raises:
        ValueError: the rank or sizes are not known, or there are no such axes.
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as opened:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        begin = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
        if begin_params_axis >= rank or begin >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin}) must be < rank(inputs) ({rank})"
            )
        shape: Any = inputs.shape[begin_params_axis:]
        if not shape.is_fully_defined():
            raise ValueError(
                f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: {inputs.shape}"
            )
        dtype = inputs.dtype.base_dtype

        def variable(name: str, initializer: Any) -> Any:
            keys = (
                variables_collections.get(name)
                if isinstance(variables_collections, dict)
                else variables_collections
            )
            make: Any = model_variable
            return make(
                name, shape=shape, dtype=dtype, initializer=initializer, collections=keys, trainable=trainable
            )

        beta = variable("beta", Zeros()) if center else None
        gamma = variable("gamma", Ones()) if scale else None
        mean, variance = moments(inputs, [*range(begin, rank)], keep_dims=True)
        least = 1e-3 if dtype.name == "float16" else 1e-12
        outputs: Any = batch_normalization(inputs, mean, variance, beta, gamma, least)
        outputs.set_shape(inputs.shape)
        outputs = outputs if activation_fn is None else activation_fn(outputs)
        result = collect_named_outputs(outputs_collections, opened.name, outputs)
        return result


@add_arg_scope
def one_hot_encoding(
    labels: TensorLike,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Tensor:
    """One-hot rows of labels.

    Args:
        labels: integers.
        num_classes: how many classes there are.
        on_value: the element of the class.
        off_value: the others.
        outputs_collections: where the output is collected.
        scope: the name scope; None: ``OneHotEncoding``, made unique.

    Returns:
        ``[..., num_classes]``.
    """
    with name_scope(scope, "OneHotEncoding", [labels, num_classes]) as opened:
        labels = convert_to_tensor(labels)
        if labels.dtype.name == "int32":
            labels = to_int64(labels)
        encoded = constant.one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
        result = collect_named_outputs(outputs_collections, opened, encoded)
        return result


@add_arg_scope
def softmax(logits: TensorLike, scope: Any = None) -> Tensor:
    """Softmax along the last axis.

    Args:
        logits: two axes or more.
        scope: the variable scope; None: ``softmax``, made unique.

    Returns:
        A tensor of the same type and shape.

    Raises:
        ValueError: the last size is not known.
    """
    with variable_scope(scope, "softmax", [logits]):
        logits = convert_to_tensor(logits)
        size = logits.shape.with_rank_at_least(2)[-1].value
        if size is None:
            raise ValueError("rank of shape must be at least 2 not None and the last dimension known")
        outputs = reshaping.reshape(
            nn_softmax(reshaping.reshape(logits, [-1, size])), reshaping.shape(logits)
        )
        outputs.set_shape(logits.shape)
        return outputs


def _name_of(layer: Any, default: str) -> str:
    name = getattr(layer, "__name__", None) or getattr(getattr(layer, "func", None), "__name__", None)
    return name or default


def repeat(inputs: TensorLike, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A layer applied several times, each with variables of its own.

    Args:
        inputs: the first input.
        repetitions: how often.
        layer: a function that takes ``scope``.
        *args: what else it takes.
        **kwargs: the same, by name; ``scope`` is the scope around all.

    Returns:
        The last output.
    """
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        outputs: Any = convert_to_tensor(inputs)
        name = _name_of(layer, "repeat") if scope is None else scope
        for number in range(repetitions):
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{name}_{number + 1}"})
        return outputs


def stack(inputs: TensorLike, layer: Callable[..., Any], stack_args: Any, **kwargs: Any) -> Any:
    """Layers of one kind on top of each other, each with other arguments.

    >>> import gpuplace as tf
    >>> layers = tf.contrib.layers
    >>> layers.stack(tf.zeros([2, 8]), layers.fully_connected, [6, 4]).shape.as_list()
    [2, 4]

    Args:
        inputs: the first input.
        layer: a function that takes ``scope``.
        stack_args: for each layer an argument, or a list of arguments.
        **kwargs: arguments of all; ``scope`` is the scope around all.

    Returns:
        The last output.

    Raises:
        ValueError: ``stack_args`` is no list.
    """
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, list | tuple):
        raise ValueError("stack_args need to be a list or tuple")
    with variable_scope(scope, "Stack", [inputs]):
        outputs: Any = convert_to_tensor(inputs)
        name = _name_of(layer, "stack") if scope is None else scope
        for number, given in enumerate(stack_args):
            own = given if isinstance(given, list | tuple) else [given]
            outputs = layer(outputs, *own, **{**kwargs, "scope": f"{name}_{number + 1}"})
        return outputs


def embed_sequence(
    ids: TensorLike,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: InitializerLike | None = None,
    regularizer: Function | None = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
) -> Tensor:
    """Sequences of ids as sequences of rows of a learnt table.

    Args:
        ids: int32 or int64, ``[batch, length]``.
        vocab_size: how many ids there are; not needed where ``reuse``.
        embed_dim: size of a row; not needed where ``reuse``.
        unique: not supported; False.
        initializer: of the table.
        regularizer: from the table to a scalar loss.
        trainable: collect the table among the trainable variables.
        scope: the variable scope; None: ``EmbedSequence``, made unique.
        reuse: share the table of the scope.

    Returns:
        ``[batch, length, embed_dim]``.

    Raises:
        ValueError: a size is missing, or ``unique``.
    """
    if not reuse and (vocab_size is None or embed_dim is None):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. "
            f"Got vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    if unique:
        raise ValueError("unique is not supported: tf.unique finds the ids that differ")
    with variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = None if reuse else [vocab_size, embed_dim]
        make: Any = model_variable
        table = make(
            "embeddings", shape=shape, initializer=initializer, regularizer=regularizer, trainable=trainable
        )
        return embedding_lookup(table, ids)


def linear(*args: Any, **kwargs: Any) -> Tensor:
    """``fully_connected`` without an activation.

    Args:
        *args: those of ``fully_connected``.
        **kwargs: the same, by name.

    Returns:
        As ``fully_connected``.
    """
    result: Tensor = fully_connected(*args, **{"activation_fn": None, **kwargs})
    return result


def relu_layer(*args: Any, **kwargs: Any) -> Tensor:
    """``fully_connected`` with ReLU.

    Args:
        *args: those of ``fully_connected``.
        **kwargs: the same, by name.

    Returns:
        As ``fully_connected``.
    """
    result: Tensor = fully_connected(*args, **kwargs)
    return result


conv1d = convolution1d
conv2d = convolution2d
conv2d_transpose = convolution2d_transpose
separable_conv2d = separable_convolution2d
