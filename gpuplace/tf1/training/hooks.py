"""Hooks that log, stop, check and feed.

Source: tensorflow/python/training/basic_session_run_hooks.py, release 1.15 (sentences of errors and of the log).
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
    """The tensor that reads the default graph's global step.

    Args:
        what: who needs it, for the error.

    Raises:
        RuntimeError: the graph has none.
    """
    step = global_step_read()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {what}.")
    return step


class LoggingTensorHook(SessionRunHook):
    """Logs tensors every so many steps or seconds, or at the end.

    Args:
        tensors: a dict from tag to tensor or name, or a list of them whose names are the tags.
        every_n_iter: log every so many runs; None: not by runs.
        every_n_secs: log every so many seconds; None: not by time.
        at_end: also log when the session ends well.
        formatter: makes the line from a dict of tags and values; None: ``tag = value, ...``.

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
            self._tensors = {one: one for one in tensors}
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
        """Finds the tensors.

        Raises:
            ValueError: a name is that of an operation with several outputs, or a tensor is of another graph.
            KeyError: there is no such tensor.
        """
        self._timer.reset()
        self._runs = 0
        self._fetches = {tag: _graph_element(tensor) for tag, tensor in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Asks for the tensors when it is time.

        Args:
            run_context: of the run.

        Returns:
            The tensors, or None.
        """
        self._is_due = self._timer.should_trigger_for_step(self._runs)
        return SessionRunArgs(self._fetches) if self._is_due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs them.

        Args:
            run_context: of the run.
            run_values: the values.
        """
        if self._is_due:
            self._log(run_values.results)
        self._runs += 1

    def end(self, session: Any) -> None:
        """Logs them once more where that was asked for.

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
    """Stops when the global step is at a number.

    Args:
        num_steps: stop after so many steps from the step that the session begins with.
        last_step: stop at this step.

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
        """Finds the global step.

        Raises:
            RuntimeError: there is none.
        """
        self._step = required_global_step_read("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Counts from the session's step.

        Args:
            session: the session.
            coord: its coordinator.
        """
        if self._last_step is None and self._num_steps is not None:
            self._last_step = int(session.run(self._step)) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Asks for the step.

        Args:
            run_context: of the run.

        Returns:
            The step.
        """
        return SessionRunArgs(self._step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Asks to stop at the last step.

        Args:
            run_context: of the run.
            run_values: the step.
        """
        last = self._last_step
        if last is not None and run_values.results + 1 >= last:
            # the value may be one of before the update: look again
            if run_context.session.run(self._step) >= last:
                run_context.request_stop()


class NanLossDuringTrainingError(RuntimeError):
    """The loss is not a number."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Ends training when a loss is not a number.

    Args:
        loss_tensor: a scalar of a floating type.
        fail_on_nan_loss: raise an error, or stop as if training were done.
    """

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss = loss_tensor
        self._fails = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Asks for the loss.

        Args:
            run_context: of the run.

        Returns:
            The loss.
        """
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Looks at it.

        Args:
            run_context: of the run.
            run_values: the loss.

        Raises:
            NanLossDuringTrainingError: it is not a number.
        """
        if not np.isnan(run_values.results):
            return
        if self._fails:
            tf_logging.error("Model diverged with loss = NaN.")
            raise NanLossDuringTrainingError
        tf_logging.warning("Model diverged with loss = NaN.")
        run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """Waits before the first run until the global step has come to a number, which others count.

    Args:
        wait_until_step: the number.
    """

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step
        self._is_started = False
        self._step: Any = None

    def begin(self) -> None:
        """Finds the global step.

        Raises:
            RuntimeError: there is none.
        """
        self._is_started = False
        self._step = required_global_step_read("_GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Waits, the first time.

        Args:
            run_context: of the run.

        Returns:
            None.
        """
        if self._is_started or self._wait_until_step <= 0:
            self._is_started = True
            return None
        wanted = self._wait_until_step
        tf_logging.info("Waiting for global step %d before starting training.", wanted)
        logged = 0
        while (current := int(run_context.session.run(self._step))) < wanted:
            if current - logged > _STEPS_BETWEEN_LINES:
                tf_logging.info(
                    "Waiting for global step %d before starting training. Current step is %d.",
                    wanted,
                    current,
                )
                logged = current
            time.sleep(_POLL_SECONDS)
        self._is_started = True
        return None


class FinalOpsHook(SessionRunHook):
    """Runs something at the end of the session.

    Args:
        final_ops: what to fetch, as for ``Session.run``; None: nothing.
        final_ops_feed_dict: what to feed then; None: nothing.
    """

    def __init__(self, final_ops: FetchLike | None, final_ops_feed_dict: FeedDict | None = None) -> None:
        self._final_ops = final_ops
        self._feeds = final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values; None before the end."""
        return self._values

    def end(self, session: Any) -> None:
        """Runs it.

        Args:
            session: the session.

        Raises:
            OutOfRangeError: what is run takes from an input that is at its end.
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
    """Feeds every run what a function returns.

    Args:
        feed_fn: returns a dict as for ``Session.run``.
    """

    def __init__(self, feed_fn: Callable[[], FeedDict]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Asks the function.

        Args:
            run_context: of the run.

        Returns:
            What to feed.
        """
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
