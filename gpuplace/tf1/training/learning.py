"""``tf.contrib.slim.learning``: a training loop around ``Supervisor``, and the training op.

Source: tensorflow/contrib/slim/python/slim/learning.py, release 1.15 (names, log lines).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuplace import tf_logging
from gpuplace.errors import AbortedError, OutOfRangeError
from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Tensor
from gpuplace.graphdef.messages import RunMetadata, RunOptions
from gpuplace.ops import summaries
from gpuplace.ops.array import constant
from gpuplace.ops.flow import control
from gpuplace.ops.math import comparison, elementwise
from gpuplace.ops.train.global_step import get_or_create_global_step
from gpuplace.ops.train.global_step import global_step as value_of_step
from gpuplace.ops.train.optimizer import Optimizer
from gpuplace.ops.variables import initialization
from gpuplace.runtime.tracing.chrome_timeline import Timeline
from gpuplace.saving.saver import Saver
from gpuplace.tf1.contrib import gradients
from gpuplace.tf1.contrib.gradients import (
    USE_GLOBAL_STEP,
    Gradients,
    clip_gradient_norms,
    clip_gradient_norms_fn,
    multiply_gradients,
)
from gpuplace.tf1.input.tables import tables_initializer
from gpuplace.tf1.training.supervisor import Supervisor
from gpuplace.typing import ConfigLike, FeedDict, TensorLike
from gpuplace.writing import write_file

__all__ = [
    "add_gradients_summaries", "clip_gradient_norms", "clip_gradient_norms_fn", "create_train_op", "multiply_gradients",
    "train", "train_step",
]  # fmt: skip

_USE_DEFAULT = 0


def add_gradients_summaries(grads_and_vars: Sequence[tuple[Any, Any]]) -> list[Tensor]:
    """Return histograms of the gradients, and their norms.

    Args:
        grads_and_vars: pairs of gradient and variable.

    Returns:
        The summaries.
    """
    return gradients.add_gradients_summaries(grads_and_vars, joint="/")


def create_train_op(
    total_loss: Tensor,
    optimizer: Optimizer,
    global_step: TensorLike = USE_GLOBAL_STEP,
    update_ops: Sequence[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    check_numerics: bool = True,
) -> Tensor:
    """Return the loss as a tensor whose evaluation also applies the gradients and runs the layers' updates.

    Args:
        total_loss: a scalar.
        optimizer: the optimizer that applies the gradients.
        global_step: the step to increment; left out: the graph's own; None for none.
        update_ops: operations to run before the loss; None for the graph's ``UPDATE_OPS``.
        variables_to_train: the variables; None for all trainable ones.
        clip_gradient_norm: the largest norm of each gradient; 0: no clipping.
        summarize_gradients: whether to add summaries of the gradients.
        gate_gradients: as for ``compute_gradients``.
        aggregation_method: as for ``compute_gradients``.
        colocate_gradients_with_ops: as for ``compute_gradients``.
        gradient_multipliers: dict from a variable, or the name of its op, to a factor for its gradient.
        check_numerics: whether a loss that is not finite is an error.

    Returns:
        The loss, a scalar, which is also in the collection ``TRAIN_OP``.

    Raises:
        ValueError: there is nothing to train, or a variable is not trainable.
    """

    def transformed(grads: Gradients) -> Gradients:
        if gradient_multipliers:
            with name_scope("multiply_grads"):
                grads = multiply_gradients(grads, gradient_multipliers)
        if clip_gradient_norm > 0:
            with name_scope("clip_grads"):
                grads = clip_gradient_norms(grads, clip_gradient_norm)
        return grads

    return gradients.create_train_op(
        total_loss,
        optimizer,
        global_step=global_step,
        update_ops=update_ops,
        variables_to_train=variables_to_train,
        transform_grads_fn=transformed,
        summarize_gradients=summarize_gradients,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
        check_numerics=check_numerics,
    )


def train_step(
    sess: Any, train_op: Any, global_step: TensorLike, train_step_kwargs: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Run one step, with its log line and its trace.

    Args:
        sess: the session.
        train_op: the result of ``create_train_op``.
        global_step: the step, a scalar.
        train_step_kwargs: optional boolean tensors ``should_stop``, ``should_log`` and ``should_trace``; for
            traces also ``logdir``, a folder, and ``summary_writer``.

    Returns:
        The loss, and whether to stop.

    Raises:
        ValueError: traces are requested without a folder for them.
    """
    start = time.time()
    options = metadata = None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise ValueError("logdir must be present in train_step_kwargs when should_trace is present")
        if sess.run(train_step_kwargs["should_trace"]):
            options, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    seconds = time.time() - start
    if metadata is not None:
        path = os.path.join(train_step_kwargs["logdir"], f"tf_trace-{step}.json")
        tf_logging.info("Writing trace to %s", path)
        write_file(path, Timeline(metadata.step_stats).generate_chrome_trace_format())
        if "summary_writer" in train_step_kwargs:
            train_step_kwargs["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        tf_logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, seconds)
    stop = sess.run(train_step_kwargs["should_stop"]) if "should_stop" in train_step_kwargs else False
    return loss, stop


def _default_step_arguments(
    global_step: TensorLike, number_of_steps: int | None, log_every: int, trace_every: int | None, logdir: Any
) -> dict[str, Any]:
    """Return the default keyword arguments of ``train_step``."""
    with name_scope("train_step"):
        if number_of_steps:
            stop = comparison.greater_equal(global_step, number_of_steps)
        else:
            stop = constant.constant(False)
        arguments: dict[str, Any] = {"should_stop": stop}
        if log_every > 0:
            arguments["should_log"] = comparison.equal(elementwise.mod(global_step, log_every), 0)
        if trace_every is not None:
            arguments["should_trace"] = comparison.equal(elementwise.mod(global_step, trace_every), 0)
            arguments["logdir"] = logdir
        return arguments


def _check(
    train_op: Any, logdir: Any, summary_op: Any, saver: Any, trace: Any, sync: Any, steps: Any
) -> None:
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None:
        for argument, value in (
            ("summary_op", summary_op is not None and summary_op is not _USE_DEFAULT),
            ("saver", saver is not None),
            ("trace_every_n_steps", trace is not None),
        ):
            if value:
                raise ValueError(f"Cannot provide {argument} because logdir=None")
    if sync is not None:
        raise ValueError(
            "sync_optimizer is not supported: leave it out; each replica then applies its own gradients"
        )
    if steps is not None and steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")


def _run_step(supervisor: Supervisor, train_step_fn: Callable[..., tuple[Any, Any]], *arguments: Any) -> Any:
    """Run a step, request a stop if it was the last one, and return its loss."""
    loss, stop = train_step_fn(*arguments)
    if stop:
        tf_logging.info("Stopping Training.")
        supervisor.request_stop()
    return loss


def train(
    train_op: Any,
    logdir: str | os.PathLike[str] | None,
    train_step_fn: Callable[[Any, Any, Any, Any], tuple[Any, Any]] = train_step,
    train_step_kwargs: Any = _USE_DEFAULT,
    log_every_n_steps: int = 1,
    graph: Graph | None = None,
    master: str = "",
    is_chief: bool = True,
    global_step: TensorLike | None = None,
    number_of_steps: int | None = None,
    init_op: Any = _USE_DEFAULT,
    init_feed_dict: FeedDict | None = None,
    local_init_op: Any = _USE_DEFAULT,
    init_fn: Callable[[Any], Any] | None = None,
    ready_op: Any = _USE_DEFAULT,
    summary_op: Any = _USE_DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = _USE_DEFAULT,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: ConfigLike | None = None,
    session_wrapper: Callable[[Any], Any] | None = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Train for a number of steps, or until the input ends, and save.

    Args:
        train_op: the result of ``create_train_op``.
        logdir: folder of checkpoints and summaries; None: write nothing.
        train_step_fn: function that runs a step, as ``train_step`` does.
        train_step_kwargs: its last argument; left out: tensors to stop and log.
        log_every_n_steps: steps between log lines; 0 for no lines.
        graph: the graph, which is finalized; None for the default one.
        master: the session's target.
        is_chief: whether this process initializes, saves and writes; otherwise it waits for the chief.
        global_step: an integer scalar; None for the graph's own.
        number_of_steps: global step at which training ends; None for no limit.
        init_op: initializes the variables; left out: all variables are initialized.
        init_feed_dict: the feeds for ``init_op``.
        local_init_op: run in every new session; left out: local variables and tables are initialized.
        init_fn: called with the session after ``init_op``.
        ready_op: a tensor with the names of uninitialized variables.
        summary_op: the merged summary; left out: all summaries; None for no summaries.
        save_summaries_secs: seconds between summaries.
        summary_writer: a ``FileWriter``; left out: a new one; None: write nothing.
        startup_delay_steps: global step for which processes other than the chief wait.
        saver: a ``Saver``; None for one of all variables.
        save_interval_secs: seconds between checkpoints.
        sync_optimizer: not supported; must be None.
        session_config: the session's ``ConfigProto``.
        session_wrapper: function from the session to its replacement.
        trace_every_n_steps: steps between traces, or None.
        ignore_live_threads: whether to ignore threads that do not end.

    Returns:
        The last step's loss.

    Raises:
        ValueError: there is nothing to train, the number of steps is not positive, or ``logdir`` is missing
            for an argument that writes.
    """
    _check(train_op, logdir, summary_op, saver, trace_every_n_steps, sync_optimizer, number_of_steps)
    with (graph or get_default_graph()).as_default() as used:
        if global_step is None:
            global_step = get_or_create_global_step()
        saver = saver or Saver()
        with name_scope("init_ops"):
            if init_op is _USE_DEFAULT:
                init_op = initialization.global_variables_initializer()
            if ready_op is _USE_DEFAULT:
                ready_op = initialization.report_uninitialized_variables()
            if local_init_op is _USE_DEFAULT:
                local_init_op = control.group(
                    initialization.local_variables_initializer(), tables_initializer()
                )
        if summary_op is _USE_DEFAULT:
            summary_op = summaries.merge_all()
        if train_step_kwargs is _USE_DEFAULT:
            trace = trace_every_n_steps if is_chief else None
            train_step_kwargs = _default_step_arguments(
                global_step, number_of_steps, log_every_n_steps, trace, logdir
            )
    supervisor = Supervisor(
        graph=used,
        is_chief=is_chief,
        logdir=logdir,
        init_op=init_op,
        init_feed_dict=init_feed_dict,
        local_init_op=local_init_op,
        ready_for_local_init_op=None,
        ready_op=ready_op,
        summary_op=summary_op,
        summary_writer=Supervisor.USE_DEFAULT if summary_writer is _USE_DEFAULT else summary_writer,
        global_step=global_step,
        saver=saver,
        save_summaries_secs=save_summaries_secs,
        save_model_secs=save_interval_secs,
        init_fn=init_fn,
    )
    if summary_writer is not None:
        train_step_kwargs["summary_writer"] = supervisor.summary_writer
    loss = None
    again = True
    while again:
        again = False
        try:
            with supervisor.managed_session(
                master, start_standard_services=False, config=session_config
            ) as session:
                tf_logging.info("Starting Session.")
                if session_wrapper is not None:
                    tf_logging.info("Wrapping session with wrapper function: %s", session_wrapper)
                    session = session_wrapper(session)
                if is_chief:
                    if logdir:
                        supervisor.start_standard_services(session)
                else:
                    last = min(startup_delay_steps, number_of_steps or sys.maxsize)
                    while startup_delay_steps > 0 and value_of_step(session, global_step) < last:
                        time.sleep(1.0)
                threads = supervisor.start_queue_runners(session)
                tf_logging.info("Starting Queues.")
                try:
                    while not supervisor.should_stop():
                        loss = _run_step(
                            supervisor, train_step_fn, session, train_op, global_step, train_step_kwargs
                        )
                except OutOfRangeError as error:
                    tf_logging.info("Caught OutOfRangeError. Stopping Training. %s", error)
                if logdir and supervisor.is_chief:
                    tf_logging.info("Finished training! Saving model to disk.")
                    supervisor.saver.save(session, supervisor.save_path, global_step=supervisor.global_step)
                    supervisor.stop(
                        threads, close_summary_writer=True, ignore_live_threads=ignore_live_threads
                    )
        except AbortedError:
            tf_logging.info("Retrying training!")
            again = True
    return loss
