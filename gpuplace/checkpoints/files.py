"""Files of checkpoints read and found, with TensorFlow's errors where that fails.

Source: tensorflow/core/platform/posix/error.cc, release 1.15 (which errors of the system are which of TensorFlow's).
"""

from __future__ import annotations

import errno
import glob
from collections.abc import Iterator
from contextlib import contextmanager

from gpuplace.errors import (
    FailedPreconditionError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
)

__all__ = ["matching_files", "read_bytes", "reading"]

_CLASSES: dict[int | None, type[OpError]] = {
    errno.ENOENT: NotFoundError,
    errno.EPERM: PermissionDeniedError,
    errno.EACCES: PermissionDeniedError,
    errno.EROFS: PermissionDeniedError,
    errno.ENOTDIR: FailedPreconditionError,
    errno.EISDIR: FailedPreconditionError,
    errno.ENOTEMPTY: FailedPreconditionError,
    errno.EBUSY: FailedPreconditionError,
    errno.ENOSPC: ResourceExhaustedError,
    errno.EDQUOT: ResourceExhaustedError,
    errno.EMFILE: ResourceExhaustedError,
    errno.ENFILE: ResourceExhaustedError,
    errno.ENAMETOOLONG: FailedPreconditionError,
}


@contextmanager
def reading(path: str) -> Iterator[None]:
    """A block in which errors of the system become TensorFlow's.

    Args:
        path: the file that they are about, where they do not say.

    Raises:
        NotFoundError, PermissionDeniedError, FailedPreconditionError, ResourceExhaustedError, UnknownError: what the
            block could not do with the file.
    """
    try:
        yield
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else path
        kind = _CLASSES.get(error.errno, UnknownError)
        raise kind.of(f"{name}; {error.strerror}", hint="check the path and the folder") from None  # type: ignore[attr-defined]
    except ValueError as error:
        if "null" not in str(error):
            raise
        raise NotFoundError.of(f"{path!r}; No such file or directory", hint="check the path") from None


def read_bytes(path: str) -> bytes:
    """A file's content.

    Args:
        path: its name.

    Raises:
        OpError: it cannot be read.
    """
    with reading(path), open(path, "rb") as file:
        return file.read()


def matching_files(pattern: str) -> list[str]:
    """The files of a name, in which ``*``, ``?`` and ``[...]`` stand for others, sorted.

    Args:
        pattern: the name.
    """
    with reading(pattern):
        return sorted(glob.glob(pattern))
