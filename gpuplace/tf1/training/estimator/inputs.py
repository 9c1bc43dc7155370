"""``tf.estimator.inputs``: functions that feed arrays or a pandas DataFrame through a queue.

    arrays --feed--> placeholders -> enqueue_many -> queue -> dequeue_many / dequeue_up_to -> features, labels

Source: tensorflow_estimator/python/estimator/inputs/{numpy_io,pandas_io}.py and inputs/queues, release 1.15.1
(names of the ops and summaries, messages).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype, float32, int64
from gpuplace.errors import CancelledError, OutOfRangeError
from gpuplace.graph.convert import name_scope
from gpuplace.graph.operation import Operation
from gpuplace.ops import summaries
from gpuplace.ops.array.constant import placeholder
from gpuplace.ops.math.cast import cast
from gpuplace.ops.math.elementwise import maximum
from gpuplace.tf1.input.queue_runner import QueueRunner, add_queue_runner
from gpuplace.tf1.input.queues import FIFOQueue, QueueBase, RandomShuffleQueue
from gpuplace.typing import TensorLike

__all__ = ["numpy_input_fn", "pandas_input_fn"]

InputFn = Callable[[], Any]

_DIRECT = "__direct_np_input__"
_TARGET = "__target_key__"


def _batches(count: int, size: int, start: int, epochs: int | None) -> Iterator[np.ndarray]:
    """Yield the row numbers of each batch, wrapping around from ``start``; the last epoch ends where it began."""
    if epochs is None:
        while True:
            yield np.arange(start, start + size) % count
            start = (start + size) % count
    left = epochs * count
    while left:
        now = min(size, left)
        yield np.arange(start, start + now) % count
        start = (start + now) % count
        left -= now
    raise OutOfRangeError(None, None, f"Already emitted {epochs} epochs.")


class _FeedingQueueRunner(QueueRunner):
    """A queue runner that feeds its operations.

    Args:
        queue: the queue.
        enqueue_ops: operations that fill the queue.
        feeds: functions that return the placeholders' values, one for each operation.
    """

    def __init__(
        self, queue: QueueBase, enqueue_ops: Sequence[Operation], feeds: Sequence[Iterator[dict[Any, Any]]]
    ) -> None:
        super().__init__(queue, enqueue_ops, queue_closed_exception_types=(OutOfRangeError, CancelledError))
        self._feeds = dict(zip(enqueue_ops, feeds, strict=True))

    def _enqueuer(self, sess: Any, enqueue_op: Operation) -> Callable[[], Any]:
        feeds = self._feeds[enqueue_op]
        return lambda: sess.run(enqueue_op, feed_dict=next(feeds))

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Raise an error, because fed values cannot be saved.

        Args:
            export_scope: not used.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"{type(self).__name__} does not support serialization to proto.")


def _create_queue(
    columns: Sequence[np.ndarray], capacity: int, shuffle: bool, threads: int, size: int, epochs: int | None
) -> QueueBase:
    """Return a queue that threads fill with the rows of columns of equal length."""
    count = len(columns[0])
    with name_scope("enqueue_input"):
        types = [as_dtype(column.dtype) for column in columns]
        shapes = [column.shape[1:] for column in columns]
        least = capacity // 4 if shuffle else 0
        queue: QueueBase
        if shuffle:
            queue = RandomShuffleQueue(capacity, least, dtypes=types, shapes=shapes)
        else:
            queue = FIFOQueue(capacity, dtypes=types, shapes=shapes)
        enqueues, feeds = [], []
        for _ in range(threads):
            holders = [placeholder(dtype) for dtype in types]
            enqueues.append(queue.enqueue_many(holders))
            start = random.randrange(count) if shuffle else 0
            feeds.append(_fed(holders, columns, _batches(count, size, start, epochs)))
        add_queue_runner(_FeedingQueueRunner(queue, enqueues, feeds))
        full = cast(maximum(0, queue.size() - least), float32) * (1.0 / (capacity - least))
        summaries.scalar(f"queue/{queue.name}fraction_over_{least}_of_{capacity - least}_full", full)
    return queue


def _fed(
    holders: Sequence[Any], columns: Sequence[np.ndarray], batches: Iterator[np.ndarray]
) -> Iterator[dict[Any, Any]]:
    for rows in batches:
        yield {holder: column[rows] for holder, column in zip(holders, columns, strict=True)}


def _dequeue_batch(queue: QueueBase, size: int, epochs: int | None) -> list[Any]:
    """Return a batch from the queue, without the row numbers."""
    batch = queue.dequeue_many(size) if epochs is None else queue.dequeue_up_to(size)
    return list(batch)[1:]


def _check_shuffle(shuffle: Any, advice: str) -> None:
    if not isinstance(shuffle, bool):
        raise ValueError(f"shuffle must be provided and explicitly set as boolean ({advice}); got {shuffle}")


def numpy_input_fn(
    x: TensorLike,
    y: TensorLike | None = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> InputFn:
    """Return a function whose features and labels come from arrays.

    Args:
        x: an array, or a dict from name to array; the first dimension counts the examples.
        y: labels, in the same form, or None.
        batch_size: number of examples in a batch.
        num_epochs: number of passes over all examples; None: without end.
        shuffle: whether to shuffle the examples.
        queue_capacity: capacity of the queue.
        num_threads: number of threads that fill the queue; each goes through all epochs.

    Returns:
        An ``input_fn`` that returns features, or features and labels.

    Raises:
        ValueError: ``shuffle`` is not given; in the function: arrays are empty or of different lengths, or
            ``x`` and ``y`` share a key.
        TypeError: in the function: ``x`` is neither an array nor a dictionary.
    """
    _check_shuffle(shuffle, "it is recommended to set it as True for training")

    def input_fn() -> Any:
        features = _sorted_features(x)
        labels: Mapping[str, Any]
        if y is None:
            labels = {}
        elif isinstance(y, dict):
            labels = _sorted_labels(y, features)
        else:
            key = _TARGET
            while key in features:
                key += "_n"
            labels = {key: y}
        columns = {**features, **labels}
        _check_lengths(columns, features, labels, isinstance(y, dict))
        count = len(next(iter(columns.values())))
        rows = np.arange(count, dtype=int64.as_numpy_dtype)
        queue = _create_queue(
            [rows, *columns.values()], queue_capacity, bool(shuffle), num_threads, batch_size, num_epochs
        )
        batch = _dequeue_batch(queue, batch_size, num_epochs)
        named = dict(zip(columns, batch, strict=True))
        parts = named[_DIRECT] if isinstance(x, np.ndarray) else {key: named[key] for key in features}
        if y is None:
            return parts
        return parts, ({key: named[key] for key in labels} if isinstance(y, dict) else batch[-1])

    return input_fn


def _sorted_features(x: TensorLike) -> dict[str, Any]:
    if isinstance(x, dict):
        if not x:
            raise ValueError("x cannot be an empty dict")
        return dict(sorted(x.items()))
    if isinstance(x, np.ndarray):
        if x.size == 0:
            raise ValueError("x cannot be an empty array")
        return {_DIRECT: x}
    raise TypeError(f"x must be a dict or array; got {type(x).__name__}")


def _sorted_labels(y: Mapping[str, Any], features: Mapping[str, Any]) -> dict[str, Any]:
    if not y:
        raise ValueError("y cannot be empty dict, use None instead.")
    both = set(features) & set(y)
    if both:
        raise ValueError(f"{len(both)} duplicate keys are found in both x and y: {both}")
    return dict(sorted(y.items()))


def _check_lengths(
    columns: Mapping[str, Any], features: Mapping[str, Any], labels: Mapping[str, Any], named: bool
) -> None:
    if len({column.shape[0] for column in columns.values()}) == 1:
        return
    shapes: Any = {key: column.shape for key, column in labels.items()} or None
    if shapes and not named:
        shapes = next(iter(shapes.values()))
    raise ValueError(
        "Length of tensors in x and y is mismatched. All elements in x and y must have the same length.\nShapes in x:"
        f" { {key: column.shape for key, column in features.items()} }\nShapes in y: {shapes}\n"
    )


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> InputFn:
    """Return a function whose features and labels come from a pandas DataFrame.

    Args:
        x: the DataFrame; its columns are the features.
        y: a Series or DataFrame of labels with the same index, or None.
        batch_size: number of examples in a batch.
        num_epochs: number of passes over all rows; None: without end.
        shuffle: whether to shuffle the examples.
        queue_capacity: capacity of the queue.
        num_threads: number of threads that fill the queue; each goes through all epochs.
        target_column: name of the labels' column.

    Returns:
        An ``input_fn`` that returns a dictionary of features, or features and labels.

    Raises:
        ValueError: ``shuffle`` is not given, ``x`` has a column named ``target_column``, or the indices
            differ.
        TypeError: ``x`` is not a DataFrame.
    """
    if not hasattr(x, "columns") or not hasattr(x, "index"):
        raise TypeError(
            "pandas_input_fn should not be called without pandas installed: x must be a DataFrame"
        )
    x = x.copy()
    if y is not None:
        if target_column in x:
            raise ValueError(f"Cannot use name {target_column} for target column: DataFrame already has a column with"
                             f" that name: {x.columns}")  # fmt: skip
        if not x.index.equals(y.index):
            raise ValueError(
                f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}\n"
            )
        if hasattr(y, "columns"):
            names = [f"{target_column}_{name}" for name in y.columns]
            for name, column in zip(names, y.columns, strict=True):
                x[name] = y[column]
        else:
            names = [target_column]
            x[target_column] = y
    else:
        names = []
    _check_shuffle(shuffle, "it is recommended to set it as True for training")

    def input_fn() -> Any:
        columns = [_supported(x.index.to_numpy()), *(_supported(x[name].to_numpy()) for name in x.columns)]
        queue = _create_queue(columns, queue_capacity, bool(shuffle), num_threads, batch_size, num_epochs)
        named = dict(zip(x.columns, _dequeue_batch(queue, batch_size, num_epochs), strict=True))
        labels = [named.pop(name) for name in names]
        if y is None:
            return named
        return named, (dict(zip(y.columns, labels, strict=True)) if hasattr(y, "columns") else labels[0])

    return input_fn


def _supported(column: np.ndarray) -> np.ndarray:
    """Return an array of a dtype that TensorFlow has: pandas' own strings become objects."""
    return column if column.dtype.kind in "biufcO" else column.astype(object)
