"""Matrix factorizations: QR, singular values, and eigenvalues of self-adjoint matrices.

The signs of vectors (phases, for complex matrices) are arbitrary: LAPACK's differ from those of TensorFlow's library.

Source: tensorflow/core/kernels/qr_op_impl.h, svd_op_impl.h, self_adjoint_eig_v2_op_impl.h, core/ops/linalg_ops.cc and
tensorflow/python/ops/linalg_ops.py, linalg_grad.py, release 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import graph_for, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import eye, zeros_like
from gpuplace.ops.array.reshaping import expand_dims, matrix_transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.linalg import adjoint, matrix_triangular_solve
from gpuplace.ops.math.matrix import matmul, matrix_band_part, matrix_diag, matrix_diag_part, matrix_set_diag
from gpuplace.ops.math.unary import real, reciprocal, square
from gpuplace.ops.shape_rules import merge_sizes, require_rank_at_least
from gpuplace.release import rules
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["qr", "self_adjoint_eig", "self_adjoint_eigvals", "svd"]


class Qr(NamedTuple):
    """Result of ``qr``."""

    q: Tensor
    """Orthonormal columns."""
    r: Tensor
    """Upper triangular."""


def qr(input: TensorLike, full_matrices: bool = False, name: str | None = None) -> Qr:
    """Return the QR decomposition of matrices, ``input = q @ r``.

    Args:
        input: ``[..., rows, columns]``, float32, float64 or complex.
        full_matrices: whether ``q`` has all ``rows`` columns instead of ``min(rows, columns)``.
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


def _wide(matrices: Any) -> Any:
    return matrices.astype("float32") if matrices.dtype.itemsize == 2 else matrices


@compute("Qr", fresh=True)
def _qr(xp: ArrayModule, matrices: Array, *, full_matrices: bool) -> tuple[Any, Any]:
    q, r = xp.linalg.qr(_wide(matrices), mode="complete" if full_matrices else "reduced")
    return q.astype(matrices.dtype, copy=False), r.astype(matrices.dtype, copy=False)


@gradient("Qr")
def _qr_grad(op: Operation, grad_q: Tensor, grad_r: Tensor) -> Tensor:
    """Walter and Lehmann, Algorithmic differentiation of linear algebra functions."""
    q, r = op.outputs
    if q.dtype.is_complex:
        raise NotImplementedError(f"QrGrad not implemented for dtype: {q.dtype}")
    sizes = r.shape.sizes
    if sizes is None or None in sizes[-2:]:
        raise NotImplementedError("QrGrad not implemented with dynamic shapes.")
    if sizes[-2] != sizes[-1]:
        raise NotImplementedError(
            "QrGrad not implemented when ncols > nrows or full_matrices is true and ncols != nrows."
        )

    def solved(x: Tensor) -> Tensor:
        return adjoint(matrix_triangular_solve(r, adjoint(x), lower=False, adjoint=False))

    along_q = matmul(q, grad_q, adjoint_a=True)
    skew_q = along_q - adjoint(along_q)
    along_r = matmul(r, grad_r, adjoint_b=True)
    skew_r = along_r - adjoint(along_r)
    lower = matrix_band_part(skew_q + skew_r, -1, 0)
    inside = matmul(q, grad_r + solved(lower))
    return inside + solved(grad_q - matmul(q, along_q))


# Eigenvalues


