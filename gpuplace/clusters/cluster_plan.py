"""A signature that is ready to run on several tasks, and its steps.

::

    this thread            own part ───────────────> values ─┐
    thread that talks      run(part) ─ ─ ─ > values ─────────┴─> fetches
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
from gpuplace.clusters.dividing import Part, feeds_of
from gpuplace.clusters.frames import FrameError
from gpuplace.clusters.step_traces import PartTrace, fill_step_stats
from gpuplace.clusters.wire import packed, packed_error, unpacked
from gpuplace.errors import CancelledError, DataLossError, DeadlineExceededError, OpError
from gpuplace.graphdef.messages import StepStats
from gpuplace.kernels.cancellation import StepLimits
from gpuplace.runtime.plan.compile import Signature

_ENDS_S = 0.5
"""How long the tasks of a step whose time is up have to end it."""
HEAD_2_21 = re.compile(r"\AGraph execution error:\n\n(?:Detected at node.*?\nNode: '[^']*'\n)?", re.DOTALL)
"""What 2.21 says above the sentence; the master says it with the program's lines."""


class ClusterPlan:
    """A signature that is ready to run on several tasks.

    Args:
        session: the session.
        signature: what is fetched, run and fed.
        number: by which the tasks know it.
        parts: name of a task -> its part.
        is_traced: whether its steps leave statistics.
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
        """What each task does."""
        self.local = next((part for part in parts.values() if session.is_local(part.task)), None)
        """The part of this process's task."""
        self.remote = [part for part in parts.values() if part is not self.local]
        """The other ones."""
        self.tasks = frozenset(parts)
        """The names of the tasks that take part."""
        fetches, _, feeds = signature
        self.fed = {
            position: feeds.index(tensor) for position, tensor in enumerate(fetches) if tensor in feeds
        }
        """Position of a fetch that is fed -> position of the feed."""
        self.feeds = [tensor.name for tensor in feeds]
        """Names of the tensors that are fed."""
        self.fetches = len(fetches)
        """How many there are."""

    def run(self, feeds: Sequence[Any]) -> list[Any]:
        """The fetched values, for fed arrays of the right type.

        Raises:
            OpError: a kernel failed on any task.
            UnavailableError: a task is gone.
        """
        return self._session.run(self, feeds)

    def close(self) -> None:
        """Gives it up."""
        self._session.forget(self)

    def run_with_metadata(self, feeds: Sequence[Any], run_metadata: Any, wants_graphs: bool) -> list[Any]:
        """As ``run``, and fills in what the step leaves: statistics where it is traced.

        Args:
            feeds: fed arrays.
            run_metadata: the ``RunMetadata``.
            wants_graphs: whether the partition graphs are wanted.

        Raises:
            OpError: as for ``run``.
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
    """One step under way.

    Args:
        session: the ``ClusterSession``.
        plan: what runs.
        number: by which the tasks know it.
    """

    def __init__(self, session: Any, plan: ClusterPlan, number: int) -> None:
        self._session = session
        self.plan = plan
        self.number = number
        self._lock = threading.Lock()
        self._error: OpError | None = None
        self.traces: dict[str, PartTrace] = {}
        """Task -> what it noted, by its own clock."""

    def run(self, feeds: Sequence[Any], limits: StepLimits) -> list[Any]:
        """Runs it."""
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
                left = None if limits.deadline is None else max(limits.deadline - time.monotonic(), 0)
                try:
                    found = remote.result(left)
                except TimeoutError:
                    assert limits.late is not None
                    self.fail(limits.late())
                    found = self._ended(remote)
                for part, values in zip(plan.remote, found, strict=self._error is None):
                    self._put(fetched, part, values)
        except BaseException:  # the caller was interrupted
            self.fail(CancelledError.of("Run call was cancelled"))
            raise
        if self._error is not None:
            raise session.with_lines(self._error) from None
        return fetched

    @staticmethod
    def _ended(remote: Future[list[list[Any]]]) -> list[list[Any]]:
        """Waits for the parts of a step that was given up, but not for tasks that do not answer."""
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
            sent = [packed(value) for value in feeds]
        except OpError as error:
            self.fail(error)
            return []
        plan = self.plan
        operation = "trace" if plan.is_traced else "run"
        found, failure = await self._session.ask(
            part.task, operation, number=plan.number, step=self.number, feeds=sent
        )
        if failure is not None:
            self.fail(_from(part.task, failure))
            return []
        if plan.is_traced:
            stats = StepStats.FromString(found["step_stats"])
            self.traces[part.task] = PartTrace(stats, found["arrivals"])
            found = found["values"]
        try:
            return [_fetched(unpacked(value)) for value in found]
        except FrameError as error:
            self.fail(DataLossError.of(f"The answer of {part.task} cannot be read: {error}"))
            return []

    def fail(self, error: OpError) -> None:
        """Ends the step on all tasks, from any thread; the first error counts."""
        with self._lock:
            if self._error is not None:
                return
            self._error = error
        self._session.abort_local(self.number, error)
        for part in self.plan.remote:
            event_loop.start(self._abort_on(part.task, error))

    async def _abort_on(self, task: str, error: OpError) -> None:
        await self._session.tell(task, "abort", step=self.number, error=packed_error(error))


def _fetched(value: Any) -> Any:
    """A value as a session returns it: scalars are no arrays."""
    return value[()] if getattr(value, "ndim", None) == 0 else value


def _from(task: str, error: OpError) -> OpError:
    """A task's error as its master passes it on: it says whose it is; the end of a step's time is nobody's."""
    if isinstance(error, DeadlineExceededError):
        return error
    cls: Any = type(error)
    message = f"From {task}:\n{HEAD_2_21.sub('', error.message)}"
    made: OpError = cls(error.node_def, error.op, message, facts=error.facts, hint=error.hint)
    return made
