"""Outbox of a task for another task: sends tensors from any thread, several in one message.

::

    threads of steps       send(a) send(b)           send(c)
                              │       │                 │
    event loop                └───────┴─> tensors [a b] └─> tensors [c] ─ ─ ─ > the other task

A step sends many small tensors, one for each variable. One message per tensor would cause a thread switch on both sides
for each; so all tensors that were passed while the event loop was busy are sent in one message. A large tensor is sent
alone, and its arrival is confirmed: until then its connection carries no other message, which would have to wait.

Source: distributed.batched, which collects messages for a fixed time.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

from gpuplace.clusters import event_loop
from gpuplace.clusters.connections import Connections

LARGE_BYTES = 1 << 22
"""Minimum size in bytes of a tensor that is sent alone."""


class Outbox:
    """Sends tensors to one task.

    Args:
        address: full address of the task.
        connections: connections to use.
    """

    def __init__(self, address: str, connections: Connections) -> None:
        self._address = address
        self._connections = connections
        self._lock = threading.Lock()
        self._waiting: list[list[Any]] = []
        self._is_scheduled = False
        self._sending: set[asyncio.Task[None]] = set()

    def send(self, tensor: list[Any], nbytes: int) -> None:
        """Send a tensor, from any thread.

        If the other task is gone, there is no error: its master, which has a connection to it, aborts the step.

        Args:
            tensor: handle of the session, number of the step, name of the edge and packed value.
            nbytes: size of the value.
        """
        loop = event_loop.event_loop()
        if nbytes >= LARGE_BYTES:
            loop.call_soon_threadsafe(self._send_now, [tensor], True)
            return
        with self._lock:
            self._waiting.append(tensor)
            if self._is_scheduled:
                return
            self._is_scheduled = True
        loop.call_soon_threadsafe(self._send_waiting)

    def _send_waiting(self) -> None:
        with self._lock:
            tensors, self._waiting = self._waiting, []
            self._is_scheduled = False
        self._send_now(tensors, False)

    def _send_now(self, tensors: list[list[Any]], is_answered: bool) -> None:
        task = asyncio.get_running_loop().create_task(self._write(tensors, is_answered))
        self._sending.add(task)  # the event loop keeps only weak references
        task.add_done_callback(self._sending.discard)

    async def _write(self, tensors: list[list[Any]], is_answered: bool) -> None:
        with contextlib.suppress(OSError):
            await self._connections.request(self._address, is_answered, op="tensors", tensors=tensors)
