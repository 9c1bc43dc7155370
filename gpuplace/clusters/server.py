"""``tf.train.Server``: runs a task of a cluster in this process.

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
from gpuplace.typing import ConfigLike, ConfigProto

_running: weakref.WeakValueDictionary[str, RunningTask] = weakref.WeakValueDictionary()


class RunningTask:
    """Task with its listener and connections.

    Args:
        cluster: the cluster.
        job: name of the task's job.
        index: index of the task.
        config: the server's ``ConfigProto``.
    """

    def __init__(self, cluster: ClusterSpec, job: str, index: int, config: ConfigProto) -> None:
        self.connections = Connections()
        self.task = Task(job, index, config, self.connections)
        self.cluster = cluster
        self.config = config.SerializeToString()
        self.limit_ms = limit_ms_of(config)
        self.all_listen = False
        """Whether all tasks are known to listen, so a task that does not is gone."""
        self.address = cluster.task_address(job, index)
        handlers: dict[str, Callable[..., Any]] = {**self.task.handlers, "cluster": self.described}
        self.listener = Listener(full_address(self.address), handlers)

    async def start(self) -> str:
        """Start listening and return ``host:port``."""
        if not needs_tls():
            token()  # raises an error now if it is not safe
        listening = await self.listener.start()
        host = self.address.rpartition(":")[0]
        self.address = f"{host}:{listening.rpartition(':')[2]}"
        return self.address

    async def stop(self) -> None:
        """Stop the task."""
        await self.listener.stop()
        self.connections.close()
        self.task.close()

    def described(self) -> dict[str, Any]:
        """Return the description for a new session: the cluster, this task, its config and its time limit for steps."""
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
    """End the remaining steps at the end of the program, which would wait for their threads."""
    threading.main_thread().join()
    for running in list(_running.values()):
        running.task.close()


def running_task(address: str) -> RunningTask | None:
    """Return the task of this process that listens on ``host:port``; None if there is none."""
    return _running.get(address)


class Server:
    """Server that runs a task of a cluster in this process: its devices, variables and queues, for all sessions.

    >>> server = Server.create_local_server()
    >>> server.target.startswith("grpc://localhost:")
    True
    >>> server.stop()

    Args:
        server_or_cluster_def: a ``ServerDef``, ``ClusterDef``, ``ClusterSpec``, or a dict for a ``ClusterSpec``.
        job_name: name of this task's job; None: the only job, or that of the ``ServerDef``.
        task_index: index of this task; None: the only task of its job, or that of the ``ServerDef``.
        protocol: ``"grpc"``, as TensorFlow calls it. None: that of the ``ServerDef``, or ``"grpc"``.
        config: a ``ConfigProto`` for the task's devices, and for the sessions that connect to it: it is merged into
            theirs and wins. Its ``operation_timeout_in_ms`` is the time limit of steps for which neither the session
            nor ``RunOptions`` sets one. None: its defaults.
        start: whether to start listening immediately.

    Raises:
        TypeError: ``server_or_cluster_def`` has the wrong type.
        ValueError: ``job_name`` or ``task_index`` is required.
        InternalError, InvalidArgumentError: there is no such job or task.
        NotFoundError: the protocol is unknown.
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
        server_def = self._server_def
        cluster = ClusterSpec(server_def.cluster)
        _check(server_def, cluster)
        self._running: RunningTask | None = RunningTask(
            cluster, server_def.job_name, server_def.task_index, server_def.default_session_config
        )
        self._address = self._running.address
        self._is_started = False
        self._stopped = threading.Event()
        if start:
            self.start()

    def start(self) -> None:
        """Start listening; no effect if it is already listening.

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
                hint="use another address: another process, or an earlier server of this process, is listening there",
            ) from None
        self._is_started = True
        _running[self._address] = self._running
        if not _watching.is_set():
            _watching.set()
            threading.Thread(target=_end_with_program, name="gpuplace-cluster-end").start()

    def stop(self) -> None:
        """Stop the task: other processes' sessions that use it fail, and its port becomes free."""
        if self._running is not None:
            running, self._running = self._running, None
            _running.pop(self._address, None)
            event_loop.wait_for(running.stop())
            self._stopped.set()

    def set_cluster(self, cluster: ClusterSpec) -> None:
        """Set the cluster, if it is known only after all tasks listen.

        Args:
            cluster: the whole cluster.
        """
        if self._running is not None:
            self._running.cluster, self._running.all_listen = cluster, True
            self._server_def.cluster.CopyFrom(cluster.as_cluster_def())

    def join(self) -> None:
        """Wait until the server is stopped; in a program that only serves, forever."""
        while not self._stopped.wait(1.0):  # a timeout lets Ctrl-C interrupt it
            pass

    @property
    def server_def(self) -> Any:
        """The ``ServerDef``."""
        return self._server_def

    @property
    def target(self) -> str:
        """Target for sessions of any process: ``grpc://host:port``."""
        return f"grpc://{self._address}"

    @staticmethod
    def create_local_server(config: ConfigLike | None = None, start: bool = True) -> Server:
        """Create a cluster of one task, on a free port of the loopback interface.

        Args:
            config: as in ``Server``.
            start: as in ``Server``.

        Returns:
            The server.
        """
        job = "localhost" if releases.get_release() == "2.21" else "local"
        return Server({job: ["localhost:0"]}, protocol="grpc", config=config, start=start)


def _server_def(
    server_or_cluster_def: Any, job_name: Any, task_index: Any, protocol: Any, config: ConfigProto
) -> Any:
    """Return the ``ServerDef`` for a server's arguments."""
    server_def = ServerDef()
    if getattr(getattr(server_or_cluster_def, "DESCRIPTOR", None), "name", "") == "ServerDef":
        server_def.MergeFromString(server_or_cluster_def.SerializeToString())
        if job_name is not None:
            server_def.job_name = job_name
        if task_index is not None:
            server_def.task_index = task_index
    else:
        try:
            cluster = ClusterSpec(server_or_cluster_def)
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
        server_def.cluster.CopyFrom(cluster.as_cluster_def())
        server_def.job_name, server_def.task_index = job_name, task_index
    if protocol is not None:
        server_def.protocol = protocol
    elif not server_def.protocol:
        server_def.protocol = "grpc"
    if config is not None:
        server_def.default_session_config.MergeFromString(config.SerializeToString())
    return server_def


def _check(server_def: Any, cluster: ClusterSpec) -> None:
    """Check a ``ServerDef`` as TensorFlow does."""
    if server_def.protocol != "grpc":
        raise NotFoundError.of(
            f"No server factory registered for the given ServerDef: {server_def}\n"
            "The available server factories are: [ GRPC_SERVER ]",
            hint='use protocol="grpc", as in TensorFlow; tasks of gpuplace use their own protocol under this name',
        )
    if server_def.job_name not in cluster.jobs:
        raise InternalError.of(
            f'Job "{server_def.job_name}" was not defined in cluster', facts={"jobs": ", ".join(cluster.jobs)}
        )
    if server_def.task_index not in cluster.task_indices(server_def.job_name):
        cls = InternalError if releases.get_release() == "2.21" else InvalidArgumentError
        raise cls.of(f'Task {server_def.task_index} was not defined in job "{server_def.job_name}"')
    address = cluster.task_address(server_def.job_name, server_def.task_index)
    if not address.rpartition(":")[2].isdigit() or ":" not in address:
        raise InvalidArgumentError.of(f'Could not parse port for local server from "{address}".')
