"""The QR decomposition, which orthogonal initial values are made from, and singular values.

Source: tensorflow/core/kernels/qr_op_impl.h, svd_op_impl.h, core/ops/linalg_ops.cc and python/ops/linalg_grad.py,
release 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.flops import cubic_flops
from gpuplace.ops.array.constant import zeros_like
from gpuplace.ops.array.reshaping import expand_dims, matrix_transpose
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.matrix import matmul, matrix_diag, matrix_set_diag
from gpuplace.ops.math.unary import reciprocal, square
from gpuplace.ops.shape_rules import require_rank_at_least
from gpuplace.shapes import SCALAR_SHAPE, UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import TensorLike


class Qr(NamedTuple):
    """The result of ``qr``."""

    q: Tensor
    """Orthonormal columns."""
    r: Tensor
    """Upper triangular."""


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Returns the QR decomposition of matrices, ``input = q @ r``.

    Args:
        input: ``[..., rows, columns]``, float32, float64 or complex.
        full_matrices: give ``q`` all its ``rows`` columns, not only ``min(rows, columns)``.
        name: name of the op.

    Returns:
        ``q``, ``[..., rows, inner]`` with orthonormal columns, and ``r``, ``[..., inner, columns]``, upper triangular.

    Raises:
        ValueError: the rank is known to be below 2.
    """
    return Qr(*apply_op("Qr", name, input=input, full_matrices=full_matrices).outputs)


@shape_function("Qr")
def _qr_shape(op: Operation) -> list[TensorShape]:
    sizes = require_rank_at_least(op.inputs[0].shape, 2).sizes
    if sizes is None:
        return [UNKNOWN_SHAPE] * 2
    rows, columns = sizes[-2:]
    inner = rows if op.attrs["full_matrices"] else None
    if inner is None and rows is not None and columns is not None:
        inner = min(rows, columns)
    return [TensorShape.of((*sizes[:-2], rows, inner)), TensorShape.of((*sizes[:-2], inner, columns))]


@compute("Qr", fresh=True, flops=cubic_flops(4))
def _qr(xp: Any, matrices: Any, *, full_matrices: bool) -> tuple[Any, Any]:
    q, r = xp.linalg.qr(matrices, mode="complete" if full_matrices else "reduced")
    return q.astype(matrices.dtype, copy=False), r.astype(matrices.dtype, copy=False)


class Svd(NamedTuple):
    """The result of ``svd``."""

    s: Tensor
    """Singular values, the greatest first."""
    u: Tensor
    """Left singular vectors, in columns."""
    v: Tensor
    """Right singular vectors, in columns."""


