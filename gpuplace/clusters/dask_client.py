"""A dask cluster that exists, on this machine, over SSH or in a batch system, as a cluster of TensorFlow's tasks.

On every dask worker a task begins to listen, in the worker's process and on the worker's host; it ends with the worker.
All else is as with servers that were started by hand, but for one thing: a task that does not listen any more will not
come back, because a worker that is started again listens elsewhere. So a session on such tasks does not wait for one
that is gone; its target, ``grpc+dask://host:port``, says so.

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
"""How targets begin that are tasks of dask workers."""

_PLUGIN = "gpuplace-task"
"""Of a dask worker: what holds its task's server."""

_LEAST_S = 0.001
"""dask takes a limit of 0 seconds for none."""

Places = Mapping[str, tuple[str, int]]
"""Address of a dask worker -> job and number of its task."""


class Cluster:
    """The tasks on the workers of a dask cluster.

    Args:
        client: a ``distributed.Client``.
        cluster_spec: the jobs and addresses of the tasks.
    """

    def __init__(self, client: Any, cluster_spec: ClusterSpec) -> None:
        self._client = client
        self.cluster_spec = cluster_spec
        """The jobs and addresses of the tasks."""

    @property
    def target(self) -> str:
        """The target of sessions whose own task is the first one of the last job: ``grpc+dask://host:port``."""
        job = self.cluster_spec.jobs[-1]
        return f"{ON_DASK}{self.cluster_spec.task_address(job, self.cluster_spec.task_indices(job)[0])}"

    def targets(self, job: str) -> list[str]:
        """The targets of the tasks of a job.

        Args:
            job: its name.

        Returns:
            A list, by number of the task.

        Raises:
            ValueError: there is no such job.
        """
        return [f"{ON_DASK}{address}" for address in self.cluster_spec.job_tasks(job)]

    @property
    def dashboard_link(self) -> str | None:
        """Address of dask's dashboard, where the workers of the tasks are seen; None where it has none."""
        if "dashboard" not in self._client.scheduler_info()["services"]:
            return None
        return str(self._client.dashboard_link)

    def close(self) -> None:
        """Ends all tasks; the dask workers stay.

        Raises:
            UnavailableError: the dask scheduler is gone.
        """
        with _reached():
            self._client.run(_end)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Cluster({self.cluster_spec.as_dict()!r})"


def cluster(client: Any, jobs: Mapping[str, int] | None = None) -> Cluster:
    """Makes tasks of the workers of a dask cluster, where gpuplace has to be installed.

    Args:
        client: a ``distributed.Client``.
        jobs: name of a job -> how many of the workers are its tasks, in the order of their names; None: all are tasks
            of the job ``worker``. Workers that are tasks already stay what they are.

    Returns:
        A `Cluster`, with a ``target`` for sessions; as a context manager it ends the tasks.

    Raises:
        InvalidArgumentError: there are fewer workers than tasks.
        PermissionDeniedError: a worker is on another machine, and dask is not configured for TLS.
        UnavailableError: a worker, or the scheduler, ends meanwhile.
        UnimplementedError: ``dask.distributed`` is not installed.
    """
    _check_installed()
    with _reached():
        return Cluster(client, _made(client.run, jobs))


def _made(run: Callable[..., Any], jobs: Mapping[str, int] | None) -> ClusterSpec:
    """Makes tasks of workers; which ones there are now.

    Args:
        run: has the workers call a function, as ``Client.run`` does.
        jobs: as of ``cluster``.
    """
    workers = run(_place)
    order = sorted(workers, key=lambda address: str(workers[address]["name"]).zfill(12))
    known = {address: tuple(workers[address]["task"]) for address in order if workers[address]["task"]}
    wanted = {"worker": len(order) or 1} if jobs is None else dict(jobs)
    if jobs is None and known:
        wanted = {}
    missing = [(job, index) for job, count in wanted.items() for index in range(count)]
    missing = [place for place in missing if place not in known.values()]
    free = [address for address in order if address not in known]
    if len(missing) > len(free):
        raise InvalidArgumentError.of(
            f"The jobs need {len(missing)} dask workers more, and {len(free)} are free.",
            hint="a cluster of more workers, or fewer tasks in jobs={...}",
        )
    places: dict[str, Any] = {**known, **dict(zip(free, missing, strict=False))}
    addresses = run(_begin, places, workers=list(places))
    tasks: dict[str, dict[int, str]] = {}
    for worker, (job, index) in places.items():
        tasks.setdefault(job, {})[index] = addresses[worker]
    spec = ClusterSpec(dict(sorted(tasks.items())))
    run(_know, spec.as_dict(), workers=list(places))
    return spec


