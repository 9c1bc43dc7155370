"""Kernels of queue ops, and of the maps that store sparse tensors while a queue holds their handles.

Source: tensorflow/core/kernels/queue_op.cc, queue_ops.cc, sparse_tensors_map_ops.cc, core/ops/data_flow_ops.cc and
sparse_ops.cc, release 1.15.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.dtypes import int64, string
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.op_sets import QUEUE_MAKERS
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import KernelContext, binder, compute
from gpuplace.kernels.resources import DEFAULT_CONTAINER, ResourceHandle
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.random.philox import Philox
from gpuplace.ops.support import no_outputs, scalar_shape
from gpuplace.shapes import SCALAR_SHAPE, UNKNOWN_SHAPE, TensorShape, brackets
from gpuplace.tf1.input import queue_resources
from gpuplace.typing import Array, ArrayModule, ShapeLike, TensorLike

_numbers = itertools.count()
"""Numbers for the names of unshared resources."""


def own_resource(
    ctx: KernelContext, attrs: Mapping[str, Any], make: Callable[[str], Any], is_named_by_node: bool = False
) -> tuple[Any, str, str]:
    """Return the resource that an operation creates, or shares by its ``shared_name``, with container and name.

    Args:
        ctx: context of the operation.
        attrs: attributes of the operation.
        make: creates the resource for a name.
        is_named_by_node: whether the operation's name serves as the shared name if there is none.
    """
    shared = attrs["shared_name"].decode()
    container = attrs["container"].decode() or DEFAULT_CONTAINER
    if shared or is_named_by_node:
        name = shared or ctx.op.name
        resource = ctx.session.get_or_create(container, name, lambda: make(name), ctx.device)
        return resource, container, name
    resource, name = ctx.session.kernel_state(ctx.op.name, lambda: _made(make, ctx.op.name))
    return resource, container, name


def _made(make: Callable[[str], Any], node: str) -> tuple[Any, str]:
    name = f"_{next(_numbers)}_{node}"
    return make(name), name


def resource_of(handle: Any, expected: type | tuple[type, ...], type_name: str) -> Any:
    """Return the resource of a handle, also after the handle passed through ops on tensors.

    Raises:
        InvalidArgumentError: it is another type of resource.
    """
    if isinstance(handle, np.ndarray):
        handle = handle.item()
    resource = handle.resource if isinstance(handle, ResourceHandle) else None
    if not isinstance(resource, expected):
        raise InvalidArgumentError.of(
            "Trying to access resource using the wrong type."
            f" Expected {type_name} got {getattr(handle, 'type_name', type(handle).__name__)}"
        )
    return resource


class ReferenceHandle(ResourceHandle):
    """A handle as a reference to two strings, container and name, for ops older than resources."""

    @property
    def value(self) -> Any:
        """The two strings."""
        return np.asarray([self.container.encode(), self.name.encode()], object)


_OLD_MAKERS = tuple(sorted(name.removesuffix("V2") for name in QUEUE_MAKERS))
"""Queue ops of graphs older than 1.0, which return a reference."""


@binder(*sorted(QUEUE_MAKERS), *_OLD_MAKERS)
def _queue(
    xp: ArrayModule, attrs: Mapping[str, Any], op: Operation, *, ctx: KernelContext
) -> Callable[[], ResourceHandle]:
    kind = op.type.removesuffix("V2")
    dtypes, shapes, capacity = attrs["component_types"], attrs["shapes"], attrs["capacity"]
    if kind == "PriorityQueue":
        dtypes, shapes = (int64, *dtypes), (SCALAR_SHAPE, *shapes) if shapes or not dtypes else ()
    minimum = attrs.get("min_after_dequeue", 0)
    handle_class = ResourceHandle if op.type in QUEUE_MAKERS else ReferenceHandle

    def make(name: str) -> queue_resources.Queue:
        if kind == "RandomShuffleQueue":
            draw = _words(Philox.seeded(attrs["seed"], attrs["seed2"]))
            return queue_resources.RandomShuffleQueue(name, dtypes, shapes, capacity, minimum, draw)
        cls: Any = getattr(queue_resources, kind)
        queue: queue_resources.Queue = cls(name, dtypes, shapes, capacity)
        return queue

    def get() -> ResourceHandle:
        if minimum and capacity >= 0 and minimum >= capacity:
            raise InvalidArgumentError.of(f"min_after_dequeue {minimum} must be < capacity {capacity}")
        queue, container, name = own_resource(ctx, attrs, make)
        queue.check_same(kind, dtypes, shapes, capacity)
        return handle_class(ctx.device, container, name, queue_resources.TYPE_NAME, queue)

    return get


def _words(generator: Philox) -> Callable[[], int]:
    """Return a function that returns the random words of a generator one after the other."""
    lock = threading.Lock()
    left: list[int] = []

    def draw() -> int:
        with lock:
            if not left:
                left.extend(reversed(generator.reserve(1, 1).words(np, 1)[0].tolist()))
            return left.pop()

    return draw


def _queue_of(handle: Any) -> queue_resources.Queue:
    queue: queue_resources.Queue = resource_of(handle, queue_resources.Queue, queue_resources.TYPE_NAME)
    return queue


@compute("QueueEnqueueV2", "QueueEnqueue", waits=True)
def _enqueue(xp: ArrayModule, handle: Array, components: Array, *, ctx: KernelContext) -> tuple[()]:
    _queue_of(handle).enqueue(tuple(map(_kept, components)), ctx.session.cancellation)
    return ()


@compute("QueueEnqueueManyV2", "QueueEnqueueMany", waits=True)
def _enqueue_many(xp: ArrayModule, handle: Array, components: Array, *, ctx: KernelContext) -> tuple[()]:
    _queue_of(handle).enqueue_many(tuple(map(_kept, components)), ctx.session.cancellation)
    return ()


def _kept(value: Array) -> Array:
    """Return a copy that outlives the step: the program may write to arrays that it feeds."""
    return value.copy() if value.base is not None or value.flags.writeable else value


@compute("QueueDequeueV2", "QueueDequeue", waits=True)
def _dequeue(xp: ArrayModule, handle: Array, *, component_types: Any, ctx: KernelContext) -> list[Any]:
    queue = _queue_of(handle)
    _check_types(queue, component_types)
    return list(queue.dequeue(ctx.session.cancellation))


@compute("QueueDequeueManyV2", "QueueDequeueUpToV2", "QueueDequeueMany", "QueueDequeueUpTo", waits=True)
def _dequeue_many(
    xp: ArrayModule, handle: Array, n: Array, *, component_types: Any, ctx: KernelContext
) -> list[Any]:
    queue = _queue_of(handle)
    _check_types(queue, component_types)
    may_be_fewer = ctx.op.type in ("QueueDequeueUpToV2", "QueueDequeueUpTo")
    return list(queue.dequeue_many(int(n), may_be_fewer, ctx.session.cancellation))


def _check_types(queue: queue_resources.Queue, dtypes: Any) -> None:
    if tuple(dtypes) != queue.dtypes:
        texts = [", ".join(dtype.name for dtype in dtype_list) for dtype_list in (queue.dtypes, dtypes)]
        raise InvalidArgumentError.of(
            f"Queue '{queue.name}' holds [{texts[0]}], but the op expects [{texts[1]}]"
        )


@compute("QueueCloseV2", "QueueClose", waits=True)
def _close(xp: ArrayModule, handle: Array, *, cancel_pending_enqueues: bool, ctx: KernelContext) -> tuple[()]:
    _queue_of(handle).close(cancel_pending_enqueues, ctx.session.cancellation)
    return ()


@compute("QueueSizeV2", "QueueSize")
def _size(xp: ArrayModule, handle: Array) -> Array:
    return np.asarray(_queue_of(handle).size, np.int32)


@compute("QueueIsClosedV2", "QueueIsClosed")
def _is_closed(xp: ArrayModule, handle: Array) -> Array:
    return np.asarray(_queue_of(handle).is_closed)


shape_function(*sorted(QUEUE_MAKERS), "QueueSizeV2", "QueueIsClosedV2")(scalar_shape)


shape_function("QueueEnqueueV2", "QueueEnqueueManyV2", "QueueCloseV2")(no_outputs)


@shape_function("QueueDequeueV2")
def _unknown(op: Operation) -> tuple[TensorShape, ...]:
    return (UNKNOWN_SHAPE,) * len(op.attrs["component_types"])


@shape_function("QueueDequeueManyV2", "QueueDequeueUpToV2")
def _unknown_rows(op: Operation) -> tuple[TensorShape, ...]:
    count = constant_value(op.inputs[1])
    if count is not None and int(count) < 0:
        raise ValueError(f"Input 'n' must be >= 0, but is {int(count)}")
    return (UNKNOWN_SHAPE,) * len(op.attrs["component_types"])


class _SparseTensors:
    """Sparse tensors by handle, each taken out once: indices, values and shape."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._held: dict[int, tuple[Any, Any, Any]] = {}

    def add(self, indices: TensorLike, values: TensorLike, shape: ShapeLike) -> int:
        number = next(self._numbers)
        self._held[number] = indices, values, shape
        return number

    def take(self, number: int) -> tuple[Any, Any, Any]:
        parts = self._held.pop(number, None)
        if parts is None:
            raise InvalidArgumentError.of(f"Unable to find SparseTensor: {number} in map")
        return parts


