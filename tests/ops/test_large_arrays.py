"""Ops on arrays that are large enough to be cut into pieces, or sorted and added up in ways of their own."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.process import PROCESS

RANDOM = np.random.default_rng(7)
X = RANDOM.standard_normal((600, 500)).astype(np.float32) * 3
X[0, :5] = [np.nan, np.inf, -np.inf, 0.0, -0.0]
FINITE = np.where(np.isfinite(X), X, np.float32(1))
GRAD = RANDOM.standard_normal(X.shape).astype(np.float32)


def run(make, *arrays):
    """The values of what `make` builds for arrays that are fed."""
    with tf.Graph().as_default(), tf.device("/cpu:0"), tf.Session() as session:
        fed = [tf.placeholder(array.dtype, array.shape) for array in arrays]
        return session.run(make(*fed), dict(zip(fed, arrays, strict=True)))


def selu(x, slope=1.0507009873554805 * 1.6732632423543772):
    return np.where(x < 0, slope * np.expm1(np.minimum(x, 0)), 1.0507009873554805 * x)


ACTIVATIONS = {
    "relu6": lambda x: np.minimum(np.maximum(x, 0), 6),
    "elu": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x),
    "selu": selu,
    "softplus": lambda x: np.logaddexp(x, 0),
    "softsign": lambda x: x / (np.abs(x) + 1),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True),
    "log_softmax": lambda x: x - np.log(np.exp(x).sum(axis=1, keepdims=True)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    x = FINITE if "softmax" in name else X
    with np.errstate(all="ignore"):
        wanted = ACTIVATIONS[name](x.astype(np.float64))
    np.testing.assert_allclose(run(getattr(tf.nn, name), x), wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.2, 1.0, 0.0, 2.0, -0.5])
def test_leaky_relu_and_its_gradient(alpha):
    with np.errstate(invalid="ignore"):
        wanted = np.where(X > 0, X, np.float32(alpha) * X), np.where(X > 0, GRAD, np.float32(alpha) * GRAD)

    def make(x, grad):
        y = tf.nn.leaky_relu(x, alpha)
        return y, tf.gradients(y, [x], [grad])[0]

    for found, other in zip(run(make, X, GRAD), wanted, strict=True):
        np.testing.assert_array_equal(found, other)


SLOPES = {
    "relu": lambda x: (x > 0) * 1.0,
    "relu6": lambda x: ((x > 0) & (x < 6)) * 1.0,
    "elu": lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)), 1),
    "selu": lambda x: np.where(
        x < 0, 1.0507009873554805 * 1.6732632423543772 * np.exp(np.minimum(x, 0)), 1.0507009873554805
    ),
    "softsign": lambda x: (1 + np.abs(x)) ** -2.0,
}


@pytest.mark.parametrize("name", SLOPES)
def test_gradients_of_activations(name):
    found = run(lambda x, grad: tf.gradients(getattr(tf.nn, name)(x), [x], [grad])[0], FINITE, GRAD)
    np.testing.assert_allclose(found, SLOPES[name](FINITE.astype(np.float64)) * GRAD, rtol=1e-4, atol=1e-6)


def test_where_takes_elements_as_they_are():
    mask = GRAD > 0
    found = run(lambda mask, x, y: tf.where(mask, x, y), mask, X, GRAD)
    assert found.tobytes() == np.where(mask, X, GRAD).tobytes()


@pytest.mark.parametrize("k", [0, 1, 7, 500])
@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
def test_top_k(k, dtype):
    x = RANDOM.integers(-20, 20, (300, 500)).astype(dtype)  # with many equal ones
    values, places = run(lambda x: tf.nn.top_k(x, k), x)
    wanted = np.lexsort((np.broadcast_to(np.arange(500), x.shape), -x), axis=1)[:, :k]
    np.testing.assert_array_equal(places, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, 1))


def test_in_top_k():
    targets = RANDOM.integers(0, 500, 600).astype(np.int32)
    found = run(lambda x, targets: tf.nn.in_top_k(x, targets, 30), FINITE, targets)
    at = FINITE[np.arange(600), targets]
    np.testing.assert_array_equal(found, (FINITE > at[:, None]).sum(axis=1) < 30)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
def test_unique(dtype):
    x = RANDOM.integers(-50, 50, 5000).astype(dtype)
    if dtype == "float32":
        x[x == 3] = -0.0
    values, index, counts = run(tf.unique_with_counts, x)
    first = {}
    for value in x.tolist():
        first.setdefault(value, len(first))
    assert values.tolist() == list(first)
    np.testing.assert_array_equal(values[index], x)
    np.testing.assert_array_equal(counts, np.bincount(index))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums(axis, exclusive, reverse):
    x = RANDOM.integers(-3, 4, (400, 500)).astype(np.float32)
    found = run(lambda x: tf.cumsum(x, axis, exclusive=exclusive, reverse=reverse), x)
    turned = np.flip(x, axis) if reverse else x
    sums = np.cumsum(turned, axis) - (turned if exclusive else 0)
    np.testing.assert_array_equal(found, np.flip(sums, axis) if reverse else sums)


def test_one_hot_leaves_out_what_is_outside():
    indices = np.array([[3, -1, 0], [2, 7, 1]], np.int64)
    found = run(lambda indices: tf.one_hot(indices, 4, 5.0, -1.0, axis=1), indices)
    wanted = np.where(indices[:, None, :] == np.arange(4)[None, :, None], 5.0, -1.0)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("multiples", [[2, 3, 1], [1, 1, 1], [0, 2, 2]], ids=str)
def test_tile(multiples):
    x = X[:20, :30].reshape(20, 6, 5)
    np.testing.assert_array_equal(run(lambda x: tf.tile(x, multiples), x), np.tile(x, multiples))


@pytest.mark.parametrize("adjoint", [(False, False), (True, False), (False, True)], ids=str)
@pytest.mark.parametrize("batch", [(700,), (35, 20), (0,), (1,)], ids=str)
def test_batches_of_products(adjoint, batch):
    a = RANDOM.standard_normal((*batch, 16, 12) if not adjoint[0] else (*batch, 12, 16)).astype(np.float32)
    b = RANDOM.standard_normal((*batch, 12, 8) if not adjoint[1] else (*batch, 8, 12)).astype(np.float32)
    found = run(lambda a, b: tf.matmul(a, b, transpose_a=adjoint[0], transpose_b=adjoint[1]), a, b)
    left, right = a.swapaxes(-1, -2) if adjoint[0] else a, b.swapaxes(-1, -2) if adjoint[1] else b
    np.testing.assert_allclose(found, left @ right, atol=1e-4)


def same_bits_cases(x, grad):
    y = tf.nn.softmax(x)
    yield from (y, tf.nn.elu(x), tf.nn.softplus(x), tf.erf(x), tf.where(x > 0, x, grad))
    yield from (tf.reduce_sum(tf.reshape(x, [100, -1, 4]), 1), tf.reduce_prod(x), tf.nn.top_k(x, 9)[1])
    yield tf.gradients(tf.nn.relu(x), [x], [grad])[0]
    for make in (tf.random_normal, tf.random_uniform, tf.truncated_normal):
        yield make([70_001], seed=3)


def test_same_bits_with_any_number_of_threads(monkeypatch):
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr(PROCESS, "intra_op_threads", count)
        found.append(run(lambda x, grad: list(same_bits_cases(x, grad)), FINITE, GRAD))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert one.tobytes() == two.tobytes()
