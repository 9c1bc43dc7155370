"""Threads that fill queues, and who tells them to stop."""

import logging
import threading

import pytest

import gpuplace as tf
from gpuplace.graph.stacks import reset_default_graph

SOON_S = 20.0


@pytest.fixture(autouse=True)
def graph():
    reset_default_graph()
    yield
    reset_default_graph()


def counting_queue(limit):
    """A queue of numbers below a limit, and its runner."""
    counter = tf.Variable(0, name="counter")
    queue = tf.FIFOQueue(4, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(counter.count_up_to(limit))])
    tf.train.add_queue_runner(runner)
    return queue, runner


def test_a_runner_fills_its_queue_and_closes_it_at_the_end():
    queue, _ = counting_queue(9)
    got = queue.dequeue()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        assert [thread.name for thread in threads] == [
            "QueueRunnerThread-fifo_queue-fifo_queue_enqueue",
            "QueueRunnerThread-fifo_queue-close_on_stop",
        ]
        found = []
        with pytest.raises(tf.errors.OutOfRangeError):
            while not coord.should_stop():
                found.append(int(session.run(got)))
        assert found == list(range(9))
        coord.request_stop()
        coord.join(threads)


def test_asked_to_stop_a_runner_stops_though_it_waits():
    queue, runner = counting_queue(100)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = runner.create_threads(session, coord, start=True)
        assert runner.create_threads(session, coord) == []
        assert session.run(queue.dequeue()) == 0
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=SOON_S)
        assert session.run(queue.is_closed())


def test_an_error_of_a_runner_is_raised_by_join():
    queue = tf.FIFOQueue(4, tf.float32)
    wrong = tf.reshape(tf.placeholder_with_default([1.0], [None]), [2])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(wrong)])
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = runner.create_threads(session, coord, start=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Input to reshape"):
            coord.join(threads)


def test_without_a_coordinator_errors_are_kept(monkeypatch):
    queue = tf.FIFOQueue(4, tf.float32)
    wrong = tf.reshape(tf.placeholder_with_default([1.0], [None]), [2])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(wrong)])
    raised = []
    monkeypatch.setattr(threading, "excepthook", lambda found: raised.append(found.exc_value))
    with tf.Session() as session:
        (thread,) = runner.create_threads(session, start=True)
        thread.join(SOON_S)
    assert [type(error) for error in runner.exceptions_raised] == [tf.errors.InvalidArgumentError]
    assert raised == runner.exceptions_raised


def test_other_errors_may_mean_the_end():
    queue = tf.FIFOQueue(4, tf.float32, shapes=[[]])
    wrong = tf.reshape(tf.placeholder_with_default([1.0], [None]), [2])[0]
    kinds = (tf.errors.OutOfRangeError, tf.errors.InvalidArgumentError)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(wrong)], queue_closed_exception_types=kinds)
    with tf.Session() as session:
        (thread,) = runner.create_threads(session, start=True)
        thread.join(SOON_S)
        assert session.run(queue.is_closed())
        assert runner.exceptions_raised == []
    with pytest.raises(TypeError, match="must be a tuple of tf.error types, but saw: "):
        tf.train.QueueRunner(queue, [queue.close()], queue_closed_exception_types=tf.errors.OutOfRangeError)


def test_as_a_message():
    queue, runner = counting_queue(3)
    message = runner.to_proto()
    assert message.queue_name == "fifo_queue"
    assert list(message.enqueue_op_name) == ["fifo_queue_enqueue"]
    assert list(message.queue_closed_exception_types) == [tf.errors.OUT_OF_RANGE]
    again = tf.train.QueueRunner.from_proto(type(message).FromString(message.SerializeToString()))
    assert (again.enqueue_ops, again.close_op, again.cancel_op) == (
        runner.enqueue_ops,
        runner.close_op,
        runner.cancel_op,
    )
    assert again.queue_closed_exception_types == (tf.errors.OutOfRangeError,)
    assert runner.to_proto("elsewhere") is None


def test_what_cannot_be_started(caplog):
    with pytest.raises(ValueError, match="Cannot start queue runners: No default session is registered"):
        tf.train.start_queue_runners()
    with pytest.raises(TypeError, match="sess must be a `tf.Session` object"):
        tf.train.start_queue_runners(sess=3)
    tf.constant(1)
    with tf.Session(), caplog.at_level(logging.WARNING, "tensorflow"):
        assert tf.train.start_queue_runners() == []
    assert "no queue runners were defined" in caplog.text


# Coordinators


def test_the_first_error_counts_and_an_end_of_data_is_none():
    coord = tf.train.Coordinator()
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "all is read"))
    coord.join([])
    coord.clear_stop()
    assert not coord.should_stop() and not coord.joined
    coord.request_stop(KeyError("first"))
    coord.request_stop(KeyError("second"))
    with pytest.raises(KeyError, match="first"):
        coord.raise_requested_exception()
    with pytest.raises(KeyError, match="first"):
        coord.join([])
    with pytest.raises(KeyError, match="late"):
        coord.request_stop(KeyError("late"))


def test_errors_in_a_block_stop_the_others():
    coord = tf.train.Coordinator()

    def fail():
        with coord.stop_on_exception():
            raise ZeroDivisionError("in a thread")

    threads = [threading.Thread(target=fail), threading.Thread(target=coord.wait_for_stop)]
    for thread in threads:
        thread.start()
    with pytest.raises(ZeroDivisionError, match="in a thread"):
        coord.join(threads)


def test_threads_that_go_on_are_named():
    coord, end = tf.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=end.wait, args=(SOON_S,), name="stubborn")
    thread.start()
    coord.request_stop()
    with pytest.raises(RuntimeError, match="Coordinator stopped with threads still running: stubborn"):
        coord.join([thread], stop_grace_period_secs=0.05)
    coord.clear_stop()
    coord.request_stop()
    coord.join([thread], stop_grace_period_secs=0.05, ignore_live_threads=True)
    end.set()


def test_a_looper_calls_again_and_again():
    coord, calls = tf.train.Coordinator(), []

    def call(number):
        calls.append(number)
        if len(calls) == 3:
            coord.request_stop()

    tf.train.LooperThread.loop(coord, 0.001, call, args=(5,))
    coord.join(stop_grace_period_secs=SOON_S)
    assert calls == [5, 5, 5]
    with pytest.raises(ValueError, match="'coord' argument must be a Coordinator"):
        tf.train.LooperThread(None, 1)
