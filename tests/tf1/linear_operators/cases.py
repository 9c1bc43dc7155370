"""What linear operators answer: each case gives tensors, which TensorFlow 1.15.5 was asked for too.

They run in a graph of their own, here and, by ``tests/oracle/record/answers.py``, in TensorFlow 1.15.5.
"""

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def answers(tf, operator, n, solvable=True):
    """What an operator makes of a batch of matrices, and all that it can be asked."""
    x = tf.reshape(tf.cast(tf.linspace(-1.0, 1.0, 2 * n * 3), operator.dtype), [2, n, 3])
    found = [operator.to_dense(), operator.diag_part(), operator.trace(), operator.adjoint().to_dense()]
    found += [operator.matmul(x), operator.matmul(x, adjoint=True), operator.matvec(x[..., 0])]
    found += [
        operator.matmul(tf.linalg.adjoint(x), adjoint_arg=True),
        operator.add_to_tensor(operator.to_dense()),
    ]
    if solvable:
        found += [operator.solve(x), operator.solve(x, adjoint=True), operator.solvevec(x[..., 1])]
        found += [operator.determinant(), operator.log_abs_determinant(), operator.inverse().matmul(x)]
    if operator.is_positive_definite and operator.is_self_adjoint:
        found.append(operator.cholesky().to_dense())
    return found


POSITIVE = {"is_self_adjoint": True, "is_positive_definite": True}
COMPLEX = [[2.0 + 1.0j, 0.5j], [1.0, 3.0 - 1.0j]]


@case
def given_by_matrices(tf):
    linalg = tf.linalg
    matrix = [[2.0, 1.0], [1.0, 3.0]]
    return [
        *answers(tf, linalg.LinearOperatorFullMatrix(matrix, **POSITIVE), 2),
        *answers(tf, linalg.LinearOperatorFullMatrix([[2.0, 1.0], [-1.0, 3.0]]), 2),
        *answers(tf, linalg.LinearOperatorFullMatrix(tf.constant(COMPLEX, tf.complex128)), 2),
        linalg.LinearOperatorFullMatrix([[2.0, 1.0], [-1.0, 3.0], [0.5, 1.0]]).matvec([1.0, 2.0]),
        *answers(tf, linalg.LinearOperatorDiag([1.0, 2.0], is_positive_definite=True), 2),
        *answers(tf, linalg.LinearOperatorDiag(tf.constant([1.0 + 1.0j, 2.0], tf.complex128)), 2),
        *answers(tf, linalg.LinearOperatorLowerTriangular([[2.0, 9.0], [1.0, 3.0]]), 2),
        *answers(tf, linalg.LinearOperatorHouseholder([1.0, 2.0, 2.0]), 3),
    ]


@case
def given_by_sizes(tf):
    linalg = tf.linalg
    return [
        *answers(tf, linalg.LinearOperatorIdentity(2), 2),
        *answers(tf, linalg.LinearOperatorIdentity(2, batch_shape=[2]), 2),
        *answers(tf, linalg.LinearOperatorScaledIdentity(2, [2.0, -3.0]), 2),
        *answers(tf, linalg.LinearOperatorScaledIdentity(2, tf.constant(1.0 + 2.0j, tf.complex128)), 2),
        *answers(tf, linalg.LinearOperatorZeros(2), 2, solvable=False),
        linalg.LinearOperatorZeros(3, 2, is_square=False, is_self_adjoint=False).matmul([[1.0], [2.0]]),
    ]


@case
def of_others(tf):
    linalg = tf.linalg
    matrix = linalg.LinearOperatorFullMatrix(
        [[[2.0, 1.0], [-1.0, 3.0]], [[1.0, 0.5], [2.0, -1.0]]], is_square=True
    )
    positive = linalg.LinearOperatorFullMatrix([[2.0, 1.0], [1.0, 3.0]], **POSITIVE)
    diagonal = linalg.LinearOperatorDiag([1.0, 2.0], is_positive_definite=True)
    update = linalg.LinearOperatorLowRankUpdate
    return [
        *answers(tf, linalg.LinearOperatorComposition([matrix, diagonal]), 2),
        *answers(tf, linalg.LinearOperatorBlockDiag([matrix, diagonal]), 4),
        *answers(tf, linalg.LinearOperatorBlockDiag([positive, diagonal]), 4),
        *answers(tf, linalg.LinearOperatorKronecker([matrix, diagonal]), 4),
        *answers(tf, linalg.LinearOperatorKronecker([positive, diagonal]), 4),
        *answers(tf, update(positive, [[1.0], [2.0]]), 2),
        *answers(tf, update(matrix, [[1.0], [2.0]], [2.0], [[0.5], [1.0]]), 2),
        *answers(tf, matrix.adjoint(), 2),
        *answers(tf, matrix.inverse(), 2),
    ]


@case
def circulant(tf):
    linalg = tf.linalg
    spectrum = tf.reshape(tf.complex(tf.linspace(1.0, 4.0, 4), tf.linspace(-1.0, 1.0, 4)), [2, 2])
    made = [
        linalg.LinearOperatorCirculant([3.0, 1.0, 2.0, 1.0], is_positive_definite=True),
        linalg.LinearOperatorCirculant(tf.reshape(spectrum, [4])),
        linalg.LinearOperatorCirculant2D(spectrum),
        linalg.LinearOperatorCirculant3D(spectrum[None]),
    ]
    toeplitz = linalg.LinearOperatorToeplitz([4.0, 2.0, 1.0, 0.5], [4.0, -1.0, 0.5, 0.25])
    return [
        *(one.convolution_kernel() for one in made),
        *(found for one in made for found in answers(tf, one, 4)),
        *answers(tf, toeplitz, 4),
    ]


@case
def algebra(tf):
    linalg = tf.linalg
    every = [
        linalg.LinearOperatorFullMatrix([[2.0, 1.0], [-1.0, 3.0]], is_non_singular=True),
        linalg.LinearOperatorDiag([1.0, 2.0]),
        linalg.LinearOperatorLowerTriangular([[2.0, 9.0], [1.0, 3.0]]),
        linalg.LinearOperatorIdentity(2),
        linalg.LinearOperatorScaledIdentity(2, 3.0),
        linalg.LinearOperatorCirculant([1.0, 2.0], tf.float32),
    ]
    found = []
    for left in every:
        for right in every:
            for one in (left.matmul(right), left.matmul(right, adjoint=True), left.solve(right)):
                hints = [one.is_non_singular, one.is_self_adjoint, one.is_positive_definite, one.is_square]
                found += [one.to_dense(), tf.constant(f"{type(one).__name__} {one.name} {hints}")]
    return found
