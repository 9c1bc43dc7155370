"""``tensorflow.python.client.timeline``: converts a step's statistics to a trace for Chrome's viewer and Perfetto.

>>> from types import SimpleNamespace as Record
>>> node = Record(node_name="a", timeline_label="a = Const()", all_start_micros=5, all_end_rel_micros=2, output=[])
>>> step = Record(dev_stats=[Record(device="/device:CPU:0", node_stats=[node])])
>>> trace = json.loads(Timeline(step).generate_chrome_trace_format())
>>> trace["traceEvents"][-1]["args"], trace["traceEvents"][-1]["ts"]
({'name': 'a', 'op': 'Const'}, 5)

Each device is a process of the trace, with another process for its tensors; overlapping ops of a device are put on
different rows, the threads of the trace. Three passes write events in TensorFlow's order::

    processes ──> rows ──> tensors (objects) ──> ops (regions), arrows from producer to consumer ──> memory counters

Unlike TensorFlow's, a `Timeline` does not change the statistics, and can be used repeatedly. Our step statistics also
contain the receives of copies: an arrow leads to each from the node whose output was copied. The tensor snapshot of an
op that took less than a microsecond is at its start; TensorFlow's is before that, which viewers reject.

Source: tensorflow/python/client/timeline.py, releases 1.15 and 2.21 (names, arguments, events).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpuplace import release as releases
from gpuplace.graph.op_sets import RECEIVES
from gpuplace.runtime.plan.schedule.transfers import source_name

__all__ = ["AllocationMaximum", "StepStatsAnalysis", "Timeline"]

_LABEL = re.compile(r"(.*) = (.*)\((.*)\)")
_FED = re.compile(r"_arg_(.+)_\d+_\d+$")


class AllocationMaximum(NamedTuple):
    """Peak memory use of an allocator."""

    timestamp: int
    """Time at which it was reached, in microseconds since 1970."""
    num_bytes: int
    tensors: set[str]
    """Names of the tensors in memory at that time."""


class StepStatsAnalysis(NamedTuple):
    """Result of `Timeline.analyze_step_stats`."""

    chrome_trace: ChromeTrace
    """Events; ``format_to_string(pretty=False)`` converts them to JSON."""
    allocator_maximums: dict[str, AllocationMaximum]
    """Peak memory use by allocator; empty if memory is not shown."""


class ChromeTrace:
    """Events in Chrome's trace format: first those about processes, then all others."""

    def __init__(self) -> None:
        self._processes: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []

    def process(self, name: str, pid: int) -> None:
        """Name a process."""
        self._processes.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}})

    def event(self, ph: str, cat: str, name: str, pid: int, tid: int, ts: int, **more: Any) -> None:
        """Add an event.

        Args:
            ph: phase, a letter for the type of event.
            cat: category.
            name: name of the event.
            pid: process.
            tid: thread.
            ts: time in microseconds.
            more: further fields of this kind of event.
        """
        self._events.append({"ph": ph, "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, **more})

    def format_to_string(self, pretty: bool = False) -> str:
        """Return the trace as JSON, on several lines if ``pretty``."""
        trace = {"traceEvents": self._processes + self._events}
        if pretty:
            return json.dumps(trace, indent=4, separators=(",", ": "))
        return json.dumps(trace, separators=(",", ":"))


@dataclass(slots=True)
class _Op:
    """Execution of a node."""

    stats: Any
    pid: int
    tensors_pid: int
    start: int
    """Start in microseconds since 1970."""
    end: int
    is_kernel: bool
    """Whether it was recorded by a GPU tracer."""
    tid: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether its label contains its inputs."""
        return not self.is_kernel and self.stats.node_name != "RecvTensor"


@dataclass(slots=True)
class _Tensor:
    """Output, and the time of its last use."""

    number: int
    pid: int
    allocator: str
    nbytes: int
    start: int
    source: tuple[int, int, int]
    """Time, process and thread at which arrows start."""
    last: int


@dataclass
class _Analysis:
    """Conversion of the statistics to events."""

    devices: list[tuple[str, list[_Op]]]
    rules: str
    trace: ChromeTrace = field(default_factory=ChromeTrace)
    tensors: dict[str, _Tensor] = field(default_factory=dict)
    fed: dict[str, str] = field(default_factory=dict)
    """Node that provides the value of a fed node, by its name."""
    maximums: dict[str, AllocationMaximum] = field(default_factory=dict)
    flows: int = 0

    def ops(self) -> Iterator[_Op]:
        for _, ops in self.devices:
            yield from ops

    def name_processes(self) -> None:
        self.trace.process("Allocators", 0)
        for number, (device, _) in enumerate(self.devices):
            self.trace.process(f"{device} Compute", 2 * number + 1)
            self.trace.process(f"{device} Tensors", 2 * number + 2)

    def assign_rows(self) -> None:
        """Put each op on the first row whose last op ended before it."""
        for _, ops in self.devices:
            free = [0]
            for op in ops:
                row = next((number for number, end in enumerate(free) if op.start > end), len(free))
                free[row : row + 1] = [op.end]
                op.tid = row

    def add_tensors(self, shows_memory: bool) -> None:
        for op in self.ops():
            for position, output in enumerate(op.stats.output):
                name = f"{op.stats.node_name}:{position}" if position else op.stats.node_name
                memory = output.tensor_description.allocation_description
                tensor = _Tensor(
                    len(self.tensors),
                    op.tensors_pid,
                    memory.allocator_name,
                    memory.requested_bytes,
                    op.start,
                    (op.end, op.pid, op.tid),
                    op.end,
                )
                self.tensors[name] = tensor
                if (fed := _FED.match(name)) is not None:
                    self.fed[fed[1]] = name
                if shows_memory:
                    place = (op.tensors_pid, op.tid)
                    self.trace.event("N", "Tensor", name, *place, op.start, id=tensor.number)
                    text = str(output.tensor_description).replace('"', "")
                    args = {"snapshot": {"tensor_description": text}}
                    at = max(op.end - 1, op.start)
                    self.trace.event("O", "Tensor", name, *place, at, id=tensor.number, args=args)

    def add_ops(self, shows_dataflow: bool) -> None:
        for op in self.ops():
            name, op_type, inputs = self.described(op)
            args = {"name": name, "op": op_type}
            if op.is_plain:
                args |= {f"input{position}": text for position, text in enumerate(inputs)}
            self.trace.event("X", "Op", op_type, op.pid, op.tid, op.start, dur=op.end - op.start, args=args)
            if op_type in RECEIVES:
                sent = self.tensors.get(self.sent(name))
                # A constant may be received before its node is scheduled.
                if sent is not None and sent.source[0] <= op.start:
                    self.add_use(op, self.sent(name), shows_dataflow)
            elif op.is_plain:
                for text in inputs:
                    self.add_use(op, text, shows_dataflow)

    def described(self, op: _Op) -> tuple[str, str, list[str]]:
        """Return name, op type and inputs of an op."""
        stats = op.stats
        if op.is_kernel:
            return *kernel_of(stats, self.rules), []
        if stats.node_name == "RecvTensor":
            return stats.node_name, "RecvTensor", []
        match = _LABEL.match(stats.timeline_label)
        if match is None:
            return stats.node_name, "unknown", []
        return stats.node_name, match[2], match[3].split(", ") if match[3] else []

    def sent(self, name: str) -> str:
        """Return the tensor that our receive ``a/_3`` is for; TensorFlow's statistics contain none."""
        base = source_name(name) or name
        return self.fed.get(base, base)

    def add_use(self, op: _Op, name: str, shows_dataflow: bool) -> None:
        """Record that an op uses a tensor; an unknown tensor may have been received from the node of that name."""
        if name not in self.tensors:
            name = source_name(name) or name
        tensor = self.tensors.get(name)
        if tensor is None:
            return
        tensor.last = max(tensor.last, op.end - 1)
        time, pid, tid = tensor.source
        if shows_dataflow and (pid, tid) != (op.pid, op.tid):
            self.trace.event("s", "DataFlow", name, pid, tid, time, id=self.flows)
            self.trace.event("t", "DataFlow", name, op.pid, op.tid, op.start, id=self.flows)
            self.flows += 1

    def add_memory(self) -> None:
        """End tensor lifetimes, and count the bytes of each allocator."""
        changes: dict[str, list[tuple[int, int, str]]] = {}
        for name, tensor in self.tensors.items():
            self.trace.event("D", "Tensor", name, tensor.pid, 0, tensor.last, id=tensor.number)
            allocator_changes = changes.setdefault(tensor.allocator, [])
            allocator_changes += [(tensor.start, tensor.nbytes, name), (tensor.last, -tensor.nbytes, name)]
        for allocator, rows in changes.items():
            total, alive = 0, set()
            most = AllocationMaximum(0, 0, set())
            for time, nbytes, name in sorted(rows):
                total += nbytes
                if nbytes < 0:
                    alive.discard(name)
                else:
                    alive.add(name)
                if total > most.num_bytes:
                    most = AllocationMaximum(time, total, set(alive))
                self.trace.event("C", "Memory", allocator, 0, 0, time, args={allocator: total})
            self.maximums[allocator] = most


def kernel_of(stats: Any, rules: str = "2.21") -> tuple[str, str]:
    """Return node and op type of a kernel recorded by a GPU tracer.

    Args:
        stats: ``NodeExecStats`` of a stream; its name is ``node:type``; in 2.x its label may contain ``@@node:type#``.
        rules: ``"1.15"`` or ``"2.21"``.
    """
    text = stats.node_name
    if rules != "1.15":
        start, end = stats.timeline_label.find("@@"), stats.timeline_label.find("#")
        if 0 <= start < end - 2:
            text = stats.timeline_label[start + 2 : end]
    name, op_type = (text.split(":") + ["unknown"])[:2]
    return name, op_type


class Timeline:
    """Timeline of a step.

    Args:
        step_stats: ``StepStats``, from the ``step_stats`` of a ``RunMetadata``.
        graph: ignored; accepted for compatibility with TensorFlow.
    """

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        self._step_stats = step_stats
        self._graph = graph

    def analyze_step_stats(
        self, show_dataflow: bool = True, show_memory: bool = True, op_time: str = "schedule"
    ) -> StepStatsAnalysis:
        """Return the events and the peak memory use of each allocator.

        Args:
            show_dataflow: whether to add an arrow for each tensor that another device or row uses.
            show_memory: whether to add tensors with their sizes and lives, and a counter of bytes for each allocator.
            op_time: ``"schedule"`` shows an op with the times of its device's list; if its kernels ran on streams,
                ``"gpu"`` shows it from the start of the first to the end of the last kernel, and ``"all"`` from its own
                start.
        """
        analysis = _Analysis(self._devices(op_time), releases.rules())
        analysis.name_processes()
        analysis.assign_rows()
        analysis.add_tensors(show_memory)
        analysis.add_ops(show_dataflow)
        if show_memory:
            analysis.add_memory()
        return StepStatsAnalysis(analysis.trace, analysis.maximums)

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """Return the trace as JSON text; see `analyze_step_stats` for the arguments."""
        analysis = self.analyze_step_stats(show_dataflow, show_memory, op_time)
        return analysis.chrome_trace.format_to_string(pretty=True)

    def _devices(self, op_time: str) -> list[tuple[str, list[_Op]]]:
        """Return the nodes of each device, with the times to show."""
        kernels = {} if op_time == "schedule" else self._kernel_times()
        devices = []
        for number, device in enumerate(self._step_stats.dev_stats):
            is_kernel = "/stream:" in device.device or "/memcpy" in device.device
            ops = []
            for stats in device.node_stats:
                start, duration = stats.all_start_micros, stats.all_end_rel_micros
                op = _Op(stats, 2 * number + 1, 2 * number + 2, start, start + duration, is_kernel)
                if "/job" in device.device and stats.node_name in kernels:
                    first, last = kernels[stats.node_name]
                    op.start = first if op_time == "gpu" else start
                    op.end = max(op.end, last)
                ops.append(op)
            devices.append((device.device, ops))
        return devices

    def _kernel_times(self) -> dict[str, tuple[int, int]]:
        """Return the start of the first and the end of the last kernel on a GPU, by node."""
        times: dict[str, tuple[int, int]] = {}
        for device in self._step_stats.dev_stats:
            if "/stream:all" not in device.device:
                continue
            for stats in device.node_stats:
                name, _ = kernel_of(stats)
                start, end = stats.all_start_micros, stats.all_start_micros + stats.all_end_rel_micros
                first, last = times.get(name, (start, end))
                times[name] = (min(first, start), max(last, end))
        return times
