"""``tf.train.Server``: a task of a cluster in this process.

Source: tensorflow/python/training/server_lib.py and core/distributed_runtime/rpc/grpc_server_lib.cc, release 1.15.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

from gpuplace import release as releases
from gpuplace.clusters import event_loop
from gpuplace.clusters.connections import Connections, full_address, needs_tls
from gpuplace.clusters.listener import Listener
from gpuplace.clusters.secret import token
from gpuplace.clusters.task import Task
from gpuplace.errors import InternalError, InvalidArgumentError, NotFoundError, UnknownError
from gpuplace.graphdef.messages import ServerDef
from gpuplace.ops.train.device_setter import ClusterSpec
from gpuplace.runtime.session.run_options import limit_ms_of
from gpuplace.typing import ConfigLike

_running: weakref.WeakValueDictionary[str, RunningTask] = weakref.WeakValueDictionary()


class RunningTask:
    """A task and what talks for it.

    Args:
        cluster: the cluster.
        job: name of its job.
        index: its number.
        config: the server's ``ConfigProto``.
    """

    def __init__(self, cluster: ClusterSpec, job: str, index: int, config: Any) -> None:
        self.connections = Connections()
        self.task = Task(job, index, config, self.connections)
        self.cluster = cluster
        self.config = config.SerializeToString()
        self.limit_ms = limit_ms_of(config)
        self.all_listen = False
        """Whether all tasks have begun to listen; then one that does not is gone."""
        self.address = cluster.task_address(job, index)
        handlers: dict[str, Callable[..., Any]] = {**self.task.handlers, "cluster": self.described}
        self.listener = Listener(full_address(self.address), handlers)

    async def start(self) -> str:
        """Begins to listen; returns ``host:port``."""
        if not needs_tls():
            token()  # where it is not safe, the program hears so now
        found = await self.listener.start()
        host = self.address.rpartition(":")[0]
        self.address = f"{host}:{found.rpartition(':')[2]}"
        return self.address

    async def stop(self) -> None:
        """Ends all."""
        await self.listener.stop()
        self.connections.close()
        self.task.close()

    def described(self) -> dict[str, Any]:
        """What a session asks first: the cluster, which task this is, its config, and how long a step may take."""
        jobs = {job: self.cluster.job_tasks(job) for job in self.cluster.jobs}
        jobs[self.task.job][self.task.index] = self.address
        return {
            "error": None,
            "jobs": jobs,
            "task": self.task.name,
            "all_listen": self.all_listen,
            "limit_ms": self.limit_ms,
            "config": self.config,
        }


_watching = threading.Event()


def _end_with_program() -> None:
    """Ends the steps that are left when the program is at its end; it would wait for their threads."""
    threading.main_thread().join()
    for running in list(_running.values()):
        running.task.close()


def running_task(address: str) -> RunningTask | None:
    """The task of this process that listens on an address ``host:port``, if there is one."""
    return _running.get(address)


class Server:
    """A task of a cluster, in this process: its devices, variables and queues, for sessions of any process.

    >>> server = Server.create_local_server()
    >>> server.target.startswith("grpc://localhost:")
    True
    >>> server.stop()

    Args:
        server_or_cluster_def: a ``ServerDef``, ``ClusterDef``, ``ClusterSpec``, or a dict that makes one.
        job_name: name of this task's job; None: the only one there is, or that of the ``ServerDef``.
        task_index: number of this task; None: the only one of its job, or that of the ``ServerDef``.
        protocol: ``"grpc"``, as TensorFlow calls it. None: that of the ``ServerDef``, or ``"grpc"``.
        config: a ``ConfigProto`` for the task's devices, and for the sessions that connect to it: what it sets is
            merged into theirs, and wins. Its ``operation_timeout_in_ms`` is the limit of steps of which neither the
            session nor ``RunOptions`` names one. None: its defaults.
        start: whether it begins to listen at once.

    Raises:
        TypeError: ``server_or_cluster_def`` is nothing of the kind.
        ValueError: ``job_name`` or ``task_index`` is needed.
        InternalError, InvalidArgumentError: there is no such job or task.
        NotFoundError: another protocol.
        PermissionDeniedError: the task's address is not on loopback, and dask is not configured for TLS; or others can
            read this user's token.
        UnknownError: the port is in use.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: ConfigLike | None = None,
        start: bool = True,
    ) -> None:
        self._server_def = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        made = self._server_def
        cluster = ClusterSpec(made.cluster)
        _check(made, cluster)
        self._running: RunningTask | None = RunningTask(
            cluster, made.job_name, made.task_index, made.default_session_config
        )
        self._address = self._running.address
        self._is_started = False
        self._stopped = threading.Event()
        if start:
            self.start()

    def start(self) -> None:
        """Begins to listen, if it does not yet.

        Raises:
            PermissionDeniedError: others can read this user's token.
            UnknownError: the port is in use.
        """
        if self._is_started or self._running is None:
            return
        try:
            self._address = event_loop.wait_for(self._running.start())
        except OSError as error:
            raise UnknownError.of(
                "Could not start gRPC server",
                facts={"address": self._address, "raised": str(error)},
                hint="another process listens there, or an earlier server of this one",
            ) from None
        self._is_started = True
        _running[self._address] = self._running
        if not _watching.is_set():
            _watching.set()
            threading.Thread(target=_end_with_program, name="gpuplace-cluster-end").start()

    def stop(self) -> None:
        """Ends the task: sessions elsewhere that use it fail, and its port is free again."""
        if self._running is not None:
            running, self._running = self._running, None
            _running.pop(self._address, None)
            event_loop.wait_for(running.stop())
            self._stopped.set()

    def know(self, cluster: ClusterSpec) -> None:
        """Says which other tasks there are, where that is known only once all listen.

        Args:
            cluster: the whole cluster.
        """
        if self._running is not None:
            self._running.cluster, self._running.all_listen = cluster, True
            self._server_def.cluster.CopyFrom(cluster.as_cluster_def())

    def join(self) -> None:
        """Waits until the server is stopped: for ever, in a program that only serves."""
        while not self._stopped.wait(1.0):  # hears Ctrl-C
            pass

    @property
    def server_def(self) -> Any:
        """The ``ServerDef``."""
        return self._server_def

    @property
    def target(self) -> str:
        """The target for sessions of any process: ``grpc://host:port``."""
        return f"grpc://{self._address}"

    @staticmethod
    def create_local_server(config: ConfigLike | None = None, start: bool = True) -> Server:
        """A cluster of one task, on a port of loopback that is free.

        Args:
            config: as of ``Server``.
            start: as of ``Server``.

        Returns:
            The server.
        """
        job = "localhost" if releases.get_release() == "2.21" else "local"
        return Server({job: ["localhost:0"]}, protocol="grpc", config=config, start=start)


