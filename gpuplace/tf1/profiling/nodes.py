"""Profile data of one node: its op and shapes, its operation counts, and when it ran.

Source: tensorflow/core/profiler/internal/tfprof_node.h and tfprof_node.cc, release 1.15 (classes of devices
and allocators, sums).
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuplace.tf1.profiling.messages import ExecMemory, ExecProfile
from gpuplace.tf1.profiling.options import COUNTS, matches

__all__ = ["NodeProfile", "is_accelerator_stream", "is_canonical", "shape_message", "shape_sizes"]

_CANONICAL = re.compile(r".*/(?:device:)?(?:gpu|cpu):\d+")


def is_canonical(device: str) -> bool:
    """Return whether a device can hold nodes, unlike a part of a device such as a stream.

    Args:
        device: its name, in lower case.
    """
    return _CANONICAL.fullmatch(device) is not None


def is_accelerator_stream(device: str) -> bool:
    """Return whether a device stands for all streams of a GPU, where kernels are timed.

    Args:
        device: its name, in lower case.
    """
    return "stream:all" in device


def shape_sizes(shape: Any) -> list[int]:
    """Return the sizes of a ``TensorShapeProto``: 1 for a scalar, no sizes for an unknown rank.

    Args:
        shape: the message.
    """
    return [size.size for size in shape.dim] if shape.dim or shape.unknown_rank else [1]


def shape_message(sizes: Iterable[int], message: Any) -> None:
    """Write sizes into a ``TensorShapeProto``; no sizes mean an unknown rank.

    Args:
        sizes: the sizes.
        message: the message to write into.
    """
    for size in sizes:
        message.dim.add(size=size)
    message.unknown_rank = not message.dim


@dataclass(eq=False)
class NodeProfile:
    """A node of a graph, or one that appears only in steps."""

    name: str
    op: str
    id: int
    attrs: Mapping[str, Any] = field(default_factory=dict)
    """Name -> ``AttrValue``."""
    shape: list[int] = field(default_factory=list)
    """The attribute ``shape``, which variables have; their elements are parameters."""
    output_shapes: list[list[int]] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    """The nodes of its inputs, including control inputs."""
    output_index: dict[str, int] = field(default_factory=dict)
    """Input node -> index of the output that is used; the last one if there are several, as in TensorFlow."""
    types: set[str] = field(default_factory=set)
    float_ops: int = 0
    """Number of floating-point operations in one execution."""
    device: str = ""
    """The assigned device, in lower case."""
    trace: Any = None
    """The Python lines that created it, a ``CodeDef``."""
    steps: dict[int, Any] = field(default_factory=dict)
    """Step -> the executions in it, an ``ExecProfile``."""

    @classmethod
    def of(cls, node: Any, id: int) -> NodeProfile:
        """Return a node of a graph.

        Args:
            node: its ``NodeDef``.
            id: its number.
        """
        shape = node.attr["shape"] if "shape" in node.attr else None
        data = [name for name in node.input if not name.startswith("^")]
        waits = sorted(
            name for name in node.input if name.startswith("^")
        )  # in the order of TensorFlow's definitions
        names = (*data, *waits)
        outputs = node.attr["_output_shapes"].list.shape if "_output_shapes" in node.attr else ()
        return cls(
            name=node.name,
            op=node.op,
            id=id,
            attrs=node.attr,
            shape=shape_sizes(shape.shape) if shape is not None and shape.HasField("shape") else [],
            output_shapes=[shape_sizes(output) for output in outputs],
            inputs=[name.removeprefix("^").partition(":")[0] for name in names],
            output_index={name.removeprefix("^").partition(":")[0]: _index(name) for name in names},
            types={node.op},
        )

    @property
    def parameters(self) -> int:
        """Number of elements of a variable; 0 for other nodes and unknown sizes."""
        return math.prod(self.shape) if self.shape and min(self.shape) >= 0 else 0

    def match_count(self, patterns: tuple[str, ...]) -> int:
        """Return how often the node counts: once for each pattern that matches one of its types.

        Args:
            patterns: patterns of types.
        """
        return sum(any(matches((pattern,), type_) for type_ in self.types) for pattern in patterns)

    def counts(self, step: int) -> dict[str, int]:
        """Return all counts of the node, and how often it ran.

        Args:
            step: step of the times and bytes; negative for the mean of all, rounded down.
        """
        steps = list(self.steps.values()) if step < 0 else [self.steps[step]] if step in self.steps else []
        sums = dict.fromkeys(COUNTS, 0)
        runs = 0
        for one in steps:
            on_accelerators, on_cpus = (_micros(execs) for execs in (one.accelerator_execs, one.cpu_execs))
            sums["accelerator_exec_micros"] += on_accelerators
            sums["cpu_exec_micros"] += on_cpus
            sums["exec_micros"] += on_accelerators + on_cpus
            runs += one.run_count
            for memory in one.memory_execs:
                for count in ("requested_bytes", "peak_bytes", "residual_bytes", "output_bytes"):
                    sums[count] += getattr(memory, count)
        means = {count: value // max(1, len(steps)) for count, value in sums.items()}
        means["run_count"] = runs // max(1, len(steps))
        means["parameters"] = self.parameters
        means["float_ops"] = self.float_ops * (means["run_count"] if self.steps else 1)
        return means

    def add_execution(self, step: int, device: str, stats: Any) -> None:
        """Add an execution.

        Args:
            step: the step's number.
            device: its device, as in ``StepStats``.
            stats: its ``NodeExecStats``.
        """
        device = device.lower()
        if is_canonical(device):
            if self.device and self.device != device:
                return  # it counts on the device where it was first seen
            self.device = device
            self.types.add(device)
        executed = self.steps.setdefault(step, ExecProfile())
        if device not in executed.devices:
            executed.devices[:] = sorted([*executed.devices, device])
        if stats.all_start_micros > 0:
            _add_times(executed, device, stats)
        if device == self.device:
            if stats.all_start_micros > 0:
                _add_memory(executed, device, stats)
            else:
                print(f"{stats.node_name} has no start time, skipping", file=sys.stderr)


def _index(name: str) -> int:
    return int(name.partition(":")[2] or 0)


def _micros(execs: Mapping[str, Any]) -> int:
    return sum(time.int64_values[1] for times in execs.values() for time in times.times)


def _add_times(executed: Any, device: str, stats: Any) -> None:
    start, took = stats.all_start_micros, max(1, stats.op_end_rel_micros)
    executed.all_start_micros = min(executed.all_start_micros or start, start)
    executed.latest_end_micros = max(executed.latest_end_micros, start + took)
    if is_accelerator_stream(device):
        executed.accelerator_execs[device].times.add(int64_values=[start, took])
    elif is_canonical(device):
        executed.cpu_execs[device].times.add(int64_values=[start, took])
        executed.run_count += 1


def _add_memory(executed: Any, device: str, stats: Any) -> None:
    memory = ExecMemory(memory_micros=stats.all_start_micros + stats.op_end_rel_micros)
    on_gpus = [one for one in stats.memory if "GPU" in one.allocator_name]
    if len(on_gpus) > 1:
        print(f"found {len(on_gpus)} gpu allocator for 1 node", file=sys.stderr)
    memory.allocator_bytes_in_use = max([0, *(allocation.allocator_bytes_in_use for allocation in on_gpus)])
    for one in on_gpus:
        for record in one.allocation_records:
            executed.allocations.add().CopyFrom(record)
    for output in stats.output:
        if output.tensor_description.HasField("allocation_description"):
            allocation = output.tensor_description.allocation_description
            entry = memory.output_memory[output.slot]
            entry.ptr, entry.bytes = (
                allocation.ptr,
                max(allocation.allocated_bytes, allocation.requested_bytes),
            )
            memory.output_bytes += entry.bytes
    temporary, lasting = stats.memory_stats.temp_memory_size, stats.memory_stats.persistent_memory_size
    if "cpu" in device:
        memory.host_temp_bytes, memory.host_persistent_bytes = temporary, lasting
    else:
        memory.accelerator_temp_bytes, memory.accelerator_persistent_bytes = temporary, lasting
    memory.residual_bytes = lasting + sum(one.live_bytes for one in stats.memory)
    memory.requested_bytes = lasting + temporary + sum(one.total_bytes for one in stats.memory)
    memory.peak_bytes = lasting + temporary + sum(one.peak_bytes for one in stats.memory)
    executed.memory_execs.append(memory)
