"""Random tensors that are functions of a seed: ``tf.random.stateless_uniform`` and similar functions.

The two numbers of the seed are the counter of one block of the generator in ``philox``, with a constant key.
Two of its output words are the key of the stream, the others the second half of its counter. Equal seeds
therefore give equal numbers in every run, and neighboring seeds give unrelated ones.

Source: tensorflow/python/ops/stateless_random_ops.py and tensorflow/core/kernels/stateless_random_ops.cc, release 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, float32, int64
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value, constant_value_as_shape
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.random import philox
from gpuplace.ops.random.random_ops import classes_drawn, shape_argument, sizes_of
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import new
from gpuplace.ops.variants import variant_of
from gpuplace.shapes import TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, DTypeLike, SizesLike, TensorLike

_KEY = (0x3EC8F720, 0x02461E29)


def stream_of(seed: Array) -> philox.Stream:
    """Return the stream of a seed.

    Args:
        seed: two integers, an array.

    Raises:
        InvalidArgumentError: there are not two integers.
    """
    if seed.shape != (2,):
        raise InvalidArgumentError.of(f"seed must have shape [2], not {brackets(seed.shape)}")
    low, high = (int(one) & 0xFFFFFFFFFFFFFFFF for one in seed.tolist())
    mixed = philox.Stream(_KEY, high << 64 | low).words(np, 1)[0].tolist()
    return philox.Stream((mixed[0], mixed[1]), mixed[3] << 96 | mixed[2] << 64)


def _check_bounds(minval: Array, maxval: Array) -> None:
    for label, value in (("minval", minval), ("maxval", maxval)):
        if value.ndim:
            raise InvalidArgumentError.of(f"{label} must be 0-D, got shape {brackets(value.shape)}")
    if int(minval) >= int(maxval):
        raise InvalidArgumentError.of(f"Need minval < maxval, got {int(minval)} >= {int(maxval)}")


def _floating(xp: ArrayModule, draw: Callable[..., Any], shape: Array, seed: Array, dtype: Any) -> Array:
    sizes = sizes_of(shape)
    return draw(xp, stream_of(seed), math.prod(sizes), dtype.as_numpy_dtype).reshape(sizes)


@compute("StatelessRandomUniform", fresh=True, slow=True)
def _uniform(xp: ArrayModule, shape: Array, seed: Array, *, dtype: Any) -> Array:
    return _floating(xp, philox.uniform, shape, seed, dtype)


@compute("StatelessRandomNormal", fresh=True, slow=True)
def _normal(xp: ArrayModule, shape: Array, seed: Array, *, dtype: Any) -> Array:
    return _floating(xp, philox.normal, shape, seed, dtype)


@compute("StatelessTruncatedNormal", fresh=True, slow=True)
def _truncated_normal(xp: ArrayModule, shape: Array, seed: Array, *, dtype: Any) -> Array:
    return _floating(xp, philox.truncated_normal, shape, seed, dtype)


@compute("StatelessRandomUniformInt", fresh=True)
def _integers(
    xp: ArrayModule, shape: Array, seed: Array, minval: Array, maxval: Array, *, dtype: Any
) -> Array:
    sizes, stream = sizes_of(shape), stream_of(seed)
    _check_bounds(minval, maxval)
    kind = dtype.as_numpy_dtype
    return philox.integers(xp, stream, math.prod(sizes), int(minval), int(maxval), kind).reshape(sizes)


@compute("StatelessMultinomial", fresh=True)
def _classes(xp: ArrayModule, logits: Array, num_samples: Array, seed: Array, *, output_dtype: Any) -> Array:
    return classes_drawn(xp, logits, num_samples, lambda outputs: stream_of(seed), output_dtype)


@shape_function("StatelessRandomUniform", "StatelessRandomUniformInt")
@shape_function("StatelessRandomNormal", "StatelessTruncatedNormal")
def _shaped(op: Operation) -> tuple[TensorShape, ...]:
    seed = require_rank(op.inputs[1].shape, 1)
    if seed.sizes is not None and seed.sizes[0] not in (None, 2):
        raise ValueError(f"Dimension must be 2 but is {seed.sizes[0]}")
    return (constant_value_as_shape(op.inputs[0]),)


@shape_function("StatelessMultinomial")
def _classes_shape(op: Operation) -> tuple[TensorShape, ...]:
    sizes, count = require_rank(op.inputs[0].shape, 2).sizes, constant_value(op.inputs[1])
    return (TensorShape.of((None if sizes is None else sizes[0], None if count is None else int(count))),)


not_differentiable("StatelessRandomUniform", "StatelessRandomUniformInt", "StatelessMultinomial")
not_differentiable("StatelessRandomNormal", "StatelessTruncatedNormal")


def stateless_random_uniform(
    shape: SizesLike,
    seed: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = float32,
    name: str | None = None,
) -> Tensor:
    """Return uniform random values in ``[minval, maxval)``, determined by the seed.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.random.stateless_uniform([3], seed=[1, 2], maxval=99, dtype=tf.int32)).tolist()
    [37, 38, 45]

    Args:
        shape: sizes of the result: a list, or an int32 or int64 vector.
        seed: two integers, an int32 or int64 vector.
        minval: the smallest value, a scalar of dtype ``dtype``; for floating dtypes any shape that
            broadcasts.
        maxval: the upper limit, exclusive, of the same form. None for 1, with floating dtypes.
        dtype: floating, int32 or int64.
        name: name of the op.

    Returns:
        A tensor of that dtype and shape.

    Raises:
        ValueError: the dtype is unsupported, or ``maxval`` is missing for integers.
        InvalidArgumentError: at run time, a size is negative, the seed does not have two numbers, or integers
            have ``minval`` not below ``maxval``.
    """
    kind = as_dtype(dtype)
    if kind.name not in ("float16", "bfloat16", "float32", "float64", "int32", "int64"):
        raise ValueError(f"Invalid dtype {kind!r}")
    if maxval is None:
        if kind.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {kind!r}")
        maxval = 1
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        sizes = shape_argument(shape)
        low = convert_to_tensor(minval, kind, name="min")
        high = convert_to_tensor(maxval, kind, name="max")
        if kind.is_integer:
            return new("StatelessRandomUniformInt", scope, shape=sizes, seed=seed, minval=low, maxval=high)
        unit = new("StatelessRandomUniform", shape=sizes, seed=seed, dtype=kind)
        return new("Add", scope, x=new("Mul", "mul", x=unit, y=high - low), y=low)


def _scaled(
    shape: SizesLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    name: str | None = None,
    *,
    op_type: str = "",
    default_name: str = "",
) -> Tensor:
    with name_scope(name, default_name, [shape, seed, mean, stddev]) as scope:
        sizes = shape_argument(shape)
        mean = convert_to_tensor(mean, dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype, name="stddev")
        standard = new(op_type, shape=sizes, seed=seed, dtype=dtype)
        return new("Add", scope, x=new("Mul", "mul", x=standard, y=stddev), y=mean)


@variant_of(_scaled, op_type="StatelessRandomNormal", default_name="stateless_random_normal")
def stateless_random_normal() -> None:
    """Return normally distributed random values, determined by the seed.

    Args:
        shape: sizes of the result: a list, or an int32 or int64 vector.
        seed: two integers, an int32 or int64 vector.
        mean: the mean, of dtype ``dtype``, a scalar or a shape that broadcasts.
        stddev: the standard deviation, of the same form.
        dtype: floating.
        name: name of the op.

    Returns:
        A tensor of that dtype and shape.

    Raises:
        TypeError: the dtype is unsupported.
        InvalidArgumentError: at run time, a size is negative, or the seed does not have two numbers.
    """


@variant_of(_scaled, op_type="StatelessTruncatedNormal", default_name="stateless_truncated_normal")
def stateless_truncated_normal() -> None:
    """Return normally distributed random values within two standard deviations of the mean.

    Args:
        shape: sizes of the result: a list, or an int32 or int64 vector.
        seed: two integers, an int32 or int64 vector; equal seeds give equal values.
        mean: the mean, of dtype ``dtype``, a scalar or a shape that broadcasts.
        stddev: the standard deviation, of the same form.
        dtype: floating.
        name: name of the op.

    Returns:
        A tensor of that dtype and shape.

    Raises:
        TypeError: the dtype is unsupported.
        InvalidArgumentError: at run time, a size is negative, or the seed does not have two numbers.
    """


def stateless_multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    output_dtype: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """Return classes sampled by their probabilities, determined by the seed.

    Args:
        logits: ``[batch, classes]``, floating: unnormalized log-probabilities.
        num_samples: number of samples for each row, a scalar int32.
        seed: two integers, an int32 or int64 vector.
        output_dtype: dtype of the classes, int32 or int64.
        name: name of the scope.

    Returns:
        Classes, ``[batch, num_samples]``.

    Raises:
        ValueError: ``logits`` is known not to be a matrix.
        InvalidArgumentError: at run time, ``logits`` is not a matrix or has no classes, ``num_samples`` is
            negative, or the seed does not have two numbers.
    """
    with name_scope(name, "stateless_multinomial", [logits, seed]):
        return _categorical(logits, num_samples, output_dtype, seed)


def stateless_categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    dtype: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """Return classes sampled by their probabilities, determined by the seed.

    Args:
        logits: ``[batch, classes]``, floating: unnormalized log-probabilities.
        num_samples: number of samples for each row, a scalar int32.
        seed: two integers, an int32 or int64 vector.
        dtype: dtype of the classes, int32 or int64.
        name: name of the scope.

    Returns:
        Classes, ``[batch, num_samples]``.

    Raises:
        ValueError: ``logits`` is known not to be a matrix.
        InvalidArgumentError: as ``stateless_multinomial``.
    """
    with name_scope(name, "stateless_categorical", [logits, seed]):
        return _categorical(logits, num_samples, dtype, seed)


def _categorical(logits: TensorLike, num_samples: Any, dtype: DTypeLike, seed: Any) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    return new(
        "StatelessMultinomial",
        logits=logits,
        num_samples=num_samples,
        seed=seed,
        output_dtype=as_dtype(dtype),
    )
