"""Event files: a thread of its own writes each, and they are read event by event.

::

    add ──> queue of max_queue ──> thread ──> records of events.out.tfevents.<seconds>.<host>.<process>.<number>
                                     └─ flushes after the first, then every flush_secs

Source: tensorflow/python/summary/writer/event_file_writer.py, summary_iterator.py and core/util/events_writer.cc,
release 1.15.
"""

from __future__ import annotations

import itertools
import os
import queue
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

from gpuplace.errors import DataLossError
from gpuplace.files.file_system import with_op_errors
from gpuplace.files.records import RecordWriter, read_records
from gpuplace.graphdef.messages import DecodeError, Event

FILE_VERSION = "brain.Event:2"
"""What the first event of a file says."""

_numbers = itertools.count()


class _Thread(threading.Thread):
    """Writes what is in its queue; errors are kept for who adds to it."""

    def __init__(self, records: RecordWriter, max_queue: int, flush_secs: float) -> None:
        super().__init__(name="event file", daemon=True)
        self._records = records
        self._flush_secs = flush_secs
        self._queue: queue.Queue[bytes | None] = queue.Queue(max_queue)
        self._error: Exception | None = None
        self.start()

    def run(self) -> None:
        due, is_flushed = 0.0, True
        while True:
            try:
                record = self._queue.get(timeout=None if is_flushed else max(due - time.monotonic(), 0.0))
            except queue.Empty:
                self._try(self._records.flush)
                due, is_flushed = time.monotonic() + self._flush_secs, True
                continue
            try:
                if record is None:
                    return
                self._try(self._records.write, record)
                is_flushed = False
            finally:
                self._queue.task_done()

    def _try(self, call: Any, *arguments: Any) -> None:
        if self._error is None:
            try:
                call(*arguments)
            except Exception as error:  # raised where the next event is added
                self._error = error

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def add(self, record: bytes) -> None:
        """Waits for a place in the queue."""
        self._check()
        self._queue.put(record)

    def flush(self) -> None:
        """Waits until everything is in the file."""
        self._queue.join()
        self._check()
        self._records.flush()

    def close(self) -> None:
        """Writes what waits and closes the file."""
        self._queue.put(None)
        self.join()
        self._records.close()
        self._check()


class EventFile:
    """A file that is written while it is open; opened again it is another one.

    What waits is also written when the object goes, and when the process ends: programs need not close it.

    Args:
        logdir: folder, made where it is missing.
        max_queue: events that wait before adding one blocks.
        flush_secs: seconds between writes to disk.
        suffix: end of the file's name.

    Raises:
        OpError: the folder or the file cannot be made.
    """

    def __init__(self, logdir: str, max_queue: int, flush_secs: float, suffix: str) -> None:
        self._logdir = logdir
        self._arguments = max_queue, flush_secs
        self._suffix = suffix
        self._lock = threading.Lock()
        self._thread: _Thread | None = None
        self._close: weakref.finalize[..., Any] | None = None
        self.open()

    def open(self) -> None:
        """Opens a new file; does nothing while one is open."""
        with self._lock:
            if self._thread is not None:
                return
            with with_op_errors(self._logdir):
                os.makedirs(self._logdir, exist_ok=True)
            name = (
                f"{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}{self._suffix}"
            )
            records = RecordWriter(os.path.join(self._logdir, f"events.out.tfevents.{name}"))
            thread = _Thread(records, *self._arguments)
            thread.add(Event(wall_time=time.time(), file_version=FILE_VERSION).SerializeToString())
            thread.flush()
            self._thread, self._close = thread, weakref.finalize(self, thread.close)

    @property
    def is_open(self) -> bool:
        """Whether events are written."""
        return self._thread is not None

    def add(self, event: Any) -> None:
        """Writes an ``Event``; does nothing while no file is open.

        Args:
            event: the message.

        Raises:
            TypeError: it is something else.
            OpError: the file cannot be written.
        """
        if not isinstance(event, Event):
            raise TypeError(f"Expected an Event proto, but got {type(event)}")
        if (thread := self._thread) is not None:
            thread.add(event.SerializeToString())

    def flush(self) -> None:
        """Waits until everything is in the file."""
        if (thread := self._thread) is not None:
            thread.flush()

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._thread, close, self._close = None, self._close, None
        if close is not None:
            close()


def summary_iterator(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Goes over the events of a file.

    Args:
        path: of the event file.

    Returns:
        An iterator of ``Event`` messages.

    Raises:
        NotFoundError: there is no such file; raised when the first event is asked for, as all errors.
        DataLossError: the file is damaged, or ends within an event.
    """
    for number, record in enumerate(read_records(path)):
        try:
            event = Event.FromString(record)
        except DecodeError:
            raise DataLossError.of(f"record {number} is no event", facts={"file": os.fspath(path)}) from None
        yield event
