"""Assertions about tensors: decided when the graph is built where the values are known, else by an ``Assert`` op.

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
from gpuplace.typing import DTypeLike, TensorLike

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
                raise InvalidArgumentError.of(
                    f"{text}\nCondition x {symbol} y did not hold.\nx ({x.name}) = \n{value_x}\n"
                    f"y ({y.name}) = \n{value_y}".lstrip()
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
    x: TensorLike,
    y: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless ``x == y`` everywhere.

    Where both are known when the graph is built, it fails at once or does nothing.

    Args:
        x: a tensor of a type that can be compared.
        y: the same type; the shapes broadcast.
        data: a list of tensors and texts that the failure shows instead of ``x`` and ``y``.
        summarize: how many elements of each it shows. None: 3.
        message: a text put in front.
        name: name of the scope.

    Returns:
        The operation, to be run or used in ``control_dependencies``.

    Raises:
        InvalidArgumentError: both are known and it does not hold; else when it runs.
        TypeError: the types differ.
    """
    return _compare("==", "assert_equal", x, y, data, summarize, message, name)


def assert_none_equal(
    x: TensorLike,
    y: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless ``x != y`` everywhere.

    Where both are known when the graph is built, it fails at once or does nothing.

    Args:
        x: a tensor of a type that can be compared.
        y: the same type; the shapes broadcast.
        data: a list of tensors and texts that the failure shows instead of ``x`` and ``y``.
        summarize: how many elements of each it shows. None: 3.
        message: a text put in front.
        name: name of the scope.

    Returns:
        The operation, to be run or used in ``control_dependencies``.

    Raises:
        InvalidArgumentError: both are known and it does not hold; else when it runs.
        TypeError: the types differ.
    """
    return _compare("!=", "assert_none_equal", x, y, data, summarize, message, name)


def assert_less(
    x: TensorLike,
    y: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless ``x < y`` everywhere.

    Where both are known when the graph is built, it fails at once or does nothing.

    Args:
        x: a tensor of a type that can be compared.
        y: the same type; the shapes broadcast.
        data: a list of tensors and texts that the failure shows instead of ``x`` and ``y``.
        summarize: how many elements of each it shows. None: 3.
        message: a text put in front.
        name: name of the scope.

    Returns:
        The operation, to be run or used in ``control_dependencies``.

    Raises:
        InvalidArgumentError: both are known and it does not hold; else when it runs.
        TypeError: the types differ.
    """
    return _compare("<", "assert_less", x, y, data, summarize, message, name)


def assert_less_equal(
    x: TensorLike,
    y: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless ``x <= y`` everywhere.

    Where both are known when the graph is built, it fails at once or does nothing.

    Args:
        x: a tensor of a type that can be compared.
        y: the same type; the shapes broadcast.
        data: a list of tensors and texts that the failure shows instead of ``x`` and ``y``.
        summarize: how many elements of each it shows. None: 3.
        message: a text put in front.
        name: name of the scope.

    Returns:
        The operation, to be run or used in ``control_dependencies``.

    Raises:
        InvalidArgumentError: both are known and it does not hold; else when it runs.
        TypeError: the types differ.
    """
    return _compare("<=", "assert_less_equal", x, y, data, summarize, message, name)


def assert_greater(
    x: TensorLike,
    y: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless ``x > y`` everywhere.

    Where both are known when the graph is built, it fails at once or does nothing.

    Args:
        x: a tensor of a type that can be compared.
        y: the same type; the shapes broadcast.
        data: a list of tensors and texts that the failure shows instead of ``x`` and ``y``.
        summarize: how many elements of each it shows. None: 3.
        message: a text put in front.
        name: name of the scope.

    Returns:
        The operation, to be run or used in ``control_dependencies``.

    Raises:
        InvalidArgumentError: both are known and it does not hold; else when it runs.
        TypeError: the types differ.
    """
    return _compare(">", "assert_greater", x, y, data, summarize, message, name)


def assert_greater_equal(
    x: TensorLike,
    y: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless ``x >= y`` everywhere.

    Where both are known when the graph is built, it fails at once or does nothing.

    Args:
        x: a tensor of a type that can be compared.
        y: the same type; the shapes broadcast.
        data: a list of tensors and texts that the failure shows instead of ``x`` and ``y``.
        summarize: how many elements of each it shows. None: 3.
        message: a text put in front.
        name: name of the scope.

    Returns:
        The operation, to be run or used in ``control_dependencies``.

    Raises:
        InvalidArgumentError: both are known and it does not hold; else when it runs.
        TypeError: the types differ.
    """
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
    x: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless every element is greater than 0.

    Where ``x`` is known when the graph is built, it fails at once or does nothing.

    Args:
        x: real numbers of any shape.
        data: a list of tensors and texts that the failure shows instead of ``x``.
        summarize: how many elements of each it shows. None: 3.
        message: a text put in front.
        name: name of the scope.

    Returns:
        The operation, to be run or used in ``control_dependencies``.

    Raises:
        InvalidArgumentError: ``x`` is known and it does not hold; else when it runs.
    """
    return _against_zero("<", "assert_positive", "x > 0", x, data, summarize, message, name)


def assert_negative(
    x: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless every element is less than 0.

    Where ``x`` is known when the graph is built, it fails at once or does nothing.

    Args:
        x: real numbers of any shape.
        data: a list of tensors and texts that the failure shows instead of ``x``.
        summarize: how many elements of each it shows. None: 3.
        message: a text put in front.
        name: name of the scope.

    Returns:
        The operation, to be run or used in ``control_dependencies``.

    Raises:
        InvalidArgumentError: ``x`` is known and it does not hold; else when it runs.
    """
    return _against_zero("<", "assert_negative", "x < 0", x, data, summarize, message, name)


def assert_non_negative(
    x: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless every element is 0 or greater.

    Where ``x`` is known when the graph is built, it fails at once or does nothing.

    Args:
        x: real numbers of any shape.
        data: a list of tensors and texts that the failure shows instead of ``x``.
        summarize: how many elements of each it shows. None: 3.
        message: a text put in front.
        name: name of the scope.

    Returns:
        The operation, to be run or used in ``control_dependencies``.

    Raises:
        InvalidArgumentError: ``x`` is known and it does not hold; else when it runs.
    """
    return _against_zero("<=", "assert_non_negative", "x >= 0", x, data, summarize, message, name)


def assert_non_positive(
    x: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless every element is 0 or less.

    Where ``x`` is known when the graph is built, it fails at once or does nothing.

    Args:
        x: real numbers of any shape.
        data: a list of tensors and texts that the failure shows instead of ``x``.
        summarize: how many elements of each it shows. None: 3.
        message: a text put in front.
        name: name of the scope.

    Returns:
        The operation, to be run or used in ``control_dependencies``.

    Raises:
        InvalidArgumentError: ``x`` is known and it does not hold; else when it runs.
    """
    return _against_zero("<=", "assert_non_positive", "x <= 0", x, data, summarize, message, name)


def assert_near(
    x: TensorLike, y: TensorLike, rtol: TensorLike | None = None, atol: TensorLike | None = None, data:
    TensorLike | None = None,
    summarize: int | None = None, message: str | None = None,
    name: str | None = None,
) -> Operation:  # fmt: skip
    """Returns an operation that fails unless ``|x - y| <= atol + rtol * |y|`` everywhere, always checked when it runs.

    Args:
        x: floating.
        y: the same type; the shapes broadcast.
        rtol: relative tolerance, a number or scalar. None: 10 machine epsilons of the type.
        atol: absolute tolerance, likewise.
        data: a list of tensors and texts that the failure shows instead of ``x`` and ``y``.
        summarize: how many elements of each it shows. None: 3.
        message: a text put in front.
        name: name of the scope.

    Returns:
        The operation.

    Raises:
        InvalidArgumentError: when it runs: it does not hold.
        ValueError: integers, which have no epsilon, or shapes that do not broadcast.
        TypeError: the types differ, or are complex.
    """
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
    x: TensorLike,
    rank: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless ``x`` has ``rank`` dimensions.

    Args:
        x: a tensor of any type.
        rank: how many, a scalar int32.
        data: a list of tensors and texts that the failure shows.
        summarize: how many elements of each it shows. None: 3.
        message: a text put in front.
        name: name of the scope.

    Returns:
        The operation; it does nothing where the rank is known.

    Raises:
        ValueError: the rank is known and wrong, or ``rank`` is not a scalar.
        InvalidArgumentError: when it runs: the rank is wrong.
    """
    return _rank_check(
        "assert_rank", x, rank, lambda a, b: a == b, "Equal", "", data, summarize, message, name
    )


def assert_rank_at_least(
    x: TensorLike,
    rank: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless ``x`` has ``rank`` dimensions or more.

    Args:
        x: a tensor of any type.
        rank: how many, a scalar int32.
        data: a list of tensors and texts that the failure shows.
        summarize: how many elements of each it shows. None: 3.
        message: a text put in front.
        name: name of the scope.

    Returns:
        The operation; it does nothing where the rank is known.

    Raises:
        ValueError: the rank is known and wrong, or ``rank`` is not a scalar.
        InvalidArgumentError: when it runs: the rank is wrong.
    """
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
    x: TensorLike,
    ranks: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns an operation that fails unless the number of dimensions of ``x`` is among ``ranks``.

    Args:
        x: a tensor of any type.
        ranks: a tuple of integers or scalar int32 tensors.
        data: a list of tensors and texts that the failure shows.
        summarize: how many elements of each it shows. None: 3.
        message: a text put in front.
        name: name of the scope.

    Returns:
        The operation; it does nothing where the rank is known.

    Raises:
        ValueError: the rank is known and wrong.
        InvalidArgumentError: when it runs: the rank is wrong.
    """
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


def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> Operation:
    """Checks the type of a tensor now; the operation returned does nothing.

    Args:
        tensor: a tensor.
        tf_type: the type it should have, such as ``tf.float32``.
        message: a text put in front of the error's.
        name: name of the scope.

    Raises:
        TypeError: it has another type.
    """
    wanted = as_dtype(tf_type)
    with name_scope(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype.base_dtype is not wanted:
            raise TypeError(f"{message or ''}  {tensor.op.name} must be of type {wanted!r}")
        return no_op("statically_determined_correct_type")


def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that a tensor holds integers, now; the operation returned does nothing.

    Args:
        x: a tensor.
        message: a text put in front of the error's.
        name: name of the scope.

    Raises:
        TypeError: it holds something else.
    """
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(f'{message or ""}  Expected "x" to be integer type.  Found: {x.dtype!r}')
        return no_op("statically_determined_was_integer")


def assert_scalar(tensor: TensorLike, name: str | None = None, message: str | None = None) -> Tensor:
    """Returns ``tensor`` after a check, now, that its shape is ``[]``.

    Args:
        tensor: a tensor.
        name: name of the scope.
        message: a text put in front of the error's.

    Raises:
        ValueError: it has another shape, or an unknown one.
    """
    with name_scope(name, "assert_scalar", [tensor]):
        tensor = convert_to_tensor(tensor)
        if tensor.shape.ndims != 0:
            raise ValueError(
                f"{message or ''}Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}."
            )
        return tensor


def assert_proper_iterable(values: TensorLike) -> None:
    """Checks that ``values`` can be iterated over and is neither tensor, array, text nor bytes.

    Args:
        values: such as a list of tensors.

    Raises:
        TypeError: otherwise.
    """
    if isinstance(values, (Tensor, np.ndarray, str, bytes)):
        raise TypeError(f"Expected argument 'values' to be a \"proper\" iterable.  Found: {type(values)}")
    if not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument 'values' to be iterable.  Found: {type(values)}")


def is_numeric_tensor(tensor: TensorLike) -> bool:
    """Whether ``tensor`` is a tensor of numbers, quantized ones included.

    Args:
        tensor: anything.
    """
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


def _steps_are(op_type: str, x: Any, name: str | None, default_name: str) -> Tensor:
    with name_scope(name, default_name, [x]):
        steps = _differences(convert_to_tensor(x, name="x"))
        holds = new(op_type, x=make_constant(0, steps.dtype.base_dtype), y=steps)
        return new("All", input=holds, reduction_indices=[0])


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Tells whether no element, in row-major order, is less than the one before it.

    Args:
        x: real numbers of any shape.
        name: name of the scope.

    Returns:
        A scalar bool; True for fewer than two elements.
    """
    return _steps_are("LessEqual", x, name, "is_non_decreasing")


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Tells whether every element, in row-major order, is greater than the one before it.

    Args:
        x: real numbers of any shape.
        name: name of the scope.

    Returns:
        A scalar bool; True for fewer than two elements.
    """
    return _steps_are("Less", x, name, "is_strictly_increasing")
