"""Readers: ops that take file names from a queue and return the records of the files one by one.

A reader returns pairs of a key (the file name and the position of the record) and the record.

Source: tensorflow/python/ops/io_ops.py and core/kernels/reader_base.cc, text_line_reader_op.cc, tf_record_reader_op.cc,
fixed_length_record_reader_op.cc, whole_file_read_ops.cc, identity_reader_op.cc, release 1.15.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError, OpError, OutOfRangeError, UnimplementedError
from gpuplace.files import file_system, records
from gpuplace.files.checkpoints.table import read_varint, varint
from gpuplace.files.tfrecord import TFRecordOptions
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.op_sets import READER_MAKERS
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.cancellation import Cancellation
from gpuplace.kernels.compute import KernelContext, binder, compute
from gpuplace.kernels.resources import ResourceHandle
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import no_outputs, scalar_shape
from gpuplace.shapes import SCALAR_SHAPE, TensorShape
from gpuplace.tf1.input import queue_resources
from gpuplace.tf1.input.queue_kernels import own_resource, resource_of
from gpuplace.tf1.input.queues import QueueBase
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = [
    "FixedLengthRecordReader", "IdentityReader", "ReaderBase", "TFRecordReader", "TextLineReader",
    "WholeFileReader",
]  # fmt: skip

_TYPE_NAME = "N10tensorflow15ReaderInterfaceE"

Record = tuple[bytes, bytes]
"""Key and value."""

_NAME_FIELD = 8 * 4 + 2
"""Key of the field of a ``ReaderBaseState`` that holds the file name."""


class _OpenFile:
    """A file that is being read."""

    is_done = False
    """Whether no record is left."""

    def next(self) -> Record | None:
        """Return the next record; None after the last one."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the file."""


class _Reader:
    """State of a reader op: the current file, and counts of what was read.

    Args:
        name: name of the op.
        open_file: opens a file.
        keeps_state: whether its state can be saved: it is between files after every record.
    """

    def __init__(self, name: str, open_file: Callable[[str], _OpenFile], keeps_state: bool) -> None:
        self.name = name
        self._open = open_file
        self._keeps_state = keeps_state
        self._lock = threading.Lock()
        self._work: _OpenFile | None = None
        self._name_of_work = b""
        self.produced = 0
        """Number of records returned."""
        self.finished = 0
        """Number of files read completely."""

    def read(self, queue: queue_resources.Queue, count: int, cancellation: Cancellation) -> list[Record]:
        """Return records of one file: at least one, at most ``count``.

        Raises:
            OutOfRangeError: the queue is closed and everything has been read.
        """
        with self._lock:
            records: list[Record] = []
            while len(records) < count:
                if self._work is None:
                    if records:
                        break
                    self._work = self._next_work(queue, cancellation)
                record = self._work.next()
                if record is None:
                    self._end_work()
                else:
                    records.append(record)
                    self.produced += 1
                    if self._work.is_done:
                        self._end_work()
            return records

    def _next_work(self, queue: queue_resources.Queue, cancellation: Cancellation) -> _OpenFile:
        self._name_of_work = b""
        (name,) = queue.dequeue(cancellation)
        if name.ndim or name.dtype != object:
            raise InvalidArgumentError.of(
                "The queue of a reader must contain single strings, the names of files"
            )
        self._name_of_work = name.item()
        return self._open(os.fsdecode(name.item()))

    def _end_work(self) -> None:
        work, self._work = self._work, None
        if work is not None:
            work.close()
            self.finished += 1

    def reset(self) -> None:
        """Start over."""
        with self._lock:
            work, self._work = self._work, None
            if work is not None:
                work.close()
            self.produced = self.finished = 0
            self._name_of_work = b""

    def state(self) -> bytes:
        """Return the reader's state, a ``ReaderBaseState``; UnimplementedError for readers that cannot save it."""
        if not self._keeps_state:
            raise UnimplementedError.of("Reader SerializeState")
        with self._lock:
            counts = (self.finished, self.finished, self.produced)
            written = [varint(8 * field) + varint(count) for field, count in enumerate(counts, 1) if count]
            if self._name_of_work:
                written.append(varint(_NAME_FIELD) + varint(len(self._name_of_work)) + self._name_of_work)
            return b"".join(written)

    def restore(self, state: bytes) -> None:
        """Restore a state; on failure start over.

        Raises:
            UnimplementedError: this type of reader has no state to save.
            InvalidArgumentError: it is not a state, or a state within a file.
        """
        try:
            self._restore(state)
        except OpError:
            self.reset()
            raise

    def _restore(self, state: bytes) -> None:
        if not self._keeps_state:
            raise UnimplementedError.of("Reader RestoreState")
        fields: dict[int, Any] = {}
        try:
            at = 0
            while at < len(state):
                key, at = read_varint(state, at)
                value, at = read_varint(state, at)
                if key == _NAME_FIELD:
                    fields[key], at = state[at : at + value], at + value
                else:
                    fields[key] = value
        except (IndexError, ValueError, OpError):
            at = -1
        if at != len(state) or not fields.keys() <= {8, 16, 24, _NAME_FIELD}:
            raise InvalidArgumentError.of(f"Could not parse state for {self.name}: {state!r}")
        if fields.get(8, 0) != fields.get(16, 0):
            raise InvalidArgumentError.of(
                f"Inconsistent work started vs. finished when restoring in {self.name}"
            )
        with self._lock:
            self.finished, self.produced = fields.get(16, 0), fields.get(24, 0)
            self._name_of_work = fields.get(_NAME_FIELD, b"")


