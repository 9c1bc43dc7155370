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
_loop: asyncio.AbstractEventLoop | None = None
_process = 0


def event_loop() -> asyncio.AbstractEventLoop:
    """Return the process's event loop, started at the first call."""
    global _loop, _process
    with _lock:
        if _loop is None or _process != os.getpid():  # a forked process has no thread for it
            _loop, _process = asyncio.new_event_loop(), os.getpid()
            threading.Thread(target=_loop.run_forever, name="gpuplace-cluster", daemon=True).start()
        return _loop


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
