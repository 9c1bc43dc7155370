"""Functions of square matrices, LU decompositions and least squares, in batches.

Square roots and logarithms use eigenvectors if these are well separated. Otherwise they are iterative: square roots by
the Denman-Beavers form of Newton's method, logarithms by repeated square roots until the matrix is near the identity,
then a series.

Source: tensorflow/core/kernels/lu_op.cc, matrix_square_root_op.cc, matrix_logarithm_op.cc, matrix_solve_ls_op_impl.h,
tensorflow/python/ops/linalg_ops.py, linalg_grad.py and linalg/linalg_impl.py, release 1.15 (arguments, messages).
N. J. Higham, Functions of Matrices, 2008, chapters 6 and 11.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpuplace.dtypes import int32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import eye, zeros_like
from gpuplace.ops.array.gather import where
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.reshaping import expand_dims, matrix_transpose, reshape
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.array.reshaping import size as size_of
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.flow.while_loops import while_loop
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.factorization import svd
from gpuplace.ops.math.linalg import cholesky, cholesky_solve, matrix_solve
from gpuplace.ops.math.matrix import matmul
from gpuplace.ops.math.reduction import reduce_max, reduce_prod, reduce_sum
from gpuplace.ops.shape_rules import merge_sizes, require_rank_at_least
from gpuplace.ops.support import like, new
from gpuplace.release import rules
from gpuplace.shapes import UNKNOWN_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["matrix_solve_ls", "matrix_square_root"]


class Lu(NamedTuple):
    """Result of ``tf.linalg.lu``."""

    lu: Tensor
    """The upper triangle, and below it the lower triangle without its unit diagonal."""
    p: Tensor
    """The permutation: the row of the matrix for each row of the product."""


def lu(input: TensorLike, output_idx_type: Any = int32, name: str | None = None) -> Lu:
    """Return the LU decompositions of square matrices, with row pivoting.

    >>> import gpuplace as tf
    >>> both = tf.linalg.lu([[1.0, 2.0], [4.0, 2.0]])
    >>> lu, p = tf.Session().run(both)
    >>> lu.tolist(), p.tolist()
    ([[4.0, 2.0], [0.25, 1.5]], [1, 0])

    Args:
        input: ``[..., n, n]``, float32, float64 or complex.
        output_idx_type: dtype of the row indices: int32 or int64.
        name: name of the op.

    Returns:
        ``lu``, like ``input``, and ``p``, ``[..., n]``.

    Raises:
        InvalidArgumentError: at run time, a matrix is singular, or not square.
    """
    return Lu(*apply_op("Lu", name, input=input, output_idx_type=output_idx_type).outputs)


@compute("Lu", fresh=True, slow=True)
def _lu(xp: ArrayModule, matrices: Array, *, output_idx_type: Any) -> tuple[Any, Any]:
    _check_square(matrices)
    size = matrices.shape[-1]
    work = matrices.reshape(math.prod(matrices.shape[:-2]), size, size).copy()
    every = xp.arange(len(work))
    rows = xp.tile(xp.arange(size, dtype=output_idx_type.as_numpy_dtype), (len(work), 1))
    for step in range(size):
        pivot = xp.argmax(abs(work[:, step:, step]), axis=1) + step
        for table in (work, rows):
            saved_column = table[:, step].copy()
            table[:, step] = table[every, pivot]
            table[every, pivot] = saved_column
        if not work[:, step, step].all():
            raise InvalidArgumentError.of("Input is not invertible.")
        work[:, step + 1 :, step] /= work[:, step, None, step]
        work[:, step + 1 :, step + 1 :] -= work[:, step + 1 :, step, None] * work[:, step, None, step + 1 :]
    return work.reshape(matrices.shape), rows.reshape(matrices.shape[:-1])


def _check_square(x: Any) -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidArgumentError.of(
            f"Input matrix must be square, got shape [{','.join(map(str, x.shape))}]"
        )


@shape_function("MatrixSquareRoot", "MatrixLogarithm", "MatrixExponential")
def _square_shape(op: Operation) -> Any:
    sizes = require_rank_at_least(op.inputs[0].shape, 2).sizes
    if sizes is None:
        return (UNKNOWN_SHAPE,)
    size = merge_sizes(sizes[-1], sizes[-2])
    return (TensorShape.of((*sizes[:-2], size, size)),)


def matrix_square_root(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the principal square roots of matrices: ``root @ root = input``.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.matrix_square_root([[4.0, 0.0], [0.0, 9.0]])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]

    Args:
        input: ``[..., n, n]``, float32, float64 or complex; real matrices must not have negative eigenvalues.
        name: name of the op.

    Returns:
        A tensor like ``input``.

    Raises:
        InvalidArgumentError: at run time, a matrix is not square.
    """
    return new("MatrixSquareRoot", name, input=input)


