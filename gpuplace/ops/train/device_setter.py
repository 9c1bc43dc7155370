"""Devices for parameter servers: variables go to the servers in turn, all other nodes to the worker.

    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        a = tf.Variable(0.0)        /job:ps/task:0
        b = tf.Variable(0.0)        /job:ps/task:1
        c = a + b                   /job:worker

Device requests of an inner ``tf.device`` take precedence; the setter only fills in the rest.

Source: tensorflow/python/training/device_setter.py and server_lib.py, release 1.15.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gpuplace.device.spec import DeviceSpec
from gpuplace.display import above
from gpuplace.graph.op_sets import PARAMETER_SERVER_OPS
from gpuplace.graph.operation import Operation

STANDARD_PS_OPS = PARAMETER_SERVER_OPS
"""Op types that belong on a parameter server."""


class ClusterSpec:
    """The jobs of a cluster and the addresses of their tasks.

    >>> cluster = ClusterSpec({"ps": ["ps0:2222"], "worker": {1: "worker1:2222"}})
    >>> cluster.task_address("worker", 1)
    'worker1:2222'

    Args:
        cluster: another ``ClusterSpec``, a ``ClusterDef``, or a dict from job name to addresses: a list in the order of
            the tasks, or a dict from task index to address.

    Raises:
        TypeError: ``cluster`` has another type.
    """

    def __init__(self, cluster: ClusterSpec | Mapping[str, Sequence[str] | Mapping[int, str]] | Any) -> None:
        self._jobs: dict[str, dict[int, str]] = {}
        if isinstance(cluster, ClusterSpec):
            self._jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
            return
        if hasattr(cluster, "job"):
            self._jobs = {job.name: dict(sorted(job.tasks.items())) for job in cluster.job}
            return
        if not isinstance(cluster, Mapping):
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of"
                " network addresses, or a `ClusterDef` protocol buffer"
            )
        for job, tasks in cluster.items():
            if isinstance(tasks, (list, tuple)):
                pairs: Iterable[tuple[Any, Any]] = enumerate(tasks)
            elif isinstance(tasks, Mapping):
                pairs = tasks.items()
            else:
                raise TypeError(
                    f"The tasks for job {job!r} must be a list or a dictionary from integers to strings."
                )
            if not isinstance(job, str | bytes):
                raise TypeError(f"Job name {job!r} must be bytes or unicode")
            self._jobs[_text(job)] = {_task_number(task): _address(address) for task, address in pairs}
        self._jobs = {job: dict(sorted(tasks.items())) for job, tasks in self._jobs.items()}

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """Return the number of tasks of a job.

        Args:
            job_name: name of the job.

        Returns:
            A Python integer.

        Raises:
            ValueError: the job does not exist.
        """
        return len(self._tasks(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Return the indices of a job's tasks.

        Args:
            job_name: name of the job.

        Returns:
            A sorted list of integers.

        Raises:
            ValueError: the job does not exist.
        """
        return sorted(self._tasks(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Return the address of a task.

        Args:
            job_name: name of the job.
            task_index: index of the task.

        Returns:
            The address as given, for example ``"host:port"``.

        Raises:
            ValueError: the job or task does not exist.
        """
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Return the addresses of a job's tasks.

        Args:
            job_name: name of the job.

        Returns:
            A list with the address of each task at its index; None for missing tasks.

        Raises:
            ValueError: the job does not exist.
        """
        tasks = self._tasks(job_name)
        return [tasks.get(task) for task in range(max(tasks, default=-1) + 1)]

    def as_dict(self) -> dict[str, Any]:
        """Return a dict from job name to a list of addresses, or to a dict if task indices are missing."""
        return {
            job: [tasks[i] for i in range(len(tasks))]
            if tasks and sorted(tasks) == list(range(len(tasks)))
            else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> Any:
        """Return the cluster as a ``ClusterDef``."""
        return above("gpuplace.graphdef.messages", "cluster_def")(self._jobs)

    def _tasks(self, job_name: str) -> dict[int, str]:
        if job_name not in self._jobs:
            raise ValueError(f"No such job in cluster: {job_name!r}")
        return self._jobs[job_name]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return self._jobs == (other._jobs if isinstance(other, ClusterSpec) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()!r})"


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _task_number(task: Any) -> int:
    if not isinstance(task, numbers.Integral):
        raise TypeError(f"{task!r} has type {type(task).__name__}, but expected one of: int")
    return int(task)


def _address(address: Any) -> str:
    if not isinstance(address, str | bytes):
        raise TypeError(f"Task address {address!r} must be bytes or unicode")
    return _text(address)


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Operation], int] | None = None,
) -> Callable[[Operation], str] | None:
    """Return a function for ``tf.device`` that distributes variables over parameter servers.

    Args:
        ps_tasks: number of parameter servers; ignored if ``cluster`` is given.
        ps_device: device name of the parameter servers.
        worker_device: device name of all other nodes.
        merge_devices: whether to complete a node's own device request; otherwise a node with a request keeps it
            unchanged.
        cluster: a ``ClusterSpec``, or an argument for one; None: use ``ps_tasks``.
        ps_ops: op types for the servers; None: ``STANDARD_PS_OPS``.
        ps_strategy: function from an operation to the index of its server; None: round-robin.

    Returns:
        The function, from operation to device name; None without parameter servers.

    Raises:
        TypeError: ``cluster`` or ``ps_strategy`` has the wrong type.
    """
    if cluster is not None:
        tasks = ClusterSpec(cluster).as_dict().get(DeviceSpec.from_string(ps_device).job or "")
        if not tasks:
            return None
        ps_tasks = len(tasks)
    if ps_tasks == 0:
        return None
    types = frozenset(STANDARD_PS_OPS if ps_ops is None else ps_ops)
    strategy = _RoundRobin(ps_tasks) if ps_strategy is None else ps_strategy
    if not callable(strategy):
        raise TypeError("ps_strategy must be callable")

    def choose(op: Operation) -> str:
        if not merge_devices and op.device:
            return op.device
        current = DeviceSpec.from_string(op.device)
        if ps_device and op.type in types:
            spec = DeviceSpec.from_string(ps_device)
            if spec.job and current.job in (None, spec.job):
                spec = spec.replace(task=strategy(op))
        else:
            spec = DeviceSpec.from_string(worker_device or "")
        return spec.make_merged_spec(current).to_string()

    return choose


class _RoundRobin:
    """Assign parameter servers in turn."""

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks = num_tasks
        self._next = 0

    def __call__(self, op: Operation) -> int:
        task, self._next = self._next, (self._next + 1) % self._num_tasks
        return task
