"""Batches of similar elements: a queue for each bucket, and one for the batches.

Elements of a bucket wait until they fill a batch, so that sequences are padded to similar lengths::

                          bucket_queue_0 ── batch ──┐
    element, bucket ──<   bucket_queue_1 ── batch ──┼── top_queue ── a batch, and its bucket
                          bucket_queue_2 ── batch ──┘

Source: tensorflow/contrib/training/python/training/bucket_ops.py, release 1.15 (graphs, names, messages).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import float32, int32
from gpuplace.errors import CancelledError, OutOfRangeError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import constant
from gpuplace.ops.array.gather import where_v2
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.flow.control import group, no_op
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.comparison import equal, less, less_equal, logical_and
from gpuplace.ops.math.reduction import reduce_min
from gpuplace.ops.summaries import scalar
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.tf1.input.batching import element_shapes, in_structure_of, keep_input_tensor, tensor_list
from gpuplace.tf1.input.queue_runner import QueueRunner, add_queue_runner
from gpuplace.tf1.input.queues import FIFOQueue, PaddingFIFOQueue
from gpuplace.typing import TensorLike

__all__ = ["bucket", "bucket_by_sequence_length"]


def bucket(
    tensors: Any, which_bucket: TensorLike, batch_size: Any, num_buckets: int, num_threads: int = 1,
    capacity: int = 32, bucket_capacities: Sequence[int] | None = None, shapes: Any = None,
    dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, keep_input: Any = True,
    shared_name: str | None = None, name: str | None = None,
) -> tuple[Tensor, Any]:  # fmt: skip
    """Return batches of elements of the same bucket.

    Args:
        tensors: an element: a list or dict of tensors.
        which_bucket: its bucket, an int32 scalar in [0, ``num_buckets``).
        batch_size: number of elements in a batch; a list: for each bucket.
        num_buckets: number of buckets.
        num_threads: number of threads that compute elements.
        capacity: maximum number of batches in the queue.
        bucket_capacities: maximum number of elements in each bucket; None: ``capacity``.
        shapes: shapes of an element; None: those of the tensors.
        dynamic_pad: whether to pad elements of different sizes with zeros.
        allow_smaller_final_batch: whether to return a last batch of a bucket with fewer elements.
        keep_input: whether to use the element at all, a bool.
        shared_name: queues that share a name, in a session, are one queue.
        name: name of the scope.

    Returns:
        The bucket of a batch, an int32 scalar, and the batch in the structure of ``tensors``.

    Raises:
        ValueError: a list does not have ``num_buckets`` items, or there are no tensors, or shapes are unknown.
        OutOfRangeError: at run time, there are no more elements.
    """
    sizes = list(batch_size) if isinstance(batch_size, list | tuple) else [batch_size] * num_buckets
    if len(sizes) != num_buckets:
        raise ValueError("If batch_size is a list it must have num_buckets elements")
    capacities = [capacity] * num_buckets if bucket_capacities is None else list(bucket_capacities)
    if len(capacities) != num_buckets:
        raise ValueError(
            f"The list bucket_capacities ({capacities}) must have exactly num_buckets ({num_buckets}) elements."
        )
    element = tensor_list(tensors, "bucket()")
    with name_scope(name, "bucket", element):
        element = [convert_to_tensor(component) for component in element]
        keep = keep_input_tensor(keep_input, False)
        for number, size in enumerate(sizes):
            tensor = convert_to_tensor(size, int32, name="batch_size")
            known = constant_value(tensor)
            sizes[number] = tensor if known is None else int(known)
        types = [tensor.dtype.base_dtype for tensor in element]
        shapes = element_shapes([element], shapes, False)
        kind = convert_to_tensor(which_bucket, int32, name="which_bucket")
        make = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues = [
            make(
                bucket_capacity,
                types,
                shapes,
                shared_name=None if shared_name is None else f"{shared_name}_{number}",
                name=f"bucket_queue_{number}",
            )
            for number, bucket_capacity in enumerate(capacities)
        ]
        is_known = isinstance(sizes[-1], int) and not isinstance(batch_size, list | tuple)
        rows = sizes[-1] if is_known and not allow_smaller_final_batch else None
        top = PaddingFIFOQueue(
            capacity,
            [int32, *types],
            [TensorShape([]), *(TensorShape([rows]).concatenate(as_shape(x)) for x in queues[0].shapes)],
            shared_name=shared_name,
            name="top_queue",
        )
        put = _if_kept(keep, lambda: _put(queues, kind, element))
        to_top = []
        for number, (queue, size) in enumerate(zip(queues, sizes, strict=True)):
            marked = constant(number)
            take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
            components = take(size, name=f"read_bucket_{number}")
            parts = list(components) if isinstance(components, list | tuple) else [components]
            to_top.append(top.enqueue([marked, *parts], name=f"enqueue_from_bucket_{number}"))
        closing = (OutOfRangeError, CancelledError)
        close, cancel = top.close(), top.close(cancel_pending_enqueues=True)
        add_queue_runner(QueueRunner(queues[0], to_top, close, cancel, closing))
        close = group(*[queue.close() for queue in queues])
        cancel = group(*[queue.close(cancel_pending_enqueues=True) for queue in queues])
        add_queue_runner(QueueRunner(top, [put] * num_threads, close, cancel, closing))
        for queue in queues:
            scalar(f"bucket/{queue.name}/size", cast(top.size(), float32))
        part = cast(top.size(), float32) * (1.0 / capacity)
        scalar(f"bucket/{top.name}/fraction_of_{capacity}_full", part)
        bucket_index, *batch = top.dequeue(name="dequeue_top")
        return bucket_index, in_structure_of(batch, tensors)


def _if_kept(keep: Tensor, put: Callable[[], Operation]) -> Operation:
    static_keep = constant_value(keep)
    if static_keep is not None:
        return put() if static_keep else no_op()
    enqueue: Operation = cond(keep, put, no_op)
    return enqueue


def _put(queues: Sequence[Any], kind: Tensor, element: Sequence[Tensor]) -> Operation:
    """Return an operation that puts an element into the queue of its bucket."""

    def into(queue: Any) -> Callable[[], Operation]:
        return lambda: queue.enqueue(element)

    puts = [cond(equal(kind, number), into(queue), no_op) for number, queue in enumerate(queues)]
    return group(*puts, name="group_enqueues")


def bucket_by_sequence_length(
    input_length: TensorLike, tensors: Any, batch_size: Any, bucket_boundaries: Sequence[int], num_threads: int = 1,
    capacity: int = 32, bucket_capacities: Sequence[int] | None = None, shapes: Any = None,
    dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, keep_input: Any = True,
    shared_name: str | None = None, name: str | None = None,
) -> tuple[Tensor, Any]:  # fmt: skip
    """Return batches of sequences of similar length.

    Args:
        input_length: length of the element, an int32 scalar.
        tensors: the element: a list or dict of tensors.
        batch_size: number of elements in a batch; a list: for each bucket.
        bucket_boundaries: lower bounds of the buckets, ascending; a first bucket holds all shorter elements.
        num_threads: number of threads that compute elements.
        capacity: maximum number of batches in the queue.
        bucket_capacities: maximum number of elements in each bucket; None: ``capacity``.
        shapes: shapes of an element; None: those of the tensors.
        dynamic_pad: whether to pad elements of different sizes with zeros.
        allow_smaller_final_batch: whether to return a last batch of a bucket with fewer elements.
        keep_input: whether to use the element at all, a bool.
        shared_name: queues that share a name, in a session, are one queue.
        name: name of the scope.

    Returns:
        The lengths in a batch, int32 ``[batch_size]``, and the batch in the structure of ``tensors``.

    Raises:
        TypeError: the boundaries are not a list of integers.
        ValueError: there are no boundaries, or they are not ascending; or as for ``bucket``.
        OutOfRangeError: at run time, there are no more elements.
    """
    element = tensor_list(tensors, "bucket()")
    if not isinstance(bucket_boundaries, list | tuple):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {bucket_boundaries}")
    if not bucket_boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for one, other in zip(bucket_boundaries[:-1], bucket_boundaries[1:], strict=True):
        if not isinstance(one, int) or not isinstance(other, int):
            raise TypeError(f"bucket boundaries must be integers, but saw: {one} and {other}")
        if one >= other:
            raise ValueError(
                f"Buckets must contain sequential increasing lengths, but saw: {one} before {other}"
            )
    with name_scope(name, "bucket_by_sequence_length", [input_length, *element]):
        length = convert_to_tensor(input_length, int32, name="input_length")
        limits = np.iinfo(np.int32)
        is_there = logical_and(
            less_equal([limits.min, *bucket_boundaries], length),
            less(length, [*bucket_boundaries, limits.max]),
        )
        which = cast(reduce_min(where_v2(is_there)), int32)
        _, batch = bucket(
            [length, *element], which, batch_size, len(bucket_boundaries) + 1, num_threads, capacity,
            bucket_capacities, None if shapes is None else [TensorShape([]), *shapes], dynamic_pad,
            allow_smaller_final_batch, keep_input, shared_name,
        )  # fmt: skip
        components = batch[1:]
        if isinstance(tensors, Mapping):
            return batch[0], in_structure_of(
                [components] if len(components) == 1 else components, tensors
            )  # a list of one, as in TensorFlow
        return batch[0], components