@compute("MatrixSquareRoot", fresh=True, slow=True)
def _matrix_square_root(xp: ArrayModule, matrices: Any) -> Any:
    return _each(xp, matrices, lambda matrix: _root(xp, matrix))


def _each(xp: ArrayModule, matrices: Any, function: Any) -> Any:
    """Apply a function to each matrix in double precision; for real matrices return the real part."""
    _check_square(matrices)
    size = matrices.shape[-1]
    result = xp.empty_like(matrices)
    shape = (math.prod(matrices.shape[:-2]) if size else 0, size, size)
    flat, out = matrices.reshape(shape), result.reshape(shape)
    for index in range(shape[0]):
        value = function(flat[index].astype("complex128"))
        out[index] = value if matrices.dtype.kind == "c" else value.real
    return result


def _by_eigenvectors(xp: ArrayModule, matrix: Array, function: Any) -> Any:
    """Apply ``function`` to the eigenvalues; return None if the eigenvectors are nearly parallel."""
    values, vectors = xp.linalg.eig(matrix)
    if xp.linalg.cond(vectors) > 1e6:
        return None
    return xp.linalg.solve(vectors.T, (vectors * function(values)).T).T


def _root(xp: ArrayModule, matrix: Array) -> Array:
    root = _by_eigenvectors(xp, matrix, xp.sqrt)
    return _root_by_iteration(xp, matrix) if root is None else root


def _root_by_iteration(xp: ArrayModule, matrix: Array) -> Array:
    root, inverse = matrix, xp.eye(len(matrix), dtype=matrix.dtype)
    for _ in range(60):
        try:
            inverses = xp.linalg.inv(root), xp.linalg.inv(inverse)
        except xp.linalg.LinAlgError:
            return xp.full_like(matrix, xp.nan)
        root, inverse, before = (root + inverses[1]) / 2, (inverse + inverses[0]) / 2, root
        if abs(root - before).max() <= 1e-15 * abs(root).max():
            break
    return root


@gradient("MatrixSquareRoot")
def _matrix_square_root_grad(op: Operation, grad: Tensor) -> Tensor:
    """Solve ``root^T x + x root^T = grad`` as one system of ``n * n`` equations."""
    root = op.outputs[0]  # TensorFlow conjugates nothing
    sizes = shape_of(root)
    size = sizes[-1]
    count = reduce_prod(sizes[0:-2])
    identity = reshape(eye(size, dtype=root.dtype), [-1])
    identity = reshape(new("Tile", input=identity, multiples=[count]), sizes)
    left = _kronecker(identity, matrix_transpose(root))
    both = new("Add", x=left, y=_kronecker(root, identity))
    outer = _outer(sizes)
    column = concat([outer, [size * size], [1]], 0)
    columns = reshape(matrix_transpose(grad), column)
    return matrix_transpose(reshape(matrix_solve(both, columns), sizes))


def _kronecker(a: Tensor, b: Tensor) -> Tensor:
    """Return the Kronecker products of matrices in batches of the same shape."""
    sizes = shape_of(a), shape_of(b)
    rows, columns = (shape[-1] for shape in sizes)
    outer = _outer(sizes[0])
    shapes = (
        concat([outer, [rows], [1], [rows], [1]], 0),
        concat([outer, [1], [columns], [1], [columns]], 0),
    )
    parts = [reshape(array, shape) for array, shape in zip((a, b), shapes, strict=True)]
    product = rows * columns
    sizes_of_product = concat([outer, [product], [product]], 0)
    return reshape(parts[0] * parts[1], sizes_of_product)


def _outer(sizes: Tensor) -> Tensor:
    """Return the sizes of the batch dimensions."""
    rank = new("Sub", x=size_of(sizes), y=2)
    return new("Slice", input=sizes, begin=[0], size=[rank])