class _Lines(_OpenFile):
    def __init__(self, path: str, skipped: int) -> None:
        self._path = path
        self._reader = records.LineReader(path)
        self._line = 0
        for _ in range(skipped):
            self._reader.next()
            self._line += 1

    def next(self) -> Record | None:
        text = self._reader.next()
        if text is None:
            return None
        self._line += 1
        return os.fsencode(f"{self._path}:{self._line}"), text

    def close(self) -> None:
        self._reader.close()


class _Records(_OpenFile):
    def __init__(self, path: str, kind: str) -> None:
        self._path = path
        self._reader = records.RecordReader(path, kind)

    def next(self) -> Record | None:
        key = os.fsencode(f"{self._path}:{self._reader.offset}")
        record = self._reader.next()
        return None if record is None else (key, record)

    def close(self) -> None:
        self._reader.close()


class _Fixed(_OpenFile):
    def __init__(self, path: str, header: int, size: int, footer: int, hop: int, kind: str) -> None:
        self._path = path
        self._reader = records.FixedLengthReader(path, kind, size, header, footer, hop)
        self._number = 0
        if not self._reader.has_header():
            self._reader.close()
            raise OutOfRangeError.of("reached end of file", facts={"file": path, "header": f"{header} bytes"})

    def next(self) -> Record | None:
        record = self._reader.next()
        if record is None:
            return None
        key = os.fsencode(f"{self._path}:{self._number}")
        self._number += 1
        return key, record

    def close(self) -> None:
        self._reader.close()


class _WholeFile(_OpenFile):
    """A whole file, or its name, as one record."""

    def __init__(self, path: str, read: Callable[[str], bytes]) -> None:
        self._left = [path]
        self._read = read

    def next(self) -> Record | None:
        if not self._left:
            return None
        path = self._left.pop()
        self.is_done = True
        return os.fsencode(path), self._read(path)


def _opener(op: Operation, attrs: Mapping[str, Any]) -> Callable[[str], _OpenFile]:
    """Return the function that opens a file, for each type of reader."""
    if op.type == "TextLineReaderV2":
        return lambda path: _Lines(path, attrs["skip_header_lines"])
    if op.type == "TFRecordReaderV2":
        return lambda path: _Records(path, attrs["compression_type"].decode())
    if op.type == "FixedLengthRecordReaderV2":
        sizes = {name: attrs[f"{name}_bytes"] for name in ("header", "record", "footer", "hop")}
        for name, size in sizes.items():
            if size < (name == "record"):
                condition = "positive" if name == "record" else ">= 0"
                raise InvalidArgumentError.of(f"{name}_bytes must be {condition} but is {size}")
        kind = attrs["encoding"].decode()
        return lambda path: _Fixed(
            path, sizes["header"], sizes["record"], sizes["footer"], sizes["hop"], kind
        )
    read = file_system.read_bytes if op.type == "WholeFileReaderV2" else os.fsencode
    return lambda path: _WholeFile(path, read)


