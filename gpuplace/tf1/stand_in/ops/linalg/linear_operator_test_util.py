"""``tensorflow.python.ops.linalg.linear_operator_test_util``: what tests of kinds of linear operators have in common.

A class below `SquareLinearOperatorDerivedClassTest` or `NonSquareLinearOperatorDerivedClassTest` says how to make an
operator and the matrix that it stands for; `add_tests` then gives it a test of each method of operators for each type,
each shape, and with and without a static shape: what the method answers is compared with what a matrix op answers.

Source: tensorflow/python/ops/linalg/linear_operator_test_util.py, release 1.15 (names, tolerances, shapes).
"""

from __future__ import annotations

import abc
import itertools
from collections.abc import Callable, Iterable
from enum import StrEnum
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

from gpuplace.dtypes import DType, as_dtype, complex64, complex128, float16, float32, float64
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.constant import ones
from gpuplace.ops.array.joining import concat
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.linalg import adjoint as adjoint_of
from gpuplace.ops.math.linalg import cholesky, log_matrix_determinant, matrix_determinant, matrix_inverse
from gpuplace.ops.math.matrix import matmul, matrix_diag_part, trace
from gpuplace.tf1.api.testing.test_case import RANDOM_SEED, TestCase
from gpuplace.tf1.gradients.tape import GradientTape
from gpuplace.tf1.linear_operators.broadcasting import matrix_solve_with_broadcast
from gpuplace.tf1.linear_operators.linear_operator import LinearOperator
from gpuplace.tf1.stand_in.ops.linalg.random_matrices import (
    random_normal,
    random_normal_correlated_columns,
    random_positive_definite_matrix,
    random_sign_uniform,
    random_tril_matrix,
    random_uniform,
)

__all__ = [
    "CheckTapeSafeSkipOptions",
    "LinearOperatorDerivedClassTest",
    "NonSquareLinearOperatorDerivedClassTest",
    "OperatorShapesInfo",
    "SquareLinearOperatorDerivedClassTest",
    "add_tests",
    "random_normal",
    "random_normal_correlated_columns",
    "random_positive_definite_matrix",
    "random_sign_uniform",
    "random_tril_matrix",
    "random_uniform",
]


class OperatorShapesInfo(SimpleNamespace):
    """The shape of the matrix of a test, and what else `operator_and_matrix` of the test is to know.

    Args:
        shape: the shape.
        **kwargs: the rest, by name.
    """

    def __init__(self, shape: Any, **kwargs: Any) -> None:
        super().__init__(shape=shape, **kwargs)


class CheckTapeSafeSkipOptions(StrEnum):
    """Methods that `check_tape_safe` may leave out."""

    DETERMINANT = "determinant"
    DIAG_PART = "diag_part"
    LOG_ABS_DETERMINANT = "log_abs_determinant"
    TRACE = "trace"


_TOLERANCES: dict[DType, float] = {
    float16: 1e-3,
    float32: 1e-5,
    float64: 1e-12,
    complex64: 1e-6,
    complex128: 1e-12,
}


