"""Waiting in a kernel for another step, which runs in another thread, without using the processor.

A kernel that must wait (such as a dequeue from an empty queue) creates a ``Wait``, stores it where the other step finds
it, and calls ``wait``. It continues when the other step calls ``end``. The wait is cancelled if the session is closed,
another part of the step fails, the step times out, or the program is interrupted::

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
    """Stores callbacks, and calls each at most once on cancellation."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: dict[object, Callable[[], None]] = {}
        self.is_cancelled = False
        """Whether ``cancel`` was called."""

    def register(self, key: object, callback: Callable[[], None]) -> bool:
        """Store a callback; return False if it is already cancelled."""
        with self._lock:
            if not self.is_cancelled:
                self._callbacks[key] = callback
            return not self.is_cancelled

    def deregister(self, key: object) -> None:
        """Remove the callback of a key, if it is still stored."""
        with self._lock:
            self._callbacks.pop(key, None)

    def cancel(self) -> None:
        """Call all callbacks; later calls have no effect."""
        with self._lock:
            self.is_cancelled = True
            callbacks, self._callbacks = list(self._callbacks.values()), {}
        for callback in callbacks:
            callback()


class StepRendezvous(Protocol):
    """Exchange of a step's tensors with other tasks."""

    def send(self, name: str, device: str, value: Any) -> None:
        """Send the value of an edge to the task of a device."""
        ...

    def receive(self, name: str) -> Any:
        """Wait for the value of an edge."""
        ...


@dataclass(frozen=True, slots=True)
class StepLimits:
    """Limits on a step's waits, in addition to its session's limits, and the step's exchange with other tasks."""

    cancellation: Cancellation | None = None
    """Cancellation of the step, if several threads run it."""
    deadline: float | None = None
    """Deadline on the clock of ``time.monotonic``; None: no deadline."""
    late: Callable[[], DeadlineExceededError] | None = None
    """Creates the error for the deadline."""
    rendezvous: StepRendezvous | None = None
    """Exchange with other tasks; None: the step runs on one task."""


_NO_LIMITS = StepLimits()
_threads = threading.local()


def step_limits() -> StepLimits:
    """Return the limits of the step that runs on this thread."""
    found: StepLimits = getattr(_threads, "limits", _NO_LIMITS)
    return found


def check_deadline(limits: StepLimits) -> None:
    """Raise DeadlineExceededError after the step's deadline; loops in kernels call this in each iteration.

    Args:
        limits: limits of the step.
    """
    if limits.deadline is not None and time.monotonic() > limits.deadline:
        assert limits.late is not None
        raise limits.late()


@contextmanager
def limited(limits: StepLimits) -> Iterator[None]:
    """A block in which this thread runs a step with the given limits."""
    outer = step_limits()
    _threads.limits = limits
    try:
        yield
    finally:
        _threads.limits = outer


_HEARS_SIGNALS_S = 0.1


def acquire(lock: threading.Lock) -> None:
    """Wait for a lock so that Ctrl-C ends the wait.

    Python would handle a signal that arrives just before the wait only after it, so the main thread wakes occasionally.

    Args:
        lock: lock to acquire.
    """
    if lock.acquire(blocking=False):
        return
    if threading.current_thread() is not threading.main_thread():
        lock.acquire()
        return
    while not lock.acquire(timeout=_HEARS_SIGNALS_S):
        pass


class Wait:
    """The wait of one kernel."""

    __slots__ = ("_lock", "has_ended")

    def __init__(self) -> None:
        self.has_ended = False
        """Whether ``end`` was called."""
        self._lock = threading.Lock()
        self._lock.acquire()

    def end(self) -> None:
        """Let the kernel continue. The caller ensures that only one thread calls this at a time."""
        if not self.has_ended:
            self.has_ended = True
            self._lock.release()

    def wait(self, session: Cancellation, give_up: Callable[[], None]) -> None:
        """Wait until ``end`` is called.

        Args:
            session: cancellation of the session.
            give_up: called on cancellation, possibly in another thread; it calls ``end``.

        Raises:
            DeadlineExceededError: the step's deadline has passed.
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
        except BaseException:  # also after an interrupt
            give_up()
            raise
        finally:
            for source in sources:
                source.deregister(self)
