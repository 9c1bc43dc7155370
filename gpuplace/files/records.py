"""Record files, plain or compressed: TFRecord, lines of text, CSV, fixed-length records.

Files are read in pieces rather than as a whole, which keeps the process's memory small.

A TFRecord file is a sequence of records::

    length      8 bytes, little-endian
    its CRC     4 bytes, masked CRC-32C
    data        as many bytes
    their CRC   4 bytes

>>> import os, tempfile
>>> path = os.path.join(tempfile.mkdtemp(), "some.tfrecord")
>>> with RecordWriter(path) as writer:
...     writer.write(b"one")
>>> list(read_records(path))
[b'one']

Source: tensorflow/core/lib/io/record_writer.cc, record_reader.cc, inputbuffer.cc and zlib_compression_options.h,
release 1.15.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from gpuplace.errors import DataLossError, FailedPreconditionError, InvalidArgumentError
from gpuplace.files.crc32c import crc32c, mask
from gpuplace.files.file_system import Path, text_of, with_op_errors
from gpuplace.writing import growing_file

__all__ = ["FixedLengthReader", "LineReader", "RecordReader", "RecordWriter", "compressor", "read_records"]

_WINDOWS = {"GZIP": 31, "ZLIB": 15}
"""zlib's window size, which also selects the format."""
_PIECE = 1 << 18
_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")


def compressor(
    kind: str, level: int = -1, memory: int = 9, strategy: int = 0, window: int | None = None
) -> Any:
    """Return a compressor for a format, or None for uncompressed files.

    Args:
        kind: ``""``, ``"GZIP"`` or ``"ZLIB"``.
        level: compression level, 0 to 9; -1: zlib's default.
        memory: memory level, 1 to 9.
        strategy: number of zlib's strategy.
        window: zlib's window size; None: that of the format.
    """
    if not kind:
        return None
    import zlib

    return zlib.compressobj(
        level, zlib.DEFLATED, _WINDOWS[kind] if window is None else window, memory, strategy
    )


class _Unpacked:
    """A file that is decompressed while it is read."""

    def __init__(self, file: Any, kind: str, window: int | None = None) -> None:
        import zlib

        self._zlib = zlib
        self._file = file
        self._window = _WINDOWS[kind] if window is None else window
        self._object = zlib.decompressobj(self._window)
        self._ready, self._at = b"", 0

    def read(self, count: int) -> bytes:
        parts, left = [], count
        while True:
            part = self._ready[self._at : self._at + left]
            self._at += len(part)
            left -= len(part)
            parts.append(part)
            if not left or not self._unpack():
                return b"".join(parts)

    def _unpack(self) -> bool:
        """Decompress the next piece, which may be empty; return False at the end of the file."""
        packed = self._object.unconsumed_tail or self._object.unused_data or self._file.read(_PIECE)
        if self._object.eof:  # a file may contain several streams
            self._object = self._zlib.decompressobj(self._window)
        try:
            self._ready, self._at = self._object.decompress(packed, _PIECE), 0
        except self._zlib.error as error:
            text = str(error).partition(": ")[2] or str(error)
            number = str(error).partition("Error ")[2].partition(" ")[0] or "-3"
            raise DataLossError.of(f"inflate() failed with error {number}: {text}") from None
        return bool(packed or self._ready)

    def close(self) -> None:
        self._file.close()


def _unpacked(path: Path, kind: str) -> Any:
    """Open a file for reading: ``read(count)`` and ``close()``."""
    if kind and kind not in _WINDOWS:
        raise InvalidArgumentError.of(
            "Unsupported compression_type.", facts={"found": kind, "allowed": "'', 'GZIP', 'ZLIB'"}
        )
    with with_op_errors(path):
        file = open(text_of(path), "rb")
    return _Unpacked(file, kind) if kind else file


