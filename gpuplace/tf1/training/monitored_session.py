"""Sessions that initialize variables, restore them, run hooks, and restart after a preemption.

::

    MonitoredSession.run
      _RecoverableSession      AbortedError, UnavailableError: restore in a new session, repeat the run
        _CoordinatedSession    raises errors of queue threads first; close stops them
          _HookedSession       before_run, one joint run, after_run
            Session

The three are ``_WrappedSession`` objects, which delegate what they do not handle to the session inside.

Source: tensorflow/python/training/monitored_session.py, release 1.15 (error and log messages).
"""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from gpuplace import tf_logging
from gpuplace.errors import AbortedError, OutOfRangeError, UnavailableError
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graphdef.messages import RunMetadata, RunOptions
from gpuplace.tf1.input.coordinator import Coordinator
from gpuplace.tf1.input.queue_runner import start_queue_runners
from gpuplace.tf1.training.saver_hooks import CheckpointSaverHook, StepCounterHook, SummarySaverHook
from gpuplace.tf1.training.scaffold import Scaffold
from gpuplace.tf1.training.session_manager import SessionManager
from gpuplace.tf1.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from gpuplace.typing import ConfigLike, FeedDict, FetchLike

_PREEMPTIONS = (AbortedError, UnavailableError)
_CREATION_FAILED = (
    "An error was raised while a session was being created. This may be due to a preemption of a connected worker or"
    " parameter server. A new session will be created. Error: %s"
)
_RUN_FAILED = (
    "An error was raised. This may be due to a preemption in a connected worker or parameter server. The current"
    " session will be closed and a new session will be created. Error: %s"
)
_CHECK_FAILED = (
    "An error was raised while considering whether the session is complete. This may be due to a preemption in a"
    " connected worker or parameter server. The current session will be closed and a new session will be created."
    " Error: %s"
)
_CLOSE_FAILED = (
    "An error occurred when attempting to close the session. This may be due to a preemption in a connected worker or"
    " parameter server. Error: %s"
)
_USE_DEFAULT = object()
_DEFAULT_SUMMARY_STEPS = 100
_DEFAULT_CHECKPOINT_SECS = 600


class SessionCreator(ABC):
    """Base class of session factories."""

    @abstractmethod
    def create_session(self) -> Any:
        """Create a session whose variables have values."""


class ChiefSessionCreator(SessionCreator):
    """A session factory that restores or initializes variables.

    Args:
        scaffold: a ``Scaffold``; None for a new one.
        master: execution engine, as for ``Session``.
        config: a ``ConfigProto``.
        checkpoint_dir: folder whose last checkpoint is restored, or None.
        checkpoint_filename_with_path: a checkpoint to restore, or None.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigLike | None = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        checkpoint_filename_with_path: str | os.PathLike[str] | None = None,
    ) -> None:
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint = checkpoint_filename_with_path
        self._scaffold = scaffold or Scaffold()
        self._manager: SessionManager | None = None
        self._master = master
        self._config = config

    def create_session(self) -> Any:
        """Finalise the graph and create a session.

        Returns:
            A ``Session``.

        Raises:
            RuntimeError: initialization leaves variables without values.
        """
        scaffold = self._scaffold.finalize()
        self._manager = self._manager or _manager_of(scaffold)
        return self._manager.prepare_session(
            self._master,
            saver=scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint,
            config=self._config,
            init_op=scaffold.init_op,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )


class WorkerSessionCreator(SessionCreator):
    """A session factory that waits until the chief has initialized the variables.

    Args:
        scaffold: a ``Scaffold``; None for a new one.
        master: execution engine, as for ``Session``.
        config: a ``ConfigProto``.
        max_wait_secs: longest time to wait, in seconds.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigLike | None = None,
        max_wait_secs: float | None = 30 * 60,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._manager: SessionManager | None = None
        self._master = master
        self._config = config
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Any:
        """Finalise the graph and create a session.

        Returns:
            A ``Session``.

        Raises:
            DeadlineExceededError: the variables were not initialized in time.
        """
        scaffold = self._scaffold.finalize()
        self._manager = self._manager or _manager_of(scaffold)
        return self._manager.wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )


