"""Queues: what waits for what, what comes out in which order, errors; texts and values are TensorFlow 1.15's."""

import re
import threading
import time

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.stacks import reset_default_graph

SOON_S = 20.0
"""A thread that has not ended by then never will."""


@pytest.fixture(autouse=True)
def graph():
    reset_default_graph()
    yield
    reset_default_graph()


class Run(threading.Thread):
    """A step in a thread of its own, with its value or error."""

    def __init__(self, session, fetches, feed_dict=None):
        super().__init__(daemon=True)
        self.session, self.fetches, self.feed_dict = session, fetches, feed_dict
        self.value = self.error = None
        self.start()

    def run(self):
        try:
            self.value = self.session.run(self.fetches, self.feed_dict)
        except Exception as error:
            self.error = error

    def result(self):
        self.join(SOON_S)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error
        return self.value

    def is_waiting(self, condition=lambda: True):
        """Whether it goes on waiting, once it had time to begin."""
        time.sleep(0.05)
        return self.is_alive() and condition()


def message(error):
    """The first line, without the number of the queue in the process."""
    return re.sub(r"'_\d+_", "'_N_", error.value.message.split("\n")[0])


def test_elements_come_out_in_order_one_by_one_and_together():
    queue = tf.FIFOQueue(10, [tf.int32, tf.string], shapes=[[], [2]])
    many = queue.enqueue_many([[1, 2, 3], [["a", "b"], ["c", "d"], ["e", "f"]]])
    one, two = queue.dequeue(), queue.dequeue_many(2)
    assert (one[0].shape, two[1].shape.as_list()) == ((), [2, 2])
    assert queue.dequeue_up_to(2)[1].shape.as_list() == [None, 2]
    with tf.Session() as session:
        session.run(many)
        number, texts = session.run(one)
        assert (number, texts.tolist()) == (1, [b"a", b"b"])
        numbers, texts = session.run(two)
        assert (numbers.tolist(), texts.tolist()) == ([2, 3], [[b"c", b"d"], [b"e", b"f"]])
        assert session.run([queue.size(), queue.is_closed()]) == [0, False]


@pytest.mark.parametrize("machine", ["cpu", "2x Tesla K40c"])
def test_a_step_waits_for_another_and_lets_others_run(machine, monkeypatch):
    monkeypatch.setenv("GPUPLACE_MACHINE", machine)
    tf.reset_runtime()
    with tf.device("/gpu:1" if machine != "cpu" else None):
        other = tf.constant(2.0) * 3.0
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    value = tf.placeholder(tf.float32, [])
    put, got = queue.enqueue(value), queue.dequeue()
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        taking = Run(session, got)
        assert taking.is_waiting(lambda: session.run(other) == 6.0)
        session.run(put, {value: 1.0})
        assert taking.result() == 1.0
        session.run(put, {value: 2.0})
        putting = Run(session, put, {value: 3.0})
        assert putting.is_waiting(lambda: session.run(other) == 6.0)
        assert [session.run(got), session.run(got)] == [2.0, 3.0]
        putting.result()
    tf.reset_runtime()


def test_waiting_takes_no_processor_time():
    got = tf.FIFOQueue(1, tf.float32).dequeue()
    with tf.Session() as session:
        runs = [Run(session, got) for _ in range(4)]
        assert all(run.is_waiting() for run in runs)
        before = time.process_time()
        time.sleep(0.3)
        assert time.process_time() - before < 0.15
    for run in runs:
        with pytest.raises(tf.errors.CancelledError):
            run.result()


def test_who_came_first_goes_first():
    """A step that wants many elements keeps what it has got; nobody overtakes it."""
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    many, one = queue.dequeue_many(3), queue.dequeue()
    put = queue.enqueue_many([[1, 2, 3, 4]])
    with tf.Session() as session:
        first = Run(session, many)
        assert first.is_waiting()
        second = Run(session, one)
        assert second.is_waiting()
        session.run(put)
        assert first.result().tolist() == [1, 2, 3]
        assert second.result() == 4


