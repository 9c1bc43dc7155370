"""Shape arithmetic shared by several ops, with the error messages of TensorFlow's shape functions.

>>> merge_shapes(TensorShape([2, None]), TensorShape([None, 3]))
TensorShape([Dimension(2), Dimension(3)])

Source: tensorflow/core/framework/shape_inference.cc, release 1.15.
"""

from __future__ import annotations

from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.operation import Operation
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape, brackets


def merge_shapes(first: TensorShape, second: TensorShape) -> TensorShape:
    """Return the shape that satisfies both; raise ValueError with the message of the C++ shape functions."""
    if first.sizes is None:
        return second
    if second.sizes is None or first.sizes == second.sizes:
        return first
    if len(first.sizes) != len(second.sizes):
        raise ValueError(f"Shapes must be equal rank, but are {len(first.sizes)} and {len(second.sizes)}")
    for axis, (a, b) in enumerate(zip(first.sizes, second.sizes, strict=True)):
        if a is not None and b is not None and a != b:
            raise ValueError(
                f"Dimension {axis} in both shapes must be equal, but are {a} and {b}. "
                f"Shapes are {brackets(first)} and {brackets(second)}."
            )
    return first.merge_with(second)


def merge_sizes(a: int | None, b: int | None) -> int | None:
    """Return the size that satisfies both; raise ValueError if they differ."""
    if a is not None and b is not None and a != b:
        raise ValueError(f"Dimensions must be equal, but are {a} and {b}")
    return b if a is None else a


def require_rank(shape: TensorShape, rank: int) -> TensorShape:
    """Return ``shape`` with its rank set to ``rank``; raise ValueError if it has another rank."""
    if shape.ndims is None:
        return TensorShape.of((None,) * rank)
    if shape.ndims != rank:
        raise ValueError(f"Shape must be rank {rank} but is rank {shape.ndims}")
    return shape


def require_rank_at_least(shape: TensorShape, rank: int) -> TensorShape:
    """Return ``shape``; raise ValueError if it has fewer than ``rank`` dimensions."""
    if shape.ndims is not None and shape.ndims < rank:
        raise ValueError(f"Shape must be at least rank {rank} but is rank {shape.ndims}")
    return shape


def require_rank_at_most(shape: TensorShape, rank: int) -> TensorShape:
    """Return ``shape``; raise ValueError if it has more than ``rank`` dimensions."""
    if shape.ndims is not None and shape.ndims > rank:
        raise ValueError(f"Shape must be at most rank {rank} but is rank {shape.ndims}")
    return shape


def require_axis(shape: TensorShape, axis: int) -> None:
    """Raise ValueError unless ``shape`` has the dimension ``axis``; a negative ``axis`` counts from the end."""
    require_rank_at_least(shape, -axis if axis < 0 else axis + 1)


def size_from(op: Operation, index: int) -> int | None:
    """Return the static value of a size input, None if unknown; raise ValueError for a negative or non-scalar size."""
    require_rank(op.inputs[index].shape, 0)
    value = constant_value(op.inputs[index])
    if value is None:
        return None
    if int(value) < 0:
        raise ValueError(
            f"Dimension size, given by scalar input {index}, must be non-negative but is {int(value)}"
        )
    return int(value)


def require_updates_at(indices: TensorShape, updates: TensorShape, whole: TensorShape, name: str) -> None:
    """Raise ValueError unless updates match index vectors into ``whole``, which messages call ``name``.

    Source: tensorflow/core/framework/common_shape_fns.cc (ScatterNdUpdateShape), release 1.15.
    """
    require_rank_at_least(indices, 1)
    require_rank_at_least(updates, 1)
    if whole.num_elements() == 0 and (indices.num_elements() or updates.num_elements()):
        raise ValueError("Indices and updates specified for empty output shape")
    if indices.sizes is None or updates.sizes is None or indices.sizes[-1] is None:
        return
    outer, depth = len(indices.sizes) - 1, indices.sizes[-1]
    try:
        merge_shapes(TensorShape.of(indices.sizes[:outer]), TensorShape.of(updates.sizes[:outer]))
    except ValueError as error:
        raise ValueError(
            f"The outer {outer} dimensions of indices.shape={brackets(indices)} must match the outer {outer} dimensions"
            f" of updates.shape={brackets(updates)}: {error}"
        ) from None
    if whole.sizes is None:
        return
    try:
        merge_shapes(TensorShape.of(whole.sizes[depth:]), TensorShape.of(updates.sizes[outer:]))
    except ValueError as error:
        raise ValueError(
            f"The inner {len(whole.sizes) - depth} dimensions of {name}.shape={brackets(whole)} must match the inner"
            f" {len(updates.sizes) - outer} dimensions of updates.shape={brackets(updates)}: {error}"
        ) from None


def merge_prefix(shape: TensorShape, start: TensorShape) -> tuple[TensorShape, TensorShape]:
    """Return ``shape`` and ``start`` merged so that ``shape`` begins with ``start``; raise ValueError if it cannot."""
    if shape.sizes is None or start.sizes is None:
        return shape, start
    require_rank_at_least(shape, len(start.sizes))
    merged = tuple(map(merge_sizes, shape.sizes, start.sizes))
    return TensorShape.of((*merged, *shape.sizes[len(merged) :])), TensorShape.of(merged)


def same_as_input(op: Operation) -> list[TensorShape]:
    """Return one output shape, that of the first input."""
    return [op.inputs[0].shape]


def prefix(shape: TensorShape, rank: int) -> TensorShape:
    """Return the first ``rank`` dimensions."""
    return UNKNOWN_SHAPE if shape.sizes is None else TensorShape.of(shape.sizes[:rank])
