"""Staging areas: tuples of tensors that one step stores for another, in order or by key.

Source: tensorflow/core/kernels/stage_op.cc and map_stage_op.cc, release 1.15 (what waits for what, sentences).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.errors import CancelledError, InvalidArgumentError, OpError, ResourceExhaustedError
from gpuplace.kernels.cancellation import Cancellation, Wait

Element = tuple[Any, ...]


class Monitor:
    """A store that several threads change, and wait for."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._waiting: dict[Wait, tuple[Callable[[], bool], list[OpError], str | None]] = {}

    def when(self, try_it: Callable[[], bool], cancellation: Cancellation, line: str | None = None) -> None:
        """Wait until ``try_it``, called with the lock held, returns True.

        Args:
            try_it: performs the operation if possible.
            cancellation: ends the wait with the session.
            line: operations of the same line complete in order; None: as soon as possible.

        Raises:
            CancelledError: the wait was cancelled.
            OpError: an error of ``try_it``.
        """
        wait = Wait()
        errors: list[OpError] = []

        def give_up() -> None:
            with self.lock:
                if not wait.has_ended:
                    errors.append(CancelledError.of("Staging operation was cancelled"))
                    self._end(wait)

        with self.lock:
            self._waiting[wait] = try_it, errors, line
            self.changed()
        wait.wait(cancellation, give_up)
        if errors:
            raise errors[0]

    def _end(self, wait: Wait) -> None:
        del self._waiting[wait]
        wait.end()

    def changed(self) -> None:
        """Complete the operations that are now possible; the caller holds the lock."""
        is_going = True
        while is_going:
            is_going = False
            blocked: set[str] = set()
            for wait, (try_it, errors, line) in list(self._waiting.items()):
                if line in blocked:
                    continue
                try:
                    is_done = try_it()
                except OpError as error:  # raised by the waiting operation, whichever thread tries it
                    errors.append(error)
                    is_done = True
                if is_done:
                    self._end(wait)
                    is_going = True
                elif line is not None:
                    blocked.add(line)


def _nbytes(element: Sequence[Any]) -> int:
    return sum(int(value.nbytes) for value in element if value is not None)


class _Area:
    """Base class of both kinds of areas.

    Args:
        capacity: maximum number of elements; 0: unlimited.
        memory_limit: maximum number of bytes; 0: unlimited.
    """

    def __init__(self, capacity: int, memory_limit: int) -> None:
        self.capacity, self.memory_limit = capacity, memory_limit
        self._monitor = Monitor()
        self._nbytes = 0

    def _check_size(self, nbytes: int) -> None:
        if self.memory_limit and nbytes > self.memory_limit:
            raise ResourceExhaustedError.of(
                f"Attempted to insert tensors with combined size of '{nbytes}' bytes into Staging Area with a memory"
                f" limit of '{self.memory_limit}'."
            )

    def _has_room(self, count: int, nbytes: int) -> bool:
        return not (self.capacity and count >= self.capacity) and not (
            self.memory_limit and self._nbytes + nbytes > self.memory_limit
        )


class StagingArea(_Area):
    """A first-in-first-out staging area."""

    def __init__(self, capacity: int, memory_limit: int) -> None:
        super().__init__(capacity, memory_limit)
        self._elements: deque[Element] = deque()

    @property
    def size(self) -> int:
        """The number of elements."""
        with self._monitor.lock:
            return len(self._elements)

    def put(self, element: Element, cancellation: Cancellation) -> None:
        """Add an element, after waiting for room."""
        nbytes = _nbytes(element)
        self._check_size(nbytes)

        def put() -> bool:
            if not self._has_room(len(self._elements), nbytes):
                return False
            self._elements.append(element)
            self._nbytes += nbytes
            return True

        self._monitor.when(put, cancellation)

    def get(self, cancellation: Cancellation) -> Element:
        """Remove and return the first element, after waiting for one."""
        found: list[Element] = []

        def get() -> bool:
            if not self._elements:
                return False
            found.append(self._elements.popleft())
            self._nbytes -= _nbytes(found[0])
            return True

        self._monitor.when(get, cancellation)
        return found[0]

    def peek(self, index: int, cancellation: Cancellation) -> Element:
        """Return the element at an index, after waiting for it."""
        found: list[Element] = []

        def peek() -> bool:
            if index < len(self._elements):
                found.append(self._elements[index])
            return bool(found)

        self._monitor.when(peek, cancellation)
        return found[0]

    def clear(self) -> None:
        """Remove all elements."""
        with self._monitor.lock:
            self._elements.clear()
            self._nbytes = 0
            self._monitor.changed()


