"""Traces: times, outputs and memory of all nodes of a step, as TensorFlow's ``StepStats``.

A traced plan is the plain plan with a line before and a line after each call::

    s = clock()
    t0 = k2(c0, c1)
    record(2, s, clock(), (t0,))

A copy between devices becomes two nodes: ``_Send`` on one device and ``_Recv`` on the other, with their names in the
partition graphs. TensorFlow's executor omits them from a device's list, and only its tracers show copies
(`gpuplace.runtime.tracing.tracer_stats`); here they are in both. A copy between tasks has them on two tasks, each with
a part of the statistics.

The time of a call is the host's. A kernel of a real GPU is only queued in that time and runs later; a copy to the host
waits for all kernels queued on that GPU before. A traced plan keeps the order of the graph and waits for each copy at
its position.

Source: tensorflow/core/common_runtime/step_stats_collector.cc and executor.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpuplace.dtypes import as_dtype
from gpuplace.graph.op_sets import SENDS, TRANSFERS, VARIABLE_OPS
from gpuplace.graph.operation import Operation
from gpuplace.kernels.resources import VariableStorage
from gpuplace.runtime.plan.schedule.partition import Schedule, Slot, Step
from gpuplace.runtime.plan.schedule.transfers import control_numbers, transfer_names
from gpuplace.runtime.tracing.partition_graphs import IN_PROCESS, Ends, end_names, transfer_ops, value_name
from gpuplace.runtime.tracing.tracer_stats import add_tracer_stats

HARDWARE_TRACE = 2
"""``RunOptions.HARDWARE_TRACE``."""

_KEPT = VARIABLE_OPS | {"Const"}
"""Ops whose output is in memory before and after the step."""


class TracedTensor(NamedTuple):
    """Recorded properties of an output."""

    dtype: Any
    """Its ``DType``."""
    shape: tuple[int, ...]
    """Shape."""
    nbytes: int
    """Size in bytes."""
    address: int
    """Address, or 0 if unknown."""


class TraceRecord(NamedTuple):
    """Record of a call."""

    number: int
    """Position of the step in ``Schedule.steps``."""
    start_ns: int
    """Start in nanoseconds of the trace's clock."""
    end_ns: int
    """End in nanoseconds of the trace's clock."""
    outputs: tuple[TracedTensor | None, ...]
    """Outputs."""
    bytes_in_use: int
    """Memory use of the device's allocator at the end in bytes; 0 without an allocator."""
    thread: int = 0
    """Identifier of the thread."""


class Trace:
    """Records of one step.

    Args:
        schedule: the executed schedule.
        backends: backends by full device name.
        clock: returns nanoseconds, for durations.
        wall_clock: returns nanoseconds since 1970.
        feeds: fed values.
    """

    def __init__(
        self,
        schedule: Schedule,
        backends: Mapping[str, Any],
        clock: Callable[[], int] = time.perf_counter_ns,
        wall_clock: Callable[[], int] = time.time_ns,
        feeds: Sequence[Any] = (),
    ) -> None:
        self.schedule = schedule
        self.backends = backends
        self.records: list[TraceRecord] = []
        self.feeds: tuple[TracedTensor | None, ...] = tuple(
            map(_traced, feeds or (None,) * len(schedule.feeds))
        )
        """Fed values."""
        self.clock = clock
        self.start_ns: int = clock()
        self.epoch_ns: int = wall_clock() - self.start_ns
        """Offset to be added to the clock for nanoseconds since 1970."""
        self.end_ns = self.start_ns

    def record(self, number: int, start_ns: int, values: tuple[Any, ...]) -> None:
        """Record a call that started at ``start_ns`` and has just ended."""
        end_ns = self.clock()
        memory = self.backends[self.schedule.steps[number].device].memory
        in_use = 0 if memory is None else memory.allocator.stats().bytes_in_use
        thread = threading.get_ident()
        self.records.append(
            TraceRecord(number, start_ns, end_ns, tuple(map(_traced, values)), in_use, thread)
        )

    def end(self) -> None:
        """Record the end of the step."""
        self.end_ns = self.clock()


def _traced(value: Any) -> TracedTensor | None:
    if isinstance(value, VariableStorage):
        value = value.value if value.is_initialized else None
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None:
        return None
    interface = getattr(value, "__array_interface__", None)
    address = interface["data"][0] if interface else int(getattr(getattr(value, "data", None), "ptr", 0))
    return TracedTensor(as_dtype(dtype), shape, int(value.nbytes), address)


