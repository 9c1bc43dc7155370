"""Tasks of a session, selected by the filters and the cluster in its config.

Source: tensorflow/core/distributed_runtime/master.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.device.parsed_name import parse_name
from gpuplace.errors import InvalidArgumentError


def passes(task: str, filters: Sequence[str]) -> bool:
    """Whether ``device_filters`` select a task; without filters, all tasks are selected.

    >>> passes("/job:ps/replica:0/task:1", ["/job:ps", "/job:worker/task:0"])
    True
    >>> passes("/job:worker/replica:0/task:1", ["/job:ps", "/job:worker/task:0"])
    False

    Args:
        task: name of the task.
        filters: partial device names.

    Raises:
        InvalidArgumentError: a filter is not a device name.
    """
    if not filters:
        return True
    own = parse_name(task)
    assert own is not None
    for text in filters:
        device_filter = parse_name(text)
        if device_filter is None:
            raise InvalidArgumentError.of(f"Could not parse device filter: {text}")
        if all(
            getattr(device_filter, part) in (None, getattr(own, part)) for part in ("job", "replica", "task")
        ):
            return True
    return False


def master_in(cluster_def: Any, jobs: Mapping[str, Sequence[str | None]], target: str) -> str:
    """Return the name of the target's task in a session's own cluster.

    Args:
        cluster_def: the ``ClusterDef`` in the session's config.
        jobs: addresses of the tasks in it, by job.
        target: ``grpc://host:port``.

    Raises:
        InvalidArgumentError: no task, or more than one, has the target's address.
    """
    address = target.partition("://")[2]
    names = [
        f"/job:{job}/replica:0/task:{index}"
        for job, addresses in jobs.items()
        for index, task_address in enumerate(addresses)
        if task_address == address
    ]
    if not names:
        raise InvalidArgumentError.of(
            f"The master (current machine) is not included in the provided cluster_def. {cluster_def}"
        )
    if len(names) > 1:
        short = " ".join(str(cluster_def).split())
        raise InvalidArgumentError.of(
            "Found multiple matching tasks that correspond to to the master. Master target: "
            f"'{target}'. ClusterDef: {short}"
        )
    return names[0]
