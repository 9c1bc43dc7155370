"""Steps in pieces on several tasks: what 1.15's and 2.21's servers answered to the same program.

The answers and sentences were asked of servers of TensorFlow 1.15.5 and 2.21 on this program.
"""

import pytest

import gpuplace as tf
from tests.clusters.running import servers

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def tasks():
    with servers(ps=1, worker=2) as started:
        yield started


@pytest.fixture
def program(tasks):
    """A sum on the parameter server, counted there, and a product on another worker that waits for the count."""
    with tf.Graph().as_default():
        with tf.device("/job:worker/task:0"):
            a, b = (tf.placeholder(tf.float32, [], name=name) for name in "ab")
        with tf.device("/job:ps"):
            count = tf.get_variable("count", initializer=0.0)
            total = tf.add(a, b, name="total")
            with tf.control_dependencies([total]):
                counted = tf.assign_add(count, 1.0, name="counted")
        with tf.device("/job:worker/task:1"):
            c = tf.placeholder(tf.float32, [], name="c")
            with tf.control_dependencies([counted]):
                product = tf.multiply(total, c, name="product")
        with tf.Session(tasks["worker", 0].target) as session:
            session.run(count.initializer)
            yield session, (a, b, c), total, product, count
    tf.Session.reset(tasks["ps", 0].target)


def test_pieces_run_once_each(program, tasks):
    session, (a, b, c), total, product, count = program
    for turn in (1, 2):
        handle = session.partial_run_setup([total, product], [a, b, c])
        first = session.partial_run(handle, total, {a: 1, b: 2})
        assert first == 3
        assert session.partial_run(handle, product, {c: first * 17}) == 153
        assert session.run(count) == turn
    for task in tasks.values():  # nothing is kept of the pieces
        (opened,) = task._running.task._sessions.values()
        assert len(opened.parts) <= 2


def test_errors(program):
    session, (a, b, c), total, product, _ = program
    handle = session.partial_run_setup([total, product], [a, b, c])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Fetch c:0 can't be computed from the feeds that have"
    ):
        session.partial_run(handle, product, {a: 1, b: 2})
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Fetch b:0 can't be computed from the feeds that have"
    ):
        session.partial_run(handle, total, {a: 1})  # the call before counted for nothing
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Must run PartialRunSetup before performing partial runs"
    ):
        session.partial_run("none", total, {a: 1, b: 2})
    assert session.partial_run(handle, total, {a: 1, b: 2}) == 3
