"""``tf.train.QueueRunner``: threads that fill a queue, until the input ends or they are asked to stop.

Source: tensorflow/python/training/queue_runner_impl.py, release 1.15.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.callers import OwnFramesHidden
from gpuplace.display import above
from gpuplace.errors import (
    OpError,
    OutOfRangeError,
    error_code_from_exception_type,
    exception_type_from_error_code,
)
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph_keys import COLLECTED, GraphKeys
from gpuplace.graph.operation import Operation
from gpuplace.graph.stacks import get_default_session
from gpuplace.tf1.input.coordinator import Coordinator
from gpuplace.tf1.input.queues import QueueBase

__all__ = ["QueueRunner", "add_queue_runner", "start_queue_runners"]

_log = logging.getLogger("tensorflow")

_MONITORED = ("MonitoredSession", "SingularMonitoredSession")
"""Sessions that start queue runners themselves."""


class QueueRunner:
    """The operations that fill a queue, each run repeatedly by its own thread.

    Args:
        queue: the queue; None with ``queue_runner_def``.
        enqueue_ops: a list of enqueue operations; an operation listed twice gets two threads.
        close_op: closes the queue; None: a new operation.
        cancel_op: closes the queue and cancels pending enqueues; None: a new operation.
        queue_closed_exception_types: a tuple of exceptions that mean the end of the input; None: ``OutOfRangeError``.
        queue_runner_def: a ``QueueRunnerDef`` to read all of this from.
        import_scope: a name scope for the names in it.

    Raises:
        ValueError: there is neither a queue with operations nor a ``queue_runner_def``, or both.
        TypeError: the exception types are not such a tuple.
    """

    def __init__(
        self, queue: QueueBase | None = None, enqueue_ops: Sequence[Operation] | None = None,
        close_op: Operation | None = None, cancel_op: Operation | None = None,
        queue_closed_exception_types: tuple[type[OpError], ...] | None = None, queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:  # fmt: skip
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._read(queue_runner_def, import_scope)
        else:
            if queue is None or not enqueue_ops:
                raise ValueError("queue and enqueue_ops are required.")
            self._queue: Any = queue
            self._enqueue_ops = list(enqueue_ops)
            self._close_op = queue.close() if close_op is None else close_op
            self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
            if queue_closed_exception_types is None:
                queue_closed_exception_types = (OutOfRangeError,)
            elif not (
                isinstance(queue_closed_exception_types, tuple)
                and queue_closed_exception_types
                and all(issubclass(error, OpError) for error in queue_closed_exception_types)
            ):
                raise TypeError(
                    "queue_closed_exception_types, when provided, must be a tuple of tf.error types, but saw:"
                    f" {queue_closed_exception_types}"
                )
            self._closed_types = queue_closed_exception_types
        self._lock = threading.Lock()
        self._running: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        """Session -> number of its threads."""
        self._exceptions: list[Exception] = []

    def _read(self, message: Any, import_scope: str | None) -> None:
        graph = get_default_graph()

        def element(name: str) -> Any:
            return graph.as_graph_element(f"{import_scope}/{name}" if import_scope else name)

        self._queue = element(message.queue_name)
        self._enqueue_ops = [element(name) for name in message.enqueue_op_name]
        self._close_op = element(message.close_op_name)
        self._cancel_op = element(message.cancel_op_name)
        codes = message.queue_closed_exception_types
        self._closed_types = tuple(exception_type_from_error_code(code) for code in codes) or (
            OutOfRangeError,
        )

    @property
    def queue(self) -> Any:
        """The queue; the tensor of its handle if it comes from a ``QueueRunnerDef``."""
        return self._queue

    @property
    def enqueue_ops(self) -> list[Operation]:
        """The enqueue operations."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Operation:
        """The operation that closes the queue."""
        return self._close_op

    @property
    def cancel_op(self) -> Operation:
        """The operation that closes the queue and cancels pending enqueues."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[OpError], ...]:
        """The errors that mean the end of the input."""
        return self._closed_types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """The errors of threads without a coordinator."""
        return self._exceptions

    @property
    def name(self) -> str:
        """Name of the queue."""
        name: str = self._queue.name
        return name

    def create_threads(
        self, sess: Any, coord: Coordinator | None = None, daemon: bool = False, start: bool = False
    ) -> list[threading.Thread]:
        """Create the threads that run the operations in a session, unless they are already running.

        Args:
            sess: the session.
            coord: stops the threads and collects their errors; None: no coordinator.
            daemon: whether the program may end before the threads do.
            start: whether to start them.

        Returns:
            A list of threads: one for each operation and, with a coordinator, one that cancels them on a stop request.
        """
        with self._lock:
            if self._running.get(sess, 0) > 0:
                return []
            self._running[sess] = len(self._enqueue_ops)
            self._exceptions = []
        threads = [
            threading.Thread(target=self._run, args=(sess, op, coord), name=self._thread_name(op.name))
            for op in self._enqueue_ops
        ]
        if coord is not None:
            threads.append(
                threading.Thread(
                    target=self._close_on_stop, args=(sess, coord), name=self._thread_name("close_on_stop")
                )
            )
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            thread.daemon = daemon or thread.daemon
            if start:
                thread.start()
        return threads

    def _thread_name(self, work: str) -> str:
        return f"QueueRunnerThread-{self.name}-{work}"

    def _run(self, sess: Any, enqueue_op: Operation, coord: Coordinator | None) -> None:
        """Run an operation until the input ends, it fails, or the coordinator stops it; the body of a thread."""
        is_last = False
        try:
            enqueue = self._enqueuer(sess, enqueue_op)
            while coord is None or not coord.should_stop():
                enqueue()
        except self._closed_types:
            is_last = self._has_ended(sess)
            if is_last:
                self._close_quietly(sess, self._close_op)
            return
        except Exception as error:
            self._has_ended(sess)
            if coord is not None:
                coord.request_stop(error)
                return
            _log.error("Exception in QueueRunner: %s", error)
            with self._lock:
                self._exceptions.append(error)
            raise
        self._has_ended(sess)

    def _enqueuer(self, sess: Any, enqueue_op: Operation) -> Callable[[], Any]:
        """Return the function with which a thread enqueues."""
        enqueue: Callable[[], Any] = sess.make_callable(enqueue_op)
        return enqueue

    def _has_ended(self, sess: Any) -> bool:
        """Note that a thread has ended, and return whether it was the last one."""
        with self._lock:
            left = self._running[sess] = self._running[sess] - 1
            return left == 0

    def _close_on_stop(self, sess: Any, coord: Coordinator) -> None:
        coord.wait_for_stop()
        self._close_quietly(sess, self._cancel_op)

    def _close_quietly(self, sess: Any, op: Operation) -> None:
        """Close the queue; ignore failures, because the queue or the session may already be closed."""
        try:
            sess.run(op)
        except (OpError, RuntimeError) as error:
            _log.debug("Ignored exception: %s", error)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return this as a ``QueueRunnerDef``; None if the queue is outside of the name scope.

        Args:
            export_scope: a name scope to remove from the names in the message, or None.
        """
        message_class = above("gpuplace.graphdef.messages", "QueueRunnerDef")

        prefix = f"{export_scope}/" if export_scope else ""
        if not self.name.startswith(prefix):
            return None

        def name(op: Any) -> str:
            return str(op.name).removeprefix(prefix)

        return message_class(
            queue_name=name(self._queue),
            enqueue_op_name=[name(op) for op in self._enqueue_ops],
            close_op_name=name(self._close_op),
            cancel_op_name=name(self._cancel_op),
            queue_closed_exception_types=[error_code_from_exception_type(cls) for cls in self._closed_types],
        )

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """Return the queue runner of a ``QueueRunnerDef``, with the operations of the default graph.

        Args:
            queue_runner_def: the message.
            import_scope: a name scope to add to the names in it, or None.
        """
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


