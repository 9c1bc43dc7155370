"""Operations on sets: the last axis of each operand holds the elements, the other axes distinguish the sets.

    a [2, 3]: {1, 2}, {3}      b [2, 2]: {2, 5}, {3}      set_intersection(a, b): {2}, {3}

Their results have sets of different sizes and are therefore sparse tensors.

Source: tensorflow/python/ops/sets_impl.py, core/ops/set_ops.cc and core/kernels/set_kernels.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, SparseTensorValue, to_sparse
from gpuplace.ops.support import new
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["set_difference", "set_intersection", "set_size", "set_union"]

SetsLike = TensorLike | SparseTensor | SparseTensorValue


def set_size(a: SparseTensor | SparseTensorValue, validate_indices: bool = True) -> Tensor:
    """Return the number of distinct elements of each set.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.sets.size(tf.sets.union([[1, 2], [3, 3]], [[2, 5], [3, 3]]))).tolist()
    [3, 1]

    Args:
        a: the sets, a sparse tensor of integers or strings.
        validate_indices: whether to check that positions are in row-major order.

    Returns:
        An int32 tensor with the shape of ``a`` without its last axis.

    Raises:
        TypeError: ``a`` is not a sparse tensor, or its elements have another type.
    """
    if not isinstance(a, (SparseTensor, SparseTensorValue)):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    a = to_sparse(a)
    return new(
        "SetSize",
        set_indices=a.indices,
        set_values=a.values,
        set_shape=a.dense_shape,
        validate_indices=validate_indices,
    )


def set_intersection(a: SetsLike, b: SetsLike, validate_indices: bool = True) -> SparseTensor:
    """Return the intersection of sets.

    Args:
        a: the sets, dense or sparse, of integers or strings.
        b: the other sets, of the same type, and of the same shape except for the last axis.
        validate_indices: whether to check that positions of sparse tensors are in row-major order.

    Returns:
        The sets, each in ascending order; the last axis is as long as the largest set.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, shapes do not match.
    """
    first, second, _ = _in_order(a, b)
    return _operate(first, second, "intersection", validate_indices)


def set_difference(
    a: SetsLike, b: SetsLike, aminusb: bool = True, validate_indices: bool = True
) -> SparseTensor:
    """Return the difference of sets.

    Args:
        a: the sets, dense or sparse, of integers or strings.
        b: the other sets, of the same type, and of the same shape except for the last axis.
        aminusb: whether to return the elements in ``a`` alone; otherwise those in ``b`` alone.
        validate_indices: whether to check that positions of sparse tensors are in row-major order.

    Returns:
        The sets, each in ascending order; the last axis is as long as the largest set.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, shapes do not match.
    """
    first, second, is_flipped = _in_order(a, b)
    return _operate(first, second, "a-b" if aminusb != is_flipped else "b-a", validate_indices)


def set_union(a: SetsLike, b: SetsLike, validate_indices: bool = True) -> SparseTensor:
    """Return the union of sets.

    Args:
        a: the sets, dense or sparse, of integers or strings.
        b: the other sets, of the same type, and of the same shape except for the last axis.
        validate_indices: whether to check that positions of sparse tensors are in row-major order.

    Returns:
        The sets, each in ascending order; the last axis is as long as the largest set.

    Raises:
        TypeError: the types differ or are not supported.
        ValueError: the shapes do not match.
        InvalidArgumentError: at run time, shapes do not match.
    """
    first, second, _ = _in_order(a, b)
    return _operate(first, second, "union", validate_indices)


def _in_order(a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Return both operands, a dense one before a sparse one, and whether they were swapped."""
    first, second = (
        to_sparse(x) if isinstance(x, (SparseTensor, SparseTensorValue)) else convert_to_tensor(x, name=name)
        for name, x in (("a", a), ("b", b))
    )
    if first.dtype.base_dtype.name not in _TYPES:
        raise TypeError(f"'a' invalid dtype {first.dtype}.")
    if first.dtype.base_dtype != second.dtype.base_dtype:
        raise TypeError(f"Types don't match, {first.dtype} vs {second.dtype}.")
    if isinstance(first, SparseTensor) and not isinstance(second, SparseTensor):
        return second, first, True
    return first, second, False


def _operate(a: TensorLike, b: TensorLike, operation: str, validate_indices: bool) -> SparseTensor:
    arguments: dict[str, Any] = {}
    for name, operand in (("set1", a), ("set2", b)):
        if isinstance(operand, SparseTensor):
            arguments[f"{name}_indices"] = operand.indices
            arguments[f"{name}_values"] = operand.values
            arguments[f"{name}_shape"] = operand.dense_shape
        else:
            arguments[name] = operand
    kinds = ["Sparse" if isinstance(operand, SparseTensor) else "Dense" for operand in (a, b)]
    op = apply_op(
        f"{kinds[0]}To{kinds[1]}SetOperation",
        set_operation=operation,
        validate_indices=validate_indices,
        **arguments,
    )
    return SparseTensor(*op.outputs)


# Kernels

_TYPES = frozenset("int8 int16 int32 int64 uint8 uint16 string".split())
"""Supported element types."""

Groups = dict[tuple[int, ...], set[Any]]

_OPERATIONS: dict[str, Callable[[set[Any], set[Any]], set[Any]]] = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}


def _require_groups(shape: tuple[int, ...]) -> None:
    if len(shape) < 2:
        raise InvalidArgumentError.of(
            f"Shape {_listed(shape)} has rank {len(shape)} < 2",
            hint="tf.expand_dims(elements, 0) turns a vector into one set",
        )


