"""Stream of messages over TCP or TLS.

Large arrays are received without copies: the event loop reads from the socket into their memory. All other data passes
through a buffer of fixed size; when it is full, nothing is read until a message is requested.

Source: asyncio.BufferedProtocol.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any

import numpy as np

from gpuplace.clusters.frames import HEAD, Buffer, FrameError, checked_head, checked_sizes, decoded, encoded

_BUFFERED_BYTES = 1 << 16
_JOINED_BYTES = 1 << 17
"""Maximum size in bytes of messages sent in one piece."""
_CHUNK_BYTES = 1 << 20
"""Chunk size of larger messages: Python copies the rest of a chunk that the socket does not accept."""
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 10), (socket.TCP_KEEPINTVL, 2), (socket.TCP_KEEPCNT, 10))
"""TCP keepalive: the kernel probes an idle connection after 10 s, then every 2 s, 10 times."""


class Stream(asyncio.BufferedProtocol):
    """One end of a connection."""

    def __init__(self) -> None:
        self._transport: Any = None
        self._loop = asyncio.get_running_loop()
        self._error: OSError | None = None
        self._buffer = memoryview(bytearray(_BUFFERED_BYTES))
        self._start = self._end = 0
        self._target: memoryview | None = None
        """Memory that still has to be filled."""
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self._is_paused = False

    @property
    def is_closed(self) -> bool:
        """Whether the connection has ended."""
        return self._error is not None

    @property
    def ends(self) -> tuple[bytes, bytes]:
        """Addresses of this end and of the other end."""
        own, other = (self._transport.get_extra_info(name) for name in ("sockname", "peername"))
        return _end(own), _end(other)

    def abort(self) -> None:
        """Close the connection immediately."""
        if self._transport is not None:
            self._transport.abort()
        self._ended(ConnectionAbortedError("the connection was closed"))

    def close(self) -> None:
        """Close the connection after all data is sent."""
        self._transport.close()

    # Messages

    async def write(self, message: dict[str, Any]) -> None:
        """Send a message.

        Raises:
            OSError: the connection has ended.
            TypeError: a value in it cannot be sent.
        """
        pieces = encoded(message)
        if sum(map(len, pieces)) <= _JOINED_BYTES:
            self.send(b"".join(pieces))
            await self._drained()
            return
        try:
            for piece in pieces:
                view = memoryview(piece)
                for start in range(0, len(view), _CHUNK_BYTES):
                    self.send(view[start : start + _CHUNK_BYTES])
                    await self._drained()
        except BaseException:  # the message is incomplete
            self.abort()
            raise

    async def read(self) -> dict[str, Any]:
        """Return the next message.

        Raises:
            OSError: the connection has ended, or the received data is not a message.
        """
        try:
            header, count = checked_head(await self.take(HEAD.size))
            sizes = checked_sizes(await self.take(8 * count))
            text = await self.take(header)
            return decoded(text, [await self.take(size) for size in sizes])
        except MemoryError:
            self.abort()
            raise FrameError("a message larger than the free memory") from None
        except BaseException:  # possibly in the middle of a message
            self.abort()
            raise

    # Bytes

    def send(self, data: Buffer) -> None:
        """Send bytes eventually.

        Raises:
            OSError: the connection has ended.
        """
        self._check()
        self._transport.write(data)

    async def take(self, count: int) -> Any:
        """Return the next bytes: as ``bytes`` if they are few, otherwise as writable memory.

        Raises:
            OSError: the connection has ended.
        """
        if count <= self._end - self._start:
            self._start += count
            return bytes(self._buffer[self._start - count : self._start])
        memory = memoryview(bytearray(count) if count <= _JOINED_BYTES else np.empty(count, np.uint8).data)
        self._target = memory[self._moved(memory) :]
        self._check()
        self._reader = self._loop.create_future()
        self._transport.resume_reading()
        try:
            await self._reader
        finally:
            self._target = self._reader = None
        return bytes(memory) if count <= _JOINED_BYTES else memory

    def _moved(self, memory: memoryview) -> int:
        """Move buffered bytes into memory; return their number."""
        count = min(len(memory), self._end - self._start)
        memory[:count] = self._buffer[self._start : self._start + count]
        self._start += count
        return count

    def _check(self) -> None:
        if self._error is not None:
            raise self._lost(self._error)

    @staticmethod
    def _lost(why: OSError) -> OSError:
        """Return a new error to raise; raising the stored one would keep half a message alive by its traceback."""
        error = ConnectionResetError(str(why))
        error.__cause__ = why
        return error

    async def _drained(self) -> None:
        if self._is_paused:
            self._check()
            self._writer = self._loop.create_future()
            await self._writer

    # Protocol callbacks of the event loop

    def connection_made(self, transport: Any) -> None:
        """Store the transport of the new connection."""
        self._transport = transport
        transport.set_write_buffer_limits(high=0)  # no references to arrays remain after a message is written
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEPALIVE:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the memory for the next bytes."""
        if self._target is not None and len(self._target) >= _BUFFERED_BYTES:
            return self._target
        if self._start == self._end:
            self._start = self._end = 0
        elif self._end == _BUFFERED_BYTES:
            unread = bytes(self._buffer[self._start : self._end])
            self._start, self._end = 0, len(unread)
            self._buffer[: self._end] = unread
        return self._buffer[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        """Handle received bytes."""
        target = self._target
        if target is not None and len(target) >= _BUFFERED_BYTES:
            self._target = target = target[nbytes:]
        else:
            self._end += nbytes
            if target is not None:
                self._target = target = target[self._moved(target) :]
            elif self._end - self._start == _BUFFERED_BYTES:
                self._transport.pause_reading()
        if target is not None and not target and self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def pause_writing(self) -> None:
        """Pause writing, because the other end is slower than this one."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """Resume writing."""
        self._is_paused = False
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Handle the end of the connection."""
        self._ended(exc or ConnectionResetError("the other end closed the connection"))

    def _ended(self, error: BaseException) -> None:
        if self._error is not None:
            return
        self._error = error = error if isinstance(error, OSError) else ConnectionResetError(str(error))
        for waiting in (self._reader, self._writer):
            if waiting is not None and not waiting.done():
                waiting.set_exception(self._lost(error))


def _end(address: tuple[Any, ...]) -> bytes:
    """Return an address in the form that both ends of a connection see."""
    host = ipaddress.ip_address(address[0].partition("%")[0])
    mapped = getattr(host, "ipv4_mapped", None)
    return f"{mapped or host} {address[1]}\n".encode()
