"""Plan of a signature on several tasks, and its steps.

::

    calling thread         own part ───────────────> values ─┐
    event loop             run(part) ─ ─ ─ > values ─────────┴─> fetches
                           run(part) ─ ─ ─ > error ──> abort on all other tasks

Source: tensorflow/core/distributed_runtime/master_session.cc, release 1.15.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from gpuplace.clusters import event_loop
from gpuplace.clusters.frames import FrameError
from gpuplace.clusters.partition import Part, feeds_of
from gpuplace.clusters.step_traces import PartTrace, fill_step_stats
from gpuplace.clusters.wire import packed, packed_error, unpacked
from gpuplace.errors import CancelledError, DataLossError, DeadlineExceededError, OpError
from gpuplace.graphdef.messages import StepStats
from gpuplace.kernels.cancellation import StepLimits
from gpuplace.runtime.plan.compile import Signature
from gpuplace.typing import RunMetadata

_ENDS_S = 0.5
"""Time in seconds that tasks have to end a step after its deadline."""
HEAD_2_21 = re.compile(r"\AGraph execution error:\n\n(?:Detected at node.*?\nNode: '[^']*'\n)?", re.DOTALL)
"""Header of error messages in 2.21; the master writes its own, with the program's lines."""


class ClusterPlan:
    """Plan of a signature on several tasks.

    Args:
        session: the session.
        signature: fetches, targets and feeds.
        number: number of the plan in the protocol.
        parts: part of each task, by task name.
        is_traced: whether its steps are traced.
    """

    def __init__(
        self,
        session: Any,
        signature: Signature,
        number: int,
        parts: Mapping[str, Part],
        is_traced: bool,
    ) -> None:
        self._session = session
        self.number = number
        self.is_traced = is_traced
        self.parts = tuple(parts.values())
        """Parts of all tasks."""
        self.local = next((part for part in parts.values() if session.is_local(part.task)), None)
        """Part of this process's task."""
        self.remote = [part for part in parts.values() if part is not self.local]
        """Parts of the other tasks."""
        self.tasks = frozenset(parts)
        """Names of the participating tasks."""
        fetches, _, feeds = signature
        self.fed = {
            position: feeds.index(tensor) for position, tensor in enumerate(fetches) if tensor in feeds
        }
        """Positions of feeds that are also fetched, by fetch position."""
        self.feeds = [tensor.name for tensor in feeds]
        """Names of the fed tensors."""
        self.fetches = len(fetches)
        """Number of fetches."""

    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """Run a step and return the fetched values.

        Args:
            feeds: fed arrays of the right types.

        Raises:
            OpError: a kernel failed on any task.
            UnavailableError: a task is gone.
        """
        return self._session.run(self, feeds)

    def close(self) -> None:
        """Remove the plan from the tasks."""
        self._session.forget(self)

    def run_with_metadata(
        self, feeds: Sequence[Any], run_metadata: RunMetadata, wants_graphs: bool
    ) -> list[Any]:
        """Run a step and fill in its metadata, with statistics if the plan is traced.

        Args:
            feeds: fed arrays.
            run_metadata: the ``RunMetadata``.
            wants_graphs: whether to add the partition graphs.

        Raises:
            OpError: as in ``run``.
        """
        run_metadata.Clear()
        traces: list[PartTrace] | None = [] if self.is_traced else None
        fetched = self._session.run(self, feeds, traces)
        if traces is not None:
            fill_step_stats(run_metadata.step_stats, self.parts, traces)
        if wants_graphs:
            run_metadata.partition_graphs.extend(self._session.partition_graphs(self))
        return fetched