class MapStagingArea(_Area):
    """Elements by key; their components may arrive one by one.

    Args:
        capacity: see ``StagingArea``.
        memory_limit: see ``StagingArea``.
        count: number of components.
        is_ordered: whether an operation without a key takes the element with the lowest key.
    """

    def __init__(self, capacity: int, memory_limit: int, count: int, is_ordered: bool) -> None:
        super().__init__(capacity, memory_limit)
        self._count = count
        self._is_ordered = is_ordered
        self._complete: dict[int, list[Any]] = {}
        self._incomplete: dict[int, list[Any]] = {}

    @property
    def size(self) -> int:
        """The number of complete elements."""
        with self._monitor.lock:
            return len(self._complete)

    @property
    def incomplete_size(self) -> int:
        """The number of incomplete elements."""
        with self._monitor.lock:
            return len(self._incomplete)

    def put(
        self, key: int, indices: Sequence[int], values: Sequence[Any], cancellation: Cancellation
    ) -> None:
        """Add components of an element, after waiting for room.

        Raises:
            InvalidArgumentError: the element already has a component.
        """
        nbytes = _nbytes(values)
        self._check_size(nbytes)

        def put() -> bool:
            if key in self._complete:
                raise InvalidArgumentError.of(
                    f"The tensor for index '{indices[0]}' for key '{key}' was already initialized '{self._count}'."
                )
            if not self._has_room(len(self._complete), nbytes):
                return False
            parts = self._incomplete.setdefault(key, [None] * self._count)
            for index, value in zip(indices, values, strict=True):
                if parts[index] is not None:
                    raise InvalidArgumentError.of(
                        f"The tensor for index '{index}' for key '{key}' was already initialized '{self._count}'."
                    )
                parts[index] = value
            self._nbytes += nbytes
            if all(part is not None for part in parts):
                self._complete[key] = self._incomplete.pop(key)
            return True

        self._monitor.when(put, cancellation)

    def get(self, key: int | None, indices: Sequence[int], cancellation: Cancellation) -> tuple[int, Element]:
        """Remove and return components of a complete element; without a key, of any element."""
        found: list[tuple[int, Element]] = []

        def get() -> bool:
            at = key
            if at is None and self._complete:
                at = min(self._complete) if self._is_ordered else next(iter(self._complete))
            if at is None or at not in self._complete:
                return False
            parts = self._complete[at]
            values = tuple(self._part(at, parts, index) for index in indices)
            for index in indices:
                parts[index] = None
            if all(part is None for part in parts):
                del self._complete[at]
            self._nbytes -= _nbytes(values)
            found.append((at, values))
            return True

        self._monitor.when(get, cancellation)
        return found[0]

    def peek(self, key: int, indices: Sequence[int], cancellation: Cancellation) -> Element:
        """Return components of an element, after waiting until it is complete."""
        found: list[Element] = []

        def peek() -> bool:
            if key in self._complete:
                found.append(tuple(self._part(key, self._complete[key], index) for index in indices))
            return bool(found)

        self._monitor.when(peek, cancellation)
        return found[0]

    def _part(self, key: int, parts: Sequence[Any], index: int) -> Any:
        if parts[index] is None:
            raise InvalidArgumentError.of(
                f"Tensor at index '{index}' for key '{key}' has already been removed."
            )
        return parts[index]

    def clear(self) -> None:
        """Remove all elements."""
        with self._monitor.lock:
            self._complete.clear()
            self._incomplete.clear()
            self._nbytes = 0
            self._monitor.changed()
