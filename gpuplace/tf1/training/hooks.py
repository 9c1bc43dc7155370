"""Hooks that log, stop, check and feed.

Source: tensorflow/python/training/basic_session_run_hooks.py, release 1.15 (error and log messages).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpuplace import tf_logging
from gpuplace.errors import OutOfRangeError
from gpuplace.graph.convert import get_default_graph
from gpuplace.ops.train.global_step import global_step_read
from gpuplace.tf1.training.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from gpuplace.tf1.training.timers import NeverTriggerTimer, SecondOrStepTimer
from gpuplace.typing import FeedDict, FetchLike

_POLL_SECONDS = 0.5
_STEPS_BETWEEN_LINES = 1000


def required_global_step_read(what: str) -> Any:
    """Return the tensor that reads the default graph's global step.

    Args:
        what: the part that needs the step, for the error message.

    Raises:
        RuntimeError: the graph has no global step.
    """
    step = global_step_read()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {what}.")
    return step


class LoggingTensorHook(SessionRunHook):
    """Hook that logs tensors at intervals of steps or seconds, or at the end.

    Args:
        tensors: a dict from tag to tensor or name, or a list of tensors or names, which are then the tags.
        every_n_iter: runs between log lines; None: do not count runs.
        every_n_secs: seconds between log lines; None: ignore the time.
        at_end: whether to log at the end of a session without errors.
        formatter: function from a dict of tags and values to the log line; None for ``tag = value, ...``.

    Raises:
        ValueError: both ``every_n_iter`` and ``every_n_secs`` are given, or neither and ``at_end`` is False.
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | Sequence[Any],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if isinstance(tensors, Mapping):
            self._tags: list[Any] = sorted(tensors)
            self._tensors = dict(tensors)
        else:
            self._tags = list(tensors)
            self._tensors = {tensor: tensor for tensor in tensors}
        self._formatter = formatter
        self._at_end = at_end
        self._timer = (
            NeverTriggerTimer()
            if only_at_end
            else SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)
        )
        self._runs = 0
        self._is_due = False
        self._fetches: dict[Any, Any] = {}

    def begin(self) -> None:
        """Find the tensors.

        Raises:
            ValueError: a name refers to an operation with several outputs, or a tensor is in another graph.
            KeyError: there is no such tensor.
        """
        self._timer.reset()
        self._runs = 0
        self._fetches = {tag: _graph_element(tensor) for tag, tensor in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Request the tensors when it is time to log.

        Args:
            run_context: context of the run.

        Returns:
            The tensors, or None.
        """
        self._is_due = self._timer.should_trigger_for_step(self._runs)
        return SessionRunArgs(self._fetches) if self._is_due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log the tensors.

        Args:
            run_context: context of the run.
            run_values: the values.
        """
        if self._is_due:
            self._log(run_values.results)
        self._runs += 1

    def end(self, session: Any) -> None:
        """Log the tensors if ``at_end`` is True.

        Args:
            session: the session.
        """
        if self._at_end:
            self._log(session.run(self._fetches))

    def _log(self, values: dict[Any, Any]) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._runs)
        with np.printoptions(suppress=True):
            if self._formatter is not None:
                tf_logging.info(self._formatter(values))
                return
            line = ", ".join(f"{tag} = {values[tag]!s}" for tag in self._tags)
        if seconds is None:
            tf_logging.info("%s", line)
        else:
            tf_logging.info("%s (%.3f sec)", line, seconds)


def _graph_element(named: Any) -> Any:
    graph = get_default_graph()
    if not isinstance(named, str):
        if getattr(named, "graph", None) is not graph:
            raise ValueError(
                f"Passed {named} should have graph attribute that is equal to current graph {graph}."
            )
        return named
    if ":" in named:
        return graph.as_graph_element(named)
    element = graph.as_graph_element(f"{named}:0")
    if len(element.op.outputs) > 1:
        raise ValueError(f"Name {named} is ambiguous, as this `Operation` has multiple outputs (at least 2).")
    return element


