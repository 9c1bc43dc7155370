"""Base of all linear operators: products, solutions, determinants, and properties of the matrix.

An operator represents a batch of matrices, of shape ``[batch..., range_dimension, domain_dimension]``,
without storing them. Public methods open a scope and call the private method of the same name. If a class
does not define it, the base class converts the operator to a dense matrix.

Source: tensorflow/python/ops/linalg/linear_operator.py, release 1.15.
"""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from gpuplace import tf_logging
from gpuplace.dtypes import as_dtype
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import eye
from gpuplace.ops.array.reshaping import expand_dims, size, squeeze
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.check_ops import assert_equal, assert_less, assert_positive
from gpuplace.ops.math.factorization import svd
from gpuplace.ops.math.linalg import adjoint as adjoint_of
from gpuplace.ops.math.linalg import cholesky as cholesky_of
from gpuplace.ops.math.linalg import log_matrix_determinant, matrix_determinant
from gpuplace.ops.math.matrix import matrix_diag_part
from gpuplace.ops.math.reduction import reduce_max, reduce_min, reduce_sum
from gpuplace.ops.math.unary import exp, log
from gpuplace.ops.variables.variables import Variable
from gpuplace.shapes import Dimension, TensorShape, dimension_at_index
from gpuplace.tf1.distributions.distribution import check_graph_parents
from gpuplace.tf1.linear_operators import algebra
from gpuplace.tf1.linear_operators.broadcasting import (
    cholesky_solve_with_broadcast,
    matrix_solve_with_broadcast,
    shape_tensor,
)
from gpuplace.typing import DTypeLike, TensorLike


