"""Master of a session with a target: its graph is placed on the devices of all tasks, which run its steps.

The session's process is the master. It partitions a signature among the tasks, registers each part once, and then has
each task run its part; tensors are sent from task to task. A part on a task of this process runs in the caller's
thread::

    session.run ──> number of the step ──┬── this thread: part of /job:worker/task:0
                                         └── run ─ ─ ─ ─> part of /job:ps/task:0

Source: tensorflow/core/distributed_runtime/master.cc and master_session.cc, release 1.15.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from gpuplace import tf_logging
from gpuplace.clusters import event_loop
from gpuplace.clusters.cluster_plan import HEAD_2_21, ClusterPlan, ClusterStep
from gpuplace.clusters.connections import (
    Connections,
    connect,
    full_address,
    is_refused,
    patience_s,
    unproven,
)
from gpuplace.clusters.dask_client import ON_DASK, target_of
from gpuplace.clusters.partition import Part, partition_step
from gpuplace.clusters.server import running_task
from gpuplace.clusters.session_tasks import master_in, passes
from gpuplace.clusters.step_traces import PartTrace, clock_ahead, on_one_clock
from gpuplace.clusters.streams import Stream
from gpuplace.clusters.task import unknown_session
from gpuplace.clusters.task_devices import devices_of
from gpuplace.clusters.wire import unpacked_error
from gpuplace.errors import (
    CancelledError,
    DeadlineExceededError,
    NotFoundError,
    OpError,
    UnavailableError,
)
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation
from gpuplace.graphdef.messages import ConfigProto, GraphDef
from gpuplace.kernels.cancellation import StepLimits, step_limits
from gpuplace.ops.train.device_setter import ClusterSpec
from gpuplace.release import get_release
from gpuplace.runtime.plan.compile import PLAIN, PlanOptions, Signature
from gpuplace.runtime.plan.schedule.unused import drops_unused
from gpuplace.runtime.plan.step_errors import node_named_in, with_lines
from gpuplace.runtime.session.run_options import limit_ms_of

STILL_WAITING_S = 10.0
"""Time in seconds between log entries about a task that does not answer."""

_RETRY_S = 0.1
"""Time in seconds between connection attempts."""
_LISTENS_S = 1.0
"""Timeout in seconds of a connection attempt to a task that is known to listen."""
_MOST_REFUSALS = 3
"""Number of consecutive failed authentications that count as an error; a killed task causes one, too."""
_IS_BACK_S = 0.5
"""Timeout in seconds of a connection to a lost task: if it is back, it does not know the session."""

_FORGETS_S = 1.0
"""Time in seconds that tasks have to remove a plan."""

_NODE_OF_TASK = re.compile(r"\[\[node ([^\s\]]+) ?\]\]")
"""Node name in an error message of a task, which does not know the program's lines."""


