"""Batches of sparse tensors, and the map where these wait; the graphs are compared in ``test_graphs_as_tensorflow``."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graph.generated import op_function


def batches(result, count):
    """So many batches, each with its sparse tensors as arrays."""
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        found = [session.run(result) for _ in range(count)]
        coordinator.request_stop()
        session.close()
        coordinator.join(threads)
    return found


def dense(value):
    array = np.zeros(value.dense_shape, value.values.dtype)
    array[tuple(value.indices.T)] = value.values
    return array.tolist()


def rows(count):
    """Numbers from 0, each with a sparse vector of so many elements."""
    number = tf.train.limit_epochs(
        tf.Variable(tf.constant(0), collections=["local_variables"]).assign_add(1) - 1, count
    )
    long = tf.cast(number, tf.int64)
    return number, tf.SparseTensor(tf.stack([[long]]), tf.stack([number * 10]), tf.stack([long + 1]))


@pytest.mark.parametrize("dynamic_pad", [False, True])
def test_elements_become_rows_of_the_largest_size(dynamic_pad):
    number, sparse = rows(100)
    first, second = batches(tf.train.batch([sparse, number], 2, dynamic_pad=dynamic_pad), 2)
    assert (dense(first[0]), first[1].tolist()) == ([[0, 0], [0, 10]], [0, 1])
    assert (dense(second[0]), second[1].tolist()) == ([[0, 0, 20, 0], [0, 0, 0, 30]], [2, 3])


def test_rows_of_a_sparse_tensor_are_elements():
    sparse = tf.SparseTensor([[0, 1], [2, 0], [2, 2]], [5, 6, 7], [3, 3])
    found = batches(tf.train.batch({"x": sparse, "n": tf.constant([0, 1, 2])}, 2, enqueue_many=True), 3)
    every = [row for batch in found for row in zip(batch["n"].tolist(), dense(batch["x"]))]
    expected = [[0, 5, 0], [0, 0, 0], [6, 0, 7]]
    assert every == [(n % 3, expected[n % 3]) for n in range(6)]


def test_rows_that_are_kept():
    sparse = tf.SparseTensor([[0, 1], [1, 0], [2, 2]], [5, 6, 7], [3, 3])
    keep = tf.constant([True, False, True])
    (found,) = batches(tf.train.maybe_batch([sparse], keep, 4, enqueue_many=True), 1)
    assert dense(found) == [[0, 5, 0], [0, 0, 7]] * 2


def test_elements_that_are_kept():
    number, sparse = rows(100)
    (found,) = batches(tf.train.maybe_batch([sparse], tf.equal(number % 2, 1), 2), 1)
    assert dense(found) == [[0, 10, 0, 0], [0, 0, 0, 30]]
    with pytest.raises(TypeError, match="keep_input is always False"):
        tf.train.maybe_batch([sparse], False, 2)


def test_lists_of_several_threads_share_the_map():
    lists = [[tf.SparseTensor([[0]], [value], [1])] for value in (1, 2)]
    (found,) = batches(tf.train.shuffle_batch_join(lists, 8, 30, 10), 1)
    assert found.dense_shape.tolist() == [8, 1] and set(found.values.tolist()) <= {1, 2}


def test_what_a_map_refuses():
    add, take = op_function("AddSparseToTensorsMap"), op_function("TakeManySparseFromTensorsMap")
    many = op_function("AddManySparseToTensorsMap")
    parts = (tf.constant([[0, 1]], tf.int64), tf.constant([5]), tf.constant([2, 2], tf.int64))
    number = add(*parts, shared_name="map")
    with tf.Session() as session:

        def taken(numbers, dtype=tf.int32):
            return session.run(take(tf.constant(numbers, tf.int64), dtype, shared_name="map"))

        first = int(session.run(number))
        assert taken([first])[0].tolist() == [[0, 0, 1]]
        again = int(session.run(number))
        for call, text in [
            (lambda: taken([first]), "Unable to find SparseTensor: 0 in map"),
            (lambda: taken([again], tf.float32), "Requested SparseTensor of type float32"),
            (lambda: taken([]), "Must have at least 1 serialized SparseTensor"),
            (
                lambda: session.run(add(parts[0], tf.constant([1, 2]), parts[2])),
                "Got 2 values, indices shape: ",
            ),
            (lambda: session.run(many([[3]], [1], [2])), "Rank of input SparseTensor should be > 1"),
            (lambda: session.run(many([[3, 0]], [1], [2, 2])), "Received invalid batch index"),
        ]:
            with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                call()
