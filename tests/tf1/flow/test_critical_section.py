"""Functions of which one at a time runs; the graph is compared in `tests/tf1/functions/test_flow_programs.py`."""

import gc
import threading

import pytest

import gpuplace as tf
from gpuplace.errors import CancelledError
from gpuplace.kernels.cancellation import Cancellation
from gpuplace.tf1.flow.mutex import Mutex


def counting(count):
    def step():
        seen = count.read_value()
        with tf.control_dependencies([seen]), tf.control_dependencies([count.assign_add(2.0)]):
            return tf.identity(seen)

    return step


def test_sections_run_one_after_the_other_also_from_several_threads():
    count = tf.get_variable("count", initializer=0.0, use_resource=True)
    section = tf.CriticalSection(shared_name="section")
    seen = [section.execute(counting(count)) for _ in range(5)]
    found = []
    with tf.Session() as session:
        session.run(count.initializer)
        threads = [threading.Thread(target=lambda: found.extend(session.run(seen))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == [2.0 * number for number in range(20)]
        assert session.run(count) == 40.0


def test_a_step_that_fails_lets_go():
    section, fails = tf.CriticalSection(), tf.placeholder(tf.bool, [])

    def step():
        with tf.control_dependencies([tf.Assert(tf.logical_not(fails), ["no"])]):
            return tf.constant(1.0)

    one = section.execute(step)
    with tf.Session() as session:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="no"):
                session.run(one, {fails: True})
            gc.collect()
            assert session.run(one, {fails: False}) == 1.0


def test_what_may_not_run_in_a_section():
    count = tf.get_variable("count", initializer=0.0, use_resource=True)
    section = tf.CriticalSection(name="section")
    assert section.name == "section" and tf.get_collection("critical_sections") == [section]
    with pytest.raises(ValueError, match="attempts to directly access the CriticalSection"):
        section.execute(lambda: section.execute(lambda: tf.constant(1.0)))
    section.execute(counting(count))
    other = tf.CriticalSection()
    with pytest.raises(ValueError, match="This execution would access resources"):
        other.execute(counting(count))
    with pytest.raises(ValueError, match="requested exclusive resource access"):
        other.execute(counting(count), exclusive_resource_access=False)
    with pytest.raises(NotImplementedError):
        tf.CriticalSection(critical_section_def="definition")
    with pytest.raises(ValueError, match="mutually exclusive"):
        tf.CriticalSection("name", critical_section_def="definition")


def test_waiting_is_given_up_with_the_session():
    mutex, session, errors = Mutex(), Cancellation(), []
    held = mutex.acquire(session)
    asked = threading.Event()

    def wait():
        asked.set()
        try:
            mutex.acquire(session)
        except CancelledError as error:
            errors.append(error.message)

    thread = threading.Thread(target=wait)
    thread.start()
    asked.wait()
    session.cancel()
    thread.join()
    assert errors == ["Lock acquisition cancelled."]
    held.let_go()
    held.copy().let_go()
    assert mutex.acquire(Cancellation()) is not None


def test_a_slice_of_values_becomes_tensors_in_a_tuple():
    one, other = tf.tuple([1.0, tf.constant(2)])
    with tf.Session() as session:
        assert session.run([one, other]) == [1.0, 2]
