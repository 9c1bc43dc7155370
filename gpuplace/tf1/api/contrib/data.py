"""``tf.contrib.data``: ``tf.data.experimental`` under its older name.

Source: tensorflow/contrib/data/__init__.py, release 1.15 (names).
"""

import sys as _sys
from collections.abc import Callable
from typing import Any

from gpuplace.api import missing as _missing
from gpuplace.tf1.data.experimental import (
    AUTOTUNE,
    Counter,
    RandomDataset,
    Reducer,
    bucket_by_sequence_length,
    choose_from_datasets,
    enumerate_dataset,
    get_single_element,
    group_by_reducer,
    group_by_window,
    ignore_errors,
    map_and_batch,
    parallel_interleave,
    scan,
    shuffle_and_repeat,
    unbatch,
    unique,
)
from gpuplace.tf1.data.prefetching import copy_to_device, prefetch_to_device


def batch_and_drop_remainder(batch_size: Any) -> Callable[[Any], Any]:
    """Return a batching function for ``Dataset.apply`` that drops a smaller last batch.

    Args:
        batch_size: number of elements in a batch, an int64 scalar.
    """
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Callable[[Any], Any]:
    """Return a padded batching function for ``Dataset.apply`` that drops a smaller last batch.

    Args:
        batch_size: number of elements in a batch, an int64 scalar.
        padded_shapes: as for ``Dataset.padded_batch``.
        padding_values: as for ``Dataset.padded_batch``.
    """
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )


__all__ = [
    "AUTOTUNE", "Counter", "RandomDataset", "Reducer", "batch_and_drop_remainder", "bucket_by_sequence_length",
    "choose_from_datasets", "copy_to_device", "enumerate_dataset", "get_single_element", "group_by_reducer",
    "group_by_window", "ignore_errors", "map_and_batch", "padded_batch_and_drop_remainder", "parallel_interleave",
    "prefetch_to_device", "scan", "shuffle_and_repeat", "unbatch", "unique",
]  # fmt: skip

_missing.advise("contrib.data", _sys.modules[__name__])
