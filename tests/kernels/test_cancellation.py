"""Waits of kernels: ended, cancelled, late."""

import threading
import time

import pytest

import gpuplace as tf
from gpuplace.kernels.cancellation import (
    Cancellation,
    StepLimits,
    Wait,
    acquire,
    check_deadline,
    limited,
    step_limits,
)


def late():
    return tf.errors.DeadlineExceededError(None, None, "late")


def test_callbacks_are_called_once_and_not_after_they_are_removed():
    session, called = Cancellation(), []
    assert session.register("a", lambda: called.append("a")) and session.register(
        "b", lambda: called.append("b")
    )
    session.deregister("b")
    session.deregister("never there")
    assert not session.is_cancelled
    session.cancel()
    session.cancel()
    assert called == ["a"] and session.is_cancelled
    assert not session.register("c", lambda: called.append("c"))
    assert called == ["a"]


def test_a_wait_that_has_ended_does_not_wait():
    wait = Wait()
    assert not wait.has_ended
    wait.end()
    wait.end()
    wait.wait(Cancellation(), lambda: pytest.fail("not cancelled"))
    assert wait.has_ended


@pytest.mark.parametrize("of_step", [False, True])
def test_cancellation_of_the_session_or_the_step_ends_a_wait(of_step):
    session, step, wait, began, given_up = Cancellation(), Cancellation(), Wait(), threading.Event(), []

    def give_up():
        given_up.append(True)
        wait.end()

    def run():
        with limited(StepLimits(cancellation=step)):
            began.set()
            wait.wait(session, give_up)

    thread = threading.Thread(target=run)
    thread.start()
    began.wait()
    (step if of_step else session).cancel()
    thread.join(10)
    assert not thread.is_alive() and given_up == [True]


def test_a_wait_under_a_cancelled_session_gives_up_at_once():
    session, wait = Cancellation(), Wait()
    session.cancel()
    wait.wait(session, wait.end)
    assert wait.has_ended


def test_a_late_wait_gives_up_with_the_steps_error():
    wait = Wait()
    with limited(StepLimits(deadline=time.monotonic() + 0.01, late=late)):
        with pytest.raises(tf.errors.DeadlineExceededError, match="late"):
            wait.wait(Cancellation(), wait.end)
    assert wait.has_ended


def test_a_deadline_is_checked_and_ends_with_its_block():
    check_deadline(StepLimits())
    check_deadline(StepLimits(deadline=time.monotonic() + 60, late=late))
    outer = step_limits()
    with limited(StepLimits(deadline=time.monotonic() - 1, late=late)):
        assert step_limits() is not outer
        with pytest.raises(tf.errors.DeadlineExceededError):
            check_deadline(step_limits())
    assert step_limits() is outer


def test_a_lock_is_acquired_when_another_thread_releases_it():
    lock = threading.Lock()
    acquire(lock)
    assert lock.locked()
    threading.Timer(0.02, lock.release).start()
    acquire(lock)
    assert lock.locked()
