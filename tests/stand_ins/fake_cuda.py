"""The parts of CUDA that `fake_cupy` stands in for: streams, events, devices, and memory that goes back to a pool."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import numpy as np

ROUNDED = 512
POISON = 0xFF
ILLEGAL_ADDRESS = 700


class CUDARuntimeError(RuntimeError):
    """What the driver reports."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(text or f"cudaError{status}")
        self.status = status


class OutOfMemoryError(MemoryError):
    """The pool's limit is reached."""


class Event:
    """A point in a stream: that of the last record."""

    def __init__(self, fake: Any, device: int) -> None:
        self.fake, self.device = fake, device
        self.recorded = self.over = 0
        self.stream: Stream | None = None

    def record(self, stream: Stream) -> None:
        assert stream.device_id == self.device, "an event belongs to the stream's device"
        with self.fake.lock:
            self.recorded += 1
            self.stream = stream
            stream.add("record", self, self.recorded)

    @property
    def done(self) -> bool:
        self.fake.play()
        return self.fake.fault is None and self.over >= self.recorded

    def synchronize(self) -> None:
        goal = self.recorded
        self.fake.events.append(("host waits", self.device))
        self.fake.run_until(self.stream, lambda: self.over >= goal)


class Stream:
    """A queue."""

    def __init__(self, fake: Any, device: int, name: str) -> None:
        self.fake, self.device_id, self.name = fake, device, name
        self.queue: deque[tuple[str, Any, Any]] = deque()
        with fake.lock:
            fake.streams.append(self)
            self.ptr = len(fake.streams)
            self.priority = fake.random.random()

    def add(self, kind: str, what: Any, version: Any = None) -> None:
        """Queues work, a record or a wait."""
        with self.fake.lock:
            self.queue.append((kind, what, version))
        self.fake.play()

    def is_blocked_by(self) -> Event | None:
        """The event that the stream waits for."""
        if self.queue and self.queue[0][0] == "wait" and self.queue[0][1].over < self.queue[0][2]:
            return self.queue[0][1]
        return None

    def wait_event(self, event: Event) -> None:
        self.add("wait", event, event.recorded)

    def synchronize(self) -> None:
        self.fake.run_until(self, lambda: not self.queue)

    def use(self) -> None:
        assert self.fake.current == self.device_id, "a stream is used on its device"
        self.fake.local.streams[self.device_id] = self

    def __enter__(self) -> None:
        self.fake.local.entered.append(self)
        self.use()

    def __exit__(self, *error: Any) -> None:
        """Back to the stream of the block around this one: what was used in between is forgotten, as in CuPy."""
        entered = self.fake.local.entered
        device = entered.pop().device_id
        around = [stream for stream in entered if stream.device_id == device]
        self.fake.local.streams[device] = around[-1] if around else self.fake._default(device)


class Device:
    """A GPU, to be made the current one."""

    def __init__(self, fake: Any, number: int | None = None) -> None:
        self.fake = fake
        self.id = fake.current if number is None else number
        self._before: list[int] = []  # of the object, whichever thread it is

    def use(self) -> None:
        self.fake.current = self.id

    def __enter__(self) -> None:
        self._before.append(self.fake.current)
        self.fake.current = self.id

    def __exit__(self, *error: Any) -> None:
        self.fake.current = self._before.pop()


class Memory:
    """A block as long as somebody has it."""

    def __init__(self, fake: Any, raw: np.ndarray, device: int, stream: Stream) -> None:
        self.fake, self.raw, self.device, self.stream = fake, raw, device, stream

    def __del__(self) -> None:
        self.fake.give_back(self.raw, self.device, self.stream)


class Pointer:
    """Where an array begins."""

    def __init__(self, fake: Any, address: int, device: int) -> None:
        self.fake, self.ptr, self.device_id = fake, address, device

    def copy_from_host_async(self, source: int, size: int, stream: Stream) -> None:
        self.fake.copy(self.ptr, source, size, stream, "from host")

    def copy_to_host_async(self, target: int, size: int, stream: Stream) -> None:
        self.fake.copy(target, self.ptr, size, stream, "to host")


class Local(threading.local):
    """What a thread has of its own."""

    def __init__(self) -> None:
        self.device = 0
        self.streams: dict[int, Stream] = {}
        self.entered: list[Stream] = []
