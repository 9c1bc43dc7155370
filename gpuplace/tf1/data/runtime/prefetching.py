"""Elements that are made ahead of their use.

Where a pipeline calls functions that do more than compute (Python's, random ones, other iterators), a program can see
how far ahead it is, so a thread makes the elements, as in TensorFlow; from the first one that is asked for::

    what it takes from ──(thread)──> [element, element, ...] ──> who asks      at most ``buffer_size`` wait

Any other gives the same elements at the same cost when they are made where they are asked for, and is.

Source: tensorflow/core/kernels/data/prefetch_dataset_op.cc and prefetch_autotuner.cc, release 1.15.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import Any

from gpuplace.kernels.compute import compute
from gpuplace.tf1.data.runtime.stages import END, Call, Following, Run, Stage, Unchanged, invalid
from gpuplace.typing import ArrayModule

AUTOTUNE = -1
"""As many as keep who asks from waiting."""

_FAST_GROWTH = 2048
"""Elements; from so many on it grows by so many, and doubles below."""
_LOOKS_S = 0.5
"""How often who waits looks whether the session was closed."""


class Prefetch(Unchanged):
    """Elements made ahead.

    Args:
        stage: what makes them.
        buffer_size: the most that wait; 0: none is made ahead, ``AUTOTUNE``: as many as are needed.

    Raises:
        InvalidArgumentError: a lower number.
    """

    def __init__(self, stage: Stage, buffer_size: int) -> None:
        if buffer_size < AUTOTUNE:
            raise invalid("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning")
        super().__init__(stage)
        self.buffer_size = buffer_size

    def begin(self, run: Run) -> Following:
        following = self.inputs[0].begin(run)
        if not self.buffer_size or not _can_be_seen(self.inputs[0]):
            return following
        return _Ahead(following, self.buffer_size, run).take


def _can_be_seen(stage: Stage) -> bool:
    """Whether making an element does more than compute it."""
    for value in vars(stage).values():
        for call in value if isinstance(value, tuple) and not isinstance(value, Call) else (value,):
            if isinstance(call, Call):
                op_def = call.graph.function_op_defs.get(call.name)
                if op_def is None or op_def.is_stateful:
                    return True
    return any(map(_can_be_seen, stage.inputs))


class _Buffer:
    """What a thread makes and another takes.

    Args:
        following: makes an element.
        size: the most that wait.
    """

    def __init__(self, following: Following, size: int) -> None:
        self.following = following
        self.changed = threading.Condition()
        self.made: deque[Any] = deque()
        """Elements, and the errors that were raised in place of some."""
        self.limit = size if size != AUTOTUNE else 1
        self.is_wanted = True

    def fill(self) -> None:
        """Makes elements until there are no more, or nobody wants any."""
        element: Any = None
        while element is not END:
            with self.changed:
                self.changed.wait_for(lambda: not self.is_wanted or len(self.made) < self.limit)
                if not self.is_wanted:
                    return
            try:
                element = self.following()
            except BaseException as error:  # raised again where the element is asked for
                element = _Failed(error)
            with self.changed:
                self.made.append(element)
                self.changed.notify_all()

    def end(self) -> None:
        """Says that nobody wants further elements."""
        with self.changed:
            self.is_wanted = False
            self.made.clear()
            self.changed.notify_all()


class _Failed:
    """Stands for an element that could not be made.

    Args:
        error: why.
    """

    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Ahead:
    """One way through a dataset that is ahead of who asks; its thread ends with it.

    Args:
        following: makes an element.
        size: the most elements that wait, or ``AUTOTUNE``.
        run: tells whether the session is closed.
    """

    def __init__(self, following: Following, size: int, run: Run) -> None:
        self._buffer = _Buffer(following, size)
        self._run = run
        self._grows = size == AUTOTUNE
        self._was_full = False
        self._is_started = False
        weakref.finalize(self, self._buffer.end).atexit = False

    def take(self) -> Any:
        """The next element, or ``END``."""
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
            if element is not END:  # which stays, for who asks again
                buffer.made.popleft()
            buffer.changed.notify_all()
        if isinstance(element, _Failed):
            raise element.error
        return element

    def _grow(self) -> None:
        """Lets more elements wait where all that could were there once, and none is now."""
        buffer = self._buffer
        if len(buffer.made) >= buffer.limit:
            self._was_full = True
        elif self._was_full and not buffer.made:
            buffer.limit += min(buffer.limit, _FAST_GROWTH)
            self._was_full = False


@compute("PrefetchDataset")
def _prefetch(xp: ArrayModule, input_dataset: Any, buffer_size: Any) -> Any:
    return Prefetch(input_dataset, int(buffer_size))
