"""The file system, with TensorFlow's errors: ``tf.io.gfile`` and, under older names, ``tf.gfile``.

Source: tensorflow/python/lib/io/file_io.py and core/platform/posix/posix_file_system.cc, release 1.15 (names,
sentences).
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from gpuplace.callers import raise_of_signal_handler
from gpuplace.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
    UnknownError,
)
from gpuplace.writing import growing_file

__all__ = [
    "FileStatistics", "copy", "exists", "glob", "isdir", "listdir", "makedirs", "matching_paths", "mkdir", "op_error",
    "read_bytes", "remove", "rename", "rmtree", "stat", "text_of", "walk", "with_op_errors",
]  # fmt: skip

Path: TypeAlias = str | bytes | os.PathLike[str]
"""Path of a file."""

_CLASSES: dict[int | None, Any] = {
    errno.ENOENT: NotFoundError,
    errno.EEXIST: AlreadyExistsError,
    errno.EINVAL: InvalidArgumentError,
    errno.ENAMETOOLONG: InvalidArgumentError,
    errno.EACCES: PermissionDeniedError,
    errno.EPERM: PermissionDeniedError,
    errno.EROFS: PermissionDeniedError,
    errno.EISDIR: FailedPreconditionError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.ENOTEMPTY: FailedPreconditionError,
    errno.EBUSY: FailedPreconditionError,
    errno.ENOSPC: ResourceExhaustedError,
    errno.EDQUOT: ResourceExhaustedError,
    errno.EMFILE: ResourceExhaustedError,
    errno.ENFILE: ResourceExhaustedError,
    errno.EAGAIN: UnavailableError,
}
"""System error number -> TensorFlow's error class."""
_HINTS: dict[Any, str] = {
    NotFoundError: "check the path",
    PermissionDeniedError: "check the path and its permissions",
}
_MAX_SHOWN = 300
"""Maximum length of a path in an error, in characters."""


def text_of(path: Path) -> str:
    """Return a path as text without the ``file://`` of a URI.

    >>> text_of("file:///tmp/model")
    '/tmp/model'

    Args:
        path: text, bytes or a path object.

    Raises:
        TypeError: the path has another type.
    """
    return os.fsdecode(path).removeprefix("file://")


def op_error(error: OSError, path: Path) -> OpError:
    """Return TensorFlow's error for a system error.

    Args:
        error: system error.
        path: file to report if the error does not name one.
    """
    name = error.filename if isinstance(error.filename, str) else text_of(path)
    return _error_of(_CLASSES.get(error.errno, UnknownError), name, error.strerror or str(error))


def _error_of(cls: Any, name: str, sentence: str) -> OpError:
    error: OpError = cls.of(f"{name[:_MAX_SHOWN]}; {sentence}", hint=_HINTS.get(cls))
    return error


