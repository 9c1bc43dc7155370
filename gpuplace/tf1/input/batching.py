"""``tf.train.batch`` and the like: threads put elements into a queue, which are taken out in batches.

Source: tensorflow/python/training/input.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuplace.dtypes import float32, int32, int64
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import constant, ones
from gpuplace.ops.array.gather import gather
from gpuplace.ops.array.rearranging import dynamic_partition
from gpuplace.ops.array.reshaping import expand_dims, squeeze
from gpuplace.ops.flow.conditionals import cond
from gpuplace.ops.flow.control import no_op, with_dependencies
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.elementwise import maximum
from gpuplace.ops.sparse.sparse_tensor import SparseTensor, parts_of
from gpuplace.tf1.input.producers import fullness_summary
from gpuplace.tf1.input.queue_runner import QueueRunner, add_queue_runner
from gpuplace.tf1.input.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from gpuplace.tf1.sparse.sparse_ops import sparse_retain
from gpuplace.tf1.sparse.tensors_map import (
    add_many_sparse_to_tensors_map,
    add_sparse_to_tensors_map,
    shared_name_of,
    take_many_sparse_from_tensors_map,
)
from gpuplace.typing import TensorLike

__all__ = [
    "batch", "batch_join", "maybe_batch", "maybe_batch_join", "maybe_shuffle_batch", "maybe_shuffle_batch_join",
    "shuffle_batch", "shuffle_batch_join",
]  # fmt: skip


def tensor_list(tensors: Any, who: str = "batch()") -> list[Tensor]:
    """Return the tensors of a list, or of a dict in the order of its keys.

    Args:
        tensors: the list or dict.
        who: the caller, for error messages.

    Raises:
        ValueError: there are no tensors.
    """
    tensor_items = (
        [tensors[key] for key in sorted(tensors, key=str)] if isinstance(tensors, Mapping) else list(tensors)
    )
    if not tensor_items:
        raise ValueError(f"Expected at least one tensor in {who}.")
    return tensor_items


def keep_input_tensor(keep_input: Any, enqueue_many: bool) -> Tensor:
    """Return ``keep_input`` as a tensor.

    Args:
        keep_input: whether to keep elements.
        enqueue_many: whether the tensors have one row per element.

    Raises:
        ValueError: its rank is unknown, or does not fit.
    """
    keep = convert_to_tensor(keep_input)
    if keep.shape.ndims is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and keep.shape.ndims == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep.shape.ndims > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def element_shapes(lists: Sequence[Sequence[Tensor]], shapes: Any, enqueue_many: bool) -> Any:
    """Return the shapes of an element's components.

    Args:
        lists: lists of tensors, one for each source.
        shapes: the given shapes; None: use those of the tensors.
        enqueue_many: whether the tensors have one row per element.

    Raises:
        ValueError: a rank is unknown.
    """
    if shapes is not None:
        return shapes
    for tensors in lists:
        for tensor in tensors:
            if tensor.shape.ndims is None:
                raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
    shapes_found = []
    for column in zip(*lists, strict=True):
        merged = [
            tensor.shape.with_rank_at_least(1)[1:] if enqueue_many else tensor.shape for tensor in column
        ]
        for shape in merged[1:]:
            merged[0].merge_with(shape)
        shapes_found.append(merged[0])
    return shapes_found


def _enqueue_op(queue: QueueBase, tensors: Sequence[Tensor], enqueue_many: bool, keep: Tensor) -> Operation:
    """Return an operation that enqueues tensors if they are to be kept."""
    put: Callable[[Any], Operation] = queue.enqueue_many if enqueue_many else queue.enqueue
    if keep.shape.ndims == 1:
        which = cast(keep, int32)
        return put([dynamic_partition(tensor, which, num_partitions=2)[1] for tensor in tensors])
    static_keep = constant_value(keep)
    if static_keep is not None:
        return put(list(tensors)) if static_keep else no_op()
    enqueue: Operation = cond(keep, lambda: put(list(tensors)), no_op)
    return enqueue


class _SparseMap:
    """A map that stores sparse tensors while the queue holds their handles.

    Args:
        op: the operation that stores the tensors.
        rank: their rank; None: unknown.
    """

    def __init__(self, op: Operation, rank: int | None) -> None:
        self.op, self._rank = op, rank

    def take(self, numbers: Tensor) -> SparseTensor:
        """Return the sparse tensors of a column of handles, concatenated along a new first axis."""
        return take_many_sparse_from_tensors_map(
            self.op, squeeze(numbers, [1]), None if self._rank is None else self._rank + 1
        )


def _numbers_of(
    sparse: SparseTensor, many: bool, keep: Tensor, stored: _SparseMap | None
) -> tuple[Tensor, _SparseMap]:
    """Return a handle for a sparse tensor, or a column of handles for its rows, and the map that stores it.

    Raises:
        TypeError: the tensor is never kept.
    """
    shared_name = None if stored is None else shared_name_of(stored.op)

    def store(sparse_tensor: SparseTensor) -> Tensor:
        add = add_many_sparse_to_tensors_map if many else add_sparse_to_tensors_map
        return add(sparse_tensor, shared_name=shared_name)

    def none() -> Any:
        if not many:
            return constant(-1, int64)
        return -1 * ones(cast(sparse.dense_shape, int32, name="Shape/Cast")[:1], int64)

    is_kept = constant_value(keep)
    if keep.shape.ndims == 1:
        rows = gather(keep, sparse.indices[:, 0])
        numbers = store(sparse_retain(sparse, rows))
    elif is_kept is None:
        numbers = cond(keep, lambda: store(sparse), none)
    elif is_kept:
        numbers = store(sparse)
    else:
        raise TypeError(
            "Sparse tensors cannot be batched if keep_input is always False: nothing would be stored"
        )
    numbers.set_shape([None] if many else [])
    rank = sparse.dense_shape.shape.with_rank(1)[0].value
    maker = numbers.op.inputs[1].op if numbers.op.type == "Merge" else numbers.op
    stored = _SparseMap(maker, None if rank is None else rank - 1 if many else rank)
    return expand_dims(numbers, [-1]), stored


class _Batches:
    """The queue of a function of this module, and its queue runner.

    Args:
        lists: the tensors of an element, one list for each source.
        threads: number of threads for each source.
        keep_input: whether to enqueue the elements.
        enqueue_many: whether the tensors have one row per element.
        shapes: shapes of an element; None: those of the tensors.
    """

    def __init__(
        self, lists: Sequence[Any], threads: int, keep_input: Any, enqueue_many: bool, shapes: Any
    ) -> None:
        converted = [
            [tensor if isinstance(tensor, SparseTensor) else convert_to_tensor(tensor) for tensor in tensors]
            for tensors in lists
        ]
        self._threads = threads
        self._many = enqueue_many
        self._keep = keep_input_tensor(keep_input, enqueue_many)
        self._maps: list[_SparseMap | None] = [None] * len(converted[0])
        self._lists = [self._stored(tensors) for tensors in converted]
        for column in zip(*self._lists, strict=True):
            for tensor in column[1:]:
                one, other = column[0].dtype.base_dtype, tensor.dtype.base_dtype
                if one is not other:
                    raise TypeError(f"Expected types to be consistent: {one.name} vs. {other.name}.")
        self.dtypes = [tensor.dtype.base_dtype for tensor in self._lists[0]]
        self.shapes = element_shapes(self._lists, shapes, enqueue_many)

    def _stored(self, tensors: Sequence[Any]) -> list[Tensor]:
        """Return the tensors, with sparse ones replaced by their handles."""
        result = []
        for column, tensor in enumerate(tensors):
            if isinstance(tensor, SparseTensor):
                tensor_map_before = self._maps[column]
                tensor, tensor_map = _numbers_of(tensor, self._many, self._keep, tensor_map_before)
                self._maps[column] = tensor_map_before or tensor_map
            result.append(tensor)
        return result

    def taken(self, queue: QueueBase, batch_size: TensorLike, may_be_smaller: bool, name: str) -> list[Any]:
        """Return a batch, with sparse tensors restored from their handles.

        Args:
            queue: the queue.
            batch_size: number of elements.
            may_be_smaller: whether the last batch may have fewer elements.
            name: name of the operation.
        """
        take = queue.dequeue_up_to if may_be_smaller else queue.dequeue_many
        components = take(batch_size, name=name)
        values = list(components) if isinstance(components, list | tuple) else [components]
        if not any(self._maps):
            return values
        restored = [
            value if tensor_map is None else tensor_map.take(value)
            for value, tensor_map in zip(values, self._maps, strict=True)
        ]
        parts = [part for x in restored for part in (parts_of(x) if isinstance(x, SparseTensor) else [x])]

        def after_all(value: Any) -> Any:
            if isinstance(value, SparseTensor):
                return SparseTensor(*(with_dependencies(parts, part) for part in parts_of(value)))
            return with_dependencies(parts, value)

        return [after_all(tensor) for tensor in restored]

    def fill(self, queue: QueueBase) -> None:
        """Add the queue runner."""
        ops = [_enqueue_op(queue, tensors, self._many, self._keep) for tensors in self._lists]
        add_queue_runner(QueueRunner(queue, ops * self._threads))


def in_structure_of(values: list[Any], form: Any) -> Any:
    """Return a batch in the structure of the inputs.

    Args:
        values: the tensors of the batch.
        form: the inputs: a list or dict.
    """
    if isinstance(form, Mapping):
        return dict(zip(sorted(form, key=str), values, strict=True))
    return values[0] if len(values) == 1 else values


def _flat(lists: Sequence[Any]) -> list[Any]:
    return [tensor for tensors in lists for tensor in tensors]


def _lists_of(tensors_list: Any) -> list[list[Tensor]]:
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    first = tensors_list[0]
    if isinstance(first, Mapping) and any(set(tensor) != set(first) for tensor in tensors_list[1:]):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    lists = [tensor_list(tensor) for tensor in tensors_list]
    if any(len(group) != len(lists[0]) for group in lists[1:]):
        raise ValueError("All lists in tensors_list must have the same number of tensors")
    return lists


def _in_order(
    scope: str, tensors: TensorLike, lists: Sequence[Any], batch_size: TensorLike, keep_input: Any, num_threads: int,
    capacity: int, enqueue_many: bool, shapes: Any, dynamic_pad: bool, may_be_smaller: bool,
    shared_name: str | None, name: str | None,
) -> Any:  # fmt: skip
    """Implement ``batch`` and ``batch_join``."""
    with name_scope(name, scope, [*_flat(lists), keep_input]) as full:
        batches = _Batches(lists, num_threads, keep_input, enqueue_many, shapes)
        make = PaddingFIFOQueue if dynamic_pad else FIFOQueue
        queue = make(capacity, batches.dtypes, batches.shapes, shared_name=shared_name)
        batches.fill(queue)
        fullness_summary(f"fraction_of_{capacity}_full", cast(queue.size(), float32) * (1.0 / capacity))
        return in_structure_of(batches.taken(queue, batch_size, may_be_smaller, full), tensors)


def _shuffled(
    scope: str, tensors: TensorLike, lists: Sequence[Any], batch_size: TensorLike, capacity: int,
    min_after_dequeue: int,
    keep_input: Any, num_threads: int, seed: int | None, enqueue_many: bool, shapes: Any, may_be_smaller: bool,
    shared_name: str | None, name: str | None,
) -> Any:  # fmt: skip
    """Implement ``shuffle_batch`` and ``shuffle_batch_join``."""
    with name_scope(name, scope, [*_flat(lists), keep_input]) as full:
        if capacity <= min_after_dequeue:
            raise ValueError(
                f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}."
            )
        batches = _Batches(lists, num_threads, keep_input, enqueue_many, shapes)
        queue = RandomShuffleQueue(
            capacity, min_after_dequeue, batches.dtypes, batches.shapes, seed=seed, shared_name=shared_name
        )
        batches.fill(queue)
        over = capacity - min_after_dequeue
        part = cast(maximum(0, queue.size() - min_after_dequeue), float32) * (1.0 / over)
        fullness_summary(f"fraction_over_{min_after_dequeue}_of_{over}_full", part)
        return in_structure_of(batches.taken(queue, batch_size, may_be_smaller, full), tensors)


def batch(
    tensors: TensorLike, batch_size: TensorLike, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False,
    shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Return batches of consecutive values of tensors; threads compute them in advance.

    Args:
        tensors: a list or dict of tensors.
        batch_size: number of values in a batch.
        num_threads: number of threads; with more than one the order is undefined.
        capacity: maximum number of values in the queue.
        enqueue_many: whether each tensor has one row per value.
        shapes: shapes of the values; None: those of the tensors, which must be fully known.
        dynamic_pad: whether to pad values of different sizes with zeros.
        allow_smaller_final_batch: whether to return a last batch with fewer values.
        shared_name: queues that share a name, in a session, are one queue.
        name: name of the scope.

    Returns:
        A list or dict of tensors with a new first axis, ``batch_size``; a tensor for a list of one.

    Raises:
        ValueError: there are no tensors, or their shapes are unknown.
        OutOfRangeError: at run time, there are no more values.
    """
    return maybe_batch(
        tensors, True, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_batch(
    tensors: TensorLike, keep_input: Any, batch_size: TensorLike, num_threads: int = 1, capacity: int = 32,
    enqueue_many: bool = False, shapes: Any = None, dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Return batches as ``batch`` does, of the values that are to be kept.

    Args:
        tensors: as for ``batch``.
        keep_input: a bool, whether to keep a value; with ``enqueue_many`` also a vector, one for each row.
        batch_size: as for ``batch``.
        num_threads: as for ``batch``.
        capacity: as for ``batch``.
        enqueue_many: as for ``batch``.
        shapes: as for ``batch``.
        dynamic_pad: as for ``batch``.
        allow_smaller_final_batch: as for ``batch``.
        shared_name: as for ``batch``.
        name: name of the scope.

    Returns:
        As for ``batch``.

    Raises:
        ValueError: as for ``batch``, or ``keep_input`` has another rank.
    """
    lists = [tensor_list(tensors)]
    return _in_order(
        "batch", tensors, lists, batch_size, keep_input, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def batch_join(
    tensors_list: Any, batch_size: TensorLike, capacity: int = 32, enqueue_many: bool = False, shapes: Any = None,
    dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Return batches as ``batch`` does, of several lists of tensors, each with its own thread.

    Args:
        tensors_list: a list of lists or dicts of tensors.
        batch_size: as for ``batch``.
        capacity: as for ``batch``.
        enqueue_many: as for ``batch``.
        shapes: as for ``batch``.
        dynamic_pad: as for ``batch``.
        allow_smaller_final_batch: as for ``batch``.
        shared_name: as for ``batch``.
        name: name of the scope.

    Returns:
        As for ``batch``.

    Raises:
        ValueError: as for ``batch``, or the lists differ in length, or the dicts in keys.
        TypeError: the lists differ in dtypes.
    """
    return maybe_batch_join(
        tensors_list, True, batch_size, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch,
        shared_name, name,
    )  # fmt: skip


def maybe_batch_join(
    tensors_list: Any, keep_input: Any, batch_size: TensorLike, capacity: int = 32, enqueue_many: bool = False,
    shapes: Any = None, dynamic_pad: bool = False, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Return batches as ``batch_join`` does, of the values that are to be kept.

    Args:
        tensors_list: as for ``batch_join``.
        keep_input: as for ``maybe_batch``.
        batch_size: as for ``batch``.
        capacity: as for ``batch``.
        enqueue_many: as for ``batch``.
        shapes: as for ``batch``.
        dynamic_pad: as for ``batch``.
        allow_smaller_final_batch: as for ``batch``.
        shared_name: as for ``batch``.
        name: name of the scope.

    Returns:
        As for ``batch``.

    Raises:
        ValueError: as for ``batch_join`` and ``maybe_batch``.
        TypeError: as for ``batch_join``.
    """
    lists = _lists_of(tensors_list)
    return _in_order(
        "batch_join", tensors_list[0], lists, batch_size, keep_input, 1, capacity, enqueue_many, shapes,
        dynamic_pad, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def shuffle_batch(
    tensors: TensorLike, batch_size: TensorLike, capacity: int, min_after_dequeue: int, num_threads: int = 1,
    seed: int | None = None, enqueue_many: bool = False, shapes: Any = None,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Return batches as ``batch`` does, in random order.

    Args:
        tensors: as for ``batch``.
        batch_size: as for ``batch``.
        capacity: as for ``batch``.
        min_after_dequeue: number of values that stay in the queue, for a good shuffle.
        num_threads: as for ``batch``.
        seed: the seed of the order.
        enqueue_many: as for ``batch``.
        shapes: as for ``batch``.
        allow_smaller_final_batch: as for ``batch``.
        shared_name: as for ``batch``.
        name: name of the scope.

    Returns:
        As for ``batch``.

    Raises:
        ValueError: as for ``batch``, or ``capacity`` is not above ``min_after_dequeue``.
    """
    return maybe_shuffle_batch(
        tensors, batch_size, capacity, min_after_dequeue, True, num_threads, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_shuffle_batch(
    tensors: TensorLike, batch_size: TensorLike, capacity: int, min_after_dequeue: int, keep_input: Any,
    num_threads: int = 1, seed: int | None = None, enqueue_many: bool = False, shapes: Any = None,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Return batches as ``shuffle_batch`` does, of the values that are to be kept.

    Args:
        tensors: as for ``batch``.
        batch_size: as for ``batch``.
        capacity: as for ``batch``.
        min_after_dequeue: as for ``shuffle_batch``.
        keep_input: as for ``maybe_batch``.
        num_threads: as for ``batch``.
        seed: the seed of the order.
        enqueue_many: as for ``batch``.
        shapes: as for ``batch``.
        allow_smaller_final_batch: as for ``batch``.
        shared_name: as for ``batch``.
        name: name of the scope.

    Returns:
        As for ``batch``.

    Raises:
        ValueError: as for ``shuffle_batch`` and ``maybe_batch``.
    """
    lists = [tensor_list(tensors)]
    return _shuffled(
        "shuffle_batch", tensors, lists, batch_size, capacity, min_after_dequeue, keep_input, num_threads, seed,
        enqueue_many, shapes, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def shuffle_batch_join(
    tensors_list: Any, batch_size: TensorLike, capacity: int, min_after_dequeue: int, seed: int | None = None,
    enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False,
    shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Return batches as ``batch_join`` does, in random order.

    Args:
        tensors_list: as for ``batch_join``.
        batch_size: as for ``batch``.
        capacity: as for ``batch``.
        min_after_dequeue: as for ``shuffle_batch``.
        seed: the seed of the order.
        enqueue_many: as for ``batch``.
        shapes: as for ``batch``.
        allow_smaller_final_batch: as for ``batch``.
        shared_name: as for ``batch``.
        name: name of the scope.

    Returns:
        As for ``batch``.

    Raises:
        ValueError: as for ``batch_join`` and ``shuffle_batch``.
        TypeError: as for ``batch_join``.
    """
    return maybe_shuffle_batch_join(
        tensors_list, batch_size, capacity, min_after_dequeue, True, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_shuffle_batch_join(
    tensors_list: Any, batch_size: TensorLike, capacity: int, min_after_dequeue: int, keep_input: Any,
    seed: int | None = None, enqueue_many: bool = False, shapes: Any = None,
    allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Return batches as ``shuffle_batch_join`` does, of the values that are to be kept.

    Args:
        tensors_list: as for ``batch_join``.
        batch_size: as for ``batch``.
        capacity: as for ``batch``.
        min_after_dequeue: as for ``shuffle_batch``.
        keep_input: as for ``maybe_batch``.
        seed: the seed of the order.
        enqueue_many: as for ``batch``.
        shapes: as for ``batch``.
        allow_smaller_final_batch: as for ``batch``.
        shared_name: as for ``batch``.
        name: name of the scope.

    Returns:
        As for ``batch``.

    Raises:
        ValueError: as for ``shuffle_batch_join`` and ``maybe_batch``.
        TypeError: as for ``batch_join``.
    """
    lists = _lists_of(tensors_list)
    return _shuffled(
        "shuffle_batch_join", tensors_list[0], lists, batch_size, capacity, min_after_dequeue, keep_input, 1, seed,
        enqueue_many, shapes, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip
