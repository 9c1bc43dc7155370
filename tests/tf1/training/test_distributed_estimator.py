"""Estimators that train with a strategy, beside what TensorFlow 1.15.5 gives."""

from __future__ import annotations

import numpy as np
import pytest

import gpuplace as tf

INPUTS = np.arange(48, dtype=np.float32).reshape(16, 3) / 50
LABELS = INPUTS.sum(1, keepdims=True) * 2
TENSORFLOWS = {  # devices -> weights after 20 steps, as release 1.15.5 trains them on its CPU
    0: [1.92373263, 1.99891436, 2.07409668],
    1: [1.92373263, 1.99891436, 2.07409668],
    2: [1.93465483, 1.99882590, 2.06299686],
}


def model(features, labels, mode):
    weights = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
    loss = tf.losses.mean_squared_error(labels, tf.matmul(features, weights))
    if mode != tf.estimator.ModeKeys.TRAIN:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    optimizer = tf.train.GradientDescentOptimizer(0.3)
    train = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def examples():
    return tf.data.Dataset.from_tensor_slices((INPUTS, LABELS)).repeat().batch(4)


def estimator(devices, folder, model_fn=model):
    strategy = tf.distribute.MirroredStrategy([f"/gpu:{n}" for n in range(devices)]) if devices else None
    config = tf.estimator.RunConfig(train_distribute=strategy)
    return tf.estimator.Estimator(model_fn, model_dir=str(folder), config=config)


@pytest.mark.parametrize("devices", TENSORFLOWS)
def test_weights_are_those_of_tensorflow(devices, tmp_path):
    trained = estimator(devices, tmp_path)
    trained.train(examples, steps=20)
    np.testing.assert_allclose(trained.get_variable_value("w").ravel(), TENSORFLOWS[devices], atol=1e-5)
    assert trained.get_variable_names() == ["global_step", "w"]
    assert trained.get_variable_value("global_step") == 20
    assert trained.evaluate(examples, steps=2)["loss"] < 1e-5
    trained.train(examples, steps=1)  # goes on from the checkpoint
    assert trained.get_variable_value("global_step") == 21


def test_a_sum_is_not_divided_by_the_number_of_replicas(tmp_path):
    def summed(features, labels, mode):
        weights = tf.get_variable("w", [3, 1], initializer=tf.zeros_initializer())
        loss = tf.losses.mean_squared_error(
            labels, tf.matmul(features, weights), reduction=tf.losses.Reduction.SUM
        )
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    weights = []
    for devices, batch in ((0, 8), (2, 4)):
        trained = estimator(devices, tmp_path / str(devices), summed)
        trained.train(
            lambda batch=batch: tf.data.Dataset.from_tensor_slices((INPUTS, LABELS)).batch(batch), steps=2
        )
        weights.append(trained.get_variable_value("w"))
    np.testing.assert_allclose(*weights, rtol=1e-5)


def test_an_input_function_has_to_give_a_dataset(tmp_path):
    with pytest.raises(ValueError, match="must return a tf.data.Dataset"):
        estimator(2, tmp_path).train(lambda: (tf.constant(INPUTS), tf.constant(LABELS)), steps=1)
