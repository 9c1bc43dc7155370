"""What event files hold, event by event.

Source: tensorflow/python/summary/summary_iterator.py, release 1.15.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from gpuplace.errors import DataLossError
from gpuplace.files.records import read_records
from gpuplace.graphdef.messages import DecodeError, Event


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