@contextlib.contextmanager
def with_op_errors(path: Path) -> Iterator[None]:
    """Convert system errors of a block to TensorFlow's.

    Args:
        path: file that the block works on.

    Raises:
        OpError: instead of an OSError; NotFoundError for an impossible file name.
    """
    try:
        yield
    except OSError as error:
        raise_of_signal_handler(error)  # for example a program's TimeoutError in an alarm handler
        raise op_error(error, path) from None
    except ValueError as error:
        if not isinstance(error, UnicodeEncodeError) and "null" not in str(error):
            raise
        raise _error_of(NotFoundError, text_of(path), os.strerror(errno.ENOENT)) from None


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    Args:
        path: path of the file.

    Raises:
        OpError: reading fails.
    """
    with with_op_errors(path), open(text_of(path), "rb") as file:
        return file.read()


def exists(path: Path) -> bool:
    """Return whether a file or folder exists.

    Args:
        path: path to check.
    """
    return os.path.exists(text_of(path))


def isdir(path: Path) -> bool:
    """Return whether a folder exists.

    Args:
        path: path to check.
    """
    return os.path.isdir(text_of(path))


def matching_paths(pattern: Path) -> list[str]:
    """Return the sorted paths that match a pattern; a star does not match a slash.

    Args:
        pattern: a path with wildcards ``*``, ``?`` and ``[...]``.
    """
    text = text_of(pattern)
    parts = text.split("/")
    paths = [""]
    for number, part in enumerate(parts):
        if not any(sign in part for sign in "*?[\\"):
            paths = [folder + part if not number else f"{folder}/{part}" for folder in paths]
            continue
        paths = [
            (f"{folder}/{name}" if number else name)
            for folder in paths
            for name in _names_in((folder or "/") if number else ".")
            if fnmatch.fnmatchcase(name, part)
        ]
    relative = len(parts) == 1 and bool(text)
    return sorted((f"./{path}" if relative else path) for path in paths if path and os.path.lexists(path))


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except (OSError, ValueError):  # an impossible file name
        return []


def glob(pattern: Path | Iterable[Path]) -> list[str]:
    """Return the paths that match a pattern.

    Args:
        pattern: a path with wildcards ``*``, ``?`` and ``[...]``, or a list of them.
    """
    patterns: Any = [pattern] if isinstance(pattern, str | bytes | os.PathLike) else pattern
    return [path for one in patterns for path in matching_paths(one)]


def listdir(path: Path) -> list[str]:
    """Return the names in a folder, in no order.

    Args:
        path: path of the folder.

    Raises:
        NotFoundError: the folder does not exist.
    """
    if not isdir(path):
        raise NotFoundError.of(f"Could not find directory {text_of(path)}")
    with with_op_errors(path):
        return os.listdir(text_of(path))


def mkdir(path: Path) -> None:
    """Create a folder if it does not exist.

    Args:
        path: path of the folder.

    Raises:
        NotFoundError: the parent folder does not exist.
    """
    with with_op_errors(path), contextlib.suppress(FileExistsError):
        os.mkdir(text_of(path))


def makedirs(path: Path) -> None:
    """Create a folder and its missing parents.

    Args:
        path: path of the folder.

    Raises:
        FailedPreconditionError: a file with this name exists.
    """
    with with_op_errors(path):
        try:
            os.makedirs(text_of(path), exist_ok=True)
        except FileExistsError:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None


def remove(path: Path) -> None:
    """Delete a file.

    Args:
        path: path of the file.

    Raises:
        NotFoundError: it does not exist.
        FailedPreconditionError: the path is a folder.
    """
    with with_op_errors(path):
        os.remove(text_of(path))


def rmtree(path: Path) -> None:
    """Delete a folder with its content.

    Args:
        path: path of the folder.

    Raises:
        NotFoundError: it does not exist.
        FailedPreconditionError: the path is a file.
    """
    if not exists(path):
        raise NotFoundError.of(f"{text_of(path)} not found")
    with with_op_errors(path):
        import shutil  # imported on first use

        shutil.rmtree(text_of(path))


def rename(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Rename a file or folder.

    Args:
        src: present path.
        dst: new path.
        overwrite: whether an existing file is replaced.

    Raises:
        NotFoundError: the file does not exist.
        AlreadyExistsError: the target exists and `overwrite` is False.
    """
    check_free(dst, overwrite)
    with with_op_errors(src):
        os.replace(text_of(src), text_of(dst))


def copy(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Copy a file.

    Args:
        src: present path.
        dst: path of the copy.
        overwrite: whether an existing file is replaced.

    Raises:
        NotFoundError: the file does not exist.
        AlreadyExistsError: the target exists and `overwrite` is False.
    """
    check_free(dst, overwrite)
    with with_op_errors(src), open(text_of(src), "rb") as source:
        with with_op_errors(dst), growing_file(text_of(dst)) as target:
            import shutil  # imported on first use

            shutil.copyfileobj(source, target)


def check_free(path: Path, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise AlreadyExistsError.of(
            "file already exists", facts={"file": text_of(path)}, hint="pass overwrite=True"
        )


@dataclass(frozen=True)
class FileStatistics:
    """Status of a file."""

    length: int
    """Size in bytes."""
    mtime_nsec: int
    """Modification time in nanoseconds since 1970."""
    is_directory: bool
    """Whether it is a folder."""


def stat(path: Path) -> FileStatistics:
    """Return the status of a file.

    Args:
        path: path of the file.

    Raises:
        NotFoundError: it does not exist.
    """
    with with_op_errors(path):
        status = os.stat(text_of(path))
    return FileStatistics(status.st_size, status.st_mtime_ns, isdir(path))


def walk(
    top: Path, topdown: bool = True, onerror: Callable[[OpError], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Iterate over a folder and its subfolders.

    Args:
        top: path of the folder.
        topdown: whether a folder comes before its subfolders.
        onerror: called with the error of an unreadable folder; None: such folders count as empty.

    Returns:
        An iterator of (folder path, names of subfolders, names of files).
    """
    folder = text_of(top)
    try:
        names = sorted(listdir(folder))
    except OpError as error:
        if onerror is not None:
            onerror(error)
        return
    folders = [name for name in names if isdir(os.path.join(folder, name))]
    here = folder, folders, [name for name in names if name not in set(folders)]
    if topdown:
        yield here
    for name in folders:
        yield from walk(os.path.join(folder, name), topdown, onerror)
    if not topdown:
        yield here
