"""A dask cluster that exists, on this machine, over SSH or in a batch system, as a cluster of TensorFlow's tasks.

On every dask worker a task begins to listen, in the worker's process and on the worker's host. From then on all is as
with servers that were started by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuplace.clusters.event_loop import check_installed
from gpuplace.clusters.server import Server
from gpuplace.errors import InvalidArgumentError
from gpuplace.ops.train.device_setter import ClusterSpec

_ATTRIBUTE = "gpuplace_server"
"""Of a dask worker: its task's server."""

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
        """The target of sessions whose own task is the first one of the last job: ``grpc://host:port``."""
        job = self.cluster_spec.jobs[-1]
        return f"grpc://{self.cluster_spec.task_address(job, self.cluster_spec.task_indices(job)[0])}"

    def targets(self, job: str) -> list[str]:
        """The targets of the tasks of a job.

        Args:
            job: its name.

        Returns:
            A list, by number of the task.

        Raises:
            ValueError: there is no such job.
        """
        return [f"grpc://{address}" for address in self.cluster_spec.job_tasks(job)]

    @property
    def dashboard_link(self) -> str | None:
        """Address of dask's dashboard, where the workers of the tasks are seen; None where it has none."""
        if "dashboard" not in self._client.scheduler_info()["services"]:
            return None
        return str(self._client.dashboard_link)

    def close(self) -> None:
        """Ends all tasks; the dask workers stay."""
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
        UnimplementedError: ``dask.distributed`` is not installed.
    """
    check_installed()
    workers = client.run(_place)
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
    addresses = client.run(_begin, places, workers=list(places))
    tasks: dict[str, dict[int, str]] = {}
    for worker, (job, index) in places.items():
        tasks.setdefault(job, {})[index] = addresses[worker]
    spec = ClusterSpec(dict(sorted(tasks.items())))
    client.run(_know, spec.as_dict(), workers=list(places))
    return Cluster(client, spec)


def target_of(address: str) -> str:
    """The target for a session of ``dask://host:port``, the address of a scheduler; its workers become tasks.

    Args:
        address: ``host:port``.
    """
    check_installed()
    from distributed import Client

    from gpuplace.clusters.connections import full_address

    with Client(full_address(address), set_as_default=False) as client:
        return cluster(client).target


# On the workers


def _place(dask_worker: Any) -> dict[str, Any]:
    server = getattr(dask_worker, _ATTRIBUTE, None)
    task = None if server is None else (server.server_def.job_name, server.server_def.task_index)
    return {"name": dask_worker.name, "task": task}


def _begin(places: Places, dask_worker: Any) -> str:
    """Begins to listen; returns ``host:port``."""
    server = getattr(dask_worker, _ATTRIBUTE, None)
    if server is None:
        job, index = places[dask_worker.address]
        protocol, _, place = dask_worker.address.partition("://")
        host = "localhost" if protocol == "inproc" else place.rpartition(":")[0]
        server = Server({job: {index: f"{host}:0"}}, job_name=job, task_index=index)
        setattr(dask_worker, _ATTRIBUTE, server)
    return str(server.target.removeprefix("grpc://"))


def _know(jobs: Any, dask_worker: Any) -> None:
    getattr(dask_worker, _ATTRIBUTE).know(ClusterSpec(jobs))


def _end(dask_worker: Any) -> None:
    server = getattr(dask_worker, _ATTRIBUTE, None)
    if server is not None:
        delattr(dask_worker, _ATTRIBUTE)
        server.stop()
