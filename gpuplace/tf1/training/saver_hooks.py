"""Hooks that write checkpoints, summaries, step rates and traces.

Source: tensorflow/python/training/basic_session_run_hooks.py, release 1.15 (error and log messages, order of
events).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from gpuplace import tf_logging
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graphdef.export import as_graph_def, write_graph
from gpuplace.graphdef.file_writer import FileWriterCache
from gpuplace.graphdef.messages import RunOptions, SessionLog, Summary
from gpuplace.ops.train.global_step import get_global_step
from gpuplace.runtime.tracing.chrome_timeline import Timeline
from gpuplace.saving.meta_graph import export_meta_graph
from gpuplace.tf1.training.hooks import required_global_step_read
from gpuplace.tf1.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from gpuplace.tf1.training.timers import SecondOrStepTimer
from gpuplace.writing import write_file

_MOST_WARNINGS = 5


class CheckpointSaverListener:
    """Base class of listeners to a ``CheckpointSaverHook``; its methods do nothing."""

    def begin(self) -> None:
        """Called before the session is created."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Called before a checkpoint is written.

        Args:
            session: the session.
            global_step_value: the global step.
        """

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """Called after a checkpoint is written.

        Args:
            session: the session.
            global_step_value: the global step.

        Returns:
            True to end the training.
        """
        return None

    def end(self, session: Any, global_step_value: int) -> None:
        """Called at the end of the session.

        Args:
            session: the session.
            global_step_value: the global step.
        """


class CheckpointSaverHook(SessionRunHook):
    """Hook that saves the variables at the start, at intervals of steps or seconds, and at the end.

    Args:
        checkpoint_dir: the folder.
        save_secs: seconds between checkpoints; None: ignore the time.
        save_steps: steps between checkpoints; None: do not count steps.
        saver: a ``Saver``; None for that of ``scaffold``, or the one in the graph's collection.
        checkpoint_basename: prefix of the file names.
        scaffold: a ``Scaffold`` with the saver.
        listeners: ``CheckpointSaverListener`` objects, or None.

    Raises:
        ValueError: both ``saver`` and ``scaffold`` are given, or not exactly one of ``save_secs`` and
            ``save_steps``.
    """

    def __init__(
        self,
        checkpoint_dir: str | os.PathLike[str],
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
    ) -> None:
        tf_logging.info("Create CheckpointSaverHook.")
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver = saver
        self._folder = os.fspath(checkpoint_dir)
        self._save_path = os.path.join(self._folder, checkpoint_basename)
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = list(listeners or ())
        self._writer: Any = None
        self._step: Any = None
        self._steps_per_run = 1

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        """Set the number of steps in a run."""
        self._steps_per_run = steps_per_run

    def add_listeners(self, listeners: Sequence[CheckpointSaverListener]) -> None:
        """Add listeners, each of them only once.

        Args:
            listeners: ``CheckpointSaverListener`` objects.
        """
        self._listeners.extend(listener for listener in listeners if listener not in self._listeners)

    def begin(self) -> None:
        """Open the event file.

        Raises:
            RuntimeError: the graph has no global step.
        """
        self._writer = FileWriterCache.get(self._folder)
        self._step = required_global_step_read("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Write the graph and the first checkpoint.

        Args:
            session: the session.
            coord: its coordinator.
        """
        step = int(session.run(self._step))
        graph = get_default_graph()
        graph_def = as_graph_def(graph, add_shapes=True)
        write_graph(graph_def, self._folder, "graph.pbtxt")
        saver = self._saver_to_use()
        self._writer.add_graph(graph)
        self._writer.add_meta_graph(
            export_meta_graph(graph_def=graph_def, saver_def=saver.saver_def if saver else None)
        )
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Request the step.

        Args:
            run_context: context of the run.

        Returns:
            The step.
        """
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Save when it is time.

        Args:
            run_context: context of the run.
            run_values: the step.
        """
        if self._timer.should_trigger_for_step(run_values.results + self._steps_per_run):
            # the fetched value may be older than the update: read it again
            step = int(run_context.session.run(self._step))
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                if self._save(run_context.session, step):
                    run_context.request_stop()

    def end(self, session: Any) -> None:
        """Save again if there were further steps.

        Args:
            session: the session.
        """
        step = int(session.run(self._step))
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: Any, step: int) -> bool:
        """Save, and return whether a listener requested a stop."""
        tf_logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._saver_to_use().save(session, self._save_path, global_step=step)
        self._writer.add_session_log(
            SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._save_path), step
        )
        stops = False
        for listener in self._listeners:
            if listener.after_save(session, step):
                tf_logging.info(
                    "A CheckpointSaverListener requested that training be stopped. listener: %s", listener
                )
                stops = True
        return stops

    def _saver_to_use(self) -> Any:
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = get_default_graph().get_collection(GraphKeys.SAVERS)
        if not savers:
            raise RuntimeError(
                f"No items in collection {GraphKeys.SAVERS}. Please add a saver to the collection or provide a saver or"
                " scaffold."
            )
        if len(savers) > 1:
            raise RuntimeError(
                f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one to use by passing it"
                " to the constructor."
            )
        self._saver = savers[0]
        return self._saver


