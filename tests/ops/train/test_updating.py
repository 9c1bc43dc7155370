"""Formulas applied to large variables in pieces, to rows that repeat, and what is worked into an array at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import gpuplace as tf
from gpuplace.ops.train.updating import to_all, to_rows, turns
from gpuplace.ops.variables.scatter import apply_at

LARGE = 300_000


def momentum(xp, var, accum, lr, grad):
    accum = accum * xp.float32(0.9) + grad
    return var - lr * accum, accum


@pytest.mark.parametrize("own", [(True, True), (True, False), (False, False)])
def test_pieces_are_the_whole(own):
    rng = np.random.default_rng(0)
    var, accum, grad = (rng.standard_normal((LARGE // 100, 100), np.float32) for _ in range(3))
    lr = np.float32(0.1)
    expected = momentum(np, var, accum, lr, grad)
    before = var.copy(), accum.copy()
    found = to_all(np, momentum, [var, accum], own, (lr, grad), 1, {})
    for is_own, given_, was, new, wanted in zip(own, (var, accum), before, found, expected, strict=True):
        assert np.array_equal(new, wanted)
        assert (new is given_) == is_own
        assert is_own or np.array_equal(given_, was)


def test_arrays_that_do_not_lie_in_order_are_taken_whole():
    rng = np.random.default_rng(0)
    var, accum, grad = (rng.standard_normal((600, 500), np.float32).T for _ in range(3))
    found = to_all(np, momentum, [var, accum], (True, True), (np.float32(0.1), grad), 1, {})
    for new, wanted in zip(found, momentum(np, var, accum, np.float32(0.1), grad), strict=True):
        assert np.array_equal(new, wanted)


@given(st.lists(st.integers(0, 6), max_size=30))
def test_turns_take_every_position_once_and_no_index_twice(indices):
    indices = np.array(indices, np.int64)
    positions = np.arange(len(indices))
    parts = [positions[turn] for turn in turns(np, indices)]
    assert sorted(position for part in parts for position in part.tolist()) == positions.tolist()
    for part in parts:
        assert len(set(indices[part].tolist())) == len(part)
    for index in set(indices.tolist()):
        order = [position for part in parts for position in part.tolist() if indices[position] == index]
        assert order == sorted(order)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20), st.integers(0, 2**32 - 1))
def test_rows_are_changed_one_after_the_other(indices, seed):
    rng = np.random.default_rng(seed)
    var, accum = rng.standard_normal((2, 5, 3)).astype(np.float32)
    grad = rng.standard_normal((len(indices), 3)).astype(np.float32)
    expected = var.copy(), accum.copy()
    for index, row in zip(indices, grad, strict=True):
        for array, new in zip(
            expected, momentum(np, expected[0][index], expected[1][index], np.float32(0.1), row), strict=True
        ):
            array[index] = new
    found = to_rows(
        np, momentum, [var, accum], (False, True), (np.float32(0.1), grad), 1, np.array(indices), {}
    )
    assert np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])
    assert found[1] is accum and not np.array_equal(var, expected[0])


@pytest.mark.parametrize("how", ["add", "sub", "mul", "min", "max"])
@given(
    shape=arrays.array_shapes(min_dims=1, max_dims=3, max_side=5),
    count=st.integers(0, 12),
    parts=st.integers(1, 2),
    seed=st.integers(0, 2**32 - 1),
)
def test_equal_positions_all_count_in_order(how, shape, count, parts, seed):
    rng = np.random.default_rng(seed)
    parts = min(parts, len(shape))
    array = rng.standard_normal(shape).astype(np.float32)
    index = tuple(rng.integers(0, size, count) for size in shape[:parts])
    updates = rng.standard_normal((count, *shape[parts:])).astype(np.float32)
    expected = array.copy()
    one = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[how]
    for position in range(count):
        at = tuple(int(part[position]) for part in index)
        expected[at] = one(expected[at], updates[position])
    assert np.array_equal(apply_at(np, how, array, index if parts > 1 else index[0], updates), expected)


def test_a_scalar_update_and_many_rows():
    array = np.zeros((3, 100_000), np.float32)
    apply_at(np, "add", array, np.array([2, 0, 2, 2]), np.float32(1.5))
    assert array[:, 0].tolist() == [1.5, 0, 4.5] and array[:, -1].tolist() == [1.5, 0, 4.5]


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_training_step_takes_no_memory_for_new_values(use_resource):
    tf.use_machine("1x Tesla K40c")
    with tf.device("/gpu:0"):
        table = tf.get_variable("table", [4096, 16], use_resource=use_resource)
        ids = tf.placeholder(tf.int32, [4])
        loss = tf.reduce_sum(tf.nn.embedding_lookup(table, ids))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        (allocator,) = session.allocators.values()
        session.run(train, {ids: [0, 1, 2, 3]})
        before = session.run(table)
        in_use = allocator.stats().bytes_in_use
        allocator.clear_stats()
        session.run(train, {ids: [7, 7, 9, 0]})
        stats = allocator.stats()
        assert stats.bytes_in_use == in_use
        assert stats.peak_bytes_in_use - in_use < 4096 * 16 * 4
        after = session.run(table)
    changed = np.flatnonzero((before != after).any(axis=1)).tolist()
    assert changed == [0, 7, 9]
