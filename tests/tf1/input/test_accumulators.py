"""Accumulators of gradients, and barriers: what is taken, what waits, and what is refused."""

import threading

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.tf1.input.accumulators import Barrier


def test_the_mean_of_gradients_of_one_step():
    gathered = tf.ConditionalAccumulator(tf.float32, shape=[2])
    gradient, step = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int64, [])
    apply, count, take = (
        gathered.apply_grad(gradient, step),
        gathered.num_accumulated(),
        gathered.take_grad(2),
    )
    with tf.Session() as session:
        for value, at in (([1, 2], 0), ([3, 6], 0)):
            session.run(apply, {gradient: value, step: at})
        assert session.run(count) == 2
        np.testing.assert_array_equal(session.run(take), [2, 4])
        session.run(apply, {gradient: [9, 9], step: 0})  # of a step that is over
        assert session.run(count) == 0
        session.run(gathered.set_global_step(5))
        session.run(apply, {gradient: [9, 9], step: 4})
        session.run(apply, {gradient: [8, 8], step: 6})
        assert session.run(count) == 1


def test_take_waits_for_gradients_of_other_steps():
    gathered = tf.ConditionalAccumulator(tf.float64, reduction_type="SUM")
    apply, take = gathered.apply_grad([1.5]), gathered.take_grad(3)
    with tf.Session() as session:
        found = []
        waiting = threading.Thread(target=lambda: found.append(session.run(take)))
        waiting.start()
        for _ in range(3):
            session.run(apply)
        waiting.join(10)
        np.testing.assert_array_equal(found, [[4.5]])


def test_what_dense_accumulators_refuse():
    gradient = tf.placeholder(tf.float32)
    gathered = tf.ConditionalAccumulator(tf.float32, shape=[2])
    with tf.Session() as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"Shape mismatch: expected \[2\], got \[3\]"
        ):
            session.run(gathered.apply_grad(gradient), {gradient: [1, 2, 3]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="num_required must be positive, but was 0"):
            session.run(gathered.take_grad(0))
        tf.ConditionalAccumulator(tf.float32, shape=[2], shared_name="one").num_accumulated().eval()
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="has type float32 but requested type were float64"
        ):
            tf.ConditionalAccumulator(tf.float64, shape=[2], shared_name="one").num_accumulated().eval()
    with pytest.raises(ValueError, match="are incompatible"):
        gathered.apply_grad([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="reduction_type"):
        tf.ConditionalAccumulator(tf.float32, reduction_type="MAX")


def test_each_row_of_sparse_gradients_has_its_own_mean():
    gathered = tf.SparseConditionalAccumulator(tf.float32)
    assert tf.sparse.SparseConditionalAccumulator is tf.SparseConditionalAccumulator
    with tf.Session() as session:
        session.run(gathered.apply_grad([0, 2], [[3.0, 4.0], [1.0, 2.0]]))
        session.run(
            gathered.apply_indexed_slices_grad(tf.IndexedSlices(tf.constant([[7.0, 8.0]]), tf.constant([2])))
        )
        taken = session.run(gathered.take_indexed_slices_grad(2))
        np.testing.assert_array_equal(taken.indices, [0, 2])
        np.testing.assert_array_equal(taken.values, [[3, 4], [4, 5]])
        np.testing.assert_array_equal(taken.dense_shape, [-1, 2])
        assert session.run(gathered.accumulator_ref).tolist()[0] == b"localhost"


@pytest.mark.parametrize(
    ("indices", "values", "shape", "said"),
    [
        ([1], [[[1.0, 2.0, 3.0]]], [3, 1, 3], "expected shape dim 0 to be 2, got 3"),
        ([2], [[[1.0, 2.0, 3.0]]], None, "index is 2 exceeded 2"),
        ([1], [[[1.0, 2.0]]], None, "expected values dim 2 to be 3, got 2"),
        ([1], [1.0], None, "expected values rank at least 3, got 1"),
        ([0, 1], [[[1.0, 2.0, 3.0]]], None, "Expected 2 non-empty input values, got 1"),
        ([[0]], [[[1.0, 2.0, 3.0]]], None, "Input indices should be vector"),
    ],
)
def test_what_sparse_accumulators_refuse(indices, values, shape, said):
    gathered = tf.SparseConditionalAccumulator(tf.float32, shape=[2, None, 3])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=said):
        session.run(gathered.apply_grad(indices, values, shape))


def test_barriers_give_out_complete_elements_in_the_order_of_their_first_component():
    barrier = Barrier((tf.float32, tf.string), shapes=((2,), ()))
    with tf.Session() as session:
        session.run(barrier.insert_many(0, ["a", "b"], [[1.0, 2.0], [3.0, 4.0]]))
        session.run(barrier.insert_many(1, ["c"], ["C"]))
        session.run(barrier.insert_many(0, ["c"], [[5.0, 6.0]]))
        session.run(barrier.insert_many(1, ["b"], ["B"]))
        assert session.run([barrier.ready_size(), barrier.incomplete_size()]) == [2, 1]
        indices, keys, (numbers, texts) = session.run(barrier.take_many(2))
        least = -(2**63)
        assert (indices.tolist(), keys.tolist()) == ([least, least + 1], [b"b", b"c"])
        assert (numbers.tolist(), texts.tolist()) == ([[3, 4], [5, 6]], [b"B", b"C"])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Key a already has a value for component 0"):
            session.run(barrier.insert_many(0, ["a"], [[0.0, 0.0]]))
        session.run(barrier.close())
        with pytest.raises(tf.errors.CancelledError, match="attempted to insert a brand new key: d"):
            session.run(barrier.insert_many(1, ["d"], ["D"]))
        with pytest.raises(
            tf.errors.OutOfRangeError, match=r"insufficient elements \(requested 2, total size 1\)"
        ):
            session.run(barrier.take_many(2))
        session.run(barrier.insert_many(1, ["a"], ["A"]))
        assert session.run(barrier.take_many(5, allow_small_batch=True))[1].tolist() == [b"a"]
        with pytest.raises(tf.errors.CancelledError, match="is already closed"):
            session.run(barrier.close())


def test_a_barrier_that_waits_ends_when_it_is_closed():
    barrier = Barrier(tf.int32)
    take, close = barrier.take_many(1), barrier.close(cancel_pending_enqueues=True)
    with tf.Session() as session:
        errors = []

        def wait():
            try:
                session.run(take)
            except tf.errors.OutOfRangeError as error:
                errors.append(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        session.run(close)
        waiting.join(10)
        assert len(errors) == 1