class LinearOperator(abc.ABC):
    """A batch of matrices; the base of all operators.

    >>> import gpuplace as tf
    >>> operator = tf.linalg.LinearOperatorDiag([1.0, 2.0])
    >>> tf.Session().run(operator.matmul(operator).to_dense()).tolist()
    [[1.0, 0.0], [0.0, 4.0]]

    A subclass defines ``_shape``, ``_shape_tensor`` and ``_matmul``, and other methods that it can compute
    more efficiently.

    Args:
        dtype: dtype of the elements.
        graph_parents: tensors that it depends on.
        is_non_singular: whether it has an inverse; None if unknown, as for the other properties.
        is_self_adjoint: whether it is self-adjoint.
        is_positive_definite: whether ``x^H A x`` has a positive real part for every nonzero ``x``.
        is_square: whether it is square.
        name: name of its scopes; None for the class name.

    Raises:
        ValueError: properties contradict each other, or an element of ``graph_parents`` is not a tensor.
    """

    def __init__(
        self,
        dtype: DTypeLike,
        graph_parents: list[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        if is_positive_definite:
            if is_non_singular is False:
                raise ValueError("A positive definite matrix is always non-singular.")
            is_non_singular = True
        if is_non_singular:
            if is_square is False:
                raise ValueError("A non-singular matrix is always square.")
            is_square = True
        if is_self_adjoint:
            if is_square is False:
                raise ValueError("A self-adjoint matrix is always square.")
            is_square = True
        self._is_square = is_square
        self._graph_parents = [] if graph_parents is None else graph_parents
        check_graph_parents(self._graph_parents)
        self._dtype = as_dtype(dtype).base_dtype if dtype else dtype
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._name = name or type(self).__name__

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None) -> Iterator[str]:
        with name_scope(self.name if name is None else f"{self.name}/{name}") as scope:
            yield scope

    # Properties

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self._dtype

    @property
    def name(self) -> str:
        """The operator's name."""
        return self._name

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that it depends on."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """Whether it has an inverse; None if unknown."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether it is self-adjoint; None if unknown."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether it is positive definite; None if unknown."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether it is square; None if unknown."""
        is_square: bool | None = self.domain_dimension == self.range_dimension
        if self._is_square is False and is_square:
            raise ValueError("User set is_square hint to False, but the operator was square.")
        return is_square if self._is_square is None else self._is_square

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that it and its parts read."""
        variables: dict[int, Variable] = {}
        for _, value in sorted(vars(self).items()):
            for one in value if isinstance(value, list) else [value]:
                within = one.variables if isinstance(one, LinearOperator) else [one]
                variables.update((id(part), part) for part in within if isinstance(part, Variable))
        return tuple(variables.values())

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The trainable ones of these variables."""
        return tuple(variable for variable in self.variables if variable.trainable)

    def _can_use_cholesky(self) -> bool | None:
        return self.is_self_adjoint and self.is_positive_definite

    # Shapes

    @abc.abstractmethod
    def _shape(self) -> TensorShape:
        raise NotImplementedError("_shape is not implemented.")

    @abc.abstractmethod
    def _shape_tensor(self) -> Tensor:
        raise NotImplementedError("_shape_tensor is not implemented.")

    @property
    def shape(self) -> TensorShape:
        """The shape of the matrices, as far as it is known."""
        return self._shape()

    @property
    def batch_shape(self) -> TensorShape:
        """The shape of the batch, as far as it is known."""
        return self.shape[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """Rank of the matrices, including the batch axes; None if unknown."""
        return self.shape.ndims

    @property
    def domain_dimension(self) -> Dimension:
        """Number of columns, as far as it is known."""
        return Dimension(None) if self.shape.ndims is None else self.shape.dims[-1]  # type: ignore[index]

    @property
    def range_dimension(self) -> Dimension:
        """Number of rows, as far as it is known."""
        return self.shape.dims[-2] if self.shape.dims else Dimension(None)

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Return the shape of the matrices as an int32 vector.

        Args:
            name: name of the scope.
        """
        with self._name_scope(name):
            if self.shape.is_fully_defined():
                return shape_tensor(self.shape.as_list())
            return self._shape_tensor()

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Return the shape of the batch as an int32 vector.

        Args:
            name: name of the scope.
        """
        with self._name_scope(name):
            if self.batch_shape.is_fully_defined():
                return shape_tensor(self.batch_shape.as_list(), name="batch_shape")
            return self.shape_tensor()[:-2]

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """Return the rank of the matrices, including the batch axes, an int32 scalar.

        Args:
            name: name of the scope.
        """
        with self._name_scope(name):
            if self.tensor_rank is not None:
                return convert_to_tensor(self.tensor_rank)
            return size(self.shape_tensor())

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """Return the number of columns, an int32 scalar.

        Args:
            name: name of the scope.
        """
        return self._dimension_tensor(self.domain_dimension, -1, name)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """Return the number of rows, an int32 scalar.

        Args:
            name: name of the scope.
        """
        return self._dimension_tensor(self.range_dimension, -2, name)

    def _dimension_tensor(self, static_dimension: Dimension, axis: int, name: str) -> Tensor:
        with self._name_scope(name):
            if static_dimension.value is not None:
                return convert_to_tensor(static_dimension.value)
            return self.shape_tensor()[axis]

    # Checks

    def assert_non_singular(self, name: str = "assert_non_singular") -> Operation:
        """Return an operation that fails if the operator is singular.

        Args:
            name: name of the scope.
        """
        with self._name_scope(name):
            return self._assert_non_singular()

    def _assert_non_singular(self) -> Operation:
        _warn("assert_non_singular")
        if self._can_use_cholesky():
            return self.assert_positive_definite()
        values = svd(self.to_dense(), compute_uv=False)
        condition = reduce_max(values, axis=-1) / reduce_min(values, axis=-1)
        return assert_less(
            condition, self._largest_condition(), message="Singular matrix up to precision epsilon."
        )

    def _largest_condition(self) -> Tensor:
        """Return the condition number above which a matrix counts as singular."""
        with name_scope("max_nonsingular_condition_number"):
            precision = np.finfo(self.dtype.as_numpy_dtype).eps
            rows = cast(self.range_dimension_tensor(), self.dtype)
            columns = cast(self.domain_dimension_tensor(), self.dtype)
            most = cast(reduce_max([100.0, rows, columns]), self.dtype)
            return 1.0 / (most * precision)

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Operation:
        """Return an operation that fails if the operator is not positive definite.

        Args:
            name: name of the scope.

        Raises:
            NotImplementedError: the check supports only self-adjoint operators.
        """
        with self._name_scope(name):
            return self._assert_positive_definite()

    def _assert_positive_definite(self) -> Operation:
        _warn("assert_positive_definite")
        if self.is_self_adjoint:
            diagonal = matrix_diag_part(cholesky_of(self.to_dense()))
            return assert_positive(diagonal, message="Matrix was not positive definite.")
        raise NotImplementedError("assert_positive_definite is not implemented.")

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Operation:
        """Return an operation that fails if the operator is not self-adjoint.

        Args:
            name: name of the scope.
        """
        with self._name_scope(name):
            return self._assert_self_adjoint()

    def _assert_self_adjoint(self) -> Operation:
        dense = self.to_dense()
        _warn("assert_self_adjoint", cost="")
        return assert_equal(dense, adjoint_of(dense), message="Matrix was not equal to its adjoint.")

    def _check_input_dtype(self, arg: Tensor) -> None:
        if arg.dtype.base_dtype != self.dtype:
            raise TypeError(
                f"Expected argument to have dtype {self.dtype}.  Found: {arg.dtype} in tensor {arg}"
            )

    # Products

    @abc.abstractmethod
    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        raise NotImplementedError("_matmul is not implemented.")

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """Return the product with matrices, or with another operator.

        Args:
            x: matrices of the same dtype, in batches that broadcast, or an operator.
            adjoint: whether to use the adjoint of this operator.
            adjoint_arg: whether to use the adjoint of ``x``.
            name: name of the scope.

        Returns:
            A tensor of shape ``[batch..., range_dimension, columns]``; an operator if ``x`` is one.

        Raises:
            ValueError: the sizes do not match.
            TypeError: ``x`` has another dtype.
        """
        if isinstance(x, LinearOperator):
            left, right = self._fitting(x, adjoint, adjoint_arg, "x")
            with self._name_scope(name):
                return algebra.matmul(left, right)
        with self._name_scope(name):
            x = convert_to_tensor(x, name="x")
            self._check_fits(x, -2 if adjoint else -1, -1 if adjoint_arg else -2)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _fitting(
        self, other: LinearOperator, adjoint: bool, adjoint_arg: bool, what: str
    ) -> tuple[LinearOperator, LinearOperator]:
        left = self.adjoint() if adjoint else self
        right = other.adjoint() if adjoint_arg else other
        if right.range_dimension != left.domain_dimension:  # None if one of them is unknown
            different = right.range_dimension.value, left.domain_dimension.value
            if None not in different:
                raise ValueError(
                    f"Operators are incompatible. Expected `{what}` to have dimension {left.domain_dimension} but got "
                    f"{right.range_dimension}."
                )
        return left, right

    def _check_fits(self, x: Tensor, own_axis: int, axis: int) -> None:
        self._check_input_dtype(x)
        dimension_at_index(self.shape, own_axis).assert_is_compatible_with(x.shape[axis])

    def matvec(self, x: TensorLike, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """Return the product with vectors.

        Args:
            x: vectors of the same dtype along the last axis.
            adjoint: whether to use the adjoint of this operator.
            name: name of the scope.

        Raises:
            ValueError: the sizes do not match.
            TypeError: ``x`` has another dtype.
        """
        with self._name_scope(name):
            x = convert_to_tensor(x, name="x")
            self._check_fits(x, -2 if adjoint else -1, -1)
            return self._matvec(x, adjoint=adjoint)

    def _matvec(self, x: Tensor, adjoint: bool = False) -> Tensor:
        columns = expand_dims(x, axis=-1)
        return squeeze(self.matmul(columns, adjoint=adjoint), axis=-1)

    # Determinants

    def determinant(self, name: str = "det") -> Tensor:
        """Return the determinants, with the batch shape.

        Args:
            name: name of the scope.

        Raises:
            NotImplementedError: the operator is not square.
        """
        self._refuse_unless_square()
        with self._name_scope(name):
            return self._determinant()

    def _determinant(self) -> Tensor:
        _warn("determinant")
        if self._can_use_cholesky():
            return exp(self.log_abs_determinant())
        return matrix_determinant(self.to_dense())

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Return the logarithms of the absolute values of the determinants.

        Args:
            name: name of the scope.

        Raises:
            NotImplementedError: the operator is not square.
        """
        self._refuse_unless_square()
        with self._name_scope(name):
            return self._log_abs_determinant()

    def _log_abs_determinant(self) -> Tensor:
        _warn("determinant")
        if self._can_use_cholesky():
            diagonal = matrix_diag_part(cholesky_of(self.to_dense()))
            return 2 * reduce_sum(log(diagonal), axis=[-1])
        return log_matrix_determinant(self.to_dense())[1]

    def _refuse_unless_square(self) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                "Determinant not implemented for an operator that is expected to not be square."
            )

    # Solutions

    def solve(
        self, rhs: TensorLike, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """Return the solution of the linear system with right-hand side ``rhs``.

        Args:
            rhs: matrices of the same dtype, in batches that broadcast, or an operator.
            adjoint: whether to use the adjoint of this operator.
            adjoint_arg: whether to use the adjoint of ``rhs``.
            name: name of the scope.

        Returns:
            A tensor; an operator if ``rhs`` is one.

        Raises:
            NotImplementedError: the operator is not square, or singular.
            ValueError: the sizes do not match.
            TypeError: ``rhs`` has another dtype.
        """
        for holds, what in ((self.is_non_singular, "be singular"), (self.is_square, "not be square")):
            if holds is False:
                raise NotImplementedError(
                    f"Exact solve not implemented for an operator that is expected to {what}."
                )
        if isinstance(rhs, LinearOperator):
            left, right = self._fitting(rhs, adjoint, adjoint_arg, "rhs")
            with self._name_scope(name):
                return algebra.solve(left, right)
        with self._name_scope(name):
            rhs = convert_to_tensor(rhs, name="rhs")
            self._check_fits(rhs, -1 if adjoint else -2, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if self.is_square is False:
            raise NotImplementedError("Solve is not yet implemented for non-square operators.")
        _warn("solve")
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        if self._can_use_cholesky():
            return cholesky_solve_with_broadcast(cholesky_of(self.to_dense()), rhs)
        return matrix_solve_with_broadcast(self.to_dense(), rhs, adjoint=adjoint)

    def solvevec(self, rhs: TensorLike, adjoint: bool = False, name: str = "solve") -> Tensor:
        """Return the vectors that solve the linear system with right-hand side ``rhs``.

        Args:
            rhs: vectors of the same dtype along the last axis.
            adjoint: whether to use the adjoint of this operator.
            name: name of the scope.

        Raises:
            ValueError: the sizes do not match.
            TypeError: ``rhs`` has another dtype.
        """
        with self._name_scope(name):
            rhs = convert_to_tensor(rhs, name="rhs")
            self._check_fits(rhs, -1 if adjoint else -2, -1)
            return self._solvevec(rhs, adjoint=adjoint)

    def _solvevec(self, rhs: Tensor, adjoint: bool = False) -> Tensor:
        columns = expand_dims(rhs, axis=-1)
        return squeeze(self.solve(columns, adjoint=adjoint), axis=-1)

    # Other operators

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Return the adjoint.

        Args:
            name: name of the scope.
        """
        if self.is_self_adjoint is True:
            return self
        with self._name_scope(name):
            result: LinearOperator = algebra.adjoint(self)
            return result

    H = property(adjoint, None)
    """The adjoint."""

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the inverse.

        Args:
            name: name of the scope.

        Raises:
            ValueError: the operator is not square, or singular.
        """
        for holds, what in ((self.is_square, "non square"), (self.is_non_singular, "singular")):
            if holds is False:
                raise ValueError(f"Cannot take the Inverse: This operator represents a {what} matrix.")
        with self._name_scope(name):
            result: LinearOperator = algebra.inverse(self)
            return result

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Return the Cholesky factor.

        Args:
            name: name of the scope.

        Raises:
            ValueError: the operator is not known to be self-adjoint and positive definite.
        """
        if not self._can_use_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix."
            )
        with self._name_scope(name):
            result: LinearOperator = algebra.cholesky(self)
            return result

    # Matrices

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """Return the dense matrices.

        Args:
            name: name of the scope.
        """
        with self._name_scope(name):
            return self._to_dense()

    def _to_dense(self) -> Tensor:
        batch: Any = self.batch_shape
        if not batch.is_fully_defined():
            batch = self.batch_shape_tensor()
        count: Any = self.domain_dimension.value
        if count is None:
            count = self.domain_dimension_tensor()
        dense: Tensor = self.matmul(eye(num_rows=count, batch_shape=batch, dtype=self.dtype))
        return dense

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """Return the diagonals.

        Args:
            name: name of the scope.
        """
        with self._name_scope(name):
            return self._diag_part()

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self.to_dense())

    def trace(self, name: str = "trace") -> Tensor:
        """Return the sums of the diagonals.

        Args:
            name: name of the scope.
        """
        with self._name_scope(name):
            return self._trace()

    def _trace(self) -> Tensor:
        return reduce_sum(self.diag_part(), axis=-1)

    def add_to_tensor(self, x: TensorLike, name: str = "add_to_tensor") -> Tensor:
        """Return the matrices plus other ones.

        Args:
            x: the other matrices, of the same dtype and a shape that broadcasts.
            name: name of the scope.

        Raises:
            TypeError: ``x`` has another dtype.
        """
        with self._name_scope(name):
            x = convert_to_tensor(x, name="x")
            self._check_input_dtype(x)
            return self._add_to_tensor(x)

    def _add_to_tensor(self, x: Tensor) -> Tensor:
        return self.to_dense() + x


def _warn(what: str, cost: str = " and O(N^3) operations") -> None:
    """Warn that the operator is converted to a dense matrix."""
    tf_logging.warning(
        f"Using (possibly slow) default implementation of {what}.  Requires conversion to a dense matrix{cost}."
    )
