"""Traces: when every node ran, what it gave out and how much memory that took, as TensorFlow's ``StepStats``.

A traced plan is the plain plan with a line before and a line after every call::

    s = clock()
    t0 = k2(c0, c1)
    record(2, s, clock(), (t0,))

A copy between devices becomes two nodes, as in TensorFlow: ``_Send`` on one device and ``_Recv`` on the other, and the
partition of a device holds the same nodes.

Source: tensorflow/core/common_runtime/step_stats_collector.cc, executor.cc and core/graph/graph_partition.cc,
releases 1.15 and 2.21.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from gpuplace.dtypes import as_dtype
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation
from gpuplace.kernels.resources import VariableStorage
from gpuplace.runtime.partition import Schedule, Slot, Step, arg_name, retval_name
from gpuplace.runtime.plan import PlanBuilder

__all__ = [
    "Trace",
    "TraceRecord",
    "TracedPlanBuilder",
    "TracedTensor",
    "fill_partition_graphs",
    "fill_step_stats",
]


class TracedTensor(NamedTuple):
    """What is kept of an output."""

    dtype: Any
    """Its ``DType``."""
    shape: tuple[int, ...]
    """Sizes."""
    nbytes: int
    """Size in bytes."""
    address: int
    """Where it lies, or 0 where unknown."""


class TraceRecord(NamedTuple):
    """One call."""

    number: int
    """Position of the step in ``Schedule.steps``."""
    start_ns: int
    """When it began, in nanoseconds of the trace's clock."""
    end_ns: int
    """When it ended."""
    outputs: tuple[TracedTensor | None, ...]
    """What it gave out."""
    bytes_in_use: int
    """What the device's allocator had given out at the end; 0 where nothing counts that."""


