"""Values that are refused for their type, with the classes and sentences of TensorFlow 1.15.5.

Functions that take tensors alone refuse lists; an op says which of its parameters a value was passed to.
"""

import re

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
        lambda: tf.metrics.precision_at_top_k(tf.constant([CLASSES], tf.int64), CLASSES),
        lambda: tf.metrics.mean_iou(tf.constant(CLASSES), tf.constant(CLASSES), 2, weights=SHARES),
        lambda: tf.metrics.mean_per_class_accuracy(tf.constant(CLASSES), tf.constant(CLASSES), 2, SHARES),
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tf.constant([1, 2]) < 0.5,
            "Expected int32 passed to parameter 'y' of op 'Less', got 0.5 of type 'float' instead. Error: Expected "
            "int32, got 0.5 of type 'float' instead.",
        ),
        (
            lambda: tf.add([1.0], [1, "a"]),
            "Expected float32 passed to parameter 'y' of op 'Add', got [1, 'a'] of type 'list' instead. Error: "
            "Expected float32, got 'a' of type 'str' instead.",
        ),
        (
            lambda: tf.nn.top_k([1.0, 2.0], 1.5),
            "Expected int32 passed to parameter 'k' of op 'TopKV2', got 1.5 of type 'float' instead. Error: Expected "
            "int32, got 1.5 of type 'float' instead.",
        ),
        (
            lambda: tf.matmul([[1]], [[1.5]]),
            "Input 'b' of 'MatMul' Op has type float32 that does not match type int32 of argument 'a'.",
        ),
        (
            lambda: tf.add([1.0], tf.constant([1])),
            "Input 'y' of 'Add' Op has type int32 that does not match type float32 of argument 'x'.",
        ),
        (lambda: tf.sets.intersection([[1.5]], [[1.5]]), "'a' invalid dtype <dtype: 'float32'>."),
        (
            lambda: tf.metrics.precision_at_k([CLASSES], [SHARES], 1),
            "Types don't match, <dtype: 'int64'> vs <dtype: 'int32'>.",
        ),
        (
            lambda: tf.metrics.average_precision_at_k([CLASSES], [SHARES], 1),
            "Input 'y' of 'GreaterEqual' Op has type int64 that does not match type int32 of argument 'x'.",
        ),
        (
            lambda: tf.metrics.true_positives_at_thresholds(tf.constant(TRUTHS), tf.constant(SHARES), 0.5),
            "object of type 'float' has no len()",
        ),
        (
            lambda: tf.metrics.sensitivity_at_specificity(tf.constant(TRUTHS), tf.constant(SHARES), None),
            "'<' not supported between instances of 'NoneType' and 'int'",
        ),
    ],
)
def test_a_value_of_the_wrong_type(call, message):
    with tf.Graph().as_default(), pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tf.metrics.mean([1.0, 2.0], [1.0, 2.0, 3.0]),
            "weights can not be broadcast to values. Mismatch at dim 0. values.shape=[2] weights.shape=[3].",
        ),
        (
            lambda: tf.losses.absolute_difference(ROWS, ROWS, [[1.0, 2.0, 3.0]]),
            "weights can not be broadcast to values. Mismatch at dim 1. values.shape=[2 2] weights.shape=[1 3].",
        ),
        (
            lambda: tf.metrics.mean_per_class_accuracy(tf.constant([CLASSES] * 2), tf.constant(CLASSES), 2),
            "Shapes (2,) and (4,) are incompatible",
        ),
    ],
)
def test_a_value_of_the_wrong_shape(call, message):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        call()
