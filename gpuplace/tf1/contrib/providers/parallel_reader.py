"""Several readers that fill one queue.

    file names  ->  reader 0 ..  ->  common queue  ->  key, value
                    reader n ..  ->

Source: tensorflow/contrib/slim/python/slim/data/parallel_reader.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.dtypes import float32, string
from gpuplace.files.file_system import glob
from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops import summaries
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.elementwise import add_n
from gpuplace.tf1.input.producers import string_input_producer
from gpuplace.tf1.input.queue_runner import QueueRunner, add_queue_runner
from gpuplace.tf1.input.queues import FIFOQueue, QueueBase, RandomShuffleQueue
from gpuplace.tf1.input.readers import ReaderBase

__all__ = ["ParallelReader", "get_data_files", "parallel_read", "single_pass_read"]


class ParallelReader(ReaderBase):
    """Several readers of one class that read different files in parallel.

    Args:
        reader_class: creates a reader.
        common_queue: the queue for keys and values, with two string components.
        num_readers: number of readers.
        reader_kwargs: arguments for ``reader_class``, a dict.

    Raises:
        TypeError: the queue has other dtypes.
    """

    def __init__(
        self,
        reader_class: Callable[..., ReaderBase],
        common_queue: QueueBase,
        num_readers: int = 4,
        reader_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if [dtype.base_dtype for dtype in common_queue.dtypes] != [string, string]:
            raise TypeError("common_queue.dtypes must be [tf.string, tf.string]")
        self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
        self._common_queue = common_queue

    @property
    def num_readers(self) -> int:
        """Number of readers."""
        return len(self._readers)

    @property
    def common_queue(self) -> QueueBase:
        """The queue for the records."""
        return self._common_queue

    def _fill(self, queue: Any) -> None:
        fills = [self._common_queue.enqueue(reader.read(queue)) for reader in self._readers]
        add_queue_runner(QueueRunner(self._common_queue, fills))

    def read(self, queue: Any, name: str | None = None) -> Any:
        """Return the next key and value from any of the readers.

        Args:
            queue: queue of file names.
            name: name of the op.
        """
        self._fill(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Return some keys and values, fewer at the end.

        Args:
            queue: queue of file names.
            num_records: maximum number of records.
            name: name of the op.
        """
        self._fill(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Return the number of records that all readers have read.

        Args:
            name: name of the sum.
        """
        return add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Return the number of files that all readers have read completely.

        Args:
            name: name of the sum.
        """
        return add_n([reader.num_work_units_completed() for reader in self._readers], name=name)


def parallel_read(
    data_sources: str | Sequence[str],
    reader_class: Callable[..., ReaderBase],
    num_epochs: int | None = None,
    num_readers: int = 4,
    reader_kwargs: dict[str, Any] | None = None,
    shuffle: bool = True,
    dtypes: Sequence[Any] | None = None,
    capacity: int = 256,
    min_after_dequeue: int = 128,
    seed: int | None = None,
    scope: str | None = None,
) -> Any:
    """Read records of several files in parallel.

    Args:
        data_sources: one or more paths or glob patterns.
        reader_class: creates a reader.
        num_epochs: number of passes over the data; None: unlimited.
        num_readers: number of files to read in parallel.
        reader_kwargs: arguments for ``reader_class``, a dict.
        shuffle: whether to shuffle files and records.
        dtypes: dtypes of key and value; None: two strings.
        capacity: maximum number of records in the queue.
        min_after_dequeue: minimum number of records in the queue when shuffling.
        seed: seed of the shuffle.
        scope: name scope; None: ``parallel_read``.

    Returns:
        Key and value, two scalar strings.

    Raises:
        ValueError: no files match.
    """
    data_files = get_data_files(data_sources)
    types = list(dtypes or (string, string))
    with name_scope(scope, "parallel_read"):
        files = string_input_producer(
            data_files, num_epochs=num_epochs, shuffle=shuffle, seed=seed, name="filenames"
        )
        common: QueueBase
        if shuffle:
            common = RandomShuffleQueue(
                capacity=capacity,
                min_after_dequeue=min_after_dequeue,
                dtypes=types,
                seed=seed,
                name="common_queue",
            )
        else:
            common = FIFOQueue(capacity=capacity, dtypes=types, name="common_queue")
        summaries.scalar(f"fraction_of_{capacity}_full", cast(common.size(), float32) * (1.0 / capacity))
        reader = ParallelReader(reader_class, common, num_readers=num_readers, reader_kwargs=reader_kwargs)
        return reader.read(files)


def single_pass_read(
    data_sources: str | Sequence[str],
    reader_class: Callable[..., ReaderBase],
    reader_kwargs: dict[str, Any] | None = None,
    scope: str | None = None,
) -> Any:
    """Read all records once, in order.

    Args:
        data_sources: one or more paths or glob patterns.
        reader_class: creates a reader.
        reader_kwargs: arguments for ``reader_class``, a dict.
        scope: name scope; None: ``single_pass_read``.

    Returns:
        Key and value, two scalar strings.

    Raises:
        ValueError: no files match.
    """
    data_files = get_data_files(data_sources)
    with name_scope(scope, "single_pass_read"):
        files = string_input_producer(data_files, num_epochs=1, shuffle=False, capacity=1, name="filenames")
        return reader_class(**(reader_kwargs or {})).read(files)


def get_data_files(data_sources: str | Sequence[str]) -> list[str]:
    """Return the files that match paths and patterns.

    Args:
        data_sources: one or more paths or patterns (with ``*``, ``?``, or ``[``).

    Raises:
        ValueError: no files match.
    """
    paths: list[str] = []
    if isinstance(data_sources, (list, tuple)):
        for source in data_sources:
            paths += get_data_files(source)
    elif isinstance(data_sources, str) and any(mark in data_sources for mark in "*?["):
        paths = glob(data_sources)
    else:
        paths = [str(data_sources)]
    if not paths:
        raise ValueError(f"No data files found in {data_sources}")
    return paths
