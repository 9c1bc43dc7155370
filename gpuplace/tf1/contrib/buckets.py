"""Batches of elements that are alike: a queue for each kind, and one for the batches.

Elements of a kind wait until a batch of them is there, so that sequences are padded to lengths near their own::

                        bucket_queue_0 ── batch ──┐
    element, kind ──<   bucket_queue_1 ── batch ──┼── top_queue ── a batch, and its kind
                        bucket_queue_2 ── batch ──┘

Source: tensorflow/contrib/training/python/training/bucket_ops.py, release 1.15 (graphs, names, sentences).
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
from gpuplace.tf1.input.batching import element_shapes, keep_of, like, tensors_of
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
    """Batches of elements of one kind.

    Args:
        tensors: an element: a list or dict of tensors.
        which_bucket: its kind, an int32 scalar in [0, ``num_buckets``).
        batch_size: elements of a batch; a list: for each kind.
        num_buckets: how many kinds there are.
        num_threads: how many threads compute elements.
        capacity: the most batches that are kept.
        bucket_capacities: the most elements of each kind that are kept; None: ``capacity``.
        shapes: of an element; None: those of the tensors.
        dynamic_pad: whether elements of different sizes are padded with zeros.
        allow_smaller_final_batch: whether the last elements of a kind are a batch where they are too few.
        keep_input: whether the element is taken at all, a bool.
        shared_name: queues of the same one, in a session, are one queue.
        name: name of the scope.

    Returns:
        The kind of a batch, an int32 scalar, and the batch in the form of ``tensors``.

    Raises:
        ValueError: lists of another length than ``num_buckets``, no tensors, or shapes that are not known.
        OutOfRangeError: at run time, there are no more.
    """
    sizes = list(batch_size) if isinstance(batch_size, list | tuple) else [batch_size] * num_buckets
    if len(sizes) != num_buckets:
        raise ValueError("If batch_size is a list it must have num_buckets elements")
    capacities = [capacity] * num_buckets if bucket_capacities is None else list(bucket_capacities)
    if len(capacities) != num_buckets:
        raise ValueError(
            f"The list bucket_capacities ({capacities}) must have exactly num_buckets ({num_buckets}) elements."
        )
    given = tensors_of(tensors, "bucket()")
    with name_scope(name, "bucket", given):
        given = [convert_to_tensor(one) for one in given]
        keep = keep_of(keep_input, False)
        for number, size in enumerate(sizes):
            tensor = convert_to_tensor(size, int32, name="batch_size")
            known = constant_value(tensor)
            sizes[number] = tensor if known is None else int(known)
        types = [tensor.dtype.base_dtype for tensor in given]
        shapes = element_shapes([given], shapes, False)
        kind = convert_to_tensor(which_bucket, int32, name="which_bucket")
        make = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queues = [
            make(
                most,
                types,
                shapes,
                shared_name=None if shared_name is None else f"{shared_name}_{number}",
                name=f"bucket_queue_{number}",
            )
            for number, most in enumerate(capacities)
        ]
        is_known = isinstance(sizes[-1], int) and not isinstance(batch_size, list | tuple)
        rows = sizes[-1] if is_known and not allow_smaller_final_batch else None
        top = PaddingFIFOQueue(
            capacity,
            [int32, *types],
            [TensorShape([]), *(TensorShape([rows]).concatenate(as_shape(one)) for one in queues[0].shapes)],
            shared_name=shared_name,
            name="top_queue",
        )
        put = _if_kept(keep, lambda: _put(queues, kind, given))
        to_top = []
        for number, (queue, size) in enumerate(zip(queues, sizes, strict=True)):
            marked = constant(number)
            take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
            taken = take(size, name=f"read_bucket_{number}")
            parts = list(taken) if isinstance(taken, list | tuple) else [taken]
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
        found, *batch = top.dequeue(name="dequeue_top")
        return found, like(batch, tensors)


def _if_kept(keep: Tensor, put: Callable[[], Operation]) -> Operation:
    known = constant_value(keep)
    if known is not None:
        return put() if known else no_op()
    made: Operation = cond(keep, put, no_op)
    return made


def _put(queues: Sequence[Any], kind: Tensor, given: Sequence[Tensor]) -> Operation:
    """What puts an element into the queue of its kind."""

    def into(queue: Any) -> Callable[[], Operation]:
        return lambda: queue.enqueue(given)

    puts = [cond(equal(kind, number), into(queue), no_op) for number, queue in enumerate(queues)]
    return group(*puts, name="group_enqueues")


def bucket_by_sequence_length(
    input_length: TensorLike, tensors: Any, batch_size: Any, bucket_boundaries: Sequence[int], num_threads: int = 1,
    capacity: int = 32, bucket_capacities: Sequence[int] | None = None, shapes: Any = None,
    dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, keep_input: Any = True,
    shared_name: str | None = None, name: str | None = None,
) -> tuple[Tensor, Any]:  # fmt: skip
    """Batches of sequences of about the same length.

    Args:
        input_length: how long the element is, an int32 scalar.
        tensors: the element: a list or dict of tensors.
        batch_size: elements of a batch; a list: for each bucket.
        bucket_boundaries: where buckets begin, after a first one for all that is shorter; in rising order.
        num_threads: how many threads compute elements.
        capacity: the most batches that are kept.
        bucket_capacities: the most elements of each bucket that are kept; None: ``capacity``.
        shapes: of an element; None: those of the tensors.
        dynamic_pad: whether elements of different sizes are padded with zeros.
        allow_smaller_final_batch: whether the last elements of a bucket are a batch where they are too few.
        keep_input: whether the element is taken at all, a bool.
        shared_name: queues of the same one, in a session, are one queue.
        name: name of the scope.

    Returns:
        The lengths of a batch, int32 ``[batch_size]``, and the batch in the form of ``tensors``.

    Raises:
        TypeError: the boundaries are no list of integers.
        ValueError: they are none, or do not rise; or as for ``bucket``.
        OutOfRangeError: at run time, there are no more.
    """
    given = tensors_of(tensors, "bucket()")
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
    with name_scope(name, "bucket_by_sequence_length", [input_length, *given]):
        length = convert_to_tensor(input_length, int32, name="input_length")
        limits = np.iinfo(np.int32)
        is_there = logical_and(
            less_equal([limits.min, *bucket_boundaries], length),
            less(length, [*bucket_boundaries, limits.max]),
        )
        which = cast(reduce_min(where_v2(is_there)), int32)
        _, batch = bucket(
            [length, *given], which, batch_size, len(bucket_boundaries) + 1, num_threads, capacity,
            bucket_capacities, None if shapes is None else [TensorShape([]), *shapes], dynamic_pad,
            allow_smaller_final_batch, keep_input, shared_name,
        )  # fmt: skip
        found = batch[1:]
        if isinstance(tensors, Mapping):
            return batch[0], like(
                [found] if len(found) == 1 else found, tensors
            )  # as TensorFlow's: a list of one
        return batch[0], found
