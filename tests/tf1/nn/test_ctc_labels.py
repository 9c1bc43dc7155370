"""The loss with labels of either form, and what is done to labels before; values are those of TensorFlow 1.15."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.nn.ctc import ctc_loss_dense, dense_labels_to_sparse

LOGITS = np.random.RandomState(0).randn(6, 3, 5).astype(np.float32)
STEPS = [6, 5, 4]


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as found:
        yield found


@pytest.mark.parametrize(
    ("labels", "blank", "expected"),
    [
        ([[1, 2, 2], [3, 1, 0], [4, 0, 0]], None, [6.04826975, 6.71867847, 5.38366985]),
        ([[1, 3, 3], [3, 1, 0], [4, 0, 0]], 2, [8.45175266, 4.85965061, 5.23323059]),
        ([[1, 2, 2], [3, 1, 0], [0, 0, 0]], -1, [5.35957146, 4.39821339, 5.84189129]),
    ],
)
def test_dense_labels(session, labels, blank, expected):
    lengths = [3, 2, 1]
    by_time = tf.nn.ctc_loss_v2(labels, LOGITS, lengths, STEPS, blank_index=blank)
    assert by_time.shape.as_list() == [3]
    by_sequence = tf.nn.ctc_loss_v2(
        labels,
        tf.placeholder_with_default(LOGITS.transpose(1, 0, 2), [None, None, None]),
        lengths,
        STEPS,
        logits_time_major=False,
        unique=tf.nn.ctc_unique_labels(labels),
        blank_index=blank,
    )
    sparse = tf.SparseTensor(
        [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0]],
        [*labels[0], *labels[1][:2], labels[2][0]],
        [3, 3],
    )
    of_sparse = tf.nn.ctc_loss_v2(sparse, LOGITS, None, STEPS, blank_index=blank or 0)
    for loss in (by_time, by_sequence, of_sparse):
        np.testing.assert_allclose(session.run(loss), expected, rtol=1e-6)


def test_the_gradient_goes_to_the_logits(session):
    logits = tf.constant(LOGITS)
    (slope,) = tf.gradients(
        tf.nn.ctc_loss_v2([[1, 3, 3], [3, 1, 0], [4, 0, 0]], logits, [3, 2, 1], STEPS), logits
    )
    found = session.run(slope)
    np.testing.assert_allclose(found.sum(axis=2), 0, atol=1e-5)
    assert [int(np.abs(found[:, i]).sum(axis=1).astype(bool).sum()) for i in range(3)] == STEPS


def test_what_is_missing():
    sparse = tf.SparseTensor([[0, 0]], [1], [1, 1])
    with pytest.raises(ValueError, match="blank_index must be given when using SparseTensor labels"):
        tf.nn.ctc_loss_v2(sparse, LOGITS, None, STEPS)
    with pytest.raises(ValueError, match="label_length must be given"):
        tf.nn.ctc_loss_v2([[1]], LOGITS, None, STEPS)


def test_repeated_labels_collapse(session):
    labels = [[1, 3, 3, 3, 0], [1, 4, 4, 4, 0], [4, 2, 2, 9, 4]]
    left, lengths = session.run(tf.nn.collapse_repeated(labels, tf.constant([4, 5, 5], tf.int64)))
    assert left.tolist() == [[1, 3, 0, 0], [1, 4, 0, 0], [4, 2, 9, 4]]
    assert lengths.tolist() == [2, 3, 4]
    assert (left.dtype, lengths.dtype) == (np.int32, np.int64)


def test_distinct_labels(session):
    labels, places = session.run(tf.nn.ctc_unique_labels([[3, 4, 4, 3], [1, 1, 1, 0]]))
    assert labels.tolist() == [[3, 4, 0, 0], [1, 0, 0, 0]]
    assert places.tolist() == [[0, 1, 1, 0], [0, 0, 0, 1]]
    assert (labels.dtype, places.dtype) == (np.int64, np.int32)


def test_dense_labels_become_sparse():
    sparse = dense_labels_to_sparse([[3, 4, 4, 0], [1, 0, 0, 0], [2, 2, 2, 2]], [3, 1, 0])
    value = tf.Session().run(sparse)
    assert value.indices.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0]]
    assert value.values.tolist() == [3, 4, 4, 1] and value.dense_shape.tolist() == [3, 3]
    loss = ctc_loss_dense([[1, 2]], tf.zeros([4, 1, 3]), [2], [4])
    same = tf.nn.ctc_loss_v2([[1, 2]], tf.zeros([4, 1, 3]), [2], [4], blank_index=0)
    np.testing.assert_allclose(*tf.Session().run([loss, same]))
