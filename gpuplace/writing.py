"""Atomic file writing: all files of the package are written here.

The content is written to a temporary file in the same folder, synced to disk, and renamed in one step. A failure before
that, such as a full disk or a signal, leaves the existing file unchanged and removes the temporary one::

    folder/graph.pb   old ----------------------------------> new
    (no name)              opened, written, synced, linked --^ renamed

On systems without unnamed files (``O_TMPFILE``), a hidden temporary file is used and removed on errors.

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
    """Write a file; an existing file is replaced only when all of the content is on disk.

    An existing file keeps its permissions, and a link stays a link. Special files (pipes, ``/dev/null``) and the
    targets of standard output and error are written to and never replaced.

    Args:
        path: path of the file in an existing folder.
        content: content; text is encoded as UTF-8 with escapes for unencodable characters.

    Returns:
        The path as text.

    Raises:
        OSError: the file cannot be written; `filename` is `path`.
    """
    name = os.fspath(path)
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        status = _status(name)
        if status is not None and (stream := _stream_of(status)) is not None:
            for buffered in (sys.stdout, sys.stderr):
                if buffered is not None:
                    buffered.flush()
            _write(os.dup(stream), data)
        elif status is not None and not stat.S_ISREG(status.st_mode):
            _write(os.open(name, os.O_WRONLY), data)
        else:
            _replace({os.path.realpath(name): ([data], status)})
    except OSError as error:
        raise _named(error, name) from None
    return name


def write_files(contents: Mapping[str, Sequence[Any]]) -> None:
    """Write files that belong together; existing files are replaced only when all of them are on disk.

    The files are renamed one after the other, so other processes may briefly see only some of them.

    Args:
        contents: path -> pieces of content, bytes or buffers; the folders exist.

    Raises:
        OSError: a file cannot be written; then all files are unchanged.
    """
    _replace({os.path.realpath(name): (pieces, _status(name)) for name, pieces in contents.items()})


def growing_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a new file that others may read while it is written record by record; an existing file is truncated.

    Args:
        path: path of the file in an existing folder.

    Raises:
        OSError: the file cannot be written.
    """
    return open(path, "wb")


def append_to_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Append to a file, which is created if it does not exist.

    Args:
        path: path of the file in an existing folder.
        content: content to append.

    Raises:
        OSError: the file cannot be written.
    """
    with open(path, "ab") as file:
        file.write(content)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Check that a file can be written later, without creating or changing anything.

    Args:
        path: path of the file.

    Raises:
        OSError: the file cannot be written; `filename` is `path`.
    """
    name = os.fspath(path)
    try:
        status = _status(name)
        if status is not None and not stat.S_ISREG(status.st_mode):
            if stat.S_ISDIR(status.st_mode):
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
    """Return the status of a path; None if it does not exist."""
    try:
        return os.stat(name)
    except FileNotFoundError:
        return None


def _stream_of(found: os.stat_result) -> int | None:
    """Return the standard stream that is connected to this file, or None."""
    for stream in _STANDARD_STREAMS:
        with suppress(OSError):  # it is closed
            if os.path.samestat(os.fstat(stream), found):
                return stream
    return None


def _named(error: OSError, name: str) -> OSError:
    """Return the error with the caller's file name instead of the temporary one."""
    return type(error)(error.errno, error.strerror, name)


def _write(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)


def _replace(files: Mapping[str, tuple[Sequence[Any], os.stat_result | None]]) -> None:
    """Write new files from pieces, with the permissions of the old ones, then rename them."""
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
    """Write an unnamed file and link it when complete; return False if the system does not support this."""
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
    """Write and close a new file with the permissions of an old one."""
    with os.fdopen(descriptor, "wb") as stream:
        if old is not None and hasattr(os, "fchmod"):
            with suppress(
                PermissionError
            ):  # programs of root keep the owner of the file; others cannot change it
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
