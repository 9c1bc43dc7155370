"""Elements that are computed before they are requested.

If a pipeline calls functions with side effects (Python functions, random functions, other iterators), a program can
observe prefetching. A thread then computes the elements, as in TensorFlow, starting with the first request::

    input stage ──(thread)──> [element, element, ...] ──> consumer      at most ``buffer_size`` elements wait

Any other pipeline has the same elements at the same cost without prefetching, so it computes them on request.

Source: tensorflow/core/kernels/data/prefetch_dataset_op.cc and prefetch_autotuner.cc, release 1.15.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import Any

from gpuplace.kernels.compute import compute
from gpuplace.tf1.data.runtime.stages import END, Call, GetNext, Passthrough, Run, Stage, invalid
from gpuplace.typing import ArrayModule

AUTOTUNE = -1
"""Lets the buffer grow until the consumer no longer waits."""

_FAST_GROWTH = 2048
"""Buffer growth in elements: the buffer doubles up to this size, then grows linearly."""
_LOOKS_S = 0.5
"""Interval in seconds at which a waiting consumer checks whether the session was closed."""


class Prefetch(Passthrough):
    """Prefetched elements.

    Args:
        stage: the input stage.
        buffer_size: maximum number of buffered elements; 0: no prefetching, ``AUTOTUNE``: as many as needed.

    Raises:
        InvalidArgumentError: ``buffer_size`` is below -1.
    """

    def __init__(self, stage: Stage, buffer_size: int) -> None:
        if buffer_size < AUTOTUNE:
            raise invalid("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning")
        super().__init__(stage)
        self.buffer_size = buffer_size

    def begin(self, run: Run) -> GetNext:
        get_next = self.inputs[0].begin(run)
        if not self.buffer_size or not _has_side_effects(self.inputs[0]):
            return get_next
        return _PrefetchPass(get_next, self.buffer_size, run).take


def _has_side_effects(stage: Stage) -> bool:
    """Return whether the computation of an element has observable side effects."""
    for value in vars(stage).values():
        for call in value if isinstance(value, tuple) and not isinstance(value, Call) else (value,):
            if isinstance(call, Call):
                op_def = call.graph.function_op_defs.get(call.name)
                if op_def is None or op_def.is_stateful:
                    return True
    return any(map(_has_side_effects, stage.inputs))


class _Buffer:
    """Buffer between the prefetching thread and the consumer.

    Args:
        get_next: computes the next element.
        size: maximum number of buffered elements.
    """

    def __init__(self, get_next: GetNext, size: int) -> None:
        self.get_next = get_next
        self.changed = threading.Condition()
        self.made: deque[Any] = deque()
        """Elements, and the errors raised in place of elements."""
        self.limit = size if size != AUTOTUNE else 1
        self.is_wanted = True

    def fill(self) -> None:
        """Compute elements until there are no more, or the consumer has stopped."""
        element: Any = None
        while element is not END:
            with self.changed:
                self.changed.wait_for(lambda: not self.is_wanted or len(self.made) < self.limit)
                if not self.is_wanted:
                    return
            try:
                element = self.get_next()
            except BaseException as error:  # raised again when the element is requested
                element = _FailedElement(error)
            with self.changed:
                self.made.append(element)
                self.changed.notify_all()

    def end(self) -> None:
        """Stop the prefetching."""
        with self.changed:
            self.is_wanted = False
            self.made.clear()
            self.changed.notify_all()


class _FailedElement:
    """Placeholder of an element whose computation failed.

    Args:
        error: the exception.
    """

    def __init__(self, error: BaseException) -> None:
        self.error = error


class _PrefetchPass:
    """One prefetching pass over a dataset; its thread ends with it.

    Args:
        get_next: computes the next element.
        size: maximum number of buffered elements, or ``AUTOTUNE``.
        run: checks whether the session is closed.
    """

    def __init__(self, get_next: GetNext, size: int, run: Run) -> None:
        self._buffer = _Buffer(get_next, size)
        self._run = run
        self._grows = size == AUTOTUNE
        self._was_full = False
        self._is_started = False
        weakref.finalize(self, self._buffer.end).atexit = False

    def take(self) -> Any:
        """Return the next element, or ``END``."""
        buffer = self._buffer
        if not self._is_started:
            self._is_started = True
            threading.Thread(target=buffer.fill, name="gpuplace-prefetch", daemon=True).start()
        with buffer.changed:
            if self._grows:
                self._grow()
            while not buffer.changed.wait_for(lambda: buffer.made, _LOOKS_S):
                self._run.check()
            element = buffer.made[0]
            if element is not END:  # the end marker stays for further requests
                buffer.made.popleft()
            buffer.changed.notify_all()
        if isinstance(element, _FailedElement):
            raise element.error
        return element

    def _grow(self) -> None:
        """Enlarge the buffer if it was full before and is empty now."""
        buffer = self._buffer
        if len(buffer.made) >= buffer.limit:
            self._was_full = True
        elif self._was_full and not buffer.made:
            buffer.limit += min(buffer.limit, _FAST_GROWTH)
            self._was_full = False


@compute("PrefetchDataset")
def _prefetch(xp: ArrayModule, input_dataset: Any, buffer_size: Any) -> Any:
    return Prefetch(input_dataset, int(buffer_size))
