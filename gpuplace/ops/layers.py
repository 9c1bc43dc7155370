"""``tf.layers``: layers with variables of their own, as functions.

    tf.layers.dense(x, 10)      dense/kernel, dense/bias --> dense/MatMul --> dense/BiasAdd

A layer's name is its variable scope's; ``reuse`` shares the variables of a layer of the same name.

Source: tensorflow/python/layers/core.py, convolutional.py, pooling.py, normalization.py, layers/base.py, release 1.15
(names, structure).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.math import contraction
from gpuplace.ops.nn.conv import conv2d as nn_conv2d
from gpuplace.ops.nn.misc import bias_add
from gpuplace.ops.nn.misc import dropout as nn_dropout
from gpuplace.ops.nn.norm import batch_normalization as nn_batch_normalization
from gpuplace.ops.nn.norm import fused_batch_norm, moments
from gpuplace.ops.nn.pool import avg_pool, max_pool
from gpuplace.ops.support import new
from gpuplace.ops.variables import state
from gpuplace.ops.variables.init_ops import Ones, Zeros
from gpuplace.ops.variables.variable_scope import get_variable, get_variable_scope, variable_scope
from gpuplace.typing import Function, InitializerLike, IntsLike, TensorLike

__all__ = [
    "average_pooling2d",
    "batch_normalization",
    "conv2d",
    "dense",
    "dropout",
    "flatten",
    "max_pooling2d",
]


@contextlib.contextmanager
def _layer(name: str | None, default_name: str, reuse: Any) -> Iterator[Any]:
    """The variable scope of a layer; its operations go to the name scope of the same name."""
    with variable_scope(name, default_name=default_name, reuse=reuse) as scope:
        yield scope


def _variable(
    name: str,
    shape: Sequence[int],
    dtype: Any,
    initializer: Any,
    regularizer: Callable[[Any], Any] | None = None,
    constraint: Any = None,
    trainable: bool = True,
) -> Any:
    """A variable of the current layer; its regularization loss is added once."""
    scope = get_variable_scope()
    graph = get_default_graph()
    known = {id(variable) for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES)}
    variable = get_variable(
        name,
        shape=list(shape),
        dtype=dtype,
        initializer=initializer,
        constraint=constraint,
        trainable=trainable,
    )
    regularizer = regularizer or scope.regularizer
    if regularizer is not None and id(variable) not in known:
        with graph.name_scope(f"{variable.op.name}/Regularizer/"):
            loss = regularizer(variable)
        if loss is not None:
            graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return variable


def _known_size(inputs: Tensor, axis: int, layer: str) -> int:
    size = inputs.shape[axis].value
    if size is None:
        raise ValueError(
            f"The last dimension of the inputs to `{layer}` should be defined. Found `None`."
            if layer == "Dense"
            else f"The channel dimension of the inputs to `{layer}` should be defined. Found `None`."
        )
    return int(size)


def _pair(value: Any, name: str) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    pair = tuple(value)
    if len(pair) != 2 or not all(isinstance(item, int) for item in pair):
        raise ValueError(f"The `{name}` argument must be a tuple of 2 integers. Received: {value}")
    return pair[0], pair[1]


def dense(
    inputs: TensorLike,
    units: int,
    activation: Callable[[Any], Any] | None = None,
    use_bias: bool = True,
    kernel_initializer: InitializerLike | None = None,
    bias_initializer: InitializerLike = Zeros,
    kernel_regularizer: Function | None = None,
    bias_regularizer: Function | None = None,
    activity_regularizer: Function | None = None,
    kernel_constraint: Function | None = None,
    bias_constraint: Function | None = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
) -> Tensor:
    """``activation(matmul(inputs, kernel) + bias)``.

    >>> import gpuplace as tf
    >>> hidden = tf.layers.dense(tf.zeros([8, 784]), 100, tf.nn.relu, name="hidden")
    >>> [(variable.name, variable.shape.as_list()) for variable in tf.trainable_variables("hidden")]
    [('hidden/kernel:0', [784, 100]), ('hidden/bias:0', [100])]

    Args:
        inputs: ``[..., size]``, two axes or more, of a type that ``matmul`` takes.
        units: size of the output's last axis.
        activation: a function from tensor to tensor; None: nothing more is done.
        use_bias: add a bias.
        kernel_initializer: of the kernel, ``[size, units]``; None: the scope's.
        bias_initializer: of the bias, ``[units]``; None: the scope's.
        kernel_regularizer: from the kernel to a scalar loss; None: the scope's.
        bias_regularizer: from the bias to a scalar loss; None: the scope's.
        activity_regularizer: from the output to a scalar loss.
        kernel_constraint: a function from the value to a value, applied by optimizers after an update.
        bias_constraint: the same for the bias.
        trainable: collect the variables among the trainable ones.
        name: name of the layer; None: ``dense``, made unique.
        reuse: share the variables of a layer of that name.

    Returns:
        A tensor of the dtype of ``inputs``, ``[..., units]``.

    Raises:
        ValueError: the size of the last axis is not known, there is only one axis, or variables may not be shared.
    """
    inputs = convert_to_tensor(inputs)
    with _layer(name, "dense", reuse):
        size = _known_size(inputs, -1, "Dense")
        dtype = inputs.dtype.base_dtype
        kernel = _variable(
            "kernel",
            (size, units),
            dtype,
            kernel_initializer,
            kernel_regularizer,
            kernel_constraint,
            trainable,
        )
        of_bias = bias_initializer, bias_regularizer, bias_constraint, trainable
        bias = _variable("bias", (units,), dtype, *of_bias) if use_bias else None
        rank = inputs.shape.ndims
        if rank is not None and rank > 2:
            outputs = contraction.tensordot(inputs, kernel, [[rank - 1], [0]])
            outputs.set_shape([*inputs.shape.as_list()[:-1], units])
        else:
            outputs = new("MatMul", a=inputs, b=kernel)
        if bias is not None:
            outputs = bias_add(outputs, bias)
        return _finished(outputs, activation, activity_regularizer)


def _finished(outputs: Any, activation: Any, activity_regularizer: Any) -> Tensor:
    outputs = activation(outputs) if activation is not None else outputs
    if activity_regularizer is not None:
        with get_default_graph().name_scope("ActivityRegularizer"):
            loss = activity_regularizer(outputs)
        get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return outputs


def conv2d(
    inputs: TensorLike,
    filters: int,
    kernel_size: IntsLike,
    strides: IntsLike = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: IntsLike = (1, 1),
    activation: Callable[[Any], Any] | None = None,
    use_bias: bool = True,
    kernel_initializer: InitializerLike | None = None,
    bias_initializer: InitializerLike = Zeros,
    kernel_regularizer: Function | None = None,
    bias_regularizer: Function | None = None,
    activity_regularizer: Function | None = None,
    kernel_constraint: Function | None = None,
    bias_constraint: Function | None = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
) -> Tensor:
    """``activation(conv2d(inputs, kernel) + bias)``.

    >>> import gpuplace as tf
    >>> tf.layers.conv2d(tf.zeros([8, 32, 32, 3]), filters=16, kernel_size=5).shape
    TensorShape([Dimension(8), Dimension(28), Dimension(28), Dimension(16)])

    Args:
        inputs: ``[batch, height, width, in_channels]``, or ``[batch, in_channels, height, width]`` for
            ``"channels_first"``, of float16, bfloat16, float32 or float64.
        filters: number of output channels.
        kernel_size: rows and columns of the window, one or two integers.
        strides: how far the window moves, in pixels: one or two integers.
        padding: ``"valid"`` or ``"same"``, in either case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        dilation_rate: distance of the window's rows and columns in pixels: one or two integers.
        activation: a function from tensor to tensor; None: nothing more is done.
        use_bias: add a bias.
        kernel_initializer: of the kernel, ``[rows, columns, in_channels, filters]``; None: the scope's.
        bias_initializer: of the bias, ``[filters]``; None: the scope's.
        kernel_regularizer: from the kernel to a scalar loss; None: the scope's.
        bias_regularizer: from the bias to a scalar loss; None: the scope's.
        activity_regularizer: from the output to a scalar loss.
        kernel_constraint: a function from the value to a value, applied by optimizers after an update.
        bias_constraint: the same for the bias.
        trainable: collect the variables among the trainable ones.
        name: name of the layer; None: ``conv2d``, made unique.
        reuse: share the variables of a layer of that name.

    Returns:
        A tensor of the dtype of ``inputs``: ``[batch, out_height, out_width, filters]``, or with the channels first.

    Raises:
        TypeError: ``inputs`` has another dtype.
        ValueError: the number of channels is not known, the window does not fit, an argument has another value, or
            variables may not be shared.
        UnimplementedError: at run time, ``"channels_first"`` on a CPU.
    """
    inputs = convert_to_tensor(inputs)
    order = _order(data_format)
    with _layer(name, "conv2d", reuse):
        size = _known_size(inputs, 1 if order == "NCHW" else -1, "Conv2D")
        dtype = inputs.dtype.base_dtype
        shape = (*_pair(kernel_size, "kernel_size"), size, filters)
        kernel = _variable(
            "kernel", shape, dtype, kernel_initializer, kernel_regularizer, kernel_constraint, trainable
        )
        of_bias = bias_initializer, bias_regularizer, bias_constraint, trainable
        bias = _variable("bias", (filters,), dtype, *of_bias) if use_bias else None
        dilations = _pair(dilation_rate, "dilation_rate")
        constant.constant(dilations, "int32", name="dilation_rate")
        outputs = nn_conv2d(
            inputs,
            kernel,
            strides=_pair(strides, "strides"),
            padding=padding.upper(),
            data_format=order,
            dilations=dilations,
            name="Conv2D",
        )
        if bias is not None:
            outputs = bias_add(outputs, bias, data_format=order)
        return _finished(outputs, activation, activity_regularizer)


def _order(data_format: str) -> str:
    orders = {"channels_last": "NHWC", "channels_first": "NCHW"}
    if data_format not in orders:
        raise ValueError(
            f"The `data_format` argument must be one of 'channels_first', 'channels_last'. Received: {data_format}"
        )
    return orders[data_format]


def max_pooling2d(
    inputs: TensorLike,
    pool_size: IntsLike,
    strides: IntsLike,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window, channel by channel.

    Args:
        inputs: ``[batch, height, width, channels]``, or ``[batch, channels, height, width]`` for ``"channels_first"``,
            of a type that ``tf.nn.max_pool`` takes.
        pool_size: rows and columns of the window, one or two integers.
        strides: how far the window moves, in pixels: one or two integers.
        padding: ``"valid"`` or ``"same"``, in either case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        name: name of the layer; None: ``max_pooling2d``, made unique.

    Returns:
        A tensor of the dtype of ``inputs``: ``[batch, out_height, out_width, channels]``, or with the channels first.

    Raises:
        TypeError: ``inputs`` has another dtype.
        ValueError: the rank is not 4, the window does not fit, or an argument has another value.
    """
    return _pooling(max_pool, "max_pooling2d", inputs, pool_size, strides, padding, data_format, name)


