"""``tf.queue``: queues.

Source: tensorflow/_api/v1/queue, release 1.15 (names).
"""

from gpuplace.tf1.input.queues import (
    FIFOQueue,
    PaddingFIFOQueue,
    PriorityQueue,
    QueueBase,
    RandomShuffleQueue,
)

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"]
