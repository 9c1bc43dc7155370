"""Cumulative sums, products and log-sum-exps.

Source: tensorflow/python/ops/math_ops.py, math_grad.py and tensorflow/core/kernels/scan_ops.cc, release 1.15.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.arguments import int_of
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.support import new, same_shape
from gpuplace.ops.variants import variant_of
from gpuplace.release import rules
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "cumsum", "cumprod",
]  # fmt: skip

_LONG = 256
"""From this number of elements on, it is worth avoiding NumPy's slow path."""


def _running_op(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
    *,
    op_type: str = "",
) -> Tensor:
    with name_scope(name, op_type, [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return new(op_type, scope, x=x, axis=axis, exclusive=exclusive, reverse=reverse)


@variant_of(_running_op, op_type="Cumsum")
def cumsum() -> None:
    """Return cumulative sums along a dimension.

    >>> import gpuplace as tf
    >>> tf.Session().run([tf.cumsum([1, 2, 3]), tf.cumsum([1, 2, 3], exclusive=True)])
    [array([1, 3, 6], dtype=int32), array([0, 1, 3], dtype=int32)]

    Args:
        x: numbers of rank 1 or more.
        axis: the dimension, a scalar int32 or int64; negative values count from the end.
        exclusive: whether to exclude each element from its own sum.
        reverse: whether to run from the end.
        name: name of the op.

    Returns:
        A tensor like ``x``.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, ``axis`` is out of range.
    """


@variant_of(_running_op, op_type="Cumprod")
def cumprod() -> None:
    """Return cumulative products along a dimension.

    Args:
        x: numbers of rank 1 or more.
        axis: the dimension, a scalar int32 or int64; negative values count from the end.
        exclusive: whether to exclude each element from its own product.
        reverse: whether to run from the end.
        name: name of the op.

    Returns:
        A tensor like ``x``.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, ``axis`` is out of range.
    """


def _axis(value: object) -> int:
    return int_of(value, "ScanOp: axis must be a scalar, not")


@compute("Cumsum", fresh=True)
def _cumsum(xp: ArrayModule, x: Array, axis: Array, *, exclusive: bool, reverse: bool) -> Array:
    return _scan(xp, xp.cumsum, 0, x, _axis(axis), exclusive, reverse)


@compute("Cumprod", fresh=True)
def _cumprod(xp: ArrayModule, x: Array, axis: Array, *, exclusive: bool, reverse: bool) -> Array:
    return _scan(xp, xp.cumprod, 1, x, _axis(axis), exclusive, reverse)


def _scan(
    xp: ArrayModule, function: Any, neutral: float, x: Array, axis: int, exclusive: bool, reverse: bool
) -> Array:
    if not -x.ndim <= axis < x.ndim:
        raise InvalidArgumentError.of(
            f"ScanOp: Expected scan axis in the range [{-x.ndim}, {x.ndim}), but got {axis}"
        )
    moved = xp.moveaxis(x, axis, 0)
    moved = moved[::-1] if reverse else moved
    if exclusive and moved.shape[0]:
        first = xp.full((1, *moved.shape[1:]), neutral, x.dtype)
        moved = xp.concatenate([first, moved[:-1]], axis=0)
    result = _running(xp, function, moved)
    return xp.ascontiguousarray(xp.moveaxis(result[::-1] if reverse else result, 0, axis))


def _running(xp: ArrayModule, function: Any, x: Array) -> Array:
    """Apply ``function`` along the first axis; line by line for long lines, because NumPy runs along the columns."""
    lines = math.prod(x.shape[1:])
    if xp is not np or lines < _LONG or len(x) < 2 or not x[0].flags.c_contiguous:
        return function(x, axis=0, dtype=x.dtype)
    step = np.add if function is np.cumsum else np.multiply
    result = np.empty(x.shape, x.dtype)
    result[0] = x[0]
    for index in range(1, len(x)):
        step(result[index - 1], x[index], out=result[index])
    return result


@variant_of(_running_op, op_type="CumulativeLogsumexp")
def cumulative_logsumexp() -> None:
    """Return the logarithms of cumulative sums of exponentials along a dimension.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.math.cumulative_logsumexp([0.0, 0.0, 0.0])).round(3).tolist()
    [0.0, 0.6930000185966492, 1.0989999771118164]

    Args:
        x: half, float32 or float64, of rank 1 or more.
        axis: the dimension, a scalar int32 or int64; negative values count from the end.
        exclusive: whether to exclude each element from its own sum; the first result is then the type's smallest
            number.
        reverse: whether to run from the end.
        name: name of the op.

    Returns:
        A tensor like ``x``.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, ``axis`` is out of range.
    """


@compute("CumulativeLogsumexp", fresh=True)
def _cumulative_logsumexp(xp: ArrayModule, x: Array, axis: Array, *, exclusive: bool, reverse: bool) -> Array:
    lowest = as_dtype(x.dtype).min if rules() == "1.15" else -math.inf
    return _scan(
        xp, lambda x, axis, dtype: _running_logsumexp(xp, x), lowest, x, _axis(axis), exclusive, reverse
    )


def _running_logsumexp(xp: ArrayModule, x: Array) -> Array:
    """Return the cumulative log-sum-exp along the first axis."""
    result = xp.empty(x.shape, x.dtype)
    for index in range(len(x)):
        result[index] = xp.logaddexp(result[index - 1], x[index]) if index else x[index]
    return result


@gradient("CumulativeLogsumexp")
def _cumulative_logsumexp_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    """Sum ``grad / exp(result)`` in the opposite direction, through logarithms of its positive and negative parts."""
    x, axis = op.inputs
    exclusive, reverse = op.attrs["exclusive"], op.attrs["reverse"]
    result = op.outputs[0]
    lowest = x.dtype.min
    positive = new("SelectV2", condition=grad > 0, t=new("Log", x=grad), e=lowest)
    negative = new("SelectV2", condition=grad < 0, t=new("Log", x=-grad), e=lowest)

    def part(logs: Tensor) -> Tensor:
        sums = cumulative_logsumexp(logs - result, axis, exclusive, not reverse)
        return new("Exp", x=sums + x)

    of_positive = part(positive)
    return of_positive - part(negative), None


shape_function("Cumsum", "Cumprod")(same_shape)


@gradient("Cumsum")
def _cumsum_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    return cumsum(grad, op.inputs[1], op.attrs["exclusive"], not op.attrs["reverse"]), None


@gradient("Cumprod")
def _cumprod_grad(op: Operation, grad: Tensor) -> tuple[Tensor, None]:
    """Gradient of ``cumprod``; like TensorFlow's, it is correct only without zeros in the input."""
    x, axis = op.inputs
    exclusive, back = op.attrs["exclusive"], op.attrs["reverse"]
    products = cumprod(x, axis, exclusive=exclusive, reverse=back)
    sums = cumsum(products * grad, axis, exclusive=exclusive, reverse=not back)
    return sums / x, None
