"""Assertions about tensors: checked while the graph is built for static values, otherwise by an ``Assert`` op.

Source: tensorflow/python/ops/check_ops.py, release 1.15 (arguments, messages).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, as_dtype, float32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import static_value
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, make_constant, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.reshaping import rank as rank_of
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.flow.assert_and_print import Assert
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.flow.control import group, no_op, with_dependencies
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.support import new
from gpuplace.ops.variants import variant_of
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "assert_equal", "assert_none_equal", "assert_less", "assert_less_equal", "assert_greater", "assert_greater_equal",
    "assert_positive", "assert_negative", "assert_non_positive", "assert_non_negative", "assert_near", "assert_rank",
    "assert_rank_at_least", "assert_rank_in", "assert_type", "assert_integer", "assert_same_float_dtype",
    "assert_scalar", "assert_proper_iterable", "is_numeric_tensor", "is_non_decreasing", "is_strictly_increasing",
]  # fmt: skip

_COMPARISONS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "==": ("Equal", np.equal),
    "!=": ("NotEqual", np.not_equal),
    "<": ("Less", np.less),
    "<=": ("LessEqual", np.less_equal),
    ">": ("Greater", np.greater),
    ">=": ("GreaterEqual", np.greater_equal),
}
"""For each assertion, the comparison op and the function that compares static values."""


def _compare(
    x: TensorLike,
    y: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
    *,
    symbol: str = "",
    default_name: str = "",
) -> Operation:
    op_type, compare = _COMPARISONS[symbol]
    with name_scope(name, default_name, [x, y, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype if not isinstance(y, Tensor) else None, name="y")
        shown: Any = data
        if data is None:
            shown = [
                f"Condition x {symbol} y did not hold element-wise:",
                f"x ({x.name}) = ",
                x,
                f"y ({y.name}) = ",
                y,
            ]
        shown = [*([] if message is None else [message]), *shown]
        condition = _all(new(op_type, x=x, y=y))
        value_x, value_y = static_value(x), static_value(y)
        if value_x is not None and value_y is not None and not np.all(compare(value_x, value_y)):
            raise InvalidArgumentError.of("\n".join(map(_shown, shown)))
        return Assert(condition, shown, summarize=summarize)


def _shown(item: object) -> str:
    """Return an item of a failure message in the form that is printed while the graph is built."""
    value = static_value(item) if isinstance(item, Tensor) else None
    return str(item if value is None else value)


def _all(holds: Tensor) -> Tensor:
    rank = holds.shape.ndims
    axes: Any = (
        make_constant(list(range(rank)), "int32")
        if rank is not None
        else new("Range", "range", start=0, limit=new("Rank", input=holds), delta=1)
    )
    return new("All", input=holds, reduction_indices=axes)


def assert_equal(
    x: TensorLike,
    y: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Return an operation that fails unless ``x == y`` everywhere.

    If both values are static, the check is made while the graph is built.

    Args:
        x: a tensor of a comparable type.
        y: the same type; the shapes broadcast.
        data: tensors and strings to print on failure instead of ``x`` and ``y``.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        An operation to run or to use in ``control_dependencies``.

    Raises:
        InvalidArgumentError: the check fails: while the graph is built for static values, otherwise at run time.
        TypeError: the types differ.
    """
    with name_scope(name, "assert_equal", [x, y, data]):
        if x is y:
            return no_op()
    return _compare(x, y, data, summarize, message, name, symbol="==", default_name="assert_equal")


@variant_of(_compare, symbol="!=", default_name="assert_none_equal")
def assert_none_equal() -> None:
    """Return an operation that fails unless ``x != y`` everywhere.

    If both values are static, the check is made while the graph is built.

    Args:
        x: a tensor of a comparable type.
        y: the same type; the shapes broadcast.
        data: tensors and strings to print on failure instead of ``x`` and ``y``.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        An operation to run or to use in ``control_dependencies``.

    Raises:
        InvalidArgumentError: the check fails: while the graph is built for static values, otherwise at run time.
        TypeError: the types differ.
    """


