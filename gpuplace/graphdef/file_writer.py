"""Event files: graphs, run metadata and summaries for TensorBoard, written by TensorBoard's own writer.

Source: tensorflow/python/summary/writer/writer.py, release 1.15 (names, arguments, which event holds what).
"""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import Any

from tensorboard.summary.writer.event_file_writer import EventFileWriter

from gpuplace.graph.graph import Graph
from gpuplace.graphdef.export import as_graph_def
from gpuplace.graphdef.messages import Event, Summary, TaggedRunMetadata


class FileWriter:
    """Writes events to a new file in ``logdir``.

    Args:
        logdir: folder, made where it is missing.
        graph: a ``Graph`` to write at once; None: none.
        max_queue: events that wait before adding one blocks.
        flush_secs: seconds between writes to disk.
        graph_def: a ``GraphDef`` to write at once, as TensorFlow 0.x had it; ignored where ``graph`` is given.
        filename_suffix: end of the file's name; None: nothing.

    Raises:
        TypeError: ``graph`` is neither.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
    ) -> None:
        self._logdir = os.fspath(logdir)
        self._arguments = (max_queue, flush_secs, filename_suffix or "")
        self._writer: Any = None
        self._tags: set[str] = set()
        self.reopen()
        if graph is not None:
            self.add_graph(graph)
        elif graph_def is not None:
            self.add_graph(graph_def)

    def get_logdir(self) -> str:
        """The folder."""
        return self._logdir

    def reopen(self) -> None:
        """Opens a new file after ``close``; does nothing while one is open."""
        if self._writer is None:
            self._writer = EventFileWriter(self._logdir, *self._arguments)

    def add_event(self, event: Any) -> None:
        """Writes an ``Event`` message.

        Args:
            event: the message.

        Raises:
            RuntimeError: the writer is closed.
        """
        if self._writer is None:
            raise RuntimeError("The FileWriter is closed: call reopen() first")
        self._writer.add_event(event)

    def add_graph(self, graph: Any, global_step: int | None = None) -> None:
        """Writes a ``Graph`` with its shapes, or a ``GraphDef``.

        Args:
            graph: the graph.
            global_step: the step that it is shown at, an integer; None: 0.

        Raises:
            TypeError: ``graph`` is neither.
            RuntimeError: the writer is closed.
        """
        if isinstance(graph, Graph):
            graph = as_graph_def(graph, add_shapes=True)
        elif not hasattr(graph, "SerializeToString"):
            raise TypeError(
                f"The passed graph must be an instance of `Graph` or `GraphDef`, not {type(graph).__name__}"
            )
        self.add_event(self._event(global_step, graph_def=graph.SerializeToString()))

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: int | None = None) -> None:
        """Writes the ``RunMetadata`` of a step.

        Args:
            run_metadata: the message.
            tag: a name of its own.
            global_step: the step that it is shown at, an integer; None: 0.

        Raises:
            ValueError: the tag was used before.
            RuntimeError: the writer is closed.
        """
        if tag in self._tags:
            raise ValueError("The provided tag was already used for this event type")
        self._tags.add(tag)
        tagged = TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self.add_event(self._event(global_step, tagged_run_metadata=tagged))

    def add_summary(self, summary: Any, global_step: int | None = None) -> None:
        """Writes a ``Summary``.

        Args:
            summary: the message, or its bytes.
            global_step: the step that it is shown at, an integer; None: 0.

        Raises:
            RuntimeError: the writer is closed.
        """
        message = Summary.FromString(summary) if isinstance(summary, bytes) else summary
        self.add_event(self._event(global_step, summary=message))

    def flush(self) -> None:
        """Writes waiting events to disk."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Flushes and closes the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @staticmethod
    def _event(global_step: int | None, **content: Any) -> Any:
        event = Event(wall_time=time.time(), **content)
        if global_step is not None:
            event.step = int(global_step)
        return event
