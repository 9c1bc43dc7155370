"""Operators composed of several: products, block diagonals, Kronecker products.

Source: tensorflow/python/ops/linalg/linear_operator_composition.py, linear_operator_block_diag.py and
linear_operator_kronecker.py, release 1.15.
"""

from __future__ import annotations

import functools
import itertools
import operator
from typing import Any

from gpuplace.dtypes import int32
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import ones_like, zeros
from gpuplace.ops.array.constant import range as numbers
from gpuplace.ops.array.joining import concat, split, stack
from gpuplace.ops.array.padding import broadcast_dynamic_shape, broadcast_static_shape
from gpuplace.ops.array.reshaping import matrix_transpose, rank, reshape, squeeze, transpose
from gpuplace.ops.array.reshaping import shape as shape_of
from gpuplace.ops.flow.control import group
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.linalg import adjoint as adjoint_of
from gpuplace.shapes import TensorShape
from gpuplace.tf1.linear_operators.broadcasting import (
    batch_shape_of,
    batch_shape_tensor_of,
    broadcast_matrix_batch_dims,
    checked_operators,
    graph_parents_of,
    implied,
)
from gpuplace.tf1.linear_operators.linear_operator import LinearOperator


class _CompositeOperator(LinearOperator):
    """An operator composed of a list of others."""

    _operators: list[LinearOperator]

    def _set_up(self, operators: list[Any], name: str, **hints: bool | None) -> None:
        self._operators = operators
        parents = graph_parents_of(operators)
        with name_scope(name, values=parents):
            super().__init__(dtype=operators[0].dtype, graph_parents=parents, name=name, **hints)

    @property
    def operators(self) -> list[LinearOperator]:
        """The list of operators."""
        return self._operators

    def _product(self, method: str) -> Tensor:
        factors = [getattr(one, method) for one in self.operators]
        return functools.reduce(lambda total, compute: total * compute(), factors[1:], factors[0]())

    def _sum(self, method: str) -> Tensor:
        terms = [getattr(one, method) for one in self.operators]
        return functools.reduce(lambda total, compute: total + compute(), terms[1:], terms[0]())

    def _all(self, check: str) -> Operation:
        return group(*[getattr(one, check)() for one in self.operators])


