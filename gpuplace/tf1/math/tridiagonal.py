"""Tridiagonal matrices: products and systems of equations.

    diagonals, in the compact form           the matrix
    [[b0, b1, b2,  * ],   above              [[a0, b0,  0,  0],
     [a0, a1, a2, a3],                        [c1, a1, b1,  0],
     [ *, c1, c2, c3]]   below                [ 0, c2, a2, b2],
                                              [ 0,  0, c3, a3]]

Source: tensorflow/core/kernels/tridiagonal_solve_op.cc, tridiagonal_matmul_op.cc and
tensorflow/python/ops/linalg/linalg_impl.py, release 1.15 (arguments, messages).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.dtypes import int32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.compute import compute
from gpuplace.ops.array.constant import constant, zeros
from gpuplace.ops.array.joining import concat, stack
from gpuplace.ops.array.padding import pad
from gpuplace.ops.array.reshaping import expand_dims, matrix_transpose, squeeze
from gpuplace.ops.array.reshaping import rank as rank_of
from gpuplace.ops.gradients.registry import gradient
from gpuplace.ops.math.matrix import matrix_diag_part
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.support import conjugate, new
from gpuplace.release import rules
from gpuplace.typing import Array, ArrayModule, TensorLike


def _diagonals_of(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the diagonals of a full matrix, the outer ones padded with a zero."""
    front, back = ([[0, 0]] * (len(matrix.shape) - 2) for _ in range(2))
    above = matrix_diag_part(matrix[..., :-1, 1:])
    below = matrix_diag_part(matrix[..., 1:, :-1])
    return pad(above, [*back, [0, 1]]), matrix_diag_part(matrix), pad(below, [*front, [1, 0]])


def _check_matrix(diagonals: Tensor, what: str) -> None:
    rows, columns = diagonals.shape.as_list()[-2:]
    if rows is not None and columns is not None and rows != columns:
        raise ValueError(f"Expected last two dimensions of diagonals to be same, got {rows} and {columns}")
    if (rows or columns) is None:
        raise ValueError(f'The size of the matrix needs to be known for diagonals_format="{what}"')


def _of_length(diagonal: Tensor, length: int, name: str, zero_first: bool) -> Tensor:
    """Return a diagonal padded to the length of the main one."""
    size = diagonal.shape.as_list()[-1]
    if size is None or size == length:
        return diagonal
    if size != length - 1:
        raise ValueError(f"Expected {name} to be have length {length} or {length - 1}, got {size}.")
    none = [[0, 0]] * (len(diagonal.shape) - 1)
    return pad(diagonal, [*none, [1, 0] if zero_first else [0, 1]])


def tridiagonal_solve(
    diagonals: Any,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
) -> Tensor:
    """Solve ``matrix @ x = rhs`` for a tridiagonal matrix.

    >>> import gpuplace as tf
    >>> x = tf.linalg.tridiagonal_solve([[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]], [3.0, 3.0])
    >>> tf.Session().run(x).tolist()
    [1.0, 1.0]

    Args:
        diagonals: in the form of ``diagonals_format``: ``[..., 3, m]``, three tensors (above, main, below), or
            ``[..., m, m]``.
        rhs: ``[..., m]`` or ``[..., m, k]``, of the same dtype.
        diagonals_format: ``"compact"``, ``"sequence"`` or ``"matrix"``.
        transpose_rhs: whether to transpose the right-hand side; not for vectors.
        conjugate_rhs: whether to conjugate it.
        name: name of the op.
        partial_pivoting: whether to exchange rows for accuracy; without it, the op is faster on a GPU.

    Returns:
        A tensor like ``rhs``.

    Raises:
        ValueError: the shapes do not fit, or ``diagonals_format`` is unknown.
        InvalidArgumentError: at run time, a matrix is singular.
    """
    if diagonals_format == "compact":
        compact = convert_to_tensor(diagonals, name="diagonals")
    elif diagonals_format == "sequence":
        if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        above, middle, below = (convert_to_tensor(tensor) for tensor in diagonals)
        if not middle.shape[:-1].is_compatible_with(above.shape[:-1]) or not middle.shape[
            :-1
        ].is_compatible_with(below.shape[:-1]):
            raise ValueError(
                "Tensors representing the three diagonals must have the same shape,except for the last dimension, got "
                f"{above.shape}, {middle.shape}, {below.shape}"
            )
        length = middle.shape.as_list()[-1]
        if length is not None:
            above = _of_length(above, length, "superdiagonal", False)
            below = _of_length(below, length, "subdiagonal", True)
        compact = stack([above, middle, below], axis=-2)
    elif diagonals_format == "matrix":
        matrix = convert_to_tensor(diagonals, name="diagonals")
        _check_matrix(matrix, "matrix")
        compact = stack(list(_diagonals_of(matrix)), axis=-2)
    else:
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    right = convert_to_tensor(rhs, name="rhs")
    return _solved(compact, right, transpose_rhs, conjugate_rhs, partial_pivoting, name)


