"""What is in files: lines of text, TFRecords, records of one length; and datasets that are kept in a file.

A TFRecord file is a row of records, in little-endian numbers::

    length (8 bytes) | masked CRC of it (4) | data (length bytes) | masked CRC of it (4)

Source: tensorflow/core/kernels/data/*_dataset_op.cc, core/lib/io/record_reader.cc and core/lib/hash/crc32c.h,
release 1.15 (formats, sentences).
"""

from __future__ import annotations

import gzip
import io
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import numpy as np

from gpuplace.errors import DataLossError, NotFoundError, PermissionDeniedError
from gpuplace.kernels.compute import compute
from gpuplace.ops.data.runtime.stages import END, Cached, Following, Run, Stage, invalid
from gpuplace.writing import write_file


def opened(name: str, compression: str) -> BinaryIO:
    """A file to be read.

    Args:
        name: its name.
        compression: ``""``, ``"ZLIB"`` or ``"GZIP"``.

    Raises:
        NotFoundError: there is none.
        PermissionDeniedError: it may not be read.
        InvalidArgumentError: no such compression.
    """
    if compression not in ("", "ZLIB", "GZIP"):
        raise invalid(f"Unsupported compression_type: {compression}.")
    try:
        file = open(name, "rb")
    except (FileNotFoundError, IsADirectoryError):
        raise NotFoundError.of(f"{name}; No such file or directory") from None
    except PermissionError:
        raise PermissionDeniedError.of(f"{name}; Permission denied") from None
    if compression == "GZIP":
        return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
    if compression == "ZLIB":
        with file:
            return io.BytesIO(zlib.decompress(file.read()))
    return file


def _string(value: bytes) -> tuple[Any]:
    array = np.empty((), object)
    array[()] = value
    return (array,)


class FileRows(Stage):
    """What a function finds in files, strings, one file after the other.

    Args:
        names: names of the files.
        compression: as for ``opened``.
        read: gives the strings in a file.
    """

    def __init__(
        self, names: Any, compression: Any, read: Callable[[BinaryIO, str], Iterator[bytes]]
    ) -> None:
        super().__init__()
        if names.ndim > 1:
            raise invalid("`filenames` must be a scalar or a vector.")
        self.names = [name.decode() for name in names.reshape(-1).tolist()]
        self.compression = compression[()].decode()
        self.read = read

    def begin(self, run: Run) -> Following:
        names = iter(self.names)
        rows: Iterator[bytes] = iter(())

        def take() -> Any:
            nonlocal rows
            while (row := next(rows, None)) is None:
                name = next(names, None)
                if name is None:
                    return END
                rows = self.read(opened(name, self.compression), name)
            return _string(row)

        return take


def _lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    with file:
        for line in file:
            yield line.rstrip(b"\n").removesuffix(b"\r")


def _crc_table() -> list[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
        table.append(number)
    return table


_TABLE = _crc_table()


def _masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _records(file: BinaryIO, name: str) -> Iterator[bytes]:
    at = 0
    with file:
        while head := file.read(12):
            if len(head) < 12:
                raise DataLossError.of(f"truncated record at {at}")
            length, check = struct.unpack("<QI", head)
            if _masked_crc(head[:8]) != check:
                raise DataLossError.of(f"corrupted record at {at}")
            data, tail = file.read(length), file.read(4)
            if len(data) < length or len(tail) < 4:
                raise DataLossError.of(f"truncated record at {at}")
            at += length + 16
            yield data


def _fixed(record: int, header: int, footer: int) -> Callable[[BinaryIO, str], Iterator[bytes]]:
    if record < 1:
        raise invalid("`record_bytes` must be > 0")
    if header < 0:
        raise invalid("`header_bytes` must be >= 0")
    if footer < 0:
        raise invalid("`footer_bytes` must be >= 0")

    def read(file: BinaryIO, name: str) -> Iterator[bytes]:
        with file:
            data = file.read()
        body = len(data) - header - footer
        if body % record:
            raise invalid(
                f'Excess bytes ({body % record}) after reading {max(body, 0) // record} records: file "{name}" has'
                f" {len(data)} bytes, header {header}, footer {footer}, records of {record} bytes."
            )
        for start in range(header, header + body, record):
            yield data[start : start + record]

    return read


class CachedInFile(Cached):
    """The same elements, made once and kept in a file.

    Args:
        stage: makes them.
        name: name of the file, to which ``.npz`` is added.
    """

    def __init__(self, stage: Stage, name: str) -> None:
        super().__init__(stage)
        self.name = f"{name}.npz"

    def begin(self, run: Run) -> Following:
        if not self.kept and os.path.exists(self.name):
            self.kept.append(_read_elements(self.name))
        following = super().begin(run)
        is_written = bool(self.kept)

        def take() -> Any:
            nonlocal is_written
            element = following()
            if element is END and not is_written:
                is_written = True
                _write_elements(self.name, self.kept[0])
            return element

        return take


def _write_elements(name: str, elements: list[Any]) -> None:
    arrays: dict[str, Any] = {"count": np.array([len(elements), len(elements[0]) if elements else 0])}
    for number, element in enumerate(elements):
        for part, value in enumerate(element):
            if value.dtype != object:
                arrays[f"{number}.{part}"] = value
                continue
            strings = value.reshape(-1).tolist()
            arrays[f"{number}.{part}.shape"] = np.array(value.shape, np.int64)
            arrays[f"{number}.{part}.sizes"] = np.array([len(one) for one in strings], np.int64)
            arrays[f"{number}.{part}.bytes"] = np.frombuffer(b"".join(strings), np.uint8)
    data = io.BytesIO()
    np.savez(data, **arrays)
    write_file(name, data.getvalue())


def _read_elements(name: str) -> list[Any]:
    with np.load(name, allow_pickle=False) as arrays:
        count, parts = arrays["count"].tolist()
        return [
            tuple(_read_value(arrays, f"{number}.{part}") for part in range(parts)) for number in range(count)
        ]


def _read_value(arrays: Any, key: str) -> Any:
    if key in arrays:
        return arrays[key]
    data, at, strings = arrays[f"{key}.bytes"].tobytes(), 0, []
    for size in arrays[f"{key}.sizes"].tolist():
        strings.append(data[at : at + size])
        at += size
    value = np.empty(len(strings), object)
    value[:] = strings
    return value.reshape(arrays[f"{key}.shape"].tolist())


@compute("CacheDataset")
def _cache(xp: Any, input_dataset: Any, filename: Any) -> Any:
    name = filename[()].decode()
    return CachedInFile(input_dataset, name) if name else Cached(input_dataset)


@compute("TextLineDataset")
def _text_lines(xp: Any, filenames: Any, compression_type: Any, buffer_size: Any) -> Any:
    return FileRows(filenames, compression_type, _lines)


@compute("TFRecordDataset")
def _tf_records(xp: Any, filenames: Any, compression_type: Any, buffer_size: Any) -> Any:
    return FileRows(filenames, compression_type, _records)


@compute("FixedLengthRecordDatasetV2")
def _fixed_records(
    xp: Any,
    filenames: Any,
    header_bytes: Any,
    record_bytes: Any,
    footer_bytes: Any,
    buffer_size: Any,
    compression_type: Any,
) -> Any:
    read = _fixed(int(record_bytes), int(header_bytes), int(footer_bytes))
    return FileRows(filenames, compression_type, read)
