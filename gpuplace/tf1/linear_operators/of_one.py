"""Adjoints and inverses of operators, which delegate to the original operator.

Source: tensorflow/python/ops/linalg/linear_operator_adjoint.py and linear_operator_inversion.py, release 1.15.
"""

from __future__ import annotations

from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.joining import concat
from gpuplace.ops.math.linalg import adjoint as adjoint_of
from gpuplace.ops.math.unary import conj
from gpuplace.shapes import TensorShape
from gpuplace.tf1.linear_operators.broadcasting import use_operator_or_provided_hint_unless_contradicting
from gpuplace.tf1.linear_operators.linear_operator import LinearOperator


class _DerivedOperator(LinearOperator):
    """An operator with the same properties as another operator."""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None,
        is_self_adjoint: bool | None,
        is_positive_definite: bool | None,
        is_square: bool | None,
        name: str,
        relation: str,
    ) -> None:
        self._operator = operator
        hints = {}
        for attribute, hint, word in (
            ("is_square", is_square, "square"),
            ("is_non_singular", is_non_singular, "non-singular"),
            ("is_self_adjoint", is_self_adjoint, "self-adjoint"),
            ("is_positive_definite", is_positive_definite, "positive-definite"),
        ):
            message = f"An operator is {word} if and only if its {relation} is {word}."
            hints[attribute] = use_operator_or_provided_hint_unless_contradicting(
                operator, attribute, hint, message
            )
        with name_scope(name, values=operator.graph_parents):
            super().__init__(dtype=operator.dtype, graph_parents=operator.graph_parents, name=name, **hints)

    @property
    def operator(self) -> LinearOperator:
        """The original operator."""
        return self._operator

    def _assert_non_singular(self) -> Operation:
        return self.operator.assert_non_singular()

    def _assert_positive_definite(self) -> Operation:
        return self.operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Operation:
        return self.operator.assert_self_adjoint()


class LinearOperatorAdjoint(_DerivedOperator):
    """The adjoint of another operator.

    Args:
        operator: the original operator.
        is_non_singular: whether it has an inverse; None for the original's, as for the other properties.
        is_self_adjoint: whether it is self-adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: whether it is square.
        name: name of its scopes; None for the original's with ``_adjoint``.

    Raises:
        ValueError: a property contradicts the original operator's.
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(operator, *hints, name or f"{operator.name}_adjoint", "adjoint")

    def _shape(self) -> TensorShape:
        sizes = self.operator.shape
        return sizes[:-2].concatenate([sizes[-1], sizes[-2]])

    def _shape_tensor(self) -> Tensor:
        sizes = self.operator.shape_tensor()
        return concat([sizes[:-2], [sizes[-1], sizes[-2]]], axis=-1)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result: Tensor = self.operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)
        return result

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        return self.operator.matvec(x, adjoint=not adjoint)

    def _determinant(self) -> Tensor:
        determinant = self.operator.determinant
        return determinant() if self.is_self_adjoint else conj(determinant())

    def _log_abs_determinant(self) -> Tensor:
        return self.operator.log_abs_determinant()

    def _trace(self) -> Tensor:
        trace = self.operator.trace
        return trace() if self.is_self_adjoint else conj(trace())

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result: Tensor = self.operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)
        return result

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Tensor:
        return self.operator.solvevec(rhs, adjoint=not adjoint)

    def _to_dense(self) -> Tensor:
        dense = self.operator.to_dense()
        return dense if self.is_self_adjoint else adjoint_of(dense)


class LinearOperatorInversion(_DerivedOperator):
    """The inverse of another operator.

    Args:
        operator: the original operator.
        is_non_singular: must be True or None.
        is_self_adjoint: whether it is self-adjoint; None for the original's, as for the other properties.
        is_positive_definite: whether it is positive definite.
        is_square: must be True or None.
        name: name of its scopes; None for the original's with ``_inv``.

    Raises:
        ValueError: the original operator has no inverse, or a property contradicts its properties.
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        for attribute, hint in (("is_non_singular", is_non_singular), ("is_square", is_square)):
            own = getattr(operator, attribute)
            if own is False or hint is False:
                raise ValueError(
                    f"operator and supplied hints must have `{attribute}` equal to `True` or `None`.  "
                    f"Found {own}, {hint}"
                )
        hints = is_non_singular, is_self_adjoint, is_positive_definite, is_square
        super().__init__(operator, *hints, name or f"{operator.name}_inv", "inverse")

    def _shape(self) -> TensorShape:
        return self.operator.shape

    def _shape_tensor(self) -> Tensor:
        return self.operator.shape_tensor()

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result: Tensor = self.operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return result

    def _determinant(self) -> Tensor:
        return 1.0 / self.operator.determinant()

    def _log_abs_determinant(self) -> Tensor:
        return -1.0 * self.operator.log_abs_determinant()

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        result: Tensor = self.operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        return result
