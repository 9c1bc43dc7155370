"""Task of a cluster: devices, state, and the parts of steps that run on them.

::

    master ── open_session ──────────────> a session of the task, as long as the connection exists
           ── register(graph) ───────────> a plan
           ── run(plan, step, feeds) ────> fetches; trace(...) returns statistics, too
    task   ── tensors(step, edge) ───────> the step's rendezvous on another task

Variables, queues and other resources belong to the task: they outlive sessions, and all sessions share them, unless a
session is isolated. Random generators and other kernel state belong to a session.

Source: tensorflow/core/distributed_runtime/worker.cc, graph_mgr.cc and session_mgr.cc, release 1.15.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from gpuplace import release as releases
from gpuplace.clusters.connections import Connections
from gpuplace.clusters.outbox import Outbox
from gpuplace.clusters.partition import task_of_device
from gpuplace.clusters.rendezvous import Rendezvous
from gpuplace.clusters.step_traces import PartTrace
from gpuplace.clusters.streams import Stream
from gpuplace.clusters.wire import packed, packed_device, packed_error, unpacked, unpacked_error
from gpuplace.device.machine import PREFIX
from gpuplace.errors import AbortedError, CancelledError, InvalidArgumentError, OpError
from gpuplace.graph.bulk import without_garbage_collection
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Tensor
from gpuplace.graphdef.importer import import_graph_def
from gpuplace.graphdef.messages import ConfigProto, GraphDef, RunMetadata, RunOptions, StepStats
from gpuplace.kernels.cancellation import StepLimits, limited
from gpuplace.kernels.registry import session_catalogue
from gpuplace.kernels.resources import ResourceHandle, SessionResources
from gpuplace.runtime.backends.workers import Workers
from gpuplace.runtime.memory.process_state import SessionDevices, session_devices
from gpuplace.runtime.plan.compile import PlanCompiler, PlanOptions
from gpuplace.runtime.plan.executor import Plan
from gpuplace.runtime.session.function_runs import SessionFunctions
from gpuplace.runtime.session.run_options import pools_of_threads
from gpuplace.runtime.tracing.partition_graphs import Ends, fill_partition_graphs
from gpuplace.runtime.tracing.step_stats import Trace, fill_step_stats

_REMEMBERED_STEPS = 1024
"""Number of finished and failed steps to remember, to drop late tensors."""


class TaskSessionResources(SessionResources):
    """Resources of a session on a task: shared with the task, but with the session's own cancellation.

    Args:
        task: the task's resources; None: the session has its own.
        names: the session's name for the task, and the task's own name.
    """

    def __init__(self, task: SessionResources | None, names: tuple[str, str]) -> None:
        super().__init__()
        self._names = names
        if task is not None:
            self._resources, self._lock = task._resources, task._lock

    def _key(self, device: str, container: str, name: str) -> tuple[str, str, str]:
        of_session, own = self._names
        if device.startswith(f"{of_session}/"):
            device = own + device.removeprefix(of_session)
        return super()._key(device, container, name)

    def end(self) -> None:
        """Cancel waiting kernels, and clear the session's kernel state."""
        self.is_closed = True
        self.cancellation.cancel()
        with self._lock:
            self._kernel_states.clear()


class _Registered(NamedTuple):
    """Part that is ready to run."""

    plan: Plan
    graph: Graph
    ends: Ends
    """Names of its feeds and fetches in traces."""


@dataclass
class _TaskSession:
    """Session on this task."""

    handle: str
    name: str
    """The session's name for this task."""
    tasks: Mapping[str, str]
    """Addresses of the tasks, by name."""
    resources: TaskSessionResources
    compiler: PlanCompiler
    release: str
    lock: threading.RLock = field(default_factory=threading.RLock)
    parts: dict[int, _Registered] = field(default_factory=dict)
    """Registered parts, by number."""
    steps: dict[int, Rendezvous] = field(default_factory=dict)
    """Steps that are running, or for which tensors have arrived."""
    failed: deque[int] = field(default_factory=lambda: deque(maxlen=_REMEMBERED_STEPS))
    """Last failed steps."""
    done: deque[int] = field(default_factory=lambda: deque(maxlen=_REMEMBERED_STEPS))
    """Last completed steps."""