class LinearOperatorComposition(_CompositeOperator):
    """The product of operators: the last one is applied first.

    Args:
        operators: the operators, with one dtype and matching sizes.
        is_non_singular: whether it has an inverse; None if unknown, as for the other properties.
        is_self_adjoint: whether it is self-adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: whether it is square.
        name: name of its scopes; None for the operators' names joined by ``_o_``.

    Raises:
        ValueError: the list is empty, or all are non-singular but ``is_non_singular`` is False.
        TypeError: the dtypes differ.
    """

    def __init__(
        self,
        operators: list[Any],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        operators = checked_operators(operators, "Expected a non-empty list of operators")
        self._set_up(
            operators,
            "_o_".join(one.name for one in operators) if name is None else name,
            is_non_singular=implied(
                is_non_singular,
                all(one.is_non_singular for one in operators),
                "The composition of non-singular operators is always non-singular.",
            ),
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=is_square,
        )

    def _shape(self) -> TensorShape:
        for left, right in itertools.pairwise(self.operators):
            left.domain_dimension.assert_is_compatible_with(right.range_dimension)
        matrix = TensorShape([self.operators[0].range_dimension, self.operators[-1].domain_dimension])
        return batch_shape_of(self.operators).concatenate(matrix)

    def _shape_tensor(self) -> Tensor:
        if self.shape.is_fully_defined():
            sizes: Any = self.shape.as_list()
            return convert_to_tensor(sizes, dtype=int32, name="shape")
        first, last = self.operators[0], self.operators[-1]
        matrix = stack([first.range_dimension_tensor(), last.domain_dimension_tensor()])
        return concat([batch_shape_tensor_of(self.operators), matrix], 0)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        first, *others = self.operators if adjoint else reversed(self.operators)
        result: Tensor = first.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for other in others:
            result = other.matmul(result, adjoint=adjoint)
        return result

    def _determinant(self) -> Tensor:
        return self._product("determinant")

    def _log_abs_determinant(self) -> Tensor:
        return self._sum("log_abs_determinant")

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        first, *others = reversed(self.operators) if adjoint else self.operators
        result: Tensor = first.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for other in others:
            result = other.solve(result, adjoint=adjoint)
        return result


def _common_hints(
    operators: list[Any], what: str, *, is_non_singular: bool | None, is_self_adjoint: bool | None,
    is_positive_definite: bool | None, positive: str = "positive definite",
) -> dict[str, bool | None]:  # fmt: skip
    """Return the properties that hold because they hold for all operators."""
    hints = {}
    for attribute, hint, word in (
        ("is_non_singular", is_non_singular, "non-singular"),
        ("is_self_adjoint", is_self_adjoint, "self-adjoint"),
        ("is_positive_definite", is_positive_definite, positive),
    ):
        message = f"The {what} of {word} operators is always {word}."
        hints[attribute] = implied(hint, all(getattr(one, attribute) for one in operators), message)
    return hints


class LinearOperatorBlockDiag(_CompositeOperator):
    """Square operators as blocks along the diagonal, zeros elsewhere.

    Args:
        operators: the operators, of one dtype.
        is_non_singular: whether it has an inverse; None if unknown, as for the other properties.
        is_self_adjoint: whether it is self-adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: must be True.
        name: name of its scopes; None for the operators' names joined by ``_ds_``.

    Raises:
        ValueError: the list is empty, an operator is not square, or a property contradicts the operators'.
        TypeError: the dtypes differ.
    """

    def __init__(
        self,
        operators: list[Any],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        operators = checked_operators(operators, "Expected a non-empty list of operators")
        hints = _common_hints(
            operators,
            "direct sum",
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
        )
        if not (is_square and all(one.is_square for one in operators)):
            raise ValueError("Can only represent a block diagonal of square matrices.")
        if name is None:
            name = "_ds_".join(one.name for one in operators)
        self._set_up(operators, name, is_square=True, **hints)

    def _shape(self) -> TensorShape:
        columns = functools.reduce(operator.add, [one.domain_dimension for one in self.operators])
        rows = functools.reduce(operator.add, [one.range_dimension for one in self.operators])
        return batch_shape_of(self.operators).concatenate(TensorShape([columns, rows]))

    def _shape_tensor(self) -> Tensor:
        if self.shape.is_fully_defined():
            sizes: Any = self.shape.as_list()
            return convert_to_tensor(sizes, dtype=int32, name="shape")
        first, *others = self.operators
        columns, rows = first.domain_dimension_tensor(), first.range_dimension_tensor()
        for other in others:
            columns = columns + other.domain_dimension_tensor()
            rows = rows + other.range_dimension_tensor()
        matrix = stack([columns, rows])
        return concat([batch_shape_tensor_of(self.operators), matrix], 0)

    def _blocks(self, x: Tensor, axis: int) -> list[Tensor]:
        """Split a tensor into the parts that the blocks are applied to."""
        if self.shape.is_fully_defined():
            sizes: list[Any] = [one.domain_dimension.value for one in self.operators]
        else:
            sizes = [one.domain_dimension_tensor() for one in self.operators]
        return split(x, sizes, axis=axis)

    def _by_block(self, what: str, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        blocks = self._blocks(x, -1 if adjoint_arg else -2)
        results = [
            getattr(one, what)(block, adjoint=adjoint, adjoint_arg=adjoint_arg)
            for one, block in zip(self.operators, blocks, strict=True)
        ]
        return concat(broadcast_matrix_batch_dims(results), axis=-2)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_block("matmul", x, adjoint, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_block("solve", rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Tensor:
        return self._product("determinant")

    def _log_abs_determinant(self) -> Tensor:
        return self._sum("log_abs_determinant")

    def _diag_part(self) -> Tensor:
        parts = broadcast_matrix_batch_dims([one.diag_part()[..., None] for one in self.operators])
        return squeeze(concat(parts, axis=-2), axis=-1)

    def _trace(self) -> Tensor:
        return self._sum("trace")

    def _to_dense(self) -> Tensor:
        before: Any = 0
        rows = []
        for block in broadcast_matrix_batch_dims([one.to_dense() for one in self.operators]):
            ahead = shape_of(block)[:-1]
            left = zeros(shape=concat([ahead, [before]], axis=-1), dtype=block.dtype)
            before = before + shape_of(block)[-1]
            after = concat([ahead, [self.domain_dimension_tensor() - before]], axis=-1)
            right = zeros(shape=after, dtype=block.dtype)
            rows.append(concat([left, block, right], axis=-1))
        matrix = concat(rows, axis=-2)
        matrix.set_shape(self.shape)
        return matrix

    def _assert_non_singular(self) -> Operation:
        return self._all("assert_non_singular")

    def _assert_self_adjoint(self) -> Operation:
        return self._all("assert_self_adjoint")

    def _assert_positive_definite(self) -> Operation:
        return self._all("assert_positive_definite")


class LinearOperatorKronecker(_CompositeOperator):
    """The Kronecker product of operators.

    Args:
        operators: the operators, of one dtype.
        is_non_singular: whether it has an inverse; None if unknown, as for the other properties.
        is_self_adjoint: whether it is self-adjoint.
        is_positive_definite: whether it is positive definite.
        is_square: whether it is square.
        name: name of its scopes; None for the operators' names joined by ``_x_``.

    Raises:
        ValueError: the list is empty, or a property contradicts the operators'.
        TypeError: the dtypes differ.
    """

    def __init__(
        self,
        operators: list[Any],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        operators = checked_operators(operators, "Expected a list of >=1 operators")
        hints = _common_hints(
            operators,
            "Kronecker product",
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            positive="positive-definite",
        )
        if name is None:
            name = "_x_".join(one.name for one in operators)
        self._set_up(operators, name, is_square=is_square, **hints)

    def _shape(self) -> TensorShape:
        columns = functools.reduce(operator.mul, [one.domain_dimension for one in self.operators])
        rows = functools.reduce(operator.mul, [one.range_dimension for one in self.operators])
        return batch_shape_of(self.operators).concatenate(TensorShape([rows, columns]))

    def _shape_tensor(self) -> Tensor:
        columns = self._product("domain_dimension_tensor")
        rows = self._product("range_dimension_tensor")
        batches = [one.batch_shape_tensor for one in self.operators]
        batch = functools.reduce(
            lambda total, compute: broadcast_dynamic_shape(total, compute()), batches[1:], batches[0]()
        )
        return concat([batch, [rows, columns]], 0)

    def _by_factor(self, what: str, x: Tensor, adjoint: bool, adjoint_arg: bool) -> Tensor:
        """Return products or solutions, computed factor by factor.

        The columns of ``x`` become the first axis. For each factor, a vector is then reshaped into a matrix
        with one column for each column of the factor, the factor is applied, and the matrix is flattened
        again.
        """
        if adjoint_arg:
            x = adjoint_of(x)
        ones_of_batch = concat([ones_like(self.batch_shape_tensor()), [1, 1]], 0)
        x = x + zeros(ones_of_batch, dtype=x.dtype.base_dtype)
        result = _last_to_front(x)[None, ...]
        for one in self.operators[:-1]:
            columns = one.range_dimension_tensor() if adjoint else one.domain_dimension_tensor()
            folded = matrix_transpose(_folded(result, columns))
            folded = getattr(one, what)(folded, adjoint=adjoint, adjoint_arg=False)
            folded = _first_to_end(matrix_transpose(folded))
            result = _last_to_front(_unfolded(folded))
        last = getattr(self.operators[-1], f"{what}vec" if what == "solve" else "matvec")
        result = _first_to_end(last(result, adjoint=adjoint))
        result = _first_to_end(_unfolded(result))
        if x.shape.is_fully_defined():
            rows = self.domain_dimension if adjoint else self.range_dimension
            batch = broadcast_static_shape(x.shape[:-2], self.batch_shape)
            result.set_shape(batch.concatenate([rows, x.shape[-1]]))
        return result

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_factor("matmul", x, adjoint, adjoint_arg)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        return self._by_factor("solve", rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Tensor:
        total = self.domain_dimension_tensor()
        determinant: Any = 1.0
        for one in self.operators:
            power = one.determinant() ** cast(total / one.domain_dimension_tensor(), dtype=one.dtype)
            determinant = determinant * power
        return determinant

    def _log_abs_determinant(self) -> Tensor:
        total = self.domain_dimension_tensor()
        determinant: Any = 0.0
        for one in self.operators:
            of_one = one.log_abs_determinant()
            determinant = determinant + of_one * cast(total / one.domain_dimension_tensor(), dtype=one.dtype)
        return determinant

    def _trace(self) -> Tensor:
        trace: Any = 1.0
        for one in self.operators:
            trace = trace * one.trace()
        return trace

    def _diag_part(self) -> Tensor:
        diagonal = self.operators[0].diag_part()
        for one in self.operators[1:]:
            diagonal = diagonal[..., :, None]
            diagonal = diagonal * one.diag_part()[..., None, :]
            diagonal = reshape(diagonal, shape=concat([shape_of(diagonal)[:-2], [-1]], axis=0))
        smaller = self.range_dimension
        if smaller > self.domain_dimension:
            smaller = self.domain_dimension
        diagonal.set_shape(self.batch_shape.concatenate([smaller]))
        return diagonal

    def _to_dense(self) -> Tensor:
        dense = self.operators[0].to_dense()
        for one in self.operators[1:]:
            dense = dense[..., :, None, :, None]
            dense = dense * one.to_dense()[..., None, :, None, :]
            ahead = shape_of(dense)[:-4]
            rows = shape_of(dense)[-4] * shape_of(dense)[-3]
            columns = shape_of(dense)[-2] * shape_of(dense)[-1]
            dense = reshape(dense, shape=concat([ahead, [rows, columns]], axis=0))
        dense.set_shape(self.shape)
        return dense

    def _assert_non_singular(self) -> Operation:
        return self._all_if_square("assert_non_singular", "invertible")

    def _assert_self_adjoint(self) -> Operation:
        return self._all_if_square("assert_self_adjoint", "self adjoint")

    def _all_if_square(self, check: str, word: str) -> Operation:
        if not all(one.is_square for one in self.operators):
            raise InvalidArgumentError.of(
                f"All Kronecker factors must be square for the product to be {word}."
            )
        return self._all(check)


def _unfolded(x: Tensor) -> Tensor:
    """Flatten matrices into vectors, column by column."""
    columns = matrix_transpose(x)
    return reshape(columns, concat([shape_of(x)[:-2], [-1]], axis=0))


def _folded(y: Tensor, columns: Tensor) -> Tensor:
    """Reshape vectors into matrices, column by column."""
    return matrix_transpose(reshape(y, concat([shape_of(y)[:-1], [columns, -1]], axis=0)))


def _last_to_front(x: Tensor) -> Tensor:
    axes = rank(x)
    return transpose(x, concat([[axes - 1], numbers(0, axes - 1)], axis=0))


def _first_to_end(x: Tensor) -> Tensor:
    axes = rank(x)
    return transpose(x, concat([numbers(1, axes), [0]], axis=0))
