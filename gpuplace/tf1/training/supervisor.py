"""Supervisors: sessions with threads that save, summarize and count; older than monitored sessions.

Source: tensorflow/python/training/supervisor.py and basic_loops.py, release 1.15 (order and names of the
operations, error and log messages).
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gpuplace import tf_logging
from gpuplace.errors import AbortedError, OpError
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.op_sets import REFERENCE_VARIABLES
from gpuplace.graphdef.export import as_graph_def, write_graph
from gpuplace.graphdef.file_writer import FileWriter
from gpuplace.graphdef.messages import SessionLog, Summary
from gpuplace.ops import summaries
from gpuplace.ops.flow import control
from gpuplace.ops.train.global_step import global_step as value_of_step
from gpuplace.ops.variables import initialization
from gpuplace.runtime.session.session import Session
from gpuplace.saving.meta_graph import export_meta_graph
from gpuplace.saving.saver import Saver
from gpuplace.tf1.input.coordinator import Coordinator, LooperThread
from gpuplace.tf1.input.tables import tables_initializer
from gpuplace.tf1.training.session_manager import SessionManager
from gpuplace.typing import ConfigLike, FeedDict, TensorLike

_MOST_RATES = 10


class Supervisor:
    """A session whose variables have values, with threads that save and summarize.

    >>> import gpuplace as tf
    >>> count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    >>> supervisor = tf.train.Supervisor()
    >>> with supervisor.managed_session() as session:
    ...     while not supervisor.should_stop():
    ...         if session.run(count) == 3:
    ...             supervisor.request_stop()

    Args:
        graph: the graph, which is finalized; None for the default one.
        ready_op: a tensor with the names of uninitialized variables; None: no check.
        ready_for_local_init_op: the same before ``local_init_op`` runs; None: no check.
        is_chief: whether this process initializes, saves and writes; otherwise it waits for the chief.
        init_op: initializes the variables if there is no checkpoint, or None.
        init_feed_dict: the feeds for ``init_op``.
        local_init_op: run in every new session, or None.
        logdir: folder of checkpoints and events; None: write nothing.
        summary_op: the merged summary; None for no summaries except those that the program writes by
            ``summary_computed``.
        saver: a ``Saver``; None: save nothing.
        global_step: an integer scalar; None: do not count steps.
        save_summaries_secs: seconds between summaries; 0 for no summaries.
        save_model_secs: seconds between checkpoints; 0 for no checkpoints.
        recovery_wait_secs: seconds between checks while waiting.
        stop_grace_secs: seconds in which threads must end.
        checkpoint_basename: prefix of the checkpoint names.
        session_manager: a ``SessionManager``; None for a new one.
        summary_writer: a ``FileWriter``; None: write nothing.
        init_fn: called with the session after ``init_op``.
        local_init_run_options: ``RunOptions`` of ``local_init_op``.

    Operations that are left out come from the graph's collections or are created.

    Raises:
        ValueError: this process is not the chief, and a variable has no device.
    """

    USE_DEFAULT = 0

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: FeedDict | None = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: str | os.PathLike[str] | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: TensorLike = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        self._graph = get_default_graph() if graph is None else graph
        with self._graph.as_default():
            self._ready_op = self._collected(
                ready_op, GraphKeys.READY_OP, initialization.report_uninitialized_variables
            )
            self._ready_for_local_init_op = self._collected(
                ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None
            )
            self._init_op = self._collected(
                init_op, GraphKeys.INIT_OP, initialization.global_variables_initializer
            )
            self._local_init_op = self._collected(local_init_op, GraphKeys.LOCAL_INIT_OP, _local_init_op)
            self._saver = self._collected(saver, GraphKeys.SAVERS, _saver)
            self._summary_op = self._collected(summary_op, GraphKeys.SUMMARY_OP, summaries.merge_all)
            self._global_step = self._collected(global_step, GraphKeys.GLOBAL_STEP, self._step_by_name)
            self._meta_graph_def = export_meta_graph(
                graph_def=as_graph_def(self._graph, add_shapes=True),
                saver_def=self._saver.saver_def if self._saver else None,
            )
        self._init_feed_dict = init_feed_dict
        self._init_fn = init_fn
        self._is_chief = is_chief
        self._coord = Coordinator()
        self._stop_grace_secs = stop_grace_secs
        self._logdir = None if logdir is None or not is_chief else os.fspath(logdir)
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._save_path = os.path.join(self._logdir, checkpoint_basename) if self._logdir else None
        self._writer: Any = None
        if is_chief and summary_writer is not Supervisor.USE_DEFAULT:
            self._writer = summary_writer
        elif self._logdir:
            self._writer = FileWriter(self._logdir)
        self._graph_is_written = False
        self._manager = session_manager or SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        self._check_devices()
        self._graph.finalize()

    def _collected(self, argument: Any, key: str, make: Callable[[], Any]) -> Any:
        """Return the argument, or the first element of a collection, or a new element that is added to it."""
        if argument is not Supervisor.USE_DEFAULT:
            return argument
        collected = self._graph.get_collection(key)
        if len(collected) > 1:
            tf_logging.info("Found %d %s operations. Returning the first one.", len(collected), key)
        if collected:
            return collected[0]
        element = make()
        if element is not None:
            self._graph.add_to_collection(key, element)
        return element

    def _step_by_name(self) -> Any:
        try:
            step = self._graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
        if step.dtype.base_dtype.name in ("int32", "int64"):
            return step
        tf_logging.warning("Found 'global_step' is not an int type: %s", step.dtype)
        return None

    def _check_devices(self) -> None:
        if self._is_chief:
            return
        for op in self._graph.get_operations():
            if op.type in REFERENCE_VARIABLES and not op.device:
                raise ValueError(f"When using replicas, all Variables must have their device set: {op}")

    # Attributes

    @property
    def is_chief(self) -> bool:
        """Whether this process initializes, saves and writes."""
        return self._is_chief

    @property
    def session_manager(self) -> SessionManager:
        """The ``SessionManager``."""
        return self._manager

    @property
    def coord(self) -> Coordinator:
        """The ``Coordinator`` of its threads."""
        return self._coord

    @property
    def init_op(self) -> Any:
        """The operation that initializes variables."""
        return self._init_op

    @property
    def init_feed_dict(self) -> FeedDict | None:
        """The feeds for ``init_op``."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        """A tensor with the names of uninitialized variables."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """The same before ``local_init_op`` runs."""
        return self._ready_for_local_init_op

    @property
    def summary_writer(self) -> Any:
        """The ``FileWriter``; None if nothing is written."""
        return self._writer

    @property
    def summary_op(self) -> Any:
        """The merged summary."""
        return self._summary_op

    @property
    def save_summaries_secs(self) -> float | None:
        """Seconds between summaries."""
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        """The global step; None if steps are not counted."""
        return self._global_step

    @property
    def saver(self) -> Any:
        """The ``Saver``; None if nothing is saved."""
        return self._saver

    @property
    def save_model_secs(self) -> float | None:
        """Seconds between checkpoints."""
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        """Prefix of the checkpoint paths; None without a folder."""
        return self._save_path

    # Sessions

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: ConfigLike | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:
        """Create a session whose variables have values, and start the threads.

        Args:
            master: execution engine, as for ``Session``.
            config: a ``ConfigProto``.
            wait_for_checkpoint: whether to wait for a checkpoint in the folder.
            max_wait_secs: longest time to wait, in seconds.
            start_standard_services: whether to start the threads that save, summarize and fill queues.

        Returns:
            The session.

        Raises:
            RuntimeError: initialization leaves variables without values.
        """
        self._coord.clear_stop()
        if self._writer:
            self._writer.reopen()
        if self._is_chief:
            session = self._manager.prepare_session(
                master,
                init_op=self._init_op,
                saver=self._saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                tf_logging.info("Starting standard services.")
                self.start_standard_services(session)
        else:
            session = self._manager.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            tf_logging.info("Starting queue runners.")
            self.start_queue_runners(session)
        return session

    def _write_graph(self) -> None:
        if self._logdir:
            write_graph(as_graph_def(self._graph, add_shapes=True), self._logdir, "graph.pbtxt")
        if self._writer and not self._graph_is_written:
            self._writer.add_graph(self._graph)
            self._writer.add_meta_graph(self._meta_graph_def)
            self._graph_is_written = True

    @contextlib.contextmanager
    def managed_session(
        self,
        master: str = "",
        config: ConfigLike | None = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:
        """Run a block with a session and its threads; an error in one of them ends the others.

        Args:
            master: execution engine, as for ``Session``.
            config: a ``ConfigProto``.
            start_standard_services: whether to start the threads that save, summarize and fill queues.
            close_summary_writer: whether to close the event file at the end.

        Returns:
            A context manager that yields the session.

        Raises:
            Exception: the block or a thread raised an error other than the end of the input.
        """
        session = None
        try:
            session = self.prepare_or_wait_for_session(
                master=master, config=config, start_standard_services=start_standard_services
            )
            yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                # raises the error that the block or a thread reported
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if session is not None:
                    with contextlib.suppress(OpError, RuntimeError):
                        session.close()

    # Threads

    def start_standard_services(self, sess: Session) -> list[LooperThread] | None:
        """Start the threads that summarize, count steps and save.

        Args:
            sess: the session.

        Returns:
            The threads; None without a folder to write to.

        Raises:
            RuntimeError: this process is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors can write events."
            )
        if not self._logdir:
            tf_logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self._global_step is not None and self._writer:
            step = value_of_step(sess, self._global_step)
            self._writer.add_session_log(SessionLog(status=SessionLog.START), step)
        threads: list[LooperThread] = []
        if self._save_summaries_secs and self._writer:
            if self._summary_op is not None:
                threads.append(_SummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(_StepCounterThread(self, sess))
        if self._saver and self._save_model_secs:
            threads.append(_CheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(
        self, sess: Session, queue_runners: Sequence[Any] | None = None
    ) -> list[threading.Thread]:
        """Start threads that fill queues.

        Args:
            sess: the session.
            queue_runners: ``QueueRunner`` objects; None for those of the graph.

        Returns:
            The threads.
        """
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        threads: list[threading.Thread] = []
        for runner in queue_runners:
            threads.extend(runner.create_threads(sess, coord=self._coord, daemon=True, start=True))
        return threads

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Start a thread that calls a function repeatedly until a stop is requested.

        Args:
            timer_interval_secs: seconds between the starts of calls; None: no pause.
            target: the function.
            args: its positional arguments.
            kwargs: its keyword arguments.

        Returns:
            The thread.
        """
        looper = LooperThread(
            self._coord,
            timer_interval_secs,
            target=target,
            args=None if args is None else tuple(args),
            kwargs=None if kwargs is None else dict(kwargs),
        )
        looper.start()
        return looper

    def stop(
        self,
        threads: Sequence[threading.Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stop the threads.

        Args:
            threads: further threads to wait for, or None.
            close_summary_writer: whether to close the event file.
            ignore_live_threads: whether to log threads that do not end instead of raising an error.

        Raises:
            RuntimeError: a thread did not end in time.
            Exception: a thread raised it.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self._writer:
                self._writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self._writer.close()
                self._graph_is_written = False

    def request_stop(self, ex: Any = None) -> None:
        """Request that the threads and the program stop.

        Args:
            ex: the error that is the reason, or None.
        """
        self._coord.request_stop(ex)

    def should_stop(self) -> bool:
        """Return whether a stop was requested."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> contextlib.AbstractContextManager[None]:
        """Return a block whose errors request a stop.

        Returns:
            A context manager.
        """
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until a stop is requested."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Session, summary: Any, global_step: int | None = None) -> None:
        """Write a summary.

        Args:
            sess: the session.
            summary: a ``Summary``, or its bytes.
            global_step: the step to record with it; None for the session's.

        Raises:
            RuntimeError: there is no summary writer.
        """
        if not self._writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = value_of_step(sess, self._global_step)
        self._writer.add_summary(summary, global_step)

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def _local_init_op() -> Any:
    return control.group(initialization.local_variables_initializer(), tables_initializer())


def _saver() -> Saver | None:
    return Saver() if initialization.global_variables() else None


class _SummaryThread(LooperThread):
    """Thread that writes summaries."""

    def __init__(self, supervisor: Supervisor, session: Session) -> None:
        super().__init__(supervisor.coord, supervisor.save_summaries_secs)
        self._supervisor = supervisor
        self._session = session

    def run_loop(self) -> None:
        supervisor = self._supervisor
        if supervisor.global_step is not None:
            summary, step = self._session.run([supervisor.summary_op, supervisor.global_step])
        else:
            summary, step = self._session.run(supervisor.summary_op), None
        if supervisor.summary_writer:
            tf_logging.info("Recording summary at step %s.", step)
            supervisor.summary_writer.add_summary(summary, step)


class _StepCounterThread(LooperThread):
    """Thread that writes the number of steps per second."""

    def __init__(self, supervisor: Supervisor, session: Session) -> None:
        super().__init__(supervisor.coord, supervisor.save_summaries_secs)
        self._supervisor = supervisor
        self._session = session
        self._tag = f"{supervisor.global_step.op.name}/sec"
        self._time = 0.0
        self._step = 0
        self._logged = 0

    def start_loop(self) -> None:
        self._time = time.time()
        self._step = value_of_step(self._session, self._supervisor.global_step)

    def run_loop(self) -> None:
        step, now = value_of_step(self._session, self._supervisor.global_step), time.time()
        steps, seconds = step - self._step, now - self._time
        self._step, self._time = step, now
        rate = steps / seconds if seconds > 0 else float("inf")
        if self._supervisor.summary_writer:
            value = Summary.Value(tag=self._tag, simple_value=rate)
            self._supervisor.summary_writer.add_summary(Summary(value=[value]), step)
        if self._logged < _MOST_RATES:
            self._logged += 1
            tf_logging.info("%s: %g", self._tag, rate)


class _CheckpointThread(LooperThread):
    """Thread that saves the variables."""

    def __init__(self, supervisor: Supervisor, session: Session) -> None:
        super().__init__(supervisor.coord, supervisor.save_model_secs)
        self._supervisor = supervisor
        self._session = session

    def run_loop(self) -> None:
        supervisor, step = self._supervisor, self._supervisor.global_step
        tf_logging.info("Saving checkpoint to path %s", supervisor.save_path)
        supervisor.saver.save(self._session, supervisor.save_path, global_step=step)
        if supervisor.summary_writer and step is not None:
            supervisor.summary_writer.add_session_log(
                SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=supervisor.save_path),
                value_of_step(self._session, step),
            )


def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Call a function in a supervisor's session until a stop is requested.

    Args:
        supervisor: the ``Supervisor``.
        train_step_fn: takes the session, then ``args`` and ``kwargs``.
        args: its other positional arguments.
        kwargs: its keyword arguments.
        master: execution engine, as for ``Session``.
    """
    while True:
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
            return
        except AbortedError:  # continue from the last checkpoint
            continue
