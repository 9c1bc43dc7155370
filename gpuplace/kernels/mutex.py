"""A lock that one execution holds at a time, in one step or another.

Who asks first gets it first. What holds it is a value; with that the lock becomes free, also where a step fails.

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
        """Waits for the lock.

        Args:
            session: the session's.

        Raises:
            CancelledError: there is nothing to wait for any more.
            DeadlineExceededError: the time of the step is up.
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
        """Lets the next one have the lock."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().end()
            else:
                self._is_held = False


class HeldMutex:
    """What holds a lock: the value of a tensor of type ``variant``.

    Args:
        mutex: the lock.
    """

    __slots__ = ("_mutex",)
    shape = ()
    """That of the tensor that holds it."""
    dtype = np.dtype(object)
    """NumPy's type of that tensor."""
    size = 1
    ndim = 0
    nbytes = 8

    def __init__(self, mutex: Mutex) -> None:
        self._mutex: Mutex | None = mutex

    def copy(self) -> HeldMutex:
        """Itself: there is no second one."""
        return self

    def let_go(self) -> None:
        """Lets the next one have the lock; again, it does nothing."""
        mutex, self._mutex = self._mutex, None
        if mutex is not None:
            mutex.release()

    def __del__(self) -> None:
        self.let_go()