class Task:
    """Task of a cluster.

    Args:
        job: name of the job.
        index: index of the task.
        config: the server's ``ConfigProto``; None: its defaults.
        connections: connections to other tasks.
    """

    def __init__(self, job: str, index: int, config: Any, connections: Connections) -> None:
        self.job, self.index = job, index
        self.name = f"/job:{job}/replica:0/task:{index}"
        self.devices = _renamed(session_devices(config), PREFIX, self.name)
        self.resources = SessionResources()
        self.resources.allocators = self.devices.allocators
        self._config = config
        self._connections = connections
        self._sessions: dict[str, _TaskSession] = {}
        self._lock = threading.Lock()
        self._workers = Workers()
        self._outboxes: dict[str, Outbox] = {}
        self.clock: Callable[[], int] = time.time_ns
        """Returns nanoseconds since 1970, for traces."""
        self.handlers: dict[str, Callable[..., Any]] = {
            "open_session": self._open_session,
            "register": self._register,
            "forget": self.forget,
            "run": self._run,
            "trace": self._trace,
            "partitions": self._partitions,
            "time": self._time,
            "tensors": self._receive_tensors,
            "abort": self._abort,
            "reset": self.reset,
        }
        """Handlers of the operations of the protocol, by name."""

    def close(self) -> None:
        """End all sessions."""
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            self._end(session)
        self.resources.clear()
        self._workers.close()

    def described(self, name: str = "") -> dict[str, Any]:
        """Return the task's description for a master.

        Args:
            name: the session's name for the task; empty: the task's own name.
        """
        name = name or self.name
        return {
            "task": name,
            "devices": [packed_device(device) for device in _renamed(self.devices, self.name, name)],
            "machine": str(replace(self.devices.machine, is_local=False)),
        }

    # Sessions

    async def _open_session(
        self,
        stream: Stream,
        session: str,
        config: bytes,
        tasks: Mapping[str, str],
        isolated: bool,
        name: str,
    ) -> None:
        """Open a session that ends with the connection."""
        message = ConfigProto.FromString(config)
        answer = await self._answer(partial(self.open_session, session, message, tasks, isolated, name))
        if answer["error"] is not None:
            await stream.write(answer)
            return
        opened: _TaskSession = answer["result"]
        try:
            await stream.write({"error": None, **self.described(name)})
            while True:
                await stream.read()
        finally:
            self.close_session(opened.handle)

    def open_session(
        self, handle: str, config: Any, tasks: Mapping[str, str], isolated: bool, name: str = ""
    ) -> _TaskSession:
        """Open a session.

        Args:
            handle: handle of the session, on all tasks.
            config: the session's ``ConfigProto``.
            tasks: addresses of the tasks, by name.
            isolated: whether the session has its own variables.
            name: the session's name for this task, by the cluster in its config; empty: the task's own name.

        Raises:
            InvalidArgumentError: the cluster in the config has this task's own name for it.
        """
        if name == self.name:
            raise InvalidArgumentError.of(
                "The ClusterSpec names the job and task index to be the same names that were provided when the server "
                f"booted. This is currently not allowed. Job: {self.job}, task index: {self.index}",
                hint="use other job names in the cluster_def of the session's configuration, or omit cluster_def",
            )
        name = name or self.name
        release = releases.get_release()
        devices = _renamed(self.devices, self.name, name)
        resources = TaskSessionResources(None if isolated else self.resources, (name, self.name))
        resources.allocators = devices.allocators
        lock = threading.RLock()
        compiler = PlanCompiler(
            devices,
            session_catalogue(release).kernels,
            config,
            release,
            resources,
            lock,
            {},
            pools_of_threads(config)[0],
        )
        resources.functions = SessionFunctions(compiler)
        opened = _TaskSession(handle, name, tasks, resources, compiler, release, lock)
        with self._lock:
            self._sessions[handle] = opened
        return opened

    def close_session(self, handle: str) -> None:
        """Close a session if it is open; its variables remain."""
        with self._lock:
            session = self._sessions.pop(handle, None)
        if session is not None:
            self._end(session)

    def _end(self, session: _TaskSession) -> None:
        for rendezvous in list(session.steps.values()):
            rendezvous.abort(
                CancelledError.of("Step was cancelled by an explicit call to `Session::Close()`.")
            )
        session.resources.end()
        with session.lock:
            session.compiler.close()
            session.parts.clear()

    def _session(self, handle: str) -> _TaskSession:
        session = self._sessions.get(handle)
        if session is None:
            raise unknown_session(handle, self.name)
        return session

    async def reset(self, containers: Sequence[str]) -> dict[str, Any]:
        """Clear the resources of containers, and end all sessions.

        Args:
            containers: names of the containers; empty for the default container.
        """
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            self._end(session)
        for container in containers or [""]:
            self.resources.clear(container)
        return {"error": None}

    # Parts of steps

    async def _register(
        self,
        session: str,
        number: int,
        graph_def: bytes,
        feeds: Mapping[str, str],
        fetches: Sequence[str],
        targets: Sequence[str],
        is_traced: bool,
    ) -> dict[str, Any]:
        message = GraphDef.FromString(graph_def)
        return await self._answer(
            partial(self.register, session, number, message, feeds, fetches, targets, is_traced)
        )

    def register(
        self,
        session: str,
        number: int,
        graph_def: Any,
        feeds: Mapping[str, str],
        fetches: Sequence[str],
        targets: Sequence[str],
        is_traced: bool,
    ) -> None:
        """Compile a part of steps.

        Args:
            session: handle of the session.
            number: number of the part, for ``run``.
            graph_def: nodes of the part, with full device names.
            feeds: names of the tensors that the client feeds, by placeholder.
            fetches: names of the tensors to return.
            targets: names of further operations to run.
            is_traced: whether the part is run by ``trace`` instead of ``run``.

        Raises:
            AbortedError: the session is not open on this task.
            OpError: the part cannot be compiled.
        """
        opened = self._session(session)
        graph = Graph()
        with graph.as_default():
            import_graph_def(graph_def, name="")
        for op in graph.get_operations():
            op._stack = ()  # the master knows the program's lines
        signature = (
            tuple(graph.get_tensor_by_name(name) for name in fetches),
            tuple(graph.get_operation_by_name(name) for name in targets),
            tuple(graph.get_operation_by_name(name).outputs[0] for name in feeds),
        )
        with opened.lock, without_garbage_collection():
            plan = opened.compiler.make(signature, lambda op: op.device, PlanOptions(is_traced))
        opened.parts[number] = _Registered(plan, graph, _ends(feeds))

    def forget(self, session: str, number: int) -> dict[str, Any]:
        """Remove a part.

        Args:
            session: handle of the session.
            number: number of the part.
        """
        opened = self._sessions.get(session)
        if opened is not None:
            opened.parts.pop(number, None)
        return {"error": None}

    async def _run(self, session: str, number: int, step: int, feeds: Sequence[Any]) -> dict[str, Any]:
        values = list(map(unpacked, feeds))

        def work() -> list[Any]:
            return [packed(value) for value in self.run(session, number, step, values)]

        return await self._answer(work)

    def run(
        self, session: str, number: int, step: int, feeds: Sequence[Any], limits: StepLimits | None = None
    ) -> list[Any]:
        """Run a part of a step in this thread.

        Args:
            session: handle of the session.
            number: number of the part.
            step: number of the step.
            feeds: values of the placeholders.
            limits: limits of the step.

        Returns:
            The fetched values.

        Raises:
            OpError: a kernel failed, on this or on another task.
        """
        opened = self._session(session)
        plan = opened.parts[number].plan
        with self._running_part(opened, step, limits):
            return plan.run(feeds)

    @contextmanager
    def _running_part(
        self, opened: _TaskSession, step: int, limits: StepLimits | None
    ) -> Iterator[Rendezvous]:
        """Provide the rendezvous of a step while a part of it runs on this task."""
        rendezvous = self._rendezvous(opened, step)
        limits = replace(limits or StepLimits(), cancellation=rendezvous.cancellation, rendezvous=rendezvous)
        try:
            if rendezvous.error is not None:
                raise rendezvous.error
            with limited(limits):
                yield rendezvous
        except OpError:
            opened.failed.append(step)
            if rendezvous.error is not None:  # the cause of this error
                raise rendezvous.error from None
            raise
        finally:
            opened.done.append(step)
            opened.steps.pop(step, None)

    async def _trace(self, session: str, number: int, step: int, feeds: Sequence[Any]) -> dict[str, Any]:
        fed = list(map(unpacked, feeds))

        def work() -> dict[str, Any]:
            values, noted = self.trace(session, number, step, fed)
            return {
                "values": [packed(value) for value in values],
                "step_stats": noted.step_stats.SerializeToString(),
                "arrivals": dict(noted.arrivals),
            }

        return await self._answer(work)

    def trace(
        self, session: str, number: int, step: int, feeds: Sequence[Any], limits: StepLimits | None = None
    ) -> tuple[list[Any], PartTrace]:
        """Run a part of a step in this thread and trace it.

        Args:
            session, number, step, feeds, limits: as in ``run``; the part was registered with ``is_traced``.

        Returns:
            The fetched values, and the trace, with times of the task's clock.

        Raises:
            OpError: a kernel failed, on this or on another task.
        """
        opened = self._session(session)
        plan, _, ends = opened.parts[number]
        trace = Trace(plan.schedule, opened.compiler.backends, wall_clock=self.clock, feeds=feeds)
        with self._running_part(opened, step, limits) as rendezvous:
            values = plan.run([trace.record, *feeds])
        trace.end()
        stats = StepStats()
        rules = releases.rules(opened.release)
        fill_step_stats(stats, trace, plan.first_transfer, RunOptions.FULL_TRACE, rules, ends)
        return values, PartTrace(stats, rendezvous.arrivals)

    async def _partitions(self, session: str, number: int) -> dict[str, Any]:
        def work() -> list[bytes]:
            return [graph.SerializeToString() for graph in self.partition_graphs(session, number)]

        return await self._answer(work)

    def partition_graphs(self, session: str, number: int) -> list[Any]:
        """Return the graphs of a part, one for each of its devices.

        Args:
            session: handle of the session.
            number: number of the part.

        Raises:
            AbortedError: the session is not open on this task.
        """
        opened = self._session(session)
        plan, graph, ends = opened.parts[number]
        message = RunMetadata()
        rules = releases.rules(opened.release)
        fill_partition_graphs(
            message.partition_graphs, plan.schedule, graph, plan.first_transfer, rules, ends
        )
        return list(message.partition_graphs)

    def _time(self, session: str) -> dict[str, Any]:
        return {"error": None, "result": self.clock()}

    def _rendezvous(self, session: _TaskSession, step: int) -> Rendezvous:
        with self._lock:
            rendezvous = session.steps.get(step)
            if rendezvous is None:
                rendezvous = session.steps[step] = Rendezvous(
                    session.resources.cancellation, partial(self._send, session, step), self.clock
                )
        return rendezvous

    def _send(self, session: _TaskSession, step: int, name: str, device: str, value: Any) -> None:
        """Send a tensor to another task; if that fails, the step fails, which the master notices."""
        address = session.tasks[task_of_device(device)]
        with self._lock:
            outbox = self._outboxes.get(address)
            if outbox is None:
                outbox = self._outboxes[address] = Outbox(address, self._connections)
        outbox.send([session.handle, step, name, packed(value)], getattr(value, "nbytes", 0))

    def _receive_tensors(self, tensors: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """Receive tensors from another task."""
        for session, step, name, value in tensors:
            self._receive_tensor(session, step, name, value)
        return {"error": None}

    def _receive_tensor(self, session: str, step: int, name: str, value: Any) -> None:
        opened = self._sessions.get(session)
        if opened is None or step in opened.failed:
            return
        arrived = unpacked(value)
        if isinstance(arrived, ResourceHandle):
            try:
                arrived = self._with_resource(opened, arrived)
            except OpError as error:
                self.abort(session, step, error)
                return
        self._rendezvous(opened, step).put(name, arrived)

    def _with_resource(self, session: _TaskSession, handle: ResourceHandle) -> ResourceHandle:
        """Return a received handle, with its resource if that is on this task."""
        if task_of_device(handle.device) != session.name:
            return handle
        resource = session.resources.lookup(handle.container, handle.name, handle.device, handle.type_name)
        return replace(handle, resource=resource)

    def _abort(self, session: str, step: int, error: dict[str, Any]) -> None:
        """Abort a step."""
        self.abort(session, step, unpacked_error(error))

    def abort(self, session: str, step: int, error: OpError) -> None:
        """Abort a step that is running or may still begin.

        Args:
            session: handle of the session.
            step: number of the step.
            error: the reason.
        """
        opened = self._sessions.get(session)
        if opened is not None and step not in opened.done:
            opened.failed.append(step)
            self._rendezvous(opened, step).abort(error)

    # Threads

    async def _answer(self, work: Any) -> dict[str, Any]:
        """Return the result of a function that runs in a separate thread, or its error."""
        try:
            return {"error": None, "result": await self._in_thread(work)}
        except Exception as error:
            return {"error": packed_error(error)}

    async def _in_thread(self, work: Any) -> Any:
        return await asyncio.wrap_future(self._workers.start(work))


def _ends(feeds: Mapping[str, str]) -> Ends:
    """Return the names of feeds and fetches of a part in traces, as TensorFlow's master names them."""

    def fed(tensor: Tensor, position: int) -> str:
        name, _, index = feeds[tensor.op.name].rpartition(":")
        return f"_recv_{name}_{index}"

    def fetched(tensor: Tensor, position: int) -> str:
        return f"_send_{tensor.op.name}_{tensor.value_index}"

    return Ends(fed, fetched, lambda tensor: feeds.get(tensor.op.name, tensor.name))


def unknown_session(handle: str, task: str) -> AbortedError:
    """Return the error for a session that a task does not know."""
    return AbortedError.of(
        f'Session handle is not found: {handle}. Possibly this worker ("{task}") just restarted.',
        hint="create a new session, as MonitoredTrainingSession does, and restore its variables",
    )


def _renamed(devices: SessionDevices, old: str, task: str) -> SessionDevices:
    """Return devices under the names of another task."""
    if task == old:
        return devices
    new = {name: task + name.removeprefix(old) for name in devices.names}
    return SessionDevices(
        [replace(device, name=new[device.name], incarnation=secrets.randbits(63) | 1) for device in devices],
        devices.type_priority,
        devices.origin,
        {new[name]: allocator for name, allocator in devices.allocators.items()},
        devices.mapping,
        {new[name]: settings for name, settings in devices.memory_settings.items()},
    )
