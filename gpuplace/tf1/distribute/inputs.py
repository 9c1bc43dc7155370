"""Input of replicas: a dataset whose elements go to the replicas' devices in turn.

Source: tensorflow/python/distribute/input_lib.py, release 1.15.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation
from gpuplace.tf1.data.multi_device_iterator import MultiDeviceIterator, rebatched
from gpuplace.tf1.distribute.values import regrouped

_CPU = "/replica:0/task:0/device:CPU:0"


class InputContext(NamedTuple):
    """Context of a function that creates a worker's dataset."""

    num_input_pipelines: int = 1
    """Number of workers."""
    input_pipeline_id: int = 0
    """Index of the worker."""
    num_replicas_in_sync: int = 1
    """Number of replicas."""

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Return the number of examples of a batch for one replica.

        Args:
            global_batch_size: number of examples of a batch, over all replicas.

        Raises:
            ValueError: the batch size is not divisible by the number of replicas.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self.num_replicas_in_sync} "
            )
        return global_batch_size // self.num_replicas_in_sync


class DatasetIterator:
    """An iterator of a dataset whose elements go to the replicas of a strategy in turn.

    Args:
        dataset: the dataset.
        strategy: the strategy.
        parts: the number of parts into which each batch is split first.

    Raises:
        ValueError: a batch cannot be split into equal parts.
    """

    def __init__(self, dataset: Any, strategy: Any, parts: int) -> None:
        self._strategy = strategy
        self._devices = strategy.extended.worker_devices
        dataset = rebatched(dataset, parts) if parts > 1 else dataset
        self._iterator = MultiDeviceIterator(dataset, self._devices, source_device=_CPU)

    @property
    def initializer(self) -> Operation:
        """The operation that resets the iterator to the first element."""
        return self._iterator.initializer

    def initialize(self) -> Operation:
        """Return the operation that resets the iterator to the first element."""
        return self.initializer

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element of each replica.

        Args:
            name: ignored.
        """
        return regrouped(self._devices, self._iterator.get_next())


class DistributedDataset:
    """A dataset whose elements go to the replicas of a strategy.

    Args:
        dataset: the dataset.
        strategy: the strategy.
        parts: the number of parts into which each batch is split first.
    """

    def __init__(self, dataset: Any, strategy: Any, parts: int) -> None:
        self._given = dataset, strategy, parts

    def make_initializable_iterator(self) -> DatasetIterator:
        """Return an iterator that has to be initialized."""
        return DatasetIterator(*self._given)

    def make_one_shot_iterator(self) -> DatasetIterator:
        """Return an iterator that table initializers reset."""
        iterator = DatasetIterator(*self._given)
        iterator.initializer.graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        return iterator
