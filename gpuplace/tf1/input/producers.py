"""``tf.train.string_input_producer`` and the like: queues of inputs to read, filled by a thread.

Source: tensorflow/python/training/input.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

from gpuplace.dtypes import float32, int64, string
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import convert_to_tensor, get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array import constant, gather, reshaping
from gpuplace.ops.flow.assert_and_print import Assert
from gpuplace.ops.math import comparison
from gpuplace.ops.math.cast import cast
from gpuplace.ops.random.random_ops import random_shuffle
from gpuplace.ops.variables.variables import Variable
from gpuplace.tf1.input.queue_runner import QueueRunner, add_queue_runner
from gpuplace.tf1.input.queues import FIFOQueue, QueueBase
from gpuplace.typing import ShapeLike, TensorLike, TensorsLike

__all__ = [
    "input_producer", "limit_epochs", "range_input_producer", "slice_input_producer", "string_input_producer",
]  # fmt: skip


def limit_epochs(tensor: TensorLike, num_epochs: int | None = None, name: str | None = None) -> Tensor:
    """Return a tensor that can be evaluated a limited number of times, counted in a local variable ``epochs``.

    Args:
        tensor: the tensor.
        num_epochs: the limit, positive; None: no limit, and the tensor is returned unchanged.
        name: name of the op.

    Returns:
        The tensor.

    Raises:
        ValueError: ``num_epochs`` is not positive.
        OutOfRangeError: at run time, the limit is exceeded.
    """
    if num_epochs is None:
        return tensor  # type: ignore[return-value]
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        zero = constant.constant(0, dtype=int64)
        epochs = Variable(zero, name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
        counter = epochs.count_up_to(num_epochs)
        with get_default_graph().control_dependencies([counter]):
            return reshaping.identity(tensor, name=scope)


def fullness_summary(name: str, part: Tensor) -> None:
    """Add a summary of the fraction of a queue that is full."""
    with name_scope(name, None, [part]) as scope:
        summary = apply_op("ScalarSummary", scope, tags=scope.rstrip("/"), values=part).outputs[0]
    get_default_graph().add_to_collection(GraphKeys.SUMMARIES, summary)


def input_producer(
    input_tensor: TensorLike, element_shape: ShapeLike = None, num_epochs: int | None = None, shuffle: bool = True,
    seed: int | None = None, capacity: int = 32, shared_name: str | None = None, summary_name: str | None = None,
    name: str | None = None, cancel_op: Operation | None = None,
) -> QueueBase:  # fmt: skip
    """Return a queue of the rows of a tensor, and add its queue runner to the graph.

    Args:
        input_tensor: the tensor.
        element_shape: shape of a row, if the shape of the tensor is unknown.
        num_epochs: number of times that every row is produced; None: unlimited. A local variable counts them, so
            ``tf.local_variables_initializer()`` has to be run.
        shuffle: whether every epoch has a new random order.
        seed: seed of the shuffle.
        capacity: maximum number of elements in the queue.
        shared_name: queues that share a name, in a session, are one queue.
        summary_name: name of a summary of how full it is; None: no summary.
        name: name of the scope.
        cancel_op: the operation that cancels the queue; None: a new one.

    Returns:
        A ``FIFOQueue``.

    Raises:
        ValueError: the shape of a row is not fully known.
    """
    with name_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        shape = rows.shape[1:].merge_with(element_shape)
        if not shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(
            capacity, [rows.dtype.base_dtype], [shape], shared_name=shared_name, name=name or "FIFOQueueV2"
        )
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        if summary_name is not None:
            fullness_summary(summary_name, cast(queue.size(), float32) * (1.0 / capacity))
        return queue


def string_input_producer(
    string_tensor: TensorLike, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None,
    capacity: int = 32, shared_name: str | None = None, name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:  # fmt: skip
    """Return a queue of strings, such as file names, and add its queue runner to the graph.

    Args:
        string_tensor: a list of strings or a string vector.
        num_epochs: as for ``input_producer``.
        shuffle: as for ``input_producer``.
        seed: as for ``input_producer``.
        capacity: as for ``input_producer``.
        shared_name: as for ``input_producer``.
        name: name of the scope.
        cancel_op: as for ``input_producer``.

    Returns:
        A ``FIFOQueue`` of string scalars.

    Raises:
        ValueError: the list is empty.
        InvalidArgumentError: at run time, the vector is empty.
    """
    empty = "string_input_producer requires a non-null input tensor"
    if isinstance(string_tensor, Sized) and not isinstance(string_tensor, Tensor) and not len(string_tensor):
        raise ValueError(empty)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(string_tensor, dtype=string)
        checked = Assert(comparison.greater(reshaping.size(strings), 0), [empty])
        with get_default_graph().control_dependencies([checked]):
            strings = reshaping.identity(strings)
        return input_producer(
            strings, [], num_epochs, shuffle, seed, capacity, shared_name, f"fraction_of_{capacity}_full", scope,
            cancel_op,
        )  # fmt: skip


def range_input_producer(
    limit: TensorLike, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None,
    capacity: int = 32, shared_name: str | None = None, name: str | None = None,
) -> QueueBase:  # fmt: skip
    """Return a queue of the numbers below a limit, and add its queue runner to the graph.

    Args:
        limit: an int32 scalar.
        num_epochs: as for ``input_producer``.
        shuffle: as for ``input_producer``.
        seed: as for ``input_producer``.
        capacity: as for ``input_producer``.
        shared_name: as for ``input_producer``.
        name: name of the scope.

    Returns:
        A ``FIFOQueue`` of int32 scalars.
    """
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            constant.range(limit), [], num_epochs, shuffle, seed, capacity, shared_name,
            f"fraction_of_{capacity}_full", scope,
        )  # fmt: skip


def slice_input_producer(
    tensor_list: TensorsLike, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None,
    capacity: int = 32, shared_name: str | None = None, name: str | None = None,
) -> Sequence[Tensor]:  # fmt: skip
    """Return corresponding rows of tensors, the next ones in every step.

    Args:
        tensor_list: tensors with the same number of rows.
        num_epochs: as for ``input_producer``.
        shuffle: as for ``input_producer``.
        seed: as for ``input_producer``.
        capacity: as for ``input_producer``.
        shared_name: as for ``input_producer``.
        name: name of the scope.

    Returns:
        A list of tensors.

    Raises:
        ValueError: there are no tensors.
        OutOfRangeError: at run time, every row has been produced ``num_epochs`` times.
    """
    tensors: list[Any] = list(tensor_list)
    with name_scope(name, "input_producer", tensors):
        tensors = [convert_to_tensor(tensor) for tensor in tensors]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        count = reshaping.shape(tensors[0])[0]
        queue = range_input_producer(count, num_epochs, shuffle, seed, capacity, shared_name=shared_name)
        index = queue.dequeue()
        return [gather.gather(tensor, index) for tensor in tensors]
