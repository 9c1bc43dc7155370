"""Clusters on loopback for tests: in this process, and in processes of their own."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
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


def waiting_step() -> tuple[tf.Tensor, tf.Tensor]:
    """What waits for ever, and what has a value once that has begun; for two steps, as both wait."""
    begins = tf.FIFOQueue(1, tf.bool, shapes=[[]], shared_name="begins")
    with tf.control_dependencies([begins.enqueue(True)]):
        waits = tf.FIFOQueue(1, tf.float32, shapes=[[]]).dequeue()
    return waits, begins.dequeue()


@contextlib.contextmanager
def running_step(session: tf.Session, fetch: tf.Tensor) -> Iterator[list[tf.errors.OpError]]:
    """Runs a step in a thread within the block, in which something ends it; gives a list, where its error comes."""
    errors = []

    def run() -> None:
        try:
            session.run(fetch)
        except tf.errors.OpError as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield errors
    thread.join(60)
    assert not thread.is_alive()


def until(is_so: Callable[[], bool], limit_s: float = 60) -> None:
    """Waits until something is so."""
    end = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


SERVE = """
import sys
import gpuplace as tf
tf.train.Server(eval(sys.argv[1]), job_name=sys.argv[2], task_index=int(sys.argv[3])).join()
"""


def process(cluster: dict[str, list[str]], job: str, index: int) -> subprocess.Popen[bytes]:
    """A task that serves in a process of its own."""
    return subprocess.Popen([sys.executable, "-c", SERVE, repr(cluster), job, str(index)], cwd=ROOT)
