"""Normalization: moments, batch normalization, local response normalization, L2.

Source: tensorflow/core/kernels/fused_batch_norm_op.cc, lrn_op.cc and tensorflow/python/ops/nn_impl.py, nn_grad.py,
release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder, compute
from gpuplace.ops.array import constant, reshaping
from gpuplace.ops.deprecation import deprecated_argument_lookup
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.gradients.tape import GradientTape
from gpuplace.ops.math import cast, elementwise, reduction, unary
from gpuplace.ops.nn.conv import channels_of
from gpuplace.ops.nn.conv_arithmetic import wide
from gpuplace.ops.nn.norm_arithmetic import fits, moments_of, normalized, normalized_gradient
from gpuplace.ops.nn.windows import format_of
from gpuplace.ops.shape_rules import merge_shapes, require_rank
from gpuplace.ops.support import new, new_list
from gpuplace.release import rules
from gpuplace.shapes import Dimension, TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "batch_normalization",
    "fused_batch_norm",
    "l2_normalize",
    "local_response_normalization",
    "lrn",
    "moments",
]

# Composites


def moments(
    x: TensorLike,
    axes: TensorLike,
    shift: TensorLike | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the mean and variance of ``x`` over ``axes``.

    >>> import gpuplace as tf
    >>> mean, variance = tf.Session().run(tf.nn.moments([1.0, 3.0], axes=[0]))
    >>> float(mean), float(variance)
    (2.0, 1.0)

    Args:
        x: numbers of any type; float16 is computed in float32.
        axes: the axes to reduce, a list of integers; negative values count from the end.
        shift: ignored, as in TensorFlow.
        name: name scope.
        keep_dims: deprecated name of ``keepdims``; used if ``keepdims`` is None.
        keepdims: whether to keep the reduced axes with size 1; None: no.

    Returns:
        Mean and (biased) variance, two tensors of the dtype of ``x``.

    Raises:
        TypeError: ``x`` is not a tensor of numbers.
        ValueError: an axis is out of range.
    """
    keep = bool(keep_dims if keepdims is None else keepdims)
    with name_scope(name, "moments", [x, axes]):
        x = convert_to_tensor(x)
        is_half = x.dtype.base_dtype.name == "float16"
        y = cast.cast(x, "float32") if is_half else x
        mean = reduction.reduce_mean(y, axes, keepdims=True, name="mean")
        deviations = elementwise.squared_difference(y, reshaping.stop_gradient(mean))
        variance = reduction.reduce_mean(deviations, axes, keepdims=True, name="variance")
        if not keep:
            mean, variance = reshaping.squeeze(mean, axes), reshaping.squeeze(variance, axes)
        if is_half:
            return cast.cast(mean, "float16"), cast.cast(variance, "float16")
        return mean, variance


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: Any,
    name: str | None = None,
) -> Tensor:
    """Return ``(x - mean) / sqrt(variance + variance_epsilon) * scale + offset``, as several ops.

    Args:
        x: float16, bfloat16, float32 or float64, of any shape.
        mean: the mean to subtract, ``[channels]`` or another shape that broadcasts to ``x``, as for the tensors below;
            of the dtype of ``variance``.
        variance: of a floating dtype, which may be wider than that of ``x``.
        offset: the offset to add, of the dtype of ``variance``, or None.
        scale: the factor, of the dtype of ``variance``; None: 1.
        variance_epsilon: a small number added to the variance to avoid division by zero.
        name: name scope.

    Returns:
        A tensor with the dtype and shape of ``x``.

    Raises:
        TypeError: the dtypes do not match.
        ValueError: the shapes do not broadcast.
    """
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        inverse: Any = unary.rsqrt(variance + variance_epsilon)
        if scale is not None:
            inverse = inverse * scale
        dtype = convert_to_tensor(x).dtype.base_dtype
        scaled = x * cast.cast(inverse, dtype)
        moved = offset - mean * inverse if offset is not None else -mean * inverse
        return scaled + cast.cast(moved, dtype)


