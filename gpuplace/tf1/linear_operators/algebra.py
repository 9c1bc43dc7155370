"""Functions of one or two operators, which are looked up by the operators' classes.

Source: tensorflow/python/ops/linalg/linear_operator_algebra.py, release 1.15.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

from gpuplace.graph.convert import name_scope

Rule = Callable[..., Any]
"""A function that returns an operator for one or two operators."""

Table = dict[tuple[type, ...], Rule]

ADJOINTS: Table = {}
"""Functions registered for adjoints, by class; the other tables are similar."""
CHOLESKY_DECOMPS: Table = {}
INVERSES: Table = {}
MATMUL: Table = {}
SOLVE: Table = {}


def registered(table: Table, *types: type) -> Rule | None:
    """Return the function for classes, or for their nearest base classes, or None.

    Args:
        table: the table to search.
        *types: the classes.
    """
    lines = [list(enumerate(inspect.getmro(type_))) for type_ in types]
    best, nearest = None, None
    for combination in itertools.product(*lines):
        steps = sum(step for step, _ in combination)
        rule = table.get(tuple(above for _, above in combination))
        if rule is not None and (nearest is None or steps < nearest):
            best, nearest = rule, steps
    return best


registered_adjoint = functools.partial(registered, ADJOINTS)
"""The function for a class of operators, or None; the others are similar."""
registered_cholesky = functools.partial(registered, CHOLESKY_DECOMPS)
registered_inverse = functools.partial(registered, INVERSES)
registered_matmul = functools.partial(registered, MATMUL)
registered_solve = functools.partial(registered, SOLVE)


def _applied(table: Table, scope: str, name: str | None, missing: str, *operators: Any) -> Any:
    types = [type(operator) for operator in operators]
    rule = registered(table, *types)
    if rule is None:
        raise ValueError(missing.format(*types))
    with name_scope(name, scope):
        return rule(*operators)


def adjoint(lin_op_a: Any, name: str | None = None) -> Any:
    """Return the adjoint of an operator.

    Args:
        lin_op_a: the operator.
        name: name of the scope.

    Raises:
        ValueError: no function is registered for its class.
    """
    return _applied(ADJOINTS, "Adjoint", name, "No adjoint registered for {}", lin_op_a)


def cholesky(lin_op_a: Any, name: str | None = None) -> Any:
    """Return the Cholesky factor of an operator.

    Args:
        lin_op_a: the operator.
        name: name of the scope.

    Raises:
        ValueError: no function is registered for its class.
    """
    missing = "No cholesky decomposition registered for {}"
    return _applied(CHOLESKY_DECOMPS, "Cholesky", name, missing, lin_op_a)


def inverse(lin_op_a: Any, name: str | None = None) -> Any:
    """Return the inverse of an operator.

    Args:
        lin_op_a: the operator.
        name: name of the scope.

    Raises:
        ValueError: no function is registered for its class.
    """
    return _applied(INVERSES, "Inverse", name, "No inverse registered for {}", lin_op_a)


def matmul(lin_op_a: Any, lin_op_b: Any, name: str | None = None) -> Any:
    """Return the product of two operators.

    Args:
        lin_op_a: the left operator.
        lin_op_b: the right operator.
        name: name of the scope.

    Raises:
        ValueError: no function is registered for their classes.
    """
    return _applied(MATMUL, "Matmul", name, "No matmul registered for {}.matmul({})", lin_op_a, lin_op_b)


def solve(lin_op_a: Any, lin_op_b: Any, name: str | None = None) -> Any:
    """Return the operator whose product with the first one is the second one.

    Args:
        lin_op_a: the first operator.
        lin_op_b: the second operator.
        name: name of the scope.

    Raises:
        ValueError: no function is registered for their classes.
    """
    return _applied(SOLVE, "Solve", name, "No solve registered for {}.solve({})", lin_op_a, lin_op_b)


class _Register:
    """A decorator that adds a function to a table."""

    _table: Table
    _what: str

    def __init__(self, *classes: type) -> None:
        self._key = classes

    def __call__(self, function: Rule) -> Rule:
        if not callable(function):
            raise TypeError(f"{self._what.lower()}_fn must be callable, received: {function}")
        if self._key in self._table:
            names = ", ".join(one.__name__ for one in self._key)
            ending = f" to: {self._table[self._key]}" if len(self._key) == 1 else "."
            raise ValueError(f"{self._what}({names}) has already been registered{ending}")
        self._table[self._key] = function
        return function


class RegisterAdjoint(_Register):
    """A decorator that registers the adjoint of a class of operators.

    Args:
        lin_op_cls_a: the class.
    """

    _table, _what = ADJOINTS, "Adjoint"

    def __init__(self, lin_op_cls_a: type) -> None:
        super().__init__(lin_op_cls_a)


class RegisterCholesky(_Register):
    """A decorator that registers the Cholesky factor of a class of operators.

    Args:
        lin_op_cls_a: the class.
    """

    _table, _what = CHOLESKY_DECOMPS, "Cholesky"

    def __init__(self, lin_op_cls_a: type) -> None:
        super().__init__(lin_op_cls_a)


class RegisterInverse(_Register):
    """A decorator that registers the inverse of a class of operators.

    Args:
        lin_op_cls_a: the class.
    """

    _table, _what = INVERSES, "Inverse"

    def __init__(self, lin_op_cls_a: type) -> None:
        super().__init__(lin_op_cls_a)


class RegisterMatmul(_Register):
    """A decorator that registers the product of two classes of operators.

    Args:
        lin_op_cls_a: class of the left operator.
        lin_op_cls_b: class of the right operator.
    """

    _table, _what = MATMUL, "Matmul"

    def __init__(self, lin_op_cls_a: type, lin_op_cls_b: type) -> None:
        super().__init__(lin_op_cls_a, lin_op_cls_b)


class RegisterSolve(_Register):
    """A decorator that registers the solution for two classes of operators.

    Args:
        lin_op_cls_a: class of the first operator.
        lin_op_cls_b: class of the second operator.
    """

    _table, _what = SOLVE, "Solve"

    def __init__(self, lin_op_cls_a: type, lin_op_cls_b: type) -> None:
        super().__init__(lin_op_cls_a, lin_op_cls_b)
