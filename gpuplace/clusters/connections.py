"""Connections between tasks: on loopback, where both ends prove a secret, or with TLS on any network.

A task runs whatever graph it is sent, with the rights of its process. So it listens on loopback alone, to programs that
prove that they may read its user's token (``secret``), unless dask is configured for TLS: then both ends show
certificates of one authority, on any network, and certificates are all the proof that is needed.

Source: distributed.security (the settings for TLS).
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Iterator
from typing import Any

from gpuplace.clusters.secret import (
    ENVIRONMENT_VARIABLE,
    UnprovenError,
    prove_as_caller,
    prove_as_listener,
    token,
)
from gpuplace.clusters.streams import Stream
from gpuplace.errors import InvalidArgumentError, OpError, PermissionDeniedError, UnauthenticatedError

PATIENCE_S = 30.0
"""How long a connection is tried, where nobody says otherwise."""
_TLS = "tls://"


class CertificateRefusedError(ConnectionError):
    """A task ended a connection when it had seen this end's certificate."""


def _setting(name: str, default: Any) -> Any:
    """A setting of dask's, below ``distributed.comm``; dask need not be installed."""
    try:
        import dask.config
    except ImportError:
        return default
    return dask.config.get(f"distributed.comm.{name}", default)


def needs_tls() -> bool:
    """Whether dask is configured for TLS, by its files or ``DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION``."""
    return bool(_setting("require-encryption", None))


def tls_context(address: str, listens: bool) -> ssl.SSLContext | None:
    """The certificates of one end of a connection, from dask's configuration; None without TLS.

    Args:
        address: full address of the task that listens.
        listens: whether they are for that end.
    """
    if not address.startswith(_TLS):
        return None
    from distributed.security import Security

    settings = Security()
    arguments = settings.get_listen_args("worker") if listens else settings.get_connection_args("worker")
    found: ssl.SSLContext | None = arguments["ssl_context"]
    if found is None:
        raise PermissionDeniedError.of(
            "dask is configured to require encryption, and names no certificates.",
            hint="distributed.comm.tls: ca-file, and cert and key below scheduler, worker and client",
        )
    return found


def patience_s() -> float:
    """How long dask waits for an answer, in seconds: ``distributed.comm.timeouts.connect`` of its configuration."""
    from dask.utils import parse_timedelta

    return float(parse_timedelta(_setting("timeouts.connect", PATIENCE_S), default="seconds"))


# Addresses


