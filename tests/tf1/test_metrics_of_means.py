"""Metrics of means, over two batches; their graphs are compared in ``test_net_graphs``."""

import numpy as np
import pytest

import gpuplace as tf

TRUTH, FOUND = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([[0.8, 0.6], [0.0, 1.0]])
CLASSES = [0, 1, 2, 1]


@pytest.mark.parametrize(
    ("metric", "first", "both"),
    [
        (lambda scale: tf.metrics.mean_cosine_distance(TRUTH, FOUND * scale, 1), 0.2, 0.4),
        (
            lambda scale: tf.metrics.mean_cosine_distance(TRUTH, FOUND * scale, 1, weights=[[1.0], [0.0]]),
            *(0.2, 0.4),
        ),
        (
            lambda scale: tf.metrics.mean_relative_error(TRUTH, FOUND * scale, np.array([[0.5, 0.0], [1.0, 4.0]])),
            *((0.4 + 0.6 + 0.05) / 4, (0.4 + 0.6 + 0.05 + 1.2 + 0.6 + 0.075) / 8),  # zero where it is divided by zero
        ),
        (lambda scale: tf.metrics.percentage_below(FOUND * scale, 0.45), 0.25, 0.5),
        (lambda scale: tf.metrics.percentage_below(FOUND * scale, 0.45, [[1.0, 0.0]]), 0.5, 0.75),
        (lambda scale: tf.metrics.mean_tensor(FOUND * scale), FOUND, 0.75 * FOUND),
        (
            lambda scale: tf.metrics.mean_tensor(FOUND * scale, [[1.0], [0.0]]),
            *(FOUND * [[1], [0]], [[0.6, 0.45], [0, 0]]),
        ),
    ],
)  # fmt: skip
def test_values_of_one_batch_and_of_two(metric, first, both):
    scale = tf.placeholder(tf.float64, [])
    value, update = metric(scale)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        np.testing.assert_allclose(session.run(update, {scale: 1.0}), first, rtol=1e-6)
        np.testing.assert_allclose(session.run(update, {scale: 0.5}), both, rtol=1e-6)
        np.testing.assert_allclose(session.run(value), both, rtol=1e-6)


@pytest.mark.parametrize(
    ("found", "weights", "shares", "mean"),
    [
        ([0, 1, 1, 1], None, [1, 1, 0, 0], 0.5),
        ([0, 1, 2, 0], [1.0, 1.0, 1.0, 3.0], [1, 0.25, 1, 0], 0.5625),
    ],
)
def test_the_mean_accuracy_of_classes(found, weights, shares, mean):
    labels, predictions = tf.constant(CLASSES), tf.constant(found)
    weights = None if weights is None else tf.constant(weights)
    value, update = tf.metrics.mean_per_class_accuracy(
        labels, predictions, 4, weights, ["values"], ["updates"]
    )
    assert tf.get_collection("values") == [value] and tf.get_collection("updates") == [update]
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        assert session.run(update).tolist() == shares and session.run(value) == mean


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="are incompatible"):
        tf.metrics.mean_per_class_accuracy(tf.constant(CLASSES), tf.constant(CLASSES[1:]), 3)
    with pytest.raises(ValueError, match="are incompatible"):
        tf.metrics.mean_relative_error(TRUTH, FOUND, [[1.0, 2.0, 3.0]])
