"""Gradients of linear algebra and of functions that integrals define, and second derivatives, by differences."""

import numpy as np
import pytest

import gpuplace as tf

RNG = np.random.default_rng(4)


def of(*shape, low=-1.0, high=1.0):
    return RNG.uniform(low, high, shape)


def positive(size):
    half = of(size, size)
    return half @ half.T + size * np.eye(size)


def slopes(build, values, places=None):
    """The gradients that ``build``'s loss has, and those that differences give."""
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.placeholder(value.dtype, value.shape) for value in values]
        loss = build(*inputs)
        grads = tf.gradients(loss, inputs)
        found = session.run(grads, dict(zip(inputs, values, strict=True)))
        numeric = []
        for at, value in enumerate(values):
            slope = np.zeros_like(value)
            for index in np.ndindex(*value.shape):
                for unit in (1, 1j) if value.dtype.kind == "c" else (1,):
                    ends = []
                    for step in (1e-6, -1e-6):
                        moved = [one.copy() for one in values]
                        moved[at][index] += step * unit
                        ends.append(session.run(loss, dict(zip(inputs, moved, strict=True))))
                    slope[index] += unit * (ends[0] - ends[1]) / 2e-6
            numeric.append(slope)
    return found, numeric


def twice(function):
    """A loss whose gradient is the second derivative of a function."""

    def build(*inputs):
        grads = [grad for grad in tf.gradients(function(*inputs), list(inputs)) if grad is not None]
        return tf.add_n([tf.reduce_sum(grad * grad) for grad in grads])

    return build


def singular(x):
    s, u, v = tf.svd(x)
    product = tf.matmul(tf.matmul(u, tf.cast(tf.diag(s**2), x.dtype)), v, adjoint_b=True)
    return tf.reduce_sum(tf.abs(product)[:, 0]) + tf.reduce_sum(s)


CASES = {
    "cholesky": (
        lambda x: tf.reduce_sum(tf.cholesky((x + tf.transpose(x)) / 2) ** 2 * [1.0, 2.0, 3.0]),
        [positive(3)],
    ),
    "cholesky_solve": (lambda x, y: tf.reduce_sum(tf.cholesky_solve(x, y) ** 2), [positive(3), of(3, 2)]),
    "triangular": (
        lambda x, y: tf.reduce_sum(tf.matrix_triangular_solve(x, y, lower=False, adjoint=True) ** 2),
        [positive(3), of(3, 2)],
    ),
    "slogdet": (lambda x: tf.linalg.slogdet(x)[1] ** 2, [positive(3)]),
    "logdet": (lambda x: tf.linalg.logdet((x + tf.transpose(x)) / 2) ** 2, [positive(3)]),
    "qr": (lambda x: tf.reduce_sum(tf.qr(x)[0] * [[1.0, 2.0]]) + tf.reduce_sum(tf.qr(x)[1] ** 2), [of(3, 2)]),
    **{
        f"svd of complex {rows} x {columns}": (singular, [of(rows, columns) + 1j * of(rows, columns)])
        for rows, columns in ((2, 2), (2, 3), (3, 2))
    },
    "angle": (lambda x: tf.reduce_sum(tf.angle(x) ** 2), [of(3) + 1j * of(3)]),
    "digamma": (lambda x: tf.reduce_sum(tf.digamma(x)), [of(4, low=0.4, high=4.0)]),
    "polygamma": (lambda x: tf.reduce_sum(tf.polygamma(np.float64(2), x)), [of(3, low=0.6, high=4.0)]),
    "zeta": (lambda q: tf.reduce_sum(tf.zeta(np.array([[1.5], [3.0]]), q)), [of(3, low=0.4, high=4.0)]),
    "igamma": (
        lambda a, x: tf.reduce_sum(tf.igamma(a, x) * [1.0, 2.0, 3.0]),
        [np.array([0.5, 2.0, 7.0]), np.array([[2.0], [6.0]])],
    ),
    "igammac": (
        lambda a, x: tf.reduce_sum(tf.igammac(a, x) ** 2),
        [np.array([0.5, 2.0, 7.0]), np.array([1.0, 0.3, 9.0])],
    ),
    "betainc": (
        lambda x: tf.reduce_sum(tf.betainc(np.array([0.5, 2.0]), np.array([3.0, 0.7]), x)),
        [np.array([0.2, 0.9])],
    ),
    "bessel": (
        lambda x: tf.reduce_sum(tf.math.bessel_i0e(x) + 2 * tf.math.bessel_i1e(x)),
        [np.array([-2.0, 0.5, 60.0])],
    ),
    "softplus": (twice(tf.nn.softplus), [of(4)]),
    "clip": (
        lambda x, low: tf.reduce_sum(
            tf.raw_ops.ClipByValue(t=x, clip_value_min=low, clip_value_max=np.float64(0.5)) ** 2
        ),
        [np.linspace(-1, 1, 7), np.array(-0.4)],
    ),
    "segments": (
        lambda x: tf.reduce_sum(tf.segment_prod(x, [0, 0, 1, 1, 1]) ** 2),
        [np.array([1.5, -2.0, 0.0, 3.0, 2.0])],
    ),
    "depthwise images": (
        twice(lambda x, f: tf.nn.depthwise_conv2d(x, f, [1, 1, 1, 1], "SAME") ** 2),
        [of(1, 3, 3, 2), of(2, 2, 2, 1)],
    ),
    "largest": (
        twice(lambda x: tf.nn.max_pool(x, [1, 2, 2, 1], [1, 1, 1, 1], "VALID") ** 2),
        [RNG.permutation(np.arange(9.0)).reshape(1, 3, 3, 1)],
    ),
    "gather with batches": (
        lambda x: tf.reduce_sum(tf.gather(x, [[0, 2], [1, 1]], axis=2, batch_dims=1) ** 2),
        [of(2, 2, 3, 2)],
    ),
    "product over unknown axes": (
        lambda x: tf.reduce_sum(tf.reduce_prod(x, tf.placeholder_with_default([0, 2], [2])) ** 2),
        [of(2, 3, 2)],
    ),
}


OF_TENSORFLOW_2 = {"clip", "segments", *(name for name in CASES if name.startswith("svd of complex"))}
"""Those that release 1.15 has no gradient for."""


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_slopes(name):
    build, values = CASES[name]
    if name in OF_TENSORFLOW_2:
        tf.set_release("2.21")
    found, numeric = slopes(build, values)
    for one, other in zip(found, numeric, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("training", [True, False])
def test_second_derivatives_of_batch_normalisation(training):
    """Against the same built of ops that are elementwise."""
    x, scale, offset = of(2, 3, 1, 2), of(2), of(2)

    def plainly(x, scale, offset):
        if training:
            mean, variance = tf.nn.moments(x, [0, 1, 2])
        else:
            mean, variance = tf.constant([0.1, 0.2], tf.float64), tf.constant([1.0, 0.8], tf.float64)
        return ((x - mean) * tf.rsqrt(variance + 0.001) * scale + offset) ** 2

    def fused(x, scale, offset):
        given = {} if training else {"mean": [0.1, 0.2], "variance": [1.0, 0.8]}
        wide = [tf.cast(one, tf.float32) for one in (x, scale, offset)]
        return tf.cast(tf.nn.fused_batch_norm(*wide, is_training=training, **given)[0], tf.float64) ** 2

    results = []
    for function in (plainly, fused):
        with tf.Graph().as_default(), tf.Session() as session:
            inputs = [tf.constant(value) for value in (x, scale, offset)]
            results.append(session.run(tf.gradients(twice(function)(*inputs), inputs)))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3)
