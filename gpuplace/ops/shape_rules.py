"""Shape arithmetic that several ops share, with the sentences TensorFlow's shape functions use.

>>> merge_shapes(TensorShape([2, None]), TensorShape([None, 3]))
TensorShape([Dimension(2), Dimension(3)])

Source: tensorflow/core/framework/shape_inference.cc, release 1.15.
"""

from __future__ import annotations

from gpuplace.graph.operation import Operation
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, brackets


def merge_shapes(one: TensorShape, other: TensorShape) -> TensorShape:
    """The shape that satisfies both; ValueError in the words of the C++ shape functions."""
    if one.sizes is None:
        return other
    if other.sizes is None or one.sizes == other.sizes:
        return one
    if len(one.sizes) != len(other.sizes):
        raise ValueError(f"Shapes must be equal rank, but are {len(one.sizes)} and {len(other.sizes)}")
    for axis, (a, b) in enumerate(zip(one.sizes, other.sizes, strict=True)):
        if a is not None and b is not None and a != b:
            raise ValueError(
                f"Dimension {axis} in both shapes must be equal, but are {a} and {b}. "
                f"Shapes are {brackets(one)} and {brackets(other)}."
            )
    return one.merge_with(other)


def merge_sizes(a: int | None, b: int | None) -> int | None:
    """The size that satisfies both; ValueError if they differ."""
    if a is not None and b is not None and a != b:
        raise ValueError(f"Dimensions must be equal, but are {a} and {b}")
    return b if a is None else a


def require_rank(shape: TensorShape, rank: int) -> TensorShape:
    """``shape`` with its rank known; ValueError if it is another one."""
    if shape.ndims is None:
        return TensorShape.of((None,) * rank)
    if shape.ndims != rank:
        raise ValueError(f"Shape must be rank {rank} but is rank {shape.ndims}")
    return shape


def require_rank_at_least(shape: TensorShape, rank: int) -> TensorShape:
    """``shape``; ValueError if it has fewer than ``rank`` dimensions."""
    if shape.ndims is not None and shape.ndims < rank:
        raise ValueError(f"Shape must be at least rank {rank} but is rank {shape.ndims}")
    return shape


def same_as_input(op: Operation) -> list[TensorShape]:
    """One output, shaped like the first input."""
    return [op.inputs[0].shape]


def prefix(shape: TensorShape, rank: int) -> TensorShape:
    """The first ``rank`` dimensions."""
    return UNKNOWN_SHAPE if shape.sizes is None else TensorShape.of(shape.sizes[:rank])
