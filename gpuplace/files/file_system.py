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
"""What names a file."""

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
"""Number of a system error to TensorFlow's class."""
_HINTS: dict[Any, str] = {
    NotFoundError: "check the path",
    PermissionDeniedError: "check the path, and who may read and write there",
}
_MAX_SHOWN = 300
"""Characters of a path in an error."""


def text_of(path: Path) -> str:
    """A path as text, without the ``file://`` of a URI.

    >>> text_of("file:///tmp/model")
    '/tmp/model'

    Args:
        path: text, bytes or a path object.

    Raises:
        TypeError: it is none of them.
    """
    return os.fsdecode(path).removeprefix("file://")


def op_error(error: OSError, path: Path) -> OpError:
    """TensorFlow's error for one of the system.

    Args:
        error: the system's.
        path: of the file that it is about, where it does not say.
    """
    name = error.filename if isinstance(error.filename, str) else text_of(path)
    return _error_of(_CLASSES.get(error.errno, UnknownError), name, error.strerror or str(error))


def _error_of(cls: Any, name: str, sentence: str) -> OpError:
    found: OpError = cls.of(f"{name[:_MAX_SHOWN]}; {sentence}", hint=_HINTS.get(cls))
    return found


@contextlib.contextmanager
def with_op_errors(path: Path) -> Iterator[None]:
    """A block whose system errors become TensorFlow's.

    Args:
        path: of the file that it works on.

    Raises:
        OpError: instead of an OSError; NotFoundError for a name that no file can have.
    """
    try:
        yield
    except OSError as error:
        raise_of_signal_handler(error)  # a TimeoutError, such as programs raise when an alarm goes off
        raise op_error(error, path) from None
    except ValueError as error:
        if not isinstance(error, UnicodeEncodeError) and "null" not in str(error):
            raise
        raise _error_of(NotFoundError, text_of(path), os.strerror(errno.ENOENT)) from None


def read_bytes(path: Path) -> bytes:
    """Returns all of a file.

    Args:
        path: of the file.

    Raises:
        OpError: it cannot be read.
    """
    with with_op_errors(path), open(text_of(path), "rb") as file:
        return file.read()


def exists(path: Path) -> bool:
    """Returns whether there is a file or folder.

    Args:
        path: of it.
    """
    return os.path.exists(text_of(path))


def isdir(path: Path) -> bool:
    """Returns whether there is a folder.

    Args:
        path: of it.
    """
    return os.path.isdir(text_of(path))


def matching_paths(pattern: Path) -> list[str]:
    """The paths that match a pattern, sorted; a star does not match a slash.

    Args:
        pattern: a path with ``*``, ``?`` and ``[...]`` in it.
    """
    text = text_of(pattern)
    parts = text.split("/")
    found = [""]
    for number, part in enumerate(parts):
        if not any(sign in part for sign in "*?[\\"):
            found = [folder + part if not number else f"{folder}/{part}" for folder in found]
            continue
        found = [
            (f"{folder}/{name}" if number else name)
            for folder in found
            for name in _names_in((folder or "/") if number else ".")
            if fnmatch.fnmatchcase(name, part)
        ]
    relative = len(parts) == 1 and bool(text)
    return sorted((f"./{path}" if relative else path) for path in found if path and os.path.lexists(path))


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except (OSError, ValueError):  # no file can have the name
        return []


def glob(pattern: Path | Iterable[Path]) -> list[str]:
    """Returns the paths that match a pattern.

    Args:
        pattern: a path with ``*``, ``?`` and ``[...]`` in it, or a list of them.
    """
    patterns: Any = [pattern] if isinstance(pattern, str | bytes | os.PathLike) else pattern
    return [path for one in patterns for path in matching_paths(one)]


def listdir(path: Path) -> list[str]:
    """Returns the names in a folder, in no order.

    Args:
        path: of the folder.

    Raises:
        NotFoundError: there is no such folder.
    """
    if not isdir(path):
        raise NotFoundError.of(f"Could not find directory {text_of(path)}")
    with with_op_errors(path):
        return os.listdir(text_of(path))


def mkdir(path: Path) -> None:
    """Makes a folder, if there is none.

    Args:
        path: of the folder.

    Raises:
        NotFoundError: the folder around it does not exist.
    """
    with with_op_errors(path), contextlib.suppress(FileExistsError):
        os.mkdir(text_of(path))


def makedirs(path: Path) -> None:
    """Makes a folder and those around it, where they are missing.

    Args:
        path: of the folder.

    Raises:
        FailedPreconditionError: there is a file of that name.
    """
    with with_op_errors(path):
        try:
            os.makedirs(text_of(path), exist_ok=True)
        except FileExistsError:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None


def remove(path: Path) -> None:
    """Deletes a file.

    Args:
        path: of the file.

    Raises:
        NotFoundError: there is none.
        FailedPreconditionError: it is a folder.
    """
    with with_op_errors(path):
        os.remove(text_of(path))


def rmtree(path: Path) -> None:
    """Deletes a folder with everything in it.

    Args:
        path: of the folder.

    Raises:
        NotFoundError: there is none.
        FailedPreconditionError: it is a file.
    """
    if not exists(path):
        raise NotFoundError.of(f"{text_of(path)} not found")
    with with_op_errors(path):
        import shutil  # loaded when it is first needed

        shutil.rmtree(text_of(path))


def rename(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Gives a file or folder another name.

    Args:
        src: its path.
        dst: its new path.
        overwrite: whether a file there is replaced.

    Raises:
        NotFoundError: there is no such file.
        AlreadyExistsError: there is a file of the new name, and it is not to be replaced.
    """
    check_free(dst, overwrite)
    with with_op_errors(src):
        os.replace(text_of(src), text_of(dst))


def copy(src: Path, dst: Path, overwrite: bool = False) -> None:
    """Copies a file.

    Args:
        src: its path.
        dst: the copy's path.
        overwrite: whether a file there is replaced.

    Raises:
        NotFoundError: there is no such file.
        AlreadyExistsError: there is a file at the copy's path, and it is not to be replaced.
    """
    check_free(dst, overwrite)
    with with_op_errors(src), open(text_of(src), "rb") as source:
        with with_op_errors(dst), growing_file(text_of(dst)) as target:
            import shutil  # loaded when it is first needed

            shutil.copyfileobj(source, target)


def check_free(path: Path, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise AlreadyExistsError.of(
            "file already exists", facts={"file": text_of(path)}, hint="overwrite=True"
        )


@dataclass(frozen=True)
class FileStatistics:
    """What is known of a file."""

    length: int
    """Its size in bytes."""
    mtime_nsec: int
    """When it was last written, in nanoseconds since 1970."""
    is_directory: bool
    """Whether it is a folder."""


def stat(path: Path) -> FileStatistics:
    """Returns what is known of a file.

    Args:
        path: of the file.

    Raises:
        NotFoundError: there is none.
    """
    with with_op_errors(path):
        found = os.stat(text_of(path))
    return FileStatistics(found.st_size, found.st_mtime_ns, isdir(path))


def walk(
    top: Path, topdown: bool = True, onerror: Callable[[OpError], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Gives all folders in a folder, itself included.

    Args:
        top: path of the folder.
        topdown: whether a folder comes before those in it.
        onerror: called with the error for a folder that cannot be read; None: there is nothing in it.

    Returns:
        An iterator of paths of folders, each with the names of the folders and of the files in it.
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
