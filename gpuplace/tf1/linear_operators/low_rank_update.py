"""A low-rank update of an operator, ``L + U D V^H``, solved by the Woodbury identity.

With the capacitance ``C = D^-1 + V^H L^-1 U``, a small matrix::

    (L + U D V^H)^-1  =  L^-1  -  L^-1 U C^-1 V^H L^-1

Source: tensorflow/python/ops/linalg/linear_operator_low_rank_update.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace import tf_logging
from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.joining import concat
from gpuplace.ops.array.padding import broadcast_dynamic_shape, broadcast_static_shape
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.linalg import cholesky as cholesky_of
from gpuplace.ops.math.linalg import matrix_determinant
from gpuplace.ops.math.matrix import matmul, matrix_diag_part
from gpuplace.ops.math.reduction import reduce_sum
from gpuplace.ops.math.unary import abs as magnitude
from gpuplace.ops.math.unary import exp, log
from gpuplace.shapes import TensorShape, dimension_at_index, dimension_value
from gpuplace.tf1.linear_operators.broadcasting import (
    cholesky_solve_with_broadcast,
    convert_nonref_to_tensor,
    implied,
    matrix_solve_with_broadcast,
)
from gpuplace.tf1.linear_operators.identity import LinearOperatorIdentity
from gpuplace.tf1.linear_operators.linear_operator import LinearOperator
from gpuplace.tf1.linear_operators.structured import LinearOperatorDiag


class LinearOperatorLowRankUpdate(LinearOperator):
    """An operator plus a product of narrow matrices.

    Args:
        base_operator: the operator, ``L``.
        u: narrow matrices.
        diag_update: the diagonals of ``D``; None for ones.
        v: narrow matrices of the shape of ``u``; None for ``u``.
        is_diag_update_positive: whether ``diag_update`` is positive; None if unknown.
        is_non_singular: whether the sum has an inverse; None if unknown, as for the other properties.
        is_self_adjoint: whether it is self-adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: whether it is square.
        name: name of its scopes.

    Raises:
        ValueError: the sizes do not match, or properties contradict each other.
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        complex_type = base_operator.dtype.is_complex
        if diag_update is None:
            is_diag_update_positive = implied(
                is_diag_update_positive,
                True,
                "Default diagonal is the identity, which is positive.  However, user set 'is_diag_update_positive' to "
                "False.",
            )
        elif is_diag_update_positive and complex_type:
            tf_logging.warning(
                "Note: setting is_diag_update_positive with a complex dtype means that diagonal is real and positive."
            )
        base_is_symmetric = bool(base_operator.is_self_adjoint) and v is None
        self._use_cholesky = bool(
            base_operator.is_positive_definite and base_is_symmetric and is_diag_update_positive
        )
        is_self_adjoint = implied(
            is_self_adjoint,
            base_is_symmetric and not complex_type,
            "A = L + UDU^H, with L self-adjoint and D real diagonal.  Since UDU^H is self-adjoint, this must be a "
            "self-adjoint operator.",
        )
        if self._use_cholesky:
            if False in (is_positive_definite, is_self_adjoint, is_non_singular):
                raise ValueError("Arguments imply this is self-adjoint positive-definite operator.")
            is_positive_definite = is_self_adjoint = True
        with name_scope(name, values=[*base_operator.graph_parents, u, diag_update, v]):
            self._u = convert_nonref_to_tensor(u, name="u")
            self._v = self._u if v is None else convert_nonref_to_tensor(v, name="v")
            self._diag_update = convert_nonref_to_tensor(diag_update, name="diag_update")
            self._base_operator = base_operator
            parts = [self._u, self._diag_update, self._v]
            super().__init__(
                dtype=base_operator.dtype,
                graph_parents=[*base_operator.graph_parents, *(part for part in parts if part is not None)],
                is_non_singular=is_non_singular,
                is_self_adjoint=is_self_adjoint,
                is_positive_definite=is_positive_definite,
                is_square=is_square,
                name=name,
            )
            self._diag_operator = self._operator_of_diagonal(is_diag_update_positive)
            self._is_diag_update_positive = is_diag_update_positive
            self._check_shapes()

    def _operator_of_diagonal(self, positive: bool | None) -> Any:
        if self._diag_update is not None:
            return LinearOperatorDiag(self._diag_update, is_positive_definite=positive)
        columns: Any = dimension_value(self.u.shape[-1])
        if columns is None:
            columns = shape_of(self.u)[-1]
        return LinearOperatorIdentity(num_rows=columns, dtype=self.dtype)

    def _check_shapes(self) -> None:
        narrow = broadcast_static_shape(self.u.shape, self.v.shape)
        batch = broadcast_static_shape(self.base_operator.batch_shape, narrow[:-2])
        self.base_operator.domain_dimension.assert_is_compatible_with(dimension_at_index(narrow, -2))
        if self._diag_update is not None:
            dimension_at_index(narrow, -1).assert_is_compatible_with(self._diag_update.shape[-1])
            broadcast_static_shape(batch, self._diag_update.shape[:-1])

    @property
    def u(self) -> Any:
        """The narrow matrices on the left."""
        return self._u

    @property
    def v(self) -> Any:
        """The narrow matrices on the right."""
        return self._v

    @property
    def is_diag_update_positive(self) -> bool | None:
        """Whether ``diag_update`` is positive; None if unknown."""
        return self._is_diag_update_positive

    @property
    def diag_update(self) -> Any:
        """The diagonals between them; None for ones."""
        return self._diag_update

    @property
    def diag_operator(self) -> Any:
        """The diagonals as an operator."""
        return self._diag_operator

    @property
    def base_operator(self) -> LinearOperator:
        """The operator without the update."""
        return self._base_operator

    def _shape(self) -> TensorShape:
        batch = broadcast_static_shape(self.base_operator.batch_shape, self.u.shape[:-2])
        return batch.concatenate(self.base_operator.shape[-2:])

    def _shape_tensor(self) -> Tensor:
        batch = broadcast_dynamic_shape(self.base_operator.batch_shape_tensor(), shape_of(self.u)[:-2])
        return concat([batch, self.base_operator.shape_tensor()[-2:]], axis=0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        leading: Tensor = self.base_operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        along = matmul(right, x, adjoint_a=True, adjoint_b=adjoint_arg)
        return leading + matmul(left, self.diag_operator.matmul(along, adjoint=adjoint))

    def _determinant(self) -> Tensor:
        if self.is_positive_definite:
            return exp(self.log_abs_determinant())
        of_capacitance = matrix_determinant(self._capacitance())
        of_diagonal = self.diag_operator.determinant()
        of_base = self.base_operator.determinant()
        return of_capacitance * of_diagonal * of_base

    def _log_abs_determinant(self) -> Tensor:
        of_diagonal = self.diag_operator.log_abs_determinant()
        of_base = self.base_operator.log_abs_determinant()
        if self._use_cholesky:
            diagonal = matrix_diag_part(cholesky_of(self._capacitance()))
            determinant = 2 * reduce_sum(log(diagonal), axis=[-1])
        else:
            determinant = log(magnitude(matrix_determinant(self._capacitance())))
            if self.dtype.is_complex:
                determinant = cast(determinant, dtype=self.dtype)
        return determinant + of_diagonal + of_base

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        base = self.base_operator
        if base.is_non_singular is False:
            raise ValueError(
                "Solve not implemented unless this is a perturbation of a non-singular LinearOperator."
            )
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        of_base: Tensor = base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        along = matmul(right, of_base, adjoint_a=True)
        if self._use_cholesky:
            small = cholesky_solve_with_broadcast(cholesky_of(self._capacitance()), along)
        else:
            small = matrix_solve_with_broadcast(self._capacitance(), along, adjoint=adjoint)
        correction: Tensor = base.solve(matmul(left, small), adjoint=adjoint)
        return of_base - correction

    def _capacitance(self) -> Tensor:
        along = matmul(self.v, self.base_operator.solve(self.u), adjoint_a=True)
        capacitance: Tensor = self._diag_operator.inverse().add_to_tensor(along)
        return capacitance
