"""``tf.contrib.slim.evaluation``: a model's metrics at one checkpoint, or at each new checkpoint of a folder.

    checkpoint  ->  eval_op, num_evals times  ->  summaries  ->  final_op

Source: tensorflow/contrib/slim/python/slim/evaluation.py, tensorflow/contrib/training/python/training/evaluation.py
and tensorflow/python/training/evaluation.py, release 1.15.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace import tf_logging
from gpuplace.dtypes import int64
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graphdef.file_writer import FileWriterCache
from gpuplace.ops import summaries
from gpuplace.ops.array.reshaping import identity
from gpuplace.ops.train.global_step import get_or_create_global_step, global_step
from gpuplace.ops.variables.init_ops import Zeros
from gpuplace.ops.variables.state import assign_add
from gpuplace.ops.variables.variable_scope import get_variable
from gpuplace.saving.checkpoint_state import checkpoints_iterator
from gpuplace.saving.saver import Saver
from gpuplace.tf1.training.hooks import FinalOpsHook
from gpuplace.tf1.training.monitored_session import ChiefSessionCreator, MonitoredSession
from gpuplace.tf1.training.scaffold import Scaffold
from gpuplace.tf1.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from gpuplace.typing import ConfigProto, FeedDict, FetchLike

__all__ = [
    "StopAfterNEvalsHook", "SummaryAtEndHook", "evaluate_checkpoint", "evaluate_once", "evaluation_loop",
    "evaluate_repeatedly", "get_or_create_eval_step",
]  # fmt: skip

_EVAL_STEP = "eval_step"
_USE_DEFAULT = 0
"""Stands for all summaries of the graph."""
_MANY = 20
"""With at least this number of evaluations, only every tenth is logged."""


def get_or_create_eval_step() -> Any:
    """Return the variable that counts evaluations; create it if the graph has none.

    Raises:
        ValueError: the graph has several.
    """
    steps = get_default_graph().get_collection(_EVAL_STEP)
    if len(steps) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if steps:
        return steps[0]
    return get_variable(
        "eval_step",
        shape=[],
        dtype=int64,
        initializer=Zeros(),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, _EVAL_STEP],
    )


class StopAfterNEvalsHook(SessionRunHook):
    """Hook that requests a stop after a number of evaluations, and logs them.

    Args:
        num_evals: number of evaluations; None: until the input ends.
        log_progress: whether to log them.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._wanted = num_evals
        self._logs = log_progress
        self._every = 1 if num_evals is None or num_evals < _MANY else num_evals // 10
        self.evals_completed: Any = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Request the count.

        Args:
            run_context: context of the run.
        """
        return SessionRunArgs({"evals_completed": self.evals_completed})

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Check the count.

        Args:
            run_context: context of the run.
            run_values: the results of the run.
        """
        done = run_values.results["evals_completed"]
        if self._logs and self._wanted is None:
            tf_logging.info("Evaluation [%d]", done)
        elif self._logs and (done % self._every == 0 or done == self._wanted):
            tf_logging.info("Evaluation [%d/%d]", done, self._wanted)
        if self._wanted is not None and done >= self._wanted:
            run_context.request_stop()


class SummaryAtEndHook(SessionRunHook):
    """Hook that writes summaries after the last evaluation.

    Args:
        log_dir: the folder of the event file.
        summary_writer: the writer, if there is no folder.
        summary_op: the summaries; None for all summaries of the graph.
        feed_dict: the feeds for the summaries.

    Raises:
        ValueError: neither a folder nor a writer is given.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        summary_writer: Any = None,
        summary_op: Any = None,
        feed_dict: FeedDict | None = None,
    ) -> None:
        if log_dir is None and summary_writer is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._summary_op = summary_op
        self._takes_all = summary_op is None
        self._feeds = feed_dict
        self._writer = summary_writer
        self._folder = log_dir

    def begin(self) -> None:
        """Find the summaries and the global step."""
        if self._takes_all:
            self._summary_op = summaries.merge_all()
        self._step = get_or_create_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Open the event file.

        Args:
            session: the session.
            coord: its coordinator.
        """
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)

    def end(self, session: Any) -> None:
        """Write the summaries.

        Args:
            session: the session.
        """
        if self._writer is None:
            return
        if self._summary_op is not None:
            step = global_step(session, self._step)
            self._writer.add_summary(session.run(self._summary_op, self._feeds), step)
        self._writer.flush()


