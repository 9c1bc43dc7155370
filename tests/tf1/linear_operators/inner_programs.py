"""Calls of what helps linear operators and their tests, in the form of ``tests/ops/short_programs.py``."""

import unittest
from concurrent.futures import ThreadPoolExecutor


def _randoms(m):
    return m("ops.linalg.linear_operator_test_util")


def _sum(m, *operators, **options):
    """The sum of operators: what it is made of, what is known of it, and its matrices."""
    made = m("ops.linalg.linear_operator_addition").add_operators(list(operators), **options)
    hints = [[one.is_non_singular, one.is_self_adjoint, one.is_positive_definite] for one in made]
    return [[type(one).__name__, one.name] for one in made], hints, [one.to_dense() for one in made]


def _tiers(m, *names):
    addition = m("ops.linalg.linear_operator_addition")
    return [[getattr(addition, f"_AddAndReturn{name}")()] for name in names]


def _tests(tf, m, np, below, factor, dtypes=("float32",), skipped=()):
    """A class of tests of diagonal operators, whose matrix is ``factor`` times what it should be."""
    util = m("ops.linalg.linear_operator_test_util")

    class DiagTest(getattr(util, below)):
        @staticmethod
        def dtypes_to_test():
            return [tf.as_dtype(name) for name in dtypes]

        @staticmethod
        def operator_shapes_infos():
            return [util.OperatorShapesInfo(shape) for shape in ((2, 2), (3, 2, 2))]

        @staticmethod
        def skip_these_tests():
            return list(skipped)

        def operator_and_matrix(self, shapes_info, dtype, use_placeholder, ensure_self_adjoint_and_pd=False):
            diagonal = np.full(shapes_info.shape[:-1], 2.0, dtype.as_numpy_dtype)
            given = tf.placeholder_with_default(diagonal, None) if use_placeholder else diagonal
            hint = True if ensure_self_adjoint_and_pd else None
            operator = tf.linalg.LinearOperatorDiag(given, is_self_adjoint=hint, is_positive_definite=hint)
            return operator, tf.linalg.diag(diagonal * dtype.as_numpy_dtype(factor))

        def make_rhs(self, operator, adjoint, with_batch=True):
            return self.make_x(operator, adjoint, with_batch)

        def make_x(self, operator, adjoint, with_batch=True):
            sizes = operator.batch_shape_tensor() if with_batch else []
            return tf.ones(tf.concat([tf.cast(sizes, "int32"), [2, 1]], 0), operator.dtype)

    util.add_tests(DiagTest)
    return DiagTest


def _names(case):
    return sorted(name for name in dir(case) if name.startswith("test_") and name != "test_session")


