"""Elements that are made ahead of their use."""

import gc
import threading

import numpy as np
import pytest

import gpuplace as tf

WAIT_S = 20
"""Longer than anything takes; only a failure waits for it."""


class Source:
    """A function of Python that says how often it was called."""

    def __init__(self):
        self.calls = 0
        self.changed = threading.Condition()

    def __call__(self, x):
        with self.changed:
            self.calls += 1
            self.changed.notify_all()
        return x * x

    def was_called(self, times):
        with self.changed:
            return self.changed.wait_for(lambda: self.calls == times, WAIT_S)


def squares(source, count, size):
    mapped = tf.data.Dataset.range(count).map(lambda x: tf.py_func(source, [x], x.dtype))
    return tf.data.make_initializable_iterator(mapped.prefetch(size))


def prefetch_threads():
    return [thread for thread in threading.enumerate() if thread.name == "gpuplace-prefetch"]


def test_so_many_are_made_ahead_and_no_more():
    source = Source()
    iterator = squares(source, 20, 3)
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer)
        assert source.calls == 0
        for taken in range(1, 6):
            assert session.run(following) == (taken - 1) ** 2
            assert source.was_called(taken + 3)  # the one that waits for room is not begun
        assert [session.run(following) for _ in range(15)] == [x * x for x in range(5, 20)]
        for _ in range(2):
            with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
                session.run(following)


@pytest.mark.parametrize("size", [0, 1, 1000, None])
def test_the_elements_are_the_same(size):
    iterator = squares(Source(), 50, size)
    following = iterator.get_next()
    with tf.Session() as session:
        for _ in range(2):
            session.run(iterator.initializer)
            assert [session.run(following) for _ in range(50)] == [x * x for x in range(50)]


def test_none_is_made_ahead_where_nobody_could_tell():
    dataset = tf.data.Dataset.range(4).map(lambda x: x + 1).shuffle(4, seed=1).batch(2).prefetch(1)
    following = tf.data.make_one_shot_iterator(dataset).get_next()
    before = len(prefetch_threads())
    with tf.Session() as session:
        assert sorted(np.concatenate([session.run(following) for _ in range(2)])) == [1, 2, 3, 4]
        assert len(prefetch_threads()) == before


def test_errors_take_the_place_of_elements():
    def fail_at_two(x):
        if x == 2:
            raise ValueError("two")
        return x

    mapped = tf.data.Dataset.range(4).map(lambda x: tf.py_func(fail_at_two, [x], x.dtype)).prefetch(10)
    following = tf.data.make_one_shot_iterator(mapped).get_next()
    with tf.Session() as session:
        assert [session.run(following), session.run(following)] == [0, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="two"):
            session.run(following)
        assert session.run(following) == 3
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(following)


def test_a_source_may_wait_for_what_is_done_with_an_element():
    """Nothing is made before it is needed but in the thread: here the second element needs the first one's use."""
    used = threading.Event()

    def wait_for_use(x):
        assert x == 0 or used.wait(WAIT_S)
        return x

    mapped = tf.data.Dataset.range(2).map(lambda x: tf.py_func(wait_for_use, [x], x.dtype)).prefetch(2)
    following = tf.data.make_one_shot_iterator(mapped).get_next()
    with tf.Session() as session:
        assert session.run(following) == 0
        used.set()
        assert session.run(following) == 1


def test_the_thread_ends_with_the_iterator():
    before = set(prefetch_threads())
    source = Source()
    iterator = squares(source, 1000, 5)
    following = iterator.get_next()
    with tf.Session() as session:
        for _ in range(3):
            session.run(iterator.initializer)
            session.run(following)
        session.run(iterator.initializer)
    session = tf.Session()  # never closed
    session.run(iterator.initializer)
    session.run(following)
    del session
    gc.collect()
    for thread in set(prefetch_threads()) - before:
        thread.join(WAIT_S)
        assert not thread.is_alive()


def test_who_waits_hears_that_the_session_is_closed():
    blocked, never = threading.Event(), threading.Event()

    def block(x):
        blocked.set()
        never.wait(WAIT_S)
        return x

    mapped = tf.data.Dataset.range(2).map(lambda x: tf.py_func(block, [x], x.dtype)).prefetch(2)
    following = tf.data.make_one_shot_iterator(mapped).get_next()
    raised = []

    def run():
        try:
            session.run(following)
        except tf.errors.OpError as error:
            raised.append(error)

    session = tf.Session()
    thread = threading.Thread(target=run)
    thread.start()
    assert blocked.wait(WAIT_S)
    session.close()
    thread.join(WAIT_S)
    never.set()
    assert [type(error) for error in raised] == [tf.errors.CancelledError]