def _solved(
    diagonals: Tensor, rhs: Tensor, transposed: bool, conjugated: bool, pivoting: bool, name: str | None
) -> Tensor:
    rank = len(diagonals.shape)
    if rank < 2:
        raise ValueError(f"Expected diagonals to have rank at least 2, got {rank}")
    if len(rhs.shape) not in (rank, rank - 1):
        raise ValueError(f"Expected the rank of rhs to be {rank - 1} or {rank}, got {len(rhs.shape)}")
    if diagonals.shape.as_list()[-2] not in (None, 3):
        raise ValueError(f"Expected 3 diagonals got {diagonals.shape[-2]}")
    if not diagonals.shape[:-2].is_compatible_with(rhs.shape[: rank - 2]):
        raise ValueError(f"Batch shapes {diagonals.shape[:-2]} and {rhs.shape[: rank - 2]} are incompatible")
    is_vector = len(rhs.shape) == rank - 1
    if conjugated:
        rhs = conjugate(rhs)
    if is_vector:
        rhs = expand_dims(rhs, -1)
    elif transposed:
        rhs = matrix_transpose(rhs)
    sizes = diagonals.shape.as_list()[-1], rhs.shape.as_list()[-2]
    if None not in sizes and sizes[0] != sizes[1]:
        raise ValueError(
            f"Expected number of left-hand sided and right-hand sides to be equal, got {sizes[0]} and {sizes[1]}"
        )
    solution = new("TridiagonalSolve", name, diagonals=diagonals, rhs=rhs, partial_pivoting=pivoting)
    if is_vector:
        return squeeze(solution, -1)
    return matrix_transpose(solution) if transposed and not is_vector else solution


