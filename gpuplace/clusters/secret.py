"""Shared secret of the tasks of a cluster, and mutual authentication of the ends of a connection.

A task runs any graph that it receives, so before the first message both ends prove that they can read one file, the
user's token. The token is never sent: each end answers the other's random challenge::

    session or task                             task that listens
    hello, challenge ─────────────────────────>
                     <───────────────────────── hello, challenge, proof of the listener
    proof            ─────────────────────────> the first message may follow

A proof is an HMAC of both challenges and of the addresses of both ends, so a program in between cannot forward the
proofs of one connection to another. With TLS the certificates are the proof (``connections``), and the exchange only
shows that both ends are gpuplace.

The file is ``.cache/gpuplace/cluster-token`` in the home folder of the process's user according to the system, not to
``HOME``: the same for all tasks of one user on one machine. It is created when it is first needed.
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
    """Connection that is not authenticated yet."""

    def send(self, data: bytes) -> None:
        """Send bytes eventually."""
        ...

    async def take(self, count: int) -> bytes:
        """Return the next bytes."""
        ...


# The file


def token() -> bytes:
    """Return the secret of this process's user; it is created if there is none.

    Raises:
        PermissionDeniedError: others could read or replace the file, or it cannot be created.
    """
    named = os.environ.get(ENVIRONMENT_VARIABLE)
    return _content(Path(named)) if named else _content(_own_folder() / _NAME)


def _own_folder() -> Path:
    """Return the first folder that exists, or can be created, and that only this user can write to."""
    for folder in _folders():
        with suppress(OSError):  # the home folder is missing or read-only
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    raise _refused(Path("~/.cache/gpuplace"), "cannot be created, nor can a temporary folder")


def _folders() -> Iterator[Path]:
    with suppress(KeyError):  # a user without an entry, as in some containers
        yield Path(pwd.getpwuid(os.geteuid()).pw_dir) / ".cache" / "gpuplace"
    with suppress(OSError):
        yield Path(tempfile.gettempdir()) / f"gpuplace-{os.geteuid()}"


def _content(path: Path) -> bytes:
    """Return the content of a token file, which is created if it does not exist."""
    try:
        if not os.path.lexists(path):
            _create(path)
        folder = path.parent.stat()
        if folder.st_uid not in (0, os.geteuid()) or folder.st_mode & 0o022:
            raise _refused(path.parent, "can be written to by other users")
        status = path.lstat()
        return _read(path, status.st_ino, status.st_ctime_ns)
    except OSError as error:
        raise _refused(path, f"cannot be read or created: {error.strerror}") from None


@functools.lru_cache(maxsize=4)
def _read(path: Path, file_number: int, changed_ns: int) -> bytes:
    """Return the content of a file; cached, because the process may run out of file descriptors."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise _refused(path, "is not a file")
        if status.st_uid != os.geteuid():
            raise _refused(path, "belongs to another user")
        if status.st_mode & 0o077:
            raise _refused(path, "can be read by other users")
        content = file.read(_MOST_BYTES).strip()
    if len(content) < _FEWEST_BYTES:
        raise _refused(path, f"has fewer than {_FEWEST_BYTES} bytes")
    return content


def _create(path: Path) -> None:
    """Create a token file atomically; if several processes do, the first wins."""
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
        hint=f"fix it with chmod 600 or chown, remove it so that a new one is created, or name another file in"
        f" {ENVIRONMENT_VARIABLE}",
    )


# The proofs


def _proof(key: bytes, role: bytes, challenges: bytes, ends: bytes) -> bytes:
    return hmac.digest(key, role + challenges + ends, "sha256")


async def prove_as_caller(stream: Ends, key: bytes, ends: bytes) -> None:
    """Authenticate as the calling end, and authenticate the listener.

    Args:
        stream: the connection.
        key: the secret.
        ends: addresses of the caller and of the listener.

    Raises:
        UnprovenError: the listener does not know the secret, or is not a task.
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
    """Authenticate as the listening end, and authenticate the caller.

    Args:
        stream, key, ends: as in ``prove_as_caller``.

    Raises:
        UnprovenError: the caller does not know the secret, or is neither a session nor a task.
    """
    try:
        await _greeted(stream)
    except UnprovenError:
        stream.send(HELLO)  # tells a caller with TLS, or of another version, what it reached
        raise
    own = secrets.token_bytes(_NONCE_BYTES)
    challenges = await stream.take(_NONCE_BYTES) + own
    stream.send(HELLO + own + _proof(key, b"listens", challenges, ends))
    if not hmac.compare_digest(await stream.take(_PROOF_BYTES), _proof(key, b"calls  ", challenges, ends)):
        raise UnprovenError("its proof is wrong")


async def _greeted(stream: Ends) -> None:
    if await stream.take(len(HELLO)) != HELLO:
        raise UnprovenError("it is not a task or session of gpuplace")
