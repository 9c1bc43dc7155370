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
    """Readers of one class that read different files at a time.

    Args:
        reader_class: makes a reader.
        common_queue: where they put keys and values: a queue of two strings.
        num_readers: how many there are.
        reader_kwargs: arguments for ``reader_class``, a dict.

    Raises:
        TypeError: a queue of other types.
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
        """How many readers there are."""
        return len(self._readers)

    @property
    def common_queue(self) -> QueueBase:
        """The queue of what they read."""
        return self._common_queue

    def _fill(self, queue: Any) -> None:
        fills = [self._common_queue.enqueue(reader.read(queue)) for reader in self._readers]
        add_queue_runner(QueueRunner(self._common_queue, fills))

    def read(self, queue: Any, name: str | None = None) -> Any:
        """The next key and value, of any of the readers.

        Args:
            queue: of file names.
            name: the op's name.
        """
        self._fill(queue)
        return self._common_queue.dequeue(name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """Some keys and values, fewer where there are no more.

        Args:
            queue: of file names.
            num_records: how many at most.
            name: the op's name.
        """
        self._fill(queue)
        return self._common_queue.dequeue_up_to(num_records, name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records all readers have read.

        Args:
            name: the sum's name.
        """
        return add_n([reader.num_records_produced() for reader in self._readers], name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files all readers have read to the end.

        Args:
            name: the sum's name.
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
    """Reads records of many files at a time.

    Args:
        data_sources: paths or patterns, one or a list.
        reader_class: makes a reader.
        num_epochs: how often all is read; None: without end.
        num_readers: how many files are read at a time.
        reader_kwargs: arguments for ``reader_class``, a dict.
        shuffle: files and records in another order.
        dtypes: of key and value; None: two strings.
        capacity: the most records that wait.
        min_after_dequeue: how many wait at least where they are shuffled.
        seed: of the shuffling.
        scope: name scope; None: ``parallel_read``.

    Returns:
        Key and value, two scalar strings.

    Raises:
        ValueError: there are no such files.
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
    """Reads all records once, in order.

    Args:
        data_sources: paths or patterns, one or a list.
        reader_class: makes a reader.
        reader_kwargs: arguments for ``reader_class``, a dict.
        scope: name scope; None: ``single_pass_read``.

    Returns:
        Key and value, two scalar strings.

    Raises:
        ValueError: there are no such files.
    """
    data_files = get_data_files(data_sources)
    with name_scope(scope, "single_pass_read"):
        files = string_input_producer(data_files, num_epochs=1, shuffle=False, capacity=1, name="filenames")
        return reader_class(**(reader_kwargs or {})).read(files)


def get_data_files(data_sources: str | Sequence[str]) -> list[str]:
    """The files that paths and patterns mean.

    Args:
        data_sources: paths or patterns (with ``*``, ``?``, or ``[``), one or a list.

    Raises:
        ValueError: there are none.
    """
    found: list[str] = []
    if isinstance(data_sources, (list, tuple)):
        for source in data_sources:
            found += get_data_files(source)
    elif isinstance(data_sources, str) and any(mark in data_sources for mark in "*?["):
        found = glob(data_sources)
    else:
        found = [str(data_sources)]
    if not found:
        raise ValueError(f"No data files found in {data_sources}")
    return found