def average_pooling2d(
    inputs: TensorLike,
    pool_size: IntsLike,
    strides: IntsLike,
    padding: str = "valid",
    data_format: str = "channels_last",
    name: str | None = None,
) -> Tensor:
    """The mean of each window, channel by channel; pixels of the border do not count.

    Args:
        inputs: ``[batch, height, width, channels]``, or ``[batch, channels, height, width]`` for ``"channels_first"``,
            of float16, bfloat16, float32 or float64.
        pool_size: rows and columns of the window, one or two integers.
        strides: how far the window moves, in pixels: one or two integers.
        padding: ``"valid"`` or ``"same"``, in either case.
        data_format: ``"channels_last"`` or ``"channels_first"``.
        name: name of the layer; None: ``average_pooling2d``, made unique.

    Returns:
        A tensor of the dtype of ``inputs``: ``[batch, out_height, out_width, channels]``, or with the channels first.

    Raises:
        TypeError: ``inputs`` has another dtype.
        ValueError: the rank is not 4, the window does not fit, or an argument has another value.
    """
    return _pooling(avg_pool, "average_pooling2d", inputs, pool_size, strides, padding, data_format, name)


def _pooling(
    pool: Callable[..., Tensor],
    default_name: str,
    inputs: Any,
    pool_size: Any,
    strides: Any,
    padding: str,
    data_format: str,
    name: str | None,
) -> Tensor:
    order = _order(data_format)
    sizes, steps = _pair(pool_size, "pool_size"), _pair(strides, "strides")
    with _layer(name, default_name, None):
        return pool(inputs, sizes, steps, padding.upper(), data_format=order)