def l2_normalize(
    x: TensorLike,
    axis: TensorLike | None = None,
    epsilon: float = 1e-12,
    name: str | None = None,
    dim: TensorLike | None = None,
) -> Tensor:
    """Return ``x`` divided by its Euclidean norm along ``axis``.

    A sum of squares below ``epsilon`` is replaced by ``epsilon``, so that zeros stay zeros.

    Args:
        x: float16, bfloat16, float32 or float64, of any shape.
        axis: the axis, or a list of axes, to sum over; None: all.
        epsilon: the minimum sum of squares.
        name: name of the operation that multiplies.
        dim: deprecated name of ``axis``.

    Returns:
        A tensor with the dtype and shape of ``x``.

    Raises:
        TypeError: ``x`` has an unsupported dtype.
        ValueError: an axis is out of range.
    """
    axis = deprecated_argument_lookup("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        sums = reduction.reduce_sum(unary.square(x), axis, keepdims=True)
        inverse = unary.rsqrt(elementwise.maximum(sums, epsilon))
        return elementwise.multiply(x, inverse, name=scope)


# FusedBatchNorm


def fused_batch_norm(
    x: TensorLike,
    scale: TensorLike,
    offset: TensorLike,
    mean: TensorLike | None = None,
    variance: TensorLike | None = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize images by batch statistics in one op, over all axes except the channels.

    Args:
        x: ``[batch, height, width, channels]``, or ``[batch, channels, height, width]`` for ``NCHW``, of float16,
            bfloat16 or float32.
        scale: the factor of each channel, ``[channels]``, float32.
        offset: the offset of each channel, ``[channels]``, float32.
        mean: mean of each channel, ``[channels]``, float32; None while training, required otherwise.
        variance: variance of each channel, as ``mean``.
        epsilon: a small number, at least 1.001e-5, added to the variance.
        data_format: ``"NHWC"`` or ``"NCHW"``.
        is_training: whether to normalize by the batch's own mean and variance.
        name: name of the operation.

    Returns:
        The normalized images, of the dtype and shape of ``x``, and the mean and variance used, ``[channels]``, float32.
        While training, the variance is unbiased (divided by the number of pixels minus 1), for running averages.

    Raises:
        TypeError: a tensor has an unsupported dtype.
        ValueError: the shapes do not match, or ``mean`` or ``variance`` is given while training or missing otherwise.
    """
    x = convert_to_tensor(x, name="input")
    scale = convert_to_tensor(scale, name="scale")
    offset = convert_to_tensor(offset, name="offset")
    if is_training and (mean is not None or variance is not None):
        raise ValueError("Both 'mean' and 'variance' must be None if is_training is True.")
    mean = constant.constant([], "float32") if mean is None else mean
    variance = constant.constant([], "float32") if variance is None else variance
    outputs = apply_op(
        "FusedBatchNormV3",
        name,
        x=x,
        scale=scale,
        offset=offset,
        mean=mean,
        variance=variance,
        epsilon=max(epsilon, 1.001e-5),
        data_format=data_format,
        is_training=is_training,
    ).outputs
    return outputs[0], outputs[1], outputs[2]


@shape_function("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def _fused_shape(op: Operation) -> list[TensorShape]:
    images = require_rank(op.inputs[0].shape, 4)
    data_format = format_of(op.attrs)
    channel = TensorShape.of((channels_of(images, data_format),))
    for tensor in op.inputs[1:3] if op.attrs["is_training"] else op.inputs[1:5]:
        channel = merge_shapes(channel, require_rank(tensor.shape, 1))
    spare = [TensorShape(None)] if op.type == "FusedBatchNormV3" else []
    images = _with_channels(images, channel, data_format)
    return [images, channel, channel, channel, channel, *spare]


def _with_channels(images: TensorShape, channel: TensorShape, data_format: str) -> TensorShape:
    """Return the shape of images with one channel per element of a vector."""
    sizes, (channels,) = images.as_list(), channel.as_list()
    sizes[1 if data_format == "NCHW" else 3] = channels
    return TensorShape.of(tuple(sizes))


@shape_function("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def _fused_grad_shape(op: Operation) -> list[TensorShape]:
    images, data_format = require_rank(op.inputs[0].shape, 4), format_of(op.attrs)
    channel = TensorShape.of((channels_of(images, data_format),))
    other = require_rank(op.inputs[1].shape, 4)
    channel = merge_shapes(channel, TensorShape.of((channels_of(other, data_format),)))
    for tensor in op.inputs[2:5]:
        channel = merge_shapes(channel, require_rank(tensor.shape, 1))
    images = _with_channels(images, channel, data_format)
    is_empty = op.attrs["is_training"] or rules() != "1.15"
    spare = TensorShape.of((0,)) if is_empty else channel
    return [images, channel, channel, spare, spare]


def _per_channel(values: Any, data_format: str) -> Any:
    """Return a vector in a form that broadcasts along the channels."""
    return values.reshape(1, -1, 1, 1) if data_format == "NCHW" else values


@binder("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def _fused(xp: Any, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    data_format = format_of(attrs)
    axes = (0, 2, 3) if data_format == "NCHW" else (0, 1, 2)
    epsilon, is_training, count = attrs["epsilon"], attrs["is_training"], len(op.outputs)

    def run(x: Any, scale: Any, offset: Array, mean: Any, variance: Any) -> tuple[Any, ...]:
        precise = wide(x)
        lined_up = fits(xp, data_format, precise)
        if is_training and lined_up:
            mean, variance = moments_of(precise)
        elif is_training:
            mean, variance = precise.mean(axis=axes), precise.var(axis=axes)
        factor = scale / xp.sqrt(variance + scale.dtype.type(epsilon))
        if lined_up:
            y = normalized(precise, mean, factor, offset)
        else:
            centerd = precise - _per_channel(mean, data_format)
            y = centerd * _per_channel(factor, data_format) + _per_channel(offset, data_format)
        out_variance = variance
        if is_training:  # running averages use the unbiased estimate
            rest = precise.size // max(1, mean.size)
            out_variance = variance * variance.dtype.type(rest / max(1, rest - 1))
        spare = (xp.zeros((), "float32"),) if count == 6 else ()
        return (y.astype(x.dtype, copy=False), mean, out_variance, mean, variance, *spare)

    return run


@binder("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def _fused_grad(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    data_format = format_of(attrs)
    axes = (0, 2, 3) if data_format == "NCHW" else (0, 1, 2)
    epsilon, is_training = attrs["epsilon"], attrs["is_training"]

    def run(grad: Any, x: Any, scale: Any, mean: Array, variance: Any, *_: Any) -> tuple[Any, ...]:
        dtype, grad, precise = x.dtype, wide(grad), wide(x)
        inverse = scale.dtype.type(1) / xp.sqrt(variance + scale.dtype.type(epsilon))
        empty = xp.zeros((0,), scale.dtype)
        if fits(xp, data_format, grad, precise):
            result = normalized_gradient(grad, precise, scale, mean, inverse, is_training)
            return result[0].astype(dtype, copy=False), result[1], result[2], empty, empty
        normal = (precise - _per_channel(mean, data_format)) * _per_channel(inverse, data_format)
        grad_offset = grad.sum(axis=axes)
        grad_scale = (grad * normal).sum(axis=axes)
        grad_x = grad
        if is_training:
            count = scale.dtype.type(precise.size // max(1, scale.size))
            along = normal * _per_channel(grad_scale / count, data_format)
            grad_x = grad - _per_channel(grad_offset / count, data_format) - along
        grad_x = grad_x * _per_channel(scale * inverse, data_format)
        return grad_x.astype(dtype, copy=False), grad_scale, grad_offset, empty, empty

    return run


@gradient("FusedBatchNorm", without_zeros={1, 2, 3, 4})
@gradient("FusedBatchNormV2", "FusedBatchNormV3")
def _fused_gradient(op: Operation, grad: Tensor, *_: object) -> list[Any]:
    version = op.type.removeprefix("FusedBatchNorm")
    x, scale = op.inputs[:2]
    data_format = format_of(op.attrs)
    training = op.attrs["is_training"]
    turned = not training and data_format == "NCHW"
    if turned:
        x, grad = reshaping.transpose(x, [0, 2, 3, 1]), reshaping.transpose(grad, [0, 2, 3, 1])
    spaces = op.outputs[3:5] if training else op.inputs[3:5]
    arguments: dict[str, Any] = {"reserve_space_3": op.outputs[5]} if version == "V3" else {}
    gradients = apply_op(
        f"FusedBatchNormGrad{version}",
        y_backprop=grad,
        x=x,
        scale=scale,
        reserve_space_1=spaces[0],
        reserve_space_2=spaces[1],
        epsilon=op.attrs["epsilon"],
        data_format=data_format if training else "NHWC",
        is_training=training,
        **arguments,
    ).outputs
    if training:
        return list(gradients)
    grad_x = reshaping.transpose(gradients[0], [0, 3, 1, 2]) if turned else gradients[0]
    return [grad_x, gradients[1], gradients[2], None, None]


@gradient("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def _fused_grad_gradient(op: Operation, *grads: Tensor) -> list[Any]:
    """Return the gradient of the op's formula; the order of the nodes is that of TensorFlow's tape."""
    grad, x, scale, mean, variance = op.inputs[:5]
    with GradientTape() as tape:
        tape.watch([grad, x, scale])
        results = _fused_grad_formula(grad, x, scale, mean, variance, op.attrs)
    gradients = tape.gradient(results, [grad, x, scale], list(grads[:3]))
    return [*gradients, *[None] * (len(op.inputs) - 3)]


def _fused_grad_formula(
    grad: Tensor, x: Tensor, scale: Tensor, mean: Tensor, variance: Tensor, attrs: Mapping[str, Any]
) -> list[Tensor]:
    """Return the outputs of ``FusedBatchNormGrad``: the gradients of the images, the scale and the offset."""
    planes = format_of(attrs) == "NCHW"
    axes = [0, 2, 3] if planes else [0, 1, 2]
    dtype, epsilon = x.dtype.base_dtype, attrs["epsilon"]
    if dtype.name in ("float16", "bfloat16"):
        x, grad = cast.cast(x, "float32"), cast.cast(grad, "float32")
    if not attrs["is_training"]:
        if planes:
            sizes: list[Any] = [1, reshaping.size(mean), 1, 1]
            mean, variance, scale = (reshaping.reshape(item, sizes) for item in (mean, variance, scale))
        of_offset = reduction.reduce_sum(grad, axes)
        inverse = unary.rsqrt(variance + epsilon)
        of_scale = reduction.reduce_sum(grad * (x - mean) * inverse, axes)
        return [cast.cast(grad * scale * inverse, dtype), of_scale, of_offset]
    if planes:
        channels: list[Any] = [1, reshaping.size(scale), 1, 1]
        scale = reshaping.reshape(scale, channels)
    mean_grad = reduction.reduce_mean(grad, axes, keepdims=planes)
    mean_x = reduction.reduce_mean(x, axes, keepdims=planes)
    spread = reduction.reduce_mean(
        elementwise.squared_difference(x, new("StopGradient", input=mean_x)), axes, keepdims=planes
    )
    along, centerd = grad - mean_grad, x - mean_x
    both = reduction.reduce_mean(grad * centerd, axes, keepdims=planes)
    of_x = scale * unary.rsqrt(spread + epsilon)
    of_x = of_x * (along - unary.reciprocal(spread + epsilon) * both * centerd)
    inverse = unary.rsqrt(spread + epsilon)
    of_scale = inverse * reduction.reduce_sum(grad * centerd, axes, keepdims=planes)
    if planes:
        of_scale = reshaping.squeeze(of_scale)
    of_offset = reduction.reduce_sum(grad, axes)
    return [cast.cast(of_x, dtype), of_scale, of_offset]


# BatchNormWithGlobalNormalization, for models from before graph version 9; now composed of other ops


@shape_function("BatchNormWithGlobalNormalization")
def _global_shape(op: Operation) -> list[TensorShape]:
    values = require_rank(op.inputs[0].shape, 4)
    return [TensorShape(values[:3]).concatenate([_channels(op, values[3])])]


@shape_function("BatchNormWithGlobalNormalizationGrad")
def _global_grad_shape(op: Operation) -> list[TensorShape]:
    values = merge_shapes(require_rank(op.inputs[0].shape, 4), require_rank(op.inputs[4].shape, 4))
    channels = _channels(op, values[3])
    return [TensorShape(values[:3]).concatenate([channels]), *[TensorShape([channels])] * 4]


def _channels(op: Operation, last: Dimension) -> Dimension:
    """Return the number of channels of values and statistics."""
    for tensor in op.inputs[1:4] if op.type.endswith("Grad") else op.inputs[1:]:
        last = last.merge_with(require_rank(tensor.shape, 1)[0])
    return last


@compute("BatchNormWithGlobalNormalization")
def _global(
    xp: ArrayModule,
    t: Array,
    m: Array,
    v: Array,
    beta: Array,
    gamma: Array,
    *,
    variance_epsilon: float,
    scale_after_normalization: bool,
) -> Array:
    factor = 1 / xp.sqrt(v + v.dtype.type(variance_epsilon))
    return (t - m) * (factor * gamma if scale_after_normalization else factor) + beta


@compute("BatchNormWithGlobalNormalizationGrad")
def _global_grad(
    xp: ArrayModule,
    t: Array,
    m: Array,
    v: Array,
    gamma: Array,
    backprop: Array,
    *,
    variance_epsilon: float,
    scale_after_normalization: bool,
) -> tuple[Any, ...]:
    factor = 1 / xp.sqrt(v + v.dtype.type(variance_epsilon))
    over = (0, 1, 2)
    by_mean = backprop.sum(over)
    by_spread = (backprop * (t - m)).sum(over)
    scale = gamma if scale_after_normalization else xp.ones_like(v)
    grad_v = by_spread * scale * factor**3 / v.dtype.type(-2)
    grad_gamma = by_spread * factor if scale_after_normalization else xp.zeros_like(v)
    return backprop * (scale * factor), -by_mean * scale * factor, grad_v, by_mean, grad_gamma


@gradient("BatchNormWithGlobalNormalization")
def _global_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    t, m, v, _, gamma = op.inputs
    names = ("variance_epsilon", "scale_after_normalization")
    attrs = {name: op.attrs[name] for name in names}
    return new_list(
        "BatchNormWithGlobalNormalizationGrad", t=t, m=m, v=v, gamma=gamma, backprop=grad, **attrs
    )


# LRN


_LRN_ATTRS = ("depth_radius", "bias", "alpha", "beta")


def local_response_normalization(
    input: TensorLike,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Return ``input / (bias + alpha * sqr_sum) ** beta``, summing squares over ``depth_radius`` channels on each side.

    ``lrn`` is an alias.

    Args:
        input: ``[batch, height, width, channels]``, of float16, bfloat16 or float32.
        depth_radius: number of channels to sum on each side, an integer.
        bias: added to the sum to avoid division by zero; a number.
        alpha: factor of the sum, a number.
        beta: exponent, a number.
        name: name of the operation.

    Returns:
        A tensor with the dtype and shape of ``input``.

    Raises:
        TypeError: ``input`` has an unsupported dtype.
        ValueError: ``input`` does not have four axes.
    """
    factors = {"bias": float(bias), "alpha": float(alpha), "beta": float(beta)}
    return new("LRN", name, input=input, depth_radius=depth_radius, **factors)


lrn = local_response_normalization


@shape_function("LRN", "LRNGrad")
def _lrn_shape(op: Operation) -> list[TensorShape]:
    shape = require_rank(op.inputs[0].shape, 4)
    for tensor in op.inputs[1:]:
        shape = merge_shapes(shape, require_rank(tensor.shape, 4))
    return [shape]


def _over_channels(xp: Any, values: Any, radius: int) -> Any:
    """Return the sum over each channel and its neighbors, as a product with a band matrix."""
    channels = xp.arange(values.shape[-1])
    band = xp.abs(channels[:, None] - channels[None, :]) <= radius
    return values @ band.astype(values.dtype)


@binder("LRN", fresh=True)
def _lrn(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    radius, bias, alpha, beta = (attrs[name] for name in _LRN_ATTRS)

    def run(x: Any) -> Any:
        precise = wide(x)
        number = precise.dtype.type
        norm = number(bias) + number(alpha) * _over_channels(xp, precise * precise, radius)
        return (precise * norm ** number(-beta)).astype(x.dtype, copy=False)

    return run


@binder("LRNGrad")
def _lrn_grad(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    radius, bias, alpha, beta = (attrs[name] for name in _LRN_ATTRS)

    def run(grad: Any, x: Any, out: Any) -> Any:
        dtype, grad, x = x.dtype, wide(grad), wide(x)
        number = x.dtype.type
        norm = number(bias) + number(alpha) * _over_channels(xp, x * x, radius)
        shared = _over_channels(xp, grad * x * norm ** number(-beta - 1), radius)
        result = grad * norm ** number(-beta) - number(2 * alpha * beta) * x * shared
        return result.astype(dtype, copy=False)

    return run


@gradient("LRN")
def _lrn_gradient(op: Operation, grad: Tensor) -> Tensor:
    attrs = {name: op.attrs[name] for name in _LRN_ATTRS}
    return new("LRNGrad", input_grads=grad, input_image=op.inputs[0], output_image=op.outputs[0], **attrs)