def test_closing_comes_after_what_waits_and_what_is_left_can_be_taken():
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    put, got, close = queue.enqueue(7), queue.dequeue(), queue.close()
    with tf.Session() as session:
        session.run(put)
        putting = Run(session, put)
        assert putting.is_waiting()
        closing = Run(session, close)
        assert closing.is_waiting(lambda: not session.run(queue.is_closed()))
        assert session.run(got) == 7
        putting.result(), closing.result()
        assert session.run(queue.is_closed())
        assert session.run(got) == 7
        with pytest.raises(tf.errors.OutOfRangeError) as error:
            session.run(got)
        assert message(error) == (
            "FIFOQueue '_N_fifo_queue' is closed and has insufficient elements (requested 1, current size 0)"
        )
        with pytest.raises(tf.errors.CancelledError) as error:
            session.run(put)
        assert message(error) == "FIFOQueue '_N_fifo_queue' is closed."
        with pytest.raises(tf.errors.CancelledError) as error:
            session.run(close)
        assert message(error) == "Queue '_N_fifo_queue' is already closed."


def test_closing_may_cancel_what_waits():
    queue = tf.FIFOQueue(1, tf.int32)
    put = queue.enqueue(7)
    with tf.Session() as session:
        session.run(put)
        putting = Run(session, put)
        assert putting.is_waiting()
        session.run(queue.close(cancel_pending_enqueues=True))
        with pytest.raises(tf.errors.CancelledError) as error:
            putting.result()
        assert message(error) == "Enqueue operation was cancelled"


def test_too_few_elements_in_a_closed_queue_stay_there():
    queue = tf.FIFOQueue(5, tf.int32, shapes=[[]])
    with tf.Session() as session:
        waiting = Run(session, queue.dequeue_many(3))
        assert waiting.is_waiting()
        session.run(queue.enqueue_many([[1, 2]]))
        session.run(queue.close())
        with pytest.raises(tf.errors.OutOfRangeError) as error:
            waiting.result()
        assert "(requested 1, current size 0)" in message(error)
        assert session.run(queue.dequeue_up_to(3)).tolist() == [1, 2]


def test_closing_a_session_ends_what_waits_in_it():
    got = tf.FIFOQueue(1, tf.float32).dequeue()
    session = tf.Session()
    waiting = Run(session, got)
    assert waiting.is_waiting()
    session.close()
    with pytest.raises(tf.errors.CancelledError) as error:
        waiting.result()
    assert message(error) == "Dequeue operation was cancelled"


def test_a_time_limit_ends_a_wait():
    got = tf.FIFOQueue(1, tf.float32).dequeue()
    with tf.Session() as session:
        with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out waiting for notification"):
            session.run(got, options=tf.RunOptions(timeout_in_ms=50))
    with tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=50)) as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(got)


def test_shuffled_elements_come_in_the_order_of_tensorflow():
    """Two kinds of seeds, recorded from 1.15; the last ones come when the queue is closed."""
    queue = tf.RandomShuffleQueue(4, 2, [tf.float32], shapes=[[]], seed=3)
    got = queue.dequeue()
    with tf.Session() as session:
        session.run(queue.enqueue_many([[1.0, 2.0, 3.0]]))
        assert session.run(got) == 3.0
        waiting = Run(session, got)
        assert waiting.is_waiting()
        session.run(queue.close())
        assert [waiting.result(), session.run(got)] == [2.0, 1.0]
        with pytest.raises(tf.errors.OutOfRangeError, match="RandomShuffleQueue '_"):
            session.run(got)
        wrong = tf.RandomShuffleQueue(4, 5, [tf.float32])
        with pytest.raises(tf.errors.InvalidArgumentError, match="min_after_dequeue 5 must be < capacity 4"):
            session.run(wrong.size())


def test_padded_elements():
    queue = tf.PaddingFIFOQueue(4, [tf.float32, tf.string], shapes=[[None], [None, 1]])
    with tf.Session() as session:
        session.run(queue.enqueue([[1.0, 2.0], [["a"]]]))
        session.run(queue.enqueue([[3.0], [["b"], ["c"]]]))
        numbers, texts = session.run(queue.dequeue_many(2))
        assert numbers.tolist() == [[1, 2], [3, 0]]
        assert texts.tolist() == [[[b"a"], [b""]], [[b"b"], [b"c"]]]
    with pytest.raises(ValueError, match="received 1 dtypes and 2 shapes"):
        tf.PaddingFIFOQueue(4, [tf.float32], [[None], [1]])


