"""Event files, each written by its own thread and read event by event.

::

    add ──> queue of max_queue ──> thread ──> records of events.out.tfevents.<seconds>.<host>.<process>.<number>
                                     └─ flushes after the first, then every flush_secs

The last graph and the last measured step represent a file. A truncated last record is accepted, since the file may
still be growing.

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
"""Content of the first event of a file."""

_numbers = itertools.count()


class _Thread(threading.Thread):
    """Writes the events of its queue; errors are raised by the next call of `add`."""

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
            except Exception as error:  # raised when the next event is added
                self._error = error

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def add(self, record: bytes) -> None:
        """Add an event, waiting for space in the queue."""
        self._check()
        self._queue.put(record)

    def flush(self) -> None:
        """Wait until all events are in the file."""
        self._queue.join()
        self._check()
        self._records.flush()

    def close(self) -> None:
        """Write the remaining events and close the file."""
        self._queue.put(None)
        self.join()
        self._records.close()
        self._check()


class EventFile:
    """An event file that is written while open; reopening creates another file.

    Queued events are also written when the object is deleted and when the process exits, so programs need not close it.

    Args:
        logdir: folder, created if necessary.
        max_queue: number of queued events above which adding one blocks.
        flush_secs: seconds between writes to disk.
        suffix: suffix of the file name.

    Raises:
        OpError: the folder or the file cannot be created.
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
        """Open a new file; no effect if one is open."""
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
        """Whether a file is open."""
        return self._thread is not None

    def add(self, event: Any) -> None:
        """Write an ``Event``; no effect if no file is open.

        Args:
            event: event message.

        Raises:
            TypeError: `event` is not an ``Event``.
            OpError: the file cannot be written.
        """
        if not isinstance(event, Event):
            raise TypeError(f"Expected an Event proto, but got {type(event)}")
        if (thread := self._thread) is not None:
            thread.add(event.SerializeToString())

    def flush(self) -> None:
        """Wait until all events are in the file."""
        if (thread := self._thread) is not None:
            thread.flush()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._thread, close, self._close = None, self._close, None
        if close is not None:
            close()


def summary_iterator(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Iterate over the events of a file.

    Args:
        path: path of the event file.

    Returns:
        An iterator of ``Event`` messages.

    Raises:
        NotFoundError: the file does not exist; raised, like all errors, on the first access.
        DataLossError: the file is corrupt or ends within an event.
    """
    for number, record in enumerate(read_records(path)):
        try:
            event = Event.FromString(record)
        except DecodeError:
            raise DataLossError.of(
                f"record {number} is not an event", facts={"file": os.fspath(path)}
            ) from None
        yield event


_HEAD = 12
"""Number of bytes before the content of a record."""
_FIRST = b"\x1a\rbrain.Event:"
"""Content of the first event after its time: a text of 13 characters in field 3."""


def is_event_file(data: bytes) -> bool:
    """Return whether the content of a file, or its first part, is an event file.

    >>> is_event_file(bytes(12) + b"\\t" + bytes(8) + b"\\x1a\\rbrain.Event:2")
    True
    """
    return data[_HEAD : _HEAD + 1] == b"\t" and _FIRST in data[_HEAD : _HEAD + 32]


def graph_in_events(data: bytes, path: str | os.PathLike[str]) -> Any:
    """Return the last ``MetaGraphDef``, otherwise the last ``GraphDef``.

    Args:
        data: content of an event file.
        path: file name.

    Raises:
        DataLossError: the file or its graph is corrupt.
        InvalidArgumentError: the file contains no graph.
    """
    contents: dict[str, bytes] = {}
    for event in _events(data, path):
        what = event.WhichOneof("what")
        if what in ("graph_def", "meta_graph_def"):
            contents[what] = getattr(event, what)
    for what, kind in (("meta_graph_def", MetaGraphDef), ("graph_def", GraphDef)):
        if what in contents:
            return _parsed(kind, contents[what], path)
    raise InvalidArgumentError.of(
        f"{path} is an event file without a graph",
        hint="write the graph with tf.summary.FileWriter(folder, session.graph)",
    )


def step_in_events(data: bytes, path: str | os.PathLike[str]) -> Any:
    """Return the last ``RunMetadata`` of a traced step.

    Args:
        data: content of an event file.
        path: file name.

    Raises:
        DataLossError: the file or the metadata are corrupt.
        InvalidArgumentError: the file contains no traced step.
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
            hint="add the result of session.run(..., run_metadata=metadata) by writer.add_run_metadata(metadata, tag)",
        )
    return last


def _events(data: bytes, path: str | os.PathLike[str]) -> Iterator[Any]:
    reader = RecordReader(os.fspath(path), data=data)
    while True:
        try:
            record = reader.next()
        except DataLossError as error:
            if error.message.startswith("truncated record"):  # the file is being written
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
