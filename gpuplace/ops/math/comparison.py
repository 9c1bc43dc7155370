"""Elementwise comparisons and logic, with broadcasting. Results are bool and have no gradient.

Source: tensorflow/core/kernels/cwise_op_*.cc and tensorflow/python/ops/math_ops.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor, override_operator
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder, compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import merge_shapes, require_rank, require_rank_at_least
from gpuplace.ops.support import binary_ufunc, broadcast, broadcast_shape, new, unary_ufunc
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_not",
    "logical_xor", "approximate_equal", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift",
]  # fmt: skip


def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x == y``, element by element.

    The operator ``==`` compares tensors as Python objects instead.

    Args:
        x: floating, complex, int8 to int64, uint8, bool or strings.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A bool tensor, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("Equal", name, x=x, y=y)


def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x != y``, element by element.

    Args:
        x: floating, complex, int8 to int64, uint8, bool or strings.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A bool tensor, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("NotEqual", name, x=x, y=y)


@binder("Equal", "NotEqual", elementwise=True)
def _equal(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    """With ``incompatible_shape_error=False`` (2.x), tensors that do not broadcast are unequal: a scalar result."""
    function = xp.equal if op.type == "Equal" else xp.not_equal
    if attrs["T"].as_numpy_dtype is object:
        return lambda x, y: xp.asarray(function(x, y), bool)
    if attrs.get("incompatible_shape_error", True):
        return function

    def compare(x: Array, y: Array) -> Any:
        try:
            return function(x, y)
        except ValueError:
            return xp.asarray(op.type == "NotEqual")

    return compare


@shape_function("Equal", "NotEqual")
def _equal_shape(op: Operation) -> Any:
    if op.attrs.get("incompatible_shape_error", True):
        return broadcast_shape(op)
    try:
        shape = broadcast(op.inputs[0].shape, op.inputs[1].shape)
    except ValueError:
        return (UNKNOWN_SHAPE,)
    return (shape if shape.is_fully_defined() else UNKNOWN_SHAPE,)


def less(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x < y``, element by element.

    Args:
        x: floating, int8 to int64 or uint8.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A bool tensor, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("Less", name, x=x, y=y)


def less_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x <= y``, element by element.

    Args:
        x: floating, int8 to int64 or uint8.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A bool tensor, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("LessEqual", name, x=x, y=y)


def greater(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x > y``, element by element.

    Args:
        x: floating, int8 to int64 or uint8.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A bool tensor, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("Greater", name, x=x, y=y)


def greater_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x >= y``, element by element.

    Args:
        x: floating, int8 to int64 or uint8.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A bool tensor, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("GreaterEqual", name, x=x, y=y)


binary_ufunc("less", "Less")
binary_ufunc("less_equal", "LessEqual")
binary_ufunc("greater", "Greater")
binary_ufunc("greater_equal", "GreaterEqual")


def approximate_equal(
    x: TensorLike, y: TensorLike, tolerance: float = 1e-05, name: str | None = None
) -> Tensor:
    """Return whether ``x`` and ``y`` differ by less than ``tolerance``, element by element.

    Args:
        x: float32 or float64.
        y: the same type and shape, without broadcasting.
        tolerance: the maximum difference, exclusive.
        name: name of the op.

    Returns:
        bool, in that shape.

    Raises:
        TypeError: the types differ.
        ValueError: static shapes differ.
    """
    return new("ApproximateEqual", name, x=x, y=y, tolerance=tolerance)


@compute("ApproximateEqual", elementwise=True)
def _approximate_equal(xp: ArrayModule, x: Array, y: Array, *, tolerance: float) -> Array:
    return xp.less(xp.absolute(xp.subtract(x, y)), x.dtype.type(tolerance))


@shape_function("ApproximateEqual")
def _approximate_equal_shape(op: Operation) -> tuple[TensorShape, ...]:
    return (merge_shapes(op.inputs[0].shape, op.inputs[1].shape),)


# Logic


def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x and y``, element by element.

    Args:
        x: bool, of any shape.
        y: bool; the shapes broadcast.
        name: name of the op.

    Returns:
        A bool tensor, in the broadcast shape.

    Raises:
        TypeError: the type is not bool.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("LogicalAnd", name, x=x, y=y)


def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x or y``, element by element.

    Args:
        x: bool, of any shape.
        y: bool; the shapes broadcast.
        name: name of the op.

    Returns:
        A bool tensor, in the broadcast shape.

    Raises:
        TypeError: the type is not bool.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("LogicalOr", name, x=x, y=y)


def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``not x``, element by element.

    Args:
        x: bool, of any shape; TypeError for others.
        name: name of the op.

    Returns:
        A tensor like ``x``.
    """
    return new("LogicalNot", name, x=x)


binary_ufunc("logical_and", "LogicalAnd")
binary_ufunc("logical_or", "LogicalOr")
unary_ufunc("logical_not", "LogicalNot")