@compute("TridiagonalSolve", fresh=True, slow=True)
def _tridiagonal_solve(xp: ArrayModule, diagonals: Array, rhs: Array, *, partial_pivoting: bool) -> Array:
    if diagonals.ndim < 2 or rhs.ndim != diagonals.ndim or diagonals.shape[-2] != 3:
        raise InvalidArgumentError.of(
            f"Expected diagonals and right-hand side to have same rank: got {diagonals.shape} and {rhs.shape}"
        )
    size = diagonals.shape[-1]
    if rhs.shape[:-2] != diagonals.shape[:-2] or rhs.shape[-2] != size:
        raise InvalidArgumentError.of(
            f"Expected the same number of left-hand sides and right-hand sides, got {size} and {rhs.shape[-2]}."
        )
    if not size:
        return xp.zeros(rhs.shape, rhs.dtype)
    # Move the rows to the front, so that a step processes whole batches: [size, ..., 1].
    above, middle, below = (
        xp.moveaxis(diagonals[..., number, :], -1, 0)[..., None].copy() for number in range(3)
    )
    right = xp.moveaxis(rhs, -2, 0).copy()
    second = xp.zeros_like(above)
    for row in range(size - 1):
        if partial_pivoting:
            swap = abs(below[row + 1]) > abs(middle[row])
            _exchange(xp, swap, middle[row], below[row + 1])
            _exchange(xp, swap, above[row], middle[row + 1])
            _exchange(xp, swap, second[row], above[row + 1] if row + 2 < size else second[row].copy())
            _exchange(xp, swap, right[row], right[row + 1])
        if not middle[row].all():
            return _handle_singular(xp, rhs, partial_pivoting)
        factor = below[row + 1] / middle[row]
        middle[row + 1] -= factor * above[row]
        if row + 2 < size:
            above[row + 1] -= factor * second[row]
        right[row + 1] -= factor * right[row]
    if not middle[size - 1].all():
        return _handle_singular(xp, rhs, partial_pivoting)
    for row in reversed(range(size)):
        if row + 1 < size:
            right[row] -= above[row] * right[row + 1]
        if row + 2 < size:
            right[row] -= second[row] * right[row + 2]
        right[row] /= middle[row]
    return xp.ascontiguousarray(xp.moveaxis(right, 0, -2))


def _handle_singular(xp: ArrayModule, rhs: Array, partial_pivoting: bool) -> Array:
    """Handle matrices without a solution: release 1.15 raises an error, 2.21 returns NaN."""
    if rules() != "1.15":
        return xp.full(rhs.shape, xp.nan, rhs.dtype)
    raise InvalidArgumentError.of(
        "The matrix is not invertible."
        if partial_pivoting
        else "The matrix is either not invertible, or requires pivoting. Try setting partial_pivoting = True."
    )


def _exchange(xp: ArrayModule, where: Array, first: Array, second: Array) -> None:
    """Swap the values of two arrays in some positions."""
    saved = first.copy()
    first[...] = xp.where(where, second, first)
    second[...] = xp.where(where, saved, second)


@gradient("TridiagonalSolve")
def _tridiagonal_solve_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    diagonals, solution = op.inputs[0], op.outputs[0]
    middle = diagonals[..., 1, :]
    nothing = _end_zeros(diagonals, [1])
    after = _joined(lambda: diagonals[..., 2, 1:], nothing, -1, True)
    before = _joined(lambda: diagonals[..., 0, :-1], nothing, -1, False)
    of_rhs = new(
        "TridiagonalSolve",
        diagonals=stack([after, middle, before], axis=-2),  # TensorFlow conjugates nothing here
        rhs=grad,
        partial_pivoting=op.attrs["partial_pivoting"],
    )
    middle = reduce_sum(of_rhs * solution, axis=-1)
    nothing = _end_zeros(solution, [1, solution.shape[-1]] if solution.shape.is_fully_defined() else [])
    above = reduce_sum(of_rhs * _joined(lambda: solution[..., 1:, :], nothing, -2, True), axis=-1)
    below = reduce_sum(of_rhs * _joined(lambda: solution[..., :-1, :], nothing, -2, False), axis=-1)
    return [-stack([above, middle, below], axis=-2), of_rhs]


def _end_zeros(x: Tensor, last: list[Any]) -> Tensor:
    """Return the zeros to concatenate to a part of ``x``, with its batch and the sizes ``last``.

    For unknown shapes, return the paddings of the batch, which add nothing.
    """
    if x.shape.is_fully_defined():
        return zeros([*x.shape[:-2], *last], x.dtype)
    return zeros((rank_of(x) - 2, 2), int32)


def _joined(part: Callable[[], Tensor], nothing: Tensor, axis: int, is_last: bool) -> Tensor:
    """Return a part with a row or an element of zeros added; ``nothing`` is a result of ``_end_zeros``."""
    if nothing.dtype is not int32:
        return concat([part(), nothing] if is_last else [nothing, part()], axis)
    rows = [[0, 1] if is_last else [1, 0], *[[0, 0]] * (-1 - axis)]
    paddings = concat([nothing, constant(rows)], 0)
    return pad(part(), paddings)