class RecordWriter:
    """Writes records to a new file.

    Args:
        path: path of the file.
        packer: compressor, see ``compressor``; None: no compression.

    Raises:
        OpError: the file cannot be created.
    """

    def __init__(self, path: Path, packer: Any = None) -> None:
        self._path = path
        self._packer = packer
        with with_op_errors(path):
            self._file: Any = growing_file(text_of(path))

    def write(self, record: bytes) -> None:
        """Append a record.

        Args:
            record: content of the record.

        Raises:
            FailedPreconditionError: the file is closed.
            OpError: writing fails.
        """
        if self._file is None:
            raise FailedPreconditionError.of("Writer not initialized or previously closed")
        length = _LENGTH.pack(len(record))
        self._add(
            b"".join(
                [
                    length,
                    _CHECKSUM.pack(mask(crc32c(length))),
                    record,
                    _CHECKSUM.pack(mask(crc32c(record))),
                ]
            )
        )

    def _add(self, data: bytes) -> None:
        with with_op_errors(self._path):
            self._file.write(data if self._packer is None else self._packer.compress(data))

    def flush(self) -> None:
        """Write buffered data so that other processes see them.

        Raises:
            FailedPreconditionError: the file is closed.
        """
        if self._file is None:
            raise FailedPreconditionError.of("Writer not initialized or previously closed")
        with with_op_errors(self._path):
            if self._packer is not None:
                import zlib

                self._file.write(self._packer.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()

    def close(self) -> None:
        """Write buffered data and close the file."""
        if self._file is None:
            return
        file, self._file = self._file, None
        with with_op_errors(self._path):
            try:
                if self._packer is not None:
                    file.write(self._packer.flush())
            finally:
                file.close()

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class RecordReader:
    """Reads the records of a file one by one.

    Args:
        path: path of the file.
        kind: compression, ``""``, ``"GZIP"`` or ``"ZLIB"``.
        data: content of the file if already read; the file is then not opened.

    Raises:
        OpError: the file cannot be opened.
    """

    def __init__(self, path: Path, kind: str = "", data: bytes | None = None) -> None:
        self._path = path
        self._file = _unpacked(path, kind) if data is None else io.BytesIO(data)
        self.offset = 0
        """Offset of the next record in the uncompressed data."""

    def next(self) -> bytes | None:
        """Return the next record; None at the end of the file or if the file ends within the record's length.

        Raises:
            DataLossError: the file is corrupt or ends within a record's data.
            OpError: reading fails.
        """
        with with_op_errors(self._path):
            return self._next()

    def _next(self) -> bytes | None:
        head = self._file.read(12)
        if len(head) < 12:
            return None
        if mask(crc32c(head[:8])) != _CHECKSUM.unpack(head[8:])[0]:
            raise self._damaged(self.offset)
        (length,) = _LENGTH.unpack(head[:8])
        data = self._file.read(length)
        end = self._file.read(4)
        if len(data) < length or len(end) < 4:
            raise DataLossError.of(f"truncated record at {self.offset}", facts=self._facts())
        if mask(crc32c(data)) != _CHECKSUM.unpack(end)[0]:
            raise self._damaged(self.offset + 12)
        self.offset += length + 16
        return data

    def _facts(self) -> dict[str, str]:
        return {"file": text_of(self._path)}

    def _damaged(self, offset: int) -> DataLossError:
        hint = "if the file is compressed, pass TFRecordOptions(TFRecordCompressionType.GZIP)"
        return DataLossError.of(
            f"corrupted record at {offset}", facts=self._facts(), hint=hint if not offset else None
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_records(path: Path, kind: str = "") -> Iterator[bytes]:
    """Iterate over the records of a file.

    Args:
        path: path of the file.
        kind: compression, ``""``, ``"GZIP"`` or ``"ZLIB"``.

    Raises:
        OpError: the file cannot be read or is corrupt.
    """
    reader = RecordReader(path, kind)
    try:
        while (record := reader.next()) is not None:
            yield record
    finally:
        reader.close()


class LineReader:
    """Reads the lines of a file one by one, without line ends.

    Args:
        path: path of the file.
        kind: compression, ``""``, ``"GZIP"`` or ``"ZLIB"``.

    Raises:
        OpError: the file cannot be opened.
    """

    def __init__(self, path: Path, kind: str = "") -> None:
        self._path = path
        self._file = _unpacked(path, kind)
        self._lines: Iterator[bytes] = iter(())
        self._begun: list[bytes] = []
        """Parts of a line whose end has not been read yet."""

    def next(self) -> bytes | None:
        """Return the next line without any carriage returns; None at the end of the file.

        Raises:
            OpError: the file cannot be read or is corrupt.
        """
        while (line := next(self._lines, None)) is None:
            with with_op_errors(self._path):
                piece = self._file.read(_PIECE)
            if not piece:
                last, self._begun = b"".join(self._begun).replace(b"\r", b""), []
                return last or None
            *lines, rest = piece.split(b"\n")
            if lines:
                lines[0] = b"".join([*self._begun, lines[0]])
                self._begun = []
            self._begun.append(rest)
            self._lines = iter(lines)
        return line.replace(b"\r", b"")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class CsvReader:
    """Reads the records of a CSV file one by one; a quoted value may contain line ends.

    Args:
        path: path of the file.
        kind: compression, ``""``, ``"GZIP"`` or ``"ZLIB"``.
        delimiter: delimiter of the values, one byte.
        quotes: whether quotation marks are interpreted.

    Raises:
        OpError: the file cannot be opened.
    """

    def __init__(self, path: Path, kind: str, delimiter: bytes, quotes: bool) -> None:
        self._path = path
        self._file = _unpacked(path, kind)
        self._delimiter, self._quotes = delimiter, quotes
        self._signs = re.compile(b"[%s\r\n%s]" % (b'"' if quotes else b"", re.escape(delimiter)))
        self._ready = b""

    def next(self) -> bytes | None:
        """Return the next record without its line end of any kind; None at the end of the file.

        Raises:
            InvalidArgumentError: the file ends within a quoted value.
            OpError: the file cannot be read or is corrupt.
        """
        begin = at = 0
        is_quoted, closed = False, -1
        while True:
            match = self._signs.search(self._ready, at)
            if match is None or (match[0] == b"\r" and match.end() == len(self._ready)):
                at = len(self._ready) if match is None else match.start()
                with with_op_errors(self._path):
                    piece = self._file.read(_PIECE)
                self._ready += piece
                if piece:
                    continue
                if is_quoted:
                    raise InvalidArgumentError.of(
                        "Reached end of file without closing quoted field in record"
                    )
                record, self._ready = self._ready.rstrip(b"\r"), b""
                return record if record or match is not None else None
            at = match.end()
            if match[0] == b'"':
                if is_quoted:
                    is_quoted, closed = False, at
                else:
                    is_quoted = match.start() in (begin, closed)
            elif is_quoted:
                continue
            elif match[0] == self._delimiter:
                begin = at
            else:
                end = at + 1 if self._ready[match.start() : at + 1] == b"\r\n" else at
                record, self._ready = self._ready[: match.start()], self._ready[end:]
                return record

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class FixedLengthReader:
    """Reads fixed-length records of a file one by one, between a header and a footer.

    Args:
        path: path of the file.
        kind: compression, ``""``, ``"GZIP"`` or ``"ZLIB"``.
        record: size of a record in bytes.
        header: size of the header in bytes.
        footer: size of the footer in bytes.
        hop: distance between the starts of records in bytes; 0: the size of a record.

    Raises:
        OpError: the file cannot be opened.
    """

    def __init__(
        self, path: Path, kind: str, record: int, header: int = 0, footer: int = 0, hop: int = 0
    ) -> None:
        self._path = path
        self._file = _unpacked(path, kind)
        self._record, self._footer, self._hop = record, footer, hop or record
        self._data, self._at = b"", 0
        self._skip = header
        """Number of bytes before the next record."""
        self.size = 0
        """Number of uncompressed bytes read so far; all of them after the last record."""

    def next(self) -> bytes | None:
        """Return the next record; None if the rest is shorter.

        Raises:
            OpError: the file cannot be read or is corrupt.
        """
        while self._skip > len(self._data) - self._at:
            self._skip -= len(self._data) - self._at
            self._at = len(self._data)
            if not self._has(1):
                return None
        self._at += self._skip
        self._skip = 0
        if not self._has(self._record + self._footer):
            return None
        self._skip = self._hop
        return self._data[self._at : self._at + self._record]

    def has_header(self) -> bool:
        """Return whether the file is at least as long as its header, before the first record is read.

        Raises:
            OpError: as for ``next``.
        """
        return self._has(self._skip)

    def _has(self, count: int) -> bool:
        """Return whether at least `count` bytes follow."""
        left = len(self._data) - self._at
        if left >= count:
            return True
        parts = [self._data[self._at :]]
        while left < count:
            with with_op_errors(self._path):
                piece = self._file.read(max(_PIECE, count - left))
            if not piece:
                break
            parts.append(piece)
            left += len(piece)
            self.size += len(piece)
        self._data, self._at = b"".join(parts), 0
        return left >= count

    def close(self) -> None:
        """Close the file."""
        self._file.close()
