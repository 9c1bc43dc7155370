"""Functions that take tensors alone refuse lists, with the class that TensorFlow 1.15.5 raises there."""

import pytest

import gpuplace as tf

TRUTHS, SHARES, CLASSES, ROWS = [True, False], [0.2, 0.8], [0, 1], [[1.0, 2.0], [1.0, 2.0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.nn.nce_loss(tf.ones([3, 2]), tf.zeros([3]), [[0], [1]], tf.ones([2, 2]), 1, 3),
        lambda: tf.nn.nce_loss(tf.ones([3, 2]), tf.zeros([3]), tf.constant([[0], [1]]), ROWS, 1, 3),
        lambda: tf.nn.sampled_softmax_loss(tf.ones([3, 2]), tf.zeros([3]), [[0], [1]], ROWS, 1, 3),
        lambda: tf.metrics.auc(TRUTHS, SHARES),
        lambda: tf.metrics.mean_iou(CLASSES, CLASSES, 2),
        lambda: tf.metrics.mean_per_class_accuracy(CLASSES, CLASSES, 2),
        lambda: tf.metrics.precision_at_thresholds(TRUTHS, SHARES, [0.5]),
        lambda: tf.metrics.sensitivity_at_specificity(TRUTHS, SHARES, 0.5),
    ],
)
def test_a_list_has_neither_dtype_nor_shape(call):
    with tf.Graph().as_default(), pytest.raises(AttributeError, match="'list' object has no attribute"):
        call()


def test_lists_are_taken_where_tensorflow_takes_them():
    with tf.Graph().as_default():
        _, update = tf.metrics.accuracy(CLASSES, CLASSES)
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            assert session.run(update) == 1.0
