"""``tf.batch_scatter_update``: rows by indices of each batch; sources of the answers: TensorFlow 1.15.5."""

import numpy as np
import pytest

import gpuplace as tf


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_rows_of_each_batch(kind, use_resource):
    rng = np.random.default_rng(3)
    old, updates = rng.random([2, 3, 5, 4]), rng.random([2, 3, 2, 4])
    indices = np.array([[[0, 4], [2, 1], [3, 0]], [[1, 2], [4, 3], [0, 1]]], kind)
    wanted = old.copy()
    for batch in np.ndindex(2, 3):
        wanted[(*batch, indices[batch])] = updates[batch]
    table = tf.Variable(old, use_resource=use_resource)
    update = tf.batch_scatter_update(table, indices, updates)
    with tf.Session() as session:
        session.run(table.initializer)
        session.run(update)
        np.testing.assert_array_equal(session.run(table), wanted)


def test_the_rank_has_to_be_known():
    with pytest.raises(ValueError, match="does not allow indices with unknown shape"):
        tf.batch_scatter_update(tf.Variable([1.0]), tf.placeholder(tf.int32), [2.0])
