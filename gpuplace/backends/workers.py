"""Threads that run lanes, and how many threads the linear algebra library may use meanwhile.

Threads are made when they are needed and kept for the next step, one set for the process or, with
``ConfigProto.use_per_session_threads``, for a session. A lane may wait for another, so no lane ever waits for a
thread.

NumPy's linear algebra library has threads of its own for one matrix product, as many as the machine has cores;
products of several lanes take turns there. With ``ConfigProto.intra_op_parallelism_threads`` it gets fewer, so
that the lanes share the cores. That is nothing to be changed in passing: with another number of threads a
product's last bits differ. What is needed for all this is imported when it is used.

>>> workers = Workers()
>>> workers.start(lambda: 6 * 7).result()
42
>>> workers.close()
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["IntraOpThreads", "Workers", "intra_op_threads", "process_workers"]

_MOST = 4096
"""More threads than lanes can be in flight."""


class Workers:
    """A set of threads that grows as needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    def start(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Calls the function in a thread of its own."""
        with self._lock:
            if self._pool is None or self._process != os.getpid():  # threads are not there after a fork
                from concurrent.futures import ThreadPoolExecutor

                self._pool = ThreadPoolExecutor(_MOST, thread_name_prefix="gpuplace-lane")
                self._process = os.getpid()
            return self._pool.submit(function, *arguments)

    def close(self) -> None:
        """Ends the threads when they have done what they do; the next call starts new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)


@functools.cache
def process_workers() -> Workers:
    """The threads that all sessions share."""
    return Workers()


class IntraOpThreads:
    """The most threads of one matrix product in this process: what the first session asked for that asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._limited: Any = None

    def ask(self, threads: int) -> None:
        """Limits the library, unless a session has done so before; 0 asks for nothing."""
        with self._lock:
            if threads > 0 and self._limited is None:
                from threadpoolctl import threadpool_limits

                self._limited = threadpool_limits(threads, user_api="blas")

    def reset(self) -> None:
        """Gives the library its own choice back."""
        with self._lock:
            limited, self._limited = self._limited, None
        if limited is not None:
            limited.restore_original_limits()


intra_op_threads = IntraOpThreads()
"""The process's."""
