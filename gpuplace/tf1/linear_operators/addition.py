"""Sums of operators: as few operators as possible, each of the simplest kind that holds the sum.

Pairs are added in tiers. What a tier's adders can add is added there, the results again, and the rest goes on to the
next: identities stay identities, what is diagonal stays so, then triangular, and the last tier writes the matrices out.

Source: tensorflow/python/ops/linalg/linear_operator_addition.py, release 1.15.
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import ones
from gpuplace.ops.array.padding import broadcast_static_shape
from gpuplace.ops.math.check_ops import assert_proper_iterable
from gpuplace.tf1.linear_operators.identity import LinearOperatorIdentity, LinearOperatorScaledIdentity
from gpuplace.tf1.linear_operators.linear_operator import LinearOperator
from gpuplace.tf1.linear_operators.structured import (
    LinearOperatorDiag,
    LinearOperatorFullMatrix,
    LinearOperatorLowerTriangular,
)

_IDENTITIES = (LinearOperatorIdentity, LinearOperatorScaledIdentity)
_DIAGONAL = (LinearOperatorDiag, *_IDENTITIES)
_TRIANGULAR = (LinearOperatorLowerTriangular, *_DIAGONAL)
_KNOWN = (LinearOperatorFullMatrix, *_TRIANGULAR)


def _are(kinds: tuple[type[LinearOperator], ...], *operators: LinearOperator) -> bool:
    """Whether all operators are of some kinds; TypeError for one that is of no kind that is added."""
    for one in operators:
        if not isinstance(one, _KNOWN):
            raise TypeError(f"Operator type unknown: {one}")
    return all(isinstance(one, kinds) for one in operators)


class Hints(NamedTuple):
    """What is known of a sum; None: what follows from its parts."""

    is_non_singular: bool | None = None
    """Whether it has an inverse."""
    is_positive_definite: bool | None = None
    """Whether it is positive definite."""
    is_self_adjoint: bool | None = None
    """Whether it is its own adjoint."""


def _hints_of(op1: LinearOperator, op2: LinearOperator, given: Hints) -> Hints:
    """What is known of the sum of two operators; what somebody says goes first."""
    self_adjoint, positive, non_singular = (
        given.is_self_adjoint,
        given.is_positive_definite,
        given.is_non_singular,
    )
    if self_adjoint is None:
        self_adjoint = op1.is_self_adjoint and op2.is_self_adjoint
    if positive is None:
        positive = op1.is_positive_definite and op2.is_positive_definite
        non_singular = True if positive else non_singular
    return Hints(non_singular, positive, self_adjoint)


class Adder(abc.ABC):
    """Adds two operators, where it can."""

    @property
    def name(self) -> str:
        """Its name, that of the class."""
        return type(self).__name__

    @abc.abstractmethod
    def can_add(self, op1: LinearOperator, op2: LinearOperator) -> bool:
        """Whether it can.

        Args:
            op1: an operator.
            op2: another one.
        """

    @abc.abstractmethod
    def _add(
        self, op1: LinearOperator, op2: LinearOperator, operator_name: str, hints: Hints
    ) -> LinearOperator:
        """The sum."""

    def add(
        self, op1: LinearOperator, op2: LinearOperator, operator_name: str | None, hints: Hints | None = None
    ) -> LinearOperator:
        """Returns the sum of two operators that it can add.

        Args:
            op1: an operator.
            op2: another one.
            operator_name: name of the sum; None: one that names both.
            hints: what is known of the sum; None: what follows from the two.
        """
        known = _hints_of(op1, op2, hints or Hints())
        if operator_name is None:
            operator_name = f"Add/{op1.name}__{op2.name}/"
        with name_scope(self.name.removeprefix("_"), values=op1.graph_parents + op2.graph_parents):
            return self._add(op1, op2, operator_name, known)


class AddAndReturnScaledIdentity(Adder):
    """Adds identities, times numbers or not."""

    def can_add(self, op1: LinearOperator, op2: LinearOperator) -> bool:
        """Whether both are identities.

        Args:
            op1: an operator.
            op2: another one.
        """
        return _are(_IDENTITIES, op1, op2)

    def _add(
        self, op1: LinearOperator, op2: LinearOperator, operator_name: str, hints: Hints
    ) -> LinearOperator:
        first, second = (
            one.multiplier
            if isinstance(one, LinearOperatorScaledIdentity)
            else ones(one.batch_shape_tensor(), dtype=one.dtype)
            for one in (op1, op2)
        )
        return LinearOperatorScaledIdentity(
            num_rows=op1.range_dimension_tensor(),
            multiplier=first + second,
            name=operator_name,
            **hints._asdict(),
        )


class AddAndReturnDiag(Adder):
    """Adds operators with nothing beside the diagonal."""

    def can_add(self, op1: LinearOperator, op2: LinearOperator) -> bool:
        """Whether both are diagonal.

        Args:
            op1: an operator.
            op2: another one.
        """
        return _are(_DIAGONAL, op1, op2)

    def _add(
        self, op1: LinearOperator, op2: LinearOperator, operator_name: str, hints: Hints
    ) -> LinearOperator:
        return LinearOperatorDiag(
            diag=op1.diag_part() + op2.diag_part(), name=operator_name, **hints._asdict()
        )


def _written_out(op1: LinearOperator, op2: LinearOperator) -> Tensor:
    """The sum as matrices; the one that is diagonal is added to the other."""
    added, other = (op1, op2) if _are(_DIAGONAL, op1) else (op2, op1)
    return added.add_to_tensor(other.to_dense())


class AddAndReturnTriL(Adder):
    """Adds operators with nothing above the diagonal."""

    def can_add(self, op1: LinearOperator, op2: LinearOperator) -> bool:
        """Whether both are diagonal or lower triangular.

        Args:
            op1: an operator.
            op2: another one.
        """
        return _are(_TRIANGULAR, op1, op2)

    def _add(
        self, op1: LinearOperator, op2: LinearOperator, operator_name: str, hints: Hints
    ) -> LinearOperator:
        return LinearOperatorLowerTriangular(
            tril=_written_out(op1, op2), name=operator_name, **hints._asdict()
        )


class AddAndReturnMatrix(Adder):
    """Adds any two operators: the sum is a matrix that is written out."""

    def can_add(self, op1: LinearOperator, op2: LinearOperator) -> bool:
        """Whether both are operators.

        Args:
            op1: an operator.
            op2: another one.
        """
        return isinstance(op1, LinearOperator) and isinstance(op2, LinearOperator)

    def _add(
        self, op1: LinearOperator, op2: LinearOperator, operator_name: str, hints: Hints
    ) -> LinearOperator:
        return LinearOperatorFullMatrix(matrix=_written_out(op1, op2), name=operator_name, **hints._asdict())


TIERS: Sequence[Sequence[Adder]] = (
    (AddAndReturnScaledIdentity(),),
    (AddAndReturnDiag(),),
    (AddAndReturnTriL(),),
    (AddAndReturnMatrix(),),
)
"""The adders, from the simplest sums to those that are written out."""


def _check_dimensions(operators: Sequence[LinearOperator]) -> None:
    for what in ("domain", "range"):
        sizes = [(one.name, getattr(one, f"{what}_dimension").value) for one in operators]
        known = [(name, size) for name, size in sizes if size is not None]
        if len({size for _, size in known}) > 1:
            raise ValueError(f"Operators must have the same {what} dimension. Found: {known}")


def add_operators(
    operators: Any,
    operator_name: str | None = None,
    addition_tiers: Sequence[Sequence[Adder]] | None = None,
    name: str | None = None,
) -> list[LinearOperator]:
    """Returns operators whose sum is that of others, one where the tiers can add all.

    >>> import gpuplace as tf
    >>> both = [tf.linalg.LinearOperatorIdentity(2), tf.linalg.LinearOperatorDiag([1.0, 2.0])]
    >>> [tf.Session().run(one.to_dense()).tolist() for one in add_operators(both)]
    [[[2.0, 0.0], [0.0, 3.0]]]

    Args:
        operators: a list of operators of one type and size, in batches that broadcast.
        operator_name: name of sums; None: one that names the two parts of each.
        addition_tiers: lists of adders, one list after the other; None: identities, diagonals, triangles, matrices.
        name: name of the scope.

    Raises:
        ValueError: there is none, or their sizes do not fit.
        TypeError: one of them is no operator, or of a kind that none of the adders knows.
    """
    assert_proper_iterable(operators)
    waiting = list(reversed(list(operators)))
    if not waiting:
        raise ValueError(f"Argument 'operators' must contain at least one operator.  Found: {waiting}")
    if not all(isinstance(one, LinearOperator) for one in waiting):
        raise TypeError(f"Argument 'operators' must contain only LinearOperator instances.  Found: {waiting}")
    _check_dimensions(waiting)
    functools.reduce(broadcast_static_shape, [one.batch_shape for one in waiting])
    parents: list[Any] = [parent for one in waiting for parent in one.graph_parents]
    with name_scope(name or "add_operators", values=parents):
        for tier in TIERS if addition_tiers is None else addition_tiers:
            waiting = _added(waiting, tier, operator_name)
        return waiting


def _added(
    waiting: list[LinearOperator], tier: Sequence[Adder], operator_name: str | None
) -> list[LinearOperator]:
    """What one tier makes of operators, those first that stand last."""
    left: list[LinearOperator] = []
    while waiting:
        one = waiting.pop()
        pairs = ((index, adder) for index in reversed(range(len(waiting))) for adder in tier)
        found = next(((index, adder) for index, adder in pairs if adder.can_add(one, waiting[index])), None)
        if found is None:
            left.append(one)
            continue
        index, adder = found
        waiting.append(adder.add(one, waiting.pop(index), operator_name))
    return left