class Trace:
    """The records of one step.

    Args:
        schedule: what is run.
        backends: full device name to device.
        clock: nanoseconds, for durations.
        wall_clock: nanoseconds since 1970.
    """

    def __init__(
        self,
        schedule: Schedule,
        backends: Mapping[str, Any],
        clock: Callable[[], int] = time.perf_counter_ns,
        wall_clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.schedule = schedule
        self.backends = backends
        self.records: list[TraceRecord] = []
        self.clock = clock
        self.start_ns: int = clock()
        self.epoch_ns: int = wall_clock() - self.start_ns
        """What has to be added to the clock to get nanoseconds since 1970."""
        self.end_ns = self.start_ns

    def record(self, number: int, start_ns: int, values: tuple[Any, ...]) -> None:
        """Notes a call that began at ``start_ns`` and is over."""
        end_ns = self.clock()
        memory = self.backends[self.schedule.steps[number].device].memory
        in_use = 0 if memory is None else memory.allocator.stats().bytes_in_use
        self.records.append(TraceRecord(number, start_ns, end_ns, tuple(map(_traced, values)), in_use))

    def end(self) -> None:
        """Notes the end of the step."""
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
class TracedPlanBuilder(PlanBuilder):
    """Makes the code of a schedule with a record of every call; its function takes ``Trace.record`` first."""

    parameters: ClassVar[tuple[str, ...]] = ("record",)
    retires_early: ClassVar[bool] = False

    def add(self, number: int, step: Step) -> None:
        """Adds the lines of a step between two readings of the clock."""
        self.namespace["clock"] = time.perf_counter_ns
        self.emit(step, "s = clock()")
        super().add(number, step)
        outputs = [self.names[slot] if slot in self.names else "None" for slot in step.outputs]
        self.emit(step, f"record({number}, s, ({''.join(f'{name}, ' for name in outputs)}))")


def _edge(schedule: Schedule, first_transfer: int) -> dict[Slot, tuple[str, str, str]]:
    """For each copied value: names of its sending and receiving node and the tensor name both use."""
    names = {}
    for position, step in enumerate(schedule.copies):
        source = step.inputs[0].tensor.op.name
        number = first_transfer + 2 * position
        names[step.outputs[0]] = (
            f"{source}/_{number}",
            f"{source}/_{number + 1}",
            f"edge_{number}_{source}",
        )
    return names


def transfer_ops(step: Step) -> tuple[str, str]:
    """Op types of the two nodes that stand for a copy; those that use host memory of a GPU have types of their own."""
    source, target = step.inputs[0].location, step.outputs[0].location
    return (
        "_HostSend" if source.on_host and "CPU" not in source.device.rpartition("/")[2] else "_Send",
        "_HostRecv" if target.on_host and "CPU" not in target.device.rpartition("/")[2] else "_Recv",
    )


def fill_step_stats(step_stats: Any, trace: Trace, first_transfer: int) -> None:
    """Writes a trace to a ``StepStats`` message.

    Args:
        step_stats: the message.
        trace: what was recorded.
        first_transfer: number of the first copy's nodes.
    """
    schedule = trace.schedule
    edges = _edge(schedule, first_transfer)
    feeds = {slot: arg_name(slot.tensor, position) for position, slot in enumerate(schedule.feeds)}
    by_device: dict[str, Any] = {}

    def node(device: str, name: str, label: str, start_ns: int, end_ns: int) -> Any:
        stats = by_device.get(device)
        if stats is None:
            stats = by_device[device] = step_stats.dev_stats.add(device=device)
            _node_stats(stats, "_SOURCE", "_SOURCE = NoOp()", trace, trace.start_ns, trace.start_ns)
        return _node_stats(stats, name, label, trace, start_ns, end_ns)

    client = schedule.fetches[0].location.device if schedule.fetches else None
    for name in feeds.values():
        device = schedule.feeds[0].location.device
        node(device, name, f"{name} = _Arg()", trace.start_ns, trace.start_ns)
    for record in trace.records:
        step = schedule.steps[record.number]
        if step.op is not None:
            label = f"{step.name} = {step.op_type}({', '.join(_input_names(step, edges, feeds))})"
            made = node(step.device, step.name, label, record.start_ns, record.end_ns)
            _add_outputs(made, step, record, trace.backends[step.device])
            continue
        send, receive, tensor = edges[step.outputs[0]]
        sender, receiver = step.inputs[0].location.device, step.outputs[0].location.device
        send_op, receive_op = transfer_ops(step)
        node(sender, send, f"{send} = {send_op}({tensor} @{receiver})", record.start_ns, record.end_ns)
        label = f"{receive} = {receive_op}({tensor} @{sender})"
        made = node(receiver, receive, label, record.start_ns, record.end_ns)
        _add_outputs(made, step, record, trace.backends[receiver])
    for position, slot in enumerate(schedule.fetches):
        assert client is not None
        name = retval_name(slot.tensor, position)
        source = edges[slot][1] if slot in edges else feeds.get(slot) or slot.name.partition(":")[0]
        node(client, name, f"{name} = _Retval({source})", trace.end_ns, trace.end_ns)


def _input_names(
    step: Step, edges: Mapping[Slot, tuple[str, str, str]], feeds: Mapping[Slot, str]
) -> Iterable[str]:
    for slot in step.inputs:
        if slot in edges:
            yield edges[slot][1]
        elif slot in feeds:
            yield feeds[slot]
        else:
            yield slot.name
    for control in step.control_inputs:
        yield f"^{control.name}"


def _node_stats(stats: Any, name: str, label: str, trace: Trace, start_ns: int, end_ns: int) -> Any:
    wall_ns = start_ns + trace.epoch_ns
    lasted = max(end_ns - start_ns, 0)
    return stats.node_stats.add(
        node_name=name,
        timeline_label=label,
        scheduled_micros=wall_ns // 1000,
        all_start_micros=wall_ns // 1000,
        op_end_rel_micros=-(-lasted // 1000),
        all_end_rel_micros=-(-lasted // 1000),
        scheduled_nanos=wall_ns,
        all_start_nanos=wall_ns,
        op_end_rel_nanos=lasted,
        all_end_rel_nanos=lasted,
    )


def _add_outputs(stats: Any, step: Step, record: TraceRecord, backend: Any) -> None:
    """Adds the outputs and the memory that they take."""
    for slot, tensor in zip(step.outputs, record.outputs, strict=True):
        if tensor is None:
            continue
        is_hosted = slot.location.on_host
        allocator = backend.allocator_name if not is_hosted else "cpu"
        description = stats.output.add(slot=slot.tensor.value_index).tensor_description
        description.dtype = tensor.dtype.as_datatype_enum
        for size in tensor.shape:
            description.shape.dim.add(size=size)
        description.allocation_description.requested_bytes = tensor.nbytes
        description.allocation_description.allocated_bytes = tensor.nbytes
        description.allocation_description.allocator_name = allocator
        description.allocation_description.ptr = tensor.address
        if tensor.nbytes:
            memory = stats.memory.add(
                allocator_name=allocator,
                total_bytes=tensor.nbytes,
                peak_bytes=tensor.nbytes,
                live_bytes=tensor.nbytes,
            )
            if not is_hosted:
                memory.allocator_bytes_in_use = record.bytes_in_use


def fill_partition_graphs(graphs: Any, schedule: Schedule, graph: Graph, first_transfer: int) -> None:
    """Appends a ``GraphDef`` per device: its nodes, with sends and receives where edges cross."""
    from gpuplace.graphdef.attr_values import encode_attr
    from gpuplace.graphdef.export import node_def, version_def

    edges = _edge(schedule, first_transfer)
    feeds = {slot: arg_name(slot.tensor, position) for position, slot in enumerate(schedule.feeds)}
    by_device: dict[str, Any] = {}
    included = set(schedule.operations)

    def add(device: str, name: str, op_type: str, inputs: Iterable[str], attrs: Mapping[str, Any]) -> None:
        proto = partition(device).node.add(name=name, op=op_type, device=device, input=inputs)
        for key, value in attrs.items():
            encode_attr(value, proto.attr[key])

    def partition(device: str) -> Any:
        if device not in by_device:
            by_device[device] = graphs.add(versions=version_def(graph))
        return by_device[device]

    for position, slot in enumerate(schedule.feeds):
        attrs = {"T": slot.tensor.dtype.base_dtype, "index": position}
        add(slot.location.device, feeds[slot], "_Arg", (), attrs)
    for step in schedule.steps:
        if step.op is None:
            _add_transfer(add, step, edges[step.outputs[0]], _value_name(step.inputs[0], edges, feeds))
            continue
        proto = node_def(step.op, partition(step.device).node.add())
        proto.device = step.device
        del proto.input[:]
        if step.folded is not None:
            proto.name, proto.op = step.name, "Const"
            proto.attr.clear()
            for key, value in step.folded.attrs.items():
                encode_attr(value, proto.attr[key])
        proto.input.extend(_value_name(slot, edges, feeds) for slot in step.inputs)
        proto.input.extend(f"^{control.name}" for control in _same_device_controls(step, schedule, included))
    for position, slot in enumerate(schedule.fetches):
        attrs = {"T": slot.tensor.dtype.base_dtype, "index": position}
        name = retval_name(slot.tensor, position)
        add(slot.location.device, name, "_Retval", [_value_name(slot, edges, feeds)], attrs)


def _value_name(slot: Slot, edges: Mapping[Slot, tuple[str, str, str]], feeds: Mapping[Slot, str]) -> str:
    if slot in edges:
        return edges[slot][1]
    if slot in feeds:
        return feeds[slot]
    return slot.name


def _add_transfer(add: Any, step: Step, names: tuple[str, str, str], source: str) -> None:
    send, receive, tensor = names
    sender, receiver = step.inputs[0].location.device, step.outputs[0].location.device
    dtype = step.inputs[0].tensor.dtype.base_dtype
    send_op, receive_op = transfer_ops(step)
    common = {
        "client_terminated": False,
        "recv_device": receiver.encode(),
        "send_device": sender.encode(),
        "tensor_name": tensor.encode(),
    }
    add(sender, send, send_op, [source], {"T": dtype, **common})
    add(receiver, receive, receive_op, (), {"tensor_type": dtype, **common})


def _same_device_controls(step: Step, schedule: Schedule, included: set[Operation]) -> list[Operation]:
    assert step.op is not None
    devices = {other.op: other.device for other in schedule.steps if other.op is not None}
    return [
        control for control in step.control_inputs if control in included and devices[control] == step.device
    ]
