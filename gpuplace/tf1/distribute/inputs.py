"""The input of replicas: a dataset whose elements go to their devices in turns.

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
    """What the function that makes a worker's dataset is told."""

    num_input_pipelines: int = 1
    """How many workers there are."""
    input_pipeline_id: int = 0
    """Which worker it is."""
    num_replicas_in_sync: int = 1
    """How many replicas there are."""

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Examples of a batch that one replica takes.

        Args:
            global_batch_size: examples of a batch, of all replicas together.

        Raises:
            ValueError: they cannot be divided equally.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self.num_replicas_in_sync} "
            )
        return global_batch_size // self.num_replicas_in_sync


class DatasetIterator:
    """A place in a dataset whose elements go to the replicas of a strategy in turns.

    Args:
        dataset: the dataset.
        strategy: the strategy.
        parts: into how many parts a batch is cut before.

    Raises:
        ValueError: a batch cannot be cut into equal parts.
    """

    def __init__(self, dataset: Any, strategy: Any, parts: int) -> None:
        self._strategy = strategy
        self._devices = strategy.extended.worker_devices
        dataset = rebatched(dataset, parts) if parts > 1 else dataset
        self._iterator = MultiDeviceIterator(dataset, self._devices, source_device=_CPU)

    @property
    def initializer(self) -> Operation:
        """The operation that sets it to the beginning."""
        return self._iterator.initializer

    def initialize(self) -> Operation:
        """The operation that sets it to the beginning."""
        return self.initializer

    def get_next(self, name: str | None = None) -> Any:
        """The next element of each replica.

        Args:
            name: ignored.
        """
        return regrouped(self._devices, self._iterator.get_next())


class DistributedDataset:
    """A dataset whose elements go to the replicas of a strategy.

    Args:
        dataset: the dataset.
        strategy: the strategy.
        parts: into how many parts a batch is cut before.
    """

    def __init__(self, dataset: Any, strategy: Any, parts: int) -> None:
        self._given = dataset, strategy, parts

    def make_initializable_iterator(self) -> DatasetIterator:
        """An iterator that its initializer sets to the beginning."""
        return DatasetIterator(*self._given)

    def make_one_shot_iterator(self) -> DatasetIterator:
        """An iterator that the initializers of tables set to the beginning."""
        iterator = DatasetIterator(*self._given)
        iterator.initializer.graph.add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        return iterator
