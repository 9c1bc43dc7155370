"""Decompositions and linear systems of square matrices, in batches.

Source: tensorflow/core/kernels/matrix_inverse_op.cc, determinant_op.cc, cholesky_op.cc, matrix_solve_op.cc,
matrix_triangular_solve_op.cc and tensorflow/python/ops/linalg_grad.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import eye
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import matrix_transpose, reshape
from gpuplace.ops.dispatch import dispatched
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.matrix import matmul, matrix_band_part, matrix_diag_part, matrix_set_diag
from gpuplace.ops.shape_rules import merge_shapes, merge_sizes
from gpuplace.ops.support import new, shape_tensor
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "cholesky", "cholesky_solve", "matrix_determinant", "matrix_inverse", "matrix_solve",
    "matrix_triangular_solve",
]  # fmt: skip


def _square(op: Operation) -> TensorShape:
    sizes = op.inputs[0].shape.sizes
    if sizes is None:
        return UNKNOWN_SHAPE
    if len(sizes) < 2:
        raise ValueError(f"Shape must be at least rank 2 but is rank {len(sizes)}")
    size = merge_sizes(sizes[-1], sizes[-2])
    return TensorShape.of((*sizes[:-2], size, size))


def _check_square(x: Array) -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidArgumentError.of(
            f"Input matrix must be square, got shape [{','.join(map(str, x.shape))}]"
        )


@dispatched
def matrix_inverse(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Return the inverses of matrices.

    Args:
        input: ``[..., n, n]``, float32, float64 or complex.
        adjoint: whether to invert the adjoints (conjugated and transposed) instead.
        name: name of the op.

    Returns:
        A tensor like ``input``.

    Raises:
        ValueError: the matrices are known not to be square.
        InvalidArgumentError: at run time, a matrix is singular or not square.
    """
    return new("MatrixInverse", name, input=input, adjoint=adjoint)


@compute("MatrixInverse", fresh=True)
def _matrix_inverse(xp: ArrayModule, input: Array, *, adjoint: bool) -> Array:
    _check_square(input)
    source = xp.conjugate(xp.swapaxes(input, -1, -2)) if adjoint else input
    try:
        return xp.linalg.inv(source).astype(input.dtype)
    except xp.linalg.LinAlgError:
        raise InvalidArgumentError.of("Input is not invertible.") from None


@shape_function("MatrixInverse", "Cholesky")
def _square_shape(op: Operation) -> tuple[TensorShape, ...]:
    return (_square(op),)


@gradient("MatrixInverse")
def _matrix_inverse_grad(op: Operation, grad: Tensor) -> Tensor:
    inverse = op.outputs[0]
    swapped = not op.attrs["adjoint"]
    if swapped:
        return -matmul(inverse, matmul(grad, inverse, adjoint_b=True), adjoint_a=True)
    return -matmul(matmul(inverse, grad, adjoint_b=True), inverse)


