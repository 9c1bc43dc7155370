"""Writers of event files: graphs, run metadata and summaries for TensorBoard.

Source: tensorflow/python/summary/writer/writer.py, event_file_writer_v2.py and writer_cache.py, release 1.15 (names,
arguments, which event holds what).
"""

from __future__ import annotations

import os
import threading
import time
from types import TracebackType
from typing import Any, ClassVar

from gpuplace import tf_logging
from gpuplace.callers import warn
from gpuplace.display import above
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graphdef.event_file import EventFile
from gpuplace.graphdef.export import as_graph_def
from gpuplace.graphdef.messages import Event, GraphDef, MetaGraphDef, Summary, TaggedRunMetadata
from gpuplace.typing import RunMetadata


class FileWriter:
    """Writes events to a new file in ``logdir``.

    A separate thread writes queued events to the file. The rest is also written when the program ends without
    ``close``.

    Args:
        logdir: folder, created if necessary.
        graph: ``Graph`` to write at once; None: no graph.
        max_queue: number of queued events above which adding one blocks.
        flush_secs: seconds between writes to disk.
        graph_def: ``GraphDef`` to write at once, as in TensorFlow 0.x; ignored if ``graph`` is passed.
        filename_suffix: suffix of the file name; None: no suffix.
        session: writers for the same session and folder share the first one's file; None: a separate file.

    Raises:
        TypeError: ``graph`` is neither a ``Graph`` nor a ``GraphDef``.
        ValueError: both ``graph`` and ``graph_def`` are passed.
    """

    def __init__(
        self,
        logdir: str | bytes | os.PathLike[str],
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self._logdir = os.fsdecode(logdir)

        def make() -> EventFile:
            return EventFile(self._logdir, max_queue, flush_secs, filename_suffix or "")

        shared_name = f"logdir:{self._logdir}"
        self._file = make() if session is None else session.resources.get_or_create("", shared_name, make)
        self._run_tags: set[str] = set()
        self._described: set[str] = set()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)
            self.add_meta_graph(_meta_graph_of(graph if graph_def is None else graph_def))

    def get_logdir(self) -> str:
        """Return the folder."""
        return self._logdir

    def reopen(self) -> None:
        """Open a new file after ``close``; no effect while one is open."""
        self._file.open()

    def add_event(self, event: Any) -> None:
        """Write an ``Event`` message; a closed writer only warns.

        Args:
            event: event message.

        Raises:
            TypeError: ``event`` is not an ``Event``.
        """
        self._warn_if_closed()
        self._file.add(event)

    def add_graph(self, graph: Any, global_step: int | None = None, graph_def: Any = None) -> None:
        """Write a ``Graph`` with its shapes, or a ``GraphDef``.

        Args:
            graph: graph to write.
            global_step: step number to show; None: 0.
            graph_def: deprecated alternative to ``graph``.

        Raises:
            TypeError: ``graph`` is neither a ``Graph`` nor a ``GraphDef``.
            ValueError: both are passed.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        source = graph_def if graph is None else graph
        if isinstance(source, Graph):
            if graph is None:
                tf_logging.warning(
                    "When passing a `Graph` object, please use the `graph` named argument instead of `graph_def`."
                )
        elif isinstance(source, GraphDef):
            tf_logging.warning(
                "Passing a `GraphDef` to the SummaryWriter is deprecated. Pass a `Graph` object instead, such as"
                " `sess.graph`."
            )
        else:
            raise TypeError(
                "The passed graph must be an instance of `Graph` or the deprecated `GraphDef`, not"
                f" {type(source).__name__}"
            )
        self._add(global_step, graph_def=_graph_def_of(source).SerializeToString())

    def add_meta_graph(self, meta_graph_def: Any, global_step: int | None = None) -> None:
        """Write a ``MetaGraphDef``.

        Args:
            meta_graph_def: message to write.
            global_step: step number to show; None: 0.

        Raises:
            TypeError: ``meta_graph_def`` is not a ``MetaGraphDef``.
        """
        if not isinstance(meta_graph_def, MetaGraphDef):
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}")
        self._add(global_step, meta_graph_def=meta_graph_def.SerializeToString())

    def add_run_metadata(self, run_metadata: RunMetadata, tag: str, global_step: int | None = None) -> None:
        """Write the ``RunMetadata`` of a step.

        Args:
            run_metadata: message to write.
            tag: unique name of the step.
            global_step: step number to show; None: 0.

        Raises:
            ValueError: the tag is in use.
        """
        if tag in self._run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._run_tags.add(tag)
        tagged = TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add(global_step, tagged_run_metadata=tagged)

    def add_session_log(self, session_log: Any, global_step: int | None = None) -> None:
        """Write a ``SessionLog``.

        Args:
            session_log: message to write.
            global_step: step number to show; None: 0.
        """
        self._add(global_step, session_log=session_log)

    def add_summary(self, summary: Any, global_step: int | None = None) -> None:
        """Write a ``Summary``; only the first value of each tag keeps its metadata.

        Args:
            summary: message, or its bytes.
            global_step: step number to show; None: 0.

        Raises:
            TypeError: ``summary`` is neither.
        """
        event = self._event(global_step)
        if isinstance(summary, bytes):
            event.summary.ParseFromString(summary)
        elif isinstance(summary, Summary):
            event.summary.CopyFrom(summary)
        else:
            raise TypeError(
                f"summary must be a Summary message or its bytes, not {type(summary).__name__}: pass the result "
                f"of session.run for a summary op"
            )
        for value in event.summary.value:
            if value.HasField("metadata"):
                if value.tag in self._described:
                    value.ClearField("metadata")
                self._described.add(value.tag)
        self.add_event(event)

    def flush(self) -> None:
        """Write queued events to disk; a closed writer warns."""
        self._warn_if_closed()
        self._file.flush()

    def close(self) -> None:
        """Write queued events and close the file."""
        self._file.close()

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _warn_if_closed(self) -> None:
        if not self._file.is_open:
            warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is"
                " explicitly reopened."
            )

    def _add(self, global_step: int | None, **content: Any) -> None:
        self.add_event(self._event(global_step, **content))

    @staticmethod
    def _event(global_step: int | None, **content: Any) -> Any:
        event = Event(wall_time=time.time(), **content)
        if global_step is not None:
            event.step = int(global_step)
        return event


def _graph_def_of(graph: Any) -> Any:
    return as_graph_def(graph, add_shapes=True) if isinstance(graph, Graph) else graph


def _meta_graph_of(graph: Any) -> Any:
    return above("gpuplace.saving.scoped_meta_graph", "create_meta_graph_def")(graph_def=_graph_def_of(graph))


class FileWriterCache:
    """One ``FileWriter`` for each folder, shared by all callers."""

    _writers: ClassVar[dict[str, FileWriter]] = {}
    _lock = threading.RLock()

    @staticmethod
    def get(logdir: str | bytes | os.PathLike[str]) -> FileWriter:
        """Return the writer of a folder; a new one starts with the default graph.

        Args:
            logdir: folder.
        """
        name = os.fsdecode(logdir)
        with FileWriterCache._lock:
            if name not in FileWriterCache._writers:
                FileWriterCache._writers[name] = FileWriter(name, graph=get_default_graph())
            return FileWriterCache._writers[name]

    @staticmethod
    def clear() -> None:
        """Close and drop all writers."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._writers.values():
                writer.close()
            FileWriterCache._writers.clear()
