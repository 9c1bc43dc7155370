"""Losses of pairs and angles, and weights with an axis too many."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.ops import losses
from gpuplace.tf1.stand_in import names

LABELS = np.array([[1.0, 9.0, 2.0], [-5.0, -2.0, 6.0]])
PREDICTIONS = np.array([[4.0, 8.0, 12.0], [8.0, 1.0, 3.0]])


def pairs(errors, weights):
    """The mean squared difference over all ordered pairs of two elements, for each example."""
    count = errors.shape[1]
    each = [((row[:, None] - row[None, :]) ** 2).sum() / (count * (count - 1)) for row in errors]
    return float(np.dot(each, weights))


@pytest.mark.parametrize("weights", [1.0, 2.3, [[1.0], [0.5]], [[0.0], [3.0]]])
def test_pairs_of_elements(weights):
    loss = tf.losses.mean_pairwise_squared_error(LABELS, PREDICTIONS, weights)
    assert tf.losses.get_losses() == [loss]
    expected = pairs(PREDICTIONS - LABELS, np.broadcast_to(np.ravel(weights), 2))
    assert tf.Session().run(loss) == pytest.approx(expected, rel=1e-5)


def test_pairs_without_weights():
    loss = tf.losses.mean_pairwise_squared_error(LABELS, PREDICTIONS, [[0.0], [0.0]])
    assert tf.Session().run(loss) == 0
    with pytest.raises(ValueError, match="labels must not be None"):
        tf.losses.mean_pairwise_squared_error(None, PREDICTIONS)
    with pytest.raises(ValueError, match="weights can not be broadcast to values"):
        tf.losses.mean_pairwise_squared_error(LABELS, PREDICTIONS, np.ones([2, 2]))


def test_angles():
    labels, predictions = np.eye(2, 2), np.array([[0.6, 0.8], [0.0, 1.0]])
    both = tf.losses.cosine_distance(labels, predictions, axis=1)
    one = tf.losses.cosine_distance(labels, predictions, dim=-1, weights=[[2.0], [0.0]])
    with tf.Session() as session:
        np.testing.assert_allclose(session.run([both, one]), [0.2, 0.8], rtol=1e-6)
    with pytest.raises(ValueError, match="You must specify 'axis'"):
        tf.losses.cosine_distance(labels, predictions)
    with pytest.raises(ValueError, match="Cannot specify both 'dim' and 'axis'"):
        tf.losses.cosine_distance(labels, predictions, axis=1, dim=1)


@pytest.mark.parametrize("shape", [[3, 1], None])
def test_weights_in_a_column(shape):
    logits, labels = np.array([[9.0, 0.0], [0.0, 9.0], [9.0, 0.0]]), [[1], [1], [1]]
    weights = tf.placeholder(tf.float32, shape)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits, weights)
    with tf.Session() as session:
        assert session.run(loss, {weights: [[2.0], [0.0], [0.0]]}) == pytest.approx(18, rel=1e-4)


def test_what_checks_weights_has_tensorflows_name():
    check = names.resolve("tensorflow.python.ops.weights_broadcast_ops").assert_broadcastable
    with pytest.raises(ValueError, match="weights can not be broadcast to values"):
        check(tf.ones([2]), tf.ones([2, 3]))


def test_weights_and_values_may_be_arrays():
    values = np.arange(6.0).reshape(1, 2, 3)
    made = losses.broadcast_weights([[[2.0], [3.0]]], values)
    np.testing.assert_array_equal(made.eval(session=tf.Session()), [[[2, 2, 2], [3, 3, 3]]])
    with pytest.raises(ValueError, match="weights can not be broadcast to values"):
        losses.broadcast_weights(np.ones([1, 3, 3]), values)