def _server_def(given: Any, job_name: Any, task_index: Any, protocol: Any, config: Any) -> Any:
    """The ``ServerDef`` of a server's arguments."""
    made = ServerDef()
    if getattr(getattr(given, "DESCRIPTOR", None), "name", "") == "ServerDef":
        made.MergeFromString(given.SerializeToString())
        if job_name is not None:
            made.job_name = job_name
        if task_index is not None:
            made.task_index = task_index
    else:
        try:
            cluster = ClusterSpec(given)
        except TypeError:
            raise TypeError(
                "Could not convert `server_or_cluster_def` to a `tf.train.ServerDef` or `tf.train.ClusterSpec`."
            ) from None
        if job_name is None:
            if len(cluster.jobs) != 1:
                raise ValueError("Must specify an explicit `job_name`.")
            job_name = cluster.jobs[0]
        if task_index is None:
            indices = cluster.task_indices(job_name) if job_name in cluster.jobs else [0]
            if len(indices) != 1:
                raise ValueError("Must specify an explicit `task_index`.")
            task_index = indices[0]
        made.cluster.CopyFrom(cluster.as_cluster_def())
        made.job_name, made.task_index = job_name, task_index
    if protocol is not None:
        made.protocol = protocol
    elif not made.protocol:
        made.protocol = "grpc"
    if config is not None:
        made.default_session_config.MergeFromString(config.SerializeToString())
    return made


def _check(made: Any, cluster: ClusterSpec) -> None:
    """What TensorFlow checks of a ``ServerDef``."""
    if made.protocol != "grpc":
        raise NotFoundError.of(
            f"No server factory registered for the given ServerDef: {made}\n"
            "The available server factories are: [ GRPC_SERVER ]",
            hint='protocol="grpc": that is what TensorFlow calls it; here tasks have a protocol of their own',
        )
    if made.job_name not in cluster.jobs:
        raise InternalError.of(
            f'Job "{made.job_name}" was not defined in cluster', facts={"jobs": ", ".join(cluster.jobs)}
        )
    if made.task_index not in cluster.task_indices(made.job_name):
        cls = InternalError if releases.get_release() == "2.21" else InvalidArgumentError
        raise cls.of(f'Task {made.task_index} was not defined in job "{made.job_name}"')
    address = cluster.task_address(made.job_name, made.task_index)
    if not address.rpartition(":")[2].isdigit() or ":" not in address:
        raise InvalidArgumentError.of(f'Could not parse port for local server from "{address}".')
