"""Datasets of file contents (text lines, TFRecords, fixed-length records) and datasets cached in a file.

Source: tensorflow/core/kernels/data/*_dataset_op.cc, release 1.15 (messages).
"""

from __future__ import annotations

import functools
import io
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import numpy as np

from gpuplace.errors import AlreadyExistsError, DataLossError, InvalidArgumentError, OpError
from gpuplace.files import file_system
from gpuplace.files.file_system import with_op_errors
from gpuplace.files.records import FixedLengthReader, LineReader, RecordReader
from gpuplace.kernels.compute import compute
from gpuplace.tf1.data.runtime.stages import END, Cached, GetNext, Run, Stage, invalid
from gpuplace.typing import Array, ArrayModule
from gpuplace.writing import write_file


def _string(value: bytes) -> tuple[Any]:
    array = np.empty((), object)
    array[()] = value
    return (array,)


class _Rows(Protocol):
    """The strings of a file, one after the other."""

    def next(self) -> bytes | None: ...

    def close(self) -> None: ...


class FileRows(Stage):
    """The strings that a reader extracts from files, one file after the other.

    Args:
        names: file names.
        compression: ``""``, ``"ZLIB"`` or ``"GZIP"``.
        read: opens a file, given its name and compression.
    """

    def __init__(self, names: Any, compression: Any, read: Callable[[str, str], _Rows]) -> None:
        super().__init__()
        if names.ndim > 1:
            raise invalid("`filenames` must be a scalar or a vector.")
        self.names = [os.fsdecode(name) for name in names.reshape(-1).tolist()]
        self.compression = compression[()].decode()
        self.read = read

    def begin(self, run: Run) -> GetNext:
        names, check = iter(self.names), run.check
        rows: _Rows | None = None

        def take() -> Any:
            nonlocal rows
            while True:
                check()
                if rows is None:
                    name = next(names, None)
                    if name is None:
                        return END
                    rows = self.read(name, self.compression)
                row = None
                try:
                    row = rows.next()
                finally:  # also after an error, so that datasets that ignore errors continue with the next file
                    if row is None:
                        rows.close()
                        rows = None
                if row is not None:
                    return _string(row)

        return take


class _FixedLength:
    """Fixed-length records between a header and a footer."""

    def __init__(self, record: int, header: int, footer: int, name: str, compression: str) -> None:
        self._name, self._compression = name, compression
        self._sizes = record, header, footer
        self._reader = FixedLengthReader(name, compression, record, header, footer)
        if not compression:  # otherwise the size is unknown before the file is read
            try:
                self._check(file_system.stat(name).length)
            except OpError:
                self._reader.close()
                raise

    def _check(self, size: int) -> None:
        record, header, footer = self._sizes
        body = size - header - footer
        if body < 0 or body % record:
            raise (DataLossError if self._compression else InvalidArgumentError).of(
                f'Excluding the header ({header} bytes) and footer ({footer} bytes), input file "{self._name}" has body'
                f" length {body} bytes, which is not an exact multiple of the record length ({record} bytes)."
            )

    def next(self) -> bytes | None:
        row = self._reader.next()
        if row is None:
            self._check(self._reader.size)
        return row

    def close(self) -> None:
        self._reader.close()


def _fixed(record: int, header: int, footer: int) -> Callable[[str, str], _Rows]:
    if record < 1:
        raise invalid("`record_bytes` must be > 0")
    if header < 0:
        raise invalid("`header_bytes` must be >= 0")
    if footer < 0:
        raise invalid("`footer_bytes` must be >= 0")
    return functools.partial(_FixedLength, record, header, footer)


class _Writer:
    """The iterator that is writing a cache file; there is at most one at a time.

    Args:
        name: file name.

    Raises:
        AlreadyExistsError: another iterator is writing the file.
    """

    _running: ClassVar[weakref.WeakValueDictionary[str, _Writer]] = weakref.WeakValueDictionary()
    _lock = threading.Lock()

    def __init__(self, name: str) -> None:
        with self._lock:
            if name in self._running:
                raise AlreadyExistsError.of(
                    f"There appears to be a concurrent caching iterator running - '{name}' is not written yet.",
                    hint="let the other iterator finish, or initialize it again",
                )
            self._running[name] = self


class CachedInFile(Cached):
    """The same elements, computed once and cached in a file.

    Args:
        stage: the input stage.
        name: file name, to which ``.npz`` is added.
    """

    def __init__(self, stage: Stage, name: str) -> None:
        super().__init__(stage)
        self.name = f"{name}.npz"

    def begin(self, run: Run) -> GetNext:
        if not self.kept and os.path.exists(self.name):
            self.kept.append(_read_elements(self.name))
        get_next = super().begin(run)
        if self.kept:
            return get_next
        writer: _Writer | None = None
        has_ended = False

        def take() -> Any:
            nonlocal writer, has_ended
            if writer is None and not has_ended:
                writer = _Writer(self.name)
            element = get_next()
            if element is END and not has_ended:
                has_ended = True
                _write_elements(self.name, self.kept[0])
                writer = None
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
            arrays[f"{number}.{part}.sizes"] = np.array([len(string) for string in strings], np.int64)
            arrays[f"{number}.{part}.bytes"] = np.frombuffer(b"".join(strings), np.uint8)
    data = io.BytesIO()
    np.savez(data, **arrays)
    with with_op_errors(name):
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
def _cache(xp: ArrayModule, input_dataset: Any, filename: Any) -> Any:
    name = filename[()].decode()
    return CachedInFile(input_dataset, name) if name else Cached(input_dataset)


@compute("TextLineDataset")
def _text_lines(xp: ArrayModule, filenames: Any, compression_type: Any, buffer_size: Array) -> Any:
    return FileRows(filenames, compression_type, LineReader)


@compute("TFRecordDataset")
def _tf_records(xp: ArrayModule, filenames: Any, compression_type: Any, buffer_size: Array) -> Any:
    return FileRows(filenames, compression_type, RecordReader)


@compute("FixedLengthRecordDatasetV2")
def _fixed_records(
    xp: ArrayModule,
    filenames: Any,
    header_bytes: Array,
    record_bytes: Array,
    footer_bytes: Array,
    buffer_size: Array,
    compression_type: Any,
) -> Any:
    read = _fixed(int(record_bytes), int(header_bytes), int(footer_bytes))
    return FileRows(filenames, compression_type, read)
