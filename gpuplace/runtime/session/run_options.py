"""``RunOptions`` of a step: trace, time limit, threads, and a list of tensors when memory runs out.

A step that exceeds its time limit ends before its next node; running kernels are not interrupted, as in TensorFlow.
``ConfigProto.operation_timeout_in_ms`` is the default time limit.

A session has one thread pool for its ops, or those of ``ConfigProto.session_inter_op_thread_pool``. Here a pool only
determines how many devices may work concurrently in their own threads; pool -1 is the calling thread.

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
from dataclasses import dataclass
from typing import Any

from gpuplace.errors import DeadlineExceededError, InvalidArgumentError, OpError, ResourceExhaustedError
from gpuplace.graph.graph import Graph
from gpuplace.kernels.cancellation import StepLimits
from gpuplace.runtime.memory.allocator_text import readable_bytes
from gpuplace.runtime.plan.schedule.partition import Schedule
from gpuplace.runtime.plan.step_errors import OOM_HINTS, with_lines
from gpuplace.typing import ConfigProto

FULL_TRACE = 3
"""``RunOptions.FULL_TRACE``."""
MANY_LANES = 64
"""Number of lanes that no machine exceeds."""
CALLING_THREAD = -1
"""Number of the pool without its own threads."""

MAX_REPORTED_NODES = 100
"""Maximum number of nodes in the list of tensors."""
MAX_REPORTED_PART = 0.99
"""The list ends when it covers this share of the memory."""


def pools_of_threads(config: ConfigProto) -> list[int]:
    """Return, for each of a session's pools, how many devices may work concurrently with the calling
    thread.

    Args:
        config: ``ConfigProto``, or an object with its attributes.
    """
    default = int(getattr(config, "inter_op_parallelism_threads", 0) or 0)
    pools = getattr(config, "session_inter_op_thread_pool", ())
    threads = [int(pool.num_threads) or default for pool in pools] or [default]
    return [0 if count == 1 else count if count > 1 else MANY_LANES for count in threads]


def limit_ms_of(config: ConfigProto) -> int:
    """Return the default time limit of steps in a ``ConfigProto`` in milliseconds; 0 for no limit.

    Args:
        config: ``ConfigProto``, or an object with its attributes.
    """
    return max(int(getattr(config, "operation_timeout_in_ms", 0) or 0), 0)


@dataclass(frozen=True, slots=True)
class StepOptions:
    """Options of one step."""

    limit_ms: int = 0
    """Time limit in milliseconds; 0 for no limit."""
    trace_level: int = 0
    """Level of detail of the trace; 0 for no trace."""
    lists_tensors: bool = False
    """Whether an out-of-memory error lists the tensors of the step."""
    most_lanes: int | None = None
    """Maximum number of devices that work concurrently with the calling thread; None: the session's default."""

    @classmethod
    def of(cls, options: Any, limit_ms: int, pools: list[int], graph: Graph, release: str) -> StepOptions:
        """Read a ``RunOptions``, or an object with its attributes; None: all defaults.

        Args:
            options: the message.
            limit_ms: the session's time limit, used if the options have none.
            pools: result of ``pools_of_threads``.
            graph: the executed graph.
            release: release whose error texts are used.

        Raises:
            InvalidArgumentError: the thread pool does not exist.
        """
        own_limit = int(getattr(options, "timeout_in_ms", 0) or 0)
        pool = int(getattr(options, "inter_op_thread_pool", 0) or 0)
        if not CALLING_THREAD <= pool < len(pools):
            raise InvalidArgumentError.of(
                with_lines(f"Invalid inter_op_thread_pool: {pool}", graph, release),
                facts={"pools of this session": f"0 to {len(pools) - 1}" if len(pools) > 1 else "0"},
                hint="ConfigProto.session_inter_op_thread_pool adds pools; -1 is the calling thread",
            )
        return cls(
            own_limit if own_limit > 0 else limit_ms,
            int(getattr(options, "trace_level", 0)),
            bool(getattr(options, "report_tensor_allocations_upon_oom", False)),
            None if pool == 0 else 0 if pool == CALLING_THREAD else pools[pool],
        )


def step_limits(
    limit_ms: int, graph: Graph, release: str, clock: Callable[[], float] = time.monotonic
) -> StepLimits:
    """Return the limits of a step that begins now.

    Args:
        limit_ms: time limit in milliseconds; 0 for no limit.
        graph: the executed graph.
        release: release whose error texts are used.
        clock: returns the time in seconds.
    """

    def late() -> DeadlineExceededError:
        return DeadlineExceededError.of(
            with_lines("Timed out waiting for notification", graph, release),
            facts={"limit": f"{limit_ms} ms"},
            hint="RunOptions(timeout_in_ms=...), or ConfigProto(operation_timeout_in_ms=...)",
        )

    return StepLimits(deadline=clock() + limit_ms / 1000, late=late) if limit_ms else StepLimits()


def deadline_check(
    limits: StepLimits, schedule: Schedule, clock: Callable[[], float] = time.monotonic
) -> Callable[[int], None]:
    """Return a function that raises DeadlineExceededError after the deadline.

    A step calls it with its position before each node.
    """
    end, late = limits.deadline, limits.late
    assert end is not None and late is not None

    def check(number: int) -> None:
        if clock() > end:
            error = late()
            error.facts["stopped before"] = schedule.steps[number].name
            raise error

    return check


def usage_report(device: str, allocator: str, allocations: Iterable[tuple[str, int]]) -> str:
    """Return the list of the memory that nodes hold, the largest first.

    Args:
        device: full device name.
        allocator: name of the allocator.
        allocations: node name and bytes of each allocation, in order.
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
    """Return the error with the list of the tensors that the step's nodes hold instead of the hint to request it.

    Args:
        error: the step's error.
        since: number of the step's first allocation, by allocator name.
    """
    usage = getattr(error.__cause__, "usage", None)
    if usage is None:
        return error
    device, allocator, chunks = usage
    first_allocation = since.get(allocator, 0)
    own = sorted(
        (chunk for chunk in chunks if chunk.allocation_id >= first_allocation),
        key=lambda chunk: chunk.allocation_id,
    )
    report = usage_report(device, allocator, [(chunk.label, chunk.size) for chunk in own])
    message = error.message
    for hint in OOM_HINTS:
        message = message.replace(hint, report)
    return ResourceExhaustedError(error.node_def, error.op, message, facts=error.facts, hint=error.hint)
