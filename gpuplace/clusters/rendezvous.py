"""Rendezvous of one step on one task: matches arriving tensors with the kernels that wait for them.

::

    another task:  _Send ──────> put("edge_1_w") ┐
    this task:     _Recv ─ ─ ─ ─ receive("edge_1_w") ─> value

Whichever comes first waits for the other. In a loop an edge is used repeatedly: tensors are received in the order in
which they are sent, whatever the order of their arrival. If the step fails anywhere, ``abort`` ends all waiting.

Source: tensorflow/core/distributed_runtime/base_rendezvous_mgr.cc, release 1.15.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from gpuplace.errors import CancelledError, OpError
from gpuplace.kernels.cancellation import Cancellation, Wait

_NOTHING = object()


class Rendezvous:
    """Tensors of a step that are sent or received by a task.

    Args:
        session: cancellation of the session, which ends all waiting.
        send: sends a value, by edge name and full name of the receiving device.
        clock: returns nanoseconds since 1970.
    """

    def __init__(
        self,
        session: Cancellation,
        send: Callable[[str, str, Any], None],
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._session = session
        self._clock = clock
        self.arrivals: dict[str, int] = {}
        """Arrival time of the value of each edge, by name."""
        self._send_away = send
        self._lock = threading.Lock()
        self._values: dict[str, Any] = {}
        self._waits: dict[str, Wait] = {}
        self._sent: dict[str, int] = {}
        self._received: dict[str, int] = {}
        self.cancellation = Cancellation()
        """Cancellation of the step's kernels, including those that wait for queues."""
        self.error: OpError | None = None
        """Error with which the step was aborted."""

    def put(self, name: str, value: Any) -> None:
        """Store a received value for its kernel."""
        with self._lock:
            self._values[name] = value
            self.arrivals[name] = self._clock()
            wait = self._waits.pop(name, None)
            if wait is not None:
                wait.end()

    def send(self, name: str, device: str, value: Any) -> None:
        """Send a value to another task.

        Args:
            name: name of the edge.
            device: full name of the receiving device.
            value: the value; None if it is dead.

        Raises:
            OpError: the step was aborted.
        """
        if self.error is not None:
            raise self.error
        self._send_away(next_name(self._sent, name), device, value)

    def receive(self, name: str) -> Any:
        """Wait for the value of an edge and return it.

        Raises:
            OpError: the step was aborted.
        """
        name = next_name(self._received, name)
        with self._lock:
            value = self._values.pop(name, _NOTHING)
            if value is not _NOTHING:
                return value
            if self.error is not None:
                raise self.error
            wait = self._waits[name] = Wait()

        def give_up() -> None:
            with self._lock:
                self._waits.pop(name, None)
                wait.end()

        wait.wait(self._session, give_up)
        with self._lock:
            value = self._values.pop(name, _NOTHING)
        if value is not _NOTHING:
            return value
        raise self.error or CancelledError.of("Step was cancelled by an explicit call to `Session::Close()`.")

    def abort(self, error: OpError) -> None:
        """End all waiting, now and later; the first error wins."""
        with self._lock:
            if self.error is None:
                self.error = error
        self.cancellation.cancel()


def next_name(counts: dict[str, int], edge: str) -> str:
    """Return the name of the next value of an edge: the edge's name at first, then with a number.

    Args:
        counts: number of values so far by edge; updated.
        edge: name of the edge.
    """
    count = counts[edge] = counts.get(edge, 0) + 1
    return edge if count == 1 else f"{edge};{count}"
