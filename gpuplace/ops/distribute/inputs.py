"""The input of replicas: a dataset whose elements go to their devices in turns.

Source: tensorflow/python/distribute/input_lib.py, release 1.15.
"""

from __future__ import annotations

from typing import NamedTuple


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