def _with_counter(eval_op: Any, hooks: Sequence[SessionRunHook], after_all: bool) -> Any:
    """Return the ops of an evaluation, including the op that counts evaluations."""
    if eval_op is None:
        return None
    step = get_or_create_eval_step()
    update = assign_add(step, 1, use_locking=after_all)
    counted: Any
    if isinstance(eval_op, dict):
        counted = {**eval_op, "update_eval_step": update}
    else:
        counted = [*(eval_op if isinstance(eval_op, (list, tuple)) else [eval_op]), update]
    done: Any = update
    if after_all:
        with get_default_graph().control_dependencies(
            list(counted.values()) if isinstance(counted, dict) else counted
        ):
            done = identity(step.read_value())
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook.evals_completed = done
    return counted


def evaluate_checkpoint(
    checkpoint_path: str | None,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: FeedDict | None = None,
    final_ops: FetchLike | None = None,
    final_ops_feed_dict: FeedDict | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    config: ConfigProto | None = None,
) -> Any:
    """Run operations until the input ends or a hook stops them, then run the final ops once.

    Args:
        checkpoint_path: the checkpoint to restore; None: initialize the variables.
        master: ``""`` for this process.
        scaffold: the ``Scaffold`` of the session; None for a new one.
        eval_ops: operations that update the metrics.
        feed_dict: the feeds for ``eval_ops``.
        final_ops: what to fetch at the end.
        final_ops_feed_dict: the feeds for ``final_ops``.
        hooks: further hooks.
        config: configuration of the session.

    Returns:
        The values of ``final_ops``.
    """
    runners = list(hooks or ())
    get_or_create_eval_step()
    counted = _with_counter(eval_ops, runners, after_all=True)
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    _evaluate(checkpoint_path, master, scaffold or Scaffold(), counted, feed_dict, [*runners, final], config)
    return final.final_ops_values


def _evaluate(
    checkpoint: str | None,
    master: str,
    scaffold: Scaffold,
    counted: Any,
    feeds: Any,
    hooks: Any,
    config: ConfigProto,
) -> None:
    creator = ChiefSessionCreator(
        scaffold=scaffold, checkpoint_filename_with_path=checkpoint, master=master, config=config
    )
    tf_logging.info("Starting evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S"))
    with MonitoredSession(session_creator=creator, hooks=hooks) as session:
        if counted is not None:
            while not session.should_stop():
                session.run(counted, feeds)
    tf_logging.info("Finished evaluation at %s", time.strftime("%Y-%m-%d-%H:%M:%S"))


def _hooks(
    num_evals: int, logdir: str, summary_op: Any, summary_op_feed_dict: FeedDict | None, hooks: Any
) -> list[SessionRunHook]:
    if isinstance(summary_op, int) and summary_op == _USE_DEFAULT:
        summary_op = summaries.merge_all()
    all_hooks: list[SessionRunHook] = [StopAfterNEvalsHook(num_evals)]
    if summary_op is not None:
        all_hooks.append(SummaryAtEndHook(logdir, summary_op=summary_op, feed_dict=summary_op_feed_dict))
    return [*all_hooks, *(hooks or ())]


def evaluate_once(
    master: str,
    checkpoint_path: str,
    logdir: str,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: FeedDict | None = None,
    eval_op: Any = None,
    eval_op_feed_dict: FeedDict | None = None,
    final_op: FetchLike | None = None,
    final_op_feed_dict: FeedDict | None = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: FeedDict | None = None,
    variables_to_restore: Any = None,
    session_config: Any = None,
    hooks: Sequence[SessionRunHook] | None = None,
) -> Any:
    """Evaluate the model at one checkpoint.

    Args:
        master: ``""`` for this process.
        checkpoint_path: the checkpoint.
        logdir: the folder of the event file.
        num_evals: how often to run ``eval_op``.
        initial_op: operation that initializes variables.
        initial_op_feed_dict: the feeds for ``initial_op``.
        eval_op: operation that updates the metrics.
        eval_op_feed_dict: the feeds for ``eval_op``.
        final_op: what to fetch at the end.
        final_op_feed_dict: the feeds for ``final_op``.
        summary_op: summary to write at the end; all summaries of the graph if it is left out.
        summary_op_feed_dict: the feeds for ``summary_op``.
        variables_to_restore: variables in the checkpoint; None for all.
        session_config: configuration of the session.
        hooks: further hooks.

    Returns:
        The values of ``final_op``.
    """
    all_hooks = _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks)
    saver = None if variables_to_restore is None else Saver(variables_to_restore)
    scaffold = Scaffold(init_op=initial_op, init_feed_dict=initial_op_feed_dict, saver=saver)
    return evaluate_checkpoint(
        checkpoint_path,
        master,
        scaffold,
        eval_op,
        eval_op_feed_dict,
        final_op,
        final_op_feed_dict,
        all_hooks,
        session_config,
    )


