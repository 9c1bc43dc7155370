"""Tensors with some rows replaced, increased or decreased.

TensorFlow writes to the memory of an ``alias_`` function's input, so other readers may see either value. Here the input
keeps its value.

A session does implement ``ParallelConcat`` in place: it writes to memory that nothing reads before all rows are there.

Source: tensorflow/python/ops/inplace_ops.py and core/kernels/inplace_ops.cc, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.dtypes import int32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.reshaping import expand_dims, reshape
from gpuplace.ops.math.cast import cast
from gpuplace.ops.support import new, same_shape
from gpuplace.ops.variables.scatter import apply_at
from gpuplace.shapes import TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike


def _changed(op_type: str, x: TensorLike, i: TensorLike | None, v: TensorLike) -> Tensor:
    x = convert_to_tensor(x)
    v = convert_to_tensor(v, x.dtype)
    if i is None:  # one row, which is all of ``x``
        row = new(op_type, x=reshape(x, [1, -1]), i=[0], v=reshape(v, [1, -1]))
        return reshape(row, new("Shape", input=x))
    i = cast(i, int32)
    if i.shape.ndims == 0:
        return new(op_type, x=x, i=reshape(i, [1]), v=expand_dims(v, 0))
    return new(op_type, x=x, i=i, v=v)


def alias_inplace_update(x: TensorLike, i: TensorLike | None, v: TensorLike) -> Tensor:
    """Return ``x`` with some rows replaced by ``v``.

    Args:
        x: a tensor of one or more rows.
        i: row indices, a vector or a scalar; None: all of ``x``.
        v: the rows, of the dtype of ``x``.
    """
    return _changed("InplaceUpdate", x, i, v)


def alias_inplace_add(x: TensorLike, i: TensorLike | None, v: TensorLike) -> Tensor:
    """Return ``x`` with ``v`` added to some rows.

    Args:
        x: a tensor of one or more rows.
        i: row indices, a vector or a scalar; None: all of ``x``.
        v: the rows, of the dtype of ``x``.
    """
    return _changed("InplaceAdd", x, i, v)


def alias_inplace_sub(x: TensorLike, i: TensorLike | None, v: TensorLike) -> Tensor:
    """Return ``x`` with ``v`` subtracted from some rows.

    Args:
        x: a tensor of one or more rows.
        i: row indices, a vector or a scalar; None: all of ``x``.
        v: the rows, of the dtype of ``x``.
    """
    return _changed("InplaceSub", x, i, v)


def inplace_update(x: TensorLike, i: TensorLike | None, v: TensorLike) -> Tensor:
    """Return a copy of ``x`` with some rows replaced by ``v``.

    Args:
        x: a tensor of one or more rows.
        i: row indices, a vector or a scalar; None: all of ``x``.
        v: the rows, of the dtype of ``x``.
    """
    return alias_inplace_update(new("DeepCopy", x=x), i, v)


def inplace_add(x: TensorLike, i: TensorLike | None, v: TensorLike) -> Tensor:
    """Return a copy of ``x`` with ``v`` added to some rows.

    Args:
        x: a tensor of one or more rows.
        i: row indices, a vector or a scalar; None: all of ``x``.
        v: the rows, of the dtype of ``x``.
    """
    return alias_inplace_add(new("DeepCopy", x=x), i, v)


def inplace_sub(x: TensorLike, i: TensorLike | None, v: TensorLike) -> Tensor:
    """Return a copy of ``x`` with ``v`` subtracted from some rows.

    Args:
        x: a tensor of one or more rows.
        i: row indices, a vector or a scalar; None: all of ``x``.
        v: the rows, of the dtype of ``x``.
    """
    return alias_inplace_sub(new("DeepCopy", x=x), i, v)


def _rows(xp: ArrayModule, x: Array, i: Array, v: Array) -> Array:
    """Return the row indices, made non-negative; an index out of range wraps around."""
    if i.ndim != 1:
        raise InvalidArgumentError.of(f"i must be a vector. {brackets(TensorShape(i.shape))}")
    if x.ndim != v.ndim:
        raise InvalidArgumentError.of(f"x and v shape doesn't match (ranks differ): {x.ndim} vs {v.ndim}")
    for axis in range(1, x.ndim):
        if x.shape[axis] != v.shape[axis]:
            raise InvalidArgumentError.of(
                f"x and v shape doesn't match at index {axis} : {x.shape} vs {v.shape}"
            )
    if len(i) != v.shape[0]:
        raise InvalidArgumentError.of(f"i and x shape doesn't match at index 0: {len(i)} vs {v.shape[0]}")
    return i % x.shape[0]


def _require_numbers(x: Array) -> None:
    if x.dtype.kind in "bO":
        name = "bool" if x.dtype.kind == "b" else "string"
        raise InvalidArgumentError.of(f"Unsupported data type: {name}")


@compute("InplaceUpdate", fresh=True)
def _inplace_update(xp: ArrayModule, x: Array, i: Array, v: Array) -> Array:
    result = xp.array(x)
    result[_rows(xp, x, i, v)] = v
    return result


@compute("InplaceAdd", fresh=True)
def _inplace_add(xp: ArrayModule, x: Array, i: Array, v: Array) -> Array:
    _require_numbers(x)
    return apply_at(xp, "add", xp.array(x), _rows(xp, x, i, v), v)


@compute("InplaceSub", fresh=True)
def _inplace_sub(xp: ArrayModule, x: Array, i: Array, v: Array) -> Array:
    _require_numbers(x)
    return apply_at(xp, "add", xp.array(x), _rows(xp, x, i, v), -v)


@compute("DeepCopy", fresh=True)
def _deep_copy(xp: ArrayModule, x: Array) -> Array:
    return xp.array(x)


shape_function("InplaceUpdate", "InplaceAdd", "InplaceSub", "DeepCopy")(same_shape)


# Joined rows: how a session implements ParallelConcat


@compute("_ParallelConcatStart", fresh=True)
def _parallel_concat_start(xp: ArrayModule, *, shape: Any, dtype: Any) -> Array:
    return xp.empty(tuple(shape.as_list()), dtype.as_numpy_dtype)


@compute("_ParallelConcatUpdate", shares=True)
def _parallel_concat_update(xp: ArrayModule, value: Array, update: Array, *, loc: int) -> Array:
    value[loc] = update[0]
    return value


shape_function("_ParallelConcatUpdate")(same_shape)


@shape_function("_ParallelConcatStart")
def _parallel_concat_start_shape(op: Operation) -> tuple[TensorShape, ...]:
    return (op.attrs["shape"],)
