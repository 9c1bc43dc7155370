"""Connections between tasks: on loopback, where both ends prove knowledge of a secret, or with TLS on any network.

A task runs any graph that it receives, with the rights of its process. Therefore it listens only on loopback, to
programs that prove that they can read its user's token (``secret``), unless dask is configured for TLS: then both ends
present certificates of one authority, on any network, and no further proof is needed.

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
"""Default timeout of connection attempts in seconds."""
_TLS = "tls://"


class CertificateRefusedError(ConnectionError):
    """The other end closed the connection after it received this end's certificate."""


def _setting(name: str, default: Any) -> Any:
    """Return a setting of dask below ``distributed.comm``; dask need not be installed."""
    try:
        import dask.config
    except ImportError:
        return default
    return dask.config.get(f"distributed.comm.{name}", default)


def needs_tls() -> bool:
    """Whether dask is configured for TLS, in its files or by ``DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION``."""
    return bool(_setting("require-encryption", None))


def tls_context(address: str, listens: bool) -> ssl.SSLContext | None:
    """Return the TLS context of one end of a connection, from dask's configuration; None without TLS.

    Args:
        address: full address of the listening task.
        listens: whether it is for the listening end.
    """
    if not address.startswith(_TLS):
        return None
    from distributed.security import Security

    settings = Security()
    arguments = settings.get_listen_args("worker") if listens else settings.get_connection_args("worker")
    context: ssl.SSLContext | None = arguments["ssl_context"]
    if context is None:
        raise PermissionDeniedError.of(
            "dask is configured to require encryption, but no certificates are configured.",
            hint="set ca-file in distributed.comm.tls, and cert and key in its scheduler, worker and client sections",
        )
    return context


def patience_s() -> float:
    """Return dask's connection timeout in seconds: ``distributed.comm.timeouts.connect`` of its configuration."""
    from dask.utils import parse_timedelta

    return float(parse_timedelta(_setting("timeouts.connect", PATIENCE_S), default="seconds"))


# Addresses


def host_and_port(address: str) -> tuple[str, int]:
    """Split ``host:port``, with or without a protocol in front.

    >>> host_and_port("grpc://[::1]:2222")
    ('::1', 2222)

    Raises:
        InvalidArgumentError: the address has another format.
    """
    place = address.partition("://")[2] or address
    host, colon, port = place.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    try:
        host.encode("idna")  # as the system's resolver does
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
    """Whether a host is reachable only from this machine."""
    try:
        addresses = {info[4][0] for info in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return bool(addresses) and all(ipaddress.ip_address(address).is_loopback for address in addresses)


def full_address(address: str) -> str:
    """Return an address with its protocol: ``tls://host:port`` if TLS is configured, otherwise ``tcp://host:port``.

    Args:
        address: ``host:port``, or ``grpc://host:port``.

    Raises:
        InvalidArgumentError: it is not an address.
        PermissionDeniedError: it is on another machine, and TLS is not configured.
    """
    host, _ = host_and_port(address)
    place = address.partition("://")[2] or address
    if needs_tls():
        return _TLS + place
    if not is_loopback(host):
        raise PermissionDeniedError.of(
            f"'{place}' is not a loopback address. A task runs whatever it receives, so connections "
            "to other machines need TLS.",
            hint="configure dask for TLS: set distributed.comm.require-encryption: true, distributed.comm.tls.ca-file,"
            " and cert and key in its scheduler, worker and client sections"
            " (https://distributed.dask.org/en/stable/tls.html)",
        )
    return f"tcp://{place}"


# Connections


async def connect(address: str) -> Stream:
    """Connect to a task and authenticate both ends.

    Args:
        address: full address of the task.

    Raises:
        OSError: nothing listens there.
        UnprovenError, CertificateRefusedError, ssl.SSLError: the other end is not a task of this user.
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
        # The refusal of a certificate shows as a reset: asyncio sends no alert.
        if context is not None and isinstance(error, ConnectionResetError):
            raise CertificateRefusedError("the other end closed the connection") from None
        raise
    return stream


async def _connected_socket(host: str, port: int) -> socket.socket:
    """Return a socket connected to the first address of a host that accepts."""
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
    """Accept a connection and authenticate both ends.

    Args:
        caller: socket of the connection.
        context: TLS context of the listening task; None without TLS.

    Raises:
        OSError: the connection ended; as ``UnprovenError`` or ``ssl.SSLError``: the caller failed to authenticate.
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
    """Whether a connection was refused because nothing listens there.

    Args:
        error: exception of the connection attempt.
    """
    return any(isinstance(cause, ConnectionRefusedError) for cause in _causes(error))


def unproven(error: BaseException, name: str, address: str) -> OpError | None:
    """Return an UnauthenticatedError if one end refused the other; otherwise None.

    Args:
        error: exception of the connection attempt.
        name: name of the expected task.
        address: full address of the task.
    """
    for cause in _causes(error):
        facts = {"address": address, "raised": f"{type(cause).__name__}: {cause}"}
        if isinstance(cause, UnprovenError):
            return UnauthenticatedError.of(
                f"{name} could not prove that it knows the secret of this user's clusters.",
                facts=facts,
                hint="run all tasks and sessions as one user, or give each a copy of one token file in"
                f" {ENVIRONMENT_VARIABLE}; check that no other program listens on this address; use TLS through a"
                " tunnel",
            )
        if isinstance(cause, CertificateRefusedError | ssl.SSLError) and not isinstance(
            cause, ssl.SSLEOFError
        ):
            return UnauthenticatedError.of(
                f"The connection to {name} was refused: {getattr(cause, 'reason', None) or cause}",
                facts=facts,
                hint="use valid certificates of the same authority on both ends; dask reads them from"
                " distributed.comm.tls",
            )
    return None


class Connections:
    """Reusable connections to other tasks; each serves one request at a time."""

    def __init__(self) -> None:
        self.timeout = PATIENCE_S
        """Timeout of connection attempts in seconds."""
        self._idle: dict[str, list[Stream]] = {}
        self._busy: set[Stream] = set()
        self._is_closed = False

    async def request(self, address: str, is_answered: bool = True, **message: Any) -> Any:
        """Send a request to a task.

        Args:
            address: full address of the task.
            is_answered: whether to wait for the answer.
            message: ``op``, the name of an operation, and its arguments.

        Returns:
            The answer; None if it is not awaited.

        Raises:
            OSError: the task is gone, or these connections are closed because their server was stopped.
        """
        stream = await self._stream(address)
        self._busy.add(stream)
        try:
            await stream.write({**message, "reply": is_answered})
            answer = await stream.read() if is_answered else None
        except BaseException:  # the answer may still arrive on this stream
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
        """Close all connections and prevent new ones."""
        self._is_closed = True
        for stream in [*self._busy, *(stream for idle in self._idle.values() for stream in idle)]:
            stream.abort()
        self._idle.clear()
