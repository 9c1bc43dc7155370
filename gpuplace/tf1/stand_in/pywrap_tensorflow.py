"""``tensorflow.python.pywrap_tensorflow``: the parts of TensorFlow's C++ code that programs use.

Source: tensorflow/python/pywrap_tensorflow.py and client/events_writer.i, release 1.15 (names).
"""

from __future__ import annotations

import socket
import time
from typing import Any

from gpuplace import dtypes
from gpuplace.files.checkpoints.reader import CheckpointReader, NewCheckpointReader
from gpuplace.files.file_system import text_of
from gpuplace.files.records import RecordWriter
from gpuplace.graphdef.messages import Event

__all__ = ["CheckpointReader", "EventsWriter", "NewCheckpointReader", "TF_bfloat16_type"]


def TF_bfloat16_type() -> type:  # noqa: N802 - TensorFlow's name
    """Return the class of bfloat16 numbers in NumPy arrays."""
    scalar: type = dtypes.bfloat16.as_numpy_dtype
    return scalar


class EventsWriter:
    """Writer of an event file, which starts with its version.

    Args:
        file_prefix: prefix of the file name.
    """

    def __init__(self, file_prefix: str | bytes) -> None:
        now = time.time()
        self._name = f"{text_of(file_prefix)}.out.tfevents.{int(now):010d}.{socket.gethostname()}"
        self._records: Any = None
        self._begin = Event(wall_time=now, file_version="brain.Event:2")

    def FileName(self) -> str:  # noqa: N802 - TensorFlow's name, as are the following
        """Return the file's name."""
        self._open()
        return self._name

    def WriteEvent(self, event: Any) -> None:  # noqa: N802
        """Write an event.

        Args:
            event: an ``Event``.

        Raises:
            TypeError: ``event`` is not an ``Event``.
        """
        if not isinstance(event, Event):
            raise TypeError(f"Expected an event_pb2.Event proto, but got {type(event)}")
        self._open()
        self._records.write(event.SerializeToString())

    def Flush(self) -> None:  # noqa: N802
        """Flush the file."""
        if self._records is not None:
            self._records.flush()

    def Close(self) -> None:  # noqa: N802
        """Close the file."""
        if self._records is not None:
            self._records.close()
            self._records = None

    def _open(self) -> None:
        if self._records is None:
            self._records = RecordWriter(self._name)
            self._records.write(self._begin.SerializeToString())