@dataclass
class _Writer:
    """Writer of a ``StepStats`` message."""

    step_stats: Any
    trace: Trace
    edges: Mapping[Slot, tuple[str, str, str]]
    feeds: Mapping[Slot, str]
    controls: Mapping[tuple[Operation, str], int]
    """Number of the first node of each control edge between an operation and another device."""
    devices: dict[str, Any] = field(default_factory=dict)
    ready: dict[Slot | Operation, int] = field(default_factory=dict)
    """Time at which a value was available, or an operation completed."""
    values: dict[Slot, TracedTensor | None] = field(default_factory=dict)

    def node(
        self, device: str, name: str, label: str, start_ns: int, end_ns: int, scheduled_ns: int | None = None
    ) -> Any:
        stats = self.devices.get(device)
        trace = self.trace
        if stats is None:
            stats = self.devices[device] = self.step_stats.dev_stats.add(device=device)
            start = trace.start_ns
            _node_stats(stats, "_SOURCE", "_SOURCE = NoOp()", trace, start, start, start)
        return _node_stats(stats, name, label, trace, start_ns, end_ns, scheduled_ns)

    def feed(self, slot: Slot, tensor: TracedTensor | None) -> None:
        name = self.feeds[slot]
        start = self.trace.start_ns
        node_stats = self.node(slot.location.device, name, f"{name} = _Arg()", start, start)
        self.values[slot] = tensor
        if tensor is not None:
            _describe(node_stats, 0, tensor, "cpu")

    def call(self, record: TraceRecord) -> None:
        """Write a record; a copy is written as two nodes."""
        step = self.trace.schedule.steps[record.number]
        start, end = record.start_ns, record.end_ns
        predecessors: list[Slot | Operation] = [*step.inputs, *step.control_inputs]
        scheduled = max(
            (self.ready.get(predecessor, self.trace.start_ns) for predecessor in predecessors),
            default=self.trace.start_ns,
        )
        scheduled = min(scheduled, start)
        if step.op is not None:
            self.ready[step.op] = end
            inputs = ", ".join(_input_names(step, self.edges, self.feeds, self.controls))
            if step.op_type in TRANSFERS:
                inputs = _peer(step.op)
            label = f"{step.name} = {step.op_type}({inputs})"
            node_stats = self.node(step.device, step.name, label, start, end, scheduled)
        else:
            send, receive, tensor = self.edges[step.outputs[0]]
            sender, receiver = step.inputs[0].location.device, step.outputs[0].location.device
            send_op, receive_op = transfer_ops(step)
            self.node(sender, send, f"{send} = {send_op}({tensor} @{receiver})", start, end, scheduled)
            node_stats = self.node(
                receiver, receive, f"{receive} = {receive_op}({tensor} @{sender})", start, end, scheduled
            )
        self.ready.update(dict.fromkeys(step.outputs, end))
        self.values.update(zip(step.outputs, record.outputs, strict=True))
        self.outputs(node_stats, step, record)

    def outputs(self, stats: Any, step: Step, record: TraceRecord) -> None:
        """Add the outputs, and the memory allocated for them."""
        backend = self.trace.backends[step.device]
        allocations: dict[str, list[int]] = {}
        input_addresses = {
            tensor.address for slot in step.inputs if (tensor := self.values.get(slot)) is not None
        }
        for slot, tensor in zip(step.outputs, record.outputs, strict=True):
            if tensor is None:
                continue
            allocator = "cpu" if slot.location.on_host else backend.allocator_name
            is_kept = step.op_type in _KEPT
            is_shared = is_kept or slot.is_ref or (tensor.address != 0 and tensor.address in input_addresses)
            nbytes = tensor.nbytes if allocator == "cpu" else _rounded(tensor.nbytes)
            description = _describe(stats, slot.tensor.value_index, tensor, allocator)
            if is_kept:
                stats.memory_stats.persistent_memory_size += tensor.nbytes
            elif not slot.is_ref:
                description.allocated_bytes = nbytes
            if tensor.nbytes and not is_shared:
                description.allocation_id = 1 + len(allocations.setdefault(allocator, []))
                description.has_single_reference = True
                allocations[allocator].append(nbytes)
        for allocator, sizes in allocations.items():
            total = sum(sizes)
            memory = stats.memory.add(
                allocator_name=allocator, total_bytes=total, peak_bytes=total, live_bytes=total
            )
            at = (record.end_ns + self.trace.epoch_ns) // 1000
            for nbytes in sizes:
                memory.allocation_records.add(alloc_micros=at, alloc_bytes=nbytes)
            if allocator == backend.allocator_name:
                memory.allocator_bytes_in_use = record.bytes_in_use


