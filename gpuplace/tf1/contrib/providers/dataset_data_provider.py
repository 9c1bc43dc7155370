"""The items of a data set's examples, read from its files in parallel.

Source: tensorflow/contrib/slim/python/slim/data/dataset_data_provider.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace.tf1.contrib.providers.data_provider import DataProvider
from gpuplace.tf1.contrib.providers.dataset import Dataset
from gpuplace.tf1.contrib.providers.parallel_reader import parallel_read

__all__ = ["DatasetDataProvider"]


class DatasetDataProvider(DataProvider):
    """A provider that reads the examples of a data set and decodes them.

    Args:
        dataset: the data set.
        num_readers: number of files to read in parallel.
        reader_kwargs: arguments for the readers, a dict.
        shuffle: whether to shuffle files and records.
        num_epochs: number of passes over the data; None: unlimited.
        common_queue_capacity: maximum number of records in the queue.
        common_queue_min: minimum number of records in the queue, for a good shuffle.
        record_key: the item for the record's key.
        seed: seed of the shuffle.
        scope: name scope of the readers; None: ``parallel_read``.

    Raises:
        ValueError: the data set has an item named ``record_key``.
    """

    def __init__(
        self,
        dataset: Dataset,
        num_readers: int = 1,
        reader_kwargs: dict[str, Any] | None = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        key, data = parallel_read(
            dataset.data_sources,
            reader_class=dataset.reader,
            num_epochs=num_epochs,
            num_readers=num_readers,
            reader_kwargs=reader_kwargs,
            shuffle=shuffle,
            capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min,
            seed=seed,
            scope=scope,
        )
        names = dataset.decoder.list_items()
        items = dict(zip(names, dataset.decoder.decode(data, names), strict=True))
        if record_key in items:
            raise ValueError(
                f"The item name used for `record_key` cannot also be used for a dataset item: {record_key}"
            )
        super().__init__({**items, record_key: key}, dataset.num_samples)
