"""Programs with ``tf.linalg.LinearOperator`` and its kinds, in the form of ``programs``."""

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


QUESTIONS = (
    *(
        "shape_tensor",
        "batch_shape_tensor",
        "tensor_rank_tensor",
        "domain_dimension_tensor",
        "range_dimension_tensor",
    ),
    *("to_dense", "diag_part", "trace", "determinant", "log_abs_determinant"),
    *("assert_non_singular", "assert_positive_definite", "assert_self_adjoint"),
)


def ask(tf, operator, x):
    """Adds all that an operator can be asked; ``x`` are matrices that it is applied to."""
    for question in QUESTIONS:
        try:
            getattr(operator, question)()
        except (NotImplementedError, ValueError, TypeError, tf.errors.InvalidArgumentError):
            pass
    for adjoint in (False, True):
        operator.matmul(x, adjoint=adjoint)
        operator.matmul(tf.matrix_transpose(x), adjoint=adjoint, adjoint_arg=True)
        operator.matvec(x[..., 0], adjoint=adjoint)
        operator.solve(x, adjoint=adjoint)
        operator.solvevec(x[..., 0], adjoint=adjoint)
    operator.add_to_tensor(tf.placeholder(tf.float32))
    for other in ("adjoint", "inverse", "cholesky"):
        try:
            getattr(operator, other)().to_dense()
        except ValueError:
            pass


def operands(tf, n):
    return tf.ones([n, 2]), tf.placeholder(tf.float32, [None, n, 3])


@program
def given_by_matrices(tf):
    linalg, unknown = tf.linalg, tf.placeholder(tf.float32)
    batch = tf.placeholder(tf.float32, [None, 3, 3])
    positive = {"is_self_adjoint": True, "is_positive_definite": True}
    for x in operands(tf, 3):
        for operator in (
            linalg.LinearOperatorFullMatrix(batch, is_square=True),
            linalg.LinearOperatorFullMatrix(tf.eye(3), **positive),
            linalg.LinearOperatorDiag([1.0, 2.0, 3.0], **positive),
            linalg.LinearOperatorDiag(unknown),
            linalg.LinearOperatorLowerTriangular(batch),
            linalg.LinearOperatorHouseholder([1.0, 2.0, 3.0]),
            linalg.LinearOperatorHouseholder(tf.placeholder(tf.float32, [None, 3])),
        ):
            ask(tf, operator, x)
    linalg.LinearOperatorDiag(tf.constant([1j, 2.0], tf.complex64)).adjoint()


@program
def given_by_sizes(tf):
    linalg, rows = tf.linalg, tf.placeholder(tf.int32, [])
    factor = tf.placeholder(tf.float32, [None])
    for x in operands(tf, 3):
        for operator in (
            linalg.LinearOperatorIdentity(3),
            linalg.LinearOperatorIdentity(3, batch_shape=[2], assert_proper_shapes=True),
            linalg.LinearOperatorIdentity(rows, batch_shape=tf.placeholder(tf.int32, [1])),
            linalg.LinearOperatorScaledIdentity(3, 2.0, is_positive_definite=True),
            linalg.LinearOperatorScaledIdentity(rows, factor, assert_proper_shapes=True),
        ):
            ask(tf, operator, x)
        for operator in (
            linalg.LinearOperatorZeros(3, batch_shape=[2]),
            linalg.LinearOperatorZeros(rows, 3, is_square=False, is_self_adjoint=False),
        ):
            operator.matmul(x)
            operator.to_dense()
            operator.trace()
            operator.diag_part()


@program
def of_others(tf):
    linalg = tf.linalg
    matrix = linalg.LinearOperatorFullMatrix(tf.placeholder(tf.float32, [None, 2, 2]), is_square=True)
    diagonal = linalg.LinearOperatorDiag([1.0, 2.0], is_positive_definite=True)
    for x in operands(tf, 4)[1:]:
        for parts in ([diagonal, matrix], [diagonal, diagonal]):
            ask(tf, linalg.LinearOperatorBlockDiag(parts), x)
            ask(tf, linalg.LinearOperatorKronecker(parts), x)
    for x in operands(tf, 2)[1:]:
        ask(tf, linalg.LinearOperatorComposition([matrix, diagonal], is_square=True), x)
        ask(tf, matrix.adjoint(), x)
        ask(tf, matrix.inverse(), x)
        u = tf.placeholder(tf.float32, [2, 1])
        ask(tf, linalg.LinearOperatorLowRankUpdate(diagonal, u), x)
        ask(tf, linalg.LinearOperatorLowRankUpdate(matrix, u, [2.0], tf.ones([2, 1])), x)


@program
def circulant(tf):
    linalg = tf.linalg
    for x in operands(tf, 4):
        for operator in (
            linalg.LinearOperatorCirculant([3.0, 1.0, 2.0, 1.0], tf.float32, is_positive_definite=True),
            linalg.LinearOperatorCirculant(tf.placeholder(tf.complex64, [None, 4]), tf.float32),
            linalg.LinearOperatorCirculant2D(tf.placeholder(tf.float32, [2, 2]), tf.float32),
            linalg.LinearOperatorCirculant3D(tf.placeholder(tf.complex64, [1, 2, 2]), tf.float32),
        ):
            operator.convolution_kernel()
            for question in QUESTIONS:
                getattr(operator, question)()
            operator.matmul(x)
            operator.matmul(x, adjoint=True)
        ask(tf, linalg.LinearOperatorToeplitz([1.0, 2.0, 3.0, 4.0], tf.placeholder(tf.float32, [4])), x)


@program
def algebra(tf):
    linalg = tf.linalg
    matrix = linalg.LinearOperatorFullMatrix(tf.placeholder(tf.float32, [2, 2]), is_non_singular=True)
    diagonal, triangle = (
        linalg.LinearOperatorDiag([1.0, 2.0]),
        linalg.LinearOperatorLowerTriangular(tf.ones([2, 2])),
    )
    every = [
        *(
            matrix,
            diagonal,
            triangle,
            linalg.LinearOperatorIdentity(2),
            linalg.LinearOperatorScaledIdentity(2, 3.0),
        ),
        linalg.LinearOperatorCirculant([1.0, 2.0], tf.float32),
    ]
    for left in every:
        for right in every:
            left.matmul(right).to_dense()
            left.matmul(right, adjoint=True, adjoint_arg=True).to_dense()
            left.solve(right).to_dense()
    x = tf.ones([2, 2])
    tf.matmul(matrix, x, adjoint_a=True)
    tf.matmul(x, matrix, name="turned")
    tf.matmul(matrix, diagonal)
    for function in (linalg.adjoint, linalg.inv, linalg.det, linalg.diag_part, linalg.trace):
        function(matrix)
    linalg.solve(matrix, x)
    positive = linalg.LinearOperatorFullMatrix(x, is_self_adjoint=True, is_positive_definite=True)
    linalg.logdet(positive)
    linalg.cholesky(positive)