def logical_xor(x: TensorLike, y: TensorLike, name: str | None = "LogicalXor") -> Tensor:
    """Return whether exactly one is True, element by element: ``(x | y) & ~(x & y)``.

    Args:
        x: bool, of any shape.
        y: bool; the shapes broadcast.
        name: name of the last op.

    Returns:
        A bool tensor, in the broadcast shape.

    Raises:
        TypeError: the type is not bool.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    either = logical_or(x, y)
    both = logical_and(x, y)
    return logical_and(either, logical_not(both), name=name)


# Bits of integers


def bitwise_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the bitwise and.

    Args:
        x: integers, signed or not.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("BitwiseAnd", name, x=x, y=y)


def bitwise_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the bitwise or.

    Args:
        x: integers, signed or not.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("BitwiseOr", name, x=x, y=y)


def bitwise_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the bitwise exclusive or.

    Args:
        x: integers, signed or not.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("BitwiseXor", name, x=x, y=y)


binary_ufunc("bitwise_and", "BitwiseAnd")
binary_ufunc("bitwise_or", "BitwiseOr")
binary_ufunc("bitwise_xor", "BitwiseXor")


def left_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x`` shifted left by ``y`` bits.

    Args:
        x: integers, signed or not.
        y: number of bits, of the same type, clipped to the range from 0 to the type's width minus 1; the shapes
            broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("LeftShift", name, x=x, y=y)


def right_shift(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x`` shifted right by ``y`` bits; negative numbers stay negative.

    Args:
        x: integers, signed or not.
        y: number of bits, of the same type, clipped to the range from 0 to the type's width minus 1; the shapes
            broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("RightShift", name, x=x, y=y)


@compute("LeftShift", fresh=True)
def _left_shift(xp: ArrayModule, x: Array, y: Array) -> Array:
    return xp.left_shift(x, _limited(xp, y))


@compute("RightShift", fresh=True)
def _right_shift(xp: ArrayModule, x: Array, y: Array) -> Array:
    return xp.right_shift(x, _limited(xp, y))


def _limited(xp: ArrayModule, y: Array) -> Array:
    kind = y.dtype.type
    return xp.clip(y, kind(0), kind(y.dtype.itemsize * 8 - 1))


shape_function("LeftShift", "RightShift")(broadcast_shape)
not_differentiable(
    "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "ApproximateEqual", "LogicalAnd", "LogicalOr",
    "LogicalNot", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift",
)  # fmt: skip


# Python's operators


def _comparison_operator(operator: str, function: Callable[..., Tensor]) -> None:
    override_operator(Tensor, operator, lambda x, y: function(x, y))


_comparison_operator("__lt__", less)
_comparison_operator("__le__", less_equal)
_comparison_operator("__gt__", greater)
_comparison_operator("__ge__", greater_equal)
override_operator(Tensor, "__invert__", lambda x: logical_not(x))


def _logical_operator(name: str, function: Callable[..., Tensor]) -> None:
    def forward(x: Tensor, y: TensorLike) -> Tensor:
        with name_scope(None, name, [x, y]) as scope:
            return function(x, convert_to_tensor(y, dtype_hint=x.dtype.base_dtype, name="y"), name=scope)

    def backward(y: Tensor, x: TensorLike) -> Tensor:
        with name_scope(None, name, [x, y]) as scope:
            return function(convert_to_tensor(x, y.dtype.base_dtype, name="x"), y, name=scope)

    override_operator(Tensor, f"__{name}__", forward)
    override_operator(Tensor, f"__r{name}__", backward)


_logical_operator("and", logical_and)
_logical_operator("or", logical_or)
_logical_operator("xor", logical_xor)


def compare_and_bitpack(input: TensorLike, threshold: TensorLike, name: str | None = None) -> Tensor:
    """Return whether elements are greater than a threshold, packed into bits; the first of eight is the highest bit.

    >>> import gpuplace as tf
    >>> tf.Session().run(compare_and_bitpack([1.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0], 2.0)).tolist()
    [65]

    Args:
        input: bools, which ignore the threshold, or real numbers, ``[..., 8 * n]``.
        threshold: a scalar of the same type.
        name: name of the op.

    Returns:
        uint8, ``[..., n]``.

    Raises:
        ValueError: the length is known not to be a multiple of 8.
        InvalidArgumentError: at run time, the length is not a multiple of 8.
    """
    return new("CompareAndBitpack", name, input=input, threshold=threshold)


@compute("CompareAndBitpack", fresh=True)
def _compare_and_bitpack(xp: ArrayModule, input: Array, threshold: Array) -> Array:
    if not input.ndim:
        raise InvalidArgumentError.of("Input should be at least a vector, but saw a scalar.")
    if threshold.ndim:
        raise InvalidArgumentError.of(
            f"Compare must be a scalar, but saw shape: [{','.join(map(str, threshold.shape))}]"
        )
    if input.shape[-1] % 8:
        raise InvalidArgumentError.of(
            f"Inner dimension of input should be divisible by 8, but saw shape: [{','.join(map(str, input.shape))}]"
        )
    is_greater = input if input.dtype == bool else input > threshold
    return xp.packbits(is_greater.reshape(-1)).reshape(*input.shape[:-1], input.shape[-1] // 8)


@shape_function("CompareAndBitpack")
def _compare_and_bitpack_shape(op: Operation) -> Any:
    require_rank(op.inputs[1].shape, 0)
    sizes = require_rank_at_least(op.inputs[0].shape, 1).sizes
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    if sizes[-1] is not None and sizes[-1] % 8:
        raise ValueError(f"Dimension size must be evenly divisible by 8 but is {sizes[-1]}")
    return (TensorShape.of((*sizes[:-1], None if sizes[-1] is None else sizes[-1] // 8)),)


not_differentiable("CompareAndBitpack")
