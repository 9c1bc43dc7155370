"""Tasks of a TensorFlow cluster on the workers of a dask cluster, on this machine, over SSH or in a batch system.

A task listens in the process of each dask worker, and ends with it. It differs from a server that was started by
hand: a task that no longer listens does not come back, because a restarted worker listens at another address. Its
target ``grpc+dask://host:port`` tells sessions not to wait for it.

Source: distributed.diagnostics.plugin (``WorkerPlugin``).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gpuplace.clusters.server import Server
from gpuplace.errors import DeadlineExceededError, InvalidArgumentError, UnavailableError, UnimplementedError
from gpuplace.ops.train.device_setter import ClusterSpec

ON_DASK = "grpc+dask://"
"""Prefix of targets on dask workers."""

_PLUGIN = "gpuplace-task"
"""Name of the dask worker plugin that contains the server."""

_LEAST_S = 0.001
"""Minimum timeout in seconds; for dask, 0 means no timeout."""

Places = Mapping[str, tuple[str, int]]
"""Job and task index, by address of the dask worker."""


class Cluster:
    """Tasks on the workers of a dask cluster.

    Args:
        client: a ``distributed.Client``.
        cluster_spec: jobs and addresses of the tasks.
    """

    def __init__(self, client: Any, cluster_spec: ClusterSpec) -> None:
        self._client = client
        self.cluster_spec = cluster_spec
        """Jobs and addresses of the tasks."""

    @property
    def target(self) -> str:
        """Target on the first task of the last job: ``grpc+dask://host:port``."""
        job = self.cluster_spec.jobs[-1]
        return f"{ON_DASK}{self.cluster_spec.task_address(job, self.cluster_spec.task_indices(job)[0])}"

    def targets(self, job: str) -> list[str]:
        """Return the targets on the tasks of a job.

        Args:
            job: name of the job.

        Returns:
            A list, in order of the task index.

        Raises:
            ValueError: there is no such job.
        """
        return [f"{ON_DASK}{address}" for address in self.cluster_spec.job_tasks(job)]

    @property
    def dashboard_link(self) -> str | None:
        """Address of dask's dashboard, which shows the workers; None if there is none."""
        if "dashboard" not in self._client.scheduler_info()["services"]:
            return None
        return str(self._client.dashboard_link)

    def close(self) -> None:
        """Stop all tasks; the dask workers continue.

        Raises:
            UnavailableError: the dask scheduler is gone.
        """
        with _errors_as_op_errors():
            self._client.run(_stop_task)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Cluster({self.cluster_spec.as_dict()!r})"


def cluster(client: Any, jobs: Mapping[str, int] | None = None) -> Cluster:
    """Start tasks on the workers of a dask cluster, on which gpuplace must be installed.

    Args:
        client: a ``distributed.Client``.
        jobs: number of tasks by job name; workers are assigned in the order of their names. None: each worker is a task
            of the job ``worker``. Workers that already have a task keep it.

    Returns:
        A `Cluster`, with a ``target`` for sessions; as a context manager it stops the tasks.

    Raises:
        InvalidArgumentError: there are fewer workers than tasks.
        PermissionDeniedError: a worker is on another machine, and dask is not configured for TLS.
        UnavailableError: a worker, or the scheduler, ended meanwhile.
        UnimplementedError: ``dask.distributed`` is not installed.
    """
    _check_installed()
    with _errors_as_op_errors():
        return Cluster(client, _started(client.run, jobs))


def _started(run: Callable[..., Any], jobs: Mapping[str, int] | None) -> ClusterSpec:
    """Start the missing tasks on workers, and return the resulting cluster.

    Args:
        run: calls a function on workers, as ``Client.run`` does.
        jobs: as in ``cluster``.
    """
    workers = run(_place)
    order = sorted(workers, key=lambda address: str(workers[address]["name"]).zfill(12))
    assigned = {address: tuple(workers[address]["task"]) for address in order if workers[address]["task"]}
    requested = {"worker": len(order) or 1} if jobs is None else dict(jobs)
    if jobs is None and assigned:
        requested = {}
    missing = [(job, index) for job, count in requested.items() for index in range(count)]
    missing = [place for place in missing if place not in assigned.values()]
    free = [address for address in order if address not in assigned]
    if len(missing) > len(free):
        raise InvalidArgumentError.of(
            f"The jobs need {len(missing)} more dask workers, but only {len(free)} are free.",
            hint="use a cluster with more workers, or fewer tasks in jobs={...}",
        )
    places: dict[str, Any] = {**assigned, **dict(zip(free, missing, strict=False))}
    addresses = run(_start_task, places, workers=list(places))
    tasks: dict[str, dict[int, str]] = {}
    for worker, (job, index) in places.items():
        tasks.setdefault(job, {})[index] = addresses[worker]
    spec = ClusterSpec(dict(sorted(tasks.items())))
    run(_set_cluster, spec.as_dict(), workers=list(places))
    return spec