def _manager_of(scaffold: Scaffold) -> SessionManager:
    return SessionManager(
        local_init_op=scaffold.local_init_op,
        ready_op=scaffold.ready_op,
        ready_for_local_init_op=scaffold.ready_for_local_init_op,
        graph=get_default_graph(),
    )


def MonitoredTrainingSession(  # noqa: N802 - TensorFlow's name
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | os.PathLike[str] | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: Any = _USE_DEFAULT,
    save_summaries_steps: Any = _USE_DEFAULT,
    save_summaries_secs: Any = _USE_DEFAULT,
    config: ConfigLike | None = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: Any = _USE_DEFAULT,
    summary_dir: str | os.PathLike[str] | None = None,
) -> MonitoredSession:
    """Return a ``MonitoredSession`` for training, which saves checkpoints and summaries and logs its speed.

    >>> import gpuplace as tf
    >>> step = tf.train.get_or_create_global_step()
    >>> count = tf.assign_add(step, 1)
    >>> with tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(last_step=3)]) as session:
    ...     while not session.should_stop():
    ...         print(session.run(count))
    1
    2
    3

    Args:
        master: execution engine, as for ``Session``.
        is_chief: whether this process initializes, saves and logs; otherwise it waits for the chief.
        checkpoint_dir: folder of checkpoints, the last of which is restored; None: save nothing.
        scaffold: a ``Scaffold`` for the session; None for a new one.
        hooks: ``SessionRunHook`` objects, or None.
        chief_only_hooks: further hooks for the chief.
        save_checkpoint_secs: seconds between checkpoints, 600 if ``save_checkpoint_steps`` is left out too;
            None or 0: ignore the time.
        save_summaries_steps: steps between summaries, 100 if ``save_summaries_secs`` is left out too; None or
            0: do not count steps.
        save_summaries_secs: seconds between summaries; None or 0: ignore the time.
        config: a ``ConfigProto``.
        stop_grace_period_secs: seconds in which threads must end after ``close``.
        log_step_count_steps: steps between log lines with the speed; None or 0 for no lines.
        max_wait_secs: how long other processes wait for the chief, in seconds.
        save_checkpoint_steps: steps between checkpoints; None or 0: do not count steps.
        summary_dir: folder of summaries; None for ``checkpoint_dir``.

    Returns:
        A ``MonitoredSession``.
    """
    if save_summaries_steps is _USE_DEFAULT and save_summaries_secs is _USE_DEFAULT:
        save_summaries_steps = _DEFAULT_SUMMARY_STEPS
    if save_checkpoint_secs is _USE_DEFAULT and save_checkpoint_steps is _USE_DEFAULT:
        save_checkpoint_secs = _DEFAULT_CHECKPOINT_SECS
    summary_secs, summary_steps = _interval(save_summaries_secs), _interval(save_summaries_steps)
    checkpoint_secs, checkpoint_steps = _interval(save_checkpoint_secs), _interval(save_checkpoint_steps)
    scaffold = scaffold or Scaffold()
    if not is_chief:
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, hooks, stop_grace_period_secs)
    all_hooks = list(chief_only_hooks or ())
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    folder = summary_dir or checkpoint_dir
    if folder:
        if log_step_count_steps and log_step_count_steps > 0:
            all_hooks.append(StepCounterHook(every_n_steps=log_step_count_steps, output_dir=folder))
        if summary_secs or summary_steps:
            all_hooks.append(
                SummarySaverHook(
                    save_steps=summary_steps, save_secs=summary_secs, output_dir=folder, scaffold=scaffold
                )
            )
    if checkpoint_dir and (checkpoint_secs or checkpoint_steps):
        all_hooks.append(
            CheckpointSaverHook(
                checkpoint_dir, save_secs=checkpoint_secs, save_steps=checkpoint_steps, scaffold=scaffold
            )
        )
    all_hooks.extend(hooks or ())
    return MonitoredSession(creator, all_hooks, stop_grace_period_secs)


