"""Arguments of operators: conversions, checks, and matrices whose batches broadcast.

Source: tensorflow/python/ops/linalg/linear_operator_util.py, release 1.15.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, int32
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import zeros
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.padding import broadcast_dynamic_shape, broadcast_static_shape, broadcast_to
from gpuplace.ops.array.reshaping import reshape, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.flow.control import no_op
from gpuplace.ops.math.check_ops import assert_equal, assert_less, assert_proper_iterable
from gpuplace.ops.math.linalg import adjoint as adjoint_of
from gpuplace.ops.math.linalg import cholesky_solve, matrix_solve, matrix_triangular_solve
from gpuplace.ops.math.unary import imag
from gpuplace.ops.variables.variables import Variable
from gpuplace.shapes import TensorShape, dimension_value
from gpuplace.typing import DTypeLike, TensorLike


def is_ref(x: TensorLike) -> bool:
    """Return whether an object is a variable, whose value an operator reads each time it is needed.

    Args:
        x: any object.
    """
    return isinstance(x, Variable)


def assert_not_ref_type(x: Any, arg_name: str) -> None:
    """Raise an error if an argument is a variable.

    Args:
        x: the argument.
        arg_name: its name.

    Raises:
        TypeError: it is a variable.
    """
    if is_ref(x):
        raise TypeError(f"Argument {arg_name} cannot be reference type. Found: {type(x)}")


def convert_nonref_to_tensor(
    value: Any, dtype: DTypeLike | None = None, dtype_hint: Any = None, name: str | None = None
) -> Any:
    """Return a value as a tensor; variables and None stay unchanged.

    Args:
        value: the value.
        dtype: its dtype; None: inferred from the value.
        dtype_hint: its dtype if the value can be converted to it.
        name: name of a new constant.

    Raises:
        TypeError: a variable has another dtype.
    """
    if value is None:
        return None
    if is_ref(value):
        if dtype is not None and as_dtype(dtype).base_dtype != value.dtype.base_dtype:
            raise TypeError(
                f'Mutable type must be of dtype "{as_dtype(dtype).base_dtype.name}" but is '
                f'"{value.dtype.base_dtype.name}".'
            )
        return value
    return convert_to_tensor(value, dtype=dtype, dtype_hint=dtype_hint, name=name)


def shape_tensor(shape: Any, name: str | None = None) -> Tensor:
    """Return sizes as a tensor; an empty list becomes int32.

    Args:
        shape: sizes.
        name: name of a new constant.
    """
    empty = isinstance(shape, (tuple, list)) and not shape
    return convert_to_tensor(shape, dtype=int32 if empty else None, name=name)


def assert_no_entries_with_modulus_zero(
    x: TensorLike, message: str | None = None, name: str = "assert_no_entries_with_modulus_zero"
) -> Operation:
    """Return an operation that fails if an element is zero.

    Args:
        x: numbers.
        message: prefix of the error message.
        name: name of the scope.
    """
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        sizes = abs(x)
        zero = convert_to_tensor(0, dtype=x.dtype.base_dtype.real_dtype)
        return assert_less(zero, sizes, message=message)


def assert_zero_imag_part(
    x: TensorLike, message: str | None = None, name: str = "assert_zero_imag_part"
) -> Operation:
    """Return an operation that fails if an element is not real.

    Args:
        x: numbers.
        message: prefix of the error message.
        name: name of the scope.
    """
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        if x.dtype.base_dtype.is_floating:
            return no_op()
        zero = convert_to_tensor(0, dtype=x.dtype.base_dtype.real_dtype)
        return assert_equal(zero, imag(x), message=message)


def assert_compatible_matrix_dimensions(operator: Any, x: Tensor) -> Operation:
    """Return an operation that fails unless an operator can be applied to matrices.

    Args:
        operator: the operator.
        x: the matrices.
    """
    return assert_equal(
        shape_of(x)[-2],
        operator.domain_dimension_tensor(),
        message="Dimensions are not compatible.  shape[-2] of argument to be the same as this operator",
    )


def assert_is_batch_matrix(tensor: Tensor) -> None:
    """Raise an error unless a tensor has at least two axes.

    Args:
        tensor: the tensor.

    Raises:
        ValueError: the tensor has fewer.
    """
    if tensor.shape.ndims is not None and tensor.shape.ndims < 2:
        raise ValueError(f"Expected [batch] matrix to have at least two dimensions.  Found: {tensor}")


def broadcast_matrix_batch_dims(batch_matrices: Any, name: str | None = None) -> list[Tensor]:
    """Return matrices whose batches are broadcast to their common shape.

    Args:
        batch_matrices: a list of tensors with matrices along the last two axes.
        name: name of the scope.

    Raises:
        ValueError: a tensor has fewer than two axes, or the batches do not broadcast.
        TypeError: ``batch_matrices`` is not a list.
    """
    with name_scope(name or "broadcast_matrix_batch_dims", values=batch_matrices):
        assert_proper_iterable(batch_matrices)
        matrices = []
        for one in batch_matrices:
            matrices.append(convert_to_tensor(one))
            assert_is_batch_matrix(matrices[-1])
        if len(matrices) < 2:
            return matrices
        static = functools.reduce(broadcast_static_shape, [one.shape[:-2] for one in matrices])
        if static.is_fully_defined():
            ahead: Any = static.as_list()
            return [
                one
                if one.shape[:-2] == static
                else broadcast_to(one, concat([ahead, shape_of(one)[-2:]], axis=0))
                for one in matrices
            ]
        sizes = shape_of(matrices[0])[:-2]
        for one in matrices[1:]:
            sizes = broadcast_dynamic_shape(sizes, shape_of(one)[:-2])
        return [broadcast_to(matrix, concat([sizes, shape_of(matrix)[-2:]], axis=0)) for matrix in matrices]


def cholesky_solve_with_broadcast(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Tensor:
    """Return ``cholesky_solve`` of batches that broadcast.

    Args:
        chol: Cholesky factors.
        rhs: right-hand sides.
        name: name of the scope.
    """
    with name_scope(name, "CholeskySolveWithBroadcast", [chol, rhs]):
        chol, rhs = broadcast_matrix_batch_dims([chol, rhs])
        return cholesky_solve(chol, rhs)


def matrix_solve_with_broadcast(
    matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Return ``matrix_solve`` of batches that broadcast.

    Args:
        matrix: matrices.
        rhs: right-hand sides.
        adjoint: whether to use the adjoints of the matrices.
        name: name of the scope.
    """
    with name_scope(name, "MatrixSolveWithBroadcast", [matrix, rhs]):
        matrix = convert_to_tensor(matrix, name="matrix")
        rhs = convert_to_tensor(rhs, name="rhs", dtype=matrix.dtype)
        matrix, rhs, back, is_adjoint = _with_batch_as_columns(matrix, rhs, adjoint)
        matrix, rhs = broadcast_matrix_batch_dims([matrix, rhs])
        return back(matrix_solve(matrix, rhs, adjoint=is_adjoint))