class LinearOperatorDerivedClassTest(TestCase, metaclass=abc.ABCMeta):
    """Tests of a kind of operators; `add_tests` adds them to a class below it that makes the operators."""

    _atol: ClassVar[dict[DType, float]] = dict(_TOLERANCES)
    _rtol: ClassVar[dict[DType, float]] = dict(_TOLERANCES)

    def assertAC(self, x: Any, y: Any) -> None:  # noqa: N802 - TensorFlow's name
        """Fails where two arrays are further apart than the tolerances of their type, ``_atol`` and ``_rtol``, allow.

        Args:
            x: an array, whose type counts.
            y: another one.
        """
        dtype = as_dtype(x.dtype)
        self.assertAllClose(x, y, atol=self._atol[dtype], rtol=self._rtol[dtype])

    def assertRaisesError(self, msg: str) -> Any:  # noqa: N802
        """A block in which a step is expected to fail.

        Args:
            msg: a regular expression for what the error says.
        """
        return self.assertRaisesOpError(msg)

    @staticmethod
    def adjoint_options() -> list[bool]:
        """Whether products and solutions are those of the operator's adjoint: both."""
        return [False, True]

    @staticmethod
    def adjoint_arg_options() -> list[bool]:
        """Whether they are of the adjoint of what they are given: both."""
        return [False, True]

    @staticmethod
    def dtypes_to_test() -> list[DType]:
        """The types of operators."""
        return [float32, float64, complex64, complex128]

    @staticmethod
    def use_placeholder_options() -> list[bool]:
        """Whether operators are made of what has no static shape: both."""
        return [False, True]

    @staticmethod
    def operator_shapes_infos() -> list[OperatorShapesInfo]:
        """The shapes of operators.

        Raises:
            NotImplementedError: a class below says which.
        """
        raise NotImplementedError("operator_shapes_infos has not been implemented.")

    @staticmethod
    def skip_these_tests() -> list[str]:
        """The tests that are left out, without "test_" in front."""
        return []

    @abc.abstractmethod
    def operator_and_matrix(
        self,
        shapes_info: OperatorShapesInfo,
        dtype: DType,
        use_placeholder: bool,
        ensure_self_adjoint_and_pd: bool = False,
    ) -> tuple[LinearOperator, Any]:
        """Returns an operator, and the matrices that it stands for.

        Args:
            shapes_info: their shape.
            dtype: type of the elements.
            use_placeholder: whether the operator is to have no static shape.
            ensure_self_adjoint_and_pd: whether it is to be its own adjoint and positive definite, and known to be.
        """
        raise NotImplementedError("Not implemented yet.")

    @abc.abstractmethod
    def make_rhs(self, operator: LinearOperator, adjoint: bool, with_batch: bool = True) -> Any:
        """Returns right-hand sides for ``operator.solve``.

        Args:
            operator: the operator.
            adjoint: whether its adjoint is solved.
            with_batch: whether there is one for each matrix of the batch, else one for all.
        """
        raise NotImplementedError("make_rhs is not defined.")

    @abc.abstractmethod
    def make_x(self, operator: LinearOperator, adjoint: bool, with_batch: bool = True) -> Any:
        """Returns matrices for ``operator.matmul``.

        Args:
            operator: the operator.
            adjoint: whether the product is that of its adjoint.
            with_batch: whether there is one for each matrix of the batch, else one for all.
        """
        raise NotImplementedError("make_x is not defined.")

    def check_tape_safe(self, operator: LinearOperator, skip_options: Iterable[str] | None = None) -> None:
        """Fails where an answer of an operator has no gradient with respect to one of its variables.

        Which answers are looked at hangs on what is known of the operator.

        Args:
            operator: an operator that has variables.
            skip_options: answers to leave out, of `CheckTapeSafeSkipOptions`; None: none.
        """
        if not operator.variables:
            raise AssertionError("`operator.variables` was empty")
        skipped = set(skip_options or ())

        def check(answer: Callable[[], Tensor]) -> None:
            with GradientTape() as tape:
                for found in tape.gradient(answer(), operator.variables):
                    self.assertIsNotNone(found)

        x = cast(ones(operator.H.shape_tensor()[:-1]), operator.dtype)
        check(lambda: operator.to_dense())
        check(lambda: operator.adjoint().to_dense())
        check(lambda: operator.matvec(x))
        if not operator.is_square:
            return
        for method in CheckTapeSafeSkipOptions:
            if method not in skipped:
                check(getattr(operator, method.value))
        if operator.is_non_singular is False:
            return
        check(lambda: operator.inverse().to_dense())
        check(lambda: operator.solvevec(x))
        if operator.is_self_adjoint and operator.is_positive_definite:
            check(lambda: operator.cholesky().to_dense())

    def _random_columns(
        self, operator: LinearOperator, known: Any, dimension: Callable[[], Tensor], with_batch: bool
    ) -> Tensor:
        """Random matrices with as many rows as a dimension of the operator, with one column or two."""
        columns = 1 if operator.tensor_rank is None or operator.tensor_rank % 2 else 2
        is_known = operator.shape.is_fully_defined()
        sizes: Any = [known.value if is_known else dimension(), columns]
        if with_batch and is_known:
            sizes = [*operator.batch_shape.as_list(), *sizes]
        elif with_batch:
            sizes = concat([operator.batch_shape_tensor(), sizes], 0)
        return random_normal(sizes, dtype=operator.dtype)