@contextmanager
def _reached(deadline: float | None = None) -> Iterator[None]:
    """UnavailableError where the scheduler or a worker cannot be asked, because it has ended.

    Args:
        deadline: when the time for that is up, and it is a DeadlineExceededError, on the clock of ``time.monotonic``.
    """
    try:
        yield
    except OSError as error:  # TimeoutError and distributed's CommClosedError are too
        facts = {"raised": f"{type(error).__name__}: {error}"}
        if deadline is not None and time.monotonic() >= deadline:
            raise DeadlineExceededError.of("Deadline Exceeded", facts=facts) from None
        raise UnavailableError.of(
            "A dask worker or the scheduler is gone",
            facts=facts,
            hint="try again when they are back: client.wait_for_workers(n), then gpuplace.cluster(client)",
        ) from None


def target_of(address: str, deadline: float | None = None) -> str:
    """The target for a session of ``dask://host:port``, the address of a scheduler; its workers become tasks.

    Args:
        address: ``host:port``.
        deadline: when the time for that is up, on the clock of ``time.monotonic``; None: when dask gives up.

    Raises:
        DeadlineExceededError: the time is up.
        InvalidArgumentError: it is not an address.
        UnavailableError: nobody answers there, or a worker ends meanwhile.
        UnimplementedError: ``dask.distributed`` is not installed.
    """
    _check_installed()
    from distributed import Client

    from gpuplace.clusters.connections import full_address

    def left() -> float | None:
        return None if deadline is None else max(deadline - time.monotonic(), _LEAST_S)

    def run(function: Any, *arguments: Any, **options: Any) -> Any:
        return client.sync(client.run, function, *arguments, callback_timeout=left(), **options)

    limit = {} if deadline is None else {"timeout": left()}
    with _reached(deadline), Client(full_address(address), set_as_default=False, **limit) as client:
        return Cluster(client, _made(run, None)).target


def _check_installed() -> None:
    """UnimplementedError where ``dask.distributed`` is not installed."""
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


async def _begin(places: Places, dask_worker: Any) -> str:
    """Begins to listen; returns ``host:port``."""
    server = _server(dask_worker)
    if server is None:
        job, index = places[dask_worker.address]
        protocol, _, place = dask_worker.address.partition("://")
        host = "localhost" if protocol == "inproc" else place.rpartition(":")[0]
        server = await asyncio.to_thread(Server, {job: {index: f"{host}:0"}}, job, index)
        await dask_worker.plugin_add(_plugin(server), _PLUGIN, catch_errors=False)
    return str(server.target.removeprefix("grpc://"))


def _plugin(server: Server) -> Any:
    """What ends a task with its dask worker."""
    from distributed import WorkerPlugin

    class TaskPlugin(WorkerPlugin):  # type: ignore[misc]
        """Holds the server of a worker's task.

        Args:
            server: the server.
        """

        def __init__(self, server: Server) -> None:
            self.server = server

        async def teardown(self, worker: Any) -> None:
            """Ends the task."""
            await asyncio.to_thread(self.server.stop)

    return TaskPlugin(server)


def _know(jobs: Any, dask_worker: Any) -> None:
    server = _server(dask_worker)
    if server is not None:  # the worker has not ended meanwhile
        server.know(ClusterSpec(jobs))


async def _end(dask_worker: Any) -> None:
    plugin = dask_worker.plugins.pop(_PLUGIN, None)
    if plugin is not None:
        await plugin.teardown(dask_worker)