def matrix_logarithm(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the principal logarithms of matrices, the inverse of ``tf.linalg.expm``.

    Args:
        input: ``[..., n, n]``, complex64 or complex128.
        name: name of the op.

    Returns:
        A tensor like ``input``.

    Raises:
        InvalidArgumentError: at run time, a matrix is not square.
    """
    return new("MatrixLogarithm", name, input=input)


@compute("MatrixLogarithm", fresh=True, slow=True)
def _matrix_logarithm(xp: ArrayModule, matrices: Any) -> Any:
    return _each(xp, matrices, lambda matrix: _logarithm(xp, matrix))


def _logarithm(xp: ArrayModule, matrix: Array) -> Array:
    logarithm = _by_eigenvectors(xp, matrix, xp.log)
    if logarithm is not None:
        return logarithm
    identity = xp.eye(len(matrix), dtype=matrix.dtype)
    roots = 0
    while abs(matrix - identity).max() > 0.1 and roots < 60:
        matrix, roots = _root_by_iteration(xp, matrix), roots + 1
    ratio = xp.linalg.solve(matrix + identity, matrix - identity)  # log(a) = 2 artanh((a + 1)^-1 (a - 1))
    square, power, total = ratio @ ratio, ratio, ratio.copy()
    for odd in range(3, 31, 2):
        power = power @ square
        total += power / odd
    return total * (2.0 * 2.0**roots)


_PADE = (
    *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0),
    *(
        10559470521600.0,
        670442572800.0,
        33522128640.0,
        1323241920.0,
        40840800.0,
        960960.0,
        16380.0,
        182.0,
        1.0,
    ),
)
"""Coefficients of the Padé approximation of degree 13."""


def matrix_exponential(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the exponentials of matrices, by scaling and squaring with a Padé approximation.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.linalg.expm([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]

    Args:
        input: ``[..., n, n]``, half, float32, float64 or complex.
        name: name of the scope.

    Returns:
        A tensor like ``input``.

    Raises:
        ValueError: the rank is known to be below 2, or the matrices are known not to be square.
        InvalidArgumentError: at run time, a matrix is not square.
    """
    with name_scope(name, "matrix_exponential", [input]):
        matrix = convert_to_tensor(input, name="input")
        if matrix.shape.ndims is not None and matrix.shape.ndims < 2:
            raise ValueError(f"Shape must be at least rank 2 but is rank {matrix.shape.ndims}")
        matrix.shape[-2:-1].assert_is_compatible_with(matrix.shape[-1:]) if matrix.shape.ndims else None
        if matrix.shape.is_fully_defined() and matrix.shape.num_elements() == 0:
            return matrix
        norm = reduce_max(reduce_sum(abs(matrix), axis=-2, keepdims=True), axis=-1, keepdims=True)
        real = norm.dtype
        halvings = new("Maximum", x=cast(0, real), y=new("Ceil", x=new("Log", x=norm / 5.37) / math.log(2)))
        scaled = matrix / cast(new("Pow", x=cast(2, real), y=halvings), matrix.dtype)
        identity = eye(shape_of(matrix)[-1], dtype=matrix.dtype)
        second = matmul(scaled, scaled)
        fourth = matmul(second, second)
        sixth = matmul(second, fourth)
        b = [like(value, matrix) for value in _PADE]
        high = matmul(sixth, b[13] * sixth + b[11] * fourth + b[9] * second)
        odd = matmul(scaled, high + b[7] * sixth + b[5] * fourth + b[3] * second + b[1] * identity)
        high = matmul(sixth, b[12] * sixth + b[10] * fourth + b[8] * second)
        even = high + b[6] * sixth + b[4] * fourth + b[2] * second + b[0] * identity
        approx = matrix_solve(even - odd, even + odd)
        steps = reduce_max(halvings)

        def squared(done: Any, value: Any) -> Any:
            again = new("Tile", input=halvings > done, multiples=_ones_but_last(matrix))
            return done + 1, where(again, matmul(value, value), value)

        approx = while_loop(lambda done, value: done < steps, squared, [cast(0, real), approx])[1]
        approx.set_shape(matrix.shape)
        return approx


def _ones_but_last(matrix: Tensor) -> Tensor:
    """Return the multiples that tile ``[..., 1, 1]`` to the batch shape of a tensor of matrices."""
    shape = shape_of(matrix)
    return new("ConcatV2", values=[new("OnesLike", x=shape[:-2]), shape[-2:]], axis=0)


def matrix_solve_ls(
    matrix: TensorLike,
    rhs: TensorLike,
    l2_regularizer: float = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return the ``x`` that minimizes ``|matrix @ x - rhs|``; if there are several, the shortest.

    >>> import gpuplace as tf
    >>> found = tf.matrix_solve_ls([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [[1.0], [2.0], [4.0]])
    >>> tf.Session().run(found).round(4).tolist()
    [[1.0], [3.0]]

    Args:
        matrix: ``[..., m, n]``, float32, float64 or complex.
        rhs: ``[..., m, k]``, of the same dtype.
        l2_regularizer: weight of the squares of ``x``; only with ``fast``.
        fast: whether to use the Cholesky decomposition of the normal equations; otherwise singular values, which also
            handle nearly rank-deficient matrices.
        name: name of the op.

    Returns:
        ``[..., n, k]`` of that dtype.

    Raises:
        InvalidArgumentError: at run time, the shapes do not fit, or with ``fast`` a matrix does not have full rank.
    """
    matrix = convert_to_tensor(matrix, name="matrix")
    if matrix.dtype.name == "complex128" and l2_regularizer != 0:
        raise NotImplementedError(
            "matrix_solve_ls is currently disabled for complex128 and l2_regularizer != 0 due to poor accuracy."
        )
    if not fast or _is_one_kernel_quicker(matrix):
        weight = convert_to_tensor(l2_regularizer, "float64")
        return new("MatrixSolveLs", name, matrix=matrix, rhs=rhs, l2_regularizer=weight, fast=fast)
    with name_scope(name, "matrix_solve_ls", [matrix, rhs, l2_regularizer]):
        weight = cast(convert_to_tensor(l2_regularizer), matrix.dtype)
        return _by_shape(matrix, lambda tall: _solution(matrix, rhs, weight, tall))


_CACHE_BYTES = 256000
"""If a batch of small matrices is larger than this, one batched kernel is faster."""


def _is_one_kernel_quicker(matrix: Tensor) -> bool:
    if not matrix.shape.is_fully_defined():
        return False
    sizes: list[Any] = matrix.shape.as_list()
    total = math.prod(sizes) * matrix.dtype.size
    return total > _CACHE_BYTES and math.prod(sizes[:-2]) > min(sizes[-2:])


def _by_shape(matrix: Tensor, make: Callable[[bool], Any]) -> Any:
    """Build for tall (or square) or wide matrices, with a run-time condition if the shape is unknown."""
    sizes = (None, None) if matrix.shape.sizes is None else matrix.shape.sizes[-2:]
    if sizes[0] is not None and sizes[1] is not None:
        return make(sizes[0] >= sizes[1])
    matrix_sizes = shape_of(matrix)
    return cond(matrix_sizes[-2] >= matrix_sizes[-1], lambda: make(True), lambda: make(False))


def _gram_root(matrix: Tensor, weight: Tensor, tall: bool) -> Tensor:
    """Return the Cholesky root of ``matrix^H matrix`` or ``matrix matrix^H``, with a weight on the diagonal."""
    gram = matmul(matrix, matrix, adjoint_a=tall, adjoint_b=not tall)
    sizes = shape_of(matrix)
    outer, size = sizes[:-2], sizes[-1 if tall else -2]
    identity = eye(size, batch_shape=outer, dtype=matrix.dtype)
    inner = matrix.shape[-1 if tall else -2]
    identity.set_shape(matrix.shape[:-2].concatenate([inner, inner]))
    return cholesky(gram + weight * identity)


def _solution(matrix: Tensor, rhs: TensorLike, weight: Tensor, tall: bool) -> Tensor:
    root = _gram_root(matrix, weight, tall)
    if tall:
        return cholesky_solve(root, matmul(matrix, rhs, adjoint_a=True))
    return matmul(matrix, cholesky_solve(root, rhs), adjoint_a=True)


@compute("MatrixSolveLs", fresh=True)
def _matrix_solve_ls(
    xp: ArrayModule, matrix: Array, rhs: Array, l2_regularizer: Array, *, fast: bool
) -> Array:
    if rhs.ndim != matrix.ndim or rhs.shape[:-1] != matrix.shape[:-1]:
        shapes = "[{}] vs. [{}]".format(*(",".join(map(str, array.shape)) for array in (matrix, rhs)))
        raise InvalidArgumentError.of(f"Input matrix and rhs are incompatible: {shapes}")
    rows, columns = matrix.shape[-2:]
    shape = (*matrix.shape[:-2], columns, rhs.shape[-1])
    if 0 in shape or not rows:
        return xp.zeros(shape, matrix.dtype)
    if not fast:
        return xp.linalg.pinv(matrix) @ rhs
    adjoint_matrix = xp.conjugate(xp.swapaxes(matrix, -1, -2))
    tall = rows >= columns
    gram = adjoint_matrix @ matrix if tall else matrix @ adjoint_matrix
    gram = gram + xp.eye(min(rows, columns), dtype=gram.dtype) * l2_regularizer.astype(gram.dtype)
    try:
        xp.linalg.cholesky(gram)
        solution = xp.linalg.solve(gram, adjoint_matrix @ rhs if tall else rhs)
    except xp.linalg.LinAlgError:
        raise InvalidArgumentError.of(
            "Input matrix was rank deficient or ill-conditioned. Try setting fast=False or provide a larger "
            "l2_regularizer > 0."
        ) from None
    return (solution if tall else adjoint_matrix @ solution).astype(matrix.dtype, copy=False)


@gradient("MatrixSolveLs")
def _matrix_solve_ls_grad(op: Operation, grad: Tensor) -> list[Any]:
    """Return the derivatives of the solutions of the normal equations."""
    if not op.attrs["fast"]:
        raise ValueError("Gradient not defined for fast=False")
    matrix, rhs, weight = op.inputs
    if not matrix.shape[-2:].is_fully_defined() and rules() == "1.15":
        raise ValueError(
            "The gradient of matrix_solve_ls needs the sizes of the matrices, which are unknown."
            " Set them first, for example: matrix.set_shape([3, 2])"
        )
    weight = cast(weight, matrix.dtype)

    def of_tall() -> list[Tensor]:
        solution = op.outputs[0]
        inner = cholesky_solve(_gram_root(matrix, weight, True), grad)
        both = matmul(solution, inner, adjoint_b=True)
        both = both + matrix_transpose(both)  # TensorFlow conjugates nothing here
        of_matrix = -matmul(matrix, both) + matmul(rhs, inner, adjoint_b=True)
        return [of_matrix, matmul(matrix, inner)]

    def of_wide() -> list[Tensor]:
        root = _gram_root(matrix, weight, False)
        of_rhs = cholesky_solve(root, matmul(matrix, grad))
        inner = cholesky_solve(root, rhs)
        through = -matmul(of_rhs, matmul(inner, matrix, adjoint_a=True))
        residual = grad - matmul(matrix, of_rhs, adjoint_a=True)
        return [through + matmul(inner, residual, adjoint_b=True), of_rhs]

    return [*_by_shape(matrix, lambda tall: of_tall() if tall else of_wide()), None]


def _larger_size(a: Tensor) -> Tensor:
    """Return the larger size of the matrices, times the machine epsilon."""
    size = cast(reduce_max(shape_of(a)[-2:]), a.dtype)
    return size * like(np.finfo(a.dtype.as_numpy_dtype).eps, a)


def pinv(a: TensorLike, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Return the pseudo-inverses of matrices.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.linalg.pinv([[2.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.0]]

    Args:
        a: ``[..., m, n]``, float32 or float64.
        rcond: singular values below this fraction of the largest count as zero; None: depends on sizes and dtype.
        validate_args: ignored: shapes are always checked.
        name: name of the scope.

    Returns:
        ``[..., n, m]`` of that dtype.

    Raises:
        TypeError: ``a`` has another dtype.
        ValueError: the rank is below 2.
    """
    with name_scope(name, "pinv", [a, rcond]):
        matrix = _floating_matrix(a)
        share = convert_to_tensor(
            10 * _larger_size(matrix) if rcond is None else rcond, matrix.dtype, name="rcond"
        )
        values, left, right = svd(matrix, full_matrices=False)
        limit = new("ExpandDims", input=share, dim=-1) * reduce_max(values, axis=-1, keepdims=True)
        inverses = where(values > limit, 1 / values, zeros_like(values))
        return matmul(right * expand_dims(inverses, -2), left, adjoint_b=True)


def matrix_rank(
    a: TensorLike, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Return the ranks of matrices: the number of singular values above a limit.

    >>> import gpuplace as tf
    >>> int(tf.Session().run(tf.linalg.matrix_rank([[2.0, 0.0], [0.0, 0.0]])))
    1

    Args:
        a: ``[..., m, n]``, float32 or float64.
        tol: the limit; None: the largest singular value times the larger size and the machine epsilon.
        validate_args: ignored: shapes are always checked.
        name: name of the scope.

    Returns:
        ``[...]``, int32.

    Raises:
        TypeError: ``a`` has another dtype.
        ValueError: the rank of the tensor is below 2.
    """
    with name_scope(name, "matrix_rank", [a, tol]):
        matrix = _floating_matrix(a)
        values = svd(matrix, compute_uv=False)
        if tol is None:
            tol = reduce_max(values, axis=-1, keepdims=True) * _larger_size(matrix)
        return reduce_sum(cast(values > tol, "int32"), axis=-1)


def _floating_matrix(a: TensorLike) -> Tensor:
    matrix = convert_to_tensor(a, name="a")
    if not matrix.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {matrix.dtype.name}).")
    if matrix.shape.ndims is not None and matrix.shape.ndims < 2:
        raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {matrix.shape.ndims}).")
    return matrix