def _sparse_tensors(ctx: KernelContext) -> _SparseTensors:
    tensors: _SparseTensors = own_resource(ctx, ctx.op.attrs, lambda _: _SparseTensors(), True)[0]
    return tensors


def _checked_sparse(indices: Any, values: Any, shape: Any) -> None:
    """Raise InvalidArgumentError if the parts of a sparse tensor do not match."""
    for value, what, kind, rank in (
        (indices, "indices", "matrix", 2),
        (values, "values", "vector", 1),
        (shape, "shape", "vector", 1),
    ):
        if value.ndim != rank:
            raise InvalidArgumentError.of(
                f"Input {what} should be a {kind} but received shape {brackets(value.shape)}"
            )
    for axis, size, what in ((0, len(values), "values"), (1, len(shape), "dimensions")):
        if indices.shape[axis] != size:
            raise InvalidArgumentError.of(
                f"Number of {what} must match {('first', 'second')[axis]} dimension of indices. Got {size} {what}, "
                f"indices shape: {brackets(indices.shape)}"
            )


@compute("AddSparseToTensorsMap")
def _add_sparse(
    xp: ArrayModule, sparse_indices: Array, sparse_values: Array, sparse_shape: Array, *, ctx: KernelContext
) -> Array:
    parts = sparse_indices, sparse_values, sparse_shape
    _checked_sparse(*parts)
    return np.asarray(_sparse_tensors(ctx).add(*map(_kept, parts)), np.int64)