def _listed(sizes: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, sizes))}]"


def _dense_groups(values: Any) -> tuple[tuple[int, ...], Groups]:
    """Return the shape of all sets, and the sets by position."""
    _require_groups(values.shape)
    shape = values.shape[:-1]
    return shape, {at: set(values[at].tolist()) for at in np.ndindex(*shape)}


def _sparse_groups(indices: Any, values: Any, shape: Any, validate: bool) -> tuple[tuple[int, ...], Groups]:
    sizes = tuple(int(size) for size in shape)
    _require_groups(sizes)
    groups: Groups = {}
    rows = [tuple(row) for row in indices.tolist()]
    for number, (row, value) in enumerate(zip(rows, values.tolist(), strict=True)):
        if any(not 0 <= at < size for at, size in zip(row, sizes, strict=True)):
            raise InvalidArgumentError.of(
                f"indices[{number}] = {_listed(row)} is out of bounds: need 0 <= index < {_listed(sizes)}"
            )
        if validate and number and row <= rows[number - 1]:
            problem = "repeated" if row == rows[number - 1] else "out of order"
            raise InvalidArgumentError.of(
                f"indices[{number}] = {_listed(row)} is {problem}",
                hint="" if problem == "repeated" else "sort the positions with tf.sparse_reorder(sparse)",
            )
        groups.setdefault(row[:-1], set()).add(value)
    return sizes[:-1], groups


def _result(left: Any, right: Any, operation: bytes, dtype: Any) -> tuple[Any, Any, Any]:
    """Return the indices, values and shape of a sparse tensor."""
    (shape, first), (other_shape, second) = left, right
    if shape != other_shape:
        raise InvalidArgumentError.of(f"Mismatched shapes {_listed(shape)} vs {_listed(other_shape)}")
    operate = _OPERATIONS[operation.decode()]
    nothing: set[Any] = set()
    indices: list[tuple[int, ...]] = []
    values: list[Any] = []
    longest = 0
    for at in sorted(first.keys() | second.keys()):
        elements = sorted(operate(first.get(at, nothing), second.get(at, nothing)))
        longest = max(longest, len(elements))
        indices += [(*at, number) for number in range(len(elements))]
        values += elements
    return (
        np.array(indices, np.int64).reshape(-1, len(shape) + 1),
        np.array(values, dtype),
        np.array((*shape, longest), np.int64),
    )


@compute("DenseToDenseSetOperation")
def _dense_to_dense(
    xp: ArrayModule, set1: Any, set2: Any, *, set_operation: bytes, validate_indices: bool
) -> Any:
    return _result(_dense_groups(set1), _dense_groups(set2), set_operation, set1.dtype)


@compute("DenseToSparseSetOperation")
def _dense_to_sparse(
    xp: ArrayModule, set1: Any, set2_indices: Array, set2_values: Array, set2_shape: Array, *, set_operation: bytes,
    validate_indices: bool,
) -> Any:  # fmt: skip
    other = _sparse_groups(set2_indices, set2_values, set2_shape, validate_indices)
    return _result(_dense_groups(set1), other, set_operation, set1.dtype)


@compute("SparseToSparseSetOperation")
def _sparse_to_sparse(
    xp: ArrayModule, set1_indices: Array, set1_values: Any, set1_shape: Array, set2_indices: Array, set2_values: Array,
    set2_shape: Array, *, set_operation: bytes, validate_indices: bool,
) -> Any:  # fmt: skip
    first = _sparse_groups(set1_indices, set1_values, set1_shape, validate_indices)
    second = _sparse_groups(set2_indices, set2_values, set2_shape, validate_indices)
    return _result(first, second, set_operation, set1_values.dtype)


@compute("SetSize")
def _set_size(
    xp: ArrayModule, set_indices: Array, set_values: Array, set_shape: Array, *, validate_indices: bool
) -> Array:
    shape, groups = _sparse_groups(set_indices, set_values, set_shape, validate_indices)
    sizes = np.zeros(shape, np.int32)
    for at, elements in groups.items():
        sizes[at] = len(elements)
    return sizes


def _rank_of(op: Operation, name: str, number: int) -> int | None:
    """Return the rank of the operand that starts with this input."""
    shape = op.inputs[number].shape
    if name == "Dense":
        if shape.ndims is not None and shape.ndims < 2:
            raise ValueError(f"Shape must be at least rank 2 but is rank {shape.ndims}")
        return shape.ndims
    length = op.inputs[number + 2].shape.ndims and op.inputs[number + 2].shape[0].value
    return length or None


@shape_function("DenseToDenseSetOperation", "DenseToSparseSetOperation", "SparseToSparseSetOperation")
def _operation_shape(op: Operation) -> list[TensorShape]:
    kinds = op.type.removesuffix("SetOperation").split("To")
    rank = _rank_of(op, kinds[0], 0) or _rank_of(op, kinds[1], 3 if kinds[0] == "Sparse" else 1)
    return [TensorShape.of((None, rank)), TensorShape.of((None,)), TensorShape.of((rank,))]


@shape_function("SetSize")
def _set_size_shape(op: Operation) -> list[TensorShape]:
    return [UNKNOWN_SHAPE]


not_differentiable(
    "DenseToDenseSetOperation", "DenseToSparseSetOperation", "SparseToSparseSetOperation", "SetSize"
)
