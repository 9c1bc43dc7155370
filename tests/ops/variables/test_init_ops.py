"""Initial values: their distribution, shape and type."""

import math

import numpy as np
import pytest

import gpuplace as tf

SHAPE = [40, 50]


def sample(initializer, shape=SHAPE, dtype=tf.float32):
    v = tf.get_variable("v", shape, dtype, initializer)
    with tf.Session() as session:
        session.run(v.initializer)
        value = session.run(v)
    assert value.dtype == dtype.as_numpy_dtype and list(value.shape) == shape
    return value


@pytest.mark.parametrize(
    ("initializer", "limit"),
    [
        (None, math.sqrt(6 / 90)),
        (tf.glorot_uniform_initializer(seed=1), math.sqrt(6 / 90)),
        (tf.initializers.he_uniform(seed=1), math.sqrt(6 / 40)),
        (tf.initializers.lecun_uniform(seed=1), math.sqrt(3 / 40)),
        (tf.random_uniform_initializer(-0.25, 0.25, seed=1), 0.25),
        (tf.uniform_unit_scaling_initializer(2.0, seed=1), 2 * math.sqrt(3 / 40)),
    ],
)
def test_uniform(initializer, limit):
    value = sample(initializer)
    assert np.abs(value).max() <= limit
    assert value.std() == pytest.approx(limit / math.sqrt(3), rel=0.1)
    assert abs(value.mean()) < 0.1 * limit


@pytest.mark.parametrize(
    ("initializer", "stddev"),
    [
        (tf.glorot_normal_initializer(seed=1), math.sqrt(2 / 90)),
        (tf.initializers.he_normal(seed=1), math.sqrt(2 / 40)),
        (tf.variance_scaling_initializer(3.0, "fan_out", "untruncated_normal", seed=1), math.sqrt(3 / 50)),
        (tf.random_normal_initializer(stddev=0.5, seed=1), 0.5),
        (tf.truncated_normal_initializer(stddev=1.0, seed=1), 0.8796),
    ],
)
def test_normal(initializer, stddev):
    assert sample(initializer).std() == pytest.approx(stddev, rel=0.1)


def test_constants():
    np.testing.assert_array_equal(sample(tf.zeros_initializer(), dtype=tf.int32), np.zeros(SHAPE))
    tf.reset_default_graph()
    np.testing.assert_array_equal(sample(tf.ones_initializer), np.ones(SHAPE))
    tf.reset_default_graph()
    np.testing.assert_array_equal(sample(tf.constant_initializer([1, 2, 3]), [2, 2]), [[1, 2], [3, 3]])
    with pytest.raises(TypeError, match="Invalid type for initial value"):
        tf.constant_initializer({})


@pytest.mark.parametrize("shape", [[4, 4], [6, 3], [3, 6], [2, 3, 4]])
def test_orthogonal(shape):
    value = sample(tf.orthogonal_initializer(gain=2.0, seed=3), shape).reshape(-1, shape[-1])
    small = value @ value.T if value.shape[0] < value.shape[1] else value.T @ value
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-5)


@pytest.mark.parametrize("shape", [[4, 4], [2, 4], [4, 2]])
def test_identity(shape):
    np.testing.assert_array_equal(sample(tf.initializers.identity(gain=3.0), shape), 3 * np.eye(*shape))


def test_equal_seeds_give_equal_values():
    first = sample(tf.glorot_uniform_initializer(seed=5))
    tf.reset_default_graph()
    np.testing.assert_array_equal(sample(tf.glorot_uniform_initializer(seed=5)), first)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.variance_scaling_initializer(scale=0), "`scale` must be positive float."),
        (lambda: tf.variance_scaling_initializer(mode="fan"), "Invalid `mode` argument"),
        (lambda: tf.variance_scaling_initializer(distribution="cauchy"), "Invalid `distribution` argument"),
        (lambda: tf.random_normal_initializer(dtype=tf.int32), "Expected floating point type"),
        (lambda: tf.orthogonal_initializer()([3]), "must be at least two-dimensional"),
        (lambda: tf.initializers.identity()([3]), "can only be used for 2D matrices"),
    ],
)
def test_arguments_that_do_not_fit(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_an_initializer_describes_itself():
    config = tf.variance_scaling_initializer(2.0, "fan_out", seed=3).get_config()
    assert tf.variance_scaling_initializer.from_config(config).get_config() == config
    assert config["dtype"] == "float32"
