"""Elementwise quotients and remainders.

The op types treat integers differently: ``Div`` and ``TruncateDiv`` round towards zero as C does, ``FloorDiv`` rounds
down as Python does, ``RealDiv`` does not accept integers. On the CPU, an integer division by zero is an error.

Source: tensorflow/core/kernels/cwise_ops.h, cwise_ops_common.cc and tensorflow/python/ops/math_ops.py, math_grad.py,
release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.dtypes import DType, float32, float64
from gpuplace.errors import InternalError, InvalidArgumentError
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder, compute
from gpuplace.ops.gradients.registry import gradient, not_differentiable
from gpuplace.ops.support import (
    binary_ufunc,
    broadcast_of,
    broadcast_shape,
    conjugate,
    new,
    sum_to,
)
from gpuplace.typing import Array, ArrayModule, TensorLike

Gradients = tuple[Tensor | None, Tensor | None]


def _integer_division(xp: ArrayModule, op: Operation, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` with a check for zero on the CPU; on a GPU the check would cost a copy to the host."""
    if xp.__name__ != "numpy":
        return function

    def checked(x: Any, y: Any) -> Any:
        if x.size and not y.all():
            if op.type.startswith("Truncate"):
                raise InternalError.of(
                    "Unexpected error in binary operator (only integer div and mod should have errors)"
                )
            raise InvalidArgumentError.of("Integer division by zero")
        return function(x, y)

    return checked


def _truncated_quotient(xp: ArrayModule) -> Callable[..., Any]:
    def quotient(x: Array, y: Array) -> Array:
        floor = xp.floor_divide(x, y)
        if floor.dtype.kind == "u":
            return floor
        inexact = (xp.remainder(x, y) != 0) & ((x < 0) != (y < 0))
        return xp.add(floor, inexact, dtype=floor.dtype)

    return quotient


def realdiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x / y`` (op ``RealDiv``).

    Args:
        x: floating or complex; integers have no kernel.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    return new("RealDiv", name, x=x, y=y)


binary_ufunc("true_divide", "RealDiv")


def truncatediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x / y`` rounded towards zero, as C divides integers.

    Args:
        x: int16, int32, int64, uint8 or uint16 (on a GPU not int32).
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
        InternalError: at run time on the CPU, a division by 0.
    """
    return new("TruncateDiv", name, x=x, y=y)


@binder("Div", "TruncateDiv", elementwise=True)
def _div(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    """Kernel of ``Div``: in 1.15 it divides integers as C does."""
    if attrs["T"].is_integer:
        return _integer_division(xp, op, _truncated_quotient(xp))
    return xp.true_divide


shape_function("Div", "TruncateDiv")(broadcast_shape)


def div_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x / y``, and 0 where ``y`` is 0.

    Args:
        x: floating or complex.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    with name_scope(name, "div_no_nan", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype, name="y")
        return new("DivNoNan", scope, x=x, y=y)


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return ``1 / x``, and 0 where ``x`` is 0.

    Args:
        x: floating or complex, of any shape.
        name: name of the op.

    Returns:
        A tensor like ``x``.

    Raises:
        TypeError: the type is not supported.
    """
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return div_no_nan(convert_to_tensor(1, x.dtype.base_dtype, name="one"), x, name=scope)


@compute("DivNoNan", elementwise=True)
def _div_no_nan(xp: ArrayModule, x: Array, y: Array) -> Array:
    return xp.where(y == 0, xp.zeros_like(y), xp.true_divide(x, y))


shape_function("DivNoNan")(broadcast_shape)


@gradient("Div", "RealDiv")
def _div_grad(op: Operation, grad: Tensor) -> Gradients:
    return _quotient_gradients(op, grad, realdiv if op.type == "RealDiv" else truediv)


@gradient("DivNoNan")
def _div_no_nan_grad(op: Operation, grad: Tensor) -> Gradients:
    return _quotient_gradients(op, grad, div_no_nan)


def _quotient_gradients(op: Operation, grad: Tensor, quotient: Callable[..., Tensor]) -> Gradients:
    back_x, back_y = broadcast_of(*op.inputs)
    x, y = conjugate(op.inputs[0]), conjugate(op.inputs[1])
    of_x = sum_to(quotient(grad, y), *back_x)
    return of_x, sum_to(grad * quotient(quotient(-x, y), y), *back_y)


def floor_div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x / y`` rounded down: the op ``FloorDiv`` without its own name scope.

    Args:
        x: float16, float32, float64, int8 to int64, uint8 or uint16.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
        InvalidArgumentError: at run time on the CPU, an integer is divided by 0.
    """
    return new("FloorDiv", name, x=x, y=y)


def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x / y`` rounded down, as the operator ``//`` does.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.floordiv([-5, 5], 2)).tolist()
    [-3, 2]

    Args:
        x: float16, float32, float64, int8 to int64, uint8 or uint16.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
        InvalidArgumentError: at run time on the CPU, an integer is divided by 0.
    """
    with name_scope(name, "floordiv", [x, y]) as scope:
        return new("FloorDiv", scope, x=x, y=y)