def host_and_port(address: str) -> tuple[str, int]:
    """Split ``host:port``, with or without a protocol before it.

    >>> host_and_port("grpc://[::1]:2222")
    ('::1', 2222)

    Raises:
        InvalidArgumentError: it is something else.
    """
    place = address.partition("://")[2] or address
    host, colon, port = place.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    try:
        host.encode("idna")  # as the system's resolver has it
        is_host = bool(colon and host and "/" not in host)
    except UnicodeError:
        is_host = False
    if not (is_host and port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise InvalidArgumentError.of(
            f'Could not interpret "{place}" as a host-port pair.',
            hint="host:port, such as localhost:2222 or 10.0.0.1:2222, with a port from 0 to 65535",
        )
    return host, int(port)


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
        InvalidArgumentError: it is not an address.
        PermissionDeniedError: another machine, without TLS.
    """
    host, _ = host_and_port(address)
    place = address.partition("://")[2] or address
    if needs_tls():
        return _TLS + place
    if not is_loopback(host):
        raise PermissionDeniedError.of(
            f"'{place}' is not on loopback, and a task runs what it is sent: connections to other machines need TLS.",
            hint="configure dask for TLS: distributed.comm.require-encryption: true, and ca-file, cert and key below"
            " distributed.comm.tls.scheduler, .worker and .client (https://distributed.dask.org/en/stable/tls.html)",
        )
    return f"tcp://{place}"


# Connections


async def connect(address: str) -> Stream:
    """Connect to a task; both ends have proved the secret, or shown certificates.

    Args:
        address: full address of the task.

    Raises:
        OSError: nobody listens there.
        UnprovenError, CertificateRefusedError, ssl.SSLError: somebody else does.
        PermissionDeniedError: this user's token is not safe.
    """
    loop = asyncio.get_running_loop()
    host, port = host_and_port(address)
    context = tls_context(address, listens=False)
    caller = await _connected_socket(host, port)
    stream = Stream()
    try:
        await loop.create_connection(
            lambda: stream, sock=caller, ssl=context, server_hostname=host if context else None
        )
        own, other = stream.ends
        key, ends = (token(), own + other) if context is None else (b"", b"")
        await prove_as_caller(stream, key, ends)
    except BaseException as error:
        stream.abort()
        caller.close()
        if context is not None and isinstance(
            error, ConnectionResetError
        ):  # asyncio sends no alert that says why
            raise CertificateRefusedError("the other end closed the connection") from None
        raise
    return stream


async def _connected_socket(host: str, port: int) -> socket.socket:
    """A socket that is connected to the first address of a host where somebody listens."""
    loop = asyncio.get_running_loop()
    failure: OSError = OSError(f"{host} has no address")
    for family, form, protocol, _, place in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        caller = socket.socket(family, form, protocol)
        caller.setblocking(False)
        try:
            await loop.sock_connect(caller, place)
            return caller
        except BaseException as error:
            caller.close()
            if not isinstance(error, OSError):
                raise
            failure = error
    raise failure


async def accept(caller: socket.socket, context: ssl.SSLContext | None) -> Stream:
    """Take a connection; both ends have proved the secret, or shown certificates.

    Args:
        caller: the socket of the connection.
        context: the certificates of the task that listens; None without TLS.

    Raises:
        OSError: the caller is gone; ``UnprovenError`` or ``ssl.SSLError``: it has no business here.
        PermissionDeniedError: this user's token is not safe.
    """
    stream = Stream()
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: stream, caller, ssl=context)
        own, other = stream.ends
        key, ends = (token(), other + own) if context is None else (b"", b"")
        await prove_as_listener(stream, key, ends)
    except BaseException:
        stream.abort()
        caller.close()
        raise
    return stream


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def is_refused(error: BaseException) -> bool:
    """Whether a connection was refused, because nobody listens there.

    Args:
        error: what was raised for it.
    """
    return any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error))


def unproven(error: BaseException, name: str, address: str) -> OpError | None:
    """UnauthenticatedError where the other end proved nothing, or refused this end's certificate; otherwise None.

    Args:
        error: what was raised for the connection.
        name: name of the task that was to be there.
        address: its full address.
    """
    for cause in _causes(error):
        facts = {"address": address, "raised": f"{type(cause).__name__}: {cause}"}
        if isinstance(cause, UnprovenError):
            return UnauthenticatedError.of(
                f"{name} did not prove that it knows the secret of this user's clusters.",
                facts=facts,
                hint="run all tasks and sessions as one user, or give each a copy of one token file in"
                f" {ENVIRONMENT_VARIABLE}; see that no other program listens there; through a tunnel, use TLS",
            )
        if isinstance(cause, CertificateRefusedError | ssl.SSLError) and not isinstance(
            cause, ssl.SSLEOFError
        ):
            return UnauthenticatedError.of(
                f"The connection to {name} was refused: {getattr(cause, 'reason', None) or cause}",
                facts=facts,
                hint="valid certificates of one authority on both ends: distributed.comm.tls in dask's configuration",
            )
    return None


class Connections:
    """Connections to other tasks, each for one request at a time, and kept for the next one."""

    def __init__(self) -> None:
        self.timeout = PATIENCE_S
        """How long a task that does not answer is tried, in seconds."""
        self._idle: dict[str, list[Stream]] = {}
        self._busy: set[Stream] = set()
        self._is_closed = False

    async def told(self, address: str, is_answered: bool = True, **message: Any) -> Any:
        """Has a task do something.

        Args:
            address: full address of the task.
            is_answered: whether its answer is waited for.
            message: ``op``, the name of an operation, and its arguments.

        Returns:
            The answer; None where none is waited for.

        Raises:
            OSError: the task is gone, or these connections are closed, as those of a server that was stopped are.
        """
        stream = await self._stream(address)
        self._busy.add(stream)
        try:
            await stream.write({**message, "reply": is_answered})
            answer = await stream.read() if is_answered else None
        except BaseException:  # the answer may come yet
            stream.abort()
            raise
        finally:
            self._busy.discard(stream)
        self._idle.setdefault(address, []).append(stream)
        return answer

    async def _stream(self, address: str) -> Stream:
        idle = self._idle.get(address, [])
        while idle:
            stream = idle.pop()
            if not stream.is_closed:
                return stream
        if not self._is_closed:
            async with asyncio.timeout(self.timeout):
                stream = await connect(address)
        if self._is_closed:
            raise ConnectionAbortedError("the connections of this process's task are closed")
        return stream

    def close(self) -> None:
        """Ends all connections, now and later."""
        self._is_closed = True
        for stream in [*self._busy, *(one for idle in self._idle.values() for one in idle)]:
            stream.abort()
        self._idle.clear()
