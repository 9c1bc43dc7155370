"""``tf.edit_distance``, where shapes do not say how long sequences are; other cases are recorded in the tables."""

import pytest

import gpuplace as tf


def word(text, row=0):
    return tf.SparseTensor([[row, 0, place] for place in range(len(text))], list(text), [1, 1, 1])


def test_sequences_may_be_longer_than_their_shape():
    with tf.Session() as session:
        assert session.run(tf.edit_distance(word("bear"), word("beers"), normalize=False)).tolist() == [[2]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="hypothesis_indices are out of bounds"):
            session.run(tf.edit_distance(word("bear", row=3), word("beers")))