class ClusterStep:
    """Running step.

    Args:
        session: the ``ClusterSession``.
        plan: plan of the step.
        number: number of the step in the protocol.
    """

    def __init__(self, session: Any, plan: ClusterPlan, number: int) -> None:
        self._session = session
        self.plan = plan
        self.number = number
        self._lock = threading.Lock()
        self._error: OpError | None = None
        self.traces: dict[str, PartTrace] = {}
        """Trace of each task by name, with times by its own clock."""

    def run(self, feeds: Sequence[Any], limits: StepLimits) -> list[Any]:
        """Run the step and return the fetched values."""
        plan, session = self.plan, self._session
        fetched: list[Any] = [None] * plan.fetches
        for position, fed in plan.fed.items():
            fetched[position] = feeds[fed]
        remote: Future[list[list[Any]]] | None = None
        if plan.remote:
            remote = event_loop.start(
                self._run_remote([(part, feeds_of(part, feeds)) for part in plan.remote])
            )
        try:
            if plan.local is not None:
                try:
                    values = session.run_local(plan, self, feeds_of(plan.local, feeds), limits)
                    self._put(fetched, plan.local, values)
                except OpError as error:
                    self.fail(_from(plan.local.task, error))
            if remote is not None:
                timeout = None if limits.deadline is None else max(limits.deadline - time.monotonic(), 0)
                try:
                    values_of_parts = remote.result(timeout)
                except TimeoutError:
                    assert limits.late is not None
                    self.fail(limits.late())
                    values_of_parts = self._wait_for_end(remote)
                for part, values in zip(plan.remote, values_of_parts, strict=self._error is None):
                    self._put(fetched, part, values)
        except BaseException:  # the caller was interrupted
            self.fail(CancelledError.of("Run call was cancelled"))
            raise
        if self._error is not None:
            raise session.with_lines(self._error) from None
        return fetched

    @staticmethod
    def _wait_for_end(remote: Future[list[list[Any]]]) -> list[list[Any]]:
        """Wait for the parts of an aborted step, but only for a short time."""
        try:
            return remote.result(_ENDS_S)
        except TimeoutError:
            remote.cancel()
            return []

    @staticmethod
    def _put(fetched: list[Any], part: Part, values: Sequence[Any]) -> None:
        for position, value in zip(part.fetches, values, strict=False):
            fetched[position] = value

    async def _run_remote(self, parts: Sequence[tuple[Part, list[Any]]]) -> list[list[Any]]:
        return list(await asyncio.gather(*(self._run_on(part, feeds) for part, feeds in parts)))

    async def _run_on(self, part: Part, feeds: Sequence[Any]) -> list[Any]:
        try:
            packed_feeds = [packed(value) for value in feeds]
        except OpError as error:
            self.fail(error)
            return []
        plan = self.plan
        operation = "trace" if plan.is_traced else "run"
        result, failure = await self._session.request(
            part.task, operation, number=plan.number, step=self.number, feeds=packed_feeds
        )
        if failure is not None:
            self.fail(_from(part.task, failure))
            return []
        if plan.is_traced:
            stats = StepStats.FromString(result["step_stats"])
            self.traces[part.task] = PartTrace(stats, result["arrivals"])
            result = result["values"]
        try:
            return [_fetched(unpacked(value)) for value in result]
        except FrameError as error:
            self.fail(DataLossError.of(f"The response from {part.task} cannot be read: {error}"))
            return []

    def fail(self, error: OpError) -> None:
        """Abort the step on all tasks, from any thread; the first error wins."""
        with self._lock:
            if self._error is not None:
                return
            self._error = error
        self._session.abort_local(self.number, error)
        for part in self.plan.remote:
            event_loop.start(self._abort_on(part.task, error))

    async def _abort_on(self, task: str, error: OpError) -> None:
        await self._session.notify(task, "abort", step=self.number, error=packed_error(error))


def _fetched(value: Any) -> Any:
    """Return a value as a session does: scalars instead of arrays of rank 0."""
    return value[()] if getattr(value, "ndim", None) == 0 else value


def _from(task: str, error: OpError) -> OpError:
    """Return a task's error with the name of the task, as the master reports it; deadline errors are unchanged."""
    if isinstance(error, DeadlineExceededError):
        return error
    cls: Any = type(error)
    message = f"From {task}:\n{HEAD_2_21.sub('', error.message)}"
    forwarded: OpError = cls(error.node_def, error.op, message, facts=error.facts, hint=error.hint)
    return forwarded