def fill_step_stats(
    step_stats: Any,
    trace: Trace,
    first_transfer: int,
    level: int = 1,
    rules: str = "2.21",
    ends: Ends = IN_PROCESS,
) -> None:
    """Write a trace to a ``StepStats`` message.

    Args:
        step_stats: the message.
        trace: the trace.
        first_transfer: number of the first copy's nodes.
        level: ``RunOptions.trace_level``; from ``HARDWARE_TRACE`` on, the lists of TensorFlow's tracers are added.
        rules: ``"1.15"`` or ``"2.21"``.
        ends: names of the nodes for feeds and fetches.
    """
    schedule = trace.schedule
    edges = transfer_names(schedule, first_transfer)
    feeds, controls = end_names(schedule.feeds, ends.feed), control_numbers(schedule, first_transfer)
    writer = _Writer(step_stats, trace, edges, feeds, controls)
    client = schedule.fetches[0].location.device if schedule.fetches else None
    is_listed = ends.tensor_of is None
    for slot, tensor in zip(schedule.feeds, trace.feeds, strict=True):
        if is_listed:
            writer.feed(slot, tensor)
        else:
            writer.values[slot] = tensor
    # Threads append their records in any order.
    for record in sorted(trace.records, key=lambda record: record.start_ns):
        writer.call(record)
    for slot, name in end_names(schedule.fetches, ends.fetch).items() if is_listed else ():
        assert client is not None
        source = edges[slot][1] if slot in edges else writer.feeds.get(slot) or slot.name.partition(":")[0]
        label = f"{name} = _Retval({source})"
        writer.node(client, name, label, trace.end_ns, trace.end_ns, writer.ready.get(slot))
    if level >= HARDWARE_TRACE:
        add_tracer_stats(step_stats, trace, edges, rules)


def _peer(op: Operation) -> str:
    """Return the tensor of a send or receive between tasks, and the device at its other end."""
    other = op.attrs["recv_device" if op.type in SENDS else "send_device"]
    return f"{op.attrs['tensor_name'].decode()} @{other.decode()}"


def _input_names(
    step: Step,
    edges: Mapping[Slot, tuple[str, str, str]],
    feeds: Mapping[Slot, str],
    controls: Mapping[tuple[Operation, str], int],
) -> Iterable[str]:
    for slot in step.inputs:
        yield value_name(slot, edges, feeds)
    for control in step.control_inputs:
        number = controls.get((control, step.device))
        yield f"^{control.name}" if number is None else f"^{control.name}/_{number + 3}"


def _node_stats(
    stats: Any,
    name: str,
    label: str,
    trace: Trace,
    start_ns: int,
    end_ns: int,
    scheduled_ns: int | None = None,
) -> Any:
    wall_ns = start_ns + trace.epoch_ns
    scheduled = wall_ns if scheduled_ns is None else scheduled_ns + trace.epoch_ns
    duration = max(end_ns - start_ns, 0)
    micros = (
        wall_ns + duration
    ) // 1000 - wall_ns // 1000  # as in TensorFlow, so no end is after the start of a successor
    node_stats = stats.node_stats.add(
        node_name=name,
        timeline_label=label,
        scheduled_micros=scheduled // 1000,
        all_start_micros=wall_ns // 1000,
        op_end_rel_micros=micros,
        all_end_rel_micros=micros,
        scheduled_nanos=scheduled,
        all_start_nanos=wall_ns,
        op_end_rel_nanos=duration,
        all_end_rel_nanos=duration,
    )
    node_stats.memory_stats.SetInParent()
    return node_stats


def _describe(stats: Any, output: int, tensor: TracedTensor, allocator: str) -> Any:
    """Add an output's type, shape and size; return the message about its memory."""
    description = stats.output.add(slot=output).tensor_description
    description.dtype = tensor.dtype.as_datatype_enum
    description.shape.SetInParent()
    for size in tensor.shape:
        description.shape.dim.add(size=size)
    memory = description.allocation_description
    memory.requested_bytes = tensor.nbytes
    memory.allocator_name = allocator
    memory.ptr = tensor.address
    return memory


def _rounded(nbytes: int) -> int:
    """Return the size that a GPU's allocator uses for a tensor, unless it finds only a slightly larger chunk."""
    return (nbytes + 255) & ~255