def _failing(case):
    """The names of the tests that fail, without how they were called; their thread has its own default graph."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_failing_here, case).result()


def _failing_here(case):
    failing = set()
    for name in _names(case):
        result = unittest.TestResult()
        case(name).run(result)
        assert not result.errors, result.errors
        failing.update(name.split("__")[0] for _ in result.failures)
    return sorted(failing)


def _tape_safe(tf, m, np, reads_variable, **options):
    """Whether an operator whose diagonal hangs on its variable or not passes, and what is said if not."""
    case = _tests(tf, m, np, "SquareLinearOperatorDerivedClassTest", 1.0)("assertAC")
    diagonal = tf.Variable([1.0, 2.0], use_resource=True)
    operator = tf.linalg.LinearOperatorDiag(diagonal, is_positive_definite=True)
    if not reads_variable:
        operator = tf.linalg.LinearOperatorDiag([1.0, 2.0])
        operator.beside = diagonal
    case.check_tape_safe(operator, **options)
    return len(operator.variables)


PROGRAMS = {
    "normal values": lambda tf, m, np: [
        _randoms(m).random_normal([2, 2], seed=3),
        _randoms(m).random_normal([3], 1.0, 2.0, "complex64", seed=3),
        _randoms(m).random_normal([3], dtype=np.complex128),
    ],
    "uniform values": lambda tf, m, np: [
        _randoms(m).random_uniform([2, 2], -1.0, 3.0, seed=4),
        _randoms(m).random_uniform([3], 1.0, 2.0, "complex64", seed=4),
    ],
    "uniform values of either sign": lambda tf, m, np: [
        _randoms(m).random_sign_uniform([9], 1.0, 2.0, "float64", seed=5),
        _randoms(m).random_sign_uniform([3], 1.0, 2.0, "complex64", seed=5),
    ],
    "triangles": lambda tf, m, np: [
        _randoms(m).random_tril_matrix([2, 3, 3], "float32"),
        _randoms(m).random_tril_matrix([2, 2], tf.complex64, force_well_conditioned=True),
        _randoms(m).random_tril_matrix([3, 3], tf.float64, True, remove_upper=False),
    ],
    "positive definite matrices": lambda tf, m, np: [
        _randoms(m).random_positive_definite_matrix([2, 2], "float32"),
        _randoms(m).random_positive_definite_matrix(tf.TensorShape([2, 2, 2]), "complex64", True),
        _randoms(m).random_positive_definite_matrix(tf.constant([2, 2]), "float64"),
    ],
    "positive definite, not square": lambda tf, m, np: _randoms(m).random_positive_definite_matrix(
        [2, 3], "float32"
    ),
    "correlated columns": lambda tf, m, np: [
        _randoms(m).random_normal_correlated_columns([2, 3], seed=6, eps=0.0),
        _randoms(m).random_normal_correlated_columns([3, 2], mean=1.0, seed=6),
        _randoms(m).random_normal_correlated_columns([2, 1], seed=6),
    ],
    "correlated columns without rows": lambda tf, m, np: _randoms(m).random_normal_correlated_columns([3]),
    "names of tests": lambda tf, m, np: _names(
        _tests(tf, m, np, "SquareLinearOperatorDerivedClassTest", 1.0, ("float32", "complex128"), ["trace"])
    ),
    "shapes and types that are tested": lambda tf, m, np: [
        [
            [str(info.shape) for info in getattr(_randoms(m), name).operator_shapes_infos()],
            [dtype.name for dtype in getattr(_randoms(m), name).dtypes_to_test()],
            sorted(getattr(_randoms(m), name).skip_these_tests()),
        ]
        for name in ("SquareLinearOperatorDerivedClassTest", "NonSquareLinearOperatorDerivedClassTest")
    ],
    "tests of an operator that is right": lambda tf, m, np: [
        tf.constant(1),
        _failing(_tests(tf, m, np, "SquareLinearOperatorDerivedClassTest", 1.0)),
    ],
    "tests of one that is not": lambda tf, m, np: [
        tf.constant(1),
        _failing(_tests(tf, m, np, "SquareLinearOperatorDerivedClassTest", -1.5, skipped=["cholesky"])),
    ],
    "tests twice": lambda tf, m, np: _randoms(m).add_tests(
        _tests(tf, m, np, "SquareLinearOperatorDerivedClassTest", 1.0)
    ),
    "gradients of variables": lambda tf, m, np: _tape_safe(tf, m, np, True),
    "gradients of a variable that is not read": lambda tf, m, np: _tape_safe(tf, m, np, False),
    "an operator without variables": lambda tf, m, np: _tests(
        tf, m, np, "SquareLinearOperatorDerivedClassTest", 1.0
    )("assertAC").check_tape_safe(tf.linalg.LinearOperatorIdentity(2)),
    "a sum of identities": lambda tf, m, np: _sum(
        m, tf.linalg.LinearOperatorIdentity(2), tf.linalg.LinearOperatorScaledIdentity(2, [3.0, 4.0], name="s")
    ),
    "a sum of diagonals": lambda tf, m, np: _sum(
        m, tf.linalg.LinearOperatorDiag([1.0, 2.0], is_positive_definite=True, name="d"),
        tf.linalg.LinearOperatorIdentity(2), tf.linalg.LinearOperatorDiag([3.0, 2.0]), operator_name="all",
    ),
    "a sum of triangles": lambda tf, m, np: _sum(
        m, tf.linalg.LinearOperatorLowerTriangular([[1.0, 5.0], [2.0, 3.0]], name="t"),
        tf.linalg.LinearOperatorDiag([1.0, 2.0]), tf.linalg.LinearOperatorLowerTriangular([[1.0, 0.0], [2.0, 3.0]]),
    ),
    "a sum of all kinds": lambda tf, m, np: _sum(
        m, tf.linalg.LinearOperatorFullMatrix([[1.0, 5.0], [2.0, 3.0]], is_self_adjoint=True, name="f"),
        tf.linalg.LinearOperatorDiag([1.0, 2.0]), tf.linalg.LinearOperatorIdentity(2),
        tf.linalg.LinearOperatorLowerTriangular([[1.0, 0.0], [2.0, 3.0]]),
    ),
    "a sum of one": lambda tf, m, np: _sum(m, tf.linalg.LinearOperatorIdentity(2)),
    "a sum in other tiers": lambda tf, m, np: _sum(
        m, tf.linalg.LinearOperatorDiag([1.0, 2.0], name="a"),
        tf.linalg.LinearOperatorFullMatrix([[1.0, 5.0], [2.0, 3.0]], name="b"),
        tf.linalg.LinearOperatorDiag([1.0, 2.0], name="c"), addition_tiers=_tiers(m, "Diag"),
    ),
    "a sum of nothing": lambda tf, m, np: _sum(m),
    "a sum with a number": lambda tf, m, np: _sum(m, 1.0),
    "a sum of two sizes": lambda tf, m, np: _sum(
        m, tf.linalg.LinearOperatorIdentity(2, name="two"), tf.linalg.LinearOperatorIdentity(3, name="three")
    ),
    "a sum of two batches": lambda tf, m, np: _sum(
        m, tf.linalg.LinearOperatorDiag(np.ones([2, 3], "f")), tf.linalg.LinearOperatorDiag(np.ones([3, 3], "f"))
    ),
    "a sum with hints": lambda tf, m, np: [
        [one.is_non_singular, one.is_positive_definite, one.is_self_adjoint, one.name]
        for adder, hints in (
            ("Diag", {"is_positive_definite": False, "is_non_singular": False}), ("Matrix", {"is_self_adjoint": False}),
        )
        for one in [
            getattr(m("ops.linalg.linear_operator_addition"), "_AddAndReturn" + adder)().add(
                tf.linalg.LinearOperatorDiag([1.0], is_positive_definite=True), tf.linalg.LinearOperatorIdentity(1),
                None, m("ops.linalg.linear_operator_addition")._Hints(**hints),
            )
        ]
    ],
    "products of unknown rank": lambda tf, m, np: [
        [tf.matmul(a, b, transpose_b=swap).op.type, tf.matmul(a, b, transpose_b=swap)]
        for swap in (False, True)
        for a, b in (
            (tf.placeholder_with_default(np.ones([2, 2, 2], "f"), None), tf.constant([[1.0, 2.0], [3.0, 4.0]])),
            (tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.placeholder_with_default(np.ones([2, 2, 2], "f"), None)),
        )
    ],
    "a label of kernels": lambda tf, m, np: _labelled(tf, m),
}  # fmt: skip


def _labelled(tf, m):
    with m("ops.spectral_ops_test_util").fft_kernel_label_map():
        return tf.signal.fft(tf.constant([1.0, 2.0], tf.complex64))
