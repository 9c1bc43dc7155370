"""Threads that run lanes.

They are made when they are needed and kept for the next step, one set for the process or, with
``ConfigProto.use_per_session_threads``, for a session. A lane may wait for another, so no lane ever waits for a
thread. What is needed for all this is imported when it is used.

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