@compute("AddManySparseToTensorsMap")
def _add_many_sparse(
    xp: ArrayModule, sparse_indices: Array, sparse_values: Array, sparse_shape: Array, *, ctx: KernelContext
) -> Array:
    _checked_sparse(sparse_indices, sparse_values, sparse_shape)
    if len(sparse_shape) <= 1:
        raise InvalidArgumentError.of(
            f"Rank of input SparseTensor should be > 1, but saw rank: {len(sparse_shape)}"
        )
    count, rows = int(sparse_shape[0]), sparse_indices[:, 0]
    if len(rows) and not (0 <= int(rows.min()) and int(rows.max()) < count):
        raise InvalidArgumentError.of(
            f"Received invalid batch index in {rows.tolist()}, expected 0 to {count - 1}"
        )
    held, row_shape = _sparse_tensors(ctx), sparse_shape[1:].copy()
    numbers = []
    for row in range(count):
        here = rows == row
        numbers.append(held.add(sparse_indices[here][:, 1:], sparse_values[here], row_shape))
    return np.asarray(numbers, np.int64)


@compute("TakeManySparseFromTensorsMap")
def _take_many_sparse(xp: ArrayModule, sparse_handles: Array, *, dtype: Any, ctx: KernelContext) -> Any:
    if sparse_handles.ndim != 1:
        raise InvalidArgumentError.of(
            f"sparse_handles should be a vector but received shape {brackets(sparse_handles.shape)}"
        )
    if not len(sparse_handles):
        raise InvalidArgumentError.of(
            "Must have at least 1 serialized SparseTensor, but input matrix has 0 rows"
        )
    held = _sparse_tensors(ctx)
    tensors = [held.take(number) for number in sparse_handles.tolist()]
    ranks = [len(shape) + 1 for _, _, shape in tensors]
    for index, rank in enumerate(ranks):
        if rank != ranks[0]:
            raise InvalidArgumentError.of(
                f"Inconsistent rank across SparseTensors: rank prior to SparseTensor[{index}] was: {ranks[0]} but rank"
                f" of SparseTensor[{index}] is: {rank}"
            )
    dtypes = {values.dtype for _, values, _ in tensors}
    numpy_dtype = np.dtype(object if dtype is string else dtype.as_numpy_dtype)
    if dtypes != {numpy_dtype}:
        raise InvalidArgumentError.of(
            f"Requested SparseTensor of type {dtype.name} but SparseTensor[0].values.dtype() differs"
        )
    rows = np.repeat(np.arange(len(tensors), dtype=np.int64), [len(values) for _, values, _ in tensors])
    indices = np.concatenate([indices for indices, _, _ in tensors])
    largest = np.max([shape for _, _, shape in tensors], axis=0)
    return (
        np.concatenate([rows[:, None], indices], axis=1),
        np.concatenate([values for _, values, _ in tensors]),
        np.concatenate([np.asarray([len(tensors)], np.int64), largest]),
    )


shape_function("AddSparseToTensorsMap")(scalar_shape)


@shape_function("AddManySparseToTensorsMap")
def _numbers_shape(op: Operation) -> Any:
    return (TensorShape.of((None,)),)


@shape_function("TakeManySparseFromTensorsMap")
def _sparse_shape(op: Operation) -> Any:
    vector = TensorShape.of((None,))
    return TensorShape.of((None, None)), vector, vector


not_differentiable(
    "AddSparseToTensorsMap", "AddManySparseToTensorsMap", "TakeManySparseFromTensorsMap",
    *sorted(QUEUE_MAKERS), "QueueEnqueueV2", "QueueEnqueueManyV2", "QueueDequeueV2", "QueueDequeueManyV2",
    "QueueDequeueUpToV2", "QueueCloseV2", "QueueSizeV2", "QueueIsClosedV2", *_OLD_MAKERS, "QueueEnqueue",
    "QueueEnqueueMany", "QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo", "QueueClose", "QueueSize",
    "QueueIsClosed",
)  # fmt: skip
