"""Waiting in a kernel: for another step, in another thread, without using the processor meanwhile.

A kernel that has to wait (a dequeue from an empty queue) makes a ``Wait``, leaves it where the other step finds it, and
calls ``wait``. It goes on when somebody calls ``end``, or it is told to give up: the session was closed, another part
of the same step failed, the time of the step is up, or the program was interrupted::

    dequeue:  wait = Wait() ── attempts.append(wait) ── wait.wait(session, give_up) ─ ─ ─ ─ ─ ─ ─ ─> value
    enqueue:                                             attempts.popleft().end() ── goes on

>>> session = Cancellation()
>>> wait = Wait()
>>> wait.end()
>>> wait.wait(session, wait.end)
>>> session.cancel()
>>> session.register(wait, wait.end)
False

Source: tensorflow/core/framework/cancellation.h, release 1.15.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from gpuplace.errors import DeadlineExceededError


class Cancellation:
    """Calls the functions that were left here, each at most once, when what they wait for is given up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[object, Callable[[], None]] = {}
        self.is_cancelled = False
        """Whether ``cancel`` was called."""

    def register(self, key: object, callback: Callable[[], None]) -> bool:
        """Leaves a function to be called; False if it is too late for that."""
        with self._lock:
            if not self.is_cancelled:
                self._callbacks[key] = callback
            return not self.is_cancelled

    def deregister(self, key: object) -> None:
        """Takes the function of that key away, if it is still there."""
        with self._lock:
            self._callbacks.pop(key, None)

    def cancel(self) -> None:
        """Calls all functions, now and never again."""
        with self._lock:
            self.is_cancelled = True
            callbacks, self._callbacks = list(self._callbacks.values()), {}
        for callback in callbacks:
            callback()


class StepRendezvous(Protocol):
    """Where tensors of a step come from, and go to, that other tasks make and need."""

    def send(self, name: str, device: str, value: Any) -> None:
        """Carries the value of an edge to the task of a device."""
        ...

    def receive(self, name: str) -> Any:
        """Waits for the value of an edge."""
        ...


@dataclass(frozen=True, slots=True)
class StepLimits:
    """What ends the waiting of one step besides its session, and where it meets other tasks."""

    cancellation: Cancellation | None = None
    """Of the step, where more than one thread runs it."""
    deadline: float | None = None
    """When its time is up, on the clock of ``time.monotonic``; None: never."""
    late: Callable[[], DeadlineExceededError] | None = None
    """Makes the error for that."""
    rendezvous: StepRendezvous | None = None
    """Where it meets other tasks; None: it runs on one."""


_NO_LIMITS = StepLimits()
_threads = threading.local()


def step_limits() -> StepLimits:
    """The limits of the step that this thread runs."""
    found: StepLimits = getattr(_threads, "limits", _NO_LIMITS)
    return found


def check_deadline(limits: StepLimits) -> None:
    """DeadlineExceededError where the time of a step is up; loops in kernels call it in every round.

    Args:
        limits: those of the step.
    """
    if limits.deadline is not None and time.monotonic() > limits.deadline:
        assert limits.late is not None
        raise limits.late()


@contextmanager
def limited(limits: StepLimits) -> Iterator[None]:
    """A block in which this thread runs a step with those limits."""
    outer = step_limits()
    _threads.limits = limits
    try:
        yield
    finally:
        _threads.limits = outer


_HEARS_SIGNALS_S = 0.1


def acquire(lock: threading.Lock) -> None:
    """Waits for a lock in such a way that Ctrl-C ends the waiting.

    In the main thread a signal that comes after Python last looked for one, and before the wait begins, would be heard
    only after the wait, so it looks up now and then.

    Args:
        lock: the lock.
    """
    if lock.acquire(blocking=False):
        return
    if threading.current_thread() is not threading.main_thread():
        lock.acquire()
        return
    while not lock.acquire(timeout=_HEARS_SIGNALS_S):
        pass


class Wait:
    """One kernel that waits."""

    __slots__ = ("_lock", "has_ended")

    def __init__(self) -> None:
        self.has_ended = False
        """Whether ``end`` was called."""
        self._lock = threading.Lock()
        self._lock.acquire()

    def end(self) -> None:
        """Lets the kernel go on. The caller sees to it that no two threads do so at once."""
        if not self.has_ended:
            self.has_ended = True
            self._lock.release()

    def wait(self, session: Cancellation, give_up: Callable[[], None]) -> None:
        """Waits until ``end`` is called.

        Args:
            session: the session's.
            give_up: called, maybe in another thread, when there is nothing to wait for any more; it calls ``end``.

        Raises:
            DeadlineExceededError: the time of the step is up.
        """
        if self.has_ended:
            return
        limits = step_limits()
        sources = [source for source in (session, limits.cancellation) if source is not None]
        try:
            for source in sources:
                if not source.register(self, give_up):
                    give_up()
            if limits.deadline is None:
                acquire(self._lock)
            elif not self._lock.acquire(timeout=max(limits.deadline - time.monotonic(), 0)):
                assert limits.late is not None
                raise limits.late()
        except BaseException:  # also when the program is interrupted
            give_up()
            raise
        finally:
            for source in sources:
                source.deregister(self)