def test_lowest_priority_first():
    queue = tf.PriorityQueue(4, [tf.string], [[]])
    assert queue.dtypes == [tf.int64, tf.string]
    with tf.Session() as session:
        session.run(queue.enqueue_many([[3, -1, 2], ["c", "a", "b"]]))
        assert session.run(queue.dequeue()) == [-1, b"a"]
        priorities, values = session.run(queue.dequeue_many(2))
        assert (priorities.tolist(), values.tolist()) == ([2, 3], [b"b", b"c"])


def test_named_components():
    queue = tf.FIFOQueue(2, [tf.float32, tf.int32], names=["a", "b"])
    with tf.Session() as session:
        session.run(queue.enqueue({"b": 3, "a": 1.0}))
        assert session.run(queue.dequeue()) == {"a": 1.0, "b": 3}
    with pytest.raises(ValueError, match="You must enqueue a dictionary in a Queue with names"):
        queue.enqueue([1.0, 2])
    with pytest.raises(ValueError, match=r"Dictionary: \(\['a'\]\), Queue: \(\['a', 'b'\]\)"):
        queue.enqueue({"a": 1.0})
    with pytest.raises(ValueError, match="Queue must have names to enqueue a dictionary"):
        tf.FIFOQueue(2, tf.float32).enqueue({"a": 1.0})


@pytest.mark.parametrize(
    ("value", "many", "sentence"),
    [
        ([1.0, 2.0, 3.0], False, "Shape mismatch in tuple component 0. Expected [2], got [3]"),
        ([[1.0, 2.0, 3.0]], True, "Shape mismatch in tuple component 0. Expected [1,2], got [1,3]"),
    ],
)
def test_shapes_that_do_not_fit(value, many, sentence):
    queue = tf.FIFOQueue(2, [tf.float32], shapes=[[2]])
    x = tf.placeholder(tf.float32)
    put = queue.enqueue_many([x]) if many else queue.enqueue([x])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as error:
        session.run(put, {x: value})
    assert message(error) == sentence
    with pytest.raises(ValueError, match="Shapes \\(3,\\) and \\(2,\\) are incompatible"):
        queue.enqueue([[1.0, 2.0, 3.0]])


def test_many_need_equal_rows_and_known_shapes():
    queue = tf.FIFOQueue(2, [tf.float32, tf.int32])
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
    put = queue.enqueue_many([x, y])
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Component 1 has 3, and should have 2"):
            session.run(put, {x: [1, 2], y: [1, 2, 3]})
        session.run(put, {x: [], y: []})
        with pytest.raises(tf.errors.InvalidArgumentError, match="require the components to have specified"):
            session.run(queue.dequeue_many(1))
    with pytest.raises(ValueError, match="Dimensions 2 and 3 are not compatible"):
        queue.enqueue_many([[1.0, 2.0], [1, 2, 3]])


def test_a_fed_array_may_be_written_to_afterwards():
    queue = tf.FIFOQueue(5, tf.float32)
    x = tf.placeholder(tf.float32, [3])
    put, got = queue.enqueue(x), queue.dequeue()
    buffer = np.zeros(3, np.float32)
    with tf.Session() as session:
        for number in range(3):
            buffer[:] = number
            session.run(put, {x: buffer})
        assert [session.run(got).tolist() for _ in range(3)] == [[0.0] * 3, [1.0] * 3, [2.0] * 3]


def test_one_of_a_list():
    queues = [tf.FIFOQueue(3, tf.int32, shapes=[[2]]), tf.FIFOQueue(3, tf.int32, shapes=[[3]])]
    index = tf.placeholder(tf.int32, [])
    chosen = tf.QueueBase.from_list(index, queues)
    assert chosen.shapes[0].as_list() == [None] if chosen.shapes[0].ndims else chosen.shapes[0].ndims is None
    with tf.Session() as session:
        session.run([queues[0].enqueue([[1, 2]]), queues[1].enqueue([[3, 4, 5]])])
        got = chosen.dequeue()
        assert session.run(got, {index: 1}).tolist() == [3, 4, 5]
        assert session.run(got, {index: 0}).tolist() == [1, 2]
    with pytest.raises(TypeError, match="Queues do not have matching component dtypes."):
        tf.QueueBase.from_list(0, [queues[0], tf.FIFOQueue(1, tf.string)])