def _interval(interval: Any) -> Any:
    """Return a number of steps or seconds, or None if it is disabled."""
    return None if interval is _USE_DEFAULT or interval is None or interval <= 0 else interval


class StepContext:
    """The argument of a function for ``run_step_fn``.

    Args:
        session: the session, without hooks.
        run_with_hooks_fn: function that runs with hooks.
    """

    def __init__(self, session: Any, run_with_hooks_fn: Callable[..., Any]) -> None:
        self._session = session
        self._run_with_hooks = run_with_hooks_fn

    @property
    def session(self) -> Any:
        """The session, without hooks."""
        return self._session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Run with hooks, as ``MonitoredSession.run`` does.

        Args:
            *args: as for ``Session.run``.
            **kwargs: as for ``Session.run``.

        Returns:
            The values, as for ``Session.run``.
        """
        return self._run_with_hooks(*args, **kwargs)

    def request_stop(self) -> None:
        """End the loop around ``run_step_fn``.

        Raises:
            StopIteration: always.
        """
        raise StopIteration("step_fn has requested the iterations to stop.")


class _MonitoredSession:
    """Base class of monitored sessions."""

    StepContext = StepContext

    def __init__(
        self,
        session_creator: SessionCreator | None,
        hooks: Sequence[SessionRunHook] | None,
        should_recover: bool,
        stop_grace_period_secs: float = 120,
    ) -> None:
        self._graph_was_finalized = get_default_graph().finalized
        self._hooks = list(hooks or ())
        for hook in self._hooks:
            hook.begin()
        self._coordinated_creator = _CoordinatedCreator(
            session_creator or ChiefSessionCreator(), self._hooks, stop_grace_period_secs
        )
        self._sess: _WrappedSession | None = (
            _RecoverableSession(self._coordinated_creator)
            if should_recover
            else self._coordinated_creator.create_session()
        )

    @property
    def graph(self) -> Graph | None:
        """The session's graph; None after ``close``."""
        session = self._tf_sess()
        return None if session is None else session.graph

    def run(
        self,
        fetches: FetchLike,
        feed_dict: FeedDict | None = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """Run ``fetches``, and the fetches of the hooks, in one run.

        Args:
            fetches: as for ``Session.run``.
            feed_dict: as for ``Session.run``.
            options: as for ``Session.run``.
            run_metadata: as for ``Session.run``.

        Returns:
            The values of ``fetches``.

        Raises:
            RuntimeError: the session is closed, or a hook requested a stop.
            OpError: as for ``Session.run``, or an error in a thread that feeds a queue.
        """
        return self._open().run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Call a function that may run several times, with or without hooks.

        Args:
            step_fn: takes a ``StepContext`` as ``step_context``.

        Returns:
            The function's result.

        Raises:
            ValueError: the function takes other arguments.
            StopIteration: the function called ``step_context.request_stop()``.
            RuntimeError: the session is closed.
        """
        arguments = tuple(inspect.signature(step_fn).parameters)
        if arguments not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments if it's"
                f" an instance method. Got {arguments} instead."
            )
        return self._open().run_step_fn(step_fn, self._tf_sess())

    def should_stop(self) -> bool:
        """Return whether training has ended: a hook requested a stop, a thread ended, or the session is closed."""
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        """Close hooks, threads and the session."""
        self._close()

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if kind is not None and issubclass(kind, (OutOfRangeError, StopIteration)):
            kind = None
        self._close(kind)
        return kind is None

    def _open(self) -> _WrappedSession:
        if self._sess is None:
            raise RuntimeError("Session is already closed.")
        return self._sess

    def _tf_sess(self) -> Any:
        """Return the session without hooks; None after ``close``."""
        return self._coordinated_creator.tf_sess

    def _is_closed(self) -> bool:
        return self._tf_sess() is None

    def _close(self, kind: type[BaseException] | None = None) -> None:
        try:
            if kind is None and not self._is_closed():
                for hook in self._hooks:
                    hook.end(self._tf_sess())
        finally:
            try:
                self._open().close()
            finally:
                self._sess = None
                self._coordinated_creator.tf_sess = None
                self._coordinated_creator.coord = None
                if not self._graph_was_finalized:
                    get_default_graph()._unsafe_unfinalize()


class MonitoredSession(_MonitoredSession):
    """A session with hooks; if a process that it needs disappears, it restarts and repeats the run.

    Args:
        session_creator: a ``SessionCreator``; None for a ``ChiefSessionCreator``.
        hooks: ``SessionRunHook`` objects, or None.
        stop_grace_period_secs: seconds in which threads must end after ``close``.

    Raises:
        RuntimeError: initialization leaves variables without values.
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(_MonitoredSession):
    """A session with hooks that does not restart after a failure, and can also run without hooks.

    Args:
        hooks: ``SessionRunHook`` objects, or None.
        scaffold: a ``Scaffold`` for the session; None for a new one.
        master: execution engine, as for ``Session``.
        config: a ``ConfigProto``.
        checkpoint_dir: folder whose last checkpoint is restored, or None.
        stop_grace_period_secs: seconds in which threads must end after ``close``.
        checkpoint_filename_with_path: a checkpoint to restore, or None.

    Raises:
        RuntimeError: initialization leaves variables without values.
    """

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: ConfigLike | None = None,
        checkpoint_dir: str | os.PathLike[str] | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | os.PathLike[str] | None = None,
    ) -> None:
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """Return the session, without hooks."""
        return self._tf_sess()