class SquareLinearOperatorDerivedClassTest(LinearOperatorDerivedClassTest):
    """Tests of a kind of square operators."""

    @staticmethod
    def operator_shapes_infos() -> list[OperatorShapesInfo]:
        """Square shapes with no, one and two axes of the batch."""
        return [OperatorShapesInfo(s) for s in ((0, 0), (1, 1), (1, 3, 3), (3, 4, 4), (2, 1, 4, 4))]

    def make_rhs(self, operator: LinearOperator, adjoint: bool, with_batch: bool = True) -> Any:
        """Returns random matrices of the size of what `make_x` returns.

        Args:
            operator: the operator.
            adjoint: whether its adjoint is solved.
            with_batch: whether there is one for each matrix of the batch, else one for all.
        """
        return self.make_x(operator, adjoint=not adjoint, with_batch=with_batch)

    def make_x(self, operator: LinearOperator, adjoint: bool, with_batch: bool = True) -> Any:
        """Returns random matrices of one column or two.

        Args:
            operator: the operator.
            adjoint: whether the product is that of its adjoint.
            with_batch: whether there is one for each matrix of the batch, else one for all.
        """
        return self._random_columns(
            operator, operator.domain_dimension, operator.domain_dimension_tensor, with_batch
        )


class NonSquareLinearOperatorDerivedClassTest(LinearOperatorDerivedClassTest):
    """Tests of a kind of operators that are not square: none of what square ones alone have."""

    @staticmethod
    def skip_these_tests() -> list[str]:
        """What square operators alone have."""
        return ["cholesky", "inverse", "solve", "solve_with_broadcast", "det", "log_abs_det"]

    @staticmethod
    def operator_shapes_infos() -> list[OperatorShapesInfo]:
        """Shapes, none of them square, with no, one and two axes of the batch."""
        return [OperatorShapesInfo(s) for s in ((2, 1), (1, 2), (1, 3, 2), (3, 3, 4), (2, 1, 2, 4))]

    def make_rhs(self, operator: LinearOperator, adjoint: bool, with_batch: bool = True) -> Any:
        """Fails: no such operator is solved.

        Args:
            operator: the operator.
            adjoint: whether its adjoint is solved.
            with_batch: whether there is one for each matrix of the batch, else one for all.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("make_rhs not implemented because we don't test solve")

    def make_x(self, operator: LinearOperator, adjoint: bool, with_batch: bool = True) -> Any:
        """Returns random matrices of one column or two.

        Args:
            operator: the operator.
            adjoint: whether the product is that of its adjoint.
            with_batch: whether there is one for each matrix of the batch, else one for all.
        """
        if adjoint:
            known, dimension = operator.range_dimension, operator.range_dimension_tensor
        else:
            known, dimension = operator.domain_dimension, operator.domain_dimension_tensor
        return self._random_columns(operator, known, dimension, with_batch)


class _Trial(NamedTuple):
    """One test: a method, and how it is called."""

    info: OperatorShapesInfo
    dtype: DType
    use_placeholder: bool
    adjoint: bool = False
    adjoint_arg: bool = False


class _Answers(NamedTuple):
    """What is compared: an operator's answers, each beside that of a matrix op."""

    pairs: list[tuple[Any, Any]]
    shape: Any = None
    """The static shape of the first, where that is looked at."""


Answers = Callable[[LinearOperatorDerivedClassTest, _Trial, LinearOperator, Any], _Answers]


def _to_dense(case: Any, trial: _Trial, operator: LinearOperator, matrix: Any) -> _Answers:
    return _Answers([(operator.to_dense(), matrix)], trial.info.shape)


def _add_to_tensor(case: Any, trial: _Trial, operator: LinearOperator, matrix: Any) -> _Answers:
    return _Answers([(operator.add_to_tensor(2 * matrix), 3 * matrix)], trial.info.shape)


def _det(case: Any, trial: _Trial, operator: LinearOperator, matrix: Any) -> _Answers:
    return _Answers([(operator.determinant(), matrix_determinant(matrix))], trial.info.shape[:-2])


def _log_abs_det(case: Any, trial: _Trial, operator: LinearOperator, matrix: Any) -> _Answers:
    return _Answers(
        [(operator.log_abs_determinant(), log_matrix_determinant(matrix)[1])], trial.info.shape[:-2]
    )


def _diag_part(case: Any, trial: _Trial, operator: LinearOperator, matrix: Any) -> _Answers:
    wanted = matrix_diag_part(matrix)
    return _Answers([(operator.diag_part(), wanted)], wanted.shape)


def _trace(case: Any, trial: _Trial, operator: LinearOperator, matrix: Any) -> _Answers:
    wanted = trace(matrix)
    return _Answers([(operator.trace(), wanted)], wanted.shape)


def _adjoint(case: Any, trial: _Trial, operator: LinearOperator, matrix: Any) -> _Answers:
    wanted = adjoint_of(matrix)
    return _Answers([(operator.adjoint().to_dense(), wanted), (operator.H.to_dense(), wanted)])


