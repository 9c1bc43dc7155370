"""What a task sends to another one: tensors from any thread, together where several are there.

::

    threads of steps       send(a) send(b)           send(c)
                              │       │                 │
    thread that talks         └───────┴─> tensors [a b] └─> tensors [c] ─ ─ ─ > the other task

A step sends many small tensors, one for each variable. A message a tensor would wake the other task, and change threads
in both, as often; so what was given while the talking thread was busy goes in one message. A large tensor goes alone,
and its arrival is answered: until then no other message takes its connection, and so none waits behind it.

Source: distributed.batched, which gathers messages for a time that is fixed.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

from gpuplace.clusters import event_loop
from gpuplace.clusters.connections import Connections

LARGE_BYTES = 1 << 22
"""A tensor of so many bytes is sent alone."""


class Outbox:
    """Carries tensors to one task.

    Args:
        address: full address of the task.
        connections: gives connections to it.
    """

    def __init__(self, address: str, connections: Connections) -> None:
        self._address = address
        self._connections = connections
        self._lock = threading.Lock()
        self._waiting: list[list[Any]] = []
        self._is_woken = False
        self._carrying: set[asyncio.Task[None]] = set()

    def send(self, tensor: list[Any], nbytes: int) -> None:
        """Has a tensor sent, from any thread.

        Where the other task is gone nothing is said: its master, which has a connection to it, ends the step.

        Args:
            tensor: handle of the session, number of the step, name of the edge and packed value.
            nbytes: size of the value.
        """
        loop = event_loop.event_loop()
        if nbytes >= LARGE_BYTES:
            loop.call_soon_threadsafe(self._carry, [tensor], True)
            return
        with self._lock:
            self._waiting.append(tensor)
            if self._is_woken:
                return
            self._is_woken = True
        loop.call_soon_threadsafe(self._carry_waiting)

    def _carry_waiting(self) -> None:
        with self._lock:
            tensors, self._waiting = self._waiting, []
            self._is_woken = False
        self._carry(tensors, False)

    def _carry(self, tensors: list[list[Any]], is_answered: bool) -> None:
        task = asyncio.get_running_loop().create_task(self._write(tensors, is_answered))
        self._carrying.add(task)  # the loop knows its tasks only weakly
        task.add_done_callback(self._carrying.discard)

    async def _write(self, tensors: list[list[Any]], is_answered: bool) -> None:
        with contextlib.suppress(OSError):
            await self._connections.told(self._address, is_answered, op="tensors", tensors=tensors)