class _CoordinatedCreator(SessionCreator):
    """A factory of sessions with hooks and threads; ``tf_sess`` is the latest session, ``coord`` its coordinator."""

    def __init__(self, creator: SessionCreator, hooks: Sequence[SessionRunHook], grace_secs: float) -> None:
        self._creator = creator
        self._hooks = hooks
        self._grace_secs = grace_secs
        self.tf_sess: Any = None
        self.coord: Coordinator | None = None

    def create_session(self) -> _CoordinatedSession:
        self.tf_sess = self._creator.create_session()
        self.coord = Coordinator(clean_stop_exception_types=())
        if get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
            start_queue_runners(sess=self.tf_sess, coord=self.coord)
        for hook in self._hooks:
            hook.after_create_session(self.tf_sess, self.coord)
        return _CoordinatedSession(_HookedSession(self.tf_sess, self._hooks), self.coord, self._grace_secs)


class _WrappedSession:
    """A wrapper around a session that tells whether training has ended; closing it twice is allowed."""

    def __init__(self, sess: Any) -> None:
        self._sess = sess

    @property
    def graph(self) -> Graph:
        """The session's graph."""
        graph: Graph = self._sess.graph
        return graph

    @property
    def sess_str(self) -> str:
        """The execution engine of the session."""
        engine: str = self._sess.sess_str
        return engine

    def should_stop(self) -> bool:
        """Return whether training has ended or the session is closed."""
        if self._check_stop() or self._sess is None:
            return True
        return isinstance(self._sess, _WrappedSession) and self._sess.should_stop()

    def _check_stop(self) -> bool:
        return False

    def close(self) -> None:
        session, self._sess = self._sess, None
        if session is not None:
            try:
                session.close()
            except _PREEMPTIONS as error:
                tf_logging.warning(_CLOSE_FAILED, error)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self._sess.run(*args, **kwargs)

    def run_step_fn(
        self,
        step_fn: Callable[..., Any],
        raw_session: Any,
        run_with_hooks: Callable[..., Any] | None = None,
    ) -> Any:
        return step_fn(StepContext(raw_session, run_with_hooks or self.run))


