"""Traces of a step's parts, merged and converted to one clock.

Each task records times by its own clock. The master requests the time of each task several times, and uses the fastest
answer: the task's clock was read between request and answer, roughly midway::

    master   requested ─────────┬─────────── answered         ahead by: theirs - (requested + answered) / 2
    task                      theirs                          error up to: (answered - requested) / 2

A clock that may be right within that error is not corrected: tasks on one machine share one clock.

A tensor sent between tasks appears as ``_Send`` and ``_Recv`` in the lists of its sender and receiver. As in
TensorFlow, which omits those two, it also appears as a ``RecvTensor`` in a separate list for the receiver, with its
bytes, from sending to arrival::

    _Send        |=|
    RecvTensor   |========|
    _Recv      ...........|=|       scheduled at its position, started when the tensor was sent

Source: tensorflow/core/distributed_runtime/worker_cache_logger.cc and rpc/grpc_remote_worker.cc, releases 1.15 and
2.21 (``RecvTensor``); Cristian, "Probabilistic clock synchronization", 1989 (the fastest answer).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuplace.clusters.partition import Part
from gpuplace.clusters.rendezvous import next_name
from gpuplace.graph.op_sets import RECEIVES, SENDS

CLOCK_REQUESTS = 8
"""Number of requests for a task's time."""
_UNKNOWN_TIME = 0
_MB = 1 << 20


@dataclass
class PartTrace:
    """Trace of a part of a step on one task."""

    step_stats: Any
    """``StepStats`` with times of the task's clock."""
    arrivals: Mapping[str, int] = field(default_factory=dict)
    """Arrival time of each received tensor, by edge name, in nanoseconds since 1970 by the task's clock."""


async def clock_ahead(
    other_clock: Callable[[], Awaitable[int]], clock: Callable[[], int] = time.time_ns
) -> int:
    """Return by how many nanoseconds another clock is ahead of this one; 0 if the difference is within the error.

    Args:
        other_clock: returns the other clock's time in nanoseconds.
        clock: this clock.
    """
    measurements: list[tuple[int, int]] = []
    for _ in range(CLOCK_REQUESTS):
        requested = clock()
        theirs = await other_clock()
        answered = clock()
        measurements.append((answered - requested, theirs - (requested + answered) // 2))
    took, ahead = min(measurements)
    return ahead if 2 * abs(ahead) > took else 0


def on_one_clock(trace: PartTrace, ahead_ns: int) -> PartTrace:
    """Convert a trace to the clock that the task's clock is ahead of.

    Args:
        trace: the trace; its statistics are changed.
        ahead_ns: difference of the clocks in nanoseconds.
    """
    if not ahead_ns:
        return trace
    for device in trace.step_stats.dev_stats:
        for node in device.node_stats:
            for name in ("all_start", "scheduled"):
                nanos, micros = getattr(node, f"{name}_nanos"), getattr(node, f"{name}_micros")
                if nanos:
                    setattr(node, f"{name}_nanos", nanos - ahead_ns)
                    setattr(node, f"{name}_micros", (nanos - ahead_ns) // 1000)
                elif micros:
                    setattr(node, f"{name}_micros", micros - ahead_ns // 1000)
            for memory in node.memory:
                for record in memory.allocation_records:
                    record.alloc_micros -= ahead_ns // 1000
    return PartTrace(trace.step_stats, {edge: at - ahead_ns for edge, at in trace.arrivals.items()})


def fill_step_stats(step_stats: Any, parts: Iterable[Part], traces: Sequence[PartTrace]) -> None:
    """Fill in the statistics of a step on several tasks.

    Args:
        step_stats: the message.
        parts: the parts.
        traces: traces of the parts, on one clock.
    """
    ends = _Ends()
    for part, trace in zip(parts, traces, strict=True):
        ends.note(part, trace)
    ends.receive(step_stats)
    for trace in traces:
        step_stats.MergeFrom(trace.step_stats)


@dataclass
class _Ends:
    """Both ends of each edge between tasks."""

    sent: dict[tuple[str, str], Any] = field(default_factory=dict)
    """``NodeExecStats`` of each ``_Send``, by edge name, numbered from its second use on, and receiving device."""
    received: list[tuple[str, Any, Any, int]] = field(default_factory=list)
    """For each executed ``_Recv``: edge name, node of the part, ``NodeExecStats``, and arrival time."""
    _sends: dict[str, int] = field(default_factory=dict)
    _receives: dict[str, int] = field(default_factory=dict)

    def note(self, part: Part, trace: PartTrace) -> None:
        ends = {node.name: node for node in part.graph_def.node if node.op in SENDS | RECEIVES}
        for device in trace.step_stats.dev_stats:
            for stats in device.node_stats:
                node = ends.get(stats.node_name)
                if node is None:
                    continue
                edge = node.attr["tensor_name"].s.decode()
                edge = next_name(self._sends if node.op in SENDS else self._receives, edge)
                if node.op in SENDS:
                    self.sent[edge, node.attr["recv_device"].s.decode()] = stats
                else:
                    arrived = trace.arrivals.get(edge, _UNKNOWN_TIME)
                    self.received.append((edge, node, stats, arrived))

    def receive(self, step_stats: Any) -> None:
        """Add a ``RecvTensor`` for each edge, and have its ``_Recv`` start when the tensor was sent."""
        lists: dict[str, Any] = {}
        for edge, node, stats, arrived in self.received:
            source, target = node.attr["send_device"].s.decode(), node.attr["recv_device"].s.decode()
            sent = self.sent.get((edge, target))
            if sent is None:
                continue
            name = node.attr["tensor_name"].s.decode()
            end = stats.all_start_nanos + stats.all_end_rel_nanos
            begin = min(max(stats.all_start_nanos, sent.all_start_nanos), end)
            _begin_at(stats, begin, end)
            start = sent.all_start_nanos
            duration = max(arrived - start, 0) // 1000
            nbytes = sum(
                output.tensor_description.allocation_description.requested_bytes for output in stats.output
            )
            if target not in lists:
                lists[target] = step_stats.dev_stats.add(device=target)
            transfer = lists[target].node_stats.add(
                node_name="RecvTensor",
                timeline_label=f"{_size_and_rate(nbytes, duration)} {name} from {source} to {target}",
                all_start_micros=start // 1000,
                op_end_rel_micros=duration,
                all_end_rel_micros=duration,
            )
            description = transfer.output.add().tensor_description
            for output in stats.output:
                description.CopyFrom(output.tensor_description)
            memory = description.allocation_description
            memory.Clear()
            memory.requested_bytes = memory.allocated_bytes = nbytes


def _size_and_rate(nbytes: int, took_us: int) -> str:
    """Return the size and rate in TensorFlow's format.

    >>> _size_and_rate(64, 110), _size_and_rate(400_000, 349), _size_and_rate(0, 0)
    ('[64B] [4.654545Mb/s]', '[0.4MB] [9.2Gb/s]', '[0B] [0.000000Mb/s]')
    """
    rate = 8 * nbytes / took_us if took_us else 0.0
    size = f"{nbytes / _MB:.1f}MB" if nbytes >= 0.1 * _MB else f"{nbytes}B"
    return f"[{size}] " + (f"[{rate / 1000:.1f}Gb/s]" if rate >= 1000 else f"[{rate:.6f}Mb/s]")


def _begin_at(stats: Any, begin: int, end: int) -> None:
    stats.all_start_nanos, stats.all_start_micros = begin, begin // 1000
    stats.op_end_rel_nanos = stats.all_end_rel_nanos = end - begin
    stats.op_end_rel_micros = stats.all_end_rel_micros = end // 1000 - begin // 1000
