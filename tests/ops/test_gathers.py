"""Slices at index vectors, of batches and of resource variables."""

from typing import Any

import numpy as np
import pytest

import gpuplace as tf

A = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("indices", "batch_dims", "expected"),
    [
        ([[[2], [0]], [[1], [1]]], 1, np.stack([A[0][[2, 0]], A[1][[1, 1]]])),
        ([[2, 3], [0, 1]], 1, np.array([A[0, 2, 3], A[1, 0, 1]])),
        ([[[1], [2], [3]], [[0], [0], [0]]], 2, np.array([[A[0, i, i + 1] for i in range(3)], A[1, :, 0]])),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_index_vectors_of_a_batch(indices: Any, batch_dims: int, expected: Any, known: bool) -> None:
    x = tf.constant(A) if known else tf.placeholder(tf.float64)
    at = tf.constant(indices) if known else tf.placeholder(tf.int32)
    found = tf.gather_nd(x, at, batch_dims=batch_dims)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(found, {} if known else {x: A, at: indices}), expected)


@pytest.mark.parametrize(
    ("batch_dims", "error", "message"),
    [
        (-1, ValueError, "does not allow negative batch_dims"),
        (2, ValueError, r"batch_dims = 2 must be less than rank\(indices\) = 2"),
        (tf.constant, TypeError, "batch_dims must be an int"),
    ],
)
def test_batches_that_there_are_not(batch_dims: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tf.gather_nd(A, [[0], [1]], batch_dims=batch_dims)


def test_resource_variables_are_read_in_part():
    v = tf.get_variable("v", initializer=A, use_resource=True)
    cell, row = tf.gather_nd(v, [[0, 2, 3], [1, 0, 0]]), tf.gather_nd(v, [[1]])
    assert {op.type for op in tf.get_default_graph().get_operations()} >= {"ResourceGatherNd"}
    assert (cell.shape.as_list(), row.shape.as_list()) == ([2], [1, 3, 4])
    dense, rows = (tf.gradients(one, v)[0] for one in (cell, row))
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(cell).tolist() == [11, 12]
        assert session.run(dense).nonzero()[0].tolist() == [0, 1]
        assert session.run(rows.indices).tolist() == [1]


def test_no_entries_to_take():
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="params is empty"):
        session.run(tf.gather_nd(tf.zeros([0, 3]), [[0, 0]]))
