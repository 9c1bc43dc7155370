"""Fractional pooling: random windows of two sizes reduce each side by a ratio that need not be an integer.

    13 rows by 1.44 -> 9 rows:     windows of 1 and 2 rows, in random order, or along a line with a
                                   random start (``pseudo_random``): ceil(ratio * (i + u)), i = 1, 2, ...

Source: B. Graham, Fractional Max-Pooling, arXiv:1412.6071; tensorflow/core/kernels/fractional_pool_common.cc,
fractional_max_pool_op.cc, fractional_avg_pool_op.cc, release 1.15 (arguments, messages; the random numbers
differ).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpuplace.errors import InvalidArgumentError, UnimplementedError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.random import philox
from gpuplace.ops.random.random_ops import generator_of, get_seed
from gpuplace.ops.support import new
from gpuplace.ops.variants import variant_of
from gpuplace.release import rules
from gpuplace.typing import Array, ArrayModule, TensorLike


class FractionalPool(NamedTuple):
    """The result of a pooling."""

    output: Tensor
    """The pooled images."""
    row_pooling_sequence: Tensor
    """The first row of each window, followed by the number of rows."""
    col_pooling_sequence: Tensor
    """The first column of each window, followed by the number of columns."""


def _fractional(
    value: TensorLike,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
    *,
    how: str = "",
) -> FractionalPool:
    op = apply_op(
        f"Fractional{how}Pool", name, value=value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random,
        overlapping=overlapping, deterministic=deterministic, seed=seed, seed2=seed2,
    )  # fmt: skip
    return FractionalPool(*op.outputs)


@variant_of(_fractional, how="Max")
def fractional_max_pool() -> None:
    """Return the largest elements of randomly placed windows of two sizes.

    Args:
        value: images, ``[batch, rows, columns, channels]``.
        pooling_ratio: divisors of the four sizes; the first and last are 1.
        pseudo_random: whether the windows follow a line with a random start, rather than a random order.
        overlapping: whether neighboring windows share their border.
        deterministic: whether to draw the windows only once, not in every run.
        seed: with ``seed2``, the seed of the op; 0 for both: a random seed.
        seed2: see ``seed``.
        name: name of the op.

    Returns:
        The images, and the starts of the windows, int64.

    Raises:
        InvalidArgumentError: a ratio is below 1, or larger than the size.
        UnimplementedError: the first or last ratio is not 1.
    """


@variant_of(_fractional, how="Avg")
def fractional_avg_pool() -> None:
    """Return the means of randomly placed windows of two sizes.

    Args:
        value: images, ``[batch, rows, columns, channels]``.
        pooling_ratio: divisors of the four sizes; the first and last are 1.
        pseudo_random: whether the windows follow a line with a random start, rather than a random order.
        overlapping: whether neighboring windows share their border.
        deterministic: whether to draw the windows only once, not in every run.
        seed: with ``seed2``, the seed of the op; 0 for both: a random seed.
        seed2: see ``seed``.
        name: name of the op.

    Returns:
        The images, and the starts of the windows, int64.

    Raises:
        InvalidArgumentError: a ratio is below 1, or larger than the size.
        UnimplementedError: the first or last ratio is not 1.
    """


def _fractional_v2(
    value: TensorLike,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
    *,
    how: str = "",
) -> FractionalPool:
    ratio = list(pooling_ratio) if isinstance(pooling_ratio, (list, tuple)) else [pooling_ratio]
    if len(ratio) < 3:
        ratio = [1.0, *(ratio * 2 if len(ratio) == 1 else ratio), 1.0]
    if not seed:
        return _fractional(value, ratio, pseudo_random, overlapping, name=name, how=how)
    first, second = get_seed(seed)
    return _fractional(value, ratio, pseudo_random, overlapping, True, first or 0, second or 0, name, how=how)


@variant_of(_fractional_v2, how="Max")
def fractional_max_pool_v2() -> None:
    """Return ``fractional_max_pool`` with one seed, which makes it deterministic.

    Args:
        value: images, ``[batch, rows, columns, channels]``.
        pooling_ratio: divisors of rows and columns: one number, two, or four with 1 as the outer ones.
        pseudo_random: as for version 1.
        overlapping: as for version 1.
        seed: the seed; 0 for a random one.
        name: name of the op.
    """


@variant_of(_fractional_v2, how="Avg")
def fractional_avg_pool_v2() -> None:
    """Return ``fractional_avg_pool`` with one seed, which makes it deterministic.

    Args:
        value: images, ``[batch, rows, columns, channels]``.
        pooling_ratio: divisors of rows and columns: one number, two, or four with 1 as the outer ones.
        pseudo_random: as for version 1.
        overlapping: as for version 1.
        seed: the seed; 0 for a random one.
        name: name of the op.
    """


def _starts(size: int, ratio: float, draw: Any, pseudo_random: bool) -> list[int]:
    """Return the starts of the windows of one side, and its end."""
    count = math.floor(size / ratio)
    small = size // count
    if size == count * small:
        return list(range(0, size + 1, small))
    if not pseudo_random:
        steps = [small] * count
        for index in range(size % count):
            steps[index] += 1
        for index in range(count - 1, 0, -1):
            other = int(draw() * (index + 1))
            steps[index], steps[other] = steps[other], steps[index]
        starts = [0]
        for step in steps:
            starts.append(starts[-1] + step)
        return starts
    exact = size / count
    most = min((small + 2) / exact - 1, (size + 1 - small) / exact - (count - 1))
    offset = draw() * most
    return [0, *(math.ceil(exact * (index + offset)) - 1 for index in range(1, count)), size]


@compute("FractionalMaxPool", "FractionalAvgPool", fresh=True, slow=True, own_state=True)
def _fractional_pool(
    xp: ArrayModule, value: Array, *, pooling_ratio: Any, pseudo_random: bool, overlapping: bool, deterministic: bool,
    seed: int, seed2: int, ctx: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    if not deterministic and (seed or seed2):
        raise InvalidArgumentError.of("Both seed and seed2 should be 0 if deterministic is false.")
    ratios = [float(one) for one in pooling_ratio]
    is_max = ctx.op.type == "FractionalMaxPool"
    for ratio in ratios:
        if ratio < 1:
            raise InvalidArgumentError.of(f"pooling_ratio cannot be smaller than 1, got: {ratio:g}")
    if ratios[0] != 1 or ratios[3] != 1:
        raise UnimplementedError.of(
            f"Fractional {'max' if is_max else 'average'} pooling is not yet supported on the batch nor channel "
            "dimension."
        )
    if value.ndim != 4:
        raise InvalidArgumentError.of("tensor_in must be 4-dimensional")
    for axis, (size, ratio) in enumerate(zip(value.shape, ratios, strict=True)):
        if size < ratio:
            raise InvalidArgumentError.of(
                f"Pooling ratio is higher than input dimension size for dimension {axis}. Input dim size: {size} "
                f"pooling ratio: {ratio:g}"
            )
    draws = _draws(xp, value.shape[1] + value.shape[2], seed, seed2, deterministic, ctx)
    rows, columns = (_starts(value.shape[axis], ratios[axis], draws, pseudo_random) for axis in (1, 2))
    out = xp.empty((value.shape[0], len(rows) - 1, len(columns) - 1, value.shape[3]), value.dtype)
    for i, (top, bottom) in enumerate(_windows(rows, overlapping)):
        for j, (left, right) in enumerate(_windows(columns, overlapping)):
            part = value[:, top:bottom, left:right]
            if is_max:
                out[:, i, j] = part.max(axis=(1, 2))
            elif value.dtype.kind == "f":
                out[:, i, j] = part.mean(axis=(1, 2), dtype=value.dtype)
            else:
                total, number = part.sum(axis=(1, 2), dtype=value.dtype), (bottom - top) * (right - left)
                out[:, i, j] = xp.sign(total) * (abs(total) // number)
    return out, xp.asarray(rows, "int64"), xp.asarray(columns, "int64")


def _draws(
    xp: ArrayModule, count: int, seed: int, seed2: int, deterministic: bool, ctx: Array
) -> Callable[[], float]:
    """Return a function that returns random numbers between 0 and 1."""
    if deterministic and (seed or seed2):
        generator = philox.Philox.seeded(seed, seed2)
    else:
        generator = generator_of(ctx, seed, seed2)
    numbers = iter(philox.uniform(xp, generator.reserve(2 * count), count, "float64").tolist())
    return numbers.__next__


def _windows(starts: Any, overlapping: bool) -> list[tuple[int, int]]:
    """Return the first row and the end (exclusive) of every window."""
    end = int(starts[-1])
    return [
        (int(first), min(int(after) + overlapping, end))
        for first, after in zip(starts[:-1], starts[1:], strict=True)
    ]


@compute("FractionalMaxPoolGrad", fresh=True, slow=True)
def _fractional_max_pool_grad(
    xp: ArrayModule, orig_input: Array, orig_output: Array, out_backprop: Array, row_pooling_sequence: Array,
    col_pooling_sequence: Array, *, overlapping: bool,
) -> Array:  # fmt: skip
    """Return the gradient, which goes to the first of the largest elements of a window."""
    result = xp.zeros(orig_input.shape, orig_input.dtype)
    _check_sequences(row_pooling_sequence, col_pooling_sequence, out_backprop)
    batch, _, _, channels = orig_input.shape
    batch_index, channel_index = xp.arange(batch)[:, None], xp.arange(channels)[None]
    for i, (top, bottom) in enumerate(_windows(row_pooling_sequence, overlapping)):
        for j, (left, right) in enumerate(_windows(col_pooling_sequence, overlapping)):
            part = orig_input[:, top:bottom, left:right].reshape(batch, -1, channels)
            if (part.max(axis=1) != orig_output[:, i, j]).any():
                raise InvalidArgumentError.of("tensor_out_dup is not the same as tensor_out")
            at = part.argmax(axis=1)
            width = right - left
            result[batch_index, top + at // width, left + at % width, channel_index] += out_backprop[:, i, j]
    return result


@compute("FractionalAvgPoolGrad", fresh=True, slow=True)
def _fractional_avg_pool_grad(
    xp: ArrayModule, orig_input_tensor_shape: Array, out_backprop: Array, row_pooling_sequence: Array,
    col_pooling_sequence: Array, *,
    overlapping: bool,
) -> Array:  # fmt: skip
    if orig_input_tensor_shape.shape != (4,):
        raise InvalidArgumentError.of("original input tensor shape must be 1-dimensional and 4 elements")
    _check_sequences(row_pooling_sequence, col_pooling_sequence, out_backprop)
    result = xp.zeros(tuple(orig_input_tensor_shape.tolist()), "float64")
    for i, (top, bottom) in enumerate(_windows(row_pooling_sequence, overlapping)):
        for j, (left, right) in enumerate(_windows(col_pooling_sequence, overlapping)):
            share = out_backprop[:, i, None, j, None] / ((bottom - top) * (right - left))
            result[:, top:bottom, left:right] += share
    return result.astype(out_backprop.dtype)


def _check_sequences(rows: Array, columns: Array, grads: Array) -> None:
    for what, sequence, size in (("Row", rows, grads.shape[1]), ("Column", columns, grads.shape[2])):
        if (sequence < 0).any():
            least = int(sequence[sequence < 0][0])
            raise InvalidArgumentError.of(f"{what} sequence tensor values must not be negative, got {least}")
        if len(sequence) < size + 1:
            raise InvalidArgumentError.of(
                f"{what} sequence must have {size + 1} elements, got {len(sequence)}"
            )


@gradient("FractionalMaxPool")
def _fractional_max_grad(op: Operation, grad: Tensor, *_: object) -> Tensor:
    return new(
        "FractionalMaxPoolGrad", orig_input=op.inputs[0], orig_output=op.outputs[0], out_backprop=grad,
        row_pooling_sequence=op.outputs[1], col_pooling_sequence=op.outputs[2], overlapping=op.attrs["overlapping"],
    )  # fmt: skip


@gradient("FractionalAvgPool")
def _fractional_avg_grad(op: Operation, grad: Tensor, *_: object) -> Tensor:
    static_shape = op.inputs[0].shape
    if not static_shape.is_fully_defined() and rules() == "1.15":
        raise ValueError(
            f"The gradient of fractional_avg_pool needs the full shape of its input, not {static_shape}."
            " Set it: value.set_shape([8, 32, 32, 3])"
        )
    return new(
        "FractionalAvgPoolGrad",
        orig_input_tensor_shape=np.array(static_shape.as_list(), np.int64)
        if static_shape.is_fully_defined()
        else new("Shape", input=op.inputs[0], out_type="int64"),
        out_backprop=grad, row_pooling_sequence=op.outputs[1], col_pooling_sequence=op.outputs[2],
        overlapping=op.attrs["overlapping"],
    )  # fmt: skip
