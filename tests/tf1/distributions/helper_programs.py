"""Calls of what helps tests of random values and of bijectors, in the form of ``tests/ops/short_programs.py``."""


class Uniform01:
    """The uniform distribution over [0, 1], as SciPy shows it."""

    @staticmethod
    def moment(order):
        return 1.0 / (order + 1)


def _random(m):
    return m("kernel_tests.random.util")


def _bijectors(m):
    return m("ops.distributions.bijector_test_util")


def _values(np, seed, count=100):
    return np.random.RandomState(seed).rand(count)


def _truncated(tf, np, m, values, **tolerances):
    """What is compared of values that are to be of a truncated normal distribution."""
    said = []

    def equal(a, b):
        said.append([int(a), int(b)])

    def close(a, b, **options):
        expected = tf.identity(b)
        with tf.Session() as session:
            said.append([float(a), float(session.run(expected)), options])

    _random(m).test_truncated_normal(equal, close, len(values), values, **tolerances)
    return said


def _bijector(tf, m, scale, told=None):
    """A bijector that multiplies by a number; of its derivative it says what it is told."""
    base = m("ops.distributions.bijector").Bijector

    class Times(base):
        def __init__(self):
            super().__init__(forward_min_event_ndims=0, is_constant_jacobian=True, dtype=tf.float32)

        def _forward(self, x):
            return x * scale

        def _inverse(self, y):
            return y / scale

        def _forward_log_det_jacobian(self, x):
            return tf.fill(tf.shape(x), tf.math.log(abs(told or scale)))

        def _inverse_log_det_jacobian(self, y):
            return -tf.fill(tf.shape(y), tf.math.log(abs(told or scale)))

    return Times()


def _fails(check, *args, **kwargs):
    try:
        check(*args, **kwargs)
    except AssertionError:
        return True
    return False


PROGRAMS = {
    "moments": lambda tf, m, np: [
        [float(score) for score in _random(m).test_moment_matching(values, 4, Uniform01, stride)]
        for values in (_values(np, 1), _values(np, 1) ** 2, _values(np, 2).astype("float32").reshape(10, 10))
        for stride in (0, 3)
    ],
    "chi_squared": lambda tf, m, np: [
        float(_random(m).chi_squared(_values(np, 3).reshape(4, 25), 7)),
        float(_random(m).chi_squared(_values(np, 3) ** 3, 10)),
    ],
    "normal_cdf": lambda tf, m, np: _random(m).normal_cdf(np.array([[-3.0, 0.0], [0.5, 2.0]])),
    "anderson_darling": lambda tf, m, np: [
        float(_random(m).anderson_darling(np.random.RandomState(4).randn(50))),
        float(_random(m).anderson_darling(np.random.RandomState(4).randn(5, 10) + 1.0)),
    ],
    "a truncated normal distribution": lambda tf, m, np: [
        tf.constant(0),
        _truncated(tf, np, m, np.linspace(-2.5, 2.0, 50).astype("float32")),
        _truncated(tf, np, m, np.zeros([3]), mean_atol=1.0, median_atol=2.0, variance_rtol=3.0),
    ],
    "numbers in a row": lambda tf, m, np: [
        [
            _fails(getattr(_bijectors(m), "assert_" + name), np.array(row))
            for name in ("finite", "strictly_increasing", "strictly_decreasing", "strictly_monotonic")
        ]
        for row in ([1.0, 2.0, 5.0], [3.0, 2.0, 1.0], [1.0, 1.0, 2.0], [1.0, 3.0, 2.0], [0.0, np.inf])
    ],
    "bijectors of scalars": lambda tf, m, np: [
        _fails(_bijectors(m).assert_scalar_congruency, _bijector(tf, m, scale, told), -1.0, 2.0, n=500)
        for scale, told in ((3.0, None), (-0.5, None), (3.0, 2.0))
    ],
    "bijectors": lambda tf, m, np: [
        _fails(_bijectors(m).assert_bijective_and_finite, _bijector(tf, m, scale, told), given, given, 0)
        for scale, told, given in (
            (3.0, None, np.array([1.0, -2.0], "f")), (3.0, 2.0, np.array([1.0, -2.0], "f")),
            (3.0, None, np.array([np.nan], "f")),
        )
    ],
}  # fmt: skip
