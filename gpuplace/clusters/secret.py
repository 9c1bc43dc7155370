"""The secret that the tasks of a cluster share, and how two ends of a connection prove that they know it.

A task runs whatever graph it is sent, so before the first message both ends show that they may read one file, the
user's token. It never crosses the wire: each end answers the other's random challenge::

    session or task                             task that listens
    hello, challenge ─────────────────────────>
                     <───────────────────────── hello, challenge, proof of the listener
    proof            ─────────────────────────> the first message may follow

A proof is an HMAC of both challenges and of the addresses of both ends, so that a program in between, which passes the
proofs on from one connection to another, proves nothing. With TLS the certificates are the proof (``connections``), and
the exchange only says that both ends are gpuplace's.

The file is ``.cache/gpuplace/cluster-token`` in the home folder that the system has for the process's user, whatever
``HOME`` says: the same for all tasks of one user on one machine. It is made when it is first needed.
``GPUPLACE_CLUSTER_TOKEN_FILE`` names another one.

Source: RFC 2104 (HMAC); ISO/IEC 9798-4, mutual authentication with a keyed check function.
"""

from __future__ import annotations

import functools
import hmac
import os
import pwd
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from gpuplace.errors import PermissionDeniedError

ENVIRONMENT_VARIABLE = "GPUPLACE_CLUSTER_TOKEN_FILE"
HELLO = b"gpuplace task 1\n"
_NAME = "cluster-token"
_TOKEN_BYTES = 32
_FEWEST_BYTES = 16
_MOST_BYTES = 4096
_NONCE_BYTES = 32
_PROOF_BYTES = 32


class UnprovenError(ConnectionError):
    """The other end of a connection did not prove that it knows the secret."""


class Ends(Protocol):
    """A connection on which nothing has been proved yet."""

    def send(self, data: bytes) -> None:
        """Send bytes, some time soon."""
        ...

    async def take(self, count: int) -> bytes:
        """Return the next bytes that come."""
        ...


# The file


def token() -> bytes:
    """Return the secret of this process's user, made now if there is none.

    Raises:
        PermissionDeniedError: others could read or replace the file, or it cannot be made.
    """
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    return _kept(Path(named)) if named else _kept(_own_folder() / _NAME)


def _own_folder() -> Path:
    """Return the first folder that exists, or can be made, for this user alone."""
    for folder in _folders():
        with suppress(OSError):  # a home that is not there, or may not be written to
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    raise _refused(folder, "cannot be made")


def _folders() -> Iterator[Path]:
    with suppress(KeyError):  # a user without an entry, as in some containers
        yield Path(pwd.getpwuid(os.geteuid()).pw_dir) / ".cache" / "gpuplace"
    yield Path(tempfile.gettempdir()) / f"gpuplace-{os.geteuid()}"


def _kept(path: Path) -> bytes:
    """Return what a token file holds, which is made if it is not there."""
    try:
        if not os.path.lexists(path):
            _make(path)
        folder = path.parent.stat()
        if folder.st_uid not in (0, os.geteuid()) or folder.st_mode & 0o022:
            raise _refused(path.parent, "can be written to by other users")
        found = path.lstat()
        return _read(path, found.st_ino, found.st_ctime_ns)
    except OSError as error:
        raise _refused(path, f"cannot be read or made: {error.strerror}") from None


@functools.lru_cache(maxsize=4)
def _read(path: Path, file_number: int, changed_ns: int) -> bytes:
    """Return what a file holds, read once as long as it does not change: a process may be out of file descriptors."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise _refused(path, "is not a file")
        if found.st_uid != os.geteuid():
            raise _refused(path, "belongs to another user")
        if found.st_mode & 0o077:
            raise _refused(path, "can be read by other users")
        content = file.read(_MOST_BYTES).strip()
    if len(content) < _FEWEST_BYTES:
        raise _refused(path, f"has fewer than {_FEWEST_BYTES} bytes")
    return content


def _make(path: Path) -> None:
    """Make a token file that appears with all it holds; the first of several processes counts."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=f".{_NAME}-", dir=path.parent)  # for this user alone
    try:
        with open(descriptor, "w") as file:
            file.write(secrets.token_hex(_TOKEN_BYTES))
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        os.unlink(draft)


def _refused(path: Path, why: str) -> PermissionDeniedError:
    return PermissionDeniedError.of(
        f"The secret of this user's clusters is not safe: {path} {why}.",
        facts={"user": str(os.geteuid())},
        hint=f"chmod 600, chown, or remove it: a new one is made; {ENVIRONMENT_VARIABLE} names another file",
    )


# The proofs


def _proof(key: bytes, role: bytes, challenges: bytes, ends: bytes) -> bytes:
    return hmac.digest(key, role + challenges + ends, "sha256")


async def prove_as_caller(stream: Ends, key: bytes, ends: bytes) -> None:
    """Prove the secret to who listens, and have it proved.

    Args:
        stream: the connection.
        key: the secret.
        ends: addresses of the caller and of the listener.

    Raises:
        UnprovenError: who listens does not know the secret, or is no task.
    """
    own = secrets.token_bytes(_NONCE_BYTES)
    stream.send(HELLO + own)
    await _greeted(stream)
    challenges = own + await stream.take(_NONCE_BYTES)
    proof = await stream.take(_PROOF_BYTES)
    if not hmac.compare_digest(proof, _proof(key, b"listens", challenges, ends)):
        raise UnprovenError("its proof is wrong")
    stream.send(_proof(key, b"calls  ", challenges, ends))


async def prove_as_listener(stream: Ends, key: bytes, ends: bytes) -> None:
    """Prove the secret to who called, and have it proved.

    Args:
        stream, key, ends: as for ``prove_as_caller``.

    Raises:
        UnprovenError: who called does not know the secret, or is no session and no task.
    """
    try:
        await _greeted(stream)
    except UnprovenError:
        stream.send(HELLO)  # a caller with TLS, or of another version, sees what it reached
        raise
    own = secrets.token_bytes(_NONCE_BYTES)
    challenges = await stream.take(_NONCE_BYTES) + own
    stream.send(HELLO + own + _proof(key, b"listens", challenges, ends))
    if not hmac.compare_digest(await stream.take(_PROOF_BYTES), _proof(key, b"calls  ", challenges, ends)):
        raise UnprovenError("its proof is wrong")


async def _greeted(stream: Ends) -> None:
    if await stream.take(len(HELLO)) != HELLO:
        raise UnprovenError("it is not a task or session of gpuplace")
