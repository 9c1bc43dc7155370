"""Clusters on loopback for tests: in this process, and in processes of their own."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gpuplace as tf

ROOT = Path(__file__).resolve().parents[2]


def addresses(**counts: int) -> dict[str, list[str]]:
    """A cluster of so many tasks of each job, on ports that are free."""
    sockets = [socket.socket() for _ in range(sum(counts.values()))]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = iter([one.getsockname()[1] for one in sockets])
    found = {job: [f"localhost:{next(ports)}" for _ in range(count)] for job, count in counts.items()}
    for one in sockets:
        one.close()
    return found


@contextlib.contextmanager
def servers(**counts: int) -> Iterator[dict[tuple[str, int], tf.train.Server]]:
    """All tasks of a cluster in this process."""
    cluster = addresses(**counts)
    started: dict[tuple[str, int], tf.train.Server] = {}
    try:
        for job, count in counts.items():
            for index in range(count):
                started[job, index] = tf.train.Server(cluster, job_name=job, task_index=index)
        yield started
    finally:
        for server in started.values():
            server.stop()


SERVE = """
import sys
import gpuplace as tf
tf.train.Server(eval(sys.argv[1]), job_name=sys.argv[2], task_index=int(sys.argv[3])).join()
"""


def process(cluster: dict[str, list[str]], job: str, index: int) -> subprocess.Popen[bytes]:
    """A task that serves in a process of its own."""
    return subprocess.Popen([sys.executable, "-c", SERVE, repr(cluster), job, str(index)], cwd=ROOT)