@dispatched
def matrix_determinant(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the determinants of matrices.

    Args:
        input: ``[..., n, n]``, float32, float64 or complex.
        name: name of the op.

    Returns:
        ``[...]`` of the same type.

    Raises:
        ValueError: the matrices are known not to be square; at run time, InvalidArgumentError.
    """
    return new("MatrixDeterminant", name, input=input)


@compute("MatrixDeterminant", fresh=True)
def _matrix_determinant(xp: ArrayModule, input: Array) -> Array:
    _check_square(input)
    return xp.asarray(xp.linalg.det(input)).astype(input.dtype)


@shape_function("MatrixDeterminant")
def _matrix_determinant_shape(op: Operation) -> tuple[TensorShape, ...]:
    sizes = _square(op).sizes
    return (UNKNOWN_SHAPE if sizes is None else TensorShape.of(sizes[:-2]),)


@gradient("MatrixDeterminant")
def _matrix_determinant_grad(op: Operation, grad: Tensor) -> Tensor:
    inverse = matrix_inverse(op.inputs[0], adjoint=True)
    share = grad * op.outputs[0]
    return reshape(share, concat([shape_tensor(op.outputs[0]), [1, 1]], 0)) * inverse


@dispatched
def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the Cholesky factors of matrices: lower triangular, ``factor @ adjoint(factor) = input``.

    Args:
        input: ``[..., n, n]``, float32, float64 or complex: positive definite and self-adjoint.
        name: name of the op.

    Returns:
        A tensor like ``input``.

    Raises:
        ValueError: the matrices are known not to be square.
        InvalidArgumentError: at run time, a matrix is not positive definite or not square.
    """
    return new("Cholesky", name, input=input)


@compute("Cholesky", fresh=True)
def _cholesky(xp: ArrayModule, input: Array) -> Array:
    _check_square(input)
    try:
        return xp.linalg.cholesky(input).astype(input.dtype)
    except xp.linalg.LinAlgError:
        raise InvalidArgumentError.of(
            "Cholesky decomposition was not successful. The input might not be valid."
        ) from None


@gradient("Cholesky")
def _cholesky_grad(op: Operation, grad: Tensor) -> Tensor:
    """Murray, Differentiation of the Cholesky decomposition."""
    factor = op.outputs[0]
    size = shape_tensor(factor)[-1]
    identity = eye(size, batch_shape=shape_tensor(factor)[:-2], dtype=factor.dtype)
    inverse = matrix_triangular_solve(factor, identity)
    middle = matmul(factor, grad, adjoint_a=True)
    middle = matrix_set_diag(middle, 0.5 * matrix_diag_part(middle))
    middle = matrix_band_part(middle, -1, 0)
    product = matmul(matmul(inverse, middle, adjoint_a=True), inverse)
    return (product + adjoint(product)) * 0.5


@dispatched
def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Return the adjoints of matrices: conjugated and transposed.

    Args:
        matrix: ``[..., rows, columns]``, numbers.
        name: name of the scope.

    Returns:
        ``[..., columns, rows]`` of the same type.
    """
    with name_scope(name, "adjoint", [matrix]):
        matrices = convert_to_tensor(matrix, name="matrix")
        return matrix_transpose(matrices, conjugate=matrices.dtype.is_complex)


@dispatched
def matrix_solve(
    matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solve ``matrix @ x = rhs`` for ``x``.

    Args:
        matrix: ``[..., n, n]``, float32, float64 or complex.
        rhs: ``[..., n, k]``, of the same type: ``k`` right-hand sides.
        adjoint: whether to solve with the adjoint (conjugated and transposed) of ``matrix`` instead.
        name: name of the op.

    Returns:
        A tensor like ``rhs``.

    Raises:
        ValueError: static sizes do not match.
        TypeError: the types differ.
        InvalidArgumentError: at run time, a matrix is singular or not square.
    """
    return new("MatrixSolve", name, matrix=matrix, rhs=rhs, adjoint=adjoint)


@compute("MatrixSolve", fresh=True)
def _matrix_solve(xp: ArrayModule, matrix: Array, rhs: Array, *, adjoint: bool) -> Array:
    _check_square(matrix)
    if rhs.ndim < 2 or rhs.shape[:-2] != matrix.shape[:-2] or rhs.shape[-2] != matrix.shape[-1]:
        shapes = "[{}] vs. [{}]".format(*(",".join(map(str, item.shape)) for item in (matrix, rhs)))
        if rhs.ndim != matrix.ndim:
            raise InvalidArgumentError.of(f"All input tensors must have the same rank: {shapes}")
        raise InvalidArgumentError.of(f"Input matrix and rhs are incompatible: {shapes}")
    source = xp.conjugate(xp.swapaxes(matrix, -1, -2)) if adjoint else matrix
    try:
        return xp.linalg.solve(source, rhs).astype(rhs.dtype)
    except xp.linalg.LinAlgError:
        raise InvalidArgumentError.of("Input matrix is not invertible.") from None


@shape_function("MatrixSolve")
def _matrix_solve_shape(op: Operation) -> tuple[TensorShape, ...]:
    matrix, rhs = _square(op).sizes, op.inputs[1].shape.sizes
    if rhs is not None and len(rhs) < 2:
        raise ValueError(f"Shape must be at least rank 2 but is rank {len(rhs)}")
    if rhs is None:
        return (UNKNOWN_SHAPE if matrix is None else TensorShape.of((*matrix[:-1], None)),)
    if matrix is None:
        return (TensorShape.of(rhs),)
    rows = merge_sizes(matrix[-1], rhs[-2])
    batch = merge_shapes(TensorShape.of(matrix[:-2]), TensorShape.of(rhs[:-2]))
    return (batch.concatenate(TensorShape.of((rows, rhs[-1]))),)


@gradient("MatrixSolve")
def _matrix_solve_grad(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    matrix, solution = op.inputs[0], op.outputs[0]
    adjoint = op.attrs["adjoint"]
    grad_rhs = matrix_solve(matrix, grad, adjoint=not adjoint)
    if adjoint:
        return -matmul(solution, grad_rhs, adjoint_b=True), grad_rhs
    return -matmul(grad_rhs, solution, adjoint_b=True), grad_rhs


def matrix_triangular_solve(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solve ``matrix @ x = rhs`` for ``x``, where ``matrix`` is triangular.

    Args:
        matrix: ``[..., n, n]``, float32, float64 or complex; the other triangle is ignored.
        rhs: ``[..., n, k]``, of the same type: ``k`` right-hand sides.
        lower: whether ``matrix`` is lower triangular; otherwise upper.
        adjoint: whether to solve with the adjoint (conjugated and transposed) of ``matrix`` instead.
        name: name of the op.

    Returns:
        A tensor like ``rhs``.

    Raises:
        ValueError: static sizes do not match.
        TypeError: the types differ.
        InvalidArgumentError: at run time, a matrix has a zero on its diagonal or is not square.
    """
    return new("MatrixTriangularSolve", name, matrix=matrix, rhs=rhs, lower=lower, adjoint=adjoint)


@compute("MatrixTriangularSolve", fresh=True)
def _matrix_triangular_solve(
    xp: ArrayModule, matrix: Array, rhs: Array, *, lower: bool, adjoint: bool
) -> Array:
    _check_square(matrix)
    if rhs.ndim != matrix.ndim or rhs.shape[:-2] != matrix.shape[:-2] or rhs.shape[-2] != matrix.shape[-1]:
        shapes = "[{}] vs. [{}]".format(*(",".join(map(str, item.shape)) for item in (matrix, rhs)))
        raise InvalidArgumentError.of(f"In[0] mismatch In[1] shape: {shapes}")
    size = matrix.shape[-1]
    if (xp.diagonal(matrix, axis1=-2, axis2=-1) == 0).any():
        raise InvalidArgumentError.of("Input matrix is not invertible.")
    triangle = xp.tril(matrix) if lower else xp.triu(matrix)
    if adjoint:
        triangle, lower = xp.conjugate(xp.swapaxes(triangle, -1, -2)), not lower
    solution = xp.array(rhs)
    for at in range(size) if lower else range(size - 1, -1, -1):
        done = slice(0, at) if lower else slice(at + 1, size)
        solved = triangle[..., at : at + 1, done] @ solution[..., done, :]
        solution[..., at, :] -= solved[..., 0, :]
        solution[..., at, :] /= triangle[..., at, at, None]
    return solution


shape_function("MatrixTriangularSolve")(_matrix_solve_shape)


@gradient("MatrixTriangularSolve")
def _matrix_triangular_solve_grad(op: Operation, grad: Tensor) -> tuple[Tensor, Tensor]:
    lower, is_adjoint, solution = op.attrs["lower"], op.attrs["adjoint"], op.outputs[0]
    grad_rhs = matrix_triangular_solve(op.inputs[0], grad, lower=lower, adjoint=not is_adjoint)
    if is_adjoint:
        product = -matmul(solution, grad_rhs, adjoint_b=True)
    else:
        product = -matmul(grad_rhs, solution, adjoint_b=True)
    return matrix_band_part(product, *(-1, 0) if lower else (0, -1)), grad_rhs


def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Solve ``matrix @ x = rhs`` for ``x``, given ``chol = cholesky(matrix)``.

    Args:
        chol: ``[..., n, n]``, float32, float64 or complex, lower triangular.
        rhs: ``[..., n, k]``, of the same type.
        name: name of the scope.

    Returns:
        A tensor like ``rhs``.
    """
    with name_scope(name, "cholesky_solve", [chol, rhs]):
        between = matrix_triangular_solve(chol, rhs, adjoint=False, lower=True)
        return matrix_triangular_solve(chol, between, adjoint=True, lower=True)


def log_matrix_determinant(input: TensorLike, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return the signs of determinants and the logarithms of their absolute values.

    Args:
        input: ``[..., n, n]``, float32, float64 or complex.
        name: name of the op.

    Returns:
        Two tensors ``[...]`` of that type; the determinants are the first times ``exp`` of the second.

    Raises:
        ValueError: the matrices are known not to be square; at run time, InvalidArgumentError.
    """
    sign, logarithm = apply_op("LogMatrixDeterminant", name, input=input).outputs
    return sign, logarithm


@compute("LogMatrixDeterminant", fresh=True)
def _log_matrix_determinant(xp: ArrayModule, input: Array) -> tuple[Any, Any]:
    _check_square(input)
    sign, logarithm = xp.linalg.slogdet(input)
    return xp.asarray(sign).astype(input.dtype), xp.asarray(logarithm).astype(input.dtype)


@shape_function("LogMatrixDeterminant")
def _log_matrix_determinant_shape(op: Operation) -> tuple[TensorShape, ...]:
    return (*_matrix_determinant_shape(op), *_matrix_determinant_shape(op))


@gradient("LogMatrixDeterminant")
def _log_matrix_determinant_grad(op: Operation, _: Tensor, grad: Tensor) -> Tensor:
    inverse = matrix_inverse(op.inputs[0], adjoint=True)
    return reshape(grad, concat([shape_tensor(op.outputs[1]), [1, 1]], 0)) * inverse


@dispatched
def logdet(matrix: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithms of the determinants of positive definite matrices.

    Args:
        matrix: ``[..., n, n]``, float32, float64 or complex; positive definite and self-adjoint.
        name: name of the scope.

    Returns:
        ``[...]`` of the same type.
    """
    with name_scope(name, "logdet", [matrix]):
        diagonal = matrix_diag_part(cholesky(matrix))
        real = (
            new("Real", input=diagonal, Tout=diagonal.dtype.real_dtype)
            if diagonal.dtype.is_complex
            else diagonal
        )
        return 2.0 * new("Sum", input=new("Log", x=real), reduction_indices=[-1])
