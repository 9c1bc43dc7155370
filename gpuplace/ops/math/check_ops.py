"""Assertions about tensors: decided when the graph is built where the values are known, else by an op.

In a graph of TensorFlow the check sits in a conditional of its own; here it is the ``Assert`` op itself.

Source: tensorflow/python/ops/check_ops.py, release 1.15 (arguments, messages).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, make_constant, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.flow.assert_and_print import Assert
from gpuplace.ops.flow.control import no_op
from gpuplace.ops.support import new

__all__ = [
    "assert_equal", "assert_none_equal", "assert_less", "assert_less_equal", "assert_greater", "assert_greater_equal",
    "assert_positive", "assert_negative", "assert_non_positive", "assert_non_negative", "assert_near", "assert_rank",
    "assert_rank_at_least", "assert_rank_in", "assert_type", "assert_integer", "assert_scalar",
    "assert_proper_iterable", "is_numeric_tensor", "is_non_decreasing", "is_strictly_increasing",
]  # fmt: skip

_KNOWN: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "==": ("Equal", np.equal),
    "!=": ("NotEqual", np.not_equal),
    "<": ("Less", np.less),
    "<=": ("LessEqual", np.less_equal),
    ">": ("Greater", np.greater),
    ">=": ("GreaterEqual", np.greater_equal),
}
"""What compares, in a graph and of known values."""


def _compare(
    symbol: str, default_name: str, x: Any, y: Any, data: Any, summarize: Any, message: Any, name: str | None
) -> Operation:
    op_type, known = _KNOWN[symbol]
    with name_scope(name, default_name, [x, y, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype if not isinstance(y, Tensor) else None, name="y")
        text = message or ""
        if data is None:
            data = [
                text,
                f"Condition x {symbol} y did not hold element-wise:",
                f"x ({x.name}) = ",
                x,
                f"y ({y.name}) = ",
                y,
            ]
        value_x, value_y = constant_value(x), constant_value(y)
        if value_x is not None and value_y is not None:
            if not bool(np.all(known(value_x, value_y))):
                raise InvalidArgumentError(
                    None,
                    None,
                    f"{text}\nCondition x {symbol} y did not hold.\nx ({x.name}) = \n{value_x}\n"
                    f"y ({y.name}) = \n{value_y}".lstrip(),
                )
            return no_op("static_checks_determined_all_ok")
        return _assert_all(new(op_type, x=x, y=y), data, summarize)


def _assert_all(holds: Tensor, data: Any, summarize: Any) -> Operation:
    rank = holds.shape.ndims
    axes: Any = (
        make_constant(list(range(rank)), "int32")
        if rank is not None
        else new("Range", start=0, limit=new("Rank", input=holds), delta=1)
    )
    condition = new("All", input=holds, reduction_indices=axes)
    return Assert(condition, data, summarize=summarize)


def assert_equal(
    x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> Operation:
    """Returns an operation that fails unless ``x == y`` everywhere.

    Args:
        x: a tensor.
        y: a tensor that broadcasts with ``x``.
        data: what the failure shows instead of ``x`` and ``y``.
        summarize: how many elements it shows.
        message: put in front.
        name: name of the scope.

    Raises:
        InvalidArgumentError: both are known, and differ.
    """
    return _compare("==", "assert_equal", x, y, data, summarize, message, name)


def assert_none_equal(
    x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> Operation:
    """Fails unless ``x != y`` everywhere. See ``assert_equal``."""
    return _compare("!=", "assert_none_equal", x, y, data, summarize, message, name)


def assert_less(
    x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> Operation:
    """Fails unless ``x < y`` everywhere. See ``assert_equal``."""
    return _compare("<", "assert_less", x, y, data, summarize, message, name)


def assert_less_equal(
    x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> Operation:
    """Fails unless ``x <= y`` everywhere. See ``assert_equal``."""
    return _compare("<=", "assert_less_equal", x, y, data, summarize, message, name)


def assert_greater(
    x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> Operation:
    """Fails unless ``x > y`` everywhere. See ``assert_equal``."""
    return _compare(">", "assert_greater", x, y, data, summarize, message, name)


def assert_greater_equal(
    x: Any, y: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> Operation:
    """Fails unless ``x >= y`` everywhere. See ``assert_equal``."""
    return _compare(">=", "assert_greater_equal", x, y, data, summarize, message, name)


def _against_zero(
    symbol: str,
    default_name: str,
    sentence: str,
    x: Any,
    data: Any,
    summarize: Any,
    message: Any,
    name: str | None,
) -> Operation:
    with name_scope(name, default_name, [x, data]):
        x = convert_to_tensor(x, name="x")
        zero = make_constant(0, x.dtype.base_dtype)
        shown = [message or "", f"Condition {sentence} did not hold element-wise:", f"x ({x.name}) = ", x]
        inner = "assert_less" if symbol == "<" else "assert_less_equal"
        first, second = (zero, x) if sentence in ("x > 0", "x >= 0") else (x, zero)
        return _compare(
            symbol, inner, first, second, shown if data is None else data, summarize, message, None
        )


def assert_positive(
    x: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> Operation:
    """Fails unless every element is greater than 0. See ``assert_equal``."""
    return _against_zero("<", "assert_positive", "x > 0", x, data, summarize, message, name)


def assert_negative(
    x: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> Operation:
    """Fails unless every element is less than 0. See ``assert_equal``."""
    return _against_zero("<", "assert_negative", "x < 0", x, data, summarize, message, name)


def assert_non_negative(
    x: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> Operation:
    """Fails unless every element is 0 or greater. See ``assert_equal``."""
    return _against_zero("<=", "assert_non_negative", "x >= 0", x, data, summarize, message, name)


def assert_non_positive(
    x: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> Operation:
    """Fails unless every element is 0 or less. See ``assert_equal``."""
    return _against_zero("<=", "assert_non_positive", "x <= 0", x, data, summarize, message, name)


def assert_near(
    x: Any, y: Any, rtol: Any = None, atol: Any = None, data: Any = None, summarize: Any = None, message: Any = None,
    name: str | None = None,
) -> Operation:  # fmt: skip
    """Fails unless ``|x - y| <= atol + rtol * |y|`` everywhere; both tolerances are 10 machine epsilons by default."""
    with name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype if not isinstance(y, Tensor) else None, name="y")
        kind = x.dtype.real_dtype
        epsilon = 10 * float(np.finfo(kind.as_numpy_dtype).eps)
        relative = convert_to_tensor(epsilon if rtol is None else rtol, kind, name="rtol")
        absolute = convert_to_tensor(epsilon if atol is None else atol, kind, name="atol")
        difference = new("Abs", x=x - y)
        limit = absolute + relative * new("Abs", x=y)
        shown = [
            message or "", f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}", f"x ({x.name}) = ", x,
            f"y ({y.name}) = ", y,
        ]  # fmt: skip
        return _assert_all(
            new("LessEqual", x=difference, y=limit), shown if data is None else data, summarize
        )


# Ranks and types


def _rank_check(
    default_name: str, x: Any, rank: Any, holds: Callable[[int, int], bool], op_type: str, static_text: str,
    data: Any, summarize: Any, message: Any, name: str | None,
) -> Operation:  # fmt: skip
    text = message or ""
    with name_scope(name, default_name, [x, *(data or [])]):
        x = convert_to_tensor(x, name="x")
        rank = convert_to_tensor(rank, "int32", name="rank")
        known = constant_value(rank)
        if known is not None and known.ndim:
            raise ValueError("Rank must be a scalar.")
        if known is not None and x.shape.ndims is not None:
            if not holds(x.shape.ndims, int(known)):
                raise ValueError(
                    f"{text}.  Tensor {x.name} must have rank {static_text}{int(known)}.  Received rank"
                    f" {x.shape.ndims}, shape {x.shape}"
                )
            return no_op("static_checks_determined_all_ok")
        shown = [
            text,
            f"Tensor {x.name} must have rank {static_text}",
            rank,
            "Received shape: ",
            new("Shape", input=x),
        ]
        condition = new(op_type, x=new("Rank", input=x), y=rank)
        return Assert(condition, shown if data is None else data, summarize=summarize)


def assert_rank(
    x: Any, rank: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> Operation:
    """Fails unless ``x`` has ``rank`` dimensions; ValueError where that is known."""
    return _rank_check(
        "assert_rank", x, rank, lambda a, b: a == b, "Equal", "", data, summarize, message, name
    )


def assert_rank_at_least(
    x: Any, rank: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> Operation:
    """Fails unless ``x`` has ``rank`` dimensions or more; ValueError where that is known."""
    return _rank_check(
        "assert_rank_at_least",
        x,
        rank,
        lambda a, b: a >= b,
        "GreaterEqual",
        "at least ",
        data,
        summarize,
        message,
        name,
    )


def assert_rank_in(
    x: Any, ranks: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None
) -> Operation:
    """Fails unless the number of dimensions of ``x`` is among ``ranks``; ValueError where that is known."""
    with name_scope(name, "assert_rank_in", [x, *(data or [])]):
        x = convert_to_tensor(x, name="x")
        if x.shape.ndims is not None and all(isinstance(rank, int) for rank in ranks):
            if x.shape.ndims not in ranks:
                raise ValueError(
                    f"{message or ''}.  Tensor {x.name} must have rank in {tuple(ranks)}.  Received rank"
                    f" {x.shape.ndims}, shape {x.shape}"
                )
            return no_op("static_checks_determined_all_ok")
        actual = new("Rank", input=x)
        matches = [new("Equal", x=actual, y=rank) for rank in ranks]
        shown = [
            message or "",
            f"Tensor {x.name} must have rank in {tuple(ranks)}",
            "Received shape: ",
            new("Shape", input=x),
        ]
        any_match = new("Any", input=new("Pack", values=matches), reduction_indices=[0])
        return Assert(any_match, shown if data is None else data, summarize=summarize)


def assert_type(tensor: Any, tf_type: Any, message: Any = None, name: str | None = None) -> Operation:
    """Returns an operation that does nothing; TypeError unless ``tensor`` has the type ``tf_type``."""
    wanted = as_dtype(tf_type)
    with name_scope(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype.base_dtype is not wanted:
            raise TypeError(f"{message or ''}  {tensor.op.name} must be of type {wanted!r}")
        return no_op("statically_determined_correct_type")


def assert_integer(x: Any, message: Any = None, name: str | None = None) -> Operation:
    """Returns an operation that does nothing; TypeError unless ``x`` is an integer tensor."""
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(f'{message or ""}  Expected "x" to be integer type.  Found: {x.dtype!r}')
        return no_op("statically_determined_was_integer")


def assert_scalar(tensor: Any, name: str | None = None, message: Any = None) -> Tensor:
    """Returns ``tensor``; ValueError unless it is known to be a scalar."""
    with name_scope(name, "assert_scalar", [tensor]):
        tensor = convert_to_tensor(tensor)
        if tensor.shape.ndims != 0:
            raise ValueError(
                f"{message or ''}Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}."
            )
        return tensor


def assert_proper_iterable(values: Any) -> None:
    """TypeError unless ``values`` can be iterated over and is neither tensor, array, text nor bytes."""
    if isinstance(values, (Tensor, np.ndarray, str, bytes)):
        raise TypeError(f"Expected argument 'values' to be a \"proper\" iterable.  Found: {type(values)}")
    if not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument 'values' to be iterable.  Found: {type(values)}")


def is_numeric_tensor(tensor: Any) -> bool:
    """Whether ``tensor`` is a tensor of numbers."""
    return isinstance(tensor, Tensor) and (
        tensor.dtype.is_integer
        or tensor.dtype.is_floating
        or tensor.dtype.is_complex
        or tensor.dtype.is_quantized
    )


def _differences(x: Tensor) -> Tensor:
    flat = new("Reshape", tensor=x, shape=[-1])
    upper = new("StridedSlice", input=flat, begin=[1], end=[0], strides=[1], end_mask=1)
    lower = new("StridedSlice", input=flat, begin=[0], end=[-1], strides=[1], begin_mask=1)
    return upper - lower


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Tells whether no element is less than the one before it."""
    with name_scope(name, "is_non_decreasing", [x]):
        steps = _differences(convert_to_tensor(x, name="x"))
        holds = new("LessEqual", x=make_constant(0, steps.dtype.base_dtype), y=steps)
        return new("All", input=holds, reduction_indices=[0])


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Tells whether every element is greater than the one before it."""
    with name_scope(name, "is_strictly_increasing", [x]):
        steps = _differences(convert_to_tensor(x, name="x"))
        holds = new("Less", x=make_constant(0, steps.dtype.base_dtype), y=steps)
        return new("All", input=holds, reduction_indices=[0])