@binder("FloorDiv", elementwise=True)
def _floor_div(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    if attrs["T"].is_integer:
        return _integer_division(xp, op, xp.floor_divide)
    return lambda x, y: xp.floor(xp.true_divide(x, y))


shape_function("FloorDiv")(broadcast_shape)


def floormod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the remainder with the sign of ``y``, as the operator ``%`` does.

    Args:
        x: float32, float64, int32 or int64; on a GPU int32, in host memory.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
        InvalidArgumentError: at run time on the CPU, an integer is divided by 0.
    """
    return new("FloorMod", name, x=x, y=y)


mod = floormod


def truncatemod(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return the remainder with the sign of ``x``, as C's ``fmod`` does.

    Args:
        x: float32, float64, int32 or int64; on a GPU int32, in host memory.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
        InternalError: at run time on the CPU, an integer is divided by 0.
    """
    return new("TruncateMod", name, x=x, y=y)


@binder("FloorMod", elementwise=True)
@binder("Mod", "TruncateMod", fresh=True)
def _mod(xp: ArrayModule, attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
    function = xp.remainder if op.type == "FloorMod" else xp.fmod
    return _integer_division(xp, op, function) if attrs["T"].is_integer else function


shape_function("FloorMod", "Mod", "TruncateMod")(broadcast_shape)
not_differentiable("FloorDiv", "TruncateDiv")


@gradient("FloorMod")
def _floor_mod_grad(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs
    back_x, back_y = broadcast_of(x, y)
    quotient = new("FloorDiv", x=x, y=y)
    of_x = sum_to(grad, *back_x)
    return of_x, sum_to(grad * -quotient, *back_y)


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return ``x / y`` as Python 3 does: integers become floating; see ``truediv``.

    Args:
        x: numbers.
        y: the same type; the shapes broadcast.
        name: name of the op; None: the operator's default name.

    Returns:
        A floating or complex tensor, in the broadcast shape.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    if name is not None:
        with name_scope(None, name, [x, y]) as scope:
            return truediv(x, y, scope)
    if not isinstance(x, Tensor) and not isinstance(y, Tensor) and not hasattr(x, "_as_graph_element"):
        x = convert_to_tensor(x)
    return x / y


_FLOAT_OF_INTEGER = {"uint8": float32, "int8": float32, "uint16": float32, "int16": float32, "int32": float64,
                     "int64": float64, "bfloat16": None, "float16": None, "float32": None, "float64": None,
                     "complex64": None, "complex128": None}  # fmt: skip


def float_for_division(kind: DType) -> Any:
    """Return the type to which a type's numbers are converted for division; None for no conversion.

    Raises:
        TypeError: numbers of this type cannot be divided.
    """
    if kind.name not in _FLOAT_OF_INTEGER:
        raise TypeError(f"Invalid dtype {kind!r} in __truediv__")
    return _FLOAT_OF_INTEGER[kind.name]


def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x / y``; integers are converted to floating first.

    Args:
        x: floating, complex, int8 to int64, uint8 or uint16.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        ``x``'s type, float32 for integers of 8 and 16 bits, or float64 for int32 and int64; in the broadcast shape.

    Raises:
        TypeError: the types differ, or cannot be divided.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
    """
    with name_scope(name, "truediv", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = (
            convert_to_tensor(y, name="y")
            if isinstance(y, Tensor)
            else convert_to_tensor(y, x.dtype.base_dtype, "y")
        )
        first, second = x.dtype.base_dtype, y.dtype.base_dtype
        if first is not second:
            raise TypeError(f"x and y must have the same dtype, got {first!r} != {second!r}")
        target = float_for_division(first)
        if target is not None:
            x, y = new("Cast", x=x, DstT=target), new("Cast", x=y, DstT=target)
        return new("RealDiv", scope, x=x, y=y)


def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return ``x / y`` as Python 2 does: integers are rounded down. Deprecated; use ``divide``.

    Args:
        x: floating, complex, int8 to int64, uint8 or uint16.
        y: the same type; the shapes broadcast.
        name: name of the op.

    Returns:
        A tensor of that type, in the broadcast shape; the op is ``RealDiv``, or ``FloorDiv`` for integers.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: static shapes do not broadcast; at run time, InvalidArgumentError.
        InvalidArgumentError: at run time on the CPU, an integer is divided by 0.
    """
    with name_scope(name, "div", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype, name="y")
        real = x.dtype.is_floating or x.dtype.is_complex
        return new("RealDiv" if real else "FloorDiv", scope, x=x, y=y)
