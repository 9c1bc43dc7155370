"""Parameters of distributions: conversions, and checks at run time.

Functions named ``embed_check...`` return their argument as a tensor that depends on the checks.

Source: tensorflow/python/ops/distributions/util.py, release 1.15.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, float16, float32, float64, int8, int16, int32, int64, uint8, uint16
from gpuplace.dtypes import bool as bool_type
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import constant
from gpuplace.ops.array.reshaping import shape
from gpuplace.ops.flow.control import no_op, with_dependencies
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.check_ops import (
    assert_equal,
    assert_greater_equal,
    assert_less_equal,
    assert_near,
    assert_non_negative,
    assert_rank_at_least,
)
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.math.special import lgamma
from gpuplace.ops.math.trigonometry import sigmoid
from gpuplace.ops.math.unary import log, log1p
from gpuplace.ops.nn.activation import softmax
from gpuplace.shapes import dimension_value
from gpuplace.typing import TensorLike

_WHOLE = {float16: int16, float32: int32, float64: int64}
"""Floating dtype -> the integer dtype that its whole numbers are compared in."""

_UNSIGNED = frozenset({bool_type, uint8, uint16})
_SIGNED = frozenset({float16, float32, float64, int8, int16, int32, int64})


def assert_integer_form(
    x: TensorLike,
    data: TensorLike | None = None,
    summarize: int | None = None,
    message: str | None = None,
    int_dtype: DType | None = None,
    name: str = "assert_integer_form",
) -> Operation:
    """Return an operation that fails unless all elements are whole numbers.

    Args:
        x: numbers.
        data: a list of tensors and strings that the error shows.
        summarize: number of elements that it shows of each; None for 3.
        message: prefix of the error message.
        int_dtype: the integer dtype for the comparison; None for the one of equal size.
        name: name of the scope.

    Raises:
        TypeError: the dtype is unknown.
    """
    with name_scope(name, values=[x, data]):
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_integer:
            return no_op()
        message = message or f"{x} has non-integer components"
        if int_dtype is None:
            if x.dtype.base_dtype not in _WHOLE:
                raise TypeError(f"Unrecognized type {x.dtype.name}")
            int_dtype = _WHOLE[x.dtype.base_dtype]
        whole = cast(cast(x, int_dtype), x.dtype)
        return assert_equal(x, whole, data=data, summarize=summarize, message=message, name=name)


def embed_check_nonnegative_integer_form(
    x: TensorLike, name: str = "embed_check_nonnegative_integer_form"
) -> Tensor:
    """Return numbers that are checked at run time to be whole and not negative.

    Args:
        x: numbers.
        name: name of the scope.
    """
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        checks = [assert_non_negative(x, message=f"'{x}' must be non-negative.")]
        if not x.dtype.is_integer:
            checks.append(assert_integer_form(x, message=f"'{x}' cannot contain fractional components."))
        return with_dependencies(checks, x)


def get_logits_and_probs(
    logits: TensorLike | None = None,
    probs: TensorLike | None = None,
    multidimensional: bool = False,
    validate_args: bool = False,
    name: str = "get_logits_and_probs",
    dtype: DType | None = None,
) -> tuple[Tensor, Tensor]:
    """Return logits and probabilities, computing the one that is not given.

    Args:
        logits: log-odds, or unnormalized log-probabilities.
        probs: probabilities.
        multidimensional: whether a distribution has several classes, along the last axis.
        validate_args: whether to check them at run time.
        name: name of the scope.
        dtype: their dtype; None: inferred from the value.

    Raises:
        ValueError: both are given, or neither.
        TypeError: the dtype is not floating.
    """
    with name_scope(name, values=[probs, logits]):
        argument: Any = logits if probs is None else probs
        if (probs is None) == (logits is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if probs is None:
            logits = convert_to_tensor(argument, name="logits", dtype=dtype)
            if not logits.dtype.is_floating:
                raise TypeError("logits must having floating type.")
            if multidimensional:
                if validate_args:
                    logits = embed_check_categorical_event_shape(logits)
                return logits, softmax(logits, name="probs")
            return logits, sigmoid(logits, name="probs")
        probs = convert_to_tensor(argument, name="probs", dtype=dtype)
        if not probs.dtype.is_floating:
            raise TypeError("probs must having floating type.")
        if validate_args:
            with name_scope("validate_probs"):
                probs = _checked_probs(probs, multidimensional)
        with name_scope("logits"):
            if multidimensional:
                return log(probs), probs
            return log(probs) - log1p(-1.0 * probs), probs


def _checked_probs(probs: Tensor, multidimensional: bool) -> Tensor:
    one = constant(1.0, probs.dtype)
    checks = [assert_non_negative(probs)]
    if multidimensional:
        probs = embed_check_categorical_event_shape(probs)
        checks.append(assert_near(reduce_sum(probs, -1), one, message="probs does not sum to 1."))
    else:
        message = "probs has components greater than 1."
        checks.append(assert_less_equal(probs, one, message=message))
    return with_dependencies(checks, probs)


def _largest_integer(dtype: DType) -> int:
    """Return the largest whole number up to which a dtype represents all of them."""
    dtype = dtype.base_dtype
    if dtype not in _UNSIGNED | _SIGNED:
        raise TypeError(f"Unrecognized dtype: {dtype.name}")
    if dtype.is_floating:
        return int(2 ** (np.finfo(dtype.as_numpy_dtype).nmant + 1))
    return int(np.iinfo(dtype.as_numpy_dtype).max) if dtype.is_integer else 1


def _smallest_integer(dtype: DType) -> int:
    return 0 if dtype.base_dtype in _UNSIGNED else -_largest_integer(dtype)


def _is_integer_like(dtype: DType) -> bool:
    if dtype.base_dtype not in _UNSIGNED | _SIGNED:
        raise TypeError(f"Unrecognized dtype: {dtype.name}")
    return dtype.is_integer or dtype.base_dtype == bool_type


def embed_check_categorical_event_shape(
    categorical_param: TensorLike, name: str = "embed_check_categorical_event_shape"
) -> Tensor:
    """Return parameters that are checked to have at least two classes, and no more than their dtype can count.

    Args:
        categorical_param: parameters, with the classes along the last axis.
        name: name of the scope.

    Raises:
        TypeError: their dtype is unknown.
        ValueError: the number of classes is known to be wrong.
    """
    with name_scope(name, values=[categorical_param]):
        x = convert_to_tensor(categorical_param, name="categorical_param")
        dtype = x.dtype.base_dtype
        most = _largest_integer(dtype) if dtype.is_floating else 0
        if most == 0:
            raise TypeError(f"Unable to validate size of unrecognized dtype ({dtype.name}).")
        at_least_one_axis = "A categorical-distribution parameter must have at least 1 dimension."
        two_or_more = "A categorical-distribution parameter must have at least 2 events."
        try:
            static = x.shape.with_rank_at_least(1)
        except ValueError:
            raise ValueError(at_least_one_axis) from None
        classes = dimension_value(static[-1])
        if classes is None:
            count = shape(x, name="x_shape")[-1]
            too_many = (
                "Number of classes exceeds `dtype` precision, i.e., "
                f"{dtype.name} dtype cannot exceed {most} shape."
            )
            checks: list[Any] = [
                assert_rank_at_least(x, 1, message=at_least_one_axis),
                assert_greater_equal(shape(x)[-1], 2, message=two_or_more),
                assert_less_equal(count, most, message=too_many),
            ]
            return with_dependencies(checks, x)
        if classes < 2:
            raise ValueError(two_or_more)
        if classes > most:
            raise ValueError(
                f"Number of classes exceeds `dtype` precision, i.e., {dtype.name} implies shape ({classes}) cannot "
                f"exceed {most}."
            )
        return x


def embed_check_integer_casting_closed(
    x: TensorLike,
    target_dtype: DType,
    assert_nonnegative: bool = True,
    name: str = "embed_check_casting_closed",
) -> Tensor:
    """Return numbers that are checked at run time to stay the same in another dtype.

    Args:
        x: numbers; this dtype or the other must be an integer dtype.
        target_dtype: the other dtype.
        assert_nonnegative: whether to check that they are not negative too.
        name: name of the scope.

    Raises:
        TypeError: a dtype is unknown, or neither is an integer dtype.
    """
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        x_is_whole = _is_integer_like(x.dtype)
        if not x_is_whole and not x.dtype.is_floating:
            raise TypeError(f"{x.dtype.name}.dtype must be floating- or integer-type.")
        target_is_whole = _is_integer_like(target_dtype)
        if not target_is_whole and not target_dtype.is_floating:
            raise TypeError(f"target_dtype ({target_dtype.name}) must be floating- or integer-type.")
        if not x_is_whole and not target_is_whole:
            raise TypeError(
                f"At least one of {x}.dtype ({x.dtype.name}) and target_dtype ({target_dtype.name}) must be "
                "integer-type."
            )
        checks = []
        if assert_nonnegative:
            checks.append(assert_non_negative(x, message="Elements must be non-negative."))
        if x.dtype.is_floating:
            message = f"Elements must be {target_dtype.name}-equivalent."
            checks.append(assert_integer_form(x, int_dtype=target_dtype, message=message))
        else:
            most, least = _largest_integer(target_dtype), _smallest_integer(target_dtype)
            if _largest_integer(x.dtype) > most:
                checks.append(assert_less_equal(x, most, message=f"Elements cannot exceed {most}."))
            if not assert_nonnegative and _smallest_integer(x.dtype) < least:
                message = f"Elements cannot be smaller than {least}."
                checks.append(assert_greater_equal(x, least, message=message))
        return with_dependencies(checks, x) if checks else x


def log_combinations(n: TensorLike, counts: TensorLike, name: str = "log_combinations") -> Tensor:
    """Return the logarithm of the multinomial coefficient ``n! / (counts[0]! counts[1]! ...)``.

    Args:
        n: number of items.
        counts: number of items of each class, along the last axis.
        name: name of the scope.
    """
    with name_scope(name, values=[n, counts]):
        n, counts = convert_to_tensor(n, name="n"), convert_to_tensor(counts, name="counts")
        orders = lgamma(n + 1)
        return orders - reduce_sum(lgamma(counts + 1), axis=[-1])


def gen_new_seed(seed: int | None, salt: str) -> int | None:
    """Return a new seed derived from a seed and a word.

    >>> gen_new_seed(None, "beta") is None, gen_new_seed(1, "beta") == gen_new_seed(1, "beta")
    (True, True)

    Args:
        seed: a seed, or None.
        salt: the word.
    """
    if seed is None:
        return None
    digest = hashlib.md5(f"{seed}{salt}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF
