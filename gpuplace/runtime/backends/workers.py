"""Threads that run lanes.

They are created on demand and kept for the next step, one pool for the process or, with
``ConfigProto.use_per_session_threads``, for a session. A lane may wait for another, so a lane must never wait for a
thread. The thread pool is imported on first use.

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
"""Maximum number of threads, more than lanes can run concurrently."""


class Workers:
    """Pool of threads that grows on demand."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    def start(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Call the function in a separate thread."""
        with self._lock:
            if self._pool is None or self._process != os.getpid():  # threads do not survive a fork
                from concurrent.futures import ThreadPoolExecutor

                self._pool = ThreadPoolExecutor(_MOST, thread_name_prefix="gpuplace-lane")
                self._process = os.getpid()
            return self._pool.submit(function, *arguments)

    def close(self) -> None:
        """End the threads after their current calls; the next call starts new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)


@functools.cache
def process_workers() -> Workers:
    """Return the threads that all sessions share."""
    return Workers()