def matrix_triangular_solve_with_broadcast(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Return ``matrix_triangular_solve`` of batches that broadcast.

    Args:
        matrix: triangular matrices.
        rhs: right-hand sides.
        lower: whether the matrices are lower triangular.
        adjoint: whether to use the adjoints of the matrices.
        name: name of the scope.
    """
    with name_scope(name, "MatrixTriangularSolve", [matrix, rhs]):
        matrix = convert_to_tensor(matrix, name="matrix")
        rhs = convert_to_tensor(rhs, name="rhs", dtype=matrix.dtype)
        matrix, rhs, back, is_adjoint = _with_batch_as_columns(matrix, rhs, adjoint)
        if adjoint and not is_adjoint:
            lower = not lower
        matrix, rhs = broadcast_matrix_batch_dims([matrix, rhs])
        return back(matrix_triangular_solve(matrix, rhs, lower=lower, adjoint=is_adjoint))


def _with_batch_as_columns(
    matrix: Tensor, rhs: Tensor, adjoint: bool
) -> tuple[Tensor, Tensor, Callable[[Tensor], Tensor], bool]:
    """Turn batch axes that only the right-hand sides have into columns, if that saves factorisations.

    Returns:
        The matrices (their adjoints in this case), the right-hand sides, the function that restores the shape
        of solutions, and whether the adjoint is still to be taken.
    """
    unchanged = matrix, rhs, lambda x: x, adjoint
    ranks = matrix.shape.ndims, rhs.shape.ndims
    if ranks[0] is None or ranks[1] is None or ranks[0] >= ranks[1]:
        return unchanged
    extra = ranks[1] - ranks[0]
    # TensorFlow creates these two in any case.
    sizes_ahead, sizes_behind = shape_of(rhs)[:extra], shape_of(rhs)[extra:]
    domain = dimension_value(matrix.shape[-2 if adjoint else -1])
    columns = dimension_value(rhs.shape[-1])
    count = rhs.shape[:extra].num_elements()
    if None not in (domain, columns, count) and (count < 2 or domain <= columns):  # type: ignore[operator]
        return unchanged
    if adjoint:
        matrix = adjoint_of(matrix)
    sizes_ahead, sizes_behind = shape_of(rhs)[:extra], shape_of(rhs)[extra:]
    order = np.concatenate([np.arange(extra, ranks[1]), np.arange(extra)])
    behind = transpose(rhs, perm=order)
    wide = reshape(behind, concat([sizes_behind[:-1], [-1]], 0))

    def back(solution: Tensor) -> Tensor:
        sizes = concat([shape_of(solution)[:-1], [sizes_behind[-1]], sizes_ahead], 0)
        return transpose(reshape(solution, sizes), perm=np.argsort(order))

    return matrix, wide, back, False


def use_operator_or_provided_hint_unless_contradicting(
    operator: Any, hint_attr_name: str, provided_hint_value: bool | None, message: str
) -> bool | None:
    """Return an operator's property, or the caller's hint about it.

    Args:
        operator: the operator.
        hint_attr_name: name of the property.
        provided_hint_value: the caller's hint.
        message: error message for a contradiction.

    Raises:
        ValueError: the two contradict each other.
    """
    own = getattr(operator, hint_attr_name)
    hints = {value for value in (own, provided_hint_value) if value is not None}
    if len(hints) > 1:
        raise ValueError(message)
    return bool(hints.pop()) if hints else None


def implied(hint: bool | None, holds: bool, message: str) -> bool | None:
    """Return a hint, or True if the operator's parts imply the property.

    Args:
        hint: the caller's hint.
        holds: whether the parts imply the property.
        message: error message if the hint is False nevertheless.

    Raises:
        ValueError: the hint contradicts the parts.
    """
    if holds and hint is False:
        raise ValueError(message)
    return True if holds else hint


def checked_operators(operators: Any, expected: str) -> list[Any]:
    """Return a list of operators of one dtype.

    Args:
        operators: the operators.
        expected: error message for an empty list.

    Raises:
        ValueError: the list is empty.
        TypeError: the dtypes differ, or ``operators`` is not a list.
    """
    assert_proper_iterable(operators)
    operators = list(operators)
    if not operators:
        raise ValueError(f"{expected}. Found: {operators}")
    if any(operator.dtype != operators[0].dtype for operator in operators):
        listing = "   ".join(str((one.name, one.dtype)) for one in operators)
        raise TypeError(f"Expected all operators to have the same dtype.  Found {listing}")
    return operators


def graph_parents_of(operators: list[Any]) -> list[Any]:
    """Return the graph parents of all operators.

    Args:
        operators: the operators.
    """
    return [parent for operator in operators for parent in operator.graph_parents]


def batch_shape_of(operators: list[Any]) -> TensorShape:
    """Return the broadcast shape of the batches of operators, as far as it is known.

    Args:
        operators: the operators.
    """
    return functools.reduce(broadcast_static_shape, [operator.batch_shape for operator in operators])


def batch_shape_tensor_of(operators: list[Any]) -> Tensor:
    """Return the broadcast shape of the batches of operators as a tensor.

    Args:
        operators: the operators.
    """
    wide = zeros(shape=operators[0].batch_shape_tensor())
    for operator in operators[1:]:
        wide = wide + zeros(shape=operator.batch_shape_tensor())
    return shape_of(wide)
