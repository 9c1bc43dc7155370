"""What ``RunOptions`` ask of one step besides a trace: a time limit, and a list of tensors when memory runs out.

A step whose time is up ends before its next node; what computes is not interrupted, as in TensorFlow, which waits for
its kernels too. ``ConfigProto.operation_timeout_in_ms`` is the limit of steps that name none.

>>> print(usage_report("GPU:0", "GPU_0_bfc", [("b", 4 << 20), ("a", 256), ("b", 256), ("c", 512)]), end="")
<BLANKLINE>
<BLANKLINE>
Current usage from device: GPU:0, allocator: GPU_0_bfc
  4.00MiB from b
  Remaining 2 nodes with 768B

Source: tensorflow/core/common_runtime/direct_session.cc (WaitForNotification) and step_stats_collector.cc
(ReportAllocsOnResourceExhausted), releases 1.15 and 2.21.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from gpuplace.errors import DeadlineExceededError, OpError, ResourceExhaustedError
from gpuplace.graph.graph import Graph
from gpuplace.runtime.allocator_text import readable_bytes
from gpuplace.runtime.partition import Schedule
from gpuplace.runtime.session_errors import OOM_HINTS, with_lines

__all__ = ["deadline_check", "error_with_usage", "usage_report"]

MAX_REPORTED_NODES = 100
"""The list ends after so many nodes,"""
MAX_REPORTED_PART = 0.99
"""or when it accounts for so much of the memory."""


def deadline_check(
    limit_ms: int, schedule: Schedule, graph: Graph, release: str, clock: Callable[[], float] = time.monotonic
) -> Callable[[int], None]:
    """What a step calls before every node, with its position: DeadlineExceededError when the time from now is up."""
    end = clock() + limit_ms / 1000

    def check(number: int) -> None:
        if clock() > end:
            raise DeadlineExceededError(
                None,
                None,
                with_lines("Timed out waiting for notification", graph, release),
                facts={"limit": f"{limit_ms} ms", "stopped before": schedule.steps[number].name},
                hint="RunOptions(timeout_in_ms=...), or ConfigProto(operation_timeout_in_ms=...)",
            )

    return check


def usage_report(device: str, allocator: str, allocations: Iterable[tuple[str, int]]) -> str:
    """The list of what nodes hold, the largest first.

    Args:
        device: full name.
        allocator: its name.
        allocations: name of the node and bytes, in the order of allocation.
    """
    by_node: dict[str, int] = {}
    for name, nbytes in allocations:
        by_node[name] = by_node.get(name, 0) + nbytes
    if not by_node:
        return "\n"
    total, reported, count = sum(by_node.values()), 0, 0
    lines = [f"\n\nCurrent usage from device: {device}, allocator: {allocator}"]
    for name, nbytes in sorted(by_node.items(), key=lambda item: -item[1]):
        lines.append(f"  {readable_bytes(nbytes)} from {name}")
        reported += nbytes
        count += 1
        if count > MAX_REPORTED_NODES or reported >= total * MAX_REPORTED_PART:
            break
    if count < len(by_node):
        lines.append(f"  Remaining {len(by_node) - count} nodes with {readable_bytes(total - reported)}")
    return "\n".join(lines) + "\n"


def error_with_usage(error: ResourceExhaustedError, since: Mapping[str, int]) -> OpError:
    """The error with the list of what the step's nodes hold in place of the hint how to get it.

    Args:
        error: what the step raised.
        since: name of each allocator to the number of its first allocation in this step.
    """
    usage = getattr(error.__cause__, "usage", None)
    if usage is None:
        return error
    device, allocator, chunks = usage
    first = since.get(allocator, 0)
    own = sorted(
        (chunk for chunk in chunks if chunk.allocation_id >= first), key=lambda one: one.allocation_id
    )
    report = usage_report(device, allocator, [(chunk.label, chunk.size) for chunk in own])
    message = error.message
    for hint in OOM_HINTS:
        message = message.replace(hint, report)
    return ResourceExhaustedError(error.node_def, error.op, message, facts=error.facts, hint=error.hint)
