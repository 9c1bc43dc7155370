"""The tasks that a session has, by the filters and the cluster in its configuration.

Source: tensorflow/core/distributed_runtime/master.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.device.parsed_name import parse_name
from gpuplace.errors import InvalidArgumentError


def passes(task: str, filters: Sequence[str]) -> bool:
    """Whether a task has devices that ``device_filters`` leave: all have where there are none.

    >>> passes("/job:ps/replica:0/task:1", ["/job:ps", "/job:worker/task:0"])
    True
    >>> passes("/job:worker/replica:0/task:1", ["/job:ps", "/job:worker/task:0"])
    False

    Args:
        task: its name.
        filters: partial device names.

    Raises:
        InvalidArgumentError: a filter is no device name.
    """
    if not filters:
        return True
    own = parse_name(task)
    assert own is not None
    for text in filters:
        wanted = parse_name(text)
        if wanted is None:
            raise InvalidArgumentError.of(f"Could not parse device filter: {text}")
        if all(getattr(wanted, part) in (None, getattr(own, part)) for part in ("job", "replica", "task")):
            return True
    return False


def master_in(cluster_def: Any, jobs: Mapping[str, Sequence[str | None]], target: str) -> str:
    """The name that a session's own cluster has for the task of its target.

    Args:
        cluster_def: the ``ClusterDef`` in the session's configuration.
        jobs: name of a job -> the addresses of its tasks, of the same.
        target: ``grpc://host:port``.

    Raises:
        InvalidArgumentError: it has none, or several.
    """
    address = target.partition("://")[2]
    found = [
        f"/job:{job}/replica:0/task:{index}"
        for job, addresses in jobs.items()
        for index, one in enumerate(addresses)
        if one == address
    ]
    if not found:
        raise InvalidArgumentError.of(
            f"The master (current machine) is not included in the provided cluster_def. {cluster_def}"
        )
    if len(found) > 1:
        short = " ".join(str(cluster_def).split())
        raise InvalidArgumentError.of(
            "Found multiple matching tasks that correspond to to the master. Master target: "
            f"'{target}'. ClusterDef: {short}"
        )
    return found[0]
