"""Simulated quantization: ``tf.quantization.fake_quant_with_min_max_args`` and similar functions.

The range from ``min`` to ``max`` is shifted so that zero is one of its ``2 ** num_bits`` evenly spaced
values; with ``narrow_range`` the smallest of them is left out:

    scale = (max - min) / (steps - first)        min and max move together, so that -min / scale is a whole number
    value = floor((clipped - min) / scale + 1/2) * scale + min

Source: tensorflow/core/kernels/fake_quant_ops_functor.h, fake_quant_ops.cc and tensorflow/python/ops/array_ops.py,
release 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.shape_rules import merge_shapes, merge_sizes, require_rank, require_rank_at_least
from gpuplace.ops.support import new
from gpuplace.ops.variants import variant_of
from gpuplace.shapes import SCALAR_SHAPE, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "fake_quant_with_min_max_args", "fake_quant_with_min_max_args_gradient", "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient", "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
]  # fmt: skip


def fake_quant_with_min_max_args(
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Round ``inputs`` to ``num_bits``-bit values between two numbers.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.fake_quant_with_min_max_args([-2.0, 0.3, 0.6], 0, 3, num_bits=2)).tolist()
    [0.0, 0.0, 1.0]

    Args:
        inputs: float32 of any shape.
        min: the smallest value, a number.
        max: the largest value, a number.
        num_bits: from 2 to 16.
        narrow_range: whether to leave out the smallest value.
        name: name of the op.

    Returns:
        A tensor like ``inputs``. The gradient is that of ``inputs`` within the range and zero outside.

    Raises:
        InvalidArgumentError: at run time, ``min`` is not less than ``max``, or ``num_bits`` is out of range.
    """
    return new(
        "FakeQuantWithMinMaxArgs",
        name,
        inputs=inputs,
        min=min,
        max=max,
        num_bits=num_bits,
        narrow_range=narrow_range,
    )


