"""``tf.contrib.slim``'s queues: prefetched batches, and queue runners for a block of a program.

Source: tensorflow/contrib/slim/python/slim/data/prefetch_queue.py and slim/queues.py, release 1.15.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from gpuplace.dtypes import float32
from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.ops import summaries
from gpuplace.ops.math.cast import cast
from gpuplace.tf1.input.coordinator import Coordinator
from gpuplace.tf1.input.queue_runner import QueueRunner, add_queue_runner
from gpuplace.tf1.input.queues import FIFOQueue, PaddingFIFOQueue, QueueBase

__all__ = ["NestedQueueRunnerError", "QueueRunners", "prefetch_queue"]

_running = threading.Lock()


class NestedQueueRunnerError(Exception):
    """Raised for ``QueueRunners`` inside ``QueueRunners``."""


def prefetch_queue(
    tensors: Any,
    capacity: int = 8,
    num_threads: int = 1,
    dynamic_pad: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Return a queue of batches, filled by queue runners of the graph.

    Args:
        tensors: a list of tensors, or a dict of them, whose elements are then dicts too.
        capacity: maximum number of batches in the queue.
        num_threads: number of threads that fill it.
        dynamic_pad: whether to accept tensors of partially known shapes, and pad them if several are taken at once.
        shared_name: queues that share a name, in a session, are one queue.
        name: name of the scope.

    Returns:
        A ``FIFOQueue`` or ``PaddingFIFOQueue``.
    """
    names = sorted(tensors) if isinstance(tensors, dict) else None
    parts = [tensors[name] for name in names] if names is not None else list(tensors)
    with name_scope(name, "prefetch_queue", parts):
        queue = (PaddingFIFOQueue if dynamic_pad else FIFOQueue)(
            capacity=capacity,
            dtypes=[part.dtype for part in parts],
            shapes=[part.get_shape() for part in parts],
            names=names,
            shared_name=shared_name,
        )
        enqueue = queue.enqueue(tensors)
        add_queue_runner(QueueRunner(queue, [enqueue] * num_threads))
        fullness: Any = cast(queue.size(), float32)
        summaries.scalar(f"fraction_of_{capacity}_full", fullness * (1.0 / capacity))
        return queue


@contextlib.contextmanager
def QueueRunners(session: Any) -> Iterator[None]:
    """Run the graph's queue runners during a ``with`` block.

    Args:
        session: the session that they run in.

    Raises:
        NestedQueueRunnerError: the block is inside another.
    """
    if not _running.acquire(blocking=False):
        raise NestedQueueRunnerError("QueueRunners cannot be nested")
    try:
        coordinator = Coordinator()
        threads: list[threading.Thread] = []
        for runner in get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
            threads += runner.create_threads(session, coord=coordinator, daemon=True, start=True)
        try:
            yield
        finally:
            coordinator.request_stop()
            try:
                coordinator.join(threads, stop_grace_period_secs=120)
            except RuntimeError:  # threads did not end: closing the session cancels their pending operations
                session.close()
    finally:
        _running.release()
