"""Random tensors with TensorFlow's numbers for the same seeds.

An op's seeds are the graph's (``set_random_seed``) and its own (``seed=``, by default its number in the graph). If
neither is given, they are drawn once per session. Each run of an op continues the op's stream.

Source: tensorflow/python/framework/random_seed.py, ops/random_ops.py and tensorflow/core/kernels/random_op.cc,
random_shuffle_op.cc, multinomial_op.cc, release 1.15.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gpuplace.dtypes import as_dtype, float32, int64
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value, constant_value_as_shape
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph import DEFAULT_GRAPH_SEED
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.arguments import int_of, list_of
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.flow.assert_and_print import Assert
from gpuplace.ops.flow.control import with_dependencies
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.math.reduction import reduce_all
from gpuplace.ops.random import philox
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import new, same_shape
from gpuplace.ops.variants import variant_of
from gpuplace.shapes import Dimension, TensorShape
from gpuplace.typing import Array, ArrayModule, DTypeLike, ShapeLike, SizesLike, TensorLike

__all__ = [
    "set_random_seed", "get_seed", "random_uniform", "random_normal", "truncated_normal", "random_shuffle",
    "multinomial",    "categorical",     "random_crop",
]  # fmt: skip

_LARGEST = 2**31 - 1


def set_random_seed(seed: int | None) -> None:
    """Set the default graph's seed: random ops added from now on produce the same numbers in every session.

    Args:
        seed: an integer; None: no seed. Ops without their own seed use their number in the graph as the second seed.
    """
    get_default_graph().seed = seed


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the two seeds of a new random op.

    >>> get_seed(7)
    (87654321, 7)

    Args:
        op_seed: the op's own seed, or None.

    Returns:
        The graph's seed (by default a fixed number) and the op's (by default its number in the graph); (None, None),
        for unpredictable numbers, if neither is given.
    """
    graph = get_default_graph()
    if graph.seed is not None:
        seeds = graph.seed, graph.version if op_seed is None else op_seed
    elif op_seed is not None:
        seeds = DEFAULT_GRAPH_SEED, op_seed
    else:
        return None, None
    first, second = (seed % _LARGEST for seed in seeds)
    return (0, _LARGEST) if (first, second) == (0, 0) else (first, second)


def generator_of(ctx: Any, seed: int, seed2: int) -> philox.Philox:
    """Return the node's generator in the session; make it at the first run."""
    generator: philox.Philox = ctx.session.kernel_state(
        ctx.op.name, lambda: philox.Philox.seeded(seed, seed2)
    )
    return generator


def sizes_of(shape: ShapeLike) -> tuple[int, ...]:
    """Return the sizes in an array; raise InvalidArgumentError if one is negative."""
    sizes = tuple(list_of(shape, "shape must be a vector of {int32,int64}, got shape"))
    for index, size in enumerate(sizes):
        if size < 0:
            raise InvalidArgumentError.of(
                f"Dimension {size} must be >= 0", facts={"entry": f"shape[{index}]"}
            )
    return sizes


@shape_function("RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal")
def _random_shape(op: Operation) -> tuple[TensorShape, ...]:
    if op.type == "RandomUniformInt":
        for bound in op.inputs[1:]:
            require_rank(bound.shape, 0)
    require_rank(op.inputs[0].shape, 1)
    return (constant_value_as_shape(op.inputs[0]),)


not_differentiable(
    "RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal", "Multinomial"
)


def shape_argument(shape: Any) -> Tensor:
    """Return the sizes of a random tensor as a tensor, int64 if one requires it.

    Source: tensorflow/python/framework/tensor_util.py (shape_tensor), release 1.15.
    """
    if isinstance(shape, (list, tuple)):
        if not shape:
            return convert_to_tensor(shape, "int32", name="shape")
        shape = tuple([size.value if isinstance(size, Dimension) else size for size in shape])
    return convert_to_tensor(shape, name="shape")


