"""Products of matrices, and ops on the last two dimensions.

Source: tensorflow/python/ops/math_ops.py, math_grad.py and tensorflow/core/ops/math_ops.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.dtypes import as_dtype
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.gradient_registry import gradient
from gpuplace.ops.support import new
from gpuplace.shapes import TensorShape

__all__ = ["matmul"]


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The matrix product ``a @ b``.

    Args:
        a: [..., rows, inner]
        b: [..., inner, columns], of the same type.
        transpose_a: take ``a`` transposed.
        transpose_b: take ``b`` transposed.
        adjoint_a: take ``a`` transposed and conjugated.
        adjoint_b: take ``b`` transposed and conjugated.
        a_is_sparse: ``a`` is mostly zero (op type ``SparseMatMul``).
        b_is_sparse: ``b`` is mostly zero.
        name: of the operation.

    Returns:
        [..., rows, columns]

    Raises:
        ValueError: the inner sizes differ, or a matrix is to be transposed twice.
    """
    with name_scope(name, "MatMul", [a, b]) as scope:
        if transpose_a and adjoint_a:
            raise ValueError("Only one of transpose_a and adjoint_a can be True.")
        if transpose_b and adjoint_b:
            raise ValueError("Only one of transpose_b and adjoint_b can be True.")
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, a.dtype.base_dtype, name="b")
        ranks = (a.shape.ndims, b.shape.ndims)
        sparse = a_is_sparse or b_is_sparse
        if not sparse and all(rank is None or rank > 2 for rank in ranks):
            if transpose_a:
                a, adjoint_a = conj_if_complex(a), True
            if transpose_b:
                b, adjoint_b = conj_if_complex(b), True
            return new("BatchMatMulV2", scope, x=a, y=b, adj_x=adjoint_a, adj_y=adjoint_b)
        if adjoint_a:
            a, transpose_a = conj_if_complex(a), True
        if adjoint_b:
            b, transpose_b = conj_if_complex(b), True
        arguments = {"a": a, "b": b, "transpose_a": transpose_a, "transpose_b": transpose_b}
        if sparse and {a.dtype.base_dtype, b.dtype.base_dtype} <= {as_dtype("float32"), as_dtype("bfloat16")}:
            return new("SparseMatMul", scope, **arguments, a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse)
        return new("MatMul", scope, **arguments)


def conj_if_complex(x: Tensor) -> Tensor:
    """The complex conjugate; a real tensor as it is."""
    return new("Conj", input=x) if x.dtype.is_complex else x


@shape_function("MatMul", "SparseMatMul")
def _matmul_shape(op: Operation) -> Sequence[TensorShape]:
    a, b = (tensor.shape.with_rank(2) for tensor in op.inputs)
    rows, inner = a.as_list()[:: -1 if op.attrs["transpose_a"] else 1]
    inner_b, columns = b.as_list()[:: -1 if op.attrs["transpose_b"] else 1]
    if inner is not None and inner_b is not None and inner != inner_b:
        raise ValueError(f"Dimensions must be equal, but are {inner} and {inner_b}")
    return (TensorShape.of((rows, columns)),)


@compute("MatMul")
def _matmul(xp: Any, a: Any, b: Any, *, transpose_a: bool, transpose_b: bool) -> Any:
    if a.ndim != 2 or b.ndim != 2:
        which, shape = ("a", a.shape) if a.ndim != 2 else ("b", b.shape)
        raise InvalidArgumentError(None, None, f"In[{'ab'.index(which)}] is not a matrix. Instead it has shape {list(shape)}")
    a, b = a.T if transpose_a else a, b.T if transpose_b else b
    if a.shape[1] != b.shape[0]:
        raise InvalidArgumentError(
            None, None, f"Matrix size-incompatible: In[0]: {list(a.shape)}, In[1]: {list(b.shape)}"
        )
    return xp.matmul(a, b)


@gradient("MatMul")
def _matmul_grad(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    a, b = (conj_if_complex(tensor) for tensor in op.inputs)
    transposed = (op.attrs["transpose_a"], op.attrs["transpose_b"])
    if transposed == (False, False):
        return matmul(grad, b, transpose_b=True), matmul(a, grad, transpose_a=True)
    if transposed == (False, True):
        return matmul(grad, b), matmul(grad, a, transpose_a=True)
    if transposed == (True, False):
        return matmul(b, grad, transpose_b=True), matmul(a, grad)
    return matmul(b, grad, transpose_a=True, transpose_b=True), matmul(grad, a, transpose_a=True, transpose_b=True)
