"""``tf.gfile.GFile``: a file, opened when it is first read or written.

Source: tensorflow/python/lib/io/file_io.py (FileIO), release 1.15.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from gpuplace.callers import warn
from gpuplace.errors import InvalidArgumentError, OutOfRangeError, PermissionDeniedError
from gpuplace.files.file_system import Path, text_of, with_op_errors

__all__ = ["FastGFile", "GFile"]

_MODES = ("r", "w", "a", "r+", "w+", "a+")


class GFile:
    """A file whose errors are TensorFlow's; it is opened on first use.

    Args:
        name: path of the file.
        mode: ``r``, ``w``, ``a``, ``r+``, ``w+`` or ``a+``, with ``b`` for bytes instead of UTF-8 text.

    Raises:
        InvalidArgumentError: the mode is invalid.
    """

    def __init__(self, name: Path, mode: str = "r") -> None:
        self._name, self._mode = name, mode
        self._binary = "b" in mode
        plain = mode.replace("b", "")
        if plain not in _MODES:
            raise InvalidArgumentError.of("mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+'")
        self._plain = plain
        self._reader: Any = None
        self._writer: Any = None

    @property
    def name(self) -> Path:
        """The path as passed by the caller."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode as passed by the caller."""
        return self._mode

    def _to_write(self) -> Any:
        """Return the file for writing, opened if necessary; existing content is lost except in modes ``a``."""
        if self._plain == "r":
            raise PermissionDeniedError.of("File isn't open for writing")
        if self._writer is None:
            with with_op_errors(self._name):
                self._writer = open(text_of(self._name), "ab" if self._plain[0] == "a" else "wb")
        return self._writer

    def _to_read(self) -> Any:
        """Return the file for reading, opened at its start if necessary; a flush makes written data visible."""
        if self._plain in ("w", "a"):
            raise PermissionDeniedError.of("File isn't open for reading")
        if self._reader is None:
            with with_op_errors(self._name):
                self._reader = open(text_of(self._name), "rb")
        return self._reader

    def _given(self, data: bytes) -> Any:
        return data if self._binary else data.decode("utf-8")

    def size(self) -> int:
        """Return the size of the file in bytes.

        Raises:
            NotFoundError: the file does not exist.
        """
        with with_op_errors(self._name):
            return os.stat(text_of(self._name)).st_size

    def write(self, file_content: str | bytes) -> None:
        """Write text or bytes.

        Args:
            file_content: content to write.

        Raises:
            PermissionDeniedError: the file is open for reading.
            OpError: writing fails.
        """
        file = self._to_write()
        data = file_content.encode("utf-8") if isinstance(file_content, str) else file_content
        with with_op_errors(self._name):
            file.write(data)

    def read(self, n: int = -1) -> Any:
        """Return the next part of the file.

        Args:
            n: maximum number of bytes; -1: all.

        Raises:
            PermissionDeniedError: the file is open for writing.
            OpError: reading fails.
        """
        file = self._to_read()
        with with_op_errors(self._name):
            return self._given(file.read(n))

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Change the position in the file.

        Args:
            offset: offset in bytes.
            whence: reference point of the offset: 0: the start; 1: the current position; 2: the end.
            position: deprecated name of ``offset``.

        Raises:
            TypeError: neither is given.
            InvalidArgumentError: ``whence`` is invalid.
            OutOfRangeError: the position is beyond the end of the file.
        """
        file = self._to_read()
        if offset is None and position is None:
            raise TypeError("seek(): offset argument required")
        if position is not None:
            warn("position is deprecated in favor of the offset argument.", DeprecationWarning)
            offset = position
        assert offset is not None
        if whence not in (0, 1, 2):
            raise InvalidArgumentError.of(f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2.")
        start = 0 if whence == 0 else file.tell() if whence == 1 else self.size()
        if start + offset > self.size():
            raise OutOfRangeError.of("reached end of file")
        with with_op_errors(self._name):
            file.seek(max(start + offset, 0))

    def readline(self) -> Any:
        """Return the next line including its line end; empty at the end of the file."""
        file = self._to_read()
        with with_op_errors(self._name):
            return self._given(file.readline())

    def readlines(self) -> list[Any]:
        """Return the remaining lines."""
        return list(self)

    def tell(self) -> int:
        """Return the position in the file in bytes."""
        file = self._to_write() if self._plain in ("w", "a") else self._to_read()
        with with_op_errors(self._name):
            return int(file.tell())

    def seekable(self) -> bool:
        """Return True."""
        return True

    def flush(self) -> None:
        """Write buffered data so that other processes see them."""
        if self._writer is not None:
            with with_op_errors(self._name):
                self._writer.flush()

    def close(self) -> None:
        """Close the file; it is reopened on the next use."""
        files = [file for file in (self._reader, self._writer) if file is not None]
        self._reader = self._writer = None
        for file in files:
            with with_op_errors(self._name):
                file.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def __del__(self) -> None:
        for file in (getattr(self, "_reader", None), getattr(self, "_writer", None)):
            if file is not None:
                file.close()


class FastGFile(GFile):
    """Deprecated alias of ``GFile``.

    Args:
        name: path of the file.
        mode: as for ``GFile``.
    """