def random_uniform(
    shape: SizesLike, minval: TensorLike = 0, maxval: TensorLike | None = None, dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return values uniformly distributed over ``[minval, maxval)``.

    >>> import gpuplace as tf
    >>> sorted(set(tf.Session().run(tf.random_uniform([99], maxval=3, dtype=tf.int32)).tolist()))
    [0, 1, 2]

    Args:
        shape: sizes of the result: a list, or an int32 or int64 vector (on a GPU int32).
        minval: the lower bound, a scalar of type ``dtype``; for floating types any shape that broadcasts.
        maxval: the upper bound, exclusive, in the same form. None: 1, for floating types.
        dtype: floating, int32 or int64.
        seed: the op's seed, an integer. None: see ``set_random_seed``.
        name: name of the op.

    Returns:
        A tensor of that type and shape.

    Raises:
        ValueError: the type is not supported, or ``maxval`` is missing for integers.
        InvalidArgumentError: at run time, a size is negative, or integer ``minval`` is not below ``maxval``.
    """
    kind = as_dtype(dtype)
    if kind.name not in ("float16", "bfloat16", "float32", "float64", "int32", "int64"):
        raise ValueError(f"Invalid dtype {kind!r}")
    if maxval is None:
        if kind.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {kind!r}")
        maxval = 1
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        shape = shape_argument(shape)
        low = convert_to_tensor(minval, kind, name="min")
        high = convert_to_tensor(maxval, kind, name="max")
        seed1, seed2 = get_seed(seed)
        if kind.is_integer:
            return new(
                "RandomUniformInt", scope, shape=shape, minval=low, maxval=high, seed=seed1, seed2=seed2
            )
        unit = new("RandomUniform", shape=shape, dtype=kind, seed=seed1, seed2=seed2)
        return new("Add", scope, x=new("Mul", "mul", x=unit, y=high - low), y=low)


def _drawn(xp: ArrayModule, draw: Any, shape: Array, dtype: Any, seed: int, seed2: int, ctx: Any) -> Array:
    sizes = sizes_of(shape)
    count = math.prod(sizes)
    stream = generator_of(ctx, seed, seed2).reserve(count)
    return draw(xp, stream, count, dtype.as_numpy_dtype).reshape(sizes)


@compute("RandomUniform", fresh=True, slow=True, own_state=True)
def _random_uniform(xp: ArrayModule, shape: Array, *, dtype: Any, seed: int, seed2: int, ctx: Any) -> Array:
    return _drawn(xp, philox.uniform, shape, dtype, seed, seed2, ctx)


@compute("RandomUniformInt", fresh=True, own_state=True)
def _random_uniform_int(
    xp: ArrayModule, shape: Array, minval: Array, maxval: Array, *, Tout: Any, seed: int, seed2: int, ctx: Any
) -> Array:
    sizes = sizes_of(shape)
    for label, value in (("minval", minval), ("maxval", maxval)):
        if value.ndim:
            raise InvalidArgumentError.of(f"{label} must be 0-D, got shape {list(value.shape)}")
    count = math.prod(sizes)
    if not count:
        return xp.zeros(sizes, Tout.as_numpy_dtype)
    low, high = int(minval), int(maxval)
    if low >= high:
        raise InvalidArgumentError.of(f"Need minval < maxval, got {low} >= {high}")
    stream = generator_of(ctx, seed, seed2).reserve(count)
    return philox.integers(xp, stream, count, low, high, Tout.as_numpy_dtype).reshape(sizes)


def _scaled(
    shape: SizesLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = float32,
    seed: int | None = None,
    name: str | None = None,
    *,
    op_type: str = "",
    default_name: str = "",
) -> Tensor:
    with name_scope(name, default_name, [shape, mean, stddev]) as scope:
        shape = shape_argument(shape)
        mean = convert_to_tensor(mean, dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype, name="stddev")
        seed1, seed2 = get_seed(seed)
        standard = new(op_type, shape=shape, dtype=dtype, seed=seed1, seed2=seed2)
        return new("Add", scope, x=new("Mul", "mul", x=standard, y=stddev), y=mean)


@variant_of(_scaled, op_type="RandomStandardNormal", default_name="random_normal")
def random_normal() -> None:
    """Return values of a normal distribution.

    Args:
        shape: sizes of the result: a list, or an int32 or int64 vector (on a GPU int32).
        mean: mean, of type ``dtype``, a scalar or a shape that broadcasts.
        stddev: standard deviation, in the same form.
        dtype: a floating type.
        seed: the op's seed, an integer. None: see ``set_random_seed``.
        name: name of the op.

    Returns:
        A tensor of that type and shape.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, a size is negative.
    """


@variant_of(_scaled, op_type="TruncatedNormal", default_name="truncated_normal")
def truncated_normal() -> None:
    """Return values of a truncated normal distribution, within two standard deviations of the mean.

    Args:
        shape: sizes of the result: a list, or an int32 or int64 vector (on a GPU int32).
        mean: mean, of type ``dtype``, a scalar or a shape that broadcasts.
        stddev: standard deviation, in the same form.
        dtype: a floating type.
        seed: the op's seed, an integer. None: see ``set_random_seed``.
        name: name of the op.

    Returns:
        A tensor of that type and shape.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, a size is negative.
    """


@compute("RandomStandardNormal", fresh=True, slow=True, own_state=True)
def _random_standard_normal(
    xp: ArrayModule, shape: Array, *, dtype: Any, seed: int, seed2: int, ctx: Any
) -> Array:
    return _drawn(xp, philox.normal, shape, dtype, seed, seed2, ctx)


@compute("TruncatedNormal", fresh=True, slow=True, own_state=True)
def _truncated_normal(xp: ArrayModule, shape: Array, *, dtype: Any, seed: int, seed2: int, ctx: Any) -> Array:
    return _drawn(xp, philox.truncated_normal, shape, dtype, seed, seed2, ctx)


def random_shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """Return the rows of ``value`` in random order; on the CPU only.

    Args:
        value: ``[n, ...]`` of any type.
        seed: the op's seed, an integer. None: see ``set_random_seed``.
        name: name of the op.

    Returns:
        A tensor like ``value``.
    """
    seed1, seed2 = get_seed(seed)
    return new("RandomShuffle", name, value=value, seed=seed1, seed2=seed2)


@compute("RandomShuffle", own_state=True)
def _random_shuffle(xp: ArrayModule, value: Array, *, seed: int, seed2: int, ctx: Any) -> Array:
    """Swap each row, from the first on, with a random one at or before it."""
    generator = generator_of(ctx, seed, seed2)
    if not value.ndim or value.shape[0] <= 1:
        return value
    length = value.shape[0]
    words = generator.reserve(-(-(length - 1) // 4), 1).words(xp, -(-(length - 1) // 4)).reshape(-1).tolist()
    order = list(range(length))
    for index in range(length - 1):
        other = index + words[index] % (length - index)
        order[index], order[other] = order[other], order[index]
    return value[xp.asarray(order)]


shape_function("RandomShuffle")(same_shape)


def multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
) -> Tensor:
    """Draw classes by their probabilities. Deprecated in 1.15; use ``categorical``.

    Args:
        logits: ``[batch, classes]``, floating: logarithms of unnormalized probabilities.
        num_samples: number of samples per row, a scalar int32.
        seed: the op's seed, an integer. None: see ``set_random_seed``.
        name: name of the scope.
        output_dtype: type of the classes, int32 or int64. None: int64.

    Returns:
        Classes, ``[batch, num_samples]``.

    Raises:
        ValueError: ``logits`` is known not to be a matrix.
        InvalidArgumentError: at run time, ``logits`` is not a matrix or has no classes, or ``num_samples`` is negative.
    """
    with name_scope(name, "multinomial", [logits]):
        return _multinomial(logits, num_samples, output_dtype, seed)


def categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw classes by their probabilities: ``tf.random.categorical``.

    Args:
        logits: ``[batch, classes]``, floating: logarithms of unnormalized probabilities.
        num_samples: number of samples per row, a scalar int32.
        dtype: type of the classes, int32 or int64. None: int64.
        seed: the op's seed, an integer. None: see ``set_random_seed``.
        name: name of the scope.

    Returns:
        Classes, ``[batch, num_samples]``.

    Raises:
        ValueError: ``logits`` is known not to be a matrix.
        InvalidArgumentError: at run time, ``logits`` is not a matrix or has no classes, or ``num_samples`` is negative.
    """
    with name_scope(name, "categorical", [logits]):
        return _multinomial(logits, num_samples, dtype, seed)


def _multinomial(logits: Any, num_samples: Any, dtype: Any, seed: int | None) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    seed1, seed2 = get_seed(seed)
    return new(
        "Multinomial", logits=logits, num_samples=num_samples, seed=seed1, seed2=seed2,
        output_dtype=as_dtype(dtype) if dtype is not None else int64,
    )  # fmt: skip


@compute("Multinomial", fresh=True, own_state=True)
def _multinomial_kernel(
    xp: ArrayModule, logits: Array, num_samples: Array, *, seed: int, seed2: int, output_dtype: Any, ctx: Any
) -> Array:
    generator = generator_of(ctx, seed, seed2)
    return classes_drawn(xp, logits, num_samples, generator.reserve, output_dtype)


def classes_drawn(
    xp: ArrayModule,
    logits: Array,
    num_samples: Array,
    reserve: Callable[[int], philox.Stream],
    output_dtype: Any,
) -> Array:
    """Draw classes by searching uniform numbers in the cumulative probabilities; the last class without a finite logit.

    Args:
        xp: numpy or cupy.
        logits: ``[batch, classes]``.
        num_samples: number of samples per row.
        reserve: function that returns the stream for a number of outputs.
        output_dtype: dtype of the classes.

    Raises:
        InvalidArgumentError: ``logits`` is not a matrix or has no classes, or ``num_samples`` is negative.
    """
    count = int_of(num_samples, "num_samples should be a scalar, got shape")
    if logits.ndim != 2:
        raise InvalidArgumentError.of(f"logits should be a matrix, got shape {list(logits.shape)}")
    if count < 0:
        raise InvalidArgumentError.of(f"num_samples should be nonnegative, got {count}")
    batch, classes = logits.shape
    if not classes:
        raise InvalidArgumentError.of("num_classes should be positive, got 0")
    stream = reserve(batch * (-(-count // 4) * 4) * 2)
    uniform = philox.uniform(xp, stream, batch * count, xp.float64).reshape(batch, count)
    wide = logits.astype(xp.float64)
    finite = xp.isfinite(wide)
    top = xp.max(xp.where(finite, wide, -xp.inf), axis=1, keepdims=True)
    weights = xp.where(finite, xp.exp(wide - xp.where(xp.isfinite(top), top, 0)), 0.0)
    sums = xp.cumsum(weights, axis=1)
    targets = uniform * sums[:, -1:]
    samples = (sums[:, None, :] <= targets[:, :, None]).sum(axis=2)
    return xp.minimum(samples, classes - 1).astype(output_dtype.as_numpy_dtype)


@shape_function("Multinomial")
def _multinomial_shape(op: Operation) -> tuple[TensorShape, ...]:
    sizes, count = op.inputs[0].shape.sizes, constant_value(op.inputs[1])
    if sizes is not None and len(sizes) != 2:
        raise ValueError(f"Shape must be rank 2 but is rank {len(sizes)}")
    return (TensorShape.of((None if sizes is None else sizes[0], None if count is None else int(count))),)


def random_crop(
    value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Return a block of ``value`` at a random position.

    Args:
        value: a tensor of any type.
        size: the block's sizes, an int32 vector of length ``rank``.
        seed: the op's seed, an integer. None: see ``set_random_seed``.
        name: name of the op.

    Returns:
        A tensor of ``value``'s type, of shape ``size``.

    Raises:
        InvalidArgumentError: at run time, ``value`` is smaller than ``size``.
    """
    with name_scope(name, "random_crop", [value, size]) as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, "int32", name="size")
        shape = shape_of(value)
        fits = reduce_all(shape >= size)
        check = Assert(fits, ["Need value.shape >= size, got ", shape, size])
        shape = with_dependencies([check], shape)
        limit = shape - size + 1
        offset = random_uniform(shape_of(shape), dtype="int32", maxval=2**31 - 1, seed=seed) % limit
        return new("Slice", scope, input=value, begin=offset, size=size)