def self_adjoint_eig(tensor: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the eigenvalues and eigenvectors of self-adjoint matrices.

    Args:
        tensor: ``[..., n, n]``, float32, float64 or complex; only the lower triangles are used.
        name: name of the op.

    Returns:
        Eigenvalues, ``[..., n]``, in ascending order, and eigenvectors as the columns of ``[..., n, n]``.

    Raises:
        ValueError: the matrices are known not to be square.
        InvalidArgumentError: at run time, the matrices are not square or have NaN or infinite elements.
    """
    values, vectors = apply_op("SelfAdjointEigV2", name, input=tensor, compute_v=True).outputs
    return values, vectors


def self_adjoint_eigvals(tensor: TensorLike, name: str | None = None) -> Tensor:
    """Return the eigenvalues of self-adjoint matrices.

    Args:
        tensor: ``[..., n, n]``, float32, float64 or complex; only the lower triangles are used.
        name: name of the op.

    Returns:
        ``[..., n]``, in ascending order.

    Raises:
        ValueError: the matrices are known not to be square.
        InvalidArgumentError: at run time, the matrices are not square or have NaN or infinite elements.
    """
    return apply_op("SelfAdjointEigV2", name, input=tensor, compute_v=False).outputs[0]


@shape_function("SelfAdjointEigV2")
def _eig_shape(op: Operation) -> list[TensorShape]:
    sizes = require_rank_at_least(op.inputs[0].shape, 2).sizes
    if sizes is None:
        return [UNKNOWN_SHAPE, UNKNOWN_SHAPE if op.attrs["compute_v"] else TensorShape.of((0,))]
    size = merge_sizes(sizes[-2], sizes[-1])
    batch = sizes[:-2]
    vectors = TensorShape.of((*batch, size, size) if op.attrs["compute_v"] else (0,))
    return [TensorShape.of((*batch, size)), vectors]


@compute("SelfAdjointEigV2", fresh=True)
def _eig(xp: ArrayModule, matrices: Array, *, compute_v: bool) -> tuple[Any, Any]:
    if matrices.ndim < 2 or matrices.shape[-1] != matrices.shape[-2]:
        raise InvalidArgumentError.of(f"Input matrix must be square, got {list(matrices.shape)}")
    if not matrices.shape[-1]:
        shape = matrices.shape if compute_v else (0,)
        return xp.zeros(matrices.shape[:-1], matrices.dtype), xp.zeros(shape, matrices.dtype)
    if not xp.isfinite(matrices).all():
        raise InvalidArgumentError.of(
            "Self-adjoint eigen decomposition was not successful. The input might not be valid."
        )
    values, vectors = xp.linalg.eigh(_wide(matrices))
    values = values.astype(matrices.dtype, copy=False)
    if not compute_v:
        return values, xp.zeros((0,), matrices.dtype)
    return values, vectors.astype(matrices.dtype, copy=False)


@gradient("SelfAdjointEigV2")
def _eig_gradient(op: Operation, of_values: Tensor, of_vectors: Tensor) -> Tensor:
    values = op.outputs[0]
    with graph_for(of_values).control_dependencies([of_values, of_vectors]):
        if op.attrs["compute_v"]:
            vectors = op.outputs[1]
            apart = reciprocal(expand_dims(values, -2) - expand_dims(values, -1))
            apart = matrix_set_diag(apart, zeros_like(values))
            inner = matrix_diag(of_values) + apart * matmul(vectors, of_vectors, adjoint_a=True)
        else:
            _, vectors = self_adjoint_eig(op.inputs[0])
            inner = matrix_diag(of_values)
        whole = matmul(vectors, matmul(inner, vectors, adjoint_b=True))
        with name_scope("adjoint"):
            turned = matrix_transpose(whole, conjugate=whole.dtype.is_complex)
        lower = matrix_band_part(whole + turned, -1, 0)
        return matrix_set_diag(lower, 0.5 * matrix_diag_part(lower))


# Singular values


def svd(
    tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """Return the singular value decomposition, ``tensor = u @ diag(s) @ adjoint(v)``.

    Args:
        tensor: ``[..., rows, columns]``, float32, float64 or complex.
        full_matrices: whether ``u`` and ``v`` are square instead of having one column per singular value.
        compute_uv: whether to compute ``u`` and ``v``.
        name: name of the op.

    Returns:
        ``s``, ``[..., min(rows, columns)]`` in descending order; with ``compute_uv`` also ``u``,
            ``[..., rows, inner]``, and ``v``, ``[..., columns, inner]``.

    Raises:
        ValueError: the rank is known to be below 2.
    """
    s, u, v = apply_op("Svd", name, input=tensor, compute_uv=compute_uv, full_matrices=full_matrices).outputs
    return (real(s), u, v) if compute_uv else real(s)


@shape_function("Svd")
def _svd_shape(op: Operation) -> list[TensorShape]:
    sizes = require_rank_at_least(op.inputs[0].shape, 2).sizes
    vectors = [UNKNOWN_SHAPE] * 2
    if not op.attrs["compute_uv"]:  # TensorFlow's static shape is [0], although it returns scalars
        vectors = [TensorShape.of((0,))] * 2
    if sizes is None:
        return [UNKNOWN_SHAPE, *vectors]
    *batch, rows, columns = sizes
    least = None if rows is None or columns is None else min(rows, columns)
    if op.attrs["compute_uv"]:
        inner = (rows, columns) if op.attrs["full_matrices"] else (least, least)
        vectors = [TensorShape.of((*batch, rows, inner[0])), TensorShape.of((*batch, columns, inner[1]))]
    return [TensorShape.of((*batch, least)), *vectors]


@compute("Svd", fresh=True)
def _svd(xp: ArrayModule, matrices: Array, *, compute_uv: bool, full_matrices: bool) -> tuple[Any, Any, Any]:
    dtype = matrices.dtype
    if not compute_uv:
        s = xp.linalg.svd(_wide(matrices), compute_uv=False)
        nothing = [xp.zeros((), dtype) for _ in range(2)]
        return s.astype(dtype, copy=False), nothing[0], nothing[1]
    u, s, adjoint = xp.linalg.svd(_wide(matrices), full_matrices=full_matrices)
    v = xp.ascontiguousarray(xp.conjugate(xp.swapaxes(adjoint, -1, -2)))
    return s.astype(dtype, copy=False), u.astype(dtype, copy=False), v.astype(dtype, copy=False)


@gradient("Svd")
def _svd_grad(op: Operation, grad_s: Tensor, grad_u: Tensor, grad_v: Tensor) -> Tensor:
    """Giles, An extended collection of matrix derivative results (2008)."""
    a = op.inputs[0]
    diagonal = matrix_diag(grad_s)
    if not op.attrs["compute_uv"]:
        _, left, right = svd(a)
        return matmul(left, matmul(diagonal, right, adjoint_b=True))
    if a.shape.ndims is None:
        raise TypeError(
            "The gradient of svd needs the sizes of the matrices, but their rank is unknown."
            " Set it: tensor.set_shape([3, 2])"
        )
    rows, columns = (size.value for size in a.shape[-2:])
    if rows is None or columns is None:
        raise NotImplementedError(
            "SVD gradient has not been implemented for input with unknown inner matrix shape."
        )
    if a.dtype.is_complex and rules() == "1.15":
        raise NotImplementedError(
            "SVD gradient is not implemented for complex types and compute_uv=True. TensorFlow 2 has it:"
            ' tf.set_release("2.21")'
        )
    s, u, v = op.outputs
    s = s if not a.dtype.is_complex else cast(real(s), a.dtype)
    turned = adjoint if a.dtype.is_complex else matrix_transpose
    transposed = rows > columns
    if transposed:
        rows, columns, u, v, grad_u, grad_v = columns, rows, v, u, grad_v, grad_u
    full = op.attrs["full_matrices"]
    with a.graph.control_dependencies([grad_s, grad_u, grad_v]):
        if full and abs(rows - columns) > 1:
            raise NotImplementedError(
                "svd gradient is not implemented for abs(m - n) > 1 when full_matrices is True"
            )
        values, squares = matrix_diag(s), square(s)
        sizes = shape_of(s)
        one = eye(sizes[-1], batch_shape=sizes[:-1], dtype=s.dtype)  # avoids 1 / 0 in unused entries
        gaps = expand_dims(squares, -2) - expand_dims(squares, -1) + one
        scale = matrix_set_diag(reciprocal(gaps), zeros_like(s))
        inverse = matrix_diag(reciprocal(s))
        inner = (..., slice(None), slice(rows))
        v1, grad_v1 = v[inner], grad_v[inner]
        along_u, along_v = matmul(u, grad_u, adjoint_a=True), matmul(v1, grad_v1, adjoint_a=True)
        turned_u, turned_v = scale * along_u, scale * along_v
        middle = diagonal + matmul(turned_u + adjoint(turned_u), values)
        middle = middle + matmul(values, turned_v + adjoint(turned_v))
        if a.dtype.is_complex:  # the phases of u and v are coupled
            phases = matrix_diag(matrix_diag_part(along_v))
            middle = middle + 0.5 * matmul(inverse, turned(phases) - phases)
        result = matmul(u, matmul(middle, v1, adjoint_b=True))
        if rows != columns:
            back = turned(grad_v1)
            rest = back - matmul(matmul(back, v1), v1, adjoint_b=True)
            if full:
                outer = (..., slice(None), slice(rows, columns))
                v2, grad_v2 = v[outer], grad_v[outer]
                rest -= matmul(matmul(v1, grad_v2, adjoint_a=True), v2, adjoint_b=True)
            result = result + matmul(matmul(u, inverse), rest)
        return turned(result) if transposed else result