def evaluation_loop(
    master: str,
    checkpoint_dir: str,
    logdir: str,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: FeedDict | None = None,
    init_fn: Callable[..., Any] | None = None,
    eval_op: Any = None,
    eval_op_feed_dict: FeedDict | None = None,
    final_op: FetchLike | None = None,
    final_op_feed_dict: FeedDict | None = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: FeedDict | None = None,
    variables_to_restore: Any = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: Any = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
) -> Any:
    """Evaluate the model at each new checkpoint of a folder.

    Args:
        master: ``""`` for this process.
        checkpoint_dir: the folder of checkpoints.
        logdir: the folder of the event file.
        num_evals: how often to run ``eval_op`` at each checkpoint.
        initial_op: operation that initializes variables.
        initial_op_feed_dict: the feeds for ``initial_op``.
        init_fn: called after ``initial_op``, with the scaffold and the session.
        eval_op: operation that updates the metrics.
        eval_op_feed_dict: the feeds for ``eval_op``.
        final_op: what to fetch at the end of each evaluation.
        final_op_feed_dict: the feeds for ``final_op``.
        summary_op: summary to write at the end; all summaries of the graph if it is left out.
        summary_op_feed_dict: the feeds for ``summary_op``.
        variables_to_restore: variables in the checkpoint; None for all.
        eval_interval_secs: shortest time between two evaluations, in seconds.
        max_number_of_evaluations: number of checkpoints; None: no limit.
        session_config: configuration of the sessions.
        timeout: how long to wait for a checkpoint, in seconds; None: no limit.
        timeout_fn: called at each timeout; the evaluation ends if it returns true.
        hooks: further hooks.

    Returns:
        The last values of ``final_op``.
    """
    all_hooks = _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks)
    saver = None if variables_to_restore is None else Saver(variables_to_restore)
    scaffold = Scaffold(init_op=initial_op, init_feed_dict=initial_op_feed_dict, init_fn=init_fn, saver=saver)
    return evaluate_repeatedly(
        checkpoint_dir,
        master,
        scaffold,
        eval_op,
        eval_op_feed_dict,
        final_op,
        final_op_feed_dict,
        eval_interval_secs,
        all_hooks,
        session_config,
        max_number_of_evaluations,
        timeout,
        timeout_fn,
    )


def evaluate_repeatedly(
    checkpoint_dir: str,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: FeedDict | None = None,
    final_ops: FetchLike | None = None,
    final_ops_feed_dict: FeedDict | None = None,
    eval_interval_secs: float = 60,
    hooks: Sequence[SessionRunHook] | None = None,
    config: ConfigProto | None = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """Evaluate each new checkpoint of a folder as ``evaluate_checkpoint`` does.

    Args:
        checkpoint_dir: the folder.
        master: ``""`` for this process.
        scaffold: the ``Scaffold`` of the sessions; None for a new one.
        eval_ops: operations that update the metrics.
        feed_dict: the feeds for ``eval_ops``.
        final_ops: what to fetch at the end.
        final_ops_feed_dict: the feeds for ``final_ops``.
        eval_interval_secs: shortest time between two evaluations, in seconds.
        hooks: further hooks.
        config: configuration of the sessions.
        max_number_of_evaluations: number of checkpoints; None: no limit.
        timeout: how long to wait for a checkpoint, in seconds; None: no limit.
        timeout_fn: called at each timeout; the evaluation ends if it returns true.

    Returns:
        The last values of ``final_ops``.
    """
    all_hooks = list(hooks or ())
    get_or_create_eval_step()
    counted = _with_counter(eval_ops, all_hooks, after_all=False)
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    begun = scaffold or Scaffold()
    checkpoints = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for number, checkpoint in enumerate(checkpoints, 1):
        _evaluate(checkpoint, master, begun, counted, feed_dict, [*all_hooks, final], config)
        if number == max_number_of_evaluations:
            break
    return final.final_ops_values
