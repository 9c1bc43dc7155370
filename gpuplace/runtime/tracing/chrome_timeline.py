"""``tensorflow.python.client.timeline``: a step's statistics as a trace for Chrome's viewer, Perfetto and others.

>>> from types import SimpleNamespace as Record
>>> node = Record(node_name="a", timeline_label="a = Const()", all_start_micros=5, all_end_rel_micros=2, output=[])
>>> step = Record(dev_stats=[Record(device="/device:CPU:0", node_stats=[node])])
>>> trace = json.loads(Timeline(step).generate_chrome_trace_format())
>>> trace["traceEvents"][-1]["args"], trace["traceEvents"][-1]["ts"]
({'name': 'a', 'op': 'Const'}, 5)

Every device is a process of the trace, beside one for its tensors; what overlaps on a device goes to rows of
its own, the threads of the trace. Three passes write events in TensorFlow's order::

    processes ──> rows ──> tensors (objects) ──> ops (regions), arrows from producer to consumer ──> memory counters

Unlike TensorFlow's, a `Timeline` leaves the statistics as they are, and can be asked more than once. A step of
ours lists the receives of copies too: an arrow goes to each from the node whose output was copied. The snapshot of a
tensor of an op that took less than a microsecond is at its begin; TensorFlow has it before, where viewers refuse it.

Source: tensorflow/python/client/timeline.py, releases 1.15 and 2.21 (names, arguments, which events there are).
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
    """The most that an allocator had given out."""

    timestamp: int
    """Microseconds since 1970 when that was reached."""
    num_bytes: int
    tensors: set[str]
    """Names of the tensors that were there."""


class StepStatsAnalysis(NamedTuple):
    """What `Timeline.analyze_step_stats` gives."""

    chrome_trace: ChromeTrace
    """The events; ``format_to_string(pretty=False)`` writes them as JSON."""
    allocator_maximums: dict[str, AllocationMaximum]
    """Allocator -> the most that it had given out; empty where memory is not shown."""


class ChromeTrace:
    """Events in Chrome's trace format: those about processes, then all others."""

    def __init__(self) -> None:
        self._processes: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []

    def process(self, name: str, pid: int) -> None:
        """Names a process."""
        self._processes.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}})

    def event(self, ph: str, cat: str, name: str, pid: int, tid: int, ts: int, **more: Any) -> None:
        """Adds an event.

        Args:
            ph: its kind, a letter.
            cat: its category.
            name: what it is called.
            pid: process.
            tid: thread.
            ts: microseconds.
            more: what this kind has beside those.
        """
        self._events.append({"ph": ph, "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, **more})

    def format_to_string(self, pretty: bool = False) -> str:
        """The trace as JSON, on many lines where ``pretty``."""
        trace = {"traceEvents": self._processes + self._events}
        if pretty:
            return json.dumps(trace, indent=4, separators=(",", ": "))
        return json.dumps(trace, separators=(",", ":"))


@dataclass(slots=True)
class _Op:
    """One execution of a node."""

    stats: Any
    pid: int
    tensors_pid: int
    start: int
    """Microseconds since 1970."""
    end: int
    is_kernel: bool
    """Whether a tracer of GPUs noted it."""
    tid: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether its label says what goes in."""
        return not self.is_kernel and self.stats.node_name != "RecvTensor"


@dataclass(slots=True)
class _Tensor:
    """An output, and the last time that it was needed."""

    number: int
    pid: int
    allocator: str
    nbytes: int
    made: int
    source: tuple[int, int, int]
    """Time, process and thread that arrows begin at."""
    last: int


@dataclass
class _Analysis:
    """One pass through the statistics."""

    devices: list[tuple[str, list[_Op]]]
    rules: str
    trace: ChromeTrace = field(default_factory=ChromeTrace)
    tensors: dict[str, _Tensor] = field(default_factory=dict)
    fed: dict[str, str] = field(default_factory=dict)
    """Node that is fed -> the node that gives its value."""
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
        """Gives every op the first row that is free: its last op was over before this one began."""
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
                if (
                    sent is not None and sent.source[0] <= op.start
                ):  # a constant may be there before its node is due
                    self.add_use(op, self.sent(name), shows_dataflow)
            elif op.is_plain:
                for text in inputs:
                    self.add_use(op, text, shows_dataflow)

    def described(self, op: _Op) -> tuple[str, str, list[str]]:
        """Name, op type and inputs."""
        stats = op.stats
        if op.is_kernel:
            return *kernel_of(stats, self.rules), []
        if stats.node_name == "RecvTensor":
            return stats.node_name, "RecvTensor", []
        found = _LABEL.match(stats.timeline_label)
        if found is None:
            return stats.node_name, "unknown", []
        return stats.node_name, found[2], found[3].split(", ") if found[3] else []

    def sent(self, name: str) -> str:
        """The tensor that a receive of ours, ``a/_3``, is for; TensorFlow's lists hold none."""
        base = source_name(name) or name
        return self.fed.get(base, base)

    def add_use(self, op: _Op, name: str, shows_dataflow: bool) -> None:
        """Notes that an op takes a tensor; what is not known may have been received from the node of that name."""
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
        """Ends the tensors' lives, and counts the bytes of every allocator."""
        changes: dict[str, list[tuple[int, int, str]]] = {}
        for name, tensor in self.tensors.items():
            self.trace.event("D", "Tensor", name, tensor.pid, 0, tensor.last, id=tensor.number)
            here = changes.setdefault(tensor.allocator, [])
            here += [(tensor.made, tensor.nbytes, name), (tensor.last, -tensor.nbytes, name)]
        for allocator, found in changes.items():
            total, there = 0, set()
            most = AllocationMaximum(0, 0, set())
            for time, nbytes, name in sorted(found):
                total += nbytes
                if nbytes < 0:
                    there.discard(name)
                else:
                    there.add(name)
                if total > most.num_bytes:
                    most = AllocationMaximum(time, total, set(there))
                self.trace.event("C", "Memory", allocator, 0, 0, time, args={allocator: total})
            self.maximums[allocator] = most


def kernel_of(stats: Any, rules: str = "2.21") -> tuple[str, str]:
    """Node and op type of a kernel that a tracer of GPUs noted.

    Args:
        stats: ``NodeExecStats`` of a stream; its name is ``node:type``; in 2.x its label may hold ``@@node:type#``.
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
    """The timeline of a step.

    Args:
        step_stats: ``StepStats``, from the ``step_stats`` of a ``RunMetadata``.
        graph: taken for the sake of TensorFlow's programs, and not needed.
    """

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        self._step_stats = step_stats
        self._graph = graph

    def analyze_step_stats(
        self, show_dataflow: bool = True, show_memory: bool = True, op_time: str = "schedule"
    ) -> StepStatsAnalysis:
        """The events and the most memory of every allocator.

        Args:
            show_dataflow: adds an arrow for every tensor that goes to another device or row.
            show_memory: adds tensors with their sizes and lives, and a counter of bytes for every allocator.
            op_time: ``"schedule"`` shows an op as long as its device's list says; where kernels ran on streams,
                ``"gpu"`` shows it from the begin of the first to the end of the last, and ``"all"`` from its own start.
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
        """The trace as JSON text; see `analyze_step_stats` for the arguments."""
        found = self.analyze_step_stats(show_dataflow, show_memory, op_time)
        return found.chrome_trace.format_to_string(pretty=True)

    def _devices(self, op_time: str) -> list[tuple[str, list[_Op]]]:
        """The lists of nodes, with the times that are to be shown."""
        kernels = {} if op_time == "schedule" else self._kernel_times()
        found = []
        for number, device in enumerate(self._step_stats.dev_stats):
            is_kernel = "/stream:" in device.device or "/memcpy" in device.device
            ops = []
            for stats in device.node_stats:
                start, lasted = stats.all_start_micros, stats.all_end_rel_micros
                op = _Op(stats, 2 * number + 1, 2 * number + 2, start, start + lasted, is_kernel)
                if "/job" in device.device and stats.node_name in kernels:
                    first, last = kernels[stats.node_name]
                    op.start = first if op_time == "gpu" else start
                    op.end = max(op.end, last)
                ops.append(op)
            found.append((device.device, ops))
        return found

    def _kernel_times(self) -> dict[str, tuple[int, int]]:
        """Node -> start of its first and end of its last kernel on a GPU."""
        found: dict[str, tuple[int, int]] = {}
        for device in self._step_stats.dev_stats:
            if "/stream:all" not in device.device:
                continue
            for stats in device.node_stats:
                name, _ = kernel_of(stats)
                start, end = stats.all_start_micros, stats.all_start_micros + stats.all_end_rel_micros
                first, last = found.get(name, (start, end))
                found[name] = (min(first, start), max(last, end))
        return found
