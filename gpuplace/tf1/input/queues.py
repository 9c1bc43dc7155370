"""``tf.FIFOQueue`` and the like: elements that one step puts in and another takes out.

Source: tensorflow/python/ops/data_flow_ops.py, release 1.15.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.dtypes import DType, as_dtype, int64
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.gather import gather
from gpuplace.ops.array.joining import stack
from gpuplace.ops.random.random_ops import get_seed
from gpuplace.shapes import SCALAR_SHAPE, UNKNOWN_SHAPE, Dimension, TensorShape, as_shape
from gpuplace.typing import TensorLike

__all__ = ["QueueBase", "FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue"]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def component_types(dtypes: Any) -> list[DType]:
    return [as_dtype(dtype) for dtype in _listed(dtypes)]


def component_shapes(
    shapes: Any, dtypes: Sequence[DType], may_be_partial: bool = False, any_rank: bool = False
) -> list[TensorShape]:
    """Return the shapes of components, one for each dtype; an empty list if none are given.

    Raises:
        ValueError: the number of shapes is wrong, or one is not fully known.
    """
    if shapes is None:
        return []
    if isinstance(shapes, TensorShape) or not isinstance(shapes, list | tuple):
        shapes = [shapes]
    elif shapes and all(isinstance(size, int | Dimension) or size is None for size in shapes):
        shapes = [shapes]
    elif isinstance(shapes, tuple) and not shapes:
        shapes = [shapes]
    result = [as_shape(shape) for shape in shapes]
    if not may_be_partial and any(not shape.is_fully_defined() for shape in result):
        raise ValueError(f"All shapes must be fully defined: {result}")
    if not any_rank and any(shape.ndims is None for shape in result):
        raise ValueError(f"All shapes must have a defined rank: {result}")
    if result and len(result) != len(dtypes):
        raise ValueError(
            f"Shapes must be provided for all components, but received {len(dtypes)} dtypes and {len(result)} shapes."
        )
    return result


def _names(names: Any, dtypes: Sequence[DType]) -> list[str] | None:
    if not names:
        return None
    name_list = _listed(names)
    if len(name_list) != len(dtypes):
        raise ValueError("List of names must have the same length as the list of dtypes")
    return name_list


def _common_shape(x: TensorShape, y: TensorShape) -> TensorShape:
    """Return the common part of two shapes."""
    if x.sizes is None or y.sizes is None or len(x.sizes) != len(y.sizes):
        return UNKNOWN_SHAPE
    return TensorShape.of(tuple(a if a == b else None for a, b in zip(x.sizes, y.sizes, strict=True)))


class QueueBase:
    """A queue of elements, each a tuple of tensors, identified by its handle.

    A step that enqueues to a full queue, or dequeues from an empty one, waits for a step of another thread.

    Args:
        dtypes: dtypes of the components of an element.
        shapes: their shapes; an empty list: unknown.
        names: their names, for elements that are dicts; or None.
        queue_ref: the handle, a tensor.

    Raises:
        ValueError: the number of names or shapes is wrong.
    """

    def __init__(
        self,
        dtypes: Any,
        shapes: Sequence[TensorShape] | None,
        names: Sequence[str] | None,
        queue_ref: Tensor,
    ) -> None:
        self._dtypes = list(dtypes)
        if shapes is not None:
            if len(shapes) != len(self._dtypes):
                raise ValueError("Queue shapes must have the same length as dtypes")
            self._shapes = [TensorShape(shape) for shape in shapes]
        else:
            self._shapes = [TensorShape(None) for _ in self._dtypes]
        if names is not None:
            if len(names) != len(self._dtypes):
                raise ValueError("Queue names must have the same length as dtypes")
            self._names: list[str] | None = list(names)
        else:
            self._names = None
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.rpartition("/")[2]

    @staticmethod
    def from_list(index: TensorLike, queues: list[QueueBase]) -> QueueBase:
        """Return the queue with a given index in a list.

        Args:
            index: an int32 or int64 tensor.
            queues: queues with the same dtypes.

        Returns:
            A ``QueueBase``.

        Raises:
            TypeError: ``queues`` is not a list of queues, or their dtypes or names differ.
        """
        if not queues or not isinstance(queues, list) or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if not all(first.dtypes == queue.dtypes for queue in queues[1:]):
            raise TypeError("Queues do not have matching component dtypes.")
        if not all(first.names == queue.names for queue in queues[1:]):
            raise TypeError("Queues do not have matching component names.")
        shapes = [functools.reduce(_common_shape, column) for column in zip(*(q.shapes for q in queues))]
        handles = stack([queue.queue_ref for queue in queues])
        return QueueBase(first.dtypes, shapes, first.names, gather(handles, index))

    @property
    def queue_ref(self) -> Tensor:
        """The handle."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """Name of the operation that creates the queue."""
        return self._queue_ref.op.name

    @property
    def dtypes(self) -> list[DType]:
        """Dtypes of the components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """Shapes of the components."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """Names of the components, if any."""
        return self._names

    def _components(self, vals: Any) -> list[Tensor]:
        """Return the tensors of an element."""
        if isinstance(vals, Mapping):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(vals):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue.  Dictionary:"
                    f" ({sorted(vals)}), Queue: ({sorted(self._names)})"
                )
            vals = [vals[name] for name in self._names]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        elif not isinstance(vals, list | tuple):
            vals = [vals]
        return [
            convert_to_tensor(value, dtype, f"component_{number}")
            for number, (value, dtype) in enumerate(zip(vals, self._dtypes))
        ]

    def _scope_values(self, vals: Any) -> list[Any]:
        return list(vals.values()) if isinstance(vals, Mapping) else _listed(vals)

    def _element(self, op: Operation) -> Any:
        """Return the outputs of an operation in the structure of an element."""
        if self._names:
            return dict(zip(self._names, op.outputs, strict=True))
        return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Return an operation that puts an element into the queue, and waits until there is room.

        Args:
            vals: a tensor, a list of tensors, or a dict of them if the components have names.
            name: name of the operation.

        Raises:
            ValueError: a dict is given but there are no names, or vice versa, or a shape does not fit.
            CancelledError: at run time, the queue is closed.
        """
        with name_scope(name, f"{self._name}_enqueue", self._scope_values(vals)) as scope:
            components = self._components(vals)
            for value, shape in zip(components, self._shapes):
                value.shape.assert_is_compatible_with(shape)
            return apply_op("QueueEnqueueV2", scope, handle=self._queue_ref, components=components)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Return an operation that puts the rows of tensors into the queue, one after the other.

        Args:
            vals: as for ``enqueue``, with rows as a new first axis.
            name: name of the operation.

        Raises:
            ValueError: as for ``enqueue``, or the numbers of rows differ.
            CancelledError: at run time, the queue is closed.
        """
        with name_scope(name, f"{self._name}_EnqueueMany", self._scope_values(vals)) as scope:
            components = self._components(vals)
            rows = Dimension(None)
            for value, shape in zip(components, self._shapes):
                sizes = value.shape.with_rank_at_least(1).sizes
                rows = rows.merge_with(None if sizes is None else sizes[0])
                value.shape[1:].assert_is_compatible_with(shape)
            return apply_op("QueueEnqueueManyV2", scope, handle=self._queue_ref, components=components)

    def dequeue(self, name: str | None = None) -> Any:
        """Take an element out of the queue, and wait until there is one.

        Args:
            name: name of the operation.

        Returns:
            A tensor, a list of tensors, or a dict of them if the components have names.

        Raises:
            OutOfRangeError: at run time, the queue is closed and empty.
        """
        op = apply_op(
            "QueueDequeueV2",
            name or f"{self._name}_Dequeue",
            handle=self._queue_ref,
            component_types=self._dtypes,
        )
        for output, shape in zip(op.outputs, self._shapes):
            output.set_shape(shape)
        return self._element(op)

    def dequeue_many(self, n: TensorLike, name: str | None = None) -> Any:
        """Take elements out of the queue, and wait until there are enough.

        Args:
            n: number of elements, an int32 scalar.
            name: name of the operation.

        Returns:
            As for ``dequeue``, with rows as a new first axis.

        Raises:
            OutOfRangeError: at run time, the queue is closed and has fewer elements.
        """
        op = apply_op(
            "QueueDequeueManyV2",
            name or f"{self._name}_DequeueMany",
            handle=self._queue_ref,
            n=n,
            component_types=self._dtypes,
        )
        count = constant_value(op.inputs[1])
        rows = TensorShape([None if count is None else int(count)])
        for output, shape in zip(op.outputs, self._shapes):
            output.set_shape(rows.concatenate(shape))
        return self._element(op)

    def dequeue_up_to(self, n: TensorLike, name: str | None = None) -> Any:
        """Take elements out as ``dequeue_many`` does; from a closed queue, take at least one of the remaining ones.

        Args:
            n: number of elements, an int32 scalar.
            name: name of the operation.

        Returns:
            As for ``dequeue_many``.

        Raises:
            OutOfRangeError: at run time, the queue is closed and empty.
        """
        op = apply_op(
            "QueueDequeueUpToV2",
            name or f"{self._name}_DequeueUpTo",
            handle=self._queue_ref,
            n=n,
            component_types=self._dtypes,
        )
        for output, shape in zip(op.outputs, self._shapes):
            output.set_shape(TensorShape([None]).concatenate(shape))
        return self._element(op)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Return an operation that closes the queue: elements can no longer be put in.

        Args:
            cancel_pending_enqueues: whether pending enqueues fail; otherwise the queue is closed after them.
            name: name of the operation.

        Raises:
            CancelledError: at run time, the queue is already closed.
        """
        return apply_op(
            "QueueCloseV2",
            name or f"{self._name}_Close",
            handle=self._queue_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
        )

    def is_closed(self, name: str | None = None) -> Tensor:
        """Return whether the queue is closed.

        Args:
            name: name of the operation.

        Returns:
            A bool scalar.
        """
        return apply_op("QueueIsClosedV2", name or f"{self._name}_Is_Closed", handle=self._queue_ref).outputs[
            0
        ]

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements in the queue.

        Args:
            name: name of the operation.

        Returns:
            An int32 scalar.
        """
        return apply_op("QueueSizeV2", name or f"{self._name}_Size", handle=self._queue_ref).outputs[0]


class RandomShuffleQueue(QueueBase):
    """A queue that returns its elements in random order.

    Args:
        capacity: maximum number of elements.
        min_after_dequeue: number of elements that stay in it until it is closed, for a good shuffle.
        dtypes: dtypes of the components of an element.
        shapes: their shapes, fully known; None: any, but elements can only be taken one by one.
        names: their names; elements are then dicts.
        seed: the op's seed, an integer. None: see ``set_random_seed``.
        shared_name: queues that share a name, in a session, are one queue.
        name: name of the operation.

    Raises:
        ValueError: shapes or names do not match the dtypes.
        InvalidArgumentError: at run time, ``min_after_dequeue`` is not below ``capacity``.
    """

    def __init__(
        self, capacity: int, min_after_dequeue: int, dtypes: Any, shapes: Any = None, names: Any = None,
        seed: int | None = None, shared_name: str | None = None, name: str = "random_shuffle_queue",
    ) -> None:  # fmt: skip
        types = component_types(dtypes)
        shape_list, named = component_shapes(shapes, types), _names(names, types)
        seed1, seed2 = get_seed(seed)
        if seed1 is None or seed2 is None:
            seed1, seed2 = 0, 0
        elif seed is None and shared_name is not None:  # shared queues need the same seed
            import hashlib  # loaded on first use

            digest = hashlib.md5(f"{seed1}{shared_name}".encode(), usedforsecurity=False).hexdigest()
            seed2 = int(digest[:8], 16) & 0x7FFFFFFF
        handle = apply_op(
            "RandomShuffleQueueV2", name, component_types=types, shapes=shape_list, capacity=capacity,
            min_after_dequeue=min_after_dequeue, seed=seed1, seed2=seed2, shared_name=shared_name or "",
        ).outputs[0]  # fmt: skip
        super().__init__(types, shape_list or None, named, handle)


class FIFOQueue(QueueBase):
    """A first-in, first-out queue.

    >>> import gpuplace as tf
    >>> queue = tf.FIFOQueue(3, tf.float32)
    >>> with tf.Session() as session:
    ...     session.run(queue.enqueue_many([[1.0, 2.0]]))
    ...     float(session.run(queue.dequeue()))
    1.0

    Args:
        capacity: maximum number of elements.
        dtypes: dtypes of the components of an element.
        shapes: their shapes, fully known; None: any, but elements can only be taken one by one.
        names: their names; elements are then dicts.
        shared_name: queues that share a name, in a session, are one queue.
        name: name of the operation.

    Raises:
        ValueError: shapes or names do not match the dtypes.
    """

    def __init__(
        self, capacity: int, dtypes: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:  # fmt: skip
        types = component_types(dtypes)
        shape_list, named = component_shapes(shapes, types), _names(names, types)
        handle = apply_op(
            "FIFOQueueV2", name, component_types=types, shapes=shape_list, capacity=capacity,
            shared_name=shared_name or "",
        ).outputs[0]  # fmt: skip
        super().__init__(types, shape_list or None, named, handle)


class PaddingFIFOQueue(QueueBase):
    """A first-in, first-out queue of elements of different sizes: batches are padded with zeros.

    Args:
        capacity: maximum number of elements.
        dtypes: dtypes of the components of an element.
        shapes: their shapes, of known rank; sizes that differ are None.
        names: their names; elements are then dicts.
        shared_name: queues that share a name, in a session, are one queue.
        name: name of the operation.

    Raises:
        ValueError: shapes or names do not match the dtypes.
    """

    def __init__(
        self, capacity: int, dtypes: Any, shapes: Any, names: Any = None, shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:  # fmt: skip
        types = component_types(dtypes)
        shape_list, named = component_shapes(shapes, types, may_be_partial=True), _names(names, types)
        if len(shape_list) != len(types):
            raise ValueError(
                "Shapes must be provided for all components, but received"
                f" {len(types)} dtypes and {len(shape_list)} shapes."
            )
        handle = apply_op(
            "PaddingFIFOQueueV2", name, component_types=types, shapes=shape_list, capacity=capacity,
            shared_name=shared_name or "",
        ).outputs[0]  # fmt: skip
        super().__init__(types, shape_list, named, handle)


class PriorityQueue(QueueBase):
    """A queue that returns the elements with the lowest priority first; the priority is the first component, int64.

    Args:
        capacity: maximum number of elements.
        types: dtypes of the components after the priority.
        shapes: their shapes, fully known; None: any, but elements can only be taken one by one.
        names: names of all components; elements are then dicts.
        shared_name: queues that share a name, in a session, are one queue.
        name: name of the operation.

    Raises:
        ValueError: shapes or names do not match the dtypes.
    """

    def __init__(
        self, capacity: int, types: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:  # fmt: skip
        dtypes = component_types(types)
        shape_list = component_shapes(shapes, dtypes)
        handle = apply_op(
            "PriorityQueueV2", name, component_types=dtypes, shapes=shape_list, capacity=capacity,
            shared_name=shared_name or "",
        ).outputs[0]  # fmt: skip
        all_types = [int64, *dtypes]
        super().__init__(
            all_types, [SCALAR_SHAPE, *shape_list] if shape_list else None, _names(names, all_types), handle
        )
