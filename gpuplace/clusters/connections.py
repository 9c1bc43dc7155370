"""Connections between tasks: dask's, on loopback, or with TLS on any network.

A task runs whatever graph it is sent, with the rights of its process. So a server listens on loopback alone, unless
dask is configured for TLS: then both ends show certificates of one authority, and who has none is turned away.

Source: distributed.comm, distributed.security.
"""

from __future__ import annotations

import asyncio
import inspect
import ipaddress
import logging
import socket
from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.errors import PermissionDeniedError

_logger = logging.getLogger(__name__)


def security() -> Any:
    """dask's settings for TLS: its configuration files and ``DASK_DISTRIBUTED__COMM__TLS__...``."""
    from distributed.security import Security

    return Security()


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host."""
    try:
        found = {info[4][0] for info in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return bool(found) and all(ipaddress.ip_address(address).is_loopback for address in found)


def full_address(address: str) -> str:
    """An address with its protocol: ``tls://host:port`` where TLS is configured, else ``tcp://host:port``.

    Args:
        address: ``host:port``, or ``grpc://host:port``.

    Raises:
        PermissionDeniedError: another machine, without TLS.
    """
    place = address.partition("://")[2] or address
    settings = security()
    if settings.require_encryption:
        return f"tls://{place}"
    host = place.rpartition(":")[0].strip("[]")
    if not is_loopback(host):
        raise PermissionDeniedError.of(
            f"'{place}' is not on loopback, and a task runs what it is sent: connections to other machines need TLS.",
            hint="configure dask for TLS: distributed.comm.require-encryption: true, and ca-file, cert and key below"
            " distributed.comm.tls.scheduler, .worker and .client (https://distributed.dask.org/en/stable/tls.html)",
        )
    return f"tcp://{place}"


def connection_pool() -> Any:
    """A pool of connections to other tasks."""
    from distributed.core import ConnectionPool

    return ConnectionPool(connection_args=security().get_connection_args("worker"))


async def told(connections: Any, address: str, is_answered: bool = True, **message: Any) -> Any:
    """Has a task do something, on a connection of a pool.

    Args:
        connections: the pool, of ``connection_pool``.
        address: full address of the task.
        is_answered: whether its answer is waited for.
        message: ``op``, the name of an operation, and its arguments.

    Returns:
        The answer; None where none is waited for.

    Raises:
        OSError: the task is gone, or the pool is closed, as that of a server that was stopped is.
    """
    from distributed.comm import CommClosedError
    from distributed.core import Status, send_recv

    if connections.status != Status.running:  # where the pool itself raises a RuntimeError
        raise CommClosedError("the connections of this process's task are closed")
    comm = await connections.connect(address)
    try:
        return await send_recv(comm, reply=is_answered, **message)
    finally:
        connections.reuse(address, comm)


def is_refused(error: BaseException | None) -> bool:
    """Whether a connection was refused, because nobody listens there.

    Args:
        error: what was raised for it.
    """
    while error is not None:
        if isinstance(error, ConnectionRefusedError):
            return True
        error = error.__cause__
    return False


def patience_s() -> float:
    """How long dask waits for an answer, in seconds: ``distributed.comm.timeouts.connect`` of its configuration."""
    import dask.config
    from dask.utils import parse_timedelta

    return float(parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"), default="seconds"))


class Listener:
    """Answers who connects.

    Args:
        address: full address to listen on.
        handlers: name of an operation -> the function or coroutine that does it; one with an argument ``comm`` gets
            the connection.
    """

    def __init__(self, address: str, handlers: Mapping[str, Callable[..., Any]]) -> None:
        self._address = address
        self._handlers = handlers
        self._wants_comm = {
            name for name, handler in handlers.items() if "comm" in inspect.signature(handler).parameters
        }
        self._listener: Any = None
        self._talks: set[asyncio.Task[Any]] = set()

    async def start(self) -> str:
        """Begins to listen; returns the address, with the port that was chosen for port 0."""
        from distributed.comm import listen

        settings = security()
        self._listener = listen(self._address, self._talk, **settings.get_listen_args("worker"))
        await self._listener.start()
        return str(self._listener.contact_address)

    async def stop(self) -> None:
        """Ends listening, and all that was connected."""
        if self._listener is not None:
            self._listener.stop()
        talks = list(self._talks)
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)

    async def _talk(self, comm: Any) -> None:
        """Answers one connection until it ends."""
        from distributed.core import Status

        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            while True:
                message = await comm.read()
                operation = message.pop("op", "")
                handler = self._handlers.get(operation)
                replies = message.pop("reply", True)
                message.pop("serializers", None)
                if handler is None:
                    _logger.warning("Unknown operation from %s", comm.peer_address)
                    break
                if operation in self._wants_comm:
                    message["comm"] = comm
                answer = handler(**message)
                if inspect.isawaitable(answer):
                    answer = await answer
                if replies and answer is not Status.dont_reply:
                    await comm.write(answer)
        except OSError:  # it ended
            pass
        finally:
            self._talks.discard(task)
            comm.abort()