@variant_of(_compare, symbol="<", default_name="assert_less")
def assert_less() -> None:
    """Return an operation that fails unless ``x < y`` everywhere.

    If both values are static, the check is made while the graph is built.

    Args:
        x: a tensor of a comparable type.
        y: the same type; the shapes broadcast.
        data: tensors and strings to print on failure instead of ``x`` and ``y``.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        An operation to run or to use in ``control_dependencies``.

    Raises:
        InvalidArgumentError: the check fails: while the graph is built for static values, otherwise at run time.
        TypeError: the types differ.
    """


@variant_of(_compare, symbol="<=", default_name="assert_less_equal")
def assert_less_equal() -> None:
    """Return an operation that fails unless ``x <= y`` everywhere.

    If both values are static, the check is made while the graph is built.

    Args:
        x: a tensor of a comparable type.
        y: the same type; the shapes broadcast.
        data: tensors and strings to print on failure instead of ``x`` and ``y``.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        An operation to run or to use in ``control_dependencies``.

    Raises:
        InvalidArgumentError: the check fails: while the graph is built for static values, otherwise at run time.
        TypeError: the types differ.
    """


@variant_of(_compare, symbol=">", default_name="assert_greater")
def assert_greater() -> None:
    """Return an operation that fails unless ``x > y`` everywhere.

    If both values are static, the check is made while the graph is built.

    Args:
        x: a tensor of a comparable type.
        y: the same type; the shapes broadcast.
        data: tensors and strings to print on failure instead of ``x`` and ``y``.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        An operation to run or to use in ``control_dependencies``.

    Raises:
        InvalidArgumentError: the check fails: while the graph is built for static values, otherwise at run time.
        TypeError: the types differ.
    """


@variant_of(_compare, symbol=">=", default_name="assert_greater_equal")
def assert_greater_equal() -> None:
    """Return an operation that fails unless ``x >= y`` everywhere.

    If both values are static, the check is made while the graph is built.

    Args:
        x: a tensor of a comparable type.
        y: the same type; the shapes broadcast.
        data: tensors and strings to print on failure instead of ``x`` and ``y``.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        An operation to run or to use in ``control_dependencies``.

    Raises:
        InvalidArgumentError: the check fails: while the graph is built for static values, otherwise at run time.
        TypeError: the types differ.
    """


def _against_zero(
    x: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
    *,
    condition: str = "",
    default_name: str = "",
) -> Operation:
    with name_scope(name, default_name, [x, data]):
        x = convert_to_tensor(x, name="x")
        zero = make_constant(0, x.dtype.base_dtype)
        shown: Any = [
            message or "",
            f"Condition {condition} did not hold element-wise:",
            f"x ({x.name}) = ",
            x,
        ]
        check = assert_less_equal if "=" in condition else assert_less
        first, second = (zero, x) if ">" in condition else (x, zero)
        return check(first, second, shown if data is None else data, summarize)


@variant_of(_against_zero, condition="x > 0", default_name="assert_positive")
def assert_positive() -> None:
    """Return an operation that fails unless all elements are positive.

    If ``x`` is static, the check is made while the graph is built.

    Args:
        x: real numbers of any shape.
        data: tensors and strings to print on failure instead of ``x``.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        An operation to run or to use in ``control_dependencies``.

    Raises:
        InvalidArgumentError: the check fails: while the graph is built for static values, otherwise at run time.
    """


@variant_of(_against_zero, condition="x < 0", default_name="assert_negative")
def assert_negative() -> None:
    """Return an operation that fails unless all elements are negative.

    If ``x`` is static, the check is made while the graph is built.

    Args:
        x: real numbers of any shape.
        data: tensors and strings to print on failure instead of ``x``.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        An operation to run or to use in ``control_dependencies``.

    Raises:
        InvalidArgumentError: the check fails: while the graph is built for static values, otherwise at run time.
    """


@variant_of(_against_zero, condition="x >= 0", default_name="assert_non_negative")
def assert_non_negative() -> None:
    """Return an operation that fails unless all elements are 0 or positive.

    If ``x`` is static, the check is made while the graph is built.

    Args:
        x: real numbers of any shape.
        data: tensors and strings to print on failure instead of ``x``.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        An operation to run or to use in ``control_dependencies``.

    Raises:
        InvalidArgumentError: the check fails: while the graph is built for static values, otherwise at run time.
    """


