"""What answers the connections to a task, and keeps those in bounds that prove nothing.

Before its proof a connection may do little: at most 64 are open at once, for at most 10 seconds each, and each may send
what a proof is long. Others wait in the system's queue. What was refused is logged in at most one line each 10 seconds.
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
"""Connections that have proved nothing yet, at a time."""
PROOF_S = 10.0
"""How long a connection has to prove what it must."""
CROWDED_S = 1.0
"""How long it has when others wait for its place."""
LOG_S = 10.0
"""The least time between two lines about refused connections."""
_SHOWN_REASONS = 3
_MOST_REASONS = 100
_MOST_LETTERS = 200
_QUEUED = 128
_NO_SUCH_ADDRESS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class Listener:
    """Answers who connects.

    Args:
        address: full address to listen on.
        handlers: name of an operation -> the function or coroutine that does it; one with an argument ``stream`` gets
            the connection, and answers by itself.
    """

    def __init__(self, address: str, handlers: Mapping[str, Callable[..., Any]]) -> None:
        self._address = address
        self._handlers = handlers
        self._wants_stream = {
            name for name, handler in handlers.items() if "stream" in inspect.signature(handler).parameters
        }
        self._context = tls_context(address, listens=True)
        self._sockets: list[socket.socket] = []
        self._talks: set[asyncio.Task[None]] = set()
        self._unproven: dict[asyncio.Task[None], float] = {}
        """Connections that have proved nothing yet -> when they came, the oldest first."""
        self._refusals = Refusals()

    async def start(self) -> str:
        """Begins to listen; returns the address, with the port that was chosen for port 0.

        Raises:
            OSError: the port is in use, or the host has no address here.
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
            self._begin(self._accept(listening))
        return f"{protocol}://{host}:{port}"

    async def stop(self) -> None:
        """Ends listening, and all that was connected."""
        talks = list(self._talks)
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
        for listening in self._sockets:
            listening.close()
        self._sockets.clear()
        self._refusals.close()

    def _begin(self, work: Any) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._talks.add(task)  # the loop knows its tasks only weakly
        task.add_done_callback(self._talks.discard)
        return task

    # Accepting

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while len(self._unproven) >= MOST_UNPROVEN:
                await self._make_room()
            try:
                caller, _ = await loop.sock_accept(listening)
            except OSError as error:  # out of file descriptors; or who called is gone already
                self._refusals.note(f"not accepted ({errno.errorcode.get(error.errno or 0, error)})")
                await self._make_room()
                continue
            task = self._begin(self._talk(caller))
            self._unproven[task] = loop.time()
            task.add_done_callback(lambda task: self._unproven.pop(task, None))

    async def _make_room(self) -> None:
        """Waits for the oldest connection that has proved nothing, and ends it when it had its time."""
        if not self._unproven:
            await asyncio.sleep(CROWDED_S)
            return
        oldest, since = next(iter(self._unproven.items()))
        left = since + CROWDED_S - asyncio.get_running_loop().time()
        await asyncio.wait([oldest], timeout=max(left, 0))
        if oldest in self._unproven:
            self._refusals.note("proved nothing while others waited")
            oldest.cancel()
            await asyncio.wait([oldest])

    async def _talk(self, caller: socket.socket) -> None:
        """Answers one connection until it ends."""
        task = asyncio.current_task()
        assert task is not None
        try:
            async with asyncio.timeout(PROOF_S):
                stream = await accept(caller, self._context)
        except TimeoutError:
            self._refusals.note("proved nothing in time")
            return
        except (OSError, PermissionDeniedError) as error:
            self._refusals.note(f"proved nothing ({type(error).__name__}: {error})")
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
            except OSError:  # it ended
                return
            except Exception as error:  # arguments of other types than the operation's
                self._refusals.note(f"sent what cannot be done ({type(error).__name__})", error)
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
    """Logs what was refused in few lines: the first at once, and then how many there were."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._error: BaseException | None = None
        self._timer: asyncio.TimerHandle | None = None

    def note(self, why: str, error: BaseException | None = None) -> None:
        """Counts a connection that was refused.

        Args:
            why: in a few words, of which some are shown.
            error: whose traceback helps; None: none does.
        """
        self._counts[why[:_MOST_LETTERS] if len(self._counts) < _MOST_REASONS else "other reasons"] += 1
        self._error = self._error or error
        if self._timer is None:
            self._log()

    def close(self) -> None:
        """Logs what is left."""
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
