"""Records of many files in random order, epoch after epoch.

TensorFlow reads the files with several threads, so its order is not reproducible even with a seed. Here one thread
reads them on demand, and a seed determines the order.

Source: tensorflow/python/ops/data_flow_ops.py, core/kernels/record_input_op.cc and record_yielder.cc, release 1.15.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from gpuplace.errors import NotFoundError
from gpuplace.files.file_system import glob
from gpuplace.files.records import read_records
from gpuplace.files.tfrecord import TFRecordCompressionType, TFRecordOptions
from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, compute
from gpuplace.ops.array.joining import split
from gpuplace.ops.array.reshaping import reshape
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.support import new
from gpuplace.shapes import UNKNOWN_SHAPE


class RecordInput:
    """A reader that yields records of TFRecord files in random order, each once per epoch, without end.

    Args:
        file_pattern: glob pattern of the file names.
        batch_size: number of records yielded at a time.
        buffer_size: number of records from which the next one is drawn.
        parallelism: number of threads in TensorFlow; stored in the graph.
        shift_ratio: fraction of the files to move to the end of an epoch, more in each one.
        seed: seed of the order.
        name: name of the op.
        batches: number of batches to split the records into; None: one tensor of all records.
        compression_type: a ``tf.python_io.TFRecordCompressionType``; None: no compression.
    """

    def __init__(
        self, file_pattern: str, batch_size: int = 1, buffer_size: int = 1, parallelism: int = 1,
        shift_ratio: float = 0, seed: int = 0, name: str | None = None, batches: int | None = None,
        compression_type: Any = None,
    ) -> None:  # fmt: skip
        self._pattern = file_pattern
        self._batches = batches
        self._count = batch_size if batches is None else batch_size * batches
        self._name = name
        self._attrs = {
            "file_buffer_size": buffer_size,
            "file_parallelism": parallelism,
            "file_shuffle_shift_ratio": shift_ratio,
            "file_random_seed": seed,
        }
        self._compression = TFRecordCompressionType.NONE if compression_type is None else compression_type

    def get_yield_op(self) -> Tensor | list[list[Tensor]]:
        """Return the next records: strings ``[batch_size]``, or a list of scalars for each batch.

        Raises:
            NotFoundError: at run time, no files match.
            DataLossError: at run time, a file is damaged.
        """
        records = new(
            "RecordInput", self._name, file_pattern=self._pattern, batch_size=self._count,
            compression_type=TFRecordOptions.get_compression_type_string(self._compression),
            **self._attrs,
        )  # fmt: skip
        if self._batches is None:
            return records
        with name_scope(self._name):
            batches: list[list[Tensor]] = [[] for _ in range(self._batches)]
            for index, record in enumerate(split(records, self._count, 0)):
                batches[index % self._batches].append(reshape(record, []))
            return batches


class _Yielder:
    """The remaining records of a kernel."""

    def __init__(self, pattern: str, kind: str, buffer_size: int, shift_ratio: float, seed: int) -> None:
        self._files = glob(pattern)
        if not self._files:
            raise NotFoundError.of(f"Found no files at {pattern}")
        self._kind, self._buffer_size, self._shift_ratio = kind, max(1, buffer_size), shift_ratio
        self._random = np.random.default_rng(seed or None)
        self._lock = threading.Lock()
        self._records = self._all()

    def next(self, count: int) -> list[bytes]:
        with self._lock:
            return [next(self._records) for _ in range(count)]

    def _all(self) -> Iterator[bytes]:
        epoch = 0
        while True:
            yielded = False
            for record in self._epoch(epoch):
                yielded = True
                yield record
            if not yielded:
                raise NotFoundError.of(f"Found no records in the {len(self._files)} files")
            epoch += 1

    def _epoch(self, number: int) -> Iterator[bytes]:
        order = self._random.permutation(len(self._files)).tolist()
        first = int(number * self._shift_ratio * len(order)) % len(order)
        waiting: list[bytes] = []
        for at in order[first:] + order[:first]:
            for record in read_records(self._files[at], self._kind):
                waiting.append(record)
                if len(waiting) == self._buffer_size:
                    yield self._drawn(waiting)
        while waiting:
            yield self._drawn(waiting)

    def _drawn(self, waiting: list[bytes]) -> bytes:
        """Return one of the records at random, and put the last one in its place."""
        at = int(self._random.integers(len(waiting)))
        waiting[at], waiting[-1] = waiting[-1], waiting[at]
        return waiting.pop()


@compute("RecordInput", own_state=True, reads_outside=True)
def _record_input(
    xp: Any, *, file_pattern: bytes, file_random_seed: int, file_shuffle_shift_ratio: float, file_buffer_size: int,
    batch_size: int, compression_type: bytes, ctx: KernelContext,
) -> Any:  # fmt: skip
    yielder: _Yielder = ctx.session.kernel_state(
        ctx.op.name,
        lambda: _Yielder(
            file_pattern.decode(),
            compression_type.decode(),
            file_buffer_size,
            file_shuffle_shift_ratio,
            file_random_seed,
        ),
    )
    records = np.empty(batch_size, object)
    records[:] = yielder.next(batch_size)
    return records


@shape_function("RecordInput")
def _record_input_shape(op: Any) -> Any:
    return (UNKNOWN_SHAPE,)


not_differentiable("RecordInput")