def _cholesky(case: Any, trial: _Trial, operator: LinearOperator, matrix: Any) -> _Answers:
    return _Answers([(operator.cholesky().to_dense(), cholesky(matrix))])


def _inverse(case: Any, trial: _Trial, operator: LinearOperator, matrix: Any) -> _Answers:
    return _Answers([(operator.inverse().to_dense(), matrix_inverse(matrix))])


def _matmul(case: Any, trial: _Trial, operator: LinearOperator, matrix: Any) -> _Answers:
    x = case.make_x(operator, adjoint=trial.adjoint)
    given = adjoint_of(x) if trial.adjoint_arg else x
    found = operator.matmul(given, adjoint=trial.adjoint, adjoint_arg=trial.adjoint_arg)
    wanted = matmul(matrix, x, adjoint_a=trial.adjoint)
    return _Answers([(found, wanted)], wanted.shape)


def _solve(
    case: Any, trial: _Trial, operator: LinearOperator, matrix: Any, with_batch: bool = True
) -> _Answers:
    rhs = case.make_rhs(operator, adjoint=trial.adjoint, with_batch=with_batch)
    given = adjoint_of(rhs) if trial.adjoint_arg else rhs
    found = operator.solve(given, adjoint=trial.adjoint, adjoint_arg=trial.adjoint_arg)
    wanted = matrix_solve_with_broadcast(matrix, rhs, adjoint=trial.adjoint)
    return _Answers([(found, wanted)], wanted.shape)


def _solve_with_broadcast(case: Any, trial: _Trial, operator: LinearOperator, matrix: Any) -> _Answers:
    return _solve(case, trial, operator, matrix, with_batch=False)


_ANSWERS: dict[str, Answers] = {
    "add_to_tensor": _add_to_tensor,
    "cholesky": _cholesky,
    "det": _det,
    "diag_part": _diag_part,
    "inverse": _inverse,
    "log_abs_det": _log_abs_det,
    "matmul": _matmul,
    "matmul_with_broadcast": _matmul,  # each matrix has one of its own, as in TensorFlow
    "solve": _solve,
    "solve_with_broadcast": _solve_with_broadcast,
    "to_dense": _to_dense,
    "trace": _trace,
}
"""Test -> what it compares."""

_WITH_ADJOINTS = ("matmul", "matmul_with_broadcast", "solve", "solve_with_broadcast")


def _test(name: str, trial: _Trial) -> Callable[[Any], None]:
    """The test of a method, called in one way."""

    def test(self: LinearOperatorDerivedClassTest) -> None:
        if name == "solve_with_broadcast" and len(trial.info.shape) <= 2:
            return  # without a batch it is the test without broadcasting
        with self.session(graph=Graph()) as session:
            session.graph.seed = RANDOM_SEED
            options = {"ensure_self_adjoint_and_pd": True} if name == "cholesky" else {}
            operator, matrix = self.operator_and_matrix(
                trial.info, trial.dtype, use_placeholder=trial.use_placeholder, **options
            )
            pairs, shape = _ANSWERS[name](self, trial, operator, matrix)
            if shape is not None and not trial.use_placeholder:
                self.assertAllEqual(shape, pairs[0][0].shape)
            for found, wanted in session.run(pairs):
                self.assertAC(found, wanted)

    return test


def add_tests(test_cls: type[LinearOperatorDerivedClassTest]) -> None:
    """Gives a class of tests a test of each method, for each type, shape, and way to call it.

    Args:
        test_cls: the class.

    Raises:
        RuntimeError: the class has a test of that name.
    """
    for name in _ANSWERS:
        if name in test_cls.skip_these_tests():
            continue
        adjoints: Iterable[tuple[bool, ...]] = [()]
        if name in _WITH_ADJOINTS:
            adjoints = list(itertools.product(test_cls.adjoint_options(), test_cls.adjoint_arg_options()))
        for dtype, use_placeholder, info, chosen in itertools.product(
            test_cls.dtypes_to_test(),
            test_cls.use_placeholder_options(),
            test_cls.operator_shapes_infos(),
            adjoints,
        ):
            test_name = f"test_{name}__shape={info.shape},dtype={dtype},use_placeholder={use_placeholder}"
            if chosen:
                test_name += f",adjoint={chosen[0]},adjoint_arg={chosen[1]}"
            if hasattr(test_cls, test_name):
                raise RuntimeError(f"Test {test_name} defined more than once")
            setattr(test_cls, test_name, _test(name, _Trial(info, dtype, use_placeholder, *chosen)))