class StopAtStepHook(SessionRunHook):
    """Hook that stops training at a global step.

    Args:
        num_steps: number of steps after the first step of the session.
        last_step: the global step at which to stop.

    Raises:
        ValueError: neither is given, or both are.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step
        self._step: Any = None

    def begin(self) -> None:
        """Find the global step.

        Raises:
            RuntimeError: the graph has no global step.
        """
        self._step = required_global_step_read("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Count from the session's step.

        Args:
            session: the session.
            coord: its coordinator.
        """
        if self._last_step is None and self._num_steps is not None:
            self._last_step = int(session.run(self._step)) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Request the step.

        Args:
            run_context: context of the run.

        Returns:
            The step.
        """
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Request a stop at the last step.

        Args:
            run_context: context of the run.
            run_values: the step.
        """
        last = self._last_step
        if last is not None and run_values.results + 1 >= last:
            # the fetched value may be older than the update: read it again
            if run_context.session.run(self._step) >= last:
                run_context.request_stop()


class NanLossDuringTrainingError(RuntimeError):
    """The loss is NaN."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Hook that ends training when a loss is NaN.

    Args:
        loss_tensor: a scalar of a floating type.
        fail_on_nan_loss: whether to raise an error rather than stop training.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss = loss_tensor
        self._fails = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Request the loss.

        Args:
            run_context: context of the run.

        Returns:
            The loss.
        """
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Check the loss.

        Args:
            run_context: context of the run.
            run_values: the loss.

        Raises:
            NanLossDuringTrainingError: the loss is NaN.
        """
        if not np.isnan(run_values.results):
            return
        if self._fails:
            tf_logging.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        tf_logging.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """Hook that delays the first run until other workers have reached a global step.

    Args:
        wait_until_step: the global step.
    """

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step
        self._is_started = False
        self._step: Any = None

    def begin(self) -> None:
        """Find the global step.

        Raises:
            RuntimeError: the graph has no global step.
        """
        self._is_started = False
        self._step = required_global_step_read("_GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Wait before the first run.

        Args:
            run_context: context of the run.

        Returns:
            None.
        """
        if self._is_started or self._wait_until_step <= 0:
            self._is_started = True
            return None
        target = self._wait_until_step
        tf_logging.info("Waiting for global step %d before starting training.", target)
        logged = 0
        while (current := int(run_context.session.run(self._step))) < target:
            if current - logged > _STEPS_BETWEEN_LINES:
                tf_logging.info(
                    "Waiting for global step %d before starting training. Current step is %d.",
                    target,
                    current,
                )
                logged = current
            time.sleep(_POLL_SECONDS)
        self._is_started = True
        return None


class FinalOpsHook(SessionRunHook):
    """Hook that runs operations at the end of the session.

    Args:
        final_ops: what to fetch, as for ``Session.run``, or None.
        final_ops_feed_dict: the feeds, or None.
    """

    def __init__(self, final_ops: FetchLike | None, final_ops_feed_dict: FeedDict | None = None) -> None:
        self._final_ops = final_ops
        self._feeds = final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The fetched values; None before the end."""
        return self._values

    def end(self, session: Any) -> None:
        """Run the operation.

        Args:
            session: the session.

        Raises:
            OutOfRangeError: ``final_ops`` reads an input that has ended.
        """
        if self._final_ops is None:
            return
        try:
            self._values = session.run(self._final_ops, feed_dict=self._feeds)
        except (OutOfRangeError, StopIteration):
            tf_logging.warning(
                "An OutOfRangeError or StopIteration exception is raised by the code in FinalOpsHook. This typically"
                " means the Ops running by the FinalOpsHook have a dependency back to some input source, which should"
                " not happen."
            )
            raise


class FeedFnHook(SessionRunHook):
    """Hook that feeds the result of a function to each run.

    Args:
        feed_fn: returns a dict as for ``Session.run``.
    """

    def __init__(self, feed_fn: Callable[[], FeedDict]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Call the function.

        Args:
            run_context: context of the run.

        Returns:
            The feeds.
        """
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