COLLECTED[GraphKeys.QUEUE_RUNNERS] = QueueRunner


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Add a queue runner to a collection of the default graph, for ``start_queue_runners``.

    Args:
        qr: the queue runner.
        collection: name of the collection.
    """
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None, coord: Coordinator | None = None, daemon: bool = True, start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:  # fmt: skip
    """Start the threads of all queue runners in a collection of the graph.

    Args:
        sess: the session; None: the default one.
        coord: stops the threads and collects their errors; None: no coordinator.
        daemon: whether the program may end before the threads do.
        start: whether to start them.
        collection: name of the collection.

    Returns:
        A list of threads.

    Raises:
        ValueError: there is no default session.
        TypeError: ``sess`` is not a session.
    """
    if sess is None:
        sess = get_default_session()
        if sess is None:
            with OwnFramesHidden(ValueError):
                raise ValueError(
                    "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass"
                    " an explicit session to tf.start_queue_runners(sess=sess)"
                )
    if type(sess).__name__ in _MONITORED:
        return []
    if not hasattr(sess, "make_callable") or not hasattr(sess, "graph"):
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    runners = sess.graph.get_collection(collection)
    if not runners:
        _log.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. You can safely remove the"
            " call to this deprecated function."
        )
    threads: list[threading.Thread] = []
    with sess.graph.as_default():
        for runner in runners:
            threads.extend(runner.create_threads(sess, coord=coord, daemon=daemon, start=start))
    return threads
