"""Positions of maxima and minima, insertion points in sorted rows, and inverse permutations.

Source: tensorflow/python/ops/math_ops.py, array_ops.py and tensorflow/core/kernels/argmax_op.cc, searchsorted_op.cc,
inplace_ops.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import int32, int64
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.arguments import int_of
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import new, shape_of_second, shape_tensor
from gpuplace.ops.variants import variant_of
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, DTypeLike, TensorLike

__all__ = [
    "argmax", "argmin", "arg_max", "arg_min", "invert_permutation", "searchsorted",
]  # fmt: skip


def _position(
    input: TensorLike,
    axis: TensorLike | None = None,
    name: str | None = None,
    dimension: TensorLike | None = None,
    output_type: DTypeLike = int64,
    *,
    op_type: str = "",
) -> Tensor:
    if axis is not None and dimension is not None:
        raise ValueError("Cannot specify both 'axis' and 'dimension'")
    at = dimension if axis is None else axis
    return new(op_type, name, input=input, dimension=0 if at is None else at, output_type=output_type)


@variant_of(_position, op_type="ArgMax")
def argmax() -> None:
    """Return the position of the first maximum along a dimension.

    Args:
        input: real numbers of rank 1 or more (on a GPU floating-point).
        axis: the dimension, a scalar int32 or int64; negative values count from the end. None: 0.
        name: name of the op.
        dimension: deprecated name of ``axis``.
        output_type: int32 or int64.

    Returns:
        Positions of type ``output_type``, in ``input``'s shape without that dimension.

    Raises:
        ValueError: both ``axis`` and ``dimension`` are given, or the axis is known to be out of range.
        InvalidArgumentError: at run time, the dimension is out of range, or has no elements.
    """


@variant_of(_position, op_type="ArgMin")
def argmin() -> None:
    """Return the position of the first minimum along a dimension.

    Args:
        input: real numbers of rank 1 or more (on a GPU floating-point).
        axis: the dimension, a scalar int32 or int64; negative values count from the end. None: 0.
        name: name of the op.
        dimension: deprecated name of ``axis``.
        output_type: int32 or int64.

    Returns:
        Positions of type ``output_type``, in ``input``'s shape without that dimension.

    Raises:
        ValueError: both ``axis`` and ``dimension`` are given, or the axis is known to be out of range.
        InvalidArgumentError: at run time, the dimension is out of range, or has no elements.
    """


def arg_max(
    input: TensorLike, dimension: TensorLike, output_type: DTypeLike = int64, name: str | None = None
) -> Tensor:
    """Return the position of the first maximum along a dimension. Deprecated; use ``argmax``.

    Args:
        input: real numbers of rank 1 or more (on a GPU floating-point).
        dimension: the dimension, a scalar int32 or int64; negative values count from the end.
        output_type: int32 or int64.
        name: name of the op.

    Returns:
        Positions of type ``output_type``, in ``input``'s shape without that dimension.

    Raises:
        ValueError: ``dimension`` is known to be out of range.
        InvalidArgumentError: at run time, the dimension is out of range, or has no elements.
    """
    return argmax(input, dimension, name, output_type=output_type)


def arg_min(
    input: TensorLike, dimension: TensorLike, output_type: DTypeLike = int64, name: str | None = None
) -> Tensor:
    """Return the position of the first minimum along a dimension. Deprecated; use ``argmin``.

    Args:
        input: real numbers of rank 1 or more (on a GPU floating-point).
        dimension: the dimension, a scalar int32 or int64; negative values count from the end.
        output_type: int32 or int64.
        name: name of the op.

    Returns:
        Positions of type ``output_type``, in ``input``'s shape without that dimension.

    Raises:
        ValueError: ``dimension`` is known to be out of range.
        InvalidArgumentError: at run time, the dimension is out of range, or has no elements.
    """
    return argmin(input, dimension, name, output_type=output_type)


@compute("ArgMax", "ArgMin", fresh=True)
def _arg_extreme(xp: ArrayModule, input: Array, dimension: Array, *, output_type: Any, ctx: Any) -> Array:
    axis = int_of(dimension, "dim must be a scalar, but received tensor of shape:")
    if not -input.ndim <= axis < input.ndim:
        raise InvalidArgumentError.of(
            f"Expected dimension in the range [{-input.ndim}, {input.ndim}), but got {axis}"
        )
    if not input.shape[axis]:
        shape = "[" + ",".join(map(str, input.shape)) + "]"
        raise InvalidArgumentError.of(f"Reduction axis {axis % input.ndim} is empty in shape {shape}")
    function = xp.argmax if ctx.op.type == "ArgMax" else xp.argmin
    return function(input, axis=axis).astype(output_type.as_numpy_dtype)


@shape_function("ArgMax", "ArgMin")
def _arg_extreme_shape(op: Operation) -> tuple[TensorShape, ...]:
    sizes, axis = op.inputs[0].shape.sizes, constant_value(op.inputs[1])
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    if len(sizes) <= 1:
        return (TensorShape.of(()),)
    if axis is None:
        return (TensorShape.of((None,) * (len(sizes) - 1)),)
    if not -len(sizes) <= int(axis) < len(sizes):
        raise ValueError(f"Dimension ({int(axis)}) must be in the range [{-len(sizes)}, {len(sizes)}), where"
                         f" {len(sizes)} is the number of dimensions in the input.")  # fmt: skip
    at = int(axis) % len(sizes)
    return (TensorShape.of(sizes[:at] + sizes[at + 1 :]),)


not_differentiable("ArgMax", "ArgMin")


def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the inverse of the permutation ``x``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.invert_permutation([2, 0, 1])).tolist()
    [1, 2, 0]

    Args:
        x: ``[n]``, int32 or int64: a permutation of the numbers from 0 to n - 1.
        name: name of the op.

    Returns:
        A vector like ``x``.

    Raises:
        TypeError: the type is not supported.
        InvalidArgumentError: at run time, ``x`` is not a permutation.
    """
    return new("InvertPermutation", name, x=x)


