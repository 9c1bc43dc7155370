"""The programs of ``cluster_scripts/``: how many tasks each has, and which of them end by themselves.

The others serve until they are killed, as parameter servers do that call ``server.join()``.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

SCRIPTS = Path(__file__).parent / "cluster_scripts"


class Tasks(NamedTuple):
    """The processes of a program."""

    jobs: dict[str, int]
    """How many tasks of each job."""
    ending: tuple[str, ...]
    """The tasks that end, ``job:number``."""
    absent: tuple[str, ...] = ()
    """Tasks of the cluster that nobody starts."""
    script: str | None = None
    """The script, where its name is not the program's."""

    @property
    def started(self) -> list[tuple[str, int]]:
        """Job and number of each process."""
        every = [(job, index) for job, count in self.jobs.items() for index in range(count)]
        return [task for task in every if "{}:{}".format(*task) not in self.absent]

    def devices(self, task: str) -> list[str]:
        """The devices of a task's sessions, the master's own first; a client's master is the first worker."""
        found = [
            f"/job:{job}/replica:0/task:{index}/device:CPU:0"
            for job, index in self.started
            if job != "client"
        ]
        own = "/job:{}/replica:0/task:{}/".format(*task.replace("client", "worker").split(":"))
        return sorted(found, key=lambda device: not device.startswith(own))


WORKERS = ("worker:0", "worker:1", "worker:2", "worker:3")
PROGRAMS = {
    "asynchronous_hogwild": Tasks({"ps": 2, "worker": 4}, ("ps:0", *WORKERS)),
    "between_graph_turns": Tasks({"ps": 1, "worker": 2}, WORKERS[:2]),
    "device_filters": Tasks({"ps": 1, "worker": 2}, WORKERS[:1], absent=("worker:1",)),
    "in_graph_towers": Tasks({"ps": 1, "worker": 2}, WORKERS[:1]),
    "local_server": Tasks({"worker": 1}, WORKERS[:1]),
    "loop_over_tasks": Tasks({"ps": 1, "worker": 1}, WORKERS[:1]),
    "model_parallel": Tasks({"worker": 3}, WORKERS[:1]),
    "nested_over_tasks": Tasks({"ps": 1, "worker": 2}, WORKERS[:1]),
    "partitioned_variables": Tasks({"ps": 2, "worker": 1}, WORKERS[:1]),
    "recurrent_over_tasks": Tasks({"ps": 1, "worker": 2}, WORKERS[:1]),
    "remote_client": Tasks({"ps": 2, "worker": 1, "client": 1}, ("client:0",)),
    "shared_queue": Tasks({"ps": 1, "worker": 3}, WORKERS[:3]),
    "supervisor_workers": Tasks({"ps": 1, "worker": 2}, WORKERS[:2]),
    "sync_replicas": Tasks({"ps": 1, "worker": 2}, WORKERS[:2]),
    "sync_replicas_of_four": Tasks({"ps": 2, "worker": 4}, WORKERS, script="sync_replicas"),
}