def svd(
    tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """Returns the singular values of matrices, and their vectors: ``tensor = u @ diag(s) @ adjoint(v)``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.linalg.svd([[0.0, 2.0], [3.0, 0.0]], compute_uv=False)).tolist()
    [3.0, 2.0]

    Args:
        tensor: ``[..., rows, columns]``, float32, float64 or complex.
        full_matrices: give ``u`` all its ``rows`` columns and ``v`` its ``columns``, not only ``min(rows, columns)``.
        compute_uv: return the vectors too.
        name: name of the op.

    Returns:
        ``s``, ``[..., min(rows, columns)]``, of the real type; with ``compute_uv`` a tuple of ``s``, ``u``, ``[...,
        rows, inner]``, and ``v``, ``[..., columns, inner]``.

    Raises:
        ValueError: the rank is known to be below 2.
    """
    op = apply_op("Svd", name, input=tensor, compute_uv=compute_uv, full_matrices=full_matrices)
    s, u, v = op.outputs
    if s.dtype.is_complex:
        s = apply_op("Real", input=s, Tout=s.dtype.real_dtype).outputs[0]
    return Svd(s, u, v) if compute_uv else s


@shape_function("Svd")
def _svd_shape(op: Operation) -> list[TensorShape]:
    sizes = require_rank_at_least(op.inputs[0].shape, 2).sizes
    if sizes is None:
        return [UNKNOWN_SHAPE] * 3 if op.attrs["compute_uv"] else [UNKNOWN_SHAPE, *[SCALAR_SHAPE] * 2]
    *batch, rows, columns = sizes
    inner = None if rows is None or columns is None else min(rows, columns)
    values = TensorShape.of((*batch, inner))
    if not op.attrs["compute_uv"]:
        return [values, *[SCALAR_SHAPE] * 2]
    full = op.attrs["full_matrices"]
    return [
        values,
        TensorShape.of((*batch, rows, rows if full else inner)),
        TensorShape.of((*batch, columns, columns if full else inner)),
    ]


@compute("Svd", fresh=True, flops=cubic_flops(4))
def _svd(xp: Any, input: Any, *, compute_uv: bool, full_matrices: bool) -> tuple[Any, Any, Any]:
    if not compute_uv:
        none = xp.zeros((), input.dtype)
        return xp.linalg.svd(input, compute_uv=False).astype(input.dtype), none, none
    u, s, adjoint = xp.linalg.svd(input, full_matrices=full_matrices)
    v = xp.ascontiguousarray(xp.conj(xp.swapaxes(adjoint, -1, -2)))
    return s.astype(input.dtype), u.astype(input.dtype, copy=False), v.astype(input.dtype, copy=False)


@gradient("Svd")
def _svd_grad(op: Operation, grad_s: Tensor, grad_u: Tensor, grad_v: Tensor) -> Tensor:
    """Giles, An extended collection of matrix derivative results for forward and reverse mode algorithmic
    differentiation.
    """
    a = op.inputs[0]
    diagonal = matrix_diag(grad_s)
    if not op.attrs["compute_uv"]:
        vectors = apply_op("Svd", input=a, compute_uv=True, full_matrices=False).outputs
        return matmul(vectors[1], matmul(diagonal, vectors[2], adjoint_b=True))
    if a.dtype.is_complex:
        raise NotImplementedError("The gradient of complex singular vectors has not been implemented.")
    rows, columns = (size.value for size in a.shape[-2:])
    if rows is None or columns is None:
        raise NotImplementedError(
            "SVD gradient has not been implemented for input with unknown inner matrix shape."
        )
    s, u, v = op.outputs
    transposed = rows > columns
    if transposed:
        rows, columns, u, v, grad_u, grad_v = columns, rows, v, u, grad_v, grad_u
    full = op.attrs["full_matrices"]
    with a.graph.control_dependencies([grad_s, grad_u, grad_v]):
        if full and abs(rows - columns) > 1:
            raise NotImplementedError(
                "svd gradient is not implemented for abs(m - n) > 1 when full_matrices is True"
            )
        squares = square(s)
        gaps = expand_dims(squares, -2) - expand_dims(squares, -1)
        scale = matrix_set_diag(reciprocal(gaps), zeros_like(s))
        values, inner = matrix_diag(s), (..., slice(None), slice(rows))
        v1, grad_v1 = v[inner], grad_v[inner]
        turned_u = scale * matmul(u, grad_u, adjoint_a=True)
        turned_v = scale * matmul(v1, grad_v1, adjoint_a=True)
        middle = (
            diagonal
            + matmul(turned_u + matrix_transpose(turned_u), values)
            + matmul(values, turned_v + matrix_transpose(turned_v))
        )
        result = matmul(u, matmul(middle, v1, adjoint_b=True))
        if rows != columns:
            back = matrix_transpose(grad_v1)
            rest = back - matmul(matmul(back, v1), v1, adjoint_b=True)
            if full:
                outer = (..., slice(None), slice(rows, columns))
                rest -= matmul(matmul(v1, grad_v[outer], adjoint_a=True), v[outer], adjoint_b=True)
            result = result + matmul(matmul(u, matrix_diag(reciprocal(s))), rest)
        return matrix_transpose(result) if transposed else result
