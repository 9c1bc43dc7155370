"""Files of records, plain or compressed: TFRecord, lines of text, records of one length.

Files are read in pieces, never as a whole: what a thread holds of a file for a moment may stay with the process.

A TFRecord file is a row of records::

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
"""Size of zlib's window, by which it also tells its formats apart."""
_PIECE = 1 << 18
_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")


def compressor(
    kind: str, level: int = -1, memory: int = 9, strategy: int = 0, window: int | None = None
) -> Any:
    """What compresses to one of the formats, or None for files that are not compressed.

    Args:
        kind: ``""``, ``"GZIP"`` or ``"ZLIB"``.
        level: how hard it tries, 0 to 9; -1: as zlib finds right.
        memory: how much memory it takes, 1 to 9.
        strategy: zlib's number of a strategy.
        window: zlib's size of the window; None: that of the format.
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
        """Unpacks the next piece, which may be empty; False at the end of the file."""
        packed = self._object.unconsumed_tail or self._object.unused_data or self._file.read(_PIECE)
        if self._object.eof:  # one stream after the other
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
    """A file to be read from its beginning: ``read(count)`` and ``close()``."""
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
        path: of the file.
        packer: what compresses, see ``compressor``; None: nothing does.

    Raises:
        OpError: it cannot be made.
    """

    def __init__(self, path: Path, packer: Any = None) -> None:
        self._path = path
        self._packer = packer
        with with_op_errors(path):
            self._file: Any = growing_file(text_of(path))

    def write(self, record: bytes) -> None:
        """Adds a record.

        Args:
            record: its bytes.

        Raises:
            FailedPreconditionError: the file is closed.
            OpError: it cannot be written.
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
        """Writes what is buffered, for others to see.

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
        """Writes what is left and closes the file."""
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
        path: of the file.
        kind: how it is compressed: ``""``, ``"GZIP"`` or ``"ZLIB"``.
        data: what is in it, if it has been read; it is not opened then.

    Raises:
        OpError: it cannot be opened.
    """

    def __init__(self, path: Path, kind: str = "", data: bytes | None = None) -> None:
        self._path = path
        self._file = _unpacked(path, kind) if data is None else io.BytesIO(data)
        self.offset = 0
        """Where the next record begins, in what is not compressed."""

    def next(self) -> bytes | None:
        """The next record; None when there is none, or when the file ends within its length.

        Raises:
            DataLossError: the file is damaged, or ends within a record's data.
            OpError: it cannot be read.
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
        hint = "if the file is compressed, say so: TFRecordOptions(TFRecordCompressionType.GZIP)"
        return DataLossError.of(
            f"corrupted record at {offset}", facts=self._facts(), hint=hint if not offset else None
        )

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def read_records(path: Path, kind: str = "") -> Iterator[bytes]:
    """Gives the records of a file.

    Args:
        path: of the file.
        kind: how it is compressed: ``""``, ``"GZIP"`` or ``"ZLIB"``.

    Raises:
        OpError: it cannot be read, or is damaged.
    """
    reader = RecordReader(path, kind)
    try:
        while (record := reader.next()) is not None:
            yield record
    finally:
        reader.close()


class LineReader:
    """Reads the lines of a file one by one, without their ends.

    Args:
        path: of the file.
        kind: how it is compressed: ``""``, ``"GZIP"`` or ``"ZLIB"``.

    Raises:
        OpError: it cannot be opened.
    """

    def __init__(self, path: Path, kind: str = "") -> None:
        self._path = path
        self._file = _unpacked(path, kind)
        self._lines: Iterator[bytes] = iter(())
        self._begun: list[bytes] = []
        """Parts of a line whose end is not read yet."""

    def next(self) -> bytes | None:
        """The next line, from which carriage returns are left out wherever they are; None when there is none.

        Raises:
            OpError: the file cannot be read, or is damaged.
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
        """Closes the file."""
        self._file.close()


class CsvReader:
    """Reads the records of a CSV file one by one: lines, which go on where a value in quotation marks has their ends.

    Args:
        path: of the file.
        kind: how it is compressed: ``""``, ``"GZIP"`` or ``"ZLIB"``.
        delimiter: what stands between values, one byte.
        quotes: whether quotation marks are read.

    Raises:
        OpError: it cannot be opened.
    """

    def __init__(self, path: Path, kind: str, delimiter: bytes, quotes: bool) -> None:
        self._path = path
        self._file = _unpacked(path, kind)
        self._delimiter, self._quotes = delimiter, quotes
        self._signs = re.compile(b"[%s\r\n%s]" % (b'"' if quotes else b"", re.escape(delimiter)))
        self._ready = b""

    def next(self) -> bytes | None:
        """The next record without the end of its line, which is of any kind; None when there is none.

        Raises:
            InvalidArgumentError: the file ends in a value in quotation marks.
            OpError: the file cannot be read, or is damaged.
        """
        begin = at = 0
        is_quoted, closed = False, -1
        while True:
            found = self._signs.search(self._ready, at)
            if found is None or (found[0] == b"\r" and found.end() == len(self._ready)):
                at = len(self._ready) if found is None else found.start()
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
                return record if record or found is not None else None
            at = found.end()
            if found[0] == b'"':
                if is_quoted:
                    is_quoted, closed = False, at
                else:
                    is_quoted = found.start() in (begin, closed)
            elif is_quoted:
                continue
            elif found[0] == self._delimiter:
                begin = at
            else:
                end = at + 1 if self._ready[found.start() : at + 1] == b"\r\n" else at
                record, self._ready = self._ready[: found.start()], self._ready[end:]
                return record

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


class FixedLengthReader:
    """Reads the records of a file one by one that are all of one length, between a header and a footer.

    Args:
        path: of the file.
        kind: how it is compressed: ``""``, ``"GZIP"`` or ``"ZLIB"``.
        record: bytes of a record.
        header: bytes before the first one.
        footer: bytes at the end of the file that belong to none.
        hop: bytes from the beginning of a record to that of the next one; 0: those of a record.

    Raises:
        OpError: it cannot be opened.
    """

    def __init__(
        self, path: Path, kind: str, record: int, header: int = 0, footer: int = 0, hop: int = 0
    ) -> None:
        self._path = path
        self._file = _unpacked(path, kind)
        self._record, self._footer, self._hop = record, footer, hop or record
        self._data, self._at = b"", 0
        self._skip = header
        """Bytes that come before the next record."""
        self.size = 0
        """Bytes of the file that were read so far, unpacked: all of them once there is no further record."""

    def next(self) -> bytes | None:
        """The next record; None when what is left is shorter.

        Raises:
            OpError: the file cannot be read, or is damaged.
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
        """Whether the file is as long as its header, before the first record is read.

        Raises:
            OpError: as ``next``.
        """
        return self._has(self._skip)

    def _has(self, count: int) -> bool:
        """Whether so many bytes follow."""
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
        """Closes the file."""
        self._file.close()
