"""``tf.test.create_local_cluster``: workers and parameter servers in this process, for tests.

Source: tensorflow/python/framework/test_util.py, release 1.15 (arguments, job names).
"""

from __future__ import annotations

import contextlib
import socket

from gpuplace.clusters.server import Server
from gpuplace.typing import ConfigLike

__all__ = ["create_local_cluster"]


def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: ConfigLike | None = None,
    ps_config: ConfigLike | None = None,
) -> tuple[list[Server], list[Server]]:
    """Start servers on free ports of this machine.

    >>> workers, ps_servers = create_local_cluster(num_workers=1, num_ps=1)
    >>> import gpuplace as tf
    >>> with tf.device("/job:ps/task:0"):
    ...     total = tf.constant(1.0) + tf.constant(2.0)
    >>> with tf.Session(workers[0].target) as session:
    ...     print(session.run(total))
    3.0

    Args:
        num_workers: number of tasks in the job ``worker``.
        num_ps: number of tasks in the job ``ps``.
        protocol: ``"grpc"``.
        worker_config: the ``ConfigProto`` of the workers; None: the default.
        ps_config: the ``ConfigProto`` of the parameter servers.

    Returns:
        The servers of ``worker`` and of ``ps``, which run until the process ends.

    Raises:
        InvalidArgumentError: ``protocol`` is not ``"grpc"``.
    """
    addresses = [f"localhost:{port}" for port in _free_ports(num_workers + num_ps)]
    jobs = {"worker": addresses[:num_workers], "ps": addresses[num_workers:]}
    configs = {"worker": worker_config, "ps": ps_config}
    workers, ps_servers = (
        [
            Server(jobs, job_name=job, task_index=task, protocol=protocol, config=configs[job])
            for task in range(len(jobs[job]))
        ]
        for job in ("worker", "ps")
    )
    return workers, ps_servers


def _free_ports(count: int) -> list[int]:
    """Return ports that nothing listens on."""
    with contextlib.ExitStack() as opened:
        probes = [opened.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
