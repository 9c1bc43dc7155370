"""Batches of rows of arrays, which are taken by number: the same batches as of rows that a map has handed on."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graph.stacks import reset_default_graph
from gpuplace.tf1.data.runtime import stages

NUMBERS = np.arange(23)
WIDE = np.random.default_rng(3).standard_normal((23, 4, 3)).astype(np.float32)
TEXTS = np.array([f"text {number}".encode() for number in NUMBERS], object)

CHOICES = {
    "nothing": lambda dataset: dataset,
    "shuffle": lambda dataset: dataset.shuffle(7, seed=5),
    "shuffle all": lambda dataset: dataset.shuffle(100, seed=5, reshuffle_each_iteration=False),
    "shuffle, repeat": lambda dataset: dataset.shuffle(7, seed=5).repeat(3),
    "repeat, shuffle": lambda dataset: dataset.repeat(2).shuffle(30, seed=5),
    "skip, take": lambda dataset: dataset.skip(3).take(11),
    "take none": lambda dataset: dataset.take(0),
    "shard, prefetch": lambda dataset: dataset.shard(4, 1).prefetch(2),
}


@pytest.fixture(autouse=True)
def graph():
    reset_default_graph()
    yield
    reset_default_graph()


def twice(dataset):
    """The batches of two iterations in one session."""
    iterator = tf.data.make_initializable_iterator(dataset)
    following, found = iterator.get_next(), []
    with tf.Session() as session:
        for _ in range(2):
            session.run(iterator.initializer)
            found.append([])
            while True:
                try:
                    found[-1].append(session.run(following))
                except tf.errors.OutOfRangeError:
                    break
    return found


@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize("choice", CHOICES)
def test_the_same_batches(choice, drops, monkeypatch):
    rows = tf.data.Dataset.from_tensor_slices((NUMBERS, {"wide": WIDE, "text": TEXTS}))
    expected = twice(CHOICES[choice](rows.map(lambda *row: row)).batch(5, drop_remainder=drops))
    monkeypatch.setattr(stages, "_rows", lambda array: pytest.fail("single rows are made"))
    found = twice(CHOICES[choice](rows).batch(5, drop_remainder=drops))
    assert [len(batches) for batches in found] == [len(batches) for batches in expected]
    for ours, theirs in zip(sum(found, []), sum(expected, []), strict=True):
        for our, their in zip(tf.nest.flatten(ours), tf.nest.flatten(theirs), strict=True):
            assert our.dtype == their.dtype
            np.testing.assert_array_equal(our, their)


def test_batches_are_copies():
    following = (
        tf.data.Dataset.from_tensor_slices(WIDE).repeat().batch(23).make_one_shot_iterator().get_next()
    )
    with tf.Session() as session:
        session.run(following)[...] = 0
        np.testing.assert_array_equal(session.run(following), WIDE)


def test_rows_that_are_filled_up_or_mapped_before():
    rows = tf.data.Dataset.from_tensor_slices(WIDE)
    (padded, *_), _ = twice(rows.padded_batch(2, [4, 5]))
    np.testing.assert_array_equal(padded, np.pad(WIDE[:2], [(0, 0), (0, 0), (0, 2)]))
    (mapped, *_), _ = twice(rows.map(lambda row: row + 1).skip(1).batch(2))
    np.testing.assert_array_equal(mapped, WIDE[1:3] + 1)
