"""A step that only asks a pipeline for an element ends when its time is up, and the pipeline can still be used."""

import threading

import pytest

import gpuplace as tf

MANY = 10**12
PIPELINES = {
    "filter": lambda numbers: numbers.filter(lambda x: x < 0),
    "skip": lambda numbers: numbers.skip(MANY - 1),
    "shard": lambda numbers: numbers.shard(MANY, MANY - 1),
    "batch": lambda numbers: numbers.batch(10**9),
    "shuffle": lambda numbers: numbers.shuffle(10**9),
    "window": lambda numbers: numbers.window(1, MANY).flat_map(lambda window: window).skip(1),
    "empty parts": lambda numbers: numbers.flat_map(lambda x: tf.data.Dataset.range(0)),
    "interleaved": lambda numbers: numbers.interleave(lambda x: tf.data.Dataset.range(0), 4),
    "repeated": lambda numbers: tf.data.Dataset.from_tensors(1).repeat().filter(lambda x: x < 0),
    "unbatch": lambda numbers: (
        numbers.batch(10).apply(tf.data.experimental.unbatch()).filter(lambda x: x < 0)
    ),
    "unique": lambda numbers: (
        tf.data.Dataset.from_tensors(1).repeat().apply(tf.data.experimental.unique()).skip(1)
    ),
    "map and batch": lambda numbers: numbers.apply(
        tf.data.experimental.map_and_batch(lambda x: x + 1, 10**9)
    ),
    "prefetch": lambda numbers: numbers.filter(lambda x: x < 0).prefetch(1),
    "groups": lambda numbers: numbers.apply(
        tf.data.experimental.group_by_window(lambda x: x * 0, lambda key, window: window, 10**9)
    ),
    "random": lambda numbers: tf.data.experimental.RandomDataset(1).filter(lambda x: x < 0),
    "errors": lambda numbers: numbers.map(lambda x: tf.check_numerics(0.0 / tf.to_float(x * 0), "")).apply(
        tf.data.experimental.ignore_errors()
    ),
}


def error_of(session, fetch, options=None):
    """What running it raises; a step without an end is cancelled after a minute."""
    alarm = threading.Timer(60, session.close)
    alarm.start()
    with pytest.raises(tf.errors.OpError) as caught:
        session.run(fetch, options=options)
    alarm.cancel()
    return caught.value


@pytest.mark.parametrize("name", PIPELINES)
def test_an_element_that_never_comes(name):
    pipeline = PIPELINES[name](tf.data.Dataset.range(MANY))
    element = tf.data.make_one_shot_iterator(pipeline).get_next()
    with tf.Session() as session:
        for _ in range(2):
            error = error_of(session, element, tf.RunOptions(timeout_in_ms=100))
            assert type(error) is tf.errors.DeadlineExceededError
            assert error.message == "Timed out waiting for notification"


def test_the_limit_of_the_config():
    pipeline = PIPELINES["filter"](tf.data.Dataset.range(MANY))
    element = tf.data.make_one_shot_iterator(pipeline).get_next()
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=100)) as session:
        assert type(error_of(session, element)) is tf.errors.DeadlineExceededError


def test_what_has_been_taken_is_taken():
    """The pipeline goes on where the step ended, and does not seem to be at its end."""
    pipeline = tf.data.Dataset.range(MANY).filter(lambda x: tf.equal(x % 10**6, 5))
    element = tf.data.make_one_shot_iterator(pipeline).get_next()
    with tf.Session() as session:
        assert session.run(element) == 5
        assert type(error_of(session, element, tf.RunOptions(timeout_in_ms=100))) is (
            tf.errors.DeadlineExceededError
        )
        error = error_of(session, element, tf.RunOptions(timeout_in_ms=100))
        assert type(error) is tf.errors.DeadlineExceededError