@compute("InvertPermutation")
def _invert_permutation(xp: ArrayModule, x: Array) -> Array:
    if x.ndim != 1:
        raise InvalidArgumentError.of("invert_permutation expects a 1D vector.")
    count = x.shape[0]
    result = xp.full(count, -1, x.dtype)
    for index, value in enumerate(x.tolist()):
        if not 0 <= value < count:
            raise InvalidArgumentError.of(f"{value} is not between 0 and {count}")
        if result[value] != -1:
            raise InvalidArgumentError.of(f"{value} is duplicated in the input.")
        result[value] = index
    return result


@shape_function("InvertPermutation")
def _invert_permutation_shape(op: Operation) -> tuple[TensorShape, ...]:
    return (require_rank(op.inputs[0].shape, 1),)


not_differentiable("InvertPermutation")


def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Return the positions at which to insert values into sorted rows.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.searchsorted([1, 3, 5], [3, 4])).tolist()
    [1, 2]

    Args:
        sorted_sequence: ``[..., n]``, real numbers, sorted along the last dimension.
        values: ``[..., m]``, of the same type, with the same leading sizes.
        side: ``"left"``: before equal elements; ``"right"``: after them.
        out_type: int32 or int64.
        name: name of the op.

    Returns:
        Positions from 0 to ``n`` of type ``out_type``, in ``values``' shape.

    Raises:
        ValueError: ``side`` is neither ``"left"`` nor ``"right"``.
        TypeError: the types differ.
        InvalidArgumentError: at run time, the numbers of rows differ.
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'.  Saw: {side}.")
    sequence = convert_to_tensor(sorted_sequence)
    values = convert_to_tensor(values)
    last = [shape_tensor(tensor)[-1] for tensor in (sequence, values)]
    flat = [new("Reshape", tensor=t, shape=[-1, n]) for t, n in zip((sequence, values), last, strict=True)]
    op_type = "UpperBound" if side == "right" else "LowerBound"
    positions = new(op_type, name, sorted_inputs=flat[0], values=flat[1], out_type=out_type)
    return new("Reshape", tensor=positions, shape=shape_tensor(values))


@compute("LowerBound", "UpperBound")
def _bound(xp: ArrayModule, sorted_inputs: Array, values: Array, *, out_type: Any, ctx: Any) -> Array:
    if sorted_inputs.shape[0] != values.shape[0]:
        raise InvalidArgumentError.of(
            f"Leading dim_size of both tensors must match: {sorted_inputs.shape[0]}, {values.shape[0]}"
        )
    side = "right" if ctx.op.type == "UpperBound" else "left"
    rows = [xp.searchsorted(row, keys, side) for row, keys in zip(sorted_inputs, values, strict=True)]
    positions = xp.stack(rows) if rows else xp.zeros(values.shape, xp.int64)
    return positions.astype(out_type.as_numpy_dtype)


shape_function("LowerBound", "UpperBound")(shape_of_second)


not_differentiable("LowerBound", "UpperBound")