def flatten(inputs: TensorLike, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """All axes but the first one in one.

    >>> import gpuplace as tf
    >>> tf.layers.flatten(tf.zeros([8, 28, 28, 1])).shape
    TensorShape([Dimension(8), Dimension(784)])

    Args:
        inputs: ``[batch, ...]``, of any dtype.
        name: name of the layer; None: ``flatten``, made unique.
        data_format: ``"channels_last"``, or ``"channels_first"``, which first moves the second axis to the end.

    Returns:
        A tensor of the dtype of ``inputs``, ``[batch, size]``.

    Raises:
        ValueError: neither the batch size nor all other sizes are known, or another ``data_format``.
    """
    inputs = convert_to_tensor(inputs)
    with _layer(name, "flatten", None):
        if _order(data_format) == "NCHW" and inputs.shape.ndims is not None and inputs.shape.ndims > 1:
            rank = inputs.shape.ndims
            inputs = reshaping.transpose(inputs, [0, *range(2, rank), 1])
        sizes = inputs.shape.sizes
        rest = sizes[1:] if sizes else (None,)
        batch = sizes[0] if sizes else None
        if batch and None in rest:
            return reshaping.reshape(inputs, (batch, -1))
        if None in rest:
            raise ValueError(
                f"flatten needs the size of a row of {inputs}, and of its shape {inputs.shape} neither the batch size "
                "nor all other sizes are known"
            )
        outputs = reshaping.reshape(inputs, (-1, math.prod(size or 0 for size in rest)))
        outputs.set_shape([batch, math.prod(size or 0 for size in rest)])
        return outputs


def dropout(
    inputs: TensorLike,
    rate: TensorLike = 0.5,
    noise_shape: TensorLike | None = None,
    seed: int | None = None,
    training: bool = False,
    name: str | None = None,
) -> Tensor:
    """``tf.nn.dropout`` while training, else the identity.

    Args:
        inputs: float16, bfloat16, float32 or float64, of any shape.
        rate: the share of elements set to zero, from 0 to below 1.
        noise_shape: shape of the random decisions, which broadcasts to that of ``inputs``; None: the shape of
            ``inputs``.
        seed: seed of the random op; None: see ``set_random_seed``.
        training: a Python bool.
        name: name of the layer; None: ``dropout``, made unique.

    Returns:
        A tensor of the dtype and shape of ``inputs``.

    Raises:
        TypeError: ``training`` is a tensor, which needs ``tf.cond``.
        ValueError: while training, ``rate`` is out of range, or ``inputs`` of another type.
    """
    if isinstance(training, Tensor):
        raise TypeError("training has to be True or False: a choice made at run time needs tf.cond")
    inputs = convert_to_tensor(inputs)
    with _layer(name, "dropout", None):
        if training:
            return nn_dropout(inputs, noise_shape=noise_shape, seed=seed, rate=rate)
        return reshaping.identity(inputs)


def batch_normalization(
    inputs: TensorLike,
    axis: int = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: InitializerLike = Zeros,
    gamma_initializer: InitializerLike = Ones,
    moving_mean_initializer: InitializerLike = Zeros,
    moving_variance_initializer: InitializerLike = Ones,
    beta_regularizer: Function | None = None,
    gamma_regularizer: Function | None = None,
    beta_constraint: Function | None = None,
    gamma_constraint: Function | None = None,
    training: bool = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
    fused: bool | None = None,
) -> Tensor:
    """Normalises each channel: by the batch while training, else by the moving averages.

    The operations that move the averages are collected under ``tf.GraphKeys.UPDATE_OPS``; nothing runs them by itself.

    Args:
        inputs: float16, bfloat16, float32 or float64, of a known rank; images, four axes with channels as the second or
            the last, are normalised in one op, which knows no float64.
        axis: the axis of the channels; negative ones count from the end.
        momentum: how much of the moving averages is kept, a number from 0 to 1.
        epsilon: added to the variance against division by zero.
        center: add a learnt offset ``beta``, ``[channels]``.
        scale: multiply by a learnt factor ``gamma``, ``[channels]``.
        beta_initializer: initial offset.
        gamma_initializer: initial factor.
        moving_mean_initializer: initial moving mean.
        moving_variance_initializer: initial moving variance.
        beta_regularizer: from the offset to a scalar loss; None: the scope's.
        gamma_regularizer: from the factor to a scalar loss; None: the scope's.
        beta_constraint: a function from the value to a value, applied by optimizers after an update.
        gamma_constraint: the same for the factor.
        training: normalise by the batch, a Python bool.
        trainable: collect the variables among the trainable ones.
        name: name of the layer; None: ``batch_normalization``, made unique.
        reuse: share the variables of a layer of that name.
        fused: use one op, for images only; None: where possible.

    Returns:
        A tensor of the dtype and shape of ``inputs``.

    Raises:
        TypeError: ``training`` is a tensor, which needs ``tf.cond``, or ``inputs`` has another dtype.
        ValueError: the rank, or the number of channels, is not known, or ``fused`` for something else than images.
    """
    if isinstance(training, Tensor):
        raise TypeError("training has to be True or False: a choice made at run time needs tf.cond")
    inputs = convert_to_tensor(inputs)
    rank = inputs.shape.ndims
    if rank is None:
        raise ValueError("Input has undefined rank:", inputs.shape)
    channel = axis % rank
    fused = (rank == 4 and channel in (1, 3)) if fused is None else fused
    with _layer(name, "batch_normalization", reuse):
        size = inputs.shape[channel].value
        if size is None:
            raise ValueError("Input has undefined `axis` dimension. Input shape: ", inputs.shape)
        dtype = "float32" if inputs.dtype.base_dtype.name == "float16" else inputs.dtype.base_dtype
        of_gamma = gamma_initializer, gamma_regularizer, gamma_constraint, trainable
        gamma = _variable("gamma", (size,), dtype, *of_gamma) if scale else None
        of_beta = beta_initializer, beta_regularizer, beta_constraint, trainable
        beta = _variable("beta", (size,), dtype, *of_beta) if center else None
        mean = _variable("moving_mean", (size,), dtype, moving_mean_initializer, trainable=False)
        variance = _variable("moving_variance", (size,), dtype, moving_variance_initializer, trainable=False)
        if fused:
            order = "NHWC" if channel == 3 else "NCHW"
            gamma = constant.ones([size], dtype) if gamma is None else gamma
            beta = constant.zeros([size], dtype) if beta is None else beta
            given = {} if training else {"mean": mean, "variance": variance}
            outputs, batch_mean, batch_variance = fused_batch_norm(
                inputs, gamma, beta, epsilon=epsilon, data_format=order, is_training=training, **given
            )
            if training:
                keep = constant.constant(momentum)
                _move(mean, batch_mean, keep)
                _move(variance, batch_variance, keep)
            return outputs
        return _plain(
            inputs, channel, (mean, variance), (beta, gamma), epsilon, momentum if training else None
        )


def _plain(
    inputs: Tensor,
    channel: int,
    moving: tuple[Any, Any],
    learnt: tuple[Any, Any],
    epsilon: float,
    momentum: float | None,
) -> Tensor:
    """Normalisation out of single ops, for any rank; by the batch where ``momentum`` is given."""
    rank = inputs.shape.ndims or 0
    axes = [axis for axis in range(rank) if axis != channel]
    last = channel == rank - 1
    shape = [inputs.shape[channel].value if axis == channel else 1 for axis in range(rank)]

    def spread(values: Any) -> Any:
        return values if values is None or last else reshaping.reshape(values, shape)

    beta, gamma = (spread(values) for values in learnt)
    if momentum is None:
        mean, variance = (spread(values) for values in moving)
    else:
        mean, variance = moments(inputs, axes, keep_dims=not last)
        for average, value in zip(moving, (mean, variance), strict=True):
            _move(
                average, value if last else reshaping.reshape(value, [inputs.shape[channel].value]), momentum
            )
    return nn_batch_normalization(inputs, mean, variance, beta, gamma, epsilon)


def _move(moving: Any, value: Tensor, momentum: Any) -> None:
    """Adds the update of a moving average, and collects it."""
    graph = get_default_graph()
    with graph.name_scope("AssignMovingAvg") as scope, graph.colocate_with(moving.op):
        rest: Any = convert_to_tensor(1.0 - momentum, name="decay")
        change = (moving - value) * rest
        update = state.assign_sub(moving, change, name=scope)
    graph.add_to_collection(GraphKeys.UPDATE_OPS, update.op)
