"""Clipping of lists of gradients, and the confusion matrix, in sessions."""

import numpy as np
import pytest

import gpuplace as tf


def test_global_norm_scales_all_tensors() -> None:
    a, b = tf.constant([3.0]), tf.constant([[4.0]])
    clipped, norm = tf.clip_by_global_norm([a, None, b], 1.0)
    assert clipped[1] is None
    with tf.Session() as session:
        values = session.run([clipped[0], clipped[2], norm])
    np.testing.assert_allclose(values[0], [0.6], rtol=1e-6)
    np.testing.assert_allclose(values[1], [[0.8]], rtol=1e-6)
    assert values[2] == 5.0


def test_small_tensors_stay() -> None:
    clipped, _ = tf.clip_by_global_norm([tf.constant([3.0, 4.0])], 10.0)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(clipped[0]), [3, 4], rtol=1e-6)


def test_infinite_norm_gives_nan() -> None:
    clipped, _ = tf.clip_by_global_norm([tf.constant([np.inf, 1.0])], 1.0)
    with tf.Session() as session:
        assert np.isnan(session.run(clipped[0])).all()


def test_rows_stay_rows() -> None:
    rows = tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([1]), tf.constant([5, 2]))
    (clipped,), _ = tf.clip_by_global_norm([rows], 1.0)
    assert isinstance(clipped, tf.IndexedSlices)
    with pytest.raises(TypeError, match="t_list should be a sequence"):
        tf.clip_by_global_norm(tf.constant(1.0), 1.0)


def test_norms_of_single_tensors() -> None:
    x = tf.constant([3.0, 4.0])
    with tf.Session() as session:
        by_norm, by_average = session.run([tf.clip_by_norm(x, 1.0), tf.clip_by_average_norm(x, 0.5)])
    np.testing.assert_allclose(by_norm, [0.6, 0.8], rtol=1e-6)
    np.testing.assert_allclose(by_average, [0.6, 0.8], rtol=1e-6)


def test_confusion_matrix() -> None:
    labels, predictions = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    counts = tf.confusion_matrix(labels, predictions, num_classes=3)
    free = tf.confusion_matrix(labels, predictions, weights=[0.5, 1.0, 2.0], dtype=tf.float32)
    feeds = {labels: [0, 1, 1], predictions: [0, 1, 0]}
    with tf.Session() as session:
        assert session.run(counts, feeds).tolist() == [[1, 0, 0], [1, 1, 0], [0, 0, 0]]
        assert session.run(free, feeds).tolist() == [[0.5, 0], [2, 1]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="`labels` out of bound"):
            session.run(counts, {labels: [5], predictions: [0]})
