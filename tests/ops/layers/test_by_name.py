"""Activations, initializers, regularizers and constraints by name; the answers are those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops.layers.by_name import activation_of, constraint_of, initializer_of, regularizer_of

SPREAD = {"scale": 2.0, "mode": "fan_in", "distribution": "uniform", "seed": None, "dtype": "float32"}


@pytest.mark.parametrize(
    "name, class_name, config",
    [
        ("he_uniform", "VarianceScaling", SPREAD),
        ("normal", "RandomNormal", {"mean": 0.0, "stddev": 0.05, "seed": None, "dtype": "float32"}),
        ("uniform", "RandomUniform", {"minval": -0.05, "maxval": 0.05, "seed": None, "dtype": "float32"}),
        (
            "TruncatedNormal",
            "TruncatedNormal",
            {"mean": 0.0, "stddev": 0.05, "seed": None, "dtype": "float32"},
        ),
        ("glorot_normal", "GlorotNormal", {"seed": None, "dtype": "float32"}),
        ("one", "Ones", {"dtype": "float32"}),
    ],
)
def test_initializers(name, class_name, config):
    made = tf.layers.Dense(3, kernel_initializer=name).kernel_initializer
    assert (type(made).__name__, made.get_config()) == (class_name, config)


@pytest.mark.parametrize(
    "made, message",
    [
        (
            lambda: tf.layers.dense(tf.ones([2, 3]), 2, activation="nonsense"),
            "Unknown activation function:nonsense",
        ),
        (lambda: tf.layers.Dense(2, kernel_initializer="nonsense"), "Unknown initializer:nonsense"),
        (lambda: tf.layers.Dense(2, kernel_initializer=3), "Could not interpret initializer identifier: 3"),
        (lambda: tf.layers.Dense(2, kernel_regularizer="x"), "Unknown regularizer:x"),
        (lambda: tf.layers.Conv2D(2, 3, kernel_constraint="x"), "Unknown constraint: x"),
        (lambda: initializer_of({"class_name": "Zeros"}), "Improper config format"),
    ],
)
def test_names_that_there_are_not(made, message):
    with pytest.raises(ValueError, match=message):
        made()


def test_what_is_no_activation():
    with pytest.raises(TypeError, match="Could not interpret activation function identifier: 3"):
        tf.layers.Dense(2, activation=3)
    with pytest.raises(ValueError, match="Cannot apply softmax to a tensor that is 1D"):
        activation_of("softmax")(tf.ones([3]))


def test_values_of_activations():
    given = np.array([[-3.0, -0.5, 0.0, 0.5, 3.0]], np.float32)
    with tf.Session() as session:
        hard, scaled, shares = session.run(
            [
                activation_of("hard_sigmoid")(given),
                activation_of("selu")(given),
                activation_of("softmax")(given[None]),
            ]
        )
    np.testing.assert_allclose(hard, [[0, 0.4, 0.5, 0.6, 1]], rtol=1e-6)
    np.testing.assert_allclose(scaled, [[-1.6705687, -0.69175816, 0, 0.52535049, 3.1521029]], rtol=1e-6)
    np.testing.assert_allclose(shares.sum(), 1, rtol=1e-6)


def test_losses_of_regularizers():
    weights = tf.constant([[1.0, -2.0], [3.0, 0.0]])
    found = [regularizer_of(name)(weights) for name in ("l1", "l2", "l1_l2", "L1L2")]
    described = regularizer_of({"class_name": "L1L2", "config": {"l2": 0.5}})
    with tf.Session() as session:
        np.testing.assert_allclose(
            session.run([*found, described(weights)]), [0.06, 0.14, 0.2, 0, 7], rtol=1e-6
        )
    assert regularizer_of("l2").get_config() == {"l1": 0.0, "l2": 0.009999999776482582}


@pytest.mark.parametrize(
    "identifier, expected",
    [
        ("non_neg", [[3.0, 0.0], [4.0, 0.5]]),
        ("max_norm", [[1.2, -0.5], [1.6, 0.5]]),
        ("unit_norm", [[0.6, -0.70710677], [0.8, 0.70710677]]),
        (
            {"class_name": "MinMaxNorm", "config": {"min_value": 1.0, "max_value": 2.0}},
            [[1.2, -0.7071067], [1.6, 0.7071067]],
        ),
        ({"class_name": "MinMaxNorm", "config": {"rate": 0.5}}, [[1.8, -0.5], [2.4, 0.5]]),
    ],
)
def test_constraints(identifier, expected):
    weights = tf.constant([[3.0, -0.5], [4.0, 0.5]])
    constraint = constraint_of(identifier)
    assert (
        constraint_of({"class_name": type(constraint).__name__, "config": constraint.get_config()})
        is not None
    )
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(constraint(weights)), expected, rtol=1e-5)


def test_a_constraint_by_name_holds_after_a_step():
    layer = tf.layers.Dense(2, kernel_constraint="non_neg", kernel_initializer="ones")
    step = tf.train.GradientDescentOptimizer(5.0).minimize(tf.reduce_sum(layer(tf.ones([1, 3]))))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert not session.run(layer.kernel).any()
