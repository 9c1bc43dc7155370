"""``tf.train.Coordinator``: several threads that are to stop together.

Source: tensorflow/python/training/coordinator.py, release 1.15.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpuplace.errors import OutOfRangeError

__all__ = ["Coordinator", "LooperThread"]

_LOOK_AGAIN_S = 0.1
"""How often ``join`` looks whether threads have ended by themselves, in seconds."""

_log = logging.getLogger("tensorflow")


class Coordinator:
    """Tells threads when to stop, waits for them, and hands on the first error that one reports.

    >>> import threading
    >>> coord = Coordinator()
    >>> thread = threading.Thread(target=coord.request_stop)
    >>> thread.start()
    >>> coord.join([thread])
    >>> coord.should_stop()
    True

    Args:
        clean_stop_exception_types: a tuple of classes of errors that mean that all is done; None: ``OutOfRangeError``.
    """

    def __init__(self, clean_stop_exception_types: tuple[type[BaseException], ...] | None = None) -> None:
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (OutOfRangeError,)
        self._clean = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._threads: set[threading.Thread] = set()

    def request_stop(self, ex: Any = None) -> None:
        """Asks the threads to stop.

        Args:
            ex: the error because of which they should, which ``join`` then raises: an exception, or what
                ``sys.exc_info()`` gives; None: there is none.

        Raises:
            BaseException: the error itself, where nobody will call ``join`` any more.
        """
        error = ex[1] if isinstance(ex, tuple) else ex
        if isinstance(error, self._clean):
            error = None
        if error is not None and not isinstance(error, BaseException):
            error = ValueError(f"ex must be a tuple or sys.exc_info must return the current exception: {ex}")
        with self._lock:
            if self._joined:
                if error is not None:
                    raise error
                return
            if not self._stop.is_set():
                if error is not None and self._error is None:
                    _log.info("Error reported to Coordinator: %s, %s", type(error), error)
                    self._error = error
                self._stop.set()

    def clear_stop(self) -> None:
        """Takes back that threads should stop; after that ``join`` can be used again."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Whether threads are asked to stop.

        Returns:
            True after ``request_stop``.
        """
        return self._stop.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """A block that asks all threads to stop when it raises an error, which does not go any further.

        Returns:
            A context manager.
        """
        try:
            yield
        except:  # noqa: E722 - it is reported, and raised by join
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until threads are asked to stop.

        Args:
            timeout: the most seconds; None: any number.

        Returns:
            Whether they are.
        """
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Adds a thread to those that ``join`` waits for.

        Args:
            thread: the thread.
        """
        with self._lock:
            self._threads.add(thread)

    def join(
        self, threads: Iterable[threading.Thread] | None = None, stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:  # fmt: skip
        """Waits until threads have ended: first until they are asked to stop, then for a limited time.

        Args:
            threads: the threads, besides those that are registered.
            stop_grace_period_secs: the seconds they have to end in when they are asked to.
            ignore_live_threads: whether nothing is said where one goes on after that.

        Raises:
            RuntimeError: a thread went on.
            BaseException: what was given to ``request_stop``.
        """
        with self._lock:
            waited_for = list(self._threads.union(threads or ()))
        while any(thread.is_alive() for thread in waited_for) and not self._stop.wait(_LOOK_AGAIN_S):
            pass
        end = time.monotonic() + stop_grace_period_secs
        for thread in waited_for:
            if thread.is_alive():
                thread.join(max(end - time.monotonic(), 0))
        alive = " ".join(thread.name for thread in waited_for if thread.is_alive())
        with self._lock:
            self._joined = True
            self._threads = set()
            error = self._error
        if error is not None:
            raise error
        if alive and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {alive}")
        if alive:
            _log.info("Coordinator stopped with threads still running: %s", alive)

    @property
    def joined(self) -> bool:
        """Whether ``join`` has ended."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raises what was given to ``request_stop``; does nothing where nothing was.

        Raises:
            BaseException: that error.
        """
        with self._lock:
            error = self._error
        if error is not None:
            raise error


class LooperThread(threading.Thread):
    """A thread that calls a function again and again until its coordinator asks it to stop.

    Args:
        coord: the coordinator.
        timer_interval_secs: seconds from one call to the next; None: one after the other.
        target: the function; None: ``run_loop`` of a subclass.
        args: its positional arguments; None: none.
        kwargs: its keyword arguments; None: none.

    Raises:
        ValueError: ``coord`` is no coordinator, or there are arguments and no function.
    """

    def __init__(
        self, coord: Coordinator, timer_interval_secs: float | None, target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None, kwargs: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        super().__init__(daemon=True)
        self._coord = coord
        self._interval = timer_interval_secs
        self._function = target
        self._arguments = tuple(args or ()), dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator, timer_interval_secs: float | None, target: Callable[..., Any],
        args: Sequence[Any] | None = None, kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:  # fmt: skip
        """Starts such a thread; arguments as of the class.

        Args:
            coord: the coordinator.
            timer_interval_secs: seconds from one call to the next; None: one after the other.
            target: the function.
            args: its positional arguments; None: none.
            kwargs: its keyword arguments; None: none.

        Returns:
            The thread.
        """
        looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """What the thread does."""
        with self._coord.stop_on_exception():
            self.start_loop()
            due = time.monotonic()
            while not self._coord.wait_for_stop(max(due - time.monotonic(), 0)):
                due = time.monotonic() if self._interval is None else due + self._interval
                self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called before the first call; for subclasses."""

    def stop_loop(self) -> None:
        """Called after the last call; for subclasses."""

    def run_loop(self) -> None:
        """One call; a subclass without a function has its own."""
        if self._function is not None:
            arguments, keywords = self._arguments
            self._function(*arguments, **keywords)