@binder(*sorted(READER_MAKERS))
def _reader(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[[], ResourceHandle]:
    def get() -> ResourceHandle:
        def make(name: str) -> _Reader:
            return _Reader(op.name, _opener(op, attrs), op.type in ("WholeFileReaderV2", "IdentityReaderV2"))

        reader, container, name = own_resource(ctx, attrs, make)
        return ResourceHandle(ctx.device, container, name, _TYPE_NAME, reader)

    return get


def _reader_of(handle: Any) -> _Reader:
    reader: _Reader = resource_of(handle, _Reader, _TYPE_NAME)
    return reader


def _texts(values: list[bytes]) -> Any:
    result = np.empty(len(values), object)
    result[:] = values
    return result


@compute("ReaderReadV2", waits=True)
def _read(xp: ArrayModule, reader_handle: Array, queue_handle: Array, *, ctx: KernelContext) -> Any:
    queue = resource_of(queue_handle, queue_resources.Queue, queue_resources.TYPE_NAME)
    ((key, value),) = _reader_of(reader_handle).read(queue, 1, ctx.session.cancellation)
    return np.array(key, object), np.array(value, object)


@compute("ReaderReadUpToV2", waits=True)
def _read_up_to(
    xp: ArrayModule, reader_handle: Array, queue_handle: Array, num_records: Array, *, ctx: KernelContext
) -> Any:
    queue = resource_of(queue_handle, queue_resources.Queue, queue_resources.TYPE_NAME)
    count = int(num_records)
    if count <= 0:
        raise InvalidArgumentError.of(f"num_records must be positive, but is {count}")
    records = _reader_of(reader_handle).read(queue, count, ctx.session.cancellation)
    return _texts([key for key, _ in records]), _texts([value for _, value in records])


@compute("ReaderNumRecordsProducedV2")
def _produced(xp: ArrayModule, reader_handle: Array) -> Array:
    return np.asarray(_reader_of(reader_handle).produced, np.int64)


@compute("ReaderNumWorkUnitsCompletedV2")
def _finished(xp: ArrayModule, reader_handle: Array) -> Array:
    return np.asarray(_reader_of(reader_handle).finished, np.int64)


@compute("ReaderSerializeStateV2")
def _state(xp: ArrayModule, reader_handle: Array) -> Array:
    return np.array(_reader_of(reader_handle).state(), object)


@compute("ReaderRestoreStateV2")
def _restore(xp: ArrayModule, reader_handle: Array, state: Array) -> tuple[()]:
    _reader_of(reader_handle).restore(state.item())
    return ()


@compute("ReaderResetV2")
def _reset(xp: ArrayModule, reader_handle: Array) -> tuple[()]:
    _reader_of(reader_handle).reset()
    return ()


shape_function(
    *sorted(READER_MAKERS),
    "ReaderNumRecordsProducedV2",
    "ReaderNumWorkUnitsCompletedV2",
    "ReaderSerializeStateV2",
)(scalar_shape)


@shape_function("ReaderReadV2")
def _pair(op: Operation) -> Any:
    return SCALAR_SHAPE, SCALAR_SHAPE


@shape_function("ReaderReadUpToV2")
def _pairs(op: Operation) -> Any:
    return TensorShape.of((None,)), TensorShape.of((None,))


shape_function("ReaderRestoreStateV2", "ReaderResetV2")(no_outputs)


not_differentiable(
    *sorted(READER_MAKERS), "ReaderReadV2", "ReaderReadUpToV2", "ReaderNumRecordsProducedV2",
    "ReaderNumWorkUnitsCompletedV2", "ReaderSerializeStateV2", "ReaderRestoreStateV2", "ReaderResetV2",
)  # fmt: skip


class ReaderBase:
    """A reader, identified by its handle: takes file names from a queue, and returns the records of the files.

    Args:
        reader_ref: the handle, a tensor.
        supports_serialize: whether its state can be saved.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The handle."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether its state can be saved."""
        return self._supports_serialize

    def _apply(self, op_type: str, name: str | None, **arguments: Any) -> Operation:
        return apply_op(op_type, name, reader_handle=self._reader_ref, **arguments)

    def read(self, queue: QueueBase | Tensor, name: str | None = None) -> Any:
        """Return the next record, from the current file or the next one in the queue.

        Args:
            queue: a queue of file names, or its handle.
            name: name of the op.

        Returns:
            ``(key, value)``, string scalars.

        Raises:
            OutOfRangeError: at run time, the queue is closed and everything has been read.
            NotFoundError: at run time, a file does not exist.
        """
        handle = queue.queue_ref if isinstance(queue, QueueBase) else queue
        return tuple(self._apply("ReaderReadV2", name, queue_handle=handle).outputs)

    def read_up_to(self, queue: QueueBase | Tensor, num_records: TensorLike, name: str | None = None) -> Any:
        """Return the next records, at least one.

        Args:
            queue: as for ``read``.
            num_records: maximum number of records, an int64 scalar.
            name: name of the op.

        Returns:
            ``(keys, values)``, string vectors.

        Raises:
            OutOfRangeError: as for ``read``.
        """
        handle = queue.queue_ref if isinstance(queue, QueueBase) else queue
        op = self._apply("ReaderReadUpToV2", name, queue_handle=handle, num_records=num_records)
        return tuple(op.outputs)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Return the number of records read.

        Args:
            name: name of the op.

        Returns:
            An int64 scalar.
        """
        return self._apply("ReaderNumRecordsProducedV2", name).outputs[0]

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Return the number of files read completely.

        Args:
            name: name of the op.

        Returns:
            An int64 scalar.
        """
        return self._apply("ReaderNumWorkUnitsCompletedV2", name).outputs[0]

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Return the reader's state.

        Args:
            name: name of the op.

        Returns:
            A string scalar for ``restore_state``.

        Raises:
            UnimplementedError: at run time, this reader cannot save it.
        """
        return self._apply("ReaderSerializeStateV2", name).outputs[0]

    def restore_state(self, state: TensorLike, name: str | None = None) -> Operation:
        """Return an operation that restores a state.

        Args:
            state: a result of ``serialize_state``, a string scalar.
            name: name of the op.

        Raises:
            UnimplementedError: at run time, this reader cannot restore it.
        """
        return self._apply("ReaderRestoreStateV2", name, state=state)

    def reset(self, name: str | None = None) -> Operation:
        """Return an operation that makes the reader start over.

        Args:
            name: name of the op.
        """
        return self._apply("ReaderResetV2", name)


class WholeFileReader(ReaderBase):
    """Reader of whole files: each file is one record, with its name as the key.

    Args:
        name: name of the op.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(apply_op("WholeFileReaderV2", name).outputs[0], supports_serialize=True)


class TextLineReader(ReaderBase):
    """Reader of text files: each line is a record, without the line ending.

    Args:
        skip_header_lines: number of lines to skip at the start of each file.
        name: name of the op.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(apply_op("TextLineReaderV2", name, skip_header_lines=skip_header_lines).outputs[0])


class FixedLengthRecordReader(ReaderBase):
    """Reader of files with fixed-length records.

    Args:
        record_bytes: size of a record.
        header_bytes: number of bytes to skip at the start of each file; None: 0.
        footer_bytes: number of bytes to skip at its end; None: 0.
        hop_bytes: bytes from the start of a record to the start of the next; None: its size.
        name: name of the op.
        encoding: compression of the files, ``"ZLIB"`` or ``"GZIP"``, or None.
    """

    def __init__(
        self, record_bytes: int, header_bytes: int | None = None, footer_bytes: int | None = None,
        hop_bytes: int | None = None, name: str | None = None, encoding: str | None = None,
    ) -> None:  # fmt: skip
        handle = apply_op(
            "FixedLengthRecordReaderV2", name, record_bytes=record_bytes, header_bytes=header_bytes,
            footer_bytes=footer_bytes, hop_bytes=hop_bytes, encoding=encoding,
        ).outputs[0]  # fmt: skip
        super().__init__(handle)


class TFRecordReader(ReaderBase):
    """Reader of TFRecord files.

    Args:
        name: name of the op.
        options: ``TFRecordOptions`` with the compression; None: no compression.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        kind = TFRecordOptions.get_compression_type_string(options)
        super().__init__(apply_op("TFRecordReaderV2", name, compression_type=kind).outputs[0])


class IdentityReader(ReaderBase):
    """Reader that returns the elements of the queue, as key and as value.

    Args:
        name: name of the op.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(apply_op("IdentityReaderV2", name).outputs[0], supports_serialize=True)
