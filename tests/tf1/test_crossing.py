"""Crosses of features by their functions, and slices without some rows; the answers are TensorFlow 1.15.5's."""

import pytest

import gpuplace as tf


def column(*values):
    dtype = tf.int64 if isinstance(values[0], int) else tf.string
    return tf.SparseTensor(
        [[row, 0] for row in range(len(values))], tf.constant(list(values), dtype), [len(values), 1]
    )


@pytest.mark.parametrize(
    ("make", "wanted", "internal_type"),
    [
        (lambda: tf.sparse.cross([column(11, 333), column("a", "b")]), [b"11_X_a", b"333_X_b"], "int64"),
        (lambda: tf.sparse.cross([column(11, 333)] * 2), [b"11_X_11", b"333_X_333"], "int64"),
        (
            lambda: tf.sparse.cross([column("a", "b"), tf.constant([["c"], ["d"]])]),
            [b"a_X_c", b"b_X_d"],
            "string",
        ),
        (lambda: tf.sparse.cross_hashed([column(11, 333), column("a", "b")], 100), [55, 84], "int64"),
    ],
)
def test_crosses(make, wanted, internal_type):
    crossed = make()
    with tf.Session() as session:
        found = session.run(crossed)
    assert found.values.tolist() == wanted
    assert (found.indices.tolist(), found.dense_shape.tolist()) == ([[0, 0], [1, 0]], [2, 1])
    assert crossed.values.op.get_attr("internal_type").name == internal_type


def test_no_list():
    with pytest.raises(TypeError, match="Inputs must be a list"):
        tf.sparse.cross(column("a"))