def tridiagonal_matmul(
    diagonals: Any, rhs: TensorLike, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """Return the product of a tridiagonal matrix with another matrix.

    >>> import gpuplace as tf
    >>> product = tf.linalg.tridiagonal_matmul([[1.0, 0.0], [2.0, 2.0], [0.0, 1.0]], [[1.0], [1.0]])
    >>> tf.Session().run(product).tolist()
    [[3.0], [3.0]]

    Args:
        diagonals: in the form of ``diagonals_format``: ``[..., 3, m]``, three tensors of ``[..., m]`` (above, main,
            below), or ``[..., m, m]``.
        rhs: ``[..., m, n]`` of the same dtype.
        diagonals_format: ``"compact"``, ``"sequence"`` or ``"matrix"``.
        name: name of the op.

    Returns:
        A tensor like ``rhs``.

    Raises:
        ValueError: a matrix is not square, or ``diagonals_format`` is unknown.
    """
    parts: tuple[Tensor, ...]
    if diagonals_format == "compact":
        full = convert_to_tensor(diagonals, name="diagonals")
        parts = tuple(full[..., number, :] for number in range(3))
    elif diagonals_format == "sequence":
        parts = tuple(convert_to_tensor(tensor) for tensor in diagonals)
    elif diagonals_format == "matrix":
        matrix = convert_to_tensor(diagonals, name="diagonals")
        _check_matrix(matrix, "matrix")
        parts = _diagonals_of(matrix)
    else:
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    above, middle, below = (expand_dims(tensor, -2) for tensor in parts)
    return new("TridiagonalMatMul", name, superdiag=above, maindiag=middle, subdiag=below, rhs=rhs)


@compute("TridiagonalMatMul", fresh=True)
def _tridiagonal_matmul(
    xp: ArrayModule, superdiag: Array, maindiag: Array, subdiag: Array, rhs: Array
) -> Array:
    for one, what in ((superdiag, "superdiag"), (maindiag, "maindiag"), (subdiag, "subdiag")):
        if one.shape != (*rhs.shape[:-2], 1, rhs.shape[-2]):
            raise InvalidArgumentError.of(
                f"{what} must have shape [..., 1, m], got {one.shape} for {rhs.shape}"
            )
    above, middle, below = (xp.swapaxes(diagonal, -1, -2) for diagonal in (superdiag, maindiag, subdiag))
    result = middle * rhs
    result[..., :-1, :] += above[..., :-1, :] * rhs[..., 1:, :]
    result[..., 1:, :] += below[..., 1:, :] * rhs[..., :-1, :]
    return result


@gradient("TridiagonalMatMul")
def _tridiagonal_matmul_grad(op: Operation, grad: Tensor) -> list[Tensor]:
    above, middle, below = (matrix_transpose(tensor, conjugate=True) for tensor in op.inputs[:3])
    rhs = conjugate(op.inputs[3])
    parts = [
        reduce_sum(_moved(rhs, -1) * grad, axis=-1),
        reduce_sum(rhs * grad, axis=-1),
        reduce_sum(_moved(rhs, 1) * grad, axis=-1),
    ]
    of_rhs = _moved(above * grad, 1) + middle * grad + _moved(below * grad, -1)
    return [*(expand_dims(part, -2) for part in parts), of_rhs]


def _moved(x: Tensor, by: int) -> Tensor:
    """Shift rows by one position, with zeros at the end that is left free (``by``: 1 or -1)."""
    nothing = zeros((rank_of(x) - 2, 2), int32)
    return _joined(lambda: x[..., :-1, :] if by > 0 else x[..., 1:, :], nothing, -2, by < 0)
