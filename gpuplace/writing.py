"""Files that appear as a whole: the one function by which the package writes a file.

The content is written beside the file that it will be, synced to disk, and then takes its name in one step. Whatever
goes wrong before that, a full disk, a signal, leaves what was there under the name as it was, and nothing beside it::

    folder/graph.pb   old ----------------------------------> new
    (no name)              opened, written, synced, linked --^ renamed

Where the system has no files without a name (``O_TMPFILE``), a hidden name serves, which is removed on errors.

>>> import tempfile
>>> path = write_file(os.path.join(tempfile.mkdtemp(), "graph.pbtxt"), "node {}")
>>> write_file(path, b"") == path, os.path.getsize(path)
(True, 0)

Source: rename(2), "atomically replaced", and open(2), "O_TMPFILE", of the Linux manual.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

__all__ = ["check_writable", "growing_file", "write_file", "write_files"]

_STANDARD_STREAMS = (1, 2)
_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY


def write_file(path: str | os.PathLike[str], content: str | bytes) -> str:
    """Writes a file, which replaces an existing one only when all of it is on disk.

    An existing file keeps its permissions, a link stays a link. What is no regular file (a pipe, ``/dev/null``), and
    what standard output or error goes to, is written to and never replaced.

    Args:
        path: of the file; its folder exists.
        content: text is written in UTF-8, what that cannot hold as escapes.

    Returns:
        The path, as text.

    Raises:
        OSError: the file cannot be written; `filename` is `path`.
    """
    name = os.fspath(path)
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        found = _status(name)
        if found is not None and (stream := _stream_of(found)) is not None:
            for buffered in (sys.stdout, sys.stderr):
                if buffered is not None:
                    buffered.flush()
            _write(os.dup(stream), data)
        elif found is not None and not stat.S_ISREG(found.st_mode):
            _write(os.open(name, os.O_WRONLY), data)
        else:
            _replace({os.path.realpath(name): ([data], found)})
    except OSError as error:
        raise _named(error, name) from None
    return name


def write_files(contents: Mapping[str, Sequence[Any]]) -> None:
    """Writes files that belong together, which replace existing ones only when all of them are on disk.

    They take their names one after the other: between the first and the last the new ones are there in part.

    Args:
        contents: path to pieces of content, bytes or what lies in memory like them; the folders exist.

    Raises:
        OSError: a file cannot be written, and all are as they were.
    """
    _replace({os.path.realpath(name): (pieces, _status(name)) for name, pieces in contents.items()})


def growing_file(path: str | os.PathLike[str]) -> BinaryIO:
    """A new file that others may read while it is written, record by record; an existing one is emptied.

    Args:
        path: of the file; its folder exists.

    Raises:
        OSError: the file cannot be written.
    """
    return open(path, "wb")


def append_to_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Adds to the end of a file, which is made where it does not exist; nothing that is in it is touched.

    Args:
        path: of the file; its folder exists.
        content: what is added.

    Raises:
        OSError: the file cannot be written.
    """
    with open(path, "ab") as file:
        file.write(content)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Finds out whether a file can be written later; leaves nothing there and changes nothing.

    Args:
        path: of the file.

    Raises:
        OSError: it cannot; `filename` is `path`.
    """
    name = os.fspath(path)
    try:
        found = _status(name)
        if found is not None and not stat.S_ISREG(found.st_mode):
            if stat.S_ISDIR(found.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not os.access(name, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        beside = _beside(os.path.dirname(os.path.realpath(name)))
        os.close(os.open(beside, _NEW, 0o666))
        os.unlink(beside)
    except OSError as error:
        raise _named(error, name) from None


def _status(name: str) -> os.stat_result | None:
    """What is there under a name; None if nothing is."""
    try:
        return os.stat(name)
    except FileNotFoundError:
        return None


def _stream_of(found: os.stat_result) -> int | None:
    """The standard stream that goes to this file."""
    for stream in _STANDARD_STREAMS:
        with suppress(OSError):  # it is closed
            if os.path.samestat(os.fstat(stream), found):
                return stream
    return None


def _named(error: OSError, name: str) -> OSError:
    """The error with the name that the caller gave, and not that of a file beside it."""
    return type(error)(error.errno, error.strerror, name)


def _write(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)


def _replace(files: Mapping[str, tuple[Sequence[Any], os.stat_result | None]]) -> None:
    """Writes new files, from pieces and with the permissions of old ones, and then gives them their names."""
    written: dict[str, str] = {}
    try:
        for target, (pieces, old) in files.items():
            beside = written[target] = _beside(os.path.dirname(target))
            try:
                if not _write_unnamed(beside, pieces, old):
                    _fill(os.open(beside, _NEW, 0o666), pieces, old)
            except OSError as error:
                raise _named(error, target) from None
        for target, beside in written.items():
            os.replace(beside, target)
    except BaseException:
        for beside in written.values():
            with suppress(OSError):
                os.unlink(beside)
        raise
    for folder in {os.path.dirname(target) for target in files}:
        with suppress(OSError), _opened(folder) as descriptor:  # not every system syncs folders
            os.fsync(descriptor)


def _beside(folder: str) -> str:
    return os.path.join(folder, f".gpuplace-{os.urandom(8).hex()}.tmp")


def _write_unnamed(name: str, pieces: Sequence[Any], old: os.stat_result | None) -> bool:
    """Writes a file that gets its name when all of it is on disk; returns False where the system has no such files."""
    folder, base = os.path.split(name)
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except (OSError, AttributeError):
        return False
    kept = os.dup(descriptor)
    try:
        _fill(descriptor, pieces, old)
        with _opened(folder) as there:  # with it Python follows the link, without it does not
            os.link(f"/proc/self/fd/{kept}", base, dst_dir_fd=there, follow_symlinks=True)
    except OSError as error:
        if error.filename2 is None:  # the content could not be written
            raise
        return False
    finally:
        os.close(kept)
    return True


def _fill(descriptor: int, pieces: Sequence[Any], old: os.stat_result | None) -> None:
    """Writes and closes a new file, which gets the permissions of an old one."""
    with os.fdopen(descriptor, "wb") as stream:
        if old is not None and hasattr(os, "fchmod"):
            with suppress(
                PermissionError
            ):  # root's programs leave the files of others to them; nobody else can
                os.fchown(descriptor, old.st_uid, old.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
        for piece in pieces:
            stream.write(piece)
        stream.flush()
        os.fsync(descriptor)


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
