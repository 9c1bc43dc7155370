"""Elementwise ops of a sparse and a dense tensor; the dense one may be smaller, and broadcasts.

Source: tensorflow/python/ops/sparse_ops.py and math_ops.py (``_OverrideBinaryOperatorHelper``), release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.division import float_for_division
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.support import new
from gpuplace.typing import TensorLike


def _combined(op_type: str, x: SparseTensor, y: Tensor, name: str | None) -> SparseTensor:
    values = new(op_type, name, sp_indices=x.indices, sp_values=x.values, sp_shape=x.dense_shape, dense=y)
    return SparseTensor(x.indices, values, x.dense_shape)


def sparse_dense_cwise_add(sp_t: SparseTensor, dense_t: TensorLike) -> SparseTensor:
    """Return the sum of a sparse and a dense tensor, only at the positions of the sparse one.

    Args:
        sp_t: the sparse tensor.
        dense_t: a dense tensor of its type, with a shape that broadcasts to its shape.

    Returns:
        A sparse tensor with the positions of ``sp_t``.

    Raises:
        InvalidArgumentError: at run time, the shapes do not match.
    """
    return _combined("SparseDenseCwiseAdd", sp_t, dense_t, None)  # type: ignore[arg-type]


def _truediv(x: SparseTensor, y: Tensor, name: str | None) -> SparseTensor:
    kind = x.dtype.base_dtype
    if kind is not y.dtype.base_dtype:
        raise TypeError(f"x and y must have the same dtype, got {x.dtype!r} != {y.dtype!r}")
    target = float_for_division(kind)
    if target is not None:
        x = SparseTensor(x.indices, cast(x.values, target), x.dense_shape)
        y = cast(y, target)
    return _combined("SparseDenseCwiseDiv", x, y, name)


def _install(operator: str, function: Any) -> None:
    def forward(x: SparseTensor, y: TensorLike) -> SparseTensor:
        with name_scope(None, operator, [x, y]) as scope:
            result: SparseTensor = function(x, convert_to_tensor(y, x.dtype.base_dtype, name="y"), scope)
            return result

    SparseTensor._override_operator(f"__{operator}__", forward)


_install("div", lambda x, y, scope: _combined("SparseDenseCwiseDiv", x, y, scope))
_install("truediv", _truediv)
_install("mul", lambda x, y, scope: _combined("SparseDenseCwiseMul", x, y, scope))


def _multiplied_to(y: SparseTensor, x: Tensor, scope: str) -> SparseTensor:
    """Return the product of a tensor and the sparse tensor to its right."""
    return _combined("SparseDenseCwiseMul", y, x, scope)


SparseTensor._override_operator("_mul_to_tensor", _multiplied_to)