class StepCounterHook(SessionRunHook):
    """Hook that logs and summarizes the number of steps per second.

    Args:
        every_n_steps: steps between log lines; None: do not count steps.
        every_n_secs: seconds between log lines; None: ignore the time.
        output_dir: folder of the event file; without it and ``summary_writer`` nothing is written.
        summary_writer: a ``FileWriter``; None for that of ``output_dir``.

    Raises:
        ValueError: not exactly one of ``every_n_steps`` and ``every_n_secs`` is given.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | os.PathLike[str] | None = None,
        summary_writer: Any = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._writer = summary_writer
        self._folder = output_dir
        self._last_step: int | None = None
        self._step: Any = None
        self._tag = ""
        self._steps_per_run = 1

    def _set_steps_per_run(self, steps_per_run: int) -> None:
        """Set the number of steps in a run."""
        self._steps_per_run = steps_per_run

    def begin(self) -> None:
        """Open the event file.

        Raises:
            RuntimeError: the graph has no global step.
        """
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)
        self._step = required_global_step_read("StepCounterHook")
        self._tag = f"{get_global_step().op.name}/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Request the step.

        Args:
            run_context: context of the run.

        Returns:
            The step.
        """
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log when it is time; warn if the step does not change.

        Args:
            run_context: context of the run.
            run_values: the step.
        """
        stale = run_values.results
        if self._timer.should_trigger_for_step(stale + self._steps_per_run):
            step = int(run_context.session.run(self._step))
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds is not None and steps is not None:
                    self._record(steps, seconds, step)
        if stale == self._last_step:
            tf_logging.log_first_n(
                tf_logging.WARN,
                "It seems that global step (tf.train.get_global_step) has not been increased. Current value (could be"
                " stable): %s vs previous value: %s. You could increase the global step by passing"
                " tf.train.get_global_step() to Optimizer.apply_gradients or Optimizer.minimize.",
                _MOST_WARNINGS,
                stale,
                self._last_step,
            )
        self._last_step = stale

    def _record(self, steps: int, seconds: float, global_step: int) -> None:
        rate = steps / seconds if seconds > 0 else float("inf")
        if self._writer is not None:
            value = Summary.Value(tag=self._tag, simple_value=rate)
            self._writer.add_summary(Summary(value=[value]), global_step)
        tf_logging.info("%s: %g", self._tag, rate)


class SummarySaverHook(SessionRunHook):
    """Hook that writes summaries at the first run, then at intervals of steps or seconds.

    Args:
        save_steps: steps between writes; None: do not count steps.
        save_secs: seconds between writes; None: ignore the time.
        output_dir: folder of the event file; without it and ``summary_writer`` nothing is written.
        summary_writer: a ``FileWriter``; None for that of ``output_dir``.
        scaffold: a ``Scaffold`` with the summary op.
        summary_op: the summary, or a list of them.

    Raises:
        ValueError: not exactly one of ``scaffold`` and ``summary_op``, or of ``save_steps`` and
            ``save_secs``, is given.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | os.PathLike[str] | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._writer = summary_writer
        self._folder = output_dir
        self._scaffold = scaffold
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._next_step: int | None = None
        self._is_due = False
        self._step: Any = None

    def begin(self) -> None:
        """Open the event file.

        Raises:
            RuntimeError: the graph has no global step.
        """
        if self._writer is None and self._folder:
            self._writer = FileWriterCache.get(self._folder)
        self._next_step = None
        self._step = required_global_step_read("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Request the step, and the summaries when it is time.

        Args:
            run_context: context of the run.

        Returns:
            The step, and the summaries.
        """
        self._is_due = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        requests = {"global_step": self._step}
        if self._is_due and (summaries := self._summaries()):
            requests["summary"] = summaries
        return SessionRunArgs(requests)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write the summaries.

        Args:
            run_context: context of the run.
            run_values: the step, and the summaries.
        """
        if not self._writer:
            return
        step = int(run_values.results["global_step"]) + 1
        if self._is_due:
            step = int(run_context.session.run(self._step))
        if self._next_step is None:
            self._writer.add_session_log(SessionLog(status=SessionLog.START), step)
        if self._is_due:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any) -> None:
        """Flush the event file.

        Args:
            session: the session.
        """
        if self._writer:
            self._writer.flush()

    def _summaries(self) -> list[Any]:
        summary = self._summary_op if self._scaffold is None else self._scaffold.summary_op
        if summary is None:
            return []
        return summary if isinstance(summary, list) else [summary]