@variant_of(_against_zero, condition="x <= 0", default_name="assert_non_positive")
def assert_non_positive() -> None:
    """Return an operation that fails unless all elements are 0 or negative.

    If ``x`` is static, the check is made while the graph is built.

    Args:
        x: real numbers of any shape.
        data: tensors and strings to print on failure instead of ``x``.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        An operation to run or to use in ``control_dependencies``.

    Raises:
        InvalidArgumentError: the check fails: while the graph is built for static values, otherwise at run time.
    """


def assert_near(
    x: TensorLike, y: TensorLike, rtol: TensorLike | None = None, atol: TensorLike | None = None, data:
    TensorLike | None = None,
    summarize: int | None = None, message: str | None = None,
    name: str | None = None,
) -> Operation:  # fmt: skip
    """Return an operation that fails at run time unless ``|x - y| <= atol + rtol * |y|`` everywhere.

    Args:
        x: floating.
        y: the same type; the shapes broadcast.
        rtol: relative tolerance, a number or scalar. None: 10 times the machine epsilon of the type.
        atol: absolute tolerance, in the same form.
        data: tensors and strings to print on failure instead of ``x`` and ``y``.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        The operation.

    Raises:
        InvalidArgumentError: at run time, the condition does not hold.
        ValueError: the tensors are integers, which have no epsilon, or their shapes do not broadcast.
        TypeError: the types differ, or are complex.
    """
    with name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype if not isinstance(y, Tensor) else None, name="y")
        kind = x.dtype.real_dtype
        epsilon = 10 * float(np.finfo(kind.as_numpy_dtype).eps)
        relative = convert_to_tensor(epsilon if rtol is None else rtol, kind, name="rtol")
        absolute = convert_to_tensor(epsilon if atol is None else atol, kind, name="atol")
        tolerances = f"x and y not equal to tolerance rtol = {relative}, atol = {absolute}"
        shown = [message or "", tolerances, f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
        limit = absolute + relative * new("Abs", x=y)
        holds = _all(new("Less", x=new("Abs", x=x - y), y=limit))
        items: Any = shown if data is None else data
        return Assert(holds, items, summarize=summarize)


# Ranks and types


def _rank_check(
    default_name: str, x: Any, ranks: Sequence[Any], holds: Callable[[int, list[int]], bool],
    condition: Callable[[Tensor, list[Tensor]], Tensor], kind: str, data: Any, summarize: Any, message: Any,
    name: str | None,
) -> Operation:  # fmt: skip
    """Check the rank of ``x``: with ``holds`` if rank and ``ranks`` are static, otherwise with ``condition``."""
    text = message or ""
    with name_scope(name, default_name, [x, *ranks, *(data or [])]):
        x = convert_to_tensor(x, name="x")
        valid = [convert_to_tensor(rank, name="rank") for rank in ranks]
        shown = data
        if data is None:
            shown = [text, f"Tensor {x.name} must have rank{kind}", *valid, "Received shape: ", shape_of(x)]
        for rank in valid:
            assert_type(rank, "int32")
        static_ranks = [static_value(rank) for rank in valid]
        if any(value is not None and value.ndim for value in static_ranks):
            raise ValueError("Rank must be a scalar.")
        sizes = [int(value) for value in static_ranks if value is not None]
        if len(sizes) == len(static_ranks) and x.shape.ndims is not None:
            if not holds(x.shape.ndims, sizes):
                expected = tuple(sizes) if default_name == "assert_rank_in" else sizes[0]
                raise ValueError(
                    f"{text}.  Tensor {x.name} must have rank{kind} {expected}.  Received rank {x.shape.ndims}, shape"
                    f" {x.shape}"
                )
            return no_op("static_checks_determined_all_ok")
        right = condition(rank_of(x), valid)
        for rank, value in zip(valid, static_ranks, strict=True):
            if value is None:
                check = assert_rank(rank, 0, data=["Rank must be a scalar. Received rank: ", rank])
                right = with_dependencies([check], right)
        return Assert(right, shown, summarize=summarize)


def _check_rank(
    x: TensorLike,
    rank: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
    *,
    symbol: str = "==",
    default_name: str = "",
    kind: str = "",
) -> Operation:
    op_type, compare = _COMPARISONS[symbol]
    return _rank_check(
        default_name,
        x,
        [rank],
        lambda actual, expected: bool(compare(actual, expected[0])),
        lambda actual, expected: new(op_type, x=actual, y=expected[0]),
        kind,
        data,
        summarize,
        message,
        name,
    )


@variant_of(_check_rank, symbol="==", default_name="assert_rank")
def assert_rank() -> None:
    """Return an operation that fails unless ``x`` has ``rank`` dimensions.

    Args:
        x: a tensor of any type.
        rank: the number of dimensions, a scalar int32.
        data: tensors and strings to print on failure.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        An operation, which does nothing if the rank is static.

    Raises:
        ValueError: the static rank is wrong, or ``rank`` is not a scalar.
        InvalidArgumentError: at run time, the rank is wrong.
    """


@variant_of(_check_rank, symbol=">=", default_name="assert_rank_at_least", kind=" at least")
def assert_rank_at_least() -> None:
    """Return an operation that fails unless ``x`` has at least ``rank`` dimensions.

    Args:
        x: a tensor of any type.
        rank: the minimum number of dimensions, a scalar int32.
        data: tensors and strings to print on failure.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        An operation, which does nothing if the rank is static.

    Raises:
        ValueError: the static rank is wrong, or ``rank`` is not a scalar.
        InvalidArgumentError: at run time, the rank is wrong.
    """


def assert_rank_in(
    x: TensorLike,
    ranks: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Return an operation that fails unless the rank of ``x`` is one of ``ranks``.

    Args:
        x: a tensor of any type.
        ranks: a tuple of integers or scalar int32 tensors.
        data: tensors and strings to print on failure.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        An operation, which does nothing if the rank is static.

    Raises:
        ValueError: the static rank is wrong.
        InvalidArgumentError: at run time, the rank is wrong.
    """
    return _rank_check(
        "assert_rank_in",
        x,
        list(ranks),
        lambda actual, expected: actual in expected,
        _is_one_of,
        " in",
        data,
        summarize,
        message,
        name,
    )


def _is_one_of(actual: Tensor, ranks: list[Tensor]) -> Tensor:
    if not ranks:
        return make_constant(False)
    result = new("Equal", x=ranks[0], y=actual)
    for rank in ranks[1:]:
        result = new("LogicalOr", x=result, y=new("Equal", x=rank, y=actual))
    return result


def assert_shapes(
    shapes: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Return an operation that fails unless tensors have the given shapes; a symbol is the same size everywhere.

    >>> import gpuplace as tf
    >>> x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None])
    >>> check = tf.debugging.assert_shapes([(x, ("N", 2)), (y, ("N",))])
    >>> tf.Session().run(check, {x: [[1, 2]], y: [3]})

    Args:
        shapes: a list of pairs of a tensor and its shape, or a dict. A shape is a list of numbers and symbols, with
            None or ``"."`` for any size; a leading ``...`` or ``"*"`` stands for any number of dimensions. A scalar
            counts as a vector of one element. None instead of a shape: any shape.
        data: tensors and strings to print on failure.
        summarize: maximum number of elements to print for each. None: 3.
        message: prefix of the error message.
        name: name of the scope.

    Returns:
        An operation, which does nothing if the shapes are static.

    Raises:
        ValueError: a static shape is wrong, is not a list, or has ``...`` elsewhere than at the start.
        InvalidArgumentError: at run time, a shape is wrong.
    """
    pairs = list(shapes.items() if isinstance(shapes, dict) else shapes)
    text = message or ""
    with name_scope(name, "assert_shapes", [*(x for x, _ in pairs), *(data or [])]):
        expected = [
            (convert_to_tensor(x), _symbols(x, shape, text)) for x, shape in pairs if shape is not None
        ]
        sizes = [_sizes_of(x) for x, _ in expected]
        checks = [_check_length(x, symbols, data, summarize, message) for x, symbols in expected]
        specified: dict[Any, tuple[Any, Tensor, int]] = {}
        failures = []
        for (x, symbols), actual in zip(expected, sizes, strict=True):
            is_open = bool(symbols) and symbols[0] in _ANY_RANK
            inner = symbols[is_open:] or (1,)
            for index, symbol in enumerate(inner):
                axis = index - len(inner) if is_open else index
                if symbol in _ANY_SIZE:
                    continue
                if not _is_size(symbol) and symbol not in specified:
                    specified[symbol] = (actual[axis], x, axis)
                    continue
                if _is_size(symbol):
                    size, why = int(symbol), "Specified explicitly"
                else:
                    size, other, at = specified[symbol]
                    why = f"Specified by tensor {other.name} dimension {at}"
                actual_size = actual[axis]
                if not isinstance(actual_size, Tensor) and not isinstance(size, Tensor):
                    if actual_size != size:
                        raise ValueError(
                            f"{text}.  {why}.  Tensor {x.name} dimension {axis} must have size {size}.  Received size"
                            f" {actual_size}, shape {x.shape}"
                        )
                    continue
                holds = new("Equal", x=convert_to_tensor(actual_size), y=convert_to_tensor(size))
                shown = [
                    text,
                    why,
                    f"Tensor {x.name} dimension",
                    axis,
                    "must have size",
                    size,
                    "Received shape: ",
                ]
                shown.append(new("Shape", input=x))
                failures.append(Assert(holds, shown if data is None else data, summarize=summarize))
        with get_default_graph().control_dependencies([check for check in checks if check is not None]):
            return group(*failures)


_ANY_RANK, _ANY_SIZE = (..., "*"), (None, ".")
"""Symbols for any number of dimensions, and for one of any size."""


def _symbols(x: TensorLike, shape: Any, text: str) -> tuple[Any, ...]:
    """Return the symbols of a shape; raise ValueError if the shape is malformed."""
    name = getattr(x, "name", "")
    if not hasattr(shape, "__iter__") and not hasattr(shape, "__getitem__"):
        raise ValueError(
            f"{text}.  Tensor {name}.  Specified shape must be an iterable.  An iterable has the attribute `__iter__`"
            f" or `__getitem__`.  Received specified shape: {shape}"
        )
    symbols = tuple(shape)
    for index, symbol in enumerate(symbols[1:], 1):
        if symbol in _ANY_RANK:
            raise ValueError(
                f"{text}.  Tensor {name} specified shape index {index}.  Symbol `...` or `*` for a variable number of"
                " unspecified dimensions is only allowed as the first entry"
            )
    return symbols


def _is_size(symbol: Any) -> bool:
    """Return whether a symbol is a number."""
    try:
        int(symbol)
    except (TypeError, ValueError):
        return False
    return True


def _sizes_of(x: Tensor) -> Any:
    """Return dimension sizes: a number if static, otherwise a tensor. A scalar counts as a vector of one element."""
    shape = new("Shape", input=x)
    if x.shape.ndims is None:
        is_scalar = new("Equal", x=new("Rank", input=x), y=0)
        return cond(is_scalar, lambda: make_constant([1], "int32"), lambda: shape)
    return [shape[axis] if size is None else size for axis, size in enumerate(x.shape.as_list())] or [1]


def _check_length(
    x: Tensor, symbols: tuple[Any, ...], data: Any, summarize: Any, message: Any
) -> Operation | None:
    """Return an operation that checks that ``x`` has one dimension for each symbol."""
    count = len(symbols)
    if count and symbols[0] in _ANY_RANK:
        return assert_rank_at_least(x, count - 1, data, summarize, message) if count > 2 else None
    if count < 2:
        return assert_rank_in(x, [0, 1], data, summarize, message)
    return assert_rank(x, count, data, summarize, message)


def assert_type(
    tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None
) -> Operation:
    """Check the type of a tensor while the graph is built; the returned operation does nothing.

    Args:
        tensor: a tensor.
        tf_type: the expected type, such as ``tf.float32``.
        message: prefix of the error message.
        name: name of the scope.

    Raises:
        TypeError: the tensor has another type.
    """
    expected = as_dtype(tf_type)
    with name_scope(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype.base_dtype is not expected:
            raise TypeError(f"{message or ''}  {tensor.name} must be of type {expected}")
        return no_op("statically_determined_correct_type")


def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> Operation:
    """Check while the graph is built that a tensor holds integers; the returned operation does nothing.

    Args:
        x: a tensor.
        message: prefix of the error message.
        name: name of the scope.

    Raises:
        TypeError: the tensor has another type.
    """
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(f'{message or ""}  Expected "x" to be integer type.  Found: {x.dtype!r}')
        return no_op("statically_determined_was_integer")


def assert_same_float_dtype(tensors: Sequence[Any] | None = None, dtype: DTypeLike | None = None) -> DType:
    """Return the common floating type of tensors; add nothing to the graph.

    Args:
        tensors: tensors and variables; None is skipped.
        dtype: the required type; None: any.

    Returns:
        The type; float32 if neither argument determines one.

    Raises:
        ValueError: a tensor has another type, or the type is not floating.
    """
    expected, first = None if dtype is None else as_dtype(dtype), None
    for item in tensors or ():
        if item is None:
            continue
        actual = item.dtype.base_dtype
        if expected is None:
            expected, first = actual, item
        elif actual != expected:
            shown, reference = (getattr(value, "name", str(value)) for value in (item, first))
            as_what = f" as {reference}" if first is not None else ""
            raise ValueError(f"{shown}, type={actual}, must be of the same type ({expected}){as_what}.")
    if expected is None:
        return float32
    if not expected.is_floating:
        raise ValueError(f"Expected floating point type, got {expected}.")
    return expected


def assert_scalar(tensor: TensorLike, name: str | None = None, message: str | None = None) -> Tensor:
    """Return ``tensor`` after a check, while the graph is built, that its shape is ``[]``.

    Args:
        tensor: a tensor.
        name: name of the scope.
        message: prefix of the error message.

    Raises:
        ValueError: the tensor has another or an unknown shape.
    """
    with name_scope(name, "assert_scalar", [tensor]):
        tensor = convert_to_tensor(tensor)
        if tensor.shape.ndims != 0:
            raise ValueError(
                f"{message or ''}Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}."
            )
        return tensor


def assert_proper_iterable(values: TensorLike) -> None:
    """Check that ``values`` is iterable and is not a tensor, array, string or bytes.

    Args:
        values: for example a list of tensors.

    Raises:
        TypeError: the check fails.
    """
    if isinstance(values, (Tensor, SparseTensor, np.ndarray, str, bytes)):
        raise TypeError(f"Expected argument 'values' to be a \"proper\" iterable.  Found: {type(values)}")
    if not hasattr(values, "__iter__"):
        raise TypeError(f"Expected argument 'values' to be iterable.  Found: {type(values)}")


def is_numeric_tensor(tensor: TensorLike) -> bool:
    """Return whether ``tensor`` is a tensor of numbers, including quantized ones.

    Args:
        tensor: any object.
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


def _steps_are(op_type: str, x: TensorLike, name: str | None, default_name: str) -> Tensor:
    with name_scope(name, default_name, [x]):
        steps = _differences(convert_to_tensor(x, name="x"))
        holds = new(op_type, x=make_constant(0, steps.dtype.base_dtype), y=steps)
        return new("All", input=holds, reduction_indices=[0])


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether no element, in row-major order, is less than its predecessor.

    Args:
        x: real numbers of any shape.
        name: name of the scope.

    Returns:
        A scalar bool; True for fewer than two elements.
    """
    return _steps_are("LessEqual", x, name, "is_non_decreasing")


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether every element, in row-major order, is greater than its predecessor.

    Args:
        x: real numbers of any shape.
        name: name of the scope.

    Returns:
        A scalar bool; True for fewer than two elements.
    """
    return _steps_are("Less", x, name, "is_strictly_increasing")
