"""Event files: a thread of its own writes each, and they are read event by event.

::

    add ──> queue of max_queue ──> thread ──> records of events.out.tfevents.<seconds>.<host>.<process>.<number>
                                     └─ flushes after the first, then every flush_secs

The graph and the measured step that were added last stand for the file. One whose last record breaks off is still being
written.

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

from gpuplace.errors import DataLossError, InvalidArgumentError
from gpuplace.files.file_system import with_op_errors
from gpuplace.files.records import RecordReader, RecordWriter, read_records
from gpuplace.graphdef.messages import DecodeError, Event, GraphDef, MetaGraphDef, RunMetadata

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


_HEAD = 12
"""Bytes before a record's own."""
_FIRST = b"\x1a\rbrain.Event:"
"""What the first event holds after its time: a text of 13 characters in field 3."""


def is_event_file(data: bytes) -> bool:
    """Whether a file's content, or its beginning, is that of an event file.

    >>> is_event_file(bytes(12) + b"\\t" + bytes(8) + b"\\x1a\\rbrain.Event:2")
    True
    """
    return data[_HEAD : _HEAD + 1] == b"\t" and _FIRST in data[_HEAD : _HEAD + 32]


def graph_in_events(data: bytes, path: str | os.PathLike[str]) -> Any:
    """The ``MetaGraphDef`` that was added last, or else the ``GraphDef``.

    Args:
        data: content of an event file.
        path: its name.

    Raises:
        DataLossError: the file, or the graph in it, is damaged.
        InvalidArgumentError: there is no graph in it.
    """
    found: dict[str, bytes] = {}
    for event in _events(data, path):
        what = event.WhichOneof("what")
        if what in ("graph_def", "meta_graph_def"):
            found[what] = getattr(event, what)
    for what, kind in (("meta_graph_def", MetaGraphDef), ("graph_def", GraphDef)):
        if what in found:
            return _parsed(kind, found[what], path)
    raise InvalidArgumentError.of(
        f"{path} is an event file without a graph",
        hint="tf.summary.FileWriter(folder, session.graph) writes the graph beside the summaries",
    )


def step_in_events(data: bytes, path: str | os.PathLike[str]) -> Any:
    """The ``RunMetadata`` that was added last, of a step that was traced.

    Args:
        data: content of an event file.
        path: its name.

    Raises:
        DataLossError: the file, or the metadata in it, are damaged.
        InvalidArgumentError: no step in it was traced.
    """
    last = None
    for event in _events(data, path):
        if event.WhichOneof("what") == "tagged_run_metadata":
            metadata = _parsed(RunMetadata, event.tagged_run_metadata.run_metadata, path)
            if metadata.step_stats.dev_stats:
                last = metadata
    if last is None:
        raise InvalidArgumentError.of(
            f"{path} is an event file without a traced step",
            hint="writer.add_run_metadata(metadata, tag) adds what session.run(..., run_metadata=metadata) measured",
        )
    return last


def _events(data: bytes, path: str | os.PathLike[str]) -> Iterator[Any]:
    reader = RecordReader(os.fspath(path), data=data)
    while True:
        try:
            record = reader.next()
        except DataLossError as error:
            if error.message.startswith("truncated record"):  # it is being written
                return
            raise
        if record is None:
            return
        yield _parsed(Event, record, path)


def _parsed(kind: Any, data: bytes, path: str | os.PathLike[str]) -> Any:
    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise DataLossError.of(
            f"Can't parse the {kind.DESCRIPTOR.name} in {path}",
            facts={"because": str(error), "size": f"{len(data)} bytes"},
        ) from None