class _RecoverableSession(_WrappedSession):
    """A session that is replaced by a new one after a preemption."""

    def __init__(self, sess_creator: SessionCreator) -> None:
        self._sess_creator = sess_creator
        super().__init__(self._make())

    def _make(self) -> Any:
        while True:
            try:
                return self._sess_creator.create_session()
            except _PREEMPTIONS as error:
                tf_logging.info(_CREATION_FAILED, error)

    def _check_stop(self) -> bool:
        try:
            return self._sess is None or self._sess._check_stop()
        except _PREEMPTIONS as error:
            tf_logging.info(_CHECK_FAILED, error)
            self.close()
            self._sess = self._make()
            return False
        except Exception:  # the next run, or close, raises the error
            return True

    def _again(self, call: Callable[[Any], Any]) -> Any:
        while True:
            try:
                if self._sess is None:
                    self._sess = self._make()
                return call(self._sess)
            except _PREEMPTIONS as error:
                tf_logging.info(_RUN_FAILED, error)
                self.close()

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        return self._again(
            lambda session: session.run(
                fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata
            )
        )

    def run_step_fn(
        self,
        step_fn: Callable[..., Any],
        raw_session: Any,
        run_with_hooks: Callable[..., Any] | None = None,
    ) -> Any:
        return self._again(lambda session: session.run_step_fn(step_fn, raw_session, session.run))


class _CoordinatedSession(_WrappedSession):
    """A session whose threads report to a coordinator."""

    def __init__(self, sess: Any, coord: Coordinator, stop_grace_period_secs: float = 120) -> None:
        super().__init__(sess)
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def _check_stop(self) -> bool:
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def run(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._sess.run(*args, **kwargs)
        except _PREEMPTIONS:
            raise
        except Exception as error:
            try:
                self._coord.raise_requested_exception()
            except _PREEMPTIONS:
                raise
            except Exception:
                raise error from None
            raise

    def close(self) -> None:
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True)
        finally:
            super().close()


class _HookedSession(_WrappedSession):
    """A session that calls hooks before and after each run."""

    def __init__(self, sess: Any, hooks: Sequence[SessionRunHook]) -> None:
        super().__init__(sess)
        self._hooks = hooks
        self._should_stop = False

    def _check_stop(self) -> bool:
        return self._should_stop

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict), self._sess)
        all_fetches, places = [fetches], {}
        feeds: dict[Any, Any] = {}
        merged: Any = None
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            if request.fetches is not None:
                places[hook] = len(all_fetches)
                all_fetches.append(request.fetches)
            if request.feed_dict:
                _check_disjoint(feeds, request.feed_dict, "Same tensor is fed by two hooks.")
                feeds.update(request.feed_dict)
            if request.options:
                if merged is None:
                    merged = _copy(options)
                _merge_options(merged, request.options)
        if feeds and feed_dict:
            _check_disjoint(feed_dict, feeds, "Same tensor is fed by a SessionRunHook and user.")
        feeds.update(feed_dict or {})
        chosen = options if merged is None else merged
        if run_metadata is None:
            run_metadata = RunMetadata()
            measured = run_metadata if getattr(chosen, "trace_level", 0) else None
        else:
            measured = run_metadata
        values = super().run(all_fetches, feed_dict=feeds or None, options=chosen, run_metadata=measured)
        seen = RunOptions() if chosen is None else chosen
        for hook in self._hooks:
            result = values[places[hook]] if hook in places else None
            hook.after_run(context, SessionRunValues(result, seen, run_metadata))
        self._should_stop = self._should_stop or context.stop_requested
        return values[0]


def _check_disjoint(one: Mapping[Any, Any], other: Mapping[Any, Any], message: str) -> None:
    both = one.keys() & other.keys()
    if both:
        raise RuntimeError(f"{message} Conflict(s): {list(both)}")


def _copy(options: Any) -> Any:
    copied = RunOptions()
    if options is not None:
        copied.CopyFrom(options)
    return copied


def _merge_options(options: Any, more: Any) -> None:
    for name in (
        *("trace_level", "timeout_in_ms", "inter_op_thread_pool", "output_partition_graphs"),
        "report_tensor_allocations_upon_oom",
    ):
        setattr(options, name, max(getattr(options, name), getattr(more, name)))
    options.debug_options.debug_tensor_watch_opts.extend(more.debug_options.debug_tensor_watch_opts)
