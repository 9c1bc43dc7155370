"""``tf.train.Coordinator``: threads that stop together.

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
"""Interval in seconds at which ``join`` checks whether threads have ended on their own."""

_log = logging.getLogger("tensorflow")


class Coordinator:
    """A coordinator that signals threads to stop, waits for them, and re-raises the first reported error.

    >>> import threading
    >>> coord = Coordinator()
    >>> thread = threading.Thread(target=coord.request_stop)
    >>> thread.start()
    >>> coord.join([thread])
    >>> coord.should_stop()
    True

    Args:
        clean_stop_exception_types: a tuple of exceptions that count as a clean stop; None: ``OutOfRangeError``.
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
        """Ask the threads to stop.

        Args:
            ex: the error for ``join`` to raise: an exception, or a result of ``sys.exc_info()``; None: no error.

        Raises:
            BaseException: the error itself, if ``join`` has already ended.
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
        """Clear the stop signal; after that ``join`` can be used again."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Return whether threads have been asked to stop.

        Returns:
            True after ``request_stop``.
        """
        return self._stop.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Open a block that stops all threads if it raises an error, and suppresses the error.

        Returns:
            A context manager.
        """
        try:
            yield
        except:  # noqa: E722 - it is reported, and raised by join
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until threads are asked to stop.

        Args:
            timeout: maximum time in seconds; None: unlimited.

        Returns:
            Whether they have been asked to stop.
        """
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Add a thread to those that ``join`` waits for.

        Args:
            thread: the thread.
        """
        with self._lock:
            self._threads.add(thread)

    def join(
        self, threads: Iterable[threading.Thread] | None = None, stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:  # fmt: skip
        """Wait until threads have ended: first until they are asked to stop, then for a limited time.

        Args:
            threads: the threads, in addition to the registered ones.
            stop_grace_period_secs: the time that they have to stop, in seconds.
            ignore_live_threads: whether to ignore threads that are still running after that.

        Raises:
            RuntimeError: a thread is still running.
            BaseException: the error given to ``request_stop``.
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
        """Raise the error given to ``request_stop``, if any.

        Raises:
            BaseException: the error.
        """
        with self._lock:
            error = self._error
        if error is not None:
            raise error


class LooperThread(threading.Thread):
    """A thread that calls a function repeatedly until its coordinator stops it.

    Args:
        coord: the coordinator.
        timer_interval_secs: seconds between two calls; None: no delay.
        target: the function; None: ``run_loop`` of a subclass.
        args: its positional arguments, or None.
        kwargs: its keyword arguments, or None.

    Raises:
        ValueError: ``coord`` is not a coordinator, or there are arguments without a function.
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
        """Start a looper thread.

        Args:
            coord: the coordinator.
            timer_interval_secs: seconds between two calls; None: no delay.
            target: the function.
            args: its positional arguments, or None.
            kwargs: its keyword arguments, or None.

        Returns:
            The thread.
        """
        looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """Run the loop."""
        with self._coord.stop_on_exception():
            self.start_loop()
            due = time.monotonic()
            while not self._coord.wait_for_stop(max(due - time.monotonic(), 0)):
                due = time.monotonic() if self._interval is None else due + self._interval
                self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Hook for subclasses: called before the first call."""

    def stop_loop(self) -> None:
        """Hook for subclasses: called after the last call."""

    def run_loop(self) -> None:
        """Call the function once; a subclass without a function overrides this."""
        if self._function is not None:
            arguments, keywords = self._arguments
            self._function(*arguments, **keywords)
