"""Queues of tuples of tensors: first in first out, shuffled, padded, or by priority.

Each operation on a queue is an attempt. Attempts to enqueue and attempts to dequeue wait in two lines. Each new attempt
makes the first attempts in both lines proceed until neither can, so none overtakes another. An attempt for many
elements takes or adds elements as soon as it can::

    enqueue attempts   [e3 of 4 left] [e4]            the first one puts what there is room for
    elements           e1 e2 .....................    capacity
    dequeue attempts   [d1 wants 2 more]              the first one takes what there is

Closing is also an attempt to enqueue: it follows the waiting ones, unless they are cancelled.

Source: tensorflow/core/kernels/queue_base.cc, fifo_queue.cc, padding_fifo_queue.cc, random_shuffle_queue_op.cc and
priority_queue.cc, release 1.15 (what waits for what, sentences).
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import CancelledError, InvalidArgumentError, OpError, OutOfRangeError
from gpuplace.kernels.cancellation import Cancellation, Wait
from gpuplace.shapes import TensorShape, brackets

Element = tuple[Any, ...]
"""One array for each component."""

TYPE_NAME = "N10tensorflow14QueueInterfaceE"
"""Queue type in messages about resources."""


class _Attempt(Wait):
    """A queued operation, until it completes or is cancelled.

    Args:
        try_it: makes as much progress as possible and returns whether there was any; calls ``end`` on completion.
    """

    __slots__ = ("error", "left", "taken", "try_it")

    def __init__(self, try_it: Callable[[_Attempt], bool], left: int = 0) -> None:
        super().__init__()
        self.try_it = try_it
        self.left = left
        """Number of elements still to be enqueued or dequeued."""
        self.taken: list[Element] = []
        """Dequeued elements."""
        self.error: OpError | None = None
        """The error, if it failed."""

    def fail(self, error: OpError) -> None:
        """End it with an error."""
        self.error = error
        self.end()


class Queue:
    """A FIFO queue; base class of the others.

    Safe to use from several threads.

    Args:
        name: name for error messages.
        dtypes: types of the components.
        shapes: shapes of an element's components; empty: any shapes.
        capacity: maximum number of elements; negative: unlimited.
    """

    kind = "FIFOQueue"
    """Name of the queue type in messages."""

    def __init__(
        self, name: str, dtypes: Sequence[DType], shapes: Sequence[TensorShape], capacity: int
    ) -> None:
        self.name, self.dtypes, self.shapes, self.capacity = name, tuple(dtypes), tuple(shapes), capacity
        self._lock = threading.RLock()
        self._enqueuing: deque[_Attempt] = deque()
        self._dequeuing: deque[_Attempt] = deque()
        self._is_closed = False

    # Overridden by the other types of queues

    def _length(self) -> int:
        return len(self._elements)

    def _make_empty(self) -> None:
        self._elements: deque[Element] = deque()

    def _put(self, element: Element) -> None:
        self._elements.append(element)

    def _take(self) -> Element:
        return self._elements.popleft()

    def _put_back(self, elements: list[Element]) -> None:
        self._elements.extendleft(reversed(elements))

    def _kept(self) -> int:
        """Number of elements that cannot be dequeued while the queue is open."""
        return 0

    def _joined(self, elements: list[Element]) -> tuple[Any, ...]:
        """Join elements into one array for each component."""
        return tuple(np.stack(column) for column in zip(*elements, strict=True))

    def _fits(self, component: int, shape: tuple[int, ...]) -> bool:
        return self.shapes[component].sizes == shape

    # Operations

    @property
    def size(self) -> int:
        """The number of elements."""
        with self._lock:
            return self._length()

    @property
    def is_closed(self) -> bool:
        """Whether nothing more can be enqueued."""
        with self._lock:
            return self._is_closed

    def check_same(
        self, kind: str, dtypes: Sequence[DType], shapes: Sequence[TensorShape], capacity: int
    ) -> None:
        """Raise InvalidArgumentError if an op that shares this queue declares another one."""
        if kind != self.kind:
            raise InvalidArgumentError.of(
                f"Shared queue '{self.name}' has type '{self.kind}' that does not match type of Node '{self.name}':"
                f" {kind}"
            )
        if capacity != self.capacity:
            raise InvalidArgumentError.of(
                f"Shared queue '{self.name}' has capacity {self.capacity} but requested capacity was {capacity}."
            )
        if tuple(dtypes) != self.dtypes:
            raise InvalidArgumentError.of(
                f"Shared queue '{self.name}' has component types {_types_text(self.dtypes)} but requested component"
                f" types were {_types_text(dtypes)}"
            )
        if [shape.sizes for shape in shapes] != [shape.sizes for shape in self.shapes]:
            raise InvalidArgumentError.of(
                f"Shared queue '{self.name}' has component shapes {_shapes_text(self.shapes)} but requested component"
                f" shapes were {_shapes_text(shapes)}."
            )

    def enqueue(self, element: Element, cancellation: Cancellation) -> None:
        """Add an element, after waiting for room.

        Args:
            element: an array for each component.
            cancellation: ends the wait with the session.

        Raises:
            InvalidArgumentError: a shape does not match.
            CancelledError: the queue is closed, or the wait was cancelled.
        """
        self._check(element, many=False)
        self._enqueue([element], cancellation)

    def enqueue_many(self, components: Element, cancellation: Cancellation) -> None:
        """Add an element for each row of the components, after waiting for room; errors as for ``enqueue``."""
        self._check(components, many=True)
        rows = len(components[0])
        self._enqueue([tuple(part[row, ...] for part in components) for row in range(rows)], cancellation)

    def _enqueue(self, elements: list[Element], cancellation: Cancellation) -> None:
        coming = iter(elements)

        def put(attempt: _Attempt) -> bool:
            if self._is_closed:
                attempt.fail(CancelledError.of(f"{self.kind} '{self.name}' is closed."))
                return True
            before = attempt.left
            while attempt.left and (self.capacity < 0 or self._length() < self.capacity):
                self._put(next(coming))
                attempt.left -= 1
            if not attempt.left:
                attempt.end()
            return attempt.left < before

        if elements:
            self._run(_Attempt(put, len(elements)), self._enqueuing, "Enqueue", cancellation)

    def dequeue(self, cancellation: Cancellation) -> Element:
        """Remove and return an element, after waiting for one.

        Raises:
            OutOfRangeError: the queue is closed and empty.
            CancelledError: the wait was cancelled.
        """
        return self._dequeue(1, False, cancellation)[0]

    def dequeue_many(self, count: int, may_be_fewer: bool, cancellation: Cancellation) -> Element:
        """Remove elements, after waiting for enough of them, and join them into one array for each component.

        Args:
            count: number of elements.
            may_be_fewer: accept fewer elements from a closed queue.
            cancellation: ends the wait with the session.

        Raises:
            InvalidArgumentError: the count is negative, or element shapes are not declared.
            OutOfRangeError: the queue is closed and has too few elements.
            CancelledError: the wait was cancelled.
        """
        if count < 0:
            name = "DequeueUpTo" if may_be_fewer else "DequeueMany"
            raise InvalidArgumentError.of(f"{name} requested {count} < 0 elements")
        if len(self.shapes) != len(self.dtypes):
            raise InvalidArgumentError.of(
                f"{self.kind}'s DequeueMany and DequeueUpTo require the components to have specified shapes.",
                hint="pass shapes=[...] to the queue, one for each component, or dequeue single elements",
            )
        if not count:
            return tuple(
                np.empty((0, *(size or 0 for size in shape.sizes or ())), dtype.as_numpy_dtype)
                for dtype, shape in zip(self.dtypes, self.shapes, strict=True)
            )
        return self._joined(self._dequeue(count, may_be_fewer, cancellation))

    def _dequeue(self, count: int, may_be_fewer: bool, cancellation: Cancellation) -> list[Element]:
        def take(attempt: _Attempt) -> bool:
            there = self._length()
            if self._is_closed and there < attempt.left:
                self._put_back(attempt.taken)
                attempt.taken = []
                if may_be_fewer and self._length():
                    attempt.left = there = self._length()
                else:
                    attempt.fail(
                        OutOfRangeError.of(
                            f"{self.kind} '{self.name}' is closed and has insufficient elements (requested"
                            f" {attempt.left}, current size {there})"
                        )
                    )
                    return True
            free = there if self._is_closed else max(there - self._kept(), 0)
            number = min(free, attempt.left)
            attempt.taken += [self._take() for _ in range(number)]
            attempt.left -= number
            if not attempt.left:
                attempt.end()
            return number > 0

        attempt = _Attempt(take, count)
        self._run(attempt, self._dequeuing, "Dequeue", cancellation)
        return attempt.taken

    def close(self, cancel_pending_enqueues: bool, cancellation: Cancellation) -> None:
        """Close the queue for enqueuing.

        Args:
            cancel_pending_enqueues: close at once and fail waiting enqueues; otherwise close after them.
            cancellation: ends the wait with the session.

        Raises:
            CancelledError: it was closed already, or the wait was cancelled.
        """

        def close(attempt: _Attempt) -> bool:
            if self._is_closed:
                attempt.fail(CancelledError.of(f"Queue '{self.name}' is already closed."))
            else:
                self._is_closed = True
                attempt.end()
            return True

        if not cancel_pending_enqueues:
            self._run(_Attempt(close), self._enqueuing, "Close", cancellation)
            return
        with self._lock:
            pending, self._enqueuing = self._enqueuing, deque()
            self._is_closed = True
            for attempt in pending:
                attempt.fail(CancelledError.of("Enqueue operation was cancelled"))
            self._advance()

    # Attempts

    def _run(
        self, attempt: _Attempt, line: deque[_Attempt], operation: str, cancellation: Cancellation
    ) -> None:
        """Add an attempt to its line and wait until it completes."""

        def give_up() -> None:
            with self._lock:
                if attempt.has_ended:
                    return
                self._forget(attempt)
                self._put_back(attempt.taken)
                attempt.fail(CancelledError.of(f"{operation} operation was cancelled"))
                self._advance()

        with self._lock:
            line.append(attempt)
            self._advance()
        attempt.wait(cancellation, give_up)
        if attempt.error is not None:
            raise attempt.error

    def _forget(self, attempt: _Attempt) -> None:
        for line in (self._enqueuing, self._dequeuing):
            if attempt in line:
                line.remove(attempt)

    def _advance(self) -> None:
        """Run the first attempts of both lines until neither makes progress."""
        is_going = True
        while is_going:
            is_going = False
            for line in (self._enqueuing, self._dequeuing):
                while line and line[0].try_it(line[0]):
                    is_going = True
                    if not line[0].has_ended:
                        break
                    line.popleft()

    def _check(self, components: Element, many: bool) -> None:
        if len(components) != len(self.dtypes):
            raise InvalidArgumentError.of(
                f"Wrong number of components in tuple. Expected {len(self.dtypes)}, got {len(components)}"
            )
        rows: tuple[int, ...] = ()
        for index, value in enumerate(components):
            if many:
                if not value.ndim:
                    raise InvalidArgumentError.of(
                        f"Shape mismatch in tuple component {index}. Expected a batch, got []"
                    )
                rows = rows or value.shape[:1]
                if value.shape[:1] != rows:
                    raise InvalidArgumentError.of(
                        "All input tensors must have the same size in the 0th dimension. Component"
                        f" {index} has {len(value)}, and should have {rows[0]}"
                    )
            shape = value.shape[1:] if many else value.shape
            if self.shapes and not self._fits(index, shape):
                expected = brackets((*rows, *(self.shapes[index].sizes or ())))
                raise InvalidArgumentError.of(
                    f"Shape mismatch in tuple component {index}. Expected {expected.replace('None', '?')}, got"
                    f" {brackets(value.shape)}"
                )


def _types_text(dtypes: Sequence[DType]) -> str:
    return f"[{', '.join(dtype.short_name for dtype in dtypes)}]"


def _shapes_text(shapes: Sequence[TensorShape]) -> str:
    return f"[{', '.join(brackets(shape) for shape in shapes)}]"


class FIFOQueue(Queue):
    """A first-in-first-out queue."""

    def __init__(
        self, name: str, dtypes: Sequence[DType], shapes: Sequence[TensorShape], capacity: int
    ) -> None:
        super().__init__(name, dtypes, shapes, capacity)
        self._make_empty()


class PaddingFIFOQueue(FIFOQueue):
    """A queue that pads elements of different sizes with zeros when several are dequeued together."""

    kind = "PaddingFIFOQueue"

    def _fits(self, component: int, shape: tuple[int, ...]) -> bool:
        return self.shapes[component].is_compatible_with(TensorShape.of(shape))

    def _joined(self, elements: list[Element]) -> tuple[Any, ...]:
        return tuple(map(_padded, zip(*elements, strict=True)))


def _padded(values: Sequence[Any]) -> Any:
    """Join arrays of the same rank, padded with zeros or empty strings at their ends."""
    shape = tuple(map(max, *(value.shape for value in values))) if len(values) > 1 else values[0].shape
    dtype = values[0].dtype
    result = (
        np.full((len(values), *shape), b"", object)
        if dtype.hasobject
        else np.zeros((len(values), *shape), dtype)
    )
    for row, value in enumerate(values):
        part: Any = (row, *map(slice, value.shape))
        result[part] = value
    return result


class RandomShuffleQueue(FIFOQueue):
    """A queue that returns elements in random order.

    Args:
        name: see ``Queue``.
        dtypes: see ``Queue``.
        shapes: see ``Queue``.
        capacity: see ``Queue``.
        min_after_dequeue: number of elements that stay in the queue until it is closed.
        draw: returns the next random 32-bit word.
    """

    kind = "RandomShuffleQueue"

    def __init__(
        self,
        name: str,
        dtypes: Sequence[DType],
        shapes: Sequence[TensorShape],
        capacity: int,
        min_after_dequeue: int,
        draw: Callable[[], int],
    ) -> None:
        super().__init__(name, dtypes, shapes, capacity)
        self.min_after_dequeue = min_after_dequeue
        self._draw = draw

    def _kept(self) -> int:
        return self.min_after_dequeue

    def _take(self) -> Element:
        """Remove and return a random element; the last element takes its place."""
        elements = self._elements
        place = self._draw() % len(elements)
        element, last = elements[place], elements.pop()
        if place < len(elements):
            elements[place] = last
        return element

    def _put_back(self, elements: list[Element]) -> None:
        self._elements.extend(elements)


class PriorityQueue(Queue):
    """A queue that returns the elements with the lowest first component first."""

    kind = "PriorityQueue"

    def __init__(
        self, name: str, dtypes: Sequence[DType], shapes: Sequence[TensorShape], capacity: int
    ) -> None:
        super().__init__(name, dtypes, shapes, capacity)
        self._heap: list[tuple[int, int, Element]] = []
        self._numbers = itertools.count()

    def _length(self) -> int:
        return len(self._heap)

    def _put(self, element: Element) -> None:
        heapq.heappush(self._heap, (int(element[0]), next(self._numbers), element))

    def _take(self) -> Element:
        return heapq.heappop(self._heap)[2]

    def _put_back(self, elements: list[Element]) -> None:
        for element in elements:
            self._put(element)