class ClusterSession:
    """Master of a session; it has the interface of the plan compiler of a session in one process.

    Args:
        target: ``grpc://host:port`` of any task, which may start later; ``grpc+dask://host:port`` of a dask worker's
            task, which may not; or ``dask://host:port`` of a scheduler, whose workers become tasks.
        config: the session's ``ConfigProto``.
        graph: the graph.
        release: the release.

    Raises:
        NotFoundError: the target has another protocol.
        InvalidArgumentError: the target is not the address of a task.
        PermissionDeniedError: a task is on another machine, without TLS; or others can read this user's token.
        UnauthenticatedError: a task does not know the secret, or one end refuses the other's certificate.
        DeadlineExceededError: a task did not answer within ``operation_timeout_in_ms``.
        UnavailableError: the task of a dask worker is gone.
        UnimplementedError: ``dask://`` without ``dask.distributed``.
    """

    def __init__(self, target: str, config: Any, graph: Graph, release: str) -> None:
        self.limit_ms = limit_ms_of(config)
        """Default time limit of steps: the session's, or that of the target's task."""
        deadline = time.monotonic() + self.limit_ms / 1000 if self.limit_ms else None
        if target.startswith("dask://"):
            target = target_of(target.removeprefix("dask://"), deadline)
        self._all_listen = target.startswith(ON_DASK)
        if not target.startswith(("grpc://", ON_DASK)):
            raise NotFoundError.of(
                f'No session factory registered for the given session options: {{target: "{target}" config: }}'
                " Registered factories are {DIRECT_SESSION, GRPC_SESSION}.",
                hint='target="" for this process, "grpc://host:port" for the target of a tf.train.Server, "dask://host:port"'
                " for the workers of a dask scheduler, or the target of a gpuplace.cluster(client)",
            )
        self._graph, self._release = graph, release
        self.config = config
        """The session's ``ConfigProto``, into which the config of the target's server is merged."""
        self._handle = secrets.token_hex(8)
        self.backends: dict[str, Any] = {}
        """Empty: backends belong to the tasks."""
        address = target.partition("://")[2]
        self._local = running_task(address)
        self.connections = Connections() if self._local is None else self._local.connections
        self._steps = itertools.count(1)
        self._parts = itertools.count(1)
        self._lock = threading.Lock()
        self._under_way: dict[int, ClusterStep] = {}
        self._lost: dict[str, OpError] = {}
        self._own = ""
        """Name of the target's task."""
        self._is_renamed = False
        """Whether the session's config renames the tasks."""
        self._watches: list[asyncio.Task[None]] = []
        self._streams: list[Stream] = []
        self._is_closed = False
        self.addresses: dict[str, str] = {}
        """Full address of each task, by name."""
        try:
            described = event_loop.wait_for(self._open(address, target, deadline))
        except BaseException:
            self.close()
            raise
        self.devices = devices_of(described, self.addresses, self.config)

    # Opening and closing

    async def _open(self, address: str, target: str, deadline: float | None) -> list[dict[str, Any]]:
        """Open the session on every task of the cluster; return their descriptions, the session's own task first."""
        if self._local is not None:
            cluster = self._local.described()
        else:
            cluster = await self._request_once(full_address(address), address, deadline, op="cluster")
        self.config = _merged(self.config, cluster["config"])
        self._all_listen = cluster["all_listen"]
        self.limit_ms = self.limit_ms or cluster["limit_ms"]
        jobs = cluster["jobs"]
        self._own = own = cluster["task"]
        cluster_def = getattr(self.config, "cluster_def", None)
        if cluster_def is not None and self.config.HasField("cluster_def"):
            spec = ClusterSpec(cluster_def)
            jobs = {job: spec.job_tasks(job) for job in spec.jobs}
            self._own = own = master_in(cluster_def, jobs, target)
            self._is_renamed = True
        tasks = {
            f"/job:{job}/replica:0/task:{index}": address
            for job, addresses in jobs.items()
            for index, address in enumerate(addresses)
            if address is not None
        }
        filters = list(getattr(self.config, "device_filters", ()) or ())
        seen = [name for name in tasks if name == own or passes(name, filters)]
        self.addresses = {name: full_address(tasks[name]) for name in seen}
        seen.sort(key=lambda name: name != own)
        descriptions = await asyncio.gather(*(self._open_on(name, deadline) for name in seen))
        return list(descriptions)

    async def _request_once(self, address: str, name: str, deadline: float | None, **message: Any) -> Any:
        """Send a request to a task on a separate connection, and wait for the answer."""
        async with _until(deadline, name, address):
            stream = await self._connect_patiently(address, name)
            try:
                await stream.write(message)
                return await stream.read()
            except OSError as error:
                raise _unavailable(name, error) from None
            finally:
                stream.abort()

    async def _connect_patiently(self, address: str, name: str) -> Stream:
        """Connect to a task, which may not listen yet; a task that is known to listen is gone if it does not."""
        start = last_note = time.monotonic()
        refusals = 0
        while True:
            try:
                async with asyncio.timeout(_LISTENS_S if self._all_listen else STILL_WAITING_S):
                    return await connect(address)
            except OSError as error:  # includes TimeoutError
                refusal = unproven(error, name, address)
                refusals = refusals + 1 if refusal else 0
                if refusal is not None and refusals == _MOST_REFUSALS:
                    raise refusal from None
                now = time.monotonic()
                if self._all_listen and (is_refused(error) or now - start > patience_s()):
                    raise _gone(name, error) from None
            if now - last_note >= STILL_WAITING_S:
                last_note = now
                tf_logging.info("CreateSession still waiting for response from worker: %s", name)
            await asyncio.sleep(_RETRY_S)

    async def _open_on(self, name: str, deadline: float | None) -> dict[str, Any]:
        """Open the session on a task, and watch the connection."""
        isolated = bool(getattr(self.config, "isolate_session_state", False))
        if self._is_renamed:
            isolated |= not self.config.experimental.share_session_state_in_clusterspec_propagation
        new_name = name if self._is_renamed else ""
        config = b"" if self.config is None else _serialized(self.config)
        if self.is_local(name):
            assert self._local is not None
            task = self._local.task
            task.open_session(self._handle, _parsed(config), self.addresses, isolated, new_name)
            return task.described(new_name)
        message = {"op": "open_session", "session": self._handle, "config": config, "tasks": self.addresses}
        async with _until(deadline, name, self.addresses[name]):
            stream = await self._connect_patiently(self.addresses[name], name)
            self._streams.append(stream)
            try:
                await stream.write({**message, "isolated": isolated, "name": new_name})
                answer = await stream.read()
            except OSError as error:
                raise _unavailable(name, error) from None
        if answer["error"] is not None:
            raise unpacked_error(answer["error"])
        self._watches.append(asyncio.get_running_loop().create_task(self._watch(name, stream)))
        return answer

    async def _watch(self, name: str, stream: Stream) -> None:
        """Abort the steps of a task when its connection ends; all steps if it is the target's task."""
        try:
            await stream.read()
        except OSError as error:
            if not self._is_closed:
                self._lost[name] = lost = _unavailable(name, error)
                for step in list(self._under_way.values()):
                    if name in step.plan.tasks or name == self._own:
                        step.fail(lost)

    def close(self) -> None:
        """End the session on all tasks; variables remain."""
        self._is_closed = True
        if self._local is not None:
            self._local.task.close_session(self._handle)
        for step in list(self._under_way.values()):
            step.fail(CancelledError.of("Session has been closed."))
        event_loop.wait_for(self._close())

    async def _close(self) -> None:
        for watch in self._watches:
            watch.cancel()
        for stream in self._streams:
            stream.abort()
        if self._local is None:
            self.connections.close()

    async def reset(self, containers: list[str]) -> None:
        """Clear the resources of containers on all tasks.

        Args:
            containers: names of the containers; empty for the default container.

        Raises:
            DeadlineExceededError: a task did not answer within the session's time limit.
        """
        deadline = time.monotonic() + self.limit_ms / 1000 if self.limit_ms else None
        for task in self.addresses:
            if self.is_local(task):
                assert self._local is not None
                await self._local.task.reset(containers)
            else:
                await self._request_once(
                    self.addresses[task], task, deadline, op="reset", containers=containers
                )

    # Plans

    def make(
        self,
        signature: Signature,
        device_of: Callable[[Operation], str],
        options: PlanOptions = PLAIN,
        done: frozenset[Operation] = frozenset(),
    ) -> ClusterPlan:
        """Partition a signature and register its parts on their tasks.

        Args:
            signature: fetches, targets and feeds.
            device_of: the placement.
            options: options of the plan; only tracing applies.
            done: operations that have run in an earlier call of a partial run.

        Raises:
            DeadlineExceededError: a task did not answer within the time limit of the step.
            UnimplementedError: a part cannot be computed.
            UnavailableError: a task is gone.
        """
        drops = drops_unused(self.config) and not done and not options.is_traced
        parts = partition_step(signature, device_of, done, drops)
        plan = ClusterPlan(self, signature, next(self._parts), parts, options.is_traced)
        self._wait_for(self._register(plan, parts.values()))
        return plan

    def _wait_for(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Wait for the result of a coroutine, within the time limit of the current step of this thread."""
        limits = step_limits()
        if limits.deadline is None:
            return event_loop.wait_for(work)
        assert limits.late is not None
        future = event_loop.start(work)
        try:
            return future.result(max(limits.deadline - time.monotonic(), 0))
        except TimeoutError:
            raise limits.late() from None
        finally:
            future.cancel()

    async def _register(self, plan: ClusterPlan, parts: Collection[Part]) -> None:
        answers = await asyncio.gather(*(self._register_on(plan, part) for part in parts))
        for answer in answers:
            if answer is not None:
                raise self.with_lines(answer)

    async def _register_on(self, plan: ClusterPlan, part: Part) -> OpError | None:
        message: dict[str, Any] = {
            "number": plan.number,
            "feeds": {name: plan.feeds[position] for position, name in part.feeds.items()},
            "fetches": list(part.fetches.values()),
            "targets": part.targets,
            "is_traced": plan.is_traced,
        }
        if self.is_local(part.task):
            assert self._local is not None
            work = partial(self._local.task.register, self._handle, graph_def=part.graph_def, **message)
            try:
                await asyncio.to_thread(work)
            except OpError as error:
                return error
            return None
        serialized = part.graph_def.SerializeToString()
        return (await self.request(part.task, "register", graph_def=serialized, **message))[1]

    def forget(self, plan: ClusterPlan) -> None:
        """Remove a plan from the tasks.

        Args:
            plan: the plan.
        """
        event_loop.wait_for(self._forget(plan))

    async def _forget(self, plan: ClusterPlan) -> None:
        with suppress(TimeoutError):  # the next step reports a task that does not answer
            async with asyncio.timeout(_FORGETS_S):
                await self._forget_parts(plan)

    async def _forget_parts(self, plan: ClusterPlan) -> None:
        for part in plan.parts:
            if self.is_local(part.task):
                assert self._local is not None
                self._local.task.forget(self._handle, plan.number)
            else:  # the error of a task that is gone does not matter
                await self.request(part.task, "forget", number=plan.number)

    def is_local(self, task: str) -> bool:
        """Whether a task is the session's own and in this process."""
        return self._local is not None and task == self._own

    async def request(self, task: str, operation: str, **message: Any) -> tuple[Any, OpError | None]:
        """Return the result of an operation on a task, or its error."""
        lost = self._lost.get(task)
        if lost is not None:
            return None, await self._why_lost(task, lost)
        message |= {"op": operation, "session": self._handle}
        try:
            answer = await self.connections.request(self.addresses[task], **message)
            if answer["error"] is not None:
                return None, unpacked_error(answer["error"])
        except OSError as error:
            return None, unproven(error, task, self.addresses[task]) or _unavailable(task, error)
        return answer.get("result"), None

    async def _why_lost(self, task: str, lost: OpError) -> OpError:
        """Return the error for a lost task: AbortedError if the task is back, because it does not know the session."""
        try:
            async with asyncio.timeout(_IS_BACK_S):
                (await connect(self.addresses[task])).abort()
        except OSError:  # includes TimeoutError
            return lost
        return unknown_session(self._handle, task)

    async def notify(self, task: str, operation: str, **message: Any) -> None:
        """Send a request to a task without waiting for an answer; ignored if the task is gone."""
        if task in self._lost or self._is_closed:
            return
        message |= {"op": operation, "session": self._handle}
        with suppress(OSError):  # `_watch` handles the loss of the task
            await self.connections.request(self.addresses[task], is_answered=False, **message)

    def with_lines(self, error: OpError) -> OpError:
        """Return an error of a task with the program's lines that created the nodes in it."""
        message = _NODE_OF_TASK.sub(r"[[{{node \1}}]]", HEAD_2_21.sub("", error.message))
        op = node_named_in(message, self._graph)
        facts = dict(error.facts)
        if op is not None and op.source:
            facts.setdefault("created at", op.source)
        cls: Any = type(error)
        completed: OpError = cls(
            op, op, with_lines(message, self._graph, self._release), facts=facts, hint=error.hint
        )
        return completed

    # Steps

    def run(
        self, plan: ClusterPlan, feeds: Sequence[Any], traces: list[PartTrace] | None = None
    ) -> list[Any]:
        """Run a step; see ``ClusterPlan.run``.

        Args:
            plan: plan of the step.
            feeds: fed arrays.
            traces: filled with the trace of each part, in the order of ``plan.parts``; None: the step is not traced.
        """
        lost = self._lost.get(self._own)
        if lost is not None:
            raise event_loop.wait_for(self._why_lost(self._own, lost))
        step = ClusterStep(self, plan, next(self._steps))
        with self._lock:
            self._under_way[step.number] = step
        try:
            fetched = step.run(feeds, step_limits())
        finally:
            with self._lock:
                del self._under_way[step.number]
        if traces is not None:
            traces += self._wait_for(self._on_one_clock(step))
        return fetched

    async def _on_one_clock(self, step: ClusterStep) -> list[PartTrace]:
        """Return the traces of the parts, converted to this process's clock."""
        return list(await asyncio.gather(*(self._by_own_clock(step, part.task) for part in step.plan.parts)))

    async def _by_own_clock(self, step: ClusterStep, task: str) -> PartTrace:
        if self.is_local(task):
            return step.traces[task]

        async def their_time() -> int:
            theirs, error = await self.request(task, "time")
            if error is not None:
                raise error
            return int(theirs)

        return on_one_clock(step.traces[task], await clock_ahead(their_time))

    def run_local(
        self, plan: ClusterPlan, step: ClusterStep, feeds: Sequence[Any], limits: StepLimits
    ) -> list[Any]:
        """Run the part of a step on this process's task, in this thread."""
        assert self._local is not None
        task = self._local.task
        if not plan.is_traced:
            return task.run(self._handle, plan.number, step.number, feeds, limits)
        values, step.traces[self._own] = task.trace(self._handle, plan.number, step.number, feeds, limits)
        return values

    def partition_graphs(self, plan: ClusterPlan) -> list[Any]:
        """Return the graphs of a plan, one for each device.

        Args:
            plan: the plan.

        Raises:
            UnavailableError: a task is gone.
        """
        return list(self._wait_for(self._partition_graphs(plan)))

    async def _partition_graphs(self, plan: ClusterPlan) -> list[Any]:
        partitions: list[Any] = []
        for part in plan.parts:
            if self.is_local(part.task):
                assert self._local is not None
                partitions += self._local.task.partition_graphs(self._handle, plan.number)
                continue
            graphs, error = await self.request(part.task, "partitions", number=plan.number)
            if error is not None:
                raise self.with_lines(error)
            partitions += map(GraphDef.FromString, graphs)
        return partitions

    def abort_local(self, step: int, error: OpError) -> None:
        """Abort a step on this process's task."""
        if self._local is not None:
            self._local.task.abort(self._handle, step, error)


def reset(target: str, containers: Sequence[str] | None, config: Any) -> None:
    """Reset a cluster; see ``Session.reset``.

    Args:
        target: target of the cluster.
        containers: names of containers; None: the default container.
        config: a ``ConfigProto``.
    """
    session = ClusterSession(target, config, Graph(), get_release())
    try:
        event_loop.wait_for(session.reset(list(containers or ())))
    finally:
        session.close()


def open_session(target: str, config: Any, graph: Graph, release: str) -> ClusterSession:
    """Open a session on a cluster; see ``ClusterSession``."""
    return ClusterSession(target, config, graph, release)


@asynccontextmanager
async def _until(deadline: float | None, name: str, address: str) -> AsyncIterator[None]:
    """Raise DeadlineExceededError if a block that waits for a task takes too long.

    Args:
        deadline: on the clock of ``time.monotonic``, which is the event loop's; None: never.
        name: name of the task.
        address: full address of the task.
    """
    try:
        async with asyncio.timeout_at(deadline):
            yield
    except TimeoutError:
        raise DeadlineExceededError.of(
            "Deadline Exceeded", facts={"did not answer": name, "address": address}
        ) from None


def _unavailable(task: str, error: BaseException) -> UnavailableError:
    return UnavailableError.of(
        "Socket closed",
        facts={"task": task, "raised": f"{type(error).__name__}: {error}"},
        hint="when the task is back, create a new session, as MonitoredTrainingSession does",
    )


def _gone(task: str, error: BaseException) -> UnavailableError:
    return UnavailableError.of(
        "The connection to the dask worker of the task was lost",
        facts={"task": task, "raised": f"{type(error).__name__}: {error}"},
        hint="the task is not restarted: start tasks on the current workers with gpuplace.cluster(client), and restore"
        " a checkpoint in a new session with its target",
    )


def _merged(config: Any, server_config: bytes) -> Any:
    """Return a session's config with the config of its target's server, whose settings win, as in TensorFlow."""
    if not server_config:
        return config
    merged = _parsed(b"" if config is None else _serialized(config))
    merged.MergeFromString(server_config)
    return merged


def _serialized(config: Any) -> bytes:
    return config.SerializeToString() if hasattr(config, "SerializeToString") else b""


def _parsed(config: bytes) -> Any:
    return ConfigProto.FromString(config)