def fake_quant_with_min_max_args_gradient(
    gradients: TensorLike,
    inputs: TensorLike,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the gradient of ``fake_quant_with_min_max_args``.

    Args:
        gradients: the gradient of its result, like ``inputs``.
        inputs: float32 of any shape.
        min: the smallest value, a number.
        max: the largest value, a number.
        num_bits: from 2 to 16.
        narrow_range: whether to leave out the smallest value.
        name: name of the op.

    Returns:
        ``gradients`` where ``inputs`` are within the range, zero elsewhere.

    Raises:
        InvalidArgumentError: at run time, as for ``fake_quant_with_min_max_args``.
    """
    return new(
        "FakeQuantWithMinMaxArgsGradient", name, gradients=gradients, inputs=inputs, min=min, max=max,
        num_bits=num_bits, narrow_range=narrow_range,
    )  # fmt: skip


def _rounded_between(
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
    *,
    op_type: str = "",
) -> Tensor:
    return new(op_type, name, inputs=inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range)


def _gradients_between(
    gradients: TensorLike,
    inputs: TensorLike,
    min: TensorLike,
    max: TensorLike,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
    *,
    op_type: str = "",
) -> Any:
    gradient_op = apply_op(
        op_type,
        name,
        gradients=gradients,
        inputs=inputs,
        min=min,
        max=max,
        num_bits=num_bits,
        narrow_range=narrow_range,
    )
    return tuple(gradient_op.outputs)


@variant_of(_rounded_between, op_type="FakeQuantWithMinMaxVars")
def fake_quant_with_min_max_vars() -> None:
    """Round ``inputs`` to ``num_bits``-bit values between two numbers, which may be trained.

    Args:
        inputs: float32 of any shape.
        min: the smallest value, a scalar.
        max: the largest value, a scalar.
        num_bits: from 2 to 16.
        narrow_range: whether to leave out the smallest value.
        name: name of the op.

    Returns:
        A tensor like ``inputs``; zeros if ``min`` and ``max`` are zero. The gradient of values outside the
        range goes to ``min`` or ``max``.

    Raises:
        InvalidArgumentError: at run time, ``num_bits`` is out of range.
    """


@variant_of(_rounded_between, op_type="FakeQuantWithMinMaxVarsPerChannel")
def fake_quant_with_min_max_vars_per_channel() -> None:
    """Round ``inputs`` to ``num_bits``-bit values, with a separate range for each channel.

    Args:
        inputs: float32, ``[..., channels]``.
        min: the smallest values, ``[channels]``.
        max: the largest values, ``[channels]``.
        num_bits: from 2 to 16.
        narrow_range: whether to leave out the smallest value.
        name: name of the op.

    Returns:
        A tensor like ``inputs``.

    Raises:
        InvalidArgumentError: at run time, ``num_bits`` is out of range, or the number of limits is not that
            of the channels.
    """


@variant_of(_gradients_between, op_type="FakeQuantWithMinMaxVarsGradient")
def fake_quant_with_min_max_vars_gradient() -> None:
    """Return the gradients of ``fake_quant_with_min_max_vars``.

    Args:
        gradients: the gradient of its result, like ``inputs``.
        inputs: float32 of any shape.
        min: the smallest value, a scalar.
        max: the largest value, a scalar.
        num_bits: from 2 to 16.
        narrow_range: whether to leave out the smallest value.
        name: name of the op.

    Returns:
        The gradients of ``inputs``, ``min`` and ``max``.

    Raises:
        InvalidArgumentError: at run time, as for ``fake_quant_with_min_max_vars``.
    """


@variant_of(_gradients_between, op_type="FakeQuantWithMinMaxVarsPerChannelGradient")
def fake_quant_with_min_max_vars_per_channel_gradient() -> None:
    """Return the gradients of ``fake_quant_with_min_max_vars_per_channel``.

    Args:
        gradients: the gradient of its result, like ``inputs``.
        inputs: float32, ``[..., channels]``.
        min: the smallest values, ``[channels]``.
        max: the largest values, ``[channels]``.
        num_bits: from 2 to 16.
        narrow_range: whether to leave out the smallest value.
        name: name of the op.

    Returns:
        The gradients of ``inputs``, ``min`` and ``max``.

    Raises:
        InvalidArgumentError: at run time, as for ``fake_quant_with_min_max_vars_per_channel``.
    """


def _nudged(
    xp: ArrayModule, least: Array, most: Array, num_bits: int, narrow_range: bool
) -> tuple[Any, Any, Any]:
    """Return the shifted range and the distance between neighboring values, float32.

    Args:
        xp: numpy or cupy.
        least: arrays of the lower limits.
        most: arrays of the upper limits.
        num_bits: number of bits of a value.
        narrow_range: whether the smallest value is left out.
    """
    if not 2 <= num_bits <= 16:
        raise InvalidArgumentError.of(f"num_bits must be between 2 and 16, inclusive, but is {num_bits}")
    first, last = np.float32(narrow_range), np.float32(2**num_bits - 1)
    scale = (most - least) / (last - first)
    from_least = first - least / scale
    whole = xp.floor(from_least)
    rounded = whole + (
        from_least - whole >= np.float32(0.5)
    )  # values within the range are not negative, so halves are rounded up
    zero_point = xp.where(from_least < first, first, xp.where(from_least > last, last, rounded))
    return (first - zero_point) * scale, (last - zero_point) * scale, scale


def _rounded(xp: ArrayModule, x: Array, least: Array, most: Array, scale: Array) -> Array:
    inverse = np.float32(1) / scale
    shifted = xp.clip(x, least, most) - least
    return xp.floor(shifted * inverse + np.float32(0.5)) * scale + least


def _bounds_given(xp: ArrayModule, least: float, most: float) -> tuple[Any, Any]:
    if not least < most:
        raise InvalidArgumentError.of(f"min has to be smaller than max, was: {least} >= {most}")
    return xp.asarray(least, xp.float32), xp.asarray(most, xp.float32)


def _check_channels(inputs: Any, least: Any, most: Any) -> None:
    depth = inputs.shape[-1] if inputs.ndim else 1
    for name, one in (("min", least), ("max", most)):
        if one.shape != (depth,):
            raise InvalidArgumentError.of(
                f"{name} has incorrect size, expected {depth} was {one.size}",
                hint="pass one number for each channel (the last dimension of the inputs)",
            )


def _check_scalars(least: Any, most: Any) -> None:
    for name, one in (("min", least), ("max", most)):
        if one.ndim:
            raise InvalidArgumentError.of(f"`{name}` must be rank 0 but is of shape {brackets(one.shape)}")


@compute("FakeQuantWithMinMaxArgs", fresh=True)
def _args(
    xp: ArrayModule, inputs: Array, *, min: float, max: float, num_bits: int, narrow_range: bool
) -> Array:
    return _rounded(xp, inputs, *_nudged(xp, *_bounds_given(xp, min, max), num_bits, narrow_range))


@compute("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel", fresh=True)
def _vars(
    xp: ArrayModule, inputs: Array, min: Array, max: Array, *, num_bits: int, narrow_range: bool, ctx: Any
) -> Array:
    (_check_channels(inputs, min, max) if ctx.op.type.endswith("Channel") else _check_scalars(min, max))
    empty = (min == 0) & (max == 0)
    moved = _nudged(xp, min, xp.where(empty, np.float32(1), max), num_bits, narrow_range)
    return xp.where(empty, np.float32(0), _rounded(xp, inputs, *moved))


@compute("FakeQuantWithMinMaxArgsGradient", fresh=True)
def _args_gradient(
    xp: ArrayModule,
    gradients: Array,
    inputs: Array,
    *,
    min: float,
    max: float,
    num_bits: int,
    narrow_range: bool,
) -> Array:
    _require_alike(gradients, inputs)
    least, most, _ = _nudged(xp, *_bounds_given(xp, min, max), num_bits, narrow_range)
    return xp.where((inputs >= least) & (inputs <= most), gradients, np.float32(0))


@compute("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient", fresh=True)
def _vars_gradient(
    xp: ArrayModule,
    gradients: Any,
    inputs: Array,
    min: Array,
    max: Array,
    *,
    num_bits: int,
    narrow_range: bool,
    ctx: Any,
) -> Any:
    _require_alike(gradients, inputs)
    per_channel = ctx.op.type.endswith("PerChannelGradient")
    (_check_channels(inputs, min, max) if per_channel else _check_scalars(min, max))
    empty = (min == 0) & (max == 0)
    least, most, _ = _nudged(xp, min, xp.where(empty, np.float32(1), max), num_bits, narrow_range)
    below, above = (inputs < least) & ~empty, (inputs > most) & ~empty
    axes = tuple(range(inputs.ndim - 1)) if per_channel else None
    nothing = np.float32(0)
    of_least, of_most = (xp.where(mask, gradients, nothing).sum(axis=axes) for mask in (below, above))
    return xp.where(below | above, nothing, gradients), xp.asarray(of_least), xp.asarray(of_most)


def _require_alike(gradients: Any, inputs: Any) -> None:
    if gradients.shape != inputs.shape:
        raise InvalidArgumentError.of(
            "gradient and input must be the same size",
            facts={"shapes": f"{gradients.shape} and {inputs.shape}"},
        )


@shape_function("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars")
def _as_inputs(op: Operation) -> Any:
    return (op.inputs[0].shape,)


@shape_function("FakeQuantWithMinMaxVarsPerChannel")
def _as_channels(op: Operation) -> Any:
    inputs, *limits = (tensor.shape for tensor in op.inputs)
    channels = require_rank_at_least(inputs, 1)[-1].value if inputs.ndims is not None else None
    for limit in limits:
        channels = merge_sizes(channels, require_rank(limit, 1)[0].value)
    return (require_rank_at_least(inputs, 1),)


@shape_function("FakeQuantWithMinMaxArgsGradient")
def _as_both(op: Operation) -> Any:
    return (merge_shapes(op.inputs[0].shape, op.inputs[1].shape),)


@shape_function("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient")
def _as_inputs_and_bounds(op: Operation) -> Any:
    bounds = op.inputs[2].shape if op.type.endswith("PerChannelGradient") else SCALAR_SHAPE
    return merge_shapes(op.inputs[0].shape, op.inputs[1].shape), bounds, bounds


@gradient("FakeQuantWithMinMaxArgs")
def _of_args(op: Operation, grad: Tensor) -> Tensor:
    attrs = {name: op.attrs[name] for name in ("min", "max", "num_bits", "narrow_range")}
    return new("FakeQuantWithMinMaxArgsGradient", gradients=grad, inputs=op.inputs[0], **attrs)


@gradient("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def _of_vars(op: Operation, grad: Tensor) -> Any:
    inputs, least, most = op.inputs
    bits, narrow = op.attrs["num_bits"], op.attrs["narrow_range"]
    return _gradients_between(grad, inputs, least, most, bits, narrow, op_type=f"{op.type}Gradient")
