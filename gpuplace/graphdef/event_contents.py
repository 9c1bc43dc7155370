"""Graphs and measured steps in TensorBoard's event files.

An event file begins with an event that names its version. Later ones hold, as bytes, a ``GraphDef``, a ``MetaGraphDef``
or a ``RunMetadata`` with a tag. What a program added last counts. A file whose last record breaks off is one that is
still being written.

Source: tensorflow/core/util/event.proto, release 1.15.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from gpuplace.errors import DataLossError, InvalidArgumentError
from gpuplace.files.records import RecordReader
from gpuplace.graphdef.messages import DecodeError, Event, GraphDef, MetaGraphDef, RunMetadata

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
