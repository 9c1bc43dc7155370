"""What event files hold, event by event.

Source: tensorflow/python/summary/summary_iterator.py, release 1.15.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from tensorboard.compat.tensorflow_stub import errors as stub_errors
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import PyRecordReader_New

from gpuplace.errors import DataLossError, NotFoundError
from gpuplace.graphdef.messages import DecodeError, Event

_FRAME_BYTES = 16
"""Of each record: its length, and two checksums."""


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
    name = os.fspath(path)
    if not os.path.exists(name):
        raise NotFoundError.of(f"{name}; No such file or directory")
    reader = PyRecordReader_New(name)
    at = 0
    try:
        while True:
            try:
                reader.GetNext()
                event = Event.FromString(reader.record())
            except stub_errors.OutOfRangeError:
                return
            except (stub_errors.DataLossError, DecodeError):
                raise DataLossError.of(
                    f"corrupted record at {at}",
                    facts={"file": name},
                    hint="the file may still be written to: writer.flush(), or writer.close(), completes it",
                ) from None
            yield event
            at += _FRAME_BYTES + len(reader.record())
    finally:
        reader.file_handle.close()
