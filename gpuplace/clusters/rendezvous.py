"""Where the tensors of one step meet those who wait for them, on one task.

::

    another task:  _Send ──────> put("edge_1_w") ┐
    this task:     _Recv ─ ─ ─ ─ receive("edge_1_w") ─> value

Whichever comes first waits for the other. In a loop an edge is used again and again: what is sent first is received
first, whatever comes first over the wire. When the step fails anywhere, ``abort`` ends all waiting with its error.

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
    """The tensors of a step that come to, or go from, a task.

    Args:
        session: ends all waiting when the session is closed.
        send: carries a value away, by name of the edge and full name of the receiving device.
        clock: gives nanoseconds since 1970.
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
        """Name of an edge -> when its value came, by the clock."""
        self._carry = send
        self._lock = threading.Lock()
        self._values: dict[str, Any] = {}
        self._waits: dict[str, Wait] = {}
        self._sent: dict[str, int] = {}
        self._received: dict[str, int] = {}
        self.cancellation = Cancellation()
        """Ends what waits in the step's kernels, for queues too."""
        self.error: OpError | None = None
        """Why the step was given up."""

    def put(self, name: str, value: Any) -> None:
        """Leaves a value that came, for who waits for it or will."""
        with self._lock:
            self._values[name] = value
            self.arrivals[name] = self._clock()
            wait = self._waits.pop(name, None)
            if wait is not None:
                wait.end()

    def send(self, name: str, device: str, value: Any) -> None:
        """Carries a value to another task.

        Args:
            name: of the edge.
            device: full name of the receiving device.
            value: the value; None in a branch that was not taken.

        Raises:
            OpError: the step was given up.
        """
        if self.error is not None:
            raise self.error
        self._carry(next_name(self._sent, name), device, value)

    def receive(self, name: str) -> Any:
        """Waits for the value of an edge.

        Raises:
            OpError: the step was given up.
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
        """Ends all waiting, now and later; the first error counts."""
        with self._lock:
            if self.error is None:
                self.error = error
        self.cancellation.cancel()


def next_name(counts: dict[str, int], edge: str) -> str:
    """What the value of an edge is called this time: by the edge the first time, then with a number.

    Args:
        counts: edge -> how many times there were; is counted on.
        edge: the edge.
    """
    count = counts[edge] = counts.get(edge, 0) + 1
    return edge if count == 1 else f"{edge};{count}"
