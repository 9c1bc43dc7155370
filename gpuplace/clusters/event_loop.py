"""Event loop thread for all servers and sessions of a process.

Its coroutines transfer messages; steps are computed in other threads.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}
"""Process id to event loop; a forked process has no thread for the loop of its parent."""


def event_loop() -> asyncio.AbstractEventLoop:
    """Return the process's event loop, started on the first call."""
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="gpuplace-cluster", daemon=True).start()
        return loop


def start(work: Coroutine[Any, Any, Any]) -> Future[Any]:
    """Start a coroutine in the event loop."""
    return asyncio.run_coroutine_threadsafe(work, event_loop())


def wait_for(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in the event loop and return its result; Ctrl-C cancels it."""
    future = start(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
