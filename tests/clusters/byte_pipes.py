"""Streams that read given bytes, without a socket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuplace.clusters.frames import FrameError
from gpuplace.clusters.streams import Stream


class _Options:
    def setsockopt(self, *arguments: Any) -> None:
        """Takes what a socket takes."""


class Pipe:
    """Stands for a transport: gives a stream bytes in pieces, as long as it wants them.

    Args:
        data: all that comes; then the connection ends.
        pieces: the sizes of the first pieces; the rest comes as it is wanted.
    """

    def __init__(self, data: bytes, pieces: Sequence[int] = ()) -> None:
        self._data, self._pieces = memoryview(data), iter(pieces)
        self.is_paused = False
        """Whether the stream has had enough."""
        self.stream = Stream()
        self.stream.connection_made(self)

    def get_extra_info(self, name: str) -> Any:
        """The socket."""
        return _Options()

    def set_write_buffer_limits(self, high: int) -> None:
        """Nothing is written."""

    def pause_reading(self) -> None:
        """The stream has enough; ``resume_reading`` goes on."""
        self.is_paused = True

    def abort(self) -> None:
        """Nothing more comes."""
        self._data = memoryview(b"")

    def resume_reading(self) -> None:
        """Gives what the stream waits for."""
        stream = self.stream
        while stream._reader is not None and not stream._reader.done():
            if not self._data:
                stream.connection_lost(None)
                return
            buffer = stream.get_buffer(-1)
            count = min(len(buffer), len(self._data), next(self._pieces, len(buffer)))
            buffer[:count] = self._data[:count]
            self._data = self._data[count:]
            stream.buffer_updated(count)


async def read_all(data: bytes, pieces: Sequence[int] = ()) -> list[dict[str, Any]]:
    """The messages in bytes, up to their end; ``FrameError`` where there is something else."""
    stream, found = Pipe(data, pieces).stream, []
    while True:
        try:
            found.append(await stream.read())
        except FrameError:
            raise
        except ConnectionError:
            return found
