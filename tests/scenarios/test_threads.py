"""Several threads on one session, one graph, one process."""

import threading

import numpy as np
import pytest

import gpuplace as tf


def in_threads(count, work):
    """Calls `work(number)` in each of `count` threads at once; raises what any of them raised."""
    errors, start = [], threading.Barrier(count)

    def run(number):
        try:
            start.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


@pytest.mark.parametrize("machine", ["cpu", "2x Tesla K40c"])
def test_runs_of_one_session_do_not_mix(machine):
    tf.use_machine(machine)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [8, 8])
        y = x
        for number in range(20):
            with tf.device(f"/gpu:{number % 2}"):
                y = tf.add(tf.matmul(y, np.eye(8, dtype=np.float32)), 1.0)
        config = tf.ConfigProto(allow_soft_placement=True)
        with tf.Session(config=config) as session:

            def work(number):
                for turn in range(30):
                    value = 100 * number + turn
                    found = session.run(y, {x: np.full([8, 8], value)})
                    np.testing.assert_array_equal(found, np.full([8, 8], value + 20))

            in_threads(8, work)


def test_updates_of_a_variable_are_all_counted():
    tf.use_machine("1x Tesla K40c")
    with tf.Graph().as_default():
        counter = tf.Variable(np.zeros([4], np.float32))
        more = tf.assign_add(counter, np.ones([4], np.float32))
        with tf.Session() as session:
            session.run(counter.initializer)
            in_threads(8, lambda number: [session.run(more.op) for _ in range(50)])
            np.testing.assert_array_equal(session.run(counter), np.full([4], 400))


def test_a_graph_that_grows_while_it_runs():
    tf.use_machine("cpu")
    graph = tf.Graph()
    with graph.as_default():
        base = tf.constant(1.0)
    with tf.Session(graph=graph) as session:

        def work(number):
            with graph.as_default():
                for turn in range(15):
                    total = tf.add(base, float(100 * number + turn))
                    assert session.run(total) == 1 + 100 * number + turn

        in_threads(6, work)
        assert len(session.placement) == len(graph.get_operations())


def test_sessions_of_several_threads_share_the_gpu_and_leave_it_empty():
    tf.use_machine("1x Tesla K40c")

    def work(number):
        for _ in range(5):
            with tf.Graph().as_default(), tf.Session() as session:
                variable = tf.Variable(np.full([16, 16], number, np.float32))
                session.run(variable.initializer)
                product = session.run(tf.matmul(variable, variable))
                np.testing.assert_array_equal(product, np.full([16, 16], 16 * number * number))

    in_threads(6, work)
    with tf.Graph().as_default(), tf.Session() as session:
        (allocator,) = session._devices.allocators.values()
        assert allocator.stats().bytes_in_use == 0


def test_an_error_in_one_thread_leaves_the_others_alone():
    tf.use_machine("1x Tesla K40c")
    with tf.Graph().as_default():
        a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        total = tf.add(tf.add(a, a), b)
        with tf.Session() as session:

            def work(number):
                for _ in range(40):
                    if number % 2:
                        with pytest.raises(tf.errors.InvalidArgumentError):
                            session.run(total, {a: np.ones(3), b: np.ones(4)})
                    else:
                        assert session.run(total, {a: [number], b: [1]}).tolist() == [2 * number + 1]

            in_threads(6, work)


def test_default_sessions_belong_to_their_thread():
    tf.use_machine("cpu")
    with tf.Graph().as_default() as graph, tf.Session() as session:
        constant = tf.constant(2.0)

        def work(number):
            assert tf.get_default_session() is None
            with session.as_default(), graph.as_default():
                assert constant.eval() == 2.0

        in_threads(4, work)
        assert tf.get_default_session() is session