class ProfilerHook(SessionRunHook):
    """Hook that traces steps at intervals and writes ``timeline-<step>.json`` for Chrome's trace viewer.

    Args:
        save_steps: steps between writes; None: do not count steps.
        save_secs: seconds between writes; None: ignore the time.
        output_dir: folder of the traces and the event file.
        show_dataflow: whether to draw an arrow for each input of an operation.
        show_memory: whether to show tensors and memory too.

    Raises:
        ValueError: not exactly one of ``save_steps`` and ``save_secs`` is given.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | os.PathLike[str] = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._file = os.path.join(output_dir, "timeline-{}.json")
        self._writer = FileWriterCache.get(output_dir)
        self._show_dataflow = show_dataflow
        self._show_memory = show_memory
        self._next_step: int | None = None
        self._is_due = False
        self._step: Any = None

    def begin(self) -> None:
        """Find the global step.

        Raises:
            RuntimeError: the graph has no global step.
        """
        self._next_step = None
        self._step = required_global_step_read("ProfilerHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Request a trace when it is time.

        Args:
            run_context: context of the run.

        Returns:
            The step, and options.
        """
        self._is_due = self._next_step is not None and self._timer.should_trigger_for_step(self._next_step)
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._is_due else None
        return SessionRunArgs({"global_step": self._step}, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write the trace.

        Args:
            run_context: context of the run.
            run_values: the step, and the trace.
        """
        stale = int(run_values.results["global_step"])
        if self._next_step is None:
            self._timer.update_last_triggered_step(stale)
        step = stale + 1
        if self._is_due:
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
            path = self._file.format(step)
            tf_logging.info("Saving timeline for %d into '%s'.", step, path)
            timeline = Timeline(run_values.run_metadata.step_stats)
            trace = timeline.generate_chrome_trace_format(
                show_dataflow=self._show_dataflow, show_memory=self._show_memory
            )
            write_file(path, trace)
            self._writer.add_run_metadata(run_values.run_metadata, f"step_{step}")
        self._next_step = step + 1