@contextmanager
def _errors_as_op_errors(deadline: float | None = None) -> Iterator[None]:
    """Raise UnavailableError if the scheduler or a worker is gone.

    Args:
        deadline: time after which DeadlineExceededError is raised instead, on the clock of ``time.monotonic``.
    """
    try:
        yield
    except OSError as error:  # also TimeoutError and distributed's CommClosedError
        facts = {"raised": f"{type(error).__name__}: {error}"}
        if deadline is not None and time.monotonic() >= deadline:
            raise DeadlineExceededError.of("Deadline Exceeded", facts=facts) from None
        raise UnavailableError.of(
            "The connection to a dask worker or to the scheduler was lost",
            facts=facts,
            hint="when they are running again, call client.wait_for_workers(n), then gpuplace.cluster(client)",
        ) from None


def target_of(address: str, deadline: float | None = None) -> str:
    """Return a target on the workers of the scheduler ``dask://host:port``; the workers become tasks.

    Args:
        address: ``host:port``.
        deadline: deadline on the clock of ``time.monotonic``; None: dask's timeouts apply.

    Raises:
        DeadlineExceededError: the deadline passed.
        InvalidArgumentError: it is not an address.
        UnavailableError: nothing answers there, or a worker ended meanwhile.
        UnimplementedError: ``dask.distributed`` is not installed.
    """
    _check_installed()
    from distributed import Client

    from gpuplace.clusters.connections import full_address

    def timeout() -> float | None:
        return None if deadline is None else max(deadline - time.monotonic(), _LEAST_S)

    def run(function: Any, *arguments: Any, **options: Any) -> Any:
        return client.sync(client.run, function, *arguments, callback_timeout=timeout(), **options)

    limit = {} if deadline is None else {"timeout": timeout()}
    with (
        _errors_as_op_errors(deadline),
        Client(full_address(address), set_as_default=False, **limit) as client,
    ):
        return Cluster(client, _started(run, None)).target


def _check_installed() -> None:
    """Raise UnimplementedError if ``dask.distributed`` is not installed."""
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise UnimplementedError.of(
            "Clusters of dask workers need dask.distributed, which is not installed.",
            facts={"raised": str(error)},
            hint="pip install 'gpuplace[cluster]'",
        ) from None


# On the workers


def _server(dask_worker: Any) -> Any:
    plugin = dask_worker.plugins.get(_PLUGIN)
    return None if plugin is None else plugin.server


def _place(dask_worker: Any) -> dict[str, Any]:
    server = _server(dask_worker)
    task = None if server is None else (server.server_def.job_name, server.server_def.task_index)
    return {"name": dask_worker.name, "task": task}


async def _start_task(places: Places, dask_worker: Any) -> str:
    """Start the worker's server and return its ``host:port``."""
    server = _server(dask_worker)
    if server is None:
        job, index = places[dask_worker.address]
        protocol, _, place = dask_worker.address.partition("://")
        host = "localhost" if protocol == "inproc" else place.rpartition(":")[0]
        server = await asyncio.to_thread(Server, {job: {index: f"{host}:0"}}, job, index)
        await dask_worker.plugin_add(_plugin(server), _PLUGIN, catch_errors=False)
    return str(server.target.removeprefix("grpc://"))


def _plugin(server: Server) -> Any:
    """Return a plugin that ends a task with its dask worker."""
    from distributed import WorkerPlugin

    class TaskPlugin(WorkerPlugin):  # type: ignore[misc]
        """Plugin that contains the server of a worker's task.

        Args:
            server: the server.
        """

        def __init__(self, server: Server) -> None:
            self.server = server

        async def teardown(self, worker: Any) -> None:
            """Stop the task."""
            await asyncio.to_thread(self.server.stop)

    return TaskPlugin(server)


def _set_cluster(jobs: Any, dask_worker: Any) -> None:
    server = _server(dask_worker)
    if server is not None:  # None if the worker was stopped meanwhile
        server.set_cluster(ClusterSpec(jobs))


async def _stop_task(dask_worker: Any) -> None:
    plugin = dask_worker.plugins.pop(_PLUGIN, None)
    if plugin is not None:
        await plugin.teardown(dask_worker)