def test_shared_queues():
    one, same = (tf.FIFOQueue(2, tf.int32, shared_name="jobs") for _ in range(2))
    with tf.Session() as session:
        session.run(one.enqueue(5))
        assert session.run(same.dequeue()) == 5
        for other, sentence in (
            (tf.FIFOQueue(3, tf.int32, shared_name="jobs"), "has capacity 2 but requested capacity was 3."),
            (tf.FIFOQueue(2, tf.string, shared_name="jobs"), "has component types"),
            (tf.PriorityQueue(2, [], shared_name="jobs"), "has type 'FIFOQueue' that does not match"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=sentence):
                session.run(other.size())


# Several steps that wait, in one run


@pytest.mark.parametrize("machine", ["cpu", "2x Tesla K40c"])
@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_an_enqueue_and_a_dequeue_of_one_run_serve_each_other(machine, order, monkeypatch):
    """Whichever of them comes first in the graph: neither stands in the other's way."""
    monkeypatch.setenv("GPUPLACE_MACHINE", machine)
    tf.reset_runtime()
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    x = tf.placeholder(tf.float32, [])
    parts = [lambda: queue.dequeue() * 2.0, lambda: queue.enqueue(x * 3.0)]
    made = {index: parts[index]() for index in order}
    with tf.Session() as session:
        for number in range(3):
            assert session.run([made[0], made[1]], {x: number}) == [6.0 * number, None]
        session.run(made[1], {x: 5.0})  # full from here on: each step puts in what the next one takes out
        assert session.run([made[0], made[1]], {x: 7.0}) == [30.0, None]
        assert session.run(made[0]) == 42.0
    tf.reset_runtime()


def test_what_one_gets_another_needs():
    """Through three queues, in an order against that of the graph."""
    a, b, c = (tf.FIFOQueue(1, tf.float32, shapes=[[]]) for _ in range(3))
    last = c.dequeue()
    second = c.enqueue(b.dequeue() + 1.0)
    first = b.enqueue(a.dequeue() * 10.0)
    start = a.enqueue(tf.constant(4.0) * 1.0)
    with tf.Session() as session:
        for _ in range(3):
            assert session.run([last, second, first, start])[0] == 41.0


def test_an_error_ends_those_that_wait_in_the_same_run():
    queue = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    other = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    x = tf.placeholder(tf.float32, [None])
    got, more = queue.dequeue(), other.dequeue()
    wrong = queue.enqueue(tf.reshape(x, []))
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Input to reshape"):
            session.run([got, more, wrong], {x: [1.0, 2.0]})
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run([got, more], options=tf.RunOptions(timeout_in_ms=50))
        session.run(wrong, {x: [3.0]})
        assert session.run(got) == 3.0, "nothing was taken by the runs that failed"
    waiting = tf.Session()
    run = Run(waiting, [got, more])
    assert run.is_waiting()
    waiting.close()
    with pytest.raises(tf.errors.CancelledError):
        run.result()


@pytest.mark.parametrize(
    ("maker", "attrs", "expected"),
    [
        ("FIFOQueue", {}, [1.0, 2.0, 3.0]),
        ("PaddingFIFOQueue", {}, [1.0, 2.0, 3.0]),
        ("RandomShuffleQueue", {"min_after_dequeue": 0, "seed": 1, "seed2": 2}, [1.0, 2.0, 3.0]),
    ],
)
def test_queues_of_graphs_older_than_1_0_run(maker, attrs, expected):
    """Their handle is a reference to two texts, and their ops have no V2 in their names."""
    types = {"component_types": [tf.float32]}
    queue = apply_op(maker, "queue", **types, shapes=[[]], capacity=5, **attrs).outputs[0]
    assert queue.dtype == tf.string._as_ref
    enqueue = apply_op("QueueEnqueueMany", handle=queue, components=[[1.0, 2.0]])
    one_more = apply_op("QueueEnqueue", handle=queue, components=[3.0])
    size = apply_op("QueueSize", handle=queue).outputs[0]
    one = apply_op("QueueDequeue", handle=queue, **types).outputs[0]
    rest = apply_op("QueueDequeueUpTo", handle=queue, n=5, **types).outputs[0]
    close = apply_op("QueueClose", handle=queue)
    with tf.Session() as session:
        session.run(enqueue)
        session.run(one_more)
        assert session.run(size) == 3
        first = session.run(one)
        session.run(close)
        assert sorted([first, *session.run(rest)]) == expected
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(one)
