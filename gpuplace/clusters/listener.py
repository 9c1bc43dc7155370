"""Listener of a task: answers requests, and limits unauthenticated connections.

At most 64 unauthenticated connections are open at once, for at most 10 seconds each, and each may send only as many
bytes as a proof has. Others wait in the system's queue. Refused connections are logged at most once in 10 seconds.
"""

from __future__ import annotations

import asyncio
import errno
import inspect
import logging
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.clusters.connections import accept, host_and_port, tls_context
from gpuplace.clusters.frames import FrameError
from gpuplace.clusters.streams import Stream
from gpuplace.errors import PermissionDeniedError

_logger = logging.getLogger(__name__)

MOST_UNPROVEN = 64
"""Maximum number of unauthenticated connections."""
PROOF_S = 10.0
"""Time in seconds that a connection has to authenticate."""
CROWDED_S = 1.0
"""Time in seconds that it has if others are waiting."""
LOG_S = 10.0
"""Minimum time in seconds between log entries about refused connections."""
_SHOWN_REASONS = 3
_MOST_REASONS = 100
_MOST_LETTERS = 200
_QUEUED = 128
_NO_SUCH_ADDRESS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class Listener:
    """Accepts connections and answers requests.

    Args:
        address: full address to listen on.
        handlers: functions or coroutines by operation name; one with an argument ``stream`` receives the connection,
            and answers itself.
    """

    def __init__(self, address: str, handlers: Mapping[str, Callable[..., Any]]) -> None:
        self._address = address
        self._handlers = handlers
        self._wants_stream = {
            name for name, handler in handlers.items() if "stream" in inspect.signature(handler).parameters
        }
        self._context = tls_context(address, listens=True)
        self._sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._unproven: dict[asyncio.Task[None], float] = {}
        """Arrival times of unauthenticated connections, the oldest first."""
        self._refusals = Refusals()

    async def start(self) -> str:
        """Start listening and return the address, with the actual port if it was 0.

        Raises:
            OSError: the port is in use, or the host has no address on this machine.
        """
        loop = asyncio.get_running_loop()
        host, port = host_and_port(self._address)
        protocol = self._address.partition("://")[0]
        try:
            for family, *_, place in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                try:
                    self._sockets.append(_listening(family, (place[0], port, *place[2:])))
                except OSError as error:
                    if error.errno not in _NO_SUCH_ADDRESS or not self._sockets:
                        raise
                port = self._sockets[0].getsockname()[1]  # the same for all addresses of the host
        except OSError:
            await self.stop()
            raise
        for listening in self._sockets:
            self._start_task(self._accept_connections(listening))
        return f"{protocol}://{host}:{port}"

    async def stop(self) -> None:
        """Stop listening and close all connections."""
        tasks = list(self._tasks)
        for task_to_end in tasks:
            task_to_end.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for listening in self._sockets:
            listening.close()
        self._sockets.clear()
        self._refusals.close()

    def _start_task(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the event loop keeps only weak references
        task.add_done_callback(self._tasks.discard)
        return task

    # Accepting

    async def _accept_connections(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while len(self._unproven) >= MOST_UNPROVEN:
                await self._make_room()
            try:
                caller, _ = await loop.sock_accept(listening)
            except OSError as error:  # no file descriptors left, or the caller is gone
                self._refusals.note(f"not accepted ({errno.errorcode.get(error.errno or 0, error)})")
                await self._make_room()
                continue
            task = self._start_task(self._serve_connection(caller))
            self._unproven[task] = loop.time()
            task.add_done_callback(lambda task: self._unproven.pop(task, None))

    async def _make_room(self) -> None:
        """Wait for the oldest unauthenticated connection, and close it after its time."""
        if not self._unproven:
            await asyncio.sleep(CROWDED_S)
            return
        oldest, since = next(iter(self._unproven.items()))
        remaining = since + CROWDED_S - asyncio.get_running_loop().time()
        await asyncio.wait([oldest], timeout=max(remaining, 0))
        if oldest in self._unproven:
            self._refusals.note("did not authenticate while other connections waited")
            oldest.cancel()
            await asyncio.wait([oldest])

    async def _serve_connection(self, caller: socket.socket) -> None:
        """Serve one connection until it ends."""
        task = asyncio.current_task()
        assert task is not None
        try:
            async with asyncio.timeout(PROOF_S):
                stream = await accept(caller, self._context)
        except TimeoutError:
            self._refusals.note("did not authenticate in time")
            return
        except (OSError, PermissionDeniedError) as error:
            self._refusals.note(f"failed to authenticate ({type(error).__name__}: {error})")
            return
        self._unproven.pop(task, None)
        try:
            await self._answer(stream)
        finally:
            stream.abort()

    # Answering

    async def _answer(self, stream: Stream) -> None:
        while True:
            try:
                message = await stream.read()
                operation, replies = message.pop("op", ""), message.pop("reply", True)
                handler = self._handlers.get(operation)
                if handler is None:
                    raise FrameError("an unknown operation")
                if operation in self._wants_stream:
                    await handler(stream=stream, **message)
                    continue
                answer = handler(**message)
                if inspect.isawaitable(answer):
                    answer = await answer
                if replies:
                    await stream.write(answer)
            except FrameError as error:
                self._refusals.note(f"sent {error}")
                return
            except OSError:  # the connection ended
                return
            except Exception as error:  # arguments of wrong types
                self._refusals.note(f"sent a request that failed ({type(error).__name__})", error)
                return


def _listening(family: int, place: tuple[Any, ...]) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(place)
        listening.listen(_QUEUED)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


class Refusals:
    """Log of refused connections: the first one immediately, further ones as counts."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._error: BaseException | None = None
        self._timer: asyncio.TimerHandle | None = None

    def note(self, why: str, error: BaseException | None = None) -> None:
        """Count a refused connection.

        Args:
            why: the reason in a few words.
            error: exception whose traceback is logged, or None.
        """
        self._counts[why[:_MOST_LETTERS] if len(self._counts) < _MOST_REASONS else "other reasons"] += 1
        self._error = self._error or error
        if self._timer is None:
            self._log()

    def close(self) -> None:
        """Log the remaining counts."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._counts:
            self._write()

    def _log(self) -> None:
        self._timer = None
        if self._counts:
            self._write()
            self._timer = asyncio.get_running_loop().call_later(LOG_S, self._log)

    def _write(self) -> None:
        reasons = ", ".join(f"{count} {why}" for why, count in self._counts.most_common(_SHOWN_REASONS))
        _logger.warning(
            "Connections to this task were closed: %d (%s)",
            self._counts.total(),
            reasons,
            exc_info=self._error,
        )
        self._counts.clear()
        self._error = None
