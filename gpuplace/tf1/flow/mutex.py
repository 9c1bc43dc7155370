"""A lock that is held by one execution at a time, in the same or another step.

Waiting executions get the lock in order. A value holds the lock; when the value is freed, even in a failed step, the
lock is released.

Source: tensorflow/core/kernels/mutex_ops.cc, release 1.15 (sentence).
"""

from __future__ import annotations

import threading
from collections import deque

import numpy as np

from gpuplace.errors import CancelledError
from gpuplace.kernels.cancellation import Cancellation, Wait


class Mutex:
    """A lock with a queue."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_held = False
        self._waiting: deque[Wait] = deque()

    def acquire(self, session: Cancellation) -> HeldMutex:
        """Wait for the lock.

        Args:
            session: cancellation of the session.

        Raises:
            CancelledError: the wait was cancelled.
            DeadlineExceededError: the step's deadline has passed.
        """
        with self._lock:
            if not self._is_held:
                self._is_held = True
                return HeldMutex(self)
            wait = Wait()
            self._waiting.append(wait)
        given_up = []

        def give_up() -> None:
            with self._lock:
                if wait in self._waiting:
                    self._waiting.remove(wait)
                    given_up.append(True)
                    wait.end()

        wait.wait(session, give_up)
        if given_up:
            raise CancelledError.of("Lock acquisition cancelled.")
        return HeldMutex(self)

    def release(self) -> None:
        """Pass the lock to the next waiting execution."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().end()
            else:
                self._is_held = False


class HeldMutex:
    """The holder of a lock, the value of a ``variant`` tensor.

    Args:
        mutex: lock that is held.
    """

    __slots__ = ("_mutex",)
    shape = ()
    """Shape of the tensor that contains it."""
    dtype = np.dtype(object)
    """NumPy's dtype of that tensor."""
    size = 1
    ndim = 0
    nbytes = 8

    def __init__(self, mutex: Mutex) -> None:
        self._mutex: Mutex | None = mutex

    def copy(self) -> HeldMutex:
        """Return itself: a holder cannot be copied."""
        return self

    def let_go(self) -> None:
        """Release the lock; further calls have no effect."""
        mutex, self._mutex = self._mutex, None
        if mutex is not None:
            mutex.release()

    def __del__(self) -> None:
        self.let_go()
